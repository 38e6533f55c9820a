/* The one place the library's memory comes from; yyjson and nghttp2 are given it too. What libuv
 * and OpenSSL allocate is theirs: they have settings for the whole process (uv_replace_allocator,
 * CRYPTO_set_mem_functions), which belong to the program. libyaml, which reads kubeconfigs, has
 * none. */
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

/* Replaces the allocator of the process's one copy of the library; NULL restores the C library's.
 * Call it before any other function of the library, or with an allocator whose `free` takes the
 * other's blocks, while no other thread is in the library. `fns` must stay valid. */
COR_API void cor_mem_set(const struct cor_mem_fns *fns);

#ifdef __cplusplus
}
#endif

#endif
