/* The hooks of validation for Namespace, Node, Event, ResourceQuota and LimitRange
 * (schema/check/check.h describes what they work with). Maps of resources are walked in the order
 * of their names, where upstream has no order. Thread: any. */
#include "schema/hooks/check_cluster.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/words.h"
#include "meta/value/quantity.h"
#include "schema/format/resource_name.h"
#include "schema/go/ip_text.h"
#include "schema/hooks/hooks.h"

#define MESSAGE_MAX 1024u /* bytes of several messages in one error */

/* Is the text one of these? */
/* --- Namespace -------------------------------------------------------------------------------- */

COR_HOOK(namespace_finalizers)
{
    static const char *const standard[] = {"kubernetes", "orphan", "foregroundDeletion"};
    bool is_at_list = cor_str_eq(arg, COR_STR("list"));
    struct cor_place item;

    COR_EACH(check, place, item) {
        const struct cor_field_path *path = is_at_list ? &place->path : &item.path;
        struct cor_str text = cor_place_text(check, &item);

        cor_format_add_text(COR_FORMAT_QUALIFIED_NAME, text, path, check->errors);
        if (cor_str_find(text, '/') < 0 &&
            !cor_str_is_one_of(text, standard, COR_ARRAY_LEN(standard)))
            cor_check_add(check, COR_FIELD_INVALID, path, cor_field_string(text),
                          "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/* --- Node ------------------------------------------------------------------------------------- */

static void check_taint(struct cor_check *check, const struct cor_place *taint)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf messages = {.max = MESSAGE_MAX};
    struct cor_place key, value, effect;
    struct cor_str text;

    cor_place_field(check, taint, "key", &key);
    cor_place_field(check, taint, "value", &value);
    cor_place_field(check, taint, "effect", &effect);
    cor_check_format(check, &key, COR_FORMAT_QUALIFIED_NAME);
    cor_check_note(check, cor_format_join(COR_FORMAT_LABEL_VALUE, cor_place_text(check, &value),
                                          ";", &messages));
    if (cor_buf_str(&messages).n > 0)
        cor_check_invalid(check, &value, cor_buf_z(&messages));
    text = cor_place_text(check, &effect);
    if (text.n == 0)
        cor_check_required(check, &effect, NULL);
    else if (!cor_str_is_one_of(text, effects, COR_ARRAY_LEN(effects)))
        cor_check_not_supported(check, &effect, effects, COR_ARRAY_LEN(effects));
}

COR_HOOK(node_taints)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_field_path metadata = cor_field_root(COR_STR("metadata"));
    struct cor_place list = *place, taint;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    list.path = cor_field_child(&metadata, COR_STR("taints"));
    COR_EACH(check, &list, taint) {
        struct cor_str both[] = {cor_field_text(check, &taint, "effect"),
                                 cor_field_text(check, &taint, "key")};
        bool is_new = true;

        check_taint(check, &taint);
        cor_check_note(check, cor_str_set_add(
                                  &seen, cor_check_key(check, both, COR_ARRAY_LEN(both)), &is_new));
        if (!is_new)
            cor_check_add_value(check, COR_FIELD_DUPLICATE, &taint, cor_check_value(check, &taint),
                                "taints must be unique by key and effect pair");
    }
}

/* The name of a resource is a step of the path, where other kinds have a key. */
COR_HOOK(node_resources)
{
    struct cor_field_path status = cor_field_root(COR_STR("status"));
    struct cor_field_path list = cor_field_child(&status, arg);
    struct cor_place entry;

    COR_EACH(check, place, entry) {
        struct cor_field_path path = cor_field_child(&list, entry.key);

        cor_resource_add_quantity(entry.key, cor_place_text(check, &entry), &path, check->errors);
    }
}

/* A value that is not a CIDR has its own error, and one that upstream calls internal: the list
 * cannot be compared. */
COR_HOOK(pod_cidr_families)
{
    size_t n = cor_place_length(check, place), nv6 = 0;
    struct cor_each each = cor_each(check, place);
    struct cor_place item;

    if (n < 2)
        return;
    while (cor_each_next(check, &each, &item)) {
        struct cor_str text = cor_place_text(check, &item);
        struct cor_cidr cidr;

        if (!cor_cidr_parse(text, &cidr)) {
            cor_check_add(
                check, COR_FIELD_INTERNAL, &place->path, cor_field_none(),
                cor_check_printf(
                    check,
                    "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR "
                    "address: %.*s",
                    COR_STR_ARG(text)));
            nv6 = 0;
            break;
        }
        nv6 += !cor_ip_is_v4(&cidr.ip);
    }
    if (nv6 == 0 || nv6 == n || n > 2)
        cor_check_invalid(check, place, "may specify no more than one CIDR for each IP family");
}

COR_HOOK(pod_cidrs_stay)
{
    static const char words[] = "node updates may not change podCIDR except from \"\" to valid";
    struct cor_place old = cor_place_old(place), item, old_item;
    size_t nold = cor_place_length(check, &old);
    struct cor_each each, old_each;

    if (nold == 0)
        return;
    if (nold != cor_place_length(check, place)) {
        cor_check_forbidden(check, place, words);
        return;
    }
    each = cor_each(check, place);
    old_each = cor_each(check, &old);
    while (cor_each_next(check, &each, &item) && cor_each_next(check, &old_each, &old_item)) {
        if (!cor_str_eq(cor_place_text(check, &item), cor_place_text(check, &old_item)))
            cor_check_forbidden(check, place, words);
    }
}

/* --- ResourceQuota ---------------------------------------------------------------------------- */

COR_HOOK(quota_resources)
{
    struct cor_place entry;

    COR_EACH(check, place, entry) {
        cor_format_add_text(COR_FORMAT_QUOTA_RESOURCE_NAME, entry.key, &entry.path, check->errors);
        cor_resource_add_quantity(entry.key, cor_place_text(check, &entry), &entry.path,
                                  check->errors);
    }
}

/* Which resources a scope is for. */
enum scope_class {
    SCOPE_OF_PODS,   /* pods and what they compute with */
    SCOPE_OF_COUNT,  /* pods */
    SCOPE_OF_CLAIMS, /* claims of volumes and their storage */
    SCOPE_CLASSES,
    SCOPE_UNKNOWN = SCOPE_CLASSES,
};

static const struct {
    struct cor_str name;
    enum scope_class class;
    bool must_exist; /* a selector can but ask whether an object has it */
} scopes[] = {
    {COR_STR_INIT("Terminating"), SCOPE_OF_PODS, true},
    {COR_STR_INIT("NotTerminating"), SCOPE_OF_PODS, true},
    {COR_STR_INIT("BestEffort"), SCOPE_OF_COUNT, true},
    {COR_STR_INIT("NotBestEffort"), SCOPE_OF_PODS, true},
    {COR_STR_INIT("PriorityClass"), SCOPE_OF_PODS, false},
    {COR_STR_INIT("CrossNamespacePodAffinity"), SCOPE_OF_PODS, true},
    {COR_STR_INIT("VolumeAttributesClass"), SCOPE_OF_CLAIMS, false},
};

/* The first four are pairs that exclude each other. */
#define SCOPE_PAIRS 2

/* The index of a scope; COR_ARRAY_LEN(scopes): there is none of that name. */
static size_t find_scope(struct cor_str name)
{
    size_t i = 0;

    while (i < COR_ARRAY_LEN(scopes) && !cor_str_eq(scopes[i].name, name))
        i++;
    return i;
}

static bool is_for_class(struct cor_str resource, enum scope_class class)
{
    static const char *const compute[] = {"cpu",           "memory",       "limits.cpu",
                                          "limits.memory", "requests.cpu", "requests.memory"};

    if (class == SCOPE_OF_CLAIMS)
        return cor_str_eq(resource, COR_STR("persistentvolumeclaims")) ||
               cor_str_eq(resource, COR_STR("requests.storage"));
    return cor_str_eq(resource, COR_STR("pods")) ||
           (class == SCOPE_OF_PODS && cor_str_is_one_of(resource, compute, COR_ARRAY_LEN(compute)));
}

/* What scopes of a quota are checked against, and which of them were there. */
struct scope_run {
    size_t nrefused[SCOPE_CLASSES + 1]; /* by class: resources that a scope of it is not for */
    bool seen[COR_ARRAY_LEN(scopes) + 1];
};

static void start_scopes(struct cor_check *check, const struct cor_place *spec,
                         struct scope_run *ret_run)
{
    struct cor_place hard, entry;

    *ret_run = (struct scope_run){.nrefused = {0}};
    cor_place_field(check, spec, "hard", &hard);
    COR_EACH(check, &hard, entry) {
        for (int class = 0; cor_resource_is_for_quota(entry.key) && class < SCOPE_CLASSES; class ++)
            ret_run->nrefused[class] += !is_for_class(entry.key, (enum scope_class) class);
    }
}

/* Adds an error for each resource that the scope is not for; no more than an answer can have. */
static void check_scope(struct cor_check *check, struct scope_run *run, size_t scope,
                        const struct cor_place *at, struct cor_field_value value)
{
    size_t n = scope < COR_ARRAY_LEN(scopes) ? run->nrefused[scopes[scope].class] : 0;

    run->seen[scope] = true;
    for (size_t i = 0; i < n && check->errors->n < COR_STATUS_CAUSES_MAX; i++)
        cor_check_add_value(check, COR_FIELD_INVALID, at, value,
                            "unsupported scope applied to resource");
}

static void check_scope_pairs(struct cor_check *check, const struct scope_run *run,
                              const struct cor_place *at, const struct cor_place *shown)
{
    /* Upstream asks for BestEffort before Terminating. */
    for (size_t i = SCOPE_PAIRS; i-- > 0;) {
        if (run->seen[2 * i] && run->seen[2 * i + 1])
            cor_check_add_value(check, COR_FIELD_INVALID, at, cor_check_value(check, shown),
                                "conflicting scopes");
    }
}

COR_HOOK(quota_scopes)
{
    struct cor_place list, item;
    struct cor_field_value value;
    struct scope_run run;
    struct cor_each each;

    cor_place_field(check, place, "scopes", &list);
    if (cor_place_length(check, &list) == 0)
        return;
    start_scopes(check, place, &run);
    value = cor_check_value(check, &list);
    each = cor_each(check, &list);
    while (check->errors->n < COR_STATUS_CAUSES_MAX && cor_each_next(check, &each, &item)) {
        size_t scope = find_scope(cor_place_text(check, &item));

        if (scope == COR_ARRAY_LEN(scopes))
            cor_check_add_value(check, COR_FIELD_INVALID, &list, value, "unsupported scope");
        check_scope(check, &run, scope, &list, value);
    }
    check_scope_pairs(check, &run, &list, &list);
}

/* The operator of a requirement and its values. The paths have no index. */
static void check_scope_operator(struct cor_check *check, const struct cor_place *requirement,
                                 const struct cor_place *list, bool must_exist)
{
    struct cor_place operator, values;
    struct cor_str text;
    bool takes_values;

    cor_place_field(check, requirement, "operator", &operator);
    cor_place_field(check, requirement, "values", &values);
    operator.path = cor_field_child(&list->path, COR_STR("operator"));
    values.path = cor_field_child(&list->path, COR_STR("values"));
    text = cor_place_text(check, &operator);
    if (must_exist && !cor_str_eq(text, COR_STR("Exists")))
        cor_check_invalid(
            check, &operator,
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
            "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
            "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity");
    takes_values = cor_str_eq(text, COR_STR("In")) || cor_str_eq(text, COR_STR("NotIn"));
    if (!takes_values && !cor_str_eq(text, COR_STR("Exists")) &&
        !cor_str_eq(text, COR_STR("DoesNotExist")))
        cor_check_invalid(check, &operator, "not a valid selector operator");
    else if (takes_values && cor_place_length(check, &values) == 0)
        cor_check_required(check, &values,
                           "must be at least one value when `operator` is 'In' or 'NotIn' for "
                           "scope selector");
    else if (!takes_values && cor_place_length(check, &values) > 0)
        cor_check_invalid(check, &values,
                          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                          "selector");
}

COR_HOOK(quota_scope_selector)
{
    struct cor_place selector, list, of_spec, item, name;
    struct cor_field_value value;
    struct scope_run run;
    struct cor_each each;

    if (!cor_place_field(check, place, "scopeSelector", &selector))
        return;
    cor_place_field(check, &selector, "matchExpressions", &list);
    cor_place_field(check, place, "scopes", &of_spec);
    start_scopes(check, place, &run);
    value = cor_check_value(check, &selector);
    each = cor_each(check, &list);
    while (check->errors->n < COR_STATUS_CAUSES_MAX && cor_each_next(check, &each, &item)) {
        size_t scope;

        cor_place_field(check, &item, "scopeName", &name);
        name.path = cor_field_child(&list.path, COR_STR("scopeName"));
        scope = find_scope(cor_place_text(check, &name));
        if (scope == COR_ARRAY_LEN(scopes))
            cor_check_invalid(check, &name, "unsupported scope");
        check_scope(check, &run, scope, &list, value);
        check_scope_operator(check, &item, &list,
                             scope < COR_ARRAY_LEN(scopes) && scopes[scope].must_exist);
    }
    check_scope_pairs(check, &run, &list, &of_spec);
}

/* Is each text of a list also in the other? */
static bool has_all(struct cor_check *check, const struct cor_place *list,
                    const struct cor_place *other)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set texts = {.nfew = 0};
    struct cor_each each = cor_each(check, other);
    struct cor_place item;
    bool is_new;

    cor_str_set_init(&texts, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_each_next(check, &each, &item))
        cor_check_note(check, cor_str_set_add(&texts, cor_place_text(check, &item), &is_new));
    each = cor_each(check, list);
    while (cor_each_next(check, &each, &item)) {
        if (!cor_str_set_has(&texts, cor_place_text(check, &item)))
            return false;
    }
    return true;
}

COR_HOOK(quota_scopes_stay)
{
    struct cor_place old = cor_place_old(place);

    if (!has_all(check, place, &old) || !has_all(check, &old, place))
        cor_check_invalid(check, place, "field is immutable");
}

/* --- LimitRange ------------------------------------------------------------------------------- */

/* The maps of an item. */
enum limit { MAX, MIN, DEFAULT, REQUEST, RATIO, LIMITS };

/* What the maps of an item have for one resource. */
struct limits {
    struct cor_place *at[LIMITS]; /* NULL: nothing */
    struct cor_str text[LIMITS];  /* the quantity */
};

/* Has the item both, and is the first more than the second? */
static bool is_more(struct cor_check *check, const struct limits *limits, enum limit a,
                    enum limit b)
{
    int order = 0;

    if (!limits->at[a] || !limits->at[b])
        return false;
    /* Quantities were read before; those of too many digits are taken as equal. */
    if (cor_quantity_cmp(limits->text[a], limits->text[b], &order) == -COR_ENOMEM)
        cor_check_note(check, -COR_ENOMEM);
    return order > 0;
}

/* Adds an error at one map, with the value that `shown` has, when `a` is more than `b`. */
static void check_order(struct cor_check *check, const struct limits *limits, enum limit at,
                        enum limit shown, enum limit a, enum limit b)
{
    static const char *const names[] = {
        [MAX] = "max", [MIN] = "min", [DEFAULT] = "default", [REQUEST] = "default request"};
    bool is_limit = a == REQUEST && b == DEFAULT;

    if (is_more(check, limits, a, b))
        cor_check_add_value(
            check, COR_FIELD_INVALID, limits->at[at], cor_field_string(limits->text[shown]),
            cor_check_printf(check, "%s value %.*s is greater than %s value %.*s", names[a],
                             COR_STR_ARG(limits->text[a]), is_limit ? "default limit" : names[b],
                             COR_STR_ARG(limits->text[b])));
}

static int64_t scaled(struct cor_str quantity, int scale)
{
    int64_t number = INT64_MAX;

    return cor_quantity_scaled(quantity, scale, &number) == 0 ? number : INT64_MAX;
}

/* The ratio is not more than what max and min allow. Upstream calculates in thousandths when all
 * three fit. */
static void check_ratio(struct cor_check *check, const struct limits *limits)
{
    const struct cor_place *at = limits->at[RATIO];
    struct cor_str text = limits->text[RATIO];
    double ratio, most;
    int order = 0;
    bool is_fine;

    if (!at)
        return;
    if (cor_quantity_cmp(text, COR_STR("1"), &order) == 0 && order < 0)
        cor_check_invalid(check, at,
                          cor_check_printf(check, "ratio %.*s is less than 1", COR_STR_ARG(text)));
    if (!limits->at[MAX] || !limits->at[MIN])
        return;
    is_fine = scaled(text, 0) < INT64_MAX / 1000 &&
              scaled(limits->text[MAX], 0) < INT64_MAX / 1000 &&
              scaled(limits->text[MIN], 0) < INT64_MAX / 1000;
    ratio = is_fine ? (double)scaled(text, -3) / 1000 : (double)scaled(text, 0);
    most = (double)scaled(limits->text[MAX], is_fine ? -3 : 0) /
           (double)scaled(limits->text[MIN], is_fine ? -3 : 0);
    if (ratio > most)
        cor_check_invalid(check, at,
                          cor_check_printf(check, "ratio %.*s is greater than max/min = %f",
                                           COR_STR_ARG(text), most));
}

static void check_limits(struct cor_check *check, struct cor_str resource,
                         const struct limits *limits)
{
    check_order(check, limits, MIN, MIN, MIN, MAX);
    check_order(check, limits, REQUEST, REQUEST, MIN, REQUEST);
    check_order(check, limits, REQUEST, REQUEST, REQUEST, MAX);
    check_order(check, limits, REQUEST, REQUEST, REQUEST, DEFAULT);
    check_order(check, limits, DEFAULT, MIN, MIN, DEFAULT);
    check_order(check, limits, DEFAULT, MAX, DEFAULT, MAX);
    check_ratio(check, limits);
    if (!cor_resource_may_overcommit(resource) &&
        (is_more(check, limits, DEFAULT, REQUEST) || is_more(check, limits, REQUEST, DEFAULT)))
        cor_check_invalid(
            check, limits->at[REQUEST],
            cor_check_printf(check,
                             "default value %.*s must equal to defaultRequest value %.*s in %.*s",
                             COR_STR_ARG(limits->text[DEFAULT]), COR_STR_ARG(limits->text[REQUEST]),
                             COR_STR_ARG(resource)));
}

/* Walks over all maps at once, which have their keys in the same order: a step for each resource
 * that one of them has. Maps that are NULL have none. */
static void check_each_resource(struct cor_check *check, const struct cor_place *const *maps)
{
    struct cor_each each[LIMITS];
    struct cor_place entries[LIMITS];
    bool has[LIMITS];

    for (size_t i = 0; i < LIMITS; i++) {
        has[i] = false;
        if (maps[i]) {
            each[i] = cor_each(check, maps[i]);
            has[i] = cor_each_next(check, &each[i], &entries[i]);
        }
    }
    for (;;) {
        struct limits limits = {.at = {NULL}};
        struct cor_str key = {NULL, 0};

        for (size_t i = 0; i < LIMITS; i++) {
            if (has[i] && (!key.p || cor_str_cmp(entries[i].key, key) < 0))
                key = entries[i].key;
        }
        if (!key.p)
            return;
        for (size_t i = 0; i < LIMITS; i++) {
            if (has[i] && cor_str_eq(entries[i].key, key)) {
                limits.at[i] = &entries[i];
                limits.text[i] = cor_place_text(check, &entries[i]);
            }
        }
        check_limits(check, key, &limits);
        for (size_t i = 0; i < LIMITS; i++) {
            if (limits.at[i])
                has[i] = cor_each_next(check, &each[i], &entries[i]);
        }
    }
}

static void check_names(struct cor_check *check, const struct cor_place *map, bool is_compute)
{
    struct cor_place entry;

    COR_EACH(check, map, entry)
        cor_format_add_text(is_compute ? COR_FORMAT_CONTAINER_RESOURCE_NAME
                                       : COR_FORMAT_RESOURCE_NAME,
                            entry.key, &entry.path, check->errors);
}

static void check_item(struct cor_check *check, const struct cor_place *item, struct cor_str type)
{
    static const char *const names[] = {[MAX] = "max",
                                        [MIN] = "min",
                                        [DEFAULT] = "default",
                                        [REQUEST] = "defaultRequest",
                                        [RATIO] = "maxLimitRequestRatio"};
    bool is_pod = cor_str_eq(type, COR_STR("Pod"));
    bool is_compute = is_pod || cor_str_eq(type, COR_STR("Container"));
    const struct cor_place *used[LIMITS];
    struct cor_place maps[LIMITS], entry;

    for (size_t i = 0; i < LIMITS; i++) {
        cor_place_field(check, item, names[i], &maps[i]);
        used[i] = &maps[i];
    }
    for (size_t i = 0; i < LIMITS; i++) {
        if (i == RATIO && cor_str_eq(type, COR_STR("PersistentVolumeClaim")) &&
            !cor_place_entry(check, &maps[MIN], COR_STR("storage"), &entry) &&
            !cor_place_entry(check, &maps[MAX], COR_STR("storage"), &entry)) {
            struct cor_field_path path = cor_field_child(&item->path, COR_STR("limits"));

            cor_check_add(check, COR_FIELD_REQUIRED, &path, cor_field_none(),
                          "either minimum or maximum storage value is required, but neither was "
                          "provided");
        }
        if (is_pod && (i == DEFAULT || i == REQUEST)) {
            used[i] = NULL;
            if (cor_place_length(check, &maps[i]) > 0)
                cor_check_forbidden(check, &maps[i], "may not be specified when `type` is 'Pod'");
        } else {
            check_names(check, &maps[i], is_compute);
        }
    }
    check_each_resource(check, used);
}

COR_HOOK(limit_range_items)
{
    static const char *const standard[] = {"Pod", "Container", "PersistentVolumeClaim"};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place item, type;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, place, item) {
        struct cor_str text;
        bool is_new = true;

        cor_place_field(check, &item, "type", &type);
        text = cor_place_text(check, &type);
        if (cor_check_format(check, &type, COR_FORMAT_QUALIFIED_NAME) == 0 &&
            cor_str_find(text, '/') < 0 &&
            !cor_str_is_one_of(text, standard, COR_ARRAY_LEN(standard)))
            cor_check_invalid(check, &type, "must be a standard limit type or fully qualified");
        cor_check_note(check, cor_str_set_add(&seen, text, &is_new));
        if (!is_new)
            cor_check_duplicate(check, &type);
        check_item(check, &item, text);
    }
}

/* --- Event ------------------------------------------------------------------------------------ */

COR_WHEN(is_events_request)
{
    return cor_str_starts(check->api_version, COR_STR("events.k8s.io/"));
}

/* An Event with an eventTime may be about an object of another namespace. */
COR_HOOK(event_namespace)
{
    struct cor_place metadata, involved, field, time;
    struct cor_str own, other;
    bool is_fine;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, place, "involvedObject", &involved);
    cor_place_field(check, place, "eventTime", &time);
    cor_place_field(check, &involved, "namespace", &field);
    own = cor_field_text(check, &metadata, "namespace");
    other = cor_place_text(check, &field);
    if (cor_place_is_set(check, &time))
        is_fine = other.n > 0 || cor_str_eq(own, COR_STR("default")) ||
                  cor_str_eq(own, COR_STR("kube-system"));
    else if (other.n == 0)
        is_fine = own.n == 0 || cor_str_eq(own, COR_STR("default"));
    else
        is_fine = cor_str_eq(own, other);
    if (!is_fine)
        cor_check_invalid(check, &field, "does not match event.namespace");
}
