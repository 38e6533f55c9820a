/* The hooks of defaults (the list is in default_hooks.h). Each does what one function of upstream's
 * does to a type, where a line of an overlay cannot say it. A hook reads and sets members by their
 * names in JSON, and never looks above its value. A failed allocation sticks to the draft, so a
 * hook need not check for it, except for values that it goes on with.
 * Thread: any. */
#include "schema/walk/default_hooks.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "meta/value/quantity.h"
#include "meta/value/time_text.h"
#include "schema/go/image_reference.h"
#include "schema/walk/pod_resources.h"
#include "json/text/scan.h"

#define NAME_LABEL          "kubernetes.io/metadata.name"
#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"
#define IMAGE_BYTES_MAX     4096 /* a longer image's name is not valid anyway */
#define QUANTITY_BYTES_MAX  (1u << 20)

/* The raw text of a string member; empty when there is none. */
static struct cor_str text_of(const struct cor_draft_value *object, const char *name)
{
    const struct cor_draft_value *value = cor_draft_get(object, cor_strz(name));
    struct cor_str raw;

    if (!value || cor_json_to_raw(value->json, &raw) < 0)
        return cor_str("", 0);
    return raw;
}

/* The first element of a list member; the others follow by `next`. */
static struct cor_draft_value *first_of(struct cor_draft *draft, struct cor_draft_value *object,
                                        const char *name)
{
    struct cor_draft_value *list = cor_draft_open_member(draft, object, name);

    return list ? list->first : NULL;
}

/* JSON of a string, in the draft's memory; `raw` has the escapes that it needs. p == NULL: no
 * memory is left. */
static struct cor_str quote(struct cor_draft *draft, struct cor_str raw)
{
    char *quoted = cor_draft_alloc(draft, raw.n + 2);

    if (!quoted)
        return (struct cor_str){NULL, 0};
    quoted[0] = '"';
    memcpy(quoted + 1, raw.p, raw.n);
    quoted[raw.n + 1] = '"';
    return cor_str(quoted, raw.n + 2);
}

static void set_text(struct cor_draft *draft, struct cor_draft_value *object, const char *name,
                     struct cor_str raw)
{
    struct cor_str json = quote(draft, raw);

    if (json.p)
        cor_draft_set(draft, object, cor_strz(name), json);
}

/* Most quantities are whole numbers with a suffix above one, which cannot be too fine. */
static bool may_be_fine(struct cor_str raw)
{
    for (size_t i = 0; i < raw.n; i++) {
        if (strchr(".eEnu", raw.p[i]))
            return true;
    }
    return false;
}

static void hook_round_up(struct cor_draft *draft, struct cor_draft_value *map)
{
    for (struct cor_draft_value *entry = map->first; entry && draft->error == 0;
         entry = entry->next) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
        struct cor_str raw, json;
        int r;

        if (cor_json_to_raw(entry->json, &raw) < 0 || !may_be_fine(raw))
            continue;
        cor_buf_init(&text, QUANTITY_BYTES_MAX);
        r = cor_quantity_rewrite(raw, COR_QUANTITY_MILLI, &text, NULL);
        if (r == -COR_ENOMEM)
            draft->error = r;
        json = r == 1 ? quote(draft, cor_buf_str(&text)) : (struct cor_str){NULL, 0};
        if (json.p)
            cor_draft_replace(draft, entry, json);
    }
}

static void hook_image_pull_policy(struct cor_draft *draft, struct cor_draft_value *container)
{
    char buf[IMAGE_BYTES_MAX];
    struct cor_str image;

    if (text_of(container, "imagePullPolicy").n > 0)
        return;
    if (cor_json_unescape(text_of(container, "image"), buf, sizeof(buf), &image) < 0)
        image = cor_str("", 0);
    cor_draft_set(draft, container, COR_STR("imagePullPolicy"),
                  cor_image_is_latest(image) ? COR_STR("\"Always\"") : COR_STR("\"IfNotPresent\""));
}

/* Every member of a Volume but its name is a source. */
static void hook_volume_source(struct cor_draft *draft, struct cor_draft_value *volume)
{
    for (const struct cor_draft_value *member = volume->first; member; member = member->next) {
        if (!cor_str_eq(member->key, COR_STR("name")) && cor_draft_get(volume, member->key))
            return;
    }
    cor_draft_set(draft, volume, COR_STR("emptyDir"), COR_STR("{}"));
}

static void hook_pod_requests(struct cor_draft *draft, struct cor_draft_value *spec)
{
    cor_pod_resources_default(draft, spec);
}

static void open_host_ports(struct cor_draft *draft, struct cor_draft_value *spec, const char *list)
{
    struct cor_draft_value *container, *port, *number, *host;

    for (container = first_of(draft, spec, list); container; container = container->next) {
        for (port = container->is_open ? first_of(draft, container, "ports") : NULL; port;
             port = port->next) {
            if (!port->is_open)
                continue;
            number = cor_draft_get(port, COR_STR("containerPort"));
            host = cor_draft_get(port, COR_STR("hostPort"));
            if (number && !cor_str_eq(number->json, COR_STR("0")) &&
                (!host || cor_str_eq(host->json, COR_STR("0"))))
                cor_draft_set(draft, port, COR_STR("hostPort"), number->json);
        }
    }
}

static void hook_pod_host_ports(struct cor_draft *draft, struct cor_draft_value *spec)
{
    open_host_ports(draft, spec, "containers");
    open_host_ports(draft, spec, "initContainers");
}

static void hook_load_balancer_ip_mode(struct cor_draft *draft, struct cor_draft_value *status)
{
    struct cor_draft_value *ingress = first_of(draft, status, "ingress");

    for (; ingress; ingress = ingress->next) {
        cor_draft_open(draft, ingress);
        if (ingress->is_open && text_of(ingress, "ip").n > 0 &&
            !cor_draft_get(ingress, COR_STR("ipMode")))
            cor_draft_set(draft, ingress, COR_STR("ipMode"), COR_STR("\"VIP\""));
    }
}

/* A Namespace without a name yet gets its label when it has one: defaults apply again. */
static void hook_namespace_label(struct cor_draft *draft, struct cor_draft_value *object)
{
    struct cor_draft_value *metadata = cor_draft_open_member(draft, object, "metadata"), *labels;
    const struct cor_draft_value *name, *label;

    if (!metadata || text_of(metadata, "name").n == 0)
        return;
    name = cor_draft_get(metadata, COR_STR("name"));
    if (!cor_draft_get(metadata, COR_STR("labels")))
        cor_draft_set(draft, metadata, COR_STR("labels"), COR_STR("{}"));
    labels = cor_draft_open_member(draft, metadata, "labels");
    label = labels ? cor_draft_get(labels, COR_STR(NAME_LABEL)) : NULL;
    if (labels && (!label || !cor_str_eq(label->json, name->json)))
        cor_draft_set(draft, labels, COR_STR(NAME_LABEL), name->json);
}

static void hook_limit_range(struct cor_draft *draft, struct cor_draft_value *item)
{
    static const struct {
        const char *to, *from;
    } steps[] = {{"default", "max"}, {"defaultRequest", "default"}, {"defaultRequest", "min"}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct cor_draft_value *from = cor_draft_open_member(draft, item, steps[i].from);

        if (from)
            cor_draft_add_missing(draft, item, steps[i].to, from, NULL);
    }
}

static void hook_resource_names(struct cor_draft *draft, struct cor_draft_value *names)
{
    struct cor_str kind = text_of(names, "kind");
    char *text = cor_draft_alloc(draft, kind.n + sizeof("List"));

    if (kind.n == 0 || !text)
        return;
    for (size_t i = 0; i < kind.n; i++)
        text[i] = (char)(kind.p[i] >= 'A' && kind.p[i] <= 'Z' ? kind.p[i] | 0x20 : kind.p[i]);
    if (text_of(names, "singular").n == 0)
        set_text(draft, names, "singular", cor_str(text, kind.n));
    memcpy(text, kind.p, kind.n);
    memcpy(text + kind.n, "List", sizeof("List") - 1);
    if (text_of(names, "listKind").n == 0)
        set_text(draft, names, "listKind", cor_str(text, kind.n + sizeof("List") - 1));
}

/* The first version that is stored; later the server keeps the list. */
static void hook_stored_versions(struct cor_draft *draft, struct cor_draft_value *object)
{
    struct cor_draft_value *spec = cor_draft_open_member(draft, object, "spec"), *version;
    struct cor_draft_value *status = cor_draft_open_member(draft, object, "status");
    const struct cor_draft_value *storage, *name;
    char *list;

    if (!spec || (status && first_of(draft, status, "storedVersions")))
        return;
    for (version = first_of(draft, spec, "versions"); version; version = version->next) {
        cor_draft_open(draft, version);
        storage = version->is_open ? cor_draft_get(version, COR_STR("storage")) : NULL;
        name = storage ? cor_draft_get(version, COR_STR("name")) : NULL;
        if (name && cor_str_eq(storage->json, COR_STR("true")))
            break;
    }
    if (!version)
        return;
    list = cor_draft_alloc(draft, name->json.n + 2);
    if (!list)
        return;
    list[0] = '[';
    memcpy(list + 1, name->json.p, name->json.n);
    list[name->json.n + 1] = ']';
    if (!status) {
        cor_draft_set(draft, object, COR_STR("status"), COR_STR("{}"));
        status = cor_draft_open_member(draft, object, "status");
    }
    if (status)
        cor_draft_set(draft, status, COR_STR("storedVersions"), cor_str(list, name->json.n + 2));
}

static void hook_time_added(struct cor_draft *draft, struct cor_draft_value *taint)
{
    char text[COR_TIME_TEXT_MAX];

    if (!cor_draft_get(taint, COR_STR("timeAdded")))
        set_text(draft, taint, "timeAdded",
                 cor_time_print(cor_clock_wall_ms(cor_clock_real()) / 1000, text));
}

static void hook_grace_period(struct cor_draft *draft, struct cor_draft_value *spec)
{
    const struct cor_draft_value *seconds =
        cor_draft_get(spec, COR_STR("terminationGracePeriodSeconds"));

    if (seconds && cor_str_starts(seconds->json, COR_STR("-")))
        cor_draft_set(draft, spec, COR_STR("terminationGracePeriodSeconds"), COR_STR("1"));
}

static void hook_init_container_annotations(struct cor_draft *draft, struct cor_draft_value *meta)
{
    static const char *const names[] = {
        "pod.alpha.kubernetes.io/init-container-statuses",
        "pod.alpha.kubernetes.io/init-containers",
        "pod.beta.kubernetes.io/init-container-statuses",
        "pod.beta.kubernetes.io/init-containers",
    };
    struct cor_draft_value *annotations = cor_draft_open_member(draft, meta, "annotations");
    struct cor_draft_value *found;

    if (!annotations)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        found = cor_draft_get(annotations, cor_strz(names[i]));
        if (found)
            cor_draft_remove(found);
    }
    if (!annotations->first)
        cor_draft_remove(annotations);
}

/* Makes a list and the field `single`, which repeats the list's first element, agree: the field
 * wins when both are set and differ, and then the list has the field's value as its only element.
 * An empty field is not set. `before` and `after` are the JSON of the list around the value. */
static void agree_on_first(struct cor_draft *draft, struct cor_draft_value *object,
                           const char *single, const char *list, struct cor_str first,
                           struct cor_str before, struct cor_str after)
{
    struct cor_str raw = text_of(object, single);
    struct cor_str one = cor_draft_get(object, cor_strz(single))
                             ? cor_draft_get(object, cor_strz(single))->json
                             : cor_str("", 0);
    char *made;

    if (raw.n == 0) {
        if (first.p && !cor_str_eq(first, COR_STR("\"\"")))
            cor_draft_set(draft, object, cor_strz(single), first);
        return;
    }
    if (first.p && cor_str_eq(one, first))
        return;
    made = cor_draft_alloc(draft, before.n + one.n + after.n);
    if (!made)
        return;
    memcpy(made, before.p, before.n);
    memcpy(made + before.n, one.p, one.n);
    memcpy(made + before.n + one.n, after.p, after.n);
    cor_draft_set(draft, object, cor_strz(list), cor_str(made, before.n + one.n + after.n));
}

static void hook_pod_ips(struct cor_draft *draft, struct cor_draft_value *status)
{
    struct cor_draft_value *first = first_of(draft, status, "podIPs");
    const struct cor_draft_value *ip = NULL;

    if (first) {
        cor_draft_open(draft, first);
        ip = first->is_open ? cor_draft_get(first, COR_STR("ip")) : NULL;
    }
    agree_on_first(draft, status, "podIP", "podIPs", ip ? ip->json : (struct cor_str){NULL, 0},
                   COR_STR("[{\"ip\":"), COR_STR("}]"));
}

static void hook_pod_cidrs(struct cor_draft *draft, struct cor_draft_value *spec)
{
    const struct cor_draft_value *first = first_of(draft, spec, "podCIDRs");

    agree_on_first(draft, spec, "podCIDR", "podCIDRs",
                   first ? first->json : (struct cor_str){NULL, 0}, COR_STR("["), COR_STR("]"));
}

static void hook_claim_kinds(struct cor_draft *draft, struct cor_draft_value *claims)
{
    for (struct cor_draft_value *claim = claims->first; claim; claim = claim->next) {
        cor_draft_open(draft, claim);
        if (!claim->is_open)
            continue;
        if (!cor_str_eq(text_of(claim, "apiVersion"), COR_STR("v1")))
            cor_draft_set(draft, claim, COR_STR("apiVersion"), COR_STR("\"v1\""));
        if (!cor_str_eq(text_of(claim, "kind"), COR_STR("PersistentVolumeClaim")))
            cor_draft_set(draft, claim, COR_STR("kind"), COR_STR("\"PersistentVolumeClaim\""));
    }
}

/* Upstream's internal type has a field for it, which is an annotation of every version; strategies
 * count it after ownership was judged. */
static void hook_generation_annotation(struct cor_draft *draft, struct cor_draft_value *metadata)
{
    struct cor_draft_value *annotations;

    if (!cor_draft_get(metadata, COR_STR("annotations")))
        cor_draft_set(draft, metadata, COR_STR("annotations"), COR_STR("{}"));
    annotations = cor_draft_open_member(draft, metadata, "annotations");
    if (annotations && !cor_draft_get(annotations, COR_STR(TEMPLATE_GENERATION)))
        cor_draft_set(draft, annotations, COR_STR(TEMPLATE_GENERATION), COR_STR("\"0\""));
}

void cor_default_hook_run(enum cor_default_hook hook, struct cor_draft *draft,
                          struct cor_draft_value *value)
{
    static void (*const hooks[])(struct cor_draft *,
                                 struct cor_draft_value *) = {NULL,
#define X(name) hook_##name,
                                                              COR_DEFAULT_HOOKS(X)
#undef X
    };

    assert(hook > COR_DEFAULT_HOOK_none && hook < COR_DEFAULT_HOOK_COUNT);
    cor_draft_open(draft, value);
    if (value->is_open && draft->error == 0)
        hooks[hook](draft, value);
}
