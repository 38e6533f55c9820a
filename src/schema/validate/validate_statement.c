/* The statements of rule files: each tests a value and adds an error when the rule is broken, or
 * adds an error whenever it is reached. Most rows of a valid object end here after one test.
 * Failures: no memory, which the errors keep. Thread: any. */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str_set.h"
#include "schema/hooks/hooks.h"
#include "schema/validate/validate_run.h"
#include "schema/walk/equal.h"

#define UNIQUE_MAX (1u << 24) /* elements of a list; the request's body bounds them before */

/* The text that a path leads to. */
static struct cor_str target_text(struct cor_check *check, const struct cor_validate_row *row,
                                  const struct cor_validate_target *to)
{
    return to->is_key ? to->key : cor_check_node_text(check, row->path.is_old, to->node);
}

static void run_enum(struct cor_check *check, const struct cor_place *place,
                     const struct cor_validate_row *row, const struct cor_validate_target *to)
{
    struct cor_str text = target_text(check, row, to);

    for (size_t i = 0; i < row->nvalues; i++) {
        if (cor_str_eqz(text, cor_validate_text(check->tables->values[row->first_value + i])))
            return;
    }
    cor_validate_refuse(check, place, row, COR_FIELD_NOT_SUPPORTED);
}

static void run_range(struct cor_check *check, const struct cor_place *place,
                      const struct cor_validate_row *row, const struct cor_validate_target *to)
{
    int64_t number = cor_check_node_int(check, row->path.is_old, to->node);
    const int64_t *range = &check->tables->numbers[row->first_number];

    if (number < range[0] || number > range[1])
        cor_validate_refuse(check, place, row, COR_FIELD_INVALID);
}

static void run_compare(struct cor_check *check, const struct cor_place *place,
                        const struct cor_validate_row *row, const struct cor_validate_target *to)
{
    struct cor_validate_target other = cor_validate_resolve(check, place, &row->other);

    if (other.is_lost || (other.is_pointer && other.node == COR_JSON_NO_NODE))
        return;
    if (!cor_validate_order_holds((enum cor_validate_test)row->code,
                                  cor_check_node_int(check, row->path.is_old, to->node),
                                  cor_check_node_int(check, row->other.is_old, other.node)))
        cor_validate_refuse(check, place, row, COR_FIELD_INVALID);
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
    struct cor_validate_way way;
    int r = cor_format_check_text(format, text, NULL, NULL);

    if (r > 0) {
        cor_validate_walk(check, place, &row->path, &way);
        other = cor_validate_other_path(place, cor_strz(cor_validate_text(row->at)));
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
    struct cor_validate_way way;
    int r = cor_format_check_int(format, number, NULL, NULL);

    if (r > 0) {
        cor_validate_walk(check, place, &row->path, &way);
        other = cor_validate_other_path(place, cor_strz(cor_validate_text(row->at)));
        arg.path = row->flags & COR_VALIDATE_AT ? &other : &way.end->path;
        r = cor_format_check_int(format, number, add_finding, &arg);
    }
    cor_check_note(check, r);
}

static void run_format(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row, const struct cor_validate_target *to)
{
    const struct cor_json_nodes *nodes =
        row->path.is_old ? &check->old.nodes : &check->object.nodes;
    bool is_text =
        to->is_key ||
        (to->type->shape == COR_SHAPE_INT_OR_STRING
             ? to->node != COR_JSON_NO_NODE && cor_json_node_first(nodes, to->node) == '"'
             : to->type->shape != COR_SHAPE_INT32 && to->type->shape != COR_SHAPE_INT64);

    if (is_text)
        check_text(check, place, row, target_text(check, row, to));
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
    struct cor_validate_way way;

    cor_validate_walk(check, place, &row->path, &way);
    COR_EACH(check, way.end, item) {
        if (is_keys)
            check_text(check, place, row, item.key);
        else
            cor_check_format(check, &item, (enum cor_format)row->code);
    }
}

/* What makes an element equal to another, as one text: the JSON of its fields. */
static struct cor_str element_key(struct cor_check *check, const struct cor_place *item,
                                  const struct cor_validate_row *row)
{
    struct cor_str parts[COR_VALIDATE_KEY_FIELDS_MAX];

    assert(row->nnumbers <= COR_VALIDATE_KEY_FIELDS_MAX);
    for (size_t i = 0; i < row->nnumbers; i++) {
        struct cor_place field;

        (void)cor_place_member(check, item, (size_t)check->tables->numbers[row->first_number + i],
                               &field);
        parts[i] = cor_place_json(check, &field);
    }
    return cor_check_key(check, parts, row->nnumbers);
}

static void run_unique(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    bool shows_element = cor_validate_text(row->arg)[0] != '\0';
    struct cor_place item, field;
    struct cor_validate_way way;

    cor_str_set_init(&seen, UNIQUE_MAX);
    cor_validate_walk(check, place, &row->path, &way);
    COR_EACH(check, way.end, item) {
        struct cor_str key = cor_place_json(check, &item);
        bool is_new;
        int r;

        if (row->nnumbers == 1) {
            (void)cor_place_member(check, &item, (size_t)check->tables->numbers[row->first_number],
                                   &field);
            key = cor_place_json(check, &field);
            if (!key.p)
                key = COR_STR("");
        } else if (row->nnumbers > 1) {
            key = element_key(check, &item, row);
        }
        if ((row->flags & COR_VALIDATE_OPTIONAL) && (key.n == 0 || cor_str_eqz(key, "\"\"")))
            continue;
        r = cor_str_set_add(&seen, key, &is_new);
        cor_check_note(check, r);
        if (r == 0 && !is_new)
            cor_check_duplicate(check, row->nnumbers == 1 && !shows_element ? &field : &item);
    }
}

static void run_keep_only(struct cor_check *check, const struct cor_place *place,
                          const struct cor_validate_row *row, const struct cor_validate_target *to)
{
    uint64_t skip = 0;

    for (size_t i = 0; i < row->nnumbers; i++) {
        int64_t member = check->tables->numbers[row->first_number + i];

        assert(member >= 0 && member < COR_VALIDATE_KEPT_MAX);
        skip |= UINT64_C(1) << member;
    }
    if (check->has_old && !cor_semantic_equal(to->type, to->is_pointer, &check->object.nodes,
                                              to->node, &check->old.nodes, to->old, skip))
        cor_validate_refuse(check, place, row, COR_FIELD_FORBIDDEN);
}

/* One of the fields is set: each further one is forbidden, none is an error of the struct. */
static void run_one_of(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_row *row)
{
    struct cor_validate_way way;
    size_t n = 0;

    cor_validate_walk(check, place, &row->path, &way);
    for (size_t i = 0; i < row->nnumbers; i++) {
        struct cor_place field;

        if (!cor_place_member(check, way.end, (size_t)check->tables->numbers[row->first_number + i],
                              &field) ||
            !cor_place_is_set(check, &field))
            continue;
        if (n++ > 0 && cor_validate_text(row->arg)[0] != '\0')
            cor_check_forbidden(check, &field, cor_validate_text(row->arg));
    }
    if (n == 0 && cor_validate_text(row->text)[0] != '\0')
        cor_validate_refuse(check, place, row, COR_FIELD_REQUIRED);
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
    cor_validate_refuse(check, place, row, (enum cor_field_error_type)types[row->op]);
}

static void run_hook(struct cor_check *check, const struct cor_place *place,
                     const struct cor_validate_row *row)
{
    struct cor_field_path other;
    struct cor_place at;
    struct cor_validate_way way;

    cor_validate_walk(check, place, &row->path, &way);
    if (row->flags & COR_VALIDATE_AT) {
        other = cor_validate_other_path(place, cor_strz(cor_validate_text(row->at)));
        at = *way.end;
        at.path = other;
        way.end = &at;
    }
    cor_hook_run((enum cor_hook)row->code, check, way.end, cor_strz(cor_validate_text(row->arg)));
}

static void run_statement(struct cor_check *check, const struct cor_place *place,
                          const struct cor_validate_row *row, const struct cor_validate_target *to)
{
    size_t max = row->nnumbers ? (size_t)check->tables->numbers[row->first_number] : 0;
    struct cor_validate_way way;

    switch ((enum cor_validate_op)row->op) {
    case COR_VALIDATE_OP_REQUIRED:
        if (cor_validate_is_empty(check, to, row->path.is_old) &&
            !cor_validate_is_set(check, to, row->path.is_old))
            cor_validate_refuse(check, place, row, COR_FIELD_REQUIRED);
        break;
    case COR_VALIDATE_OP_FORBIDDEN:
        if (cor_validate_is_set(check, to, row->path.is_old))
            cor_validate_refuse(check, place, row, COR_FIELD_FORBIDDEN);
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
        if (to->node == COR_JSON_NO_NODE && !to->is_key)
            break;
        cor_validate_walk(check, place, &row->path, &way);
        if ((to->is_key ? to->key.n : cor_place_length(check, way.end)) > max)
            cor_validate_refuse(check, place, row,
                                row->op == COR_VALIDATE_OP_LENGTH ? COR_FIELD_TOO_LONG
                                                                  : COR_FIELD_TOO_MANY);
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
            cor_validate_refuse(check, place, row, COR_FIELD_INVALID);
        break;
    case COR_VALIDATE_OP_KEEP_ONLY:
        run_keep_only(check, place, row, to);
        break;
    case COR_VALIDATE_OP_ONE_OF:
        run_one_of(check, place, row);
        break;
    case COR_VALIDATE_OP_DEPRECATED:
        if (row->code ? to->node != COR_JSON_NO_NODE
                      : cor_validate_is_set(check, to, row->path.is_old))
            cor_validate_refuse(check, place, row, COR_FIELD_INVALID);
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
    struct cor_validate_target to;

    if (!check->has_old)
        return false;
    check->errors = &old_errors;
    old_row.path.is_old = true;
    to = cor_validate_resolve(check, place, &old_row.path);
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

void cor_validate_run_row(struct cor_check *check, const struct cor_place *place,
                          const struct cor_validate_row *row)
{
    struct cor_validate_target to = cor_validate_resolve(check, place, &row->path);

    if (to.is_lost || (to.is_pointer && to.node == COR_JSON_NO_NODE && row->path.depth > 0 &&
                       !is_for_nil((enum cor_validate_op)row->op)))
        return;
    if ((row->flags & COR_VALIDATE_OPTIONAL) && cor_validate_is_empty(check, &to, row->path.is_old))
        return;
    if ((row->flags & COR_VALIDATE_IF_CHANGED) && check->has_old &&
        cor_check_are_equal(check, to.type, to.is_pointer, to.node, to.old))
        return;
    if ((row->flags & COR_VALIDATE_OLD_BAD) && is_old_bad(check, place, row))
        return;
    run_statement(check, place, row, &to);
}
