#include "cache/store/lister.h"

#include "base/buf.h"
#include "base/err.h"
#include "cache/store/object_key.h"

int cor_lister_get(const struct cor_lister *lister, struct cor_str ns, struct cor_str name,
                   struct cor_object **ret_object, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;
    int r = 0;

    cor_buf_init(&key, COR_OBJECT_KEY_MAX);
    if (ns.n > 0 && (r = cor_buf_adds(&key, ns)) == 0)
        r = cor_buf_addc(&key, '/');
    if (r == 0)
        r = cor_buf_adds(&key, name);
    if (r == 0)
        r = cor_indexer_get(lister->indexer, cor_buf_str(&key), ret_object);
    if (r == -COR_ENOTFOUND || r == -COR_ETOOBIG)
        return cor_status_not_found(reterr, &lister->resource, name);
    return r < 0 ? cor_status_set(reterr, r, "no memory for a look-up") : 0;
}
