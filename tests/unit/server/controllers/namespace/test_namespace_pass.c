/* One pass of namespace deletion over the scripted port: its requests in their order, the findings
 * that become conditions, and how the pass ends. With the server: test_namespace_controller.c. */
#include "server/controllers/namespace/namespace_pass.h"

#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "scripted_port.h"
#include "test.h"

#define META(rv)                                                                                   \
    "\"metadata\":{\"deletionTimestamp\":\"2023-11-14T22:13:20Z\",\"name\":\"x\","                 \
    "\"resourceVersion\":\"" rv "\",\"uid\":\"u1\"}"
#define TYPE "\"kind\":\"Namespace\",\"apiVersion\":\"v1\","
#define NS_AT(rv, status)                                                                          \
    "{" TYPE META(rv) ",\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{" status "}}"
#define TERMINATING "\"phase\":\"Terminating\""
#define NS          NS_AT("7", TERMINATING)

#define CONDITION(type, status, reason, message)                                                   \
    "{\"lastTransitionTime\":\"2023-11-14T22:13:20Z\",\"message\":\"" message                      \
    "\",\"reason\":\"" reason "\",\"status\":\"" status "\",\"type\":\"" type "\"}"
#define DISCOVERED                                                                                 \
    CONDITION("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",                 \
              "All resources successfully discovered")
#define PARSED                                                                                     \
    CONDITION("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",       \
              "All legacy kube types successfully parsed")
#define DELETED                                                                                    \
    CONDITION("NamespaceDeletionContentFailure", "False", "ContentDeleted",                        \
              "All content successfully deleted, may be waiting on finalization")
#define REMOVED                                                                                    \
    CONDITION("NamespaceContentRemaining", "False", "ContentRemoved",                              \
              "All content successfully removed")
#define NO_FINALIZERS                                                                              \
    CONDITION("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers",                   \
              "All content-preserving finalizers finished")
#define PODS_REMAIN(time)                                                                          \
    "{\"lastTransitionTime\":\"2023-11-14T" time                                                   \
    "Z\",\"message\":\"Some resources are remaining: pods. has 1 resource instances\",\"reason\":" \
    "\"SomeResourcesRemain\",\"status\":\"True\",\"type\":\"NamespaceContentRemaining\"}"
#define ALL_WELL   DISCOVERED "," PARSED "," DELETED "," REMOVED "," NO_FINALIZERS
#define NS_WELL    NS_AT("8", "\"conditions\":[" ALL_WELL "]," TERMINATING)
#define FINALIZED  "{" TYPE META("7") ",\"spec\":{}}"
#define PUT_STATUS "UPDATE v1 namespaces/status x "
#define READ       "GET v1 namespaces x\nRESOURCES\n"

#define POD(grace, phase)                                                                          \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},\"spec\":{"             \
    "\"terminationGracePeriodSeconds\":" grace "},\"status\":{\"phase\":\"" phase "\"}}"
#define ITEM(finalizers)                                                                           \
    "{\"kind\":\"Thing\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"i\",\"finalizers\":"       \
    "[" finalizers "]}}"

#define WRITABLE (COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(DELETECOLLECTION))
#define ALL      (WRITABLE | COR_API_VERB_BIT(LIST))

#define RESOURCE(group_, version_, plural_, verbs_)                                                \
    {                                                                                              \
        .gvr = {COR_STR_INIT(group_), COR_STR_INIT(version_), COR_STR_INIT(plural_)},              \
        .kind = COR_STR_INIT("Any"), .is_namespaced = true, .is_preferred = true, .verbs = verbs_  \
    }

struct world {
    struct scripted_port sp;
    struct cor_api_resources *resources;
    struct cor_namespace_pass *pass;
    unsigned ndone;
    char message[1024];
    int64_t remains_s;
    int err;
};

static void on_done(void *arg, const struct cor_namespace_pass_result *result)
{
    struct world *w = arg;

    w->ndone++;
    w->pass = NULL;
    w->remains_s = result->remains_s;
    w->err = result->error ? result->error->err : 0;
    snprintf(w->message, sizeof(w->message), "%s",
             result->error ? cor_status_message(result->error) : "");
}

static void begin(struct world *w, const struct cor_port_resource *list, size_t n)
{
    *w = (struct world){0};
    scripted_port_init(&w->sp);
    assert_int_equal(cor_api_resources_new(list, n, NULL, 0, &w->resources), 0);
}

/* Runs a pass to its end. */
static void run(struct world *w)
{
    const struct cor_namespace_pass_opts opts = {.port = &w->sp.port,
                                                 .clock = &w->sp.clock.clock,
                                                 .name = COR_STR("x"),
                                                 .on_done = on_done,
                                                 .arg = w};

    w->ndone = 0;
    assert_int_equal(cor_namespace_pass_start(&opts, &w->pass), 0);
    scripted_run(&w->sp, 0);
    assert_int_equal(w->ndone, 1);
}

static void end(struct world *w)
{
    cor_api_resources_unref(w->resources);
    scripted_port_deinit(&w->sp);
}

/* So many requests succeed without an object. */
static void succeed(struct world *w, unsigned n)
{
    while (n-- > 0)
        scripted_answer(&w->sp, 0, NULL);
}

/* The namespace and the enumeration are read. */
static void read_with(struct world *w, const char *ns)
{
    scripted_answer(&w->sp, 0, ns);
    scripted_resources(&w->sp, 0, w->resources);
}

static const struct cor_port_resource maps[] = {RESOURCE("", "v1", "configmaps", ALL)};
static const struct cor_port_resource pods_and_maps[] = {
    RESOURCE("", "v1", "configmaps", ALL),
    RESOURCE("", "v1", "pods", ALL),
};

/* Contract controllers 1.2.1, 1.2.3, 1.6.6. */
TEST(namespace_pass, a_namespace_with_nothing_to_do_is_only_read)
{
    static const char *const states[] = {
        "{" TYPE "\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"kubernetes\"]},"
        "\"status\":{\"phase\":\"Active\"}}",
        "{" TYPE META("7") ",\"spec\":{},\"status\":{" TERMINATING "}}",
    };
    struct world w;

    begin(&w, maps, 1);
    for (size_t i = 0; i < COR_ARRAY_LEN(states); i++) {
        scripted_answer(&w.sp, 0, states[i]);
        run(&w);
        assert_int_equal(w.err, 0);
        assert_int_equal(w.remains_s, 0);
        scripted_assert_log(&w.sp, "GET v1 namespaces x\n");
    }
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run(&w);
    assert_int_equal(w.err, 0);
    scripted_fail(&w.sp, 0, -COR_EFORBIDDEN);
    run(&w);
    assert_int_equal(w.err, -COR_EFORBIDDEN);
    end(&w);
}

/* Contract controllers 1.2.4, 1.5.3, 1.5.6, 1.5.7, 1.6.1, 1.6.2, 1.7.1, 1.7.2, 1.7.4, 1.7.5, 1.9.4:
 * one deletion and one list for each resource, the five conditions, and a conflict of finalize with
 * the version that was read before them. */
TEST(namespace_pass, an_empty_namespace_gets_its_conditions_and_is_finalized)
{
    struct world w;

    begin(&w, maps, 1);
    read_with(&w, NS);
    succeed(&w, 2);
    scripted_answer(&w.sp, 0, NS_WELL);
    scripted_fail(&w.sp, 0, -COR_ECONFLICT);
    scripted_answer(&w.sp, 0, NS_WELL);
    scripted_answer(&w.sp, 0, NS_WELL);
    run(&w);
    assert_int_equal(w.err, 0);
    assert_int_equal(w.remains_s, 0);
    scripted_assert_log(
        &w.sp, READ
        "DELETECOLLECTION v1 configmaps x/ Background\nLIST v1 configmaps x/\n" PUT_STATUS
        "{" TYPE META("7") ",\"spec\":{\"finalizers\":[\"kubernetes\"]},"
                           "\"status\":{\"conditions\":[" ALL_WELL "]," TERMINATING "}}\n"
                           "UPDATE v1 namespaces/finalize x " FINALIZED "\n"
                           "GET v1 namespaces x\n"
                           "UPDATE v1 namespaces/finalize x {" TYPE META("8") ",\"spec\":{}}\n");
    end(&w);
}

/* Contract controllers 1.6.3, 1.6.7, 1.7.1. */
TEST(namespace_pass, finalize_keeps_what_others_put_and_may_find_nothing)
{
    struct world w;

    begin(&w, maps, 1);
    read_with(&w,
              "{" TYPE META("7") ",\"spec\":{\"finalizers\":[\"z.io/b\",\"kubernetes\",\"a.io/a\","
                                 "\"z.io/b\"]},\"status\":{\"conditions\":[" ALL_WELL
                                 "]," TERMINATING "}}");
    succeed(&w, 2);
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run(&w);
    assert_int_equal(w.err, 0);
    /* The conditions are so already: they are not written. */
    scripted_assert_log(&w.sp, READ "DELETECOLLECTION v1 configmaps x/ Background\n"
                                    "LIST v1 configmaps x/\n"
                                    "UPDATE v1 namespaces/finalize x {" TYPE META(
                                        "7") ",\"spec\":{"
                                             "\"finalizers\":[\"a.io/a\",\"z.io/b\"]}}\n");
    end(&w);
}

/* Contract controllers 1.2.5. */
TEST(namespace_pass, a_conflict_with_another_namespace_of_the_name_fails)
{
    struct world w;

    begin(&w, maps, 1);
    read_with(&w, NS_WELL);
    succeed(&w, 2);
    scripted_fail(&w.sp, 0, -COR_ECONFLICT);
    scripted_answer(&w.sp, 0, "{" TYPE "\"metadata\":{\"name\":\"x\",\"uid\":\"u2\"}}");
    run(&w);
    assert_string_equal(w.message, "namespace uid has changed across retries");
    end(&w);
}

/* Contract controllers 1.2.2, 1.2.5. */
TEST(namespace_pass, the_phase_is_set_when_it_is_not_terminating)
{
    static const char gone[] = "{" TYPE "\"metadata\":{\"name\":\"x\",\"uid\":\"u1\"}}";
    struct world w;

    begin(&w, maps, 1);
    scripted_answer(&w.sp, 0, NS_AT("7", "\"phase\":\"Active\""));
    scripted_fail(&w.sp, 0, -COR_ECONFLICT);
    scripted_answer(&w.sp, 0, NS_AT("8", "\"phase\":\"Active\""));
    scripted_answer(&w.sp, 0, gone); /* an answer without a deletionTimestamp ends the pass */
    run(&w);
    assert_int_equal(w.err, 0);
    scripted_assert_log(&w.sp, "GET v1 namespaces x\n" PUT_STATUS NS_AT(
                                   "7", TERMINATING) "\n"
                                                     "GET v1 namespaces x\n" PUT_STATUS NS_AT(
                                                         "8", TERMINATING) "\n");
    scripted_answer(&w.sp, 0, NS_AT("7", "\"phase\":\"Active\""));
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND);
    run(&w);
    assert_int_equal(w.err, 0);
    end(&w);
}

/* Contract controllers 1.3.1, 1.3.2, 1.3.4, 1.5.4, 1.5.5. */
TEST(namespace_pass, takes_the_preferred_namespaced_resources_that_can_be_deleted)
{
    struct cor_port_resource list[] = {
        RESOURCE("a.io", "v1", "clusterwide", ALL),
        RESOURCE("a.io", "v1beta1", "older", ALL),
        RESOURCE("a.io", "v1", "kept", COR_API_VERB_BIT(LIST)),
        RESOURCE("a.io", "v1", "blind", COR_API_VERB_BIT(DELETE)),
        RESOURCE("a.io", "v1", "unlisted", WRITABLE),
        RESOURCE("a.io", "v1", "single", COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(LIST)),
        RESOURCE("a.io", "v1", "odd", ALL),
    };
    static const char *two[] = {ITEM(""), ITEM(""), NULL};
    struct world w;

    list[0].is_namespaced = list[1].is_preferred = false;
    begin(&w, list, COR_ARRAY_LEN(list));
    read_with(&w, NS_WELL);
    succeed(&w, 1);                          /* unlisted: DELETECOLLECTION */
    scripted_items(&w.sp, 1, two, false);    /* single: LIST */
    scripted_fail(&w.sp, 2, -COR_ENOTSUP);   /* odd: DELETECOLLECTION */
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND); /* single: DELETE */
    scripted_fail(&w.sp, 0, -COR_ENOTSUP);   /* single: DELETE */
    succeed(&w, 1);                          /* single: LIST */
    scripted_fail(&w.sp, 0, -COR_ENOTFOUND); /* odd: LIST */
    scripted_fail(&w.sp, 0, -COR_ENOTSUP);   /* odd: LIST */
    scripted_answer(&w.sp, 0, NS_WELL);
    w.ndone = 0;
    assert_int_equal(
        cor_namespace_pass_start(&(struct cor_namespace_pass_opts){&w.sp.port, &w.sp.clock.clock,
                                                                   COR_STR("x"), on_done, &w},
                                 &w.pass),
        0);
    scripted_run(&w.sp, 10);
    assert_int_equal(w.ndone, 1);
    assert_int_equal(w.err, 0);
    scripted_assert_log(&w.sp,
                        READ "DELETECOLLECTION a.io/v1 unlisted x/ Background\n"
                             "LIST a.io/v1 single x/\n"
                             "DELETECOLLECTION a.io/v1 odd x/ Background\n"
                             "DELETE a.io/v1 single x/i Background\n"
                             "DELETE a.io/v1 single x/i Background\n"
                             "LIST a.io/v1 single x/\n"
                             "LIST a.io/v1 odd x/\nLIST a.io/v1 odd x/\n"
                             "UPDATE v1 namespaces/finalize x {" TYPE META("8") ",\"spec\":{}}\n");
    end(&w);
}

/* Contract controllers 1.4.1, 1.4.2, 1.4.3, 1.5.1, 1.5.8, 1.1.8. */
TEST(namespace_pass, while_pods_remain_nothing_else_is_deleted_and_a_condition_says_so)
{
    static const char *pods[] = {POD("30", "Running"), POD("90", "Succeeded"), POD("40", "Pending"),
                                 POD("99", "Failed"), NULL};
    static const char *one[] = {ITEM("\"a.io/f\""), NULL};
    struct world w;

    begin(&w, pods_and_maps, 2);
    read_with(&w, NS);
    scripted_items(&w.sp, 0, pods, false);
    succeed(&w, 1);
    scripted_items(&w.sp, 0, one, false);
    scripted_answer(&w.sp, 0, NS_WELL);
    run(&w);
    assert_int_equal(w.err, 0);
    assert_int_equal(w.remains_s, 40);
    scripted_assert_log(
        &w.sp,
        READ "LIST v1 pods x/\nDELETECOLLECTION v1 pods x/ Background\n"
             "LIST v1 pods x/\n" PUT_STATUS "{" TYPE META(
                 "7") ",\"spec\":{"
                      "\"finalizers\":[\"kubernetes\"]},\"status\":{\"conditions\":[" DISCOVERED
                      "," PARSED "," DELETED "," PODS_REMAIN("22:13:20") "," CONDITION(
                          "NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain",
                          "Some content in the namespace has finalizers remaining: "
                          "a.io/f in 1 resource instances") "]," TERMINATING "}}\n");
    end(&w);
}

/* A pass that finds a pod which needs 30 s, in a namespace with this status. */
static void pass_over_a_pod(struct world *w, const char *ns)
{
    static const char *pods[] = {POD("30", "Running"), NULL};

    read_with(w, ns);
    scripted_items(&w->sp, 0, pods, false);
    succeed(w, 1);
    scripted_items(&w->sp, 0, pods, false);
    scripted_answer(&w->sp, 0, NS_WELL);
    run(w);
    assert_int_equal(w->remains_s, 30);
}

TEST(namespace_pass, says_once_in_the_log_that_it_waits_for_pods)
{
    static const char said[] = "waits for its pods to end";
    char text[COR_LOG_LINE_MAX];
    const char *line;
    struct world w;
    int fds[2];
    ssize_t n;

    assert_int_equal(pipe(fds), 0);
    begin(&w, pods_and_maps, 2);
    cor_log_install(
        &(struct cor_log_opts){.fd = fds[1], .level = COR_LEVEL_INFO, .clock = &w.sp.clock.clock});
    pass_over_a_pod(&w, NS);
    pass_over_a_pod(&w, NS_AT("8", "\"conditions\":[" PODS_REMAIN("22:13:20") "]," TERMINATING));
    cor_log_install(NULL);
    close(fds[1]);
    n = read(fds[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    close(fds[0]);
    line = strstr(text, said);
    assert_non_null(line);
    assert_non_null(strstr(line, "namespace=\"x\" pods=1 seconds=30\n"));
    assert_null(strstr(line + 1, said));
    end(&w);
}

/* Contract controllers 1.5.2, 1.5.10, 1.5.12, 1.4.4, 1.7.3. */
TEST(namespace_pass, pods_that_outlive_their_time_are_a_failure)
{
    static const char *pods[] = {POD("30", "Running"), NULL};
    struct world w;

    begin(&w, pods_and_maps, 2);
    cor_clock_manual_advance(&w.sp.clock, 30000);
    read_with(&w, NS_WELL);
    scripted_items(&w.sp, 0, pods, false);
    succeed(&w, 1);
    scripted_items(&w.sp, 0, pods, false);
    scripted_fail(&w.sp, 0, -COR_ECONFLICT); /* the conditions; only logged */
    run(&w);
    assert_string_equal(w.message, "failed to delete pods for namespace: x, err: unexpected items "
                                   "still remain in namespace: x for gvr: /v1, Resource=pods");
    /* The transition time of the other conditions stays. */
    scripted_assert_log(
        &w.sp, READ
        "LIST v1 pods x/\nDELETECOLLECTION v1 pods x/ Background\nLIST v1 pods x/\n" PUT_STATUS
        "{" TYPE META(
            "8") ",\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{"
                 "\"conditions\":[" DISCOVERED "," PARSED
                 ",{\"lastTransitionTime\":\"2023-11-14T22:13:50Z\",\"message\":\"Failed to delete all "
                 "resource types, 1 remaining: unexpected items still remain in namespace: x for gvr: "
                 "/v1, Resource=pods\",\"reason\":\"ContentDeletionFailed\",\"status\":\"True\","
                 "\"type\":\"NamespaceDeletionContentFailure\"}," PODS_REMAIN(
                     "22:13:50") "," NO_FINALIZERS "]," TERMINATING "}}\n");
    end(&w);
}

/* Contract controllers 1.4.4: an error before the verifying list does not keep the others. */
TEST(namespace_pass, after_a_failed_deletion_of_pods_the_others_are_deleted)
{
    struct world w;

    begin(&w, pods_and_maps, 2);
    read_with(&w, NS_WELL);
    succeed(&w, 1);
    scripted_fail(&w.sp, 0, -COR_EFORBIDDEN);
    succeed(&w, 2);
    succeed(&w, 1);
    run(&w);
    assert_int_equal(strncmp(w.message, "failed to delete pods for namespace: x, err: ", 45), 0);
    assert_non_null(strstr(w.sp.log, "DELETECOLLECTION v1 configmaps x/ Background\n"));
    assert_null(strstr(w.sp.log, "finalize x"));
    w.sp.log[0] = '\0';
    end(&w);
}

/* Contract controllers 1.4.5, 1.4.6, 1.5.9, 1.5.11, 1.7.3. */
TEST(namespace_pass, what_remains_is_counted_by_resource_and_by_finalizer)
{
    static const struct cor_port_resource list[] = {
        RESOURCE("", "v1", "things", ALL),
        RESOURCE("apps", "v1", "deployments", ALL),
    };
    static const char *things[] = {ITEM("\"z.io/f\",\"a.io/f\""), ITEM(""), NULL};
    static const char *deployments[] = {ITEM("\"z.io/f\""), NULL};
    struct world w;

    begin(&w, list, 2);
    read_with(&w, NS_WELL);
    succeed(&w, 2);
    scripted_items(&w.sp, 0, things, false);
    scripted_items(&w.sp, 0, deployments, false);
    succeed(&w, 1);
    run(&w);
    assert_int_equal(w.err, 0);
    assert_int_equal(w.remains_s, 15);
    assert_non_null(strstr(w.sp.log, "\"Some resources are remaining: deployments.apps has 1 "
                                     "resource instances, things. has 2 resource instances\""));
    assert_non_null(strstr(w.sp.log, "\"Some content in the namespace has finalizers remaining: "
                                     "a.io/f in 1 resource instances, z.io/f in 2 resource "
                                     "instances\""));
    w.sp.log[0] = '\0';

    /* Several failures are one error without repetitions; the condition has them all. */
    read_with(&w, NS_WELL);
    scripted_fail(&w.sp, 0, -COR_EFORBIDDEN);
    scripted_fail(&w.sp, 0, -COR_EFORBIDDEN);
    succeed(&w, 1);
    run(&w);
    assert_int_equal(w.message[0] == '[', 0);
    assert_non_null(strstr(w.sp.log, "Failed to delete all resource types, 2 remaining: "));
    w.sp.log[0] = '\0';
    read_with(&w, NS_WELL);
    scripted_fail(&w.sp, 0, -COR_EFORBIDDEN);
    scripted_fail(&w.sp, 0, -COR_EINVALID);
    succeed(&w, 1);
    run(&w);
    assert_int_equal(w.message[0], '[');
    assert_non_null(strstr(w.message, ", "));
    w.sp.log[0] = '\0';
    end(&w);
}

/* Contract controllers 1.3.2, 1.3.3, 1.7.3, 1.9.2. */
TEST(namespace_pass, what_cannot_be_discovered_keeps_the_namespace)
{
    static const struct cor_api_resources_failure stale = {
        {COR_STR_INIT("z.io"), COR_STR_INIT("v1")},
        COR_STR_INIT("stale GroupVersion discovery: z.io/v1")};
    static const struct cor_port_resource slashed[] = {RESOURCE("a/b", "v1", "things", ALL)};
    static const char text[] = "unable to retrieve the complete list of server APIs: "
                               "z.io/v1: stale GroupVersion discovery: z.io/v1";
    struct world w;

    begin(&w, maps, 1);
    cor_api_resources_unref(w.resources);
    assert_int_equal(cor_api_resources_new(maps, 1, &stale, 1, &w.resources), 0);
    read_with(&w, NS_WELL);
    succeed(&w, 3);
    run(&w);
    assert_string_equal(w.message, text);
    assert_non_null(strstr(w.sp.log, "LIST v1 configmaps x/\n"));
    assert_non_null(strstr(w.sp.log, "\"Discovery failed for some groups, 1 failing: unable to "));
    w.sp.log[0] = '\0';

    /* Nothing at all could be enumerated. */
    scripted_answer(&w.sp, 0, NS_WELL);
    scripted_fail(&w.sp, 0, -COR_EFORBIDDEN);
    succeed(&w, 1);
    run(&w);
    assert_int_not_equal(w.err, 0);
    assert_non_null(strstr(w.sp.log, "\"reason\":\"DiscoveryFailed\""));
    w.sp.log[0] = '\0';

    /* A group and version that cannot be parsed drops all resources. */
    cor_api_resources_unref(w.resources);
    assert_int_equal(cor_api_resources_new(slashed, 1, NULL, 0, &w.resources), 0);
    read_with(&w, NS_WELL);
    succeed(&w, 1);
    run(&w);
    assert_string_equal(w.message, "unexpected GroupVersion string: a/b/v1");
    assert_non_null(strstr(w.sp.log, "\"reason\":\"GroupVersionParsingFailed\""));
    w.sp.log[0] = '\0';
    end(&w);
}

/* Requests that are refused or not answered are failures as any other. */
TEST(namespace_pass, a_request_that_cannot_be_sent_fails_the_pass)
{
    struct world w;

    begin(&w, maps, 1);
    scripted_refuse(&w.sp, -COR_EBUSY);
    run(&w);
    assert_int_equal(w.err, -COR_EBUSY);
    read_with(&w, NS_WELL);
    scripted_break(&w.sp, 0, -COR_EBROKEN);
    succeed(&w, 1);
    run(&w);
    assert_int_not_equal(w.err, 0);
    read_with(&w, NS_WELL);
    succeed(&w, 2);
    scripted_break(&w.sp, 0, -COR_EBROKEN);
    run(&w);
    assert_int_equal(w.err, -COR_EBROKEN);
    end(&w);
}

/* Sends a pass with everything in it. */
static void script_all(struct world *w)
{
    static const char *pods[] = {POD("0", "Running"), NULL};
    static const char *one[] = {ITEM("\"a.io/f\""), NULL};

    read_with(w, NS_AT("7", "\"phase\":\"Terminating\""));
    scripted_items(&w->sp, 0, pods, false);
    succeed(w, 3);
    scripted_items(&w->sp, 0, one, false);
    scripted_answer(&w->sp, 0, NS_WELL);
}

TEST(namespace_pass, may_be_cancelled_after_each_request)
{
    for (size_t n = 1; n <= 8; n++) {
        struct world w;

        begin(&w, pods_and_maps, 2);
        script_all(&w);
        w.sp.nsteps = n - 1; /* the rest gets no answer */
        assert_int_equal(cor_namespace_pass_start(
                             &(struct cor_namespace_pass_opts){&w.sp.port, &w.sp.clock.clock,
                                                               COR_STR("x"), on_done, &w},
                             &w.pass),
                         0);
        scripted_run(&w.sp, 0);
        if (n <= 8 && w.pass)
            cor_namespace_pass_cancel(w.pass);
        assert_true(w.ndone == 0 || n == 8);
        end(&w);
    }
}
