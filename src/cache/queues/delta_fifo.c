/* The queue itself: changes in order and by key, and popping them. delta_fifo_store.c is the side
 * that a reflector writes into, delta_fifo_wait.c the waits; delta_fifo_int.h has the invariants.
 *
 * A pop takes the oldest change (in order) or all changes of the oldest key (by key) and passes
 * them to the consumer under the lock. Afterwards they are removed, put back at the end, or, after
 * -COR_ENOMEM, left where they were. Waits that came true are called after the lock is released.
 * Failures: an allocation that fails leaves the queue as it was.  Thread: any. */
#include "cache/queues/delta_fifo.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "cache/queues/delta_fifo_int.h"
#include "cache/store/object_key.h"

int cor_delta_fifo_new(const struct cor_delta_fifo_opts *opts, struct cor_delta_fifo **ret_fifo)
{
    struct cor_delta_fifo *f = cor_calloc(1, sizeof(*f));
    int r = f ? cor_sized_copy(&f->opts, sizeof(f->opts), opts) : -COR_ENOMEM;

    if (r < 0) {
        cor_free(f);
        return r;
    }
    f->store.ops = &cor_delta_fifo_store_ops;
    if (f->opts.deltas_max == 0)
        f->opts.deltas_max = COR_DELTA_FIFO_MAX;
    cor_lock_init(&f->lock, COR_LOCK_DELTA_FIFO);
    cor_cond_init(&f->ready);
    cor_map_init(&f->by_key, f->opts.deltas_max);
    cor_dlist_init(&f->order);
    cor_dlist_init(&f->records);
    cor_cache_waiters_init(&f->waiters);
    cor_buf_init(&f->key, COR_OBJECT_KEY_MAX);
    *ret_fifo = f;
    return 0;
}

static struct cor_delta_node *node_of(struct cor_dlist *in_order)
{
    return COR_CONTAINER_OF(in_order, struct cor_delta_node, in_order);
}

static void drop_node(struct cor_delta_fifo *f, struct cor_delta_node *node)
{
    struct cor_delta_record *record = node->record;

    assert(record);
    cor_dlist_remove(&node->in_order);
    cor_dlist_remove(&node->in_record);
    record->n--;
    f->n--;
    f->nretried -= node->is_retried;
    cor_object_unref(node->delta.object);
    if (node == &record->first)
        node->record = NULL;
    else
        cor_free(node);
}

static struct cor_delta_node *node_new(struct cor_delta_record *record)
{
    return record->first.record ? cor_alloc(sizeof(struct cor_delta_node)) : &record->first;
}

static void drop_record(struct cor_delta_fifo *f, struct cor_delta_record *record)
{
    COR_DLIST_FOREACH_SAFE(it, &record->deltas)
        drop_node(f, COR_CONTAINER_OF(it, struct cor_delta_node, in_record));
    cor_map_remove(&f->by_key, cor_str(record->key, record->key_len));
    cor_dlist_remove(&record->link);
    cor_free(record);
}

static void drop_change(struct cor_delta_fifo *f, struct cor_delta_node *node)
{
    struct cor_delta_record *record = node->record;

    drop_node(f, node);
    if (record->n == 0)
        drop_record(f, record);
}

void cor_delta_truncate(struct cor_delta_fifo *f, const struct cor_dlist *last)
{
    while (f->order.prev != last)
        drop_change(f, node_of(f->order.prev));
}

struct cor_delta_fifo *cor_delta_fifo_free(struct cor_delta_fifo *f)
{
    if (!f)
        return NULL;
    COR_DLIST_FOREACH_SAFE(it, &f->records)
        drop_record(f, COR_CONTAINER_OF(it, struct cor_delta_record, link));
    cor_delta_list_clear(&f->staged);
    cor_delta_list_clear(&f->listed);
    cor_cache_waiters_deinit(&f->waiters);
    cor_map_deinit(&f->by_key);
    cor_buf_deinit(&f->key);
    cor_cond_deinit(&f->ready);
    cor_lock_deinit(&f->lock);
    return cor_free(f);
}

struct cor_reflector_store *cor_delta_fifo_store(struct cor_delta_fifo *f)
{
    return &f->store;
}

struct cor_delta_record *cor_delta_peek(struct cor_delta_fifo *f, struct cor_str key)
{
    return cor_map_peek(&f->by_key, key);
}

const struct cor_delta *cor_delta_newest(const struct cor_delta_record *record)
{
    return &COR_CONTAINER_OF(record->deltas.prev, struct cor_delta_node, in_record)->delta;
}

static int record_new(struct cor_delta_fifo *f, struct cor_str key, struct cor_delta_record **ret)
{
    struct cor_delta_record *record = cor_alloc(sizeof(*record) + key.n);
    int r;

    if (!record)
        return -COR_ENOMEM;
    *record = (struct cor_delta_record){.key_len = key.n};
    cor_dlist_init(&record->deltas);
    memcpy(record->key, key.p, key.n);
    r = cor_map_put(&f->by_key, cor_str(record->key, key.n), record, NULL);
    if (r < 0) {
        cor_free(record);
        return r == -COR_ETOOBIG ? -COR_EBUSY : r;
    }
    cor_dlist_push(&f->records, &record->link);
    *ret = record;
    return 0;
}

/* Two deletions in a row say no more than one; the one with the object's true last state stays. */
static bool is_repeated_deletion(struct cor_delta_fifo *f, struct cor_delta_record *record,
                                 struct cor_object *object, bool is_tombstone)
{
    struct cor_delta_node *last =
        COR_CONTAINER_OF(record->deltas.prev, struct cor_delta_node, in_record);

    if (!f->opts.by_key || last->delta.type != COR_DELTA_DELETED)
        return false;
    if (last->delta.is_tombstone) {
        if (object)
            cor_object_ref(object);
        cor_object_unref(last->delta.object);
        last->delta.object = object;
        last->delta.is_tombstone = is_tombstone;
    }
    return true;
}

/* Before `next` (a link of `order`, or `order` itself), and in place of its number among the
 * changes of its key. */
static int add_node(struct cor_delta_fifo *f, struct cor_str key, const struct cor_delta *delta,
                    uint64_t seq, struct cor_dlist *next)
{
    struct cor_delta_record *record = cor_delta_peek(f, key);
    struct cor_delta_node *node;
    struct cor_dlist *newer;
    int r;

    if (!record && (r = record_new(f, key, &record)) < 0)
        return r;
    node = node_new(record);
    if (!node)
        return -COR_ENOMEM;
    *node = (struct cor_delta_node){.record = record, .seq = seq, .delta = *delta};
    if (delta->object)
        cor_object_ref(delta->object);
    for (newer = &record->deltas; newer->prev != &record->deltas; newer = newer->prev)
        if (COR_CONTAINER_OF(newer->prev, struct cor_delta_node, in_record)->seq < seq)
            break;
    cor_dlist_push(newer, &node->in_record);
    cor_dlist_push(next, &node->in_order);
    record->n++;
    f->n++;
    return 0;
}

int cor_delta_enqueue(struct cor_delta_fifo *f, enum cor_delta_type type, struct cor_str key,
                      struct cor_object *object, bool is_tombstone)
{
    const struct cor_delta delta = {type, is_tombstone, object};
    struct cor_delta_record *record = cor_delta_peek(f, key);

    if (record && type == COR_DELTA_DELETED &&
        is_repeated_deletion(f, record, object, is_tombstone))
        return 0;
    if (f->n >= f->opts.deltas_max)
        return -COR_EBUSY;
    return add_node(f, key, &delta, ++f->last_seq, &f->order);
}

/* The oldest change that came after the list, or the end of the order. */
static struct cor_dlist *first_after_list(struct cor_delta_fifo *f)
{
    struct cor_dlist *next = f->order.next;

    while (next != &f->order && node_of(next)->seq < f->listed.seq)
        next = next->next;
    return next;
}

int cor_delta_fifo_unpack(struct cor_delta_fifo *f)
{
    struct cor_dlist *next = first_after_list(f);
    size_t n = cor_delta_list_len(&f->listed), i;
    int r = 0;

    for (i = 0; r == 0 && i < n; i++) {
        const struct cor_delta_listed *e = &f->listed.v[f->listed.at + i];
        const struct cor_delta delta = {COR_DELTA_REPLACED, false, e->object};

        r = add_node(f, cor_delta_listed_key(e), &delta, f->listed.seq + i, next);
    }
    if (r < 0) {
        while (next->prev != &f->order && node_of(next->prev)->seq >= f->listed.seq)
            drop_change(f, node_of(next->prev));
        return r;
    }
    cor_delta_list_clear(&f->listed);
    f->n -= n;
    return 0;
}

static void requeue(struct cor_delta_fifo *f, struct cor_delta_record *record)
{
    cor_dlist_remove(&record->link);
    cor_dlist_push(&f->records, &record->link);
    COR_DLIST_FOREACH(it, &record->deltas) {
        struct cor_delta_node *node = COR_CONTAINER_OF(it, struct cor_delta_node, in_record);

        cor_dlist_remove(&node->in_order);
        cor_dlist_push(&f->order, &node->in_order);
        node->seq = ++f->last_seq;
        f->nretried += !node->is_retried;
        node->is_retried = true;
    }
}

/* Those before the one that the cache has were applied. */
int cor_delta_fifo_refuse(struct cor_delta_fifo *f, struct cor_str key,
                          const struct cor_delta *deltas, size_t n, int err, bool is_retried)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *cached = NULL;
    int r = f->opts.known ? cor_indexer_get(f->opts.known, key, &cached) : -COR_ENOTFOUND;

    if (r < 0 && r != -COR_ENOTFOUND)
        return r;
    for (r = 0; r == 0 && n > 0; n--) {
        const struct cor_object *object = deltas[n - 1].object;
        struct cor_str rv = object ? cor_object_resource_version(object) : COR_STR("");

        if (cached && cor_str_eq(rv, cor_object_resource_version(cached)))
            break;
        r = cor_cache_waiters_refused(&f->waiters, key, rv, err, is_retried);
    }
    return r;
}

/* Those who wait for the changes of a key hear what became of them. Returns the consumer's answer,
 * or -COR_ENOMEM: then they are given to it again. */
static int note_answer(struct cor_delta_fifo *f, struct cor_str key, const struct cor_delta *deltas,
                       size_t n, int r)
{
    if (r == 0) {
        if (cor_refusals_len(&f->waiters.refusals) > 0)
            cor_cache_waiters_taken(&f->waiters, key);
        return 0;
    }
    if (r == -COR_ENOMEM)
        return r;
    if (cor_delta_fifo_refuse(f, key, deltas, n, r < 0 ? r : -COR_EINVALID,
                              r == COR_DELTA_REQUEUE) < 0)
        return -COR_ENOMEM;
    return r;
}

/* The `n` oldest changes of a record after their consumer's answer. */
static void settle(struct cor_delta_fifo *f, struct cor_delta_record *record, size_t n, int r)
{
    if (r == COR_DELTA_REQUEUE && record->n == n) {
        requeue(f, record);
        return;
    }
    for (size_t i = 0; i < n; i++)
        drop_node(f, COR_CONTAINER_OF(record->deltas.next, struct cor_delta_node, in_record));
    if (record->n == 0)
        drop_record(f, record);
}

static int consume_record(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg, bool initial)
{
    struct cor_delta_record *record =
        f->opts.by_key ? COR_CONTAINER_OF(f->records.next, struct cor_delta_record, link)
                       : node_of(f->order.next)->record;
    size_t n = f->opts.by_key ? record->n : 1;
    struct cor_delta one = {COR_DELTA_ADDED, false, NULL}, *deltas;
    int r = cor_delta_record_read(record, n, &one, &deltas);

    if (r < 0)
        return r;
    r = fn(arg, cor_str(record->key, record->key_len), deltas, n, initial);
    r = note_answer(f, cor_str(record->key, record->key_len), deltas, n, r);
    if (deltas != &one)
        cor_free(deltas);
    /* A list may have newer changes of the key. */
    if (r == COR_DELTA_REQUEUE && cor_delta_fifo_unpack(f) < 0)
        r = -COR_ENOMEM;
    if (r != -COR_ENOMEM)
        settle(f, record, n, r);
    return r;
}

/* Is the oldest change one of the list? */
static bool is_listed_next(const struct cor_delta_fifo *f)
{
    return cor_delta_list_len(&f->listed) > 0 &&
           (cor_dlist_empty(&f->order) || f->listed.seq < node_of(f->order.next)->seq);
}

static int consume_listed(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg, bool initial)
{
    const struct cor_delta_listed *e = cor_delta_list_first(&f->listed);
    const struct cor_delta delta = {COR_DELTA_REPLACED, false, e->object};
    int r = fn(arg, cor_delta_listed_key(e), &delta, 1, initial);

    r = note_answer(f, cor_delta_listed_key(e), &delta, 1, r);
    if (r == -COR_ENOMEM)
        return r;
    if (r == COR_DELTA_REQUEUE) {
        if (cor_delta_fifo_unpack(f) < 0)
            return -COR_ENOMEM;
        settle(f, node_of(f->order.next)->record, 1, r);
        return r;
    }
    cor_delta_list_drop_first(&f->listed);
    f->n--;
    return r;
}

/* Gives the oldest change, or all of the oldest key, to the consumer; they leave the queue after
 * it. */
static int consume_locked(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg, bool initial)
{
    size_t initial_before = f->initial;
    int r;

    if (f->initial > 0)
        f->initial--;
    r = is_listed_next(f) ? consume_listed(f, fn, arg, initial)
                          : consume_record(f, fn, arg, initial);
    if (r == -COR_ENOMEM)
        f->initial = initial_before;
    return r;
}

bool cor_delta_has_synced_locked(const struct cor_delta_fifo *f)
{
    return f->populated && f->initial == 0;
}

/* Everything before the oldest pending change was consumed. */
static uint64_t consumed_seq(const struct cor_delta_fifo *f)
{
    if (f->n == 0)
        return f->last_seq;
    return (is_listed_next(f) ? f->listed.seq : node_of(f->order.next)->seq) - 1;
}

void cor_delta_fifo_unlock(struct cor_delta_fifo *f)
{
    struct cor_cache_call call;
    bool any;

    if (f->waiters.n > 0)
        cor_cache_waiters_consumed(&f->waiters, consumed_seq(f), cor_delta_has_synced_locked(f));
    do {
        any = cor_cache_waiters_take(&f->waiters, &call);
        cor_lock_release(&f->lock);
        if (!any)
            break;
        cor_lock_assert_none();
        call.fn(call.arg, call.r);
        cor_lock_acquire(&f->lock);
    } while (true);
}

static int fifo_pop(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg, bool wait)
{
    int r;

    cor_lock_acquire(&f->lock);
    while (f->n == 0 && !f->closed && wait)
        cor_cond_wait(&f->ready, &f->lock);
    if (f->n > 0)
        r = consume_locked(f, fn, arg, !cor_delta_has_synced_locked(f));
    else
        r = f->closed ? -COR_ECANCELED : -COR_EBUSY;
    cor_delta_fifo_unlock(f);
    return r;
}

int cor_delta_fifo_pop(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg)
{
    assert(fn);
    return fifo_pop(f, fn, arg, true);
}

int cor_delta_fifo_try_pop(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg)
{
    assert(fn);
    return fifo_pop(f, fn, arg, false);
}

bool cor_delta_fifo_has_synced(struct cor_delta_fifo *f)
{
    return COR_LOCKED(&f->lock, cor_delta_has_synced_locked(f));
}

void cor_delta_fifo_close(struct cor_delta_fifo *f)
{
    cor_lock_acquire(&f->lock);
    f->closed = true;
    cor_cache_waiters_cancel(&f->waiters);
    cor_cond_broadcast(&f->ready);
    cor_delta_fifo_unlock(f);
    if (f->opts.on_ready)
        f->opts.on_ready(f->opts.arg);
}

bool cor_delta_fifo_is_closed(struct cor_delta_fifo *f)
{
    return COR_LOCKED(&f->lock, f->closed);
}

size_t cor_delta_fifo_len(struct cor_delta_fifo *f)
{
    return COR_LOCKED(&f->lock, f->n);
}

size_t cor_delta_fifo_retries(struct cor_delta_fifo *f)
{
    return COR_LOCKED(&f->lock, f->nretried);
}

size_t cor_delta_fifo_fresh(struct cor_delta_fifo *f)
{
    return COR_LOCKED(&f->lock, f->n - f->nretried);
}
