#include "cache/reflector/indexer_store.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "cache/store/object_key.h"

struct cor_indexer_store {
    struct cor_reflector_store store;
    struct cor_indexer *indexer;
    struct cor_object **listed; /* of the replace under way */
    size_t n, cap;
};

static struct cor_indexer_store *of(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct cor_indexer_store, store);
}

static int told(int r, struct cor_status *reterr)
{
    return r < 0 ? cor_status_set(reterr, r, "an object was not cached: %s", cor_err_text(r)) : 0;
}

static int on_put(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
                  struct cor_str rv, struct cor_status *reterr)
{
    return told(cor_indexer_put(of(store)->indexer, object, NULL), reterr);
}

static int on_del(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
                  struct cor_str rv, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf own;
    int r = 0;

    cor_buf_init(&own, COR_OBJECT_KEY_MAX);
    if (object) {
        r = cor_object_key(object, &own);
        key = cor_buf_str(&own);
    }
    if (r == 0)
        r = cor_indexer_remove(of(store)->indexer, key, NULL);
    return told(r, reterr);
}

static void on_bookmark(struct cor_reflector_store *store, struct cor_str rv)
{
}

static int on_replace_begin(struct cor_reflector_store *store, struct cor_status *reterr)
{
    return 0;
}

static int reserve(struct cor_indexer_store *s)
{
    size_t cap = s->cap ? s->cap * 2 : 64;
    struct cor_object **listed;

    if (s->n < s->cap)
        return 0;
    if (s->n >= COR_INDEXER_OBJECTS_MAX)
        return -COR_ETOOBIG;
    listed = cor_realloc(s->listed, cap * sizeof(listed[0]));
    if (!listed)
        return -COR_ENOMEM;
    s->listed = listed;
    s->cap = cap;
    return 0;
}

static int on_replace_add(struct cor_reflector_store *store, struct cor_str key,
                          struct cor_object *object, struct cor_status *reterr)
{
    struct cor_indexer_store *s = of(store);
    int r = reserve(s);

    if (r == 0)
        s->listed[s->n++] = cor_object_ref(object);
    return told(r, reterr);
}

static void on_replace_abort(struct cor_reflector_store *store)
{
    struct cor_indexer_store *s = of(store);

    while (s->n > 0)
        cor_object_unref(s->listed[--s->n]);
    s->listed = cor_free(s->listed);
    s->cap = 0;
}

static int on_replace_commit(struct cor_reflector_store *store, struct cor_str rv,
                             struct cor_status *reterr)
{
    struct cor_indexer_store *s = of(store);
    int r = cor_indexer_replace(s->indexer, s->listed, s->n);

    on_replace_abort(store);
    return told(r, reterr);
}

/* There is nobody to repeat it to. */
static int on_resync(struct cor_reflector_store *store, struct cor_status *reterr)
{
    return 0;
}

static const struct cor_reflector_store_ops store_ops = {
    .add = on_put,
    .update = on_put,
    .del = on_del,
    .bookmark = on_bookmark,
    .replace_begin = on_replace_begin,
    .replace_add = on_replace_add,
    .replace_commit = on_replace_commit,
    .replace_abort = on_replace_abort,
    .resync = on_resync,
};

int cor_indexer_store_new(struct cor_indexer *indexer, struct cor_indexer_store **ret_store)
{
    struct cor_indexer_store *s = cor_calloc(1, sizeof(*s));

    if (!s)
        return -COR_ENOMEM;
    s->store.ops = &store_ops;
    s->indexer = indexer;
    *ret_store = s;
    return 0;
}

struct cor_indexer_store *cor_indexer_store_free(struct cor_indexer_store *s)
{
    if (!s)
        return NULL;
    on_replace_abort(&s->store);
    return cor_free(s);
}

struct cor_reflector_store *cor_indexer_store(struct cor_indexer_store *s)
{
    return &s->store;
}
