/* clang-format off */
/* Semantic equality of JSON values. Both are made canonical, so that their keys are sorted; then one
 * walk goes over both in step:
 *
 *   objects: a key that one side lacks is compared with an absent value   lists: element by element
 *   all other values: by bytes, then by what the name of the member says
 *
 * The rule of a member comes from its name (cor_equality_rule_of()) and holds for the value, for
 * the elements of a list, and for the members of an object that is a map of quantities or of texts.
 * The work is linear in both texts. Failures: values that are not JSON, and memory. */
/* clang-format on */
#include "meta/value/equality.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/words.h"
#include "coracle/quantity.h"
#include "coracle/time.h"
#include "json/text/json.h"
#include "json/text/nodes.h"
#include "json/text/scan.h"

#define BYTES_MAX ((size_t)1 << 31)

struct side {
    const struct cor_json_nodes *nodes;
    uint32_t node; /* COR_JSON_NO_NODE: absent */
};

/* ---- names ---- */

static bool ends_with(struct cor_str name, struct cor_str end)
{
    return name.n >= end.n && cor_str_eq(cor_str_from(name, name.n - end.n), end);
}

enum cor_equality_rule cor_equality_rule_of(struct cor_str name)
{
    static const char *const quantities[] = {"allocatable",
                                             "allocatedResources",
                                             "averageValue",
                                             "capacity",
                                             "consumedCapacity",
                                             "defaultRequest",
                                             "divisor",
                                             "hard",
                                             "limits",
                                             "max",
                                             "maxLimitRequestRatio",
                                             "maximumVolumeSize",
                                             "min",
                                             "overhead",
                                             "podFixed",
                                             "requests",
                                             "sizeLimit",
                                             "step",
                                             "tolerance",
                                             "used",
                                             "validValues"};
    static const char *const times[] = {"finishedAt", "startedAt", "time", "timeAdded"};
    static const char *const texts[] = {"annotations", "binaryData",      "data",
                                        "labels",      "matchLabels",     "nodeSelector",
                                        "stringData",  "volumeAttributes"};

    if (cor_str_is_one_of(name, quantities, COR_ARRAY_LEN(quantities)))
        return COR_EQUALITY_QUANTITY;
    if (cor_str_is_one_of(name, texts, COR_ARRAY_LEN(texts)))
        return COR_EQUALITY_TEXTS;
    if (ends_with(name, COR_STR("Time")) || ends_with(name, COR_STR("Timestamp")) ||
        cor_str_is_one_of(name, times, COR_ARRAY_LEN(times)))
        return COR_EQUALITY_TIME;
    return COR_EQUALITY_JSON;
}

/* ---- values ---- */

static bool has_nothing_in(struct side s)
{
    return cor_json_node_next(s.nodes, s.node) == s.node + 1;
}

/* Is the value the same as none? */
static bool is_nothing(struct side s, enum cor_equality_rule rule)
{
    char first;

    if (s.node == COR_JSON_NO_NODE)
        return true;
    first = cor_json_node_first(s.nodes, s.node);
    return first == 'n' || (first == '[' && has_nothing_in(s)) ||
           (first == '{' && has_nothing_in(s) &&
            (rule == COR_EQUALITY_TEXTS || rule == COR_EQUALITY_QUANTITY));
}

/* The text of a string, or of a number. */
static struct cor_str scalar_text(struct side s)
{
    return cor_json_node_first(s.nodes, s.node) == '"' ? cor_json_node_raw(s.nodes, s.node)
                                                       : cor_json_node_bytes(s.nodes, s.node);
}

static bool is_number(char first)
{
    return first == '-' || (first >= '0' && first <= '9');
}

static bool are_numbers_equal(struct cor_str a, struct cor_str b)
{
    struct cor_view x = cor_view(a), y = cor_view(b);
    int64_t i, j;
    double d, e;

    if (cor_view_int(x, &i) == 0 && cor_view_int(y, &j) == 0)
        return i == j;
    return cor_view_double(x, &d) == 0 && cor_view_double(y, &e) == 0 && d == e;
}

static bool are_quantities_equal(struct cor_str a, struct cor_str b)
{
    int order;

    return cor_quantity_cmp(a, b, &order) == 0 && order == 0;
}

static bool are_times_equal(struct cor_str a, struct cor_str b)
{
    int64_t x, y;

    return cor_micro_time_parse(a, &x) == 0 && cor_micro_time_parse(b, &y) == 0 && x == y;
}

/* Of two values of which none is an object or a list. */
static bool are_scalars_equal(struct side a, struct side b, enum cor_equality_rule rule)
{
    char first_a = cor_json_node_first(a.nodes, a.node);
    char first_b = cor_json_node_first(b.nodes, b.node);
    struct cor_str x = scalar_text(a), y = scalar_text(b);

    if ((first_a == '"') == (first_b == '"') && cor_str_eq(x, y))
        return true;
    if (is_number(first_a) && is_number(first_b))
        return are_numbers_equal(x, y);
    if (rule == COR_EQUALITY_QUANTITY && (first_a == '"' || is_number(first_a)) &&
        (first_b == '"' || is_number(first_b)))
        return are_quantities_equal(x, y);
    return rule == COR_EQUALITY_TIME && first_a == '"' && first_b == '"' && are_times_equal(x, y);
}

static bool are_equal(struct side a, struct side b, enum cor_equality_rule rule);

/* The order of canonical JSON: `kind` and `apiVersion` are first in the outermost object. */
static int key_cmp(struct cor_str a, struct cor_str b, bool is_outermost)
{
    static const char *const first[] = {"kind", "apiVersion"};

    for (size_t i = 0; is_outermost && i < COR_ARRAY_LEN(first); i++)
        if (cor_str_eqz(a, first[i]) || cor_str_eqz(b, first[i]))
            return cor_str_eq(a, b) ? 0 : cor_str_eqz(a, first[i]) ? -1 : 1;
    return cor_json_raw_cmp(a, b);
}

/* The rule of a member of an object that has a rule itself: members of maps have no names. A map of
 * quantities holds scalars; an object in it is not a quantity, and its members have names again. */
static enum cor_equality_rule member_rule(enum cor_equality_rule of_object, struct side value,
                                          struct cor_str key)
{
    if (of_object == COR_EQUALITY_TEXTS)
        return COR_EQUALITY_TEXTS;
    if (of_object == COR_EQUALITY_QUANTITY && value.node != COR_JSON_NO_NODE &&
        !cor_json_node_has_nodes(value.nodes, value.node))
        return COR_EQUALITY_QUANTITY;
    return cor_equality_rule_of(key);
}

static bool are_objects_equal(struct side a, struct side b, enum cor_equality_rule rule)
{
    bool is_outermost = a.node == 0 && b.node == 0;
    uint32_t i = a.node + 1, j = b.node + 1;
    uint32_t a_end = cor_json_node_next(a.nodes, a.node);
    uint32_t b_end = cor_json_node_next(b.nodes, b.node);

    while (i + 1 < a_end || j + 1 < b_end) {
        struct side x = {a.nodes, COR_JSON_NO_NODE}, y = {b.nodes, COR_JSON_NO_NODE};
        int order = i + 1 >= a_end   ? 1
                    : j + 1 >= b_end ? -1
                                     : key_cmp(cor_json_node_raw(a.nodes, i),
                                               cor_json_node_raw(b.nodes, j), is_outermost);
        struct cor_str key =
            order <= 0 ? cor_json_node_raw(a.nodes, i) : cor_json_node_raw(b.nodes, j);

        if (order <= 0) {
            x.node = i + 1;
            i = cor_json_node_next(a.nodes, i + 1);
        }
        if (order >= 0) {
            y.node = j + 1;
            j = cor_json_node_next(b.nodes, j + 1);
        }
        if (!are_equal(x, y, member_rule(rule, order <= 0 ? x : y, key)))
            return false;
    }
    return true;
}

static bool are_lists_equal(struct side a, struct side b, enum cor_equality_rule rule)
{
    uint32_t i = a.node + 1, j = b.node + 1;
    uint32_t a_end = cor_json_node_next(a.nodes, a.node);
    uint32_t b_end = cor_json_node_next(b.nodes, b.node);

    while (i < a_end && j < b_end) {
        if (!are_equal((struct side){a.nodes, i}, (struct side){b.nodes, j}, rule))
            return false;
        i = cor_json_node_next(a.nodes, i);
        j = cor_json_node_next(b.nodes, j);
    }
    return i >= a_end && j >= b_end;
}

/* Recurses as deep as the texts are nested, which cor_json_canonicalize() limits. */
static bool are_equal(struct side a, struct side b, enum cor_equality_rule rule)
{
    char first_a, first_b;

    if (is_nothing(a, rule) || is_nothing(b, rule))
        return is_nothing(a, rule) && is_nothing(b, rule);
    first_a = cor_json_node_first(a.nodes, a.node);
    first_b = cor_json_node_first(b.nodes, b.node);
    if (first_a == '{' && first_b == '{')
        return are_objects_equal(a, b, rule);
    if (first_a == '[' && first_b == '[')
        return are_lists_equal(a, b, rule);
    if (cor_json_node_has_nodes(a.nodes, a.node) || cor_json_node_has_nodes(b.nodes, b.node))
        return false;
    return are_scalars_equal(a, b, rule);
}

/* ---- both sides ---- */

static int side_read(struct cor_view view, struct cor_buf *canonical, struct cor_json_nodes *nodes)
{
    const struct cor_json_limits limits = {
        .bytes_max = BYTES_MAX, .depth_max = COR_JSON_DEPTH_MAX, .any_number = true};
    int r = cor_json_canonicalize(view.json, &limits, canonical, NULL, NULL);

    return r < 0 ? r : cor_json_nodes_init(nodes, cor_buf_str(canonical));
}

int cor_view_equal(struct cor_view a, struct cor_view b, bool *ret_is_equal)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf a_text, b_text;
    COR_CLEANUP(cor_json_nodes_deinit) struct cor_json_nodes a_nodes = {0}, b_nodes = {0};
    bool has_a = cor_view_exists(a), has_b = cor_view_exists(b);
    int r = 0;

    cor_buf_init(&a_text, BYTES_MAX);
    cor_buf_init(&b_text, BYTES_MAX);
    if (has_a)
        r = side_read(a, &a_text, &a_nodes);
    if (r == 0 && has_b)
        r = side_read(b, &b_text, &b_nodes);
    if (r < 0)
        return r;
    *ret_is_equal =
        are_equal((struct side){&a_nodes, has_a ? 0 : COR_JSON_NO_NODE},
                  (struct side){&b_nodes, has_b ? 0 : COR_JSON_NO_NODE}, COR_EQUALITY_JSON);
    return 0;
}

int cor_object_equal(const struct cor_object *a, const struct cor_object *b, bool *ret_is_equal)
{
    if (cor_object_make_json(a) < 0 || cor_object_make_json(b) < 0)
        return -COR_ENOMEM;
    return cor_view_equal(cor_object_view(a), cor_object_view(b), ret_is_equal);
}
