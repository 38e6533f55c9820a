/* A walk over the values of the JSON (json/text/nodes.h) and the type together. Each number that is
 * to be written as an integer is an edit: the bytes before it are copied as they are. Values that
 * are not what the type says are passed over; the read walk refuses them later. Failures: no
 * memory, or out's maximum, which end the walk. Thread: any. */
#include "schema/walk/whole_numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "schema/walk/read_int.h"
#include "json/text/nodes.h"
#include "json/text/scan.h"

#define NUMBER_MAX 64 /* bytes of a number that is read; a longer one stays as it is */

struct whole {
    struct cor_json_nodes nodes;
    size_t done; /* the bytes before it are in `out` */
    struct cor_buf *out;
    int error;
};

static bool is_number(char first)
{
    return first == '-' || (first >= '0' && first <= '9');
}

static bool is_plain(struct cor_str number)
{
    return cor_str_find(number, '.') < 0 && cor_str_find(number, 'e') < 0 &&
           cor_str_find(number, 'E') < 0;
}

/* The JSON is valid, so that outside strings a minus or a digit begins a number. */
bool cor_whole_numbers_are_possible(struct cor_str json)
{
    while (json.n > 0) {
        bool is_token = json.p[0] == '"' || is_number(json.p[0]);
        struct cor_str value = is_token ? cor_json_first_value(json) : cor_str(json.p, 1);

        if (is_number(value.p[0]) && !is_plain(value))
            return true;
        json = cor_str_from(json, value.n);
    }
    return false;
}

static bool is_whole(struct cor_str number, int64_t *ret)
{
    char text[NUMBER_MAX + 1];
    double value;

    if (number.n > NUMBER_MAX || is_plain(number))
        return false;
    memcpy(text, number.p, number.n);
    text[number.n] = '\0';
    value = strtod(text, NULL);
    if (value != trunc(value) || value < (double)INT64_MIN || value >= -(double)INT64_MIN)
        return false;
    *ret = (int64_t)value;
    return true;
}

static void whole_number(struct whole *w, uint32_t node)
{
    struct cor_str number = cor_json_node_bytes(&w->nodes, node);
    size_t at = w->nodes.v[node].at;
    int64_t value;

    if (!is_number(number.p[0]) || !is_whole(number, &value))
        return;
    w->error = cor_buf_adds(w->out, cor_str(w->nodes.json.p + w->done, at - w->done));
    if (w->error == 0)
        w->error = cor_buf_addf(w->out, "%" PRId64, value);
    w->done = at + number.n;
}

static void whole_value(struct whole *w, uint32_t node, const struct cor_type *type)
{
    const struct cor_json_nodes *nodes = &w->nodes;
    enum cor_shape shape = cor_type_shape(type);
    bool is_object = cor_json_node_first(nodes, node) == '{';
    struct cor_member member;

    switch (shape) {
    case COR_SHAPE_STRUCT:
    case COR_SHAPE_MAP:
        for (uint32_t key = node + 1; is_object && key < nodes->v[node].end && w->error == 0;
             key = cor_json_node_next(nodes, key + 1)) {
            size_t i = 0;

            if (shape == COR_SHAPE_STRUCT)
                i = cor_read_find_member(type, cor_json_node_raw(nodes, key));
            if (i == SIZE_MAX)
                continue;
            if (shape == COR_SHAPE_STRUCT)
                cor_type_member(type, i, &member);
            whole_value(w, key + 1,
                        shape == COR_SHAPE_STRUCT ? cor_type_field_type(member.field)
                                                  : cor_type_element(type));
        }
        break;
    case COR_SHAPE_LIST:
        for (uint32_t i = node + 1;
             cor_json_node_first(nodes, node) == '[' && i < nodes->v[node].end && w->error == 0;
             i = cor_json_node_next(nodes, i))
            whole_value(w, i, cor_type_element(type));
        break;
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_INT_OR_STRING:
    case COR_SHAPE_QUANTITY:
        whole_number(w, node);
        break;
    default:
        break;
    }
}

int cor_whole_numbers_write(struct cor_str json, const struct cor_type *type, struct cor_buf *out)
{
    struct whole w = {.out = out};
    size_t before = out->n;

    w.error = cor_json_nodes_init(&w.nodes, json);
    if (w.error == 0)
        w.error = cor_buf_reserve(out, json.n);
    if (w.error == 0)
        whole_value(&w, 0, type);
    cor_json_nodes_deinit(&w.nodes);
    if (w.error == 0)
        w.error = cor_buf_adds(out, cor_str_from(json, w.done));
    if (w.error < 0)
        cor_buf_truncate(out, before);
    return w.error;
}
