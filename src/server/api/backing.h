/* The backing of a resource on one loop: what its objects are stored by and read by.
 * Owner: the loop's part of the API.  Thread: the loop's. */
#ifndef COR_SERVER_BACKING_H
#define COR_SERVER_BACKING_H

#include "base/buf.h"
#include "base/dlist.h"
#include "schema/kinds/resource_row.h"
#include "storage/store/reader.h"

struct cor_api_loop;
struct cor_status;
struct cor_store;

/* Where one resource lives, as one loop sees it. The backing of a built-in resource stays until the
 * loop is released; that of a custom resource until its definition is retired and no call uses it.
 */
struct cor_backing {
    const struct cor_resource_row *row; /* a reference */
    struct cor_store *store;
    struct cor_reader *reader; /* of the same objects */
    struct cor_buf prefix;     /* of its keys: "/pods" */
    /* Of a custom resource: */
    size_t ncalls;            /* calls that hold it (cor_api_hold_backing()) */
    struct cor_dlist watches; /* watches of it that end when it is retired: struct cor_call_link */
};

/* A watch in the list of its backing. */
struct cor_call_link {
    struct cor_dlist link;
    /* Ends the watch when it has delivered everything up to the revision `upto` (0: at once), and
     * may free it. */
    void (*end)(struct cor_dlist *link, cor_rev upto);
};

/* The stores of `resource`, which is stored as it is, on this loop: made at first use, and kept
 * until the loop is released. 0, -COR_ENOMEM. */
int cor_api_backing(struct cor_api_loop *loop, const struct cor_resource_row *resource,
                    struct cor_backing **ret_backing, struct cor_status *reterr_status);

/* A call holds the backing of its resource: that of a custom resource is not freed before
 * cor_api_put_backing(), which the end of the call does. */
static inline void cor_api_hold_backing(struct cor_backing *backing)
{
    backing->ncalls++;
}
void cor_api_put_backing(struct cor_api_loop *loop, struct cor_backing *backing);

#endif
