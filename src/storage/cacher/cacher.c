#include "storage/cacher/cacher.h"

#include "base/mem.h"
#include "storage/cacher/cacher_int.h"
#include "json/path.h"

/* Changes that may wait for a list; more, and it begins anew. */
#define PENDING_MAX 65536
#define CLOSE_NODES 256

bool cor_cacher_is_ready(struct cor_cacher *cacher)
{
    bool ready;

    pthread_mutex_lock(&cacher->cache.lock);
    ready = cacher->ready.state == COR_CACHE_READY;
    pthread_mutex_unlock(&cacher->cache.lock);
    return ready;
}

/* The writer's. */

void cacher_touch(struct cor_cacher *cacher)
{
    cacher->touched = true;
    cacher->changed = true;
}

void cacher_fail(struct cor_cacher *cacher, const char *message)
{
    if (cacher->fill == FILL_LISTING)
        cacher->pending_err = -COR_EIO;
    if (cacher->fill != FILL_LIVE)
        return;
    cacher->fill = FILL_IDLE;
    pthread_mutex_lock(&cacher->cache.lock);
    cor_ready_fail(&cacher->ready, message, caches_now_ms(cacher->caches));
    pthread_mutex_unlock(&cacher->cache.lock);
    cacher_touch(cacher);
    caches_answer(cacher->caches, &cacher->fail_mail);
}

static int keep(struct cor_cacher *cacher, const struct cor_feed_event *event)
{
    if (cacher->npending == PENDING_MAX)
        return -COR_EBUSY;
    if (cacher->npending == cacher->pending_cap) {
        size_t cap = cacher->pending_cap ? cacher->pending_cap * 2 : 64;
        struct pending_change *pending = cor_realloc(cacher->pending, cap * sizeof(*pending));

        if (!pending)
            return -COR_ENOMEM;
        cacher->pending = pending;
        cacher->pending_cap = cap;
    }
    cacher->pending[cacher->npending++] =
        (struct pending_change){cor_kv_ref(event->kv), event->deleted};
    return 0;
}

static int decode(struct cor_cacher *cacher, const struct cor_kv *kv,
                  struct cor_cache_entry **ret_entry, struct cor_status *reterr_status)
{
    struct cor_object *object;
    int r = store_decode(cacher->store, kv, 0, &object, NULL, reterr_status);

    if (r < 0)
        return r;
    *ret_entry = cor_cache_entry_new(cor_kv_key(kv), object, cacher->trigger);
    return *ret_entry ? 0 : store_no_memory(reterr_status);
}

/* One change; `last` of its revision for this cacher. The lock is free again when it fails. */
static int apply(struct cor_cacher *cacher, const struct cor_kv *kv, bool deleted, bool last,
                 struct cor_status *reterr_status)
{
    struct cor_watch_cache *cache = &cacher->cache;
    struct cor_cache_entry *entry = NULL;
    int r = 0;

    if (kv->mod_rev < cache->rev || (kv->mod_rev == cache->rev && !cacher->locked))
        return 0;
    if (!deleted)
        r = decode(cacher, kv, &entry, reterr_status);
    if (r == 0) {
        if (!cacher->locked)
            pthread_mutex_lock(&cache->lock);
        cacher->locked = true;
        r = cor_watch_cache_apply_locked(cache, cor_kv_key(kv), entry, kv->mod_rev,
                                         caches_now_ms(cacher->caches));
        if (r < 0)
            store_no_memory(reterr_status);
    }
    if (cacher->locked && (last || r < 0)) {
        cacher->locked = false;
        pthread_mutex_unlock(&cache->lock);
    }
    return r;
}

void cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event, bool last)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    cor_status_init(&status);
    if (cacher->fill == FILL_LISTING && cacher->pending_err == 0)
        cacher->pending_err = keep(cacher, event);
    if (cacher->fill != FILL_LIVE)
        return;
    r = apply(cacher, event->kv, event->deleted, last, &status);
    cacher_touch(cacher);
    if (r < 0)
        cacher_fail(cacher, cor_status_message(&status));
}

static void drop_pending(struct cor_cacher *cacher)
{
    for (size_t i = 0; i < cacher->npending; i++)
        cor_kv_unref(cacher->pending[i].kv);
    cacher->pending = cor_free(cacher->pending);
    cacher->npending = cacher->pending_cap = 0;
}

static void on_close_answer(struct cor_mail *mail);

int cacher_begin_list(struct cor_cacher *cacher)
{
    int r = 0;

    drop_pending(cacher);
    if (cacher->caches->broken)
        return -COR_EUNREACHABLE;
    if (!cacher->added)
        r = caches_add(cacher->caches, cacher);
    if (r < 0)
        return r;
    cacher->added = true;
    cacher->pending_err = 0;
    cacher->fill = FILL_LISTING;
    return 0;
}

static int apply_pending(struct cor_cacher *cacher, struct cor_status *reterr_status)
{
    int r = 0;

    for (size_t i = 0; i < cacher->npending && r == 0; i++) {
        const struct pending_change *p = &cacher->pending[i];
        bool last = i + 1 == cacher->npending || p[1].kv->mod_rev != p->kv->mod_rev;

        r = apply(cacher, p->kv, p->deleted, last, reterr_status);
    }
    return r;
}

int cacher_install(struct cor_cacher *cacher, const struct cor_btree_entry *entries, size_t n,
                   cor_rev rev, struct cor_status *reterr_status)
{
    int r = cacher->pending_err;

    cacher->fill = FILL_IDLE;
    if (r < 0)
        cor_status_set(reterr_status, r, "%s", cor_err_text(r));
    else if ((r = cor_watch_cache_replace(&cacher->cache, entries, n, rev)) < 0)
        store_no_memory(reterr_status);
    else
        r = apply_pending(cacher, reterr_status);
    drop_pending(cacher);
    cacher_touch(cacher);
    if (r < 0)
        return r;
    cacher->fill = FILL_LIVE;
    caches_saw(cacher->caches, cacher->cache.rev);
    pthread_mutex_lock(&cacher->cache.lock);
    if (cacher->history == HISTORY_DONE)
        cacher->history = HISTORY_NONE;
    cor_ready_set(&cacher->ready, caches_now_ms(cacher->caches));
    pthread_mutex_unlock(&cacher->cache.lock);
    return 0;
}

/* Its memory goes in steps: the command comes back until nothing is left. */
static void on_close_command(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, close_mail);

    if (cacher->added)
        caches_remove(cacher->caches, cacher);
    cacher->added = false;
    cacher->fill = FILL_IDLE;
    drop_pending(cacher);
    cor_watch_cache_clear(&cacher->cache);
    cacher->changed = cor_btree_reclaim(cacher->cache.tree, CLOSE_NODES);
    mail->on_mail = on_close_answer;
    caches_answer(cacher->caches, mail);
}

/* The home loop's. */

static void on_fail_mail(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, fail_mail);

    if (!cacher->is_closing)
        source_retry(cacher);
}

static void cacher_free(struct cor_cacher *cacher)
{
    cor_watch_cache_deinit(&cacher->cache);
    store_key_deinit(&cacher->prefix);
    cor_json_path_free(cacher->trigger);
    cor_free(cacher->readers);
    cor_free(cacher);
}

static void command_close(struct cor_cacher *cacher)
{
    cacher->close_mail.on_mail = on_close_command;
    caches_command(cacher->caches, &cacher->close_mail);
}

static void on_close_answer(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, close_mail);
    void (*on_closed)(void *arg) = cacher->on_closed;
    void *arg = cacher->closed_arg;

    if (cacher->changed) {
        command_close(cacher);
        return;
    }
    cacher->caches->open--;
    cacher_free(cacher);
    if (on_closed)
        on_closed(arg);
}

void cacher_ended(struct cor_cacher *cacher)
{
    if (cacher->is_closing && !cacher->list && !cacher->reading)
        command_close(cacher);
}

void cor_cacher_close(struct cor_cacher *cacher, void (*on_closed)(void *arg), void *arg)
{
    assert(!cacher->is_closing && cor_loop_is_current(cacher->caches->home));
    for (size_t i = 0; i < cacher->caches->nloops; i++)
        assert(!cacher->readers[i]);
    cacher->is_closing = true;
    cacher->on_closed = on_closed;
    cacher->closed_arg = arg;
    cor_list_remove(&cacher->retry);
    pthread_mutex_lock(&cacher->cache.lock);
    cor_ready_stop(&cacher->ready, caches_now_ms(cacher->caches));
    pthread_mutex_unlock(&cacher->cache.lock);
    source_stop(cacher);
    history_stop(cacher);
    cacher_ended(cacher);
}

static int cacher_init(struct cor_cacher *cacher, const struct cor_cacher_opts *opts,
                       struct cor_status *reterr_status)
{
    int r = cor_watch_cache_init(&cacher->cache);

    if (r == 0 && opts->trigger_field)
        r = cor_json_path_new(cor_strz(opts->trigger_field), &cacher->trigger, NULL);
    if (r == 0) {
        cacher->readers = cor_calloc(opts->caches->nloops, sizeof(struct cacher_reader *));
        r = cacher->readers ? 0 : -COR_ENOMEM;
    }
    if (r < 0)
        return cor_status_set(reterr_status, r, "%s", cor_err_text(r));
    return store_key_init(&cacher->prefix, opts->store, cor_strz(opts->store->resource_prefix),
                          true, reterr_status);
}

int cor_cacher_open(const struct cor_cacher_opts *opts, struct cor_cacher **ret_cacher,
                    struct cor_status *reterr_status)
{
    struct cor_cacher *cacher = cor_calloc(1, sizeof(*cacher));
    int r;

    assert(cor_loop_is_current(opts->caches->home) && opts->store->loop == opts->caches->home);
    if (!cacher)
        return store_no_memory(reterr_status);
    cacher->caches = opts->caches;
    cacher->store = opts->store;
    cacher->namespaced = opts->namespaced;
    cacher->trigger_field = cor_strz(opts->trigger_field);
    cacher->fail_mail.on_mail = on_fail_mail;
    cor_ready_init(&cacher->ready, caches_now_ms(opts->caches));
    cor_list_init(&cacher->retry);
    history_init(cacher);
    r = cacher_init(cacher, opts, reterr_status);
    if (r == 0 && source_begin(cacher) < 0)
        r = store_no_memory(reterr_status);
    if (r < 0) {
        cacher_free(cacher);
        return r;
    }
    opts->caches->open++;
    *ret_cacher = cacher;
    return 0;
}
