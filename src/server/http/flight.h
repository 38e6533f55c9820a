/* The places for requests that run at the same time. Their number is limited, and one user may have
 * half of them: a user who has filled one half is refused, and the others go on. Users are
 * distinguished by a hash of their names, as by upstream's shuffle sharding; two users with the
 * same hash share one half. system:masters is never refused.
 * Owner: the server; one for requests that read and one for those that write.  Thread: any
 * (atomics). */
#ifndef COR_SERVER_FLIGHT_H
#define COR_SERVER_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/access/user.h"

#define COR_FLIGHT_BUCKETS 256

struct cor_flight {
    uint64_t max;             /* 0: no limit, nothing is counted */
    _Atomic uint64_t nplaces; /* taken */
    _Atomic uint32_t users[COR_FLIGHT_BUCKETS];
};

/* What a request has taken. Zeroed: none. */
struct cor_flight_place {
    struct cor_flight *flight;
    unsigned bucket;
};

void cor_flight_init(struct cor_flight *flight, uint64_t max);

/* Is there a place for `user`? Nothing is taken. */
bool cor_flight_has_place(const struct cor_flight *flight, const struct cor_user *user);

/* Takes a place. False: there is none for this user. A user of system:masters for whom there is
 * none is accepted all the same, and takes no place. */
bool cor_flight_enter(struct cor_flight *flight, const struct cor_user *user,
                      struct cor_flight_place *ret_place);

/* Gives the place back; safe on a zeroed place. */
void cor_flight_leave(struct cor_flight_place *place);

#endif
