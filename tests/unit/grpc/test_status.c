#include "test.h"

#include "base/err.h"
#include "grpc/grpc_status.h"

TEST(grpc_status, numbers_are_grpcs)
{
    assert_int_equal(COR_GRPC_OK, 0);
    assert_int_equal(COR_GRPC_UNAVAILABLE, 14);
    assert_int_equal(COR_GRPC_UNAUTHENTICATED, 16);
}

TEST(grpc_status, what_is_no_code_reads_as_unknown)
{
    assert_int_equal(cor_grpc_code_parse(COR_STR("0")), COR_GRPC_OK);
    assert_int_equal(cor_grpc_code_parse(COR_STR("16")), COR_GRPC_UNAUTHENTICATED);
    assert_int_equal(cor_grpc_code_parse(COR_STR("17")), COR_GRPC_UNKNOWN);
    assert_int_equal(cor_grpc_code_parse(COR_STR("-1")), COR_GRPC_UNKNOWN);
    assert_int_equal(cor_grpc_code_parse(COR_STR("")), COR_GRPC_UNKNOWN);
    assert_int_equal(cor_grpc_code_parse(COR_STR("OK")), COR_GRPC_UNKNOWN);
    assert_int_equal(cor_grpc_code_parse(COR_STR("4294967296")), COR_GRPC_UNKNOWN);
}

/* The table of gRPC's doc/http-grpc-status-mapping.md. */
TEST(grpc_status, http_statuses_have_their_codes)
{
    static const struct {
        int http;
        enum cor_grpc_code code;
    } rows[] = {
        {400, COR_GRPC_INTERNAL},          {401, COR_GRPC_UNAUTHENTICATED},
        {403, COR_GRPC_PERMISSION_DENIED}, {404, COR_GRPC_UNIMPLEMENTED},
        {429, COR_GRPC_UNAVAILABLE},       {502, COR_GRPC_UNAVAILABLE},
        {503, COR_GRPC_UNAVAILABLE},       {504, COR_GRPC_UNAVAILABLE},
        {500, COR_GRPC_UNKNOWN},           {302, COR_GRPC_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(cor_grpc_code_of_http(rows[i].http), rows[i].code);
}
