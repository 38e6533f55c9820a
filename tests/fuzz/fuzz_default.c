/* Promises of the default walk: whatever an object holds, the object with its defaults is canonical
 * and has none left to fill in. */
#include "base/err.h"
#include "fuzz.h"
#include "schema/default.h"
#include "json/json.h"
#include "json/scan.h"

#define OUT_MAX (1u << 26)

/* The type that the first members name; NULL: none is known. */
static const struct cor_type *type_of(struct cor_str json)
{
    struct cor_str kind, version, group;

    if (cor_json_get(json, COR_STR("kind"), COR_JSON_SORTED, &kind) < 0 ||
        cor_json_to_raw(kind, &kind) < 0 ||
        cor_json_get(json, COR_STR("apiVersion"), COR_JSON_SORTED, &version) < 0 ||
        cor_json_to_raw(version, &version) < 0)
        return NULL;
    group = cor_str_cut(&version, '/');
    if (!version.p) {
        version = group;
        group = cor_str("", 0);
    }
    return cor_type_of_kind(group, version, kind);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX};
    struct cor_buf in, out, again;
    const struct cor_type *type = NULL;
    bool is_canonical;
    int r;

    cor_buf_init(&in, OUT_MAX);
    cor_buf_init(&out, OUT_MAX);
    cor_buf_init(&again, OUT_MAX);
    if (cor_json_canonicalize(cor_str((const char *)data, size), &limits, &in, NULL, NULL) == 0)
        type = type_of(cor_buf_str(&in));
    if (type) {
        r = cor_default(type, cor_buf_str(&in), &out);
        FUZZ_CHECK(r == 0 || r == 1 || r == -COR_ETOOBIG);
        FUZZ_CHECK((r == 1) == (out.n > 0));
        if (r == 1) {
            FUZZ_CHECK(cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL) == 0);
            FUZZ_CHECK(is_canonical);
            FUZZ_CHECK(cor_default(type, cor_buf_str(&out), &again) == 0);
        }
    }
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
    cor_buf_deinit(&again);
    return 0;
}
