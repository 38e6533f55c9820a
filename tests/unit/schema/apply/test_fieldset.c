/* Field sets: FieldsV1 both ways, and what sets can be combined to. */
#include "schema/apply/fieldset.h"

#include "base/err.h"
#include "base/mem.h"
#include "fieldset_equal.h"
#include "test.h"
#include "json/text/json.h"

#define BYTES_MAX (1u << 20)

static struct cor_fieldset read_set(struct cor_arena *arena, const char *json)
{
    struct cor_fieldset set = {NULL};
    int r = cor_fieldset_read(arena, cor_strz(json), &set);

    if (r < 0)
        fail_msg("%s: %d", json, r);
    return set;
}

static void check_text(struct cor_fieldset set, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};

    assert_int_equal(cor_fieldset_write(set, &out), 0);
    if (strcmp(cor_buf_z(&out), want) != 0)
        fail_msg("got  %s\nwant %s", cor_buf_z(&out), want);
}

/* clang-format off */
/* Contract apply 3.2.1 to 3.2.6 and 3.3.1 to 3.3.5. NULL: the text is refused. */
TEST(fieldset, fields_v1_is_read_and_written_as_upstream_does)
{
    static const struct { const char *in, *out; } cases[] = {
        {"{}", "{}"},
        {"{\"f:a\":{}}", "{\"f:a\":{}}"},
        {"{\"f:a\":{\".\":{}}}", "{\"f:a\":{}}"},
        {"{\"f:a\":{\".\":7,\"f:b\":{}}}", "{\"f:a\":{\".\":{},\"f:b\":{}}}"},
        {"{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{\"f:b\":{}}}"},
        {"{\"f:a\":null}", "{\"f:a\":{}}"},
        {"{\"i:10\":{},\"i:9\":{},\"v:1\":{},\"k:{\\\"a\\\":1}\":{},\"f:z\":{},\"f:a\":{}}",
         "{\"f:a\":{},\"f:z\":{},\"k:{\\\"a\\\":1}\":{},\"v:1\":{},\"i:9\":{},\"i:10\":{}}"},
        {"{\"k:{\\\"containerPort\\\":443}\":{},\"k:{\\\"containerPort\\\":80}\":{}}",
         "{\"k:{\\\"containerPort\\\":80}\":{},\"k:{\\\"containerPort\\\":443}\":{}}"},
        {"{\"k:{\\\"b\\\":\\\"x\\\", \\\"a\\\": 1}\":{\".\":{}}}", "{\"k:{\\\"a\\\":1,\\\"b\\\":\\\"x\\\"}\":{}}"},
        {"{\"v:null\":{},\"v:true\":{},\"v:false\":{},\"v:\\\"b\\\"\":{},\"v:\\\"a\\\"\":{},\"v:10\":{},\"v:9\":{},\"v:1.5\":{}}",
         "{\"v:1.5\":{},\"v:9\":{},\"v:10\":{},\"v:\\\"a\\\"\":{},\"v:\\\"b\\\"\":{},\"v:false\":{},\"v:true\":{},\"v:null\":{}}"},
        {"{\"v:1.0\":{},\"v:1\":{},\"v:1e0\":{}}", "{\"v:1\":{}}"},
        {"{\"v:\\\"a<b>&\\u2028\\\"\":{}}", "{\"v:\\\"a\\\\u003cb\\\\u003e\\\\u0026\\\\u2028\\\"\":{}}"},
        {"{\"v:\\\"a\\\\u003cb\\\"\":{}}", "{\"v:\\\"a\\\\u003cb\\\"\":{}}"},
        {"{\"v:\\\"q\\\\\\\"n\\\\n\\\\\\\\s\\\\b\\\"\":{}}", "{\"v:\\\"q\\\\\\\"n\\\\n\\\\\\\\s\\\\u0008\\\"\":{}}"},
        {"{\"f:a<b\\\"c\\u0041\\f\":{}}", "{\"f:a\\u003cb\\\"cA\\u000c\":{}}"},
        {"{\"\\u0066:a\":{},\"f\\u003ab\":{}}", "{\"f:a\":{},\"f:b\":{}}"},
        {"{\"x:a\":{\"f:b\":{}},\"f:a\":{}}", "{\"f:a\":{}}"},
        {"{\"f:b\":{},\"f:a\":{\"f:x\":{}},\"f:b\":{\"f:y\":{}},\"f:b\":{\"f:z\":{}}}",
         "{\"f:a\":{\"f:x\":{}},\"f:b\":{\".\":{},\"f:z\":{}}}"},
        {"{\"f:\":{}}", "{\"f:\":{}}"},
        {"[]", NULL}, {"1", NULL}, {"{\"f:a\":1}", NULL}, {"{\"f:a\":[]}", NULL}, {"{\"f\":{}}", NULL}, {"{\"\":{}}", NULL},
        {"{\"fa\":{}}", NULL}, {"{\"k:{\":{}}", NULL}, {"{\"k:1\":{}}", NULL}, {"{\"v:\":{}}", NULL}, {"{\"v:x\":{}}", NULL},
        {"{\"i:x\":{}}", NULL}, {"{\"i:\":{}}", NULL},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_arena arena;
        struct cor_fieldset set = {NULL};

        cor_arena_init(&arena, BYTES_MAX);
        if (cases[i].out)
            check_text(read_set(&arena, cases[i].in), cases[i].out);
        else if (cor_fieldset_read(&arena, cor_strz(cases[i].in), &set) != -COR_EINVAL)
            fail_msg("%s was not refused", cases[i].in);
        cor_arena_deinit(&arena);
    }
}

/* Contract apply 3.6.1 to 3.6.3. */
TEST(fieldset, sets_are_combined_by_exact_paths)
{
    static const struct { const char *a, *b, *all, *both, *less, *recursive; } cases[] = {
        {"{\"f:a\":{}}", "{}", "{\"f:a\":{}}", "{}", "{\"f:a\":{}}", "{\"f:a\":{}}"},
        {"{}", "{\"f:a\":{}}", "{\"f:a\":{}}", "{}", "{}", "{}"},
        {"{\"f:a\":{},\"f:b\":{}}", "{\"f:b\":{},\"f:c\":{}}", "{\"f:a\":{},\"f:b\":{},\"f:c\":{}}", "{\"f:b\":{}}", "{\"f:a\":{}}",
         "{\"f:a\":{}}"},
        {"{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{}}", "{\"f:a\":{\".\":{},\"f:b\":{}}}", "{}", "{\"f:a\":{\"f:b\":{}}}", "{}"},
        {"{\"f:a\":{}}", "{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{\".\":{},\"f:b\":{}}}", "{}", "{\"f:a\":{}}", "{\"f:a\":{}}"},
        {"{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{\"f:d\":{}}}}", "{\"f:a\":{\"f:b\":{},\"f:c\":{}}}",
         "{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{\".\":{},\"f:d\":{}}}}", "{\"f:a\":{\"f:b\":{}}}",
         "{\"f:a\":{\".\":{},\"f:c\":{\"f:d\":{}}}}", "{\"f:a\":{}}"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_arena arena;
        struct cor_fieldset a, b, both;

        cor_arena_init(&arena, BYTES_MAX);
        a = read_set(&arena, cases[i].a);
        b = read_set(&arena, cases[i].b);
        check_text(cor_fieldset_union(&arena, a, b), cases[i].all);
        both = cor_fieldset_intersection(&arena, a, b);
        check_text(both, cases[i].both);
        assert_int_equal(cor_fieldset_meets(a, b), !cor_fieldset_is_empty(both));
        check_text(cor_fieldset_difference(&arena, a, b), cases[i].less);
        check_text(cor_fieldset_recursive_difference(&arena, a, b), cases[i].recursive);
        check_text(cor_fieldset_difference(&arena, a, a), "{}");
        assert_true(fieldsets_equal(a, read_set(&arena, cases[i].a)));
        assert_false(fieldsets_equal(a, b));
        cor_arena_deinit(&arena);
    }
}
/* clang-format on */

static int add_line(void *arg, const struct cor_path *path)
{
    struct cor_buf *out = arg;

    assert_int_equal(cor_path_print(path, out), 0);
    assert_int_equal(cor_buf_addc(out, '\n'), 0);
    return 0;
}

/* Contract apply 3.5.1 and 3.6.5. */
TEST(fieldset, members_are_visited_before_what_is_below_them)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
    struct cor_arena arena;
    struct cor_fieldset set;

    cor_arena_init(&arena, BYTES_MAX);
    set = read_set(&arena,
                   "{\"f:metadata\":{\"f:labels\":{\"f:app.kubernetes.io/name\":{}}},"
                   "\"f:spec\":{\"f:box\":{\"f:w\":{}},\"f:replicas\":{},\"f:tags\":{"
                   "\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"T\\\\\\\"P\\\"}\":{\".\":{},"
                   "\"f:x\":{}},\"v:\\\"a\\\\n\\\"\":{},\"v:true\":{},\"v:null\":{},\"i:3\":{}}},"
                   "\"f:z\":{}}");
    assert_int_equal(cor_fieldset_each(set, add_line, &out), 0);
    assert_string_equal(cor_buf_z(&out), ".z\n"
                                         ".metadata.labels.app.kubernetes.io/name\n"
                                         ".spec.replicas\n"
                                         ".spec.box.w\n"
                                         ".spec.tags[port=80,protocol=\"T\\\"P\"]\n"
                                         ".spec.tags[=\"a\\n\"]\n"
                                         ".spec.tags[=true]\n"
                                         ".spec.tags[=null]\n"
                                         ".spec.tags[3]\n"
                                         ".spec.tags[port=80,protocol=\"T\\\"P\"].x\n");
    cor_arena_deinit(&arena);
}

/* Is the path a member? */
static bool has(struct cor_fieldset set, const struct cor_path_element *path, size_t n)
{
    const struct cor_field_node *node = NULL, *level = set.first;

    for (size_t i = 0; i < n; i++) {
        node = cor_field_find(level, &path[i]);
        if (!node)
            return false;
        level = node->first;
    }
    return node && node->is_member;
}

TEST(fieldset, members_are_found)
{
    struct cor_path_element a = {COR_STR("a"), COR_PATH_FIELD}, b = {COR_STR("b"), COR_PATH_FIELD};
    struct cor_path_element path[2];
    struct cor_arena arena;
    struct cor_fieldset set;

    cor_arena_init(&arena, BYTES_MAX);
    set = read_set(&arena, "{\"f:a\":{\".\":{},\"f:b\":{}},\"f:b\":{\"f:a\":{}}}");
    path[0] = a, path[1] = b;
    assert_true(has(set, path, 1));
    assert_true(has(set, path, 2));
    path[0] = b, path[1] = a;
    assert_false(has(set, path, 1));
    assert_true(has(set, path, 2));
    path[1] = b;
    assert_false(has(set, path, 2));
    assert_false(has(set, path, 0));
    cor_arena_deinit(&arena);
}

/* The items of a list come in the order of the list, which may be any. */
TEST(fieldset, ten_thousand_items_in_any_order_are_sorted)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf shuffled = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {.max = BYTES_MAX};
    const unsigned n = 10000;
    struct cor_arena arena;

    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(cor_buf_addf(&shuffled, "%s\"v:%u\":{}", i > 0 ? "," : "{", i * 7919 % n),
                         0);
        assert_int_equal(cor_buf_addf(&sorted, "%s\"v:%u\":{}", i > 0 ? "," : "{", i), 0);
    }
    assert_int_equal(cor_buf_addc(&shuffled, '}'), 0);
    assert_int_equal(cor_buf_addc(&sorted, '}'), 0);
    cor_arena_init(&arena, 64 * BYTES_MAX);
    check_text(read_set(&arena, cor_buf_z(&shuffled)), cor_buf_z(&sorted));
    cor_arena_deinit(&arena);
}

/* Each of many sets that is combined with a long one goes over all of that. */
TEST(fieldset, combining_many_sets_with_a_long_one_ends_with_the_work)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = BYTES_MAX};
    COR_CLEANUP(cor_arena_deinit) struct cor_arena arena;
    struct cor_work work = cor_work_new(false);
    struct cor_fieldset many, last;
    uint64_t once;

    cor_arena_init(&arena, SIZE_MAX);
    arena.work = &work;
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(cor_buf_addf(&text, "%c\"f:k%05u\":{}", i ? ',' : '{', i), 0);
    assert_int_equal(cor_buf_addc(&text, '}'), 0);
    many = read_set(&arena, cor_buf_z(&text));
    last = read_set(&arena, "{\"f:z\":{}}");
    once = work.steps;
    check_text(cor_fieldset_difference(&arena, last, many), "{\"f:z\":{}}");
    assert_uint_in_range(work.steps - once, 10000, 40000);
    work.slice = work.steps + COR_WORK_SLICE;
    for (unsigned i = 0; i < 100 && arena.error == 0; i++)
        (void)cor_fieldset_difference(&arena, last, many);
    assert_int_equal(arena.error, COR_WORK_YIELD);
    assert_uint_in_range(work.steps, work.slice, work.slice + 100);
    arena.error = 0;
    work.slice = UINT64_MAX;
    for (unsigned i = 0; i < 10000 && arena.error == 0; i++)
        (void)cor_fieldset_intersection(&arena, many, last);
    assert_int_equal(arena.error, -COR_ETOOBIG);
}

TEST(fieldset, failed_allocations_and_limits_are_reported)
{
    static const char json[] = "{\"f:\\u0061\":{\"k:{\\\"a\\\":\\\"x\\\\n\\\",\\\"b\\\":1.5}\":{"
                               "\".\":{},\"f:c\":{}},\"v:\\\"a\\\\n\\\"\":{}}}";
    struct cor_arena arena;
    struct cor_fieldset set = {NULL};

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        int r;

        cor_arena_init(&arena, BYTES_MAX);
        r = cor_fieldset_read(&arena, cor_strz(json), &set);
        if (r == 0)
            r = cor_fieldset_write(set, &out);
        if (r == 0)
            assert_string_equal(cor_buf_z(&out),
                                "{\"f:a\":{\"k:{\\\"a\\\":\\\"x\\\\n\\\",\\\"b\\\":1.5}\":{\".\":{}"
                                ",\"f:c\":{}},\"v:\\\"a\\\\n\\\"\":{}}}");
        else
            assert_true(r == -COR_ENOMEM && test_alloc_failed());
        cor_arena_deinit(&arena);
    }
    cor_arena_init(&arena, 64);
    assert_int_equal(cor_fieldset_read(&arena, cor_strz(json), &set), -COR_ETOOBIG);
    cor_arena_deinit(&arena);
}
