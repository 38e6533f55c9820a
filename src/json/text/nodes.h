/* A JSON text as an array of its values and keys in the order of the text, made in one pass: from a
 * value the next one is found without reading its bytes again, so that a walk over a deep text
 * costs its length once. The text is valid JSON (cor_json_check() said so); on others nothing is
 * read outside it, and the walk ends. Thread: any (values).  Owner: the caller; the text is
 * borrowed. */
#ifndef COR_JSON_TEXT_NODES_H
#define COR_JSON_TEXT_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Nodes for which nothing is allocated: those of most objects. */
#define COR_JSON_NODES_FEW 512
/* There is no such node. */
#define COR_JSON_NO_NODE UINT32_MAX

/* clang-format off */
/* A value of the JSON, which begins at byte `at`. What `end` means depends on the value:
 *   an object or array   the index of the node behind its last one; the nodes of an object are
 *                        keys and values in turn
 *   a string             the length of its raw text, which begins behind the quote, and
 *                        COR_JSON_NODE_ESCAPED if the text has escapes
 *   any other value      its length */
/* clang-format on */
#define COR_JSON_NODE_ESCAPED 0x80000000u
struct cor_json_node {
    uint32_t at;
    uint32_t end;
};

struct cor_json_nodes {
    struct cor_str json;
    struct cor_json_node *v;
    size_t n, cap;
    struct cor_json_node few[COR_JSON_NODES_FEW];
};

/* Reads the value at the beginning of `json`, which becomes node 0. 0, -COR_EINVAL (it has no end,
 * or is nested too deep), -COR_ENOMEM, -COR_ETOOBIG (2 GiB). To be deinitialised in either case. */
int cor_json_nodes_init(struct cor_json_nodes *nodes, struct cor_str json);
void cor_json_nodes_deinit(struct cor_json_nodes *nodes);

/* The first byte of the value. */
static inline char cor_json_node_first(const struct cor_json_nodes *nodes, uint32_t i)
{
    return nodes->json.p[nodes->v[i].at];
}

static inline bool cor_json_node_has_nodes(const struct cor_json_nodes *nodes, uint32_t i)
{
    char c = cor_json_node_first(nodes, i);

    return c == '{' || c == '[';
}

/* The node behind this one and all that is in it. */
static inline uint32_t cor_json_node_next(const struct cor_json_nodes *nodes, uint32_t i)
{
    return cor_json_node_has_nodes(nodes, i) ? nodes->v[i].end : i + 1;
}

/* The raw text of a string or key. */
static inline struct cor_str cor_json_node_raw(const struct cor_json_nodes *nodes, uint32_t i)
{
    return cor_str(nodes->json.p + nodes->v[i].at + 1, nodes->v[i].end & ~COR_JSON_NODE_ESCAPED);
}

/* The bytes of a value; those of an object or array are looked for. */
struct cor_str cor_json_node_bytes(const struct cor_json_nodes *nodes, uint32_t i);

#endif
