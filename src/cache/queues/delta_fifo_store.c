/* The side of the queue that a reflector sees. Objects are named and transformed as they come in; a
 * replace is staged, and becomes changes when it is committed: what the list has, and a tombstone
 * for what it lacks. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/queues/delta_fifo_int.h"
#include "cache/store/object_key.h"

static struct cor_delta_fifo *delta_store_of(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct cor_delta_fifo, store);
}

static int delta_store_no_memory(struct cor_status *reterr)
{
    return cor_status_set(reterr, -COR_ENOMEM, "no memory for a change");
}

static int delta_store_failure(struct cor_delta_fifo *f, int r, struct cor_status *reterr)
{
    if (r == -COR_ENOMEM)
        return delta_store_no_memory(reterr);
    if (r == -COR_EBUSY)
        return cor_status_set(reterr, r, "%zu changes wait for their consumer", f->opts.deltas_max);
    return cor_status_set(reterr, r, "object has no meta: metadata.name: a name is expected");
}

/* The program's key function decides; without one the driver's name for the object, or else the
 * object's own. */
static int delta_store_set_key(struct cor_delta_fifo *f, struct cor_str key,
                               const struct cor_object *object)
{
    const struct cor_keyer keyer = {f->opts.key, f->opts.key_arg};

    cor_buf_reset(&f->key);
    if (key.n > 0 && (!keyer.fn || !object))
        return cor_buf_adds(&f->key, key);
    return cor_keyer_print(&keyer, object, &f->key);
}

static int delta_store_transform(struct cor_delta_fifo *f, struct cor_object **object,
                                 struct cor_status *reterr)
{
    cor_object_ref(*object);
    return f->opts.transform ? f->opts.transform(f->opts.arg, object, reterr) : 0;
}

/* The reflector skips what a transform refuses permanently: whoever waits for it is told. */
static int delta_store_transform_event(struct cor_delta_fifo *f, struct cor_object **object,
                                       struct cor_status *reterr)
{
    const struct cor_delta delta = {.object = *object};
    int r = delta_store_transform(f, object, reterr);

    if (r >= 0 || cor_err_retryable(r))
        return r;
    if (cor_delta_fifo_refuse(f, cor_buf_str(&f->key), &delta, 1, r, false) < 0)
        return delta_store_no_memory(reterr);
    return r;
}

/* An informer's store does not know it, and nothing of it is pending: there is nothing to delete.
 */
static bool delta_store_is_unknown(struct cor_delta_fifo *f, struct cor_str key)
{
    struct cor_object *known;
    int r;

    if (!f->opts.by_key || cor_delta_peek(f, key))
        return false;
    if (!f->opts.known)
        return true;
    r = cor_indexer_get(f->opts.known, key, &known);
    if (r == 0)
        cor_object_unref(known);
    return r == -COR_ENOTFOUND;
}

static int delta_store_take_locked(struct cor_delta_fifo *f, enum cor_delta_type type,
                                   struct cor_str key, struct cor_object *object,
                                   struct cor_status *reterr)
{
    int r = delta_store_set_key(f, key, object);

    if (r < 0)
        return delta_store_failure(f, r, reterr);
    f->populated = true;
    if (type == COR_DELTA_DELETED && delta_store_is_unknown(f, cor_buf_str(&f->key))) {
        cor_cache_waiters_taken(&f->waiters, cor_buf_str(&f->key));
        return 0;
    }
    r = object ? delta_store_transform_event(f, &object, reterr) : 0;
    if (r == 0) {
        r = cor_delta_enqueue(f, type, cor_buf_str(&f->key), object, !object);
        if (r < 0)
            delta_store_failure(f, r, reterr);
    }
    cor_object_unref(object);
    return r;
}

/* `rv`: the queue has all that happened up to it; empty: it is where it was. */
static void delta_store_tell(struct cor_delta_fifo *f, struct cor_str rv)
{
    cor_cache_waiters_reached(&f->waiters, rv, f->last_seq);
    cor_cond_broadcast(&f->ready);
    cor_delta_fifo_unlock(f);
    if (f->opts.on_ready)
        f->opts.on_ready(f->opts.arg);
}

static int delta_store_take(struct cor_reflector_store *store, enum cor_delta_type type,
                            struct cor_str key, struct cor_object *object,
                            struct cor_reflector_at at, struct cor_status *reterr)
{
    struct cor_delta_fifo *f = delta_store_of(store);
    int r;

    cor_lock_acquire(&f->lock);
    r = delta_store_take_locked(f, type, key, object, reterr);
    delta_store_tell(f, r == 0 ? at.rv : COR_STR(""));
    return r;
}

static int delta_store_on_add(struct cor_reflector_store *store, struct cor_str key,
                              struct cor_object *object, struct cor_reflector_at at,
                              struct cor_status *reterr)
{
    return delta_store_take(store, COR_DELTA_ADDED, key, object, at, reterr);
}

static int delta_store_on_update(struct cor_reflector_store *store, struct cor_str key,
                                 struct cor_object *object, struct cor_reflector_at at,
                                 struct cor_status *reterr)
{
    return delta_store_take(store, COR_DELTA_UPDATED, key, object, at, reterr);
}

static int delta_store_on_del(struct cor_reflector_store *store, struct cor_str key,
                              struct cor_object *object, struct cor_reflector_at at,
                              struct cor_status *reterr)
{
    return delta_store_take(store, COR_DELTA_DELETED, key, object, at, reterr);
}

/* No status: the reflector has reported it. Without memory, nobody can be told. */
static void delta_store_on_skip(struct cor_reflector_store *store, struct cor_str key,
                                struct cor_object *object, int err)
{
    const struct cor_delta delta = {.object = object};
    struct cor_delta_fifo *f = delta_store_of(store);

    cor_lock_acquire(&f->lock);
    if (delta_store_set_key(f, key, object) == 0)
        cor_delta_fifo_refuse(f, cor_buf_str(&f->key), &delta, 1, err, false);
    cor_delta_fifo_unlock(f);
}

static void delta_store_on_bookmark(struct cor_reflector_store *store, struct cor_reflector_at at)
{
    struct cor_delta_fifo *f = delta_store_of(store);

    cor_lock_acquire(&f->lock);
    cor_cache_waiters_reached(&f->waiters, at.rv, f->last_seq);
    cor_delta_fifo_unlock(f);
}

static int delta_store_on_replace_begin(struct cor_reflector_store *store,
                                        struct cor_status *reterr)
{
    return 0;
}

/* The key is of the object before its transform. */
static int delta_store_stage_locked(struct cor_delta_fifo *f, struct cor_str key,
                                    struct cor_object *object, struct cor_status *reterr)
{
    int r = delta_store_set_key(f, key, object);

    if (r < 0)
        return delta_store_failure(f, r, reterr);
    if (cor_delta_list_len(&f->staged) == f->opts.deltas_max)
        return delta_store_failure(f, -COR_EBUSY, reterr);
    if (cor_delta_list_reserve(&f->staged) < 0)
        return delta_store_no_memory(reterr);
    r = delta_store_transform(f, &object, reterr);
    if (r == 0 && cor_delta_list_add(&f->staged, cor_buf_str(&f->key), object) < 0)
        r = delta_store_no_memory(reterr);
    if (r < 0)
        cor_object_unref(object);
    return r;
}

static int delta_store_on_replace_add(struct cor_reflector_store *store, struct cor_str key,
                                      struct cor_object *object, struct cor_status *reterr)
{
    struct cor_delta_fifo *f = delta_store_of(store);
    int r;

    cor_lock_acquire(&f->lock);
    r = delta_store_stage_locked(f, key, object, reterr);
    cor_lock_release(&f->lock);
    return r;
}

/* The keys of the staged list. */
static int gather_listed(struct cor_delta_fifo *f, struct cor_map *listed)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < f->staged.n; i++) {
        struct cor_delta_listed *e = &f->staged.v[i];

        r = cor_map_put(listed, cor_delta_listed_key(e), e, NULL);
    }
    return r == -COR_ETOOBIG ? -COR_EBUSY : r;
}

/* Keys in the order of their oldest change; the tombstones that join the order meanwhile are never
 * the oldest of theirs. */
static int bury_pending(struct cor_delta_fifo *f, const struct cor_map *listed)
{
    int r = 0;

    COR_DLIST_FOREACH(it, &f->order) {
        struct cor_delta_node *node = COR_CONTAINER_OF(it, struct cor_delta_node, in_order);
        struct cor_delta_record *record = node->record;
        struct cor_str key = cor_str(record->key, record->key_len);
        const struct cor_delta *newest = cor_delta_newest(record);

        if (record->deltas.next != &node->in_record || newest->type == COR_DELTA_DELETED ||
            cor_map_peek(listed, key))
            continue;
        r = cor_delta_enqueue(f, COR_DELTA_DELETED, key, newest->object, true);
        if (r < 0)
            break;
    }
    return r;
}

static int bury_known(struct cor_delta_fifo *f, const struct cor_map *listed)
{
    struct cor_object_iter it = {0};
    struct cor_object *object;
    struct cor_str key;
    int r = f->opts.known ? cor_indexer_list(f->opts.known, &it) : 0;

    while (r == 0 && it.snap && cor_object_iter_next(&it, &object, &key))
        if (!cor_map_peek(listed, key) && !cor_delta_peek(f, key))
            r = cor_delta_enqueue(f, COR_DELTA_DELETED, key, object, true);
    cor_object_iter_deinit(&it);
    return r;
}

static int knows_nothing(struct cor_delta_fifo *f, bool *ret)
{
    struct cor_object_iter it = {0};
    int r = f->opts.known ? cor_indexer_list(f->opts.known, &it) : 0;

    *ret = r == 0 && (!it.snap || cor_btree_iter_remaining(&it.it) == 0);
    cor_object_iter_deinit(&it);
    return r;
}

/* The list waits as it came: nothing is allocated. */
static int enqueue_whole(struct cor_delta_fifo *f)
{
    size_t n = cor_delta_list_len(&f->staged);

    if (n > f->opts.deltas_max - f->n)
        return -COR_EBUSY;
    f->listed = f->staged;
    f->listed.seq = f->last_seq + 1;
    f->staged = (struct cor_delta_list){0};
    f->last_seq += n;
    f->n += n;
    return 0;
}

static int enqueue_by_key(struct cor_delta_fifo *f)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < f->staged.n; i++) {
        const struct cor_delta_listed *e = &f->staged.v[i];

        r = cor_delta_enqueue(f, COR_DELTA_REPLACED, cor_delta_listed_key(e), e->object, false);
    }
    return r;
}

static int bury_unlisted(struct cor_delta_fifo *f)
{
    struct cor_map listed;
    bool none_known;
    int r = knows_nothing(f, &none_known);

    if (r < 0 || (f->n == 0 && none_known))
        return r;
    cor_map_init(&listed, f->opts.deltas_max);
    r = gather_listed(f, &listed);
    if (r == 0)
        r = bury_pending(f, &listed);
    if (r == 0)
        r = bury_known(f, &listed);
    cor_map_deinit(&listed);
    return r;
}

/* What a new list lacks is gone, and what was refused of it with it. */
static void forget_unlisted(struct cor_delta_fifo *f, const struct cor_delta_list *list)
{
    if (cor_refusals_len(&f->waiters.refusals) == 0)
        return;
    cor_refusals_unmark(&f->waiters.refusals);
    for (size_t i = list->at; i < list->n; i++)
        cor_refusals_mark(&f->waiters.refusals, cor_delta_listed_key(&list->v[i]));
    cor_cache_waiters_sweep(&f->waiters);
}

/* In order, deletions come before what the list has; by key, after it. */
static int delta_store_replace_locked(struct cor_delta_fifo *f)
{
    int r = cor_delta_fifo_unpack(f);
    const struct cor_dlist *before = f->order.prev;

    if (r == 0)
        r = f->opts.by_key ? enqueue_by_key(f) : bury_unlisted(f);
    if (r == 0)
        r = f->opts.by_key ? bury_unlisted(f) : enqueue_whole(f);
    if (r < 0)
        cor_delta_truncate(f, before);
    else if (!f->populated)
        f->initial = f->opts.by_key ? cor_map_len(&f->by_key) : f->n;
    if (r == 0) {
        f->populated = true;
        forget_unlisted(f, f->opts.by_key ? &f->staged : &f->listed);
    }
    return r;
}

static int delta_store_on_replace_commit(struct cor_reflector_store *store,
                                         struct cor_reflector_at at, struct cor_status *reterr)
{
    struct cor_delta_fifo *f = delta_store_of(store);
    int r;

    cor_lock_acquire(&f->lock);
    r = delta_store_replace_locked(f);
    if (r < 0)
        delta_store_failure(f, r, reterr);
    cor_delta_list_clear(&f->staged);
    delta_store_tell(f, r == 0 ? at.rv : COR_STR(""));
    return r;
}

static void delta_store_on_replace_abort(struct cor_reflector_store *store)
{
    struct cor_delta_fifo *f = delta_store_of(store);

    cor_lock_acquire(&f->lock);
    cor_delta_list_clear(&f->staged);
    cor_lock_release(&f->lock);
}

/* A pending change is newer than what the cache has: its key is passed over. */
static int delta_store_on_resync(struct cor_reflector_store *store, struct cor_status *reterr)
{
    struct cor_delta_fifo *f = delta_store_of(store);
    struct cor_object_iter it;
    struct cor_object *object;
    struct cor_str key;
    int r;

    if (!f->opts.known)
        return 0;
    cor_lock_acquire(&f->lock);
    r = cor_delta_fifo_unpack(f);
    if (r == 0)
        r = cor_indexer_list(f->opts.known, &it);
    if (r == 0) {
        while (r == 0 && cor_object_iter_next(&it, &object, &key))
            if (!cor_delta_peek(f, key))
                r = cor_delta_enqueue(f, COR_DELTA_SYNC, key, object, false);
        cor_object_iter_deinit(&it);
    }
    if (r < 0)
        delta_store_failure(f, r, reterr);
    delta_store_tell(f, COR_STR(""));
    return r;
}

const struct cor_reflector_store_ops cor_delta_fifo_store_ops = {
    .add = delta_store_on_add,
    .update = delta_store_on_update,
    .del = delta_store_on_del,
    .skip = delta_store_on_skip,
    .bookmark = delta_store_on_bookmark,
    .replace_begin = delta_store_on_replace_begin,
    .replace_add = delta_store_on_replace_add,
    .replace_commit = delta_store_on_replace_commit,
    .replace_abort = delta_store_on_replace_abort,
    .resync = delta_store_on_resync,
};
