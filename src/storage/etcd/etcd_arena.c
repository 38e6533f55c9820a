#include "storage/etcd/etcd_arena.h"

#include <stdalign.h>

#include "base/mem.h"

#define CHUNK_BYTES 8192

struct etcd_arena_chunk {
    struct etcd_arena_chunk *next;
    size_t size;
    alignas(max_align_t) char bytes[];
};

static bool add_chunk(struct etcd_arena *arena, size_t least)
{
    size_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_BYTES;
    struct etcd_arena_chunk *chunk;

    if (size < least)
        size = least;
    chunk = cor_alloc(sizeof(*chunk) + size);
    if (!chunk) {
        arena->failed = true;
        return false;
    }
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->used = 0;
    return true;
}

static void *arena_alloc(void *data, size_t n)
{
    struct etcd_arena *arena = data;
    void *p;

    n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if ((!arena->chunks || arena->chunks->size - arena->used < n) && !add_chunk(arena, n))
        return NULL;
    p = arena->chunks->bytes + arena->used;
    arena->used += n;
    return p;
}

static void arena_free(void *data, void *p)
{
    (void)data, (void)p;
}

void cor_etcd_arena_init(struct etcd_arena *arena)
{
    *arena = (struct etcd_arena){.allocator = {arena_alloc, arena_free, arena}};
}

void cor_etcd_arena_deinit(struct etcd_arena *arena)
{
    while (arena->chunks) {
        struct etcd_arena_chunk *next = arena->chunks->next;

        cor_free(arena->chunks);
        arena->chunks = next;
    }
}
