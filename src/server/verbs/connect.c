/* clang-format off */
/* The subresources that connect a client with a container, a pod, a Service or a node: log, exec,
 * attach, portforward, proxy. This server opens no connections into the cluster. It judges the
 * request as kube-apiserver does, with the same answers, up to the point where kube-apiserver would
 * open the connection; there it answers 500 with a Status that says so.
 *
 *   connect_run ──► log: the query's options (log_options.h)
 *       │           others: their options as an object (connect_options.h) ──► both points of admission
 *       │           proxy: the name is NAME, NAME:PORT or SCHEME:NAME:PORT
 *       ├── pod ──────► which container ──► has the pod a node? no: 204 (log) or 400
 *       │                                          └► read the node ──► has it an address? ──► 500
 *       ├── pod's proxy ──► may its address be used? ──────────────────────────────────────► 500
 *       ├── Service ──► if the port is a number: read the Service, has it this port?
 *       │                  └► read the Endpoints ──► is there a pod behind an address? ─────► 500
 *       └── node ──► has it an address, may it be used? ───────────────────────────────────► 500
 *
 * A log is a reading, which no plugin is asked about.
 * Failures: what a plugin refuses. An object that is missing, the node of a pod and the Endpoints of a Service among them,
 * is answered as if the object of the URL were missing, in upstream's words. A failure of the store
 * is answered as for any read.
 * Thread: the call's loop. Every callback of the store begins with cor_call_end_op() and returns
 * when the reader has gone. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "http/url.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "meta/status/quote.h"
#include "schema/convert/conversion.h"
#include "schema/go/ip_text.h"
#include "server/admission/admission.h"
#include "server/request/query_options.h"
#include "server/verbs/connect_options.h"
#include "server/verbs/log_options.h"
#include "json/text/scan.h"

#define PORT_NAME_MAX 4096
#define TEXT_MAX      (64u << 10)

struct connect_call {
    struct cor_call call;
    struct cor_admission admission;
    struct cor_str id, port;  /* of a proxy: the name in the URL, and the port in it; in `names` */
    int64_t number;           /* the port, when it is a number */
    struct cor_buf container; /* that the query names, empty: none; of a proxy: the port's name */
    struct cor_backing *backing; /* of the second object that is read */
    struct cor_buf key;          /* its key */
};

static struct connect_call *connect_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_connect);
    return COR_CONTAINER_OF(call, struct connect_call, call);
}

static bool connect_is_proxy(const struct cor_call *call)
{
    return call->sub->takes_path;
}

/* A string's bytes; empty for any other value. */
static struct cor_str text_of(struct cor_str value)
{
    struct cor_str raw = COR_STR("");

    return value.p && cor_json_to_raw(value, &raw) == 0 ? raw : COR_STR("");
}

static struct cor_str member_text(struct cor_str object, const char *key)
{
    return text_of(cor_convert_member(object, key));
}

/* The point where kube-apiserver would open the connection. */
static void connect_refuse(struct connect_call *c, const char *to)
{
    cor_status_untyped(&c->call.status, -COR_EINTERNAL, "this server opens no connections to %s",
                       to);
    cor_call_fail(&c->call);
}

/* Reads an object: on_object() is called with it, unless the reader is gone. */
static void connect_read(struct connect_call *c, struct cor_backing *backing, struct cor_str key,
                         void (*on_object)(void *arg, const struct cor_store_reply *reply))
{
    static const struct cor_store_get_opts latest = {.ignore_not_found = false};
    struct cor_call *call = &c->call;

    if (cor_reader_get(backing->reader, key, &latest, on_object, c, &call->status) < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_GET);
    else
        cor_call_begin_op(call);
}

/* Reads the object `name` of another resource, in the call's namespace if the resource has some. */
static void connect_read_other(struct connect_call *c, enum cor_api_role role, struct cor_str name,
                               void (*on_object)(void *arg, const struct cor_store_reply *reply))
{
    const struct cor_resource_row *row = cor_api_of_role(role);
    struct cor_call *call = &c->call;
    int r = cor_api_backing(call->loop, row, &c->backing, &call->status);

    assert(c->key.n == 0);
    if (r == 0)
        r = cor_key_of_object(cor_buf_str(&c->backing->prefix), cor_api_is_namespaced(row),
                              call->ns, name, &c->key, &call->status);
    if (r < 0)
        cor_call_fail(call);
    else
        connect_read(c, c->backing, cor_buf_str(&c->key), on_object);
}

/* After a read: false when the call is over, because the reader has gone or a failure was answered.
 */
static bool connect_goes_on(struct connect_call *c, const struct cor_store_reply *reply)
{
    struct cor_call *call = &c->call;

    if (!cor_call_end_op(call))
        return false;
    if (reply->err == 0)
        return true;
    cor_status_move(&call->status, reply->status);
    cor_call_fail_storage(call, COR_STORAGE_OP_GET);
    return false;
}

/* Upstream's proxies refuse loopback, link-local, multicast and unspecified addresses. */
static bool is_global_unicast(const struct cor_ip *ip)
{
    static const uint8_t zero[16] = {0}, one[16] = {[15] = 1}, broadcast[4] = {255, 255, 255, 255};
    const uint8_t *b = ip->bytes;

    if (cor_ip_is_v4(ip)) {
        b += 12;
        return memcmp(b, zero, 4) != 0 && memcmp(b, broadcast, 4) != 0 && b[0] != 127 &&
               b[0] >> 4 != 0xe && !(b[0] == 169 && b[1] == 254);
    }
    return memcmp(b, zero, 16) != 0 && memcmp(b, one, 16) != 0 && b[0] != 0xff &&
           !(b[0] == 0xfe && (b[1] & 0xc0) == 0x80);
}

/* ── nodes ── */

/* The address by which upstream would reach a node: types in the order of its preference. False:
 * the node has none. */
static bool node_address(struct cor_str addresses, struct cor_str *ret_address)
{
    static const char *const preferred[] = {"Hostname", "InternalDNS", "InternalIP", "ExternalDNS",
                                            "ExternalIP"};

    for (size_t i = 0; i < COR_ARRAY_LEN(preferred); i++) {
        struct cor_json_iter it = cor_json_iter(addresses);

        while (cor_json_iter_elem(&it)) {
            struct cor_str address = cor_json_iter_value(&it);

            if (!cor_convert_is_text(cor_convert_member(address, "type"), preferred[i]))
                continue;
            *ret_address = member_text(address, "address");
            return true;
        }
    }
    return false;
}

/* 500 with the addresses that the node has, as Go prints them. Returns the code, in the status. */
static int node_has_no_address(struct cor_call *call, struct cor_str addresses)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_json_iter it = cor_json_iter(addresses);
    bool is_first = true;
    int r = 0;

    cor_buf_init(&text, TEXT_MAX);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str address = cor_json_iter_value(&it);

        r = cor_buf_addf(&text, "%s{%.*s %.*s}", is_first ? "" : " ",
                         COR_STR_ARG(member_text(address, "type")),
                         COR_STR_ARG(member_text(address, "address")));
        is_first = false;
    }
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    return cor_status_untyped(&call->status, -COR_EINTERNAL,
                              "no preferred addresses found; known addresses: [%.*s]",
                              COR_STR_ARG(cor_buf_str(&text)));
}

/* Also for the node of a pod. */
static void connect_on_node(void *arg, const struct cor_store_reply *reply)
{
    struct connect_call *c = arg;
    struct cor_call *call = &c->call;
    struct cor_str addresses, address;
    struct cor_ip ip;

    if (!connect_goes_on(c, reply))
        return;
    addresses =
        cor_convert_member(cor_object_member(reply->object, COR_STR("status")), "addresses");
    if (!node_address(addresses, &address)) {
        node_has_no_address(call, addresses);
        cor_call_fail(call);
        return;
    }
    /* A name would have to be resolved to be judged; nothing is resolved here. */
    if (connect_is_proxy(call) && cor_ip_parse(address, &ip) && !is_global_unicast(&ip)) {
        cor_status_bad_request(&call->status, "address not allowed");
        cor_call_fail(call);
        return;
    }
    connect_refuse(c, "nodes"); /* names a kind: a word of the message */
}

/* ── pods ── */

/* The members of a pod's spec that hold containers, in upstream's order. */
static const char *const container_lists[] = {"initContainers", "containers",
                                              "ephemeralContainers"};

/* Appends the names of all containers with spaces between them; with `wanted`, only finds out
 * whether there is one of this name. 1: found; 0; -COR_ENOMEM, -COR_ETOOBIG. */
static int pod_containers(struct cor_str spec, const struct cor_str *wanted, struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(container_lists); i++) {
        struct cor_json_iter it = cor_json_iter(cor_convert_member(spec, container_lists[i]));

        while (cor_json_iter_elem(&it)) {
            struct cor_str name = member_text(cor_json_iter_value(&it), "name");

            if (wanted && cor_str_eq(name, *wanted))
                return 1;
            if (!wanted)
                r = cor_buf_addf(out, "%s%.*s", out->n > 0 ? " " : "", COR_STR_ARG(name));
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* Checks that the query names a container of the pod, or that the pod has only one. 0, or a failure
 * in the status. */
static int pod_check_container(struct connect_call *c, struct cor_str spec)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf names;
    struct cor_json_iter it = cor_json_iter(cor_convert_member(spec, "containers"));
    struct cor_str wanted = cor_buf_str(&c->container);
    struct cor_call *call = &c->call;
    int r;

    cor_buf_init(&names, TEXT_MAX);
    if (wanted.n > 0) {
        if (pod_containers(spec, &wanted, NULL) == 1)
            return 0;
        return cor_status_bad_request(&call->status, "container %.*s is not valid for pod %.*s",
                                      COR_STR_ARG(wanted), COR_STR_ARG(call->name));
    }
    if (cor_json_iter_elem(&it)) {
        (void)cor_json_iter_value(&it);
        if (!cor_json_iter_elem(&it))
            return 0;
    }
    r = pod_containers(spec, NULL, &names);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    return cor_status_bad_request(
        &call->status, "a container name must be specified for pod %.*s, choose one of: [%.*s]",
        COR_STR_ARG(call->name), COR_STR_ARG(cor_buf_str(&names)));
}

static void connect_on_pod(void *arg, const struct cor_store_reply *reply)
{
    struct connect_call *c = arg;
    struct cor_call *call = &c->call;
    struct cor_str spec, node;
    int r = 0;

    if (!connect_goes_on(c, reply))
        return;
    spec = cor_object_member(reply->object, COR_STR("spec"));
    node = member_text(spec, "nodeName");
    if (call->sub->connect != COR_CONNECT_POD)
        r = pod_check_container(c, spec);
    if (r == 0 && node.n == 0 && call->sub->connect == COR_CONNECT_LOG) {
        cor_call_reply_bytes(call, 204, NULL, NULL, 0, COR_STR(""));
        return;
    }
    if (r == 0 && node.n == 0)
        r = cor_status_bad_request(&call->status, "pod %.*s does not have a host assigned",
                                   COR_STR_ARG(call->name));
    if (r < 0)
        cor_call_fail(call);
    else
        connect_read_other(c, COR_ROLE_NODES, node, connect_on_node);
}

/* For the proxy of a pod. */
static void connect_on_proxied_pod(void *arg, const struct cor_store_reply *reply)
{
    struct connect_call *c = arg;
    struct cor_str ips;
    struct cor_json_iter it;
    struct cor_ip ip;

    if (!connect_goes_on(c, reply))
        return;
    ips = cor_convert_member(cor_object_member(reply->object, COR_STR("status")), "podIPs");
    it = cor_json_iter(ips);
    if (cor_json_iter_elem(&it) && cor_ip_parse(member_text(cor_json_iter_value(&it), "ip"), &ip) &&
        is_global_unicast(&ip)) {
        connect_refuse(c, "pods"); /* names a kind: a word of the message */
        return;
    }
    cor_status_bad_request(&c->call.status, "address not allowed");
    cor_call_fail(&c->call);
}

/* ── Services ── */

/* Has one of the subsets the port and the address of a pod? */
static bool has_pod_behind(struct cor_str subsets, struct cor_str port)
{
    struct cor_json_iter subset = cor_json_iter(subsets);

    while (cor_json_iter_elem(&subset)) {
        struct cor_str one = cor_json_iter_value(&subset);
        struct cor_json_iter ports = cor_json_iter(cor_convert_member(one, "ports"));
        bool has_port = false;

        while (cor_json_iter_elem(&ports))
            has_port =
                cor_str_eq(member_text(cor_json_iter_value(&ports), "name"), port) || has_port;
        if (has_port) {
            struct cor_json_iter address = cor_json_iter(cor_convert_member(one, "addresses"));

            while (cor_json_iter_elem(&address)) {
                struct cor_str target =
                    cor_convert_member(cor_json_iter_value(&address), "targetRef");

                if (cor_str_eq(member_text(target, "kind"), cor_api_of_role(COR_ROLE_PODS)->kind))
                    return true;
            }
        }
    }
    return false;
}

static void connect_on_endpoints(void *arg, const struct cor_store_reply *reply)
{
    struct connect_call *c = arg;
    struct cor_call *call = &c->call;
    struct cor_str subsets;
    struct cor_json_iter it;
    bool has_subset;

    if (!connect_goes_on(c, reply))
        return;
    subsets = cor_object_member(reply->object, COR_STR("subsets"));
    it = cor_json_iter(subsets);
    has_subset = cor_json_iter_elem(&it);
    if (has_subset && has_pod_behind(subsets, c->port)) {
        connect_refuse(c, "pods"); /* names a kind: a word of the message */
        return;
    }
    cor_status_set(&call->status, -COR_EUNAVAILABLE, "no endpoints available for service \"%.*s\"",
                   COR_STR_ARG(has_subset ? c->id : call->name));
    cor_call_fail(call);
}

/* Finds the name of the port that was given as a number. */
static void connect_on_service(void *arg, const struct cor_store_reply *reply)
{
    struct connect_call *c = arg;
    struct cor_call *call = &c->call;
    struct cor_json_iter it;

    if (!connect_goes_on(c, reply))
        return;
    it = cor_json_iter(
        cor_convert_member(cor_object_member(reply->object, COR_STR("spec")), "ports"));
    while (cor_json_iter_elem(&it)) {
        struct cor_str port = cor_json_iter_value(&it), name = member_text(port, "name");
        int64_t number;

        if (cor_json_to_i64(cor_convert_member(port, "port"), &number) < 0 || number != c->number)
            continue;
        cor_buf_reset(&c->container);
        if (cor_buf_adds(&c->container, name) < 0) {
            cor_status_no_memory(&call->status);
            cor_call_fail(call);
            return;
        }
        c->port = cor_buf_str(&c->container);
        connect_read_other(c, COR_ROLE_ENDPOINTS, call->name, connect_on_endpoints);
        return;
    }
    cor_status_set(&call->status, -COR_EUNAVAILABLE,
                   "no service port %lld found for service \"%.*s\"", (long long)c->number,
                   COR_STR_ARG(call->name));
    cor_call_fail(call);
}

/* Splits the name of a proxy's URL: NAME, NAME:PORT or SCHEME:NAME:PORT, and sets the key of the
 * object. 0, or a failure in the status. */
static int connect_split_name(struct connect_call *c)
{
    struct cor_call *call = &c->call;
    struct cor_str rest = call->name, parts[3] = {0}, scheme;
    size_t n = 0;

    c->id = call->name;
    while (rest.p && n < COR_ARRAY_LEN(parts))
        parts[n++] = cor_str_cut(&rest, ':');
    scheme = n == 3 ? parts[0] : COR_STR("");
    if (rest.p || parts[n == 3].n == 0 ||
        (scheme.n > 0 && !cor_str_eqz(scheme, "http") && !cor_str_eqz(scheme, "https"))) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted;

        cor_buf_init(&quoted, TEXT_MAX);
        if (cor_quote(c->id, &quoted) < 0)
            return cor_status_no_memory(&call->status);
        return cor_status_bad_request(&call->status, "invalid %.*s request %.*s",
                                      COR_STR_ARG(call->res->singular),
                                      COR_STR_ARG(cor_buf_str(&quoted)));
    }
    call->name = parts[n == 3];
    c->port = n > 1 ? parts[n - 1] : COR_STR("");
    cor_buf_reset(&call->key);
    return cor_key_of_object(cor_buf_str(&call->backing->prefix), cor_api_is_namespaced(call->res),
                             call->ns, call->name, &call->key, &call->status);
}

static int connect_read_request(struct connect_call *c)
{
    struct cor_call *call = &c->call;
    int r = 0;

    if (connect_is_proxy(call))
        return connect_split_name(c);
    if (call->sub->connect == COR_CONNECT_LOG)
        r = cor_log_options_check(call->req->query, call->name, &call->status);
    if (r < 0)
        return r;
    r = cor_url_query_get(call->req->query, COR_STR("container"), &c->container);
    return r < 0 && r != -COR_ENOTFOUND ? cor_status_set_err(&call->status, r) : 0;
}

static void connect_start(struct connect_call *c)
{
    struct cor_call *call = &c->call;

    if (connect_read_request(c) < 0) {
        cor_call_fail(call);
        return;
    }
    switch (call->sub->connect) {
    case COR_CONNECT_NONE:
        break;
    case COR_CONNECT_LOG:
    case COR_CONNECT_CONTAINER:
    case COR_CONNECT_POD:
        connect_read(c, call->backing, cor_buf_str(&call->key), connect_on_pod);
        break;
    case COR_CONNECT_POD_PROXY:
        connect_read(c, call->backing, cor_buf_str(&call->key), connect_on_proxied_pod);
        break;
    case COR_CONNECT_NODE_PROXY:
        connect_read(c, call->backing, cor_buf_str(&call->key), connect_on_node);
        break;
    case COR_CONNECT_SERVICE_PROXY:
        if (cor_api_parse_int(c->port, &c->number) == 0)
            connect_read(c, call->backing, cor_buf_str(&call->key), connect_on_service);
        else
            connect_read_other(c, COR_ROLE_ENDPOINTS, call->name, connect_on_endpoints);
        break;
    }
}

static void connect_on_admitted(struct cor_admission *ad, int r)
{
    struct connect_call *c = COR_CONTAINER_OF(ad, struct connect_call, admission);

    if (c->call.is_over)
        return;
    if (r < 0)
        cor_call_fail(&c->call);
    else if (ad->point == COR_ADMISSION_MUTATES)
        cor_admission_run(ad, COR_ADMISSION_VALIDATES, connect_on_admitted);
    else
        connect_start(c);
}

static void connect_run(struct cor_call *call)
{
    struct connect_call *c = connect_of(call);
    int r;

    assert(call->sub && call->sub->connect != COR_CONNECT_NONE && call->backing);
    cor_buf_init(&c->container, PORT_NAME_MAX + call->req->query.n);
    cor_buf_init(&c->key, COR_KEY_BYTES_MAX);
    r = cor_call_set_key(call);
    if (r == 0 && call->sub->connect == COR_CONNECT_LOG) {
        connect_start(c);
        return;
    }
    if (r == 0)
        r = cor_connect_options_make(call, &c->admission.object);
    if (r < 0) {
        cor_call_fail(call);
        return;
    }
    c->admission.call = call;
    c->admission.op = COR_ADMISSION_CONNECT;
    cor_admission_run(&c->admission, COR_ADMISSION_MUTATES, connect_on_admitted);
}

static void connect_deinit(struct cor_call *call)
{
    struct connect_call *c = connect_of(call);

    cor_admission_deinit(&c->admission);
    cor_buf_deinit(&c->container);
    cor_buf_deinit(&c->key);
}

const struct cor_verb_ops cor_verb_connect = {
    .size = sizeof(struct connect_call), .run = connect_run, .deinit = connect_deinit};
