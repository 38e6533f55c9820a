#include "cache/store/object_set.h"

#include "base/err.h"
#include "base/mem.h"
#include "cache/store/object_key.h"

struct entry {
    struct cor_object *object;
    char key[];
};

void cor_object_set_init(struct cor_object_set *set, size_t max)
{
    cor_map_init(&set->map, max);
    cor_buf_init(&set->key, COR_OBJECT_KEY_MAX);
}

static void free_entry(struct entry *e)
{
    cor_object_unref(e->object);
    cor_free(e);
}

void cor_object_set_clear(struct cor_object_set *set)
{
    COR_MAP_FOREACH(it, &set->map) {
        free_entry(it.value);
    }
    cor_map_deinit(&set->map);
}

void cor_object_set_deinit(struct cor_object_set *set)
{
    cor_object_set_clear(set);
    cor_buf_deinit(&set->key);
}

static int set_key(struct cor_object_set *set, const struct cor_object *object)
{
    cor_buf_reset(&set->key);
    return cor_object_key(object, &set->key);
}

static int put_new(struct cor_object_set *set, struct cor_object *object)
{
    struct cor_str key = cor_buf_str(&set->key);
    struct entry *e = cor_alloc(sizeof(*e) + key.n);
    int r;

    if (!e)
        return -COR_ENOMEM;
    memcpy(e->key, key.p, key.n);
    r = cor_map_put(&set->map, cor_str(e->key, key.n), e, NULL);
    if (r < 0) {
        cor_free(e);
        return r;
    }
    e->object = cor_object_ref(object);
    return 0;
}

int cor_object_set_put(struct cor_object_set *set, struct cor_object *object)
{
    struct entry *e;
    int r = set_key(set, object);

    if (r < 0)
        return r;
    e = cor_map_peek(&set->map, cor_buf_str(&set->key));
    if (!e)
        return put_new(set, object);
    cor_object_ref(object);
    cor_object_unref(e->object);
    e->object = object;
    return 0;
}

int cor_object_set_remove(struct cor_object_set *set, const struct cor_object *object)
{
    struct entry *e;
    int r = set_key(set, object);

    if (r < 0)
        return r;
    e = cor_map_remove(&set->map, cor_buf_str(&set->key));
    if (e)
        free_entry(e);
    return 0;
}

int cor_object_set_each(const struct cor_object_set *set,
                        int (*fn)(void *arg, struct cor_object *object), void *arg)
{
    COR_MAP_FOREACH(it, &set->map) {
        struct entry *e = it.value;
        int r = fn(arg, e->object);

        if (r < 0)
            return r;
    }
    return 0;
}
