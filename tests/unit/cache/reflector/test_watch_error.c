#include "cache/reflector/watch_error.h"
#include "coracle/reflector_report.h"
#include "test.h"

static struct cor_status of(int err, int code, const char *reason)
{
    return (struct cor_status){.err = err, .code = code, .reason = reason};
}

TEST(reflector_report, each_has_a_name_of_its_own)
{
    for (int i = 0; i <= COR_REFLECTOR_SLOW_HANDLER; i++) {
        const char *name = cor_reflector_report_name((enum cor_reflector_report)i);

        assert_non_null(name);
        assert_string_not_equal(name, "unknown");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, cor_reflector_report_name((enum cor_reflector_report)k));
    }
    assert_string_equal(cor_reflector_report_name(COR_REFLECTOR_WATCH_EXPIRED), "watch expired");
    assert_string_equal(
        cor_reflector_report_name((enum cor_reflector_report)(COR_REFLECTOR_SLOW_HANDLER + 1)),
        "unknown");
}

/* Contract client 1.14.11. */
TEST(watch_error, expired_and_gone_are_one)
{
    struct cor_status expired = of(-COR_EEXPIRED, 410, "Expired");
    struct cor_status gone = of(-COR_EINTERNAL, 410, "Gone");
    struct cor_status bare = of(-COR_EINTERNAL, 410, "");
    struct cor_status not_found = of(-COR_ENOTFOUND, 404, "NotFound");

    assert_true(cor_watch_error_expired(&expired));
    assert_true(cor_watch_error_expired(&gone));
    assert_true(cor_watch_error_expired(&bare));
    assert_false(cor_watch_error_expired(&not_found));
}

/* Contract client 1.14.11. */
TEST(watch_error, too_large_by_cause_by_legacy_cause_message_and_by_legacy_message)
{
    struct cor_status st = {0};

    cor_status_too_large_rv(&st, 20, 10, 1);
    assert_true(cor_watch_error_too_large_rv(&st));

    st.err = -COR_ETIMEOUT; /* as read from the wire */
    assert_true(cor_watch_error_too_large_rv(&st));

    cor_status_timeout(&st, 1, "Timeout");
    assert_false(cor_watch_error_too_large_rv(&st));
    assert_int_equal(cor_status_add_cause(&st, NULL, "Too large resource version", NULL), 0);
    assert_true(cor_watch_error_too_large_rv(&st));

    cor_status_timeout(&st, 1, "Too large resource version: 20, current: 10");
    assert_true(cor_watch_error_too_large_rv(&st));

    cor_status_bad_request(&st, "Too large resource version: 20, current: 10");
    assert_false(cor_watch_error_too_large_rv(&st));
    cor_status_deinit(&st);
}

TEST(watch_error, internal_by_reason_or_by_code_without_a_reason)
{
    struct cor_status internal = of(-COR_EINTERNAL, 500, "InternalError");
    struct cor_status untyped = of(-COR_EIO, 500, "");
    struct cor_status unreadable = of(-COR_EINTERNAL, 500, "StoreReadError");
    struct cor_status unreachable = of(-COR_EUNREACHABLE, 500, "");

    assert_true(cor_watch_error_internal(&internal));
    assert_true(cor_watch_error_internal(&untyped));
    assert_false(cor_watch_error_internal(&unreadable));
    assert_false(cor_watch_error_internal(&unreachable));
    assert_true(cor_watch_error_unreachable(&unreachable));
    assert_false(cor_watch_error_unreachable(&untyped));
}
