#include "schema/merge/strategic_merge.h"

#include "base/err.h"
#include "base/work.h"
#include "schema/go/go_text.h"
#include "test.h"

static const struct {
    const char *what, *doc, *patch, *want;
    const char *kind; /* NULL: a pod */
} cases[] = {
    {"scalars, nulls and new members", "{\"a\":1,\"b\":2,\"c\":{\"d\":1}}",
     "{\"a\":3,\"b\":null,\"c\":{\"e\":2,\"f\":null},\"g\":{\"h\":null,\"i\":1}}",
     "{\"a\":3,\"c\":{\"d\":1,\"e\":2},\"g\":{\"i\":1}}"},
    {"a list without a key is replaced", "{\"spec\":{\"args\":[\"a\",\"b\"]}}",
     "{\"spec\":{\"args\":[\"c\"]}}", "{\"spec\":{\"args\":[\"c\"]}}"},
    {"containers are merged by name",
     "{\"spec\":{\"containers\":[{\"image\":\"x:1\",\"name\":\"x\"},{\"image\":\"y:1\",\"name\":"
     "\"y\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"y\",\"image\":\"y:2\"}]}}",
     "{\"spec\":{\"containers\":[{\"image\":\"x:1\",\"name\":\"x\"},{\"image\":\"y:2\",\"name\":"
     "\"y\"}]}}"},
    {"a new container is added", "{\"spec\":{\"containers\":[{\"name\":\"x\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"z\",\"env\":null}]}}",
     "{\"spec\":{\"containers\":[{\"env\":null,\"name\":\"z\"},{\"name\":\"x\"}]}}"},
    {"a list without keys is replaced as it is", "{\"spec\":{\"tolerations\":[{\"key\":\"a\"}]}}",
     "{\"spec\":{\"tolerations\":[{\"$patch\":\"replace\"},{\"key\":\"b\"}]}}",
     "{\"spec\":{\"tolerations\":[{\"$patch\":\"replace\"},{\"key\":\"b\"}]}}"},
    {"directives of a new object are members", "{\"metadata\":{}}",
     "{\"metadata\":{\"annotations\":{\"$retainKeys\":[\"a\"],\"a\":\"1\"}}}",
     "{\"metadata\":{\"annotations\":{\"$retainKeys\":[\"a\"],\"a\":\"1\"}}}"},
    {"an element is deleted", "{\"spec\":{\"containers\":[{\"name\":\"x\"},{\"name\":\"y\"}]}}",
     "{\"spec\":{\"containers\":[{\"$patch\":\"delete\",\"name\":\"x\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"y\"}]}}"},
    {"a list is replaced on demand",
     "{\"spec\":{\"containers\":[{\"name\":\"x\"},{\"name\":\"y\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"z\"},{\"$patch\":\"replace\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"z\"}]}}"},
    {"a map is replaced on demand", "{\"spec\":{\"a\":1,\"b\":2}}",
     "{\"spec\":{\"$patch\":\"replace\",\"c\":3}}", "{\"spec\":{\"c\":3}}"},
    {"only kept keys stay", "{\"spec\":{\"strategy\":{\"rollingUpdate\":{},\"type\":\"R\"}}}",
     "{\"spec\":{\"strategy\":{\"$retainKeys\":[\"type\"],\"type\":\"Recreate\"}}}",
     "{\"spec\":{\"strategy\":{\"type\":\"Recreate\"}}}"},
    {"finalizers are joined", "{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
     "{\"metadata\":{\"finalizers\":[\"b\",\"c\"]}}",
     "{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}"},
    {"scalars are deleted from a list", "{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
     "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}",
     "{\"metadata\":{\"finalizers\":[\"b\"]}}"},
    {"a key with escapes is found", "{\"data\":{\"a\\nb\":\"1\",\"c\":\"2\"}}",
     "{\"data\":{\"a\\u000ab\":null}}", "{\"data\":{\"c\":\"2\"}}"},
    {"the order is the patch's",
     "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}}",
     "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"c\"},{\"name\":\"a\"}],\"containers\":"
     "[{\"name\":\"a\",\"image\":\"i\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"c\"},{\"image\":\"i\",\"name\":"
     "\"a\"}]}}"},
    {"ports of a container are merged by their number in it",
     "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":1,\"name\":\"p\"}]}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":1,\"name\":\"q\"}]}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":1,\"name\":\"q\"}]}]}}"},
    {"ports of a service are merged by their number",
     "{\"spec\":{\"ports\":[{\"name\":\"s\",\"port\":80},{\"name\":\"u\",\"port\":81}]}}",
     "{\"spec\":{\"ports\":[{\"name\":\"t\",\"port\":80}]}}",
     "{\"spec\":{\"ports\":[{\"name\":\"t\",\"port\":80},{\"name\":\"u\",\"port\":81}]}}",
     "core_v1.Service"},
    /* Contract apply 13.2.6. */
    {"the selector of a disruption budget is replaced",
     "{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}",
     "{\"spec\":{\"selector\":{\"matchExpressions\":[]}}}",
     "{\"spec\":{\"selector\":{\"matchExpressions\":[]}}}", "policy_v1.PodDisruptionBudget"},
    {"a selector of another kind is merged",
     "{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}",
     "{\"spec\":{\"selector\":{\"matchExpressions\":[]}}}",
     "{\"spec\":{\"selector\":{\"matchExpressions\":[],\"matchLabels\":{\"a\":\"b\"}}}}",
     "apps_v1.Deployment"},
    {"a pod template is merged as a pod is",
     "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}}}",
     "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"b\",\"$retainKeys\":[\"name\"]}]}}}}",
     "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}}}",
     "apps_v1.Deployment"},
    {"a list of the same name in another kind is replaced",
     "{\"spec\":{\"names\":{\"shortNames\":[\"a\"]},\"versions\":[{\"name\":\"v1\"}]},\"status\":{\"conditions\":[{"
     "\"type\":\"A\"}]}}",
     "{\"spec\":{\"versions\":[{\"name\":\"v2\"}]},\"status\":{\"conditions\":[{\"type\":\"B\"}]}}",
     "{\"spec\":{\"names\":{\"shortNames\":[\"a\"]},\"versions\":[{\"name\":\"v2\"}]},\"status\":{\"conditions\":[{"
     "\"type\":\"B\"}]}}",
     "apiextensions_v1.CustomResourceDefinition"},
    {"a key of a map is no field",
     "{\"data\":{\"containers\":\"1\"},\"spec\":{\"containers\":[{\"name\":\"a\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"b\"}]}}",
     "{\"data\":{\"containers\":\"1\"},\"spec\":{\"containers\":[{\"name\":\"b\"}]}}",
     "core_v1.ConfigMap"},
    {"conditions are merged by type",
     "{\"status\":{\"conditions\":[{\"status\":\"False\",\"type\":\"Ready\"}]}}",
     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
     "{\"status\":{\"conditions\":[{\"status\":\"True\",\"type\":\"Ready\"}]}}"},
    {"the kind and the version stay", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"a\":1}",
     "{\"a\":2,\"apiVersion\":\"extensions/v1beta1\",\"kind\":\"Deployment\"}",
     "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"a\":2}"},
    {"but not for what is no text", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", "{\"kind\":5}",
     "{\"kind\":5,\"apiVersion\":\"v1\"}"},
};

static int merge(const char *kind, const char *doc, const char *patch, struct cor_buf *out,
                 struct cor_json_patch_error *why)
{
    const struct cor_type *type = cor_type_named(cor_strz(kind ? kind : "core_v1.Pod"));

    assert_non_null(type);
    return cor_strategic_merge(cor_strz(doc), cor_strz(patch), type, &COR_JSON_LIMITS_DEFAULT, out,
                               NULL, why);
}

TEST(strategic_merge, merges_as_upstream_does)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        struct cor_json_patch_error why = {.message = ""};

        if (merge(cases[i].kind, cases[i].doc, cases[i].patch, &out, &why) < 0)
            fail_msg("%s: %s", cases[i].what, why.message);
        if (strcmp(cor_buf_z(&out), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].what, cor_buf_z(&out));
    }
}

/* Contract apply 13.2.1, 13.2.7, 13.3.3, 13.3.4, 13.3.6, 13.3.7, 13.4.6. */
TEST(strategic_merge, refuses_what_it_cannot_merge)
{
    static const struct {
        const char *patch, *words; /* NULL: any */
        int err;
    } bad[] = {
        {"[]", NULL, -COR_EINVAL},
        {"{", NULL, -COR_EINVAL},
        {"{\"spec\":{\"$retainKeys\":[\"a\"],\"b\":1}}", "invalid patch format of retainKeys",
         -COR_EINVAL},
        {"{\"spec\":{\"$retainKeys\":\"a\"}}", "invalid patch format of retainKeys", -COR_EINVAL},
        {"{\"spec\":{\"$retainKeys\":null}}", "invalid patch format of retainKeys", -COR_EINVAL},
        {"{\"spec\":{\"containers\":[{\"image\":\"a\"}]}}",
         "map: map[image:a] does not contain declared merge key: name", -COR_EINTERNAL},
        {"{\"spec\":{\"containers\":[{\"$patch\":\"delete\"}]}}",
         "map: map[$patch:delete] does not contain declared merge key: name", -COR_EINTERNAL},
        {"{\"spec\":{\"containers\":[1,null]}}",
         "list element types are not identical: [[map[name:a]] [1 <nil>]]", -COR_EINTERNAL},
        {"{\"spec\":{\"containers\":[{\"$patch\":\"merge\",\"name\":\"a\"}]}}",
         "merging lists cannot yet be specified in the patch", -COR_EINTERNAL},
        {"{\"spec\":{\"$setElementOrder/containers\":[],\"containers\":null}}",
         "expected a []interface {}, but received a %!s(<nil>)", -COR_EINTERNAL},
        {"{\"spec\":{\"$setElementOrder/volumes\":[],\"volumes\":{}}}",
         "expected a []interface {}, but received a map[string]interface {}", -COR_EINTERNAL},
        {"{\"spec\":{\"$setElementOrder/containers\":1.5}}",
         "expected a []interface {}, but received a float64", -COR_EINTERNAL},
        {"{\"$patch\":\"frob\",\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"z\":[1.5,true,1e6]}",
         "unknown patch type: frob in map: map[$patch:frob apiVersion:v1 kind:Pod z:[1.5 true 1e+06]]",
         -COR_EINTERNAL},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        struct cor_json_patch_error why = {.message = ""};

        assert_int_equal(
            merge(NULL, "{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}", bad[i].patch, &out, &why),
            bad[i].err);
        assert_int_equal(out.n, 0);
        if (bad[i].words)
            assert_string_equal(why.message, bad[i].words);
        else
            assert_string_not_equal(why.message, "");
    }
}

TEST(strategic_merge, survives_every_failed_allocation_of_a_refusal)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        struct cor_json_patch_error why = {.message = ""};
        int r = merge(NULL, cases[2].doc, "{\"spec\":{\"containers\":[{\"image\":\"a\"}]}}", &out,
                      &why);

        /* What fails after the refusal is not asked for any more. */
        if (r == -COR_EINTERNAL)
            assert_string_equal(why.message,
                                "map: map[image:a] does not contain declared merge key: name");
        else
            assert_true(r == -COR_ENOMEM && test_alloc_failed());
    }
}

/* As Go's %v prints a decoded value. */
TEST(go_text, prints_maps_sorted_and_numbers_as_go_does)
{
    static const char *const values[][2] = {
        {"{\"b\":{\"d\":null},\"c\":[\"x y\",[]]}", "map[b:map[d:<nil>] c:[x y []]]"},
        {"{\"kind\":\"K\",\"apiVersion\":\"v1\",\"a\":1,\"z\":{}}",
         "map[a:1 apiVersion:v1 kind:K z:map[]]"},
        {"[9223372036854775807,9223372036854775808,-1]",
         "[9223372036854775807 9.223372036854776e+18 -1]"},
        {"[0.1,100000.5,1000000.5,0.0001,0.00001,1e21]",
         "[0.1 100000.5 1.0000005e+06 0.0001 1e-05 1e+21]"},
        {"\"a\\n\\\"\u00e9\"", "a\n\"\u00e9"},
        {"{}", "map[]"},
        {"[1e999,-1e999]", "[1e999 -1e999]"},
        {"{\"kind\":{\"kind\":[1],\"z\":[{},{\"apiVersion\":2,\"kind\":3}]},\"b\":[[]],\"z\":1}",
         "map[b:[[]] kind:map[kind:[1] z:[map[] map[apiVersion:2 kind:3]]] z:1]"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(values); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 12};

        assert_int_equal(cor_go_text(cor_strz(values[i][0]), &out), 0);
        assert_string_equal(cor_buf_z(&out), values[i][1]);
    }
}

/* Lists and maps 900 deep around four million bytes: a print that looked for the end of each value
 * before it went into the value would read gigabytes. */
TEST(go_text, prints_deep_values_in_linear_time)
{
    static const char *const opening[] = {"[", "{\"kind\":"}, *const closing[] = {"]", "}"};

    for (size_t shape = 0; shape < COR_ARRAY_LEN(opening); shape++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf in = {.max = 1 << 23}, out = {.max = 1 << 12};

        for (size_t i = 0; i < 900; i++)
            assert_int_equal(cor_buf_addz(&in, opening[shape]), 0);
        assert_int_equal(cor_buf_addc(&in, '['), 0);
        for (size_t i = 0; i < 2000000; i++)
            assert_int_equal(cor_buf_addz(&in, i > 0 ? ",1" : "1"), 0);
        assert_int_equal(cor_buf_addc(&in, ']'), 0);
        for (size_t i = 0; i < 900; i++)
            assert_int_equal(cor_buf_addz(&in, closing[shape]), 0);
        assert_int_equal(cor_go_text(cor_buf_str(&in), &out), -COR_ETOOBIG);
    }
}

TEST(strategic_merge, replaces_every_list_of_a_kind_it_does_not_know)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};

    assert_int_equal(cor_strategic_merge(COR_STR("{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}"),
                                         COR_STR("{\"spec\":{\"containers\":[{\"name\":\"b\"}]}}"),
                                         NULL, &COR_JSON_LIMITS_DEFAULT, &out, NULL, NULL),
                     0);
    assert_string_equal(cor_buf_z(&out), "{\"spec\":{\"containers\":[{\"name\":\"b\"}]}}");
}

/* Each element of a merged list is charged, so that the merge ends where a loop's slice does. */
TEST(strategic_merge, ends_with_the_work)
{
    struct cor_work work = cor_work_new(true);
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = 1 << 20}, out = {.max = 1 << 20};

    limits.work = &work;
    assert_int_equal(cor_buf_addz(&list, "{\"spec\":{\"containers\":["), 0);
    for (unsigned i = 0; i < 4000; i++)
        assert_int_equal(cor_buf_addf(&list, "%s{\"name\":\"c%u\"}", i ? "," : "", i), 0);
    assert_int_equal(cor_buf_addz(&list, "]}}"), 0);
    assert_int_equal(cor_strategic_merge(cor_buf_str(&list), cor_buf_str(&list),
                                         cor_type_named(COR_STR("core_v1.Pod")), &limits, &out,
                                         NULL, NULL),
                     COR_WORK_YIELD);
    assert_uint_in_range(work.steps, work.slice, work.slice + 100);
    assert_int_equal(out.n, 0);
    work.slice = UINT64_MAX;
    assert_int_equal(cor_strategic_merge(cor_buf_str(&list), cor_buf_str(&list),
                                         cor_type_named(COR_STR("core_v1.Pod")), &limits, &out,
                                         NULL, NULL),
                     0);
    assert_string_equal(cor_buf_z(&out), cor_buf_z(&list));
}

TEST(strategic_merge, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        int r = merge(NULL, cases[2].doc, cases[2].patch, &out, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_string_equal(cor_buf_z(&out), cases[2].want);
    }
}

/* 80.0 is another key than 80 while lists are merged, and an integer in what the merge has made. */
TEST(strategic_merge, whole_numbers_become_integers_where_the_type_has_them)
{
    static const struct {
        const char *patch, *want;
    } rows[] = {
        {"{\"spec\":{\"priority\":1.0,\"activeDeadlineSeconds\":-2.5e1}}",
         "{\"spec\":{\"activeDeadlineSeconds\":-25,\"containers\":[{\"name\":\"c\",\"ports\":[{"
         "\"containerPort\":80}]}],\"priority\":1}}"},
        {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":80.0}],"
         "\"resources\":{\"limits\":{\"cpu\":1e3,\"x\":1.5}}}]}}",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":80},{"
         "\"containerPort\":80}],\"resources\":{\"limits\":{\"cpu\":1000,\"x\":1.5}}}]}}"},
        {"{\"metadata\":{\"labels\":{\"a\":1.0}},\"spec\":{\"priority\":1.5,\"overhead\":null},"
         "\"x\":2.0}",
         "{\"metadata\":{\"labels\":{\"a\":1.0}},\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":["
         "{\"containerPort\":80}]}],\"priority\":1.5},\"x\":2.0}"},
        {"{\"spec\":{\"activeDeadlineSeconds\":9223372036854775808,\"priority\":-9.3e18}}",
         "{\"spec\":{\"activeDeadlineSeconds\":9223372036854775808,\"containers\":[{\"name\":\"c\","
         "\"ports\":[{\"containerPort\":80}]}],\"priority\":-9.3e18}}"},
    };
    static const char doc[] =
        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":80}]}]}}";

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
            int r = merge(NULL, doc, rows[i].patch, &out, NULL);

            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            if (r == 0)
                assert_string_equal(cor_buf_z(&out), rows[i].want);
            else
                assert_int_equal(out.n, 0);
        }
    }
}
