/* The work that one request does, counted where it is done. Every walk whose length is the product
 * of two things that clients choose (values and branches of a schema, columns and bytes) charges
 * what it touches, so that a request has a known end, and leaves a loop before it has held it for
 * long (docs/internals/limits.md).
 *
 * A step is what takes about 30 ns: a value that meets a schema, a member that is passed, or 16
 * bytes of a text that is read. After a slice of steps a loop gives the work to a thread: the walk
 * ends with COR_WORK_YIELD, what it has made is thrown away, and a thread makes it from the
 * beginning, with the same budget and without a slice.
 * Owner: the request (a value).  Thread: the one that does the work. */
#ifndef COR_BASE_WORK_H
#define COR_BASE_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

/* Bytes of a text that are read in the time of a step. */
#define COR_WORK_STEP_BYTES 16

/* Not an error, and in no status: the slice is used up, or will be. */
#define COR_WORK_YIELD (-1001)

struct cor_work {
    uint64_t steps; /* so far */
    uint64_t slice; /* the number of steps at which a loop gives up; UINT64_MAX: on a thread */
    uint64_t max;
};

/* The budget of a request. `on_loop`: a thread is there that can go on. */
static inline struct cor_work cor_work_new(bool on_loop)
{
    return (struct cor_work){.slice = on_loop ? COR_WORK_SLICE : UINT64_MAX,
                             .max = COR_WORK_STEPS_MAX};
}

/* 0; COR_WORK_YIELD; or -COR_ETOOBIG, the end of the budget. */
static inline int cor_work_result(const struct cor_work *work)
{
    if (work->steps > work->max)
        return -COR_ETOOBIG;
    return work->steps > work->slice ? COR_WORK_YIELD : 0;
}

static inline int cor_work_charge(struct cor_work *work, uint64_t steps)
{
    work->steps += steps;
    return cor_work_result(work);
}

/* The next step needs more than is left: from now on the budget is used up. Returns the failure. */
static inline int cor_work_use_up(struct cor_work *work)
{
    uint64_t end = work->slice < work->max ? work->slice : work->max;

    if (work->steps <= end)
        work->steps = end + 1;
    return cor_work_result(work);
}

/* Returns whether so many more steps would exceed the slice. Then the work is not begun on this
 * loop. */
static inline bool cor_work_would_yield(const struct cor_work *work, uint64_t steps)
{
    return work->slice != UINT64_MAX && (steps > work->slice || work->steps > work->slice - steps);
}

#endif
