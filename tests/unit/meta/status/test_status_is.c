#include "coracle/status_is.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

static const struct {
    const char *reason;
    int code; /* that stands for it; 0: none */
    bool (*is)(const struct cor_status *st);
} kinds[] = {
    {"BadRequest", 400, cor_status_is_bad_request},
    {"Unauthorized", 401, cor_status_is_unauthorized},
    {"Forbidden", 403, cor_status_is_forbidden},
    {"NotFound", 404, cor_status_is_not_found},
    {"AlreadyExists", 0, cor_status_is_already_exists},
    {"Conflict", 409, cor_status_is_conflict},
    {"Invalid", 422, cor_status_is_invalid},
    {"Gone", 410, cor_status_is_gone},
    {"Expired", 0, cor_status_is_expired},
    {"NotAcceptable", 406, cor_status_is_not_acceptable},
    {"UnsupportedMediaType", 415, cor_status_is_unsupported_media_type},
    {"MethodNotAllowed", 405, cor_status_is_method_not_supported},
    {"Timeout", 504, cor_status_is_timeout},
    {"ServerTimeout", 0, cor_status_is_server_timeout},
    {"TooManyRequests", 429, cor_status_is_too_many_requests},
    {"RequestEntityTooLarge", 413, cor_status_is_request_too_large},
    {"InternalError", 500, cor_status_is_internal_error},
    {"ServiceUnavailable", 503, cor_status_is_service_unavailable},
};

/* Contract client 4.10.4. */
TEST(status_is, the_reason_decides)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++) {
        struct cor_status st = {.err = -COR_EINTERNAL, .code = 599, .reason = kinds[i].reason};

        for (size_t k = 0; k < COR_ARRAY_LEN(kinds); k++)
            assert_int_equal(kinds[k].is(&st), i == k);
    }
}

TEST(status_is, the_code_stands_in_for_a_reason)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++) {
        struct cor_status st = {.err = -COR_EINTERNAL, .code = kinds[i].code, .reason = ""};

        for (size_t k = 0; k < COR_ARRAY_LEN(kinds); k++)
            assert_int_equal(kinds[k].is(&st), i == k && kinds[i].code != 0);
    }
}

TEST(status_is, too_many_and_too_large_are_known_by_their_code_too)
{
    struct cor_status st = {.err = -COR_EINTERNAL, .code = 429, .reason = "NotFound"};

    assert_true(cor_status_is_too_many_requests(&st));
    st.code = 413;
    assert_true(cor_status_is_request_too_large(&st));
}

TEST(status_is, nothing_is_none_of_them)
{
    struct cor_status st = {0};

    for (size_t k = 0; k < COR_ARRAY_LEN(kinds); k++)
        assert_false(kinds[k].is(&st));
}

TEST(status_is, a_delay_is_suggested_by_seconds_or_a_server_timeout)
{
    struct cor_status st = {.reason = "TooManyRequests", .code = 429, .retry_after_s = 7};
    int64_t seconds = -1;

    assert_true(cor_status_suggests_delay(&st, &seconds));
    assert_int_equal(seconds, 7);
    st.retry_after_s = 0;
    assert_false(cor_status_suggests_delay(&st, &seconds));
    st.reason = "ServerTimeout";
    assert_true(cor_status_suggests_delay(&st, &seconds));
    assert_int_equal(seconds, 0);
}
