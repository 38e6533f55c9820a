/* Objects for tests: every member has a value that differs from those before it. A struct that
 * holds itself does so once, and all end at a depth. Failures are the pool's. Thread: one at a
 * time. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "own/own_int.h"

#define SAMPLE_DEPTH_MAX 8
#define SAMPLE_TIME      INT64_C(1735689600)
#define MICRO_OF_S       1000000

struct sampler {
    struct cor_pool *pool;
    unsigned count;                                    /* of values so far */
    const struct cor_own_type *open[SAMPLE_DEPTH_MAX]; /* the structs around a value */
};

static void sample_struct(struct sampler *s, const struct cor_own_type *type, void *own,
                          unsigned depth);

static struct cor_str sample_text(struct sampler *s, const char *fmt)
{
    char text[32];
    int n = snprintf(text, sizeof(text), fmt, ++s->count);

    return cor_pool_copy(s->pool, cor_str(text, (size_t)n));
}

static void sample_element(struct sampler *s, const struct cor_own_field *field, void *to,
                           unsigned depth)
{
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        sample_struct(s, field->type, to, depth);
        return;
    case COR_OWN_BOOL:
        *(bool *)to = true;
        return;
    case COR_OWN_INT32:
        *(int32_t *)to = (int32_t)++s->count;
        return;
    case COR_OWN_INT64:
        *(int64_t *)to = ++s->count;
        return;
    case COR_OWN_DOUBLE:
        *(double *)to = ++s->count;
        return;
    case COR_OWN_QUANTITY:
        *(struct cor_str *)to = sample_text(s, "%u001m"); /* which is canonical */
        return;
    case COR_OWN_RAW:
        *(struct cor_str *)to =
            sample_text(s, field->flags & COR_OWN_WRAPPED ? "[\"text-%u\"]" : "{\"n\":%u}");
        return;
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
        *(struct cor_str *)to = sample_text(s, "2025-01-01T00:00:%02uZ");
        return;
    case COR_OWN_INT_OR_STR:
        *(struct cor_int_or_str *)to = cor_int_or_str_int(++s->count);
        return;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
        break;
    }
    *(struct cor_str *)to = sample_text(s, "text-%u");
}

static void sample_run(struct sampler *s, const struct cor_own_field *field,
                       struct cor_own_run *run, unsigned depth)
{
    for (int i = 0; i < 2; i++) {
        char *entry = cor_own_add(s->pool, run, cor_own_entry_size(field));

        if (!entry)
            return;
        if (field->form == COR_OWN_MAP)
            ((struct cor_own_key *)(void *)entry)->key = sample_text(s, "key-%u");
        sample_element(s, field, entry + cor_own_value_at(field), depth);
    }
}

static void sample_member(struct sampler *s, const struct cor_own_field *field, void *to,
                          unsigned depth)
{
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        if (field->flags & COR_OWN_POINTER)
            *(void **)to = cor_pool_alloc(s->pool, field->type->size);
        to = field->flags & COR_OWN_POINTER ? *(void **)to : to;
        if (to)
            sample_struct(s, field->type, to, depth);
        return;
    case COR_OWN_TIME:
        *(struct cor_opt_time *)to = cor_opt_time(SAMPLE_TIME + ++s->count);
        return;
    case COR_OWN_MICRO_TIME:
        *(struct cor_opt_micro_time *)to =
            cor_opt_micro_time(SAMPLE_TIME * MICRO_OF_S + ++s->count);
        return;
    case COR_OWN_BOOL:
    case COR_OWN_INT32:
    case COR_OWN_INT64:
    case COR_OWN_DOUBLE:
        *(bool *)to = true; /* is_set, the first member of each */
        break;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_INT_OR_STR:
    case COR_OWN_RAW:
        break;
    }
    sample_element(s, field, (char *)to + cor_own_opt_at(field), depth);
}

static void sample_struct(struct sampler *s, const struct cor_own_type *type, void *own,
                          unsigned depth)
{
    unsigned inside = 0;

    for (unsigned i = 0; i < depth; i++)
        inside += s->open[i] == type;
    if (depth == SAMPLE_DEPTH_MAX || inside > 1)
        return;
    s->open[depth] = type;
    for (size_t i = 0; i < type->nfields && cor_pool_error(s->pool) == 0; i++) {
        const struct cor_own_field *field = &type->fields[i];

        if (depth == 0 && cor_own_is_about_kind(field))
            continue;
        if (field->form == COR_OWN_ONE)
            sample_member(s, field, cor_own_at(own, field), depth + 1);
        else
            sample_run(s, field, cor_own_at(own, field), depth + 1);
    }
}

int cor_own_sample(const struct cor_own_type *type, struct cor_pool *pool, void *ret)
{
    struct sampler s = {.pool = pool};

    cor_own_init(type, ret);
    sample_struct(&s, type, ret, 0);
    if (cor_pool_error(pool) < 0)
        memset(ret, 0, type->size);
    return cor_pool_error(pool);
}
