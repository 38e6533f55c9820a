/* The hooks of Pod: what a Pod has at its birth, what /status keeps, and the parts that
 * /ephemeralcontainers and /resize change.
 *
 * Most Pods need none of the changes to their spec, so each hook first looks whether there is
 * something to do; only then is the spec opened as a draft (schema/walk/draft.h).
 * Failures: no memory, and a member that grows beyond the maximum. Thread: any. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/map.h"
#include "meta/object/object.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "schema/strategies/pod_qos.h"
#include "schema/strategies/strategy_hooks.h"
#include "schema/walk/draft.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

#define APP_ARMOR      "container.apparmor.security.beta.kubernetes.io/"
#define LOCALHOST      "localhost/"
#define LOCALHOST_MAX  4095 /* bytes of a profile's name */
#define ANNOTATION_MAX (1u << 20)
#define GATED_CONDITION                                                                            \
    "\"message\":\"Scheduling is blocked due to non-empty scheduling gates\","                     \
    "\"reason\":\"SchedulingGated\",\"status\":\"False\",\"type\":\"PodScheduled\"}],"

static struct cor_json_iter pod_list(struct cor_str value)
{
    return cor_json_iter(value.p ? value : COR_STR("[]"));
}

static struct cor_str pod_meta(struct cor_str object, const char *key)
{
    return cor_convert_member(cor_convert_member(object, "metadata"), key);
}

/* The phase, the QoS class (one that the client sent is taken), and the condition of a Pod that
 * must not be scheduled yet. Nothing else of the sent status is kept. */
int cor_strategy_pod_birth(const struct cor_prepare *prepare, struct cor_str status,
                           struct cor_buf *out)
{
    struct cor_str sent = cor_convert_member(status, "qosClass");
    struct cor_pod_look look;
    char now[COR_TIME_TEXT_MAX];
    int r = cor_pod_look(prepare->spec.p ? prepare->spec : COR_STR("{}"), &look);

    if (r == 0)
        r = cor_buf_addc(out, '{');
    if (r == 0 && look.is_gated)
        r = cor_buf_addf(
            out,
            "\"conditions\":[{\"lastProbeTime\":null,\"lastTransitionTime\":\"%.*s\"," GATED_CONDITION,
            COR_STR_ARG(cor_time_print(prepare->now_s, now)));
    if (r == 0 && sent.n <= 2)
        r = cor_buf_addf(out, "\"phase\":\"Pending\",\"qosClass\":\"%s\"}", look.qos_class);
    else if (r == 0)
        r = cor_buf_addf(out, "\"phase\":\"Pending\",\"qosClass\":%.*s}", COR_STR_ARG(sent));
    return r < 0 ? r : 1;
}

/* Opens a spec whose hook has something to do; the end writes it. */
static void pod_open_spec(struct cor_draft *draft, struct cor_str spec)
{
    cor_draft_init(draft, cor_type_named(COR_STR("core_v1.PodSpec")), spec);
}

static struct cor_draft_value *pod_first(struct cor_draft *draft, struct cor_draft_value *object,
                                         const char *list)
{
    struct cor_draft_value *value = object ? cor_draft_open_member(draft, object, list) : NULL;

    return value ? value->first : NULL;
}

/* The labels or annotations of a Pod by their raw keys: a client chooses how many there are, and
 * how often they are looked for. */
struct pod_texts {
    struct cor_map by_key; /* to the start of the value */
    const char *end;
};

static void pod_texts_deinit(struct pod_texts *texts)
{
    cor_map_deinit(&texts->by_key);
}

static int pod_texts_init(struct pod_texts *texts, struct cor_str object)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;
    int r = 0;

    texts->end = object.p + object.n;
    cor_map_init(&texts->by_key, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (r == 0 && cor_json_iter_member(&it, &key))
        r = cor_map_put(&texts->by_key, key, (void *)cor_json_iter_value(&it).p, NULL);
    return r;
}

/* A value as JSON; p == NULL: there is none. */
static struct cor_str pod_texts_find(const struct pod_texts *texts, struct cor_str raw_key)
{
    const char *at = cor_map_peek(&texts->by_key, raw_key);

    return at ? cor_json_first_value(cor_str(at, (size_t)(texts->end - at)))
              : (struct cor_str){NULL, 0};
}

/* Writes a requirement for each key that the Pod has as a label. */
static void pod_write_requirements(const struct cor_draft_value *keys,
                                   const struct pod_texts *labels, const char *operator,
                                   struct cor_json_writer * w)
{
    struct cor_json_iter it = pod_list(keys ? keys->json : (struct cor_str){NULL, 0});

    while (cor_json_iter_elem(&it)) {
        struct cor_str key = cor_json_iter_value(&it), raw, value = {NULL, 0};

        if (cor_json_to_raw(key, &raw) == 0)
            value = pod_texts_find(labels, raw);
        if (!value.p)
            continue;
        cor_json_begin_object(w);
        cor_json_key(w, COR_STR("key"));
        cor_json_raw(w, key);
        cor_json_member(w, COR_STR("operator"), cor_strz(operator));
        cor_json_key(w, COR_STR("values"));
        cor_json_begin_array(w);
        cor_json_raw(w, value);
        cor_json_end_array(w);
        cor_json_end_object(w);
    }
}

/* Appends requirements for a term's label keys to its selector. `term` has matchLabelKeys and
 * perhaps mismatchLabelKeys; a term without a selector matches nothing, and stays so. */
static void pod_merge_keys(struct cor_draft *draft, struct cor_draft_value *term,
                           const struct pod_texts *labels)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_draft_value *selector;
    const struct cor_draft_value *old;
    struct cor_json_iter it;
    struct cor_json_writer w;
    char *kept;
    size_t before;

    cor_draft_open(draft, term);
    selector = term->is_open ? cor_draft_open_member(draft, term, "labelSelector") : NULL;
    if (!selector)
        return;
    old = cor_draft_get(selector, COR_STR("matchExpressions"));
    it = pod_list(old ? old->json : (struct cor_str){NULL, 0});
    cor_json_writer_init(&w, &list);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it))
        cor_json_raw(&w, cor_json_iter_value(&it));
    before = list.n;
    pod_write_requirements(cor_draft_get(term, COR_STR("matchLabelKeys")), labels, "In", &w);
    /* Only the terms of affinity have the other list; a type that lacks it finds nothing. */
    pod_write_requirements(cor_draft_get(term, COR_STR("mismatchLabelKeys")), labels, "NotIn", &w);
    cor_json_end_array(&w);
    if (cor_json_writer_finish(&w) < 0) {
        draft->error = -COR_ENOMEM;
        return;
    }
    kept = list.n > before + 1 ? cor_draft_alloc(draft, list.n) : NULL;
    if (!kept)
        return;
    memcpy(kept, list.p, list.n);
    cor_draft_set(draft, selector, COR_STR("matchExpressions"), cor_str(kept, list.n));
}

/* The terms of podAffinity or podAntiAffinity. */
static void pod_merge_affinity(struct cor_draft *draft, struct cor_draft_value *affinity,
                               const char *which, const struct pod_texts *labels)
{
    struct cor_draft_value *terms = cor_draft_open_member(draft, affinity, which), *term;

    if (!terms)
        return;
    term = pod_first(draft, terms, "preferredDuringSchedulingIgnoredDuringExecution");
    for (; term; term = term->next) {
        struct cor_draft_value *inner;

        cor_draft_open(draft, term);
        inner = term->is_open ? cor_draft_open_member(draft, term, "podAffinityTerm") : NULL;
        if (inner)
            pod_merge_keys(draft, inner, labels);
    }
    term = pod_first(draft, terms, "requiredDuringSchedulingIgnoredDuringExecution");
    for (; term; term = term->next)
        pod_merge_keys(draft, term, labels);
}

static bool pod_mentions(struct cor_str json, const char *text)
{
    return json.p && memmem(json.p, json.n, text, strlen(text));
}

/* Label keys of affinity and of topology spread are resolved once, when the Pod is created. */
int cor_strategy_pod_scheduling(const struct cor_prepare *prepare, struct cor_str spec,
                                struct cor_buf *out)
{
    struct cor_str labels;
    COR_CLEANUP(pod_texts_deinit) struct pod_texts by_key = {.end = NULL};
    struct cor_draft_value *affinity, *spread;
    struct cor_draft draft;
    int r;

    /* Both lists of keys have this in their names. */
    if (!pod_mentions(spec, "atchLabelKeys\""))
        return 0;
    labels = pod_meta(prepare->object, "labels");
    if (!labels.p)
        return 0;
    r = pod_texts_init(&by_key, labels);
    if (r < 0)
        return r;
    pod_open_spec(&draft, spec);
    affinity = cor_draft_open_member(&draft, &draft.root, "affinity");
    if (affinity) {
        pod_merge_affinity(&draft, affinity, "podAffinity", &by_key);
        pod_merge_affinity(&draft, affinity, "podAntiAffinity", &by_key);
    }
    spread = pod_first(&draft, &draft.root, "topologySpreadConstraints");
    for (; spread && draft.error == 0; spread = spread->next)
        pod_merge_keys(&draft, spread, &by_key);
    return cor_draft_finish(&draft, out);
}

/* The profile that an annotation means, as JSON in the draft's memory. p == NULL: it means none. */
static struct cor_str app_armor_profile(struct cor_draft *draft, struct cor_str annotation)
{
    struct cor_str raw, name;
    char *json;
    size_t size;

    if (cor_json_to_raw(annotation, &raw) < 0)
        return (struct cor_str){NULL, 0};
    if (cor_str_eqz(raw, "unconfined"))
        return COR_STR("{\"type\":\"Unconfined\"}");
    if (cor_str_eqz(raw, "runtime/default"))
        return COR_STR("{\"type\":\"RuntimeDefault\"}");
    if (!cor_str_starts(raw, COR_STR(LOCALHOST)))
        return (struct cor_str){NULL, 0};
    name = cor_str_from(raw, sizeof(LOCALHOST) - 1);
    /* An empty name, one with spaces around it, or one that is too long is not a valid profile. */
    if (name.n == 0 || name.n > LOCALHOST_MAX || cor_str_trim(name).n != name.n)
        return (struct cor_str){NULL, 0};
    size = name.n + sizeof("{\"localhostProfile\":\"\",\"type\":\"Localhost\"}");
    json = cor_draft_alloc(draft, size);
    if (!json)
        return (struct cor_str){NULL, 0};
    return cor_str(json, (size_t)snprintf(json, size,
                                          "{\"localhostProfile\":\"%.*s\",\"type\":\"Localhost\"}",
                                          COR_STR_ARG(name)));
}

static int app_armor_warn(const struct cor_prepare *prepare, struct cor_str raw_name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = ANNOTATION_MAX};
    int r = cor_buf_addf(&text,
                         "metadata.annotations[" APP_ARMOR
                         "%.*s]: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                         COR_STR_ARG(raw_name));

    if (r == 0)
        r = prepare->warn(prepare->arg, cor_buf_str(&text));
    return r == -COR_ENOMEM ? r : 0;
}

/* Sets the profile of a container that has an annotation and no profile of its own, unless the Pod
 * has the same one. */
static void app_armor_container(const struct cor_prepare *prepare, struct cor_draft *draft,
                                struct cor_draft_value *container,
                                const struct pod_texts *annotations, struct cor_str pod_profile)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {.max = ANNOTATION_MAX};
    const struct cor_draft_value *name = cor_draft_get(container, COR_STR("name"));
    struct cor_draft_value *context = cor_draft_open_member(draft, container, "securityContext");
    struct cor_str raw, annotation, profile;
    int r;

    if (!name || cor_json_to_raw(name->json, &raw) < 0)
        return;
    r = cor_buf_addf(&key, APP_ARMOR "%.*s", COR_STR_ARG(raw));
    if (r == -COR_ENOMEM)
        draft->error = r;
    if (r < 0 || (context && cor_draft_get(context, COR_STR("appArmorProfile"))))
        return;
    annotation = pod_texts_find(annotations, cor_buf_str(&key));
    if (!annotation.p)
        return;
    profile = app_armor_profile(draft, annotation);
    if (profile.p && cor_str_eq(profile, pod_profile))
        return;
    r = app_armor_warn(prepare, raw);
    if (r < 0)
        draft->error = r;
    if (!profile.p)
        return;
    if (!context) {
        cor_draft_set(draft, container, COR_STR("securityContext"), COR_STR("{}"));
        context = cor_draft_open_member(draft, container, "securityContext");
    }
    if (context)
        cor_draft_set(draft, context, COR_STR("appArmorProfile"), profile);
}

static bool app_armor_is_used(struct cor_str annotations)
{
    struct cor_json_iter it = cor_json_iter(annotations);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key)) {
        if (cor_str_starts(key, COR_STR(APP_ARMOR)))
            return true;
    }
    return false;
}

/* An annotation of before 1.30 becomes the field that has replaced it. */
int cor_strategy_pod_app_armor(const struct cor_prepare *prepare, struct cor_str spec,
                               struct cor_buf *out)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    struct cor_str annotations = pod_meta(prepare->object, "annotations"), os, profile;
    COR_CLEANUP(pod_texts_deinit) struct pod_texts by_key = {.end = NULL};
    struct cor_draft draft;
    int r;

    if (!annotations.p || !app_armor_is_used(annotations))
        return 0;
    os = cor_convert_member(cor_convert_member(spec, "os"), "name");
    profile = cor_convert_member(cor_convert_member(spec, "securityContext"), "appArmorProfile");
    if (cor_convert_is_text(os, "windows"))
        return 0;
    r = pod_texts_init(&by_key, annotations);
    if (r < 0)
        return r;
    pod_open_spec(&draft, spec);
    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        struct cor_draft_value *container = pod_first(&draft, &draft.root, lists[i]);

        for (; container && draft.error == 0; container = container->next) {
            cor_draft_open(&draft, container);
            if (container->is_open)
                app_armor_container(prepare, &draft, container, &by_key, profile);
        }
    }
    return cor_draft_finish(&draft, out);
}

/* The observed generations of the old conditions, by type and place among those of the type. */
struct observed {
    struct cor_map counts; /* type → how many of it were seen */
    struct cor_map values; /* type and number → start of the generation in the old object */
    struct cor_buf keys;   /* the bytes of the keys of `values`, reserved before the first one */
    struct cor_buf wanted;
    const char *end;
};

static void observed_deinit(struct observed *o)
{
    cor_map_deinit(&o->counts);
    cor_map_deinit(&o->values);
    cor_buf_deinit(&o->keys);
    cor_buf_deinit(&o->wanted);
}

/* The type of a condition, and its number among those of the type so far, which is counted. */
static int observed_key(struct observed *o, struct cor_str condition, struct cor_buf *out)
{
    struct cor_str type = cor_convert_member(condition, "type");
    uintptr_t n = (uintptr_t)cor_map_peek(&o->counts, type.p ? type : COR_STR(""));
    int r = cor_map_put(&o->counts, type.p ? type : COR_STR(""), (void *)(n + 1), NULL);

    return r < 0
               ? r
               : cor_buf_addf(out, "%.*s#%zu", COR_STR_ARG(type.p ? type : COR_STR("")), (size_t)n);
}

static int observed_init(struct observed *o, struct cor_str conditions)
{
    struct cor_json_iter it = cor_json_iter(conditions);
    int r;

    o->end = conditions.p + conditions.n;
    cor_map_init(&o->counts, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_map_init(&o->values, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&o->keys, 4 * COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&o->wanted, 2 * COR_OBJECT_BYTES_MAX_DEFAULT);
    /* A key is the type, which is in the JSON of its condition, and a number. */
    r = cor_buf_reserve(&o->keys, 2 * conditions.n);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str condition = cor_json_iter_value(&it);
        struct cor_str generation = cor_convert_member(condition, "observedGeneration");
        size_t mark = o->keys.n;

        r = observed_key(o, condition, &o->keys);
        if (r == 0 && generation.p)
            r = cor_map_put(&o->values, cor_str_from(cor_buf_str(&o->keys), mark),
                            (void *)generation.p, NULL);
    }
    cor_map_clear(&o->counts);
    return r;
}

/* Appends the conditions, each without an observed generation with that of the old one. */
static int observed_keep(struct cor_str before, struct cor_str after, struct cor_buf *out)
{
    COR_CLEANUP(observed_deinit) struct observed o;
    struct cor_json_iter it = pod_list(after);
    struct cor_json_writer w;
    int r = observed_init(&o, before);

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str condition = cor_json_iter_value(&it);
        struct cor_edits edits = {.n = 0};
        const char *at;

        cor_buf_reset(&o.wanted);
        r = observed_key(&o, condition, &o.wanted);
        at = r == 0 ? cor_map_peek(&o.values, cor_buf_str(&o.wanted)) : NULL;
        if (at && !cor_convert_member(condition, "observedGeneration").p)
            cor_edits_set(&edits, COR_STR("observedGeneration"),
                          cor_json_first_value(cor_str(at, (size_t)(o.end - at))));
        cor_json_begin_object(&w);
        cor_edits_write(&edits, condition, false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    return r < 0 ? r : cor_json_writer_finish(&w);
}

/* What a kubelet that does not know a field leaves out stays: the QoS class, and the generations
 * that the Pod and its conditions were observed at. */
int cor_strategy_pod_status(const struct cor_prepare *prepare, struct cor_str status,
                            struct cor_buf *out)
{
    static const char *const kept[] = {"observedGeneration", "qosClass"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str before = cor_convert_member(prepare->old, "status");
    struct cor_str old_conditions = cor_convert_member(before, "conditions");
    struct cor_str conditions = cor_convert_member(status, "conditions");
    struct cor_edits edits = {.n = 0};
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(kept); i++) {
        struct cor_str old = cor_convert_member(before, kept[i]);

        if (!cor_convert_member(status, kept[i]).p && old.p)
            cor_edits_set(&edits, cor_strz(kept[i]), old);
    }
    if (conditions.p && pod_mentions(old_conditions, "\"observedGeneration\"")) {
        r = observed_keep(old_conditions, conditions, &made);
        cor_edits_set(&edits, COR_STR("conditions"), cor_buf_str(&made));
    }
    if (r < 0 || edits.n == 0)
        return r;
    r = cor_edits_apply(&edits, status.p ? status : COR_STR("{}"), out);
    return r < 0 ? r : 1;
}

static struct cor_str pod_old_spec(const struct cor_prepare *prepare)
{
    struct cor_str spec = cor_convert_member(prepare->old, "spec");

    return spec.p ? spec : COR_STR("{}");
}

int cor_strategy_pod_ephemeral_containers(const struct cor_prepare *prepare, struct cor_str spec,
                                          struct cor_buf *out)
{
    struct cor_edits edits = {.n = 0};
    int r;

    cor_edits_set(&edits, COR_STR("ephemeralContainers"),
                  cor_convert_member(spec, "ephemeralContainers"));
    r = cor_edits_apply(&edits, pod_old_spec(prepare), out);
    return r < 0 ? r : 1;
}

static size_t resize_count(struct cor_str containers)
{
    struct cor_json_iter it = pod_list(containers);
    size_t n = 0;

    while (cor_json_iter_elem(&it))
        n++;
    return n;
}

/* Has the list the same names in the same order? Both have the same length. */
static bool resize_has_old_names(struct cor_str before, struct cor_str after)
{
    struct cor_json_iter old = pod_list(before), new = pod_list(after);

    while (cor_json_iter_elem(&old) && cor_json_iter_elem(&new)) {
        if (!cor_str_eq(cor_convert_member(cor_json_iter_value(&old), "name"),
                        cor_convert_member(cor_json_iter_value(&new), "name")))
            return false;
    }
    return true;
}

/* Appends the old containers with the resources of the new ones. */
static int resize_containers(struct cor_str before, struct cor_str after, struct cor_buf *out)
{
    struct cor_json_iter old = pod_list(before), new = pod_list(after);
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&old) && cor_json_iter_elem(&new)) {
        struct cor_str container = cor_json_iter_value(&old), next = cor_json_iter_value(&new);
        struct cor_edits edits = {.n = 0};

        cor_edits_set(&edits, COR_STR("resources"), cor_convert_member(next, "resources"));
        cor_edits_set(&edits, COR_STR("resizePolicy"), cor_convert_member(next, "resizePolicy"));
        cor_json_begin_object(&w);
        cor_edits_write(&edits, container, false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* A resize takes resources and resize policies of the same containers in the same order. A request
 * with other containers keeps them, and all else when their number differs: validation refuses it,
 * and describes what was sent. */
int cor_strategy_pod_resize(const struct cor_prepare *prepare, struct cor_str spec,
                            struct cor_buf *out)
{
    static const char *const lists[] = {"containers", "initContainers"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf init = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_buf *made[] = {&plain, &init};
    struct cor_str old = pod_old_spec(prepare);
    struct cor_edits edits = {.n = 0};
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        if (resize_count(cor_convert_member(old, lists[i])) !=
            resize_count(cor_convert_member(spec, lists[i])))
            return 0;
    }
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(lists); i++) {
        struct cor_str before = cor_convert_member(old, lists[i]);
        struct cor_str after = cor_convert_member(spec, lists[i]);

        if (!resize_has_old_names(before, after)) {
            cor_edits_set(&edits, cor_strz(lists[i]), after);
            continue;
        }
        r = resize_containers(before, after, made[i]);
        if (r == 0 && made[i]->n > 2)
            cor_edits_set(&edits, cor_strz(lists[i]), cor_buf_str(made[i]));
    }
    if (r == 0)
        r = cor_edits_apply(&edits, old, out);
    return r < 0 ? r : 1;
}
