/* Normalising comes first, because the default walk expects what Go would have after decoding: an
 * empty string of a field by value counts as unset, and structs by value are there. A kind without
 * defaults has no second step. */
#include "schema/walk/rewrite.h"

#include "schema/walk/default.h"
#include "schema/walk/normalize.h"

/* Appends what a second step makes of the first step's result `first`, or that result as it is; of
 * `json` when the first step changed nothing. */
static int then(int (*step)(const struct cor_type *, struct cor_str, struct cor_buf *),
                const struct cor_type *type, struct cor_str json, int changed,
                const struct cor_buf *first, struct cor_buf *out)
{
    int r = step(type, changed ? cor_buf_str(first) : json, out);

    if (r != 0 || !changed)
        return r;
    r = cor_buf_adds(out, cor_buf_str(first));
    return r < 0 ? r : 1;
}

int cor_rewrite(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal = {0};
    int changed;

    if (!cor_type_is(type, COR_TYPE_DEFAULTS))
        return cor_normalize(type, json, out);
    cor_buf_init(&normal, out->max);
    changed = cor_normalize(type, json, &normal);
    return changed < 0 ? changed : then(cor_default, type, json, changed, &normal, out);
}

int cor_rewrite_stored(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf early = {0};
    int changed;

    if (!cor_type_is(type, COR_TYPE_LATE))
        return cor_rewrite(type, json, out);
    cor_buf_init(&early, out->max);
    changed = cor_rewrite(type, json, &early);
    return changed < 0 ? changed : then(cor_default_late, type, json, changed, &early, out);
}
