/* Promises of the walk that normalises: the result is JSON, canonical but for raw values, and
 * normalising or rewriting it again changes nothing. The first byte chooses the type. */
#include "base/err.h"
#include "fuzz.h"
#include "schema/walk/normalize.h"
#include "json/text/json.h"

#define OUT_MAX (1u << 22)

static const char *const types[] = {
    "core_v1.ConfigMap",
    "core_v1.Secret",
    "core_v1.Pod",
    "apps_v1.Deployment",
    "apps_v1.ControllerRevision",
    "core_v1.Event",
    "coordination_v1.Lease",
    "apiextensions_v1.CustomResourceDefinition",
    "resource_v1.ResourceClaim",
    "core_v1.Service",
};

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX, true};
    struct cor_buf in, once, twice;
    const struct cor_type *type;
    bool is_canonical;
    int r;

    if (size == 0)
        return 0;
    type = cor_type_named(cor_strz(types[data[0] % COR_ARRAY_LEN(types)]));
    FUZZ_CHECK(type);
    cor_buf_init(&in, OUT_MAX);
    cor_buf_init(&once, OUT_MAX);
    cor_buf_init(&twice, OUT_MAX);
    r = cor_json_canonicalize(cor_str((const char *)data + 1, size - 1), &limits, &in, NULL, NULL);
    if (r == 0) {
        r = cor_normalize(type, cor_buf_str(&in), &once);
        FUZZ_CHECK(r == 0 || r == 1 || r == -COR_ETOOBIG);
        FUZZ_CHECK(r == 1 || once.n == 0);
    }
    if (r == 1) {
        FUZZ_CHECK(cor_json_check(cor_buf_str(&once), &limits, &is_canonical, NULL) == 0);
        FUZZ_CHECK(is_canonical || cor_type_is(type, COR_TYPE_RAW));
        FUZZ_CHECK(cor_normalize(type, cor_buf_str(&once), &twice) == 0);
    }
    cor_buf_deinit(&in);
    cor_buf_deinit(&once);
    cor_buf_deinit(&twice);
    return 0;
}
