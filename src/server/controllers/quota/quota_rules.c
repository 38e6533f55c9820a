/* clang-format off */
/* The names of quotas as a table, and what Services, claims and resource claims use; pods are in quota_pods.c.
 *
 * A name of spec.hard belongs to a resource by one of these: the table `names`; `count/<resource>.<group>`, which every
 * resource has; an extended resource that pods request ("requests.example.com/gpu").
 * Thread: any (pure). */
/* clang-format on */
#include "server/controllers/quota/quota_rules.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "server/controllers/quota/quota_pods.h"

#define REQUESTS        "requests."
#define OF_CLASS        ".storageclass.storage.k8s.io/"
#define OF_DEVICE_CLASS ".deviceclass.resource.k8s.io/devices"
#define DEVICES_MAX     32 /* what a request for all devices of a class counts */

static struct cor_view member(struct cor_view view, const char *key)
{
    return cor_view_member(view, cor_strz(key));
}

static struct cor_str text_of(struct cor_view view)
{
    return cor_view_text_or(view, NULL, 0, "");
}

struct cor_view cor_quota_part(const struct cor_object *object, const char *section,
                               const char *key)
{
    return member(member(cor_object_view(object), section), key);
}

/* ---- resources ---- */

struct quota_resource {
    const char *group, *resource;
};

static bool is_resource(const struct cor_gvr *gvr, const struct quota_resource *r)
{
    return cor_str_eqz(gvr->resource, r->resource) && cor_str_eqz(gvr->group, r->group);
}

bool cor_quota_is_countable(const struct cor_port_resource *resource)
{
    static const struct quota_resource ignored[] = {
        {"", "bindings"},
        {"", "componentstatuses"},
        {"authentication.k8s.io", "tokenreviews"},
        {"authentication.k8s.io", "selfsubjectreviews"},
        {"authorization.k8s.io", "subjectaccessreviews"},
        {"authorization.k8s.io", "selfsubjectaccessreviews"},
        {"authorization.k8s.io", "localsubjectaccessreviews"},
        {"authorization.k8s.io", "selfsubjectrulesreviews"},
        {"", "events"},
        {"events.k8s.io", "events"},
    };
    const unsigned wanted = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(LIST) |
                            COR_API_VERB_BIT(WATCH) | COR_API_VERB_BIT(DELETE);

    if (!resource->is_preferred || !resource->is_namespaced || (resource->verbs & wanted) != wanted)
        return false;
    for (size_t i = 0; i < COR_ARRAY_LEN(ignored); i++)
        if (is_resource(&resource->gvr, &ignored[i]))
            return false;
    return true;
}

enum cor_quota_kind cor_quota_kind_of(const struct cor_gvr *gvr)
{
    static const struct {
        struct quota_resource resource;
        enum cor_quota_kind kind;
    } kinds[] = {
        {{"", "pods"}, COR_QUOTA_PODS},
        {{"", "services"}, COR_QUOTA_SERVICES},
        {{"", "persistentvolumeclaims"}, COR_QUOTA_CLAIMS},
        {{"resource.k8s.io", "resourceclaims"}, COR_QUOTA_DEVICE_CLAIMS},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++)
        if (is_resource(gvr, &kinds[i].resource))
            return kinds[i].kind;
    return COR_QUOTA_COUNTED;
}

/* ---- names ---- */

/* How a name of the table is compared, and where the `of` of its rule is. */
enum quota_match {
    QUOTA_NAME,   /* the whole name; `of` is the table's */
    QUOTA_PREFIX, /* `of` is the name without the table's `of` at its beginning */
    QUOTA_SUFFIX, /* `of` is the name without the suffix */
};

static const struct quota_name {
    enum cor_quota_kind kind;
    enum quota_match match;
    const char *name;
    enum cor_quota_counter counter;
    const char *of;
} names[] = {
    {COR_QUOTA_PODS, QUOTA_NAME, "pods", COR_QUOTA_LIVE_PODS, ""},
    {COR_QUOTA_PODS, QUOTA_NAME, "cpu", COR_QUOTA_POD_REQUESTS, "cpu"},
    {COR_QUOTA_PODS, QUOTA_NAME, "memory", COR_QUOTA_POD_REQUESTS, "memory"},
    {COR_QUOTA_PODS, QUOTA_NAME, "ephemeral-storage", COR_QUOTA_POD_REQUESTS, "ephemeral-storage"},
    {COR_QUOTA_PODS, QUOTA_NAME, "requests.cpu", COR_QUOTA_POD_REQUESTS, "cpu"},
    {COR_QUOTA_PODS, QUOTA_NAME, "requests.memory", COR_QUOTA_POD_REQUESTS, "memory"},
    {COR_QUOTA_PODS, QUOTA_NAME, "requests.ephemeral-storage", COR_QUOTA_POD_REQUESTS,
     "ephemeral-storage"},
    {COR_QUOTA_PODS, QUOTA_NAME, "limits.cpu", COR_QUOTA_POD_LIMITS, "cpu"},
    {COR_QUOTA_PODS, QUOTA_NAME, "limits.memory", COR_QUOTA_POD_LIMITS, "memory"},
    {COR_QUOTA_PODS, QUOTA_NAME, "limits.ephemeral-storage", COR_QUOTA_POD_LIMITS,
     "ephemeral-storage"},
    {COR_QUOTA_PODS, QUOTA_PREFIX, "hugepages-", COR_QUOTA_POD_REQUESTS, ""},
    {COR_QUOTA_PODS, QUOTA_PREFIX, "requests.hugepages-", COR_QUOTA_POD_REQUESTS, REQUESTS},
    {COR_QUOTA_SERVICES, QUOTA_NAME, "services", COR_QUOTA_OBJECTS, ""},
    {COR_QUOTA_SERVICES, QUOTA_NAME, "services.nodeports", COR_QUOTA_NODE_PORTS, ""},
    {COR_QUOTA_SERVICES, QUOTA_NAME, "services.loadbalancers", COR_QUOTA_LOAD_BALANCERS, ""},
    {COR_QUOTA_CLAIMS, QUOTA_NAME, "persistentvolumeclaims", COR_QUOTA_OBJECTS, ""},
    {COR_QUOTA_CLAIMS, QUOTA_NAME, "requests.storage", COR_QUOTA_STORAGE, ""},
    {COR_QUOTA_CLAIMS, QUOTA_SUFFIX, OF_CLASS "persistentvolumeclaims", COR_QUOTA_CLASS_CLAIMS, ""},
    {COR_QUOTA_CLAIMS, QUOTA_SUFFIX, OF_CLASS "requests.storage", COR_QUOTA_CLASS_STORAGE, ""},
    {COR_QUOTA_DEVICE_CLAIMS, QUOTA_SUFFIX, OF_DEVICE_CLASS, COR_QUOTA_DEVICES, ""},
};

/* Resources of the core group that are also counted under their own name. */
static const char *const aliases[] = {"configmaps", "resourcequotas", "replicationcontrollers",
                                      "secrets"};

static bool is_object_count(const struct cor_gvr *gvr, struct cor_str name)
{
    struct cor_str rest = name;

    if (gvr->group.n == 0 && cor_str_eq(name, gvr->resource))
        for (size_t i = 0; i < COR_ARRAY_LEN(aliases); i++)
            if (cor_str_eqz(name, aliases[i]))
                return true;
    if (!cor_str_starts(rest, COR_STR("count/")))
        return false;
    rest = cor_str_from(rest, strlen("count/"));
    if (gvr->group.n == 0)
        return cor_str_eq(rest, gvr->resource);
    return rest.n == gvr->resource.n + 1 + gvr->group.n && cor_str_starts(rest, gvr->resource) &&
           rest.p[gvr->resource.n] == '.' && cor_str_ends(rest, gvr->group);
}

static bool has_text(struct cor_str s, const char *text)
{
    return memmem(s.p, s.n, text, strlen(text)) != NULL;
}

/* Returns whether it is "requests." and the name of a resource that Kubernetes does not define. */
static bool is_extended(struct cor_str name)
{
    return cor_str_starts(name, COR_STR(REQUESTS)) && cor_str_find(name, '/') >= 0 &&
           !has_text(name, "kubernetes.io/");
}

static struct cor_quota_rule rule_of_row(const struct quota_name *row, struct cor_str name)
{
    struct cor_quota_rule rule = {.counter = COR_QUOTA_NOTHING};
    struct cor_str text = cor_strz(row->name);

    if (row->match == QUOTA_NAME && cor_str_eq(name, text))
        rule = (struct cor_quota_rule){row->counter, cor_strz(row->of)};
    else if (row->match == QUOTA_PREFIX && cor_str_starts(name, text))
        rule = (struct cor_quota_rule){row->counter, cor_str_from(name, strlen(row->of))};
    else if (row->match == QUOTA_SUFFIX && cor_str_ends(name, text))
        rule = (struct cor_quota_rule){row->counter, cor_str(name.p, name.n - text.n)};
    return rule;
}

struct cor_quota_rule cor_quota_rule_of(const struct cor_gvr *gvr, struct cor_str name)
{
    enum cor_quota_kind kind = cor_quota_kind_of(gvr);
    struct cor_quota_rule rule = {.counter = COR_QUOTA_NOTHING};

    if (is_object_count(gvr, name))
        return (struct cor_quota_rule){.counter = COR_QUOTA_OBJECTS};
    if (kind == COR_QUOTA_COUNTED)
        return rule;
    for (size_t i = 0; i < COR_ARRAY_LEN(names) && rule.counter == COR_QUOTA_NOTHING; i++)
        if (names[i].kind == kind)
            rule = rule_of_row(&names[i], name);
    if (rule.counter == COR_QUOTA_NOTHING && kind == COR_QUOTA_PODS && is_extended(name))
        rule =
            (struct cor_quota_rule){COR_QUOTA_POD_REQUESTS, cor_str_from(name, strlen(REQUESTS))};
    return rule;
}

/* ---- quantities ---- */

struct cor_str cor_quota_text(struct cor_view value)
{
    enum cor_json_type type = cor_view_type(value);

    return type == COR_JSON_NUMBER   ? value.json
           : type == COR_JSON_STRING ? text_of(value)
                                     : COR_STR("");
}

int cor_quota_plus(struct cor_quota_amount *sum, const struct cor_quota_amount *amount)
{
    return cor_quantity_plus(cor_strz(sum->text), cor_strz(amount->text), sum->text);
}

int cor_quota_max_value(struct cor_quota_amount *sum, struct cor_view value)
{
    struct cor_str text = cor_quota_text(value);
    int order = 0, r = 0;

    if (text.n > 0)
        r = cor_quantity_cmp(text, cor_strz(sum->text), &order);
    return r == 0 && order > 0 ? cor_quantity_canonical(text, sum->text) : r;
}

static int add_int(struct cor_quota_amount *sum, int64_t n)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)n);
    return cor_quantity_plus(cor_strz(sum->text), cor_strz(text), sum->text);
}

/* ---- Services ---- */

static int64_t service_node_ports(const struct cor_object *service)
{
    struct cor_view ports = cor_quota_part(service, "spec", "ports");
    struct cor_str type = text_of(cor_quota_part(service, "spec", "type"));
    bool allocates =
        cor_view_bool_or(cor_quota_part(service, "spec", "allocateLoadBalancerNodePorts"), true);
    struct cor_view_iter it = cor_view_iter(ports);
    int64_t n = 0;

    if (cor_str_eqz(type, "NodePort") || (cor_str_eqz(type, "LoadBalancer") && allocates))
        return (int64_t)cor_view_len(ports);
    if (!cor_str_eqz(type, "LoadBalancer"))
        return 0;
    while (cor_view_next(&it))
        n += cor_view_int_or(member(it.value, "nodePort"), 0) != 0;
    return n;
}

static bool is_load_balancer(const struct cor_object *service)
{
    return cor_str_eqz(text_of(cor_quota_part(service, "spec", "type")), "LoadBalancer");
}

/* ---- claims ---- */

/* The storage class of the claim: that of the old annotation before that of the spec. */
static struct cor_str claim_class(const struct cor_object *claim)
{
    struct cor_view old =
        cor_object_annotation(claim, COR_STR("volume.beta.kubernetes.io/storage-class"));

    return text_of(cor_view_exists(old) ? old : cor_quota_part(claim, "spec", "storageClassName"));
}

/* Adds the storage that the claim asks for, or that was allocated for it if that is more, in whole
 * bytes. */
static int claim_add_storage(const struct cor_quota_facts *facts, struct cor_quota_amount *sum)
{
    struct cor_quota_amount bytes = {"0"}, rounded;
    int64_t whole;
    int r, order = 0;

    if (cor_quota_text(facts->storage).n == 0)
        return 0;
    r = cor_quota_max_value(&bytes, facts->storage);
    if (r == 0)
        r = cor_quota_max_value(&bytes, facts->storage_granted);
    if (r == 0 && cor_quantity_scaled(cor_strz(bytes.text), 0, &whole) == 0) {
        snprintf(rounded.text, sizeof(rounded.text), "%lld", (long long)whole);
        r = cor_quantity_cmp(cor_strz(bytes.text), cor_strz(rounded.text), &order);
        if (r == 0 && order != 0)
            bytes = rounded;
    }
    return r < 0 ? r : cor_quota_plus(sum, &bytes);
}

static void claim_facts(const struct cor_object *claim, struct cor_quota_facts *facts)
{
    struct cor_view status = member(cor_object_view(claim), "status");

    facts->storage_class = claim_class(claim);
    facts->storage =
        member(member(cor_quota_part(claim, "spec", "resources"), "requests"), "storage");
    facts->storage_granted = member(member(status, "allocatedResources"), "storage");
    facts->attribute_classes[0] =
        text_of(cor_quota_part(claim, "spec", "volumeAttributesClassName"));
    facts->attribute_classes[1] = text_of(member(status, "currentVolumeAttributesClassName"));
    facts->attribute_classes[2] =
        text_of(member(member(status, "modifyVolumeStatus"), "targetVolumeAttributesClassName"));
}

static bool claim_is_in(const struct cor_quota_facts *facts, struct cor_str scope,
                        struct cor_view requirement)
{
    bool has_class = false;

    if (!cor_str_eqz(scope, "VolumeAttributesClass"))
        return false;
    for (size_t i = 0; i < COR_ARRAY_LEN(facts->attribute_classes); i++) {
        struct cor_str class = facts->attribute_classes[i];

        has_class = has_class || class.n > 0;
        if (class.n > 0 && cor_quota_selects(requirement, class))
            return true;
    }
    return !has_class && cor_quota_selects(requirement, COR_STR(""));
}

/* ---- resource claims ---- */

/* How many devices of the class may a request be given? */
static int64_t request_devices(struct cor_view request, struct cor_str class)
{
    struct cor_str mode = text_of(member(request, "allocationMode"));

    if (!cor_str_eq(text_of(member(request, "deviceClassName")), class))
        return 0;
    if (cor_str_eqz(mode, "All"))
        return DEVICES_MAX;
    return cor_str_eqz(mode, "ExactCount") ? cor_view_int_or(member(request, "count"), 0) : 0;
}

/* Of alternatives the worst one for the class counts. */
static int64_t claim_devices(struct cor_view requests, struct cor_str class)
{
    struct cor_view_iter it = cor_view_iter(requests);
    int64_t n = 0;

    while (cor_view_next(&it)) {
        struct cor_view alternatives = member(it.value, "firstAvailable");
        struct cor_view_iter each = cor_view_iter(alternatives);
        int64_t most = 0;

        while (cor_view_next(&each)) {
            int64_t devices = request_devices(each.value, class);

            most = devices > most ? devices : most;
        }
        n += cor_view_len(alternatives) > 0 ? most
                                            : request_devices(member(it.value, "exactly"), class);
    }
    return n;
}

/* ---- what an object uses ---- */

int cor_quota_facts_find(enum cor_quota_kind kind, const struct cor_object *object, int64_t now_ms,
                         struct cor_quota_facts *facts)
{
    *facts = (struct cor_quota_facts){.kind = kind};
    switch (kind) {
    case COR_QUOTA_COUNTED:
        break;
    case COR_QUOTA_PODS:
        return cor_quota_pod_new(object, now_ms, &facts->pod);
    case COR_QUOTA_SERVICES:
        facts->node_ports = service_node_ports(object);
        facts->is_load_balancer = is_load_balancer(object);
        break;
    case COR_QUOTA_CLAIMS:
        claim_facts(object, facts);
        break;
    case COR_QUOTA_DEVICE_CLAIMS:
        facts->device_requests = member(cor_quota_part(object, "spec", "devices"), "requests");
        break;
    }
    return 0;
}

void cor_quota_facts_deinit(struct cor_quota_facts *facts)
{
    facts->pod = cor_quota_pod_free(facts->pod);
}

int cor_quota_add(const struct cor_quota_rule *rule, const struct cor_quota_facts *facts,
                  struct cor_quota_amount *sum)
{
    switch (rule->counter) {
    case COR_QUOTA_NOTHING:
        return 0;
    case COR_QUOTA_OBJECTS:
        return add_int(sum, 1);
    case COR_QUOTA_LIVE_PODS:
        return add_int(sum, cor_quota_pod_is_live(facts->pod) ? 1 : 0);
    case COR_QUOTA_POD_REQUESTS:
    case COR_QUOTA_POD_LIMITS:
        return cor_quota_pod_add(facts->pod, rule->counter == COR_QUOTA_POD_LIMITS, rule->of, sum);
    case COR_QUOTA_NODE_PORTS:
        return add_int(sum, facts->node_ports);
    case COR_QUOTA_LOAD_BALANCERS:
        return add_int(sum, facts->is_load_balancer ? 1 : 0);
    case COR_QUOTA_STORAGE:
        return claim_add_storage(facts, sum);
    case COR_QUOTA_CLASS_CLAIMS:
        return add_int(sum, cor_str_eq(facts->storage_class, rule->of) ? 1 : 0);
    case COR_QUOTA_CLASS_STORAGE:
        return cor_str_eq(facts->storage_class, rule->of) ? claim_add_storage(facts, sum) : 0;
    case COR_QUOTA_DEVICES:
        return add_int(sum, claim_devices(facts->device_requests, rule->of));
    }
    return -COR_EINVAL;
}

/* ---- scopes ---- */

bool cor_quota_selects(struct cor_view requirement, struct cor_str value)
{
    struct cor_str how = text_of(member(requirement, "operator"));
    struct cor_view_iter it = cor_view_iter(member(requirement, "values"));
    bool is_listed = false;

    while (cor_view_next(&it))
        is_listed = is_listed || (value.n > 0 && cor_str_eq(text_of(it.value), value));
    if (cor_str_eqz(how, "In"))
        return is_listed;
    if (cor_str_eqz(how, "NotIn"))
        return !is_listed;
    return cor_str_eqz(how, "DoesNotExist") ? value.n == 0 : value.n > 0;
}

static bool is_in_scope(const struct cor_quota_facts *facts, struct cor_str scope,
                        struct cor_view requirement)
{
    switch (facts->kind) {
    case COR_QUOTA_PODS:
        return cor_quota_pod_is_in(facts->pod, scope, requirement);
    case COR_QUOTA_CLAIMS:
        return claim_is_in(facts, scope, requirement);
    default:
        return false;
    }
}

bool cor_quota_matches_scopes(const struct cor_quota_facts *facts, struct cor_view spec)
{
    const struct cor_view exists = {.json = COR_STR("{\"operator\":\"Exists\"}")};
    struct cor_view_iter it = cor_view_iter(member(spec, "scopes"));

    while (cor_view_next(&it))
        if (!is_in_scope(facts, text_of(it.value), exists))
            return false;
    it = cor_view_iter(member(member(spec, "scopeSelector"), "matchExpressions"));
    while (cor_view_next(&it))
        if (!is_in_scope(facts, text_of(member(it.value, "scopeName")), it.value))
            return false;
    return true;
}

/* ---- updates ---- */

uint64_t cor_quota_fingerprint(enum cor_quota_kind kind, const struct cor_object *object,
                               int64_t now_ms)
{
    static const struct {
        enum cor_quota_kind kind;
        const char *section, *key;
    } parts[] = {
        {COR_QUOTA_SERVICES, "spec", "type"},
        {COR_QUOTA_SERVICES, "spec", "ports"},
        {COR_QUOTA_SERVICES, "spec", "allocateLoadBalancerNodePorts"},
        {COR_QUOTA_CLAIMS, "spec", "resources"},
        {COR_QUOTA_CLAIMS, "spec", "storageClassName"},
        {COR_QUOTA_CLAIMS, "spec", "volumeAttributesClassName"},
        {COR_QUOTA_CLAIMS, "status", "allocatedResources"},
        {COR_QUOTA_CLAIMS, "status", "currentVolumeAttributesClassName"},
        {COR_QUOTA_CLAIMS, "status", "modifyVolumeStatus"},
    };
    uint64_t h = 0;

    if (kind == COR_QUOTA_PODS)
        return cor_quota_pod_fingerprint(object, now_ms);
    for (size_t i = 0; i < COR_ARRAY_LEN(parts); i++)
        if (parts[i].kind == kind)
            h = h * 31 + cor_str_hash(cor_quota_part(object, parts[i].section, parts[i].key).json);
    return h;
}
