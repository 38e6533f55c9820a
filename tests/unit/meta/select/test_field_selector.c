#include "base/limits.h"
#include "test.h"

#include "base/mem.h"
#include "base/rand.h"
#include "field_selectors.h"
#include "meta/select/field_selector.h"

static const struct cor_field_label plain_rows[] = {
    {.label = "x"}, {.label = "y"}, {.label = "z"}, {.label = "foo"}, {.label = "baz"},
};
static const struct cor_field_labels plain = {plain_rows, COR_ARRAY_LEN(plain_rows), NULL};

static const struct cor_field_label pod_rows[] = {
    {.label = "metadata.name"},
    {.label = "metadata.namespace"},
    {.label = "spec.nodeName"},
    {.label = "spec.host", .field = "spec.nodeName"},
    {.label = "spec.hostNetwork", .kind = COR_FIELD_KIND_BOOL},
    {.label = "status.phase"},
    {.label = "status.podIP", .path = "status.podIPs[0].ip"},
    {.label = "status.podIPs"},
    {.label = "status.successful", .path = "status.succeeded", .kind = COR_FIELD_KIND_INT},
};
static const struct cor_field_labels pods = {pod_rows, COR_ARRAY_LEN(pod_rows), NULL};

static struct cor_field_selector *parse(const char *text, const struct cor_field_labels *labels)
{
    struct cor_field_selector *selector = NULL;
    struct cor_status status = {0};

    if (cor_field_selector_parse(cor_strz(text), labels, &selector, &status) < 0)
        fail_msg("%s: %s", text, cor_status_message(&status));
    return selector;
}

static void assert_prints(const char *text, const struct cor_field_labels *labels, const char *want)
{
    struct cor_field_selector *selector = parse(text, labels);
    struct cor_buf out;

    cor_buf_init(&out, 1024);
    assert_int_equal(field_selector_print(selector, &out), 0);
    assert_string_equal(cor_buf_z(&out), want);
    cor_buf_deinit(&out);
    cor_field_selector_free(selector);
}

static void assert_refused(const char *text, const struct cor_field_labels *labels,
                           const char *want)
{
    struct cor_field_selector *selector = NULL;
    struct cor_status status = {0};

    assert_int_equal(cor_field_selector_parse(cor_strz(text), labels, &selector, &status),
                     -COR_EINVAL);
    assert_null(selector);
    assert_string_equal(cor_status_message(&status), want);
    assert_int_equal(status.code, 400);
    assert_string_equal(status.reason, "BadRequest");
    cor_status_deinit(&status);
}

TEST(field_selector, prints_what_it_read)
{
    static const char *const texts[] = {
        "x=a,y=b,z=c", "",          "x!=a,y=b", "x=a||y\\=b",     "x=a\\=\\=b",
        "x=",          "x=\\\\\\,", "x= a ",    "x=\xed\x95\xa8",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        assert_prints(texts[i], &plain, texts[i]);
    assert_prints("x==a", &plain, "x=a");
}

TEST(field_selector, sorts_terms_and_skips_empty_ones)
{
    assert_prints("y=a,x=b", &plain, "x=b,y=a");
    assert_prints("x=a,", &plain, "x=a");
    assert_prints(",,x=a", &plain, "x=a");
    assert_prints(",", &plain, "");
    /* Sorted as they are written, so `!=` and the first of equal fields come first. */
    assert_prints("x=b,x!=c,x=a", &plain, "x!=c,x=a,x=b");
}

TEST(field_selector, errors_in_upstreams_words)
{
    assert_refused("x", &plain, "invalid selector: 'x'; can't understand 'x'");
    assert_refused("x=a,b", &plain, "invalid selector: 'x=a,b'; can't understand 'b'");
    assert_refused("x in (a)", &plain, "invalid selector: 'x in (a)'; can't understand 'x in (a)'");
    assert_refused("x in (a,b,c)", &plain,
                   "invalid selector: 'x in (a,b,c)'; can't understand 'b'");
    assert_refused("x=a||y=b", &plain, "invalid field selector: unescaped character in value: 61");
    assert_refused("x==a==b", &plain, "invalid field selector: unescaped character in value: 61");
    assert_refused("x===", &plain, "invalid field selector: unescaped character in value: 61");
    assert_refused("x=\\", &plain, "invalid field selector: invalid escape sequence: \\");
    assert_refused("x=\\\\\\", &plain, "invalid field selector: invalid escape sequence: \\");
    assert_refused("x=\\a", &plain, "invalid field selector: invalid escape sequence: \\a");
    assert_refused("x=\\\xed\x95\xa8z", &plain,
                   "invalid field selector: invalid escape sequence: \\\xed\x95\xa8");
}

TEST(field_selector, unknown_labels_are_named_as_the_resource_names_them)
{
    static const struct cor_field_labels slices = {pod_rows, 1,
                                                   "resource.k8s.io/v1, Kind=ResourceSlice"};

    assert_refused("spec.foo=1", &pods, "field label not supported: spec.foo");
    assert_refused("=1", &pods, "field label not supported: ");
    assert_refused(
        "spec.foo=1", &slices,
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.foo");
    assert_refused("spec.\"foo=1", NULL,
                   "\"spec.\\\"foo\" is not a known field selector: only \"metadata.name\", "
                   "\"metadata.namespace\"");
    /* The grammar is judged first. */
    assert_refused("a=1,b", NULL, "invalid selector: 'a=1,b'; can't understand 'b'");
    assert_prints("metadata.name=a,metadata.namespace!=b", NULL,
                  "metadata.name=a,metadata.namespace!=b");
}

TEST(field_selector, a_label_can_stand_for_another_field)
{
    struct cor_field_selector *selector = parse("spec.host=n1", &pods);
    struct cor_str value;

    assert_true(cor_field_selector_requires(selector, COR_STR("spec.nodeName"), &value));
    assert_str(value, "n1");
    assert_false(cor_field_selector_requires(selector, COR_STR("spec.host"), &value));
    cor_field_selector_free(selector);
    assert_prints("spec.host=n1", &pods, "spec.nodeName=n1");
}

static void assert_match(const char *text, const struct cor_field_labels *labels,
                         const char *object, bool want)
{
    struct cor_field_selector *selector = parse(text, labels);

    if (field_selector_matches(selector, cor_strz(object)) != want)
        fail_msg("'%s' on %s: want %d", text, object, want);
    cor_field_selector_free(selector);
}

#define MATCH(text, labels, object)    assert_match(text, labels, object, true)
#define NO_MATCH(text, labels, object) assert_match(text, labels, object, false)

TEST(field_selector, matches)
{
    MATCH("", &plain, "{\"x\":\"y\"}");
    MATCH("x=y", &plain, "{\"x\":\"y\"}");
    MATCH("x=y,z=w", &plain, "{\"x\":\"y\",\"z\":\"w\"}");
    MATCH("x!=y,z!=w", &plain, "{\"x\":\"z\",\"z\":\"a\"}");
    NO_MATCH("x=y", &plain, "{\"x\":\"z\"}");
    NO_MATCH("x=y,z=w", &plain, "{\"x\":\"w\",\"z\":\"w\"}");
    NO_MATCH("x!=y,z!=w", &plain, "{\"x\":\"z\",\"z\":\"w\"}");
    MATCH("foo=\\=value\\\\\\,\\\\", &plain, "{\"foo\":\"=value\\\\,\\\\\"}");
    NO_MATCH("foo=bar,x=bar,baz=blah", &plain, "{\"baz\":\"blah\",\"foo\":\"bar\"}");
}

TEST(field_selector, a_missing_field_reads_as_its_empty_value)
{
    MATCH("x=", &plain, "{}");
    MATCH("x!=a", &plain, "{}");
    NO_MATCH("x!=", &plain, "{}");
    MATCH("x=", &plain, "{\"x\":null}");
    MATCH("spec.nodeName=", &pods, "{\"metadata\":{},\"spec\":{}}");
    MATCH("spec.hostNetwork=false", &pods, "{\"metadata\":{},\"spec\":{}}");
    NO_MATCH("spec.hostNetwork=", &pods, "{\"metadata\":{},\"spec\":{}}");
    MATCH("status.successful=0", &pods, "{\"metadata\":{}}");
    MATCH("metadata.namespace=", NULL, "{\"metadata\":{\"name\":\"a\"}}");
}

TEST(field_selector, values_of_every_type_are_compared_as_written)
{
    const char *pod =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":"
        "\"n\"},\"spec\":{\"hostNetwork\":true,\"nodeName\":\"n1\"},\"status\":{\"phase\":"
        "\"Running\",\"podIPs\":[{\"ip\":\"10.0.0.1\"},{\"ip\":\"fd::1\"}],\"succeeded\":3}}";

    MATCH("metadata.name=a,metadata.namespace=n", &pods, pod);
    MATCH("metadata.name=a,metadata.namespace=n", NULL, pod);
    MATCH("spec.nodeName=n1,status.phase!=Failed", &pods, pod);
    MATCH("spec.hostNetwork=true", &pods, pod);
    NO_MATCH("spec.hostNetwork=false", &pods, pod);
    MATCH("status.podIP=10.0.0.1", &pods, pod);
    MATCH("status.podIPs=", &pods, pod);
    MATCH("status.successful=3", &pods, pod);
    NO_MATCH("status.successful=3.0", &pods, pod);
}

TEST(field_selector, names_the_value_a_field_must_have)
{
    struct cor_field_selector *selector = parse("x!=a,x=b,y=", &plain);
    struct cor_str value;

    assert_true(cor_field_selector_requires(selector, COR_STR("x"), &value));
    assert_str(value, "b");
    assert_true(cor_field_selector_requires(selector, COR_STR("y"), &value));
    assert_str(value, "");
    assert_false(cor_field_selector_requires(selector, COR_STR("z"), &value));
    cor_field_selector_free(selector);
}

TEST(field_selector, has_maxima)
{
    struct cor_buf text;

    cor_buf_init(&text, 1 << 20);
    for (int i = 0; i < COR_FIELD_SELECTOR_TERMS_MAX; i++)
        assert_int_equal(cor_buf_addz(&text, ",x=a"), 0);
    cor_field_selector_free(parse(cor_buf_z(&text), &plain));
    assert_int_equal(cor_buf_addz(&text, ",x=a"), 0);
    assert_refused(cor_buf_z(&text), &plain, "a field selector has at most 256 terms");
    while (text.n <= COR_FIELD_SELECTOR_BYTES_MAX)
        assert_int_equal(cor_buf_addz(&text, "a"), 0);
    assert_refused(cor_buf_z(&text), &plain, "a field selector has at most 65536 bytes");
    cor_buf_deinit(&text);
}

TEST(field_selector, reads_each_field_once_for_all_terms_about_it)
{
    static const struct {
        const char *text;
        size_t nfields;
        bool matches;
    } cases[] = {
        {"metadata.name!=b,metadata.namespace=n,metadata.name!=c,metadata.namespace!=m", 2, true},
        {"metadata.name!=b,metadata.namespace=n,metadata.name=a,metadata.namespace!=n", 2, false},
        {"metadata.name!=b,metadata.name!=a", 1, false},
        {"metadata.name=a,metadata.name=a,metadata.namespace=n", 2, true},
    };
    struct cor_str object = COR_STR("{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}}");

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_field_selector *selector = parse(cases[i].text, NULL);

        assert_int_equal(selector->nfields, cases[i].nfields);
        assert_int_equal(field_selector_matches(selector, object), cases[i].matches);
        cor_field_selector_free(selector);
    }
}

TEST(field_selector, a_bad_path_in_a_table_is_our_mistake)
{
    static const struct cor_field_label rows[] = {{.label = "x", .path = "a[", .field = "x"}};
    static const struct cor_field_labels bad = {rows, 1, NULL};
    struct cor_field_selector *selector = NULL;
    struct cor_status status = {0};

    assert_true(cor_field_selector_parse(COR_STR("x=1"), &bad, &selector, &status) < 0);
    assert_int_equal(status.code, 500);
    cor_status_deinit(&status);
}

TEST(field_selector, survives_failed_allocations)
{
    static const char *const texts[] = {"spec.host=a\\,b,metadata.name!=c", "x=1", "metadata.name",
                                        "metadata.name=\\"};
    /* Without and with the fields of pods. */
    static const char *const printed[] = {
        NULL, "metadata.name!=c,spec.nodeName=a\\,b", NULL, NULL, NULL, NULL, NULL, NULL};

    for (size_t i = 0; i < 2 * COR_ARRAY_LEN(texts); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_field_selector *selector = NULL;
            struct cor_status status = {0};
            struct cor_buf out;
            int r = cor_field_selector_parse(cor_strz(texts[i / 2]), i % 2 ? &pods : NULL,
                                             &selector, &status);

            if (r != (printed[i] ? 0 : -COR_EINVAL) && !(r == -COR_ENOMEM && test_alloc_failed()))
                fail_msg("%s of %s: %d", texts[i / 2], i % 2 ? "pods" : "anything", r);
            assert_int_equal(r == 0, selector != NULL);
            cor_buf_init(&out, 1024);
            if (r == 0 && field_selector_print(selector, &out) == 0)
                assert_string_equal(cor_buf_z(&out), printed[i]);
            cor_buf_deinit(&out);
            cor_field_selector_free(selector);
            cor_status_deinit(&status);
        }
    }
}

/* The place of each field of the selector, by its first letter; there are fewer than fields. */
static struct cor_field_places places_of(const struct cor_field_selector *selector)
{
    static const char letters[] = "xyf";
    struct cor_field_places places;
    size_t k = 0;

    memset(places.at, -1, sizeof(places.at));
    for (size_t i = 0; i < selector->n; i++) {
        const char *at = strchr(letters, selector->terms[i].field.p[0]);

        if (selector->terms[i].has_field)
            places.at[k++] = at ? (int8_t)(at - letters) : -1;
    }
    return places;
}

TEST(field_selector, notes_of_an_object_change_no_verdict)
{
    static const char *const objects[] = {
        "{\"foo\":\"a\",\"x\":\"b\",\"y\":\"c\"}",
        "{\"foo\":5,\"x\":\"5\",\"y\":true}",
        "{\"foo\":\"a\\\"\",\"x\":\"a\\\\b\",\"y\":\"\\u0001\"}",
        "{\"foo\":null,\"x\":[],\"y\":\"\"}",
        "{\"z\":\"a\"}",
    };
    static const char *const texts[] = {
        "x=b",    "x!=b",     "foo=a",    "foo=5,x=5",    "foo!=5,x!=b,y!=c", "y=true",
        "y=",     "y!=",      "x=a\\\\b", "foo=a\"",      "x=b,y=c,foo=a",    "x!=a,x!=b,x!=c",
        "z=a,y=", "z!=a,x=b", "baz=,y=c", "foo=a,foo!=b", "foo=,x=,y=",       "x=5,y=true,z=",
    };
    struct cor_rand rand;
    size_t ruled_out = 0;

    cor_rand_init_seeded(&rand, test_random());
    for (size_t i = 0; i < COR_ARRAY_LEN(objects); i++) {
        struct cor_str object = cor_strz(objects[i]);
        struct cor_field_notes notes = {0};

        for (size_t n = 0; n < 400; n++) {
            struct cor_field_selector *selector =
                parse(texts[cor_rand_below(&rand, COR_ARRAY_LEN(texts))], &plain);
            struct cor_field_places places = places_of(selector);
            const struct cor_field_source source = {object, 0, &notes, &places};
            bool want = field_selector_matches(selector, object);
            bool may = cor_field_selector_may_match(selector, &notes, &places);

            assert_true(may || !want);
            ruled_out += !may;
            assert_int_equal(cor_field_selector_matches_source(selector, &source), want);
            cor_field_selector_free(selector);
        }
    }
    assert_true(ruled_out > 100);
}
