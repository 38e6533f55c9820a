#include "test.h"

#include <pthread.h>
#include <stdio.h>

#include "base/buf.h"
#include "meta/object/object.h"
#include "meta/object/object_edit.h"
#include "meta/value/fingerprint.h"
#include "json/text/json.h"

static struct cor_object *parse(const char *json)
{
    struct cor_object *object = NULL;
    struct cor_status status = {0};

    if (cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, &status) < 0)
        fail_msg("%s: %s", json, cor_status_message(&status));
    return object;
}

static struct cor_object *from_stored(const char *json, cor_rev rev, bool want_rewrite)
{
    struct cor_object *object = NULL;
    struct cor_status status = {0};
    bool rewrite = !want_rewrite;

    if (cor_object_from_stored(cor_strz(json), rev, &object, &rewrite, &status) < 0)
        fail_msg("%s: %s", json, cor_status_message(&status));
    assert_int_equal(rewrite, want_rewrite);
    return object;
}

static void assert_json(const struct cor_object *object, const char *want)
{
    assert_string_equal(object->bytes, want);
    assert_int_equal(object->len, strlen(want));
}

static void assert_stored_is(const struct cor_object *object, const char *want)
{
    struct cor_str a, b;

    cor_object_stored_spans(object, &a, &b);
    assert_int_equal(a.n + b.n, strlen(want));
    assert_memory_equal(a.p, want, a.n);
    assert_memory_equal(b.p, want + a.n, b.n);
}

/* What comes in, its stored form, and its served form at revision 7. */
static const struct {
    const char *in, *stored, *served;
} forms[] = {
    /* metadata in every shape */
    {"{}", "{\"metadata\":{}}", "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"{\"metadata\":{}}", "{\"metadata\":{}}", "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"{\"metadata\":null,\"spec\":{}}", "{\"metadata\":{},\"spec\":{}}",
     "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{}}"},
    {"{\"kind\":\"K\"}", "{\"kind\":\"K\",\"metadata\":{}}",
     "{\"kind\":\"K\",\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"{\"spec\":1}", "{\"metadata\":{},\"spec\":1}",
     "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":1}"},
    {"{\"data\":{\"a\":\"b\"}}", "{\"data\":{\"a\":\"b\"},\"metadata\":{}}",
     "{\"data\":{\"a\":\"b\"},\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"{\"spec\":1,\"data\":2,\"apiVersion\":\"v1\"}",
     "{\"apiVersion\":\"v1\",\"data\":2,\"metadata\":{},\"spec\":1}",
     "{\"apiVersion\":\"v1\",\"data\":2,\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":1}"},
    /* resourceVersion stands last, first, in the middle, alone */
    {"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}}", "{\"metadata\":{\"name\":\"a\"}}",
     "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}"},
    {"{\"metadata\":{\"resourceVersion\":\"3\",\"uid\":\"u\"}}", "{\"metadata\":{\"uid\":\"u\"}}",
     "{\"metadata\":{\"resourceVersion\":\"7\",\"uid\":\"u\"}}"},
    {"{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"3\",\"name\":\"a\"}}",
     "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
     "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\",\"uid\":\"u\"}}"},
    {"{\"metadata\":{\"resourceVersion\":\"3\"}}", "{\"metadata\":{}}",
     "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"{\"metadata\":{\"resourceVersion\":null}}", "{\"metadata\":{}}",
     "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
    /* selfLink is dropped, alone and beside resourceVersion */
    {"{\"metadata\":{\"selfLink\":\"/x\"}}", "{\"metadata\":{}}",
     "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"{\"metadata\":{\"resourceVersion\":\"3\",\"selfLink\":\"/x\"}}", "{\"metadata\":{}}",
     "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
    {"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\",\"selfLink\":\"/x\"}}",
     "{\"metadata\":{\"name\":\"a\"}}",
     "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}"},
    {"{\"metadata\":{\"name\":\"a\",\"selfLink\":\"/x\",\"uid\":\"u\"}}",
     "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
     "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\",\"uid\":\"u\"}}"},
    /* a nested resourceVersion is data */
    {"{\"spec\":{\"resourceVersion\":\"1\",\"selfLink\":\"2\"}}",
     "{\"metadata\":{},\"spec\":{\"resourceVersion\":\"1\",\"selfLink\":\"2\"}}",
     "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"resourceVersion\":\"1\",\"selfLink\":"
     "\"2\"}}"},
    /* keys that sort beside resourceVersion and metadata, with escapes too */
    {"{\"metadata\":{\"resourceVersio\":1,\"resourceVersion0\":2,\"resource\\u0001\":3}}",
     "{\"metadata\":{\"resource\\u0001\":3,\"resourceVersio\":1,\"resourceVersion0\":2}}",
     "{\"metadata\":{\"resource\\u0001\":3,\"resourceVersio\":1,\"resourceVersion\":\"7\","
     "\"resourceVersion0\":2}}"},
    {"{\"metadat\":1,\"metadatb\":2,\"meta\\n\":3}",
     "{\"meta\\n\":3,\"metadat\":1,\"metadata\":{},\"metadatb\":2}",
     "{\"meta\\n\":3,\"metadat\":1,\"metadata\":{\"resourceVersion\":\"7\"},\"metadatb\":2}"},
    /* white space and order of outside bytes */
    {" {\n\t\"spec\": { \"b\": 1, \"a\": 1.50e3 } ,\"kind\":\"K\", \"apiVersion\":\"v1\"} ",
     "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{},\"spec\":{\"a\":1.50e3,\"b\":1}}",
     "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},"
     "\"spec\":{\"a\":1.50e3,\"b\":1}}"},
};

TEST(object, outside_bytes_become_the_stored_form)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        struct cor_object *object = parse(forms[i].in);

        assert_json(object, forms[i].stored);
        assert_stored_is(object, forms[i].stored);
        assert_int_equal(object->rev, 0);
        assert_str(cor_object_resource_version(object), "");
        cor_object_unref(object);
    }
}

TEST(object, stored_bytes_become_the_served_form)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        struct cor_object *object = from_stored(forms[i].stored, 7, false);

        assert_json(object, forms[i].served);
        assert_stored_is(object, forms[i].stored);
        assert_int_equal(object->rev, 7);
        assert_str(cor_object_resource_version(object), "7");
        cor_object_unref(object);
    }
}

TEST(object, foreign_stored_bytes_are_served_and_to_be_rewritten)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        bool as_stored = strcmp(forms[i].in, forms[i].stored) == 0;
        struct cor_object *object = from_stored(forms[i].in, 7, !as_stored);

        assert_json(object, forms[i].served);
        cor_object_unref(object);
    }
}

TEST(object, another_revision_has_the_same_stored_form)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        struct cor_object *first = from_stored(forms[i].stored, COR_REV_MAX, false);
        struct cor_object *second = NULL, *stored = NULL;

        assert_str(cor_object_resource_version(first), "9223372036854775807");
        assert_int_equal(cor_object_at(first, 7, &second), 0);
        assert_json(second, forms[i].served);
        assert_int_equal(second->rev, 7);
        assert_int_equal(cor_object_at(second, 0, &stored), 0);
        assert_json(stored, forms[i].stored);
        assert_true(cor_object_same_stored(first, second));
        assert_true(cor_object_same_stored(second, stored));
        cor_object_unref(first);
        cor_object_unref(second);
        cor_object_unref(stored);
    }
}

/* Contract: to a client a resourceVersion is a text, compared for equality. */
TEST(object, keeps_another_servers_resource_version_as_it_is)
{
    static const struct {
        const char *rv;
        uint64_t rev;
    } cases[] = {{"v2-opaque.7", 0}, {"007", 7}, {"12", 12}, {"99999999999999999999", 0}, {"", 0}};
    struct cor_object *stored, *served;
    char text[COR_OBJECT_RV_MAX + 1];

    assert_int_equal(cor_object_parse(COR_STR("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}"),
                                      NULL, NULL, NULL, &stored, NULL),
                     0);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        assert_int_equal(cor_object_at_text(stored, cor_strz(cases[i].rv), &served), 0);
        assert_str(cor_object_resource_version(served), cases[i].rv);
        assert_int_equal(served->rev, cases[i].rev);
        assert_true(cor_object_same_stored(stored, served));
        cor_object_unref(served);
    }
    memset(text, 'x', sizeof(text));
    assert_int_equal(cor_object_at_text(stored, cor_str(text, sizeof(text)), &served),
                     -COR_ETOOBIG);
    assert_int_equal(cor_object_at_text(stored, cor_str(text, sizeof(text) - 1), &served), 0);
    assert_int_equal(cor_object_resource_version(served).n, COR_OBJECT_RV_MAX);
    cor_object_unref(served);
    cor_object_unref(stored);
}

TEST(object, forms_with_different_content_differ)
{
    struct cor_object *a = from_stored("{\"metadata\":{\"name\":\"a\"}}", 5, false);
    struct cor_object *b = from_stored("{\"metadata\":{\"name\":\"b\"}}", 5, false);
    struct cor_object *c = from_stored("{\"metadata\":{\"name\":\"a\"},\"x\":1}", 5, false);

    assert_false(cor_object_same_stored(a, b));
    assert_false(cor_object_same_stored(a, c));
    cor_object_unref(a);
    cor_object_unref(b);
    cor_object_unref(c);
}

TEST(object, type_part_ends_where_a_list_item_goes_on)
{
    static const struct {
        const char *stored, *item;
    } cases[] = {
        {"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{},\"spec\":{}}",
         "{\"metadata\":{},\"spec\":{}}"},
        {"{\"kind\":\"Pod\",\"metadata\":{}}", "{\"metadata\":{}}"},
        {"{\"apiVersion\":\"v1\",\"metadata\":{}}", "{\"metadata\":{}}"},
        {"{\"metadata\":{},\"spec\":{}}", "{\"metadata\":{},\"spec\":{}}"},
        {"{\"kind\":\"K\",\"apiVersion\":\"v1\",\"data\":{},\"metadata\":{}}",
         "{\"data\":{},\"metadata\":{}}"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_object *object = from_stored(cases[i].stored, 0, false);
        struct cor_buf item;

        cor_buf_init(&item, 1024);
        assert_int_equal(cor_buf_addc(&item, '{'), 0);
        assert_int_equal(
            cor_buf_adds(&item, cor_str_from(cor_object_json(object), object->type_end)), 0);
        assert_string_equal(cor_buf_z(&item), cases[i].item);
        cor_buf_deinit(&item);
        cor_object_unref(object);
    }
}

TEST(object, header_points_at_labels_and_owners)
{
    struct cor_object *object = from_stored(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"app\":\"a\"},"
        "\"name\":\"n\",\"ownerReferences\":[{\"uid\":\"o\"}],\"uid\":\"u\"}}",
        12, false);
    struct cor_object *later = NULL;

    assert_int_equal(cor_object_at(object, 123456, &later), 0);
    for (int i = 0; i < 2; i++) {
        const struct cor_object *o = i ? later : object;

        assert_str(cor_str(o->bytes + o->labels.at, o->labels.len), "{\"app\":\"a\"}");
        assert_str(cor_str(o->bytes + o->owners.at, o->owners.len), "[{\"uid\":\"o\"}]");
        assert_int_equal(o->bytes[o->meta_at], '{');
        assert_int_equal(o->fingerprint, cor_fingerprint_label(COR_STR("app"), COR_STR("a")));
    }
    cor_object_unref(object);
    cor_object_unref(later);
}

TEST(object, labels_and_owners_of_another_type_are_absent)
{
    struct cor_object *object = parse("{\"metadata\":{\"labels\":null,\"ownerReferences\":{}}}");
    struct cor_str value;

    assert_int_equal(object->labels.len, 0);
    assert_int_equal(object->owners.len, 0);
    assert_int_equal(object->fingerprint, 0);
    assert_false(cor_object_label(object, COR_STR("app"), &value));
    cor_object_unref(object);
}

TEST(object, reads_its_metadata)
{
    struct cor_object *object = from_stored(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"data\":{\"name\":\"no\"},\"metadata\":{\"labels\":{"
        "\"a\\\"b\":\"q\",\"app\":\"x\",\"n\":5},\"name\":\"web-0\",\"namespace\":\"default\","
        "\"uid\":\"11-22\"}}",
        3, false);
    struct cor_str value;

    assert_str(cor_object_kind(object), "Pod");
    assert_str(cor_object_api_version(object), "v1");
    assert_str(cor_object_name(object), "web-0");
    assert_str(cor_object_namespace(object), "default");
    assert_str(cor_object_uid(object), "11-22");
    assert_str(cor_object_resource_version(object), "3");
    assert_true(cor_object_label(object, COR_STR("app"), &value));
    assert_str(value, "x");
    assert_true(cor_object_label(object, COR_STR("a\"b"), &value));
    assert_str(value, "q");
    assert_false(cor_object_label(object, COR_STR("n"), &value));
    assert_false(cor_object_label(object, COR_STR("zz"), &value));
    cor_object_unref(object);
}

TEST(object, absent_and_mistyped_fields_read_empty)
{
    struct cor_object *object =
        parse("{\"kind\":5,\"metadata\":{\"name\":[\"a\"],\"uid\":null},\"name\":\"top\"}");

    assert_str(cor_object_kind(object), "");
    assert_str(cor_object_api_version(object), "");
    assert_str(cor_object_name(object), "");
    assert_str(cor_object_namespace(object), "");
    assert_str(cor_object_uid(object), "");
    cor_object_unref(object);
}

TEST(object, finds_name_namespace_and_uid_wherever_they_stand)
{
    static const struct {
        const char *metadata, *name, *ns, *uid;
    } cases[] = {
        {"{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\"}", "a", "n", "u"},
        {"{\"labels\":{\"x\":\"y\"},\"name\":\"a\",\"uid\":\"u\"}", "a", "", "u"},
        {"{\"namespace\":\"n\"}", "", "n", ""},
        {"{\"generateName\":\"g\",\"namespace\":\"n\"}", "", "n", ""},
        {"{\"uid\":\"u\"}", "", "", "u"},
        {"{\"name\":\"a\",\"namespace\":\"n\",\"ownerReferences\":[{\"uid\":\"o\"}],\"uid\":\"u\"}",
         "a", "n", "u"},
        {"{\"name\":\"a\",\"ownerReferences\":[],\"uid\":\"u\"}", "a", "", "u"},
        {"{\"ownerReferences\":[]}", "", "", ""},
        {"{\"ownerReferences\":null,\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\"}", "a", "n",
         "u"},
        {"{\"name\":\"a\",\"namespace\":\"n\",\"other\":\"x\",\"uid\":\"u\"}", "a", "n", "u"},
        {"{\"name\":\"a\",\"namespace\":\"n\",\"tail\":\"x\",\"uid\":\"u\"}", "a", "n", "u"},
        {"{\"name\":\"a\",\"namespace\":5}", "a", "", ""},
        {"{\"name\":5,\"namespace\":\"n\"}", "", "n", ""},
        {"{\"name\":\"a\",\"name2\":\"b\",\"namespace\":\"n\"}", "a", "n", ""},
        {"{\"annotations\":{\"name\":\"wrong\",\"namespace\":\"wrong\"}}", "", "", ""},
        {"{\"annotations\":{\"name\":\"wrong\"},\"namespace\":\"n\"}", "", "n", ""},
        {"{\"labels\":{\"a\":\"\\\"name\\\":\\\"x\",\"b\":\"\\\"namespace\\\":\\\"x\"}}", "", "",
         ""},
        {"{\"name\":\"a\\tb\",\"namespace\":\"a\\tb\",\"uid\":\"c\\\"d\"}", "a\\tb", "a\\tb",
         "c\\\"d"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *stored = NULL;
        COR_CLEANUP(cor_object_unrefp) struct cor_object *served = NULL;
        char json[512];

        snprintf(json, sizeof(json), "{\"kind\":\"K\",\"metadata\":%s}", cases[i].metadata);
        stored = parse(json);
        assert_str(cor_object_name(stored), cases[i].name);
        assert_str(cor_object_namespace(stored), cases[i].ns);
        assert_str(cor_object_uid(stored), cases[i].uid);
        assert_int_equal(cor_object_at(stored, 1234, &served), 0);
        assert_str(cor_object_name(served), cases[i].name);
        assert_str(cor_object_namespace(served), cases[i].ns);
        assert_str(cor_object_uid(served), cases[i].uid);
    }
}

TEST(object, names_with_escapes_are_returned_as_written)
{
    struct cor_object *object = parse("{\"metadata\":{\"name\":\"a\\u0022\\u00e9\\/b\"}}");

    assert_str(cor_object_name(object), "a\\\"\xc3\xa9/b");
    cor_object_unref(object);
}

TEST(object, hands_out_the_resource_version_of_its_source)
{
    static const struct {
        const char *in, *rv;
    } cases[] = {
        {"{}", ""},
        {"{\"metadata\":{}}", ""},
        {"{\"metadata\":{\"resourceVersion\":\"\"}}", ""},
        {"{\"metadata\":{\"resourceVersion\":null}}", ""},
        {" {\"metadata\" : {\"resourceVersion\" : \"42\"}}", "42"},
        {"{\"metadata\":{\"resourceVersion\":\"x\"},\"spec\":{}}", "x"},
        {"{\"metadata\":{\"resourceVersion\":\"1\",\"resourceVersion\":\"2\"}}", "2"},
        {"{\"metadata\":{\"resourceVersion\":\"1\"},\"metadata\":{}}", ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_object *object = NULL;
        struct cor_str rv;

        assert_int_equal(cor_object_parse(cor_strz(cases[i].in), NULL, NULL, &rv, &object, NULL),
                         0);
        assert_str(rv, cases[i].rv);
        cor_object_unref(object);
    }
}

static void assert_refused(const char *in, const struct cor_object_limits *limits, int err,
                           const char *message)
{
    struct cor_object *object = NULL;
    struct cor_status status = {0};

    assert_int_equal(cor_object_parse(cor_strz(in), limits, NULL, NULL, &object, &status), err);
    assert_null(object);
    assert_string_equal(cor_status_message(&status), message);
    cor_status_deinit(&status);
}

TEST(object, refuses_what_is_no_object_and_says_where)
{
    struct cor_object_limits limits = {.bytes_max = 20};

    assert_refused("[]", NULL, -COR_EINVAL, "an object is expected at the top level");
    assert_refused("\"x\"", NULL, -COR_EINVAL, "an object is expected at the top level");
    assert_refused("{\"metadata\":[]}", NULL, -COR_EINVAL, "metadata: an object is expected");
    assert_refused("{\"metadata\":{\"resourceVersion\":7}}", NULL, -COR_EINVAL,
                   "metadata.resourceVersion: a string is expected");
    assert_refused("{\"metadata\":{\"resourceVersion\":\"\\u0037\"}}", NULL, -COR_EINVAL,
                   "metadata.resourceVersion: escapes are not accepted");
    assert_refused("{\"metadata\":{\"name\":\"a\"}}", &limits, -COR_ETOOBIG,
                   "the object is longer than 20 bytes");
}

TEST(object, tells_the_line_of_a_syntax_error)
{
    struct cor_object *object = NULL;
    struct cor_status status = {0};

    assert_int_equal(cor_object_parse(COR_STR("{\n \"a\": x}"), NULL, NULL, NULL, &object, &status),
                     -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&status), "(line 2, column 7, byte 8)"));
    cor_status_deinit(&status);
    assert_int_equal(
        cor_object_parse(COR_STR("{\"a\":\"\xff\"}"), NULL, NULL, NULL, &object, &status),
        -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&status), "byte 6"));
    cor_status_deinit(&status);
}

TEST(object, stored_bytes_that_are_no_object_are_corrupt)
{
    static const char *const bytes[] = {
        "", "x", "[]", "5", "{\"metadata\":7}", "{\"a\":1", "{\"a\":\"\xff\"}", "k8s\x01"};

    for (size_t i = 0; i < COR_ARRAY_LEN(bytes); i++) {
        struct cor_object *object = NULL;
        struct cor_status status = {0};

        assert_int_equal(cor_object_from_stored(cor_strz(bytes[i]), 1, &object, NULL, &status),
                         -COR_ECORRUPT);
        assert_null(object);
        assert_int_equal(status.code, 500);
        cor_status_deinit(&status);
    }
}

TEST(object, reports_repeated_keys)
{
    struct cor_object *object = NULL;
    struct cor_json_dups *dups = test_malloc(sizeof(*dups));

    cor_json_dups_init(dups);
    assert_int_equal(
        cor_object_parse(COR_STR("{\"spec\":{\"a\":1,\"a\":2}}"), NULL, dups, NULL, &object, NULL),
        0);
    assert_json(object, "{\"metadata\":{},\"spec\":{\"a\":2}}");
    assert_int_equal(dups->n, 1);
    assert_string_equal(dups->v[0].path, "spec.a");
    cor_json_dups_deinit(dups);
    test_free(dups);
    cor_object_unref(object);
}

TEST(object, is_freed_with_its_last_reference)
{
    struct cor_object *object = parse("{}");
    struct cor_object *same = cor_object_ref(object);

    assert_ptr_equal(object, same);
    assert_null(cor_object_unref(object));
    assert_json(same, "{\"metadata\":{}}");
    cor_object_unref(same);
    assert_null(cor_object_unref(NULL));
}

static void *make_revisions(void *arg)
{
    struct cor_object *object = arg;

    for (cor_rev rev = 1; rev <= 2000; rev++) {
        struct cor_object *same = cor_object_ref(object), *other = NULL;

        if (cor_object_at(same, rev, &other) < 0 || !cor_object_same_stored(same, other))
            other = cor_object_unref(other);
        cor_object_unref(same);
        if (!other)
            return arg;
        cor_object_unref(other);
    }
    cor_object_unref(object);
    return NULL;
}

TEST(object, is_shared_by_threads)
{
    struct cor_object *object = parse("{\"kind\":\"K\",\"metadata\":{\"name\":\"a\"}}");
    pthread_t threads[3];
    void *failure = NULL;

    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_revisions, cor_object_ref(object)),
                         0);
    cor_object_unref(object);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
}

TEST(object, survives_failed_allocations)
{
    static const char *const inputs[] = {
        "{\"kind\":\"K\",\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"n\"}}",
        "{ \"metadata\":{\"resourceVersion\":\"5\",\"selfLink\":\"x\"},\"a\":1}", "{\"a\":", "[]"};

    for (size_t i = 0; i < COR_ARRAY_LEN(inputs); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_object *object = NULL, *stored = NULL, *later = NULL;
            struct cor_status status = {0};
            int r;

            r = cor_object_parse(cor_strz(inputs[i]), NULL, NULL, NULL, &object, &status);
            assert_true(r == (i < 2 ? 0 : -COR_EINVAL) ||
                        (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(r == 0, object != NULL);
            r = cor_object_from_stored(cor_strz(inputs[i]), 9, &stored, NULL, &status);
            assert_true(r == (i < 2 ? 0 : -COR_ECORRUPT) ||
                        (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(r == 0, stored != NULL);
            if (object && cor_object_at(object, 9, &later) < 0)
                assert_null(later);
            if (stored && later)
                assert_string_equal(stored->bytes, later->bytes);
            cor_object_unref(object);
            cor_object_unref(stored);
            cor_object_unref(later);
            cor_status_deinit(&status);
        }
    }
}

TEST(object, the_served_form_costs_one_allocation)
{
    struct cor_object *stored = parse("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}");
    struct cor_object *served = NULL, *read = NULL;

    test_fail_alloc(2, true);
    assert_int_equal(cor_object_at(stored, 7, &served), 0);
    test_fail_alloc(2, true);
    assert_int_equal(cor_object_from_stored(cor_object_json(stored), 7, &read, NULL, NULL), 0);
    assert_false(test_alloc_failed());
    test_fail_alloc(0, false);
    assert_true(cor_str_eq(cor_object_json(served), cor_object_json(read)));
    cor_object_unref(read);
    cor_object_unref(served);
    cor_object_unref(stored);
}

/* managedFields are cut out of an object and put in again wherever they stand in its metadata, at
 * every revision; all that the header points at is where a fresh object has it. */
TEST(object, goes_without_managed_fields_and_gets_them_again)
{
    static const char *const metadata[] = {
        "{}",
        "{\"name\":\"a\"}",
        "{\"uid\":\"u\"}",
        "{\"labels\":{\"app\":\"x\"}}",
        "{\"labels\":{\"app\":\"x\"},\"uid\":\"u\"}",
        "{\"annotations\":{\"a\":\"managedFields\"},\"name\":\"a\",\"namespace\":\"n\"}",
        "{\"labels\":{\"a\":\"b\"},\"name\":\"a\",\"ownerReferences\":[{\"uid\":\"o\"}],\"uid\":\"u\"}",
    };
    static const cor_rev revs[] = {0, 7};

    for (size_t i = 0; i < 2 * COR_ARRAY_LEN(metadata); i++) {
        cor_rev rev = revs[i % 2];
        COR_CLEANUP(cor_object_unrefp) struct cor_object *stored = NULL, *bare = NULL, *with = NULL;
        COR_CLEANUP(cor_object_unrefp) struct cor_object *again = NULL, *fresh = NULL;
        struct cor_str list = COR_STR("[{\"fieldsV1\":{\"f:a\":{}}}]");
        struct cor_buf text;

        cor_buf_init(&text, 4096);
        assert_int_equal(
            cor_buf_addf(&text, "{\"kind\":\"K\",\"metadata\":%s,\"spec\":1}", metadata[i / 2]), 0);
        assert_int_equal(cor_object_from_sorted(cor_buf_str(&text), &stored), 0);
        assert_int_equal(cor_object_at(stored, rev, &bare), 0);
        assert_int_equal(cor_object_with_managed(bare, list, &with), 0);
        assert_str(cor_object_meta_member(with, COR_STR("managedFields")), list.p);
        assert_int_equal(with->rev, rev);

        /* A fresh object of the same stored bytes is the same. */
        cor_object_unref(stored);
        assert_int_equal(cor_object_at(with, 0, &stored), 0);
        assert_int_equal(cor_object_from_sorted(cor_object_json(stored), &again), 0);
        assert_int_equal(cor_object_at(again, rev, &fresh), 0);
        assert_true(cor_str_eq(cor_object_json(fresh), cor_object_json(with)));
        assert_int_equal(fresh->rv_at, with->rv_at);
        assert_int_equal(fresh->rv_len, with->rv_len);
        assert_int_equal(fresh->rv_lead, with->rv_lead);
        assert_int_equal(fresh->labels.at, with->labels.at);
        assert_int_equal(fresh->owners.at, with->owners.at);
        assert_int_equal(fresh->fingerprint, with->fingerprint);
        assert_true(
            cor_str_eq(cor_object_metadata(with),
                       cor_json_first_value(cor_str_from(cor_object_json(with), with->meta_at))));

        again = cor_object_unref(again);
        assert_int_equal(cor_object_without_managed(
                             with, cor_object_meta_member(with, COR_STR("managedFields")), &again),
                         0);
        assert_true(cor_str_eq(cor_object_json(again), cor_object_json(bare)));
        assert_int_equal(again->rv_at, bare->rv_at);
        assert_int_equal(again->rv_len, bare->rv_len);
        assert_int_equal(again->rv_lead, bare->rv_lead);
        assert_int_equal(again->owners.at, bare->owners.at);
        cor_buf_deinit(&text);
    }
}
