/* clang-format off */
/* The passes over `default/kubernetes` (kubernetes_service.h).
 *
 *   on a shared store: renew the lease of this server, and read which others there are ──►
 *   for each of Service, Endpoints, EndpointSlice: read it (from the cache) ──► it is as it should be:
 *   the next one ──► it is missing: create it ──► it differs: change it by a merge patch that has the
 *   resourceVersion that was read (a slice of the other family: delete it, the next pass creates it)
 *   ──► after the last one the timer is set for the next pass
 *
 * All are requests through the port inside the server (server/port/inner_port.h), one at a time, with
 * the same stages as a client's: the Service gets its address from the allocators. What upstream does, and what follows from it:
 *   - the Service is only created. Its port and type stay when the server moves to another port;
 *   - ports of endpoints are compared in the first pass of a server without others only, so that servers
 *     with different ports on one etcd do not overwrite one another for ever;
 *   - a creation that finds the object (409), and a change that comes too late (409, 404), are fine:
 *     another server was faster, and the next pass looks again.
 * Failures: a request that fails ends the pass, and is logged once until a pass succeeds.
 * No answer comes inside of the call that sends its request, so each step follows from the answer of the
 * step before it. A stop waits for a turn when the port has not freed its last request.
 * Thread: the API's first loop. */
/* clang-format on */
#include "server/instance/kubernetes_service.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "server/instance/server_leases.h"
#include "server/port/inner_port.h"
#include "json/scan.h"
#include "json/writer.h"

#define INTERVAL_MS   10000
#define REQUEST_MS    30000
#define BODY_MAX      (64u * 1024)
#define SERVICE_PORT  443
#define PORT_NAME     "https"
#define SERVICE_NAME  "kubernetes"
#define NOT_MIRRORED  "endpointslice.kubernetes.io/skip-mirror"
#define SLICE_SERVICE "kubernetes.io/service-name"
#define SLICE_LIST    "endpoints" /* names a kind: a member of an EndpointSlice */

enum part { PART_SERVICE, PART_ENDPOINTS, PART_SLICE, PARTS };

/* What the request under way does with the present part. */
enum step { STEP_READ, STEP_CREATE, STEP_CHANGE, STEP_DELETE };

/* names a kind: the resources of the three objects */
static const struct cor_gvr resources[] = {
    [PART_SERVICE] = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("services")},
    [PART_ENDPOINTS] = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("endpoints")},
    [PART_SLICE] = {COR_STR_INIT("discovery.k8s.io"), COR_STR_INIT("v1"),
                    COR_STR_INIT("endpointslices")},
};

struct cor_kubernetes_service {
    struct cor_kubernetes_service_opts opts;
    struct cor_loop *loop;
    struct cor_timer timer;
    struct cor_mail turn; /* to itself: goes on in the next turn */
    bool has_turn;        /* `turn` is under way */
    bool is_first;        /* no pass has succeeded */
    bool is_running, is_stopping;
    bool has_failed; /* the last pass failed, and that was logged */
    void (*on_done)(void *arg);
    void *arg;

    struct cor_inner_port port;
    struct cor_api_request req; /* the request of `step` for `part` */
    enum part part;
    enum step step;
    struct cor_buf body; /* of a creation or a change */

    struct cor_buf addresses;         /* of the endpoints: a JSON list of texts, ordered */
    struct cor_buf ports;             /* of the endpoints: a JSON list */
    struct cor_server_leases *leases; /* NULL: this server is alone on its store */
    bool is_renewing;                 /* the pass waits for `leases`, or for the turn after it */
    int renew_err;
};

static void kubesvc_on_timer(struct cor_timer *timer);
static void kubesvc_on_turn(struct cor_mail *mail);
static void kubesvc_on_answer(struct cor_api_request *req, const struct cor_api_answer *answer);

int cor_kubernetes_service_new(const struct cor_kubernetes_service_opts *opts,
                               struct cor_kubernetes_service **ret_service,
                               struct cor_status *reterr_status)
{
    static const struct cor_api_request_cbs cbs = {.on_done = kubesvc_on_answer};
    struct cor_kubernetes_service *service = cor_calloc(1, sizeof(*service));
    int r = 0;

    assert(opts->api && opts->port > 0);
    assert(!opts->has_others || !opts->has_endpoints || opts->is_advertised);
    if (!service)
        return cor_status_set_err(reterr_status, -COR_ENOMEM);
    service->opts = *opts;
    service->is_first = true;
    cor_inner_port_init(&service->port, cor_api_loop(opts->api, 0), COR_STR(""),
                        COR_STR("kube-apiserver"), 0);
    service->loop = service->port.port.loop;
    service->req = (struct cor_api_request){
        .at = {.ns = COR_STR("default"), .name = COR_STR(SERVICE_NAME)},
        .timeout_ms = REQUEST_MS,
        .cbs = &cbs,
    };
    cor_timer_init(&service->timer, service->loop, kubesvc_on_timer);
    cor_buf_init(&service->body, BODY_MAX);
    cor_buf_init(&service->addresses, BODY_MAX);
    cor_buf_init(&service->ports, BODY_MAX);
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
    cor_inner_port_deinit(&service->port);
    cor_buf_deinit(&service->body);
    cor_buf_deinit(&service->addresses);
    cor_buf_deinit(&service->ports);
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

/* ---- what the objects should be ---- */

static int kubesvc_set_ports(struct cor_kubernetes_service *service)
{
    struct cor_json_writer w;

    cor_buf_reset(&service->ports);
    cor_json_writer_init(&w, &service->ports);
    cor_json_begin_array(&w);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("name"), COR_STR(PORT_NAME));
    cor_json_key(&w, COR_STR("port"));
    cor_json_u64(&w, service->opts.port);
    cor_json_member(&w, COR_STR("protocol"), COR_STR("TCP"));
    cor_json_end_object(&w);
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

static int kubesvc_set_addresses(struct cor_kubernetes_service *service)
{
    char text[COR_IP_TEXT_MAX];
    struct cor_json_writer w;

    cor_buf_reset(&service->addresses);
    cor_json_writer_init(&w, &service->addresses);
    cor_json_begin_array(&w);
    if (service->opts.is_advertised)
        cor_json_string(&w, cor_addr_print(service->opts.advertised, text));
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

static bool kubesvc_has_addresses(const struct cor_kubernetes_service *service)
{
    return service->addresses.n > 2;
}

/* The family of the slice: IPv6 when all addresses are, else IPv4, as upstream has it. */
static enum cor_addr_family kubesvc_family(const struct cor_kubernetes_service *service)
{
    struct cor_json_iter it = cor_json_iter(cor_buf_str(&service->addresses));
    enum cor_addr_family family = COR_IPV6;

    while (cor_json_iter_elem(&it)) {
        struct cor_str raw;
        struct cor_addr ip;

        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 && cor_addr_parse(raw, &ip) == 0 &&
            cor_addr_family(ip) == COR_IPV4)
            family = COR_IPV4;
    }
    return family;
}

static void kubesvc_write_service(const struct cor_kubernetes_service *service,
                                  struct cor_json_writer *w)
{
    char ip[COR_IP_TEXT_MAX];

    cor_json_key(w, COR_STR("spec"));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("clusterIP"), cor_addr_print(service->opts.ip, ip));
    cor_json_member(w, COR_STR("ipFamilyPolicy"), COR_STR("SingleStack"));
    cor_json_key(w, COR_STR("ports"));
    cor_json_begin_array(w);
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("name"), COR_STR(PORT_NAME));
    cor_json_key(w, COR_STR("port"));
    cor_json_u64(w, SERVICE_PORT);
    cor_json_member(w, COR_STR("protocol"), COR_STR("TCP"));
    cor_json_key(w, COR_STR("targetPort"));
    cor_json_u64(w, service->opts.port);
    cor_json_end_object(w);
    cor_json_end_array(w);
    cor_json_member(w, COR_STR("sessionAffinity"), COR_STR("None"));
    cor_json_member(w, COR_STR("type"), COR_STR("ClusterIP"));
    cor_json_end_object(w);
}

static void kubesvc_write_endpoints(const struct cor_kubernetes_service *service,
                                    struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(cor_buf_str(&service->addresses));

    cor_json_key(w, COR_STR("subsets"));
    if (!kubesvc_has_addresses(service)) {
        cor_json_null(w);
        return;
    }
    cor_json_begin_array(w);
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("addresses"));
    cor_json_begin_array(w);
    while (cor_json_iter_elem(&it)) {
        cor_json_begin_object(w);
        cor_json_key(w, COR_STR("ip"));
        cor_json_raw(w, cor_json_iter_value(&it));
        cor_json_end_object(w);
    }
    cor_json_end_array(w);
    cor_json_key(w, COR_STR("ports"));
    cor_json_raw(w, cor_buf_str(&service->ports));
    cor_json_end_object(w);
    cor_json_end_array(w);
}

/* The list of endpoints of the slice: the addresses of its family. */
static void kubesvc_write_slice_list(const struct cor_kubernetes_service *service,
                                     struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(cor_buf_str(&service->addresses));
    enum cor_addr_family family = kubesvc_family(service);

    cor_json_begin_array(w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str address = cor_json_iter_value(&it), raw;
        struct cor_addr ip;

        if (cor_json_to_raw(address, &raw) < 0 || cor_addr_parse(raw, &ip) < 0 ||
            cor_addr_family(ip) != family)
            continue;
        cor_json_begin_object(w);
        cor_json_key(w, COR_STR("addresses"));
        cor_json_begin_array(w);
        cor_json_raw(w, address);
        cor_json_end_array(w);
        cor_json_key(w, COR_STR("conditions"));
        cor_json_begin_object(w);
        cor_json_key(w, COR_STR("ready"));
        cor_json_bool(w, true);
        cor_json_end_object(w);
        cor_json_end_object(w);
    }
    cor_json_end_array(w);
}

static void kubesvc_write_slice(const struct cor_kubernetes_service *service,
                                struct cor_json_writer *w)
{
    /* A list without addresses fits to any type, which cannot be changed. */
    if (kubesvc_has_addresses(service))
        cor_json_member(w, COR_STR("addressType"), cor_addr_family_name(kubesvc_family(service)));
    cor_json_key(w, COR_STR(SLICE_LIST));
    kubesvc_write_slice_list(service, w);
    cor_json_key(w, COR_STR("ports"));
    cor_json_raw(w, cor_buf_str(&service->ports));
}

/* The body that creates the present part, or changes it: then with the resourceVersion of the state
 * that is changed. */
static int kubesvc_write_body(struct cor_kubernetes_service *service, struct cor_str rv)
{
    struct cor_json_writer w;

    cor_buf_reset(&service->body);
    cor_json_writer_init(&w, &service->body);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("labels"));
    cor_json_begin_object(&w);
    if (service->part == PART_SERVICE) {
        cor_json_member(&w, COR_STR("component"), COR_STR("apiserver"));
        cor_json_member(&w, COR_STR("provider"), COR_STR("kubernetes"));
    } else if (service->part == PART_ENDPOINTS) {
        cor_json_member(&w, COR_STR(NOT_MIRRORED), COR_STR("true"));
    } else {
        cor_json_member(&w, COR_STR(SLICE_SERVICE), COR_STR(SERVICE_NAME));
    }
    cor_json_end_object(&w);
    cor_json_member(&w, COR_STR("name"), COR_STR(SERVICE_NAME));
    if (rv.n > 0)
        cor_json_member(&w, COR_STR("resourceVersion"), rv);
    cor_json_end_object(&w);
    if (service->part == PART_SERVICE)
        kubesvc_write_service(service, &w);
    else if (service->part == PART_ENDPOINTS)
        kubesvc_write_endpoints(service, &w);
    else
        kubesvc_write_slice(service, &w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* ---- what the objects are ---- */

/* The member of an object, or an empty text. */
static struct cor_str kubesvc_member(struct cor_str object, const char *key)
{
    struct cor_str value;

    return object.n > 0 && cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0
               ? value
               : COR_STR("");
}

static bool kubesvc_has_label(struct cor_str object, const char *key, const char *value)
{
    struct cor_str labels = kubesvc_member(kubesvc_member(object, "metadata"), "labels"), raw;

    return cor_json_to_raw(kubesvc_member(labels, key), &raw) == 0 && cor_str_eqz(raw, value);
}

/* Is `address` an element of the list of texts? */
static bool kubesvc_wants(const struct cor_kubernetes_service *service, struct cor_str address)
{
    struct cor_json_iter it = cor_json_iter(cor_buf_str(&service->addresses));
    bool is_wanted = false;

    while (cor_json_iter_elem(&it))
        is_wanted |= cor_str_eq(cor_json_iter_value(&it), address);
    return is_wanted;
}

static size_t kubesvc_count(struct cor_str list)
{
    struct cor_json_iter it;
    size_t n = 0;

    if (list.n == 0 || list.p[0] != '[')
        return 0;
    it = cor_json_iter(list);
    while (cor_json_iter_elem(&it)) {
        (void)cor_json_iter_value(&it);
        n++;
    }
    return n;
}

/* The slice has the addresses in the order in which the Endpoints object has them: a
 * kube-apiserver, which has another order, compares the two. */
static int kubesvc_take_order(struct cor_kubernetes_service *service, struct cor_str addresses)
{
    struct cor_json_iter it = cor_json_iter(addresses);
    struct cor_json_writer w;

    cor_buf_reset(&service->addresses);
    cor_json_writer_init(&w, &service->addresses);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it))
        cor_json_raw(&w, kubesvc_member(cor_json_iter_value(&it), "ip"));
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* Has the Endpoints object one subset with exactly these addresses, and the ports of this server?
 * After the first pass, and when there are other servers, the ports stay as they are, and the slice
 * gets them. -COR_ENOMEM. */
static int kubesvc_judge_endpoints(struct cor_kubernetes_service *service, struct cor_str object)
{
    struct cor_str subsets = kubesvc_member(object, "subsets"), subset, addresses, ports;
    size_t n = kubesvc_count(subsets);
    struct cor_json_iter it;
    bool is_same = true;
    int r;

    if (!kubesvc_has_addresses(service))
        return n == 0;
    if (n != 1 || !kubesvc_has_label(object, NOT_MIRRORED, "true"))
        return false;
    it = cor_json_iter(subsets);
    (void)cor_json_iter_elem(&it);
    subset = cor_json_iter_value(&it);
    addresses = kubesvc_member(subset, "addresses");
    ports = kubesvc_member(subset, "ports");
    if (ports.n > 0 &&
        (!service->is_first || kubesvc_count(cor_buf_str(&service->addresses)) > 1)) {
        cor_buf_reset(&service->ports);
        if (cor_buf_add(&service->ports, ports.p, ports.n) < 0)
            return -COR_ENOMEM;
    }
    if (addresses.n == 0 ||
        kubesvc_count(addresses) != kubesvc_count(cor_buf_str(&service->addresses)))
        return false;
    it = cor_json_iter(addresses);
    while (cor_json_iter_elem(&it))
        is_same &= kubesvc_wants(service, kubesvc_member(cor_json_iter_value(&it), "ip"));
    if (!is_same || !cor_str_eq(ports, cor_buf_str(&service->ports)))
        return false;
    r = kubesvc_take_order(service, addresses);
    return r < 0 ? r : true;
}

static int kubesvc_judge_slice(struct cor_kubernetes_service *service, struct cor_str object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {0};
    struct cor_json_writer w;
    int r;

    /* An empty list is stored as null. */
    if (!kubesvc_has_addresses(service))
        return kubesvc_count(kubesvc_member(object, SLICE_LIST)) == 0;
    cor_buf_init(&list, BODY_MAX);
    cor_json_writer_init(&w, &list);
    kubesvc_write_slice_list(service, &w);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        return r;
    return kubesvc_has_label(object, SLICE_SERVICE, SERVICE_NAME) &&
           cor_str_eq(kubesvc_member(object, SLICE_LIST), cor_buf_str(&list)) &&
           cor_str_eq(kubesvc_member(object, "ports"), cor_buf_str(&service->ports));
}

/* The addresses are of another family than those of the slice, whose type cannot be changed. */
static bool kubesvc_is_other_family(const struct cor_kubernetes_service *service,
                                    struct cor_str object)
{
    struct cor_str raw;

    return service->part == PART_SLICE && kubesvc_has_addresses(service) &&
           (cor_json_to_raw(kubesvc_member(object, "addressType"), &raw) < 0 ||
            !cor_str_eq(raw, cor_addr_family_name(kubesvc_family(service))));
}

/* Is the present part as it should be? 1, 0, -COR_ENOMEM. */
static int kubesvc_judge(struct cor_kubernetes_service *service, struct cor_str object)
{
    switch (service->part) {
    case PART_ENDPOINTS:
        return kubesvc_judge_endpoints(service, object);
    case PART_SLICE:
        return kubesvc_judge_slice(service, object);
    case PART_SERVICE:
    case PARTS:
        break;
    }
    return true;
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
                     COR_F_STR("resource", resources[service->part].resource.p),
                     COR_F_STR("answer", why), COR_F_ERR(err));
    service->has_failed = true;
    kubesvc_end_pass(service);
}

/* Sends the request of this step for the present part. */
static void kubesvc_send(struct cor_kubernetes_service *service, enum step step)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_str body = cor_buf_str(&service->body);
    struct cor_api_port *port = &service->port.port;
    struct cor_api_request *req = &service->req;

    service->step = step;
    req->at.gvr = resources[service->part];
    switch (step) {
    case STEP_READ:
        cor_api_get(port, req, COR_STR("0"));
        break;
    case STEP_CREATE:
        if (cor_object_from_json(body, &object, &req->refusal) < 0)
            cor_api_refuse(port, req);
        else
            cor_api_create(port, req, object, NULL);
        break;
    case STEP_CHANGE:
        cor_api_patch(port, req, COR_PATCH_MERGE, body, NULL);
        break;
    case STEP_DELETE:
        cor_api_remove(port, req, NULL);
        break;
    }
}

/* Goes on with the next part, or ends the pass. */
static void kubesvc_next_part(struct cor_kubernetes_service *service)
{
    service->part++;
    if (service->part == PARTS || !service->opts.has_endpoints) {
        service->is_first = service->has_failed = false;
        kubesvc_end_pass(service);
    } else {
        kubesvc_send(service, STEP_READ);
    }
}

/* Looks at the object that was read; NULL: it is missing. `*ret_step` is the step that follows for
 * this part; STEP_READ: none. 0, -COR_ENOMEM. */
static int kubesvc_judge_answer(struct cor_kubernetes_service *service,
                                const struct cor_object *found, enum step *ret_step)
{
    int r = 0;

    *ret_step = STEP_READ;
    if (found) {
        r = kubesvc_judge(service, cor_object_json(found));
        if (r == 0)
            *ret_step = kubesvc_is_other_family(service, cor_object_json(found)) ? STEP_DELETE
                                                                                 : STEP_CHANGE;
    } else if (service->part == PART_SERVICE || kubesvc_has_addresses(service)) {
        *ret_step = STEP_CREATE; /* endpoints without an address are not created */
    }
    if (*ret_step == STEP_CREATE || *ret_step == STEP_CHANGE)
        r = kubesvc_write_body(service, found ? cor_object_resource_version(found) : COR_STR(""));
    return r < 0 ? r : 0;
}

static void kubesvc_on_answer(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_kubernetes_service *service =
        COR_CONTAINER_OF(req, struct cor_kubernetes_service, req);
    int code = answer->end == COR_API_ANSWERED && answer->error ? answer->error->code : 0;
    /* Of a creation 404 means that the namespace is missing. */
    bool is_fine = !answer->error || (code == 404 && service->step != STEP_CREATE) ||
                   (code == 409 && service->step != STEP_READ);
    enum step next = STEP_READ;
    int r = 0;

    if (!is_fine) {
        kubesvc_fail(service, answer->error->err, cor_status_message(answer->error));
        return;
    }
    if (service->step == STEP_READ)
        r = kubesvc_judge_answer(service, answer->object, &next);
    if (r < 0)
        kubesvc_fail(service, r, "");
    else if (next == STEP_READ)
        kubesvc_next_part(service);
    else
        kubesvc_send(service, next);
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
    if (r == 0 && !kubesvc_has_addresses(service))
        r = -COR_ENOTFOUND;
    if (r < 0)
        kubesvc_fail(service, r, "the servers on the store are not known");
    else
        kubesvc_send(service, STEP_READ);
}

static void kubesvc_begin_pass(struct cor_kubernetes_service *service)
{
    int r = kubesvc_set_ports(service);

    assert(!service->is_running && !service->is_stopping);
    service->is_running = true;
    service->part = PART_SERVICE;
    cor_timer_cancel(&service->timer);
    if (r == 0 && !service->leases)
        r = kubesvc_set_addresses(service);
    if (r < 0) {
        kubesvc_fail(service, r, "");
    } else if (service->leases) {
        service->is_renewing = true;
        cor_server_leases_renew(service->leases, &service->addresses, kubesvc_on_renewed, service);
    } else {
        kubesvc_send(service, STEP_READ);
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
    assert(service->is_first);
    cor_kubernetes_service_check(service, on_first, arg);
}

void cor_kubernetes_service_stop(struct cor_kubernetes_service *service,
                                 void (*on_stopped)(void *arg), void *arg)
{
    assert(cor_loop_is_current(service->loop) && !service->is_stopping);
    service->is_stopping = true;
    service->is_running = false;
    cor_timer_cancel(&service->timer);
    cor_api_cancel(&service->port.port, &service->req);
    service->on_done = on_stopped;
    service->arg = arg;
    if (!service->has_turn)
        kubesvc_end_stop(service);
}
