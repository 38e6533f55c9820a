/* The conditions of `if` in rule files. Thread: any. */
#include "base/err.h"
#include "schema/hooks/hooks.h"
#include "schema/validate/validate_run.h"
#include "json/text/scan.h"

bool cor_validate_order_holds(enum cor_validate_test test, int64_t a, int64_t b)
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

/* Is the value the literal, which is canonical JSON? An absent value is Go's zero, except for a nil
 * pointer, which is not a value at all. */
static bool is_literal(struct cor_check *check, const struct cor_validate_target *to, bool is_old,
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
                      const struct cor_validate_target *to)
{
    for (size_t i = 0; i < condition->nvalues; i++) {
        struct cor_str literal =
            cor_strz(cor_validate_text(check->tables->values[condition->first_value + i]));

        if (is_literal(check, to, condition->path.is_old, literal))
            return true;
    }
    return false;
}

/* Has the list one of the strings? */
static bool has_one_of(struct cor_check *check, const struct cor_validate_condition *condition,
                       const struct cor_validate_target *to)
{
    bool is_old = condition->path.is_old;
    const struct cor_json_nodes *nodes = is_old ? &check->old.nodes : &check->object.nodes;
    struct cor_validate_target element = {.type = &cor_types[to->type->element]};
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

static bool is_nil(const struct cor_validate_target *to)
{
    return to->is_lost || (to->is_pointer && to->node == COR_JSON_NO_NODE);
}

static bool are_ordered(struct cor_check *check, const struct cor_place *place,
                        const struct cor_validate_condition *condition,
                        const struct cor_validate_target *to)
{
    bool is_old = condition->path.is_old, is_other_old = condition->other.is_old;
    enum cor_validate_test test = (enum cor_validate_test)condition->test;
    int64_t a, b = check->tables->numbers[condition->number];
    struct cor_validate_target other = {.node = COR_JSON_NO_NODE};

    if (condition->has_other)
        other = cor_validate_resolve(check, place, &condition->other);
    if (condition->compared == COR_VALIDATE_LENGTHS) {
        a = (int64_t)cor_check_node_length(check, is_old, to->node);
        if (condition->has_other)
            b = (int64_t)cor_check_node_length(check, is_other_old, other.node);
        return cor_validate_order_holds(test, a, b);
    }
    if (is_nil(to) || (condition->has_other && is_nil(&other)))
        return false;
    if (condition->compared == COR_VALIDATE_STRINGS)
        return cor_validate_order_holds(
            test,
            cor_str_cmp(cor_check_node_text(check, is_old, to->node),
                        cor_check_node_text(check, is_other_old, other.node)),
            0);
    if (condition->has_other)
        b = cor_check_node_int(check, is_other_old, other.node);
    return cor_validate_order_holds(test, cor_check_node_int(check, is_old, to->node), b);
}

static bool condition_hook_holds(struct cor_check *check, const struct cor_place *place,
                                 const struct cor_validate_condition *condition)
{
    struct cor_validate_way way;

    cor_validate_walk(check, place, &condition->path, &way);
    return cor_when_run((enum cor_when)condition->hook, check, way.end,
                        cor_strz(cor_validate_text(condition->arg)));
}

static bool condition_holds(struct cor_check *check, const struct cor_place *place,
                            const struct cor_validate_condition *condition)
{
    bool is_old = condition->path.is_old;
    struct cor_validate_target to = cor_validate_resolve(check, place, &condition->path);
    bool holds = false;

    switch ((enum cor_validate_test)condition->test) {
    case COR_VALIDATE_TEST_IS:
        holds = is_one_of(check, condition, &to);
        break;
    case COR_VALIDATE_TEST_HAS:
        holds = has_one_of(check, condition, &to);
        break;
    case COR_VALIDATE_TEST_SET:
        holds = cor_validate_is_set(check, &to, is_old);
        break;
    case COR_VALIDATE_TEST_EMPTY:
        holds = cor_validate_is_empty(check, &to, is_old);
        break;
    case COR_VALIDATE_TEST_PRESENT:
        holds = to.is_key || to.node != COR_JSON_NO_NODE;
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

bool cor_validate_all_hold(struct cor_check *check, const struct cor_place *place,
                           const struct cor_validate_row *row)
{
    for (size_t i = 0; i < row->nconditions; i++) {
        if (!condition_holds(check, place, &check->tables->conditions[row->first_condition + i]))
            return false;
    }
    return true;
}
