/* Turns each delta into a change: it is an update if the cache has the object, else an add; or a
 * deletion. A change is made in three parts: prepare, the indexer, publish. When memory runs out
 * amid the deltas of a key, the number that were applied is kept, and the next run goes on after
 * them. Thread: the queue's consumer. */
#include "cache/informers/delta_applier.h"

#include "base/err.h"
#include "cache/store/object_key.h"

void cor_delta_applier_init(struct cor_delta_applier *a, const struct cor_delta_applier_ops *ops,
                            struct cor_indexer *indexer)
{
    *a = (struct cor_delta_applier){.ops = ops, .indexer = indexer};
    cor_buf_init(&a->key, COR_OBJECT_KEY_MAX);
}

void cor_delta_applier_deinit(struct cor_delta_applier *a)
{
    cor_buf_deinit(&a->key);
}

/* A transform may have renamed the object since it was queued: what the cache holds goes by its own
 * name. */
static int cache_key(struct cor_delta_applier *a, const struct cor_object *object,
                     struct cor_str *key)
{
    int r;

    if (!object)
        return 0;
    cor_buf_reset(&a->key);
    r = cor_object_key(object, &a->key);
    if (r == 0)
        *key = cor_buf_str(&a->key);
    return r;
}

static struct cor_change change_of(const struct cor_delta *delta, struct cor_str key,
                                   struct cor_object *old, bool in_initial_list)
{
    struct cor_change change = {
        .kind = old ? COR_CHANGE_UPDATE : COR_CHANGE_ADD,
        .flag = !old && in_initial_list,
        .key = key,
        .old = old,
        .object = delta->object,
    };

    if (delta->type == COR_DELTA_DELETED) {
        change.kind = COR_CHANGE_DELETE;
        change.flag = delta->is_tombstone;
        change.old = NULL;
    }
    return change;
}

static int applier_apply(struct cor_delta_applier *a, struct cor_str key,
                         const struct cor_delta *delta, bool in_initial_list)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *old = NULL;
    struct cor_change change;
    int r = cache_key(a, delta->object, &key);

    if (r == 0)
        r = cor_indexer_get(a->indexer, key, &old);
    if (r < 0 && r != -COR_ENOTFOUND)
        return r;
    change = change_of(delta, key, old, in_initial_list);
    r = a->ops->prepare ? a->ops->prepare(a, &change) : 0;
    if (r == 0)
        r = change.kind == COR_CHANGE_DELETE ? cor_indexer_remove(a->indexer, key, NULL)
                                             : cor_indexer_put(a->indexer, delta->object, NULL);
    if (r == 0)
        a->ops->publish(a, &change);
    else if (a->ops->drop)
        a->ops->drop(a);
    return r;
}

int cor_delta_applier_run(struct cor_delta_applier *a, struct cor_str key,
                          const struct cor_delta *deltas, size_t n, bool in_initial_list)
{
    size_t i = a->napplied;
    int r = 0;

    for (; r == 0 && i < n; i++)
        r = applier_apply(a, key, &deltas[i], in_initial_list);
    a->napplied = r == -COR_ENOMEM ? i - 1 : 0;
    return r;
}
