#include "apply_schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "json/text/scan.h"

static void refuse(struct cor_str json)
{
    fprintf(stderr, "not a type: %.*s\n", (int)json.n, json.p);
    abort();
}

static void *make(struct cor_arena *arena, size_t n)
{
    void *p = cor_arena_alloc(arena, n);

    if (!p)
        abort();
    return p;
}

static struct cor_str get(struct cor_str object, const char *key)
{
    struct cor_str value;

    return cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0 ? value
                                                                                : COR_STR("");
}

static struct cor_str text(struct cor_str value)
{
    return cor_str(value.p + 1, value.n - 2);
}

static const struct cor_apply_type *read_word(struct cor_arena *arena, struct cor_str json)
{
    static const struct {
        const char *word;
        enum cor_apply_scalar scalar;
    } words[] = {
        {"\"string\"", COR_APPLY_STRING},
        {"\"number\"", COR_APPLY_NUMERIC},
        {"\"bool\"", COR_APPLY_BOOLEAN},
        {"\"any\"", COR_APPLY_ANY_SCALAR},
    };
    struct cor_apply_type *type;

    if (cor_str_eq(json, COR_STR("\"deduced\"")))
        return &cor_apply_deduced;
    if (cor_str_eq(json, COR_STR("\"atomic\"")))
        return &cor_apply_any_atomic;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (cor_str_eq(json, cor_strz(words[i].word))) {
            type = make(arena, sizeof(*type));
            *type = (struct cor_apply_type){.scalar = words[i].scalar};
            return type;
        }
    }
    refuse(json);
    return NULL;
}

static void read_fields(struct cor_arena *arena, struct cor_str json, struct cor_apply_type *type)
{
    struct cor_str fields = get(json, "fields"), defaults = get(json, "defaults"), name;
    struct cor_json_iter it = cor_json_iter(fields);
    struct cor_apply_field *v;

    while (cor_json_iter_member(&it, &name))
        type->nfields++;
    v = make(arena, type->nfields * sizeof(*v));
    type->fields = v;
    it = cor_json_iter(fields);
    for (; cor_json_iter_member(&it, &name); v++) {
        struct cor_str value;

        *v = (struct cor_apply_field){.name = name,
                                      .type = apply_schema_read(arena, cor_json_iter_value(&it))};
        if (cor_json_get(defaults, name, COR_JSON_ANY_ORDER, &value) == 0)
            v->default_json = value;
    }
}

static void read_keys(struct cor_arena *arena, struct cor_str keys, struct cor_apply_type *type)
{
    struct cor_json_iter it = cor_json_iter(keys);
    struct cor_str *v = make(arena, COR_APPLY_KEYS_MAX * sizeof(*v));

    type->keys = v;
    while (type->nkeys < COR_APPLY_KEYS_MAX && cor_json_iter_elem(&it))
        v[type->nkeys++] = text(cor_json_iter_value(&it));
}

const struct cor_apply_type *apply_schema_read(struct cor_arena *arena, struct cor_str json)
{
    struct cor_apply_type *type;
    bool is_atomic = get(json, "atomic").n > 0;

    if (json.n == 0 || json.p[0] != '{')
        return read_word(arena, json);
    type = make(arena, sizeof(*type));
    *type = (struct cor_apply_type){0};
    if (get(json, "list").n > 0) {
        type->list = COR_APPLY_LIST_ATOMIC;
        type->item = apply_schema_read(arena, get(json, "list"));
    } else if (get(json, "set").n > 0) {
        type->list = COR_APPLY_LIST_SET;
        type->item = apply_schema_read(arena, get(json, "set"));
    } else if (get(json, "keyed").n > 0) {
        type->list = COR_APPLY_LIST_KEYED;
        type->item = apply_schema_read(arena, get(json, "keyed"));
        read_keys(arena, get(json, "keys"), type);
    } else {
        struct cor_str others = get(json, "map").n > 0 ? get(json, "map") : get(json, "others");

        type->map = is_atomic ? COR_APPLY_MAP_ATOMIC : COR_APPLY_MAP_GRANULAR;
        if (others.n > 0)
            type->others = apply_schema_read(arena, others);
        read_fields(arena, json, type);
    }
    return type;
}
