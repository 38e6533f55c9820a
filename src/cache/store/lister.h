/* Reading one object of an informer's cache as a client would read it from the server: by namespace
 * and name, with the server's Status when it is not there. Behaviour: client-go's generic lister;
 * its lists are cor_indexer_each().
 * Thread: any.  Owner: a value; the indexer must outlive it. */
#ifndef COR_CACHE_LISTER_H
#define COR_CACHE_LISTER_H

#include "base/str.h"
#include "cache/store/indexer.h"
#include "meta/object/object.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

struct cor_lister {
    struct cor_indexer *indexer;
    struct cor_gr resource; /* for "not found"; borrowed */
};

/* The object with one reference. 0, -COR_ENOTFOUND (with the server's Status), -COR_ENOMEM. */
int cor_lister_get(const struct cor_lister *lister, struct cor_str ns, struct cor_str name,
                   struct cor_object **ret_object, struct cor_status *reterr);

#endif
