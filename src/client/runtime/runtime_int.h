/* Internals of a runtime, for what is made on a runtime.
 * Owner: the program.  Thread: any, unless a comment says otherwise. */
#ifndef COR_CLIENT_RUNTIME_INT_H
#define COR_CLIENT_RUNTIME_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "client/runtime/handler_pool.h"
#include "client/runtime/waiter.h"
#include "coracle/runtime.h"
#include "coracle/status.h"
#include "loop/loop.h"
#include "loop/pump.h"
#include "loop/timer.h"
#include "net/stream/net.h"

#define COR_RUNTIME_LOG_MAX 4096 /* with its NUL */

struct cor_runtime {
    enum cor_runtime_kind kind;
    struct cor_loop *loop;
    const struct cor_clock *clock; /* the loop's; never NULL */
    struct cor_net *net;
    struct cor_pump *pump;         /* COR_RUNTIME_PUMPED */
    struct cor_handler_pool *pool; /* COR_RUNTIME_THREADS, as are: */
    struct cor_mail crowded;       /* posted when the pool asks for a patrol */
    struct cor_timer patrol;       /* always set, so that moving it needs no memory */
    cor_resolve_fn resolve;
    void *resolve_arg;
    void (*on_log)(void *arg, enum cor_severity severity, const char *line); /* may be NULL */
    void *log_arg;
    atomic_size_t nusers; /* clients; 0 when the runtime is freed */
    pid_t pid;            /* of the process that made it: a forked child has none of its threads */
};

/* Is this the I/O thread inside a callback, or the pump's thread inside the pump? Any thread. */
bool cor_runtime_is_inside(const struct cor_runtime *rt);

/* Is this a thread of the pool, and so inside a handler? Any thread. */
bool cor_runtime_is_in_handler(const struct cor_runtime *rt);

/* Is this process a child that was forked after the runtime was made? The runtime's threads do not
 * exist here, its locks may be held forever, and its descriptors are shared with the parent. */
bool cor_runtime_is_forked(const struct cor_runtime *rt);

/* 0; or -COR_EINVAL: a call that waits would wait for itself (inside a callback) or forever (in a
 * forked child). */
int cor_runtime_may_wait(const struct cor_runtime *rt, struct cor_status *reterr);

/* Counts what is made on the runtime in, and out again when it has been freed. Any thread. */
void cor_runtime_enter(struct cor_runtime *rt);
void cor_runtime_leave(struct cor_runtime *rt);

/* Writes a line to the program's log, cut to COR_RUNTIME_LOG_MAX bytes; control characters become
 * spaces. On the loop. */
void cor_runtime_log(const struct cor_runtime *rt, enum cor_severity severity, const char *fmt, ...)
    COR_PRINTF(3, 4);

/* See cor_waiter_wait(); -COR_EINVAL in a forked child, too. */
int cor_runtime_wait(struct cor_runtime *rt, struct cor_waiter *w, uint64_t timeout_ms);

/* Calls `fn(arg)` on the loop's thread, and returns when it has returned: at once when this is that
 * thread, else in a turn of the loop. 0; or -COR_EINVAL in a forked child, where nothing is run. */
int cor_runtime_run(struct cor_runtime *rt, void (*fn)(void *arg), void *arg);

/* The same for what can fail: returns what `fn` returned, which fills `reterr`; or -COR_EINVAL with
 * the message of cor_runtime_may_wait(), when nothing was run. */
int cor_runtime_try(struct cor_runtime *rt, int (*fn)(void *arg, struct cor_status *reterr),
                    void *arg, struct cor_status *reterr);

#endif
