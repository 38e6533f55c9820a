/* An API server that is never the limit: it answers a list with REPLAY_OBJECTS config maps and a
 * watch with as many updates of them as it was told, as fast as the client reads, over plain
 * HTTP/1.1 and out of ready bytes. A streamed list is refused, as by a server that has none. Owner:
 * as a target. */
#ifndef COR_BENCH_REPLAY_H
#define COR_BENCH_REPLAY_H

#include <stddef.h>
#include <stdint.h>

struct target;

#define REPLAY_OBJECTS 1000
/* The resourceVersion of the list. The n-th event has this number plus n; all these numbers have
 * the same count of digits, so that the bytes of an event can be written in place. */
#define REPLAY_FIRST_VERSION      UINT64_C(1000000000)
#define REPLAY_FIRST_VERSION_TEXT "1000000000"

/* `events` is a multiple of REPLAY_OBJECTS; `payload` the bytes of data in each object. With a
 * `pause_us` there is that pause before each event, and its data.t is the time at which it was
 * sent, in nanoseconds of the wall clock; 0: as fast as the client reads. */
void replay_start(size_t events, size_t payload, uint64_t pause_us, struct target *ret);

#endif
