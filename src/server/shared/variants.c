#include "server/shared/variants.h"

#include <assert.h>

#include "base/limits.h"
#include "schema/kinds/custom_row.h"

static void variant_deinit(struct cor_variant *variant)
{
    cor_object_unref(variant->source);
    cor_object_unref(variant->made);
    cor_row_unref(variant->type);
    *variant = (struct cor_variant){0};
}

void cor_variants_deinit(struct cor_variants *variants)
{
    for (size_t i = 0; i < COR_VARIANTS_MAX; i++)
        variant_deinit(&variants->v[i]);
}

void cor_variants_drop_retired(struct cor_variants *variants)
{
    for (size_t i = 0; i < COR_VARIANTS_MAX; i++) {
        if (variants->v[i].type && cor_row_is_retired(variants->v[i].type))
            variant_deinit(&variants->v[i]);
    }
}

int cor_variants_get(struct cor_variants *variants, const struct cor_conversion *conversion,
                     const struct cor_resource_row *type, struct cor_object *source,
                     struct cor_object **ret_object)
{
    struct cor_variant *slot;
    struct cor_object *made;
    int r;

    assert(conversion && type && source);
    for (size_t i = 0; i < COR_VARIANTS_MAX; i++) {
        slot = &variants->v[i];
        if (slot->source == source && slot->type == type && slot->conversion == conversion) {
            *ret_object = cor_object_ref(slot->made);
            return 0;
        }
    }
    r = cor_row_convert(type, conversion, source, &made);
    if (r < 0)
        return r;
    if ((size_t)source->len + made->len <= COR_VARIANT_BYTES_MAX && !cor_row_is_retired(type)) {
        slot = &variants->v[variants->next];
        variants->next = (variants->next + 1) % COR_VARIANTS_MAX;
        variant_deinit(slot);
        *slot = (struct cor_variant){cor_object_ref(source), cor_object_ref(made),
                                     cor_row_ref(type), conversion};
    }
    *ret_object = made;
    return 0;
}
