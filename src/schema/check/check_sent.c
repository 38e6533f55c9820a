/* clang-format off */
/* Values as the request had them, for messages: upstream prints a list or map that was sent empty as
 * [] or {}, and one that was not sent as null. The object that is checked is in normal form, which
 * has neither, so that what was sent is looked up beside it:
 *
 *   place ──► the same place in what was sent (sent_node()) ──► both walked in step (write_value())
 *
 * Only what normalisation has dropped is taken from there, because the object also has defaults,
 * and what the strategy keeps of the old one. A place whose path is not its place in the object
 * (rules may report it elsewhere) is not found and has its value in normal form.
 * Failures: no memory, which the check notes. Thread: any. */
/* clang-format on */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "schema/check/check.h"
#include "schema/types/types_int.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

static bool is_container(const struct cor_type *type)
{
    return type->shape == COR_SHAPE_LIST || type->shape == COR_SHAPE_MAP;
}

static bool is_absent(struct cor_str json)
{
    return !json.p || json.p[0] == 'n';
}

/* Is it [] or {}? Canonical JSON has no spaces. */
static bool is_empty(struct cor_str json)
{
    return json.n == 2 && (json.p[0] == '[' || json.p[0] == '{');
}

/* --- Looking up --------------------------------------------------------------------------------
 */

/* The nodes of what was sent, which are made when they are asked for first; NULL: no memory. */
static struct cor_json_nodes *sent_nodes(struct cor_check *check)
{
    int r;

    if (check->sent_nodes)
        return check->sent_nodes;
    check->sent_nodes = cor_alloc(sizeof(*check->sent_nodes));
    r = check->sent_nodes ? cor_json_nodes_init(check->sent_nodes, check->sent) : -COR_ENOMEM;
    cor_check_note(check, r);
    return r < 0 ? NULL : check->sent_nodes;
}

/* The value of a key of an object. */
static uint32_t sent_member(const struct cor_json_nodes *nodes, uint32_t object, struct cor_str key)
{
    uint32_t end = cor_json_node_next(nodes, object);

    for (uint32_t i = object + 1; i + 1 < end; i = cor_json_node_next(nodes, i + 1)) {
        if (cor_json_raw_cmp_text(cor_json_node_raw(nodes, i), key) == 0)
            return i + 1;
    }
    return COR_JSON_NO_NODE;
}

static uint32_t sent_element(const struct cor_json_nodes *nodes, uint32_t list, size_t index)
{
    uint32_t end = cor_json_node_next(nodes, list), i = list + 1;

    for (; i < end && index > 0; index--)
        i = cor_json_node_next(nodes, i);
    return i < end ? i : COR_JSON_NO_NODE;
}

/* Which element of its list a place is. */
static size_t index_of(const struct cor_check *check, const struct cor_place *place)
{
    size_t n = 0;

    for (uint32_t i = place->parent->node + 1; i < place->node; n++)
        i = cor_json_node_next(&check->object.nodes, i);
    return n;
}

static uint32_t sent_node(struct cor_check *check, const struct cor_json_nodes *nodes,
                          const struct cor_place *place)
{
    const struct cor_place *parent = place->parent;
    struct cor_member member;
    uint32_t outer;
    char first;

    if (!parent)
        return 0;
    outer = sent_node(check, nodes, parent);
    if (outer == COR_JSON_NO_NODE)
        return COR_JSON_NO_NODE;
    first = cor_json_node_first(nodes, outer);
    switch (cor_type_shape(parent->type)) {
    case COR_SHAPE_STRUCT:
        if (first != '{' || !cor_type_find_member(parent->type, place->path.name, &member) ||
            cor_type_field_type(member.field) != place->type)
            return COR_JSON_NO_NODE;
        return sent_member(nodes, outer, place->path.name);
    case COR_SHAPE_MAP:
        return first == '{' ? sent_member(nodes, outer, place->key) : COR_JSON_NO_NODE;
    case COR_SHAPE_LIST:
        return first == '[' && place->node != COR_JSON_NO_NODE && parent->node != COR_JSON_NO_NODE
                   ? sent_element(nodes, outer, index_of(check, place))
                   : COR_JSON_NO_NODE;
    default:
        return COR_JSON_NO_NODE;
    }
}

/* --- Joining -----------------------------------------------------------------------------------
 */

static void write_value(const struct cor_type *type, struct cor_str json, struct cor_str sent,
                        struct cor_json_writer *w);

/* A member or an entry that only one side has, or both. Of what was only sent, empty lists and maps
 * are taken. */
static void write_member(const struct cor_type *type, struct cor_str key, struct cor_str json,
                         struct cor_str sent, struct cor_json_writer *w)
{
    struct cor_member member;
    const struct cor_type *inner = NULL;

    if (cor_type_shape(type) == COR_SHAPE_MAP)
        inner = cor_type_element(type);
    else if (cor_type_find_member(type, key, &member))
        inner = cor_type_field_type(member.field);
    if (!json.p && (!inner || !is_container(inner) || !is_empty(sent) ||
                    cor_type_shape(type) == COR_SHAPE_MAP))
        return;
    cor_json_raw_key(w, key);
    if (inner && sent.p)
        write_value(inner, json, sent, w);
    else
        cor_json_raw(w, json);
}

/* Structs and maps: the keys of both sides are sorted. */
static void write_members(const struct cor_type *type, struct cor_str json, struct cor_str sent,
                          struct cor_json_writer *w)
{
    struct cor_json_iter a = cor_json_iter(json), b = cor_json_iter(sent);
    struct cor_str a_key = {NULL, 0}, b_key = {NULL, 0}, none = {NULL, 0};
    bool has_a = cor_json_iter_member(&a, &a_key), has_b = cor_json_iter_member(&b, &b_key);

    cor_json_begin_object(w);
    while (has_a || has_b) {
        int order = !has_a ? 1 : !has_b ? -1 : cor_json_raw_cmp(a_key, b_key);
        struct cor_str a_value = order <= 0 ? cor_json_iter_value(&a) : none;
        struct cor_str b_value = order >= 0 ? cor_json_iter_value(&b) : none;

        write_member(type, order <= 0 ? a_key : b_key, a_value, b_value, w);
        if (order <= 0)
            has_a = cor_json_iter_member(&a, &a_key);
        if (order >= 0)
            has_b = cor_json_iter_member(&b, &b_key);
    }
    cor_json_end_object(w);
}

/* Elements belong together when both lists have as many. */
static void write_elements(const struct cor_type *type, struct cor_str json, struct cor_str sent,
                           struct cor_json_writer *w)
{
    struct cor_json_iter a = cor_json_iter(json), b = cor_json_iter(sent);
    size_t n = 0, nsent = 0;

    while (cor_json_iter_elem(&a))
        n++;
    while (cor_json_iter_elem(&b))
        nsent++;
    if (n != nsent) {
        cor_json_raw(w, json);
        return;
    }
    a = cor_json_iter(json);
    b = cor_json_iter(sent);
    cor_json_begin_array(w);
    while (cor_json_iter_elem(&a) && cor_json_iter_elem(&b))
        write_value(cor_type_element(type), cor_json_iter_value(&a), cor_json_iter_value(&b), w);
    cor_json_end_array(w);
}

static void write_value(const struct cor_type *type, struct cor_str json, struct cor_str sent,
                        struct cor_json_writer *w)
{
    enum cor_shape shape = cor_type_shape(type);
    char open = shape == COR_SHAPE_LIST ? '[' : '{';
    bool has_inner = shape == COR_SHAPE_STRUCT || is_container(type);

    if (is_container(type) && is_absent(json) && is_empty(sent) && sent.p[0] == open)
        cor_json_raw(w, sent);
    else if (!has_inner || is_absent(json) || json.p[0] != open || sent.p[0] != open)
        cor_json_raw(w, json.p ? json : COR_STR("null"));
    else if (shape == COR_SHAPE_LIST)
        write_elements(type, json, sent, w);
    else
        write_members(type, json, sent, w);
}

bool cor_check_was_sent_empty(struct cor_check *check, const struct cor_place *place)
{
    struct cor_json_nodes *nodes;
    uint32_t node;

    if (!check->sent.p || place->is_old || !place->parent || !is_container(place->type))
        return false;
    nodes = sent_nodes(check);
    node = nodes ? sent_node(check, nodes, place) : COR_JSON_NO_NODE;
    return node != COR_JSON_NO_NODE && is_empty(cor_json_node_bytes(nodes, node));
}

struct cor_str cor_check_sent(struct cor_check *check, const struct cor_place *place)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 2 * COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str json = cor_place_json(check, place), sent;
    struct cor_json_nodes *nodes;
    struct cor_json_writer w;
    uint32_t node;
    char *copy;
    int r;

    if (!check->sent.p || place->is_old || !place->parent)
        return json;
    nodes = sent_nodes(check);
    node = nodes ? sent_node(check, nodes, place) : COR_JSON_NO_NODE;
    if (node == COR_JSON_NO_NODE)
        return json;
    sent = cor_json_node_bytes(nodes, node);
    if (!json.p && !(is_container(place->type) && is_empty(sent)))
        return json;
    cor_json_writer_init(&w, &out);
    write_value(place->type, json, sent, &w);
    r = cor_json_writer_finish(&w);
    if (r == -COR_ENOMEM)
        cor_check_note(check, r);
    copy = r == 0 ? cor_check_copy(check, cor_buf_str(&out)) : NULL;
    return copy ? cor_str(copy, out.n) : json;
}
