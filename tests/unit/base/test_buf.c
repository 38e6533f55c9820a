#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "test.h"

TEST(buf, starts_empty_and_allocates_nothing)
{
    struct cor_buf b;
    size_t before = test_live_allocs();

    cor_buf_init(&b, 100);
    assert_string_equal(cor_buf_z(&b), "");
    assert_int_equal(test_live_allocs(), before);
    cor_buf_deinit(&b);
}

TEST(buf, refuses_a_byte_past_its_maximum_and_keeps_its_content)
{
    struct cor_buf b;

    cor_buf_init(&b, 4);
    assert_int_equal(cor_buf_addz(&b, "abcd"), 0);
    assert_int_equal(cor_buf_addc(&b, 'e'), -COR_ETOOBIG);
    assert_int_equal(cor_buf_addf(&b, "%d", 7), -COR_ETOOBIG);
    assert_string_equal(cor_buf_z(&b), "abcd");
    cor_buf_deinit(&b);
}

/* That nothing is left behind is shown by tests/unit/kit/config/test_secrets.c, which looks at
 * blocks.
 */
TEST(buf, a_secret_one_grows_and_can_be_used_again)
{
    struct cor_buf b;
    char *stolen;

    cor_buf_init_secret(&b, 1000);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++)
            assert_int_equal(cor_buf_addf(&b, "%03d", i), 0);
        assert_int_equal(strncmp(b.p, "000001002", 9), 0);
        assert_string_equal(b.p + 291, "097098099");
        cor_buf_deinit(&b);
        assert_null(b.p);
        assert_true(b.is_secret);
    }
    assert_int_equal(cor_buf_addz(&b, "secret"), 0);
    stolen = cor_buf_steal(&b, NULL);
    assert_string_equal(stolen, "secret");
    assert_null(cor_free_secret(stolen));
    assert_null(cor_free_secret(NULL));
    cor_buf_deinit(&b);
}

TEST(buf, a_secret_one_keeps_its_content_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf b;
        size_t added = 0;

        cor_buf_init_secret(&b, 1000);
        for (int i = 0; i < 300; i++)
            added += cor_buf_addz(&b, "xyz") == 0 ? 3 : 0;
        assert_int_equal(strlen(cor_buf_z(&b)), added);
        cor_buf_deinit(&b);
    }
}

TEST(buf, keeps_its_content_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf b;
        size_t added = 0;

        cor_buf_init(&b, 1000);
        for (int i = 0; i < 300; i++)
            added += cor_buf_addz(&b, "xyz") == 0 ? 3 : 0;
        assert_int_equal(b.n, added);
        assert_int_equal(strlen(cor_buf_z(&b)), added);
        cor_buf_deinit(&b);
    }
}

TEST(buf, prints_the_largest_number)
{
    struct cor_buf b;

    cor_buf_init(&b, 100);
    assert_int_equal(cor_buf_addu64(&b, UINT64_MAX), 0);
    assert_int_equal(cor_buf_addc(&b, ' '), 0);
    assert_int_equal(cor_buf_addu64(&b, 0), 0);
    assert_string_equal(cor_buf_z(&b), "18446744073709551615 0");
    cor_buf_deinit(&b);
}

TEST(buf, steal_leaves_an_empty_buffer_that_can_be_used_again)
{
    struct cor_buf b;
    size_t n;
    char *p;

    cor_buf_init(&b, 10);
    assert_int_equal(cor_buf_addz(&b, "one"), 0);
    p = cor_buf_steal(&b, &n);
    assert_int_equal(n, 3);
    assert_string_equal(p, "one");
    cor_free(p);
    assert_int_equal(b.n, 0);
    assert_int_equal(cor_buf_addz(&b, "two"), 0);
    assert_string_equal(cor_buf_z(&b), "two");
    cor_buf_deinit(&b);
}
