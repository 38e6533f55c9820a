#include "meta/names/patch_type.h"

#include <assert.h>

#include "base/cleanup.h"

static const struct cor_str media_types[] = {
    [COR_PATCH_JSON] = COR_STR_INIT("application/json-patch+json"),
    [COR_PATCH_MERGE] = COR_STR_INIT("application/merge-patch+json"),
    [COR_PATCH_STRATEGIC] = COR_STR_INIT("application/strategic-merge-patch+json"),
    [COR_PATCH_APPLY] = COR_STR_INIT("application/apply-patch+yaml"),
};
static_assert(COR_ARRAY_LEN(media_types) == COR_PATCH_TYPES, "each patch type has its media type");

struct cor_str cor_patch_media_type(enum cor_patch_type type)
{
    assert((unsigned)type < COR_PATCH_TYPES);
    return media_types[type];
}

bool cor_patch_type_of(struct cor_str media_type, enum cor_patch_type *ret_type)
{
    for (unsigned i = 0; i < COR_PATCH_TYPES; i++) {
        if (cor_str_eq(media_type, media_types[i])) {
            *ret_type = (enum cor_patch_type)i;
            return true;
        }
    }
    return false;
}
