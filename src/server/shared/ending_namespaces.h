/* The namespaces whose deletion was asked for at this server in the last 30 seconds. A watch cache
 * may still have such a namespace without its deletion. Whoever creates an object in it therefore
 * reads the latest state of the namespace, although the cache has it.
 *
 * Namespaces share a fixed number of times. A namespace that has the same time as one that ends is
 * read from the store a few times more than needed, and nothing else happens.
 * Owner: the API.  Thread: any. */
#ifndef COR_SERVER_ENDING_NAMESPACES_H
#define COR_SERVER_ENDING_NAMESPACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define COR_ENDING_NAMESPACES_MS    30000
#define COR_ENDING_NAMESPACES_TIMES 256

/* Zeroed: there are none. Times are those of cor_loop_now_ms(). */
struct cor_ending_namespaces {
    _Atomic uint64_t last_until_ms; /* the latest of all, so that most creations compare one time */
    _Atomic uint64_t until_ms[COR_ENDING_NAMESPACES_TIMES];
};

/* Before the deletion is stored. */
static inline void cor_ending_namespaces_note(struct cor_ending_namespaces *ending,
                                              struct cor_str ns, uint64_t now_ms)
{
    uint64_t until_ms = now_ms + COR_ENDING_NAMESPACES_MS;

    atomic_store(&ending->until_ms[cor_str_hash(ns) % COR_ENDING_NAMESPACES_TIMES], until_ms);
    atomic_store(&ending->last_until_ms, until_ms);
}

/* Returns whether a cache that has the namespace without a deletion may be behind. */
static inline bool cor_ending_namespaces_has(struct cor_ending_namespaces *ending,
                                             struct cor_str ns, uint64_t now_ms)
{
    return atomic_load(&ending->last_until_ms) > now_ms &&
           atomic_load(&ending->until_ms[cor_str_hash(ns) % COR_ENDING_NAMESPACES_TIMES]) > now_ms;
}

#endif
