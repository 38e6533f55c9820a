#include "base/err.h"
#include "meta/names/key.h"
#include "test.h"

static void check(const struct cor_buf *b, const char *want)
{
    assert_string_equal(cor_buf_z(b), want);
}

TEST(key, the_path_prefix_begins_and_ends_with_a_slash)
{
    static const char *const rows[][2] = {
        {"", "/"},
        {"/", "/"},
        {"registry", "/registry/"},
        {"/registry", "/registry/"},
        {"/registry/", "/registry/"},
        {"//a//b", "/a/b/"},
        {"a/./b", "/a/b/"},
        {"a/../b", "/b/"},
        {"../a", "/a/"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_buf b;

        cor_buf_init(&b, 100);
        assert_int_equal(cor_key_path_prefix(cor_strz(rows[i][0]), &b), 0);
        check(&b, rows[i][1]);
        cor_buf_deinit(&b);
    }
}

TEST(key, the_resource_prefix_has_upstreams_exceptions)
{
    static const struct {
        struct cor_gr gr;
        bool custom;
        const char *want;
    } rows[] = {
        {{COR_STR(""), COR_STR("pods")}, false, "/pods"},
        {{COR_STR("apps"), COR_STR("deployments")}, false, "/deployments"},
        {{COR_STR(""), COR_STR("replicationcontrollers")}, false, "/controllers"},
        {{COR_STR(""), COR_STR("endpoints")}, false, "/services/endpoints"},
        {{COR_STR(""), COR_STR("services")}, false, "/services/specs"},
        {{COR_STR(""), COR_STR("nodes")}, false, "/minions"},
        {{COR_STR("networking.k8s.io"), COR_STR("ingresses")}, false, "/ingress"},
        {{COR_STR("events.k8s.io"), COR_STR("events")}, false, "/events"},
        {{COR_STR("apiextensions.k8s.io"), COR_STR("customresourcedefinitions")},
         false,
         "/apiextensions.k8s.io/customresourcedefinitions"},
        {{COR_STR("apiregistration.k8s.io"), COR_STR("apiservices")},
         false,
         "/apiregistration.k8s.io/apiservices"},
        {{COR_STR("example.com"), COR_STR("widgets")}, true, "/example.com/widgets"},
        {{COR_STR("example.com"), COR_STR("nodes")}, true, "/example.com/nodes"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_buf b;

        cor_buf_init(&b, 100);
        assert_int_equal(cor_key_resource_prefix(&rows[i].gr, rows[i].custom, &b), 0);
        check(&b, rows[i].want);
        cor_buf_deinit(&b);
    }
}

TEST(key, an_objects_key_has_its_namespace_and_name)
{
    struct cor_buf b;

    cor_buf_init(&b, 100);
    assert_int_equal(
        cor_key_of_object(COR_STR("/pods"), true, COR_STR("default"), COR_STR("web"), &b, NULL), 0);
    check(&b, "/pods/default/web");
    cor_buf_reset(&b);
    assert_int_equal(
        cor_key_of_object(COR_STR("/minions"), false, COR_STR(""), COR_STR("n1"), &b, NULL), 0);
    check(&b, "/minions/n1");
    cor_buf_reset(&b);
    assert_int_equal(cor_key_of_namespace(COR_STR("/pods"), COR_STR("default"), &b), 0);
    check(&b, "/pods/default");
    cor_buf_reset(&b);
    assert_int_equal(cor_key_of_namespace(COR_STR("/pods"), COR_STR(""), &b), 0);
    check(&b, "/pods");
    cor_buf_deinit(&b);
}

TEST(key, a_bad_name_is_refused_with_upstreams_400)
{
    static const struct {
        const char *ns, *name, *want;
    } rows[] = {
        {"", "web", "Namespace parameter required."},
        {"", "", "Namespace parameter required."},
        {"default", "", "Name parameter required."},
        {"default", ".", "Name parameter invalid: \".\": may not be '.'"},
        {"default", "..", "Name parameter invalid: \"..\": may not be '..'"},
        {"default", "a/b", "Name parameter invalid: \"a/b\": may not contain '/'"},
        {"default", "a%\"/b",
         "Name parameter invalid: \"a%\\\"/b\": may not contain '/';may not contain '%'"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_status st = {0};
        struct cor_buf b;

        cor_buf_init(&b, 100);
        assert_int_equal(cor_key_of_object(COR_STR("/pods"), true, cor_strz(rows[i].ns),
                                           cor_strz(rows[i].name), &b, &st),
                         -COR_EINVAL);
        assert_int_equal(st.code, 400);
        assert_string_equal(st.reason, "BadRequest");
        assert_string_equal(cor_status_message(&st), rows[i].want);
        check(&b, "");
        cor_status_deinit(&st);
        cor_buf_deinit(&b);
    }
}

TEST(key, a_physical_key_drops_one_leading_slash)
{
    static const struct {
        const char *key;
        bool recursive;
        const char *want;
    } rows[] = {
        {"/pods/default/web", false, "/registry/pods/default/web"},
        {"pods/default/web", false, "/registry/pods/default/web"},
        {"/pods", true, "/registry/pods/"},
        {"/pods/", true, "/registry/pods/"},
        {"/pods/", false, "/registry/pods/"},
        {"//pods", false, "/registry//pods"},
        {"/...a/..b/c..", false, "/registry/...a/..b/c.."},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_buf b;

        cor_buf_init(&b, 100);
        assert_int_equal(cor_key_prepare(COR_STR("/registry/"), cor_strz(rows[i].key),
                                         rows[i].recursive, &b, NULL),
                         0);
        check(&b, rows[i].want);
        cor_buf_deinit(&b);
    }
}

TEST(key, a_key_with_dot_segments_or_without_any_is_refused)
{
    static const char *const rows[][2] = {
        {"", "empty key: \"\""},
        {"/", "empty key: \"/\""},
        {".", "invalid key: \".\""},
        {"..", "invalid key: \"..\""},
        {"./a", "invalid key: \"./a\""},
        {"../a", "invalid key: \"../a\""},
        {"/a/.", "invalid key: \"/a/.\""},
        {"/a/..", "invalid key: \"/a/..\""},
        {"/a/./b", "invalid key: \"/a/./b\""},
        {"/a/../b", "invalid key: \"/a/../b\""},
        {"/./", "invalid key: \"/./\""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_status st = {0};
        struct cor_buf b;

        cor_buf_init(&b, 100);
        assert_int_equal(
            cor_key_prepare(COR_STR("/registry/"), cor_strz(rows[i][0]), true, &b, &st),
            -COR_EINVAL);
        assert_string_equal(cor_status_message(&st), rows[i][1]);
        check(&b, "");
        cor_status_deinit(&st);
        cor_buf_deinit(&b);
    }
}

TEST(key, a_range_ends_at_the_successor_of_its_prefix)
{
    struct cor_buf b;

    cor_buf_init(&b, 100);
    assert_int_equal(cor_key_range_end(COR_STR("/registry/pods/"), &b), 0);
    check(&b, "/registry/pods0");
    cor_buf_reset(&b);
    assert_int_equal(cor_key_range_end(COR_STR("a\xff\xff"), &b), 0);
    check(&b, "b");
    cor_buf_reset(&b);
    assert_int_equal(cor_key_range_end(COR_STR("\xff"), &b), -COR_EINVAL);
    assert_int_equal(cor_key_range_end(COR_STR(""), &b), -COR_EINVAL);
    cor_buf_deinit(&b);
}

TEST(key, clean_paths)
{
    static const char *const clean[] = {"/", "/a", "/a/b", "/..a", "/a."};
    static const char *const unclean[] = {"//",  "/a/",  "/a//b",   "/.",
                                          "/..", "/./a", "/a/../b", "/a/.."};

    for (size_t i = 0; i < COR_ARRAY_LEN(clean); i++)
        assert_true(cor_key_is_clean(cor_strz(clean[i])));
    for (size_t i = 0; i < COR_ARRAY_LEN(unclean); i++)
        assert_false(cor_key_is_clean(cor_strz(unclean[i])));
}

static void check_key(int r, struct cor_buf *b, const char *whole)
{
    if (r < 0) {
        assert_int_equal(r, -COR_ENOMEM);
        assert_true(test_alloc_failed());
    }
    assert_str(cor_buf_str(b), r == 0 ? whole : "");
    cor_buf_deinit(b);
}

TEST(key, out_of_memory_leaves_the_buffer_as_it_was)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0};
        struct cor_gr pods = {COR_STR(""), COR_STR("pods")};
        struct cor_buf b;
        int r;

        cor_buf_init(&b, 1000);
        r = cor_key_path_prefix(COR_STR("registry"), &b);
        check_key(r, &b, "/registry/");
        r = cor_key_resource_prefix(&pods, false, &b);
        check_key(r, &b, "/pods");
        r = cor_key_of_object(COR_STR("/pods"), true, COR_STR("a"), COR_STR("b"), &b, &st);
        assert_int_equal(st.err, r);
        check_key(r, &b, "/pods/a/b");
        cor_status_deinit(&st);
        r = cor_key_prepare(COR_STR("/"), COR_STR("/pods"), true, &b, &st);
        assert_int_equal(st.err, r);
        check_key(r, &b, "/pods/");
        cor_status_deinit(&st);
        r = cor_key_prepare(COR_STR("/"), COR_STR("/.."), true, &b, &st);
        assert_int_equal(r, -COR_EINVAL);
        r = cor_key_of_object(COR_STR("/pods"), true, COR_STR("a"), COR_STR("%"), &b, &st);
        assert_int_equal(r, -COR_EINVAL);
        assert_int_equal(st.code, 400);
        cor_buf_deinit(&b);
        cor_status_deinit(&st);
    }
}
