/* clang-format off */
/* Reads every value under a prefix and writes those again that the first key of their transformer did
 * not write, or whose form is to be changed.
 *
 *   read a page ──► each value: decrypt, convert; stale ─► encrypt ─► compare-and-swap ┐
 *        ▲                              └─ up to date: nothing                   │
 *        └── all writes of the page are answered: progress, next page ◄──────────┘──► on_done
 *
 * A lost compare brings the value that another writer has put: it is looked at again, ATTEMPTS_MAX
 * times. A key that was deleted meanwhile is done.
 *
 * Failures. A value that cannot be decrypted, converted or encrypted is reported (on_failure), and the others go
 * on. A failed read or write of the store, and missing memory, end the work: the writes under way are
 * waited for, then on_done gets the first error.
 *
 * Thread: the loop of the options. Owner: itself, until on_done. */
/* clang-format on */
#include "storage/maintenance/rewriter.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "storage/engine/engine.h"

/* Keys per read, and writes under way: with values of 1.5 MB each a page stays below 100 MB. */
#define PAGE         64
#define VALUE_MAX    (16u << 20)
#define ATTEMPTS_MAX 10

struct rewriter;

/* One value of the page. `kv` is NULL when there is nothing left to do for it. */
struct item {
    struct rewriter *rewriter;
    struct cor_kv *kv;
    struct cor_buf plain, form, sealed;
    struct cor_write_req write;
    unsigned attempts;
};

struct rewriter {
    struct cor_rewriter_opts opts;
    struct cor_rewriter_counts counts;
    struct cor_buf cursor, end;
    struct cor_range_req range;
    bool more;
    size_t pending; /* writes of this page without an answer; one more while the page is read */
    int err;        /* the first failure that ends the work */
    struct cor_status status;
    struct item items[PAGE];
};

static void rewriter_read_page(struct rewriter *rw);
static void item_rewrite(struct item *item, struct cor_kv *take_kv);

static void rewriter_finish(struct rewriter *rw)
{
    struct cor_rewriter_opts opts = rw->opts;
    struct cor_rewriter_counts counts = rw->counts;
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int err = rw->err;

    cor_status_init(&status);
    cor_status_move(&status, &rw->status);
    cor_buf_deinit(&rw->cursor);
    cor_buf_deinit(&rw->end);
    cor_free(rw);
    opts.on_done(opts.arg, err, &status, &counts);
}

static void rewriter_stop(struct rewriter *rw, int err, struct cor_status *status)
{
    if (rw->err == 0) {
        rw->err = err;
        cor_status_move(&rw->status, status);
    }
}

static void rewriter_page_done(struct rewriter *rw)
{
    if (rw->pending > 0)
        return;
    if (rw->err == 0)
        rw->opts.on_progress(rw->opts.arg, &rw->counts);
    if (rw->err == 0 && rw->more)
        rewriter_read_page(rw);
    else
        rewriter_finish(rw);
}

static void item_deinit(struct item *item)
{
    item->kv = cor_kv_unref(item->kv);
    cor_buf_deinit(&item->plain);
    cor_buf_deinit(&item->form);
    cor_buf_deinit(&item->sealed);
}

static void item_failed(struct item *item, const struct cor_status *why)
{
    struct rewriter *rw = item->rewriter;

    rw->counts.failed++;
    rw->opts.on_failure(rw->opts.arg, cor_kv_key(item->kv), why);
    item_deinit(item);
}

/* Another writer came first. Its value may be up to date already. */
static void item_lost(struct item *item)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st;
    struct cor_kv *now = COR_STEAL(item->write.ret_prev);

    cor_status_init(&st);
    if (!now) {
        item_deinit(item);
    } else if (++item->attempts < ATTEMPTS_MAX) {
        cor_kv_unref(item->kv);
        item_rewrite(item, now);
    } else {
        cor_kv_unref(now);
        (void)cor_status_set(&st, -COR_ECONFLICT, "it changes faster than it can be rewritten");
        item_failed(item, &st);
    }
}

static void on_written(struct cor_engine_req *req)
{
    struct item *item = COR_CONTAINER_OF(req, struct item, write.req);
    struct rewriter *rw = item->rewriter;

    rw->pending--;
    if (req->result == -COR_ECONFLICT) {
        item_lost(item);
    } else if (req->result < 0) {
        rewriter_stop(rw, req->result, &req->status);
        item_deinit(item);
    } else {
        rw->counts.rewritten++;
        item_deinit(item);
    }
    /* item_lost() may have sent the request again: then its memory is in use. */
    if (!item->kv)
        cor_write_req_deinit(&item->write);
    rewriter_page_done(rw);
}

/* 1: `item->sealed` has the new value. 0: the old one is up to date. */
static int item_transform(struct item *item, const struct cor_transformer *t,
                          struct cor_str *ret_value, struct cor_status *st)
{
    const struct cor_rewriter_opts *opts = &item->rewriter->opts;
    struct cor_str key = cor_kv_key(item->kv), plain;
    bool stale = false;
    int r = t->from_storage(t, key, cor_kv_value(item->kv), &item->plain, &plain, &stale, st);

    if (r == 0 && opts->convert) {
        cor_buf_reset(&item->form);
        r = opts->convert(opts->arg, plain, &item->form, &plain, st);
        stale |= r > 0;
    }
    if (r < 0 || !stale)
        return r < 0 ? r : 0;
    cor_buf_reset(&item->sealed);
    r = t->to_storage(t, key, plain, &item->sealed, ret_value, st);
    return r < 0 ? r : 1;
}

static void item_rewrite(struct item *item, struct cor_kv *take_kv)
{
    struct rewriter *rw = item->rewriter;
    const struct cor_transformer *t = rw->opts.transformer_of(rw->opts.arg, cor_kv_key(take_kv));
    COR_CLEANUP(cor_status_deinit) struct cor_status st;
    struct cor_str value;
    int r = 0;

    cor_status_init(&st);
    item->kv = take_kv;
    if (t)
        r = item_transform(item, t, &value, &st);
    if (r == -COR_ENOMEM) {
        rewriter_stop(rw, r, &st);
        item_deinit(item);
    } else if (r < 0) {
        item_failed(item, &st);
    } else if (r == 0) {
        item_deinit(item);
    } else {
        cor_write_req_deinit(&item->write);
        cor_write_req_init(&item->write, rw->opts.loop, on_written);
        item->write.key = cor_kv_key(take_kv);
        item->write.value = value;
        item->write.expected = take_kv->mod_rev;
        item->write.lease = take_kv->lease;
        rw->pending++;
        cor_engine_write(rw->opts.engine, &item->write);
    }
}

static int rewriter_move_cursor(struct rewriter *rw)
{
    const struct cor_kv *last = rw->range.ret_kvs[rw->range.ret_nkvs - 1];
    int r;

    cor_buf_reset(&rw->cursor);
    r = cor_buf_adds(&rw->cursor, cor_kv_key(last));
    return r < 0 ? r : cor_buf_addc(&rw->cursor, 0);
}

static void on_page(struct cor_engine_req *req)
{
    struct rewriter *rw = COR_CONTAINER_OF(req, struct rewriter, range.req);
    size_t n = req->result == 0 ? rw->range.ret_nkvs : 0;

    if (req->result < 0)
        rewriter_stop(rw, req->result, &req->status);
    if (rw->range.count)
        rw->counts.total = rw->range.ret_count;
    rw->more = n > 0 && rw->range.ret_more;
    if (n > 0 && rewriter_move_cursor(rw) < 0) {
        (void)cor_status_no_memory(&req->status);
        rewriter_stop(rw, -COR_ENOMEM, &req->status);
    }
    rw->pending = 1;
    for (size_t i = 0; i < n && rw->err == 0; i++) {
        struct item *item = &rw->items[i];

        *item = (struct item){.rewriter = rw};
        cor_buf_init(&item->plain, VALUE_MAX);
        cor_buf_init(&item->form, VALUE_MAX);
        cor_buf_init(&item->sealed, VALUE_MAX);
        rw->counts.seen++;
        item_rewrite(item, cor_kv_ref(rw->range.ret_kvs[i]));
    }
    cor_range_req_deinit(&rw->range);
    rw->pending--;
    rewriter_page_done(rw);
}

static void rewriter_read_page(struct rewriter *rw)
{
    bool is_first = rw->counts.seen == 0;

    cor_range_req_init(&rw->range, rw->opts.loop, on_page);
    rw->range.key = cor_buf_str(&rw->cursor);
    rw->range.end = cor_buf_str(&rw->end);
    rw->range.limit = PAGE;
    rw->range.count = is_first;
    cor_engine_range(rw->opts.engine, &rw->range);
}

int cor_rewriter_start(const struct cor_rewriter_opts *opts, struct cor_status *reterr_status)
{
    struct rewriter *rw = cor_calloc(1, sizeof(*rw));
    int r;

    assert(opts->on_done && opts->on_failure && opts->on_progress && opts->transformer_of);
    if (!rw)
        return cor_status_no_memory(reterr_status);
    rw->opts = *opts;
    cor_status_init(&rw->status);
    cor_buf_init(&rw->cursor, COR_KEY_BYTES_MAX + 1);
    cor_buf_init(&rw->end, COR_KEY_BYTES_MAX);
    r = cor_buf_adds(&rw->cursor, opts->prefix);
    if (r == 0)
        r = cor_key_range_end(opts->prefix, &rw->end);
    if (r < 0) {
        cor_buf_deinit(&rw->cursor);
        cor_buf_deinit(&rw->end);
        cor_free(rw);
        return cor_status_set_err(reterr_status, r);
    }
    rewriter_read_page(rw);
    return 0;
}
