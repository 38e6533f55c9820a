/* Contract client 1.3. */
#include "base/err.h"
#include "cache/store/object_key.h"
#include "test.h"

static int key_of(const char *json, struct cor_buf *out)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};

    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, &status), 0);
    cor_buf_reset(out);
    return cor_object_key(object, out);
}

/* Contract client 1.3.1. */
TEST(object_key, is_namespace_and_name_or_the_name_alone)
{
    struct cor_buf key;

    cor_buf_init(&key, COR_OBJECT_KEY_MAX);
    assert_int_equal(key_of("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\"}}", &key), 0);
    assert_str(cor_buf_str(&key), "ns/a");
    assert_int_equal(key_of("{\"metadata\":{\"name\":\"a\"}}", &key), 0);
    assert_str(cor_buf_str(&key), "a");
    assert_int_equal(key_of("{\"metadata\":{\"namespace\":\"ns\"}}", &key), -COR_EINVAL);
    assert_int_equal(key.n, 0);
    cor_buf_deinit(&key);
}

/* Contract client 1.3.4. */
TEST(object_key, splits_at_its_one_slash)
{
    static const struct {
        const char *key, *ns, *name;
    } cases[] = {
        {"ns/a", "ns", "a"}, {"a", "", "a"}, {"", "", ""}, {"/x", "", "x"}, {"ns/", "ns", ""}};
    struct cor_str ns, name;

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        assert_int_equal(cor_object_key_split(cor_strz(cases[i].key), &ns, &name), 0);
        assert_str(ns, cases[i].ns);
        assert_str(name, cases[i].name);
    }
    assert_int_equal(cor_object_key_split(COR_STR("a/b/c"), &ns, &name), -COR_EINVAL);
}
