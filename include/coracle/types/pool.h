/* Memory of decoded objects (coracle/types/own.h). Everything that is taken from a pool is freed
 * with it, at once; nothing is freed alone. A pool may hold one object or all that a reconcile call
 * decodes.
 *
 * The first failure sticks: every later call fails, too, so that a program that takes memory
 * several times may ask once, at its end (cor_pool_error()). Owner: the program that made it.
 * Thread: one at a time. */
#ifndef CORACLE_TYPES_POOL_H
#define CORACLE_TYPES_POOL_H

#include <stddef.h>

#include "coracle/api.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_pool;

/* The maximum of a pool that names none. */
#define COR_POOL_BYTES_MAX ((size_t)1 << 30)

/* `bytes_max`: the most that the pool takes from the allocator; 0: COR_POOL_BYTES_MAX. 0,
 * -COR_ENOMEM. */
COR_API int cor_pool_new(size_t bytes_max, struct cor_pool **ret_pool);
COR_API struct cor_pool *cor_pool_free(struct cor_pool *pool); /* NULL is fine; returns NULL */

/* Frees all that was taken, and forgets a failure. */
COR_API void cor_pool_reset(struct cor_pool *pool);

/* 0, -COR_ENOMEM or -COR_ETOOBIG (the maximum): the first failure. */
COR_API int cor_pool_error(const struct cor_pool *pool);

/* `n` bytes that are zero, aligned for any member of a generated struct. NULL: the pool has failed.
 */
COR_API void *cor_pool_alloc(struct cor_pool *pool, size_t n);

/* A copy of the bytes, with a NUL after them that is not counted. p is NULL: the pool has failed.
 */
COR_API struct cor_str cor_pool_copy(struct cor_pool *pool, struct cor_str bytes);

#ifdef __cplusplus
}
#endif

#endif
