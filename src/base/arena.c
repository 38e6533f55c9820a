/* An arena is a list of chunks, of which the first is in use. A value is cut off the chunk in use;
 * a value that does not fit there begins another chunk, twice as large as the one before up to a
 * maximum, and at least as large as the value. What was left of the chunk before stays unused.
 * Failures: no memory, or `max` bytes are reached. The arena keeps the first failure, and all later
 * calls fail with it.
 * Thread: one at a time. */
#include "base/arena.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define CHUNK_BYTES 4000 /* of the first chunk; the next is twice as large */
#define CHUNK_MAX   (1u << 20)

struct cor_arena_chunk {
    struct cor_arena_chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

void cor_arena_init(struct cor_arena *arena, size_t max)
{
    *arena = (struct cor_arena){.max = max};
}

void cor_arena_deinit(struct cor_arena *arena)
{
    struct cor_arena_chunk *chunk = arena->chunks, *next;

    for (; chunk; chunk = next) {
        next = chunk->next;
        cor_free(chunk);
    }
    *arena = (struct cor_arena){.max = arena->max};
}

/* Adds a chunk with room for `n` bytes. Chunks double in size, so that an arena of any size has few
 * of them. */
static struct cor_arena_chunk *arena_grow(struct cor_arena *arena, size_t n)
{
    struct cor_arena_chunk *chunk = arena->chunks;
    size_t size = !chunk ? CHUNK_BYTES : chunk->size < CHUNK_MAX ? chunk->size * 2 : CHUNK_MAX;

    if (size < n)
        size = n;
    if (size > arena->max - arena->bytes)
        size = n;
    if (size > arena->max - arena->bytes) {
        arena->error = -COR_ETOOBIG;
        return NULL;
    }
    chunk = cor_alloc(sizeof(*chunk) + size);
    if (!chunk) {
        arena->error = -COR_ENOMEM;
        return NULL;
    }
    *chunk = (struct cor_arena_chunk){.next = arena->chunks, .size = size};
    arena->chunks = chunk;
    arena->bytes += size;
    return chunk;
}

void *cor_arena_alloc(struct cor_arena *arena, size_t n)
{
    struct cor_arena_chunk *chunk = arena->chunks;
    void *p;

    if (arena->error < 0)
        return NULL;
    if (n > arena->max) {
        arena->error = -COR_ETOOBIG;
        return NULL;
    }
    n = (n + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    if (!chunk || chunk->size - chunk->used < n)
        chunk = arena_grow(arena, n);
    if (!chunk)
        return NULL;
    p = chunk->bytes + chunk->used;
    chunk->used += n;
    return p;
}

struct cor_str cor_arena_copy(struct cor_arena *arena, struct cor_str text)
{
    char *p = cor_arena_alloc(arena, text.n);

    if (!p)
        return cor_str(NULL, 0);
    if (text.n > 0)
        memcpy(p, text.p, text.n);
    return cor_str(p, text.n);
}
