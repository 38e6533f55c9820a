/* The objects are written and compared as JSON. The addresses are kept as a JSON list of texts,
 * whose elements are copied into an object, and compared with those of an object, as they are. The
 * Endpoints object is judged before the slice, which gets the ports and the order of addresses that
 * the Endpoints object may keep.
 * Failures: only memory runs out (-COR_ENOMEM); an object of another form differs, and is changed.
 */
#include "server/instance/kubernetes_objects.h"

#include <assert.h>

#include "base/err.h"
#include "json/text/scan.h"
#include "json/write/print.h"

#define TEXT_MAX      (64u * 1024)
#define SERVICE_PORT  443
#define PORT_NAME     "https"
#define NOT_MIRRORED  "endpointslice.kubernetes.io/skip-mirror"
#define SLICE_SERVICE "kubernetes.io/service-name"
#define SLICE_LIST    "endpoints" /* names a kind: a member of an EndpointSlice */

struct cor_gvr cor_kubernetes_resource(enum cor_kubernetes_part part)
{
    /* names a kind: the resources of the three objects */
    static const struct cor_gvr resources[] = {
        [COR_KUBERNETES_SERVICE] = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("services")},
        [COR_KUBERNETES_ENDPOINTS] = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                      COR_STR_INIT("endpoints")},
        [COR_KUBERNETES_SLICE] = {COR_STR_INIT("discovery.k8s.io"), COR_STR_INIT("v1"),
                                  COR_STR_INIT("endpointslices")},
    };

    assert(part < COR_KUBERNETES_PARTS);
    return resources[part];
}

void cor_kubernetes_objects_init(struct cor_kubernetes_objects *o, struct cor_addr ip,
                                 uint16_t port)
{
    *o = (struct cor_kubernetes_objects){.ip = ip, .port = port};
    cor_buf_init(&o->addresses, TEXT_MAX);
    cor_buf_init(&o->ports, TEXT_MAX);
}

void cor_kubernetes_objects_deinit(struct cor_kubernetes_objects *o)
{
    cor_buf_deinit(&o->addresses);
    cor_buf_deinit(&o->ports);
}

int cor_kubernetes_objects_begin(struct cor_kubernetes_objects *o)
{
    struct cor_json_writer w;

    cor_buf_reset(&o->ports);
    cor_json_writer_init(&w, &o->ports);
    cor_json_print(&w, "[{name:'" PORT_NAME "',port:%d,protocol:'TCP'}]", o->port);
    return cor_json_writer_finish(&w);
}

int cor_kubernetes_objects_set_address(struct cor_kubernetes_objects *o,
                                       const struct cor_addr *address)
{
    char text[COR_IP_TEXT_MAX];
    struct cor_json_writer w;

    cor_buf_reset(&o->addresses);
    cor_json_writer_init(&w, &o->addresses);
    cor_json_begin_array(&w);
    if (address)
        cor_json_string(&w, cor_addr_print(*address, text));
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* The family of the slice: IPv6 when all addresses are, else IPv4, as upstream has it. */
static enum cor_addr_family kubeobj_family(const struct cor_kubernetes_objects *o)
{
    struct cor_json_iter it = cor_json_iter(cor_buf_str(&o->addresses));
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

static void kubeobj_write_service(const struct cor_kubernetes_objects *o, struct cor_json_writer *w)
{
    char ip[COR_IP_TEXT_MAX];

    cor_json_print(w,
                   "spec:{clusterIP:%s,ipFamilyPolicy:'SingleStack',ports:[{name:'" PORT_NAME
                   "',port:%d,protocol:'TCP',targetPort:%d}],sessionAffinity:'None',"
                   "type:'ClusterIP'}",
                   cor_addr_print(o->ip, ip), SERVICE_PORT, o->port);
}

static void kubeobj_write_endpoints(const struct cor_kubernetes_objects *o,
                                    struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(cor_buf_str(&o->addresses));

    cor_json_key(w, COR_STR("subsets"));
    if (!cor_kubernetes_objects_has_addresses(o)) {
        cor_json_null(w);
        return;
    }
    cor_json_print(w, "[{addresses:[");
    while (cor_json_iter_elem(&it))
        cor_json_print(w, "{ip:%j}", cor_json_iter_value(&it));
    cor_json_print(w, "],ports:%j}]", cor_buf_str(&o->ports));
}

/* The list of endpoints of the slice: the addresses of its family. */
static void kubeobj_write_slice_list(const struct cor_kubernetes_objects *o,
                                     struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(cor_buf_str(&o->addresses));
    enum cor_addr_family family = kubeobj_family(o);

    cor_json_begin_array(w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str address = cor_json_iter_value(&it), raw;
        struct cor_addr ip;

        if (cor_json_to_raw(address, &raw) < 0 || cor_addr_parse(raw, &ip) < 0 ||
            cor_addr_family(ip) != family)
            continue;
        cor_json_print(w, "{addresses:[%j],conditions:{ready:true}}", address);
    }
    cor_json_end_array(w);
}

static void kubeobj_write_slice(const struct cor_kubernetes_objects *o, struct cor_json_writer *w)
{
    /* A list without addresses fits to any type, which cannot be changed. */
    if (cor_kubernetes_objects_has_addresses(o))
        cor_json_member(w, COR_STR("addressType"), cor_addr_family_name(kubeobj_family(o)));
    cor_json_key(w, COR_STR(SLICE_LIST));
    kubeobj_write_slice_list(o, w);
    cor_json_key(w, COR_STR("ports"));
    cor_json_raw(w, cor_buf_str(&o->ports));
}

int cor_kubernetes_objects_write(const struct cor_kubernetes_objects *o,
                                 enum cor_kubernetes_part part, struct cor_str rv,
                                 struct cor_buf *body)
{
    struct cor_json_writer w;

    assert(part < COR_KUBERNETES_PARTS);
    cor_buf_reset(body);
    cor_json_writer_init(&w, body);
    cor_json_print(&w, "{metadata:{labels:{");
    if (part == COR_KUBERNETES_SERVICE)
        cor_json_print(&w, "component:'apiserver',provider:'kubernetes'");
    else if (part == COR_KUBERNETES_ENDPOINTS)
        cor_json_print(&w, NOT_MIRRORED ":'true'");
    else
        cor_json_print(&w, SLICE_SERVICE ":'" COR_KUBERNETES_NAME "'");
    cor_json_print(&w, "},name:'" COR_KUBERNETES_NAME "',resourceVersion?:%s}", rv);
    if (part == COR_KUBERNETES_SERVICE)
        kubeobj_write_service(o, &w);
    else if (part == COR_KUBERNETES_ENDPOINTS)
        kubeobj_write_endpoints(o, &w);
    else
        kubeobj_write_slice(o, &w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* The member of an object, or an empty text. */
static struct cor_str kubeobj_member(struct cor_str object, const char *key)
{
    struct cor_str value;

    return object.n > 0 && cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0
               ? value
               : COR_STR("");
}

static bool kubeobj_has_label(struct cor_str object, const char *key, const char *value)
{
    struct cor_str labels = kubeobj_member(kubeobj_member(object, "metadata"), "labels"), raw;

    return cor_json_to_raw(kubeobj_member(labels, key), &raw) == 0 && cor_str_eqz(raw, value);
}

/* Has the list of addresses of an Endpoints object this one? */
static bool kubeobj_has_address(struct cor_str addresses, struct cor_str address)
{
    struct cor_json_iter it = cor_json_iter(addresses);
    bool is_there = false;

    while (cor_json_iter_elem(&it))
        is_there |= cor_str_eq(kubeobj_member(cor_json_iter_value(&it), "ip"), address);
    return is_there;
}

static size_t kubeobj_count(struct cor_str list)
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
static int kubeobj_take_order(struct cor_kubernetes_objects *o, struct cor_str addresses)
{
    struct cor_json_iter it = cor_json_iter(addresses);
    struct cor_json_writer w;

    cor_buf_reset(&o->addresses);
    cor_json_writer_init(&w, &o->addresses);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it))
        cor_json_raw(&w, kubeobj_member(cor_json_iter_value(&it), "ip"));
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* Has the Endpoints object one subset with exactly these addresses, and the ports of this server?
 * Ports that are kept, and those of several servers, stay as they are, and the slice gets them.
 * -COR_ENOMEM. */
static int kubeobj_judge_endpoints(struct cor_kubernetes_objects *o, struct cor_str object)
{
    struct cor_str subsets = kubeobj_member(object, "subsets"), subset, addresses, ports;
    size_t n = kubeobj_count(subsets);
    struct cor_json_iter it;
    bool is_same = true;
    int r;

    if (!cor_kubernetes_objects_has_addresses(o))
        return n == 0;
    if (n != 1 || !kubeobj_has_label(object, NOT_MIRRORED, "true"))
        return false;
    it = cor_json_iter(subsets);
    (void)cor_json_iter_elem(&it);
    subset = cor_json_iter_value(&it);
    addresses = kubeobj_member(subset, "addresses");
    ports = kubeobj_member(subset, "ports");
    if (ports.n > 0 && (o->keeps_ports || kubeobj_count(cor_buf_str(&o->addresses)) > 1)) {
        cor_buf_reset(&o->ports);
        if (cor_buf_add(&o->ports, ports.p, ports.n) < 0)
            return -COR_ENOMEM;
    }
    if (addresses.n == 0 || kubeobj_count(addresses) != kubeobj_count(cor_buf_str(&o->addresses)))
        return false;
    /* The addresses that are wanted differ from one another, so that as many of which each is there
     * are these. */
    it = cor_json_iter(cor_buf_str(&o->addresses));
    while (cor_json_iter_elem(&it))
        is_same &= kubeobj_has_address(addresses, cor_json_iter_value(&it));
    if (!is_same || !cor_str_eq(ports, cor_buf_str(&o->ports)))
        return false;
    r = kubeobj_take_order(o, addresses);
    return r < 0 ? r : true;
}

static int kubeobj_judge_slice(struct cor_kubernetes_objects *o, struct cor_str object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {0};
    struct cor_json_writer w;
    int r;

    /* An empty list is stored as null. */
    if (!cor_kubernetes_objects_has_addresses(o))
        return kubeobj_count(kubeobj_member(object, SLICE_LIST)) == 0;
    cor_buf_init(&list, TEXT_MAX);
    cor_json_writer_init(&w, &list);
    kubeobj_write_slice_list(o, &w);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        return r;
    return kubeobj_has_label(object, SLICE_SERVICE, COR_KUBERNETES_NAME) &&
           cor_str_eq(kubeobj_member(object, SLICE_LIST), cor_buf_str(&list)) &&
           cor_str_eq(kubeobj_member(object, "ports"), cor_buf_str(&o->ports));
}

bool cor_kubernetes_objects_is_other_family(const struct cor_kubernetes_objects *o,
                                            enum cor_kubernetes_part part, struct cor_str object)
{
    struct cor_str raw;

    return part == COR_KUBERNETES_SLICE && cor_kubernetes_objects_has_addresses(o) &&
           (cor_json_to_raw(kubeobj_member(object, "addressType"), &raw) < 0 ||
            !cor_str_eq(raw, cor_addr_family_name(kubeobj_family(o))));
}

int cor_kubernetes_objects_judge(struct cor_kubernetes_objects *o, enum cor_kubernetes_part part,
                                 struct cor_str object)
{
    switch (part) {
    case COR_KUBERNETES_ENDPOINTS:
        return kubeobj_judge_endpoints(o, object);
    case COR_KUBERNETES_SLICE:
        return kubeobj_judge_slice(o, object);
    case COR_KUBERNETES_SERVICE:
    case COR_KUBERNETES_PARTS:
        break;
    }
    return true;
}
