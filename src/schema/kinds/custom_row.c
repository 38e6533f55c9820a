#include "schema/kinds/custom_row.h"

#include <assert.h>

#include "base/err.h"
#include "schema/kinds/custom_schema.h"

#define OBJECT_MAX (8u << 20)

/* Drops from `*object` what the schema does not know. Defaults are not filled in: an
 * object has those of the version that is stored. 0, -COR_ENOMEM, -COR_ETOOBIG. */
static int custom_prune(const struct cor_structural *schema, struct cor_object **object)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf json = {.max = OBJECT_MAX}, pruned = {.max = OBJECT_MAX};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *stored = NULL;
    struct cor_object *made;
    struct cor_str before, after;
    int r;

    cor_object_stored_spans(*object, &before, &after);
    r = cor_buf_adds(&json, before);
    if (r == 0)
        r = cor_buf_adds(&json, after);
    if (r == 0)
        r = cor_structural_rewrite(schema, cor_buf_str(&json),
                                   COR_STRUCTURAL_PRUNE | COR_STRUCTURAL_NULLS, &pruned, NULL);
    if (r <= 0)
        return r;
    r = cor_object_from_sorted(cor_buf_str(&pruned), &stored);
    if (r == 0 && (*object)->rev)
        r = cor_object_at(stored, (*object)->rev, &made);
    else
        made = COR_STEAL(stored);
    if (r < 0)
        return r;
    cor_object_unref(*object);
    *object = made;
    return 0;
}

int cor_row_convert(const struct cor_resource_row *to, const struct cor_conversion *conversion,
                    const struct cor_object *object, struct cor_object **ret_object)
{
    const struct cor_structural *schema = NULL;
    struct cor_object *made;
    int r = cor_convert_object(conversion->from_stored, to->kind, to->api_version, object, &made);

    assert(to && conversion);
    if (r < 0)
        return r;
    if (to->custom)
        r = cor_custom_schema_peek(to->custom->schema, &schema);
    if (r == 0 && schema)
        r = custom_prune(schema, &made);
    if (r < 0)
        cor_object_unref(made);
    else
        *ret_object = made;
    return r;
}
