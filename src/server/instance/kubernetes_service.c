/* clang-format off */
/* The passes over `default/kubernetes` (kubernetes_service.h).
 *
 *   on a shared store: renew the lease of this server, and read which others there are ──►
 *   for each of Service, Endpoints, EndpointSlice: kit/ensure.h, from the cache: it is created if it is
 *   missing, and changed by a merge patch with its resourceVersion if it differs (a slice of the other
 *   family: removed, the next pass creates it) ──► after the last one the timer is set for the next pass
 *
 * What each object should be is in kubernetes_objects.h. All are requests through the port inside the
 * server (server/port/inner_port.h), one at a time, with the same stages as a client's: the Service gets
 * its address from the allocators. What upstream does, and what follows from it:
 *   - the Service is only created. Its port and type stay when the server moves to another port;
 *   - ports of endpoints are compared in the first pass of a server without others only, so that servers
 *     with different ports on one etcd do not overwrite one another forever;
 *   - a write that comes too late again and again is fine: another server was faster, and the next pass
 *     looks again. Failures: a request that fails ends the pass, and is logged once until a pass
 *     succeeds. No answer comes inside the call that sends its request, so each step follows from
 *     the answer of the step before it. A stop waits for a turn when the port has not freed its
 *     last request.
 * Thread: the API's first loop. */
/* clang-format on */
#include "server/instance/kubernetes_service.h"

#include <assert.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kit/ensure.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "server/instance/kubernetes_objects.h"
#include "server/instance/server_leases.h"
#include "server/port/inner_port.h"

#define INTERVAL_MS 10000
#define REQUEST_MS  30000
#define BODY_MAX    (64u * 1024)

struct cor_kubernetes_service {
    struct cor_kubernetes_service_opts opts;
    struct cor_loop *loop;
    struct cor_timer timer;
    struct cor_mail turn; /* to itself: goes on in the next turn */
    bool has_turn;        /* `turn` is under way */
    bool is_running, is_stopping;
    bool has_failed; /* the last pass failed, and that was logged */
    void (*on_done)(void *arg);
    void *arg;

    struct cor_inner_port port;
    struct cor_ensure ensure; /* of `part` */
    enum cor_kubernetes_part part;

    struct cor_kubernetes_objects objects; /* what they should be */
    struct cor_server_leases *leases;      /* NULL: this server is alone on its store */
    bool is_renewing; /* the pass waits for `leases`, or for the turn after it */
    int renew_err;
};

static void kubesvc_on_timer(struct cor_timer *timer);
static void kubesvc_on_turn(struct cor_mail *mail);
static int kubesvc_judge(struct cor_ensure *e, const struct cor_object *found);
static void kubesvc_on_ensured(struct cor_ensure *e, int err, const struct cor_status *why);

int cor_kubernetes_service_new(const struct cor_kubernetes_service_opts *opts,
                               struct cor_kubernetes_service **ret_service,
                               struct cor_status *reterr_status)
{
    static const struct cor_ensure_ops ops = {.judge = kubesvc_judge,
                                              .on_done = kubesvc_on_ensured};
    struct cor_kubernetes_service *service = cor_calloc(1, sizeof(*service));
    int r = 0;

    assert(opts->api && opts->port > 0);
    assert(!opts->has_others || !opts->has_endpoints || opts->is_advertised);
    if (!service)
        return cor_status_set_err(reterr_status, -COR_ENOMEM);
    service->opts = *opts;
    cor_kubernetes_objects_init(&service->objects, opts->ip, opts->port);
    cor_inner_port_init(&service->port, cor_api_loop(opts->api, 0), COR_STR(""),
                        COR_STR("kube-apiserver"), 0);
    service->loop = service->port.port.loop;
    cor_ensure_init(&service->ensure, &service->port.port, &ops, BODY_MAX, REQUEST_MS);
    cor_timer_init(&service->timer, service->loop, kubesvc_on_timer);
    if (opts->has_others && opts->has_endpoints)
        r = cor_server_leases_new(opts->api, opts->advertised, &service->leases, reterr_status);
    if (r < 0) {
        cor_kubernetes_service_free(service);
        return r;
    }
    *ret_service = service;
    return 0;
}

struct cor_kubernetes_service *cor_kubernetes_service_free(struct cor_kubernetes_service *service)
{
    if (!service)
        return NULL;
    assert(!service->is_running && !service->has_turn && !cor_timer_is_set(&service->timer));
    cor_ensure_deinit(&service->ensure);
    cor_inner_port_deinit(&service->port);
    cor_kubernetes_objects_deinit(&service->objects);
    cor_server_leases_free(service->leases);
    return cor_free(service);
}

static void kubesvc_next_turn(struct cor_kubernetes_service *service)
{
    service->has_turn = true;
    service->turn.on_mail = kubesvc_on_turn;
    cor_dlist_init(&service->turn.link);
    cor_loop_post_always(service->loop, &service->turn);
}

/* ---- passes ---- */

static void kubesvc_end_pass(struct cor_kubernetes_service *service)
{
    void (*on_done)(void *arg) = COR_STEAL(service->on_done);

    service->is_running = false;
    if (cor_timer_set(&service->timer, INTERVAL_MS) < 0)
        kubesvc_next_turn(service); /* without memory for the timer the next turn tries again */
    if (on_done)
        on_done(service->arg);
}

static void kubesvc_fail(struct cor_kubernetes_service *service, int err, const char *why)
{
    if (!service->has_failed)
        COR_LOG_WARN("the Service default/kubernetes could not be checked; it is tried again",
                     COR_F_STR("resource", cor_kubernetes_resource(service->part).resource.p),
                     COR_F_STR("answer", why), COR_F_ERR(err));
    service->has_failed = true;
    kubesvc_end_pass(service);
}

static void kubesvc_ensure_part(struct cor_kubernetes_service *service)
{
    const struct cor_resource_path at = {.gvr = cor_kubernetes_resource(service->part),
                                         .ns = COR_STR(COR_KUBERNETES_NAMESPACE),
                                         .name = COR_STR(COR_KUBERNETES_NAME)};

    cor_ensure_start(&service->ensure, &at, COR_STR("0"));
}

static int kubesvc_judge(struct cor_ensure *e, const struct cor_object *found)
{
    struct cor_kubernetes_service *service =
        COR_CONTAINER_OF(e, struct cor_kubernetes_service, ensure);
    struct cor_kubernetes_objects *objects = &service->objects;
    enum cor_kubernetes_part part = service->part;
    int r = 0;

    if (found)
        r = cor_kubernetes_objects_judge(objects, part, cor_object_json(found));
    else if (part != COR_KUBERNETES_SERVICE && !cor_kubernetes_objects_has_addresses(objects))
        return COR_ENSURE_RIGHT; /* endpoints without an address are not created */
    if (r != 0)
        return r < 0 ? r : COR_ENSURE_RIGHT;
    if (found && cor_kubernetes_objects_is_other_family(objects, part, cor_object_json(found)))
        return COR_ENSURE_REMOVE;
    r = cor_kubernetes_objects_write(
        objects, part, found ? cor_object_resource_version(found) : COR_STR(""), &e->body);
    return r < 0 ? r : COR_ENSURE_WRITE;
}

/* Goes on with the next part, or ends the pass. Who was too late is not wrong: another server was
 * faster, and the next pass looks again. */
static void kubesvc_on_ensured(struct cor_ensure *e, int err, const struct cor_status *why)
{
    struct cor_kubernetes_service *service =
        COR_CONTAINER_OF(e, struct cor_kubernetes_service, ensure);

    if (err < 0 && !(why && why->code == 409)) {
        kubesvc_fail(service, err, why ? cor_status_message(why) : "");
        return;
    }
    service->part++;
    if (service->part == COR_KUBERNETES_PARTS || !service->opts.has_endpoints) {
        service->objects.keeps_ports = true;
        service->has_failed = false;
        kubesvc_end_pass(service);
    } else {
        kubesvc_ensure_part(service);
    }
}

static void kubesvc_on_renewed(void *arg, int err)
{
    struct cor_kubernetes_service *service = arg;

    service->renew_err = err;
    kubesvc_next_turn(service);
}

/* The addresses of all servers are known. One that sees nobody, not even itself, does not erase the
 * endpoints. */
static void kubesvc_take_addresses(struct cor_kubernetes_service *service)
{
    int r = service->renew_err;

    service->is_renewing = false;
    if (r == 0 && !cor_kubernetes_objects_has_addresses(&service->objects))
        r = -COR_ENOTFOUND;
    if (r < 0)
        kubesvc_fail(service, r, "the servers on the store are not known");
    else
        kubesvc_ensure_part(service);
}

static void kubesvc_begin_pass(struct cor_kubernetes_service *service)
{
    int r = cor_kubernetes_objects_begin(&service->objects);

    assert(!service->is_running && !service->is_stopping);
    service->is_running = true;
    service->part = COR_KUBERNETES_SERVICE;
    cor_timer_cancel(&service->timer);
    if (r == 0 && !service->leases)
        r = cor_kubernetes_objects_set_address(
            &service->objects, service->opts.is_advertised ? &service->opts.advertised : NULL);
    if (r < 0) {
        kubesvc_fail(service, r, "");
    } else if (service->leases) {
        service->is_renewing = true;
        cor_server_leases_renew(service->leases, &service->objects.addresses, kubesvc_on_renewed,
                                service);
    } else {
        kubesvc_ensure_part(service);
    }
}

static void kubesvc_on_timer(struct cor_timer *timer)
{
    kubesvc_begin_pass(COR_CONTAINER_OF(timer, struct cor_kubernetes_service, timer));
}

/* Nothing of this server is under way any more but perhaps a renewal, and in the port a request
 * that was cancelled or has just ended: it is freed before the next turn of this service. */
static void kubesvc_end_stop(struct cor_kubernetes_service *service)
{
    if (!cor_inner_port_is_idle(&service->port))
        kubesvc_next_turn(service);
    else if (service->leases)
        cor_server_leases_leave(service->leases, service->on_done, service->arg);
    else
        service->on_done(service->arg);
}

static void kubesvc_on_turn(struct cor_mail *mail)
{
    struct cor_kubernetes_service *service =
        COR_CONTAINER_OF(mail, struct cor_kubernetes_service, turn);

    service->has_turn = false;
    if (service->is_stopping)
        kubesvc_end_stop(service);
    else if (service->is_renewing)
        kubesvc_take_addresses(service);
    else if (!service->is_running && !cor_timer_is_set(&service->timer) &&
             cor_timer_set(&service->timer, INTERVAL_MS) < 0)
        kubesvc_next_turn(service);
}

/* ---- life ---- */

void cor_kubernetes_service_check(struct cor_kubernetes_service *service,
                                  void (*on_done)(void *arg), void *arg)
{
    assert(cor_loop_is_current(service->loop) && !service->is_running && !service->is_stopping &&
           !service->has_turn);
    service->on_done = on_done;
    service->arg = arg;
    kubesvc_begin_pass(service);
}

void cor_kubernetes_service_start(struct cor_kubernetes_service *service,
                                  void (*on_first)(void *arg), void *arg)
{
    assert(!service->objects.keeps_ports);
    cor_kubernetes_service_check(service, on_first, arg);
}

void cor_kubernetes_service_stop(struct cor_kubernetes_service *service,
                                 void (*on_stopped)(void *arg), void *arg)
{
    assert(cor_loop_is_current(service->loop) && !service->is_stopping);
    service->is_stopping = true;
    service->is_running = false;
    cor_timer_cancel(&service->timer);
    cor_ensure_cancel(&service->ensure);
    service->on_done = on_stopped;
    service->arg = arg;
    if (!service->has_turn)
        kubesvc_end_stop(service);
}
