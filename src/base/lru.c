#include "base/lru.h"

#include "base/cleanup.h"
#include "base/err.h"

void cor_lru_init(struct cor_lru *l, size_t max, void (*drop)(struct cor_lru_link *take))
{
    cor_map_init(&l->map, max + 1);
    cor_dlist_init(&l->order);
    l->max = max;
    l->drop = drop;
}

void cor_lru_drop(struct cor_lru *l, struct cor_lru_link *link)
{
    cor_dlist_remove(&link->link);
    cor_map_remove(&l->map, link->key);
    l->drop(link);
}

static void drop_oldest(struct cor_lru *l)
{
    cor_lru_drop(l, COR_CONTAINER_OF(l->order.next, struct cor_lru_link, link));
}

void cor_lru_deinit(struct cor_lru *l)
{
    while (cor_lru_len(l) > 0)
        drop_oldest(l);
    cor_map_deinit(&l->map);
}

struct cor_lru_link *cor_lru_use(struct cor_lru *l, struct cor_str key)
{
    struct cor_lru_link *found = cor_map_peek(&l->map, key);

    if (found) {
        cor_dlist_remove(&found->link);
        cor_dlist_push(&l->order, &found->link);
    }
    return found;
}

int cor_lru_add(struct cor_lru *l, struct cor_lru_link *link)
{
    if (cor_map_put(&l->map, link->key, link, NULL) < 0)
        return -COR_ENOMEM;
    cor_dlist_push(&l->order, &link->link);
    if (cor_lru_len(l) > l->max)
        drop_oldest(l);
    return 0;
}
