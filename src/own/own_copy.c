/* Deep copies of generated structs. The bytes of a struct are copied first; then every text, list,
 * map and struct that it points to is replaced by a copy in the pool. What is NULL stays NULL, and
 * an empty list stays an empty list. The pool remembers the first failure, which ends the walk.
 * Thread: one at a time. */
#include <string.h>

#include "base/err.h"
#include "own/own_int.h"

static int copy_struct(struct cor_pool *pool, const struct cor_own_type *type, void *own,
                       unsigned depth);

static int copy_text(struct cor_pool *pool, struct cor_str *text)
{
    if (!text->p)
        return 0;
    *text = cor_pool_copy(pool, *text);
    return text->p ? 0 : cor_pool_error(pool);
}

/* Replaces what a value that was copied byte by byte points to. */
static int copy_element(struct cor_pool *pool, const struct cor_own_field *field, void *value,
                        unsigned depth)
{
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        return copy_struct(pool, field->type, value, depth);
    case COR_OWN_INT_OR_STR:
        return copy_text(pool, &((struct cor_int_or_str *)value)->text);
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_RAW:
        return copy_text(pool, value);
    case COR_OWN_BOOL:
    case COR_OWN_INT32:
    case COR_OWN_INT64:
    case COR_OWN_DOUBLE:
        break;
    case COR_OWN_TIME: /* a member is a number, an element a text */
    case COR_OWN_MICRO_TIME:
        return field->form == COR_OWN_ONE ? 0 : copy_text(pool, value);
    }
    return 0;
}

static int copy_run(struct cor_pool *pool, const struct cor_own_field *field,
                    struct cor_own_run *run, unsigned depth)
{
    size_t size = cor_own_entry_size(field);
    int r = 0;

    if (!run->p)
        return 0;
    run->p = (char *)cor_pool_copy(pool, cor_str(run->p, run->n * size)).p;
    if (!run->p)
        return cor_pool_error(pool);
    run->cap = run->n;
    for (size_t i = 0; r == 0 && i < run->n; i++) {
        char *entry = run->p + i * size;

        if (field->form == COR_OWN_MAP)
            r = copy_text(pool, &((struct cor_own_key *)(void *)entry)->key);
        if (r == 0)
            r = copy_element(pool, field, entry + cor_own_value_at(field), depth);
    }
    return r;
}

static int copy_pointer(struct cor_pool *pool, const struct cor_own_type *type, void **pointer,
                        unsigned depth)
{
    const void *from = *pointer;

    if (!from)
        return 0;
    *pointer = cor_pool_alloc(pool, type->size);
    if (!*pointer)
        return cor_pool_error(pool);
    memcpy(*pointer, from, type->size);
    return copy_struct(pool, type, *pointer, depth);
}

static int copy_member(struct cor_pool *pool, const struct cor_own_field *field, void *value,
                       unsigned depth)
{
    if (field->form != COR_OWN_ONE)
        return copy_run(pool, field, value, depth);
    if (field->kind == COR_OWN_STRUCT && (field->flags & COR_OWN_POINTER))
        return copy_pointer(pool, field->type, value, depth);
    return copy_element(pool, field, value, depth);
}

int cor_own_copy_member(struct cor_pool *pool, const struct cor_own_field *field, void *value)
{
    return copy_member(pool, field, value, 0);
}

static int copy_struct(struct cor_pool *pool, const struct cor_own_type *type, void *own,
                       unsigned depth)
{
    int r = depth < COR_OWN_DEPTH_MAX ? 0 : -COR_ETOOBIG;

    for (size_t i = 0; r == 0 && i < type->nfields; i++) {
        const struct cor_own_field *field = &type->fields[i];

        r = copy_member(pool, field, cor_own_at(own, field), depth + 1);
    }
    if (r == 0)
        r = copy_text(pool, (void *)((char *)own + type->unknown_fields_at));
    return r;
}

int cor_own_copy(const struct cor_own_type *type, struct cor_pool *pool, const void *from,
                 void *ret)
{
    int r;

    memmove(ret, from, type->size);
    r = copy_struct(pool, type, ret, 0);
    if (r < 0)
        memset(ret, 0, type->size);
    return r;
}
