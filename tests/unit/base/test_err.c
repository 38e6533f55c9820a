#include "base/err.h"

#include <string.h>

#include "base/cleanup.h"
#include "test.h"

TEST(err, each_row_gives_name_status_and_reason)
{
    assert_string_equal(cor_err_name(-COR_EEXPIRED), "EEXPIRED");
    assert_int_equal(cor_err_http(-COR_EEXPIRED), 410);
    assert_string_equal(cor_err_reason(-COR_EEXPIRED), "Expired");
    assert_false(cor_err_retryable(-COR_EEXPIRED));
    assert_true(cor_err_retryable(-COR_EBUSY));
}

TEST(err, what_may_help_to_try_again_is_told_as_such)
{
    static const int again[] = {-COR_EBROKEN,  -COR_EUNAVAILABLE, -COR_EUNREACHABLE,
                                -COR_ETIMEOUT, -COR_EBUSY,        -COR_ECONFLICT};
    static const int in_vain[] = {-COR_EINVAL, -COR_ETLS, -COR_EPROTOCOL, -COR_ECANCELED,
                                  -COR_EFORBIDDEN};

    for (size_t i = 0; i < COR_ARRAY_LEN(again); i++)
        assert_true(cor_err_retryable(again[i]));
    for (size_t i = 0; i < COR_ARRAY_LEN(in_vain); i++)
        assert_false(cor_err_retryable(in_vain[i]));
}

TEST(err, texts_are_for_clients_as_well_as_for_servers)
{
    for (int r = -1; r > -COR_ERR_INDEX_MAX; r--)
        assert_null(strstr(cor_err_text(r), "storage"));
}

TEST(err, success_is_200_without_a_reason)
{
    assert_int_equal(cor_err_http(0), 200);
    assert_string_equal(cor_err_reason(0), "");
}

TEST(err, an_unknown_code_reads_as_internal)
{
    assert_int_equal(cor_err_http(-9999), 500);
    assert_string_equal(cor_err_name(5), "EINTERNAL");
}
