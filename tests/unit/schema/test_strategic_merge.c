#include "schema/strategic_merge.h"

#include "base/err.h"
#include "test.h"

static const struct {
    const char *what, *doc, *patch, *want;
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
     "{\"spec\":{\"containers\":[{\"name\":\"z\"},{\"name\":\"x\"}]}}"},
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
    {"ports of a container and of a service have other keys",
     "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":1,\"name\":\"p\"}]}"
     "],\"ports\":[{\"name\":\"s\",\"port\":80}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":1,\"name\":\"q\"}]}"
     "],\"ports\":[{\"name\":\"t\",\"port\":80}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":1,\"name\":\"q\"}]}"
     "],\"ports\":[{\"name\":\"t\",\"port\":80}]}}"},
    {"conditions are merged by type",
     "{\"status\":{\"conditions\":[{\"status\":\"False\",\"type\":\"Ready\"}]}}",
     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
     "{\"status\":{\"conditions\":[{\"status\":\"True\",\"type\":\"Ready\"}]}}"},
};

static int merge(const char *doc, const char *patch, struct cor_buf *out,
                 struct cor_json_patch_error *why)
{
    return cor_strategic_merge(cor_strz(doc), cor_strz(patch), &COR_JSON_LIMITS_DEFAULT, out, NULL,
                               why);
}

TEST(strategic_merge, merges_as_upstream_does)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        struct cor_json_patch_error why = {.message = ""};

        if (merge(cases[i].doc, cases[i].patch, &out, &why) < 0)
            fail_msg("%s: %s", cases[i].what, why.message);
        if (strcmp(cor_buf_z(&out), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].what, cor_buf_z(&out));
    }
}

TEST(strategic_merge, refuses_what_it_cannot_merge)
{
    static const char *const patches[] = {
        "[]",
        "{",
        "{\"spec\":{\"containers\":[{\"image\":\"a\"}]}}",
        "{\"spec\":{\"containers\":[1]}}",
        "{\"$patch\":\"frob\"}",
        "{\"spec\":{\"$retainKeys\":[\"a\"],\"b\":1}}",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(patches); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        struct cor_json_patch_error why = {.message = ""};

        assert_int_equal(
            merge("{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}", patches[i], &out, &why),
            -COR_EINVAL);
        assert_int_equal(out.n, 0);
        assert_string_not_equal(why.message, "");
    }
}

TEST(strategic_merge, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        int r = merge(cases[2].doc, cases[2].patch, &out, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_string_equal(cor_buf_z(&out), cases[2].want);
    }
}
