#include "base/err.h"
#include "meta/select/list_options.h"
#include "test.h"

/* {"v":"meta.k8s.io/v1","rv":57 and -1,"start":"default/web\u0000"} */
#define TOKEN_57 "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NTcsInN0YXJ0IjoiZGVmYXVsdC93ZWJcdTAwMDAifQ"
#define TOKEN_LATEST                                                                               \
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiZGVmYXVsdC93ZWJcdTAwMDAifQ"
#define PREFIX COR_STR("/registry/pods/")
#define START  COR_STR("/registry/pods/default/web\0")

static struct cor_list_options options(const char *rv, const char *rvm, const char *token)
{
    return (struct cor_list_options){.resource_version = cor_strz(rv),
                                     .resource_version_match = cor_strz(rvm),
                                     .continue_token = cor_strz(token),
                                     .recursive = true};
}

TEST(list_options, a_list_is_refused_as_upstream_refuses_it)
{
    static const struct {
        const char *rv, *rvm, *token;
        enum cor_tristate initial;
        const char *want; /* NULL: accepted */
    } rows[] = {
        {"", "", "", COR_UNSET, NULL},
        {"0", "", "", COR_UNSET, NULL},
        {"0", "NotOlderThan", "", COR_UNSET, NULL},
        {"7", "Exact", "", COR_UNSET, NULL},
        {"", "", "x", COR_UNSET, NULL},
        {"", "Exact", "", COR_UNSET,
         "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
         "resourceVersion is provided"},
        {"7", "Exact", "x", COR_UNSET,
         "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is "
         "provided"},
        {"7", "foo", "", COR_UNSET,
         "resourceVersionMatch: Unsupported value: \"foo\": supported values: \"Exact\", "
         "\"NotOlderThan\", \"\""},
        {"0", "Exact", "", COR_UNSET,
         "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for "
         "resourceVersion \"0\""},
        {"", "", "", COR_TRUE,
         "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"},
        {"", "", "", COR_FALSE,
         "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"},
        {"", "foo", "x", COR_UNSET,
         "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
         "resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is "
         "forbidden when continue is provided, resourceVersionMatch: Unsupported value: \"foo\": "
         "supported values: \"Exact\", \"NotOlderThan\", \"\"]"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_list_options opts = options(rows[i].rv, rows[i].rvm, rows[i].token);
        static const char head[] = "ListOptions.meta.k8s.io \"\" is invalid: ";
        struct cor_status st = {0};
        int r;

        opts.send_initial_events = rows[i].initial;
        r = cor_list_options_validate(&opts, &st);
        assert_int_equal(r, rows[i].want ? -COR_EINVALID : 0);
        if (rows[i].want) {
            assert_int_equal(st.code, 422);
            assert_string_equal(st.kind, "ListOptions");
            assert_string_equal(st.group, "meta.k8s.io");
            assert_memory_equal(cor_status_message(&st), head, sizeof(head) - 1);
            assert_string_equal(cor_status_message(&st) + sizeof(head) - 1, rows[i].want);
        }
        cor_status_deinit(&st);
    }
}

TEST(list_options, a_watch_is_refused_as_upstream_refuses_it)
{
    static const struct {
        const char *rvm, *token;
        enum cor_tristate initial;
        const char *want; /* NULL: accepted */
    } rows[] = {
        {"", "", COR_UNSET, NULL},
        {"NotOlderThan", "", COR_TRUE, NULL},
        {"NotOlderThan", "", COR_FALSE, NULL},
        {"", "", COR_TRUE,
         "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
         "resourceVersionMatch to NotOlderThan"},
        {"NotOlderThan", "", COR_UNSET,
         "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless "
         "sendInitialEvents is provided"},
        {"NotOlderThan", "x", COR_TRUE,
         "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is "
         "provided"},
        {"Exact", "", COR_TRUE,
         "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
         "resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "
         "\"Exact\": supported values: \"NotOlderThan\"]"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_list_options opts = options("", rows[i].rvm, rows[i].token);
        static const char head[] = "ListOptions.meta.k8s.io \"\" is invalid: ";
        struct cor_status st = {0};
        int r;

        opts.watch = true;
        opts.send_initial_events = rows[i].initial;
        r = cor_list_options_validate(&opts, &st);
        assert_int_equal(r, rows[i].want ? -COR_EINVALID : 0);
        if (rows[i].want)
            assert_string_equal(cor_status_message(&st) + sizeof(head) - 1, rows[i].want);
        cor_status_deinit(&st);
    }
}

TEST(list_options, only_a_plain_watch_gets_defaults)
{
    static const struct {
        bool watch;
        const char *rv, *rvm;
        enum cor_tristate initial, want_initial;
        const char *want_rvm;
    } rows[] = {
        {true, "", "", COR_UNSET, COR_TRUE, "NotOlderThan"},
        {true, "0", "", COR_UNSET, COR_TRUE, "NotOlderThan"},
        {true, "5", "", COR_UNSET, COR_UNSET, ""},
        {true, "", "", COR_FALSE, COR_FALSE, ""},
        {true, "", "Exact", COR_UNSET, COR_UNSET, "Exact"},
        {false, "", "", COR_UNSET, COR_UNSET, ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_list_options opts = options(rows[i].rv, rows[i].rvm, "");

        opts.watch = rows[i].watch;
        opts.send_initial_events = rows[i].initial;
        cor_list_options_set_defaults(&opts);
        assert_int_equal(opts.send_initial_events, rows[i].want_initial);
        assert_str(opts.resource_version_match, rows[i].want_rvm);
    }
}

TEST(list_options, each_row_of_upstreams_matrix_is_one_read_mode)
{
    static const struct {
        const char *rv, *rvm, *token;
        int64_t limit;
        bool recursive;
        enum cor_read_mode mode;
        cor_rev rev;
    } rows[] = {
        {"", "", "", 0, true, COR_READ_CONSISTENT, 0},
        {"", "", "", 5, true, COR_READ_CONSISTENT, 0},
        {"0", "", "", 0, true, COR_READ_ANY, 0},
        {"0", "", "", 5, true, COR_READ_ANY, 0},
        {"0", "NotOlderThan", "", 5, true, COR_READ_ANY, 0},
        {"7", "", "", 0, true, COR_READ_NOT_OLDER_THAN, 7},
        {"7", "", "", 5, true, COR_READ_EXACT, 7},
        {"7", "", "", 5, false, COR_READ_NOT_OLDER_THAN, 7},
        {"7", "NotOlderThan", "", 5, true, COR_READ_NOT_OLDER_THAN, 7},
        {"7", "Exact", "", 0, true, COR_READ_EXACT, 7},
        {"7", "Exact", "", 5, false, COR_READ_EXACT, 7},
        {"", "", TOKEN_57, 5, true, COR_READ_CONTINUE, 57},
        {"0", "", TOKEN_57, 5, true, COR_READ_CONTINUE, 57},
        {"", "", TOKEN_LATEST, 5, true, COR_READ_CONTINUE_LATEST, 0},
        {"", "", TOKEN_57, 5, false, COR_READ_CONSISTENT, 0},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_list_options opts = options(rows[i].rv, rows[i].rvm, rows[i].token);
        struct cor_list_plan plan;
        bool continues = rows[i].mode >= COR_READ_CONTINUE;

        opts.limit = rows[i].limit;
        opts.recursive = rows[i].recursive;
        assert_int_equal(cor_list_options_resolve(&opts, PREFIX, &plan, NULL), 0);
        assert_int_equal(plan.mode, rows[i].mode);
        assert_int_equal(plan.rev, rows[i].rev);
        assert_true(cor_str_eq(cor_buf_str(&plan.start), continues ? START : COR_STR("")));
        cor_list_plan_deinit(&plan);
    }
}

TEST(list_options, what_cannot_be_resolved_is_refused)
{
    static const struct {
        const char *rv, *rvm, *token;
        int code;
        const char *want;
    } rows[] = {
        {"x", "", "", 400,
         "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: "
         "parsing \"x\": invalid syntax"},
        {"7", "", TOKEN_57, 400, "specifying resource version is not allowed when using continue"},
        {"7", "foo", "", 500, "unknown ResourceVersionMatch value: foo"},
        {"", "", "!", 400,
         "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_list_options opts = options(rows[i].rv, rows[i].rvm, rows[i].token);
        struct cor_status st = {0};
        struct cor_list_plan plan;

        assert_int_equal(cor_list_options_resolve(&opts, PREFIX, &plan, &st), -COR_EINVAL);
        assert_int_equal(st.code, rows[i].code);
        assert_string_equal(cor_status_message(&st), rows[i].want);
        cor_status_deinit(&st);
    }
}

TEST(list_options, an_expired_page_offers_to_go_on_at_the_latest_revision)
{
    struct cor_list_plan plan = {.mode = COR_READ_EXACT, .rev = 5};
    struct cor_status st = {0};

    assert_int_equal(cor_list_plan_expired(&plan, COR_STR(""), PREFIX, &st), -COR_EEXPIRED);
    assert_int_equal(st.code, 410);
    assert_string_equal(cor_status_message(&st),
                        "The resourceVersion for the provided list is too old.");
    assert_null(st.continue_token);

    plan.mode = COR_READ_CONTINUE;
    assert_int_equal(cor_list_plan_expired(&plan, START, PREFIX, &st), -COR_EEXPIRED);
    assert_string_equal(st.reason, "Expired");
    assert_string_equal(
        cor_status_message(&st),
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in the list.");
    assert_string_equal(st.continue_token, TOKEN_LATEST);

    assert_int_equal(cor_list_plan_expired(&plan, COR_STR("/elsewhere"), PREFIX, &st),
                     -COR_EEXPIRED);
    assert_string_equal(cor_status_message(&st),
                        "The provided continue parameter is too old to display a consistent list "
                        "result. You can start a new list without the continue parameter.");
    assert_null(st.continue_token);
    cor_status_deinit(&st);
}

TEST(list_options, each_row_of_upstreams_watch_table_is_one_plan)
{
    static const struct {
        const char *rv;
        enum cor_tristate initial;
        bool bookmarks;
        struct cor_watch_plan want;
    } rows[] = {
        {"", COR_TRUE, true, {COR_READ_CONSISTENT, 0, true, true}},
        {"", COR_TRUE, false, {COR_READ_CONSISTENT, 0, true, false}},
        {"", COR_FALSE, true, {COR_READ_CONSISTENT, 0, false, false}},
        {"", COR_UNSET, true, {COR_READ_CONSISTENT, 0, true, false}},
        {"0", COR_TRUE, true, {COR_READ_ANY, 0, true, true}},
        {"0", COR_TRUE, false, {COR_READ_ANY, 0, true, false}},
        {"0", COR_FALSE, true, {COR_READ_ANY, 0, false, false}},
        {"0", COR_UNSET, false, {COR_READ_ANY, 0, true, false}},
        {"7", COR_TRUE, true, {COR_READ_NOT_OLDER_THAN, 7, true, true}},
        {"7", COR_TRUE, false, {COR_READ_NOT_OLDER_THAN, 7, true, false}},
        {"7", COR_FALSE, true, {COR_READ_EXACT, 7, false, false}},
        {"7", COR_UNSET, true, {COR_READ_EXACT, 7, false, false}},
    };
    struct cor_list_options opts = options("x", "", "");
    struct cor_status st = {0};
    struct cor_watch_plan plan;

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        opts.resource_version = cor_strz(rows[i].rv);
        opts.send_initial_events = rows[i].initial;
        opts.allow_bookmarks = rows[i].bookmarks;
        assert_int_equal(cor_watch_options_resolve(&opts, &plan, NULL), 0);
        assert_int_equal(plan.mode, rows[i].want.mode);
        assert_int_equal(plan.rev, rows[i].want.rev);
        assert_int_equal(plan.initial_events, rows[i].want.initial_events);
        assert_int_equal(plan.end_bookmark, rows[i].want.end_bookmark);
    }
    opts.resource_version = COR_STR("x");
    assert_int_equal(cor_watch_options_resolve(&opts, &plan, &st), -COR_EINVAL);
    assert_int_equal(st.code, 500);
    cor_status_deinit(&st);
}

TEST(list_options, out_of_memory_is_reported_or_harmless)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_list_options good = options("", "", TOKEN_57), bad = options("", "foo", "");
        struct cor_list_plan plan = {0};
        struct cor_status st = {0};
        int r;

        r = cor_list_options_validate(&bad, &st);
        assert_true(r == -COR_EINVALID || r == -COR_ENOMEM);
        assert_int_equal(st.err, r);
        r = cor_list_options_resolve(&good, PREFIX, &plan, &st);
        assert_true(r == 0 || (r == -COR_ENOMEM && st.err == r));
        if (r == 0) {
            assert_int_equal(plan.mode, COR_READ_CONTINUE);
            assert_int_equal(plan.rev, 57);
        }
        plan.mode = COR_READ_CONTINUE;
        assert_int_equal(cor_list_plan_expired(&plan, START, PREFIX, &st), -COR_EEXPIRED);
        assert_int_equal(st.code, 410);
        cor_list_plan_deinit(&plan);
        cor_status_deinit(&st);
    }
}
