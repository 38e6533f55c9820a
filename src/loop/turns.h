/* How long the turns of a loop take, in CPU time of its thread: what a turn keeps others waiting
 * for by its own work, whatever else the machine does. A turn is what happens between two sleeps.
 * Owner: the loop.  Thread: measure before the loop starts; read from any. */
#ifndef COR_LOOP_TURNS_H
#define COR_LOOP_TURNS_H

#include <stddef.h>
#include <stdint.h>

struct cor_loop;

#define COR_LOOP_TURN_BUCKETS 12

/* Upper bounds in microseconds, rising. */
extern const uint64_t cor_loop_turn_buckets[COR_LOOP_TURN_BUCKETS];

struct cor_loop_turns {
    uint64_t counts[COR_LOOP_TURN_BUCKETS + 1]; /* of each bucket, and of what is above the last */
    uint64_t sum_us;
    uint64_t max_us; /* the longest turn since the start */
};

/* Turns are measured from now on: one clock is read in each of them. At most once, right after
 * cor_loop_new(), so that everything else that runs at the end of a turn is in it. */
void cor_loop_measure_turns(struct cor_loop *loop);

/* Zeros when nothing was measured. The numbers are those of different moments when the loop runs
 * meanwhile. */
void cor_loop_get_turns(const struct cor_loop *loop, struct cor_loop_turns *ret_turns);

#endif
