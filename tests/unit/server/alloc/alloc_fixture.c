#include "alloc_fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/alloc/repair.h"
#include "storage/engine/engine_int.h"
#include "json/text/scan.h"

static bool is_ready(void *arg)
{
    return cor_alloc_is_ready(arg);
}

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

void afx_begin(struct afx *a, const char *cidrs, const char *ports)
{
    const struct cor_alloc_opts opts = {cidrs, ports};
    struct cor_status status;

    cor_status_init(&status);
    if (cor_alloc_open(a->fx.api, &opts, &a->alloc, &status) < 0)
        fail_msg("%s", cor_status_message(&status));
}

void afx_wait_ready(struct afx *a)
{
    assert_true(cor_loop_run_until(a->fx.loop, is_ready, a->alloc, FX_TIMEOUT_MS));
}

void afx_turn(struct afx *a)
{
    (void)cor_loop_run_until(a->fx.loop, is_ready, a->alloc, 1);
}

void afx_start(struct afx *a, const char *cidrs, const char *ports)
{
    afx_begin(a, cidrs, ports);
    afx_wait_ready(a);
}

/* ---- a request that is held back ---- */

static struct cor_dlist holds; /* that wait for their request */
static const struct cor_engine_ops *own_ops;
static struct cor_engine_ops holding_ops;

static bool hold_take(struct cor_engine_req *req, enum cor_engine_op op, struct cor_str key)
{
    COR_DLIST_FOREACH(link, &holds) {
        struct afx_hold *hold = COR_CONTAINER_OF(link, struct afx_hold, link);

        if (hold->op != op || !memmem(key.p, key.n, hold->key, strlen(hold->key)))
            continue;
        cor_dlist_remove(&hold->link);
        hold->req = req;
        return true;
    }
    return false;
}

static void hold_on_range(struct cor_engine *engine, struct cor_range_req *req)
{
    if (!hold_take(&req->req, COR_ENGINE_RANGE, req->key))
        own_ops->range(engine, req);
}

static void hold_on_submit(struct cor_engine *engine, struct cor_engine_req *req)
{
    if (req->op != COR_ENGINE_WRITE ||
        !hold_take(req, COR_ENGINE_WRITE, COR_CONTAINER_OF(req, struct cor_write_req, req)->key))
        own_ops->submit(engine, req);
}

void afx_hold(struct afx *a, struct afx_hold *hold, enum cor_engine_op op, const char *key)
{
    if (a->fx.engine->ops != &holding_ops) {
        cor_dlist_init(&holds);
        own_ops = a->fx.engine->ops;
        holding_ops = *own_ops;
        holding_ops.range = hold_on_range;
        holding_ops.submit = hold_on_submit;
        a->fx.engine->ops = &holding_ops;
    }
    *hold = (struct afx_hold){.op = op, .key = key};
    cor_dlist_push(&holds, &hold->link);
}

static bool hold_has_request(void *arg)
{
    return ((struct afx_hold *)arg)->req != NULL;
}

void afx_wait_held(struct afx *a, struct afx_hold *hold)
{
    assert_true(cor_loop_run_until(a->fx.loop, hold_has_request, hold, FX_TIMEOUT_MS));
}

void afx_let_go(struct afx *a, struct afx_hold *hold)
{
    struct cor_engine_req *req = COR_STEAL(hold->req);

    if (hold->op == COR_ENGINE_RANGE)
        own_ops->range(a->fx.engine, COR_CONTAINER_OF(req, struct cor_range_req, req));
    else
        own_ops->submit(a->fx.engine, req);
}

void afx_fail_held(struct afx_hold *hold, int err)
{
    cor_engine_req_fail(COR_STEAL(hold->req), err, NULL);
}

void afx_stop(struct afx *a)
{
    bool is_stopped = false;

    cor_alloc_stop(a->alloc, set_true, &is_stopped);
    assert_true(cor_loop_run_until(a->fx.loop, is_set, &is_stopped, FX_TIMEOUT_MS));
    a->alloc = cor_alloc_free(a->alloc);
}

void afx_open(struct afx *a, const char *cidrs, const char *ports)
{
    *a = (struct afx){.fx = {0}};
    fx_open(&a->fx);
    fx_bootstrap(&a->fx);
    afx_start(a, cidrs, ports);
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct fx *)arg)->api, 0)) == 0;
}

void afx_close(struct afx *a)
{
    assert_true(cor_loop_run_until(a->fx.loop, has_no_calls, &a->fx, FX_TIMEOUT_MS));
    afx_stop(a);
    fx_close(&a->fx);
}

size_t afx_addresses(struct afx *a)
{
    const char *list = fx_do(&a->fx, 200, "GET", ADDRESSES, "");
    struct cor_str items;
    struct cor_json_iter it;
    size_t n = 0;

    assert_int_equal(cor_json_get(cor_strz(list), COR_STR("items"), COR_JSON_ANY_ORDER, &items), 0);
    it = cor_json_iter(items);
    for (; cor_json_iter_elem(&it); n++)
        (void)cor_json_iter_value(&it);
    return n;
}

struct reading {
    bool is_done;
    struct cor_port_map map;
};

static void on_read(void *arg, int err, const struct cor_port_map *map, cor_rev rev)
{
    struct reading *reading = arg;

    assert_int_equal(err, 0);
    reading->map = *map;
    reading->is_done = true;
}

const char *afx_ports(struct afx *a)
{
    static char text[4096];
    struct reading reading = {.is_done = false};
    size_t n = 0;

    assert_int_equal(cor_ports_read(cor_alloc_ports(a->alloc), on_read, &reading, NULL), 0);
    assert_true(cor_loop_run_until(a->fx.loop, is_set, &reading.is_done, FX_TIMEOUT_MS));
    text[0] = 0;
    for (uint32_t port = 1; port <= 65535; port++)
        if (cor_port_map_has(&reading.map, port))
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", n > 0 ? " " : "", port);
    return text;
}

static void pass_on_done(struct cor_repair_ask *ask)
{
    COR_CONTAINER_OF(ask, struct afx_pass, ask)->is_done = true;
}

void afx_begin_pass(struct afx *a, struct afx_pass *pass)
{
    struct cor_repair_port *port = cor_repair_port(cor_alloc_repair(a->alloc));

    *pass = (struct afx_pass){.ask = {.loop = a->fx.loop, .on_done = pass_on_done}};
    port->ask(port, &pass->ask);
}

int afx_end_pass(struct afx *a, struct afx_pass *pass)
{
    assert_true(cor_loop_run_until(a->fx.loop, is_set, &pass->is_done, FX_TIMEOUT_MS));
    return pass->ask.err;
}

void afx_repair(struct afx *a)
{
    struct afx_pass pass;

    afx_begin_pass(a, &pass);
    assert_int_equal(afx_end_pass(a, &pass), 0);
}

void afx_check_whole(struct afx *a)
{
    const char *list = fx_do(&a->fx, 200, "GET", "/api/v1/services", "");
    struct cor_port_map used = {{0}};
    struct cor_str items;
    struct cor_json_iter it;
    size_t naddresses = 0, n = 0;
    char ports[4096] = "";

    assert_int_equal(cor_json_get(cor_strz(list), COR_STR("items"), COR_JSON_ANY_ORDER, &items), 0);
    it = cor_json_iter(items);
    while (cor_json_iter_elem(&it)) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
        struct cor_service service;

        assert_int_equal(
            cor_object_parse(cor_json_iter_value(&it), NULL, NULL, NULL, &object, NULL), 0);
        assert_int_equal(cor_service_read(object, &service), 0);
        for (size_t i = 0; i < service.cluster_ips.n; i++) {
            char path[128];

            if (cor_str_eqz(service.cluster_ips.v[i], "None"))
                continue;
            snprintf(path, sizeof(path), ADDRESSES "/%.*s", COR_STR_ARG(service.cluster_ips.v[i]));
            assert_str(cor_object_name(object),
                       fx_at(fx_do(&a->fx, 200, "GET", path, ""), "spec.parentRef.name"));
            naddresses++;
        }
        for (size_t i = 0; i < service.nports; i++)
            cor_port_map_set(&used, (uint32_t)service.ports[i].node_port);
        cor_port_map_set(&used, (uint32_t)service.health_port);
        cor_service_deinit(&service);
    }
    for (uint32_t port = 1; port <= 65535; port++)
        if (cor_port_map_has(&used, port))
            n += (size_t)snprintf(ports + n, sizeof(ports) - n, "%s%u", n > 0 ? " " : "", port);
    assert_int_equal(afx_addresses(a), naddresses);
    assert_string_equal(afx_ports(a), ports);
}
