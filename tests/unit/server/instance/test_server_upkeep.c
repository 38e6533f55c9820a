#include "../api_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "schema/kinds/bootstrap_objects.h"
#include "server/instance/bootstrap_keeper.h"
#include "server/instance/identity_lease.h"
#include "server/instance/server_upkeep.h"
#include "server/instance/trust_keeper.h"
#include "server/port/inner_port.h"

#define CLASSES "/apis/scheduling.k8s.io/v1/priorityclasses"
#define LEVELS  "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
#define SCHEMAS "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
#define LEASES  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define AUTO    "apf.kubernetes.io/autoupdate-spec"
/* What kube-apiserver 1.34.1 on a host named "vm" calls its Lease. */
#define VM_LEASE "apiserver-wlv32tlttr4jl3gtroqexyxapa"

struct ufx {
    struct fx fx;
    struct cor_inner_port port;
    struct cor_bootstrap_keeper keeper;
    const struct cor_bootstrap_object *objects; /* NULL: those of the server */
    size_t nobjects;
    struct cor_identity_lease lease;
    bool is_done;
    int err;
};

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static void ufx_on_done(void *arg, int err)
{
    struct ufx *u = arg;

    u->is_done = true;
    u->err = err;
}

static void ufx_open(struct ufx *u)
{
    fx_open(&u->fx);
    fx_bootstrap(&u->fx);
    cor_inner_port_init(&u->port, cor_api_loop(u->fx.api, 0), COR_STR(""),
                        COR_STR("kube-apiserver"), 0);
    assert_int_equal(cor_bootstrap_keeper_init(&u->keeper, &u->port.port, &u->fx.clock.clock,
                                               u->objects ? u->objects : cor_bootstrap_objects,
                                               u->objects ? u->nobjects : cor_bootstrap_nobjects),
                     0);
    assert_int_equal(cor_identity_lease_init(&u->lease, &u->port.port, &u->fx.clock.clock,
                                             COR_STR("vm"), COR_STR("u-1")),
                     0);
    u->lease.on_renewed = u->lease.on_collected = ufx_on_done;
    u->lease.arg = u;
}

static bool ufx_is_idle(void *arg)
{
    return cor_inner_port_is_idle(&((struct ufx *)arg)->port);
}

static void ufx_close(struct ufx *u)
{
    assert_true(cor_loop_run_until(u->fx.loop, ufx_is_idle, u, FX_TIMEOUT_MS));
    cor_bootstrap_keeper_deinit(&u->keeper);
    cor_identity_lease_deinit(&u->lease);
    cor_inner_port_deinit(&u->port);
    fx_close(&u->fx);
}

static int ufx_wait(struct ufx *u)
{
    assert_true(cor_loop_run_until(u->fx.loop, is_set, &u->is_done, FX_TIMEOUT_MS));
    return u->err;
}

static int check(struct ufx *u)
{
    u->is_done = false;
    cor_bootstrap_keeper_check(&u->keeper, ufx_on_done, u);
    return ufx_wait(u);
}

static int renew(struct ufx *u)
{
    u->is_done = false;
    cor_identity_lease_renew(&u->lease);
    return ufx_wait(u);
}

static int collect(struct ufx *u)
{
    u->is_done = false;
    cor_identity_lease_collect(&u->lease);
    return ufx_wait(u);
}

static const char *get(struct ufx *u, const char *path)
{
    return fx_do(&u->fx, 200, "GET", path, "");
}

static void patch(struct ufx *u, const char *path, const char *body)
{
    const struct fx_headers headers = {.content_type = "application/merge-patch+json"};

    fx_do_with(&u->fx, 200, "PATCH", path, body, &headers);
}

/* Fails the test unless the specs of all objects of the table are those of the table. */
static void assert_all_objects(struct ufx *u)
{
    for (size_t i = 0; i < cor_bootstrap_nobjects; i++) {
        const struct cor_bootstrap_object *row = &cor_bootstrap_objects[i];
        char path[256];

        snprintf(path, sizeof(path), "/apis/%s/%s/%s/%s", row->gvr.group.p, row->gvr.version.p,
                 row->gvr.resource.p, row->name.p);
        if (row->spec.n > 0 && row->is_spec_compared)
            assert_at(get(u, path), "spec", row->spec.p);
        else
            (void)get(u, path);
    }
}

#define MORE 100

/* The policy of an authorizer has more objects than a word has bits. One that was deleted is made
 * again, wherever it stands in the table, and the others stay. */
TEST(server_upkeep, a_table_of_any_length_is_kept)
{
    static char names[MORE][16], bodies[MORE][128], paths[MORE][64];
    struct cor_bootstrap_object *rows =
        calloc(cor_bootstrap_nobjects + MORE, sizeof(struct cor_bootstrap_object));
    struct ufx u = {.objects = rows, .nobjects = cor_bootstrap_nobjects + MORE};

    assert_non_null(rows);
    for (size_t i = 0; i < u.nobjects; i++) {
        struct cor_bootstrap_object *row = &rows[i];
        size_t k = i - cor_bootstrap_nobjects;

        *row = cor_bootstrap_objects[i < cor_bootstrap_nobjects ? i : 0]; /* a PriorityClass */
        if (i < cor_bootstrap_nobjects)
            continue;
        snprintf(names[k], sizeof(names[k]), "class-%03zu", k);
        snprintf(paths[k], sizeof(paths[k]), CLASSES "/%s", names[k]);
        snprintf(bodies[k], sizeof(bodies[k]), "{\"metadata\":{\"name\":\"%s\"},\"value\":%zu}",
                 names[k], k);
        row->rule = COR_BOOTSTRAP_ONCE;
        row->name = cor_strz(names[k]);
        row->body = cor_strz(bodies[k]);
    }
    ufx_open(&u);
    assert_int_equal(check(&u), 0);
    for (size_t k = 0; k < MORE; k++)
        fx_do(&u.fx, 200, k % 3 == 0 ? "DELETE" : "GET", paths[k], "");
    patch(&u, CLASSES "/class-098", "{\"description\":\"ours\"}");
    assert_int_equal(check(&u), 0);
    for (size_t k = 0; k < MORE; k++)
        (void)get(&u, paths[k]);
    assert_at(get(&u, CLASSES "/class-098"), "description", "ours");
    ufx_close(&u);
    free(rows);
}

/* Contract access 5.12, 7.5. */
TEST(server_upkeep, makes_the_priority_classes_levels_and_flow_schemas)
{
    struct ufx u = {.err = 0};
    const char *schema;

    ufx_open(&u);
    assert_int_equal(check(&u), 0);
    assert_all_objects(&u);
    assert_at(get(&u, CLASSES "/system-node-critical"), "value", "2000001000");
    assert_at(get(&u, CLASSES "/system-cluster-critical"), "value", "2000000000");
    assert_at(get(&u, CLASSES "/system-cluster-critical"), "preemptionPolicy",
              "PreemptLowerPriority");
    assert_at(get(&u, LEVELS "/exempt"), "spec",
              "{\"exempt\":{\"lendablePercent\":0,\"nominalConcurrencyShares\":0},\"type\":"
              "\"Exempt\"}");
    schema = get(&u, SCHEMAS "/probes");
    assert_at(schema, "metadata.annotations", "{\"" AUTO "\":\"true\"}");
    assert_at(schema, "metadata.generation", "1");
    assert_at(schema, "status.conditions",
              "[{\"lastTransitionTime\":\"2025-01-01T00:00:00Z\",\"message\":\"This FlowSchema "
              "references the PriorityLevelConfiguration object named \\\"exempt\\\" and it "
              "exists\",\"reason\":\"Found\",\"status\":\"False\",\"type\":\"Dangling\"}]");
    ufx_close(&u);
}

TEST(server_upkeep, writes_nothing_while_nothing_differs)
{
    struct ufx u = {.err = 0};
    const char *before;

    ufx_open(&u);
    assert_int_equal(check(&u), 0);
    before = fx_at(get(&u, SCHEMAS), "metadata.resourceVersion");
    assert_int_equal(check(&u), 0);
    /* The next write takes the next revision. */
    fx_do(&u.fx, 201, "POST", "/api/v1/namespaces/default/configmaps",
          "{\"metadata\":{\"name\":\"next\"}}");
    assert_int_equal(strtoull(fx_at(get(&u, "/api/v1/namespaces/default/configmaps/next"),
                                    "metadata.resourceVersion"),
                              NULL, 10),
                     strtoull(before, NULL, 10) + 1);
    ufx_close(&u);
}

/* Contract access 5.12. */
TEST(server_upkeep, system_priority_classes_cannot_be_deleted)
{
    struct ufx u = {.err = 0};
    const char *answer;

    ufx_open(&u);
    assert_int_equal(check(&u), 0);
    answer = fx_do(&u.fx, 403, "DELETE", CLASSES "/system-node-critical", "");
    assert_at(answer, "message",
              "priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this is a "
              "system priority class and cannot be deleted");
    fx_do(&u.fx, 201, "POST", CLASSES, "{\"metadata\":{\"name\":\"mine\"},\"value\":1}");
    fx_do(&u.fx, 200, "DELETE", CLASSES "/mine", "");
    ufx_close(&u);
}

/* Contract access 7.4.4: what happens to a suggested level with this annotation. `expected` are the
 * shares and the annotation after a pass. */
static void repair(struct ufx *u, const char *changes, const char *shares, const char *annotation)
{
    const char *level;

    patch(u, LEVELS "/system", changes);
    assert_int_equal(check(u), 0);
    level = get(u, LEVELS "/system");
    assert_at(level, "spec.limited.nominalConcurrencyShares", shares);
    assert_at(level, "metadata.annotations", annotation);
    fx_do(&u->fx, 200, "DELETE", LEVELS "/system", "");
    assert_int_equal(check(u), 0);
    assert_at(get(u, LEVELS "/system"), "spec.limited.nominalConcurrencyShares", "30");
}

TEST(server_upkeep, suggested_objects_are_repaired_unless_their_annotation_says_otherwise)
{
    struct ufx u = {.err = 0};

    ufx_open(&u);
    assert_int_equal(check(&u), 0);
    repair(&u, "{\"spec\":{\"limited\":{\"nominalConcurrencyShares\":7}}}", "30",
           "{\"" AUTO "\":\"true\"}");
    repair(&u,
           "{\"metadata\":{\"annotations\":{\"" AUTO
           "\":\"false\"}},\"spec\":{\"limited\":{\"nominalConcurrencyShares\":7}}}",
           "7", "{\"" AUTO "\":\"false\"}");
    repair(&u, "{\"metadata\":{\"annotations\":{\"" AUTO "\":\"F\"}}}", "30",
           "{\"" AUTO "\":\"F\"}");
    /* Without the annotation the generation decides. */
    repair(&u,
           "{\"metadata\":{\"annotations\":null},\"spec\":{\"limited\":{"
           "\"nominalConcurrencyShares\":7}}}",
           "7", "{\"" AUTO "\":\"false\"}");
    repair(&u, "{\"metadata\":{\"annotations\":null}}", "30", "{\"" AUTO "\":\"true\"}");
    repair(&u, "{\"metadata\":{\"annotations\":{\"" AUTO "\":\"maybe\",\"b\":\"c\"}}}", "30",
           "{\"" AUTO "\":\"true\",\"b\":\"c\"}");
    ufx_close(&u);
}

/* Contract access 7.4.4. Validation protects the specs of mandatory objects. */
TEST(server_upkeep, mandatory_objects_get_their_annotation_back_and_exempt_keeps_its_numbers)
{
    struct ufx u = {.err = 0};
    const char *level;

    ufx_open(&u);
    assert_int_equal(check(&u), 0);
    patch(&u, SCHEMAS "/catch-all", "{\"metadata\":{\"annotations\":{\"" AUTO "\":\"false\"}}}");
    patch(&u, LEVELS "/exempt", "{\"spec\":{\"exempt\":{\"nominalConcurrencyShares\":9}}}");
    fx_do(&u.fx, 200, "DELETE", SCHEMAS "/exempt", "");
    assert_int_equal(check(&u), 0);
    assert_at(get(&u, SCHEMAS "/catch-all"), "metadata.annotations", "{\"" AUTO "\":\"true\"}");
    level = get(&u, LEVELS "/exempt");
    assert_at(level, "spec.exempt.nominalConcurrencyShares", "9");
    assert_at(level, "metadata.generation", "2");
    assert_all_objects(&u);
    ufx_close(&u);
}

#define OLD_LEVEL                                                                                  \
    "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{\"type\":\"Limited\",\"limited\":{\"limitResponse\":{\"type\":\"Reject\"}}}}"

/* The annotation is one of flow control. */
TEST(server_upkeep, a_priority_class_of_a_user_stays_whatever_its_annotations)
{
    struct ufx u = {.err = 0};

    ufx_open(&u);
    fx_do(&u.fx, 201, "POST", CLASSES,
          "{\"metadata\":{\"name\":\"mine\",\"annotations\":{\"" AUTO "\":\"true\"}},\"value\":1}");
    assert_int_equal(check(&u), 0);
    assert_string_equal(fx_at(get(&u, CLASSES "/mine"), "value"), "1");
    ufx_close(&u);
}

/* Contract access 5.13, 7.4.4. */
TEST(server_upkeep, objects_that_an_older_server_left_are_removed)
{
    static const struct {
        const char *name, *annotations;
        int status;
    } levels[] = {
        {"old", ",\"annotations\":{\"" AUTO "\":\"true\"}", 404},
        {"old-t", ",\"annotations\":{\"" AUTO "\":\"T\"}", 404},
        {"off", ",\"annotations\":{\"" AUTO "\":\"false\"}", 200},
        {"odd", ",\"annotations\":{\"" AUTO "\":\"x\"}", 200},
        {"mine", "", 200},
    };
    struct ufx u = {.err = 0};
    char text[512];

    ufx_open(&u);
    for (size_t i = 0; i < COR_ARRAY_LEN(levels); i++) {
        snprintf(text, sizeof(text), OLD_LEVEL, levels[i].name, levels[i].annotations);
        fx_do(&u.fx, 201, "POST", LEVELS, text);
    }
    assert_int_equal(check(&u), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(levels); i++) {
        snprintf(text, sizeof(text), LEVELS "/%s", levels[i].name);
        fx_do(&u.fx, levels[i].status, "GET", text, "");
    }
    ufx_close(&u);
}

#define MY_SCHEMA                                                                                  \
    "{\"metadata\":{\"name\":\"mine\"},\"spec\":{\"priorityLevelConfiguration\":{\"name\":"        \
    "\"later\"},\"rules\":[{\"subjects\":[{\"kind\":\"User\",\"user\":{\"name\":\"u\"}}],"         \
    "\"nonResourceRules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/x\"]}]}]}}"

/* Contract access 7.4.1. */
TEST(server_upkeep, a_flow_schema_without_its_level_is_dangling)
{
    struct ufx u = {.err = 0};
    const char *schema;
    char text[512];

    ufx_open(&u);
    fx_do(&u.fx, 201, "POST", SCHEMAS, MY_SCHEMA);
    assert_int_equal(check(&u), 0);
    schema = get(&u, SCHEMAS "/mine");
    assert_at(schema, "status.conditions[0].status", "True");
    assert_at(schema, "status.conditions[0].reason", "NotFound");
    assert_at(schema, "status.conditions[0].message",
              "This FlowSchema references the PriorityLevelConfiguration object named \"later\" "
              "but there is no such object");
    snprintf(text, sizeof(text), OLD_LEVEL, "later", "");
    fx_do(&u.fx, 201, "POST", LEVELS, text);
    patch(&u, SCHEMAS "/mine/status",
          "{\"status\":{\"conditions\":[{\"type\":\"Other\",\"status\":\"True\"}]}}");
    assert_int_equal(check(&u), 0);
    schema = get(&u, SCHEMAS "/mine");
    assert_at(schema, "status.conditions[?(@.type==\"Dangling\")].status", "False");
    assert_at(schema, "status.conditions[?(@.type==\"Other\")].status", "True");
    ufx_close(&u);
}

/* What fails for want of memory is done by the next pass. */
TEST(server_upkeep, a_pass_without_memory_is_made_good_by_the_next)
{
    struct ufx u = {.err = 0};

    ufx_open(&u);
    fx_do(&u.fx, 201, "POST", SCHEMAS, MY_SCHEMA);
    FOR_EACH_FAILED_ALLOC(n) {
        (void)check(&u);
    }
    assert_int_equal(check(&u), 0);
    assert_all_objects(&u);
    assert_at(get(&u, SCHEMAS "/mine"), "status.conditions[0].status", "True");
    patch(&u, LEVELS "/system", "{\"metadata\":{\"annotations\":null}}");
    FOR_EACH_FAILED_ALLOC(n) {
        (void)check(&u);
    }
    assert_int_equal(check(&u), 0);
    assert_at(get(&u, LEVELS "/system"), "metadata.annotations", "{\"" AUTO "\":\"true\"}");
    ufx_close(&u);
}

/* Contract access 5.16. */
TEST(server_upkeep, has_an_identity_lease_that_is_renewed)
{
    struct ufx u = {.err = 0};
    const char *lease;

    ufx_open(&u);
    assert_int_equal(renew(&u), 0);
    lease = get(&u, LEASES "/" VM_LEASE);
    assert_at(lease, "metadata.labels",
              "{\"apiserver.kubernetes.io/identity\":\"kube-apiserver\",\"kubernetes.io/"
              "hostname\":\"vm\"}");
    assert_at(lease, "spec",
              "{\"holderIdentity\":\"" VM_LEASE "_u-1\",\"leaseDurationSeconds\":3600,"
              "\"renewTime\":\"2025-01-01T00:00:00.000000Z\"}");
    /* Another process on the host renews it, and upstream does not change the holder. */
    snprintf(u.lease.holder, sizeof(u.lease.holder), "another");
    patch(&u, LEASES "/" VM_LEASE, "{\"metadata\":{\"labels\":null}}");
    cor_clock_manual_advance(&u.fx.clock, 10000);
    assert_int_equal(renew(&u), 0);
    lease = get(&u, LEASES "/" VM_LEASE);
    assert_at(lease, "spec.renewTime", "2025-01-01T00:00:10.000000Z");
    assert_at(lease, "spec.holderIdentity", VM_LEASE "_u-1");
    assert_at(lease, "metadata.labels.kubernetes\\.io/hostname", "vm");
    fx_do(&u.fx, 200, "DELETE", LEASES "/" VM_LEASE, "");
    FOR_EACH_FAILED_ALLOC(n) {
        (void)renew(&u);
    }
    assert_int_equal(renew(&u), 0);
    assert_at(get(&u, LEASES "/" VM_LEASE), "spec.holderIdentity", "another");
    ufx_close(&u);
}

static void add_lease(struct ufx *u, const char *name, const char *label, const char *spec)
{
    char text[512];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"apiserver.kubernetes.io/"
             "identity\":\"%s\"}},\"spec\":{%s}}",
             name, label, spec);
    fx_do(&u->fx, 201, "POST", LEASES, text);
}

/* Contract access 5.16. */
TEST(server_upkeep, leases_of_dead_servers_are_collected)
{
    static const char old[] =
        "\"leaseDurationSeconds\":60,\"renewTime\":\"2024-12-31T23:00:00.000000Z\"";
    struct ufx u = {.err = 0};

    ufx_open(&u);
    assert_int_equal(renew(&u), 0);
    add_lease(&u, "dead", "kube-apiserver", old);
    add_lease(&u, "dead2", "kube-apiserver", old);
    add_lease(&u, "timeless", "kube-apiserver", "\"leaseDurationSeconds\":60");
    add_lease(&u, "other", "another-server", old);
    add_lease(&u, "living", "kube-apiserver",
              "\"leaseDurationSeconds\":3601,\"renewTime\":\"2024-12-31T23:00:00.000000Z\"");
    FOR_EACH_FAILED_ALLOC(n) {
        (void)collect(&u);
    }
    assert_int_equal(collect(&u), 0);
    fx_do(&u.fx, 404, "GET", LEASES "/dead", "");
    fx_do(&u.fx, 404, "GET", LEASES "/dead2", "");
    fx_do(&u.fx, 404, "GET", LEASES "/timeless", "");
    (void)get(&u, LEASES "/other");
    (void)get(&u, LEASES "/living");
    (void)get(&u, LEASES "/" VM_LEASE);
    ufx_close(&u);
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

/* Counts turns of the loop. */
static bool is_counted_down(void *arg)
{
    return --*(int *)arg <= 0;
}

/* Stops the upkeep after so many turns of the loop. */
TEST(server_upkeep, stops_at_any_point)
{
    static const struct cor_cluster_trust trust = {.client_ca_file = NULL};

    for (int n = 0; n < 40; n++) {
        int turns = n;
        struct cor_server_upkeep *upkeep;
        struct fx fx = {.engine = NULL};
        bool is_stopped = false;

        fx_open(&fx);
        fx_bootstrap(&fx);
        assert_int_equal(cor_server_upkeep_new(fx.api, COR_STR("vm"), &trust, &upkeep), 0);
        cor_server_upkeep_start(upkeep);
        (void)cor_loop_run_until(fx.loop, is_counted_down, &turns, 50);
        cor_server_upkeep_stop(upkeep, set_true, &is_stopped);
        assert_true(cor_loop_run_until(fx.loop, is_set, &is_stopped, FX_TIMEOUT_MS));
        cor_server_upkeep_free(upkeep);
        fx_close(&fx);
    }
}
