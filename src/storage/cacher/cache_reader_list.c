/* clang-format off */
/* A LIST: which state answers it.
 *
 *   the cache is not ready   the store, for a page without selectors; else 429
 *   a value below the key    the store, which fails with the key of the value when the page has it
 *   cannot be decoded
 *   exact, or a page at R    the state at R: the present one, or a kept root and events; else the
 *                            store
 *   one key, exact           the store
 *   any other                the present state, once it is as young as was asked for; not in time:
 *                            the store for a consistent list, else 504
 *
 * The page is found in list_cursor.c, in several turns of the loop where a selector matches little.
 * The predicate and the strings of the options outlive the call: strings are copied into the
 * operation, the predicate is the caller's until the cursor is freed.
 *
 * Thread: the loop's. The callback runs in a later turn. */
/* clang-format on */
#include "base/mem.h"
#include "storage/cacher/cache_reader_int.h"

struct list_op {
    struct cacher_reader *reader;
    struct cor_mail mail;
    struct fresh_wait wait;
    struct store_key key;
    struct cor_list_plan plan;
    struct cor_store_list_opts opts; /* with strings of its own */
    const struct cor_predicate *predicate;
    struct cor_list_cursor *cursor; /* whose page is looked for, between two turns; else NULL */
    cor_reader_list_cb on_done;
    void *arg;
    struct cor_str logical;
    char text[]; /* what the strings point to */
};

static void list_free(struct list_op *op)
{
    op->reader->busy--;
    cor_list_plan_deinit(&op->plan);
    store_key_deinit(&op->key);
    cor_free(op);
}

static void list_reply(struct list_op *op, int err, struct cor_status *status,
                       struct cor_list_cursor *take_cursor)
{
    cor_reader_list_cb on_done = op->on_done;
    void *arg = op->arg;

    list_free(op);
    on_done(arg, err, err < 0 ? status : NULL, take_cursor);
}

static void list_on_stored(void *arg, int err, struct cor_status *status,
                           struct cor_list_cursor *take_cursor)
{
    struct list_op *op = arg;

    if (take_cursor)
        cor_cachers_saw(op->reader->cacher->cachers, take_cursor->rev);
    list_reply(op, err, status, take_cursor);
}

static void list_from_store(struct list_op *op)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    cor_status_init(&status);
    r = cor_reader_list(op->reader->raw, op->logical, &op->opts, list_on_stored, op, &status);
    if (r < 0)
        list_reply(op, r, &status, NULL);
}

static bool is_exact(const struct list_op *op)
{
    return op->plan.mode == COR_READ_EXACT || op->plan.mode == COR_READ_CONTINUE;
}

static bool is_consistent(const struct list_op *op)
{
    return op->plan.mode == COR_READ_CONSISTENT || op->plan.mode == COR_READ_CONTINUE_LATEST;
}

/* Everything up to the published revision is in the root that is taken afterwards, so the list has
 * the later of the two revisions. That holds only if the cache is ready between the two: the
 * content of a cache that waits for its list is old, and the cache may become ready just after its
 * old content was taken. -COR_EEXPIRED: the store must answer. */
static int list_take_snapshot(struct list_op *op, struct cor_cache_snapshot *ret_snapshot)
{
    struct cor_cacher *cacher = op->reader->cacher;
    cor_rev published = atomic_load(&cacher->cachers->rev);
    int r;

    if (!cor_cacher_is_ready(cacher) || (is_exact(op) && !atomic_load(&cacher->check.agrees)))
        return -COR_EEXPIRED;
    if (is_exact(op))
        r = cor_cache_snapshot_at(&cacher->cache, op->plan.rev, op->predicate, ret_snapshot);
    else
        r = cor_cache_snapshot_now(&cacher->cache, op->predicate, ret_snapshot);
    if (r == 0 && cor_watch_cache_is_blind(&cacher->cache, store_key_str(&op->key),
                                           op->opts.options.recursive, ret_snapshot->rev))
        r = -COR_EEXPIRED;
    if (r == 0 && !is_exact(op) && ret_snapshot->rev < published)
        ret_snapshot->rev = published;
    return r;
}

static void list_on_search(struct cor_mail *mail);

/* Goes on after cor_cacher_cursor_begin() or cor_cacher_cursor_find_page() has returned `r`. */
static void list_go_on(struct list_op *op, struct cor_list_cursor *take_cursor, int r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    if (r > 0) {
        op->cursor = take_cursor;
        op->mail.on_mail = list_on_search;
        cor_loop_post_always(op->reader->loop->loop, &op->mail);
        return;
    }
    if (r < 0) {
        take_cursor = cor_list_cursor_free(take_cursor);
        cor_store_no_memory(&status);
    }
    list_reply(op, r, &status, take_cursor);
}

static void list_on_search(struct cor_mail *mail)
{
    struct list_op *op = COR_CONTAINER_OF(mail, struct list_op, mail);
    struct cor_list_cursor *cursor = COR_STEAL(op->cursor);

    list_go_on(op, cursor, cor_cacher_cursor_find_page(cursor, COR_LIST_LOOKS_AT_ONCE));
}

static void list_from_cache(struct list_op *op)
{
    COR_CLEANUP(cor_list_cursor_freep) struct cor_list_cursor *cursor = NULL;
    struct cor_cache_snapshot *snapshot;
    size_t limit = op->opts.options.limit > 0 ? (size_t)op->opts.options.limit : 0;
    int r;

    r = cor_cacher_cursor_new(op->reader, store_key_str(&op->key), &cursor, &snapshot);
    if (r == 0)
        r = list_take_snapshot(op, snapshot);
    if (r == -COR_EEXPIRED) {
        list_from_store(op);
        return;
    }
    if (r == 0)
        r = cor_cacher_cursor_begin(cursor, cor_buf_str(&op->plan.start),
                                    op->plan.mode == COR_READ_ANY ? 0 : limit, op->predicate);
    list_go_on(op, COR_STEAL(cursor), r);
}

static void list_on_fresh(struct fresh_wait *wait, bool in_time)
{
    struct list_op *op = COR_CONTAINER_OF(wait, struct list_op, wait);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    if (in_time)
        list_from_cache(op);
    else if (is_consistent(op))
        list_from_store(op);
    else
        list_reply(op,
                   cor_status_too_large_rv(&status, op->plan.rev,
                                           atomic_load(&wait->loop->cachers->rev),
                                           TOO_LARGE_RETRY_S),
                   &status, NULL);
}

static void list_on_mail(struct cor_mail *mail)
{
    struct list_op *op = COR_CONTAINER_OF(mail, struct list_op, mail);
    struct cor_cachers *cachers = op->reader->cacher->cachers;
    cor_rev need = is_consistent(op) ? cachers_consistent_rev(cachers) : cachers_need(op->plan.rev);

    if (is_exact(op) && !op->opts.options.recursive)
        list_from_store(op);
    else if (cachers_have_reached(cachers, need))
        list_from_cache(op);
    else if (cor_fresh_wait_begin(&op->wait, op->reader->loop, need, list_on_fresh) < 0)
        list_from_store(op);
}

static void list_on_mail_not_ready(struct cor_mail *mail)
{
    list_from_store(COR_CONTAINER_OF(mail, struct list_op, mail));
}

static struct cor_str copy(char **at, struct cor_str from)
{
    struct cor_str to = cor_str(*at, from.n);

    if (from.n > 0)
        memcpy(*at, from.p, from.n);
    *at += from.n;
    return to;
}

static struct list_op *list_new(struct cacher_reader *reader, struct cor_str key,
                                const struct cor_store_list_opts *opts)
{
    const struct cor_list_options *o = &opts->options;
    struct list_op *op = cor_calloc(1, sizeof(*op) + key.n + o->resource_version.n +
                                           o->resource_version_match.n + o->continue_token.n);
    char *at;

    if (!op)
        return NULL;
    at = op->text;
    reader->busy++;
    op->reader = reader;
    op->opts = *opts;
    op->logical = copy(&at, key);
    op->opts.options.resource_version = copy(&at, o->resource_version);
    op->opts.options.resource_version_match = copy(&at, o->resource_version_match);
    op->opts.options.continue_token = copy(&at, o->continue_token);
    if (opts->predicate && !cor_predicate_empty(opts->predicate))
        op->predicate = opts->predicate;
    return op;
}

static int list_check_ready(struct list_op *op, struct cor_status *reterr_status)
{
    struct cor_cacher *cacher = op->reader->cacher;
    int r;

    cor_lock_acquire(&cacher->cache.lock);
    r = cor_ready_check(&cacher->ready, cor_cachers_now_ms(cacher->cachers), reterr_status);
    cor_lock_release(&cacher->cache.lock);
    op->mail.on_mail = r < 0 ? list_on_mail_not_ready : list_on_mail;
    if (r == -COR_EBUSY && !op->predicate && op->opts.options.limit > 0) {
        cor_status_deinit(reterr_status);
        return 0;
    }
    return r;
}

int cor_cacher_reader_list(struct cor_reader *base, struct cor_str key,
                           const struct cor_store_list_opts *opts, cor_reader_list_cb on_done,
                           void *arg, struct cor_status *reterr_status)
{
    struct cacher_reader *reader = cacher_reader_of(base);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct list_op *op;
    int r;

    assert(cor_loop_is_current(reader->loop->loop));
    cor_status_init(&status);
    op = list_new(reader, key, opts);
    if (!op)
        return cor_store_no_memory(reterr_status);
    op->on_done = on_done;
    op->arg = arg;
    r = cor_store_key_init(&op->key, reader->store, key, opts->options.recursive, &status);
    if (r == 0)
        r = cor_list_options_resolve(&op->opts.options, store_key_str(&op->key), &op->plan,
                                     &status);
    if (r == 0)
        r = list_check_ready(op, &status);
    if (r < 0) {
        list_free(op);
        if (reterr_status)
            cor_status_move(reterr_status, &status);
        return r;
    }
    cor_loop_post_always(reader->loop->loop, &op->mail);
    return 0;
}
