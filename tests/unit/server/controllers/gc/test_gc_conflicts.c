/* The garbage collector when it does not know everything: dependents that name one owner
 * differently, resources that it does not follow or could not list, and what it remembers about
 * absent owners. */
#include "../gc_fixture.h"

/* Contract controllers 2.3.4, 2.11 TestConflictingData "bad child -> existing owner": the owner is
 * observed with other coordinates than its dependent has guessed. */
TEST(gc_conflicts, a_dependent_is_verified_when_its_owner_has_another_name)
{
    static const char bad[] = OBJECT("e", "u-e", "6", REFS(REF("wrong", "u-o")));
    struct world w;

    open_world(&w);
    show(&w, PODS, bad);
    scripted_answer(&w.sp, 5, OBJECT("wrong", "u-x", "2", "")); /* The guess: another object. */
    run_and_expect(&w, 0, "GET v1 configmaps default/wrong\n");
    show(&w, MAPS, OWNER(""));
    scripted_answer(&w.sp, 0, bad);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 0,
                   "GET v1 pods default/e\nGET v1 configmaps default/wrong\n"
                   "DELETE v1 pods default/e Background uid=u-e resourceVersion=6\n");
    gone(&w, PODS, bad);
    run_and_expect(&w, 60000, "");
    close_world(&w);
}

/* In the spirit of upstream's TestConflictingData: several dependents name one uid, and not all of
 * them are right. */

#define BAD_REF  REF_TO("nope.io/v1", "Nope", "o", "u-o", "")
#define BAD      OBJECT("bad", "u-bad", "6", REFS(BAD_REF))
#define NODE     OBJECT_IN("", "n", "u-n", "6", REFS(REF("o", "u-o")))
#define DELETE_D "DELETE v1 pods default/d Background uid=u-d resourceVersion=5\n"

static const char good[] = DEPENDENT("5", REF("o", "u-o"));

static const char *respond_with_bad(void *arg, const char *line)
{
    return BAD;
}

static const char *respond_with_family(void *arg, const char *line)
{
    if (strcmp(line, "GET v1 nodes n\n") == 0)
        return NODE;
    return strcmp(line, "GET v1 pods default/d\n") == 0 ? good : OWNER("");
}

/* Contract controllers 2.3.8, 2.5.5: the reference that cannot be resolved comes first. */
TEST(gc_conflicts, a_reference_that_cannot_be_resolved_does_not_hold_others_after_it)
{
    struct world w;

    open_world(&w);
    show(&w, PODS, BAD);
    run_and_expect(&w, 0, "");
    assert_string_equal(w.reports, "unable to get REST mapping for nope.io/v1/Nope.\n");
    show(&w, PODS, good);
    scripted_answer(&w.sp, 0, good);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 0, "GET v1 pods default/d\nGET v1 configmaps default/o\n" DELETE_D);
    gone(&w, PODS, good);
    run_and_expect(&w, 60000, ""); /* The bad one stays. */
    close_world(&w);
}

/* Contract controllers 2.3.8: it comes second, and the owner's node moves on to it. */
TEST(gc_conflicts, a_reference_that_cannot_be_resolved_does_not_hold_others_before_it)
{
    struct world w;

    open_world(&w);
    show(&w, PODS, good);
    show(&w, PODS, BAD);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND); /* o */
    scripted_answer(&w.sp, 0, BAD);
    scripted_answer(&w.sp, 0, good);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 0,
                   "GET v1 configmaps default/o\nGET v1 pods default/bad\n"
                   "GET v1 pods default/d\n" DELETE_D);
    gone(&w, PODS, good);
    w.sp.respond = respond_with_bad;
    run_and_expect_only(&w, 60000, "GET v1 pods default/bad\n");
    close_world(&w);
}

/* Contract controllers 2.3.8, 2.9.5: an object without a namespace guesses the owner's coordinates
 * first, and they cannot be looked up. */
TEST(gc_conflicts, a_cluster_object_does_not_hold_a_namespaced_object_with_the_same_owner)
{
    struct world w;

    open_world(&w);
    show(&w, NODES, NODE);
    run_and_expect(&w, 1000, "");
    show(&w, PODS, good);
    scripted_answer(&w.sp, 0, good);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 0, "GET v1 pods default/d\nGET v1 configmaps default/o\n" DELETE_D);
    gone(&w, PODS, good);
    run_and_expect(&w, 60000, "");
    close_world(&w);
}

/* Contract controllers 2.3.4, 2.9.4: the same, but the owner exists and is shown late. */
TEST(gc_conflicts, a_late_owner_keeps_its_dependent_and_the_cluster_object_is_reported)
{
    struct world w;

    open_world(&w);
    show(&w, NODES, NODE);
    run_and_expect(&w, 1000, "");
    show(&w, PODS, good);
    show(&w, MAPS, OWNER(""));
    assert_non_null(strstr(w.events, "n: ownerRef [v1/ConfigMap, namespace: , name: o, uid: u-o]"));
    w.sp.respond = respond_with_family;
    scripted_run(&w.sp, 60000);
    assert_null(strstr(w.sp.log, "DELETE"));
    assert_null(strstr(w.sp.log, "PATCH"));
    w.sp.log[0] = '\0';
    close_world(&w);
}

/* Contract controllers 2.5.5: the owner is shown in its preferred version, and its dependent names
 * another one that the server has. */
TEST(gc_conflicts, an_owner_may_be_named_in_any_version_that_is_served)
{
    static const char d[] = DEPENDENT("5", REF_TO("example.com/v1beta1", "Thing", "t", "u-t", ""));
    struct world w;

    open_world(&w);
    show(&w, THINGS, OBJECT("t", "u-t", "3", ""));
    show(&w, PODS, d);
    scripted_answer(&w.sp, 0, OBJECT("t", "u-t", "3", ""));
    scripted_answer(&w.sp, 0, d);
    scripted_answer(&w.sp, 0, OBJECT("t", "u-t", "3", ""));
    run_and_expect(&w, 60000,
                   "GET example.com/v1beta1 things default/t\nGET v1 pods default/d\n"
                   "GET example.com/v1beta1 things default/t\n");
    close_world(&w);
}

/* Contract controllers 2.2.7: the nodes of a resource that is no longer followed stay, and their
 * objects are looked up. */
TEST(gc_conflicts, a_resource_that_is_no_longer_followed_leaves_its_nodes)
{
    struct world w;
    struct cor_gc_stats stats;

    open_world(&w);
    show_owner_and_dependent(&w);
    cor_gc_unfollow(w.gc, w.followed[PODS]);
    cor_gc_stats(w.gc, &stats);
    assert_int_equal(stats.nodes, 2);
    gone(&w, MAPS, OWNER(""));
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run_and_expect(&w, 60000, "GET v1 pods default/d\n");
    cor_gc_stats(w.gc, &stats);
    assert_int_equal(stats.nodes, 0);
    close_world(&w);
}

/* Contract controllers 2.1.3: one resource that cannot be listed does not stop the collection. */
TEST(gc_conflicts, the_attempts_begin_after_30_seconds_without_all_lists)
{
    struct world w;

    make_world(&w);
    cor_gc_list_begun(w.followed[PODS]);
    show(&w, PODS, DEPENDENT("5", REF("o", "u-o")));
    assert_int_equal(cor_gc_start(w.gc, NULL), 0);
    run_and_expect(&w, 29999, "");
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_answer(&w.sp, 0, DEPENDENT("5", REF("o", "u-o")));
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 1,
                   "GET v1 configmaps default/o\nGET v1 pods default/d\n"
                   "DELETE v1 pods default/d Background uid=u-d resourceVersion=5\n");
    close_world(&w);
}

/* Contract controllers 2.3.9, 2.11 TestAbsentOwnerCache: three dependents of one absent owner need
 * one look-up of it, and those of another owner need another. */
TEST(gc_conflicts, an_absent_owner_is_looked_up_once)
{
    static const char *const names[] = {"d1", "d2", "d3"};
    struct world w;
    static char json[3][512];

    open_world(&w);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        snprintf(json[i], sizeof(json[i]), OBJECT("%s", "u-%s", "5", REFS(REF("%s", "%s"))),
                 names[i], names[i], i < 2 ? "o" : "p", i < 2 ? "u-o" : "u-p");
        show(&w, PODS, json[i]);
    }
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++)
        scripted_answer(&w.sp, 0, json[i]);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++)
        scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 60000,
                   "GET v1 configmaps default/o\nGET v1 configmaps default/p\n"
                   "GET v1 pods default/d1\nGET v1 pods default/d2\nGET v1 pods default/d3\n"
                   "DELETE v1 pods default/d1 Background uid=u-d1 resourceVersion=5\n"
                   "DELETE v1 pods default/d2 Background uid=u-d2 resourceVersion=5\n"
                   "DELETE v1 pods default/d3 Background uid=u-d3 resourceVersion=5\n");
    close_world(&w);
}
