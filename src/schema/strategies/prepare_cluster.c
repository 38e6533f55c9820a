/* The hooks of kinds that describe the cluster: Namespace, ServiceAccount, Service, EndpointSlice,
 * CustomResourceDefinition, APIService and ResourceClaim. Each does what one function of upstream's
 * strategies does. Lists come from clients, so every search in one goes through a set.
 * Failures: no memory, or a member that grows beyond the maximum. Thread: any. */
#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str_set.h"
#include "meta/names/validation.h"
#include "meta/object/object.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "schema/strategies/strategy_hooks.h"
#include "schema/walk/equal.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

#define FINALIZER  "\"kubernetes\""
#define NAME_LABEL "kubernetes.io/metadata.name"
#define HOSTNAME   "kubernetes.io/hostname"

static struct cor_str cluster_object(struct cor_str value)
{
    return value.p ? value : COR_STR("{}");
}

static struct cor_json_iter cluster_list(struct cor_str value)
{
    return cor_json_iter(value.p ? value : COR_STR("[]"));
}

/* Appends `object` with one member replaced. 1, or a failure. */
static int cluster_replace(struct cor_str object, const char *key, struct cor_str value,
                           struct cor_buf *out)
{
    struct cor_edits edits = {.n = 0};
    int r;

    cor_edits_set(&edits, cor_strz(key), value);
    r = cor_edits_apply(&edits, cluster_object(object), out);
    return r < 0 ? r : 1;
}

/* Appends the list with `element`, JSON, at its end; 0 when the list has it. */
static int cluster_add_element(struct cor_str list, struct cor_str element, struct cor_buf *out)
{
    struct cor_json_iter it = cluster_list(list);
    struct cor_json_writer w;
    int r;

    while (cor_json_iter_elem(&it)) {
        if (cor_str_eq(cor_json_iter_value(&it), element))
            return 0;
    }
    it = cluster_list(list);
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it))
        cor_json_raw(&w, cor_json_iter_value(&it));
    cor_json_raw(&w, element);
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : 1;
}

/* Appends `object` with `element` in its list `key`; 0 when the list has it. */
static int cluster_add_to(struct cor_str object, const char *key, struct cor_str element,
                          struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    int r = cluster_add_element(cor_convert_member(object, key), element, &list);

    return r <= 0 ? r : cluster_replace(object, key, cor_buf_str(&list), out);
}

int cor_strategy_namespace_finalizer(const struct cor_prepare *prepare, struct cor_str spec,
                                     struct cor_buf *out)
{
    (void)prepare;
    return cluster_add_to(spec, "finalizers", COR_STR(FINALIZER), out);
}

int cor_strategy_namespace_name(const struct cor_prepare *prepare, struct cor_str labels,
                                struct cor_buf *out)
{
    if (cor_str_eq(cor_convert_member(labels, NAME_LABEL), prepare->name))
        return 0;
    return cluster_replace(labels, NAME_LABEL, prepare->name, out);
}

int cor_strategy_secret_names(const struct cor_prepare *prepare, struct cor_str secrets,
                              struct cor_buf *out)
{
    struct cor_json_iter it = cluster_list(secrets);
    struct cor_json_writer w;
    int r;

    (void)prepare;
    if (!secrets.p)
        return 0;
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str name = cor_convert_member(cor_json_iter_value(&it), "name");

        cor_json_begin_object(&w);
        if (name.n > 2) {
            cor_json_key(&w, COR_STR("name"));
            cor_json_raw(&w, name);
        }
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : 1;
}

int cor_strategy_service_status(const struct cor_prepare *prepare, struct cor_str status,
                                struct cor_buf *out)
{
    if (cor_convert_is_text(cor_convert_member(prepare->spec, "type"), "LoadBalancer"))
        return 0;
    return cluster_replace(status, "loadBalancer", COR_STR("{}"), out);
}

/* The name of the node that an endpoint has in its deprecated topology, as JSON; p == NULL: none.
 */
static struct cor_str endpoint_hostname(struct cor_str endpoint)
{
    struct cor_str host =
        cor_convert_member(cor_convert_member(endpoint, "deprecatedTopology"), HOSTNAME);

    return host.n > 2 ? host : (struct cor_str){NULL, 0};
}

/* Reads the hostnames of the old endpoints. */
static int endpoint_read_hosts(struct cor_str endpoints, struct cor_str_set *hosts)
{
    struct cor_json_iter it = cluster_list(endpoints);
    bool is_new;
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str host = endpoint_hostname(cor_json_iter_value(&it));

        if (host.p)
            r = cor_str_set_add(hosts, host, &is_new);
    }
    return r;
}

/* Is JSON the name of a node? */
static bool endpoint_is_node(struct cor_str host)
{
    struct cor_str raw;

    return cor_json_to_raw(host, &raw) == 0 && cor_name_ok(COR_NAME_DNS1123_SUBDOMAIN, raw);
}

/* The topology of old versions of the API is dropped from endpoints that change. An endpoint whose
 * node was known by its topology alone keeps the node as nodeName. */
int cor_strategy_endpoint_topology(const struct cor_prepare *prepare, struct cor_str endpoints,
                                   struct cor_buf *out)
{
    struct cor_str before = cor_convert_member(prepare->old, "endpoints");
    struct cor_json_iter it = cluster_list(endpoints);
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set hosts = {.nfew = 0};
    struct cor_json_writer w;
    struct cor_member member;
    bool has_any = false, is_same = false;
    int r = 0;

    while (!has_any && cor_json_iter_elem(&it))
        has_any = cor_convert_member(cor_json_iter_value(&it), "deprecatedTopology").p != NULL;
    if (!has_any || !cor_type_find_member(prepare->type, COR_STR("endpoints"), &member))
        return 0;
    if (prepare->old.p)
        r = cor_equal(cor_type_field_type(member.field), before, endpoints, &is_same);
    if (r < 0 || is_same)
        return r;
    cor_str_set_init(&hosts, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = endpoint_read_hosts(before, &hosts);
    it = cluster_list(endpoints);
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str endpoint = cor_json_iter_value(&it), host = endpoint_hostname(endpoint);
        struct cor_edits edits = {.n = 0};

        cor_edits_drop(&edits, COR_STR("deprecatedTopology"));
        if (host.p && !cor_convert_member(endpoint, "nodeName").p &&
            cor_str_set_has(&hosts, host) && endpoint_is_node(host))
            cor_edits_set(&edits, COR_STR("nodeName"), host);
        cor_json_begin_object(&w);
        cor_edits_write(&edits, endpoint, false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    return r < 0 ? r : 1;
}

int cor_strategy_stored_version(const struct cor_prepare *prepare, struct cor_str status,
                                struct cor_buf *out)
{
    struct cor_json_iter it = cluster_list(cor_convert_member(prepare->spec, "versions"));

    while (cor_json_iter_elem(&it)) {
        struct cor_str version = cor_json_iter_value(&it);

        if (cor_str_eqz(cor_convert_member(version, "storage"), "true"))
            return cluster_add_to(status, "storedVersions", cor_convert_member(version, "name"),
                                  out);
    }
    return 0;
}

int cor_strategy_local_api_service(const struct cor_prepare *prepare, struct cor_str status,
                                   struct cor_buf *out)
{
    char now[COR_TIME_TEXT_MAX];
    struct cor_json_writer w;
    int r;

    (void)status;
    if (cor_convert_member(prepare->spec, "service").p)
        return 0;
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("conditions"));
    cor_json_begin_array(&w);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("lastTransitionTime"), cor_time_print(prepare->now_s, now));
    cor_json_member(&w, COR_STR("message"), COR_STR("Local APIServices are always available"));
    cor_json_member(&w, COR_STR("reason"), COR_STR("Local"));
    cor_json_member(&w, COR_STR("status"), COR_STR("True"));
    cor_json_member(&w, COR_STR("type"), COR_STR("Available"));
    cor_json_end_object(&w);
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : 1;
}

/* Appends what identifies a device: its driver, pool, name and share, as JSON. */
static int device_add_id(struct cor_str device, struct cor_buf *out)
{
    static const char *const members[] = {"driver", "pool", "device", "shareID"};
    int r = 0;

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(members); i++) {
        struct cor_str value = cor_convert_member(device, members[i]);

        r = cor_buf_addf(out, "%.*s/", COR_STR_ARG(value.p ? value : COR_STR("")));
    }
    return r;
}

static struct cor_str device_results(struct cor_str status)
{
    struct cor_str allocation = cor_convert_member(status, "allocation");

    return cor_convert_member(cor_convert_member(allocation, "devices"), "results");
}

/* Reads the devices of an allocation into a set whose strings are in `ids`, which must not move
 * while the set is in use. */
static int device_read(struct cor_str results, struct cor_buf *ids, struct cor_str_set *set)
{
    struct cor_json_iter it = cluster_list(results);
    /* An id is shorter than its JSON, except for the slashes of members that are absent. */
    int r = cor_buf_reserve(ids, 2 * results.n + 16);
    bool is_new;

    while (r == 0 && cor_json_iter_elem(&it)) {
        size_t mark = ids->n;

        r = device_add_id(cor_json_iter_value(&it), ids);
        if (r == 0)
            r = cor_str_set_add(set, cor_str_from(cor_buf_str(ids), mark), &is_new);
    }
    return r;
}

/* The status of a device that was allocated and is no more goes with its allocation. */
int cor_strategy_allocated_devices(const struct cor_prepare *prepare, struct cor_str status,
                                   struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ids_before = {.max = 4u << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ids_after = {.max = 4u << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf id = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf kept = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set before = {.nfew = 0};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set after = {.nfew = 0};
    struct cor_str devices = cor_convert_member(status, "devices");
    struct cor_json_iter it = cluster_list(devices);
    struct cor_json_writer w;
    int r;

    if (!devices.p)
        return 0;
    cor_str_set_init(&before, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_str_set_init(&after, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = device_read(device_results(cor_convert_member(prepare->old, "status")), &ids_before,
                    &before);
    if (r == 0)
        r = device_read(device_results(status), &ids_after, &after);
    cor_json_writer_init(&w, &kept);
    cor_json_begin_array(&w);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str device = cor_json_iter_value(&it);

        cor_buf_reset(&id);
        r = device_add_id(device, &id);
        if (r == 0 && (!cor_str_set_has(&before, cor_buf_str(&id)) ||
                       cor_str_set_has(&after, cor_buf_str(&id))))
            cor_json_raw(&w, device);
    }
    cor_json_end_array(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    if (r < 0)
        return r;
    return cluster_replace(status, "devices",
                           kept.n > 2 ? cor_buf_str(&kept) : (struct cor_str){NULL, 0}, out);
}
