/* clang-format off */
/* The hooks of validation for updates of pods and of their ephemeral containers (schema/check/check.h
 * describes what they work with). The status is in check_pod_status.c, a resize in check_pod_resize.c.
 *
 * Most of a pod's spec may not change at all. As upstream does, cor_hook_lasting_spec() makes a
 * spec in which all that may change is as before, and compares the old one with it:
 *
 *   spec of the request ──► with the old images, deadline, gates, tolerations … ──► is it the old spec?
 *                                                                                    no ──► the difference
 *
 * The difference is that of the internal forms of both (schema/go/go_value.h), printed line by line
 * (base/line_diff.h). Thread: any. */
/* clang-format on */
#include "schema/hooks/check_pod_update.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/line_diff.h"
#include "base/map.h"
#include "schema/go/go_value.h"
#include "schema/hooks/hooks.h"
#include "schema/walk/equal.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/pretty.h"
#include "json/write/writer.h"

#define MIRROR          "kubernetes.io/config.mirror"
#define APPARMOR        "container.apparmor.security.beta.kubernetes.io/"
#define DIFFERENCE_MAX  (24u * 1024)  /* bytes of a difference; more is left out */
#define DIFFERENCES_MAX 16            /* of the ephemeral containers of a request */
#define INTERNAL_MAX    (512u * 1024) /* bytes of an internal form that is compared by lines */

/* --- Lists and maps --------------------------------------------------------------------------- */

COR_WHEN(keeps_entries)
{
    struct cor_place old = cor_place_old(place), entry;
    size_t kept = 0;

    COR_EACH(check, place, entry)
        kept += entry.old != COR_JSON_NO_NODE && !cor_place_is_changed(check, &entry);
    return kept == cor_place_length(check, &old);
}

COR_WHEN(keeps_keys)
{
    struct cor_place old = cor_place_old(place), entry;
    size_t kept = 0;

    COR_EACH(check, place, entry)
        kept += entry.old != COR_JSON_NO_NODE;
    return kept == cor_place_length(check, &old);
}

/* --- Annotations ------------------------------------------------------------------------------ */

static bool is_lasting(struct cor_str key)
{
    return cor_str_starts(key, COR_STR(APPARMOR)) || cor_str_eq(key, COR_STR(MIRROR));
}

static void refuse_annotation(struct cor_check *check, const struct cor_place *entry,
                              const char *apparmor, const char *mirror)
{
    cor_check_forbidden(check, entry, cor_str_eq(entry->key, COR_STR(MIRROR)) ? mirror : apparmor);
}

/* Entries that were there come first, also those that the request removes. */
COR_HOOK(lasting_annotations)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set kept = {.nfew = 0};
    struct cor_place old = cor_place_old(place), entry;
    struct cor_each each = cor_each(check, place);
    bool is_new;

    cor_str_set_init(&kept, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_each_next(check, &each, &entry)) {
        if (is_lasting(entry.key) && entry.old != COR_JSON_NO_NODE &&
            !cor_place_is_changed(check, &entry))
            cor_check_note(check, cor_str_set_add(&kept, entry.key, &is_new));
    }
    each = cor_each(check, &old);
    while (cor_each_next(check, &each, &entry)) {
        if (is_lasting(entry.key) && !cor_str_set_has(&kept, entry.key))
            refuse_annotation(check, &entry, "may not remove or update AppArmor annotations",
                              "may not remove or update mirror pod annotation");
    }
    each = cor_each(check, place);
    while (cor_each_next(check, &each, &entry)) {
        if (is_lasting(entry.key) && entry.old == COR_JSON_NO_NODE)
            refuse_annotation(check, &entry, "may not add AppArmor annotations",
                              "may not add mirror pod annotation");
    }
}

/* --- Tolerations and gates -------------------------------------------------------------------- */

/* All of a toleration but its seconds, as one text. */
static struct cor_str toleration_text(struct cor_check *check, const struct cor_place *toleration)
{
    struct cor_str key = cor_field_text(check, toleration, "key");
    struct cor_str value = cor_field_text(check, toleration, "value");
    struct cor_str how = cor_field_text(check, toleration, "operator");
    struct cor_str effect = cor_field_text(check, toleration, "effect");

    return cor_strz(cor_check_printf(check, "%zu:%zu:%zu:%.*s%.*s%.*s%.*s", key.n, value.n, how.n,
                                     COR_STR_ARG(key), COR_STR_ARG(value), COR_STR_ARG(how),
                                     COR_STR_ARG(effect)));
}

COR_WHEN(keeps_tolerations)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set now = {.nfew = 0};
    struct cor_place old = cor_place_old(place), item;
    struct cor_each each = cor_each(check, place);
    bool is_new, keeps = true;

    if (cor_place_length(check, &old) == 0 || !cor_place_is_changed(check, place))
        return true;
    cor_str_set_init(&now, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_each_next(check, &each, &item))
        cor_check_note(check, cor_str_set_add(&now, toleration_text(check, &item), &is_new));
    each = cor_each(check, &old);
    while (keeps && cor_each_next(check, &each, &item))
        keeps = cor_str_set_has(&now, toleration_text(check, &item));
    return keeps;
}

/* Of several gates with the same name, upstream reports the last. */
COR_HOOK(no_new_gates)
{
    COR_CLEANUP(cor_map_deinit) struct cor_map last = {.n = 0};
    struct cor_each each = cor_each(check, place);
    struct cor_place gate, name;
    uintptr_t i = 0;

    if (!cor_place_is_changed(check, place))
        return;
    cor_map_init(&last, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_each_next(check, &each, &gate))
        cor_check_note(check,
                       cor_map_put(&last, cor_field_text(check, &gate, "name"), (void *)++i, NULL));
    each = cor_each(check, place);
    for (i = 1; cor_each_next(check, &each, &gate); i++) {
        struct cor_str text;

        cor_place_field(check, &gate, "name", &name);
        text = cor_place_text(check, &name);
        if ((uintptr_t)cor_map_peek(&last, text) == i &&
            !cor_check_was_there(check, place, "name", text))
            cor_check_forbidden(
                check, &name,
                cor_check_printf(check,
                                 "only deletion is allowed, but found new scheduling gate '%.*s'",
                                 COR_STR_ARG(text)));
    }
}

/* --- Node affinity ---------------------------------------------------------------------------- */

/* Does the list begin with the elements of the old one? */
static bool begins_with_old(struct cor_check *check, const struct cor_place *list)
{
    struct cor_place old = cor_place_old(list), item;
    size_t nold = cor_place_length(check, &old), i = 0;
    struct cor_each each = cor_each(check, list);

    for (; i < nold && cor_each_next(check, &each, &item); i++) {
        if (cor_place_is_changed(check, &item))
            return false;
    }
    return i == nold;
}

/* A term without requirements selects nothing, so none may be added to it. */
static bool term_grows(struct cor_check *check, const struct cor_place *term)
{
    struct cor_place expressions, fields, old_expressions, old_fields;

    cor_place_field(check, term, "matchExpressions", &expressions);
    cor_place_field(check, term, "matchFields", &fields);
    old_expressions = cor_place_old(&expressions);
    old_fields = cor_place_old(&fields);
    if (cor_place_length(check, &old_expressions) + cor_place_length(check, &old_fields) == 0)
        return cor_place_length(check, &expressions) + cor_place_length(check, &fields) == 0;
    return begins_with_old(check, &expressions) && begins_with_old(check, &fields);
}

COR_HOOK(node_affinity_grows)
{
    struct cor_place affinity, nodes, required, terms, old_terms, term;
    size_t nold;

    cor_place_field(check, place, "affinity", &affinity);
    cor_place_field(check, &affinity, "nodeAffinity", &nodes);
    cor_place_field(check, &nodes, "requiredDuringSchedulingIgnoredDuringExecution", &required);
    cor_place_field(check, &required, "nodeSelectorTerms", &terms);
    old_terms = cor_place_old(&terms);
    nold = cor_place_length(check, &old_terms);
    if (nold == 0 || !cor_place_is_changed(check, &nodes))
        return;
    if (cor_place_length(check, &terms) != nold) {
        cor_check_invalid(check, &terms,
                          "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    COR_EACH(check, &terms, term) {
        if (!term_grows(check, &term))
            cor_check_invalid(check, &term,
                              "only additions are allowed (no mutations or deletions)");
    }
}

/* --- What may not change ---------------------------------------------------------------------- */

static int add_internal_lines(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf internal = {.max = INTERNAL_MAX};
    int r = cor_go_value(type, false, json, &internal);

    return r < 0 ? r : cor_json_pretty_narrow(cor_buf_str(&internal), out);
}

/* The difference between two values as the text that an error's detail ends with. A difference that
 * is too long ends early; that of very large values is "". */
static const char *difference(struct cor_check *check, const struct cor_type *type,
                              struct cor_str before, struct cor_str after)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf old = {.max = INTERNAL_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf new = {.max = INTERNAL_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = DIFFERENCE_MAX};
    int r = add_internal_lines(type, before, &old);

    if (r == 0)
        r = add_internal_lines(type, after, &new);
    if (r == 0)
        r = cor_line_diff(cor_buf_str(&old), cor_buf_str(&new), &text);
    if (r < 0 && r != -COR_ETOOBIG)
        cor_check_note(check, r);
    return cor_check_printf(check, "%s", cor_buf_z(&text));
}

/* Appends the containers of the request, as they were sent, with the images of the old ones. Both
 * lists have the same length. What was sent is looked up once for the whole list: a look-up for
 * each container would count all containers before it. */
static int add_with_old_images(struct cor_check *check, const struct cor_place *list,
                               struct cor_buf *out)
{
    struct cor_json_iter sent = cor_json_iter(cor_check_sent(check, list));
    struct cor_each each = cor_each(check, list);
    struct cor_place container, image, old_image;
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_each_next(check, &each, &container) && cor_json_iter_elem(&sent)) {
        struct cor_edits edits = {.n = 0};

        cor_place_field(check, &container, "image", &image);
        old_image = cor_place_old(&image);
        cor_edits_set(&edits, COR_STR("image"), cor_place_json(check, &old_image));
        cor_json_begin_object(&w);
        cor_edits_write(&edits, cor_json_iter_value(&sent), false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

static void keep_old(struct cor_check *check, const struct cor_place *spec, const char *name,
                     struct cor_edits *edits)
{
    struct cor_place field, old;

    cor_place_field(check, spec, name, &field);
    old = cor_place_old(&field);
    cor_edits_set(edits, cor_strz(name), cor_place_json(check, &old));
}

/* A negative time may become 1, what it always meant. */
static bool mends_grace_period(struct cor_check *check, const struct cor_place *spec)
{
    struct cor_place period, old;

    cor_place_field(check, spec, "terminationGracePeriodSeconds", &period);
    old = cor_place_old(&period);
    return cor_place_int(check, &old) < 0 && cor_place_int(check, &period) == 1;
}

/* The affinity of a gated pod with the old affinity to nodes, which has its own rules. */
static int keep_old_node_affinity(struct cor_check *check, const struct cor_place *spec,
                                  struct cor_edits *edits, struct cor_buf *out)
{
    struct cor_place affinity, nodes, old_affinity, old_nodes;
    struct cor_edits own = {.n = 0};
    struct cor_str json;
    int r;

    cor_place_field(check, spec, "affinity", &affinity);
    cor_place_field(check, &affinity, "nodeAffinity", &nodes);
    if (!cor_place_is_changed(check, &nodes))
        return 0;
    old_affinity = cor_place_old(&affinity);
    old_nodes = cor_place_old(&nodes);
    json = cor_check_sent(check, &affinity);
    cor_edits_set(&own, COR_STR("nodeAffinity"), cor_place_json(check, &old_nodes));
    r = cor_edits_apply(&own, json.p ? json : COR_STR("{}"), out);
    /* Affinity that has nothing else, and was not there before, is as before. */
    if (r == 0 && cor_str_eq(cor_buf_str(out), COR_STR("{}")) &&
        !cor_place_is_present(&old_affinity))
        cor_edits_drop(edits, COR_STR("affinity"));
    else if (r == 0)
        cor_edits_set(edits, COR_STR("affinity"), cor_buf_str(out));
    return r;
}

/* Appends the spec of the request with the old values of all that may change. */
static int add_with_old_values(struct cor_check *check, const struct cor_place *spec,
                               struct cor_buf *out)
{
    static const char *const lists[] = {"containers", "initContainers"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf init = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf affinity = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_buf *made[] = {&plain, &init};
    struct cor_edits edits = {.n = 0};
    struct cor_place list, gates, old_gates;
    struct cor_str json = cor_check_sent(check, spec);
    int r = 0;

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(lists); i++) {
        if (!cor_place_field(check, spec, lists[i], &list))
            continue;
        r = add_with_old_images(check, &list, made[i]);
        cor_edits_set(&edits, cor_strz(lists[i]), cor_buf_str(made[i]));
    }
    keep_old(check, spec, "activeDeadlineSeconds", &edits);
    keep_old(check, spec, "schedulingGates", &edits);
    keep_old(check, spec, "tolerations", &edits);
    if (mends_grace_period(check, spec))
        keep_old(check, spec, "terminationGracePeriodSeconds", &edits);
    cor_place_field(check, spec, "schedulingGates", &gates);
    old_gates = cor_place_old(&gates);
    if (r == 0 && cor_place_length(check, &old_gates) > 0) {
        keep_old(check, spec, "nodeSelector", &edits);
        r = keep_old_node_affinity(check, spec, &edits, &affinity);
    }
    return r < 0 ? r : cor_edits_apply(&edits, json.p ? json : COR_STR("{}"), out);
}

COR_HOOK(lasting_spec)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf kept = {.max = 2 * COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_place old_place = cor_place_old(place);
    struct cor_str json = cor_place_json(check, place), old = cor_place_json(check, &old_place);
    bool is_equal = true;
    int r;

    if (cor_check_is_over(check) || (json.p && old.p && cor_str_eq(json, old)))
        return;
    r = add_with_old_values(check, place, &kept);
    if (r == 0)
        r = cor_equal(place->type, cor_buf_str(&kept), old, &is_equal);
    cor_check_note(check, r);
    if (r < 0 || is_equal)
        return;
    cor_check_forbidden(
        check, place,
        cor_check_printf(
            check,
            "pod updates may not change fields other than "
            "`spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
            "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
            "previously negative)\n%s",
            difference(check, place->type, old, cor_buf_str(&kept))));
}

/* --- Ephemeral containers --------------------------------------------------------------------- */

/* Adds the errors of one old container. `now` is the place of the new one with its name, whose node
 * is COR_JSON_NO_NODE when it is gone. */
static void check_ephemeral_container(struct cor_check *check, const struct cor_place *list,
                                      const struct cor_place *now, size_t *differences)
{
    struct cor_place old = cor_place_old(now);
    struct cor_str name = cor_field_text(check, &old, "name");
    const char *text = "";

    if (now->node == COR_JSON_NO_NODE) {
        cor_check_forbidden(
            check, list,
            cor_check_printf(check, "existing ephemeral containers \"%.*s\" may not be removed\n",
                             COR_STR_ARG(name)));
    } else if (cor_place_is_changed(check, now)) {
        if ((*differences)++ < DIFFERENCES_MAX)
            text = difference(check, now->type, cor_place_json(check, &old),
                              cor_check_sent(check, now));
        cor_check_forbidden(
            check, list,
            cor_check_printf(check, "existing ephemeral containers \"%.*s\" may not be changed\n%s",
                             COR_STR_ARG(name), text));
    }
}

/* Of several containers with the same name, which is a mistake of its own, upstream compares the
 * last. */
COR_HOOK(lasting_ephemeral_containers)
{
    COR_CLEANUP(cor_map_deinit) struct cor_map by_name = {.n = 0};
    struct cor_place old = cor_place_old(place), container;
    struct cor_each each = cor_each(check, place);
    size_t differences = 0;

    if (!cor_place_is_changed(check, place))
        return;
    cor_map_init(&by_name, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_each_next(check, &each, &container))
        cor_check_note(check, cor_map_put(&by_name, cor_field_text(check, &container, "name"),
                                          (void *)((uintptr_t)container.node + 1), NULL));
    each = cor_each(check, &old);
    while (cor_each_next(check, &each, &container)) {
        uintptr_t found =
            (uintptr_t)cor_map_peek(&by_name, cor_field_text(check, &container, "name"));

        container.is_old = false;
        container.node = found > 0 ? (uint32_t)(found - 1) : COR_JSON_NO_NODE;
        check_ephemeral_container(check, place, &container, &differences);
    }
}
