/* What the functions on generated structs share: fields by name, presence, lists and maps that
 * grow. A list grows by doubling; the memory that it leaves stays with the pool, so that a list of
 * n entries takes less than three times their bytes. */
#include "own/own_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "json/text/bytes.h"
#include "json/text/scan.h"

#define CAP_FIRST 2

const struct cor_own_field *cor_own_find(const struct cor_own_type *type, struct cor_str name)
{
    size_t low = 0, high = type->nfields;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct cor_own_field *field = &type->fields[middle];
        size_t n = name.n < field->name_n ? name.n : field->name_n;
        int order = memcmp(name.p, field->name, n);

        if (order == 0 && name.n == field->name_n)
            return field;
        if (order < 0 || (order == 0 && name.n < field->name_n))
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void cor_own_init(const struct cor_own_type *type, void *own)
{
    static const char *const names[] = {"apiVersion", "kind"};
    const char *const values[] = {type->api_version, type->kind};

    memset(own, 0, type->size);
    for (size_t i = 0; i < 2 && type->kind; i++) {
        const struct cor_own_field *field = cor_own_find(type, cor_strz(names[i]));

        if (field && field->kind == COR_OWN_TEXT && field->form == COR_OWN_ONE)
            *(struct cor_str *)cor_own_at(own, field) = cor_strz(values[i]);
    }
}

bool cor_own_is_about_kind(const struct cor_own_field *field)
{
    struct cor_str name = cor_str(field->name, field->name_n);

    return cor_str_eq(name, COR_STR("kind")) || cor_str_eq(name, COR_STR("apiVersion"));
}

bool cor_own_is_set(const struct cor_own_field *field, const void *value)
{
    const struct cor_own_run *run = value;

    if (field->form != COR_OWN_ONE)
        return run->p || run->n > 0;
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_BOOL:
        return ((const struct cor_opt_bool *)value)->is_set;
    case COR_OWN_INT32:
        return ((const struct cor_opt_int32 *)value)->is_set;
    case COR_OWN_INT64:
        return ((const struct cor_opt_int64 *)value)->is_set;
    case COR_OWN_DOUBLE:
        return ((const struct cor_opt_double *)value)->is_set;
    case COR_OWN_TIME:
        return ((const struct cor_opt_time *)value)->is_set;
    case COR_OWN_MICRO_TIME:
        return ((const struct cor_opt_micro_time *)value)->is_set;
    case COR_OWN_INT_OR_STR:
        return ((const struct cor_int_or_str *)value)->type != COR_INT_OR_STR_NONE;
    case COR_OWN_STRUCT:
        return !(field->flags & COR_OWN_POINTER) || *(void *const *)value;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_RAW:
        break;
    }
    return ((const struct cor_str *)value)->p != NULL;
}

size_t cor_own_compact(char *to, struct cor_str json)
{
    const char *p = json.p, *end = json.p + json.n;
    size_t n = 0;

    while (p < end) {
        const char *from = p;

        while (p < end && !cor_json_is_space(*p) && *p != '"')
            p++;
        if (p < end && *p == '"') {
            p = cor_json_find_quote_or_escape(p + 1, end);
            while (*p != '"')
                p = cor_json_find_quote_or_escape(p + 2, end);
            p++;
        }
        if (to + n != from)
            memmove(to + n, from, (size_t)(p - from));
        n += (size_t)(p - from);
        while (p < end && cor_json_is_space(*p))
            p++;
    }
    return n;
}

void *cor_own_add(struct cor_pool *pool, void *list, size_t size)
{
    struct cor_own_run *run = list;

    assert(size > 0 && (run->cap == 0 || run->n <= run->cap));
    if (run->n >= run->cap) {
        size_t cap = run->n < CAP_FIRST ? CAP_FIRST : run->n * 2;
        char *p =
            run->n <= COR_POOL_BYTES_MAX / size ? cor_arena_alloc(&pool->arena, cap * size) : NULL;

        if (!p) {
            if (pool->arena.error == 0)
                pool->arena.error = -COR_ETOOBIG;
            return NULL;
        }
        if (run->n > 0)
            memcpy(p, run->p, run->n * size);
        run->p = p;
        run->cap = cap;
    }
    return memset(run->p + run->n++ * size, 0, size);
}

int cor_str_list_add(struct cor_pool *pool, struct cor_str_list *list, struct cor_str text)
{
    struct cor_str *added = cor_own_add(pool, list, sizeof(*added));

    if (!added)
        return cor_pool_error(pool);
    *added = text;
    return 0;
}

/* Of equal keys, which a program may have added, the last counts. */
static struct cor_str_entry *find_entry(const struct cor_str_map *map, struct cor_str key)
{
    for (size_t i = map->n; i > 0; i--) {
        if (cor_str_eq(map->p[i - 1].key, key))
            return &map->p[i - 1];
    }
    return NULL;
}

int cor_str_map_set(struct cor_pool *pool, struct cor_str_map *map, struct cor_str key,
                    struct cor_str value)
{
    struct cor_str_entry *entry = find_entry(map, key);

    if (!entry)
        entry = cor_own_add(pool, map, sizeof(*entry));
    if (!entry)
        return cor_pool_error(pool);
    entry->key = key;
    entry->value = value;
    return 0;
}

const struct cor_str *cor_str_map_get(const struct cor_str_map *map, struct cor_str key)
{
    const struct cor_str_entry *entry = find_entry(map, key);

    return entry ? &entry->value : NULL;
}

static struct cor_str key_of(const struct cor_own_run *map, size_t entry_size, size_t i)
{
    return ((const struct cor_own_key *)(const void *)(map->p + i * entry_size))->key;
}

bool cor_own_is_sorted(const struct cor_own_run *map, size_t entry_size)
{
    for (size_t i = 1; i < map->n; i++) {
        if (cor_str_cmp(key_of(map, entry_size, i - 1), key_of(map, entry_size, i)) >= 0)
            return false;
    }
    return true;
}

/* Merges the sorted runs [from, middle) and [middle, to) of `map` into `out`: of equal keys the one
 * of the first run comes first. */
static void merge_runs(const struct cor_own_run *map, size_t entry_size, size_t from, size_t middle,
                       size_t to, char *out)
{
    size_t a = from, b = middle;

    for (size_t i = from; i < to; i++) {
        bool takes_a = b == to || (a < middle && cor_str_cmp(key_of(map, entry_size, a),
                                                             key_of(map, entry_size, b)) <= 0);

        memcpy(out + i * entry_size, map->p + (takes_a ? a++ : b++) * entry_size, entry_size);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* qsort() is not stable, and the order of equal keys is what tells the last of them. */
int cor_own_sort(struct cor_pool *pool, struct cor_own_run *map, size_t entry_size)
{
    char *other = cor_pool_alloc(pool, map->n * entry_size);
    size_t kept = 0;

    if (!other)
        return cor_pool_error(pool);
    for (size_t width = 1; width < map->n; width *= 2) {
        char *sorted = other;

        for (size_t i = 0; i < map->n; i += 2 * width)
            merge_runs(map, entry_size, i, least(i + width, map->n), least(i + 2 * width, map->n),
                       sorted);
        other = map->p;
        map->p = sorted;
    }
    for (size_t i = 0; i < map->n; i++) {
        if (i + 1 < map->n &&
            cor_str_eq(key_of(map, entry_size, i), key_of(map, entry_size, i + 1)))
            continue;
        if (kept != i)
            memcpy(map->p + kept * entry_size, map->p + i * entry_size, entry_size);
        kept++;
    }
    map->n = kept;
    map->cap = kept;
    return 0;
}

int cor_own_sorted(struct cor_pool *pool, const struct cor_own_run *map, size_t entry_size,
                   struct cor_own_run *ret)
{
    *ret = *map;
    if (cor_own_is_sorted(map, entry_size))
        return 0;
    ret->p = (char *)cor_pool_copy(pool, cor_str(map->p, map->n * entry_size)).p;
    if (!ret->p)
        return cor_pool_error(pool);
    return cor_own_sort(pool, ret, entry_size);
}
