#include "meta/select/page_walk.h"
#include "script.h"

/* The list phase as scripts, after client-go's reflector_test.go. */

/* Contract client 1.14.12, 4.1.2, 4.1.3. */
TEST(reflector_list, pages_are_staged_one_after_the_other_under_the_first_ones_rv)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "next");
    script_expect(&s, "L(0,500) begin stage(a@1) L(,500,next)");
    assert_int_equal(s.content.n, 0);
    script_page(&s, "b@2", "11", "last");
    script_page(&s, "c@3", "12", "");
    script_expect(&s, "stage(b@2) L(,500,last) stage(c@3) commit(10) W(10)");
    assert_int_equal(s.content.n, 3);
    script_deinit(&s);
}

TEST(reflector_list, an_answer_may_come_in_parts)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_part(&s, "a@1");
    script_part(&s, "");
    script_expect(&s, "L(0,500) begin stage(a@1)");
    script_page(&s, "b@2", "10", "");
    script_expect(&s, "stage(b@2) commit(10) W(10)");
    script_deinit(&s);
}

/* Contract client 1.14.4. */
TEST(reflector_list, watch_list_page_size_is_used_for_every_list)
{
    struct script s;

    script_init(&s);
    s.opts.page_size = 4;
    script_start(&s);
    script_page(&s, "a@1", "10", "t");
    script_page(&s, "b@1", "10", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,4)");
    script_deinit(&s);
}

/* Contract client 1.14.4. */
TEST(reflector_list, not_paginating_not_consistent_reads)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    script_deinit(&s);
}

/* Contract client 1.14.6. */
TEST(reflector_list, paginating_non_consistent_reads_if_the_watch_cache_is_disabled)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "t");
    script_page(&s, "b@2", "10", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,500)");
    script_deinit(&s);
}

/* Contract client 1.14.6: a consistent list comes in pages also from servers with a watch cache. */
TEST(reflector_list, pages_of_a_consistent_list_do_not_switch_paging_on)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_tick(&s);
    script_list_fails(&s, -COR_EEXPIRED);
    script_list_fails(&s, -COR_EINTERNAL);
    script_tick(&s);
    script_forget(&s);
    script_page(&s, "a@1", "20", "t");
    script_page(&s, "b@2", "20", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(20,0)");
    script_deinit(&s);
}

/* Contract client 1.14.1. */
TEST(reflector_list, resync_with_resource_version_lists_zero_then_the_last)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_expect(&s, "L(0,500)");
    script_page(&s, "a@1", "10", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    script_page(&s, "b@2", "20", "");
    script_expect(&s, "begin stage(b@2) commit(20) W(20)");
    script_deinit(&s);
}

static void too_large(struct cor_status *st)
{
    cor_status_too_large_rv(st, 20, 10, 1);
}

static void too_large_1_17(struct cor_status *st)
{
    cor_status_timeout(st, 1, "Timeout: Too large");
    assert_int_equal(cor_status_add_cause(st, "", "Too large resource version", ""), 0);
}

static void too_large_1_16(struct cor_status *st)
{
    cor_status_timeout(st, 1, "Too large resource version: 20, current: 10");
}

static void expired(struct cor_status *st)
{
    cor_status_expired(st, "The resourceVersion for the provided list is too old.");
}

static void gone(struct cor_status *st)
{
    cor_status_untyped(st, -COR_EINTERNAL, "gone");
    st->code = 410;
    st->reason = "Gone";
}

/* Contract client 1.14.7, 1.14.11: RVs "0", "10", "": for 410 and for a revision ahead of the
 * server's, in every server's words. */
TEST(reflector_list, expired_or_too_large_revision_is_listed_again_without_one_at_once)
{
    static void (*const fill[])(struct cor_status *) = {expired, gone, too_large, too_large_1_17,
                                                        too_large_1_16};

    for (size_t i = 0; i < COR_ARRAY_LEN(fill); i++) {
        struct cor_status st = {0};
        struct script s;

        script_init(&s);
        script_to_watching(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_forget(&s);
        script_tick(&s);
        fill[i](&st);
        script_list_fails_with(&s, &st);
        script_expect(&s, "L(10,0) L(,0)");
        script_page(&s, "b@2", "20", "");
        script_opened(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_forget(&s);
        script_tick(&s);
        script_expect(&s, "L(20,0)");
        cor_status_deinit(&st);
        script_deinit(&s);
    }
}

/* Contract client 1.14.9. */
TEST(reflector_list, while_the_rv_is_unavailable_lists_have_none_and_are_paged)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_list_fails(&s, -COR_EEXPIRED);
    script_list_fails(&s, -COR_EEXPIRED);
    script_expect(&s, "L(10,0) L(,0) end(failed to list <unspecified>: EEXPIRED)");
    script_tick(&s);
    script_expect(&s, "L(,500)");
    script_list_fails(&s, -COR_EINTERNAL);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(,500)");
    script_page(&s, "", "20", "");
    script_expect(&s, "begin commit(20) W(20)");
    script_deinit(&s);
}

/* Contract client 1.14.8. */
TEST(reflector_list, a_first_list_that_expires_keeps_its_page_size_in_the_second_try)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_list_fails(&s, -COR_EFUTURE);
    script_expect(&s, "L(0,500) L(,500)");
    script_deinit(&s);
}

/* Contract client 1.14.10: RVs "0", "10", "", "10". */
TEST(reflector_list, full_list_if_a_later_page_expired)
{
    struct script s;

    script_init(&s);
    s.opts.page_size = 4;
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_page(&s, "a@1", "11", "t");
    script_expect(&s, "L(10,4) begin stage(a@1) L(,4,t)");
    script_list_fails(&s, -COR_EEXPIRED);
    script_expect(&s, "abort L(10,0)");
    script_page(&s, "b@2", "12", "not followed");
    script_expect(&s, "begin stage(b@2) commit(12) W(12)");
    script_deinit(&s);
}

TEST(reflector_list, a_full_list_that_expires_too_is_tried_without_a_revision)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "11", "t");
    script_list_fails(&s, -COR_EEXPIRED);
    script_list_fails(&s, -COR_EEXPIRED);
    script_expect(&s, "L(0,500) begin stage(a@1) L(,500,t) abort L(0,0) L(,500)");
    script_page(&s, "a@1", "12", "");
    script_expect(&s, "begin stage(a@1) commit(12) W(12)");
    script_deinit(&s);
}

TEST(reflector_list, gone_on_a_later_page_starts_again_without_a_revision)
{
    struct cor_status st = {0};
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "11", "t");
    gone(&st);
    script_list_fails_with(&s, &st);
    script_expect(&s, "L(0,500) begin stage(a@1) L(,500,t) abort L(,500)");
    cor_status_deinit(&st);
    script_deinit(&s);
}

/* Contract client 1.12.3, 1.14.14: client-go's TestGetTypeDescriptionFromObject, save Go's names of
 * types.
 */
TEST(reflector_list, list_failures_name_the_type_and_keep_the_cause)
{
    static const struct {
        struct cor_gvk expected;
        struct cor_str description;
        const char *end;
    } cases[] = {
        {{{0}}, {0}, "end(failed to list <unspecified>: EINTERNAL)"},
        {{COR_STR(""), COR_STR("v1"), COR_STR("Pod")},
         {0},
         "end(failed to list /v1, Kind=Pod: EINTERNAL)"},
        {{COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")},
         {0},
         "end(failed to list apps/v1, Kind=Deployment: EINTERNAL)"},
        {{COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")},
         COR_STR("*v1.Pod"),
         "end(failed to list *v1.Pod: EINTERNAL)"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct script s;

        script_init(&s);
        s.opts.expected = cases[i].expected;
        s.opts.type_description = cases[i].description;
        script_start(&s);
        script_forget(&s);
        script_list_fails(&s, -COR_EINTERNAL);
        script_expect(&s, cases[i].end);
        script_deinit(&s);
    }
}

/* Contract client 1.14.14. */
TEST(reflector_list, a_later_page_that_fails_names_the_type_too)
{
    struct script s;

    script_init(&s);
    s.opts.type_description = COR_STR("*v1.Pod");
    script_start(&s);
    script_page(&s, "a@1", "10", "t");
    script_forget(&s);
    script_list_fails(&s, -COR_EINTERNAL);
    script_expect(&s, "abort end(failed to list *v1.Pod: EINTERNAL)");
    script_deinit(&s);
}

/* Contract client 1.13.3. */
TEST(reflector_list, a_refused_replace_is_an_error_and_leaves_the_store)
{
    static const char *const ops[] = {"begin", "stage", "commit"};
    static const char *const logs[] = {
        "begin end(unable to sync list result: begin refused)",
        "begin stage(a@1) abort end(unable to sync list result: stage refused)",
        "begin stage(a@1) stage(b@2) commit(20) end(unable to sync list result: commit refused)",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(ops); i++) {
        struct script s;

        script_init(&s);
        script_to_watching(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_tick(&s);
        script_forget(&s);
        s.fail_op = ops[i];
        s.fail_err = -COR_EINVALID;
        script_page(&s, "a@1 b@2", "20", "");
        script_expect(&s, logs[i]);
        assert_int_equal(s.content.n, 1);
        assert_str(cor_reflector_last_sync_rv(s.r), "10");
        s.fail_op = NULL;
        script_tick(&s);
        script_page(&s, "a@1 b@2", "20", "");
        assert_int_equal(s.content.n, 2);
        script_deinit(&s);
    }
}

TEST(reflector_list, a_refused_part_cancels_the_rest_of_the_answer)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    s.fail_op = "stage";
    s.fail_err = -COR_ENOMEM;
    script_part(&s, "a@1");
    script_expect(&s, "L(0,500) begin stage(a@1) abort "
                      "end(unable to sync list result: stage refused) cancel");
    script_deinit(&s);
}

TEST(reflector_list, a_list_above_the_maximum_fails)
{
    struct script s;

    script_init(&s);
    s.opts.objects_max = 2;
    script_start(&s);
    script_page(&s, "a@1 b@2 c@3", "10", "");
    script_expect(&s, "L(0,500) begin stage(a@1) stage(b@2) abort "
                      "end(unable to sync list result: more than 2 objects)");
    script_deinit(&s);
}

TEST(reflector_list, a_page_that_leads_to_itself_fails)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "next");
    script_page(&s, "a@1", "10", "next");
    script_expect(&s,
                  "L(0,500) begin stage(a@1) L(,500,next) stage(a@1) abort "
                  "end(failed to list <unspecified>: the list has no end: the server repeats its "
                  "continue token)");
    script_tick(&s);
    script_expect(&s, "L(0,500)");
    script_deinit(&s);
}

TEST(reflector_list, pages_without_end_fail_at_the_maximum)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    for (int i = 1; i < COR_PAGES_MAX; i++) {
        script_page(&s, "", "10", i % 2 ? "a" : "b");
        script_forget(&s);
    }
    script_page(&s, "", "10", "c");
    script_expect(&s, "end(failed to list <unspecified>: the list has more than 100000 pages)");
    script_deinit(&s);
}

TEST(reflector_list, the_maximum_is_of_one_list)
{
    struct script s;

    script_init(&s);
    s.opts.objects_max = 2;
    script_start(&s);
    for (int i = 0; i < 3; i++) {
        script_page(&s, "a@1 b@2", "10", "");
        script_ended(&s, -COR_EEXPIRED);
        script_tick(&s);
    }
    assert_int_equal(s.commits, 3);
    script_deinit(&s);
}

TEST(reflector_list, each_round_may_retry_without_a_revision)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    for (int i = 0; i < 2; i++) {
        script_error_event(&s, -COR_EEXPIRED);
        script_forget(&s);
        script_tick(&s);
        script_list_fails(&s, -COR_EEXPIRED);
        script_expect(&s, "L(10,0) L(,0)");
        script_page(&s, "", "10", "");
        script_opened(&s);
    }
    script_deinit(&s);
}

TEST(reflector_list, a_list_with_a_monstrous_rv_fails)
{
    char big[COR_REFLECTOR_RV_MAX + 2];
    struct script s;

    memset(big, 'x', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    script_init(&s);
    script_start(&s);
    script_page(&s, "", big, "");
    script_expect(&s, "L(0,500) end(unable to understand list result: resourceVersion of 128 "
                      "bytes)");
    script_deinit(&s);
}

/* Contract client 1.14.16. */
TEST(reflector_list, a_list_of_more_than_ten_seconds_is_told)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    s.now += 10001;
    script_page(&s, "", "10", "");
    script_expect(&s, "L(0,500) say(SLOW) begin commit(10) W(10)");
    script_ended(&s, -COR_EEXPIRED);
    script_tick(&s);
    script_forget(&s);
    s.now += 10000;
    script_page(&s, "", "10", "");
    script_expect(&s, "begin commit(10) W(10)");
    script_deinit(&s);
}
