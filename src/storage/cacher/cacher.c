/* One resource: its life, and the way of a change from the feed into its watch cache.
 *
 * The way of a change, on the writer:
 *   1. cor_cacher_change() gets it from the feed. While KEEPING it is put aside; while APPLYING:
 *   2. cacher_hand_in() makes the served object, one copy with the revision in place, and gives it
 *      to the reflector as an event of its watch.
 *   3. The reflector calls its store, cache_sink.c, which puts the object into the tree and an
 * event into the window, under the cache's lock. The reflector decides what comes after a failure.
 * It carries the revision of the change as the number that the feed has; the texts that an informer
 * resumes with are not used here.
 *
 * A value that cannot be decoded becomes a change of its own (cache_sink.c): the cache goes on
 * without an object of that key, and the watches that would see it end.
 *
 * What fails:
 *   A change cannot be applied (no memory). It is never skipped: the
 *   reflector ends its round, the cache is PENDING, its watches end, and the home loop lists again
 *   after RETRY_MS.
 *   The feed breaks: the same, for every cacher. A list that is being read fails when it is
 *   installed, because changes may be missing.
 *   More than PENDING_MAX changes come while a list is read: that list fails too.
 *
 * Close: no reader is left. A list, a check or a reading of history that is under way ends first;
 * then the writer drops the content in steps, and the home loop frees the rest. */
#include "storage/cacher/cacher.h"

#include <stdio.h>

#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/cacher/cache_reader_int.h"

/* Changes that may be kept while a list is read. */
#define PENDING_MAX 65536
/* Tree nodes that a closing cacher frees in one visit of the writer. */
#define CLOSE_NODES 256

bool cor_cacher_is_ready(struct cor_cacher *cacher)
{
    return COR_LOCKED(&cacher->cache.lock, cacher->ready.state == COR_CACHE_READY);
}

bool cor_cacher_is_failing(struct cor_cacher *cacher, char reterr_why[COR_READY_MESSAGE_MAX])
{
    bool failing;

    cor_lock_acquire(&cacher->cache.lock);
    failing = cacher->ready.state == COR_CACHE_PENDING && cacher->ready.message[0];
    if (failing)
        snprintf(reterr_why, COR_READY_MESSAGE_MAX, "%s", cacher->ready.message);
    cor_lock_release(&cacher->cache.lock);
    return failing;
}

struct cor_cacher_stats cor_cacher_stats(struct cor_cacher *cacher)
{
    struct cor_cacher_stats stats = {0};

    cor_lock_acquire(&cacher->cache.lock);
    stats.rev = cacher->cache.rev;
    stats.fills = cacher->ready.generation;
    stats.received = cacher->cache.window.next - COR_WINDOW_FIRST_NUMBER;
    stats.window_events = cacher->cache.window.next - cacher->cache.window.first;
    stats.window_bytes = cacher->cache.window.bytes;
    stats.objects = cor_btree_count(cor_btree_live(cacher->cache.tree));
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
    cor_lock_release(&cacher->cache.lock);
    return stats;
}

/* The writer. */

void cor_cacher_touch(struct cor_cacher *cacher)
{
    cacher->touched = true;
    cacher->changed = true;
}

/* The round is over. The reflector goes back to the home loop, which begins the next one. */
static void cacher_end_round(struct cor_cacher *cacher)
{
    cacher->phase = PHASE_OFF;
    cor_cacher_touch(cacher);
    cor_cachers_answer(cacher->cachers, &cacher->fail_mail);
}

void cor_cacher_fail(struct cor_cacher *cacher, const char *message)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    assert(cacher->cachers->is_writing && !cacher->locked);
    cor_status_init(&status);
    if (cacher->phase == PHASE_KEEPING)
        cacher->pending_err = -COR_EIO;
    if (cacher->phase != PHASE_APPLYING)
        return;
    cor_status_set(&status, -COR_EIO, "%s", message);
    cor_reflector_watch_ended(cacher->reflector, cor_cacher_source_now_ms(cacher), &status);
    cacher_end_round(cacher);
}

static int cacher_keep(struct cor_cacher *cacher, const struct cor_feed_event *event)
{
    if (cacher->npending == PENDING_MAX)
        return -COR_EBUSY;
    if (COR_ARRAY_RESERVE(&cacher->pending, cacher->npending, &cacher->pending_cap, PENDING_MAX) <
        0)
        return -COR_ENOMEM;
    cacher->pending[cacher->npending++] =
        (struct pending_change){cor_kv_ref(event->kv), event->deleted};
    return 0;
}

/* The served form of what was written. A store of this process has put its object beside the bytes,
 * so that the engine thread neither decrypts nor parses it. */
static int cacher_read_object(struct cor_cacher *cacher, const struct cor_kv *kv,
                              struct cor_object **ret_object, struct cor_status *reterr_status)
{
    int r;

    if (!kv->object)
        return cor_store_decode(cacher->store, kv, 0, ret_object, NULL, reterr_status);
    r = cor_object_at(kv->object, kv->mod_rev, ret_object);
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

/* Gives one change to the reflector. False: it could not be applied, and the round is over. A
 * change that the list already has is passed over: its revision is not above the cache's, unless it
 * belongs to the revision whose changes are being applied. */
static bool cacher_hand_in(struct cor_cacher *cacher, struct cor_kv *kv, bool deleted, bool last)
{
    struct cor_reflector_event event = {.type = deleted ? COR_WATCH_DELETED : COR_WATCH_MODIFIED,
                                        .key = cor_kv_key(kv),
                                        .rev = kv->mod_rev};
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    cor_rev rev = cacher->cache.rev;
    int r = 0;

    cor_status_init(&status);
    if (kv->mod_rev < rev || (kv->mod_rev == rev && !cacher->locked))
        return true;
    cacher->ends_rev = last;
    if (!deleted)
        r = cacher_read_object(cacher, kv, &event.object, &status);
    cacher->change_unreadable = NULL;
    if (r == -COR_EINTERNAL) {
        COR_LOG_ERROR("a stored value cannot be read; what contains it will fail",
                      COR_F_STR("err", cor_status_message(&status)));
        cacher->change_unreadable = kv;
        event.type = COR_WATCH_DELETED;
        r = 0;
    }
    if (r < 0) {
        cor_cacher_unlock(cacher);
        cor_reflector_watch_ended(cacher->reflector, cor_cacher_source_now_ms(cacher), &status);
    } else {
        cor_reflector_watch_event(cacher->reflector, cor_cacher_source_now_ms(cacher), &event);
        cor_object_unref(event.object);
    }
    return cor_reflector_state(cacher->reflector) == COR_REFLECTOR_WATCHING;
}

void cor_cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event, bool last)
{
    assert(cacher->cachers->is_writing);
    switch (cacher->phase) {
    case PHASE_OFF:
        break;
    case PHASE_KEEPING:
        if (cacher->pending_err == 0)
            cacher->pending_err = cacher_keep(cacher, event);
        break;
    case PHASE_APPLYING:
        cor_cacher_touch(cacher);
        if (!cacher_hand_in(cacher, event->kv, event->deleted, last))
            cacher_end_round(cacher);
        break;
    }
}

static void cacher_drop_pending(struct cor_cacher *cacher)
{
    for (size_t i = 0; i < cacher->npending; i++)
        cor_kv_unref(cacher->pending[i].kv);
    cacher->pending = cor_free(cacher->pending);
    cacher->npending = cacher->pending_cap = 0;
}

int cor_cacher_begin_list(struct cor_cacher *cacher)
{
    int r = 0;

    assert(cacher->cachers->is_writing && cacher->phase != PHASE_APPLYING);
    cacher_drop_pending(cacher);
    if (cacher->cachers->broken)
        return -COR_EUNREACHABLE;
    if (!cacher->added)
        r = cor_cachers_add(cacher->cachers, cacher);
    if (r < 0)
        return r;
    cacher->added = true;
    cacher->pending_err = 0;
    cacher->phase = PHASE_KEEPING;
    return 0;
}

/* The last page of the list is empty: it carries the end alone, and the revision. Then the watch is
 * open, and the kept changes are its first events. */
int cor_cacher_install(struct cor_cacher *cacher, cor_rev rev)
{
    struct cor_reflector *reflector = cacher->reflector;
    struct cor_list_page end = {.rev = rev};
    bool live = false;

    assert(cacher->cachers->is_writing && cacher->phase != PHASE_APPLYING && rev > 0);
    cacher->phase = PHASE_OFF;
    if (cacher->pending_err < 0) {
        COR_CLEANUP(cor_status_deinit) struct cor_status status;

        cor_status_init(&status);
        cor_cachers_list_error(cacher->cachers, cacher->pending_err, &status);
        cor_reflector_list_failed(reflector, cor_cacher_source_now_ms(cacher), &status);
    } else {
        cor_reflector_list_page(reflector, cor_cacher_source_now_ms(cacher), &end);
    }
    if (cor_reflector_state(reflector) == COR_REFLECTOR_WATCH_OPENING) {
        cor_reflector_watch_opened(reflector, cor_cacher_source_now_ms(cacher));
        live = true;
    }
    for (size_t i = 0; i < cacher->npending && live; i++) {
        const struct pending_change *p = &cacher->pending[i];
        bool last = i + 1 == cacher->npending || p[1].kv->mod_rev != p->kv->mod_rev;

        live = cacher_hand_in(cacher, p->kv, p->deleted, last);
    }
    cacher_drop_pending(cacher);
    cor_cacher_touch(cacher);
    if (!live)
        return -COR_EIO;
    cacher->phase = PHASE_APPLYING;
    cor_cachers_saw(cacher->cachers, cacher->cache.rev);
    cor_lock_acquire(&cacher->cache.lock);
    cacher->history.floor = cacher->history.fits = 0;
    cor_ready_set(&cacher->ready, cor_cachers_now_ms(cacher->cachers));
    cor_lock_release(&cacher->cache.lock);
    return 0;
}

static void cacher_on_close_answer(struct cor_mail *mail);

/* The content is freed in steps, so that the engine thread is never busy with it for long: the
 * command comes back until nothing is left. */
static void cacher_on_close_command(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, close_mail);

    if (cacher->added)
        cor_cachers_remove(cacher->cachers, cacher);
    cacher->added = false;
    cacher->phase = PHASE_OFF;
    cor_reflector_stop(cacher->reflector, cor_cacher_source_now_ms(cacher));
    cacher_drop_pending(cacher);
    cor_watch_cache_clear(&cacher->cache);
    cacher->changed = cor_watch_cache_reclaim(&cacher->cache, CLOSE_NODES);
    mail->on_mail = cacher_on_close_answer;
    cor_cachers_answer(cacher->cachers, mail);
}

/* The home loop. */

static void cacher_on_fail_mail(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, fail_mail);

    if (!cacher->is_closing)
        cor_cacher_source_retry(cacher);
}

/* Encryption keys may have been added since, so unreadable values are tried again: the first ones,
 * because what is missing is mostly missing for all. */

#define REREAD_MAX 4

static void cacher_on_reread_answer(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct cor_cacher, reread_mail)->is_rereading = false;
}

/* On the writer. */
static void cacher_on_reread_command(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, reread_mail);

    /* A list that is under way finds out by itself. */
    if (cacher->phase == PHASE_APPLYING)
        cor_cacher_fail(cacher, "values that could not be decoded can be decoded now");
    mail->on_mail = cacher_on_reread_answer;
    cor_cachers_answer(cacher->cachers, mail);
}

void cor_cacher_unreadable_tick(struct cor_cacher *cacher)
{
    struct cor_kv *kvs[REREAD_MAX];
    bool readable = false;
    size_t n = 0;

    assert(cor_loop_is_current(cacher->cachers->home) && !cacher->is_closing);
    if (cacher->is_rereading || !atomic_load(&cacher->cache.may_be_blind) ||
        !cor_cacher_is_ready(cacher))
        return;
    cor_lock_acquire(&cacher->cache.lock);
    for (; n < REREAD_MAX && n < cacher->cache.unreadable.n; n++)
        kvs[n] = cor_kv_ref(cacher->cache.unreadable.kvs[n]);
    cor_lock_release(&cacher->cache.lock);
    for (size_t i = 0; i < n; i++) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;

        readable |= cor_store_try_decode(cacher->store, kvs[i], 0, &object, NULL, NULL) == 0;
        cor_kv_unref(kvs[i]);
    }
    if (!readable)
        return;
    cacher->is_rereading = true;
    cacher->reread_mail.on_mail = cacher_on_reread_command;
    cor_cachers_command(cacher->cachers, &cacher->reread_mail);
}

static void cacher_free(struct cor_cacher *cacher)
{
    cor_reflector_free(cacher->reflector);
    cor_cacher_drop_staged(cacher);
    cor_unreadable_deinit(&cacher->staged_unreadable);
    cor_watch_cache_deinit(&cacher->cache);
    store_key_deinit(&cacher->prefix);
    cor_triggers_deinit(&cacher->triggers);
    cor_free(cacher->readers);
    cor_free(cacher);
}

static void cacher_command_close(struct cor_cacher *cacher)
{
    cacher->close_mail.on_mail = cacher_on_close_command;
    cor_cachers_command(cacher->cachers, &cacher->close_mail);
}

static void cacher_on_close_answer(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, close_mail);
    void (*on_closed)(void *arg) = cacher->on_closed;
    void *arg = cacher->closed_arg;

    if (cacher->changed) {
        cacher_command_close(cacher);
        return;
    }
    cacher->cachers->open--;
    cacher_free(cacher);
    if (on_closed)
        on_closed(arg);
}

void cor_cacher_ended(struct cor_cacher *cacher)
{
    assert(cor_loop_is_current(cacher->cachers->home));
    if (cacher->is_closing && !cacher->list.under_way && !cacher->reading &&
        !cacher->check.under_way)
        cacher_command_close(cacher);
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
    cor_lock_acquire(&cacher->cache.lock);
    cor_ready_stop(&cacher->ready, cor_cachers_now_ms(cacher->cachers));
    cor_lock_release(&cacher->cache.lock);
    cor_cacher_history_stop(cacher);
    cor_cacher_source_stop(cacher);
    cor_cacher_ended(cacher);
}

static int cacher_init(struct cor_cacher *cacher, const struct cor_cacher_opts *opts,
                       struct cor_status *reterr_status)
{
    int r = cor_triggers_init(&cacher->triggers, opts->trigger_fields);

    if (r == 0)
        r = cor_watch_cache_init(&cacher->cache, &cacher->triggers, &opts->cachers->pins);
    if (r == 0) {
        cacher->readers = cor_calloc(opts->cachers->nloops, sizeof(struct cacher_reader *));
        r = cacher->readers ? 0 : -COR_ENOMEM;
    }
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    r = cor_store_key_init(&cacher->prefix, opts->store, cor_strz(opts->store->resource_prefix),
                           true, reterr_status);
    cacher->cache.names_at = r == 0 ? cacher->prefix.n : 0;
    cacher->cache.is_namespaced = opts->namespaced;
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
    assert(!opts->cachers->is_closing);
    if (!cacher)
        return cor_store_no_memory(reterr_status);
    cacher->cachers = opts->cachers;
    cacher->store = opts->store;
    cacher->on_filled = opts->on_filled;
    cacher->on_filled_arg = opts->arg;
    cacher->namespaced = opts->namespaced;
    cacher->fail_mail.on_mail = cacher_on_fail_mail;
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
