/* The metadata of an embedded resource, read as Kubernetes' ObjectMeta (contract crd 4.9.1).
 * Thread: any (pure). */
#ifndef COR_SCHEMA_STRUCTURAL_EMBEDDED_H
#define COR_SCHEMA_STRUCTURAL_EMBEDDED_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Gets the path of an unknown field below the metadata. 0, -COR_ENOMEM. */
typedef int (*cor_embedded_unknown_fn)(void *arg, struct cor_str path);

/* Appends the metadata without what ObjectMeta does not have. 0: there is nothing to do, and
 * nothing was appended; 1: it was; -COR_EINVAL: the value is not metadata, and Go's words were
 * appended to `why`; -COR_ENOMEM, -COR_ETOOBIG. `drops_invalid`: members that cannot be read are
 * left out, and only a value that is not an object is -COR_EINVAL. `unknown` may be NULL. */
int cor_embedded_metadata(struct cor_str json, bool drops_invalid, struct cor_buf *out,
                          struct cor_buf *why, cor_embedded_unknown_fn unknown, void *arg);

#endif
