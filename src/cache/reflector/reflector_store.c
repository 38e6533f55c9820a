/* A store of functions gathers the objects of a list while the list comes in, and passes them to
 * `replace` as a whole at the commit. When an allocation fails, or `replace` does, the objects are
 * dropped and the content stays as it was: the reflector then lists again.
 *
 * The second half is the way of a program into any store: the calls that a reflector makes, in its
 * order. Thread: the writer's. */
#include "cache/reflector/reflector_store.h"

#include <assert.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "cache/store/indexer.h"

struct function_store {
    struct cor_reflector_store store;
    struct cor_reflector_store_fns fns;
    struct cor_object **listed; /* of the replace under way */
    size_t n, cap;
};

static struct function_store *function_store_of(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct function_store, store);
}

/* The program may have left `reterr` alone. */
static int function_status(int r, struct cor_status *reterr)
{
    if (r < 0 && reterr && reterr->err == 0)
        cor_status_set(reterr, r, "the store refused an object: %s", cor_err_text(r));
    return r;
}

static int function_on_add(struct cor_reflector_store *store, struct cor_str key,
                           struct cor_object *object, struct cor_reflector_at at,
                           struct cor_status *reterr)
{
    const struct cor_reflector_store_fns *fns = &function_store_of(store)->fns;

    return function_status(fns->add(fns->arg, object, reterr), reterr);
}

static int function_on_update(struct cor_reflector_store *store, struct cor_str key,
                              struct cor_object *object, struct cor_reflector_at at,
                              struct cor_status *reterr)
{
    const struct cor_reflector_store_fns *fns = &function_store_of(store)->fns;

    return function_status(fns->update(fns->arg, object, reterr), reterr);
}

static int function_on_del(struct cor_reflector_store *store, struct cor_str key,
                           struct cor_object *object, struct cor_reflector_at at,
                           struct cor_status *reterr)
{
    const struct cor_reflector_store_fns *fns = &function_store_of(store)->fns;

    return function_status(fns->remove(fns->arg, key, object, reterr), reterr);
}

static void function_on_bookmark(struct cor_reflector_store *store, struct cor_reflector_at at)
{
    const struct cor_reflector_store_fns *fns = &function_store_of(store)->fns;

    if (fns->bookmark)
        fns->bookmark(fns->arg, at.rv);
}

static int function_on_replace_begin(struct cor_reflector_store *store, struct cor_status *reterr)
{
    assert(function_store_of(store)->n == 0);
    return 0;
}

static int function_reserve(struct function_store *s)
{
    return COR_ARRAY_RESERVE(&s->listed, s->n, &s->cap, COR_INDEXER_OBJECTS_MAX);
}

static int function_on_replace_add(struct cor_reflector_store *store, struct cor_str key,
                                   struct cor_object *object, struct cor_status *reterr)
{
    struct function_store *s = function_store_of(store);
    int r = function_reserve(s);

    if (r < 0)
        return cor_status_set(reterr, r, "an object was not listed: %s", cor_err_text(r));
    s->listed[s->n++] = cor_object_ref(object);
    return 0;
}

static void function_on_replace_abort(struct cor_reflector_store *store)
{
    struct function_store *s = function_store_of(store);

    while (s->n > 0)
        cor_object_unref(s->listed[--s->n]);
    s->listed = cor_free(s->listed);
    s->cap = 0;
}

static int function_on_replace_commit(struct cor_reflector_store *store, struct cor_reflector_at at,
                                      struct cor_status *reterr)
{
    struct function_store *s = function_store_of(store);
    int r = s->fns.replace(s->fns.arg, s->listed, s->n, at.rv, reterr);

    function_on_replace_abort(store);
    return function_status(r, reterr);
}

static int function_on_resync(struct cor_reflector_store *store, struct cor_status *reterr)
{
    const struct cor_reflector_store_fns *fns = &function_store_of(store)->fns;

    return fns->resync ? function_status(fns->resync(fns->arg, reterr), reterr) : 0;
}

static const struct cor_reflector_store_ops function_ops = {
    .add = function_on_add,
    .update = function_on_update,
    .del = function_on_del,
    .bookmark = function_on_bookmark,
    .replace_begin = function_on_replace_begin,
    .replace_add = function_on_replace_add,
    .replace_commit = function_on_replace_commit,
    .replace_abort = function_on_replace_abort,
    .resync = function_on_resync,
};

int cor_reflector_store_new(const struct cor_reflector_store_fns *fns,
                            struct cor_reflector_store **ret_store)
{
    struct function_store *s = cor_calloc(1, sizeof(*s));
    int r = s ? cor_sized_copy(&s->fns, sizeof(s->fns), fns) : -COR_ENOMEM;

    if (r == 0 && (!s->fns.add || !s->fns.update || !s->fns.remove || !s->fns.replace))
        r = -COR_EINVAL;
    if (r < 0) {
        cor_free(s);
        return r;
    }
    s->store.ops = &function_ops;
    *ret_store = &s->store;
    return 0;
}

struct cor_reflector_store *cor_reflector_store_free(struct cor_reflector_store *store)
{
    if (!store)
        return NULL;
    assert(store->ops == &function_ops);
    function_on_replace_abort(store);
    cor_free(function_store_of(store));
    return NULL;
}

int cor_reflector_store_add(struct cor_reflector_store *store, struct cor_object *object,
                            struct cor_status *reterr)
{
    assert(store && object);
    return store->ops->add(store, COR_STR(""), object,
                           cor_reflector_at(cor_object_resource_version(object)), reterr);
}

int cor_reflector_store_update(struct cor_reflector_store *store, struct cor_object *object,
                               struct cor_status *reterr)
{
    assert(store && object);
    return store->ops->update(store, COR_STR(""), object,
                              cor_reflector_at(cor_object_resource_version(object)), reterr);
}

int cor_reflector_store_remove(struct cor_reflector_store *store, struct cor_object *object,
                               struct cor_status *reterr)
{
    assert(store && object);
    return store->ops->del(store, COR_STR(""), object,
                           cor_reflector_at(cor_object_resource_version(object)), reterr);
}

int cor_reflector_store_replace(struct cor_reflector_store *store,
                                struct cor_object *const *objects, size_t n, struct cor_str version,
                                struct cor_status *reterr)
{
    int r = store->ops->replace_begin(store, reterr);

    assert(store && (objects || n == 0));
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = store->ops->replace_add(store, COR_STR(""), objects[i], reterr);
    if (r == 0)
        return store->ops->replace_commit(store, cor_reflector_at(version), reterr);
    if (store->ops->replace_abort)
        store->ops->replace_abort(store);
    return r;
}

int cor_reflector_store_resync(struct cor_reflector_store *store, struct cor_status *reterr)
{
    return store->ops->resync ? store->ops->resync(store, reterr) : 0;
}
