/* Contract client 4.10. */
#include <stdio.h>

#include "base/err.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"
#include "test.h"

TEST(status_read, what_was_written_is_read)
{
    static const struct cor_gr pods = {COR_STR(""), COR_STR("pods")};
    struct cor_status from = {0}, to = {0};
    struct cor_buf json;

    cor_buf_init(&json, 4096);
    cor_status_not_found(&from, &pods, COR_STR("a\"b"));
    assert_int_equal(cor_status_write(&from, &json), 0);
    assert_int_equal(cor_status_read(&to, 404, cor_buf_str(&json)), -COR_ENOTFOUND);
    assert_int_equal(to.code, 404);
    assert_string_equal(to.reason, "NotFound");
    assert_string_equal(cor_status_message(&to), cor_status_message(&from));
    assert_string_equal(to.kind, "pods");
    assert_string_equal(to.name, "a\"b");
    cor_status_deinit(&from);
    cor_status_deinit(&to);
    cor_buf_deinit(&json);
}

TEST(status_read, causes_and_retry_after_are_read)
{
    struct cor_status from = {0}, to = {0};
    struct cor_buf json;

    cor_buf_init(&json, 4096);
    cor_status_too_large_rv(&from, 9, 3, 1);
    assert_int_equal(cor_status_write(&from, &json), 0);
    assert_int_equal(cor_status_read(&to, 504, cor_buf_str(&json)), -COR_EFUTURE);
    assert_int_equal(to.ncauses, 1);
    assert_string_equal(to.causes[0].type, "ResourceVersionTooLarge");
    assert_int_equal(to.retry_after_s, 1);
    cor_status_deinit(&from);
    cor_status_deinit(&to);
    cor_buf_deinit(&json);
}

TEST(status_read, seconds_to_wait_that_no_int32_holds_are_none)
{
    static const struct {
        const char *seconds;
        int64_t read;
    } rows[] = {{"2147483647", INT32_MAX},
                {"2147483648", 0},
                {"9223372036854775807", 0},
                {"-1", 0},
                {"1e400", 0},
                {"1.5", 0}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_status st = {0};
        char body[256];

        snprintf(body, sizeof(body),
                 "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":429,\"details\":{"
                 "\"retryAfterSeconds\":%s}}",
                 rows[i].seconds);
        cor_status_read(&st, 429, cor_strz(body));
        assert_int_equal(st.retry_after_s, rows[i].read);
        cor_status_deinit(&st);
    }
}

TEST(status_read, without_a_status_the_code_tells)
{
    static const struct {
        int code, err;
        const char *reason;
    } cases[] = {
        {400, COR_EINVAL, "BadRequest"},
        {401, COR_EUNAUTHORIZED, "Unauthorized"},
        {403, COR_EFORBIDDEN, "Forbidden"},
        {404, COR_ENOTFOUND, "NotFound"},
        {405, COR_ENOTSUP, "MethodNotAllowed"},
        {409, COR_ECONFLICT, "Conflict"},
        {410, COR_EEXPIRED, "Gone"},
        {415, COR_EMEDIATYPE, "UnsupportedMediaType"},
        {422, COR_EINVALID, "Invalid"},
        {429, COR_EBUSY, "TooManyRequests"},
        {500, COR_EINTERNAL, "InternalError"},
        {503, COR_EUNAVAILABLE, "ServiceUnavailable"},
        {504, COR_ETIMEOUT, "Timeout"},
        {502, COR_EUNAVAILABLE, "InternalError"},
        {418, COR_EINVAL, ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_status st = {0};

        assert_int_equal(cor_status_read(&st, cases[i].code, COR_STR("plain text\n")),
                         -cases[i].err);
        assert_int_equal(st.code, cases[i].code);
        assert_string_equal(st.reason, cases[i].reason);
        assert_string_equal(cor_status_message(&st), "plain text");
        cor_status_deinit(&st);
    }
}

TEST(status_read, a_success_or_another_kind_is_no_status)
{
    struct cor_status st = {0};

    assert_int_equal(
        cor_status_read(&st, 500, COR_STR("{\"kind\":\"Pod\",\"status\":\"Failure\"}")),
        -COR_EINTERNAL);
    assert_int_equal(
        cor_status_read(&st, 404, COR_STR("{\"kind\":\"Status\",\"status\":\"Success\"}")),
        -COR_ENOTFOUND);
    assert_int_equal(cor_status_read(&st, 404, COR_STR("")), -COR_ENOTFOUND);
    assert_int_equal(cor_status_read(&st, 404, COR_STR("{\"kind\":")), -COR_ENOTFOUND);
    cor_status_deinit(&st);
}

TEST(status_read, memory_costs_texts_not_the_code)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0};

        assert_int_equal(
            cor_status_read(
                &st, 409,
                COR_STR("{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
                        "\"AlreadyExists\",\"message\":\"m\",\"details\":{\"name\":\"a\","
                        "\"causes\":[{\"reason\":\"r\",\"message\":\"x\"}]}}")),
            -COR_EEXIST);
        cor_status_deinit(&st);
    }
}
