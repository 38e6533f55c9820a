/* How long a thread's turns take: what a loop does between two sleeps, or a thread of the engine
 * between two waits. Each turn counts twice: in CPU time of its thread, what it keeps others
 * waiting for by its own work, whatever else the machine does; and in wall time, where it also
 * waits for a lock, a page or the disk, or for a processor. Owner: the loop, the engine.  Thread:
 * measure before the loop starts; begin and end on the thread that is measured; read from any. */
#ifndef COR_LOOP_TURNS_H
#define COR_LOOP_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cor_loop;

#define COR_LOOP_TURN_BUCKETS 12

/* Upper bounds in microseconds, rising. */
extern const uint64_t cor_loop_turn_buckets[COR_LOOP_TURN_BUCKETS];

struct cor_turn_figures {
    uint64_t counts[COR_LOOP_TURN_BUCKETS + 1]; /* of each bucket, and of what is above the last */
    uint64_t sum_us;
    uint64_t max_us; /* the longest turn since the start */
};

struct cor_loop_turns {
    struct cor_turn_figures cpu, wall;
};

/* One writer. Zeroed: nothing was measured. */
struct cor_turn_meter {
    struct cor_turn_series {
        _Atomic uint64_t counts[COR_LOOP_TURN_BUCKETS + 1], sum_us, max_us;
    } cpu, wall;
    uint64_t cpu_us, wall_us; /* what the clocks showed when the turn began */
};

/* A turn begins and ends: two clocks are read at each. */
void cor_turn_meter_begin(struct cor_turn_meter *meter);
void cor_turn_meter_end(struct cor_turn_meter *meter);
/* The figures are those of different moments when the thread runs meanwhile. */
void cor_turn_meter_get(const struct cor_turn_meter *meter, struct cor_loop_turns *ret_turns);

/* Turns of the loop are measured from now on. The wall time is that of the loop's clock, in
 * milliseconds. At most once, right after cor_loop_new(), so that everything else that runs at the
 * end of a turn is in it. */
void cor_loop_measure_turns(struct cor_loop *loop);

/* What its turns are counted in, for as long as the loop is there. */
const struct cor_turn_meter *cor_loop_turn_meter(const struct cor_loop *loop);

/* What one kind of work may take of each turn of a loop. Its pieces are short; but many clients, or
 * one with many connections, bring many of them at once. Zeroed: nothing was done yet.
 * Thread: the loop's. */
struct cor_turn_share {
    uint64_t turn; /* to which the rest belongs */
    uint64_t since_us;
    uint64_t crowded;   /* the last turn in which time was up; 0: none */
    uint64_t looked_us; /* when the clock was read last */
    size_t n;           /* pieces that were allowed */
    size_t group, left; /* pieces for which the clock is read once; what is left of them */
    bool counts_first;  /* the first piece may be long: the time begins with it, not after it */
    bool are_alike;     /* a piece takes about as long as the one before it: while they are short,
                         * the clock is read for a few at once, as it would be a tenth of them */
};

/* May one more piece of work begin in this turn? The first one always, and those that come within
 * `max_us` after it. `has_waited`: it was told before to wait for the next turn; while some wait,
 * no others begin, so that those who wait are asked for in their order. A loop whose turns are not
 * measured has time for everything. */
bool cor_turn_share_take(struct cor_turn_share *share, const struct cor_loop *loop, uint64_t max_us,
                         bool has_waited);

/* Zeros when nothing was measured. */
void cor_loop_get_turns(const struct cor_loop *loop, struct cor_loop_turns *ret_turns);

#endif
