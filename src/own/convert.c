/* From a struct of one version of a kind to another one's. What agrees is copied: members of the
 * same name that are of the same kind, and what agrees inside of structs, lists and maps of them.
 * The rest stays absent: the code that coracle-gen writes for a conversion calls a function of the
 * program for it. Everything is a deep copy in the pool. Failures: no memory, structs nested too
 * deep. Thread: one at a time. */
#include <string.h>

#include "base/err.h"
#include "own/own_int.h"

static int convert_struct(struct cor_pool *pool, const struct cor_own_type *from_type,
                          const void *from, const struct cor_own_type *to_type, void *to,
                          unsigned depth);

static bool agree(const struct cor_own_field *a, const struct cor_own_field *b)
{
    return a->kind == b->kind && a->form == b->form;
}

static int convert_one(struct cor_pool *pool, const struct cor_own_field *from, const void *value,
                       const struct cor_own_field *to, void *ret, unsigned depth)
{
    if (from->flags & COR_OWN_POINTER)
        value = *(const void *const *)value;
    if (!value)
        return 0;
    if (to->flags & COR_OWN_POINTER) {
        void *made = cor_pool_alloc(pool, to->type->size);

        if (!made)
            return cor_pool_error(pool);
        *(void **)ret = made;
        ret = made;
    }
    return convert_struct(pool, from->type, value, to->type, ret, depth);
}

/* A list or a map of structs of different types. */
static int convert_run(struct cor_pool *pool, const struct cor_own_field *from,
                       const struct cor_own_run *run, const struct cor_own_field *to,
                       struct cor_own_run *ret, unsigned depth)
{
    size_t from_size = cor_own_entry_size(from), to_size = cor_own_entry_size(to);
    size_t at = cor_own_value_at(from);
    int r = 0;

    if (!run->p)
        return 0;
    ret->p = (char *)"";
    for (size_t i = 0; r == 0 && i < run->n; i++) {
        const char *entry = run->p + i * from_size;
        char *made = cor_own_add(pool, ret, to_size);

        if (!made)
            return cor_pool_error(pool);
        if (from->form == COR_OWN_MAP) {
            struct cor_str *key = &((struct cor_own_key *)(void *)made)->key;

            *key = cor_pool_copy(pool, ((const struct cor_own_key *)(const void *)entry)->key);
            r = key->p ? 0 : cor_pool_error(pool);
        }
        if (r == 0)
            r = convert_struct(pool, from->type, entry + at, to->type, made + at, depth);
    }
    return r;
}

static int convert_field(struct cor_pool *pool, const struct cor_own_field *from, const void *value,
                         const struct cor_own_field *to, void *ret, unsigned depth)
{
    if (from->kind == COR_OWN_STRUCT && from->form == COR_OWN_ONE)
        return convert_one(pool, from, value, to, ret, depth);
    if (from->kind == COR_OWN_STRUCT && from->type != to->type)
        return convert_run(pool, from, value, to, ret, depth);
    memcpy(ret, value, cor_own_member_size(from));
    return cor_own_copy_member(pool, to, ret);
}

static int convert_struct(struct cor_pool *pool, const struct cor_own_type *from_type,
                          const void *from, const struct cor_own_type *to_type, void *to,
                          unsigned depth)
{
    struct cor_str *unknown = (void *)((char *)to + to_type->unknown_fields_at);
    int r = depth < COR_OWN_DEPTH_MAX ? 0 : -COR_ETOOBIG;

    if (from_type == to_type)
        return cor_own_copy(from_type, pool, from, to);
    for (size_t i = 0; r == 0 && i < from_type->nfields; i++) {
        const struct cor_own_field *field = &from_type->fields[i];
        const struct cor_own_field *other =
            cor_own_find(to_type, cor_str(field->name, field->name_n));

        /* Of the outermost object apiVersion and kind are those of the new one. */
        if (other && agree(field, other) && !(depth == 0 && cor_own_is_about_kind(field)))
            r = convert_field(pool, field, cor_own_at_const(from, field), other,
                              cor_own_at(to, other), depth + 1);
    }
    *unknown =
        *(const struct cor_str *)(const void *)((const char *)from + from_type->unknown_fields_at);
    if (r < 0 || !unknown->p)
        return r;
    *unknown = cor_pool_copy(pool, *unknown);
    return unknown->p ? 0 : cor_pool_error(pool);
}

int cor_own_convert(const struct cor_own_type *from_type, const struct cor_own_type *to_type,
                    struct cor_pool *pool, const void *from, void *ret)
{
    int r;

    cor_own_init(to_type, ret);
    r = convert_struct(pool, from_type, from, to_type, ret, 0);
    if (r < 0)
        memset(ret, 0, to_type->size);
    return r;
}
