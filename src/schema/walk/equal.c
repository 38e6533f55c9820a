/* The walk over two texts at once. Structs and maps have sorted keys in canonical JSON, so that
 * both are walked in step, and a key that only one side has is compared with an absent value. */
#include "schema/walk/equal.h"

#include "base/cleanup.h"
#include "meta/value/quantity.h"
#include "schema/types/types_int.h"
#include "json/text/scan.h"

struct side {
    const struct cor_json_nodes *nodes;
    uint32_t node; /* COR_JSON_NO_NODE: absent */
};

static bool is_absent(struct side s)
{
    return s.node == COR_JSON_NO_NODE || cor_json_node_first(s.nodes, s.node) == 'n';
}

static bool has_bytes_of(struct side a, struct side b)
{
    struct cor_str x = cor_json_node_bytes(a.nodes, a.node);
    struct cor_str y = cor_json_node_bytes(b.nodes, b.node);

    return cor_str_eq(x, y);
}

static bool is_text(struct side s)
{
    return cor_json_node_first(s.nodes, s.node) == '"';
}

/* Is it what Go has when nothing is set? A struct is, when all that it holds is. */
static bool is_zero(const struct cor_type *type, struct side s)
{
    char first;

    if (is_absent(s))
        return true;
    first = cor_json_node_first(s.nodes, s.node);
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT: {
        uint32_t end = cor_json_node_next(s.nodes, s.node);

        if (first != '{')
            return false;
        for (uint32_t i = s.node + 1; i + 1 < end; i = cor_json_node_next(s.nodes, i + 1)) {
            size_t member = cor_type_member_index(type, cor_json_node_raw(s.nodes, i));
            struct cor_member m;

            if (member == SIZE_MAX)
                return false;
            cor_type_member(type, member, &m);
            if (cor_type_field_is(m.field, COR_FIELD_POINTER)
                    ? !is_absent((struct side){s.nodes, i + 1})
                    : !is_zero(cor_type_field_type(m.field), (struct side){s.nodes, i + 1}))
                return false;
        }
        return true;
    }
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
        return cor_json_node_has_nodes(s.nodes, s.node) &&
               cor_json_node_next(s.nodes, s.node) == s.node + 1;
    case COR_SHAPE_BOOL:
        return first == 'f';
    case COR_SHAPE_QUANTITY:
        return cor_str_eq(cor_json_node_bytes(s.nodes, s.node), COR_STR("\"0\""));
    default:
        return first == '"' ? s.nodes->v[s.node].end == 0
                            : cor_str_eq(cor_json_node_bytes(s.nodes, s.node), COR_STR("0"));
    }
}

static bool are_equal(const struct cor_type *type, bool is_pointer, struct side a, struct side b,
                      uint64_t skip);

/* Structs and maps: both sides' keys are sorted. */
static bool are_members_equal(const struct cor_type *type, struct side a, struct side b,
                              uint64_t skip)
{
    bool is_map = cor_type_shape(type) == COR_SHAPE_MAP;
    uint32_t i = a.node + 1, j = b.node + 1;
    uint32_t a_end = cor_json_node_next(a.nodes, a.node),
             b_end = cor_json_node_next(b.nodes, b.node);

    while (i + 1 < a_end || j + 1 < b_end) {
        struct side x = {a.nodes, COR_JSON_NO_NODE}, y = {b.nodes, COR_JSON_NO_NODE};
        struct cor_str key;
        int order = i + 1 >= a_end   ? 1
                    : j + 1 >= b_end ? -1
                                     : cor_json_raw_cmp(cor_json_node_raw(a.nodes, i),
                                                        cor_json_node_raw(b.nodes, j));

        key = order <= 0 ? cor_json_node_raw(a.nodes, i) : cor_json_node_raw(b.nodes, j);
        if (order <= 0) {
            x.node = i + 1;
            i = cor_json_node_next(a.nodes, i + 1);
        }
        if (order >= 0) {
            y.node = j + 1;
            j = cor_json_node_next(b.nodes, j + 1);
        }
        if (is_map) {
            if (order != 0 || !are_equal(cor_type_element(type), false, x, y, 0))
                return false;
        } else {
            size_t member = cor_type_member_index(type, key);
            struct cor_member m;

            if (member == SIZE_MAX) {
                if (order != 0 || !has_bytes_of(x, y))
                    return false;
                continue;
            }
            if (member < 64 && (skip >> member & 1))
                continue;
            cor_type_member(type, member, &m);
            if (!are_equal(cor_type_field_type(m.field),
                           cor_type_field_is(m.field, COR_FIELD_POINTER), x, y, 0))
                return false;
        }
    }
    return true;
}

static bool are_lists_equal(const struct cor_type *type, struct side a, struct side b)
{
    uint32_t i = a.node + 1, j = b.node + 1;
    uint32_t a_end = cor_json_node_next(a.nodes, a.node),
             b_end = cor_json_node_next(b.nodes, b.node);

    while (i < a_end && j < b_end) {
        if (!are_equal(cor_type_element(type), false, (struct side){a.nodes, i},
                       (struct side){b.nodes, j}, 0))
            return false;
        i = cor_json_node_next(a.nodes, i);
        j = cor_json_node_next(b.nodes, j);
    }
    return i >= a_end && j >= b_end;
}

static bool are_quantities_equal(struct side a, struct side b)
{
    int order;

    if (has_bytes_of(a, b))
        return true;
    return is_text(a) && is_text(b) &&
           cor_quantity_cmp(cor_json_node_raw(a.nodes, a.node), cor_json_node_raw(b.nodes, b.node),
                            &order) == 0 &&
           order == 0;
}

static bool are_equal(const struct cor_type *type, bool is_pointer, struct side a, struct side b,
                      uint64_t skip)
{
    if (is_absent(a) || is_absent(b)) {
        if (is_absent(a) && is_absent(b))
            return true;
        /* Go's nil slices and maps equal empty ones, also those that a struct holds by value. */
        if (is_pointer && cor_type_shape(type) != COR_SHAPE_LIST &&
            cor_type_shape(type) != COR_SHAPE_MAP)
            return false;
        return is_zero(type, is_absent(a) ? b : a);
    }
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
    case COR_SHAPE_MAP:
        return cor_json_node_first(a.nodes, a.node) == '{' &&
               cor_json_node_first(b.nodes, b.node) == '{' && are_members_equal(type, a, b, skip);
    case COR_SHAPE_LIST:
        return cor_json_node_first(a.nodes, a.node) == '[' &&
               cor_json_node_first(b.nodes, b.node) == '[' && are_lists_equal(type, a, b);
    case COR_SHAPE_QUANTITY:
        return are_quantities_equal(a, b);
    default:
        return has_bytes_of(a, b);
    }
}

bool cor_semantic_equal(const struct cor_type *type, bool is_pointer,
                        const struct cor_json_nodes *a_nodes, uint32_t a,
                        const struct cor_json_nodes *b_nodes, uint32_t b, uint64_t skip)
{
    struct side x = {a_nodes, a}, y = {b_nodes, b};
    struct cor_json_nodes none;

    if (skip != 0 && !is_pointer && is_absent(x) != is_absent(y)) {
        (void)cor_json_nodes_init(&none, COR_STR("{}"));
        if (is_absent(x))
            x = (struct side){&none, 0};
        else
            y = (struct side){&none, 0};
    }
    return are_equal(type, is_pointer, x, y, skip);
}

int cor_equal(const struct cor_type *type, struct cor_str a, struct cor_str b, bool *ret_is_equal)
{
    COR_CLEANUP(cor_json_nodes_deinit) struct cor_json_nodes x = {.v = NULL};
    COR_CLEANUP(cor_json_nodes_deinit) struct cor_json_nodes y = {.v = NULL};
    int r = 0;

    *ret_is_equal = (a.p != NULL) == (b.p != NULL) && (!a.p || cor_str_eq(a, b));
    if (*ret_is_equal || !type)
        return 0;
    if (a.p)
        r = cor_json_nodes_init(&x, a);
    if (r == 0 && b.p)
        r = cor_json_nodes_init(&y, b);
    if (r == 0)
        *ret_is_equal = cor_semantic_equal(type, false, &x, a.p ? 0 : COR_JSON_NO_NODE, &y,
                                           b.p ? 0 : COR_JSON_NO_NODE, 0);
    return r;
}

bool cor_has_empty(const struct cor_type *type, struct cor_str json)
{
    enum cor_shape shape = cor_type_shape(type);
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_member member;
    struct cor_str key;

    if (shape == COR_SHAPE_LIST || shape == COR_SHAPE_MAP) {
        const struct cor_type *element = cor_type_element(type);
        bool is_list = shape == COR_SHAPE_LIST;
        size_t n = 0;

        if (json.n == 0 || json.p[0] != (is_list ? '[' : '{'))
            return false;
        for (; is_list ? cor_json_iter_elem(&it) : cor_json_iter_member(&it, &key); n++) {
            if (cor_has_empty(element, cor_json_iter_value(&it)))
                return true;
        }
        return n == 0;
    }
    while (shape == COR_SHAPE_STRUCT && cor_json_iter_member(&it, &key)) {
        if (cor_type_find_member(type, key, &member) &&
            cor_has_empty(cor_type_field_type(member.field), cor_json_iter_value(&it)))
            return true;
    }
    return false;
}
