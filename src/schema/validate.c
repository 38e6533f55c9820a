/* clang-format off */
/* The interpreter of validation programs.
 *
 * A program is a run of rows. A row has a path, which is relative to the place of its block, and an
 * operation on what is there. Rows that are fine cost a look-up per step and one test; the path of
 * an error is put together only when there is one.
 *
 *   run_rows ──► run_row ─► resolve the path ─► skip? (nil on the way, empty and optional …)
 *      ▲                  └► test ─► add_error: path, value, detail
 *      └── if, at, each, use: the rows of a block, with the place that it enters
 *
 * `stop` ends the block that at, each, use or the program itself began; if passes it on.
 * Depth: blocks and sets are nested as the rule files nest them; no set uses itself.
 * Failures: no memory, which the errors keep; then everything ends. Thread: any. */
/* clang-format on */
#include "schema/validate.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str_set.h"
#include "schema/equal.h"
#include "schema/hooks/hooks.h"
#include "schema/types_int.h"
#include "schema/validate_int.h"
#include "json/scan.h"

#define DETAIL_MAX  (64u * 1024)
#define UNIQUE_MAX  (1u << 24) /* elements of a list; the request's body bounds them before */
#define NAMES_MAX   32         /* supported values of an enum */
#define WARNING_MAX (64u * 1024)

/* What a path leads to. */
struct target {
    const struct cor_type *type;
    uint32_t node, old;
    bool is_pointer;
    bool is_lost;       /* a nil pointer is on the way: there is no such field */
    struct cor_str key; /* of @key */
    bool is_key;
};

static const char *pool(uint32_t offset)
{
    return cor_type_pool + offset;
}

static const struct cor_place *climb(const struct cor_place *place, size_t climbs)
{
    while (climbs-- > 0)
        place = place->parent;
    return place;
}

/* The field that `path` names from `place`. The old value is looked for only where there is an old
 * object. */
static struct target resolve(struct cor_check *check, const struct cor_place *place,
                             const struct cor_validate_path *path)
{
    struct target to;

    place = climb(place, path->climbs);
    to = (struct target){.type = place->type,
                         .node = path->is_old ? place->old : place->node,
                         .old = place->old,
                         .is_pointer = place->is_pointer};
    for (size_t i = 0; i < path->depth; i++) {
        uint32_t step = check->tables->steps[path->first + i];
        bool has_old = to.old != COR_JSON_NO_NODE;

        if (step == COR_VALIDATE_STEP_OWN_KEY) {
            to = (struct target){.is_key = true, .key = place->key, .type = &cor_types[0]};
            return to;
        }
        to.is_lost = to.is_lost || (i > 0 && to.is_pointer && to.node == COR_JSON_NO_NODE);
        if (step & COR_VALIDATE_STEP_KEY) {
            struct cor_str key = cor_strz(pool(step & ~COR_VALIDATE_STEP_KEY));

            to.node = cor_check_find_entry(check, path->is_old, to.node, key);
            to.old = has_old ? cor_check_find_entry(check, true, to.old, key) : COR_JSON_NO_NODE;
            to.type = &cor_types[to.type->element];
            to.is_pointer = false;
        } else {
            const struct cor_type *type = to.type;
            const struct cor_type_field *field =
                &cor_type_fields[cor_type_members[type->first_member + step].field];

            to.node = cor_check_slot(check, path->is_old, type, to.node, step);
            to.old = has_old ? cor_check_slot(check, true, type, to.old, step) : COR_JSON_NO_NODE;
            to.type = &cor_types[field->type];
            to.is_pointer = field->flags & COR_FIELD_POINTER;
        }
    }
    return to;
}

static bool is_empty(const struct cor_check *check, const struct target *to, bool is_old)
{
    return to->is_key ? to->key.n == 0 : cor_check_is_zero(check, is_old, to->type, to->node);
}

static bool is_set(const struct cor_check *check, const struct target *to, bool is_old)
{
    return to->is_pointer ? to->node != COR_JSON_NO_NODE : !is_empty(check, to, is_old);
}

/* --- Errors ------------------------------------------------------------------------------------
 */

/* The places from the block's to the field of a row, for what needs a path. */
struct way {
    struct cor_place places[COR_VALIDATE_PATH_MAX];
    const struct cor_place *end;
};

static void walk(struct cor_check *check, const struct cor_place *place,
                 const struct cor_validate_path *path, struct way *way)
{
    way->end = climb(place, path->climbs);
    for (size_t i = 0; i < path->depth; i++) {
        uint32_t step = check->tables->steps[path->first + i];

        if (step == COR_VALIDATE_STEP_OWN_KEY) {
            /* The key has the path of its entry, and is a string. */
            way->places[i] = *way->end;
            way->places[i].type = &cor_types[0];
        } else if (step & COR_VALIDATE_STEP_KEY) {
            (void)cor_place_entry(check, way->end, cor_strz(pool(step & ~COR_VALIDATE_STEP_KEY)),
                                  &way->places[i]);
        } else {
            (void)cor_place_member(check, way->end, step, &way->places[i]);
        }
        way->places[i].is_old = path->is_old;
        way->end = &way->places[i];
    }
}

static struct cor_field_value value_of(struct cor_check *check, const struct cor_place *place,
                                       const struct cor_validate_path *path)
{
    struct way way;

    if (path->depth == 1 && check->tables->steps[path->first] == COR_VALIDATE_STEP_OWN_KEY)
        return cor_field_string(climb(place, path->climbs)->key);
    walk(check, place, path, &way);
    return cor_check_value(check, way.end);
}

static struct cor_field_value row_value(struct cor_check *check, const struct cor_place *place,
                                        const struct cor_validate_row *row)
{
    if (row->flags & COR_VALIDATE_VALUE_NONE)
        return cor_field_none();
    if (row->flags & COR_VALIDATE_VALUE_TEXT)
        return cor_field_string(cor_strz(pool(row->value)));
    if (row->flags & COR_VALIDATE_VALUE_JSON)
        return cor_field_json(cor_strz(pool(row->value)));
    return value_of(check, place, row->flags & COR_VALIDATE_VALUE_FIELD ? &row->other : &row->path);
}

/* The path of a block, as the parent of others; NULL: the object itself. */
static const struct cor_field_path *block_path(const struct cor_place *place)
{
    return place->parent ? &place->path : NULL;
}

/* `at "/x.y"` is a path from the object, `at "x.y"` one from the block, `at "."` the block. */
static struct cor_field_path other_path(const struct cor_place *place, struct cor_str at)
{
    if (cor_str_starts(at, COR_STR("/")))
        return cor_field_root(cor_str_from(at, 1));
    if (cor_str_eqz(at, "."))
        return place->path;
    return cor_field_child(block_path(place), at);
}

/* Appends the text of a field for a detail: a string as it is, others as messages print them. */
static int add_text(struct cor_check *check, const struct cor_place *place, struct cor_str text,
                    struct cor_buf *out)
{
    struct cor_place at = *place, field;
    struct cor_field_value value;

    if (cor_str_starts(text, COR_STR("old."))) {
        at = cor_place_old(place);
        text = cor_str_from(text, 4);
    }
    while (cor_str_starts(text, COR_STR("up."))) {
        /* The place of the block around: past the list or the fields between. */
        at = *at.parent;
        while (at.type->shape != COR_SHAPE_STRUCT)
            at = *at.parent;
        text = cor_str_from(text, 3);
    }
    while (text.p && !cor_str_eqz(text, ".")) {
        struct cor_str name = cor_str_cut(&text, '.');
        size_t member = cor_type_member_index(at.type, name);
        struct cor_place from = at;

        assert(member != SIZE_MAX);
        (void)cor_place_member(check, &from, member, &field);
        field.is_old = at.is_old;
        at = field;
    }
    if (at.type->shape == COR_SHAPE_STRING)
        return cor_buf_adds(out, cor_place_text(check, &at));
    value = cor_check_value(check, &at);
    return cor_buf_adds(out, value.text);
}

/* Replaces {field} in the text of a row: {value} is the row's own field, {path} its path, {@key}
 * the key of the entry. */
static int fill(struct cor_check *check, const struct cor_place *place,
                const struct cor_validate_row *row, const struct cor_field_path *path,
                struct cor_buf *out)
{
    struct cor_str rest = cor_strz(pool(row->text));
    int r = 0;

    while (r == 0 && rest.n > 0) {
        ptrdiff_t open = cor_str_find(rest, '{');
        struct cor_str name;

        r = cor_buf_adds(out, open < 0 ? rest : cor_str(rest.p, (size_t)open));
        if (open < 0 || r < 0)
            break;
        rest = cor_str_from(rest, (size_t)open + 1);
        if (cor_str_starts(rest, COR_STR("{"))) {
            r = cor_buf_addc(out, '{');
            rest = cor_str_from(rest, 1);
            continue;
        }
        name = cor_str_cut(&rest, '}');
        if (cor_str_eqz(name, "path")) {
            r = cor_field_path_print(path, out);
        } else if (cor_str_eqz(name, "@key")) {
            r = cor_buf_adds(out, place->key);
        } else if (cor_str_eqz(name, "value")) {
            struct way way;

            walk(check, place, &row->path, &way);
            r = add_text(check, way.end, COR_STR("."), out);
        } else {
            r = add_text(check, place, name, out);
        }
    }
    return r;
}

/* Adds the error of a row. `detail` is NULL for the row's own text. */
static void add_error(struct cor_check *check, const struct cor_place *place,
                      const struct cor_validate_row *row, enum cor_field_error_type type,
                      struct cor_field_value value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = DETAIL_MAX};
    const char *detail = pool(row->text);
    struct cor_field_path other;
    const struct cor_field_path *path;
    struct way way;

    walk(check, place, &row->path, &way);
    path = &way.end->path;
    if (row->flags & COR_VALIDATE_AT) {
        other = other_path(place, cor_strz(pool(row->at)));
        path = &other;
    }
    if (row->flags & COR_VALIDATE_FILL) {
        cor_check_note(check, fill(check, place, row, path, &text));
        detail = cor_buf_z(&text);
    }
    if (row->op == COR_VALIDATE_OP_WARN) {
        cor_check_warn(check, detail);
    } else if (type == COR_FIELD_TOO_LONG) {
        cor_field_errors_add_too_long(check->errors, path,
                                      (size_t)check->tables->numbers[row->first_number]);
    } else if (type == COR_FIELD_TOO_MANY) {
        cor_field_errors_add_too_many(check->errors, path, cor_place_length(check, way.end),
                                      (size_t)check->tables->numbers[row->first_number]);
    } else if (type == COR_FIELD_NOT_SUPPORTED) {
        const char *names[NAMES_MAX];

        assert(row->nvalues <= NAMES_MAX);
        for (size_t i = 0; i < row->nvalues; i++)
            names[i] = pool(check->tables->values[row->first_value + i]);
        cor_field_errors_add_not_supported(check->errors, path, value, names, row->nvalues);
    } else {
        cor_field_errors_add(check->errors, type, path, value, detail);
    }
}

static void refuse(struct cor_check *check, const struct cor_place *place,
                   const struct cor_validate_row *row, enum cor_field_error_type type)
{
    add_error(check, place, row, type, row_value(check, place, row));
}

/* --- Conditions --------------------------------------------------------------------------------
 */

static bool order_holds(enum cor_validate_test test, int64_t a, int64_t b)
{
    switch (test) {
    case COR_VALIDATE_TEST_LT:
        return a < b;
    case COR_VALIDATE_TEST_LE:
        return a <= b;
    case COR_VALIDATE_TEST_GT:
        return a > b;
    case COR_VALIDATE_TEST_GE:
        return a >= b;
    case COR_VALIDATE_TEST_EQ:
        return a == b;
    default:
        return a != b;
    }
}

/* Is the value the literal, which is canonical JSON? An absent value is Go's zero, but for a nil
 * pointer, which is no value at all. */
static bool is_literal(struct cor_check *check, const struct target *to, bool is_old,
                       struct cor_str literal)
{
    const struct cor_json_nodes *nodes = is_old ? &check->old.nodes : &check->object.nodes;

    if (to->is_key)
        return literal.n >= 2 && cor_str_eq(to->key, cor_str(literal.p + 1, literal.n - 2));
    if (to->node == COR_JSON_NO_NODE)
        return !to->is_pointer && !to->is_lost &&
               (cor_str_eqz(literal, "\"\"") || cor_str_eqz(literal, "0") ||
                cor_str_eqz(literal, "false"));
    if (cor_json_node_has_nodes(nodes, to->node))
        return false;
    return cor_str_eq(cor_json_node_bytes(nodes, to->node), literal);
}

static bool is_one_of(struct cor_check *check, const struct cor_validate_condition *condition,
                      const struct target *to)
{
    for (size_t i = 0; i < condition->nvalues; i++) {
        struct cor_str literal = cor_strz(pool(check->tables->values[condition->first_value + i]));

        if (is_literal(check, to, condition->path.is_old, literal))
            return true;
    }
    return false;
}

/* Has the list one of the strings? */
static bool has_one_of(struct cor_check *check, const struct cor_validate_condition *condition,
                       const struct target *to)
{
    bool is_old = condition->path.is_old;
    const struct cor_json_nodes *nodes = is_old ? &check->old.nodes : &check->object.nodes;
    struct target element = {.type = &cor_types[to->type->element]};
    uint32_t end;

    if (to->node == COR_JSON_NO_NODE || cor_json_node_first(nodes, to->node) != '[')
        return false;
    end = cor_json_node_next(nodes, to->node);
    for (uint32_t i = to->node + 1; i < end; i = cor_json_node_next(nodes, i)) {
        element.node = i;
        if (is_one_of(check, condition, &element))
            return true;
    }
    return false;
}

static bool are_ordered(struct cor_check *check, const struct cor_place *place,
                        const struct cor_validate_condition *condition, const struct target *to)
{
    int64_t number = check->tables->numbers[condition->number];

    if (to->is_lost || (to->is_pointer && to->node == COR_JSON_NO_NODE))
        return false;
    if (condition->has_other) {
        struct target other = resolve(check, place, &condition->other);

        if (other.is_lost || (other.is_pointer && other.node == COR_JSON_NO_NODE))
            return false;
        number = cor_check_node_int(check, condition->other.is_old, other.node);
    }
    return order_holds((enum cor_validate_test)condition->test,
                       cor_check_node_int(check, condition->path.is_old, to->node), number);
}

static bool condition_hook_holds(struct cor_check *check, const struct cor_place *place,
                                 const struct cor_validate_condition *condition)
{
    struct way way;

    walk(check, place, &condition->path, &way);
    return cor_test_run((enum cor_test)condition->hook, check, way.end,
                        cor_strz(pool(condition->arg)));
}

static bool condition_holds(struct cor_check *check, const struct cor_place *place,
                            const struct cor_validate_condition *condition)
{
    bool is_old = condition->path.is_old;
    struct target to = resolve(check, place, &condition->path);
    bool holds = false;

    switch ((enum cor_validate_test)condition->test) {
    case COR_VALIDATE_TEST_IS:
        holds = is_one_of(check, condition, &to);
        break;
    case COR_VALIDATE_TEST_HAS:
        holds = has_one_of(check, condition, &to);
        break;
    case COR_VALIDATE_TEST_SET:
        holds = is_set(check, &to, is_old);
        break;
    case COR_VALIDATE_TEST_EMPTY:
        holds = is_empty(check, &to, is_old);
        break;
    case COR_VALIDATE_TEST_PRESENT:
        holds = to.node != COR_JSON_NO_NODE;
        break;
    case COR_VALIDATE_TEST_CHANGED:
        holds =
            !check->has_old || !cor_check_are_equal(check, to.type, to.is_pointer, to.node, to.old);
        break;
    case COR_VALIDATE_TEST_ON:
        holds = condition->mask >> check->operation & 1;
        break;
    case COR_VALIDATE_TEST_HOOK:
        holds = condition_hook_holds(check, place, condition);
        break;
    default:
        holds = are_ordered(check, place, condition, &to);
        break;
    }
    return holds != condition->is_not;
}

static bool all_hold(struct cor_check *check, const struct cor_place *place,
                     const struct cor_validate_row *row)
{
    for (size_t i = 0; i < row->nconditions; i++) {
        if (!condition_holds(check, place, &check->tables->conditions[row->first_condition + i]))
            return false;
    }
    return true;
}

/* --- Statements --------------------------------------------------------------------------------
 */

static void run_enum(struct cor_check *check, const struct cor_place *place,
                     const struct cor_validate_row *row, const struct target *to)
{
    struct cor_str text = cor_check_node_text(check, row->path.is_old, to->node);

    for (size_t i = 0; i < row->nvalues; i++) {
        if (cor_str_eqz(text, pool(check->tables->values[row->first_value + i])))
            return;
    }
    refuse(check, place, row, COR_FIELD_NOT_SUPPORTED);
}

static void run_range(struct cor_check *check, const struct cor_place *place,
                      const struct cor_validate_row *row, const struct target *to)
{
    int64_t number = cor_check_node_int(check, row->path.is_old, to->node);
    const int64_t *range = &check->tables->numbers[row->first_number];

    if (number < range[0] || number > range[1])
        refuse(check, place, row, COR_FIELD_INVALID);
}

static void run_compare(struct cor_check *check, const struct cor_place *place,
                        const struct cor_validate_row *row, const struct target *to)
{
    struct target other = resolve(check, place, &row->other);

    if (other.is_lost || (other.is_pointer && other.node == COR_JSON_NO_NODE))
        return;
    if (!order_holds((enum cor_validate_test)row->code,
                     cor_check_node_int(check, row->path.is_old, to->node),
                     cor_check_node_int(check, row->other.is_old, other.node)))
        refuse(check, place, row, COR_FIELD_INVALID);
}

struct finding_arg {
    struct cor_check *check;
    const struct cor_field_path *path;
};

static void add_finding(void *arg, const struct cor_format_finding *finding)
{
    const struct finding_arg *to = arg;

    if (finding->type == COR_FIELD_TOO_LONG)
        cor_field_errors_add_too_long(to->check->errors, to->path, finding->max);
    else
        cor_field_errors_add(to->check->errors, finding->type, to->path, finding->value,
                             finding->detail);
}

/* A format is asked without a path first, because nearly every value has it. */
static void check_text(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row, struct cor_str text)
{
    enum cor_format format = (enum cor_format)row->code;
    struct finding_arg arg = {check, NULL};
    struct cor_field_path other;
    struct way way;
    int r = cor_format_check_text(format, text, NULL, NULL);

    if (r > 0) {
        walk(check, place, &row->path, &way);
        other = other_path(place, cor_strz(pool(row->at)));
        arg.path = row->flags & COR_VALIDATE_AT ? &other : &way.end->path;
        r = cor_format_check_text(format, text, add_finding, &arg);
    }
    cor_check_note(check, r);
}

static void check_int(struct cor_check *check, const struct cor_place *place,
                      const struct cor_validate_row *row, int64_t number)
{
    enum cor_format format = (enum cor_format)row->code;
    struct finding_arg arg = {check, NULL};
    struct cor_field_path other;
    struct way way;
    int r = cor_format_check_int(format, number, NULL, NULL);

    if (r > 0) {
        walk(check, place, &row->path, &way);
        other = other_path(place, cor_strz(pool(row->at)));
        arg.path = row->flags & COR_VALIDATE_AT ? &other : &way.end->path;
        r = cor_format_check_int(format, number, add_finding, &arg);
    }
    cor_check_note(check, r);
}

static void run_format(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row, const struct target *to)
{
    const struct cor_json_nodes *nodes =
        row->path.is_old ? &check->old.nodes : &check->object.nodes;
    bool is_text =
        to->is_key ||
        (to->type->shape == COR_SHAPE_INT_OR_STRING
             ? to->node != COR_JSON_NO_NODE && cor_json_node_first(nodes, to->node) == '"'
             : to->type->shape != COR_SHAPE_INT32 && to->type->shape != COR_SHAPE_INT64);

    if (is_text)
        check_text(check, place, row,
                   to->is_key ? to->key : cor_check_node_text(check, row->path.is_old, to->node));
    else
        check_int(check, place, row, cor_check_node_int(check, row->path.is_old, to->node));
}

/* The keys or the values of a map, or the values of a list: reported at the map or list itself for
 * keys, and at the entry or element for values. */
static void run_entries_format(struct cor_check *check, const struct cor_place *place,
                               const struct cor_validate_row *row)
{
    bool is_keys = row->op == COR_VALIDATE_OP_KEYS_FORMAT;
    struct cor_place item;
    struct cor_each each;
    struct way way;

    walk(check, place, &row->path, &way);
    each = cor_each(check, way.end);
    while (cor_each_next(check, &each, &item)) {
        if (is_keys)
            check_text(check, place, row, item.key);
        else
            cor_check_format(check, &item, (enum cor_format)row->code);
    }
}

/* Appends what makes an element equal to another: its scalar fields, with their lengths, so that
 * two different keys are never the same bytes. */
static int add_key(struct cor_check *check, const struct cor_place *item,
                   const struct cor_validate_row *row, struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < row->nnumbers; i++) {
        struct cor_place field;
        struct cor_str json;

        (void)cor_place_member(check, item, (size_t)check->tables->numbers[row->first_number + i],
                               &field);
        json = cor_place_json(check, &field);
        r = cor_buf_addf(out, "%zu:%.*s", json.n, COR_STR_ARG(json.p ? json : COR_STR("")));
    }
    return r;
}

static void run_unique(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    bool shows_element = pool(row->arg)[0] != '\0';
    struct cor_place item, field;
    struct cor_each each;
    struct way way;

    cor_str_set_init(&seen, UNIQUE_MAX);
    walk(check, place, &row->path, &way);
    each = cor_each(check, way.end);
    while (cor_each_next(check, &each, &item)) {
        struct cor_str key = cor_place_json(check, &item);
        bool is_new;
        int r = 0;

        if (row->nnumbers == 1) {
            (void)cor_place_member(check, &item, (size_t)check->tables->numbers[row->first_number],
                                   &field);
            key = cor_place_json(check, &field);
            if (!key.p)
                key = COR_STR("");
        } else if (row->nnumbers > 1) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = DETAIL_MAX};

            r = add_key(check, &item, row, &text);
            if (r == 0)
                key = cor_strz(cor_check_printf(check, "%s", cor_buf_z(&text)));
        }
        if ((row->flags & COR_VALIDATE_OPTIONAL) && (key.n == 0 || cor_str_eqz(key, "\"\"")))
            continue;
        if (r == 0)
            r = cor_str_set_add(&seen, key, &is_new);
        cor_check_note(check, r);
        if (r == 0 && !is_new)
            cor_check_duplicate(check, row->nnumbers == 1 && !shows_element ? &field : &item);
    }
}

static void run_keep_only(struct cor_check *check, const struct cor_place *place,
                          const struct cor_validate_row *row, const struct target *to)
{
    uint64_t skip = 0;

    for (size_t i = 0; i < row->nnumbers; i++)
        skip |= UINT64_C(1) << check->tables->numbers[row->first_number + i];
    if (check->has_old && !cor_semantic_equal(to->type, to->is_pointer, &check->object.nodes,
                                              to->node, &check->old.nodes, to->old, skip))
        refuse(check, place, row, COR_FIELD_FORBIDDEN);
}

/* One of the fields is set: each further one is forbidden, none is an error of the struct. */
static void run_one_of(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row)
{
    struct way way;
    size_t n = 0;

    walk(check, place, &row->path, &way);
    for (size_t i = 0; i < row->nnumbers; i++) {
        struct cor_place field;

        if (!cor_place_member(check, way.end, (size_t)check->tables->numbers[row->first_number + i],
                              &field) ||
            !cor_place_is_set(check, &field))
            continue;
        if (n++ > 0 && pool(row->arg)[0] != '\0')
            cor_check_forbidden(check, &field, pool(row->arg));
    }
    if (n == 0 && pool(row->text)[0] != '\0')
        refuse(check, place, row, COR_FIELD_REQUIRED);
}

/* What adds an error whenever it is reached. */
static void run_error(struct cor_check *check, const struct cor_place *place,
                      const struct cor_validate_row *row)
{
    static const uint8_t types[COR_VALIDATE_OPS] = {
        [COR_VALIDATE_OP_INVALID] = COR_FIELD_INVALID,
        [COR_VALIDATE_OP_MISSING] = COR_FIELD_REQUIRED,
        [COR_VALIDATE_OP_REFUSED] = COR_FIELD_FORBIDDEN,
        [COR_VALIDATE_OP_UNSUPPORTED] = COR_FIELD_NOT_SUPPORTED,
        [COR_VALIDATE_OP_DUPLICATE] = COR_FIELD_DUPLICATE,
        [COR_VALIDATE_OP_NOT_FOUND] = COR_FIELD_NOT_FOUND,
        [COR_VALIDATE_OP_TOO_LONG] = COR_FIELD_TOO_LONG,
        [COR_VALIDATE_OP_TOO_MANY] = COR_FIELD_TOO_MANY,
        [COR_VALIDATE_OP_INTERNAL] = COR_FIELD_INTERNAL,
        [COR_VALIDATE_OP_WARN] = COR_FIELD_INVALID,
    };

    assert(row->op >= COR_VALIDATE_OP_INVALID && row->op < COR_VALIDATE_OPS);
    refuse(check, place, row, (enum cor_field_error_type)types[row->op]);
}

static void run_hook(struct cor_check *check, const struct cor_place *place,
                     const struct cor_validate_row *row)
{
    struct cor_field_path other;
    struct cor_place at;
    struct way way;

    walk(check, place, &row->path, &way);
    if (row->flags & COR_VALIDATE_AT) {
        other = other_path(place, cor_strz(pool(row->at)));
        at = *way.end;
        at.path = other;
        way.end = &at;
    }
    cor_hook_run((enum cor_hook)row->code, check, way.end, cor_strz(pool(row->arg)));
}

static void run_statement(struct cor_check *check, const struct cor_place *place,
                          const struct cor_validate_row *row, const struct target *to)
{
    size_t max = row->nnumbers ? (size_t)check->tables->numbers[row->first_number] : 0;
    struct way way;

    switch ((enum cor_validate_op)row->op) {
    case COR_VALIDATE_OP_REQUIRED:
        if (is_empty(check, to, row->path.is_old) && !is_set(check, to, row->path.is_old))
            refuse(check, place, row, COR_FIELD_REQUIRED);
        break;
    case COR_VALIDATE_OP_FORBIDDEN:
        if (is_set(check, to, row->path.is_old))
            refuse(check, place, row, COR_FIELD_FORBIDDEN);
        break;
    case COR_VALIDATE_OP_ENUM:
        run_enum(check, place, row, to);
        break;
    case COR_VALIDATE_OP_RANGE:
        run_range(check, place, row, to);
        break;
    case COR_VALIDATE_OP_COMPARE:
        run_compare(check, place, row, to);
        break;
    case COR_VALIDATE_OP_LENGTH:
    case COR_VALIDATE_OP_ITEMS:
        if (to->node == COR_JSON_NO_NODE)
            break;
        walk(check, place, &row->path, &way);
        if (cor_place_length(check, way.end) > max)
            refuse(check, place, row,
                   row->op == COR_VALIDATE_OP_LENGTH ? COR_FIELD_TOO_LONG : COR_FIELD_TOO_MANY);
        break;
    case COR_VALIDATE_OP_FORMAT:
        run_format(check, place, row, to);
        break;
    case COR_VALIDATE_OP_KEYS_FORMAT:
    case COR_VALIDATE_OP_VALUES_FORMAT:
        if (to->node != COR_JSON_NO_NODE)
            run_entries_format(check, place, row);
        break;
    case COR_VALIDATE_OP_UNIQUE:
        if (to->node != COR_JSON_NO_NODE)
            run_unique(check, place, row);
        break;
    case COR_VALIDATE_OP_IMMUTABLE:
        if (check->has_old &&
            !cor_check_are_equal(check, to->type, to->is_pointer, to->node, to->old))
            refuse(check, place, row, COR_FIELD_INVALID);
        break;
    case COR_VALIDATE_OP_KEEP_ONLY:
        run_keep_only(check, place, row, to);
        break;
    case COR_VALIDATE_OP_ONE_OF:
        run_one_of(check, place, row);
        break;
    case COR_VALIDATE_OP_HOOK:
        run_hook(check, place, row);
        break;
    default:
        run_error(check, place, row);
        break;
    }
}

/* Does the old value break the rule as well? */
static bool is_old_bad(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors old_errors = {0};
    struct cor_field_errors *errors = check->errors;
    struct cor_validate_row old_row = *row;
    struct target to;

    if (!check->has_old)
        return false;
    check->errors = &old_errors;
    old_row.path.is_old = true;
    to = resolve(check, place, &old_row.path);
    if (!to.is_lost && (!to.is_pointer || to.node != COR_JSON_NO_NODE))
        run_statement(check, place, &old_row, &to);
    check->errors = errors;
    cor_check_note(check, old_errors.error);
    return old_errors.n > 0;
}

/* Statements about a value are not for a nil pointer; those about being there or not are. */
static bool is_for_nil(enum cor_validate_op op)
{
    return op == COR_VALIDATE_OP_REQUIRED || op == COR_VALIDATE_OP_IMMUTABLE ||
           op == COR_VALIDATE_OP_HOOK || op == COR_VALIDATE_OP_KEEP_ONLY ||
           op >= COR_VALIDATE_OP_INVALID;
}

static void run_row(struct cor_check *check, const struct cor_place *place,
                    const struct cor_validate_row *row)
{
    struct target to = resolve(check, place, &row->path);

    if (to.is_lost || (to.is_pointer && to.node == COR_JSON_NO_NODE && row->path.depth > 0 &&
                       !is_for_nil((enum cor_validate_op)row->op)))
        return;
    if ((row->flags & COR_VALIDATE_OPTIONAL) && is_empty(check, &to, row->path.is_old))
        return;
    if ((row->flags & COR_VALIDATE_IF_CHANGED) && check->has_old &&
        cor_check_are_equal(check, to.type, to.is_pointer, to.node, to.old))
        return;
    if ((row->flags & COR_VALIDATE_OLD_BAD) && is_old_bad(check, place, row))
        return;
    run_statement(check, place, row, &to);
}

/* --- Blocks ------------------------------------------------------------------------------------
 */

static bool run_rows(struct cor_check *check, const struct cor_place *place, size_t i, size_t end);

/* Runs rows at the field of a row: those of at and use. */
static void run_at(struct cor_check *check, const struct cor_place *place,
                   const struct cor_validate_row *row, size_t first, size_t end)
{
    struct target to = resolve(check, place, &row->path);
    struct cor_place at;
    struct way way;

    if (to.is_lost || (to.is_pointer && to.node == COR_JSON_NO_NODE && row->path.depth > 0))
        return;
    walk(check, place, &row->path, &way);
    if (row->flags & COR_VALIDATE_AT) {
        at = *way.end;
        at.path = other_path(place, cor_strz(pool(row->at)));
        way.end = &at;
    }
    (void)run_rows(check, way.end, first, end);
}

static void run_each(struct cor_check *check, const struct cor_place *place,
                     const struct cor_validate_row *row, size_t first)
{
    struct target to = resolve(check, place, &row->path);
    struct cor_place at, item;
    struct cor_each each;
    struct way way;

    if (to.node == COR_JSON_NO_NODE)
        return;
    walk(check, place, &row->path, &way);
    if (row->flags & COR_VALIDATE_AT) {
        at = *way.end;
        at.path = other_path(place, cor_strz(pool(row->at)));
        way.end = &at;
    }
    each = cor_each(check, way.end);
    while (cor_each_next(check, &each, &item))
        (void)run_rows(check, &item, first, row->end);
}

/* Runs the rows from `i` to before `end` at a place. True: one of them has ended the block. */
static bool run_rows(struct cor_check *check, const struct cor_place *place, size_t i, size_t end)
{
    while (i < end && !cor_check_is_over(check)) {
        const struct cor_validate_row *row = &check->tables->rows[i];
        size_t before = check->errors->n;

        check->steps++;
        switch ((enum cor_validate_op)row->op) {
        case COR_VALIDATE_OP_IF:
            if (!all_hold(check, place, row)) {
                i = row->end;
                continue;
            }
            if (run_rows(check, place, i + 1, row->end))
                return true;
            i = row->chain;
            continue;
        case COR_VALIDATE_OP_AT:
            run_at(check, place, row, i + 1, row->end);
            i = row->end;
            continue;
        case COR_VALIDATE_OP_EACH:
            run_each(check, place, row, i + 1);
            i = row->end;
            continue;
        case COR_VALIDATE_OP_USE:
            run_at(check, place, row, row->end, row->chain);
            break;
        case COR_VALIDATE_OP_STOP:
            return true;
        default:
            run_row(check, place, row);
            break;
        }
        if (check->errors->n > before && (row->flags & COR_VALIDATE_STOP))
            return true;
        while (check->errors->n > before && (check->tables->rows[i].flags & COR_VALIDATE_ELSE))
            i++;
        i++;
    }
    return false;
}

/* --- Programs ----------------------------------------------------------------------------------
 */

static const struct cor_validate_program *
find_program(const struct cor_type *type, enum cor_check_operation operation, bool is_warn)
{
    size_t index = (size_t)(type - cor_types), low = 0, high = cor_validate_programs_n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct cor_validate_program *program = &cor_validate_programs[middle];
        size_t have = (size_t)program->type << 8 | program->operation << 1 | program->is_warn;
        size_t want = index << 8 | (size_t)operation << 1 | is_warn;

        if (have == want)
            return program;
        if (have < want)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool cor_validate_has(const struct cor_type *type, enum cor_check_operation operation)
{
    return find_program(type, operation, false) != NULL;
}

static const struct cor_validate_tables compiled = {
    cor_validate_rows,   cor_validate_conditions, cor_validate_steps,
    cor_validate_values, cor_validate_numbers,
};

void cor_validate_run(struct cor_check *check, const struct cor_place *place, size_t first,
                      size_t end)
{
    (void)run_rows(check, place, first, end);
}

static bool run_program(const struct cor_validation *validation,
                        const struct cor_validate_program *program, struct cor_buf *warnings,
                        struct cor_field_errors *errors)
{
    struct cor_check check;
    struct cor_place root;

    if (cor_check_init(&check, validation->object, validation->old, errors) == 0) {
        check.operation = validation->operation;
        check.meta = validation->meta;
        check.api_version = validation->api_version;
        check.warnings = warnings;
        check.tables = &compiled;
        root = cor_check_root(validation->type, &check);
        cor_validate_run(&check, &root, program->first, program->end);
    }
    cor_check_deinit(&check);
    return check.has_meta;
}

bool cor_validate(const struct cor_validation *validation, struct cor_field_errors *errors)
{
    const struct cor_validate_program *program =
        find_program(validation->type, validation->operation, false);

    return program && run_program(validation, program, NULL, errors);
}

int cor_validate_warn(const struct cor_validation *validation, struct cor_buf *warnings)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
    const struct cor_validate_program *program =
        find_program(validation->type, validation->operation, true);

    if (program)
        (void)run_program(validation, program, warnings, &errors);
    return errors.error;
}

/* --- For explain-type ---------------------------------------------------------------------------
 */

size_t cor_validate_find_line(const struct cor_type *type, const size_t *members, size_t n,
                              size_t from)
{
    for (size_t i = from; i < cor_validate_rows_n; i++) {
        const struct cor_validate_row *row = &cor_validate_rows[i];
        const struct cor_validate_path *path = &row->path;
        size_t same = 0;

        /* What is behind `else` is on the line of the row before. */
        if (i > 0 && (row[-1].flags & COR_VALIDATE_ELSE))
            continue;
        if (&cor_types[row->type] != type || path->depth != n || path->is_old || path->climbs > 0 ||
            row->op <= COR_VALIDATE_OP_EACH || row->op == COR_VALIDATE_OP_STOP)
            continue;
        while (same < n && cor_validate_steps[path->first + same] == members[same])
            same++;
        if (same == n)
            return i;
    }
    return COR_VALIDATE_NO_LINE;
}

struct cor_str cor_validate_line(size_t line)
{
    assert(line < cor_validate_rows_n);
    return cor_strz(pool(cor_validate_rows[line].line));
}

size_t cor_validate_condition(size_t line)
{
    for (size_t i = line; i-- > 0;) {
        if (cor_validate_rows[i].op == COR_VALIDATE_OP_IF && cor_validate_rows[i].end > line)
            return i;
    }
    return COR_VALIDATE_NO_LINE;
}
