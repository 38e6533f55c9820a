/* An API server that is never the limit: it answers a list with REPLAY_OBJECTS config maps and a
 * watch with as many updates of them as it was told, as fast as the client reads, over plain
 * HTTP/1.1 and out of ready bytes. A streamed list is refused, as by a server that has none. Owner:
 * as a target. */
#ifndef COR_BENCH_REPLAY_H
#define COR_BENCH_REPLAY_H

#include <stddef.h>

struct target;

#define REPLAY_OBJECTS 1000

/* `events` is a multiple of REPLAY_OBJECTS; `payload` the bytes of data in each object. */
void replay_start(size_t events, size_t payload, struct target *ret);

#endif
