/* A list from the store.
 *
 *   1. A page is read from the engine. The first one settles the revision, and all others are read
 *      at it. With a limit, the first read takes that many keys; while a selector leaves the page
 *      unfilled, the next read takes twice as many.
 *   2. Keys become objects, a bounded number per turn of the loop (list_work()).
 *   3. When the limit is reached or no key is left, the reply is made, with a continue token when
 *      more follows (list_finish()).
 *
 * What fails: a read, a value that cannot be decoded, an allocation, and the deadline each end the
 * list with an error; there is no reply with a part of it. A revision that was compacted is 410,
 * with a token to go on at the latest revision.
 *
 * Thread: the loop's. */
#include "storage/store/store_list.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "meta/select/continue_token.h"
#include "storage/store/store_int.h"

/* The most keys read at once; a page that a selector left unfilled doubles the next read. */
#define FETCH_MAX 10000
#define TOKEN_MAX (16 * COR_KEY_BYTES_MAX)

static void list_on_read(struct cor_engine_req *req);

struct list_op {
    struct cor_store *store;
    struct store_key key;
    const struct cor_predicate *predicate; /* NULL: everything */
    size_t limit;                          /* 0: all */
    bool recursive;
    struct cor_list_plan plan;
    cor_rev rev; /* of the list; 0: the latest, until the first page says which that is */
    uint64_t deadline_ms;
    cor_store_list_cb on_done;
    void *arg;

    struct store_pages pages;
    size_t fetch;        /* keys to read at once; 0: the engine decides */
    size_t at;           /* the page's next key to look at */
    struct cor_kv *last; /* the last one looked at */
    uint64_t count;      /* keys of the range from this request's beginning on */
    struct cor_object **items;
    size_t nitems, cap;
    size_t bytes; /* of the items */
    struct cor_mail turn;
};

static void list_op_free(struct list_op *op)
{
    op->store->busy--;
    for (size_t i = 0; i < op->nitems; i++)
        cor_object_unref(op->items[i]);
    cor_free(op->items);
    cor_kv_unref(op->last);
    cor_store_pages_deinit(&op->pages);
    store_key_deinit(&op->key);
    cor_list_plan_deinit(&op->plan);
    cor_free(op);
}

static void list_fail(struct list_op *op, int err, struct cor_status *status)
{
    struct cor_store_list_reply reply = {
        .err = err, .status = status, .continue_token = "", .remaining = -1};
    cor_store_list_cb on_done = op->on_done;
    void *arg = op->arg;

    list_op_free(op);
    on_done(arg, &reply);
}

static void list_succeed(struct list_op *op, const char *token, int64_t remaining)
{
    struct cor_store_list_reply reply = {
        .items = op->items,
        .nitems = op->nitems,
        .bytes = op->bytes,
        .rev = op->rev,
        .continue_token = token,
        .remaining = remaining,
    };
    cor_store_list_cb on_done = op->on_done;
    void *arg = op->arg;

    op->items = NULL;
    op->nitems = 0;
    list_op_free(op);
    on_done(arg, &reply);
    if (!reply.items)
        return;
    for (size_t i = 0; i < reply.nitems; i++)
        cor_object_unref(reply.items[i]);
    cor_free(reply.items);
}

static int list_grow(struct list_op *op)
{
    return COR_ARRAY_RESERVE(&op->items, op->nitems, &op->cap, COR_ARRAY_NO_MAX);
}

static bool list_is_full(const struct list_op *op)
{
    return op->limit > 0 && op->nitems >= op->limit;
}

static void list_finish(struct list_op *op, bool more)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf token;
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int64_t remaining = -1;
    int r = op->items ? 0 : list_grow(op);

    cor_buf_init(&token, TOKEN_MAX);
    cor_status_init(&status);
    if (r == 0 && more)
        r = cor_continue_encode_after(cor_kv_key(op->last), store_key_str(&op->key),
                                      (int64_t)op->rev, &token, NULL);
    if (r < 0) {
        list_fail(op, cor_status_set_err(&status, r), &status);
        return;
    }
    if (more && !op->predicate)
        remaining = (int64_t)op->count - (int64_t)op->limit;
    list_succeed(op, cor_buf_z(&token), remaining);
}

static void list_read_page(struct list_op *op)
{
    op->at = 0;
    op->pages.range.limit = op->fetch;
    /* A client may name any number. No store reaches COR_REV_MAX, so reading there fails as reading
     * at every larger number would, and engines need not know more than 63 bits. */
    cor_store_pages_read(&op->pages, op->store->engine,
                         op->recursive ? store_key_end(&op->key) : cor_str("", 0),
                         op->rev < COR_REV_MAX ? op->rev : COR_REV_MAX);
}

static void list_read_next_page(struct list_op *op)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    if (cor_store_pages_go_on(&op->pages, cor_kv_key(op->last)) < 0) {
        list_fail(op, cor_store_no_memory(&status), &status);
        return;
    }
    if (op->fetch > 0 && op->fetch < FETCH_MAX)
        op->fetch = op->fetch * 2 < FETCH_MAX ? op->fetch * 2 : FETCH_MAX;
    list_read_page(op);
}

static int list_look_at(struct list_op *op, const struct cor_kv *kv,
                        struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r;

    if (op->deadline_ms > 0 && cor_loop_now_ms(op->store->loop) > op->deadline_ms)
        return cor_store_timed_out(&op->key, reterr_status);
    r = cor_store_decode(op->store, kv, 0, &object, NULL, reterr_status);
    if (r < 0)
        return r;
    if (op->predicate && !cor_predicate_matches(op->predicate, object))
        return 0;
    if (op->nitems == op->cap && list_grow(op) < 0)
        return cor_store_no_memory(reterr_status);
    op->bytes += sizeof(object) + sizeof(*object) + object->len;
    op->items[op->nitems++] = COR_STEAL(object);
    return 0;
}

static void list_work(struct list_op *op)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    size_t items = 0, bytes = 0;
    int r;

    cor_status_init(&status);
    while (op->at < op->pages.range.ret_nkvs && !list_is_full(op)) {
        if (items == STORE_TURN_ITEMS_MAX || bytes >= STORE_TURN_BYTES_MAX) {
            cor_loop_post_always(op->store->loop, &op->turn);
            return;
        }
        cor_kv_unref(op->last);
        op->last = COR_STEAL(op->pages.range.ret_kvs[op->at]);
        op->at++;
        r = list_look_at(op, op->last, &status);
        if (r < 0) {
            list_fail(op, r, &status);
            return;
        }
        items++;
        bytes += op->last->value_len *
                 (cor_store_decodes_slowly(op->store, op->last) ? STORE_RENEW_COST : 1);
    }
    if (op->at < op->pages.range.ret_nkvs)
        list_finish(op, true);
    else if (!op->pages.range.ret_more || list_is_full(op))
        list_finish(op, op->pages.range.ret_more);
    else
        list_read_next_page(op);
}

static void list_on_turn(struct cor_mail *mail)
{
    list_work(COR_CONTAINER_OF(mail, struct list_op, turn));
}

/* The first page says at which revision the whole list is read. */
static int list_settle_revision(struct list_op *op, struct cor_status *reterr_status)
{
    if (op->rev > 0)
        return 0;
    if (op->plan.rev > op->pages.range.ret_rev)
        return cor_status_too_large_rv(reterr_status, op->plan.rev, op->pages.range.ret_rev, 0);
    op->rev = op->pages.range.ret_rev;
    return 0;
}

static void list_on_read(struct cor_engine_req *req)
{
    struct list_op *op = COR_CONTAINER_OF(req, struct list_op, pages.range.req);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    cor_status_init(&status);
    if (req->result == -COR_EFUTURE)
        r = cor_status_too_large_rv(&status, op->rev, op->pages.range.ret_rev, 0);
    else if (req->result == -COR_EEXPIRED)
        r = cor_list_plan_expired(&op->plan, cor_buf_str(&op->pages.from), store_key_str(&op->key),
                                  &status);
    else if (req->result < 0)
        r = cor_store_engine_failure(&op->key, req, &status);
    else
        r = list_settle_revision(op, &status);
    if (r < 0) {
        list_fail(op, r, &status);
        return;
    }
    if (op->pages.range.count) {
        op->count = op->pages.range.ret_count;
        op->pages.range.count = false;
    }
    list_work(op);
}

/* Finds the revision to read at, and the key to begin with. */
static int list_read_options(struct list_op *op, const struct cor_store_list_opts *opts,
                             struct cor_status *reterr_status)
{
    int r =
        cor_list_options_resolve(&opts->options, store_key_str(&op->key), &op->plan, reterr_status);

    if (r < 0)
        return r;
    if (op->plan.mode == COR_READ_EXACT || op->plan.mode == COR_READ_CONTINUE)
        op->rev = op->plan.rev;
    r = cor_store_pages_begin(&op->pages, op->store->loop, list_on_read,
                              op->plan.start.n > 0 ? cor_buf_str(&op->plan.start)
                                                   : store_key_str(&op->key));
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

int cor_store_list(struct cor_store *store, struct cor_str key,
                   const struct cor_store_list_opts *opts, cor_store_list_cb on_done, void *arg,
                   struct cor_status *reterr_status)
{
    struct list_op *op = cor_calloc(1, sizeof(*op));
    int r;

    assert(cor_loop_is_current(store->loop));
    if (!op)
        return cor_store_no_memory(reterr_status);
    *op = (struct list_op){
        .store = store,
        .limit = opts->options.limit > 0 ? (size_t)opts->options.limit : 0,
        .recursive = opts->options.recursive,
        .deadline_ms = opts->deadline_ms,
        .on_done = on_done,
        .arg = arg,
        .turn.on_mail = list_on_turn,
    };
    store->busy++;
    if (opts->predicate && !cor_predicate_empty(opts->predicate))
        op->predicate = opts->predicate;
    r = cor_store_key_init(&op->key, store, key, op->recursive, reterr_status);
    if (r == 0)
        r = list_read_options(op, opts, reterr_status);
    if (r < 0) {
        list_op_free(op);
        return r;
    }
    op->fetch = op->limit < FETCH_MAX ? op->limit : FETCH_MAX;
    op->pages.range.count = op->recursive && op->limit > 0 && !op->predicate;
    list_read_page(op);
    return 0;
}
