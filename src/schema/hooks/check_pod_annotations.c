/* The hooks of validation for the annotations of pods and templates that mean something: mirrors of
 * static pods, the cost of a deletion, and the annotations that came before the fields for seccomp
 * and AppArmor, which must agree with those. Thread: any. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "schema/hooks/hooks.h"

#define MIRROR        "kubernetes.io/config.mirror"
#define DELETION_COST "controller.kubernetes.io/pod-deletion-cost"
#define SECCOMP_POD   "seccomp.security.alpha.kubernetes.io/pod"
#define SECCOMP       "container.seccomp.security.alpha.kubernetes.io/"
#define APPARMOR      "container.apparmor.security.beta.kubernetes.io/"
#define LOCALHOST     "localhost/"

static const char *const container_lists[] = {"initContainers", "containers",
                                              "ephemeralContainers"};

/* --- Annotations by themselves ---------------------------------------------------------------- */

/* Upstream's integer of 32 bits: no plus, no zeros in front. */
static bool is_cost(struct cor_str text)
{
    struct cor_str digits = text;
    int64_t n;

    if (digits.n > 0 && digits.p[0] == '-')
        digits = cor_str_from(digits, 1);
    if (digits.n > 1 && digits.p[0] == '0')
        return false;
    return cor_str_to_i64(text, &n) == 0 && n >= INT32_MIN && n <= INT32_MAX;
}

static void check_seccomp(struct cor_check *check, const struct cor_place *annotations,
                          const struct cor_place *entry)
{
    struct cor_field_path path = cor_field_child(&annotations->path, entry->key);
    struct cor_str text = cor_place_text(check, entry);

    if (cor_str_eq(text, COR_STR("runtime/default")) ||
        cor_str_eq(text, COR_STR("docker/default")) || cor_str_eq(text, COR_STR("unconfined")))
        return;
    if (cor_str_starts(text, COR_STR(LOCALHOST)))
        cor_format_add_text(COR_FORMAT_LOCAL_PATH, cor_str_from(text, sizeof(LOCALHOST) - 1), &path,
                            check->errors);
    else
        cor_check_add(check, COR_FIELD_INVALID, &path, cor_field_string(text),
                      "must be a valid seccomp profile");
}

/* The names of all containers, for annotations that name one. */
static void add_container_names(struct cor_check *check, const struct cor_place *spec,
                                struct cor_str_set *names)
{
    struct cor_place list, container;
    bool is_new;

    for (size_t i = 0; i < COR_ARRAY_LEN(container_lists); i++) {
        cor_place_field(check, spec, container_lists[i], &list);
        COR_EACH(check, &list, container)
            cor_check_note(
                check, cor_str_set_add(names, cor_field_text(check, &container, "name"), &is_new));
    }
}

static void check_apparmor(struct cor_check *check, const struct cor_place *entry,
                           const struct cor_str_set *names)
{
    struct cor_str container = cor_str_from(entry->key, sizeof(APPARMOR) - 1);
    struct cor_str text = cor_place_text(check, entry);

    if (!cor_str_set_has(names, container))
        cor_check_add_value(check, COR_FIELD_INVALID, entry, cor_field_string(container),
                            "container not found");
    if (text.n == 0 || cor_str_eq(text, COR_STR("runtime/default")) ||
        cor_str_eq(text, COR_STR("unconfined")) || cor_str_starts(text, COR_STR(LOCALHOST)))
        return;
    cor_check_invalid(
        check, entry,
        cor_check_printf(check, "invalid AppArmor profile name: \"%.*s\"", COR_STR_ARG(text)));
}

/* Was the cost wrong before the update? Then another wrong one passes. */
static bool had_bad_cost(struct cor_check *check, const struct cor_place *entry)
{
    struct cor_place old = cor_place_old(entry);

    return cor_place_is_present(&old) && !is_cost(cor_place_text(check, &old));
}

/* The place is the map of annotations below metadata. Few pods have one of these annotations, so
 * the names of containers are gathered when the first of AppArmor comes. */
COR_HOOK(pod_annotations)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set names = {.nfew = 0};
    struct cor_place spec, entry;
    bool has_names = false;

    if (!cor_place_is_present(place))
        return;
    cor_str_set_init(&names, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_place_field(check, place->parent->parent, "spec", &spec);
    if (cor_place_entry(check, place, COR_STR(MIRROR), &entry) &&
        cor_field_text(check, &spec, "nodeName").n == 0)
        cor_check_invalid(check, &entry, "must set spec.nodeName if mirror pod annotation is set");
    if (cor_place_entry(check, place, COR_STR(DELETION_COST), &entry) &&
        !is_cost(cor_place_text(check, &entry)) && !had_bad_cost(check, &entry))
        cor_check_invalid(check, &entry, "must be a 32bit integer");
    if (cor_place_entry(check, place, COR_STR(SECCOMP_POD), &entry))
        check_seccomp(check, place, &entry);
    COR_EACH(check, place, entry) {
        if (cor_str_starts(entry.key, COR_STR(SECCOMP)))
            check_seccomp(check, place, &entry);
    }
    COR_EACH(check, place, entry) {
        if (!cor_str_starts(entry.key, COR_STR(APPARMOR)))
            continue;
        if (!has_names)
            add_container_names(check, &spec, &names);
        has_names = true;
        check_apparmor(check, &entry, &names);
    }
}

/* --- Annotations beside fields ---------------------------------------------------------------- */

/* `what` is how messages name the mechanism; docker/default is an old name of seccomp's default. */
static void check_agrees(struct cor_check *check, const struct cor_place *profile,
                         const struct cor_field_path *path, struct cor_str annotation,
                         const char *what)
{
    struct cor_field_path type_path = cor_field_child(path, COR_STR("type"));
    struct cor_field_path local_path = cor_field_child(path, COR_STR("localhostProfile"));
    struct cor_str type = cor_field_text(check, profile, "type");
    bool is_local = cor_str_starts(annotation, COR_STR(LOCALHOST)), agrees = true;
    struct cor_place local;

    if (cor_str_eq(type, COR_STR("Unconfined")))
        agrees = cor_str_eq(annotation, COR_STR("unconfined"));
    else if (cor_str_eq(type, COR_STR("RuntimeDefault")))
        agrees = cor_str_eq(annotation, COR_STR("runtime/default")) ||
                 (what[0] == 's' && cor_str_eq(annotation, COR_STR("docker/default")));
    else if (cor_str_eq(type, COR_STR("Localhost")))
        agrees = is_local;
    if (!agrees) {
        cor_check_add(check, COR_FIELD_FORBIDDEN, &type_path, cor_field_none(),
                      cor_check_printf(check, "%s type in annotation and field must match", what));
        return;
    }
    if (!cor_str_eq(type, COR_STR("Localhost")))
        return;
    if (!cor_place_field(check, profile, "localhostProfile", &local) ||
        !cor_str_eq(cor_str_from(annotation, sizeof(LOCALHOST) - 1), cor_place_text(check, &local)))
        cor_check_add(
            check, COR_FIELD_FORBIDDEN, &local_path, cor_field_none(),
            cor_check_printf(check, "%s profile in annotation and field must match", what));
}

/* The annotations of one mechanism, in the order of the containers that they name. */
struct named {
    struct cor_str container, text;
};

/* How many annotations have the prefix; with `ret`, what they are. */
static size_t gather_named(struct cor_check *check, const struct cor_place *annotations,
                           const char *prefix, struct named *ret)
{
    struct cor_place entry;
    size_t n = 0;

    COR_EACH(check, annotations, entry) {
        if (!cor_str_starts(entry.key, cor_strz(prefix)))
            continue;
        if (ret)
            ret[n] = (struct named){cor_str_from(entry.key, strlen(prefix)),
                                    cor_place_text(check, &entry)};
        n++;
    }
    return n;
}

static int order_named(const void *key, const void *element)
{
    return cor_str_cmp(*(const struct cor_str *)key, ((const struct named *)element)->container);
}

/* Compares the containers that annotations name with their fields. A container without the field
 * has that of the pod, `of_pod`; NULL: none. */
static void check_named(struct cor_check *check, const struct cor_place *spec,
                        const struct named *named, size_t n, const char *field, const char *what,
                        const struct cor_place *of_pod)
{
    struct cor_place list, container, security, profile;

    for (size_t i = 0; i < COR_ARRAY_LEN(container_lists); i++) {
        cor_place_field(check, spec, container_lists[i], &list);
        COR_EACH(check, &list, container) {
            struct cor_str name = cor_field_text(check, &container, "name");
            const struct named *found = bsearch(&name, named, n, sizeof(*named), order_named);
            bool has = cor_place_field(check, &container, "securityContext", &security) &&
                       cor_place_field(check, &security, field, &profile);
            struct cor_field_path context, path;

            if (!found || (!has && !of_pod))
                continue;
            context = cor_field_child(&container.path, COR_STR("securityContext"));
            path = cor_field_child(&context, cor_strz(field));
            check_agrees(check, has ? &profile : of_pod, &path, found->text, what);
        }
    }
}

/* A mechanism with annotations per container and a field of that name in security contexts. Few
 * pods have such an annotation. */
static void check_containers_agree(struct cor_check *check, const struct cor_place *owner,
                                   const char *prefix, const char *field, const char *what,
                                   bool inherits)
{
    struct cor_place metadata, annotations, spec, security, of_pod;
    bool pod_has = false;
    struct named *named;
    size_t n;

    cor_place_field(check, owner, "metadata", &metadata);
    cor_place_field(check, owner, "spec", &spec);
    if (!cor_place_field(check, &metadata, "annotations", &annotations))
        return;
    n = gather_named(check, &annotations, prefix, NULL);
    if (n == 0)
        return;
    named = cor_calloc(n, sizeof(*named));
    if (!named) {
        cor_check_note(check, -COR_ENOMEM);
        return;
    }
    n = gather_named(check, &annotations, prefix, named);
    if (inherits && cor_place_field(check, &spec, "securityContext", &security))
        pod_has = cor_place_field(check, &security, field, &of_pod);
    check_named(check, &spec, named, n, field, what, pod_has ? &of_pod : NULL);
    cor_free(named);
}

COR_HOOK(seccomp_agrees)
{
    struct cor_place metadata, annotations, spec, security, profile, entry;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, place, "spec", &spec);
    if (!cor_place_field(check, &metadata, "annotations", &annotations))
        return;
    if (cor_place_field(check, &spec, "securityContext", &security) &&
        cor_place_field(check, &security, "seccompProfile", &profile) &&
        cor_place_entry(check, &annotations, COR_STR(SECCOMP_POD), &entry))
        check_agrees(check, &profile, &profile.path, cor_place_text(check, &entry), "seccomp");
    check_containers_agree(check, place, SECCOMP, "seccompProfile", "seccomp", false);
}

COR_HOOK(apparmor_agrees)
{
    struct cor_place spec, os;

    cor_place_field(check, place, "spec", &spec);
    if (cor_place_field(check, &spec, "os", &os) &&
        cor_str_eq(cor_field_text(check, &os, "name"), COR_STR("windows")))
        return;
    check_containers_agree(check, place, APPARMOR, "appArmorProfile", "apparmor", true);
}

COR_WHEN(is_mirror_pod)
{
    struct cor_place metadata, annotations, entry;

    if (!place->parent || !cor_str_eq(cor_type_name(place->parent->type), COR_STR("Pod")))
        return false;
    cor_place_field(check, place->parent, "metadata", &metadata);
    return cor_place_field(check, &metadata, "annotations", &annotations) &&
           cor_place_entry(check, &annotations, COR_STR(MIRROR), &entry);
}
