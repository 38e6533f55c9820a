/* A reference count for things that are immutable once shared.
 * Thread: any; the last cor_ref_put() sees all writes made before the other puts. */
#ifndef COR_BASE_REF_H
#define COR_BASE_REF_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cor_ref {
    _Atomic uint32_t n;
};

static inline void cor_ref_init(struct cor_ref *ref)
{
    atomic_init(&ref->n, 1);
}

static inline void cor_ref_get(struct cor_ref *ref)
{
    uint32_t old = atomic_fetch_add_explicit(&ref->n, 1, memory_order_relaxed);

    assert(old > 0 && old < UINT32_MAX);
    (void)old;
}

/* True when this was the last reference: the caller frees. Acquire on the decrement itself, rather
 * than a fence after it, because ThreadSanitizer does not understand fences. */
static inline bool cor_ref_put(struct cor_ref *ref)
{
    uint32_t old = atomic_fetch_sub_explicit(&ref->n, 1, memory_order_acq_rel);

    assert(old > 0);
    return old == 1;
}

/* True when the caller's is the only reference. */
static inline bool cor_ref_is_sole(const struct cor_ref *ref)
{
    return atomic_load_explicit(&ref->n, memory_order_acquire) == 1;
}

#endif
