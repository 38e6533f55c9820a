/* What a benchmark measures with: clocks, percentiles, and the table it prints.
 * Thread: one at a time. */
#ifndef COR_BENCH_MEASURE_H
#define COR_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t measure_now_ns(void);

/* User and system time of the whole process. */
uint64_t measure_cpu_ns(void);

/* Bytes that the C library has handed out and not got back. */
uint64_t measure_heap_bytes(void);

/* Sorts `v`. 0 when n is 0. */
uint64_t measure_percentile(uint64_t *v, size_t n, double p);

/* One row of the table. A NAN prints as nothing. `bar` is what `value` (or, with `bar_on_ratio`,
 * value / peer) must reach: at least it when `more_is_better`, else at most. */
struct measure_row {
    const char *what, *unit;
    double value, peer, bar;
    bool bar_on_ratio, more_is_better;
};

void measure_header(void);

/* Prints at once; true when a bar was missed. */
bool measure_row(const struct measure_row *row);

#endif
