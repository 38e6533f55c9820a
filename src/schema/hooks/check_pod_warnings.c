/* The hooks of the warn programs of pods and pod templates (schema/check/check.h describes what
 * they work with). A container's ports are compared with those of all containers before it: each
 * pair that is in each other's way is a warning, in upstream's order. The ports are read into an
 * array first. A pod has few ports, which are compared with one another; when there are many, sets
 * of what was seen tell which of them is in the way of another, and only these are compared.
 * Failures: no memory, which the errors keep. Thread: any. */
#include "base/limits.h"
#include "schema/hooks/check_warnings.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/hooks/hooks.h"

#define SECCOMP   "container.seccomp.security.alpha.kubernetes.io/"
#define APPARMOR  "container.apparmor.security.beta.kubernetes.io/"
#define LOCALHOST "localhost/"
#define PORTS_FEW 16 /* so many ports are compared with one another */

COR_HOOK(warn_repeated)
{
    struct cor_place item, field;
    size_t member = cor_type_member_index(cor_type_element(place->type), arg);

    if (cor_place_length(check, place) < 2)
        return;
    COR_EACH(check, place, item) {
        struct cor_str text;

        cor_place_member(check, &item, member, &field);
        text = cor_place_text(check, &field);
        if (!cor_check_see(check, COR_SEEN_BY_WARNINGS, place, text))
            cor_check_warn_at(check, &field.path, "duplicate %.*s %s", COR_STR_ARG(arg),
                              cor_check_quote(check, text));
    }
}

/* --- Annotations of containers ---------------------------------------------------------------- */

/* Notes the annotations that are about a container, once for all containers: an object may have
 * many of both. */
static void note_annotations(struct cor_check *check, const struct cor_place *annotations)
{
    struct cor_each each = cor_each(check, annotations);
    struct cor_str key;

    if (!cor_check_see(check, COR_SEEN_CONTAINER_KEYS, annotations, COR_STR("")))
        return;
    while (cor_each_next_key(check, &each, &key)) {
        if (cor_str_starts(key, COR_STR(SECCOMP)) || cor_str_starts(key, COR_STR(APPARMOR)))
            (void)cor_check_see(check, COR_SEEN_CONTAINER_KEYS, annotations, key);
    }
}

/* The annotation `prefix` + `name`; false: there is none. */
static bool find_annotation(struct cor_check *check, const struct cor_place *annotations,
                            const char *prefix, struct cor_str name, struct cor_place *ret_entry)
{
    const char *key = cor_check_printf(check, "%s%.*s", prefix, COR_STR_ARG(name));

    return cor_check_has_seen(check, COR_SEEN_CONTAINER_KEYS, cor_strz(key)) &&
           cor_place_entry(check, annotations, cor_strz(key), ret_entry);
}

static bool has_profile(struct cor_check *check, const struct cor_place *of, const char *profile)
{
    struct cor_place context, field;

    return cor_place_field(check, of, "securityContext", &context) &&
           cor_place_field(check, &context, profile, &field);
}

/* Does the annotation have the AppArmor profile that the field of the pod has? */
static bool is_profile_of_pod(struct cor_check *check, const struct cor_place *spec,
                              struct cor_str annotation)
{
    struct cor_place context, profile;
    struct cor_str type, local;

    if (!has_profile(check, spec, "appArmorProfile"))
        return false;
    cor_place_field(check, spec, "securityContext", &context);
    cor_place_field(check, &context, "appArmorProfile", &profile);
    type = cor_field_text(check, &profile, "type");
    local = cor_field_text(check, &profile, "localhostProfile");
    if (cor_str_eqz(annotation, "unconfined"))
        return cor_str_eqz(type, "Unconfined") && local.n == 0;
    if (cor_str_eqz(annotation, "runtime/default"))
        return cor_str_eqz(type, "RuntimeDefault") && local.n == 0;
    return cor_str_starts(annotation, COR_STR(LOCALHOST)) && annotation.n > sizeof(LOCALHOST) - 1 &&
           cor_str_eqz(type, "Localhost") &&
           cor_str_eq(local, cor_str_from(annotation, sizeof(LOCALHOST) - 1));
}

/* The annotation of a pod itself was copied into the field before, which made the warning. */
COR_HOOK(warn_annotations)
{
    const struct cor_place *spec = cor_place_around(place, "PodSpec");
    struct cor_str name = cor_field_text(check, place, "name");
    struct cor_place metadata, annotations, entry;

    assert(spec && spec->parent);
    cor_place_field(check, spec->parent, "metadata", &metadata);
    cor_place_field(check, &metadata, "annotations", &annotations);
    note_annotations(check, &annotations);
    if (find_annotation(check, &annotations, SECCOMP, name, &entry) &&
        !has_profile(check, place, "seccompProfile"))
        cor_check_warn_at(check, &entry.path,
                          "non-functional in v1.27+; use the \"seccompProfile\" field instead");
    if (cor_place_around(place, "PodTemplateSpec") &&
        find_annotation(check, &annotations, APPARMOR, name, &entry) &&
        !has_profile(check, place, "appArmorProfile") &&
        !is_profile_of_pod(check, spec, cor_place_text(check, &entry)))
        cor_check_warn_at(check, &entry.path,
                          "deprecated since v1.30; use the \"appArmorProfile\" field instead");
}

/* --- Environment ------------------------------------------------------------------------------ */

/* Returns whether the variable refers to an earlier one of the same name, and contains more than
 * that reference. */
static bool extends_itself(struct cor_check *check, const struct cor_place *item,
                           struct cor_str name)
{
    struct cor_str value = cor_field_text(check, item, "value");
    struct cor_str parts[] = {COR_STR("$("), name, COR_STR(")")};
    struct cor_str self = cor_check_concat(check, parts, COR_ARRAY_LEN(parts));
    struct cor_place from;

    return !cor_place_field(check, item, "valueFrom", &from) && !cor_str_eq(value, self) &&
           memmem(value.p, value.n, self.p, self.n);
}

COR_HOOK(warn_env)
{
    struct cor_place item;

    if (cor_place_length(check, place) < 2)
        return;
    COR_EACH(check, place, item) {
        struct cor_str name = cor_field_text(check, &item, "name");

        if (!cor_check_see(check, COR_SEEN_BY_WARNINGS, place, name) &&
            !cor_check_is_warned(check) && !extends_itself(check, &item, name))
            cor_check_warn_at(check, &item.path,
                              "hides previous definition of %s, which may be dropped when using "
                              "apply",
                              cor_check_quote(check, name));
    }
}

/* --- Ports ------------------------------------------------------------------------------------ */

static const char *const port_lists[] = {"initContainers", "containers", "ephemeralContainers"};

/* A walk over the ports of all containers of a pod. It must not be moved: places refer to others.
 */
struct port_walk {
    struct cor_check *check;
    size_t list;
    struct cor_place containers, container, ports, port;
    struct cor_each each_container, each_port;
    bool is_in_list, is_in_container;
    size_t n; /* ports that were passed */
};

/* To the next port, in the order init containers, containers, ephemeral containers. */
static bool port_walk_next(struct port_walk *walk, const struct cor_place *spec)
{
    struct cor_check *check = walk->check;

    for (;;) {
        if (walk->is_in_container) {
            walk->is_in_container = cor_each_next(check, &walk->each_port, &walk->port);
            if (walk->is_in_container) {
                walk->n++;
                return true;
            }
        } else if (walk->is_in_list) {
            walk->is_in_list = cor_each_next(check, &walk->each_container, &walk->container);
            if (walk->is_in_list &&
                cor_place_field(check, &walk->container, "ports", &walk->ports)) {
                walk->each_port = cor_each(check, &walk->ports);
                walk->is_in_container = true;
            }
        } else if (walk->list < COR_ARRAY_LEN(port_lists)) {
            cor_place_field(check, spec, port_lists[walk->list++], &walk->containers);
            walk->each_container = cor_each(check, &walk->containers);
            walk->is_in_list = true;
        } else {
            return false;
        }
    }
}

struct port {
    int64_t container_port, host_port;
    struct cor_str name, protocol, host_ip;
    size_t list, container, index; /* where it is: which of port_lists, and the indexes */
};

/* The port where the walk is. */
static struct port read_port(const struct port_walk *walk)
{
    struct cor_check *check = walk->check;
    const struct cor_place *place = &walk->port;

    return (struct port){
        .container_port = cor_field_int(check, place, "containerPort"),
        .host_port = cor_field_int(check, place, "hostPort"),
        .name = cor_field_text(check, place, "name"),
        .protocol = cor_field_text(check, place, "protocol"),
        .host_ip = cor_field_text(check, place, "hostIP"),
        .list = walk->list - 1,
        .container = walk->each_container.index - 1,
        .index = walk->each_port.index - 1,
    };
}

/* Appends the path of a port. */
static int print_port_path(const struct cor_place *spec, const struct port *port,
                           struct cor_buf *out)
{
    struct cor_field_path list = cor_field_child(&spec->path, cor_strz(port_lists[port->list]));
    struct cor_field_path container = cor_field_index(&list, port->container);
    struct cor_field_path ports = cor_field_child(&container, COR_STR("ports"));
    struct cor_field_path path = cor_field_index(&ports, port->index);

    return cor_field_path_print(&path, out);
}

/* What is said of a port that comes after `other`; NULL: nothing. */
static const char *compare_ports(const struct port *port, const struct port *other)
{
    if (port->container_port != other->container_port ||
        !cor_str_eq(port->protocol, other->protocol))
        return NULL;
    if (port->host_port == other->host_port && cor_str_eq(port->host_ip, other->host_ip))
        return "duplicate";
    if (port->host_port == 0 || other->host_port == 0)
        return "overlapping";
    if (port->host_port == other->host_port && (port->host_ip.n == 0) != (other->host_ip.n == 0))
        return "dangerously ambiguous";
    return NULL;
}

/* Returns whether the port conflicts with an earlier one, and remembers it for those that follow.
 */
static bool meets_another_port(struct cor_check *check, const struct cor_place *spec,
                               const struct port *port)
{
    const char *group = cor_check_printf(check, "%lld/%.*s/", (long long)port->container_port,
                                         COR_STR_ARG(port->protocol));
    const char *host = cor_check_printf(check, "%s%lld/", group, (long long)port->host_port);
    const char *any = cor_check_printf(check, "%s*", host);
    const char *whole = cor_check_printf(check, "%s%.*s", host, COR_STR_ARG(port->host_ip));
    const char *zero = cor_check_printf(check, "%s0/*", group);
    bool meets = cor_check_has_seen(check, COR_SEEN_BY_WARNINGS, cor_strz(whole)) ||
                 cor_check_has_seen(check, COR_SEEN_BY_WARNINGS, cor_strz(zero));

    if (!cor_check_see(check, COR_SEEN_BY_WARNINGS, spec, cor_strz(group)) && port->host_port == 0)
        meets = true;
    /* `host` alone is the key of a port without an address. */
    if (!cor_check_see(check, COR_SEEN_BY_WARNINGS, spec, cor_strz(any)) &&
        (port->host_ip.n == 0 || cor_check_has_seen(check, COR_SEEN_BY_WARNINGS, cor_strz(host))))
        meets = true;
    (void)cor_check_see(check, COR_SEEN_BY_WARNINGS, spec, cor_strz(whole));
    return meets;
}

/* Compares the port where the walk is with all before it, which `ports` begins with. */
static void compare_with_earlier(const struct port_walk *walk, const struct cor_place *spec,
                                 const struct port *ports)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_check *check = walk->check;
    const struct port *port = &ports[walk->n - 1];

    for (const struct port *other = ports; other < port && !cor_check_is_warned(check); other++) {
        const char *how = compare_ports(port, other);

        if (!how)
            continue;
        cor_buf_reset(&path);
        cor_check_note(check, print_port_path(spec, other, &path));
        cor_check_warn_at(check, &walk->port.path, "%s port definition with %s", how,
                          cor_buf_z(&path));
    }
}

/* Adds the warning about the name of a port that one before it has as well. */
static void warn_of_port_name(const struct port_walk *walk, const struct cor_place *spec,
                              const struct port *ports)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_check *check = walk->check;
    const struct port *port = &ports[walk->n - 1], *first = ports;

    while (!cor_str_eq(first->name, port->name))
        first++;
    cor_check_note(check, print_port_path(spec, first, &path));
    cor_check_warn_at(check, &walk->port.path,
                      "duplicate port name %s with %s, services and probes that select ports by "
                      "name will use %s",
                      cor_check_quote(check, port->name), cor_buf_z(&path), cor_buf_z(&path));
}

/* Adds the warnings about `n` ports, which are read into `ports`. */
static void warn_of_ports(struct cor_check *check, const struct cor_place *spec, size_t n,
                          struct port *ports)
{
    struct port_walk walk = {.check = check}, names = {.check = check};

    while (port_walk_next(&walk, spec)) {
        struct port *port = &ports[walk.n - 1];

        *port = read_port(&walk);
        if (port->host_ip.n > 0 && port->host_port == 0)
            cor_check_warn_at(check, &walk.port.path,
                              "hostIP set without hostPort: {Name:%.*s HostPort:0 "
                              "ContainerPort:%lld Protocol:%.*s HostIP:%.*s}",
                              COR_STR_ARG(port->name), (long long)port->container_port,
                              COR_STR_ARG(port->protocol), COR_STR_ARG(port->host_ip));
        if (n > 1 && (n <= PORTS_FEW || meets_another_port(check, spec, port)))
            compare_with_earlier(&walk, spec, ports);
    }
    while (n > 1 && !cor_check_is_warned(check) && port_walk_next(&names, spec)) {
        struct cor_str name = ports[names.n - 1].name;

        if (name.n > 0 && !cor_check_see(check, COR_SEEN_BY_WARNINGS, spec, name))
            warn_of_port_name(&names, spec, ports);
    }
}

COR_HOOK(warn_ports)
{
    struct port_walk count = {.check = check};
    struct port few[PORTS_FEW], *many;
    struct cor_place address;
    bool has_address = false;

    while (port_walk_next(&count, place))
        has_address = cor_place_field(check, &count.port, "hostIP", &address) || has_address;
    if (count.n < 2 && !has_address)
        return;
    if (count.n <= PORTS_FEW) {
        warn_of_ports(check, place, count.n, few);
        return;
    }
    many = cor_calloc(count.n, sizeof(*many));
    if (many)
        warn_of_ports(check, place, count.n, many);
    else
        cor_check_note(check, -COR_ENOMEM);
    cor_free(many);
}
