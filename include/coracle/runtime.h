/* clang-format off */
/* Where the library runs. Clients and informers belong to one runtime, and there are two kinds with
 * the same API:
 *
 * COR_RUNTIME_THREADS: one thread for I/O and timers, and a few that run informers' handlers, each
 * handler on one of them at a time. Handlers take turns of a few milliseconds, or of one call that
 * takes longer. A handler that blocks delays neither the I/O nor the other handlers: while all
 * threads are inside handlers and others wait, threads are added, up to handler_threads_max, and
 * they go again after a second without work. Beyond that many handlers that block at the same time,
 * the others wait for one of them to return.
 *
 * COR_RUNTIME_PUMPED: no threads. The program waits for cor_runtime_fd() in its own loop (epoll,
 * libuv, glib) and calls cor_runtime_pump(), inside which every callback runs. A handler that
 * blocks therefore blocks the pump; but a pump ends after one long call, and between two calls of a
 * slow handler every other handler has its turn, and so do I/O and timers. Host names are looked up
 * by c-ares (libcares.so.2, loaded with the first name) or by a resolver of the program's, because
 * the system's blocks. Of /etc/nsswitch.conf c-ares follows `files` and `dns` only.
 *
 * Where functions may be called. The library calls functions of the program in two places:
 * - *callbacks* (answers of requests, conditions of a watch, elections, reports, transforms, …) run
 *   on the I/O thread, or inside the pump: they must not block;
 * - *handlers* of informers run on threads of their own, where they may block; a pumped runtime has
 *   none, and its handlers are callbacks like the others.
 *
 *   function                                      any other thread   handler on a thread   callback
 *   that does not wait                            yes                yes                   yes
 *   that waits ("waits" in its comment)           yes                yes                   -COR_EINVAL
 *   cor_client_sync_until()                       yes                -COR_EINVAL           -COR_EINVAL
 *   cor_informers_free(), cor_runtime_free()      yes                aborts                aborts
 *   cor_client_free(), cor_election_free(),
 *   cor_events_free()                             yes                yes                   aborts
 *
 * A call that would wait for itself fails at once, as the table says. "aborts" is an assertion,
 * because these functions return no error. On its own thread, between two pumps, a pumped runtime
 * runs its callbacks while a function waits. Where a comment says that a callback is called with
 * locks held, it must not call the informer.
 *
 * Callbacks and handlers are called on the runtime's threads or inside the pump, never inside the
 * call that asked for them; where that is another thread, they may be called before that call has
 * returned. What the call gives back by a pointer (a handle) is written before the first of them.
 * One is different: a handler's on_behind (coracle/handler_fns.h).
 *
 * fork(). A child that was forked after the runtime was made has none of its threads, and shares
 * its descriptors with the parent. In the child, requests and functions that wait fail at once with
 * -COR_EINVAL, and every _free function returns at once and frees nothing; nothing else of the
 * runtime, its clients and informers may be used there. The parent is not affected. Let the child
 * call exec() soon (all descriptors close then), or make a runtime of its own. */
/* clang-format on */
#ifndef CORACLE_RUNTIME_H
#define CORACLE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/clock.h"
#include "coracle/resolve.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_runtime;

#define COR_RUNTIME_HANDLER_THREADS     2
#define COR_RUNTIME_HANDLER_THREADS_MAX 64

enum cor_runtime_kind { COR_RUNTIME_THREADS, COR_RUNTIME_PUMPED };

/* How serious a line of the log is. */
enum cor_severity {
    COR_SEVERITY_DEBUG,   /* a request is tried again */
    COR_SEVERITY_INFO,    /* a watch begins again, another process leads */
    COR_SEVERITY_WARNING, /* a list failed, a handler is slow, the server warns */
    COR_SEVERITY_ERROR,   /* something was lost: an object that was left out, an Event */
};

struct cor_runtime_opts {
    size_t size; /* of this struct: COR_RUNTIME_OPTS sets it (coracle/api.h) */
    enum cor_runtime_kind kind;
    /* Of COR_RUNTIME_THREADS: those that are always there (0: COR_RUNTIME_HANDLER_THREADS), and
     * how many there may be with those that are added while handlers block (0:
     * COR_RUNTIME_HANDLER_THREADS_MAX). */
    unsigned handler_threads, handler_threads_max;
    cor_resolve_fn resolve; /* NULL: the system's, on a thread; of a pumped runtime c-ares */
    void *resolve_arg;
    /* For tests with a runtime of the kind COR_RUNTIME_PUMPED: every timer of the runtime follows
     * this clock, and cor_runtime_pump() runs those that it has reached (coracle/clock.h). The
     * descriptor tells of I/O only, since nobody can wait for a time that the program moves. Must
     * stay valid until the runtime is freed. NULL: the machine's clock. */
    const struct cor_clock *clock;
    /* Receives the log of everything on the runtime, one line of text without its newline at a
     * time: what client-go writes to klog. Lines contain no credentials and no contents of objects;
     * a text of the server's in them has its control characters replaced. Called on the I/O thread
     * or inside the pump, perhaps with locks held: it must not block, and must not call the
     * library. NULL: nothing is logged. A manager's own lines go to its on_log
     * (coracle/controller.h). */
    void (*on_log)(void *arg, enum cor_severity severity, const char *line);
    void *log_arg;
};

#define COR_RUNTIME_OPTS .size = sizeof(struct cor_runtime_opts)

/* `opts` may be NULL. A pumped runtime belongs to the calling thread. 0, -COR_ENOMEM, -COR_EINVAL
 * (handler_threads beyond handler_threads_max, or that beyond its own; a clock with threads),
 * -COR_EIO (no thread or descriptor could be created). */
COR_API int cor_runtime_new(const struct cor_runtime_opts *opts, struct cor_runtime **ret_runtime);

/* Waits until its threads have ended. Everything that was made on it must be freed before, and no
 * other thread may still be in a call of it; a pumped one is freed by its own thread. Not inside a
 * callback or a handler. Returns NULL; NULL is allowed. */
COR_API struct cor_runtime *cor_runtime_free(struct cor_runtime *runtime);

/* Readable when cor_runtime_pump() has something to do, timers included; only to be waited for. The
 * same until the runtime is freed. -COR_ENOTSUP: it has threads. */
COR_API int cor_runtime_fd(const struct cor_runtime *runtime);

/* Runs what is ready and returns without sleeping; harmless when there is nothing. With a clock in
 * the options it goes on until nothing is ready any more, however long that takes. 0, -COR_ENOTSUP
 * (it has threads), -COR_EINVAL (inside a callback, not its own thread, or a forked child). */
COR_API int cor_runtime_pump(struct cor_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif
