#include "base/err.h"
#include "kit/dynamic/watch_resumption.h"
#include "meta/object/object_received.h"
#include "test.h"

static struct cor_object *object(const char *json)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *o;

    assert_int_equal(cor_object_received(cor_strz(json), COR_STR(""), COR_STR(""), &o, &status), 0);
    return o;
}

/* Contract client 1.24.1. */
TEST(watch_resumption, begins_at_a_revision_that_is_one)
{
    struct cor_status why = {0};
    struct cor_watch_resumption w;
    char monstrous[COR_WATCH_RV_MAX + 2];

    assert_int_equal(cor_watch_resumption_init(&w, COR_STR(""), &why), -COR_EINVAL);
    assert_int_equal(cor_watch_resumption_init(&w, COR_STR("0"), &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why),
                        "resource_version: a watch that resumes begins at one that a list or an "
                        "object has, and not at \"0\"");
    memset(monstrous, '1', sizeof(monstrous));
    assert_int_equal(cor_watch_resumption_init(&w, cor_str(monstrous, COR_WATCH_RV_MAX + 1), &why),
                     -COR_EINVAL);
    assert_int_equal(cor_watch_resumption_init(&w, cor_str(monstrous, COR_WATCH_RV_MAX), NULL), 0);
    assert_int_equal(cor_watch_resumption_init(&w, COR_STR("1"), NULL), 0);
    assert_string_equal(w.rv, "1");
    cor_status_deinit(&why);
}

/* Contract client 1.24.2, 1.24.3: in between the event is the taker's, and no other watch would
 * skip it.
 */
TEST(watch_resumption, moves_with_what_was_told_and_with_bookmarks)
{
    static const struct {
        enum cor_watch_type type;
        enum cor_watch_verdict verdict;
    } cases[] = {{COR_WATCH_ADDED, COR_WATCH_TELL},
                 {COR_WATCH_MODIFIED, COR_WATCH_TELL},
                 {COR_WATCH_DELETED, COR_WATCH_TELL},
                 {COR_WATCH_BOOKMARK, COR_WATCH_PROGRESS}};
    struct cor_object *o =
        object("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"not-a-number\"}}");

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct cor_watch_event event = {.type = cases[i].type, .object = o};
        struct cor_status why = {0};
        struct cor_watch_resumption w;

        assert_int_equal(cor_watch_resumption_init(&w, COR_STR("a-longer-one-than-that"), NULL), 0);
        assert_int_equal(cor_watch_resumption_judge(&event, &why), cases[i].verdict);
        assert_string_equal(w.rv, "a-longer-one-than-that");
        cor_watch_resumption_told(&w, &event);
        assert_string_equal(w.rv, "not-a-number");
        assert_int_equal(why.err, 0);
    }
    cor_object_unref(o);
}

/* Contract client 1.24.4: what comes after it could not be found again. */
TEST(watch_resumption, ends_with_what_has_no_revision_and_with_unknown_types)
{
    struct cor_object *bare = object("{\"metadata\":{\"name\":\"a\"}}");
    const struct cor_watch_event events[] = {{.type = COR_WATCH_ADDED, .object = bare},
                                             {.type = COR_WATCH_BOOKMARK, .object = bare},
                                             {.type = COR_WATCH_UNKNOWN, .object = bare}};

    for (size_t i = 0; i < COR_ARRAY_LEN(events); i++) {
        struct cor_status why = {0};

        assert_int_equal(cor_watch_resumption_judge(&events[i], &why), COR_WATCH_END);
        assert_int_equal(why.code, 500);
        assert_string_equal(why.reason, "InternalError");
        cor_status_deinit(&why);
    }
    cor_object_unref(bare);
}

/* Contract client 1.24.5: starts are a second apart, not an end and a start. */
TEST(watch_resumption, a_second_passes_from_start_to_start)
{
    const struct cor_status soon = {.err = -COR_EBUSY, .retry_after_s = 1};
    const struct cor_status later = {.err = -COR_EBUSY, .retry_after_s = 7};
    struct cor_watch_resumption w;

    assert_int_equal(cor_watch_resumption_init(&w, COR_STR("5"), NULL), 0);
    cor_watch_resumption_begun(&w, 10000);
    assert_int_equal(cor_watch_resumption_pause_ms(&w, 10000, NULL), 1000);
    assert_int_equal(cor_watch_resumption_pause_ms(&w, 10400, NULL), 600);
    assert_int_equal(cor_watch_resumption_pause_ms(&w, 11000, NULL), 0);
    assert_int_equal(cor_watch_resumption_pause_ms(&w, 999999, NULL), 0);
    assert_int_equal(cor_watch_resumption_pause_ms(&w, 10400, &soon), 1000);
    assert_int_equal(cor_watch_resumption_pause_ms(&w, 10400, &later), 7000);
    assert_int_equal(cor_watch_resumption_pause_ms(&w, 999999, &later), 7000);
}

/* Contract client 1.24.6. */
TEST(watch_resumption, an_error_event_of_410_ends_it_and_others_do_not)
{
    static const struct {
        int code;
        enum cor_watch_verdict verdict;
    } cases[] = {{410, COR_WATCH_END},   {504, COR_WATCH_AGAIN}, {500, COR_WATCH_AGAIN},
                 {429, COR_WATCH_AGAIN}, {403, COR_WATCH_AGAIN}, {0, COR_WATCH_AGAIN}};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct cor_status status = {
            .err = -COR_EINTERNAL, .code = cases[i].code, .reason = "", .retry_after_s = 3};
        const struct cor_watch_event event = {.type = COR_WATCH_ERROR, .status = &status};
        struct cor_status why = {0};

        assert_int_equal(cor_watch_resumption_judge(&event, &why), cases[i].verdict);
        assert_int_equal(why.code, cases[i].code);
        assert_int_equal(why.retry_after_s, 3);
        cor_status_deinit(&why);
    }
}

/* Contract client 1.24.7; but a 410 on opening ends it, and an event that is larger than what is
 * read, where client-go asks for ever or reads anything. */
TEST(watch_resumption, only_what_cannot_be_mended_ends_it_on_opening)
{
    static const struct {
        int err, code;
        const char *reason;
        enum cor_watch_verdict verdict;
    } cases[] = {
        {-COR_EFORBIDDEN, 403, "Forbidden", COR_WATCH_END},
        {-COR_EUNAUTHORIZED, 401, "Unauthorized", COR_WATCH_END},
        {-COR_EEXPIRED, 410, "Expired", COR_WATCH_END},
        {-COR_ETOOBIG, 500, "", COR_WATCH_END},
        {-COR_EUNREACHABLE, 0, "", COR_WATCH_AGAIN},
        {-COR_EBROKEN, 0, "", COR_WATCH_AGAIN},
        {-COR_ETIMEOUT, 504, "Timeout", COR_WATCH_AGAIN},
        {-COR_EINTERNAL, 500, "InternalError", COR_WATCH_AGAIN},
        {-COR_ENOTFOUND, 404, "NotFound", COR_WATCH_AGAIN},
        {-COR_EBUSY, 429, "TooManyRequests", COR_WATCH_AGAIN},
    };

    assert_int_equal(cor_watch_resumption_judge_end(NULL), COR_WATCH_AGAIN);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct cor_status error = {
            .err = cases[i].err, .code = cases[i].code, .reason = cases[i].reason};

        assert_int_equal(cor_watch_resumption_judge_end(&error), cases[i].verdict);
    }
}
