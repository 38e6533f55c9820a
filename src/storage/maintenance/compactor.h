/* Trims the engine's history: every interval, up to the revision that was current one interval
 * before, so that a reader has between one and two intervals to go on from what it saw.
 *
 * Servers on one engine agree through the key `compact_rev_key`: who changes it compacts, the
 * others wait for the next interval. The key also tells all servers what was compacted. Thread: the
 * loop's, unless a function says otherwise.  Owner: whoever opened it. */
#ifndef COR_STORAGE_COMPACTOR_H
#define COR_STORAGE_COMPACTOR_H

#include <stdint.h>

#include "meta/status/revision.h"

#define COR_COMPACTOR_INTERVAL_MS_DEFAULT (5u * 60 * 1000)

struct cor_compactor;
struct cor_engine;
struct cor_loop;

struct cor_compactor_opts {
    struct cor_engine *engine;
    struct cor_loop *loop;
    uint64_t interval_ms; /* 0: compacts nothing, and only learns what others compacted */
};

/* 0, or -COR_ENOMEM. */
int cor_compactor_open(const struct cor_compactor_opts *opts, struct cor_compactor **ret_compactor);

/* The highest revision known to be compacted; 0: none. From any thread. */
cor_rev cor_compactor_revision(const struct cor_compactor *compactor);

/* `on_closed` (NULL: not wanted) follows on the loop; the compactor is gone after it. */
void cor_compactor_close(struct cor_compactor *compactor, void (*on_closed)(void *arg), void *arg);

#endif
