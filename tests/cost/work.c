/* The counts behind work.h. The compiler calls __sanitizer_cov_trace_pc() at each edge, and the
 * linker puts the wrappers below in the place of the functions that go through bytes (--wrap), as
 * those are in the C library and have no edges of ours.
 *
 * Each thread counts for itself, so that no edge waits for another thread. A count is written by
 * its thread alone and read by any. Places are taken in turn and never given back: a thread that
 * has ended leaves what it has counted, and whoever takes its place adds to that. A memcmp() or
 * memchr() that ends early is counted up to where it ends.
 *
 * Thread: any. There are never more than PLACES at a time. */
#include "work.h"

#ifndef COR_COUNTED

uint64_t work_so_far(void)
{
    return 0;
}

#else

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

#define PLACES 256u
#ifdef __clang__
#define NOT_COUNTED __attribute__((no_sanitize("coverage")))
#else
#define NOT_COUNTED __attribute__((no_sanitize_coverage))
#endif

static struct place {
    _Alignas(64) _Atomic uint64_t n;
} places[PLACES];
static _Atomic unsigned taken;
static _Thread_local struct place *own;

NOT_COUNTED static void add(uint64_t n)
{
    if (!own)
        own = &places[atomic_fetch_add(&taken, 1) % PLACES];
    atomic_store_explicit(&own->n, atomic_load_explicit(&own->n, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

NOT_COUNTED uint64_t work_so_far(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < PLACES; i++)
        sum += atomic_load_explicit(&places[i].n, memory_order_relaxed);
    return sum;
}

void __sanitizer_cov_trace_pc(void);
NOT_COUNTED void __sanitizer_cov_trace_pc(void)
{
    add(1);
}

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
NOT_COUNTED void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    add(n);
    return __real_memcpy(to, from, n);
}

void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
NOT_COUNTED void *__wrap_memmove(void *to, const void *from, size_t n)
{
    add(n);
    return __real_memmove(to, from, n);
}

void *__real_memset(void *to, int byte, size_t n);
void *__wrap_memset(void *to, int byte, size_t n);
NOT_COUNTED void *__wrap_memset(void *to, int byte, size_t n)
{
    add(n);
    return __real_memset(to, byte, n);
}

int __real_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
NOT_COUNTED int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    size_t same = 0;

    while (same < n && x[same] == y[same])
        same++;
    add(same);
    return same < n ? x[same] - y[same] : 0;
}

void *__real_memchr(const void *s, int byte, size_t n);
void *__wrap_memchr(const void *s, int byte, size_t n);
NOT_COUNTED void *__wrap_memchr(const void *s, int byte, size_t n)
{
    void *found = __real_memchr(s, byte, n);

    add(found ? (size_t)((const char *)found - (const char *)s) : n);
    return found;
}

size_t __real_strlen(const char *s);
size_t __wrap_strlen(const char *s);
NOT_COUNTED size_t __wrap_strlen(const char *s)
{
    size_t n = __real_strlen(s);

    add(n);
    return n;
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
NOT_COUNTED void *__wrap_realloc(void *p, size_t n)
{
    size_t had = p ? malloc_usable_size(p) : 0;
    void *q = __real_realloc(p, n);

    /* Whether it is moved is chance, and in a program that runs for longer it is. */
    add(had < n ? had : n);
    return q;
}

#endif
