/* clang-format off */
/* The tables of a compiled schema, for the files of this folder and for server-side apply. They lie
 * behind each other in one block and refer to each other by numbers of 32 bits:
 *
 *   node       one schema: of the object, of a property, of items, of a branch of allOf, ...
 *   property   a name and its node; those of a node are sorted as the members of an object are
 *   checks     the keywords that only validation looks at; most nodes have none
 *   numbers    lists of nodes: branches, and properties that have defaults
 *   texts      lists of texts: enum, required, keys of lists
 *   pool       the bytes of all texts, each with a NUL behind it
 *
 * Thread: any (immutable, except for the slots of patterns, which are atomic). */
/* clang-format on */
#ifndef COR_SCHEMA_STRUCTURAL_INT_H
#define COR_SCHEMA_STRUCTURAL_INT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "schema/structural/pattern.h"
#include "schema/structural/structural.h"

#define COR_STRUCTURAL_NONE UINT32_MAX

enum cor_structural_type {
    COR_STRUCTURAL_ANY, /* the schema has no type */
    COR_STRUCTURAL_ARRAY,
    COR_STRUCTURAL_BOOLEAN,
    COR_STRUCTURAL_INTEGER,
    COR_STRUCTURAL_NUMBER,
    COR_STRUCTURAL_OBJECT,
    COR_STRUCTURAL_STRING,
    COR_STRUCTURAL_TYPES
};

enum cor_structural_list {
    COR_STRUCTURAL_LIST_NONE,
    COR_STRUCTURAL_LIST_ATOMIC,
    COR_STRUCTURAL_LIST_SET,
    COR_STRUCTURAL_LIST_MAP
};

enum cor_structural_flag {
    COR_STRUCTURAL_NULLABLE = 1 << 0,
    COR_STRUCTURAL_INT_OR_STRING = 1 << 1,
    COR_STRUCTURAL_PRESERVE = 1 << 2,      /* x-kubernetes-preserve-unknown-fields */
    COR_STRUCTURAL_EMBEDDED = 1 << 3,      /* an object with apiVersion, kind and metadata */
    COR_STRUCTURAL_ADDITIONAL = 1 << 4,    /* additionalProperties in any form */
    COR_STRUCTURAL_NO_ADDITIONAL = 1 << 5, /* additionalProperties: false */
    COR_STRUCTURAL_ATOMIC_MAP = 1 << 6,    /* x-kubernetes-map-type: atomic */
    COR_STRUCTURAL_HAS_DEFAULT = 1 << 7,
    COR_STRUCTURAL_DEFAULTS_BELOW = 1 << 8, /* something in it has a default */
    COR_STRUCTURAL_LISTS_BELOW = 1 << 9,    /* it or something in it is a set or a map of items */
    COR_STRUCTURAL_EMBEDDED_BELOW = 1 << 10,
    COR_STRUCTURAL_DEDUCED = 1 << 11,   /* for apply: unknown keys are allowed, here or around it */
    COR_STRUCTURAL_FORMATTED = 1 << 12, /* for apply: it has a format other than byte */
};

struct cor_structural_text {
    uint32_t at, n; /* in the pool */
};

struct cor_structural_node {
    struct cor_structural_text default_json; /* canonical */
    uint32_t first_property, nproperties;
    uint32_t first_defaulted, ndefaulted; /* in numbers: of properties with a default, sorted */
    uint32_t additional;                  /* schema of all other keys, or COR_STRUCTURAL_NONE */
    uint32_t items;
    uint32_t first_key, nkeys; /* in texts: x-kubernetes-list-map-keys, sorted by their bytes */
    uint32_t checks;           /* or COR_STRUCTURAL_NONE */
    uint16_t flags;
    uint8_t type, format, list;
};

struct cor_structural_property {
    struct cor_structural_text name; /* raw text of canonical JSON */
    uint32_t node;
};

enum cor_structural_has {
    COR_STRUCTURAL_HAS_MINIMUM = 1 << 0,
    COR_STRUCTURAL_HAS_MAXIMUM = 1 << 1,
    COR_STRUCTURAL_HAS_MULTIPLE_OF = 1 << 2,
    COR_STRUCTURAL_HAS_MIN_LENGTH = 1 << 3,
    COR_STRUCTURAL_HAS_MAX_LENGTH = 1 << 4,
    COR_STRUCTURAL_HAS_MIN_ITEMS = 1 << 5,
    COR_STRUCTURAL_HAS_MAX_ITEMS = 1 << 6,
    COR_STRUCTURAL_HAS_MIN_PROPERTIES = 1 << 7,
    COR_STRUCTURAL_HAS_MAX_PROPERTIES = 1 << 8,
    COR_STRUCTURAL_EXCLUSIVE_MINIMUM = 1 << 9,
    COR_STRUCTURAL_EXCLUSIVE_MAXIMUM = 1 << 10,
    COR_STRUCTURAL_UNIQUE_ITEMS = 1 << 11,
};

/* A run of a table. */
struct cor_structural_run {
    uint32_t first, n;
};

struct cor_structural_checks {
    double minimum, maximum, multiple_of;
    int64_t min_length, max_length, min_items, max_items, min_properties, max_properties;
    struct cor_structural_run any_of, one_of, all_of; /* in numbers: of nodes */
    struct cor_structural_run enums, required;        /* in texts: JSON; raw names */
    struct cor_structural_run enum_order; /* in numbers: `enums` sorted; n is 0 if they are few */
    struct cor_structural_text format;    /* as the schema writes it */
    uint32_t not_node, pattern;           /* or COR_STRUCTURAL_NONE */
    uint16_t has;                         /* enum cor_structural_has */
};

/* A pattern is compiled when a value meets it first, and kept if there is room for it. */
struct cor_structural_pattern {
    _Atomic(struct cor_pattern *) compiled;
    struct cor_structural_text text;
};

struct cor_structural_kept {
    atomic_uint n;       /* patterns */
    atomic_bool is_full; /* a pattern found no room */
    struct cor_pattern_account account;
};

struct cor_structural {
    bool preserves_unknown, has_rules;
    size_t bytes;
    uint32_t npatterns;
    uint32_t visits; /* how often a validation looks at a value, at most: once for itself, and once
                      * for each branch around it */
    struct cor_structural_kept *kept; /* in the same block; changes while the rest does not */
    const struct cor_structural_checks *checks;
    struct cor_structural_pattern *patterns;
    const struct cor_structural_node *nodes; /* the first is the object's */
    const struct cor_structural_property *properties;
    const struct cor_structural_text *texts;
    const uint32_t *numbers;
    const char *pool;
};

static inline struct cor_str cor_structural_text(const struct cor_structural *schema,
                                                 struct cor_structural_text text)
{
    return cor_str(schema->pool + text.at, text.n);
}

static inline bool cor_structural_is_number(struct cor_str json)
{
    return json.p[0] == '-' || (json.p[0] >= '0' && json.p[0] <= '9');
}

/* The order of an enum's values, each with a byte behind it that ends a number: numbers by their
 * value, after all others by their bytes. */
static inline int cor_structural_enum_cmp(struct cor_str a, struct cor_str b)
{
    bool is_a = cor_structural_is_number(a), is_b = cor_structural_is_number(b);
    double x, y;

    if (!is_a || !is_b)
        return is_a != is_b ? is_a - is_b : cor_str_cmp(a, b);
    x = strtod(a.p, NULL);
    y = strtod(b.p, NULL);
    return (x > y) - (x < y);
}

/* The node of a number; NULL: there is none. */
static inline const struct cor_structural_node *
cor_structural_node(const struct cor_structural *schema, uint32_t number)
{
    return number == COR_STRUCTURAL_NONE ? NULL : &schema->nodes[number];
}

static inline bool cor_structural_is(const struct cor_structural_node *node,
                                     enum cor_structural_flag flag)
{
    return node->flags & flag;
}

/* The node of a property by its raw name in canonical JSON; NULL: the node has no such property. */
const struct cor_structural_node *cor_structural_find(const struct cor_structural *schema,
                                                      const struct cor_structural_node *node,
                                                      struct cor_str raw_name);

/* The node of a member of an object: that of its property, else that of additionalProperties. */
static inline const struct cor_structural_node *
cor_structural_member(const struct cor_structural *schema, const struct cor_structural_node *node,
                      struct cor_str raw_name)
{
    const struct cor_structural_node *found = cor_structural_find(schema, node, raw_name);

    return found ? found : cor_structural_node(schema, node->additional);
}

/* The walk of cor_structural_rewrite() over any value of a node (structural_rewrite.c). */
int cor_structural_rewrite_value(const struct cor_structural *schema,
                                 const struct cor_structural_node *node, bool is_resource,
                                 struct cor_str json, unsigned steps, struct cor_buf *out,
                                 struct cor_structural_unknown *unknown);

/* The walk of cor_structural_check_embedded() over any value of a node (embedded.c). `is_resource`:
 * the value itself is a resource, whatever the node says. */
void cor_structural_check_embedded_value(const struct cor_structural *schema,
                                         const struct cor_structural_node *node, bool is_resource,
                                         struct cor_str json, const struct cor_field_path *path,
                                         struct cor_field_errors *errors);

/* The walk of cor_structural_validate() over any value of a node (structural_validation.c); old.p
 * == NULL: nothing is forgiven. Fields begin with `prefix`. `is_default`: the value is one of the
 * schema itself; upstream does not ignore unknown formats then. `work` is charged. */
void cor_structural_validate_value(const struct cor_structural *schema,
                                   const struct cor_structural_node *node, struct cor_str json,
                                   struct cor_str old, struct cor_str prefix, bool is_default,
                                   struct cor_work *work, struct cor_field_errors *errors);

/* apiVersion, kind or metadata? */
static inline bool cor_structural_is_meta(struct cor_str raw_name)
{
    return cor_str_eq(raw_name, COR_STR("metadata")) || cor_str_eq(raw_name, COR_STR("kind")) ||
           cor_str_eq(raw_name, COR_STR("apiVersion"));
}

#endif
