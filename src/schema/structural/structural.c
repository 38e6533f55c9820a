/* A compiled schema as its users ask for it: members, and what it has. compile.c makes
 * it. Failures: none. Thread: any. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/structural/structural_int.h"
#include "json/text/scan.h"

/* Patterns that a loop may compile in one walk: most take some 50 us, the largest some ms. */
#define LOOP_PATTERNS_MAX 32

struct cor_structural *cor_structural_free(struct cor_structural *schema)
{
    if (!schema)
        return NULL;
    for (uint32_t i = 0; i < schema->npatterns; i++)
        cor_pattern_free(atomic_load_explicit(&schema->patterns[i].compiled, memory_order_acquire));
    return cor_free(schema);
}

bool cor_structural_has_work(const struct cor_structural *schema)
{
    return atomic_load(&schema->kept->is_full) ||
           schema->npatterns - atomic_load(&schema->kept->n) > LOOP_PATTERNS_MAX;
}

size_t cor_structural_bytes(const struct cor_structural *schema)
{
    return schema->bytes;
}

const struct cor_structural_node *cor_structural_root(const struct cor_structural *schema)
{
    return &schema->nodes[0];
}

bool cor_structural_has_rules(const struct cor_structural *schema)
{
    return schema->has_rules;
}

const struct cor_structural_node *cor_structural_find(const struct cor_structural *schema,
                                                      const struct cor_structural_node *node,
                                                      struct cor_str raw_name)
{
    const struct cor_structural_property *properties = schema->properties + node->first_property;
    size_t low = 0, high = node->nproperties;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order =
            cor_json_raw_cmp(raw_name, cor_structural_text(schema, properties[middle].name));

        if (order == 0)
            return &schema->nodes[properties[middle].node];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool cor_structural_fills_in(const struct cor_structural *schema, struct cor_str member)
{
    const struct cor_structural_node *node =
        cor_structural_find(schema, cor_structural_root(schema), member);

    return node && cor_structural_is(node, COR_STRUCTURAL_HAS_DEFAULT);
}
