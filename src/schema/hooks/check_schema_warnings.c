/* clang-format off */
/* What in the schemas of a CustomResourceDefinition the server does not check: formats that it does
 * not know (contract types 5.3), and rules in CEL.
 *
 *   each version ──► its schema ──► the schema itself ──► the schemas in it, in upstream's order
 *
 * An update warns of formats that the old object does not have; they are remembered first. Every
 * write warns of rules, once, and names the first version that has any. Schemas
 * are walked by their nodes. The depth of the recursion is that of the JSON, at most
 * COR_JSON_DEPTH_MAX. Failures: no memory, which the errors keep. Thread: any. */
/* clang-format on */
#include <string.h>

#include "base/array.h"
#include "schema/hooks/hooks.h"

#define FORMAT_MAX 32 /* no format that is known has a longer name */

/* What is known, without the dashes that a name may have. Upstream goes by the formats of the
 * release before its own, which does not have those of Kubernetes' names. */
static bool is_known_format(struct cor_str format)
{
    static const char *const known[] = {
        "bsonobjectid", "uri",    "email",    "hostname", "ipv4",       "ipv6",
        "cidr",         "mac",    "uuid",     "uuid3",    "uuid4",      "uuid5",
        "isbn",         "isbn10", "isbn13",   "ssn",      "creditcard", "hexcolor",
        "rgbcolor",     "byte",   "password", "date",     "duration",   "datetime",
    };
    char name[FORMAT_MAX];
    size_t n = 0;

    for (size_t i = 0; i < format.n; i++) {
        if (format.p[i] == '-')
            continue;
        if (n == FORMAT_MAX)
            return false;
        name[n++] = format.p[i];
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(known); i++) {
        if (cor_str_eqz(cor_str(name, n), known[i]))
            return true;
    }
    return false;
}

/* A walk over the schemas of the new or of the old object. */
struct schema_walk {
    struct cor_check *check;
    const struct cor_place *spec;
    bool is_old;
    void (*take)(struct schema_walk *walk, uint32_t node); /* each schema in turn */
    bool is_done;
};

static void take_rules(struct schema_walk *walk, uint32_t node)
{
    const struct cor_json_nodes *nodes = &walk->check->object.nodes;
    uint32_t rules =
        cor_check_find_entry(walk->check, false, node, COR_STR("x-kubernetes-validations"));

    walk->is_done = rules != COR_JSON_NO_NODE && cor_json_node_first(nodes, rules) == '[' &&
                    cor_json_node_has_nodes(nodes, rules);
}

static void take_format(struct schema_walk *walk, uint32_t node)
{
    struct cor_check *check = walk->check;
    uint32_t format = cor_check_find_entry(check, walk->is_old, node, COR_STR("format"));
    uint32_t type = cor_check_find_entry(check, walk->is_old, node, COR_STR("type"));
    struct cor_str name;

    if (format == COR_JSON_NO_NODE || type == COR_JSON_NO_NODE ||
        !cor_str_eqz(cor_check_node_text(check, walk->is_old, type), "string"))
        return;
    name = cor_check_node_text(check, walk->is_old, format);
    if (name.n == 0 || is_known_format(name) ||
        !cor_check_see(check, COR_SEEN_BY_WARNINGS, walk->spec, name) || walk->is_old)
        return;
    cor_check_warn(check, cor_strz(cor_check_printf(check, "unrecognized format %s",
                                                    cor_check_quote(check, name))));
}

static void walk_schema(struct schema_walk *walk, uint32_t node);

/* Walks the schemas that a member of a schema has: one, a list, or the values of a map. */
static void walk_schemas(struct schema_walk *walk, uint32_t node, bool is_map)
{
    const struct cor_json_nodes *nodes =
        walk->is_old ? &walk->check->old.nodes : &walk->check->object.nodes;
    bool is_list = cor_json_node_first(nodes, node) == '[';
    uint32_t end = cor_json_node_next(nodes, node), i = node + 1;

    if (!is_list && !is_map) {
        walk_schema(walk, node);
        return;
    }
    while (i < end && cor_json_node_has_nodes(nodes, node)) {
        i += is_list ? 0 : 1;
        walk_schema(walk, i);
        i = cor_json_node_next(nodes, i);
    }
}

static void walk_schema(struct schema_walk *walk, uint32_t node)
{
    static const struct {
        struct cor_str name;
        bool is_map;
    } members[] = {
        {COR_STR("items"), false},
        {COR_STR("allOf"), false},
        {COR_STR("anyOf"), false},
        {COR_STR("oneOf"), false},
        {COR_STR("not"), false},
        {COR_STR("properties"), true},
        {COR_STR("additionalProperties"), false},
        {COR_STR("patternProperties"), true},
        {COR_STR("additionalItems"), false},
        {COR_STR("definitions"), true},
        {COR_STR("dependencies"), true},
    };
    struct cor_check *check = walk->check;
    const struct cor_json_nodes *nodes = walk->is_old ? &check->old.nodes : &check->object.nodes;

    if (cor_json_node_first(nodes, node) != '{' || cor_check_is_warned(check) || walk->is_done)
        return;
    walk->take(walk, node);
    for (size_t i = 0; i < COR_ARRAY_LEN(members) && !walk->is_done; i++) {
        uint32_t member = cor_check_find_entry(check, walk->is_old, node, members[i].name);

        if (member != COR_JSON_NO_NODE)
            walk_schemas(walk, member, members[i].is_map);
    }
}

/* Walks the schemas of the versions until the walk is done. Returns how many came before the last.
 */
static size_t walk_versions(struct schema_walk *walk, const struct cor_place *spec)
{
    struct cor_check *check = walk->check;
    struct cor_place list, version, validation, schema;
    size_t n = 0;

    cor_place_field(check, spec, "versions", &list);
    COR_EACH(check, &list, version) {
        if (cor_place_field(check, &version, "schema", &validation) &&
            cor_place_field(check, &validation, "openAPIV3Schema", &schema))
            walk_schema(walk, walk->is_old ? schema.old : schema.node);
        if (walk->is_done)
            break;
        n++;
    }
    return n;
}

COR_HOOK(warn_formats)
{
    struct schema_walk of_old = {check, place, true, take_format, false};
    struct schema_walk of_new = {check, place, false, take_format, false};
    struct cor_place old = cor_place_old(place);

    if (check->has_old && cor_place_is_present(&old))
        (void)walk_versions(&of_old, &old);
    (void)walk_versions(&of_new, place);
}

COR_HOOK(warn_rules)
{
    struct schema_walk walk = {check, place, false, take_rules, false};
    size_t i = walk_versions(&walk, place);

    if (walk.is_done)
        cor_check_warn(check,
                       cor_strz(cor_check_printf(
                           check,
                           "spec.versions[%zu].schema: x-kubernetes-validations is stored but has "
                           "no effect on this server: rules in CEL are not enforced",
                           i)));
}
