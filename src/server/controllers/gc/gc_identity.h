/* The coordinates of an object in the garbage collector: what a reference names, or what a feed has
 * shown.
 * Thread: any.  Owner: whoever has the strings. */
#ifndef COR_SERVER_CONTROLLERS_GC_GC_IDENTITY_H
#define COR_SERVER_CONTROLLERS_GC_GC_IDENTITY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct cor_gc_identity {
    struct cor_str api_version, kind, ns, name, uid;
};

bool cor_gc_identity_eq(const struct cor_gc_identity *a, const struct cor_gc_identity *b);

/* Upstream's order of identities with the same uid: kind, apiVersion, namespace, name. */
int cor_gc_identity_cmp(const struct cor_gc_identity *a, const struct cor_gc_identity *b);

/* A copy whose strings are in one allocation, `*ret_strings`, for cor_free(). 0 or -COR_ENOMEM. */
int cor_gc_identity_copy(const struct cor_gc_identity *from, struct cor_gc_identity *ret,
                         char **ret_strings);

/* Appends "[apiVersion/kind, namespace: ns, name: n, uid: u]". 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_gc_identity_print(const struct cor_gc_identity *id, struct cor_buf *out);

#endif
