#include "cache/store/lister.h"

#include "base/buf.h"
#include "base/err.h"
#include "cache/store/object_key.h"

int cor_lister_each(const struct cor_lister *lister, struct cor_str ns,
                    const struct cor_label_selector *selector,
                    int (*fn)(void *arg, struct cor_object *object), void *arg)
{
    COR_CLEANUP(cor_object_iter_deinit) struct cor_object_iter it = {0};
    struct cor_object *object;
    int r;

    if (selector && selector->nothing)
        return 0;
    r = ns.n > 0 ? cor_indexer_list_namespace(lister->indexer, ns, &it)
                 : cor_indexer_list(lister->indexer, &it);
    if (r < 0)
        return r;
    it.mask = selector ? selector->mask : 0;
    while (r == 0 && cor_object_iter_next(&it, &object, NULL)) {
        struct cor_str labels = cor_object_labels(object);

        if (!selector || selector->n == 0 || cor_label_selector_matches(selector, labels))
            r = fn(arg, object);
    }
    return r;
}

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
