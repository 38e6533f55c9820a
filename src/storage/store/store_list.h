/* Lists: all objects under a prefix, or the one of a key, at one revision, whole or page by page.
 * Thread: the loop's. */
#ifndef COR_STORAGE_STORE_LIST_H
#define COR_STORAGE_STORE_LIST_H

#include "meta/select/list_options.h"
#include "meta/select/predicate.h"
#include "storage/store/store.h"

struct cor_store_list_opts {
    struct cor_list_options options; /* recursive, resource_version, resource_version_match, limit
                                      * and continue_token count */
    const struct cor_predicate *predicate; /* NULL: everything; must stay until the callback */
    uint64_t deadline_ms;                  /* on cor_loop_now_ms()'s clock; 0: none */
};

struct cor_store_list_reply {
    int err;
    struct cor_status *status;  /* err < 0: why; may be moved out. NULL otherwise */
    struct cor_object **items;  /* served form, in key order; never NULL on success. COR_STEAL takes
                                 * the array with its references; otherwise both are borrowed */
    size_t nitems;              /* 0 on failure */
    size_t bytes;               /* of the items */
    cor_rev rev;                /* of the whole list, and of all its pages */
    const char *continue_token; /* "": nothing is left; borrowed */
    int64_t remaining;          /* objects after this page; -1: not known, or nothing is left */
};
typedef void (*cor_store_list_cb)(void *arg, struct cor_store_list_reply *reply);

/* As in store.h. Errors, at once: -COR_EINVAL (key, resource version, match, token), -COR_ENOMEM;
 * later: -COR_EFUTURE, -COR_EEXPIRED (with a continue token the status has a new one that goes on
 * at the latest revision), -COR_ETIMEOUT, -COR_EINTERNAL (an object is unreadable: the message
 * names its key), the engine's. */
int cor_store_list(struct cor_store *store, struct cor_str key,
                   const struct cor_store_list_opts *opts, cor_store_list_cb on_done, void *arg,
                   struct cor_status *reterr_status);

#endif
