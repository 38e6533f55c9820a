/* A large list in pages: client-go's pager. The list is either gathered, or given item by item
 * while further pages are fetched ahead. Owner: the REST client that it runs on.  Thread: that
 * one's loop. No function calls back before it returns. */
#ifndef COR_KIT_PAGER_H
#define COR_KIT_PAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/dynamic/dynamic_client.h"

#define COR_PAGER_PREFETCH    10
#define COR_PAGER_OBJECTS_MAX (4u << 20) /* held at once */

struct cor_pager;

/* As cor_rest_request_failure(), of the page that is asked for. */
const char *cor_pager_failure(const struct cor_pager *pager);

/* Ends the pager without a callback, and frees it. Also inside its on_item; not inside its on_done.
 */
void cor_pager_cancel(struct cor_pager *pager);

struct cor_pager_opts {
    struct cor_rest_client *client;
    struct cor_api_operation op; /* a list; copied. A limit of 0 is COR_PAGE_SIZE */
    uint64_t timeout_ms;         /* of all pages; 0: the REST client's, of each */
};

struct cor_paged_list {
    struct cor_object *const *objects;
    size_t n;
    struct cor_str resource_version; /* of the first page, which the others belong to */
    bool is_paged;                   /* a page was continued */
};

/* Gathers the whole list. When a later page has expired, the whole list is requested again in one
 * answer, at the resourceVersion of the query. Both functions return 0, or as cor_dynamic_send();
 * after 0, on_done is called once. `list`, borrowed, is NULL on failure. */
int cor_pager_list(const struct cor_pager_opts *opts,
                   void (*on_done)(void *arg, const struct cor_paged_list *list,
                                   const struct cor_status *error),
                   void *arg, struct cor_pager **ret_pager, struct cor_status *reterr);

struct cor_pager_each_cbs {
    /* Each item in order, borrowed. 0: continue; positive: pause after this item until
     * cor_pager_resume(); negative: end with that code. */
    int (*on_item)(void *arg, struct cor_object *object);
    /* The resourceVersion is that of the first page; empty when that page did not arrive. A page
     * that has expired is a failure here, because items have been given already. */
    void (*on_done)(void *arg, struct cor_str resource_version, const struct cor_status *error);
};

/* `prefetch` pages are fetched ahead of the one that is being taken and the one after it. */
int cor_pager_each(const struct cor_pager_opts *opts, unsigned prefetch,
                   const struct cor_pager_each_cbs *cbs, void *arg, struct cor_pager **ret_pager,
                   struct cor_status *reterr);

/* Ends a pause. Not inside on_item. */
void cor_pager_resume(struct cor_pager *pager);

#endif
