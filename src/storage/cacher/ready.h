/* May a watch cache be read? It is PENDING until its first list is complete, READY from then on,
 * PENDING again after a failure until it has been listed again, and STOPPED in the end. Every entry
 * to READY begins a new generation: a watch belongs to one generation and ends with it.
 * Thread: whoever holds the watch cache's lock.  Owner: its cacher. */
#ifndef COR_STORAGE_CACHER_READY_H
#define COR_STORAGE_CACHER_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "meta/status/status.h"

#define COR_READY_MESSAGE_MAX 256

enum cor_ready_state { COR_CACHE_PENDING, COR_CACHE_READY, COR_CACHE_STOPPED };

struct cor_ready {
    enum cor_ready_state state;
    uint64_t generation;                 /* 0: was never ready */
    uint64_t since_ms;                   /* of the state */
    char message[COR_READY_MESSAGE_MAX]; /* what made it PENDING; "": nothing did */
};

void cor_ready_init(struct cor_ready *ready, uint64_t now_ms);

/* Each is harmless in the state that it leads to, but a message replaces the last one. STOPPED is
 * never left. */
void cor_ready_set(struct cor_ready *ready, uint64_t now_ms);
void cor_ready_fail(struct cor_ready *ready, const char *message, uint64_t now_ms);
void cor_ready_stop(struct cor_ready *ready, uint64_t now_ms);

/* 0, or -COR_EBUSY (429 with retryAfterSeconds) and -COR_EINTERNAL (stopped) in upstream's words.
 */
int cor_ready_check(const struct cor_ready *ready, uint64_t now_ms,
                    struct cor_status *reterr_status);

/* The Retry-After for a client when the cache has been down for so long: 1 to 30 s. */
int64_t cor_ready_retry_after_s(uint64_t downtime_ms);

#endif
