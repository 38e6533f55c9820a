/* The hooks of validation for CertificateSigningRequest and trust bundles: what no line of a rule
 * file can say. X(name) ( what it checks ). A hook is cor_hook_NAME() in check_certificates.c, a
 * test of a condition is cor_when_NAME() there; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_CERTIFICATES_H
#define COR_SCHEMA_HOOKS_CHECK_CERTIFICATES_H

/* clang-format off */
#define COR_CERTIFICATES_HOOKS(X)                                                                  \
    X(certificate_request) /* spec.request: a PEM block of that type */                            \
    X(request_conditions)  /* status.conditions: types, states, what excludes one another */       \
    X(kept_conditions)     /* status.conditions: what an update may not add, change or remove */   \
    X(issued_certificate)  /* status.certificate: PEM blocks of certificates alone */

#define COR_CERTIFICATES_WHENS(X)
/* clang-format on */

#endif
