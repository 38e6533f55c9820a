/* clang-format off */
/* The addresses and node ports of one write of a Service: reserved before the Service is stored,
 * and settled when it is known whether it was.
 *
 *   cor_allocation_new ──► _plan ──► _run: reserves ──► _finish: the object ──► the Service is
 *   validated and stored ──► cor_allocation_settle, which frees it
 *
 * A crash between any two steps leaves at most reservations without a Service, or a Service that
 * gave up what is still reserved: the repair finds both (repair.h).
 * Thread: its loop, except _plan and _finish, which work through all ports of a Service and may run on
 * any thread that has the write.  Owner: the write. */
/* clang-format on */
#ifndef COR_SERVER_ALLOCATION_H
#define COR_SERVER_ALLOCATION_H

#include "server/alloc/alloc.h"

struct cor_allocation;

struct cor_allocation_opts {
    struct cor_alloc *alloc;
    struct cor_api_loop *loop;
    struct cor_object *body;    /* as the client wants it, with all defaults */
    struct cor_object *current; /* what is stored; NULL: the Service is created */
    struct cor_str ns, name;    /* copied */
    bool is_dry_run;            /* numbers are chosen, nothing is reserved */
};

/* 0, -COR_ENOMEM. */
int cor_allocation_new(const struct cor_allocation_opts *opts, struct cor_allocation **ret);

/* Finds out what is to be reserved. Once. 0, or a failure that is in `status` as an error of the
 * API. */
int cor_allocation_plan(struct cor_allocation *allocation, struct cor_status *status);

/* Reserves what was planned. `on_done` follows, now or later: with 0, or with a failure that is in
 * `status` as an error of the API; what was reserved until then is settled with the rest. */
typedef void (*cor_allocation_done)(void *arg, int r);
void cor_allocation_run(struct cor_allocation *allocation, struct cor_status *status,
                        cor_allocation_done on_done, void *arg);

/* Makes the object to be stored, in stored form, with what was reserved. Once. 0, or a failure as
 * above. */
int cor_allocation_finish(struct cor_allocation *allocation, struct cor_status *status,
                          struct cor_object **ret_object);

/* Is it too old to be used? A repair takes reservations without a Service back; a write that takes
 * so long is not stored. */
bool cor_allocation_is_stale(const struct cor_allocation *allocation);

enum cor_allocation_end {
    COR_ALLOCATION_KEEP,    /* the Service was stored: what it gave up is released */
    COR_ALLOCATION_UNDO,    /* it was not: what was reserved is released */
    COR_ALLOCATION_UNKNOWN, /* nobody knows: the repair will see */
};

/* Ends it. `on_settled` follows, now or later; the allocation is freed before. What cannot be
 * released is logged and left to the repair. */
void cor_allocation_settle(struct cor_allocation *allocation, enum cor_allocation_end end,
                           void (*on_settled)(void *arg), void *arg);

/* Frees one that was not settled: for the end of a call whose store did not answer. */
void cor_allocation_abandon(struct cor_allocation *allocation);

/* What a Service that is gone had, and the endpoints of its name: an allocation that is only to be
 * settled (KEEP). 0, -COR_ENOMEM. */
int cor_allocation_of_removed(struct cor_alloc *alloc, struct cor_api_loop *loop,
                              struct cor_object *object, struct cor_allocation **ret);

#endif
