#include "base/err.h"
#include "coracle/status_is.h"
#include "meta/status/status.h"
#include "test.h"

/* Contract client 4.10.2, 4.10.3; the messages are apimachinery's. */
TEST(status_generic, speaks_for_a_server_that_did_not)
{
    static const struct {
        int code;
        const char *method;
        int err;
        const char *reason, *message;
    } cases[] = {
        {404, "GET", COR_ENOTFOUND, "NotFound", "the server could not find the requested resource"},
        {409, "POST", COR_EEXIST, "AlreadyExists", "the server reported a conflict"},
        {409, "PUT", COR_ECONFLICT, "Conflict", "the server reported a conflict"},
        {403, "GET", COR_EFORBIDDEN, "Forbidden", "said"},
        {406, "GET", COR_ENOTACCEPTABLE, "NotAcceptable", "said"},
        {503, "GET", COR_EUNAVAILABLE, "ServiceUnavailable",
         "the server is currently unable to handle the request"},
        {502, "GET", COR_EUNAVAILABLE, "InternalError",
         "an error on the server (\"said\") has prevented the request from succeeding"},
        {418, "GET", COR_EINVAL, "",
         "the server responded with the status code 418 but did not return more information"},
        {410, "GET", COR_EEXPIRED, "",
         "the server responded with the status code 410 but did not return more information"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_status st = {0};

        assert_int_equal(cor_status_generic(&st, cases[i].code, cor_strz(cases[i].method),
                                            COR_STR(" said\n"), 3),
                         -cases[i].err);
        assert_int_equal(st.code, cases[i].code);
        assert_string_equal(st.reason, cases[i].reason);
        assert_string_equal(cor_status_message(&st), cases[i].message);
        assert_int_equal(st.retry_after_s, 3);
        assert_true(cor_status_is_unexpected_answer(&st));
        assert_string_equal(st.causes[0].message, "said");
        cor_status_deinit(&st);
    }
}

TEST(status_generic, keeps_the_code_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0};

        assert_int_equal(cor_status_generic(&st, 500, COR_STR("GET"), COR_STR("x"), 0),
                         -COR_EINTERNAL);
        assert_int_equal(st.code, 500);
        cor_status_deinit(&st);
    }
}
