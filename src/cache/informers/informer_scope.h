/* What one informer lists and watches: a resource, where, and which of its objects. Two informers
 * of equal scopes would hold the same objects, so a factory makes one for both.
 * Thread: any (values).  Owner: strings are borrowed unless said otherwise. */
#ifndef COR_CACHE_INFORMER_SCOPE_H
#define COR_CACHE_INFORMER_SCOPE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "coracle/informers.h"
#include "meta/status/gvk.h"

struct cor_informer_scope {
    struct cor_gvr resource;
    struct cor_str kind;           /* events of another kind are skipped; empty: the list's */
    struct cor_str ns;             /* empty: all namespaces, or a resource without any */
    struct cor_str label_selector; /* empty: all */
    struct cor_str field_selector; /* such as "spec.nodeName=n1" or "metadata.name=x"; empty: all */
    bool metadata_only;            /* objects are PartialObjectMetadata */
    uint64_t resync_ms;            /* 0: the factory's; scopes that differ only in it are equal */
    cor_tweak_fn tweak;            /* may be NULL */
    void *tweak_arg;
    cor_transform_fn transform; /* before the factory's; may be NULL */
    void *transform_arg;
    cor_make_list_watch_fn make_list_watch; /* the driver maker's to call; may be NULL */
    void *make_arg;
};

/* Appends a text that is the same for equal scopes only. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_informer_scope_print(const struct cor_informer_scope *scope, struct cor_buf *out);

/* A copy whose strings live in one allocation, `*ret_strings`, for cor_free(). 0 or -COR_ENOMEM. */
int cor_informer_scope_copy(const struct cor_informer_scope *scope,
                            struct cor_informer_scope *ret_scope, char **ret_strings);

#endif
