#include "base/err.h"
#include "test.h"

TEST(err, each_row_gives_name_status_and_reason)
{
    assert_string_equal(cor_err_name(-COR_EEXPIRED), "EEXPIRED");
    assert_int_equal(cor_err_http(-COR_EEXPIRED), 410);
    assert_string_equal(cor_err_reason(-COR_EEXPIRED), "Expired");
    assert_false(cor_err_retryable(-COR_EEXPIRED));
    assert_true(cor_err_retryable(-COR_EBUSY));
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
