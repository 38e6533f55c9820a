/* An index of an OpenAPI document of version 2.
 *
 * The walk over references knows which objects have names as keys (properties, definitions,
 * responses): there "$ref" or "default" is a name like any other. Elsewhere the values of defaults,
 * enums, examples and vendor extensions are data, in which nothing is a reference.
 *
 * Recursion follows the nesting of the document, which the caller has bounded
 * (COR_OPENAPI_DEPTH_MAX); references from definition to definition are followed by a list of those
 * that are still to be read, so that no chain of them is too long.
 *
 * Failures: no memory; parts of the wrong type; references to nothing. */
#include "server/docs/openapi_spec.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/words.h"
#include "json/text/scan.h"

static int part_init(struct cor_openapi_spec *spec, uint32_t node, struct cor_openapi_part *part)
{
    const struct cor_json_nodes *nodes = &spec->nodes;
    size_t n = 0;
    int r = 0;

    part->node = node;
    if (cor_json_node_first(nodes, node) != '{')
        return -COR_EINVAL;
    for (uint32_t i = node + 1; i < nodes->v[node].end; i = cor_json_node_next(nodes, i + 1))
        n++;
    if (n > COR_OPENAPI_MEMBERS_MAX)
        return -COR_ETOOBIG;
    part->v = n > 0 ? cor_calloc(n, sizeof(part->v[0])) : NULL;
    if (n > 0 && !part->v)
        return -COR_ENOMEM;
    for (uint32_t i = node + 1; r == 0 && i < nodes->v[node].end;
         i = cor_json_node_next(nodes, i + 1)) {
        struct cor_openapi_member *m;

        if (cor_json_node_first(nodes, i + 1) != '{') {
            /* A vendor extension among paths. */
            if (!cor_str_starts(cor_json_node_raw(nodes, i), COR_STR("x-")))
                return -COR_EINVAL;
            continue;
        }
        m = &part->v[part->n++];
        *m = (struct cor_openapi_member){
            .name = cor_json_node_raw(nodes, i), .key = i, .value = i + 1};
        r = cor_map_put(&part->by_name, m->name, m, NULL);
    }
    return r;
}

int cor_openapi_spec_init(struct cor_openapi_spec *spec, struct cor_str json)
{
    struct cor_openapi_part *const parts[] = {&spec->paths, &spec->definitions, &spec->parameters};
    static const char *const names[] = {"paths", "definitions", "parameters"};
    int r;

    for (size_t p = 0; p < COR_ARRAY_LEN(parts); p++) {
        *parts[p] = (struct cor_openapi_part){.node = COR_JSON_NO_NODE};
        cor_map_init(&parts[p]->by_name, COR_OPENAPI_MEMBERS_MAX);
    }
    r = cor_json_nodes_init(&spec->nodes, json);
    if (r < 0)
        return r;
    if (cor_json_node_first(&spec->nodes, 0) != '{')
        return -COR_EINVAL;
    for (uint32_t i = 1; r == 0 && i < spec->nodes.v[0].end;
         i = cor_json_node_next(&spec->nodes, i + 1)) {
        for (size_t p = 0; r == 0 && p < COR_ARRAY_LEN(parts); p++) {
            if (cor_str_eqz(cor_json_node_raw(&spec->nodes, i), names[p]))
                r = part_init(spec, i + 1, parts[p]);
        }
    }
    return r;
}

void cor_openapi_spec_deinit(struct cor_openapi_spec *spec)
{
    struct cor_openapi_part *const parts[] = {&spec->paths, &spec->definitions, &spec->parameters};

    for (size_t p = 0; p < COR_ARRAY_LEN(parts); p++) {
        cor_map_deinit(&parts[p]->by_name);
        parts[p]->v = cor_free(parts[p]->v);
    }
    cor_json_nodes_deinit(&spec->nodes);
}

static bool has_names(struct cor_str key)
{
    static const char *const keys[] = {"properties", "patternProperties", "definitions",
                                       "responses"};

    return cor_str_is_one_of(key, keys, COR_ARRAY_LEN(keys));
}

static bool is_data(struct cor_str key)
{
    static const char *const keys[] = {"default", "enum", "example", "examples"};

    return cor_str_starts(key, COR_STR("x-")) || cor_str_is_one_of(key, keys, COR_ARRAY_LEN(keys));
}

/* `are_names`: the keys of the object are names. */
static int walk(struct cor_openapi_spec *spec, uint32_t node, bool are_names, cor_openapi_ref_fn fn,
                void *arg)
{
    const struct cor_json_nodes *nodes = &spec->nodes;
    char first = cor_json_node_first(nodes, node);
    int r = 0;

    if (first == '[') {
        for (uint32_t i = node + 1; r == 0 && i < nodes->v[node].end;
             i = cor_json_node_next(nodes, i))
            r = walk(spec, i, false, fn, arg);
        return r;
    }
    if (first != '{')
        return 0;
    for (uint32_t i = node + 1; r == 0 && i < nodes->v[node].end;
         i = cor_json_node_next(nodes, i + 1)) {
        struct cor_str key = cor_json_node_raw(nodes, i);

        if (are_names)
            r = walk(spec, i + 1, false, fn, arg);
        else if (cor_str_eq(key, COR_STR("$ref")) && cor_json_node_first(nodes, i + 1) == '"')
            r = fn(arg, spec, i + 1);
        else if (!is_data(key))
            r = walk(spec, i + 1, has_names(key), fn, arg);
    }
    return r;
}

int cor_openapi_each_ref(struct cor_openapi_spec *spec, uint32_t node, cor_openapi_ref_fn fn,
                         void *arg)
{
    assert(fn);
    return walk(spec, node, false, fn, arg);
}

struct cor_openapi_member *cor_openapi_referred(const struct cor_openapi_spec *spec, uint32_t node)
{
    static const struct cor_str definition = COR_STR(COR_OPENAPI_DEFINITION_PREFIX),
                                parameter = COR_STR(COR_OPENAPI_PARAMETER_PREFIX);
    struct cor_str ref = cor_json_node_raw(&spec->nodes, node);

    if (cor_str_starts(ref, definition))
        return cor_map_peek(&spec->definitions.by_name, cor_str_from(ref, definition.n));
    if (cor_str_starts(ref, parameter))
        return cor_map_peek(&spec->parameters.by_name, cor_str_from(ref, parameter.n));
    return NULL;
}

/* Is it a reference to what the document must have? Others, of responses for example, are copied as
 * they are. */
static bool is_local_ref(struct cor_str ref)
{
    return cor_str_starts(ref, COR_STR(COR_OPENAPI_DEFINITION_PREFIX)) ||
           cor_str_starts(ref, COR_STR(COR_OPENAPI_PARAMETER_PREFIX));
}

static int check_on_ref(void *arg, struct cor_openapi_spec *spec, uint32_t node)
{
    (void)arg;
    return !cor_openapi_referred(spec, node) && is_local_ref(cor_json_node_raw(&spec->nodes, node))
               ? -COR_ENOTFOUND
               : 0;
}

int cor_openapi_check_refs(struct cor_openapi_spec *spec, uint32_t node)
{
    return cor_openapi_each_ref(spec, node, check_on_ref, NULL);
}

/* Members whose references are still to be read. */
struct marker {
    struct cor_openapi_member **v;
    size_t n, cap;
    unsigned mark;
};

static int marker_on_ref(void *arg, struct cor_openapi_spec *spec, uint32_t node)
{
    struct cor_openapi_member *m = cor_openapi_referred(spec, node);
    struct marker *marker = arg;

    if (!m)
        return is_local_ref(cor_json_node_raw(&spec->nodes, node)) ? -COR_ENOTFOUND : 0;
    if (m->marks & marker->mark)
        return 0;
    m->marks |= marker->mark;
    assert(marker->n < marker->cap); /* each member enters once */
    marker->v[marker->n++] = m;
    return 0;
}

int cor_openapi_mark(struct cor_openapi_spec *spec, struct cor_str prefix, unsigned mark)
{
    struct marker marker = {.cap = spec->definitions.n + spec->parameters.n, .mark = mark};
    int r = 0;

    marker.v = cor_calloc(marker.cap + 1, sizeof(struct cor_openapi_member *));
    if (!marker.v)
        return -COR_ENOMEM;
    for (size_t i = 0; r == 0 && i < spec->paths.n; i++) {
        if (cor_str_starts(spec->paths.v[i].name, prefix))
            r = cor_openapi_each_ref(spec, spec->paths.v[i].value, marker_on_ref, &marker);
    }
    while (r == 0 && marker.n > 0)
        r = cor_openapi_each_ref(spec, marker.v[--marker.n]->value, marker_on_ref, &marker);
    cor_free(marker.v);
    return r;
}
