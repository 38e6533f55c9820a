/* Scales of custom resources: what is shown, what is set, and what is refused, in the words of a
 * kube-apiserver 1.34. */
#include "schema/custom/custom_scale.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "test.h"
#include "json/text/json.h"

#define OUT_MAX (1u << 20)

/* A text with ' in the place of ", as canonical JSON. */
static void add_canonical(struct cor_buf *out, const char *quoted)
{
    static const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX, true};
    char *text = cor_strdup(quoted);

    assert_non_null(text);
    for (char *p = strchr(text, '\''); p; p = strchr(p, '\''))
        *p = '"';
    cor_buf_init(out, OUT_MAX);
    assert_int_equal(cor_json_canonicalize(cor_strz(text), &limits, out, NULL, NULL), 0);
    cor_free(text);
}

static struct cor_custom_scale *make_scale(void)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    struct cor_custom_scale *scale = NULL;

    add_canonical(&json, "{'scale':{'specReplicasPath':'.spec.replicas',"
                         "'statusReplicasPath':'.status.n.replicas','labelSelectorPath':"
                         "'.status.selector'}}");
    assert_int_equal(cor_custom_scale_new(cor_buf_str(&json), &scale), 0);
    assert_non_null(scale);
    return scale;
}

TEST(custom_scale, is_absent_without_the_subresource)
{
    struct cor_custom_scale *scale;

    assert_int_equal(cor_custom_scale_new(COR_STR("{\"status\":{}}"), &scale), 0);
    assert_null(scale);
}

/* Contract crd 4.12.1, 4.12.2. */
TEST(custom_scale, reads_its_fields_or_says_which_one_it_cannot)
{
    static const struct {
        const char *object, *scale, *why;
    } rows[] = {
        {"{'metadata':{'name':'k','labels':{'a':'b'},'uid':'u'},'spec':{'replicas':3},'status':"
         "{'n':{'replicas':2},'selector':'a=b'}}",
         "{'metadata':{'name':'k','uid':'u'},'spec':{'replicas':3},'status':{'replicas':2,"
         "'selector':'a=b'}}",
         NULL},
        {"{'metadata':{'name':'k'}}", "{'metadata':{'name':'k'},'spec':{},'status':{'replicas':0}}",
         NULL},
        {"{'metadata':{'name':'k'},'spec':{'replicas':4294967298},'status':null}",
         "{'metadata':{'name':'k'},'spec':{'replicas':2},'status':{'replicas':0}}", NULL},
        {"{'spec':{'replicas':3.5}}", NULL,
         ".spec.replicas accessor error: 3.5 is of the type float64, expected int64"},
        {"{'spec':{'replicas':'x'}}", NULL,
         ".spec.replicas accessor error: x is of the type string, expected int64"},
        {"{'spec':{'replicas':null}}", NULL,
         ".spec.replicas accessor error: <nil> is of the type <nil>, expected int64"},
        {"{'spec':[1]}", NULL,
         ".spec.replicas accessor error: [1] is of the type []interface {}, expected "
         "map[string]interface{}"},
        {"{'status':{'n':true}}", NULL,
         ".status.n.replicas accessor error: true is of the type bool, expected "
         "map[string]interface{}"},
        {"{'status':{'selector':{'a':'b'}}}", NULL,
         ".status.selector accessor error: map[a:b] is of the type map[string]interface {}, "
         "expected string"},
    };
    struct cor_custom_scale *scale = make_scale();

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit)
        struct cor_buf object = {0}, out = {.max = OUT_MAX}, why = {.max = OUT_MAX}, want = {0};
        struct cor_custom_scale_values values;
        struct cor_json_writer w;
        int r;

        add_canonical(&object, rows[i].object);
        r = cor_custom_scale_read(scale, cor_buf_str(&object), &values, &why);
        if (rows[i].why) {
            assert_int_equal(r, -COR_EINVAL);
            assert_string_equal(cor_buf_z(&why), rows[i].why);
            continue;
        }
        assert_int_equal(r, 0);
        assert_int_equal(values.has_spec, strstr(rows[i].object, "'spec'") != NULL);
        cor_json_writer_init(&w, &out);
        cor_json_begin_object(&w);
        cor_custom_scale_write(&values, cor_buf_str(&object), &w);
        cor_json_end_object(&w);
        assert_int_equal(cor_json_writer_finish(&w), 0);
        add_canonical(&want, rows[i].scale);
        assert_string_equal(cor_buf_z(&out), cor_buf_z(&want));
    }
    cor_custom_scale_free(scale);
}

/* Contract crd 4.12.3. */
TEST(custom_scale, sets_the_replicas_and_makes_what_is_on_the_way)
{
    static const struct {
        const char *path, *object, *spec, *why;
    } rows[] = {
        {".spec.replicas", "{'spec':{'a':1,'replicas':2,'z':3}}", "{'a':1,'replicas':7,'z':3}",
         NULL},
        {".spec.replicas", "{}", "{'replicas':7}", NULL},
        {".spec.a.b.n", "{'spec':{'a':{'x':1},'z':2}}", "{'a':{'b':{'n':7},'x':1},'z':2}", NULL},
        {".spec.a.b.n", "{'spec':{'a':{'b':5}}}", NULL,
         "value cannot be set because .spec.a.b is not a map[string]interface{}"},
        {".spec.replicas", "{'spec':'x'}", NULL,
         "value cannot be set because .spec is not a map[string]interface{}"},
        {".spec.replicas", "{'spec':null}", NULL,
         "value cannot be set because .spec is not a map[string]interface{}"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit)
        struct cor_buf object = {0}, out = {.max = OUT_MAX}, why = {.max = OUT_MAX}, want = {0};
        const struct cor_custom_scale scale = {.spec = cor_strz(rows[i].path)};
        struct cor_str key;
        int r;

        add_canonical(&object, rows[i].object);
        r = cor_custom_scale_set(&scale, cor_buf_str(&object), COR_STR("7"), &key, &out, &why);
        assert_true(cor_str_eq(key, COR_STR("spec")));
        assert_int_equal(r, rows[i].why ? -COR_EINVAL : 0);
        if (rows[i].why) {
            assert_string_equal(cor_buf_z(&why), rows[i].why);
            continue;
        }
        add_canonical(&want, rows[i].spec);
        assert_string_equal(cor_buf_z(&out), cor_buf_z(&want));
    }
}

/* Contract crd 4.12.5. */
TEST(custom_scale, checks_the_fields_of_an_object)
{
    static const struct {
        const char *object;
        bool is_status;
        size_t n;
        const char *field, *message;
    } rows[] = {
        {"{'spec':{'replicas':3}}", false, 0, NULL, NULL},
        {"{}", false, 0, NULL, NULL},
        {"{'spec':{'replicas':-1}}", false, 1, ".spec.replicas",
         "Invalid value: -1: should be a non-negative integer"},
        {"{'spec':{'replicas':-1}}", true, 0, NULL, NULL},
        {"{'spec':{'replicas':2147483648}}", false, 1, ".spec.replicas",
         "Invalid value: 2147483648: should be less than or equal to 2147483647"},
        {"{'spec':{'replicas':'x'}}", false, 1, ".spec.replicas",
         "Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"},
        {"{'status':{'n':{'replicas':-1}}}", true, 1, ".status.n.replicas",
         "Invalid value: -1: should be a non-negative integer"},
        {"{'status':{'selector':1}}", true, 1, ".status.selector",
         "Invalid value: \"\": .status.selector accessor error: 1 is of the type int64, expected "
         "string"},
    };
    struct cor_custom_scale *scale = make_scale();

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {0};

        add_canonical(&object, rows[i].object);
        cor_custom_scale_check(scale, cor_buf_str(&object), rows[i].is_status, &errors);
        assert_int_equal(errors.error, 0);
        assert_int_equal(errors.n, rows[i].n);
        if (rows[i].n > 0) {
            assert_string_equal(errors.v[0].field, rows[i].field);
            assert_string_equal(errors.v[0].body, rows[i].message);
        }
    }
    cor_custom_scale_free(scale);
}

TEST(custom_scale, survives_every_failed_allocation)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf version = {0}, object = {0};

    add_canonical(&version, "{'scale':{'specReplicasPath':'.spec.a.b.n',"
                            "'statusReplicasPath':'.status.n'}}");
    add_canonical(&object, "{'spec':{'a':{'b':{'x':1}}},'status':{'n':'x'}}");
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX}, why = {.max = OUT_MAX};
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
        struct cor_custom_scale *scale = NULL;
        struct cor_custom_scale_values values;
        struct cor_str key;
        int r = cor_custom_scale_new(cor_buf_str(&version), &scale);

        if (r == 0)
            r = cor_custom_scale_set(scale, cor_buf_str(&object), COR_STR("7"), &key, &out, &why);
        if (r == 0)
            assert_string_equal(cor_buf_z(&out), "{\"a\":{\"b\":{\"n\":7,\"x\":1}}}");
        if (r == 0) {
            r = cor_custom_scale_read(scale, cor_buf_str(&object), &values, &why);
            assert_true(r == -COR_EINVAL || r == -COR_ENOMEM);
        }
        if (r == -COR_EINVAL) {
            cor_custom_scale_check(scale, cor_buf_str(&object), false, &errors);
            r = errors.error;
            assert_true(r == -COR_ENOMEM || errors.n == 1);
        }
        assert_true(r == 0 || r == -COR_ENOMEM);
        assert_int_equal(r == -COR_ENOMEM, test_alloc_failed());
        cor_custom_scale_free(scale);
    }
}
