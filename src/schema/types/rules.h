/* The overlays of the built-in types, api/x.rules, as const tables (docs/internals/types.md): what
 * upstream writes in Go about a type. A rule gives a default to a field, clears one, or calls a
 * hook; its path begins at the type that has the rule. The rules of a type are in the order in
 * which they apply, all before those of its fields; a default of the declaration itself is a rule,
 * too. Owner: nobody, the tables are constants.  Thread: any. */
#ifndef COR_SCHEMA_TYPES_RULES_H
#define COR_SCHEMA_TYPES_RULES_H

#include "schema/types/types.h"

/* Names in a path; tools/compile_rules.py refuses more. */
#define COR_RULE_PATH_MAX 8

enum cor_rule_op {
    COR_RULE_SET,    /* a value, when the field has none */
    COR_RULE_COPY,   /* another field's, when the field has none */
    COR_RULE_MIRROR, /* another field's, always */
    COR_RULE_CLEAR,
    COR_RULE_HOOK /* a function in C (default_hooks.h), for a value that is there */
};

enum cor_rule_test {
    COR_RULE_TEST_IS, /* one of the values */
    COR_RULE_TEST_SET,
    COR_RULE_TEST_UNSET
};

struct cor_rule;

/* Of a struct; others have none. */
size_t cor_type_nrules(const struct cor_type *type);
const struct cor_rule *cor_type_rule(const struct cor_type *type, size_t i);

enum cor_rule_op cor_rule_op(const struct cor_rule *rule);
/* Does it wait until the server has prepared the object? */
bool cor_rule_is_late(const struct cor_rule *rule);
/* How many names its path has, and the member that each is of the type before it. */
size_t cor_rule_depth(const struct cor_rule *rule);
size_t cor_rule_step(const struct cor_rule *rule, size_t i);
/* Of COR_RULE_SET: the value as JSON. */
struct cor_str cor_rule_value(const struct cor_rule *rule);
/* Of COR_RULE_COPY: the path that the value comes from, as the rule's own. */
size_t cor_rule_source_depth(const struct cor_rule *rule);
size_t cor_rule_source_step(const struct cor_rule *rule, size_t i);
/* The conditions of a rule, all of which must hold: their paths, as the rule's own, and the values
 * as JSON, of which the field is to have one (COR_RULE_TEST_IS). */
struct cor_rule_condition;
size_t cor_rule_nconditions(const struct cor_rule *rule);
const struct cor_rule_condition *cor_rule_condition(const struct cor_rule *rule, size_t i);
enum cor_rule_test cor_condition_test(const struct cor_rule_condition *condition);
size_t cor_condition_depth(const struct cor_rule_condition *condition);
size_t cor_condition_step(const struct cor_rule_condition *condition, size_t i);
size_t cor_condition_nvalues(const struct cor_rule_condition *condition);
struct cor_str cor_condition_value(const struct cor_rule_condition *condition, size_t i);
/* What follows the field in the overlay: "= 25% when spec.strategy.type is RollingUpdate". */
struct cor_str cor_rule_text(const struct cor_rule *rule);

#endif
