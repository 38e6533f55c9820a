/* clang-format off */
/* The merge of repeated members. Every value of the result has sources: the texts that the decoder
 * decodes into it, in the order in which they come. The outermost object has one source; a member
 * that is repeated, or that is in several sources of its struct, has several.
 *
 *   null             clears what can be nil in Go (a pointer, a list, a map, bytes), and what has a
 *                    decoder that says so (times, quantities); any other value stays as it was
 *   struct           each member is decoded into the member that is there: the sources of a member
 *                    are its values in all sources of the struct
 *   list             elements are decoded into those that are there, from the first one on. The
 *                    last list has as many elements as the result; an element may be older than the
 *                    list before it, because Go keeps the memory of a list that became shorter, but
 *                    for a list that became empty
 *   map              keys are added; an element begins empty, so that its last value counts
 *   any other value  the last source
 *
 * The sources of all values under way are on one stack of nodes (json/text/nodes.h), the innermost
 * value's last; each node is put there once for each level that it is at, so the work is linear.
 * Failures: no memory; the walk then stops, and `out` is cut to its length before.
 * Thread: any. */
/* clang-format on */
#include "schema/walk/repeated.h"

#include <assert.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/walk/read_int.h"
#include "json/text/nodes.h"

struct merge {
    struct cor_json_nodes nodes;
    struct cor_buf *out;
    uint32_t *stack; /* nodes: the sources of all values under way */
    size_t n, cap;
    int error;
};

/* The sources of a value: a part of the stack, which may move. */
struct merge_sources {
    size_t first, n;
};

static void merge_value(struct merge *m, const struct cor_type *type, bool can_be_nil,
                        struct merge_sources from);

static void merge_check(struct merge *m, int r)
{
    if (r < 0 && m->error == 0)
        m->error = r;
}

static void merge_write(struct merge *m, struct cor_str text)
{
    if (m->error == 0)
        merge_check(m, cor_buf_adds(m->out, text));
}

/* Puts `n` places on the stack. False: there is no memory. */
static bool merge_push(struct merge *m, size_t n)
{
    int r = COR_ARRAY_RESERVE_MORE(&m->stack, m->n, n, &m->cap, COR_ARRAY_NO_MAX);

    merge_check(m, r);
    if (r == 0)
        m->n += n;
    return r == 0;
}

static bool merge_is_null(const struct merge *m, uint32_t node)
{
    return cor_json_node_first(&m->nodes, node) == 'n';
}

static bool merge_is_empty_list(const struct merge *m, uint32_t node)
{
    return cor_json_node_first(&m->nodes, node) == '[' && m->nodes.v[node].end == node + 1;
}

/* Returns whether an unset value of this shape is nil in Go, even where it is not a pointer. */
static bool merge_shape_can_be_nil(enum cor_shape shape)
{
    return shape == COR_SHAPE_LIST || shape == COR_SHAPE_MAP || shape == COR_SHAPE_BYTES;
}

/* Returns whether it has a decoder of its own, which reads null as the zero value. */
static bool merge_shape_is_cleared(enum cor_shape shape)
{
    return shape == COR_SHAPE_TIME || shape == COR_SHAPE_MICRO_TIME ||
           shape == COR_SHAPE_QUANTITY || shape == COR_SHAPE_DURATION;
}

/* Leaves out the sources that do not count, because they are null or because null comes behind
 * them. None is left: the value is null. */
static struct merge_sources merge_drop_nulls(struct merge *m, bool clears,
                                             struct merge_sources from)
{
    uint32_t *source = m->stack + from.first;
    size_t kept = 0;

    for (size_t i = 0; i < from.n; i++) {
        if (!merge_is_null(m, source[i]))
            source[kept++] = source[i];
        else if (clears)
            kept = 0;
    }
    from.n = kept;
    return from;
}

static void merge_members(struct merge *m, const struct cor_type *type, const size_t *counts,
                          size_t first)
{
    const char *comma = "";
    struct cor_member member;

    for (size_t i = 0; i < cor_type_nmembers(type) && m->error == 0; i++) {
        const struct cor_type *inner;

        if (counts[i] == 0)
            continue;
        cor_type_member(type, i, &member);
        inner = cor_type_field_type(member.field);
        merge_check(m, cor_buf_addf(m->out, "%s\"%.*s\":", comma,
                                    COR_STR_ARG(cor_type_field_name(member.field))));
        merge_value(m, inner,
                    cor_type_field_is(member.field, COR_FIELD_POINTER) ||
                        merge_shape_can_be_nil(cor_type_shape(inner)),
                    (struct merge_sources){first, counts[i]});
        first += counts[i];
        comma = ",";
    }
}

/* Sorts the members of all sources by their places in the type, and merges one after the other. */
static void merge_struct(struct merge *m, const struct cor_type *type, struct merge_sources from)
{
    size_t counts[COR_TYPE_MEMBERS_MAX] = {0}, next[COR_TYPE_MEMBERS_MAX], total = 0;
    size_t first = m->n;

    for (int is_filling = 0; is_filling < 2; is_filling++) {
        for (size_t s = 0; s < from.n; s++) {
            uint32_t key = m->stack[from.first + s] + 1;
            uint32_t end = m->nodes.v[m->stack[from.first + s]].end;

            for (; key < end; key = cor_json_node_next(&m->nodes, key + 1)) {
                size_t i = cor_read_find_member(type, cor_json_node_raw(&m->nodes, key));

                if (i == SIZE_MAX)
                    continue;
                if (is_filling)
                    m->stack[next[i]++] = key + 1;
                else
                    counts[i]++;
            }
        }
        for (size_t i = 0; !is_filling && i < COR_TYPE_MEMBERS_MAX; i++) {
            next[i] = first + total;
            total += counts[i];
        }
        if (!is_filling && !merge_push(m, total))
            return;
    }
    merge_write(m, COR_STR("{"));
    merge_members(m, type, counts, first);
    merge_write(m, COR_STR("}"));
    m->n = first;
}

static void merge_map(struct merge *m, const struct cor_type *type, struct merge_sources from)
{
    const struct cor_type *element = cor_type_element(type);
    bool can_be_nil = merge_shape_can_be_nil(cor_type_shape(element));
    struct merge_sources one = {m->n, 1};
    bool is_first = true;

    if (!merge_push(m, 1))
        return;
    merge_write(m, COR_STR("{"));
    for (size_t s = 0; s < from.n; s++) {
        uint32_t key = m->stack[from.first + s] + 1;
        uint32_t end = m->nodes.v[m->stack[from.first + s]].end;

        for (; key < end && m->error == 0; key = cor_json_node_next(&m->nodes, key + 1)) {
            if (!is_first)
                merge_write(m, COR_STR(","));
            is_first = false;
            merge_write(m, cor_json_node_bytes(&m->nodes, key));
            merge_write(m, COR_STR(":"));
            m->stack[one.first] = key + 1;
            merge_value(m, element, can_be_nil, one);
        }
    }
    merge_write(m, COR_STR("}"));
    m->n = one.first;
}

/* Goes through all lists at once. `cursors` has a pair of nodes for each list that has elements
 * left, the present element and the end; the last list is the last of them, since it ends the loop.
 */
static void merge_elements(struct merge *m, const struct cor_type *type, size_t cursors, size_t n)
{
    const struct cor_type *element = cor_type_element(type);
    bool can_be_nil = merge_shape_can_be_nil(cor_type_shape(element));
    size_t sources = m->n;

    for (bool is_first = true; m->error == 0; is_first = false) {
        uint32_t *cursor;
        size_t left = 0;

        if (!merge_push(m, n))
            return;
        cursor = m->stack + cursors;
        if (cursor[2 * n - 2] == cursor[2 * n - 1])
            break;
        for (size_t i = 0; i < n; i++) {
            uint32_t at = cursor[2 * i], end = cursor[2 * i + 1];

            if (at == end)
                continue;
            m->stack[sources + left] = at;
            cursor[2 * left] = cor_json_node_next(&m->nodes, at);
            cursor[2 * left + 1] = end;
            left++;
        }
        n = left;
        if (!is_first)
            merge_write(m, COR_STR(","));
        merge_value(m, element, can_be_nil, (struct merge_sources){sources, n});
        m->n = sources;
    }
}

static void merge_list(struct merge *m, const struct cor_type *type, struct merge_sources from)
{
    size_t first = m->n;

    /* An empty list is a new one; what was there before it does not count. */
    for (size_t i = from.n; i-- > 0;) {
        if (merge_is_empty_list(m, m->stack[from.first + i])) {
            from.first += i + 1;
            from.n -= i + 1;
            break;
        }
    }
    merge_write(m, COR_STR("["));
    if (from.n > 0 && merge_push(m, 2 * from.n)) {
        for (size_t i = 0; i < from.n; i++) {
            m->stack[first + 2 * i] = m->stack[from.first + i] + 1;
            m->stack[first + 2 * i + 1] = m->nodes.v[m->stack[from.first + i]].end;
        }
        merge_elements(m, type, first, from.n);
    }
    merge_write(m, COR_STR("]"));
    m->n = first;
}

/* Types with a decoder within the decoder: each text makes a new value, in which a struct may
 * repeat members. */
static void merge_schema_or(struct merge *m, const struct cor_type *type, uint32_t node)
{
    char first = cor_json_node_first(&m->nodes, node);
    bool has_schemas = cor_type_shape(type) == COR_SHAPE_SCHEMA_OR_ARRAY;
    struct merge_sources one = {m->n, 1};
    uint32_t end = m->nodes.v[node].end;

    if ((first != '{' && first != '[') || (first == '[' && !has_schemas)) {
        merge_write(m, cor_json_node_bytes(&m->nodes, node));
        return;
    }
    if (!merge_push(m, 1))
        return;
    m->stack[one.first] = node;
    if (first == '{') {
        merge_struct(m, cor_type_element(type), one);
    } else {
        merge_write(m, COR_STR("["));
        for (uint32_t i = node + 1; i < end && m->error == 0;
             i = cor_json_node_next(&m->nodes, i)) {
            if (i > node + 1)
                merge_write(m, COR_STR(","));
            m->stack[one.first] = i;
            merge_value(m, cor_type_element(type), false, one);
        }
        merge_write(m, COR_STR("]"));
    }
    m->n = one.first;
}

static void merge_value(struct merge *m, const struct cor_type *type, bool can_be_nil,
                        struct merge_sources from)
{
    enum cor_shape shape = cor_type_shape(type);
    bool is_null = merge_is_null(m, m->stack[from.first + from.n - 1]);
    uint32_t last;

    assert(from.n > 0);
    from = merge_drop_nulls(m, can_be_nil || merge_shape_is_cleared(shape), from);
    if (from.n == 0) {
        merge_write(m, COR_STR("null"));
        return;
    }
    last = m->stack[from.first + from.n - 1];
    switch (shape) {
    case COR_SHAPE_STRUCT:
        merge_struct(m, type, from);
        break;
    case COR_SHAPE_MAP:
        merge_map(m, type, from);
        break;
    case COR_SHAPE_LIST:
        merge_list(m, type, from);
        break;
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        merge_schema_or(m, type, last);
        break;
    case COR_SHAPE_INT_OR_STRING:
        /* Null makes a number of it, which the string did not set. */
        if (is_null && cor_json_node_first(&m->nodes, last) == '"') {
            merge_write(m, COR_STR("0"));
            break;
        }
        merge_write(m, cor_json_node_bytes(&m->nodes, last));
        break;
    default:
        merge_write(m, cor_json_node_bytes(&m->nodes, last));
    }
}

int cor_repeated_merge(struct cor_str json, const struct cor_type *type, struct cor_buf *out)
{
    struct merge m = {.out = out};
    size_t before = out->n;

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT);
    merge_check(&m, cor_json_nodes_init(&m.nodes, cor_str_trim(json)));
    merge_check(&m, cor_buf_reserve(out, json.n));
    if (m.error == 0 && merge_push(&m, 1)) {
        m.stack[0] = 0;
        merge_value(&m, type, false, (struct merge_sources){0, 1});
    }
    cor_json_nodes_deinit(&m.nodes);
    cor_free(m.stack);
    if (m.error)
        cor_buf_truncate(out, before);
    return m.error;
}
