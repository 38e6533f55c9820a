#include "storage/store/store_pages.h"

#include <assert.h>

#include "base/limits.h"
#include "loop/loop.h"
#include "meta/names/key.h"

int cor_store_pages_begin(struct store_pages *pages, struct cor_loop *loop,
                          void (*on_read)(struct cor_engine_req *req), struct cor_str first)
{
    assert(cor_loop_is_current(loop));
    cor_range_req_init(&pages->range, loop, on_read);
    cor_buf_init(&pages->from, 2 * COR_KEY_BYTES_MAX);
    pages->loop = loop;
    pages->on_read = on_read;
    return cor_buf_adds(&pages->from, first);
}

void cor_store_pages_deinit(struct store_pages *pages)
{
    cor_range_req_deinit(&pages->range);
    cor_buf_deinit(&pages->from);
}

int cor_store_pages_go_on(struct store_pages *pages, struct cor_str last)
{
    int r;

    /* The first key after `last` is `last` with a NUL after it. */
    cor_buf_reset(&pages->from);
    r = cor_buf_adds(&pages->from, last);
    if (r == 0)
        r = cor_buf_addc(&pages->from, 0);
    if (r < 0)
        return r;
    cor_range_req_deinit(&pages->range);
    cor_range_req_init(&pages->range, pages->loop, pages->on_read);
    return 0;
}

void cor_store_pages_read(struct store_pages *pages, struct cor_engine *engine, struct cor_str end,
                          cor_rev at)
{
    assert(cor_loop_is_current(pages->loop));
    pages->range.key = cor_buf_str(&pages->from);
    pages->range.end = end;
    pages->range.at = at;
    cor_engine_range(engine, &pages->range);
}
