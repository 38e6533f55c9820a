/* The one place memory comes from. Every allocation of the project goes through the functions here,
 * so that a program can set its own allocator and a test can fail the n-th call.
 * Thread: any. */
#ifndef COR_BASE_MEM_H
#define COR_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "coracle/mem.h"

/* Uninitialised memory, or NULL. A size of 0 gives a valid pointer. */
void *cor_alloc(size_t n) __attribute__((malloc, warn_unused_result));

/* Zeroed memory for n * size bytes, or NULL, also when the product overflows. */
void *cor_calloc(size_t n, size_t size) __attribute__((malloc, warn_unused_result));

/* On failure returns NULL and leaves `p` as it was. */
void *cor_realloc(void *p, size_t n) __attribute__((warn_unused_result));

void *cor_memdup(const void *p, size_t n) __attribute__((malloc, warn_unused_result));

/* A NUL-terminated copy of `n` bytes. */
char *cor_strndup(const char *s, size_t n) __attribute__((malloc, warn_unused_result));
char *cor_strdup(const char *s) __attribute__((malloc, warn_unused_result));

/* Frees `p` (NULL is fine) and returns NULL: `p = cor_free(p)`. */
void *cor_free(void *p);

/* The same for text that is overwritten first. */
void *cor_free_secret(char *text);

/* Cleanup function for COR_CLEANUP on any pointer from this header. */
void cor_freep(void *pp);

#endif
