/* clang-format off */
/* Compiles the schema of a custom resource into the tables of structural_int.h:
 *
 *   canonicalize   so that members are sorted, and values of default and enum are canonical, also
 *                  their numbers
 *   nodes          the canonical text becomes an array of values (json/text/nodes.h)
 *   schema by schema, a parent before its children: each keyword goes into the node or into its
 *                  checks; the runs of a node are reserved before its children are compiled, so
 *                  that each run lies in one piece
 *   gather         the tables are copied into one block
 *
 * The rules that make a schema structural are checked where the definition is written
 * (hooks/check_crd_schema.c); what is refused here is what the tables cannot express. The first failure
 * sticks to the builder, and the tables made so far are freed.
 * Recursion is bounded by the depth of JSON. Thread: any. */
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/structural/numbers.h"
#include "schema/structural/pattern.h"
#include "schema/structural/string_format.h"
#include "schema/structural/structural_int.h"
#include "json/text/json.h"
#include "json/text/nodes.h"
#include "json/text/scan.h"

/* The elements of a table. A schema has fewer than it has bytes, so that 32 bits are enough. */
#define TABLE_MAX UINT32_MAX
#define ENUM_FEW  16 /* values of an enum that are looked for one after the other */
/* Leaves and patterns that are looked at for one to share; the first are the usual ones. */
#define SHARED_MAX 32
#define VISITS_MAX (1u << 24) /* more make no difference */

struct builder {
    struct cor_json_nodes json;
    struct cor_buf *why;
    struct cor_buf pool;
    struct cor_structural_node *nodes;
    uint32_t *visits; /* by node: see struct cor_structural */
    struct cor_structural_property *properties;
    struct cor_structural_checks *checks;
    struct cor_structural_text *texts;
    struct cor_structural_text *patterns;
    uint32_t *numbers;
    size_t nnodes, cap_nodes, cap_visits, nproperties, cap_properties, nchecks, cap_checks, ntexts,
        cap_texts;
    size_t npatterns, cap_patterns, nnumbers, cap_numbers;
    uint32_t leaves[SHARED_MAX]; /* nodes that others may share */
    size_t nleaves;
    bool has_rules;
    int error;                            /* the first failure */
    struct cor_structural_checks nowhere; /* what a failed builder writes to */
};

static int builder_note(struct builder *b, int r)
{
    if (r < 0 && b->error == 0)
        b->error = r;
    return b->error;
}

static void builder_refuse(struct builder *b, const char *why)
{
    if (b->error == 0 && b->why)
        (void)cor_buf_addz(b->why, why);
    builder_note(b, -COR_EINVALID);
}

/* Copies a text into the pool. */
static struct cor_structural_text add_text(struct builder *b, struct cor_str text)
{
    struct cor_structural_text added = {(uint32_t)b->pool.n, (uint32_t)text.n};

    builder_note(b, cor_buf_adds(&b->pool, text));
    builder_note(b, cor_buf_addc(&b->pool, '\0'));
    return added;
}

/* The text of a string without its escapes. */
static struct cor_structural_text add_unescaped(struct builder *b, uint32_t value)
{
    struct cor_str raw = cor_json_node_raw(&b->json, value), text;
    struct cor_structural_text added = {(uint32_t)b->pool.n, 0};

    if (builder_note(b, cor_buf_reserve(&b->pool, raw.n + 1)) < 0)
        return added;
    builder_note(b, cor_json_unescape(raw, b->pool.p + b->pool.n, raw.n, &text));
    if (b->error < 0)
        return added;
    /* Text without escapes stays where it is. */
    memmove(b->pool.p + b->pool.n, text.p, text.n);
    added.n = (uint32_t)text.n;
    b->pool.n += text.n;
    builder_note(b, cor_buf_addc(&b->pool, '\0'));
    return added;
}

static bool is_string(const struct builder *b, uint32_t value)
{
    return cor_json_node_first(&b->json, value) == '"';
}

static bool is_object(const struct builder *b, uint32_t value)
{
    return cor_json_node_first(&b->json, value) == '{';
}

static bool is_true(const struct builder *b, uint32_t value)
{
    return cor_json_node_first(&b->json, value) == 't';
}

static double to_double(const struct builder *b, uint32_t value)
{
    return strtod(cor_json_node_bytes(&b->json, value).p, NULL);
}

static int64_t to_i64(const struct builder *b, uint32_t value)
{
    int64_t number;
    double real;

    if (cor_json_to_i64(cor_json_node_bytes(&b->json, value), &number) == 0)
        return number;
    real = to_double(b, value);
    return real >= 0x1p63 ? INT64_MAX : real <= -0x1p63 ? INT64_MIN : (int64_t)real;
}

/* The elements of an array, or the members of an object. */
static uint32_t count_values(const struct builder *b, uint32_t value)
{
    uint32_t n = 0, end = b->json.v[value].end;
    bool is_map = is_object(b, value);

    if (!cor_json_node_has_nodes(&b->json, value))
        return 0;
    for (uint32_t i = value + 1; i < end; n++)
        i = cor_json_node_next(&b->json, is_map ? i + 1 : i);
    return n;
}

/* --- Runs --------------------------------------------------------------------------------------
 */

static uint32_t reserve_numbers(struct builder *b, size_t n)
{
    uint32_t first = (uint32_t)b->nnumbers;

    if (builder_note(b, COR_ARRAY_RESERVE_MORE(&b->numbers, b->nnumbers, n, &b->cap_numbers,
                                               TABLE_MAX)) == 0)
        b->nnumbers += n;
    return first;
}

/* A run of texts: the JSON of an array's elements, or the raw text of its strings. */
static struct cor_structural_run add_texts(struct builder *b, uint32_t array, bool is_raw)
{
    struct cor_structural_run run = {(uint32_t)b->ntexts, 0};
    uint32_t end = cor_json_node_next(&b->json, array);

    if (cor_json_node_first(&b->json, array) != '[')
        return run;
    for (uint32_t i = array + 1; i < end && b->error == 0; i = cor_json_node_next(&b->json, i)) {
        if (is_raw && !is_string(b, i))
            continue;
        if (builder_note(b, COR_ARRAY_RESERVE(&b->texts, b->ntexts, &b->cap_texts, TABLE_MAX)) < 0)
            break;
        b->texts[b->ntexts++] =
            add_text(b, is_raw ? cor_json_node_raw(&b->json, i) : cor_json_node_bytes(&b->json, i));
        run.n++;
    }
    return run;
}

/* --- Schemas -----------------------------------------------------------------------------------
 */

static uint32_t compile_schema(struct builder *b, uint32_t value, bool is_deduced);

/* The checks of a node, made when the first of its keywords is met. The pointer is valid until the
 * next node has checks. */
static struct cor_structural_checks *checks_of(struct builder *b, uint32_t node)
{
    if (b->nodes[node].checks == COR_STRUCTURAL_NONE) {
        if (builder_note(b, COR_ARRAY_RESERVE(&b->checks, b->nchecks, &b->cap_checks, TABLE_MAX)) <
            0)
            return &b->nowhere;
        b->checks[b->nchecks] = (struct cor_structural_checks){.not_node = COR_STRUCTURAL_NONE,
                                                               .pattern = COR_STRUCTURAL_NONE};
        b->nodes[node].checks = (uint32_t)b->nchecks++;
    }
    return &b->checks[b->nodes[node].checks];
}

static void compile_properties(struct builder *b, uint32_t node, uint32_t object, bool is_deduced)
{
    uint32_t n = count_values(b, object), first = (uint32_t)b->nproperties, defaulted = 0;
    uint32_t at = object + 1, run;

    if (!is_object(b, object))
        return;
    if (builder_note(b, COR_ARRAY_RESERVE_MORE(&b->properties, b->nproperties, n,
                                               &b->cap_properties, TABLE_MAX)) < 0)
        return;
    b->nproperties += n;
    for (uint32_t i = 0; i < n && b->error == 0; i++) {
        struct cor_structural_text name = add_text(b, cor_json_node_raw(&b->json, at));
        uint32_t child = compile_schema(b, at + 1, is_deduced);

        at = cor_json_node_next(&b->json, at + 1);
        b->properties[first + i] = (struct cor_structural_property){name, child};
        if (b->error == 0 && cor_structural_is(&b->nodes[child], COR_STRUCTURAL_HAS_DEFAULT))
            defaulted++;
    }
    run = reserve_numbers(b, defaulted);
    if (b->error < 0)
        return;
    b->nodes[node].first_property = first;
    b->nodes[node].nproperties = n;
    b->nodes[node].first_defaulted = run;
    for (uint32_t i = 0; i < n; i++) {
        if (cor_structural_is(&b->nodes[b->properties[first + i].node], COR_STRUCTURAL_HAS_DEFAULT))
            b->numbers[run + b->nodes[node].ndefaulted++] = first + i;
    }
}

/* The branches of allOf, anyOf or oneOf. */
static struct cor_structural_run compile_branches(struct builder *b, uint32_t array)
{
    struct cor_structural_run run = {0, count_values(b, array)};
    uint32_t at = array + 1;

    run.first = reserve_numbers(b, run.n);
    for (uint32_t i = 0; i < run.n && b->error == 0; i++) {
        uint32_t branch = compile_schema(b, at, false);

        at = cor_json_node_next(&b->json, at);
        b->numbers[run.first + i] = branch;
    }
    return run;
}

static void set_flag(struct builder *b, uint32_t node, unsigned flag, bool on)
{
    if (on)
        b->nodes[node].flags = (uint16_t)(b->nodes[node].flags | flag);
}

static void set_type(struct builder *b, uint32_t node, uint32_t value)
{
    static const char *const names[COR_STRUCTURAL_TYPES] = {
        "", "array", "boolean", "integer", "number", "object", "string"};

    for (size_t i = 0; i < COR_STRUCTURAL_TYPES; i++) {
        if (is_string(b, value) && cor_str_eqz(cor_json_node_raw(&b->json, value), names[i])) {
            b->nodes[node].type = (uint8_t)i;
            return;
        }
    }
    builder_refuse(b, "a schema has a type that is not supported");
}

static void set_list_type(struct builder *b, uint32_t node, uint32_t value)
{
    static const char *const names[] = {"", "atomic", "set", "map"};

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (is_string(b, value) && cor_str_eqz(cor_json_node_raw(&b->json, value), names[i]))
            b->nodes[node].list = (uint8_t)i;
    }
}

static void set_format(struct builder *b, uint32_t node, uint32_t value)
{
    struct cor_structural_text text;
    uint8_t format;

    if (!is_string(b, value))
        return;
    text = add_unescaped(b, value);
    if (b->error < 0)
        return;
    set_flag(b, node, COR_STRUCTURAL_FORMATTED,
             text.n > 0 && !cor_str_eqz(cor_str(b->pool.p + text.at, text.n), "byte"));
    format = (uint8_t)cor_string_format_find(cor_str(b->pool.p + text.at, text.n));
    if (format == COR_STRING_FORMAT_NONE)
        return;
    b->nodes[node].format = format;
    checks_of(b, node)->format = text;
}

static int compare_texts(struct builder *b, struct cor_structural_text x,
                         struct cor_structural_text y)
{
    return cor_str_cmp(cor_str(b->pool.p + x.at, x.n), cor_str(b->pool.p + y.at, y.n));
}

/* The same text is one pattern, which is compiled once. */
static void set_pattern(struct builder *b, uint32_t node, uint32_t value)
{
    struct cor_structural_text text;

    if (!is_string(b, value) || cor_json_node_raw(&b->json, value).n == 0)
        return;
    text = add_unescaped(b, value);
    if (builder_note(
            b, COR_ARRAY_RESERVE(&b->patterns, b->npatterns, &b->cap_patterns, TABLE_MAX)) < 0)
        return;
    for (uint32_t i = 0; i < b->npatterns && i < SHARED_MAX; i++) {
        if (compare_texts(b, b->patterns[i], text) == 0) {
            cor_buf_truncate(&b->pool, text.at);
            checks_of(b, node)->pattern = i;
            return;
        }
    }
    checks_of(b, node)->pattern = (uint32_t)b->npatterns;
    b->patterns[b->npatterns++] = text;
}

static void set_keys(struct builder *b, uint32_t node, uint32_t value)
{
    struct cor_structural_run run = add_texts(b, value, true);

    if (b->error < 0)
        return;
    b->nodes[node].first_key = run.first;
    b->nodes[node].nkeys = run.n;
    for (uint32_t i = 1; i < run.n; i++) { /* the keys of a list are few */
        for (uint32_t j = run.first + i;
             j > run.first && compare_texts(b, b->texts[j], b->texts[j - 1]) < 0; j--) {
            struct cor_structural_text text = b->texts[j];

            b->texts[j] = b->texts[j - 1];
            b->texts[j - 1] = text;
        }
    }
}

static int order_enums(const void *x, const void *y, void *arg)
{
    const struct builder *b = arg;
    struct cor_structural_text p = b->texts[*(const uint32_t *)x],
                               q = b->texts[*(const uint32_t *)y];

    return cor_structural_enum_cmp(cor_str(b->pool.p + p.at, p.n), cor_str(b->pool.p + q.at, q.n));
}

/* Sorts the numbers of the texts: messages show the values in the schema's order. */
static void sort_enums(struct builder *b, uint32_t node, struct cor_structural_run enums)
{
    struct cor_structural_run order = {0, enums.n};

    if (enums.n <= ENUM_FEW)
        return;
    order.first = reserve_numbers(b, enums.n);
    if (b->error < 0)
        return;
    for (uint32_t i = 0; i < enums.n; i++)
        b->numbers[order.first + i] = enums.first + i;
    qsort_r(&b->numbers[order.first], enums.n, sizeof(b->numbers[0]), order_enums, b);
    checks_of(b, node)->enum_order = order;
}

static void set_additional(struct builder *b, uint32_t node, uint32_t value, bool is_deduced)
{
    char first = cor_json_node_first(&b->json, value);
    uint32_t child;

    set_flag(b, node, COR_STRUCTURAL_ADDITIONAL, true);
    set_flag(b, node, COR_STRUCTURAL_NO_ADDITIONAL, first == 'f');
    if (first != '{')
        return;
    child = compile_schema(b, value, is_deduced);
    b->nodes[node].additional = child;
}

/* X(keyword, its name) of those that only validation looks at and that are plain numbers. */
#define INTEGER_KEYWORDS(X)                                                                        \
    X(min_length, MIN_LENGTH, "minLength")                                                         \
    X(max_length, MAX_LENGTH, "maxLength")                                                         \
    X(min_items, MIN_ITEMS, "minItems")                                                            \
    X(max_items, MAX_ITEMS, "maxItems")                                                            \
    X(min_properties, MIN_PROPERTIES, "minProperties")                                             \
    X(max_properties, MAX_PROPERTIES, "maxProperties")
#define REAL_KEYWORDS(X)                                                                           \
    X(minimum, MINIMUM, "minimum")                                                                 \
    X(maximum, MAXIMUM, "maximum")                                                                 \
    X(multiple_of, MULTIPLE_OF, "multipleOf")

static void set_has(struct builder *b, uint32_t node, unsigned has)
{
    struct cor_structural_checks *checks = checks_of(b, node);

    checks->has = (uint16_t)(checks->has | has);
}

/* A keyword of validation; false: `key` is none. */
static bool compile_check(struct builder *b, uint32_t node, struct cor_str key, uint32_t value)
{
    struct cor_structural_run run;
    uint32_t child;

#define X(member, has, name)                                                                       \
    if (cor_str_eqz(key, name)) {                                                                  \
        checks_of(b, node)->member = to_i64(b, value);                                             \
        set_has(b, node, COR_STRUCTURAL_HAS_##has);                                                \
        return true;                                                                               \
    }
    INTEGER_KEYWORDS(X)
#undef X
#define X(member, has, name)                                                                       \
    if (cor_str_eqz(key, name)) {                                                                  \
        checks_of(b, node)->member = to_double(b, value);                                          \
        set_has(b, node, COR_STRUCTURAL_HAS_##has);                                                \
        return true;                                                                               \
    }
    REAL_KEYWORDS(X)
#undef X
    if (cor_str_eqz(key, "pattern")) {
        set_pattern(b, node, value);
    } else if (cor_str_eqz(key, "format")) {
        set_format(b, node, value);
    } else if (cor_str_eqz(key, "enum")) {
        run = add_texts(b, value, false);
        checks_of(b, node)->enums = run;
        sort_enums(b, node, run);
    } else if (cor_str_eqz(key, "required")) {
        run = add_texts(b, value, true);
        checks_of(b, node)->required = run;
    } else if (cor_str_eqz(key, "allOf")) {
        run = compile_branches(b, value);
        checks_of(b, node)->all_of = run;
    } else if (cor_str_eqz(key, "anyOf")) {
        run = compile_branches(b, value);
        checks_of(b, node)->any_of = run;
    } else if (cor_str_eqz(key, "oneOf")) {
        run = compile_branches(b, value);
        checks_of(b, node)->one_of = run;
    } else if (cor_str_eqz(key, "not")) {
        child = compile_schema(b, value, false);
        checks_of(b, node)->not_node = child;
    } else if (cor_str_eqz(key, "exclusiveMinimum")) {
        set_has(b, node, is_true(b, value) ? COR_STRUCTURAL_EXCLUSIVE_MINIMUM : 0);
    } else if (cor_str_eqz(key, "exclusiveMaximum")) {
        set_has(b, node, is_true(b, value) ? COR_STRUCTURAL_EXCLUSIVE_MAXIMUM : 0);
    } else if (cor_str_eqz(key, "uniqueItems")) {
        set_has(b, node, is_true(b, value) ? COR_STRUCTURAL_UNIQUE_ITEMS : 0);
    } else {
        return false;
    }
    return true;
}

/* A keyword of the structure. `is_deduced`: so are the schemas in this one. */
static void compile_keyword(struct builder *b, uint32_t node, struct cor_str key, uint32_t value,
                            bool is_deduced)
{
    static const char *const unsupported[] = {"$ref", "patternProperties", "dependencies",
                                              "additionalItems", "definitions"};
    uint32_t child;

    if (cor_str_eqz(key, "type")) {
        set_type(b, node, value);
    } else if (cor_str_eqz(key, "properties")) {
        compile_properties(b, node, value, is_deduced);
    } else if (cor_str_eqz(key, "additionalProperties")) {
        set_additional(b, node, value, is_deduced);
    } else if (cor_str_eqz(key, "items") && is_object(b, value)) {
        child = compile_schema(b, value, is_deduced);
        b->nodes[node].items = child;
    } else if (cor_str_eqz(key, "items")) {
        builder_refuse(b, "OpenAPIV3Schema 'items' must be a schema, but is an array");
    } else if (cor_str_eqz(key, "default")) {
        b->nodes[node].default_json = add_text(b, cor_json_node_bytes(&b->json, value));
        set_flag(b, node, COR_STRUCTURAL_HAS_DEFAULT, true);
    } else if (cor_str_eqz(key, "nullable")) {
        set_flag(b, node, COR_STRUCTURAL_NULLABLE, is_true(b, value));
    } else if (cor_str_eqz(key, "x-kubernetes-preserve-unknown-fields")) {
        set_flag(b, node, COR_STRUCTURAL_PRESERVE, is_true(b, value));
    } else if (cor_str_eqz(key, "x-kubernetes-int-or-string")) {
        set_flag(b, node, COR_STRUCTURAL_INT_OR_STRING, is_true(b, value));
    } else if (cor_str_eqz(key, "x-kubernetes-embedded-resource")) {
        set_flag(b, node, COR_STRUCTURAL_EMBEDDED, is_true(b, value));
    } else if (cor_str_eqz(key, "x-kubernetes-list-type")) {
        set_list_type(b, node, value);
    } else if (cor_str_eqz(key, "x-kubernetes-list-map-keys")) {
        set_keys(b, node, value);
    } else if (cor_str_eqz(key, "x-kubernetes-map-type")) {
        set_flag(b, node, COR_STRUCTURAL_ATOMIC_MAP,
                 is_string(b, value) && cor_str_eqz(cor_json_node_raw(&b->json, value), "atomic"));
    } else if (cor_str_eqz(key, "x-kubernetes-validations")) {
        b->has_rules |= count_values(b, value) > 0;
    } else if (!compile_check(b, node, key, value)) {
        for (size_t i = 0; i < COR_ARRAY_LEN(unsupported); i++) {
            if (!cor_str_eqz(key, unsupported[i]))
                continue;
            if (b->error == 0 && b->why)
                (void)cor_buf_addf(b->why, "OpenAPIV3Schema '%s' is not supported", unsupported[i]);
            builder_note(b, -COR_EINVALID);
        }
    }
}

/* What the node says of what is below it: a walk that looks for defaults, lists or embedded
 * resources leaves out subtrees that have none. */
static void note_below(struct builder *b, uint32_t node, uint32_t child)
{
    unsigned own = child == COR_STRUCTURAL_NONE ? 0 : b->nodes[child].flags, below = 0;

    if (own & (COR_STRUCTURAL_HAS_DEFAULT | COR_STRUCTURAL_DEFAULTS_BELOW))
        below |= COR_STRUCTURAL_DEFAULTS_BELOW;
    if (own & (COR_STRUCTURAL_EMBEDDED | COR_STRUCTURAL_EMBEDDED_BELOW))
        below |= COR_STRUCTURAL_EMBEDDED_BELOW;
    below |= own & COR_STRUCTURAL_LISTS_BELOW;
    set_flag(b, node, below, true);
}

static uint32_t most_visits(const struct builder *b, uint32_t most, uint32_t child)
{
    return child != COR_STRUCTURAL_NONE && b->visits[child] > most ? b->visits[child] : most;
}

static void add_visits(uint32_t *to, uint32_t more)
{
    *to = *to > VISITS_MAX - more ? VISITS_MAX : *to + more;
}

static void add_branches(const struct builder *b, struct cor_structural_run branches, uint32_t *to)
{
    for (uint32_t i = 0; i < branches.n; i++)
        add_visits(to, b->visits[b->numbers[branches.first + i]]);
}

/* How often a walk that begins at the node looks at a value: its own properties or items are one
 * way to a value, and each branch of allOf, anyOf, oneOf and not is another one. */
static void count_visits(struct builder *b, uint32_t node)
{
    const struct cor_structural_node *n = &b->nodes[node];
    uint32_t most = 1;

    for (uint32_t i = 0; i < n->nproperties; i++)
        most = most_visits(b, most, b->properties[n->first_property + i].node);
    most = most_visits(b, most, n->additional);
    most = most_visits(b, most, n->items);
    if (n->checks != COR_STRUCTURAL_NONE) {
        const struct cor_structural_checks *checks = &b->checks[n->checks];

        add_branches(b, checks->any_of, &most);
        add_branches(b, checks->one_of, &most);
        add_branches(b, checks->all_of, &most);
        if (checks->not_node != COR_STRUCTURAL_NONE)
            add_visits(&most, b->visits[checks->not_node]);
    }
    b->visits[node] = most;
}

/* Does the schema keep unknown fields? The keyword may follow those of the schemas in it, for which
 * server-side apply inherits it. */
static bool preserves_unknown(const struct builder *b, uint32_t value, uint32_t end)
{
    for (uint32_t i = value + 1; i < end; i = cor_json_node_next(&b->json, i + 1)) {
        if (cor_str_eqz(cor_json_node_raw(&b->json, i), "x-kubernetes-preserve-unknown-fields"))
            return is_true(b, i + 1);
    }
    return false;
}

/* Is there nothing below the node, and nothing that only it can have? */
static bool is_leaf(const struct builder *b, uint32_t number)
{
    const struct cor_structural_node *node = &b->nodes[number];
    const struct cor_structural_checks *c =
        node->checks == COR_STRUCTURAL_NONE ? NULL : &b->checks[node->checks];

    return number + 1 == b->nnodes && node->nproperties == 0 && node->nkeys == 0 &&
           node->additional == COR_STRUCTURAL_NONE && node->items == COR_STRUCTURAL_NONE &&
           !(node->flags & COR_STRUCTURAL_HAS_DEFAULT) &&
           (!c || (node->checks + 1 == b->nchecks && c->not_node == COR_STRUCTURAL_NONE &&
                   c->any_of.n + c->one_of.n + c->all_of.n + c->enums.n + c->required.n == 0 &&
                   c->format.n == 0));
}

/* Have both leaves the same limits and the same pattern? */
static bool is_same_checks(const struct builder *b, uint32_t x, uint32_t y)
{
    const struct cor_structural_checks *p, *q;

    if (x == COR_STRUCTURAL_NONE || y == COR_STRUCTURAL_NONE)
        return x == y;
    p = &b->checks[x];
    q = &b->checks[y];
    return p->has == q->has && p->pattern == q->pattern && p->minimum == q->minimum &&
           p->maximum == q->maximum && p->multiple_of == q->multiple_of &&
           p->min_length == q->min_length && p->max_length == q->max_length &&
           p->min_items == q->min_items && p->max_items == q->max_items &&
           p->min_properties == q->min_properties && p->max_properties == q->max_properties;
}

/* The number of a node that says what the newest one says, which is taken back then; else its own
 * number. Most fields of a definition are plain texts and numbers. */
static uint32_t share_leaf(struct builder *b, uint32_t number)
{
    const struct cor_structural_node *node = &b->nodes[number];

    if (!is_leaf(b, number))
        return number;
    for (size_t i = 0; i < b->nleaves; i++) {
        const struct cor_structural_node *other = &b->nodes[b->leaves[i]];

        if (other->flags != node->flags || other->type != node->type ||
            other->format != node->format || other->list != node->list ||
            !is_same_checks(b, other->checks, node->checks))
            continue;
        b->nnodes--;
        b->nchecks -= node->checks != COR_STRUCTURAL_NONE;
        return b->leaves[i];
    }
    if (b->nleaves < SHARED_MAX)
        b->leaves[b->nleaves++] = number;
    return number;
}

/* Compiles the schema at `value` and returns the number of its node; the number means nothing when
 * the builder has failed. */
static uint32_t compile_schema(struct builder *b, uint32_t value, bool is_deduced)
{
    uint32_t node = (uint32_t)b->nnodes, end;

    if (b->error < 0)
        return 0;
    if (!is_object(b, value)) {
        builder_refuse(b, "a schema is not an object");
        return 0;
    }
    if (builder_note(b, COR_ARRAY_RESERVE(&b->nodes, b->nnodes, &b->cap_nodes, TABLE_MAX)) < 0 ||
        builder_note(b, COR_ARRAY_RESERVE(&b->visits, b->nnodes, &b->cap_visits, TABLE_MAX)) < 0)
        return 0;
    b->nodes[b->nnodes++] = (struct cor_structural_node){.additional = COR_STRUCTURAL_NONE,
                                                         .items = COR_STRUCTURAL_NONE,
                                                         .checks = COR_STRUCTURAL_NONE};
    end = b->json.v[value].end;
    is_deduced = is_deduced || preserves_unknown(b, value, end);
    set_flag(b, node, COR_STRUCTURAL_DEDUCED, is_deduced);
    for (uint32_t i = value + 1; i < end && b->error == 0;
         i = cor_json_node_next(&b->json, i + 1)) {
        if (cor_json_node_first(&b->json, i + 1) != 'n') /* null means that a keyword is not set */
            compile_keyword(b, node, cor_json_node_raw(&b->json, i), i + 1, is_deduced);
    }
    if (b->error < 0)
        return 0;
    for (uint32_t i = 0; i < b->nodes[node].nproperties; i++)
        note_below(b, node, b->properties[b->nodes[node].first_property + i].node);
    note_below(b, node, b->nodes[node].additional);
    note_below(b, node, b->nodes[node].items);
    set_flag(b, node, COR_STRUCTURAL_LISTS_BELOW, b->nodes[node].list >= COR_STRUCTURAL_LIST_SET);
    count_visits(b, node);
    /* The first node is that of the object. */
    return node == 0 ? node : share_leaf(b, node);
}

/* --- The block ---------------------------------------------------------------------------------
 */

/* Copies a table to *at and moves *at behind the copy. Every table but the pool has a size that
 * keeps the next one aligned. */
static const void *gather(char **at, const void *table, size_t bytes)
{
    char *copy = *at;

    if (bytes > 0)
        memcpy(copy, table, bytes);
    *at += bytes;
    return copy;
}

#define TABLE_BYTES(b, table) ((b)->n##table * sizeof((b)->table[0]))

static struct cor_structural *builder_finish(struct builder *b,
                                             const struct cor_structural_opts *opts)
{
    size_t patterns = b->npatterns * sizeof(struct cor_structural_pattern);
    size_t bytes = sizeof(struct cor_structural) + sizeof(struct cor_structural_kept) +
                   TABLE_BYTES(b, checks) + patterns + TABLE_BYTES(b, nodes) +
                   TABLE_BYTES(b, properties) + TABLE_BYTES(b, texts) + TABLE_BYTES(b, numbers) +
                   b->pool.n;
    struct cor_structural *schema = cor_alloc(bytes);
    char *at;

    if (!schema)
        return NULL;
    at = (char *)(schema + 1);
    *schema = (struct cor_structural){
        .preserves_unknown = opts && opts->preserves_unknown,
        .has_rules = b->has_rules,
        .bytes = bytes,
        .npatterns = (uint32_t)b->npatterns,
        .visits = b->visits[0],
    };
    schema->kept = (struct cor_structural_kept *)(void *)at;
    *schema->kept = (struct cor_structural_kept){0};
    at += sizeof(*schema->kept);
    schema->checks = gather(&at, b->checks, TABLE_BYTES(b, checks));
    schema->patterns = (struct cor_structural_pattern *)(void *)at;
    for (size_t i = 0; i < b->npatterns; i++) {
        atomic_init(&schema->patterns[i].compiled, NULL);
        schema->patterns[i].text = b->patterns[i];
    }
    at += patterns;
    schema->nodes = gather(&at, b->nodes, TABLE_BYTES(b, nodes));
    schema->properties = gather(&at, b->properties, TABLE_BYTES(b, properties));
    schema->texts = gather(&at, b->texts, TABLE_BYTES(b, texts));
    schema->numbers = gather(&at, b->numbers, TABLE_BYTES(b, numbers));
    schema->pool = gather(&at, b->pool.p, b->pool.n);
    assert((size_t)(at - (char *)schema) == bytes);
    return schema;
}

int cor_structural_compile(struct cor_str schema_json, const struct cor_structural_opts *opts,
                           struct cor_structural **ret_schema, struct cor_buf *why)
{
    const struct cor_json_limits limits = {COR_STRUCTURAL_JSON_MAX, COR_JSON_DEPTH_MAX, true, NULL,
                                           NULL};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = COR_STRUCTURAL_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf numbers = {.max = 2 * (size_t)COR_STRUCTURAL_JSON_MAX};
    struct builder *b;
    int r;

    r = cor_json_canonicalize(schema_json, &limits, &text, NULL, NULL);
    if (r == 0)
        r = cor_structural_write_numbers(cor_buf_str(&text), &numbers);
    if (r < 0)
        return r;
    b = cor_calloc(1, sizeof(*b)); /* json.few would be much for a stack */
    if (!b)
        return -COR_ENOMEM;
    b->why = why;
    cor_buf_init(&b->pool, 2 * (size_t)COR_STRUCTURAL_JSON_MAX);
    if (builder_note(
            b, cor_json_nodes_init(&b->json, cor_buf_str(numbers.n > 0 ? &numbers : &text))) == 0)
        (void)compile_schema(b, 0, opts && opts->preserves_unknown);
    if (b->error == 0) {
        *ret_schema = builder_finish(b, opts);
        builder_note(b, *ret_schema ? 0 : -COR_ENOMEM);
    }
    r = b->error;
    cor_json_nodes_deinit(&b->json);
    cor_buf_deinit(&b->pool);
    cor_free(b->nodes);
    cor_free(b->visits);
    cor_free(b->properties);
    cor_free(b->checks);
    cor_free(b->texts);
    cor_free(b->patterns);
    cor_free(b->numbers);
    cor_free(b);
    return r;
}
