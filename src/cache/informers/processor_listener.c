/* A listener has the snapshot that its handler begins with, and a list of notifications after it. A
 * turn takes one after the other and calls the handler without a lock. While the snapshot is walked
 * it is marked as out, so that a close on another thread leaves its release to the walker.
 *
 * Past its bound the listener is behind: a map of the newest notification of each key folds
 * updates, until everything was delivered. Without memory for the map fewer updates are folded;
 * nothing is lost. Thread: any for pushing and closing; one at a time for turns. */
#include "cache/informers/processor_listener.h"

#include <assert.h>
#include <string.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

#define NEWEST_MAX (1u << 31) /* keys; memory bounds them before this does */

struct cor_processor_listener {
    struct cor_handler_fns handler;
    size_t bytes_max;
    void (*on_ready)(void *arg); /* may be NULL */
    void *arg;
    struct cor_lock lock;            /* a leaf, except for that of the snapshot's tree */
    struct cor_object_iter snapshot; /* comes before `pending` */
    size_t snapshot_left;
    bool snapshot_is_out; /* with whoever drains, who reads it without the lock and releases it */
    struct cor_dlist pending;
    struct cor_map newest; /* while behind: key -> its newest pending notification */
    bool is_behind, closed;
    size_t initial; /* adds of the initial list whose handler has not returned, or never will */
    struct cor_processor_listener_stats stats;
};

int cor_processor_listener_new(const struct cor_handler_fns *handler, size_t bytes_max,
                               void (*on_ready)(void *arg), void *arg,
                               struct cor_processor_listener **ret_listener)
{
    struct cor_processor_listener *l = cor_calloc(1, sizeof(*l));

    if (!l)
        return -COR_ENOMEM;
    l->handler = *handler;
    l->bytes_max = bytes_max;
    l->on_ready = on_ready;
    l->arg = arg;
    cor_lock_init(&l->lock, COR_LOCK_LISTENER);
    cor_dlist_init(&l->pending);
    *ret_listener = l;
    return 0;
}

static size_t cost(const struct cor_notification *n)
{
    return sizeof(*n) + n->key_len + (n->object ? cor_object_size(n->object) : 0) +
           (n->old ? cor_object_size(n->old) : 0);
}

static struct cor_str key_of(const struct cor_notification *n)
{
    return cor_str(n->key, n->key_len);
}

struct cor_notification *cor_notification_new(struct cor_processor_listener *to,
                                              const struct cor_change *change)
{
    struct cor_str key = change->key;
    struct cor_notification *n = cor_alloc(sizeof(*n) + key.n);

    if (!n)
        return NULL;
    *n = (struct cor_notification){
        .to = to,
        .kind = change->kind,
        .flag = change->flag,
        .old = change->old ? cor_object_ref(change->old) : NULL,
        .object = change->object ? cor_object_ref(change->object) : NULL,
        .key_len = (uint32_t)key.n,
    };
    memcpy(n->key, key.p, key.n);
    return n;
}

struct cor_notification *cor_notification_free(struct cor_notification *n)
{
    cor_object_unref(n->old);
    cor_object_unref(n->object);
    return cor_free(n);
}

static void release_snapshot_locked(struct cor_processor_listener *l)
{
    if (l->snapshot_is_out)
        return;
    cor_object_iter_deinit(&l->snapshot);
    l->snapshot_left = 0;
}

/* Initial adds that are dropped stay counted: their handler will never have seen them. */
static void drop_pending_locked(struct cor_processor_listener *l)
{
    struct cor_dlist *link;

    release_snapshot_locked(l);
    while ((link = cor_dlist_pop(&l->pending)))
        cor_notification_free(COR_CONTAINER_OF(link, struct cor_notification, link));
    l->stats.pending = l->stats.pending_bytes = 0;
    cor_map_deinit(&l->newest);
}

struct cor_processor_listener *cor_processor_listener_free(struct cor_processor_listener *l)
{
    if (!l)
        return NULL;
    drop_pending_locked(l);
    cor_lock_deinit(&l->lock);
    return cor_free(l);
}

/* Out of memory, fewer updates are folded: the bound is passed, nothing is lost. */
static void fall_behind_locked(struct cor_processor_listener *l)
{
    l->is_behind = true;
    cor_map_init(&l->newest, NEWEST_MAX);
    COR_DLIST_FOREACH(it, &l->pending) {
        struct cor_notification *n = COR_CONTAINER_OF(it, struct cor_notification, link);

        cor_map_put(&l->newest, key_of(n), n, NULL);
    }
}

static bool fold_locked(struct cor_processor_listener *l, struct cor_notification *n)
{
    struct cor_notification *waiting =
        n->kind == COR_CHANGE_UPDATE ? cor_map_peek(&l->newest, key_of(n)) : NULL;

    if (!waiting || waiting->kind == COR_CHANGE_DELETE)
        return false;
    l->stats.pending_bytes -= cost(waiting);
    cor_object_unref(waiting->object);
    waiting->object = COR_STEAL(n->object);
    l->stats.pending_bytes += cost(waiting);
    l->stats.folded++;
    return true;
}

/* Takes the notification. `ret_behind`: the bound was passed just now. */
static bool push_locked(struct cor_processor_listener *l, struct cor_notification *n,
                        bool *ret_behind)
{
    bool was_empty = cor_dlist_empty(&l->pending) && l->snapshot_left == 0;

    l->initial += n->kind == COR_CHANGE_ADD && n->flag;
    if (l->closed || (l->is_behind && fold_locked(l, n))) {
        cor_notification_free(n);
        return false;
    }
    cor_dlist_push(&l->pending, &n->link);
    l->stats.pending++;
    l->stats.pending_bytes += cost(n);
    if (l->is_behind) {
        cor_map_put(&l->newest, key_of(n), n, NULL);
    } else if (l->bytes_max > 0 && l->stats.pending_bytes > l->bytes_max) {
        fall_behind_locked(l);
        *ret_behind = true;
    }
    return was_empty;
}

void cor_notification_push(struct cor_notification *take)
{
    struct cor_processor_listener *l = take->to;
    bool behind = false, first;
    size_t bytes;

    cor_lock_acquire(&l->lock);
    first = push_locked(l, take, &behind);
    bytes = l->stats.pending_bytes;
    cor_lock_release(&l->lock);
    if (behind && l->handler.on_behind)
        l->handler.on_behind(l->handler.arg, bytes);
    if (first && l->on_ready)
        l->on_ready(l->arg);
}

void cor_processor_listener_begin_with(struct cor_processor_listener *l,
                                       const struct cor_object_iter *take_snapshot)
{
    size_t n = cor_object_iter_left(take_snapshot);

    cor_lock_acquire(&l->lock);
    assert(!l->closed && !l->snapshot.snap && cor_dlist_empty(&l->pending));
    l->snapshot = *take_snapshot;
    l->snapshot_left = n;
    l->initial += n;
    if (n == 0)
        release_snapshot_locked(l);
    cor_lock_release(&l->lock);
    if (n > 0 && l->on_ready)
        l->on_ready(l->arg);
}

static void put_snapshot_back(struct cor_processor_listener *l)
{
    cor_lock_acquire(&l->lock);
    l->snapshot_is_out = false;
    if (l->closed || l->snapshot_left == 0)
        release_snapshot_locked(l);
    cor_lock_release(&l->lock);
}

/* The handler has returned from an add of the snapshot. True: it may hear the next. */
static bool count_snapshot_add(struct cor_processor_listener *l)
{
    bool goes_on;

    cor_lock_acquire(&l->lock);
    l->initial--;
    l->snapshot_left--;
    goes_on = !l->closed;
    cor_lock_release(&l->lock);
    return goes_on;
}

/* A call has returned. */
static void count_call(struct cor_turn *turn)
{
    uint64_t now_ms, took_ms;

    turn->has_more = ++turn->n >= turn->max;
    if (!turn->clock)
        return;
    now_ms = cor_clock_coarse_ms(turn->clock);
    took_ms = now_ms - turn->at_ms;
    if (took_ms > turn->longest_ms)
        turn->longest_ms = took_ms;
    turn->at_ms = now_ms;
    turn->has_more |= now_ms - turn->began_ms >= COR_TURN_MS;
}

/* It is out. */
static void tell_snapshot(struct cor_processor_listener *l, struct cor_turn *turn)
{
    struct cor_object *object;
    struct cor_str key;
    bool goes_on = true;

    while (goes_on && !turn->has_more && cor_object_iter_next(&l->snapshot, &object, &key)) {
        cor_handler_fns_call(&l->handler,
                             &(struct cor_change){COR_CHANGE_ADD, true, key, NULL, object});
        goes_on = count_snapshot_add(l);
        count_call(turn);
    }
    put_snapshot_back(l);
}

/* The oldest; NULL: there is none, or the snapshot comes before it and is out now. */
static struct cor_notification *pop(struct cor_processor_listener *l)
{
    struct cor_notification *n = NULL;
    struct cor_dlist *link = NULL;

    cor_lock_acquire(&l->lock);
    if (l->snapshot_left > 0)
        l->snapshot_is_out = true;
    else
        link = cor_dlist_pop(&l->pending);
    if (link) {
        n = COR_CONTAINER_OF(link, struct cor_notification, link);
        l->stats.pending--;
        l->stats.pending_bytes -= cost(n);
        if (l->is_behind && cor_map_peek(&l->newest, key_of(n)) == n)
            cor_map_remove(&l->newest, key_of(n));
        if (l->is_behind && l->stats.pending == 0) {
            l->is_behind = false;
            cor_map_deinit(&l->newest);
        }
    }
    cor_lock_release(&l->lock);
    return n;
}

void cor_processor_listener_turn(struct cor_processor_listener *l, struct cor_turn *turn)
{
    struct cor_notification *n;

    assert(turn->max > 0 && turn->n == 0 && !turn->has_more);
    turn->at_ms = turn->began_ms;
    while (!turn->has_more) {
        n = pop(l);
        if (!n && !l->snapshot_is_out)
            break;
        if (!n) {
            tell_snapshot(l, turn);
            continue;
        }
        cor_handler_fns_call(&l->handler,
                             &(struct cor_change){n->kind, n->flag, key_of(n), n->old, n->object});
        if (n->kind == COR_CHANGE_ADD && n->flag) {
            cor_lock_acquire(&l->lock);
            l->initial--;
            cor_lock_release(&l->lock);
        }
        cor_notification_free(n);
        count_call(turn);
    }
}

void cor_processor_listener_close(struct cor_processor_listener *l)
{
    cor_lock_acquire(&l->lock);
    l->closed = true;
    drop_pending_locked(l);
    cor_lock_release(&l->lock);
}

bool cor_processor_listener_saw_initial(struct cor_processor_listener *l)
{
    return COR_LOCKED(&l->lock, l->initial == 0);
}

void cor_processor_listener_stats(struct cor_processor_listener *l,
                                  struct cor_processor_listener_stats *ret)
{
    cor_lock_acquire(&l->lock);
    *ret = l->stats;
    ret->pending += l->snapshot_left;
    cor_lock_release(&l->lock);
}
