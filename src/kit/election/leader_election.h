/* Which of several processes may act: client-go's leader election as a state machine without I/O. A
 * driver does the requests on the lock (a Lease) and the timer. Behaviour: client-go's.
 *
 * There is no fencing: after a pause of the process there may briefly be two leaders. Times of
 * other machines are never compared with this one's: a lock is held until it has not changed for
 * its own duration, on this clock.
 * Thread: one at a time; from inside a callback only cancel and the readers may be called.
 * Owner: whoever made it. */
#ifndef COR_KIT_LEADER_ELECTION_H
#define COR_KIT_LEADER_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/rand.h"
#include "meta/status/status.h"

#define COR_LEADER_IDENTITY_MAX 1023
#define COR_LEADER_VERSION_MAX  127

/* The record of an election, as it is in the spec of a Lease. */
struct cor_leader_record {
    char holder[COR_LEADER_IDENTITY_MAX + 1]; /* "": nobody */
    int32_t duration_s;
    int64_t acquire_us, renew_us; /* Unix time; 0: absent */
    int32_t transitions;
};

struct cor_leader_driver {
    const struct cor_leader_driver_ops *ops;
};

/* At most one request is under way. None of these may bring the answer before it returns. */
struct cor_leader_driver_ops {
    /* Answered by cor_leader_got(). */
    void (*get)(struct cor_leader_driver *driver);
    /* Answered by cor_leader_written(). `version` is the resourceVersion that the update expects.
     */
    void (*create)(struct cor_leader_driver *driver, const struct cor_leader_record *record);
    void (*update)(struct cor_leader_driver *driver, const struct cor_leader_record *record,
                   const char *version);
    /* The answer to the request under way must not be brought any more. */
    void (*cancel)(struct cor_leader_driver *driver);
    /* Call tick at this time or later; this replaces the time given before. UINT64_MAX: not at all.
     */
    void (*wake_at)(struct cor_leader_driver *driver, uint64_t at_ms);
};

struct cor_leader_opts {
    const char *identity; /* not empty, at most COR_LEADER_IDENTITY_MAX; copied */
    uint64_t lease_ms;    /* 0: 15 s; whole seconds are written */
    uint64_t renew_ms;    /* 0: 10 s; less than the lease */
    uint64_t retry_ms;    /* 0: 2 s; renew is more than 1.2 times as long */
    bool release_on_cancel;
    struct cor_rand *rand; /* must stay valid */

    /* Each may be NULL, except for the first two. */
    void (*on_started)(void *arg); /* this process leads now; must return soon */
    void (*on_stopped)(void *arg); /* the election is over, also when it never led */
    void (*on_new_leader)(void *arg, const char *identity); /* also itself */
    void *arg;
};

struct cor_leader;

/* 0, -COR_ENOMEM, -COR_EINVAL (the message names the option and what it must be). */
int cor_leader_new(const struct cor_leader_opts *opts, struct cor_leader_driver *driver,
                   struct cor_leader **ret_leader, struct cor_status *reterr);

/* Not while it runs, nor from inside a callback. Returns NULL. */
struct cor_leader *cor_leader_free(struct cor_leader *l);
COR_DEFINE_CLEANUP(struct cor_leader, cor_leader_free)

/* Starts the election; once. `wall_us` is Unix time, which is written to the lock and never
 * compared.
 */
void cor_leader_start(struct cor_leader *l, uint64_t now_ms, int64_t wall_us);

/* The answer to get: 0 with the record and its version, -COR_ENOTFOUND, or another error. */
void cor_leader_got(struct cor_leader *l, uint64_t now_ms, int64_t wall_us, int r,
                    const struct cor_leader_record *record, const char *version);

/* The answer to create or update: 0 with the new version, or an error. */
void cor_leader_written(struct cor_leader *l, uint64_t now_ms, int64_t wall_us, int r,
                        const char *version);

void cor_leader_tick(struct cor_leader *l, uint64_t now_ms, int64_t wall_us);

/* Ends the election. A leader that releases on cancel releases the lock first, which may take
 * `release_max_ms` (0: the renew deadline). on_stopped is called when all of it is done. Work that
 * the lock guards must have ended before this call. A second call does nothing. */
void cor_leader_cancel(struct cor_leader *l, uint64_t now_ms, int64_t wall_us,
                       uint64_t release_max_ms);

const char *cor_leader_identity(const struct cor_leader *l); /* its own */

/* By the record that was last seen. */
bool cor_leader_is_leader(const struct cor_leader *l);
const char *cor_leader_holder(const struct cor_leader *l); /* "" when nobody, or not known yet */
bool cor_leader_is_over(const struct cor_leader *l);

/* When the lease that this process holds lapses unless it is renewed; UINT64_MAX when this process
 * holds none. */
uint64_t cor_leader_lapses_at_ms(const struct cor_leader *l);

/* For a health check: this process holds the lock, but could not renew it for the lease and
 * `tolerance_ms` more. */
bool cor_leader_is_stale(const struct cor_leader *l, uint64_t now_ms, uint64_t tolerance_ms);

#endif
