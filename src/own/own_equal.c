/* Semantic equality of generated structs, as equality.Semantic of upstream has it: quantities by
 * value, no list or map as an empty one. Where upstream has no pointer, an absent scalar is its
 * zero. A map whose keys are not sorted, which only a program makes, is looked up entry by entry.
 * Thread: any. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "coracle/quantity.h"
#include "own/own_int.h"

static bool equal_struct(const struct cor_own_type *type, const void *a, const void *b,
                         unsigned depth);

/* Bytes that are not quantities are compared as they are. */
static bool equal_quantities(struct cor_str a, struct cor_str b)
{
    int order;

    return cor_str_eq(a, b) ||
           (a.n > 0 && b.n > 0 && cor_quantity_cmp(a, b, &order) == 0 && order == 0);
}

static bool equal_either(const struct cor_int_or_str *a, const struct cor_int_or_str *b)
{
    bool is_text = a->type == COR_INT_OR_STR_TEXT;

    return is_text == (b->type == COR_INT_OR_STR_TEXT) &&
           (is_text ? cor_str_eq(a->text, b->text) : a->number == b->number);
}

static bool equal_elements(const struct cor_own_field *field, const void *a, const void *b,
                           unsigned depth)
{
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        return equal_struct(field->type, a, b, depth);
    case COR_OWN_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case COR_OWN_INT32:
        return *(const int32_t *)a == *(const int32_t *)b;
    case COR_OWN_INT64:
        return *(const int64_t *)a == *(const int64_t *)b;
    case COR_OWN_DOUBLE:
        return *(const double *)a == *(const double *)b;
    case COR_OWN_QUANTITY:
        return equal_quantities(*(const struct cor_str *)a, *(const struct cor_str *)b);
    case COR_OWN_INT_OR_STR:
        return equal_either(a, b);
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
    case COR_OWN_RAW:
        break;
    }
    return cor_str_eq(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* Of equal keys, which a program may have added, the last counts. */
static const char *find_key(const struct cor_own_run *map, size_t size, struct cor_str key)
{
    for (size_t i = map->n; i > 0; i--) {
        const char *entry = map->p + (i - 1) * size;

        if (cor_str_eq(((const struct cor_own_key *)(const void *)entry)->key, key))
            return entry;
    }
    return NULL;
}

static struct cor_str key_of(const char *entry)
{
    return ((const struct cor_own_key *)(const void *)entry)->key;
}

/* Does `b` have all that counts of `a`? */
static bool has_all(const struct cor_own_field *field, const struct cor_own_run *a,
                    const struct cor_own_run *b, unsigned depth)
{
    size_t size = cor_own_entry_size(field), at = cor_own_value_at(field);

    for (size_t i = 0; i < a->n; i++) {
        const char *x = find_key(a, size, key_of(a->p + i * size));
        const char *y = find_key(b, size, key_of(x));

        if (!y || !equal_elements(field, x + at, y + at, depth))
            return false;
    }
    return true;
}

static bool equal_maps(const struct cor_own_field *field, const struct cor_own_run *a,
                       const struct cor_own_run *b, unsigned depth)
{
    size_t size = cor_own_entry_size(field), at = cor_own_value_at(field);

    if (!cor_own_is_sorted(a, size) || !cor_own_is_sorted(b, size))
        return has_all(field, a, b, depth) && has_all(field, b, a, depth);
    for (size_t i = 0; i < a->n && a->n == b->n; i++) {
        const char *x = a->p + i * size, *y = b->p + i * size;

        if (!cor_str_eq(key_of(x), key_of(y)) || !equal_elements(field, x + at, y + at, depth))
            return false;
    }
    return a->n == b->n;
}

static bool equal_runs(const struct cor_own_field *field, const struct cor_own_run *a,
                       const struct cor_own_run *b, unsigned depth)
{
    size_t size = cor_own_entry_size(field);

    if (field->form == COR_OWN_MAP)
        return equal_maps(field, a, b, depth);
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!equal_elements(field, a->p + i * size, b->p + i * size, depth))
            return false;
    }
    return true;
}

/* Members that are set; the values of absent ones are 0, whatever is in their memory. */
static bool equal_members(const struct cor_own_field *field, const void *a, const void *b,
                          unsigned depth)
{
    const bool has_a = cor_own_is_set(field, a), has_b = cor_own_is_set(field, b);
    const union {
        struct cor_int_or_str either; /* the largest, so that all is zero */
        struct cor_str text;
        int64_t number;
        double real;
    } zero = {.either = {0}};
    size_t at;

    if (!has_a && !has_b)
        return true;
    if (has_a != has_b && (field->flags & COR_OWN_POINTER))
        return false;
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        return field->flags & COR_OWN_POINTER ? equal_struct(field->type, *(const void *const *)a,
                                                             *(const void *const *)b, depth)
                                              : equal_struct(field->type, a, b, depth);
    case COR_OWN_TIME:
        return has_a == has_b &&
               ((const struct cor_opt_time *)a)->unix_s == ((const struct cor_opt_time *)b)->unix_s;
    case COR_OWN_MICRO_TIME:
        return has_a == has_b && ((const struct cor_opt_micro_time *)a)->unix_us ==
                                     ((const struct cor_opt_micro_time *)b)->unix_us;
    case COR_OWN_BOOL:
    case COR_OWN_INT32:
    case COR_OWN_INT64:
    case COR_OWN_DOUBLE:
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_INT_OR_STR:
    case COR_OWN_RAW:
        break;
    }
    at = cor_own_opt_at(field);
    return equal_elements(field, has_a ? (const void *)((const char *)a + at) : &zero,
                          has_b ? (const void *)((const char *)b + at) : &zero, depth);
}

static bool equal_struct(const struct cor_own_type *type, const void *a, const void *b,
                         unsigned depth)
{
    if (a == b)
        return true;
    if (depth == COR_OWN_DEPTH_MAX)
        return false;
    for (size_t i = 0; i < type->nfields; i++) {
        const struct cor_own_field *field = &type->fields[i];
        const void *x = cor_own_at_const(a, field), *y = cor_own_at_const(b, field);

        if (!(field->form == COR_OWN_ONE ? equal_members(field, x, y, depth + 1)
                                         : equal_runs(field, x, y, depth + 1)))
            return false;
    }
    return cor_str_eq(
        *(const struct cor_str *)(const void *)((const char *)a + type->unknown_fields_at),
        *(const struct cor_str *)(const void *)((const char *)b + type->unknown_fields_at));
}

bool cor_own_equal(const struct cor_own_type *type, const void *a, const void *b)
{
    assert(a && b);
    return equal_struct(type, a, b, 0);
}
