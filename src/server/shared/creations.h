/* How many objects are being created in each namespace: requests that have asked, or are about to
 * ask, whether their namespace may get new objects, and that have not ended. The deletion of a
 * namespace waits until there are none: an object whose request was admitted before the deletion
 * may be stored after it, and nobody would look for that object once the namespace is gone.
 *
 * Namespaces share a fixed number of counters. Creations in a namespace that has the same counter
 * make a deletion wait longer; while they never pause the counter is never 0, so whoever waits for
 * that must bound the wait.
 * Owner: the API.  Thread: any. */
#ifndef COR_SERVER_CREATIONS_H
#define COR_SERVER_CREATIONS_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define COR_CREATIONS_COUNTERS 256

/* Zeroed: there are none. */
struct cor_creations {
    _Atomic uint32_t n[COR_CREATIONS_COUNTERS];
};

static inline _Atomic uint32_t *cor_creations_of(struct cor_creations *creations, struct cor_str ns)
{
    return &creations->n[cor_str_hash(ns) % COR_CREATIONS_COUNTERS];
}

/* Before the namespace is looked at. Returns what cor_creations_end() needs. Cannot fail. */
static inline _Atomic uint32_t *cor_creations_begin(struct cor_creations *creations,
                                                    struct cor_str ns)
{
    _Atomic uint32_t *counter = cor_creations_of(creations, ns);

    atomic_fetch_add(counter, 1);
    return counter;
}

/* After the object was stored, or will not be. */
static inline void cor_creations_end(_Atomic uint32_t *counter)
{
    uint32_t before = atomic_fetch_sub(counter, 1);

    assert(before > 0);
    (void)before;
}

/* Returns whether an object whose request was admitted before this call may still be stored in the
 * namespace. */
static inline bool cor_creations_has(struct cor_creations *creations, struct cor_str ns)
{
    return atomic_load(cor_creations_of(creations, ns)) > 0;
}

#endif
