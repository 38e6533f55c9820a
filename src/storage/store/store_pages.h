/* A range of keys that is read page by page, each page with one request to the engine. Embedded in
 * lists, watches, the fill of a watch cache and its consistency check.
 *
 *   begin, then: read, the answer in `range`, go_on, read, … and deinit.
 *
 * Thread: the loop's.  Owner: whoever embeds it. */
#ifndef COR_STORAGE_STORE_PAGES_H
#define COR_STORAGE_STORE_PAGES_H

#include "base/buf.h"
#include "storage/engine/engine.h"

struct store_pages {
    struct cor_range_req range; /* of the page that is read next, is being read, or was read */
    struct cor_buf from;        /* the key that it begins at */
    struct cor_loop *loop;
    void (*on_read)(struct cor_engine_req *req);
};

/* `on_read` is called on the loop with `range.req` for each page. 0 or -COR_ENOMEM; deinit is safe
 * then, and on a zeroed struct. */
int cor_store_pages_begin(struct store_pages *pages, struct cor_loop *loop,
                          void (*on_read)(struct cor_engine_req *req), struct cor_str first);
void cor_store_pages_deinit(struct store_pages *pages);

/* The next page begins right after the key `last`, which may be part of the present page. That page
 * is freed. 0 or -COR_ENOMEM: nothing has changed but the key. */
int cor_store_pages_go_on(struct store_pages *pages, struct cor_str last);

/* Reads up to `end` (empty: the one key) at revision `at` (0: the latest). Other fields of `range`
 * are the caller's to set before. */
void cor_store_pages_read(struct store_pages *pages, struct cor_engine *engine, struct cor_str end,
                          cor_rev at);

#endif
