/* Reading an informer's cache as a client would read the server: by namespace, name and labels,
 * without a request. Behaviour: client-go's generic lister; lists come by key.
 * Thread: any.  Owner: a value; the indexer must outlive it. */
#ifndef COR_CACHE_LISTER_H
#define COR_CACHE_LISTER_H

#include "base/str.h"
#include "cache/store/indexer.h"
#include "meta/gvk.h"
#include "meta/label_selector.h"
#include "meta/object.h"
#include "meta/status.h"

struct cor_lister {
    struct cor_indexer *indexer;
    struct cor_gr resource; /* for "not found"; borrowed */
};

/* Calls back for each object of the namespace (empty: all) that the selector (NULL: everything)
 * matches, until a call returns other than 0, which is returned. Objects are borrowed for the call
 * and never changed. 0, or -COR_ENOMEM. */
int cor_lister_each(const struct cor_lister *lister, struct cor_str ns,
                    const struct cor_label_selector *selector,
                    int (*fn)(void *arg, struct cor_object *object), void *arg);

/* The object with one reference. 0, -COR_ENOTFOUND (with the server's Status), -COR_ENOMEM. */
int cor_lister_get(const struct cor_lister *lister, struct cor_str ns, struct cor_str name,
                   struct cor_object **ret_object, struct cor_status *reterr);

#endif
