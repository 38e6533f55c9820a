/* The requests of the garbage collector over the scripted port: what it reads before it writes, the
 * exact patches and deletions, and what it does with each error. The graph alone:
 * test_gc_graph.c; with a server: test_garbage_collector.c. */
#include "server/controllers/garbage_collector.h"

#include <stdio.h>

#include "base/err.h"
#include "scripted_port.h"
#include "test.h"

enum { MAPS, PODS, NODES, THINGS, UNFOLLOWED, KINDS };

#define RESOURCE(group_, plural_, kind_, is_namespaced_)                                           \
    {                                                                                              \
        .gvr = {COR_STR_INIT(group_), COR_STR_INIT("v1"), COR_STR_INIT(plural_)},                  \
        .kind = COR_STR_INIT(kind_), .is_namespaced = is_namespaced_, .is_preferred = true         \
    }

static const struct cor_port_resource served[KINDS] = {
    [MAPS] = RESOURCE("", "configmaps", "ConfigMap", true),
    [PODS] = RESOURCE("", "pods", "Pod", true),
    [NODES] = RESOURCE("", "nodes", "Node", false),
    [THINGS] = RESOURCE("example.com", "things", "Thing", true),
    [UNFOLLOWED] = RESOURCE("example.com", "notes", "Note", true),
};

#define OBJECT_IN(ns, name, uid, rv, more)                                                         \
    "{\"kind\":\"Any\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"" ns "\",\"resourceVersion\":\"" rv "\",\"uid\":\"" uid "\"" more "}}"
#define OBJECT(name, uid, rv, more) OBJECT_IN("default", name, uid, rv, more)
#define REFS(list)                  ",\"ownerReferences\":[" list "]"
#define REF_TO(api_version, kind, name, uid, more)                                                 \
    "{\"apiVersion\":\"" api_version "\",\"kind\":\"" kind "\",\"name\":\"" name                   \
    "\",\"uid\":\"" uid "\"" more "}"
#define REF(name, uid)      REF_TO("v1", "ConfigMap", name, uid, "")
#define BLOCKS              ",\"blockOwnerDeletion\":true"
#define BLOCKING(name, uid) REF_TO("v1", "ConfigMap", name, uid, BLOCKS)
#define DELETING            ",\"deletionTimestamp\":\"2023-11-14T22:13:20Z\""
#define FINALIZERS(list)    ",\"finalizers\":[" list "]"
#define FOREGROUND          DELETING FINALIZERS("\"foregroundDeletion\"")
#define ORPHAN              DELETING FINALIZERS("\"orphan\"")
#define OWNER(more)         OBJECT("o", "u-o", "3", more)
#define DEPENDENT(rv, refs) OBJECT("d", "u-d", rv, REFS(refs))

struct world {
    struct scripted_port sp;
    struct cor_gc *gc;
    struct cor_gc_followed *followed[KINDS];
    char reports[2048], events[1024];
    bool is_stopped;
};

static void on_wake(void *arg)
{
    struct world *w = arg;

    cor_gc_tick(w->gc);
}

static void wake_at(void *arg, uint64_t at_ms)
{
    struct world *w = arg;

    scripted_wake_at(&w->sp, at_ms);
}

static void on_wrong_namespace(void *arg, const struct cor_gc_identity *dependent,
                               struct cor_str message)
{
    struct world *w = arg;
    size_t n = strlen(w->events);

    snprintf(w->events + n, sizeof(w->events) - n, "%.*s: %.*s\n", COR_STR_ARG(dependent->name),
             COR_STR_ARG(message));
}

static void on_report(void *arg, const struct cor_control_report *report)
{
    struct world *w = arg;
    size_t n = strlen(w->reports);

    snprintf(w->reports + n, sizeof(w->reports) - n, "%s\n",
             report->why ? cor_status_message(report->why) : cor_err_text(report->err));
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    struct world *w = arg;

    assert_null(why);
    w->is_stopped = true;
}

/* A collector that follows the resources, has listed none, and was not started. */
static void make_world(struct world *w)
{
    const struct cor_gc_opts opts = {.port = &w->sp.port,
                                     .clock = &w->sp.clock.clock,
                                     .wake_at = wake_at,
                                     .on_wrong_namespace = on_wrong_namespace,
                                     .on_report = on_report,
                                     .on_stopped = on_stopped,
                                     .arg = w};
    struct cor_api_resources *resources;

    *w = (struct world){0};
    scripted_port_init(&w->sp);
    w->sp.on_wake = on_wake;
    w->sp.arg = w;
    assert_int_equal(cor_gc_new(&opts, &w->gc, NULL), 0);
    assert_int_equal(cor_api_resources_new(served, KINDS, NULL, 0, &resources), 0);
    cor_gc_set_resources(w->gc, resources);
    cor_api_resources_unref(resources);
    for (int kind = 0; kind < UNFOLLOWED; kind++)
        assert_int_equal(cor_gc_follow(w->gc, &served[kind], &w->followed[kind]), 0);
}

/* A collector that has listed everything, and found nothing. */
static void open_world(struct world *w)
{
    make_world(w);
    for (int kind = 0; kind < UNFOLLOWED; kind++) {
        cor_gc_list_begun(w->followed[kind]);
        cor_gc_list_done(w->followed[kind]);
    }
    assert_int_equal(cor_gc_start(w->gc, NULL), 0);
    scripted_run(&w->sp, 0);
}

static void close_world(struct world *w)
{
    cor_gc_stop(w->gc, 1000);
    scripted_run(&w->sp, 1000);
    assert_true(w->is_stopped);
    w->gc = cor_gc_free(w->gc);
    scripted_port_deinit(&w->sp);
}

static void change(struct world *w, int kind, const char *json, bool is_gone)
{
    struct cor_object *object = NULL;
    int r = -COR_ENOMEM;

    /* A feed that has no memory shows the object again. */
    for (int tries = 0; r == -COR_ENOMEM && tries < 2; tries++) {
        r = cor_object_from_json(cor_strz(json), &object, NULL);
        if (r == 0 && is_gone)
            cor_gc_gone(w->followed[kind], object);
        else if (r == 0)
            r = cor_gc_show(w->followed[kind], object);
        object = cor_object_unref(object);
    }
    assert_int_equal(r, 0);
}

static void show(struct world *w, int kind, const char *json)
{
    change(w, kind, json, false);
}

static void gone(struct world *w, int kind, const char *json)
{
    change(w, kind, json, true);
}

static void run_and_expect(struct world *w, uint64_t ms, const char *log)
{
    scripted_run(&w->sp, ms);
    scripted_assert_log(&w->sp, log);
}

/* The owner exists, and the pod d, which names it rightly, has let the collector look it up. */
static void show_owner_and_dependent(struct world *w)
{
    show(w, MAPS, OWNER(""));
    show(w, PODS, DEPENDENT("5", BLOCKING("o", "u-o")));
    scripted_answer(&w->sp, 0, OWNER(""));
    run_and_expect(w, 0, "GET v1 configmaps default/o\n");
}

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

/* Contract controllers 2.3.4, 2.11 TestConflictingData "bad child -> existing owner": the owner is
 * observed with other coordinates than its dependent has guessed. */
TEST(gc_requests, a_dependent_is_verified_when_its_owner_has_another_name)
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

/* Contract controllers 2.2.7: the nodes of a resource that is no longer followed stay, and their
 * objects are looked up. */
TEST(gc_requests, a_resource_that_is_no_longer_followed_leaves_its_nodes)
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
TEST(gc_requests, the_attempts_begin_after_30_seconds_without_all_lists)
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
TEST(gc_requests, an_absent_owner_is_looked_up_once)
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

#define THREE REF("o", "u-o") "," REF("x", "u-x") "," REF("y", "u-y")

/* The requests that classify the references of a dependent whose owner o is solid, x is absent,
 * and y waits for its dependents. */
static void classify_three(struct world *w, int kind, char log[1024])
{
    const char *resource = kind == PODS ? "v1 pods" : "example.com/v1 things";

    show(w, kind, DEPENDENT("5", THREE));
    scripted_answer(&w->sp, 0, OWNER(""));
    scripted_fail(&w->sp, 0, -COR_ENOTFOUND);
    scripted_answer(&w->sp, 0, OBJECT("y", "u-y", "4", FOREGROUND));
    scripted_answer(&w->sp, 0, DEPENDENT("6", THREE));
    scripted_answer(&w->sp, 0, OWNER(""));
    scripted_answer(&w->sp, 0, OBJECT("y", "u-y", "4", FOREGROUND));
    snprintf(log, 1024,
             "GET v1 configmaps default/o\nGET v1 configmaps default/x\n"
             "GET v1 configmaps default/y\nGET %s default/d\nGET v1 configmaps default/o\n"
             "GET v1 configmaps default/y\n"
             "PATCH %s default/d {\"metadata\":{\"uid\":\"u-d\",\"ownerReferences\":["
             "{\"$patch\":\"delete\",\"uid\":\"u-x\"},{\"$patch\":\"delete\",\"uid\":\"u-y\"}]}}\n",
             resource, resource);
}

/* Contract controllers 2.5.8, 2.6.1, 2.7.5. */
TEST(gc_requests, references_without_a_living_owner_are_patched_away)
{
    struct world w;
    char log[1024];

    open_world(&w);
    classify_three(&w, PODS, log);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 60000, log);
    close_world(&w);
}

/* Contract controllers 2.6.2: custom resources have no strategic merge patch. Any other error is
 * returned. */
TEST(gc_requests, a_merge_patch_replaces_a_strategic_patch_that_is_not_supported)
{
    static const char merge[] =
        "MERGE-PATCH example.com/v1 things default/d {\"metadata\":{\"resourceVersion\":\"6\","
        "\"ownerReferences\":[" REF("o", "u-o") "]}}\n";
    struct world w;
    char log[1024], expected[2048];

    open_world(&w);
    classify_three(&w, THINGS, log);
    scripted_fail(&w.sp, 0, -COR_EMEDIATYPE);
    scripted_answer(&w.sp, 0, NULL);
    snprintf(expected, sizeof(expected), "%s%s", log, merge);
    run_and_expect(&w, 60000, expected);
    close_world(&w);

    open_world(&w);
    classify_three(&w, THINGS, log);
    scripted_fail(&w.sp, 0, -COR_EINVAL);
    run_and_expect(&w, 4, log);
    assert_true(w.reports[0] != '\0');
    close_world(&w);
}

#define C1(rv, more) OBJECT("c1", "u-c1", rv, more REFS(BLOCKING("c2", "u-c2")))
#define C2(rv)       OBJECT("c2", "u-c2", rv, REFS(BLOCKING("c1", "u-c1") "," REF("z", "u-c1")))
#define FREED(name)                                                                                \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"" name                               \
    "\",\"uid\":\"u-c1\",\"blockOwnerDeletion\":false}"
#define C2_FREED(rv) OBJECT("c2", "u-c2", rv, REFS(FREED("c1")))

/* Both objects of a cycle are shown, and the deletion of c1 begins. */
static void begin_cycle(struct world *w, const char *c2)
{
    show(w, MAPS, C1("3", ""));
    show(w, MAPS, c2);
    show(w, MAPS, C1("5", FOREGROUND));
    scripted_answer(&w->sp, 0, c2);                  /* c2 is read, */
    scripted_answer(&w->sp, 0, C1("5", FOREGROUND)); /* c1 is read, and c2 blocks it; */
    scripted_answer(&w->sp, 0, C1("5", FOREGROUND)); /* c1 as the owner of c2 is waiting. */
}

/* Contract controllers 2.5.11, 2.6.3, 2.7.1, 2.7.2, 2.7.6. */
TEST(gc_requests, a_cycle_is_broken_by_references_that_no_longer_block)
{
    static const char c2[] = OBJECT("c2", "u-c2", "4", REFS(BLOCKING("c1", "u-c1")));
    struct world w;

    open_world(&w);
    begin_cycle(&w, c2);
    scripted_answer(&w.sp, 0, NULL);          /* PATCH */
    scripted_fail(&w.sp, 0, -COR_ECONFLICT);  /* DELETE with the version before the patch */
    scripted_answer(&w.sp, 0, C2_FREED("6")); /* The references differ: no second DELETE. */
    scripted_answer(&w.sp, 1, C2_FREED("6"));
    run_and_expect(
        &w, 0,
        "GET v1 configmaps default/c2\nGET v1 configmaps default/c1\n"
        "GET v1 configmaps default/c1\n"
        "PATCH v1 configmaps default/c2 {\"metadata\":{\"uid\":\"u-c2\","
        "\"ownerReferences\":[" FREED(
            "c1") "]}}\n"
                  "DELETE v1 configmaps default/c2 Foreground uid=u-c2 resourceVersion=4\n"
                  "GET v1 configmaps default/c2\n"
                  "GET v1 configmaps default/c2\n"); /* c1 has asked for another look at c2. */
    show(&w, MAPS, C2_FREED("6"));                   /* It no longer blocks c1. */
    scripted_answer(&w.sp, 0, C1("5", FOREGROUND));
    scripted_answer(&w.sp, 0, C1("5", FOREGROUND));
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 0,
                   "GET v1 configmaps default/c1\nGET v1 configmaps default/c1\n"
                   "MERGE-PATCH v1 configmaps default/c1 {\"metadata\":{\"resourceVersion\":\"5\","
                   "\"finalizers\":null}}\n");
    gone(&w, MAPS, C1("7", DELETING));
    scripted_answer(&w.sp, 0, NULL);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run_and_expect(&w, 60000,
                   "DELETE v1 configmaps default/c2 Background uid=u-c2 resourceVersion=6\n"
                   "GET v1 configmaps default/c2\n");
    close_world(&w);
}

/* Contract controllers 2.6.3: the strategic patch has only the references that block, the merge
 * patch has all of them. */
TEST(gc_requests, a_merge_patch_that_unblocks_has_all_references)
{
    struct world w;

    open_world(&w);
    begin_cycle(&w, C2("4"));
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND); /* z does not exist. */
    scripted_fail(&w.sp, 0, -COR_EMEDIATYPE);
    scripted_answer(&w.sp, 0, NULL);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(
        &w, 0,
        "GET v1 configmaps default/c2\nGET v1 configmaps default/c1\n"
        "GET v1 configmaps default/c1\nGET v1 configmaps default/z\n"
        "PATCH v1 configmaps default/c2 {\"metadata\":{\"uid\":\"u-c2\","
        "\"ownerReferences\":[" FREED(
            "c1") "]}}\n"
                  "MERGE-PATCH v1 configmaps default/c2 {\"metadata\":{\"resourceVersion\":\"4\","
                  "\"ownerReferences\":[" FREED("c1") "," FREED(
                      "z") "]}}\n"
                           "DELETE v1 configmaps default/c2 Foreground uid=u-c2 resourceVersion=4\n"
                           "GET v1 configmaps default/c2\n");
    close_world(&w);
}

/* Contract controllers 2.6.3: without a reference that blocks, the patch has no list, as upstream's
 * has none. */
TEST(gc_requests, a_patch_that_unblocks_nothing_has_no_references)
{
    struct world w;

    open_world(&w);
    begin_cycle(&w, C2_FREED("4"));
    scripted_answer(&w.sp, 0, NULL); /* PATCH, DELETE */
    scripted_answer(&w.sp, 0, NULL);
    scripted_answer(&w.sp, 0, C1("5", FOREGROUND)); /* Nothing blocks c1. */
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 0,
                   "GET v1 configmaps default/c2\nGET v1 configmaps default/c1\n"
                   "GET v1 configmaps default/c1\n"
                   "PATCH v1 configmaps default/c2 {\"metadata\":{\"uid\":\"u-c2\"}}\n"
                   "DELETE v1 configmaps default/c2 Foreground uid=u-c2 resourceVersion=4\n"
                   "GET v1 configmaps default/c1\n"
                   "MERGE-PATCH v1 configmaps default/c1 {\"metadata\":{\"resourceVersion\":\"5\","
                   "\"finalizers\":null}}\n");
    close_world(&w);
}

/* Contract controllers 2.7.7. */
TEST(gc_requests, an_object_that_owns_itself_waits_for_itself_only_if_it_blocks)
{
    static const char blocking[] = OBJECT("o", "u-o", "3", FOREGROUND REFS(BLOCKING("o", "u-o")));
    static const char plain[] = OBJECT("o", "u-o", "4", FOREGROUND REFS(REF("o", "u-o")));
    struct world w;

    open_world(&w);
    show(&w, MAPS, blocking);
    scripted_answer(&w.sp, 0, blocking);
    run_and_expect(&w, 600000, "GET v1 configmaps default/o\n");
    show(&w, MAPS, plain);
    scripted_answer(&w.sp, 0, plain);
    scripted_answer(&w.sp, 0, plain);
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(&w, 0,
                   "GET v1 configmaps default/o\nGET v1 configmaps default/o\n"
                   "MERGE-PATCH v1 configmaps default/o {\"metadata\":{\"resourceVersion\":\"4\","
                   "\"finalizers\":null}}\n");
    gone(&w, MAPS, plain);
    run_and_expect(&w, 60000, "");
    close_world(&w);
}

#define GET_O "GET v1 configmaps default/o\n"
#define PATCH_O(rv, finalizers)                                                                    \
    "MERGE-PATCH v1 configmaps default/o {\"metadata\":{\"resourceVersion\":\"" rv                 \
    "\",\"finalizers\":" finalizers "}}\n"

/* Contract controllers 2.6.4, 2.8.3, 2.10.6: other finalizers stay, and a conflict is met with four
 * tries. */
TEST(gc_requests, a_finalizer_is_removed_in_four_tries)
{
    static const char o[] =
        OBJECT("o", "u-o", "3", DELETING FINALIZERS("\"a/b\",\"orphan\",\"c/d\""));
    static const uint64_t pause_ms[] = {10, 50, 250};
    struct world w;

    open_world(&w);
    show(&w, MAPS, o);
    for (size_t i = 0; i < 4; i++) {
        scripted_answer(&w.sp, 0, o);
        scripted_fail(&w.sp, 0, -COR_ECONFLICT);
        run_and_expect(&w, i == 0 ? 0 : 1, GET_O PATCH_O("3", "[\"a/b\",\"c/d\"]"));
        if (i < 3)
            run_and_expect(&w, pause_ms[i] - 1, "");
    }
    assert_string_equal(w.reports,
                        "updateMaxRetries(4) has reached. The garbage collector will retry later "
                        "for owner [v1/ConfigMap, namespace: default, name: o, uid: u-o]\n");
    run_and_expect(&w, 4, "");
    scripted_answer(&w.sp, 0, OBJECT("o", "u-o", "4", DELETING FINALIZERS("\"a/b\"")));
    run_and_expect(&w, 60000, GET_O); /* Somebody else has removed it. */
    close_world(&w);
}

/* Contract controllers 2.6.4: errors of the two requests that remove a finalizer. */
TEST(gc_requests, a_finalizer_that_cannot_be_removed_is_tried_again)
{
    static const char o[] = OBJECT("o", "u-o", "3", ORPHAN);
    struct world w;

    open_world(&w);
    show(&w, MAPS, o);
    scripted_fail(&w.sp, 0, -COR_EINTERNAL);
    run_and_expect(&w, 4, GET_O);
    assert_non_null(strstr(w.reports, "cannot finalize owner [v1/ConfigMap, namespace: default, "
                                      "name: o, uid: u-o], because cannot get it: "));
    scripted_answer(&w.sp, 0, o);
    scripted_fail(&w.sp, 0, -COR_EINTERNAL);
    run_and_expect(&w, 5, GET_O PATCH_O("3", "null"));
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run_and_expect(&w, 60000, GET_O);
    close_world(&w);
}

/* Contract controllers 2.6.1, 2.6.2, 2.8.1, 2.8.2: each dependent loses its reference to the owner,
 * and then the owner loses its finalizer. */
TEST(gc_requests, dependents_are_orphaned_before_the_finalizer_goes)
{
    static const char thing[] = OBJECT("t", "u-t", "6", REFS(REF("o", "u-o")));
    struct world w;

    open_world(&w);
    show_owner_and_dependent(&w);
    show(&w, PODS, OBJECT("e", "u-e", "5", REFS(REF("o", "u-o"))));
    show(&w, THINGS, OBJECT("t", "u-t", "5", REFS(REF("o", "u-o"))));
    show(&w, MAPS, OBJECT("o", "u-o", "9", ORPHAN));
    scripted_answer(&w.sp, 0, NULL);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND); /* e is gone, which is no error. */
    scripted_fail(&w.sp, 0, -COR_EMEDIATYPE);
    scripted_answer(&w.sp, 0, thing);
    scripted_answer(&w.sp, 0, NULL);
    scripted_answer(&w.sp, 0, OBJECT("o", "u-o", "9", ORPHAN));
    scripted_answer(&w.sp, 0, NULL);
    run_and_expect(
        &w, 60000,
        "PATCH v1 pods default/d {\"metadata\":{\"uid\":\"u-d\",\"ownerReferences\":"
        "[{\"$patch\":\"delete\",\"uid\":\"u-o\"}]}}\n"
        "PATCH v1 pods default/e {\"metadata\":{\"uid\":\"u-e\",\"ownerReferences\":"
        "[{\"$patch\":\"delete\",\"uid\":\"u-o\"}]}}\n"
        "PATCH example.com/v1 things default/t {\"metadata\":{\"uid\":\"u-t\",\"ownerReferences\":"
        "[{\"$patch\":\"delete\",\"uid\":\"u-o\"}]}}\n"
        "GET example.com/v1 things default/t\n"
        "MERGE-PATCH example.com/v1 things default/t {\"metadata\":{\"resourceVersion\":\"6\","
        "\"ownerReferences\":null}}\n" GET_O PATCH_O("9", "null"));
    assert_string_equal(w.reports, "");
    close_world(&w);
}

/* Contract controllers 2.8.1, 2.8.3. */
TEST(gc_requests, an_owner_keeps_its_finalizer_while_a_dependent_cannot_be_orphaned)
{
    struct world w;

    open_world(&w);
    show_owner_and_dependent(&w);
    show(&w, PODS, OBJECT("e", "u-e", "5", REFS(REF("o", "u-o"))));
    show(&w, MAPS, OBJECT("o", "u-o", "9", ORPHAN));
    scripted_fail(&w.sp, 0, -COR_EINTERNAL);
    scripted_fail(&w.sp, 0, -COR_EINTERNAL);
    scripted_run(&w.sp, 4);
    assert_null(strstr(w.sp.log, "finalizers"));
    assert_string_equal(
        w.reports,
        "failed to orphan dependents of owner [v1/ConfigMap, namespace: default, name: o, uid: "
        "u-o], got errors: [orphaning [v1/Pod, namespace: default, name: d, uid: u-d] failed, "
        "internal error, orphaning [v1/Pod, namespace: default, name: e, uid: u-e] failed, "
        "internal error]\n");
    w.sp.log[0] = '\0';
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    scripted_run(&w.sp, 1);
    assert_non_null(strstr(w.sp.log, GET_O));
    close_world(&w);
}

/* What a server with these objects would answer: the owner o, which is deleted with the policy of
 * its finalizer, and its dependents d and t. */
struct small_server {
    const char *owner; /* NULL: there is none */
    bool has_d, has_t; /* they exist and have their reference */
};

static const char *respond(void *arg, const char *line)
{
    struct small_server *s = arg;
    bool is_d = strstr(line, " default/d"), is_t = strstr(line, " default/t");
    bool exists = is_d ? s->has_d : is_t ? s->has_t : s->owner != NULL;

    if (!exists)
        return "404";
    if (strncmp(line, "GET", 3) == 0)
        return is_d   ? DEPENDENT("5", BLOCKING("o", "u-o"))
               : is_t ? OBJECT("t", "u-t", "5", REFS(BLOCKING("o", "u-o")))
                      : s->owner;
    if (is_t && strncmp(line, "PATCH", 5) == 0)
        return "415";
    if (is_d)
        s->has_d = false;
    else if (is_t)
        s->has_t = false;
    else
        s->owner = NULL;
    return NULL;
}

/* The collector finishes the deletion of an owner with two dependents, whichever allocation fails:
 * of the graph, of the queue, of an attempt, or of an answer. */
static void finish_with(const char *finalizer)
{
    char owner[512];

    snprintf(owner, sizeof(owner), OBJECT("o", "u-o", "9", DELETING FINALIZERS("\"%s\"")),
             finalizer);
    FOR_EACH_FAILED_ALLOC(n) {
        struct small_server s = {.owner = owner, .has_d = true, .has_t = true};
        struct world w;

        test_fail_alloc(0, false);
        open_world(&w);
        w.sp.respond = respond;
        w.sp.respond_arg = &s;
        test_fail_alloc(n, false);
        show(&w, MAPS, owner);
        show(&w, PODS, DEPENDENT("5", BLOCKING("o", "u-o")));
        show(&w, THINGS, OBJECT("t", "u-t", "5", REFS(BLOCKING("o", "u-o"))));
        scripted_run(&w.sp, 1000);
        /* The feeds show the ends of d and t, by a deletion or by the loss of the reference. */
        if (!s.has_d)
            gone(&w, PODS, DEPENDENT("5", BLOCKING("o", "u-o")));
        if (!s.has_t)
            gone(&w, THINGS, OBJECT("t", "u-t", "5", REFS(BLOCKING("o", "u-o"))));
        scripted_run(&w.sp, 1000);
        assert_false(s.has_d || s.has_t);
        assert_null(s.owner);
        close_world(&w);
    }
}

TEST(gc_requests, a_foreground_deletion_ends_although_an_allocation_fails)
{
    finish_with("foregroundDeletion");
}

TEST(gc_requests, an_orphan_deletion_ends_although_an_allocation_fails)
{
    finish_with("orphan");
}

TEST(gc_requests, a_collector_that_cannot_be_made_leaves_nothing)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct world w = {0};
        const struct cor_gc_opts opts = {.port = &w.sp.port,
                                         .clock = &w.sp.clock.clock,
                                         .wake_at = wake_at,
                                         .on_wrong_namespace = on_wrong_namespace,
                                         .on_stopped = on_stopped,
                                         .arg = &w};
        int r;

        scripted_port_init(&w.sp);
        r = cor_gc_new(&opts, &w.gc, NULL);
        if (r == 0)
            r = cor_gc_follow(w.gc, &served[PODS], &w.followed[PODS]);
        assert_true(r == 0 || r == -COR_ENOMEM);
        cor_gc_free(w.gc);
        scripted_port_deinit(&w.sp);
    }
}
