/* The allocator of the library; yyjson and nghttp2 use it, too. libuv and OpenSSL allocate by
 * themselves: their allocators are settings of the whole process (uv_replace_allocator,
 * CRYPTO_set_mem_functions), which belong to the program. libyaml, which reads kubeconfigs, has no
 * such setting. */
#ifndef CORACLE_MEM_H
#define CORACLE_MEM_H

#include <stddef.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An allocator with malloc's contract, called from any thread. `alloc` and `realloc` return NULL
 * when out of memory. */
struct cor_mem_fns {
    void *(*alloc)(size_t n);
    void *(*realloc)(void *p, size_t n);
    void (*free)(void *p);
};

/* Sets the allocator of the library for the whole process; NULL restores the C library's. Call this
 * before any other function of the library; later only while no other thread is inside the library,
 * and with an allocator whose `free` accepts the blocks of the former one. `fns` must stay valid.
 */
COR_API void cor_mem_set(const struct cor_mem_fns *fns);

/* The allocator that is set, for libraries beside this one. `cor_alloc` and `cor_realloc` return
 * NULL when out of memory, and for a size of 0 a valid pointer; the memory is not initialised.
 * When `cor_realloc` fails, `p` stays as it was. `cor_free` accepts NULL and returns NULL. */
COR_API void *cor_alloc(size_t n) __attribute__((malloc, warn_unused_result));
COR_API void *cor_realloc(void *p, size_t n) __attribute__((warn_unused_result));
COR_API void *cor_free(void *p);

#ifdef __cplusplus
}
#endif

#endif
