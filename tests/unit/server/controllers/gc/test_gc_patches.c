/* The patches of the garbage collector, byte by byte: references are removed or no longer block,
 * finalizers go. Cycles, orphans, and each allocation failing once. */
#include "../gc_fixture.h"

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
TEST(gc_patches, references_without_a_living_owner_are_patched_away)
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
TEST(gc_patches, a_merge_patch_replaces_a_strategic_patch_that_is_not_supported)
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
TEST(gc_patches, a_cycle_is_broken_by_references_that_no_longer_block)
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
TEST(gc_patches, a_merge_patch_that_unblocks_has_all_references)
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
TEST(gc_patches, a_patch_that_unblocks_nothing_has_no_references)
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
TEST(gc_patches, an_object_that_owns_itself_waits_for_itself_only_if_it_blocks)
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
TEST(gc_patches, a_finalizer_is_removed_in_four_tries)
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
TEST(gc_patches, a_finalizer_that_cannot_be_removed_is_tried_again)
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
TEST(gc_patches, dependents_are_orphaned_before_the_finalizer_goes)
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
TEST(gc_patches, an_owner_keeps_its_finalizer_while_a_dependent_cannot_be_orphaned)
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

TEST(gc_patches, a_foreground_deletion_ends_although_an_allocation_fails)
{
    finish_with("foregroundDeletion");
}

TEST(gc_patches, an_orphan_deletion_ends_although_an_allocation_fails)
{
    finish_with("orphan");
}

TEST(gc_patches, a_collector_that_cannot_be_made_leaves_nothing)
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
