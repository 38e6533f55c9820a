#include "cache/reflector/indexer_store.h"

#include "base/buf.h"
#include "base/err.h"
#include "coracle/object_key.h"
#include "meta/status/status.h"

static int indexer_status(int r, struct cor_status *reterr)
{
    return r < 0 ? cor_status_set(reterr, r, "an object was not cached: %s", cor_err_text(r)) : 0;
}

static int indexer_on_put(void *arg, struct cor_object *object, struct cor_status *reterr)
{
    return indexer_status(cor_indexer_put(arg, object, NULL), reterr);
}

static int indexer_on_remove(void *arg, struct cor_str key, struct cor_object *object,
                             struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf own;
    int r = 0;

    cor_buf_init(&own, COR_OBJECT_KEY_MAX);
    if (object) {
        r = cor_indexer_key(arg, object, &own);
        key = cor_buf_str(&own);
    }
    if (r == 0)
        r = cor_indexer_remove(arg, key, NULL);
    return indexer_status(r, reterr);
}

static int indexer_on_replace(void *arg, struct cor_object *const *objects, size_t n,
                              struct cor_str version, struct cor_status *reterr)
{
    return indexer_status(cor_indexer_replace(arg, objects, n), reterr);
}

int cor_indexer_store_new(struct cor_indexer *indexer, struct cor_reflector_store **ret_store)
{
    const struct cor_reflector_store_fns fns = {
        COR_REFLECTOR_STORE_FNS,     .add = indexer_on_put,         .update = indexer_on_put,
        .remove = indexer_on_remove, .replace = indexer_on_replace, .arg = indexer,
    };

    return cor_reflector_store_new(&fns, ret_store);
}
