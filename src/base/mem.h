/* The one place memory comes from. Every allocation of the project goes through the functions here,
 * so that a program can set its own allocator and a test can fail the n-th call; cor_alloc(),
 * cor_realloc() and cor_free() are public.
 * Thread: any. */
#ifndef COR_BASE_MEM_H
#define COR_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "coracle/mem.h"

/* Zeroed memory for n * size bytes, or NULL, also when the product overflows. */
void *cor_calloc(size_t n, size_t size) __attribute__((malloc, warn_unused_result));

void *cor_memdup(const void *p, size_t n) __attribute__((malloc, warn_unused_result));

/* A NUL-terminated copy of `n` bytes. */
char *cor_strndup(const char *s, size_t n) __attribute__((malloc, warn_unused_result));
char *cor_strdup(const char *s) __attribute__((malloc, warn_unused_result));

/* cor_free() of a text that is overwritten first. */
void *cor_free_secret(char *text);

/* Cleanup function for COR_CLEANUP on any pointer from this header. */
void cor_freep(void *pp);

#endif
