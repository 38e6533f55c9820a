/* Promises about OpenAPI documents of other servers: a document is taken or refused. Of one that
 * was taken the part of a group version is taken again; it converts to a document of version 3 that
 * is taken; and merged into a document of ours it gives JSON that has no reference to nothing and
 * converts to protobuf. */
#include "base/err.h"
#include "base/limits.h"
#include "fuzz.h"
#include "server/aggregation/openapi_convert.h"
#include "server/aggregation/openapi_parse.h"
#include "server/docs/openapi_merge.h"
#include "server/docs/openapi_protobuf.h"

#define BYTES_MAX (1u << 25)

static void check_merged(struct cor_str part)
{
    static const struct cor_str local = COR_STR(
        "{\"swagger\":\"2.0\",\"paths\":{\"/api/\":{}},\"definitions\":{\"A\":{\"description\":\"d\",\"type\":"
        "\"object\",\"x-kubernetes-group-version-kind\":[{\"group\":\"\",\"kind\":\"A\",\"version\":\"v1\"}]}},"
        "\"parameters\":{\"p\":{\"in\":\"query\",\"name\":\"p\"}}}");
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf out = {.max = BYTES_MAX}, message = {.max = BYTES_MAX};
    const struct cor_str others[] = {part, part};
    struct cor_openapi_remote again;

    FUZZ_CHECK(cor_openapi_merge(local, others, 2, &out) == 0);
    FUZZ_CHECK(cor_openapi_to_protobuf(cor_buf_str(&out), COR_OPENAPI_2, &message) == 0);
    if (out.n <= COR_REMOTE_OPENAPI_BYTES)
        FUZZ_CHECK(cor_openapi_remote_init(&again, cor_buf_str(&out)) == 0);
    else
        cor_buf_init(&again.json, 0), again.spec.nodes.v = NULL;
    cor_openapi_remote_deinit(&again);
}

static void check_part(struct cor_openapi_remote *remote)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf part = {.max = BYTES_MAX}, v3 = {.max = BYTES_MAX}, taken = {.max = BYTES_MAX};
    int r;

    FUZZ_CHECK(cor_openapi_remote_write(remote, COR_STR("g"), COR_STR("v1"), &part) == 0);
    r = cor_openapi_convert(cor_buf_str(&part), &v3);
    FUZZ_CHECK(r == 0 || r == -COR_ETOOBIG);
    if (r == 0 && v3.n <= COR_REMOTE_OPENAPI_BYTES)
        (void)cor_openapi_take_3(cor_buf_str(&v3), &taken);
    check_merged(cor_buf_str(&part));
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
    struct cor_openapi_remote remote;
    char hash[COR_REMOTE_INDEX_HASH_MAX];

    if (cor_openapi_remote_init(&remote, in) == 0)
        check_part(&remote);
    cor_openapi_remote_deinit(&remote);
    (void)cor_openapi_take_3(in, &out);
    (void)cor_openapi_index_find(in, COR_STR("apis/g/v1"), hash);
    return 0;
}
