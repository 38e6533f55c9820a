#include "cache/queues/delta_list.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

#define CAP_MIN 64

static void listed_deinit(struct cor_delta_listed *e)
{
    cor_object_unref(e->object);
    cor_free(e->key);
}

void cor_delta_list_clear(struct cor_delta_list *l)
{
    for (size_t i = l->at; i < l->n; i++)
        listed_deinit(&l->v[i]);
    cor_free(l->v);
    *l = (struct cor_delta_list){0};
}

int cor_delta_list_reserve(struct cor_delta_list *l)
{
    return COR_ARRAY_RESERVE(&l->v, l->n, &l->cap, COR_ARRAY_NO_MAX);
}

int cor_delta_list_add(struct cor_delta_list *l, struct cor_str key, struct cor_object *take)
{
    struct cor_delta_listed e = {.object = take};

    if (!cor_str_eq(cor_object_own_key(take), key)) {
        e.key = cor_memdup(key.p, key.n);
        e.key_len = key.n;
        if (!e.key)
            return -COR_ENOMEM;
    }
    l->v[l->n++] = e;
    return 0;
}

void cor_delta_list_drop_first(struct cor_delta_list *l)
{
    listed_deinit(&l->v[l->at++]);
    l->seq++;
    if (l->at == l->n)
        cor_delta_list_clear(l);
}
