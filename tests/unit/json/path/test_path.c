#include "base/buf.h"
#include "base/err.h"
#include "test.h"
#include "json/path/path.h"

static const struct cor_str pod = COR_STR(
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"annotations\":{\"\":\"empty\",\"a\\nb\":\"n\"},"
    "\"labels\":{\"app.kubernetes.io/name\":\"web\",\"it's\":\"q\",\"x\":\"1\"},\"name\":\"web-0\"},"
    "\"spec\":{\"containers\":[{\"image\":\"a:1\",\"name\":\"a\"},{\"image\":\"b:2\",\"name\":\"b\"}],"
    "\"none\":null,\"priority\":5,\"ratio\":1.50},"
    "\"status\":{\"conditions\":[{\"n\":1,\"ok\":true,\"status\":\"False\",\"type\":\"Initialized\"},"
    "{\"n\":2.0,\"ok\":false,\"status\":\"True\",\"type\":\"Ready\"},{\"n\":3,\"only\":[{\"x\":9}]}],"
    "\"matrix\":[[1,2],[3]]}}");

static bool add_match(struct cor_str value, void *arg)
{
    struct cor_buf *b = arg;

    assert_int_equal(cor_buf_addf(b, "%s%.*s", b->n ? " " : "", COR_STR_ARG(value)), 0);
    return true;
}

static void expect(const char *text, const char *want)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *path = NULL;
    struct cor_json_error err = {0};
    struct cor_str first;
    struct cor_buf all;
    int r = cor_json_path_new(cor_strz(text), &path, &err);

    if (r < 0)
        fail_msg("%s: %s at %zu", text, err.message, err.offset);
    for (int order = COR_JSON_ANY_ORDER; order <= COR_JSON_SORTED; order++) {
        cor_buf_init(&all, 10000);
        cor_json_path_each(path, pod, (enum cor_json_order)order, add_match, &all);
        if (strcmp(cor_buf_z(&all), want) != 0)
            fail_msg("%s: %s instead of %s", text, cor_buf_z(&all), want);
        r = cor_json_path_first(path, pod, (enum cor_json_order)order, &first);
        assert_int_equal(r, want[0] ? 0 : -COR_ENOTFOUND);
        if (r == 0)
            assert_true(cor_str_starts(cor_buf_str(&all), first));
        cor_buf_deinit(&all);
    }
}

TEST(path, reads_fields)
{
    expect("metadata.name", "\"web-0\"");
    expect(".metadata.name", "\"web-0\"");
    expect("$.metadata.name", "\"web-0\"");
    expect("{.metadata.name}", "\"web-0\"");
    expect("{$.metadata.name}", "\"web-0\"");
    expect("['metadata'].name", "\"web-0\"");
    expect("kind", "\"Pod\"");
    expect(".spec.priority", "5");
    expect(".spec.ratio", "1.50");
    expect(".spec.none", "null");
    expect(".spec.none.more", "");
    expect(".spec.nodeName", "");
    expect(".metadata.name.first", "");
    expect("status.matrix.x", "");
}

TEST(path, reads_keys_that_need_quotes_or_backslashes)
{
    expect("metadata.labels['app.kubernetes.io/name']", "\"web\"");
    expect(".metadata.labels[\"app.kubernetes.io/name\"]", "\"web\"");
    expect(".metadata.labels.app\\.kubernetes\\.io/name", "\"web\"");
    expect(".metadata.labels['app\\.kubernetes\\.io/name']", "\"web\"");
    expect(".metadata.labels['it\\'s']", "\"q\"");
    expect(".metadata.labels.it's", "\"q\"");
    expect(".metadata.annotations['']", "\"empty\"");
    expect(".metadata.annotations['a\nb']", "\"n\"");
}

TEST(path, reads_elements)
{
    expect(".spec.containers[0].image", "\"a:1\"");
    expect("spec.containers[1].image", "\"b:2\"");
    expect("spec.containers.[1].image", "\"b:2\"");
    expect("spec.containers[2].image", "");
    expect("spec.containers[-1].name", "\"b\"");
    expect("spec.containers[-2].name", "\"a\"");
    expect("spec.containers[-3].name", "");
    expect("status.matrix[0][1]", "2");
    expect("status.matrix[1][-1]", "3");
    expect("metadata[0]", "");
}

TEST(path, fans_out_over_all_children)
{
    expect(".spec.containers[*].name", "\"a\" \"b\"");
    expect(".spec.containers.*.name", "\"a\" \"b\"");
    expect(".metadata.labels.*", "\"web\" \"q\" \"1\"");
    expect(".metadata.labels[*]", "\"web\" \"q\" \"1\"");
    expect("status.matrix[*][*]", "1 2 3");
    expect("status.matrix[*][1]", "2");
    expect("metadata.name[*]", "");
}

TEST(path, filters_elements)
{
    expect(".status.conditions[?(@.type==\"Ready\")].status", "\"True\"");
    expect(".status.conditions[?(@.type=='Ready')].status", "\"True\"");
    expect("{.status.conditions[?( @.type == 'Ready' )].status}", "\"True\"");
    expect(".status.conditions[?(@.type!='Ready')].type", "\"Initialized\"");
    expect(".status.conditions[?(@['type']=='Ready')].n", "2.0");
    expect(".status.conditions[?(@.n==2)].type", "\"Ready\"");
    expect(".status.conditions[?(@.n==1.0)].type", "\"Initialized\"");
    expect(".status.conditions[?(@.ok==true)].n", "1");
    expect(".status.conditions[?(@.ok==false)].n", "2.0");
    expect(".status.conditions[?(@.only)].n", "3");
    expect(".status.conditions[?(@.only[0].x==9)].n", "3");
    expect(".status.conditions[?(@.only[*].x==9)].n", "3");
    expect(".status.conditions[?(@.type=='a)]')].n", "");
    expect(".status.matrix[0][?(@==2)]", "2");
    expect(".metadata.labels[?(@=='web')]", "");
}

TEST(path, a_dot_is_the_whole_value)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *path = NULL;
    struct cor_str v;

    assert_int_equal(cor_json_path_new(COR_STR("."), &path, NULL), 0);
    assert_int_equal(cor_json_path_first(path, COR_STR(" [1] "), COR_JSON_ANY_ORDER, &v), 0);
    assert_str(v, "[1]");
    expect("$[0]", "");
}

TEST(path, knows_its_first_member)
{
    COR_CLEANUP(cor_json_path_freep)
    struct cor_json_path *member = NULL, *all = NULL, *whole = NULL;

    assert_int_equal(cor_json_path_new(COR_STR("metadata.name"), &member, NULL), 0);
    assert_int_equal(cor_json_path_new(COR_STR("[*].metadata"), &all, NULL), 0);
    assert_int_equal(cor_json_path_new(COR_STR("."), &whole, NULL), 0);
    assert_true(cor_json_path_begins(member, COR_STR("metadata")));
    assert_false(cor_json_path_begins(member, COR_STR("name")));
    assert_false(cor_json_path_begins(all, COR_STR("metadata")));
    assert_false(cor_json_path_begins(whole, COR_STR("metadata")));
}

TEST(path, takes_the_last_of_equal_keys_in_any_order)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *path = NULL;
    struct cor_str v;

    assert_int_equal(cor_json_path_new(COR_STR("b.c"), &path, NULL), 0);
    assert_int_equal(cor_json_path_first(path, COR_STR("{\"b\":{\"c\":1},\"a\":0,\"b\":{\"c\":2}}"),
                                         COR_JSON_ANY_ORDER, &v),
                     0);
    assert_str(v, "2");
}

TEST(path, says_where_it_is_wrong)
{
    static const struct {
        const char *text;
        size_t offset;
        const char *message;
    } rows[] = {
        {"", 0, "empty path"},
        {"{}", 1, "empty path"},
        {"{{.a}}", 1, "expected a field name"},
        {"a.", 2, "expected a field name"},
        {".a..b", 3, "recursive descent is not supported"},
        {"..b", 1, "recursive descent is not supported"},
        {".a[", 3, "expected an index, a quoted key or *"},
        {".a[x]", 3, "expected an index, a quoted key or *"},
        {".a[--1]", 3, "expected an index, a quoted key or *"},
        {".a[99999999999999999999]", 3, "expected an index, a quoted key or *"},
        {".a[0", 4, "expected ]"},
        {".a['b", 5, "unterminated quoted string"},
        {".a['b'", 6, "expected ]"},
        {".a[0:2]", 4, "slices are not supported"},
        {".a[:2]", 3, "slices are not supported"},
        {".a[0,1]", 4, "unions are not supported"},
        {".a['b','c']", 6, "unions are not supported"},
        {".a b", 2, "unexpected character"},
        {".a]", 2, "unexpected character"},
        {"$a", 1, "unexpected character"},
        {".a\\", 3, "nothing after the backslash"},
        {".a[?(x==1)]", 5, "expected @ in a filter"},
        {".a[?(@.b<1)]", 8, "expected ==, != or ) in a filter"},
        {".a[?(@.b==)]", 10, "expected a literal"},
        {".a[?(@.b==1-2)]", 13, "not a number"},
        {".a[?(@.b==\"c)]", 14, "unterminated quoted string"},
        {".a[?(@.b==1]", 11, "expected )] after a filter"},
        {".a[?(@.b[?(@.c)])]", 11, "a filter inside a filter is not supported"},
        {"{.a[}", 4, "expected an index, a quoted key or *"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_json_path *path;
        struct cor_json_error err;

        if (cor_json_path_new(cor_strz(rows[i].text), &path, &err) != -COR_EINVAL)
            fail_msg("accepted: %s", rows[i].text);
        assert_string_equal(err.message, rows[i].message);
        assert_int_equal(err.offset, rows[i].offset);
        assert_int_equal(err.column, rows[i].offset + 1);
    }
}

TEST(path, has_a_maximum)
{
    struct cor_json_path *path = NULL;
    struct cor_json_error err;
    struct cor_buf text;

    cor_buf_init(&text, 10000);
    for (unsigned i = 0; i < COR_JSON_PATH_STEPS_MAX; i++)
        assert_int_equal(cor_buf_addz(&text, "[0]"), 0);
    assert_int_equal(cor_json_path_new(cor_buf_str(&text), &path, &err), 0);
    path = cor_json_path_free(path);
    assert_int_equal(cor_buf_addz(&text, ".x"), 0);
    assert_int_equal(cor_json_path_new(cor_buf_str(&text), &path, &err), -COR_ETOOBIG);
    assert_string_equal(err.message, "too many steps");
    cor_buf_reset(&text);
    for (unsigned i = 0; i <= COR_JSON_PATH_BYTES_MAX; i++)
        assert_int_equal(cor_buf_addc(&text, 'x'), 0);
    assert_int_equal(cor_json_path_new(cor_buf_str(&text), &path, &err), -COR_ETOOBIG);
    assert_string_equal(err.message, "path is too long");
    cor_buf_deinit(&text);
}

TEST(path, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_json_path *path = NULL;
        int r = cor_json_path_new(COR_STR(".a[?(@.b=='c')].d"), &path, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_json_path_free(path);
    }
}
