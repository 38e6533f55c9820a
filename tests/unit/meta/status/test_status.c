#include "base/mem.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"
#include "test.h"

static const struct cor_gr configmaps = {COR_STR(""), COR_STR("configmaps")};
static const struct cor_gr deployments = {COR_STR("apps"), COR_STR("deployments")};

static void check(const struct cor_status *st, int err, int code, const char *reason,
                  const char *message)
{
    assert_int_equal(st->err, err);
    assert_int_equal(st->code, code);
    assert_string_equal(st->reason, reason);
    assert_string_equal(cor_status_message(st), message);
}

static void check_details(const struct cor_status *st, const char *name, const char *group,
                          const char *kind)
{
    assert_true(st->has_details);
    assert_string_equal(st->name, name);
    if (group)
        assert_string_equal(st->group, group);
    else
        assert_null(st->group);
    assert_string_equal(st->kind, kind);
}

TEST(status, not_found_names_the_resource_and_the_object)
{
    struct cor_status st = {0};

    assert_int_equal(cor_status_not_found(&st, &configmaps, COR_STR("x")), -COR_ENOTFOUND);
    check(&st, -COR_ENOTFOUND, 404, "NotFound", "configmaps \"x\" not found");
    check_details(&st, "x", NULL, "configmaps");
    cor_status_deinit(&st);
}

TEST(status, already_exists_prints_the_group_after_the_resource)
{
    struct cor_status st = {0};

    assert_int_equal(cor_status_already_exists(&st, &deployments, COR_STR("d")), -COR_EEXIST);
    check(&st, -COR_EEXIST, 409, "AlreadyExists", "deployments.apps \"d\" already exists");
    check_details(&st, "d", "apps", "deployments");
    cor_status_deinit(&st);
}

TEST(status, conflict_says_why)
{
    struct cor_status st = {0};

    assert_int_equal(cor_status_conflict(&st, &configmaps, COR_STR("c"), "the %s", "reason"),
                     -COR_ECONFLICT);
    check(&st, -COR_ECONFLICT, 409, "Conflict",
          "Operation cannot be fulfilled on configmaps \"c\": the reason");
    check_details(&st, "c", NULL, "configmaps");
    cor_status_deinit(&st);
}

TEST(status, internal_error_repeats_its_text_as_a_cause)
{
    struct cor_status st = {0};

    assert_int_equal(cor_status_internal(&st, "disk %d", 7), -COR_EINTERNAL);
    check(&st, -COR_EINTERNAL, 500, "InternalError", "Internal error occurred: disk 7");
    assert_int_equal(st.ncauses, 1);
    assert_string_equal(st.causes[0].message, "disk 7");
    assert_null(st.causes[0].type);
    assert_null(st.causes[0].field);
    cor_status_deinit(&st);
}

TEST(status, too_large_resource_version_is_a_timeout_with_a_cause)
{
    struct cor_status st = {0};

    assert_int_equal(cor_status_too_large_rv(&st, 999, 57, 1), -COR_EFUTURE);
    check(&st, -COR_EFUTURE, 504, "Timeout",
          "Timeout: Too large resource version: 999, current: 57");
    assert_int_equal(st.ncauses, 1);
    assert_string_equal(st.causes[0].type, "ResourceVersionTooLarge");
    assert_string_equal(st.causes[0].message, "Too large resource version");
    assert_int_equal(st.retry_after_s, 1);
    cor_status_deinit(&st);
}

TEST(status, the_other_kinds_carry_upstreams_words)
{
    struct cor_status st = {0};

    assert_int_equal(cor_status_bad_request(&st, "no %s", "way"), -COR_EINVAL);
    check(&st, -COR_EINVAL, 400, "BadRequest", "no way");
    assert_false(st.has_details);

    assert_int_equal(cor_status_expired(&st, "too old resource version: %d (%d)", 1, 57),
                     -COR_EEXPIRED);
    check(&st, -COR_EEXPIRED, 410, "Expired", "too old resource version: 1 (57)");

    assert_int_equal(cor_status_timeout(&st, 3, "slow"), -COR_ETIMEOUT);
    check(&st, -COR_ETIMEOUT, 504, "Timeout", "Timeout: slow");
    assert_int_equal(st.retry_after_s, 3);

    assert_int_equal(cor_status_too_many_requests(&st, "later", 5), -COR_EBUSY);
    check(&st, -COR_EBUSY, 429, "TooManyRequests", "later");
    assert_int_equal(st.retry_after_s, 5);

    assert_int_equal(cor_status_server_timeout(&st, &deployments, "list", 2), -COR_EUNREACHABLE);
    check(&st, -COR_EUNREACHABLE, 500, "ServerTimeout",
          "The list operation against deployments.apps could not be completed at this time, please "
          "try again.");
    check_details(&st, "list", "apps", "deployments");
    assert_int_equal(st.retry_after_s, 2);

    assert_int_equal(cor_status_untyped(&st, -COR_EINVAL, "plain"), -COR_EINVAL);
    check(&st, -COR_EINVAL, 500, "", "plain");
    cor_status_deinit(&st);
}

TEST(status, every_filler_accepts_no_status)
{
    assert_int_equal(cor_status_set(NULL, -COR_EIO, "x"), -COR_EIO);
    assert_int_equal(cor_status_untyped(NULL, -COR_EIO, "x"), -COR_EIO);
    assert_int_equal(cor_status_not_found(NULL, &configmaps, COR_STR("x")), -COR_ENOTFOUND);
    assert_int_equal(cor_status_already_exists(NULL, &configmaps, COR_STR("x")), -COR_EEXIST);
    assert_int_equal(cor_status_conflict(NULL, &configmaps, COR_STR("x"), "y"), -COR_ECONFLICT);
    assert_int_equal(cor_status_bad_request(NULL, "x"), -COR_EINVAL);
    assert_int_equal(cor_status_internal(NULL, "x"), -COR_EINTERNAL);
    assert_int_equal(cor_status_expired(NULL, "x"), -COR_EEXPIRED);
    assert_int_equal(cor_status_timeout(NULL, 1, "x"), -COR_ETIMEOUT);
    assert_int_equal(cor_status_too_large_rv(NULL, 2, 1, 0), -COR_EFUTURE);
    assert_int_equal(cor_status_server_timeout(NULL, &configmaps, "get", 2), -COR_EUNREACHABLE);
    assert_int_equal(cor_status_too_many_requests(NULL, "x", 1), -COR_EBUSY);
}

TEST(status, a_message_can_wrap_the_one_it_replaces)
{
    struct cor_status st = {0};

    cor_status_not_found(&st, &configmaps, COR_STR("x"));
    cor_status_set(&st, st.err, "read %s: %s", st.name, st.message);
    check(&st, -COR_ENOTFOUND, 404, "NotFound", "read x: configmaps \"x\" not found");
    assert_false(st.has_details);
    cor_status_deinit(&st);
}

TEST(status, a_long_message_is_cut_between_characters)
{
    struct cor_status st = {0};
    char *long_text = cor_alloc(COR_STATUS_MESSAGE_MAX + 3);

    memset(long_text, 'a', COR_STATUS_MESSAGE_MAX - 1);
    memcpy(long_text + COR_STATUS_MESSAGE_MAX - 1, "\xc3\xa9!", 4);
    cor_status_set(&st, -COR_EIO, "%s", long_text);
    assert_int_equal(strlen(st.message), COR_STATUS_MESSAGE_MAX - 1);
    cor_status_deinit(&st);
    cor_free(long_text);
}

TEST(status, causes_stop_at_their_maximum)
{
    struct cor_status st = {0};

    for (size_t i = 0; i < COR_STATUS_CAUSES_MAX + 5; i++)
        assert_int_equal(cor_status_add_cause(&st, "t", "m", "f"), 0);
    assert_int_equal(st.ncauses, COR_STATUS_CAUSES_MAX);
    cor_status_deinit(&st);
}

TEST(status, a_copy_is_complete_and_a_move_leaves_nothing)
{
    struct cor_status a = {0}, b = {0}, c = {0};

    cor_status_too_large_rv(&a, 9, 5, 1);
    assert_int_equal(cor_status_set_details(&a, COR_STR("n"), COR_STR("g"), COR_STR("k")), 0);
    assert_int_equal(cor_status_set_continue(&a, COR_STR("token")), 0);
    assert_int_equal(cor_status_copy(&b, &a), 0);
    cor_status_move(&c, &a);
    for (const struct cor_status *st = &b; st; st = st == &b ? &c : NULL) {
        check(st, -COR_EFUTURE, 504, "Timeout",
              "Timeout: Too large resource version: 9, current: 5");
        check_details(st, "n", "g", "k");
        assert_string_equal(st->continue_token, "token");
        assert_int_equal(st->ncauses, 1);
        assert_int_equal(st->retry_after_s, 1);
    }
    assert_int_equal(a.err, 0);
    assert_null(a.message);
    cor_status_deinit(&b);
    cor_status_deinit(&c);
}

TEST(status, out_of_memory_never_costs_the_code)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0}, copy = {0};

        cor_status_conflict(&st, &deployments, COR_STR("d"), "busy");
        assert_int_equal(st.code, 409);
        assert_string_equal(st.reason, "Conflict");
        assert_non_null(cor_status_message(&st));
        cor_status_internal(&st, "broken");
        assert_int_equal(st.code, 500);
        cor_status_too_large_rv(&st, 2, 1, 1);
        assert_int_equal(st.code, 504);
        (void)cor_status_set_continue(&st, COR_STR("token"));
        (void)cor_status_copy(&copy, &st);
        assert_int_equal(copy.code, 504);
        cor_status_deinit(&st);
        cor_status_deinit(&copy);
    }
}

/* Without memory for all of it a copy says so, and has the code. */
TEST(status, a_copy_that_says_success_is_whole)
{
    struct cor_status st = {0};
    size_t nfailed = 0;

    cor_status_too_large_rv(&st, 9, 5, 1);
    cor_status_set_details(&st, COR_STR("n"), COR_STR("g"), COR_STR("k"));
    assert_int_equal(cor_status_set_continue(&st, COR_STR("token")), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status copy = {0};
        int r = cor_status_copy(&copy, &st);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(copy.err, -COR_EFUTURE);
        assert_int_equal(copy.code, 504);
        nfailed += r < 0;
        if (r == 0) {
            assert_string_equal(copy.message, st.message);
            check_details(&copy, "n", "g", "k");
            assert_string_equal(copy.continue_token, "token");
            assert_int_equal(copy.ncauses, 1);
        }
        cor_status_deinit(&copy);
    }
    /* The message, three details, the token, the list of causes, and the cause's two texts. */
    assert_true(nfailed >= 7);
    cor_status_deinit(&st);
}

static void check_json(const struct cor_status *st, const char *want)
{
    struct cor_buf b;

    cor_buf_init(&b, 4096);
    assert_int_equal(cor_status_write(st, &b), 0);
    assert_string_equal(cor_buf_z(&b), want);
    cor_buf_deinit(&b);
}

TEST(status, is_written_in_upstreams_order)
{
    struct cor_status st = {0};

    cor_status_not_found(&st, &(struct cor_gr){COR_STR(""), COR_STR("pods")}, COR_STR("x"));
    check_json(&st, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                    "\"status\":\"Failure\",\"message\":\"pods \\\"x\\\" not found\","
                    "\"reason\":\"NotFound\",\"details\":{\"name\":\"x\",\"kind\":\"pods\"},"
                    "\"code\":404}");
    cor_status_already_exists(&st, &deployments, COR_STR("d"));
    check_json(&st, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                    "\"status\":\"Failure\",\"message\":\"deployments.apps \\\"d\\\" already "
                    "exists\",\"reason\":\"AlreadyExists\",\"details\":{\"name\":\"d\",\"group\":"
                    "\"apps\",\"kind\":\"deployments\"},\"code\":409}");
    cor_status_too_large_rv(&st, 999, 57, 1);
    check_json(&st,
               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
               "\"status\":\"Failure\",\"message\":\"Timeout: Too large resource version: "
               "999, current: 57\",\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":"
               "\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}],"
               "\"retryAfterSeconds\":1},\"code\":504}");
    cor_status_deinit(&st);
}

TEST(status, absent_parts_are_not_written)
{
    struct cor_status st = {0};

    cor_status_expired(&st, "too old");
    assert_int_equal(cor_status_set_continue(&st, COR_STR("abc")), 0);
    check_json(&st, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{\"continue\":"
                    "\"abc\"},\"status\":\"Failure\",\"message\":\"too old\",\"reason\":"
                    "\"Expired\",\"code\":410}");
    cor_status_untyped(&st, -COR_EINVAL, "plain");
    check_json(&st, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                    "\"Failure\",\"message\":\"plain\",\"code\":500}");
    cor_status_too_many_requests(&st, "later", 0);
    check_json(&st, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                    "\"Failure\",\"message\":\"later\",\"reason\":\"TooManyRequests\","
                    "\"details\":{},\"code\":429}");
    cor_status_deinit(&st);
}

TEST(status, a_failed_write_leaves_the_text_as_it_was)
{
    static const char whole[] =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
        "\"Internal error occurred: broken\",\"reason\":\"InternalError\",\"details\":{\"causes\":[{"
        "\"message\":\"broken\"}]},\"code\":500}";
    struct cor_status st = {0};

    cor_status_internal(&st, "broken");
    check_json(&st, whole);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf b;
        int r;

        cor_buf_init(&b, 4096);
        r = cor_status_write(&st, &b);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_string_equal(cor_buf_z(&b), r == 0 ? whole : "");
        cor_buf_deinit(&b);
    }
    cor_status_deinit(&st);
}
