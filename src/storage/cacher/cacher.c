#include "storage/cacher/cacher.h"

#include <stdio.h>

#include "base/mem.h"
#include "storage/cacher/reader_int.h"
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

bool cor_cacher_is_failing(struct cor_cacher *cacher, char reterr_why[COR_READY_MESSAGE_MAX])
{
    bool failing;

    pthread_mutex_lock(&cacher->cache.lock);
    failing = cacher->ready.state == COR_CACHE_PENDING && cacher->ready.message[0];
    if (failing)
        snprintf(reterr_why, COR_READY_MESSAGE_MAX, "%s", cacher->ready.message);
    pthread_mutex_unlock(&cacher->cache.lock);
    return failing;
}

struct cor_cacher_stats cor_cacher_stats(struct cor_cacher *cacher)
{
    struct cor_cacher_stats stats = {0};

    pthread_mutex_lock(&cacher->cache.lock);
    stats.rev = cacher->cache.rev;
    stats.fills = cacher->ready.generation;
    stats.received = cacher->cache.window.next - COR_WINDOW_FIRST_NUMBER;
    stats.window_events = cacher->cache.window.next - cacher->cache.window.first;
    stats.window_bytes = cacher->cache.window.bytes;
    stats.checks_passed = atomic_load(&cacher->check.passed);
    stats.checks_failed = atomic_load(&cacher->check.failed);
    stats.checks_errors = atomic_load(&cacher->check.errors);
    for (size_t i = 0; i < cacher->cachers->nloops; i++) {
        struct cor_cacher_reader_stats r;

        if (!cacher->readers[i])
            continue;
        r = cor_cacher_reader_stats(&cacher->readers[i]->base);
        stats.idle += r.idle;
        stats.lagging += r.lagging;
        stats.deliveries += r.deliveries;
        stats.evicted += r.evicted;
    }
    pthread_mutex_unlock(&cacher->cache.lock);
    return stats;
}

/* The writer's. */

void cor_cacher_touch(struct cor_cacher *cacher)
{
    cacher->touched = true;
    cacher->changed = true;
}

/* The round is over: nothing more is handed in until the home loop has listed anew. */
static void lose(struct cor_cacher *cacher)
{
    cacher->fill = FILL_IDLE;
    cor_cacher_touch(cacher);
    cor_cachers_answer(cacher->cachers, &cacher->fail_mail);
}

void cor_cacher_fail(struct cor_cacher *cacher, const char *message)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    cor_status_init(&status);
    if (cacher->fill == FILL_LISTING)
        cacher->pending_err = -COR_EIO;
    if (cacher->fill != FILL_LIVE)
        return;
    cor_status_set(&status, -COR_EIO, "%s", message);
    cor_reflector_watch_ended(cacher->reflector, cor_cacher_source_now_ms(cacher), &status);
    lose(cacher);
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

/* On the engine thread: what a store of this process wrote comes with its object, and is neither
 * decrypted nor parsed here. */
static int object_of(struct cor_cacher *cacher, const struct cor_kv *kv,
                     struct cor_object **ret_object, struct cor_status *reterr_status)
{
    int r;

    if (!kv->object)
        return cor_store_decode(cacher->store, kv, 0, ret_object, NULL, reterr_status);
    r = cor_object_at(kv->object, kv->mod_rev, ret_object);
    return r < 0 ? cor_status_set(reterr_status, r, "%s", cor_err_text(r)) : 0;
}

static void hand_in_object(struct cor_cacher *cacher, const struct cor_kv *kv)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_reflector_event event = {.type = COR_WATCH_MODIFIED, .key = cor_kv_key(kv)};

    cor_status_init(&status);
    if (object_of(cacher, kv, &event.object, &status) < 0) {
        cor_cacher_unlock(cacher);
        cor_reflector_watch_ended(cacher->reflector, cor_cacher_source_now_ms(cacher), &status);
        return;
    }
    cor_reflector_watch_event(cacher->reflector, cor_cacher_source_now_ms(cacher), &event);
    cor_object_unref(event.object);
}

static void hand_in_deletion(struct cor_cacher *cacher, const struct cor_kv *kv)
{
    char rv[24];
    struct cor_reflector_event event = {.type = COR_WATCH_DELETED, .key = cor_kv_key(kv)};

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)kv->mod_rev);
    event.resource_version = cor_strz(rv);
    cor_reflector_watch_event(cacher->reflector, cor_cacher_source_now_ms(cacher), &event);
}

/* One change; `last` of its revision for this cacher. False: the round is over. */
static bool hand_in(struct cor_cacher *cacher, const struct cor_kv *kv, bool deleted, bool last)
{
    cor_rev rev = cacher->cache.rev;

    if (kv->mod_rev < rev || (kv->mod_rev == rev && !cacher->locked))
        return true;
    cacher->ends_rev = last;
    if (deleted)
        hand_in_deletion(cacher, kv);
    else
        hand_in_object(cacher, kv);
    return cor_reflector_state(cacher->reflector) == COR_REFLECTOR_WATCHING;
}

void cor_cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event, bool last)
{
    if (cacher->fill == FILL_LISTING && cacher->pending_err == 0)
        cacher->pending_err = keep(cacher, event);
    if (cacher->fill != FILL_LIVE)
        return;
    cor_cacher_touch(cacher);
    if (!hand_in(cacher, event->kv, event->deleted, last))
        lose(cacher);
}

static void drop_pending(struct cor_cacher *cacher)
{
    for (size_t i = 0; i < cacher->npending; i++)
        cor_kv_unref(cacher->pending[i].kv);
    cacher->pending = cor_free(cacher->pending);
    cacher->npending = cacher->pending_cap = 0;
}

static void on_close_answer(struct cor_mail *mail);

int cor_cacher_begin_list(struct cor_cacher *cacher)
{
    int r = 0;

    drop_pending(cacher);
    if (cacher->cachers->broken)
        return -COR_EUNREACHABLE;
    if (!cacher->added)
        r = cor_cachers_add(cacher->cachers, cacher);
    if (r < 0)
        return r;
    cacher->added = true;
    cacher->pending_err = 0;
    cacher->fill = FILL_LISTING;
    return 0;
}

/* The end of the list, which is its only revision, or why there is none. */
static void hand_in_list(struct cor_cacher *cacher, cor_rev rev)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_list_page page = {0};
    char rv[24];

    cor_status_init(&status);
    if (cacher->pending_err < 0) {
        cor_cachers_list_error(cacher->cachers, cacher->pending_err, &status);
        cor_reflector_list_failed(cacher->reflector, cor_cacher_source_now_ms(cacher), &status);
        return;
    }
    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)rev);
    page.resource_version = cor_strz(rv);
    cor_reflector_list_page(cacher->reflector, cor_cacher_source_now_ms(cacher), &page);
}

static bool hand_in_pending(struct cor_cacher *cacher)
{
    bool go_on = true;

    cor_reflector_watch_opened(cacher->reflector, cor_cacher_source_now_ms(cacher));
    for (size_t i = 0; i < cacher->npending && go_on; i++) {
        const struct pending_change *p = &cacher->pending[i];
        bool last = i + 1 == cacher->npending || p[1].kv->mod_rev != p->kv->mod_rev;

        go_on = hand_in(cacher, p->kv, p->deleted, last);
    }
    return go_on;
}

int cor_cacher_install(struct cor_cacher *cacher, cor_rev rev)
{
    bool live;

    cacher->fill = FILL_IDLE;
    hand_in_list(cacher, rev);
    live = cor_reflector_state(cacher->reflector) == COR_REFLECTOR_WATCH_OPENING &&
           hand_in_pending(cacher);
    drop_pending(cacher);
    cor_cacher_touch(cacher);
    if (!live)
        return -COR_EIO;
    cacher->fill = FILL_LIVE;
    cor_cachers_saw(cacher->cachers, cacher->cache.rev);
    pthread_mutex_lock(&cacher->cache.lock);
    cacher->history.floor = 0;
    cor_ready_set(&cacher->ready, cor_cachers_now_ms(cacher->cachers));
    pthread_mutex_unlock(&cacher->cache.lock);
    return 0;
}

/* Its memory goes in steps: the command comes back until nothing is left. */
static void on_close_command(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, close_mail);

    if (cacher->added)
        cor_cachers_remove(cacher->cachers, cacher);
    cacher->added = false;
    cacher->fill = FILL_IDLE;
    cor_reflector_stop(cacher->reflector, cor_cacher_source_now_ms(cacher));
    drop_pending(cacher);
    cor_watch_cache_clear(&cacher->cache);
    cacher->changed = cor_btree_reclaim(cacher->cache.tree, CLOSE_NODES);
    mail->on_mail = on_close_answer;
    cor_cachers_answer(cacher->cachers, mail);
}

/* The home loop's. */

static void on_fail_mail(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, fail_mail);

    if (!cacher->is_closing)
        cor_cacher_source_retry(cacher);
}

static void cacher_free(struct cor_cacher *cacher)
{
    cor_reflector_free(cacher->reflector);
    cor_cacher_drop_staged(cacher);
    cor_watch_cache_deinit(&cacher->cache);
    store_key_deinit(&cacher->prefix);
    cor_json_path_free(cacher->trigger);
    cor_free(cacher->readers);
    cor_free(cacher);
}

static void command_close(struct cor_cacher *cacher)
{
    cacher->close_mail.on_mail = on_close_command;
    cor_cachers_command(cacher->cachers, &cacher->close_mail);
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
    cacher->cachers->open--;
    cacher_free(cacher);
    if (on_closed)
        on_closed(arg);
}

void cor_cacher_ended(struct cor_cacher *cacher)
{
    if (cacher->is_closing && !cacher->list.under_way && !cacher->reading &&
        !cacher->check.under_way)
        command_close(cacher);
}

void cor_cacher_close(struct cor_cacher *cacher, void (*on_closed)(void *arg), void *arg)
{
    assert(!cacher->is_closing && cor_loop_is_current(cacher->cachers->home));
    for (size_t i = 0; i < cacher->cachers->nloops; i++)
        assert(!cacher->readers[i]);
    cacher->is_closing = true;
    cacher->on_closed = on_closed;
    cacher->closed_arg = arg;
    cor_dlist_remove(&cacher->member);
    cor_dlist_remove(&cacher->retry);
    pthread_mutex_lock(&cacher->cache.lock);
    cor_ready_stop(&cacher->ready, cor_cachers_now_ms(cacher->cachers));
    pthread_mutex_unlock(&cacher->cache.lock);
    cor_cacher_history_stop(cacher);
    cor_cacher_ended(cacher);
}

static int cacher_init(struct cor_cacher *cacher, const struct cor_cacher_opts *opts,
                       struct cor_status *reterr_status)
{
    int r = cor_watch_cache_init(&cacher->cache, &opts->cachers->pins);

    if (r == 0 && opts->trigger_field)
        r = cor_json_path_new(cor_strz(opts->trigger_field), &cacher->trigger, NULL);
    if (r == 0) {
        cacher->readers = cor_calloc(opts->cachers->nloops, sizeof(struct cacher_reader *));
        r = cacher->readers ? 0 : -COR_ENOMEM;
    }
    if (r < 0)
        return cor_status_set(reterr_status, r, "%s", cor_err_text(r));
    r = cor_store_key_init(&cacher->prefix, opts->store, cor_strz(opts->store->resource_prefix),
                           true, reterr_status);
    if (r == 0 && cor_cacher_source_init(cacher) < 0)
        r = cor_store_no_memory(reterr_status);
    return r;
}

int cor_cacher_open(const struct cor_cacher_opts *opts, struct cor_cacher **ret_cacher,
                    struct cor_status *reterr_status)
{
    struct cor_cacher *cacher = cor_calloc(1, sizeof(*cacher));
    int r;

    assert(cor_loop_is_current(opts->cachers->home) && opts->store->loop == opts->cachers->home);
    if (!cacher)
        return cor_store_no_memory(reterr_status);
    cacher->cachers = opts->cachers;
    cacher->store = opts->store;
    cacher->namespaced = opts->namespaced;
    cacher->trigger_field = cor_strz(opts->trigger_field);
    cacher->fail_mail.on_mail = on_fail_mail;
    cor_ready_init(&cacher->ready, cor_cachers_now_ms(opts->cachers));
    cor_dlist_init(&cacher->member);
    cor_dlist_init(&cacher->retry);
    cor_cacher_consistency_init(cacher);
    cor_cacher_history_init(cacher);
    r = cacher_init(cacher, opts, reterr_status);
    if (r < 0) {
        cacher_free(cacher);
        return r;
    }
    cor_reflector_start(cacher->reflector, cor_cacher_source_now_ms(cacher));
    opts->cachers->open++;
    cor_dlist_push(&opts->cachers->members, &cacher->member);
    *ret_cacher = cacher;
    return 0;
}
