/* The watch cache as the store of a reflector.
 *
 * A list: each part is gathered as tree entries, in key order, on the home loop; the commit, on the
 * writer, replaces the whole content. A change: the writer applies it under the cache's lock.
 * Changes of one revision share one hold of the lock, so that no reader sees a part of a revision.
 *
 * What fails: only allocations. A list that cannot be gathered or committed leaves the content as
 * it was. After a change that cannot be applied the lock is free, and the reflector ends its round.
 *
 * The reflector hands over the revision of the list and of each change as the number that the
 * source gave it. */
#include "storage/cacher/cacher_int.h"

#include "base/array.h"
#include "base/mem.h"

static struct cor_cacher *sink_cacher(struct cor_reflector_store *sink)
{
    return COR_CONTAINER_OF(sink, struct cor_cacher, sink);
}

void cor_cacher_drop_staged(struct cor_cacher *cacher)
{
    for (size_t i = 0; i < cacher->nstaged; i++)
        cor_cache_entry_unref(cacher->staged[i].item);
    cacher->staged = cor_free(cacher->staged);
    cacher->nstaged = cacher->staged_cap = cacher->staged_bytes = 0;
}

void cor_cacher_unlock(struct cor_cacher *cacher)
{
    if (cacher->locked)
        cor_lock_release(&cacher->cache.lock);
    cacher->locked = false;
}

static int sink_replace_begin(struct cor_reflector_store *sink, struct cor_status *reterr)
{
    cor_cacher_drop_staged(sink_cacher(sink));
    return 0;
}

static int sink_replace_add(struct cor_reflector_store *sink, struct cor_str key,
                            struct cor_object *object, struct cor_status *reterr)
{
    struct cor_cacher *cacher = sink_cacher(sink);
    struct cor_cache_entry *entry;

    assert(key.n > 0 && object->rev > 0);
    if (COR_ARRAY_RESERVE(&cacher->staged, cacher->nstaged, &cacher->staged_cap, COR_ARRAY_NO_MAX) <
        0)
        return cor_store_no_memory(reterr);
    entry = cor_cache_entry_new(key, cor_object_ref(object), &cacher->triggers);
    if (!entry)
        return cor_store_no_memory(reterr);
    cacher->staged[cacher->nstaged++] = (struct cor_btree_entry){entry, object->fingerprint};
    cacher->staged_bytes += cor_cache_entry_bytes(entry);
    return 0;
}

/* What was gathered is freed by the home loop afterwards, not here: the engine thread does no more
 * than it must. */
static int sink_replace_commit(struct cor_reflector_store *sink, struct cor_reflector_at at,
                               struct cor_status *reterr)
{
    struct cor_cacher *cacher = sink_cacher(sink);

    assert(cacher->cachers->is_writing && !cacher->locked && at.rev > 0);
    if (cor_watch_cache_replace(&cacher->cache, cacher->staged, cacher->nstaged,
                                cacher->staged_bytes, &cacher->staged_unreadable, at.rev) < 0)
        return cor_store_no_memory(reterr);
    return 0;
}

static void sink_replace_abort(struct cor_reflector_store *sink)
{
    cor_cacher_drop_staged(sink_cacher(sink));
}

/* `take_entry` NULL: the key was deleted, or the value that was written cannot be decoded. */
static int sink_apply(struct cor_cacher *cacher, struct cor_str key,
                      struct cor_cache_entry *take_entry, cor_rev rev, struct cor_status *reterr)
{
    int r;

    assert(rev > 0);
    if (!cacher->locked)
        cor_lock_acquire(&cacher->cache.lock);
    cacher->locked = true;
    if (cacher->change_unreadable)
        r = cor_watch_cache_apply_unreadable_locked(&cacher->cache, cacher->change_unreadable,
                                                    cor_cachers_now_ms(cacher->cachers));
    else
        r = cor_watch_cache_apply_locked(&cacher->cache, key, take_entry, rev,
                                         cor_cachers_now_ms(cacher->cachers));
    if (cacher->ends_rev || r < 0)
        cor_cacher_unlock(cacher);
    return r < 0 ? cor_store_no_memory(reterr) : 0;
}

static int sink_put(struct cor_reflector_store *sink, struct cor_str key, struct cor_object *object,
                    struct cor_reflector_at at, struct cor_status *reterr)
{
    struct cor_cacher *cacher = sink_cacher(sink);
    struct cor_cache_entry *entry =
        cor_cache_entry_new(key, cor_object_ref(object), &cacher->triggers);

    if (entry)
        return sink_apply(cacher, key, entry, at.rev, reterr);
    cor_cacher_unlock(cacher);
    return cor_store_no_memory(reterr);
}

static int sink_del(struct cor_reflector_store *sink, struct cor_str key, struct cor_object *object,
                    struct cor_reflector_at at, struct cor_status *reterr)
{
    return sink_apply(sink_cacher(sink), key, NULL, at.rev, reterr);
}

/* All cachers have one published revision, so that a bookmark changes nothing; a watch cache has no
 * resync. */
const struct cor_reflector_store_ops cor_cacher_sink_ops = {
    .add = sink_put,
    .update = sink_put,
    .del = sink_del,
    .replace_begin = sink_replace_begin,
    .replace_add = sink_replace_add,
    .replace_commit = sink_replace_commit,
    .replace_abort = sink_replace_abort,
};
