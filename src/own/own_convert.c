/* From a struct of one version of a kind to another one's. What agrees is copied: members of the
 * same name that are of the same kind, those that are declared to be renamed, and what agrees
 * inside structs, lists and maps of them. The rest stays absent: the code that coracle-gen writes
 * for a conversion calls a function of the program for it. Everything is a deep copy in the pool.
 * Failures: no memory, structs nested too deep. Thread: one at a time. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "own/own_int.h"
#include "json/text/json.h"
#include "json/text/scan.h"

struct converter {
    struct cor_pool *pool;
    const struct cor_own_rename *renames;
    size_t nrenames;
};

static int convert_struct(const struct converter *c, const struct cor_own_type *from_type,
                          const void *from, const struct cor_own_type *to_type, void *to,
                          unsigned depth);

static bool agree(const struct cor_own_field *a, const struct cor_own_field *b)
{
    return a->kind == b->kind && a->form == b->form;
}

static int convert_one(const struct converter *c, const struct cor_own_field *from,
                       const void *value, const struct cor_own_field *to, void *ret, unsigned depth)
{
    if (from->flags & COR_OWN_POINTER)
        value = *(const void *const *)value;
    if (!value)
        return 0;
    if (to->flags & COR_OWN_POINTER) {
        void *made = cor_pool_alloc(c->pool, to->type->size);

        if (!made)
            return cor_pool_error(c->pool);
        *(void **)ret = made;
        ret = made;
    }
    return convert_struct(c, from->type, value, to->type, ret, depth);
}

/* A list or a map of structs of different types. */
static int convert_run(const struct converter *c, const struct cor_own_field *from,
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
        char *made = cor_own_add(c->pool, ret, to_size);

        if (!made)
            return cor_pool_error(c->pool);
        if (from->form == COR_OWN_MAP) {
            struct cor_str *key = &((struct cor_own_key *)(void *)made)->key;

            *key = cor_pool_copy(c->pool, ((const struct cor_own_key *)(const void *)entry)->key);
            r = key->p ? 0 : cor_pool_error(c->pool);
        }
        if (r == 0)
            r = convert_struct(c, from->type, entry + at, to->type, made + at, depth);
    }
    return r;
}

static int convert_field(const struct converter *c, const struct cor_own_field *from,
                         const void *value, const struct cor_own_field *to, void *ret,
                         unsigned depth)
{
    if (from->kind == COR_OWN_STRUCT && from->form == COR_OWN_ONE)
        return convert_one(c, from, value, to, ret, depth);
    if (from->kind == COR_OWN_STRUCT && from->type != to->type)
        return convert_run(c, from, value, to, ret, depth);
    memcpy(ret, value, cor_own_member_size(from));
    return cor_own_copy_member(c->pool, to, ret);
}

/* The member that gets the value of `field`; NULL: none does. */
static const struct cor_own_field *counterpart(const struct converter *c,
                                               const struct cor_own_type *from_type,
                                               const struct cor_own_type *to_type,
                                               const struct cor_own_field *field)
{
    struct cor_str name = cor_str(field->name, field->name_n);
    bool is_taken = false;

    for (size_t i = 0; i < c->nrenames; i++) {
        const struct cor_own_rename *r = &c->renames[i];
        bool is_back = r->b == from_type && r->a == to_type;

        if (!is_back && !(r->a == from_type && r->b == to_type))
            continue;
        if (cor_str_eqz(name, is_back ? r->b_name : r->a_name))
            return cor_own_find(to_type, cor_strz(is_back ? r->a_name : r->b_name));
        is_taken |= cor_str_eqz(name, is_back ? r->a_name : r->b_name);
    }
    return is_taken ? NULL : cor_own_find(to_type, name);
}

/* The name under which an unknown member goes on: a name that the other version has for another
 * member is exchanged, so that it comes back as it was. NULL: its own. */
static const char *exchanged(const struct converter *c, const struct cor_own_type *from_type,
                             const struct cor_own_type *to_type, struct cor_str raw_key)
{
    for (size_t i = 0; i < c->nrenames; i++) {
        const struct cor_own_rename *r = &c->renames[i];

        if (r->a == from_type && r->b == to_type && cor_json_raw_eq(raw_key, cor_strz(r->b_name)))
            return r->a_name;
        if (r->b == from_type && r->a == to_type && cor_json_raw_eq(raw_key, cor_strz(r->a_name)))
            return r->b_name;
    }
    return NULL;
}

static const struct cor_own_field *known(const struct cor_own_type *type, struct cor_str raw_key)
{
    for (size_t i = 0; i < type->nfields; i++) {
        const struct cor_own_field *field = &type->fields[i];

        if (cor_json_raw_eq(raw_key, cor_str(field->name, field->name_n)))
            return field;
    }
    return NULL;
}

static int keep(struct cor_pool *pool, struct cor_own_grown *kept, struct cor_str key,
                struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf member = {0};
    int r;

    cor_buf_init(&member, COR_POOL_BYTES_MAX);
    r = cor_buf_addf(&member, "\"%.*s\":", COR_STR_ARG(key));
    if (r == 0)
        r = cor_buf_adds(&member, value);
    return r < 0 ? r : cor_own_grow(pool, kept, cor_buf_str(&member));
}

/* One unknown member. The new version may know it: then it is the member if it can be, and absent
 * as a whole if it cannot. */
static int convert_unknown(const struct converter *c, const struct cor_own_type *from_type,
                           const struct cor_own_type *to_type, void *to, struct cor_str raw_key,
                           struct cor_str value, struct cor_own_grown *kept)
{
    const char *other = exchanged(c, from_type, to_type, raw_key);
    const struct cor_own_field *field = other ? NULL : known(to_type, raw_key);
    int r;

    if (!field)
        return keep(c->pool, kept, other ? cor_strz(other) : raw_key, value);
    r = cor_own_decode_member(field, c->pool, value, cor_own_at(to, field));
    if (r != -COR_EINVAL)
        return r;
    memset(cor_own_at(to, field), 0, cor_own_member_size(field));
    return 0;
}

/* Those of a program that are not JSON stay as they are: encoding refuses them. */
static int convert_unknowns(const struct converter *c, const struct cor_own_type *from_type,
                            struct cor_str unknown, const struct cor_own_type *to_type, void *to,
                            struct cor_str *ret)
{
    const struct cor_json_limits limits = {.bytes_max = COR_POOL_BYTES_MAX,
                                           .depth_max = COR_OWN_DEPTH_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {0};
    struct cor_own_grown kept = {NULL, 0, 0};
    struct cor_json_iter it;
    struct cor_str key;
    bool is_canonical;
    int r;

    cor_buf_init(&whole, COR_POOL_BYTES_MAX);
    r = cor_buf_addc(&whole, '{');
    if (r == 0)
        r = cor_buf_adds(&whole, unknown);
    if (r == 0)
        r = cor_buf_addc(&whole, '}');
    if (r < 0)
        return r;
    if (cor_json_check(cor_buf_str(&whole), &limits, &is_canonical, NULL) < 0) {
        *ret = cor_pool_copy(c->pool, unknown);
        return ret->p ? 0 : cor_pool_error(c->pool);
    }
    it = cor_json_iter(cor_buf_str(&whole));
    while (r == 0 && cor_json_iter_member(&it, &key))
        r = convert_unknown(c, from_type, to_type, to, key, cor_json_iter_value(&it), &kept);
    *ret = cor_str(kept.p, kept.n);
    return r;
}

static int convert_struct(const struct converter *c, const struct cor_own_type *from_type,
                          const void *from, const struct cor_own_type *to_type, void *to,
                          unsigned depth)
{
    const struct cor_str unknown =
        *(const struct cor_str *)(const void *)((const char *)from + from_type->unknown_fields_at);
    int r = depth < COR_OWN_DEPTH_MAX ? 0 : -COR_ETOOBIG;

    if (from_type == to_type)
        return cor_own_copy(from_type, c->pool, from, to);
    for (size_t i = 0; r == 0 && i < from_type->nfields; i++) {
        const struct cor_own_field *field = &from_type->fields[i];
        const struct cor_own_field *other = counterpart(c, from_type, to_type, field);

        /* Of the outermost object apiVersion and kind are those of the new one. */
        if (other && agree(field, other) && !(depth == 0 && cor_own_is_about_kind(field)))
            r = convert_field(c, field, cor_own_at_const(from, field), other, cor_own_at(to, other),
                              depth + 1);
    }
    if (r == 0 && unknown.n > 0)
        r = convert_unknowns(c, from_type, unknown, to_type, to,
                             (void *)((char *)to + to_type->unknown_fields_at));
    return r;
}

int cor_own_convert_renamed(const struct cor_own_type *from_type,
                            const struct cor_own_type *to_type,
                            const struct cor_own_rename *renames, size_t nrenames,
                            struct cor_pool *pool, const void *from, void *ret)
{
    const struct converter c = {pool, renames, nrenames};
    int r;

    cor_own_init(to_type, ret);
    r = convert_struct(&c, from_type, from, to_type, ret, 0);
    if (r < 0)
        memset(ret, 0, to_type->size);
    return r;
}

int cor_own_convert(const struct cor_own_type *from_type, const struct cor_own_type *to_type,
                    struct cor_pool *pool, const void *from, void *ret)
{
    return cor_own_convert_renamed(from_type, to_type, NULL, 0, pool, from, ret);
}
