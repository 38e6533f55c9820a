/* Promises of the protobuf reader and writer: nothing outside of the bytes is read, what is made of
 * them is JSON, but for its depth, and that JSON is the same after a way through protobuf. */
#include "base/err.h"
#include "fuzz.h"
#include "schema/protobuf/protobuf.h"
#include "json/text/json.h"

#define OUT_MAX (1u << 24)

/* Appends what is left of JSON after a way through protobuf. False: it cannot go, since a text was
 * mended into something that its field does not take. */
static bool there_and_back(const struct cor_protobuf *read, const struct cor_type *type,
                           struct cor_str json, struct cor_buf *out)
{
    struct cor_protobuf again;
    struct cor_buf pb;
    int r;

    cor_buf_init(&pb, OUT_MAX);
    r = cor_protobuf_from_json(read->api_version, read->kind, type, json, &pb, NULL);
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG);
    if (r == 0) {
        FUZZ_CHECK(cor_protobuf_open(cor_buf_str(&pb), &again, NULL) == 0);
        r = cor_protobuf_to_json(&again, type, out, NULL);
        FUZZ_CHECK(r == 0 || r == -COR_ETOOBIG);
    }
    cor_buf_deinit(&pb);
    return r == 0;
}

/* A pointer to a zero time is null in JSON, and null is no pointer: the first way may lose it, the
 * second loses nothing. */
static void go_twice(const struct cor_protobuf *read, const struct cor_type *type,
                     struct cor_str json)
{
    struct cor_buf first, second;

    cor_buf_init(&first, OUT_MAX);
    cor_buf_init(&second, OUT_MAX);
    if (there_and_back(read, type, json, &first)) {
        FUZZ_CHECK(there_and_back(read, type, cor_buf_str(&first), &second));
        FUZZ_CHECK(cor_str_eq(cor_buf_str(&first), cor_buf_str(&second)));
    }
    cor_buf_deinit(&first);
    cor_buf_deinit(&second);
}

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
    if (r == 0)
        go_twice(&object, type, cor_buf_str(&out));
    cor_buf_deinit(&out);
    return 0;
}
