/* The leader election on a Lease, over an API port: it reads and writes the Lease for the state
 * machine of leader_election.h. It has no timer and no thread of its own; whoever runs it calls
 * cor_lease_election_tick() at the time that `wake_at` names.
 * Thread: the port's loop, for every function and callback.  Owner: its maker. */
#ifndef COR_KIT_LEASE_ELECTION_H
#define COR_KIT_LEASE_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rand.h"
#include "coracle/client_config.h"
#include "kit/api_port.h"
#include "meta/object/object.h"
#include "meta/status/status.h"

struct cor_lease_election;

struct cor_lease_election_opts {
    struct cor_api_port *port;     /* must stay valid, as must the clock and the generator */
    const struct cor_clock *clock; /* NULL: the machine's */
    struct cor_rand *rand;         /* NULL: the kernel's randomness */
    struct cor_str ns, name;       /* of the Lease, which is created when it is missing; copied */
    const struct cor_string_pair *labels; /* that the Lease gets; copied */
    size_t nlabels;                       /* at most COR_LEASE_LABELS_MAX */
    /* As in struct cor_leader_opts. */
    const char *identity;
    uint64_t lease_ms, renew_ms, retry_ms;
    bool release_on_cancel;

    /* Call tick at this time of the clock or later; this replaces the time given before.
     * UINT64_MAX: not at all. */
    void (*wake_at)(void *arg, uint64_t at_ms);
    /* What the readers below return may have changed. Called before the next three. May be NULL. */
    void (*on_observed)(void *arg);
    void (*on_started)(void *arg);
    void (*on_stopped)(void *arg);
    void (*on_new_leader)(void *arg, const char *identity);      /* may be NULL */
    void (*on_error)(void *arg, const struct cor_status *error); /* may be NULL */
    void *arg;
};

/* Nothing is sent yet. 0, -COR_EINVAL (the message names the option), -COR_ENOMEM. */
int cor_lease_election_new(const struct cor_lease_election_opts *opts,
                           struct cor_lease_election **ret_election, struct cor_status *reterr);

/* Before the start, or after on_stopped has returned. Returns NULL. */
struct cor_lease_election *cor_lease_election_free(struct cor_lease_election *e);
COR_DEFINE_CLEANUP(struct cor_lease_election, cor_lease_election_free)

void cor_lease_election_start(struct cor_lease_election *e); /* once */
void cor_lease_election_tick(struct cor_lease_election *e);

/* Ends the election; on_stopped is called when it has ended. A leader with release_on_cancel
 * releases the Lease first, for at most `release_max_ms` (0: the renew deadline). A second call
 * does nothing. */
void cor_lease_election_cancel(struct cor_lease_election *e, uint64_t release_max_ms);

bool cor_lease_election_is_over(const struct cor_lease_election *e);
bool cor_lease_election_is_leader(const struct cor_lease_election *e); /* false once it is over */
bool cor_lease_election_has_led(const struct cor_lease_election *e);
const char *cor_lease_election_holder(const struct cor_lease_election *e);
const char *cor_lease_election_identity(const struct cor_lease_election *e);

/* By the election's clock; UINT64_MAX: this process does not hold the Lease. */
uint64_t cor_lease_election_lapses_at_ms(const struct cor_lease_election *e);

/* The Lease as it was last read or written, borrowed; NULL: it was not seen yet. */
struct cor_object *cor_lease_election_peek(const struct cor_lease_election *e);

#endif
