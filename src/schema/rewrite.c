/* Normalising comes first, because the default walk expects what Go would have after decoding: an
 * empty string of a field by value counts as unset, and structs by value are there. A kind without
 * defaults has no second step. */
#include "schema/rewrite.h"

#include "schema/default.h"
#include "schema/normalize.h"

int cor_rewrite(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal = {0};
    int normalized, r;

    if (!cor_type_is(type, COR_TYPE_DEFAULTS))
        return cor_normalize(type, json, out);
    cor_buf_init(&normal, out->max);
    normalized = cor_normalize(type, json, &normal);
    if (normalized < 0)
        return normalized;
    r = cor_default(type, normalized ? cor_buf_str(&normal) : json, out);
    if (r != 0 || !normalized)
        return r;
    r = cor_buf_adds(out, cor_buf_str(&normal));
    return r < 0 ? r : 1;
}
