/* The hooks of validation for CertificateSigningRequest and trust bundles
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/certificates.h"

#include "schema/hooks/hooks.h"
