/* Looks for a secret in each block that is freed or moved: it should have been wiped before. A
 * program's own test file, because this takes the place of the tests' allocator:
 *
 *   cor_mem_set(&traces_looking);
 *   ...
 *   assert_int_equal(traces_found, 0);
 *   cor_mem_set(NULL); */
#ifndef COR_TEST_TRACES_H
#define COR_TEST_TRACES_H

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SECRET "hunter2hunter2hunter2"

static size_t traces_found;

static inline void traces_look(void *p)
{
    traces_found += p && memmem(p, malloc_usable_size(p), SECRET, strlen(SECRET)) != NULL;
}

static inline void traces_free(void *p)
{
    traces_look(p);
    free(p);
}

static inline void *traces_realloc(void *p, size_t n)
{
    traces_look(p);
    return realloc(p, n);
}

static const struct cor_mem_fns traces_looking = {malloc, traces_realloc, traces_free};

#endif
