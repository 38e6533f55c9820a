/* Memory that is freed all at once: for values that are made together and die together, such as the
 * nodes of a tree. The first failure sticks: every later call fails too, so that a builder checks
 * `error` once, at its end.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_BASE_ARENA_H
#define COR_BASE_ARENA_H

#include <stddef.h>

#include "base/str.h"
#include "base/work.h"

struct cor_arena_chunk;

struct cor_arena {
    struct cor_arena_chunk *chunks; /* the one in use comes first */
    size_t bytes;                   /* of all chunks */
    size_t max;                     /* `bytes` never exceeds it */
    int error;                      /* 0, -COR_ENOMEM, -COR_ETOOBIG, COR_WORK_YIELD */
    struct cor_work
        *work; /* charged with walks over values of the arena; NULL: nothing is charged */
};

/* Cannot fail; nothing is allocated before the first call of cor_arena_alloc(). */
void cor_arena_init(struct cor_arena *arena, size_t max);

/* Frees all memory of the arena; safe on a zeroed struct. */
void cor_arena_deinit(struct cor_arena *arena);

/* `n` uninitialised bytes, aligned for a pointer. NULL: the arena has failed (`error`). */
void *cor_arena_alloc(struct cor_arena *arena, size_t n);

/* A copy of the bytes; p == NULL: the arena has failed. */
struct cor_str cor_arena_copy(struct cor_arena *arena, struct cor_str text);

/* Charges a walk that makes values in the arena. When the budget is used up the arena fails, so
 * that the walk ends as it would without memory. */
static inline void cor_arena_charge(struct cor_arena *arena, uint64_t steps)
{
    if (arena->work && cor_work_charge(arena->work, steps) < 0 && arena->error == 0)
        arena->error = cor_work_result(arena->work);
}

#endif
