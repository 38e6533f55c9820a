#include "meta/select/page_walk.h"

#include "base/err.h"

void cor_page_walk_init(struct cor_page_walk *walk)
{
    *walk = (struct cor_page_walk){0};
    cor_buf_init(&walk->token, COR_PAGE_TOKEN_MAX);
}

void cor_page_walk_deinit(struct cor_page_walk *walk)
{
    cor_buf_deinit(&walk->token);
}

void cor_page_walk_reset(struct cor_page_walk *walk)
{
    cor_buf_reset(&walk->token);
    walk->npages = 0;
}

int cor_page_walk_next(struct cor_page_walk *walk, struct cor_str token, struct cor_status *reterr)
{
    int r;

    if (cor_str_eq(token, cor_buf_str(&walk->token)))
        return cor_status_untyped(reterr, -COR_EINVAL,
                                  "the list has no end: the server repeats its continue token");
    if (walk->npages + 1 == COR_PAGES_MAX)
        return cor_status_untyped(reterr, -COR_ETOOBIG, "the list has more than %d pages",
                                  COR_PAGES_MAX);
    cor_buf_reset(&walk->token);
    r = cor_buf_adds(&walk->token, token);
    if (r < 0)
        return cor_status_untyped(reterr, r, "continue token of %zu bytes: %s", token.n,
                                  cor_err_text(r));
    walk->npages++;
    return 0;
}
