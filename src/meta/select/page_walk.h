/* A list that is read page by page: the token of the page to ask for. Endless lists are detected: a
 * token that leads to itself would repeat the same request and answer, and pages without objects
 * could go on forever.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_META_SELECT_PAGE_WALK_H
#define COR_META_SELECT_PAGE_WALK_H

#include <stddef.h>

#include "base/buf.h"
#include "meta/status/status.h"

/* Of one list: 50 million objects in pages of 500, which is more than any list here may hold. */
#define COR_PAGES_MAX      100000
#define COR_PAGE_TOKEN_MAX (64u * 1024)

struct cor_page_walk {
    struct cor_buf token; /* of the page to ask for; empty: the first */
    size_t npages;        /* that came before it */
};

void cor_page_walk_init(struct cor_page_walk *walk);
void cor_page_walk_deinit(struct cor_page_walk *walk);

/* The next page is the first. */
void cor_page_walk_reset(struct cor_page_walk *walk);

/* A page has come with the token of the next. 0, -COR_EINVAL (it is the token that this page was
 * asked for with: there is no end), -COR_ETOOBIG (too many pages, or the token), -COR_ENOMEM. */
int cor_page_walk_next(struct cor_page_walk *walk, struct cor_str token, struct cor_status *reterr);

#endif
