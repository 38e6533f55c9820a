/* A pool is an arena (base/arena.h) that programs outside see as an opaque struct. */
#include "coracle/types/pool.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "own/own_int.h"

int cor_pool_new(size_t bytes_max, struct cor_pool **ret_pool)
{
    struct cor_pool *pool = cor_alloc(sizeof(*pool));

    if (!pool)
        return -COR_ENOMEM;
    cor_arena_init(&pool->arena, bytes_max > 0 ? bytes_max : COR_POOL_BYTES_MAX);
    *ret_pool = pool;
    return 0;
}

struct cor_pool *cor_pool_free(struct cor_pool *pool)
{
    if (pool)
        cor_arena_deinit(&pool->arena);
    return cor_free(pool);
}

void cor_pool_reset(struct cor_pool *pool)
{
    cor_arena_deinit(&pool->arena);
}

int cor_pool_error(const struct cor_pool *pool)
{
    return pool->arena.error;
}

void *cor_pool_alloc(struct cor_pool *pool, size_t n)
{
    void *p = cor_arena_alloc(&pool->arena, n);

    return p ? memset(p, 0, n) : NULL;
}

struct cor_str cor_pool_copy(struct cor_pool *pool, struct cor_str bytes)
{
    char *p = bytes.n < SIZE_MAX ? cor_arena_alloc(&pool->arena, bytes.n + 1) : NULL;

    if (!p)
        return cor_str(NULL, 0);
    if (bytes.n > 0)
        memcpy(p, bytes.p, bytes.n);
    p[bytes.n] = '\0';
    return cor_str(p, bytes.n);
}

int cor_own_grow(struct cor_pool *pool, struct cor_own_grown *text, struct cor_str more)
{
    size_t need = text->n + more.n + 2; /* a comma before it and a NUL behind */

    if (need > text->cap) {
        size_t cap = text->cap * 2 > need ? text->cap * 2 : need;
        char *p = cor_pool_alloc(pool, cap);

        if (!p)
            return cor_pool_error(pool);
        if (text->n > 0)
            memcpy(p, text->p, text->n);
        text->p = p;
        text->cap = cap;
    }
    if (text->n > 0)
        text->p[text->n++] = ',';
    memcpy(text->p + text->n, more.p, more.n);
    text->n += more.n;
    text->p[text->n] = '\0';
    return 0;
}
