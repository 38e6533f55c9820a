/* What the garbage collector reads before it deletes an object, the deletion itself, and what it
 * does with each error. Patches: test_gc_patches.c; references that disagree: test_gc_conflicts.c;
 * the graph alone: test_gc_graph.c; with a server: test_garbage_collector.c. */
#include "../gc_fixture.h"

/* Contract controllers 2.1.4, 2.3.3, 2.5.3, 2.5.4, 2.5.9, 2.5.10: the owner and the dependent are
 * read before the dependent is deleted, with the uid and the resourceVersion of the answer. */
TEST(gc_requests, a_dependent_without_owners_is_deleted_with_what_was_read)
{
    static const struct {
        const char *live, *removal;
    } cases[] = {
        {DEPENDENT("6", REF("o", "u-o")),
         "DELETE v1 pods default/d Background uid=u-d resourceVersion=6\n"},
        {OBJECT("d", "u-d", "6",
                FINALIZERS("\"orphan\",\"foregroundDeletion\"") REFS(REF("o", "u-o"))),
         "DELETE v1 pods default/d Orphan uid=u-d resourceVersion=6\n"},
        {OBJECT("d", "u-d", "6", FINALIZERS("\"foregroundDeletion\"") REFS(REF("o", "u-o"))),
         "DELETE v1 pods default/d Foreground uid=u-d resourceVersion=6\n"},
        {OBJECT("d", "u-d", "6", ""), ""},                    /* it has lost its references */
        {OBJECT("d", "u-e", "6", REFS(REF("o", "u-o"))), ""}, /* it was created again */
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct world w;
        char expected[512];

        open_world(&w);
        show(&w, PODS, DEPENDENT("5", REF("o", "u-o")));
        scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
        scripted_answer(&w.sp, 0, cases[i].live);
        if (cases[i].removal[0])
            scripted_answer(&w.sp, 0, NULL);
        snprintf(expected, sizeof(expected),
                 "GET v1 configmaps default/o\nGET v1 pods default/d\n%s", cases[i].removal);
        run_and_expect(&w, 60000, expected);
        assert_string_equal(w.reports, "");
        close_world(&w);
    }
}

/* Contract controllers 2.5.11, 2.11 TestConflictingData "resourceVersion conflict between
 * Get/Delete". */
TEST(gc_requests, a_deletion_that_conflicts_is_repeated_if_the_references_are_the_same)
{
    static const struct {
        const char *second; /* the answer to the second GET; NULL: 404 */
        const char *removal, *report;
    } cases[] = {
        {NULL, "", ""},
        {DEPENDENT("7", REF("o", "u-o")), "DELETE v1 pods default/d Background uid=u-d\n", ""},
        {DEPENDENT("7", REF("p", "u-p")), "", "Conflict\n"},
        {DEPENDENT("6", REF("o", "u-o")), "", "Conflict\n"},
        {OBJECT("d", "u-e", "7", REFS(REF("o", "u-o"))), "", "Conflict\n"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct world w;
        char expected[512];

        open_world(&w);
        show(&w, PODS, DEPENDENT("5", REF("o", "u-o")));
        scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
        scripted_answer(&w.sp, 0, DEPENDENT("6", REF("o", "u-o")));
        scripted_fail(&w.sp, 0, -COR_ECONFLICT);
        if (cases[i].second)
            scripted_answer(&w.sp, 0, cases[i].second);
        else
            scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
        if (cases[i].removal[0])
            scripted_answer(&w.sp, 0, NULL);
        snprintf(expected, sizeof(expected),
                 "GET v1 configmaps default/o\nGET v1 pods default/d\n"
                 "DELETE v1 pods default/d Background uid=u-d resourceVersion=6\n"
                 "GET v1 pods default/d\n%s",
                 cases[i].removal);
        run_and_expect(&w, 4, expected);
        assert_int_equal(w.reports[0] != '\0', cases[i].report[0] != '\0');
        if (cases[i].report[0]) { /* 5 ms later it is tried again, from its beginning. */
            scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
            run_and_expect(&w, 1, "GET v1 pods default/d\n");
        }
        close_world(&w);
    }
}

/* Contract controllers 2.5.12: the next round finds that the object is gone. */
TEST(gc_requests, a_deletion_that_finds_nothing_is_an_error)
{
    struct world w;
    struct cor_gc_stats stats;

    open_world(&w);
    show(&w, PODS, DEPENDENT("5", REF("o", "u-o")));
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_answer(&w.sp, 0, DEPENDENT("5", REF("o", "u-o")));
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run_and_expect(&w, 4,
                   "GET v1 configmaps default/o\nGET v1 pods default/d\n"
                   "DELETE v1 pods default/d Background uid=u-d resourceVersion=5\n");
    assert_true(w.reports[0] != '\0');
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run_and_expect(&w, 60000, "GET v1 pods default/d\n");
    cor_gc_stats(w.gc, &stats);
    assert_int_equal(stats.nodes, 0);
    close_world(&w);
}

/* Contract controllers 2.5.5, 2.5.6, 2.5.7, 2.5.8: the owner is read by the kind and the name of
 * the reference, and its uid is compared. */
TEST(gc_requests, an_owner_is_classified_by_what_the_server_answers)
{
    static const char removed[] = "DELETE v1 pods default/e Background uid=u-e resourceVersion=6\n";
    static const struct {
        const char *owner; /* NULL: 404 */
        const char *then;
    } cases[] = {
        {NULL, removed},
        {OBJECT("wrong", "u-x", "4", ""), removed},
        {OBJECT("wrong", "u-o", "4", ""), ""},
        {OBJECT("wrong", "u-o", "4", DELETING FINALIZERS("\"a/b\"")), ""},
        {OBJECT("wrong", "u-o", "4", FINALIZERS("\"foregroundDeletion\"")), ""},
        {OBJECT("wrong", "u-o", "4", FOREGROUND), removed},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct world w;
        char expected[512];

        open_world(&w);
        show_owner_and_dependent(&w);
        show(&w, PODS, OBJECT("e", "u-e", "6", REFS(REF("wrong", "u-o"))));
        scripted_answer(&w.sp, 0, OBJECT("e", "u-e", "6", REFS(REF("wrong", "u-o"))));
        if (cases[i].owner)
            scripted_answer(&w.sp, 0, cases[i].owner);
        else
            scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
        if (cases[i].then[0])
            scripted_answer(&w.sp, 0, NULL);
        snprintf(expected, sizeof(expected),
                 "GET v1 pods default/e\nGET v1 configmaps default/wrong\n%s", cases[i].then);
        run_and_expect(&w, 60000, expected);
        assert_string_equal(w.reports, "");
        close_world(&w);
    }
}

/* Contract controllers 2.1.1, 2.5.5: an error of one look-up ends the attempt. It is repeated after
 * 5 ms, 10 ms … */
TEST(gc_requests, an_owner_that_cannot_be_read_protects_its_dependents)
{
    static const char e[] = OBJECT("e", "u-e", "6", REFS(REF("wrong", "u-o")));
    struct world w;

    open_world(&w);
    show_owner_and_dependent(&w);
    show(&w, PODS, e);
    for (uint64_t pause_ms = 5; pause_ms <= 80; pause_ms *= 2) {
        scripted_answer(&w.sp, 0, e);
        scripted_fail(&w.sp, 0, pause_ms == 10 ? -COR_EFORBIDDEN : -COR_EINTERNAL);
        run_and_expect(&w, pause_ms == 5 ? 0 : 1,
                       "GET v1 pods default/e\nGET v1 configmaps default/wrong\n");
        run_and_expect(&w, pause_ms - 1, "");
    }
    close_world(&w);
}

/* Contract controllers 2.5.5: a reference to a type that the server does not have protects the
 * object. */
TEST(gc_requests, an_owner_of_an_unknown_kind_protects_its_dependents)
{
    static const char e[] =
        OBJECT("e", "u-e", "6", REFS(REF_TO("nope.io/v1", "Nope", "o", "u-o", "")));
    struct world w;

    open_world(&w);
    show_owner_and_dependent(&w);
    show(&w, PODS, e);
    scripted_answer(&w.sp, 0, e);
    scripted_answer(&w.sp, 0, e);
    run_and_expect(&w, 5, "GET v1 pods default/e\nGET v1 pods default/e\n");
    assert_string_equal(w.reports, "unable to get REST mapping for nope.io/v1/Nope.\n"
                                   "unable to get REST mapping for nope.io/v1/Nope.\n");
    close_world(&w);
}

/* Contract controllers 2.5.5, 2.9.2, 2.9.5: a warning, and then nothing ever again. */
TEST(gc_requests, a_cluster_object_with_a_namespaced_owner_is_left_alone)
{
    static const char n[] = OBJECT_IN("", "n", "u-n", "6", REFS(REF("o", "u-o")));
    struct world w;

    open_world(&w);
    show_owner_and_dependent(&w);
    show(&w, NODES, n);
    scripted_answer(&w.sp, 0, n);
    run_and_expect(&w, 600000, "GET v1 nodes n\n");
    assert_string_equal(w.reports, "");
    assert_string_equal(w.events, "n: ownerRef [v1/ConfigMap, namespace: , name: o, uid: u-o] does "
                                  "not exist in namespace \"\"\n");
    close_world(&w);
}

/* Contract controllers 2.5.1, 2.5.2. */
TEST(gc_requests, an_object_that_is_being_deleted_or_has_left_the_graph_is_not_read)
{
    struct world w;

    open_world(&w);
    show_owner_and_dependent(&w);
    show(&w, PODS, OBJECT("d", "u-d", "6", DELETING FINALIZERS("\"a/b\"") REFS(REF("o", "u-o"))));
    show(&w, PODS, OBJECT("e", "u-e", "6", REFS(REF("o", "u-o"))));
    gone(&w, MAPS, OWNER("")); /* Both are due now. */
    gone(&w, PODS, OBJECT("e", "u-e", "6", REFS(REF("o", "u-o"))));
    run_and_expect(&w, 60000, "");
    close_world(&w);
}

/* Contract controllers 2.2.2, 2.5.13: the owner's type is not watched, so that only look-ups can
 * find the owner's end. */
TEST(gc_requests, an_owner_that_no_feed_shows_is_looked_up_until_it_is_absent)
{
    static const char d[] = DEPENDENT("5", REF_TO("example.com/v1", "Note", "t", "u-t", ""));
    struct world w;

    open_world(&w);
    show(&w, PODS, d);
    for (uint64_t pause_ms = 5; pause_ms <= 40; pause_ms *= 2) {
        scripted_answer(&w.sp, 0, OBJECT("t", "u-t", "4", ""));
        run_and_expect(&w, pause_ms == 5 ? 0 : 1, "GET example.com/v1 notes default/t\n");
        run_and_expect(&w, pause_ms - 1, "");
    }
    assert_string_equal(w.reports, "");
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_answer(&w.sp, 0, d);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 60000,
                   "GET example.com/v1 notes default/t\nGET v1 pods default/d\n"
                   "DELETE v1 pods default/d Background uid=u-d resourceVersion=5\n");
    close_world(&w);
}
