/* clang-format off */
/* Schedules TLS handshakes. A step of a handshake costs a server about a millisecond of its loop,
 * and a client that begins one pays nearly nothing. So the streams of a loop together make at most
 * COR_HANDSHAKE_STEPS steps in a turn, and streams that are open keep the rest of the loop.
 *
 *   readable ──► the turn has steps left and nobody waits ──► read, step
 *       └──────► else: not read; waits in the queue of its source address
 *   end of a turn: the queues are asked in rotation, and the first streams of the next
 *                  COR_HANDSHAKE_STEPS queues are read in the turn that follows
 *
 * One address that floods a server fills one queue, and whoever comes from another address is
 * served in the next turn. What waits stays in the socket; nothing is kept for it here. The user's
 * timeout of the handshake goes on meanwhile. Owner: struct cor_net.  Thread: its loop.  Maximum:
 * the streams of the loop. */
/* clang-format on */
#ifndef COR_NET_STREAM_HANDSHAKES_H
#define COR_NET_STREAM_HANDSHAKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dlist.h"

#define COR_HANDSHAKE_STEPS 4
/* Source addresses are told apart by a keyed hash; those of one hash share a queue. */
#define COR_HANDSHAKE_QUEUES 64

struct cor_net;
struct cor_stream;

struct cor_handshakes {
    struct cor_dlist queues[COR_HANDSHAKE_QUEUES]; /* struct cor_stream: shake_link */
    size_t nwaiting;
    size_t next;   /* the queue that is asked first */
    size_t nsteps; /* of this turn: made, or promised to streams that were called */
    uint64_t key;
};

void cor_handshakes_init(struct cor_handshakes *h);

/* The socket of a stream in its handshake is readable. True: it may be read now, which is a step.
 * False: call cor_handshakes_wait(). */
bool cor_handshakes_may_read(struct cor_stream *s);

/* The stream is not read until it is called. */
void cor_handshakes_wait(struct cor_stream *s);

/* The stream ends or closes; safe on one that does not wait. */
void cor_handshakes_leave(struct cor_stream *s);

/* At the end of each turn: calls those who are read in the next one. */
void cor_handshakes_call(struct cor_net *net);

#endif
