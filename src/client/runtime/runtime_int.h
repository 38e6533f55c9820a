/* The inside of a runtime, for what is made on one. */
#ifndef COR_CLIENT_RUNTIME_INT_H
#define COR_CLIENT_RUNTIME_INT_H

#include <stdatomic.h>

#include "client/runtime/handler_pool.h"
#include "client/runtime/waiter.h"
#include "coracle/runtime.h"
#include "loop/loop.h"
#include "loop/pump.h"
#include "loop/timer.h"
#include "net/net.h"

struct cor_runtime {
    enum cor_runtime_kind kind;
    struct cor_loop *loop;
    const struct cor_clock *clock; /* the loop's; never NULL */
    struct cor_net *net;
    struct cor_pump *pump;         /* COR_RUNTIME_PUMPED */
    struct cor_handler_pool *pool; /* COR_RUNTIME_THREADS, as are: */
    struct cor_mail crowded;       /* the pool wants to be patrolled */
    struct cor_timer patrol;       /* always set, so that it can be moved without memory */
    cor_resolve_fn resolve;
    void *resolve_arg;
    atomic_size_t nusers; /* clients and informers; none is left when it is freed */
};

/* Whoever is made on the runtime says so, and says when its memory is gone. Any thread. */
void cor_runtime_enter(struct cor_runtime *rt);
void cor_runtime_leave(struct cor_runtime *rt);

/* See cor_waiter_wait(). */
int cor_runtime_wait(struct cor_runtime *rt, struct cor_waiter *w, uint64_t timeout_ms);

/* Runs `fn(arg)` on the loop's thread and returns when it has returned: at once when this is that
 * thread, else from a turn. */
void cor_runtime_run(struct cor_runtime *rt, void (*fn)(void *arg), void *arg);

#endif
