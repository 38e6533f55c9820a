/* clang-format off */
/* The passes over `default/kubernetes` (kubernetes_service.h).
 *
 *   on a shared store: renew the lease of this server, and read which others there are ──►
 *   for each of Service, Endpoints, EndpointSlice: read it (from the cache) ──► it is as it should be:
 *   the next one ──► it is missing: create it ──► it differs: change it by a merge patch that has the
 *   resourceVersion that was read (a slice of the other family: delete it, the next pass creates it)
 *   ──► after the last one the timer is set for the next pass
 *
 * All are requests to the API itself, one at a time, with the same stages as a client's: the Service
 * gets its address from the allocators. What upstream does, and what follows from it:
 *   - the Service is only created. Its port and type stay when the server moves to another port;
 *   - ports of endpoints are compared in the first pass of a server without others only, so that servers
 *     with different ports on one etcd do not overwrite one another for ever;
 *   - a creation that finds the object (409), and a change that comes too late (409, 404), are fine:
 *     another server was faster, and the next pass looks again.
 * Failures: a request that fails ends the pass, and is logged once until a pass succeeds.
 * Each step after an answer runs in a turn of its own, because answers may come inside of the call.
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
#include "server/api/api_int.h"
#include "server/instance/server_leases.h"
#include "server/request/buffer_sink.h"
#include "json/scan.h"
#include "json/writer.h"

#define INTERVAL_MS   10000
#define REQUEST_MS    30000
#define ANSWER_MAX    (4u << 20)
#define BODY_MAX      (64u * 1024)
#define SERVICE_PORT  443
#define PORT_NAME     "https"
#define SERVICE_NAME  "kubernetes"
#define NOT_MIRRORED  "endpointslice.kubernetes.io/skip-mirror"
#define SLICE_SERVICE "kubernetes.io/service-name"
#define SLICE_LIST    "endpoints" /* names a kind: a member of an EndpointSlice */

enum part { PART_SERVICE, PART_ENDPOINTS, PART_SLICE, PARTS };

static const char *const collections[PARTS] = {
    [PART_SERVICE] = "/api/v1/namespaces/default/services",
    [PART_ENDPOINTS] = "/api/v1/namespaces/default/endpoints",
    [PART_SLICE] = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
};

struct cor_kubernetes_service {
    struct cor_kubernetes_service_opts opts;
    struct cor_api_loop *api_loop;
    struct cor_loop *loop;
    struct cor_timer timer;
    struct cor_mail turn; /* to itself: goes on in the next turn */
    bool has_turn;        /* `turn` is under way */
    bool is_first;        /* no pass has succeeded */
    bool is_running, is_stopping;
    bool has_failed; /* the last pass failed, and that was logged */
    void (*on_done)(void *arg);
    void *arg;

    /* The request under way. */
    enum part part;
    enum cor_http_method method;
    bool has_request; /* `request` and `sink` are in use */
    struct cor_server_request request;
    struct cor_buffer_sink sink;
    struct cor_buf path, body;

    struct cor_buf addresses;         /* of the endpoints: a JSON list of texts, ordered */
    struct cor_buf ports;             /* of the endpoints: a JSON list */
    struct cor_server_leases *leases; /* NULL: this server is alone on its store */
    bool is_renewing;                 /* the pass waits for `leases`, or for the turn after it */
    int renew_err;
};

static void kubesvc_on_timer(struct cor_timer *timer);
static void kubesvc_on_turn(struct cor_mail *mail);

int cor_kubernetes_service_new(const struct cor_kubernetes_service_opts *opts,
                               struct cor_kubernetes_service **ret_service,
                               struct cor_status *reterr_status)
{
    struct cor_kubernetes_service *service = cor_calloc(1, sizeof(*service));
    int r = 0;

    assert(opts->api && opts->port > 0);
    assert(!opts->has_others || !opts->has_endpoints || opts->is_advertised);
    if (!service)
        return cor_status_set_err(reterr_status, -COR_ENOMEM);
    service->opts = *opts;
    service->api_loop = cor_api_loop(opts->api, 0);
    service->loop = service->api_loop->loop;
    service->is_first = true;
    cor_timer_init(&service->timer, service->loop, kubesvc_on_timer);
    cor_buf_init(&service->path, BODY_MAX);
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
    cor_buf_deinit(&service->path);
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

static void kubesvc_end_request(struct cor_kubernetes_service *service)
{
    if (!service->has_request)
        return;
    service->has_request = false;
    cor_buffer_sink_cancel(&service->sink);
    cor_buffer_sink_deinit(&service->sink);
    cor_request_info_deinit(&service->request.info);
}

static void kubesvc_end_pass(struct cor_kubernetes_service *service)
{
    void (*on_done)(void *arg) = COR_STEAL(service->on_done);

    service->is_running = false;
    if (cor_timer_set(&service->timer, INTERVAL_MS) < 0)
        kubesvc_next_turn(service); /* without memory for the timer the next turn tries again */
    if (on_done)
        on_done(service->arg);
}

static void kubesvc_fail(struct cor_kubernetes_service *service, int err, int code,
                         const char *answer)
{
    if (!service->has_failed)
        COR_LOG_WARN("the Service default/kubernetes could not be checked; it is tried again",
                     COR_F_STR("path", cor_buf_z(&service->path)),
                     COR_F_U64("code", (uint64_t)code), COR_F_STR("answer", answer),
                     COR_F_ERR(err));
    service->has_failed = true;
    kubesvc_end_request(service);
    kubesvc_end_pass(service);
}

static void kubesvc_on_answer(struct cor_buffer_sink *sink)
{
    kubesvc_next_turn(COR_CONTAINER_OF(sink, struct cor_kubernetes_service, sink));
}

/* Sends the request for the present part. */
static void kubesvc_send(struct cor_kubernetes_service *service, enum cor_http_method method)
{
    struct cor_server_request *request = &service->request;
    bool is_create = method == COR_HTTP_POST;
    int r;

    cor_buf_reset(&service->path);
    service->method = method;
    *request = (struct cor_server_request){.method = method};
    r = cor_buf_addf(&service->path, "%s%s", collections[service->part],
                     is_create ? "" : "/" SERVICE_NAME);
    if (method == COR_HTTP_GET)
        request->query = COR_STR("resourceVersion=0");
    else if (method != COR_HTTP_DELETE)
        request->body = cor_buf_str(&service->body);
    if (method == COR_HTTP_PATCH)
        request->content_type = COR_STR("application/merge-patch+json");
    request->deadline_ms = cor_loop_now_ms(service->loop) + REQUEST_MS;
    if (r == 0)
        r = cor_request_info_init(&request->info, method, cor_buf_str(&service->path),
                                  request->query);
    if (r < 0) {
        kubesvc_fail(service, r, 0, "");
        return;
    }
    cor_buffer_sink_init(&service->sink, ANSWER_MAX, kubesvc_on_answer);
    service->has_request = true;
    cor_api_call(service->api_loop, request, &service->sink.sink);
}

/* Goes on with the next part, or ends the pass. */
static void kubesvc_next_part(struct cor_kubernetes_service *service)
{
    service->part++;
    if (service->part == PARTS || !service->opts.has_endpoints) {
        service->is_first = service->has_failed = false;
        kubesvc_end_pass(service);
    } else {
        kubesvc_send(service, COR_HTTP_GET);
    }
}

/* Looks at what a read has answered. Returns the request that follows, or COR_HTTP_GET: none. */
static int kubesvc_judge_answer(struct cor_kubernetes_service *service,
                                enum cor_http_method *ret_method)
{
    struct cor_str object = cor_buf_str(&service->sink.body), rv = COR_STR("");
    int r = 0;

    *ret_method = COR_HTTP_GET;
    if (service->sink.status == 404) {
        /* Endpoints without an address are not created. */
        if (service->part == PART_SERVICE || kubesvc_has_addresses(service))
            *ret_method = COR_HTTP_POST;
    } else {
        r = kubesvc_judge(service, object);
        if (r == 0) {
            *ret_method =
                kubesvc_is_other_family(service, object) ? COR_HTTP_DELETE : COR_HTTP_PATCH;
            (void)cor_json_to_raw(
                kubesvc_member(kubesvc_member(object, "metadata"), "resourceVersion"), &rv);
        }
    }
    if (r >= 0 && *ret_method != COR_HTTP_GET)
        r = kubesvc_write_body(service, rv);
    return r < 0 ? r : 0;
}

/* The answer of the request has come. */
static void kubesvc_take_answer(struct cor_kubernetes_service *service)
{
    int code = service->sink.is_aborted ? 0 : service->sink.status;
    bool is_read = service->method == COR_HTTP_GET;
    bool is_creation = service->method == COR_HTTP_POST;
    /* Of a creation 404 means that the namespace is missing. */
    bool is_fine =
        code == 200 || (code == 404 && !is_creation) || (!is_read && (code == 201 || code == 409));
    enum cor_http_method next = COR_HTTP_GET;
    int r = 0;

    if (!is_fine) {
        kubesvc_fail(service, 0, code, cor_buf_z(&service->sink.body));
        return;
    }
    if (is_read)
        r = kubesvc_judge_answer(service, &next);
    if (r < 0) {
        kubesvc_fail(service, r, code, "");
        return;
    }
    kubesvc_end_request(service);
    if (next == COR_HTTP_GET)
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
        kubesvc_fail(service, r, 0, "the servers on the store are not known");
    else
        kubesvc_send(service, COR_HTTP_GET);
}

static void kubesvc_begin_pass(struct cor_kubernetes_service *service)
{
    int r = kubesvc_set_ports(service);

    assert(!service->is_running && !service->is_stopping);
    service->is_running = true;
    service->part = PART_SERVICE;
    cor_buf_reset(&service->path);
    cor_timer_cancel(&service->timer);
    if (r == 0 && !service->leases)
        r = kubesvc_set_addresses(service);
    if (r < 0) {
        kubesvc_fail(service, r, 0, "");
    } else if (service->leases) {
        service->is_renewing = true;
        cor_server_leases_renew(service->leases, &service->addresses, kubesvc_on_renewed, service);
    } else {
        kubesvc_send(service, COR_HTTP_GET);
    }
}

static void kubesvc_on_timer(struct cor_timer *timer)
{
    kubesvc_begin_pass(COR_CONTAINER_OF(timer, struct cor_kubernetes_service, timer));
}

/* Nothing of this server is under way any more but perhaps a renewal. */
static void kubesvc_end_stop(struct cor_kubernetes_service *service)
{
    if (service->leases)
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
    else if (service->is_running)
        kubesvc_take_answer(service);
    else if (!cor_timer_is_set(&service->timer) && cor_timer_set(&service->timer, INTERVAL_MS) < 0)
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
    kubesvc_end_request(service);
    service->on_done = on_stopped;
    service->arg = arg;
    if (!service->has_turn)
        kubesvc_end_stop(service);
}
