/* The client's own limit of requests per second: a request without a token waits in line. Contract
 * client 4.7.1, 4.9.1, 4.9.2.
 * Owner: the REST client.  Thread: the loop's. */
#ifndef COR_KIT_REST_THROTTLE_H
#define COR_KIT_REST_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/token_bucket.h"
#include "loop/timer.h"

struct cor_rest_throttle {
    struct cor_token_bucket bucket;
    bool is_off;
    struct cor_dlist waiting; /* in the order of arrival; bounded by the client's requests */
    size_t nwaiting;
    struct cor_timer timer; /* the next token; always set, so that moving it cannot fail */
};

/* A place in the line, embedded by the request that waits. */
struct cor_rest_turn {
    struct cor_dlist link;
    void (*on_turn)(struct cor_rest_turn *turn);
};

/* `qps` 0 or below: no limit. `burst` 0: 10. 0 or -COR_ENOMEM. */
int cor_rest_throttle_init(struct cor_rest_throttle *t, struct cor_loop *loop, double qps,
                           uint32_t burst);
/* No request may wait. Safe on a zeroed struct. */
void cor_rest_throttle_deinit(struct cor_rest_throttle *t);

/* True: continue now. False: on_turn is called in a later turn of the loop. */
bool cor_rest_throttle_enter(struct cor_rest_throttle *t, struct cor_rest_turn *turn);

/* Would a request that enters now get its token within so many ms? */
bool cor_rest_throttle_has_turn(const struct cor_rest_throttle *t, uint64_t within_ms);

/* Leaves the line. Nothing happens when the turn, whose link is initialised, is in no line. */
void cor_rest_throttle_leave(struct cor_rest_throttle *t, struct cor_rest_turn *turn);

#endif
