#include "base/mem.h"
#include "storage/engine/kv.h"
#include "test.h"

TEST(kv, holds_key_and_value_with_a_nul_between)
{
    struct cor_kv *kv = cor_kv_new(COR_STR("/registry/a"), cor_str("x\0y", 3), 4, 9, 7);

    assert_str(cor_kv_key(kv), "/registry/a");
    assert_int_equal(cor_kv_key(kv).p[11], '\0');
    assert_int_equal(cor_kv_value(kv).n, 3);
    assert_memory_equal(cor_kv_value(kv).p, "x\0y", 3);
    assert_int_equal(kv->create_rev, 4);
    assert_int_equal(kv->mod_rev, 9);
    assert_int_equal(kv->lease, 7);
    assert_null(cor_kv_unref(kv));
}

TEST(kv, lives_until_its_last_reference_goes)
{
    struct cor_kv *kv = cor_kv_new(COR_STR("k"), cor_str(NULL, 0), 1, 1, 0);

    assert_ptr_equal(cor_kv_ref(kv), kv);
    cor_kv_unref(kv);
    assert_str(cor_kv_key(kv), "k");
    assert_int_equal(cor_kv_value(kv).n, 0);
    cor_kv_unref(kv);
    assert_null(cor_kv_unref(NULL));
}

TEST(kv, is_null_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_kv *kv = cor_kv_new(COR_STR("k"), COR_STR("v"), 1, 1, 0);

        assert_int_equal(kv == NULL, test_alloc_failed());
        cor_kv_unref(kv);
    }
}
