/* The pass that makes the nodes. Open objects and arrays are on a stack of their places; when one
 * is closed, its node learns where it ends. */
#include "json/text/nodes.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "json/text/json_int.h"

#define NODES_MAX (1u << 28)

static int nodes_grow(struct cor_json_nodes *nodes)
{
    size_t cap = 2 * nodes->cap;
    bool is_own = nodes->v == nodes->few;
    struct cor_json_node *v =
        cap > NODES_MAX ? NULL : cor_realloc(is_own ? NULL : nodes->v, cap * sizeof(*v));

    if (!v)
        return cap > NODES_MAX ? -COR_ETOOBIG : -COR_ENOMEM;
    if (is_own)
        memcpy(v, nodes->few, sizeof(nodes->few));
    nodes->v = v;
    nodes->cap = cap;
    return 0;
}

/* Reads the string whose quote is at `p`. Returns the byte after it; NULL: it has no end. */
static inline const char *read_string(struct cor_json_node *node, const char *p, const char *end)
{
    const char *text = ++p;
    uint32_t escaped = 0;

    for (;;) {
        p = cor_json_find_quote_or_escape(p, end);
        if (p >= end)
            return NULL;
        if (*p == '"')
            break;
        if (end - p < 2)
            return NULL;
        escaped = COR_JSON_NODE_ESCAPED;
        p += 2;
    }
    node->end = (uint32_t)(p - text) | escaped;
    return p + 1;
}

static const char *read_scalar(struct cor_json_node *node, const char *p, const char *end)
{
    const char *begin = p;

    while (p < end && *p != ',' && *p != '}' && *p != ']' && !cor_json_is_space(*p))
        p++;
    node->end = (uint32_t)(p - begin);
    return p;
}

static int nodes_read(struct cor_json_nodes *nodes)
{
    const char *begin = nodes->json.p, *p = begin, *end = p + nodes->json.n;
    uint32_t open[COR_JSON_DEPTH_MAX];
    size_t depth = 0;

    while (p && p < end) {
        char c = *p;
        struct cor_json_node *node;

        if (c == ',' || c == ':' || cor_json_is_space(c)) {
            p++;
            continue;
        }
        if (c == '}' || c == ']') {
            if (depth == 0)
                return -COR_EINVAL;
            nodes->v[open[--depth]].end = (uint32_t)nodes->n;
            p++;
        } else {
            if (nodes->n == nodes->cap && nodes_grow(nodes) < 0)
                return nodes->cap > NODES_MAX / 2 ? -COR_ETOOBIG : -COR_ENOMEM;
            node = &nodes->v[nodes->n++];
            node->at = (uint32_t)(p - begin);
            if (c == '{' || c == '[') {
                if (depth == COR_JSON_DEPTH_MAX)
                    return -COR_EINVAL;
                open[depth++] = (uint32_t)nodes->n - 1;
                p++;
                continue;
            }
            p = c == '"' ? read_string(node, p, end) : read_scalar(node, p, end);
            if (p && p < end && depth > 0 && (*p == ':' || *p == ','))
                p++;
        }
        if (p && depth == 0)
            return 0;
    }
    return -COR_EINVAL;
}

int cor_json_nodes_init(struct cor_json_nodes *nodes, struct cor_str json)
{
    nodes->json = json;
    nodes->v = nodes->few;
    nodes->n = 0;
    nodes->cap = COR_JSON_NODES_FEW;
    return json.n >= COR_JSON_NODE_ESCAPED ? -COR_ETOOBIG : nodes_read(nodes);
}

void cor_json_nodes_deinit(struct cor_json_nodes *nodes)
{
    if (nodes->v != nodes->few)
        cor_free(nodes->v);
    nodes->v = nodes->few;
}

struct cor_str cor_json_node_bytes(const struct cor_json_nodes *nodes, uint32_t i)
{
    const struct cor_json_node *node = &nodes->v[i];
    const char *p = nodes->json.p + node->at;

    if (*p == '"')
        return cor_str(p, (node->end & ~COR_JSON_NODE_ESCAPED) + 2);
    if (!cor_json_node_has_nodes(nodes, i))
        return cor_str(p, node->end);
    return cor_json_first_value(cor_str_from(nodes->json, node->at));
}
