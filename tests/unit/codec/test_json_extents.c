#include "codec/json_extents.h"

#include "base/buf.h"
#include "base/err.h"
#include "test.h"

/* Every value is what the scanner alone finds. */
static void compare(const struct cor_json_extents *x, struct cor_str value)
{
    bool is_object = cor_json_type(value) == COR_JSON_OBJECT;
    struct cor_json_iter a = cor_json_iter(value), b = cor_json_iter(value);
    struct cor_str key, other;

    while (is_object ? cor_json_iter_member(&a, &key) : cor_json_iter_elem(&a)) {
        struct cor_str found = cor_json_extents_value(x, &a), expected;

        assert_true(is_object ? cor_json_iter_member(&b, &other) : cor_json_iter_elem(&b));
        expected = cor_json_iter_value(&b);
        assert_ptr_equal(found.p, expected.p);
        assert_int_equal(found.n, expected.n);
        compare(x, found);
    }
    assert_false(is_object ? cor_json_iter_member(&b, &other) : cor_json_iter_elem(&b));
}

static void add_random(struct cor_buf *out, unsigned depth)
{
    unsigned n = (unsigned)(test_random() % 6);
    bool is_object = test_random() % 2;

    assert_int_equal(cor_buf_addc(out, is_object ? '{' : '['), 0);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(cor_buf_addz(out, i ? "," : ""), 0);
        if (is_object)
            assert_int_equal(cor_buf_addf(out, "\"k%u\":", i), 0);
        if (depth > 0 && test_random() % 2)
            add_random(out, depth - 1);
        else
            assert_int_equal(
                cor_buf_addz(out, test_random() % 2 ? "\"a long text, }]\\\"\"" : "12"), 0);
    }
    assert_int_equal(cor_buf_addc(out, is_object ? '}' : ']'), 0);
}

TEST(extents, end_where_the_scanner_says)
{
    for (unsigned i = 0; i < 500; i++) {
        struct cor_json_extents x;
        struct cor_buf text;

        cor_buf_init(&text, 1 << 20);
        add_random(&text, 8);
        assert_int_equal(cor_json_extents_init(&x, cor_buf_str(&text)), 0);
        compare(&x, cor_buf_str(&text));
        cor_json_extents_deinit(&x);
        cor_buf_deinit(&text);
    }
}

TEST(extents, hold_nothing_when_memory_runs_out)
{
    struct cor_buf text;

    cor_buf_init(&text, 1 << 20);
    assert_int_equal(cor_buf_addz(&text, "["), 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(cor_buf_addf(&text, "%s[\"%064u\"]", i ? "," : "", i), 0);
    assert_int_equal(cor_buf_addz(&text, "]"), 0);
    FOR_EACH_FAILED_ALLOC(fail) {
        struct cor_json_extents x;
        int r = cor_json_extents_init(&x, cor_buf_str(&text));

        assert_true(r == 0 || r == -COR_ENOMEM);
        if (r == 0)
            compare(&x, cor_buf_str(&text));
        else
            assert_null(x.v);
        cor_json_extents_deinit(&x);
    }
    cor_buf_deinit(&text);
}
