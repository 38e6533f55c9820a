/* The watch cache as what a reflector keeps: a list is gathered as tree entries and becomes the
 * content at once, a change is applied under the cache's lock, which changes of one revision share.
 */
#include "storage/cacher/cacher_int.h"

#include "base/mem.h"

static struct cor_cacher *of_sink(struct cor_reflector_store *sink)
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
        pthread_mutex_unlock(&cacher->cache.lock);
    cacher->locked = false;
}

static int replace_begin(struct cor_reflector_store *sink, struct cor_status *reterr)
{
    cor_cacher_drop_staged(of_sink(sink));
    return 0;
}

static int replace_add(struct cor_reflector_store *sink, struct cor_str key,
                       struct cor_object *object, struct cor_status *reterr)
{
    struct cor_cacher *cacher = of_sink(sink);
    struct cor_cache_entry *entry;

    if (cacher->nstaged == cacher->staged_cap) {
        size_t cap = cacher->staged_cap ? cacher->staged_cap * 2 : 64;
        struct cor_btree_entry *staged = cor_realloc(cacher->staged, cap * sizeof(*staged));

        if (!staged)
            return cor_store_no_memory(reterr);
        cacher->staged = staged;
        cacher->staged_cap = cap;
    }
    entry = cor_cache_entry_new(key, cor_object_ref(object), cacher->trigger);
    if (!entry)
        return cor_store_no_memory(reterr);
    cacher->staged[cacher->nstaged++] = (struct cor_btree_entry){entry, object->fingerprint};
    cacher->staged_bytes += cor_cache_entry_bytes(entry);
    return 0;
}

static cor_rev rev_of(struct cor_str rv)
{
    cor_rev rev = 0;
    int r = cor_str_to_u64(rv, &rev);

    assert(r == 0);
    (void)r;
    return rev;
}

/* What was gathered stays until the home loop drops it: the engine thread has better to do. */
static int replace_commit(struct cor_reflector_store *sink, struct cor_str rv,
                          struct cor_status *reterr)
{
    struct cor_cacher *cacher = of_sink(sink);

    if (cor_watch_cache_replace(&cacher->cache, cacher->staged, cacher->nstaged,
                                cacher->staged_bytes, rev_of(rv)) < 0)
        return cor_store_no_memory(reterr);
    return 0;
}

static void replace_abort(struct cor_reflector_store *sink)
{
    cor_cacher_drop_staged(of_sink(sink));
}

/* The lock is free again when it fails. */
static int apply(struct cor_cacher *cacher, struct cor_str key, struct cor_cache_entry *take_entry,
                 struct cor_str rv, struct cor_status *reterr)
{
    int r;

    if (!cacher->locked)
        pthread_mutex_lock(&cacher->cache.lock);
    cacher->locked = true;
    r = cor_watch_cache_apply_locked(&cacher->cache, key, take_entry, rev_of(rv),
                                     cor_cachers_now_ms(cacher->cachers));
    if (cacher->ends_rev || r < 0)
        cor_cacher_unlock(cacher);
    return r < 0 ? cor_store_no_memory(reterr) : 0;
}

static int put(struct cor_reflector_store *sink, struct cor_str key, struct cor_object *object,
               struct cor_str rv, struct cor_status *reterr)
{
    struct cor_cacher *cacher = of_sink(sink);
    struct cor_cache_entry *entry =
        cor_cache_entry_new(key, cor_object_ref(object), cacher->trigger);

    if (entry)
        return apply(cacher, key, entry, rv, reterr);
    cor_cacher_unlock(cacher);
    return cor_store_no_memory(reterr);
}

static int del(struct cor_reflector_store *sink, struct cor_str key, struct cor_object *object,
               struct cor_str rv, struct cor_status *reterr)
{
    return apply(of_sink(sink), key, NULL, rv, reterr);
}

/* The caches have one revision for all; a cache has no resync. */
static void bookmark(struct cor_reflector_store *sink, struct cor_str rv)
{
}

static int resync(struct cor_reflector_store *sink, struct cor_status *reterr)
{
    return 0;
}

const struct cor_reflector_store_ops cor_cacher_sink_ops = {
    .add = put,
    .update = put,
    .del = del,
    .bookmark = bookmark,
    .replace_begin = replace_begin,
    .replace_add = replace_add,
    .replace_commit = replace_commit,
    .replace_abort = replace_abort,
    .resync = resync,
};
