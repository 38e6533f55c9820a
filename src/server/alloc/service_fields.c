/* Reading the fields of a Service that allocation looks at, and writing them back
 * (service_fields.h).
 *
 * A field that allocation does not change keeps its bytes. A port whose node port has changed is
 * written again with that one member replaced.
 * Thread: any (values). */
#include "server/alloc/service_fields.h"

#include <assert.h>
#include <stdio.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/object/object_edit.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/writer.h"

static struct cor_str raw_or_empty(struct cor_str value)
{
    struct cor_str raw;

    return value.p && cor_json_to_raw(value, &raw) == 0 ? raw : COR_STR("");
}

static int64_t int_or_zero(struct cor_str value)
{
    int64_t n;

    return value.p && cor_json_to_i64(value, &n) == 0 ? n : 0;
}

static enum cor_service_type service_type(struct cor_str name)
{
    static const char *const names[] = {[COR_SERVICE_CLUSTER_IP] = "ClusterIP",
                                        [COR_SERVICE_NODE_PORT] = "NodePort",
                                        [COR_SERVICE_LOAD_BALANCER] = "LoadBalancer",
                                        [COR_SERVICE_EXTERNAL_NAME] = "ExternalName"};
    size_t i = 0;

    while (i < COR_ARRAY_LEN(names) && !cor_str_eqz(name, names[i]))
        i++;
    return (enum cor_service_type)i;
}

int cor_texts_add(struct cor_texts *texts, struct cor_str text)
{
    int r = COR_ARRAY_RESERVE(&texts->v, texts->n, &texts->cap, COR_ARRAY_NO_MAX);

    if (r == 0)
        texts->v[texts->n++] = text;
    return r;
}

bool cor_texts_same(const struct cor_texts *a, const struct cor_texts *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!cor_str_eq(a->v[i], b->v[i]))
            return false;
    return true;
}

int cor_texts_copy(struct cor_texts *to, const struct cor_texts *from)
{
    int r = 0;

    to->n = 0;
    for (size_t i = 0; i < from->n && r == 0; i++)
        r = cor_texts_add(to, from->v[i]);
    return r;
}

static int texts_read(struct cor_str array, struct cor_texts *texts)
{
    struct cor_json_iter it = cor_json_iter(array.p ? array : COR_STR("[]"));
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it))
        r = cor_texts_add(texts, raw_or_empty(cor_json_iter_value(&it)));
    return r;
}

int cor_texts_write(const struct cor_texts *texts, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    for (size_t i = 0; i < texts->n; i++)
        cor_json_string(&w, texts->v[i]);
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

static int ports_read(struct cor_str array, struct cor_service *service)
{
    static const struct cor_str keys[] = {COR_STR("name"), COR_STR("nodePort"), COR_STR("port"),
                                          COR_STR("protocol")};
    struct cor_json_iter it = cor_json_iter(array.p ? array : COR_STR("[]"));
    struct cor_str values[COR_ARRAY_LEN(keys)];
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str json = cor_json_iter_value(&it);

        r = COR_ARRAY_RESERVE(&service->ports, service->nports, &service->ports_cap,
                              COR_ARRAY_NO_MAX);
        if (r < 0)
            break;
        cor_json_get_each(json, keys, COR_ARRAY_LEN(keys), values);
        service->ports[service->nports++] =
            (struct cor_service_port){.json = json,
                                      .name = raw_or_empty(values[0]),
                                      .node_port = int_or_zero(values[1]),
                                      .port = int_or_zero(values[2]),
                                      .protocol = raw_or_empty(values[3])};
    }
    return r;
}

int cor_service_read(const struct cor_object *object, struct cor_service *ret_service)
{
    enum {
        ALLOCATE_PORTS,
        CLUSTER_IP,
        CLUSTER_IPS,
        EXTERNAL_IPS,
        EXTERNAL_POLICY,
        HEALTH_PORT,
        FAMILIES,
        POLICY,
        CLASS,
        PORTS,
        SELECTOR,
        TYPE
    };
    static const struct cor_str keys[] = {
        [ALLOCATE_PORTS] = COR_STR("allocateLoadBalancerNodePorts"),
        [CLUSTER_IP] = COR_STR("clusterIP"),
        [CLUSTER_IPS] = COR_STR("clusterIPs"),
        [EXTERNAL_IPS] = COR_STR("externalIPs"),
        [EXTERNAL_POLICY] = COR_STR("externalTrafficPolicy"),
        [HEALTH_PORT] = COR_STR("healthCheckNodePort"),
        [FAMILIES] = COR_STR("ipFamilies"),
        [POLICY] = COR_STR("ipFamilyPolicy"),
        [CLASS] = COR_STR("loadBalancerClass"),
        [PORTS] = COR_STR("ports"),
        [SELECTOR] = COR_STR("selector"),
        [TYPE] = COR_STR("type"),
    };
    struct cor_str spec = cor_object_member(object, COR_STR("spec"));
    struct cor_str values[COR_ARRAY_LEN(keys)];
    struct cor_service *s = ret_service;
    int r;

    *s = (struct cor_service){.spec = spec.p ? spec : COR_STR("{}")};
    cor_json_get_each(s->spec, keys, COR_ARRAY_LEN(keys), values);
    s->type = service_type(raw_or_empty(values[TYPE]));
    s->cluster_ip = raw_or_empty(values[CLUSTER_IP]);
    if (values[POLICY].p)
        s->policy = raw_or_empty(values[POLICY]);
    s->health_port = int_or_zero(values[HEALTH_PORT]);
    s->external_policy = raw_or_empty(values[EXTERNAL_POLICY]);
    s->load_balancer_class = values[CLASS];
    s->allocate_ports = values[ALLOCATE_PORTS];
    s->has_selector = values[SELECTOR].p && values[SELECTOR].n > 2;
    s->has_external_ips = values[EXTERNAL_IPS].p && values[EXTERNAL_IPS].n > 2;
    s->has_ports = values[PORTS].p != NULL;
    r = texts_read(values[CLUSTER_IPS], &s->cluster_ips);
    if (r == 0)
        r = texts_read(values[FAMILIES], &s->families);
    return r < 0 ? r : ports_read(values[PORTS], s);
}

void cor_service_deinit(struct cor_service *service)
{
    cor_free(service->cluster_ips.v);
    cor_free(service->families.v);
    cor_free(service->ports);
    *service = (struct cor_service){.type = COR_SERVICE_OTHER};
}

bool cor_service_allocates_ports(const struct cor_service *service)
{
    return service->type == COR_SERVICE_NODE_PORT ||
           (service->type == COR_SERVICE_LOAD_BALANCER &&
            !cor_str_eq(service->allocate_ports.p ? service->allocate_ports : COR_STR("true"),
                        COR_STR("false")));
}

bool cor_service_needs_health_port(const struct cor_service *service)
{
    return service->type == COR_SERVICE_LOAD_BALANCER &&
           cor_str_eq(service->external_policy, COR_STR("Local"));
}

/* Writes the ports, each with the node port that it has now. */
static int ports_write(const struct cor_service *service, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    for (size_t i = 0; i < service->nports; i++) {
        const struct cor_service_port *port = &service->ports[i];
        struct cor_edits edits = {.n = 0};
        char number[24];
        int n = snprintf(number, sizeof(number), "%lld", (long long)port->node_port);

        if (port->node_port == 0)
            cor_edits_drop(&edits, COR_STR("nodePort"));
        else
            cor_edits_set(&edits, COR_STR("nodePort"), cor_str(number, (size_t)n));
        cor_json_begin_object(&w);
        cor_edits_write(&edits, port->json, false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* Sets a member that is left out when it is empty. */
static void set_text(struct cor_edits *edits, const char *key, struct cor_str text,
                     struct cor_buf *scratch, int *r)
{
    size_t at = scratch->n;

    if (text.n == 0) {
        cor_edits_drop(edits, cor_strz(key));
    } else if (*r == 0) {
        *r = cor_json_quote(scratch, text);
        if (*r == 0)
            cor_edits_set(edits, cor_strz(key), cor_str_from(cor_buf_str(scratch), at));
    }
}

static void set_texts(struct cor_edits *edits, const char *key, const struct cor_texts *texts,
                      struct cor_buf *scratch, int *r)
{
    if (texts->n == 0) {
        cor_edits_drop(edits, cor_strz(key));
    } else if (*r == 0) {
        *r = cor_texts_write(texts, scratch);
        if (*r == 0)
            cor_edits_set(edits, cor_strz(key), cor_buf_str(scratch));
    }
}

int cor_service_write_spec(const struct cor_service *s, struct cor_buf *out)
{
    /* Each value has a buffer of its own: a buffer that grows moves its bytes. */
    struct cor_buf values[6];
    struct cor_edits edits = {.n = 0};
    char number[24];
    int n = snprintf(number, sizeof(number), "%lld", (long long)s->health_port), r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(values); i++)
        cor_buf_init(&values[i], out->max);
    set_text(&edits, "clusterIP", s->cluster_ip, &values[0], &r);
    set_text(&edits, "ipFamilyPolicy", s->policy, &values[1], &r);
    set_text(&edits, "externalTrafficPolicy", s->external_policy, &values[2], &r);
    set_texts(&edits, "clusterIPs", &s->cluster_ips, &values[3], &r);
    set_texts(&edits, "ipFamilies", &s->families, &values[4], &r);
    cor_edits_set(&edits, COR_STR("allocateLoadBalancerNodePorts"), s->allocate_ports);
    cor_edits_set(&edits, COR_STR("loadBalancerClass"), s->load_balancer_class);
    if (s->health_port == 0)
        cor_edits_drop(&edits, COR_STR("healthCheckNodePort"));
    else
        cor_edits_set(&edits, COR_STR("healthCheckNodePort"), cor_str(number, (size_t)n));
    /* Upstream keeps this one in the store and never shows it. */
    if (!cor_service_needs_ip(s))
        cor_edits_drop(&edits, COR_STR("internalTrafficPolicy"));
    if (r == 0 && s->has_ports) {
        r = ports_write(s, &values[5]);
        cor_edits_set(&edits, COR_STR("ports"), cor_buf_str(&values[5]));
    }
    if (r == 0)
        r = cor_edits_apply(&edits, s->spec, out);
    for (size_t i = 0; i < COR_ARRAY_LEN(values); i++)
        cor_buf_deinit(&values[i]);
    return r;
}
