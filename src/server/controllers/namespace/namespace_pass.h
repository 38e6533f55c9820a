/* One pass over a namespace that is being deleted: delete its content, write its conditions, and
 * remove the finalizer `kubernetes` when nothing remains; the server then removes the namespace.
 * The model is upstream's namespaced_resources_deleter. A pass keeps nothing for the next one: it
 * may be stopped after each request, and another pass goes on.
 * Thread: the port's loop, for every function and callback.  Owner: its maker. */
#ifndef COR_SERVER_CONTROLLERS_NAMESPACE_NAMESPACE_PASS_H
#define COR_SERVER_CONTROLLERS_NAMESPACE_NAMESPACE_PASS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/str.h"
#include "kit/api_port.h"
#include "meta/status/status.h"

/* Resources whose objects are deleted at the same time. */
#define COR_NAMESPACE_PARALLEL 16
/* Conflicts of one pass, after which it fails. */
#define COR_NAMESPACE_CONFLICTS_MAX 100

struct cor_namespace_pass;

/* How a pass has ended. Zeroed: nothing remains to be done until the namespace changes. */
struct cor_namespace_pass_result {
    const struct cor_status *error; /* NULL: no failure; borrowed for the callback */
    int64_t remains_s; /* content remains, and is expected to be gone after so many seconds */
};

struct cor_namespace_pass_opts {
    struct cor_api_port *port; /* must stay valid, as must the clock and the name */
    const struct cor_clock *clock;
    struct cor_str name; /* of the namespace */
    /* The end, in a later turn than the start. The pass has been freed before. */
    void (*on_done)(void *arg, const struct cor_namespace_pass_result *result);
    void *arg;
};

/* 0, -COR_ENOMEM. */
int cor_namespace_pass_start(const struct cor_namespace_pass_opts *opts,
                             struct cor_namespace_pass **ret_pass);

/* Cancels its requests and frees it; on_done is not called. What was asked for may still be done.
 */
void cor_namespace_pass_cancel(struct cor_namespace_pass *pass);

#endif
