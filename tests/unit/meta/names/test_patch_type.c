#include "base/cleanup.h"
#include "meta/names/patch_type.h"
#include "test.h"

/* The texts are those of upstream's MediaTypes of patches. */
TEST(patch_type, has_the_media_type_that_upstream_has)
{
    static const char *const want[COR_PATCH_TYPES] = {
        [COR_PATCH_JSON] = "application/json-patch+json",
        [COR_PATCH_MERGE] = "application/merge-patch+json",
        [COR_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [COR_PATCH_APPLY] = "application/apply-patch+yaml",
    };

    for (unsigned i = 0; i < COR_PATCH_TYPES; i++) {
        enum cor_patch_type type = COR_PATCH_TYPES;

        assert_true(cor_str_eqz(cor_patch_media_type((enum cor_patch_type)i), want[i]));
        assert_true(cor_patch_type_of(cor_strz(want[i]), &type));
        assert_int_equal(type, i);
    }
}

TEST(patch_type, of_another_media_type_is_none)
{
    static const char *const rows[] = {
        "",
        "application/json",
        "application/merge-patch",
        "application/merge-patch+json2",
        "application/apply-patch+cbor",
        "Application/merge-patch+json",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        enum cor_patch_type type = COR_PATCH_APPLY;

        assert_false(cor_patch_type_of(cor_strz(rows[i]), &type));
        assert_int_equal(type, COR_PATCH_APPLY);
    }
}
