/* Defaults of generated structs. The rules of a struct apply in their order, then those of the
 * structs that it holds, as upstream's generated functions do (contract controllers 5.6.2). A field
 * that upstream has no pointer for is unset when it is zero. A way through a pointer that is not
 * set leads nowhere, and is never made. A value is written as JSON in the tables and decoded into
 * its member; one that is copied from another field goes through JSON as well, because the two may
 * be of different kinds (targetPort from port). Failures: no memory; a default of a schema that
 * does not fit. Thread: one at a time. */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "own/own_int.h"

struct target {
    const struct cor_own_field *field;
    void *value; /* NULL: the way ends before the field */
};

static int fill_struct(const struct cor_own_type *type, struct cor_pool *pool, void *own,
                       unsigned depth);

static struct target find_target(const struct cor_own_type *type, void *own,
                                 const struct cor_own_path *path)
{
    struct target to = {NULL, NULL};

    for (size_t i = 0; i < path->n; i++) {
        to.field = &type->fields[path->steps[i]];
        to.value = cor_own_at(own, to.field);
        if (i + 1 == path->n)
            break;
        own = to.field->flags & COR_OWN_POINTER ? *(void **)to.value : to.value;
        type = to.field->type;
        if (!own)
            return (struct target){NULL, NULL};
    }
    return to;
}

/* Is it what Go has in a field that nobody set? */
static bool is_unset(const struct target *to)
{
    const struct cor_own_field *field = to->field;

    if (!to->value || !cor_own_is_set(field, to->value))
        return true;
    if (field->form != COR_OWN_ONE)
        return ((const struct cor_own_run *)to->value)->n == 0;
    if (field->flags & COR_OWN_POINTER)
        return false;
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_TEXT:
        return ((const struct cor_str *)to->value)->n == 0;
    case COR_OWN_BOOL:
        return !((const struct cor_opt_bool *)to->value)->value;
    case COR_OWN_INT32:
        return ((const struct cor_opt_int32 *)to->value)->value == 0;
    case COR_OWN_INT64:
        return ((const struct cor_opt_int64 *)to->value)->value == 0;
    case COR_OWN_INT_OR_STR:
        return ((const struct cor_int_or_str *)to->value)->text.n == 0 &&
               ((const struct cor_int_or_str *)to->value)->number == 0;
    case COR_OWN_DOUBLE:
    case COR_OWN_BYTES:
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
    case COR_OWN_QUANTITY:
    case COR_OWN_RAW:
    case COR_OWN_STRUCT:
        break;
    }
    return false;
}

static bool holds(const struct cor_own_type *type, void *own,
                  const struct cor_own_condition *condition)
{
    struct target to = find_target(type, own, &condition->path);
    struct cor_str values = cor_strz(condition->values);

    if (condition->test != COR_OWN_IS)
        return is_unset(&to) == (condition->test == COR_OWN_IS_UNSET);
    if (!to.value || to.field->kind != COR_OWN_TEXT || is_unset(&to))
        return false;
    while (values.n > 0) {
        if (cor_str_eq(cor_str_cut(&values, '|'), *(const struct cor_str *)to.value))
            return true;
    }
    return false;
}

static int run_default(const struct cor_own_type *type, struct cor_pool *pool, void *own,
                       const struct cor_own_default *rule)
{
    struct target to = find_target(type, own, &rule->path), from;
    struct cor_str json = cor_strz(rule->value);
    int r = 0;

    if (!to.value || !is_unset(&to))
        return 0;
    for (size_t i = 0; i < rule->nwhen; i++) {
        if (!holds(type, own, &rule->when[i]))
            return 0;
    }
    if (!rule->value) {
        from = find_target(type, own, &rule->from);
        if (is_unset(&from))
            return 0;
        r = cor_own_encode_member(from.field, pool, from.value, &json);
    }
    return r < 0 ? r : cor_own_decode_member(to.field, pool, json, to.value);
}

/* What a field of a struct holds has defaults of its own. */
static int fill_field(const struct cor_own_field *field, struct cor_pool *pool, void *value,
                      unsigned depth)
{
    const struct cor_own_run *run = value;
    size_t size;
    int r = 0;

    if (field->kind != COR_OWN_STRUCT || !cor_own_is_set(field, value))
        return 0;
    if (field->form == COR_OWN_ONE)
        return fill_struct(field->type, pool,
                           field->flags & COR_OWN_POINTER ? *(void **)value : value, depth);
    size = cor_own_entry_size(field);
    for (size_t i = 0; r == 0 && i < run->n; i++)
        r = fill_struct(field->type, pool, run->p + i * size + cor_own_value_at(field), depth);
    return r;
}

static int fill_struct(const struct cor_own_type *type, struct cor_pool *pool, void *own,
                       unsigned depth)
{
    int r = depth < COR_OWN_DEPTH_MAX ? 0 : -COR_ETOOBIG;

    for (size_t i = 0; r == 0 && i < type->ndefaults; i++)
        r = run_default(type, pool, own, &type->defaults[i]);
    for (size_t i = 0; r == 0 && i < type->nfields; i++)
        r = fill_field(&type->fields[i], pool, cor_own_at(own, &type->fields[i]), depth + 1);
    return r;
}

int cor_own_fill(const struct cor_own_type *type, struct cor_pool *pool, void *own)
{
    return fill_struct(type, pool, own, 0);
}
