/* The default walk. The object is opened as a draft; then each struct in it gets the rules of its
 * type, first the outer one, then those inside, in the order that upstream's generated functions
 * have. What the rules add is walked as well, since it may have defaults of its own. In the end the
 * draft is written when something has changed.
 *
 * A kind without any default returns at once. A failed allocation sticks to the draft, the walk
 * goes on without effect, and the error comes back from the end.
 * Thread: any. */
#include "schema/walk/default.h"

#include <assert.h>

#include "base/err.h"
#include "schema/types/rules.h"
#include "schema/types/types_int.h"
#include "schema/walk/default_hooks.h"
#include "schema/walk/draft.h"

static struct cor_str pool_text(uint32_t offset)
{
    return cor_strz(cor_type_pool + offset);
}

/* A field that a path leads to. */
struct target {
    struct cor_draft_value *object; /* the struct that has the field; NULL: the way ends at nil */
    struct cor_draft_value *value;  /* NULL: absent or null */
    struct cor_member member;
    size_t index;
};

/* Follows a path of at least one step. With `make`, structs that Go has by value are added where
 * they are absent; one behind a pointer never is. */
static struct target find_target(struct cor_draft *draft, struct cor_draft_value *object,
                                 uint32_t first, size_t n, bool make)
{
    struct target to = {.object = object};

    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            if (!to.value && make && !cor_type_field_is(to.member.field, COR_FIELD_POINTER))
                to.value = cor_draft_set_member(draft, to.object, to.index, COR_STR("{}"));
            if (to.value)
                cor_draft_open(draft, to.value);
            to.object = to.value;
        }
        if (!to.object || !to.object->is_open) {
            to.object = to.value = NULL;
            return to;
        }
        to.index = cor_rule_steps[first + i];
        cor_type_member(to.object->type, to.index, &to.member);
        to.value = cor_draft_member(to.object, to.index);
    }
    return to;
}

/* Returns whether a value is what Go has in an unset field. An open list or map may have lost
 * elements or gained some, so its bytes do not count. */
static bool is_unset(const struct target *to)
{
    static const struct cor_str zeros[] = {
        {"\"\"", 2}, {"0", 1}, {"false", 5}, {"{}", 2}, {"[]", 2}};

    if (!to->value || cor_type_field_is(to->member.field, COR_FIELD_POINTER))
        return !to->value;
    if (to->value->is_open)
        return !to->value->first;
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
        if (cor_str_eq(to->value->json, zeros[i]))
            return true;
    }
    return false;
}

static bool holds(struct cor_draft *draft, struct cor_draft_value *object,
                  const struct cor_rule_condition *condition)
{
    struct target to = find_target(draft, object, condition->path, condition->depth, false);
    bool unset = !to.object || is_unset(&to);

    if (condition->test != COR_RULE_TEST_IS)
        return unset == (condition->test == COR_RULE_TEST_UNSET);
    for (size_t i = 0; to.value && i < condition->nvalues; i++) {
        if (cor_str_eq(to.value->json, pool_text(cor_rule_values[condition->first_value + i])))
            return true;
    }
    return false;
}

static void run_rule(struct cor_draft *draft, struct cor_draft_value *object,
                     const struct cor_rule *rule)
{
    struct target to, from;

    for (size_t i = 0; i < rule->nconditions; i++) {
        if (!holds(draft, object, &cor_rule_conditions[rule->first_condition + i]))
            return;
    }
    if (rule->op == COR_RULE_HOOK && rule->depth == 0) {
        cor_default_hook_run((enum cor_default_hook)rule->hook, draft, object);
        return;
    }
    to = find_target(draft, object, rule->path, rule->depth, rule->op == COR_RULE_SET);
    switch ((enum cor_rule_op)rule->op) {
    case COR_RULE_SET:
        if (to.object && is_unset(&to))
            cor_draft_set_member(draft, to.object, to.index, pool_text(rule->value));
        break;
    case COR_RULE_COPY:
        from = find_target(draft, object, rule->source, rule->source_depth, false);
        if (!from.value || is_unset(&from))
            break;
        to = find_target(draft, object, rule->path, rule->depth, true);
        if (to.object && is_unset(&to))
            cor_draft_set_member(draft, to.object, to.index, from.value->json);
        break;
    case COR_RULE_MIRROR:
        from = find_target(draft, object, rule->source, rule->source_depth, false);
        if (!from.value && to.value)
            cor_draft_remove(to.value);
        if (from.value && to.object && (!to.value || !cor_str_eq(to.value->json, from.value->json)))
            cor_draft_set_member(draft, to.object, to.index, from.value->json);
        break;
    case COR_RULE_CLEAR:
        if (to.value)
            cor_draft_remove(to.value);
        break;
    case COR_RULE_HOOK:
        if (to.value)
            cor_default_hook_run((enum cor_default_hook)rule->hook, draft, to.value);
        break;
    }
}

static void run_rules(struct cor_draft *draft, struct cor_draft_value *value, bool is_late)
{
    for (size_t i = 0; i < cor_type_nrules(value->type) && draft->error == 0; i++) {
        const struct cor_rule *rule = cor_type_rule(value->type, i);

        if (rule->is_late == is_late)
            run_rule(draft, value, rule);
    }
}

/* A value that nothing can add to is not open; the types with defaults do not recurse. */
static void default_value(struct cor_draft *draft, struct cor_draft_value *value)
{
    if (!value->is_open || draft->error < 0)
        return;
    run_rules(draft, value, false);
    for (struct cor_draft_value *child = value->first; child; child = child->next)
        default_value(draft, child);
}

int cor_default(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    struct cor_draft draft;

    if (!cor_type_is(type, COR_TYPE_DEFAULTS))
        return 0;
    cor_draft_init(&draft, type, json);
    default_value(&draft, &draft.root);
    return cor_draft_finish(&draft, out);
}

int cor_default_late(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    struct cor_draft draft;

    if (!cor_type_is(type, COR_TYPE_LATE))
        return 0;
    cor_draft_init(&draft, type, json);
    if (draft.root.is_open)
        run_rules(&draft, &draft.root, true);
    return cor_draft_finish(&draft, out);
}

size_t cor_type_nrules(const struct cor_type *type)
{
    return type->nrules;
}

const struct cor_rule *cor_type_rule(const struct cor_type *type, size_t i)
{
    assert(i < type->nrules);
    return &cor_rules[type->first_rule + i];
}

enum cor_rule_op cor_rule_op(const struct cor_rule *rule)
{
    return (enum cor_rule_op)rule->op;
}

bool cor_rule_is_late(const struct cor_rule *rule)
{
    return rule->is_late;
}

size_t cor_rule_depth(const struct cor_rule *rule)
{
    return rule->depth;
}

size_t cor_rule_step(const struct cor_rule *rule, size_t i)
{
    assert(i < rule->depth);
    return cor_rule_steps[rule->path + i];
}

struct cor_str cor_rule_text(const struct cor_rule *rule)
{
    return pool_text(rule->text);
}

struct cor_str cor_rule_value(const struct cor_rule *rule)
{
    assert(rule->op == COR_RULE_SET);
    return pool_text(rule->value);
}

size_t cor_rule_source_depth(const struct cor_rule *rule)
{
    return rule->source_depth;
}

size_t cor_rule_source_step(const struct cor_rule *rule, size_t i)
{
    assert(i < rule->source_depth);
    return cor_rule_steps[rule->source + i];
}

size_t cor_rule_nconditions(const struct cor_rule *rule)
{
    return rule->nconditions;
}

const struct cor_rule_condition *cor_rule_condition(const struct cor_rule *rule, size_t i)
{
    assert(i < rule->nconditions);
    return &cor_rule_conditions[rule->first_condition + i];
}

enum cor_rule_test cor_condition_test(const struct cor_rule_condition *condition)
{
    return (enum cor_rule_test)condition->test;
}

size_t cor_condition_depth(const struct cor_rule_condition *condition)
{
    return condition->depth;
}

size_t cor_condition_step(const struct cor_rule_condition *condition, size_t i)
{
    assert(i < condition->depth);
    return cor_rule_steps[condition->path + i];
}

size_t cor_condition_nvalues(const struct cor_rule_condition *condition)
{
    return condition->nvalues;
}

struct cor_str cor_condition_value(const struct cor_rule_condition *condition, size_t i)
{
    assert(i < condition->nvalues);
    return pool_text(cor_rule_values[condition->first_value + i]);
}
