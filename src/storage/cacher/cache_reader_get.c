/* clang-format off */
/* A GET: which state answers it.
 *
 *   the cache is not ready            the store
 *   the value cannot be decoded       the store, which fails with its key
 *   resourceVersion "0"               the cache
 *   resourceVersion N                 the cache, once it has reached N; not in time: 504
 *   resourceVersion ""                the cache, once it is as young as the store was when the read
 *                                     began; not in time, or no memory for the wait: the store
 *
 * Thread: the loop's. The callback runs in a later turn. */
/* clang-format on */
#include <stdio.h>

#include "base/mem.h"
#include "meta/status/resource_version.h"
#include "storage/cacher/cache_reader_int.h"

struct get_op {
    struct cacher_reader *reader;
    struct cor_mail mail;
    struct fresh_wait wait;
    struct store_key key;
    cor_rev want;    /* 0: none */
    bool consistent; /* not older than what was committed when the request came */
    bool ignore_not_found;
    cor_store_cb on_done;
    void *arg;
    size_t logical_len;
    char logical[]; /* the key as it was given */
};

static void get_free(struct get_op *op)
{
    op->reader->busy--;
    store_key_deinit(&op->key);
    cor_free(op);
}

static void get_reply(struct get_op *op, int err, struct cor_status *status,
                      struct cor_object *object)
{
    struct cor_store_reply answer = {
        .err = err, .status = err < 0 ? status : NULL, .object = object};
    cor_store_cb on_done = op->on_done;
    void *arg = op->arg;

    get_free(op);
    on_done(arg, &answer);
}

static void get_on_stored(void *arg, const struct cor_store_reply *stored)
{
    struct get_op *op = arg;

    if (stored->object)
        cor_cachers_saw(op->reader->cacher->cachers, stored->object->rev);
    get_reply(op, stored->err, stored->status, stored->object);
}

static void get_from_store(struct get_op *op)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    char rv[24];
    struct cor_store_get_opts opts = {.ignore_not_found = op->ignore_not_found};
    int r;

    cor_status_init(&status);
    if (op->want > 0) {
        snprintf(rv, sizeof(rv), "%llu", (unsigned long long)op->want);
        opts.resource_version = cor_strz(rv);
    }
    r = cor_store_get(op->reader->store, cor_str(op->logical, op->logical_len), &opts,
                      get_on_stored, op, &status);
    if (r < 0)
        get_reply(op, r, &status, NULL);
}

static void get_from_cache(struct get_op *op)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_cacher *cacher = op->reader->cacher;
    bool unreadable;
    int r = 0;

    cor_status_init(&status);
    if (!cor_cacher_is_ready(cacher)) {
        get_from_store(op);
        return;
    }
    object = cor_watch_cache_get(&cacher->cache, store_key_str(&op->key), &unreadable);
    if (unreadable) {
        get_from_store(op);
        return;
    }
    if (!object && !op->ignore_not_found)
        r = cor_storage_error(&status, COR_STORAGE_NOT_FOUND, store_key_str(&op->key), 0, NULL);
    get_reply(op, r, &status, object);
}

static void get_on_fresh(struct fresh_wait *wait, bool in_time)
{
    struct get_op *op = COR_CONTAINER_OF(wait, struct get_op, wait);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    if (in_time)
        get_from_cache(op);
    else if (op->consistent)
        get_from_store(op);
    else
        get_reply(op,
                  cor_status_too_large_rv(&status, op->want, atomic_load(&wait->loop->cachers->rev),
                                          TOO_LARGE_RETRY_S),
                  &status, NULL);
}

static void get_on_mail(struct cor_mail *mail)
{
    struct get_op *op = COR_CONTAINER_OF(mail, struct get_op, mail);
    struct cor_cachers *cachers = op->reader->cacher->cachers;
    cor_rev need = op->consistent ? cachers_consistent_rev(cachers) : cachers_need(op->want);

    if (!cor_cacher_is_ready(op->reader->cacher))
        get_from_store(op);
    else if (cachers_have_reached(cachers, need))
        get_from_cache(op);
    else if (cor_fresh_wait_begin(&op->wait, op->reader->loop, need, get_on_fresh) < 0)
        get_from_store(op);
}

int cor_cacher_reader_get(struct cor_reader *base, struct cor_str key,
                          const struct cor_store_get_opts *opts, cor_store_cb on_done, void *arg,
                          struct cor_status *reterr_status)
{
    struct cacher_reader *reader = cacher_reader_of(base);
    struct get_op *op;
    cor_rev want;
    int r;

    assert(cor_loop_is_current(reader->loop->loop));
    r = cor_resource_version_parse(opts->resource_version, &want, reterr_status);
    if (r < 0)
        return r;
    op = cor_calloc(1, sizeof(*op) + key.n + 1);
    if (!op)
        return cor_store_no_memory(reterr_status);
    reader->busy++;
    op->reader = reader;
    op->want = want;
    op->consistent = opts->resource_version.n == 0;
    op->ignore_not_found = opts->ignore_not_found;
    op->on_done = on_done;
    op->arg = arg;
    op->logical_len = key.n;
    memcpy(op->logical, key.p, key.n);
    op->mail.on_mail = get_on_mail;
    r = cor_store_key_init(&op->key, reader->store, key, false, reterr_status);
    if (r < 0) {
        get_free(op);
        return r;
    }
    cor_loop_post_always(reader->loop->loop, &op->mail);
    return 0;
}
