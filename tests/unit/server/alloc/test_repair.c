#include "alloc_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "server/alloc/repair.h"
#include "storage/engine/engine_int.h"

#define ADDRESS(ip, service)                                                                       \
    "{\"metadata\":{\"name\":\"" ip "\",\"labels\":{\"ipaddress.kubernetes.io/ip-family\":"        \
    "\"IPv4\",\"ipaddress.kubernetes.io/managed-by\":\"ipallocator.k8s.io\"}},\"spec\":"           \
    "{\"parentRef\":{\"resource\":\"services\",\"namespace\":\"default\",\"name\":\"" service      \
    "\"}}}"
#define STORED_SERVICE                                                                             \
    "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"old\",\"namespace\":"    \
    "\"default\",\"uid\":\"u\"},\"spec\":{\"clusterIP\":\"10.0.0.77\",\"clusterIPs\":"             \
    "[\"10.0.0.77\"],\"ports\":[{\"nodePort\":30777,\"port\":80,\"protocol\":\"TCP\","             \
    "\"targetPort\":80}],\"type\":\"NodePort\"}}"

static void later(struct afx *a, uint64_t ms)
{
    cor_clock_manual_advance_us(&a->fx.clock, ms * 1000);
}

static void set_stopped(void *arg)
{
    *(bool *)arg = true;
}

/* Contract types 4.5.6. A reservation without a Service may be that of a write under way. */
TEST(repair, releases_an_address_that_has_had_no_service_for_a_minute)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_do(&a.fx, 201, "POST", ADDRESSES, ADDRESS("10.0.0.50", "lost"));
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS - 1);
    afx_repair(&a);
    fx_do(&a.fx, 200, "GET", ADDRESSES "/10.0.0.50", "");
    later(&a, 1);
    afx_repair(&a);
    fx_do(&a.fx, 404, "GET", ADDRESSES "/10.0.0.50", "");
    assert_int_equal(cor_repair_counts(cor_alloc_repair(a.alloc)).released_addresses, 1);
    afx_close(&a);
}

TEST(repair, counts_the_minute_anew_for_an_address_that_was_reserved_anew)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_do(&a.fx, 201, "POST", ADDRESSES, ADDRESS("10.0.0.50", "lost"));
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS);
    fx_do(&a.fx, 200, "DELETE", ADDRESSES "/10.0.0.50", "");
    fx_do(&a.fx, 201, "POST", ADDRESSES, ADDRESS("10.0.0.50", "lost"));
    afx_repair(&a);
    fx_do(&a.fx, 200, "GET", ADDRESSES "/10.0.0.50", "");
    afx_close(&a);
}

TEST(repair, releases_an_address_that_its_service_does_not_have)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_do(&a.fx, 201, "POST", SERVICES,
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"clusterIP\":\"10.0.0.9\",\"ports\":[{"
          "\"port\":80}]}}");
    fx_do(&a.fx, 201, "POST", ADDRESSES, ADDRESS("10.0.0.50", "s"));
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS);
    afx_repair(&a);
    fx_do(&a.fx, 404, "GET", ADDRESSES "/10.0.0.50", "");
    fx_do(&a.fx, 200, "GET", ADDRESSES "/10.0.0.9", "");
    afx_check_whole(&a);
    afx_close(&a);
}

TEST(repair, leaves_addresses_of_others_alone)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_do(&a.fx, 201, "POST", ADDRESSES,
          "{\"metadata\":{\"name\":\"10.0.0.60\"},\"spec\":{\"parentRef\":{\"group\":\"x.y\","
          "\"resource\":\"gateways\",\"name\":\"g\"}}}");
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS);
    afx_repair(&a);
    fx_do(&a.fx, 200, "GET", ADDRESSES "/10.0.0.60", "");
    afx_close(&a);
}

/* A data folder of an earlier version, or a Service that somebody has put into the store. */
TEST(repair, reserves_what_a_service_has)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_put_raw(&a.fx, "/registry/services/specs/default/old", STORED_SERVICE);
    afx_repair(&a);
    assert_string_equal(afx_ports(&a), "30777");
    assert_at(fx_do(&a.fx, 200, "GET", ADDRESSES "/10.0.0.77", ""), "spec.parentRef.name", "old");
    afx_check_whole(&a);
    afx_close(&a);
}

static struct cor_port_op leak_op;
static bool leak_is_done;

static void on_leaked(struct cor_port_op *op)
{
    leak_is_done = true;
}

static bool is_leaked(void *arg)
{
    return leak_is_done;
}

static void leak_port(struct afx *a, struct cor_port_want *want)
{
    leak_op =
        (struct cor_port_op){.loop = a->fx.loop, .on_done = on_leaked, .wants = want, .nwants = 1};
    leak_is_done = false;
    cor_status_init(&leak_op.status);
    cor_ports_submit(cor_alloc_ports(a->alloc), &leak_op);
    assert_true(cor_loop_run_until(a->fx.loop, is_leaked, NULL, FX_TIMEOUT_MS));
    assert_int_equal(leak_op.err, 0);
    assert_int_equal(leak_op.refusal, COR_PORT_OK);
}

/* Between the read and the release another repair may free the port, and a write may reserve it. */
TEST(repair, releases_no_port_of_an_object_that_has_changed_since_it_was_read)
{
    struct cor_port_want want = {.number = 30123}, other = {.number = 30124};
    struct afx_pass pass;
    struct afx_hold listing;
    struct afx a;

    afx_open(&a, NULL, NULL);
    leak_port(&a, &want);
    cor_ports_let_go(cor_alloc_ports(a.alloc), 30123);
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS);
    afx_hold(&a, &listing, COR_ENGINE_RANGE, "services/specs");
    afx_begin_pass(&a, &pass);
    afx_wait_held(&a, &listing);
    leak_port(&a, &other);
    afx_let_go(&a, &listing);
    assert_int_equal(afx_end_pass(&a, &pass), 0);
    assert_string_equal(afx_ports(&a), "30123 30124");
    afx_repair(&a);
    assert_string_equal(afx_ports(&a), "30124");
    assert_int_equal(cor_repair_counts(cor_alloc_repair(a.alloc)).released_ports, 1);
    cor_ports_let_go(cor_alloc_ports(a.alloc), 30124);
    afx_close(&a);
}

/* Contract types 4.5.7. */
TEST(repair, releases_a_port_that_no_service_has_and_no_write_holds)
{
    struct cor_port_want want = {.number = 30123};
    struct afx a;

    afx_open(&a, NULL, NULL);
    leak_port(&a, &want);
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS);
    afx_repair(&a);
    assert_string_equal(afx_ports(&a), "30123");
    cor_ports_let_go(cor_alloc_ports(a.alloc), 30123);
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS);
    afx_repair(&a);
    assert_string_equal(afx_ports(&a), "");
    afx_close(&a);
}

/* Ports have no owner: the repair of another server may have given them to somebody else. */
TEST(repair, is_left_the_ports_whose_release_comes_late)
{
    static const uint32_t number = 30123;
    struct cor_port_want want = {.number = number};
    struct afx a;

    afx_open(&a, NULL, NULL);
    leak_port(&a, &want);
    for (int is_late = 1; is_late >= 0; is_late--) {
        leak_op = (struct cor_port_op){.loop = a.fx.loop,
                                       .on_done = on_leaked,
                                       .releases = &number,
                                       .nreleases = 1,
                                       .until_ms = cor_clock_mono_ms(&a.fx.clock.clock)};
        cor_status_init(&leak_op.status);
        later(&a, is_late);
        leak_is_done = false;
        cor_ports_submit(cor_alloc_ports(a.alloc), &leak_op);
        assert_true(cor_loop_run_until(a.fx.loop, is_leaked, NULL, FX_TIMEOUT_MS));
        assert_int_equal(leak_op.err, 0);
        assert_string_equal(afx_ports(&a), is_late ? "30123" : "");
    }
    cor_ports_let_go(cor_alloc_ports(a.alloc), number);
    afx_close(&a);
}

/* Ports have no owner: one that a repair may have given to somebody else is left alone. */
TEST(repair, releases_the_ports_of_a_write_that_took_too_long)
{
    struct afx_hold reserving;
    struct afx a;
    FX_CALL call;

    afx_open(&a, NULL, NULL);
    afx_hold(&a, &reserving, COR_ENGINE_WRITE, "servicenodeports");
    fx_start(
        &a.fx, &call, "POST", SERVICES,
        "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":80,"
        "\"nodePort\":30123}]}}",
        NULL);
    afx_wait_held(&a, &reserving);
    later(&a, COR_REPAIR_GRACE_MS);
    afx_let_go(&a, &reserving);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 504);
    assert_int_equal(afx_addresses(&a), 0);
    assert_string_equal(afx_ports(&a), "30123");
    afx_repair(&a);
    later(&a, COR_REPAIR_GRACE_MS);
    afx_repair(&a);
    assert_string_equal(afx_ports(&a), "");
    afx_close(&a);
}

/* Alone on its store, a server that has not begun to serve has no writes under way. */
TEST(repair, releases_at_once_what_an_earlier_process_left)
{
    struct cor_port_want want = {.number = 30123};
    struct afx a;

    afx_open(&a, NULL, NULL);
    leak_port(&a, &want);
    fx_do(&a.fx, 201, "POST", ADDRESSES, ADDRESS("10.0.0.50", "lost"));
    afx_stop(&a);
    fx_put_raw(&a.fx, "/registry/services/specs/default/old", STORED_SERVICE);
    afx_start(&a, NULL, NULL);
    assert_string_equal(afx_ports(&a), "30777");
    assert_int_equal(afx_addresses(&a), 1);
    afx_check_whole(&a);
    afx_close(&a);
}

TEST(repair, a_new_range_of_ports_keeps_the_ports_of_services)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_do(&a.fx, 201, "POST", SERVICES,
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":80,"
          "\"nodePort\":30500}]}}");
    afx_stop(&a);
    afx_start(&a, NULL, "30400-30600");
    assert_string_equal(afx_ports(&a), "30500");
    assert_at(fx_do(&a.fx, 422, "POST", SERVICES,
                    "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{"
                    "\"port\":80,\"nodePort\":30000}]}}"),
              "message",
              "Service \"t\" is invalid: spec.ports[0].nodePort: Invalid value: 30000: provided "
              "port is not in the valid range. The range of valid ports is 30400-30600");
    afx_close(&a);
}

#define STORED(name, ip, ports)                                                                    \
    "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                   \
    "\",\"namespace\":\"default\",\"uid\":\"" name "\"},\"spec\":{\"clusterIP\":\"" ip             \
    "\",\"clusterIPs\":[\"" ip "\"],\"ports\":[" ports "],\"type\":\"NodePort\"}}"
#define STORED_PORT(node_port, protocol)                                                           \
    "{\"nodePort\":" node_port ",\"port\":80,\"protocol\":\"" protocol "\",\"targetPort\":80}"

TEST(repair, counts_what_two_services_share)
{
    struct cor_repair_counts counts;
    struct afx a;

    afx_open(&a, NULL, NULL);
    /* The ports of one Service may share a node port. */
    fx_put_raw(
        &a.fx, "/registry/services/specs/default/a",
        STORED("a", "10.0.0.77", STORED_PORT("30777", "TCP") "," STORED_PORT("30777", "UDP")));
    fx_put_raw(&a.fx, "/registry/services/specs/default/b",
               STORED("b", "10.0.0.78", STORED_PORT("30778", "TCP")));
    afx_repair(&a);
    counts = cor_repair_counts(cor_alloc_repair(a.alloc));
    assert_int_equal(counts.shared_addresses, 0);
    assert_int_equal(counts.shared_ports, 0);
    fx_put_raw(&a.fx, "/registry/services/specs/default/c",
               STORED("c", "10.0.0.77", STORED_PORT("30778", "TCP")));
    afx_repair(&a);
    counts = cor_repair_counts(cor_alloc_repair(a.alloc));
    assert_int_equal(counts.shared_addresses, 1);
    assert_int_equal(counts.shared_ports, 1);
    afx_close(&a);
}

TEST(repair, fails_cleanly_without_memory)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_put_raw(&a.fx, "/registry/services/specs/default/old", STORED_SERVICE);
    FOR_EACH_FAILED_ALLOC(n) {
        struct afx_pass pass;
        int r;

        afx_begin_pass(&a, &pass);
        r = afx_end_pass(&a, &pass);
        assert_true(r == 0 || r == -COR_ENOMEM);
    }
    afx_repair(&a);
    afx_check_whole(&a);
    afx_close(&a);
}

/* Whoever asks while a pass is under way is answered by that pass. */
TEST(repair, a_pass_serves_all_who_asked_before_its_end)
{
    struct afx_pass first, second;
    struct afx_hold listing;
    struct afx a;

    afx_open(&a, NULL, NULL);
    afx_hold(&a, &listing, COR_ENGINE_RANGE, "services/specs");
    afx_begin_pass(&a, &first);
    afx_wait_held(&a, &listing);
    afx_begin_pass(&a, &second);
    afx_let_go(&a, &listing);
    assert_int_equal(afx_end_pass(&a, &first), 0);
    assert_int_equal(afx_end_pass(&a, &second), 0);
    /* That of the start, and this one. */
    assert_int_equal(cor_repair_counts(cor_alloc_repair(a.alloc)).passes, 2);
    afx_close(&a);
}

/* The pass of the start counts as one: whoever asks before it makes no second. */
TEST(repair, who_asks_before_the_start_is_over_waits_for_its_pass)
{
    struct cor_repair_port *port;
    struct afx_pass pass;
    struct afx a;

    afx_open(&a, NULL, NULL);
    afx_stop(&a);
    afx_begin(&a, NULL, NULL);
    port = cor_repair_port(cor_alloc_repair(a.alloc));
    assert_int_equal(port->due_in_ms(port), 0);
    afx_begin_pass(&a, &pass);
    assert_int_equal(afx_end_pass(&a, &pass), 0);
    assert_int_equal(pass.ask.next_ms, COR_REPAIR_INTERVAL_MS);
    assert_int_equal(port->due_in_ms(port), COR_REPAIR_INTERVAL_MS);
    assert_int_equal(cor_repair_counts(cor_alloc_repair(a.alloc)).passes, 1);
    afx_close(&a);
}

TEST(repair, the_next_pass_is_due_a_minute_after_a_leak_was_seen)
{
    struct cor_repair_port *port;
    struct afx_pass pass;
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_do(&a.fx, 201, "POST", ADDRESSES, ADDRESS("10.0.0.50", "lost"));
    afx_begin_pass(&a, &pass);
    assert_int_equal(afx_end_pass(&a, &pass), 0);
    assert_int_equal(pass.ask.next_ms, COR_REPAIR_GRACE_MS);
    later(&a, 1);
    port = cor_repair_port(cor_alloc_repair(a.alloc));
    assert_int_equal(port->due_in_ms(port), COR_REPAIR_GRACE_MS - 1);
    later(&a, COR_REPAIR_GRACE_MS);
    assert_int_equal(port->due_in_ms(port), 0);
    afx_close(&a);
}

TEST(repair, a_stop_answers_those_who_wait)
{
    struct afx_pass waiting;
    struct afx_hold listing;
    bool is_stopped = false;
    struct afx a;

    afx_open(&a, NULL, NULL);
    afx_hold(&a, &listing, COR_ENGINE_RANGE, "services/specs");
    afx_begin_pass(&a, &waiting);
    afx_wait_held(&a, &listing);
    cor_alloc_stop(a.alloc, set_stopped, &is_stopped);
    afx_let_go(&a, &listing);
    assert_int_equal(afx_end_pass(&a, &waiting), -COR_ECANCELED);
    assert_true(is_stopped);
    /* A stopped repair makes no pass. */
    afx_begin_pass(&a, &waiting);
    assert_int_equal(afx_end_pass(&a, &waiting), -COR_ECANCELED);
    a.alloc = cor_alloc_free(a.alloc);
    fx_close(&a.fx);
}

/* ---- a process that is killed ---- */

/* What the process does; each line is a write that takes several steps. */
static const struct {
    const char *method, *path, *body;
} work[] = {
    {"POST", SERVICES,
     "{\"metadata\":{\"name\":\"lb\"},\"spec\":{\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":"
     "\"Local\",\"ports\":[{\"name\":\"a\",\"port\":80},{\"name\":\"b\",\"port\":81}]}}"},
    {"POST", SERVICES, "{\"metadata\":{\"name\":\"lb\"},\"spec\":{\"ports\":[{\"port\":80}]}}"},
    {"PATCH", SERVICES "/lb", "{\"spec\":{\"type\":\"ClusterIP\"}}"},
    {"PATCH", SERVICES "/lb",
     "{\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"a.b\",\"clusterIP\":null,"
     "\"clusterIPs\":null}}"},
    {"PATCH", SERVICES "/lb", "{\"spec\":{\"type\":\"NodePort\",\"externalName\":null}}"},
    {"DELETE", SERVICES "/lb", ""},
};

static const struct cor_engine_ops *own_ops;
static unsigned writes_left;

static void die_at_a_write(struct cor_engine *engine, struct cor_engine_req *req)
{
    if (req->op == COR_ENGINE_WRITE && writes_left-- == 0)
        raise(SIGKILL);
    own_ops->submit(engine, req);
}

static void configure(struct afx *a, const char *folder, const char *prefix)
{
    const char *etcd = getenv("COR_ETCD_URLS");

    *a = (struct afx){.fx = {0}};
    a->fx.has_no_offload = true;
    a->fx.config.backend = etcd ? "etcd3" : "sqlite";
    a->fx.config.etcd.servers = etcd;
    a->fx.config.data_dir = folder;
    a->fx.config.path_prefix = etcd ? prefix : NULL;
    a->fx.opts.path_prefix = etcd ? prefix : NULL;
}

static void work_until_killed(const char *folder, const char *prefix, unsigned nwrites)
{
    struct cor_engine_ops ops;
    struct afx a;

    configure(&a, folder, prefix);
    fx_open(&a.fx);
    fx_bootstrap(&a.fx);
    afx_start(&a, NULL, NULL);
    own_ops = a.fx.engine->ops;
    ops = *own_ops;
    ops.submit = die_at_a_write;
    writes_left = nwrites;
    a.fx.engine->ops = &ops;
    for (size_t i = 0; i < COR_ARRAY_LEN(work); i++)
        fx_do(&a.fx, 0, work[i].method, work[i].path, work[i].body);
    _exit(0);
}

static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char path[512];

        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (dir)
        closedir(dir);
    (void)rmdir(folder);
}

/* The state that the process left is whole after one repair, and nothing is given out twice. On a
 * store that others share, the repair waits for its minute. */
static void check_after_death(const char *folder, const char *prefix)
{
    struct afx a;

    configure(&a, folder, prefix);
    fx_open(&a.fx);
    afx_start(&a, NULL, NULL);
    if (cor_engine_shares_store(a.fx.engine)) {
        later(&a, COR_REPAIR_GRACE_MS);
        afx_repair(&a);
    }
    afx_check_whole(&a);
    fx_do(&a.fx, 0, "DELETE", SERVICES "/lb", "");
    fx_do(&a.fx, 201, "POST", SERVICES, work[0].body);
    afx_check_whole(&a);
    afx_close(&a);
}

/* On SQLite, and on etcd when COR_ETCD_URLS names one. */
TEST(killed_at_each_write, leaves_nothing_that_one_repair_does_not_mend)
{
    bool is_killed = true;
    unsigned n;

    for (n = 0; is_killed; n++) {
        char folder[] = "/tmp/coracle-killed-XXXXXX", prefix[64];
        int status;
        pid_t pid;

        assert_true(n < 100);
        assert_non_null(mkdtemp(folder));
        snprintf(prefix, sizeof(prefix), "/killed-%ld-%u", (long)getpid(), n);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            work_until_killed(folder, prefix, n);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        assert_true(is_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
        check_after_death(folder, prefix);
        remove_folder(folder);
    }
    /* Each line of the work has several steps. */
    assert_true(n > 2 * COR_ARRAY_LEN(work));
}
