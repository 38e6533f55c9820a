/* Promises of the protobuf reader: it reads nothing outside of its bytes, and what it makes is
 * JSON, but for its depth. */
#include "base/err.h"
#include "fuzz.h"
#include "schema/protobuf.h"
#include "json/json.h"

#define OUT_MAX (1u << 24)

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX};
    const struct cor_gvk pod = {COR_STR(""), COR_STR("v1"), COR_STR("Pod")};
    const struct cor_type *type;
    struct cor_protobuf object;
    struct cor_buf out;
    bool is_canonical;
    int r = -COR_EINVAL;

    cor_buf_init(&out, OUT_MAX);
    if (cor_protobuf_open(cor_str((const char *)data, size), &object, NULL) == 0 &&
        (type = cor_protobuf_type(&object, &pod)))
        r = cor_protobuf_to_json(&object, type, &out, NULL);
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG);
    if (r == 0)
        FUZZ_CHECK(cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL) == 0);
    cor_buf_deinit(&out);
    return 0;
}
