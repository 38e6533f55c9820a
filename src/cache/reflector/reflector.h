/* Keeps a store equal to a collection that can be listed and watched: client-go's Reflector as a
 * state machine without I/O. A driver does the requests and the timer; see
 * cache/reflector/reflector_ops.h. resourceVersions are opaque strings: never parsed, never
 * compared.
 *
 * Inputs (all functions that take `now_ms`) run to completion: store and report callbacks come
 * first, as the work is done, then the driver's. From inside a callback only cor_reflector_stop(),
 * cor_reflector_last_sync_rv() and cor_reflector_state() may be called; stop then takes effect when
 * the input under way returns. Time is monotonic: it never decreases between inputs.
 * docs/internals/reflector.md has the states and every difference from upstream.
 *
 * Thread: one at a time.  Owner: the cacher or informer that made it. */
#ifndef COR_CACHE_REFLECTOR_H
#define COR_CACHE_REFLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/rand.h"
#include "base/str.h"
#include "cache/reflector/reflector_event.h"
#include "cache/reflector/reflector_ops.h"
#include "coracle/reflector_report.h"
#include "coracle/reflector_stats.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

struct cor_reflector;

/* Longer resourceVersions are not understood. */
#define COR_REFLECTOR_RV_MAX 127

struct cor_reflector_opts {
    struct cor_str name;             /* for messages; copied. Empty: the type's description */
    struct cor_str type_description; /* for messages; empty: `expected` or "<unspecified>" */
    struct cor_gvk expected;         /* events of another type are skipped; no kind: none are */
    bool learns_expected;          /* without a kind: expect the type of all objects of the list */
    size_t objects_max;            /* a longer list fails; 0: 16 Mi */
    int64_t page_size;             /* 0: 500 where paging helps, as upstream decides */
    uint64_t resync_ms;            /* 0: never */
    uint64_t watch_timeout_min_ms; /* values below five minutes are ignored */
    uint64_t watch_silence_ms;     /* a watch that is silent for longer, from its request on,
                                      is replaced by a new one; 0: the driver looks after that */
    uint64_t internal_retry_ms;    /* for how long a watch that fails with 500 is repeated without
                                      a list; 0: not at all */
    uint64_t round_delay_ms;       /* between rounds; 0: the backoff of 0.8 s to 30 s */
    bool stream_initial;           /* try the streaming initial list */
    struct cor_rand *rand;         /* must stay valid */

    /* Each may be NULL. A status is borrowed for the call. */
    bool (*should_resync)(void *arg);
    void *resync_arg; /* of should_resync */
    /* What client-go gives to its watch error handler: a list failed, the store refused the list,
     * or a watch could not be opened. Not called after stop. */
    void (*on_watch_error)(void *arg, const struct cor_status *error);
    /* A list-and-watch is over, and another follows after a pause; the store may now fall behind.
     * `error` is the one that on_watch_error was called with; NULL: an open watch went wrong. Not
     * called after stop. */
    void (*on_round_end)(void *arg, const struct cor_status *error);
    void (*on_report)(void *arg, enum cor_reflector_report what, const struct cor_status *status);
    void *arg; /* of these three */
};

/* `driver` and `store` must stay valid. 0 or -COR_ENOMEM. */
int cor_reflector_new(const struct cor_reflector_opts *opts, struct cor_reflector_driver *driver,
                      struct cor_reflector_store *store, struct cor_reflector **ret_reflector);

/* Not while it runs: stop it first, and not from inside a callback. NULL is fine. Returns NULL. */
struct cor_reflector *cor_reflector_free(struct cor_reflector *reflector);
COR_DEFINE_CLEANUP(struct cor_reflector, cor_reflector_free)

/* Sets the period of resyncs, instead of the options'. Before start only. */
void cor_reflector_set_resync(struct cor_reflector *reflector, uint64_t resync_ms);

/* Begins the first round. Called once. After a stop it does nothing. */
void cor_reflector_start(struct cor_reflector *reflector, uint64_t now_ms);

/* Answers to driver->list. */
void cor_reflector_list_page(struct cor_reflector *reflector, uint64_t now_ms,
                             const struct cor_list_page *page);
void cor_reflector_list_failed(struct cor_reflector *reflector, uint64_t now_ms,
                               const struct cor_status *status);

/* Answers to driver->watch. A COR_WATCH_ERROR event is the last of its stream: the reflector
 * cancels it. watch_ended takes what failed, or NULL for the plain end of the stream; a connection
 * that broke within a stream is a plain end, as client-go's. */
void cor_reflector_watch_opened(struct cor_reflector *reflector, uint64_t now_ms);
void cor_reflector_watch_event(struct cor_reflector *reflector, uint64_t now_ms,
                               const struct cor_reflector_event *event);
void cor_reflector_watch_ended(struct cor_reflector *reflector, uint64_t now_ms,
                               const struct cor_status *status);

/* The time that wake_at was called with has come. A call before that time is harmless: wake_at is
 * called again. */
void cor_reflector_tick(struct cor_reflector *reflector, uint64_t now_ms);

/* Stops the reflector: the request under way is cancelled, a replace under way is aborted, and the
 * wake-up is cancelled. No callback is called afterwards. Calling this again does nothing. */
void cor_reflector_stop(struct cor_reflector *reflector, uint64_t now_ms);

/* "" before the first list; borrowed until the next input. */
struct cor_str cor_reflector_last_sync_rv(const struct cor_reflector *reflector);

/* Copies the sums since the reflector was made; `backlog` is 0. */
void cor_reflector_stats(const struct cor_reflector *reflector, struct cor_reflector_stats *ret);

enum cor_reflector_state {
    COR_REFLECTOR_IDLE,           /* not started */
    COR_REFLECTOR_LISTING,        /* a list request is under way */
    COR_REFLECTOR_STREAM_OPENING, /* a streamed list was asked for */
    COR_REFLECTOR_STREAMING,      /* its initial events come in */
    COR_REFLECTOR_STREAM_PAUSE,   /* before the next try of a streamed list */
    COR_REFLECTOR_WATCH_OPENING,
    COR_REFLECTOR_WATCHING,
    COR_REFLECTOR_WATCH_PAUSE, /* before the next watch, without a list */
    COR_REFLECTOR_ROUND_PAUSE, /* before the next round */
    COR_REFLECTOR_STOPPED,
};

enum cor_reflector_state cor_reflector_state(const struct cor_reflector *reflector);

#endif
