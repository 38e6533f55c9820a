/* The hooks of validation for the containers of pods, init containers and ephemeral ones
 * (schema/check/check.h describes what they work with). The resources of containers are in
 * check_container_resources.c.
 *
 * Names that must be unique over several lists, and the volumes that may be mounted, are remembered
 * by the check while its rules pass them (cor_check_see()), so no hook looks through a list for
 * each element of another. Thread: any. */
#include "schema/hooks/check_container.h"

#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/words.h"
#include "meta/value/quantity.h"
#include "schema/hooks/hooks.h"

/* --- Names ------------------------------------------------------------------------------------ */

/* The names of containers and init containers are those that an ephemeral one may aim at. Upstream
 * does not remember an init container without a name. */
COR_HOOK(container_name)
{
    const struct cor_place *spec = cor_place_around(place, "PodSpec");
    bool is_ephemeral = cor_str_eq(cor_type_name(place->type), COR_STR("EphemeralContainer"));
    struct cor_place name, others;
    struct cor_str text;

    if (!spec)
        return;
    cor_place_field(check, place, "name", &name);
    text = cor_place_text(check, &name);
    if (!is_ephemeral && cor_place_field(check, spec, "ephemeralContainers", &others))
        (void)cor_check_see(check, COR_SEEN_TARGETS, spec, text);
    if (text.n == 0 && cor_str_eqz(place->parent->path.name, "initContainers")) {
        if (cor_check_has_seen(check, COR_SEEN_CONTAINERS, text))
            cor_check_duplicate(check, &name);
    } else if (!cor_check_see(check, COR_SEEN_CONTAINERS, spec, text)) {
        cor_check_duplicate(check, &name);
    }
}

COR_HOOK(target_container)
{
    struct cor_place target;
    struct cor_str text;

    cor_place_field(check, place, "targetContainerName", &target);
    text = cor_place_text(check, &target);
    if (text.n > 0 && !cor_check_has_seen(check, COR_SEEN_TARGETS, text))
        cor_check_not_found(check, &target, NULL);
}

COR_HOOK(image_is_trimmed)
{
    struct cor_str text = cor_place_text(check, place);

    if (cor_str_trim(text).n != text.n)
        cor_check_invalid(check, place, "must not have leading or trailing whitespace");
}

/* A name of a ConfigMap or Secret as a prefix: upstream replaces a dash at the end before it looks.
 */
COR_HOOK(name_prefix)
{
    struct cor_str text = cor_place_text(check, place);
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors mistakes = {0};
    struct cor_str masked = text;

    if (text.n > 1 && text.p[text.n - 1] == '-') {
        struct cor_str parts[] = {cor_str(text.p, text.n - 2), COR_STR("a")};

        masked = cor_check_concat(check, parts, COR_ARRAY_LEN(parts));
    }
    cor_format_add_text(COR_FORMAT_DNS_SUBDOMAIN, masked, &place->path, &mistakes);
    cor_check_note(check, mistakes.error);
    if (mistakes.n > 0)
        cor_check_format(check, place, COR_FORMAT_DNS_SUBDOMAIN);
}

/* --- Ports ------------------------------------------------------------------------------------ */

COR_HOOK(port_name)
{
    struct cor_str name = cor_place_text(check, place);

    if (name.n == 0 || cor_check_format(check, place, COR_FORMAT_PORT_NAME) > 0)
        return;
    if (!cor_check_see(check, COR_SEEN_PORTS, place->parent->parent, name))
        cor_check_duplicate(check, place);
}

/* Adds the host's ports of a container to the set; `path` is that of the container in messages. */
static void add_host_ports(struct cor_check *check, const struct cor_place *container,
                           const struct cor_field_path *path, struct cor_str_set *used)
{
    struct cor_field_path ports_path = cor_field_child(path, COR_STR("ports"));
    struct cor_field_path item_path, port_path;
    struct cor_place ports, port;
    struct cor_each each;
    size_t i = 0;

    cor_place_field(check, container, "ports", &ports);
    each = cor_each(check, &ports);
    for (; cor_each_next(check, &each, &port); i++) {
        int64_t number = cor_field_int(check, &port, "hostPort");
        struct cor_str parts[4], text;
        bool is_new = true;

        if (number == 0)
            continue;
        parts[0] = cor_field_text(check, &port, "protocol");
        parts[1] = COR_STR("/");
        parts[2] = cor_field_text(check, &port, "hostIP");
        parts[3] = cor_strz(cor_check_printf(check, "/%lld", (long long)number));
        text = cor_check_concat(check, parts, COR_ARRAY_LEN(parts));
        cor_check_note(check, cor_str_set_add(used, text, &is_new));
        if (is_new)
            continue;
        item_path = cor_field_index(&ports_path, i);
        port_path = cor_field_child(&item_path, COR_STR("hostPort"));
        cor_check_add(check, COR_FIELD_DUPLICATE, &port_path, cor_field_string(text), NULL);
    }
}

COR_HOOK(host_ports)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set used = {.nfew = 0};
    struct cor_place list, container;

    cor_str_set_init(&used, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_place_field(check, place, "containers", &list);
    COR_EACH(check, &list, container)
        add_host_ports(check, &container, &container.path, &used);
}

/* Init containers run one by one, so each is looked at alone, and upstream counts it as the first
 * of its list. */
COR_HOOK(init_host_ports)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set used = {.nfew = 0};
    struct cor_field_path first = cor_field_index(&place->parent->path, 0);

    cor_str_set_init(&used, COR_OBJECT_BYTES_MAX_DEFAULT);
    add_host_ports(check, place, &first, &used);
}

/* A template may leave the host's port out, because a pod gets it as a default. */
COR_HOOK(host_network_ports)
{
    bool is_pod = place->parent && cor_str_eq(cor_type_name(place->parent->type), COR_STR("Pod"));
    struct cor_place list, container, ports, port, host;
    struct cor_each each, inner;

    cor_place_field(check, place, "containers", &list);
    each = cor_each(check, &list);
    while (cor_each_next(check, &each, &container)) {
        cor_place_field(check, &container, "ports", &ports);
        inner = cor_each(check, &ports);
        while (cor_each_next(check, &inner, &port)) {
            int64_t number;

            cor_place_field(check, &port, "hostPort", &host);
            number = cor_place_int(check, &host);
            if ((is_pod || number != 0) && number != cor_field_int(check, &port, "containerPort"))
                cor_check_invalid(check, &host,
                                  "must match `containerPort` when `hostNetwork` is true");
        }
    }
}

/* --- Environment ------------------------------------------------------------------------------ */

static size_t count_set(struct cor_check *check, const struct cor_place *place,
                        const char *const *names, size_t n)
{
    struct cor_place field;
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += cor_place_field(check, place, names[i], &field);
    return found;
}

COR_WHEN(env_sources)
{
    static const char *const names[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                        "secretKeyRef", "fileKeyRef"};
    size_t n = count_set(check, place, names, COR_ARRAY_LEN(names));

    return n == (size_t)(arg.p[0] - '0');
}

COR_HOOK(env_from_sources)
{
    static const char *const names[] = {"configMapRef", "secretRef"};
    size_t n = count_set(check, place, names, COR_ARRAY_LEN(names));

    if (n == 0)
        cor_check_add(check, COR_FIELD_INVALID, &place->parent->path, cor_field_string(COR_STR("")),
                      "must specify one of: `configMapRef` or `secretRef`");
    else if (n > 1)
        cor_check_add(check, COR_FIELD_INVALID, &place->parent->path, cor_field_string(COR_STR("")),
                      "may not have more than one field specified at a time");
}

/* A path with a subscript: `metadata.labels['key']`. False: the path has no subscript. */
static bool split_subscript(struct cor_str path, struct cor_str *ret_path, struct cor_str *ret_key)
{
    ptrdiff_t at = cor_str_find(path, '[');

    if (at < 0 || path.n < (size_t)at + 4 || path.p[at + 1] != '\'' ||
        !cor_str_ends(path, COR_STR("']")))
        return false;
    *ret_path = cor_str(path.p, (size_t)at);
    *ret_key = cor_str(path.p + at + 2, path.n - (size_t)at - 4);
    return true;
}

/* What upstream says when a label of a pod's field is not known; NULL: it is. */
static const char *field_label_mistake(struct cor_check *check, struct cor_str version,
                                       struct cor_str path, bool has_subscript,
                                       struct cor_str whole)
{
    static const char *const known[] = {
        "metadata.annotations", "metadata.labels", "metadata.name",      "metadata.namespace",
        "metadata.uid",         "spec.nodeName",   "spec.restartPolicy", "spec.serviceAccountName",
        "spec.schedulerName",   "status.phase",    "status.hostIP",      "status.hostIPs",
        "status.podIP",         "status.podIPs",   "spec.host"};

    if (!cor_str_eq(version, COR_STR("v1")))
        return cor_check_printf(check, "unsupported pod version: %.*s", COR_STR_ARG(version));
    if (has_subscript) {
        if (cor_str_is_one_of(path, known, 2))
            return NULL;
        return cor_check_printf(check, "field label does not support subscript: %.*s",
                                COR_STR_ARG(whole));
    }
    if (cor_str_is_one_of(path, known, COR_ARRAY_LEN(known)))
        return NULL;
    return cor_check_printf(check, "field label not supported: %.*s", COR_STR_ARG(whole));
}

static struct cor_str lower_case(struct cor_check *check, struct cor_str text)
{
    char *copy = cor_check_copy(check, text);

    if (!copy)
        return COR_STR("");
    for (size_t i = 0; i < text.n; i++) {
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] - 'A' + 'a');
    }
    return cor_str(copy, text.n);
}

COR_HOOK(field_ref)
{
    static const char *const of_env[] = {"metadata.name",
                                         "metadata.namespace",
                                         "metadata.uid",
                                         "spec.nodeName",
                                         "spec.serviceAccountName",
                                         "status.hostIP",
                                         "status.hostIPs",
                                         "status.podIP",
                                         "status.podIPs"};
    static const char *const of_volumes[] = {"metadata.annotations", "metadata.labels",
                                             "metadata.name", "metadata.namespace", "metadata.uid"};
    bool is_env = cor_str_eq(arg, COR_STR("env"));
    const char *const *allowed = is_env ? of_env : of_volumes;
    size_t nallowed = is_env ? COR_ARRAY_LEN(of_env) : COR_ARRAY_LEN(of_volumes);
    struct cor_str path, whole, key = COR_STR("");
    struct cor_place version, field;
    const char *mistake;
    bool has_subscript;

    if (!cor_place_is_present(place))
        return;
    cor_place_field(check, place, "apiVersion", &version);
    cor_place_field(check, place, "fieldPath", &field);
    whole = path = cor_place_text(check, &field);
    if (cor_place_is_empty(check, &version)) {
        cor_check_required(check, &version, NULL);
        return;
    }
    if (whole.n == 0) {
        cor_check_required(check, &field, NULL);
        return;
    }
    has_subscript = split_subscript(whole, &path, &key);
    mistake =
        field_label_mistake(check, cor_place_text(check, &version), path, has_subscript, whole);
    if (mistake) {
        cor_check_invalid(check, &field,
                          cor_check_printf(check, "error converting fieldPath: %s", mistake));
        return;
    }
    if (!has_subscript) {
        if (!cor_str_is_one_of(path, allowed, nallowed))
            cor_check_not_supported(check, &field, allowed, nallowed);
        return;
    }
    if (cor_str_eq(path, COR_STR("metadata.annotations")))
        key = lower_case(check, key);
    cor_format_add_text(COR_FORMAT_QUALIFIED_NAME, key, &place->path, check->errors);
}

/* --- Resources as values ---------------------------------------------------------------------- */

/* The divisors that a resource allows: cpu has its own. */
static void check_divisor(struct cor_check *check, const struct cor_place *place,
                          struct cor_str resource)
{
    static const char *const of_cpu[] = {"1m", "1"};
    static const char *const of_bytes[] = {"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                           "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
    static const struct {
        const char *suffix;
        const char *name; /* NULL: cpu */
    } kinds[] = {
        {"cpu", NULL}, {"memory", "memory"}, {"ephemeral-storage", "local ephemeral storage"}};
    struct cor_place divisor;
    struct cor_str text;
    const char *name = NULL;
    bool is_known = false;

    cor_place_field(check, place, "divisor", &divisor);
    text = cor_place_text(check, &divisor);
    if (text.n == 0 || cor_quantity_sign(text) == 0)
        return;
    for (size_t i = 0; i < COR_ARRAY_LEN(kinds) && !is_known; i++) {
        struct cor_str rest = resource;
        struct cor_str before = cor_str_cut(&rest, '.');

        is_known =
            (cor_str_eq(before, COR_STR("limits")) || cor_str_eq(before, COR_STR("requests"))) &&
            rest.p && cor_str_eq(rest, cor_strz(kinds[i].suffix));
        name = kinds[i].name;
    }
    if (!is_known && (cor_str_starts(resource, COR_STR("limits.hugepages-")) ||
                      cor_str_starts(resource, COR_STR("requests.hugepages-")))) {
        is_known = true;
        name = "hugepages";
    }
    if (!is_known)
        return;
    if (!name && !cor_str_is_one_of(text, of_cpu, COR_ARRAY_LEN(of_cpu)))
        cor_check_add_value(check, COR_FIELD_INVALID, &divisor, cor_field_string(resource),
                            "only divisor's values 1m and 1 are supported with the cpu resource");
    if (name && !cor_str_is_one_of(text, of_bytes, COR_ARRAY_LEN(of_bytes)))
        cor_check_add_value(
            check, COR_FIELD_INVALID, &divisor, cor_field_string(resource),
            cor_check_printf(check,
                             "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, "
                             "1Pi, 1Ei are supported with the %s resource",
                             name));
}

COR_HOOK(resource_field_ref)
{
    static const char *const known[] = {
        "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
        "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
    struct cor_place container, field;
    struct cor_str resource;

    if (!cor_place_is_present(place))
        return;
    cor_place_field(check, place, "containerName", &container);
    cor_place_field(check, place, "resource", &field);
    resource = cor_place_text(check, &field);
    if (arg.n > 0 && cor_place_is_empty(check, &container))
        cor_check_required(check, &container, NULL);
    else if (resource.n == 0)
        cor_check_required(check, &field, NULL);
    else if (!cor_str_is_one_of(resource, known, COR_ARRAY_LEN(known)) &&
             !cor_str_starts(resource, COR_STR("limits.hugepages-")) &&
             !cor_str_starts(resource, COR_STR("requests.hugepages-")))
        cor_check_not_supported(check, &field, known, COR_ARRAY_LEN(known));
    check_divisor(check, place, resource);
}

/* --- Probes and handlers ---------------------------------------------------------------------- */

COR_HOOK(sleep_seconds)
{
    const struct cor_place *spec = cor_place_around(place, "PodSpec");
    struct cor_place grace, seconds;
    int64_t n, most;

    cor_place_field(check, place, "seconds", &seconds);
    if (!spec || !cor_place_field(check, spec, "terminationGracePeriodSeconds", &grace))
        return;
    n = cor_place_int(check, &seconds);
    most = cor_place_int(check, &grace);
    if (n < 0 || n > most)
        cor_check_add_value(
            check, COR_FIELD_INVALID, place,
            cor_field_json(cor_strz(cor_check_printf(check, "%lld", (long long)n))),
            cor_check_printf(
                check, "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
                (long long)most));
}

/* --- Security --------------------------------------------------------------------------------- */

COR_WHEN(has_host_users)
{
    const struct cor_place *spec = cor_place_around(place, "PodSpec");
    struct cor_place users;

    return !spec || !cor_place_field(check, spec, "hostUsers", &users) ||
           cor_place_bool(check, &users);
}

COR_WHEN(allows_privileged)
{
    return cor_check_allows_privileged(check);
}
