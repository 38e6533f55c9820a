#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct cor_mem_fns libc_fns = {
    .alloc = malloc,
    .realloc = realloc,
    .free = free,
};

static const struct cor_mem_fns *mem = &libc_fns;

void cor_mem_set(const struct cor_mem_fns *fns)
{
    mem = fns ? fns : &libc_fns;
}

void *cor_alloc(size_t n)
{
    return mem->alloc(n ? n : 1);
}

void *cor_calloc(size_t n, size_t size)
{
    size_t total;
    void *p;

    if (__builtin_mul_overflow(n, size, &total))
        return NULL;
    p = cor_alloc(total);
    if (p)
        memset(p, 0, total);
    return p;
}

void *cor_realloc(void *p, size_t n)
{
    return mem->realloc(p, n ? n : 1);
}

void *cor_memdup(const void *p, size_t n)
{
    void *copy = cor_alloc(n);

    if (copy && n)
        memcpy(copy, p, n);
    return copy;
}

char *cor_strndup(const char *s, size_t n)
{
    char *copy = cor_alloc(n + 1);

    if (copy) {
        if (n)
            memcpy(copy, s, n);
        copy[n] = '\0';
    }
    return copy;
}

char *cor_strdup(const char *s)
{
    return cor_strndup(s, strlen(s));
}

void *cor_free(void *p)
{
    if (p)
        mem->free(p);
    return NULL;
}

void *cor_free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    return cor_free(text);
}

void cor_freep(void *pp)
{
    cor_free(*(void **)pp);
}
