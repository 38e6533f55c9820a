/* Internals of a client, for what is made on a client.
 * Owner: the program.  Thread: as each member and function says. */
#ifndef COR_CLIENT_CLIENT_INT_H
#define COR_CLIENT_CLIENT_INT_H

#include <stdatomic.h>

#include "base/dlist.h"
#include "client/runtime/runtime_int.h"
#include "coracle/client.h"
#include "kit/dynamic/api_port_http.h"
#include "kit/rest/rest_client.h"

struct cor_client {
    struct cor_runtime *runtime;
    struct cor_rest_client *rest; /* the loop's */
    struct cor_http_port port;    /* over `rest`, for what the kit has; the loop's */
    uint64_t timeout_ms;
    void (*on_warning)(void *arg, struct cor_str text); /* the program's; may be NULL */
    void *warning_arg;
    struct cor_discovery *discovery; /* NULL until it is first used; the loop's */
    struct cor_dlist under_way;      /* calls and the like (client_work.h); the loop's */
    atomic_size_t ncalls;   /* of these, of searches, and of calls that have not reached the loop */
    atomic_bool is_stopped; /* no call is taken any more */
    atomic_size_t nusers;   /* informers, elections and events; 0 when the client is freed */
    struct cor_mail stop;
    atomic_bool stop_is_posted;
    /* The loop's: */
    struct cor_dlist hooks; /* what is to hear of cor_client_stop() */
    uint64_t end_ms;        /* how long the end may take */
    uint64_t end_at_ms;     /* by the loop's clock, once the client was stopped; else 0 */
};

/* Called on the loop when the client is stopped, once. Owner: whoever embeds the hook. */
struct cor_client_hook {
    struct cor_dlist link;
    void (*on_stop)(struct cor_client_hook *hook);
};

/* On the loop. 0, or -COR_ECANCELED (the client was stopped already, and nothing is added). */
int cor_client_hook_add(struct cor_client *client, struct cor_client_hook *hook);
/* On the loop; also for a zeroed hook that was not added. */
void cor_client_hook_remove(struct cor_client_hook *hook);

/* On the loop: how long something that ends now may take, at least 1 ms. */
uint64_t cor_client_end_left_ms(const struct cor_client *client);

/* Before a call begins, on any thread: the client is there until it has been left. 0, -COR_EBUSY
 * (too many), -COR_ECANCELED (the client was stopped, or is being freed), -COR_EINVAL (this process
 * was forked). */
int cor_client_enter(struct cor_client *client);
void cor_client_leave(struct cor_client *client);

/* Copies a program's request, of whatever size it was compiled with. 0, -COR_EINVAL, -COR_ENOTSUP
 * (coracle/api.h). */
int cor_client_copy_request(struct cor_request *to, const struct cor_request *from,
                            struct cor_status *reterr);

/* Sends a request and waits for `done`, which the request's on_done sets. 0, or as
 * cor_runtime_may_wait() and cor_client_send(): then nothing is called. */
int cor_client_send_and_wait(struct cor_client *client, const struct cor_request *req,
                             const struct cor_request_cbs *cbs, void *arg, struct cor_waiter *done,
                             struct cor_status *reterr);

/* Enters the client, initialises `done`, runs `begin(arg)` on the loop, and waits for `done`.
 * Whoever sets `done`, on the loop, leaves the client just before. 0, -COR_EINVAL (inside a
 * callback of the runtime), or as cor_client_enter(): then nothing is run. */
int cor_client_wait_for(struct cor_client *client, void (*begin)(void *arg), void *arg,
                        struct cor_waiter *done, struct cor_status *reterr);

/* When the calls that this thread makes end at the latest, by the runtime's clock; it is set while
 * a reconcile runs on the thread. UINT64_MAX: never. */
extern _Thread_local uint64_t cor_client_thread_deadline_ms;

/* The timeout of a call that this thread begins: `timeout_ms` if it is set, else the client's; with
 * a deadline of the thread's, at most until then, and at least 1 ms. 0: none. */
uint64_t cor_client_timeout_ms(const struct cor_client *client, uint64_t timeout_ms);

/* The same for a call that blocks this thread and does not have the client's timeout, such as a
 * watch: `timeout_ms` (0: none), with a deadline of the thread's at most until then. */
uint64_t cor_client_wait_ms(const struct cor_client *client, uint64_t timeout_ms);

/* Blocks the calling thread for `ms`. 0; -COR_ECANCELED when `cancel` (may be NULL) is triggered or
 * the client ends meanwhile; -COR_ENOMEM; or as cor_client_wait_for(). */
int cor_client_pause(struct cor_client *client, uint64_t ms, struct cor_cancel *cancel,
                     struct cor_status *reterr);

#define COR_CLIENT_STOPPED  "the client was stopped"
#define COR_CLIENT_CANCELED "the request was canceled"

/* Fills the status of work that is given up: `text`, and the failure that it was to be tried again
 * after ("": none). Returns `r`. */
int cor_client_give_up(struct cor_status *st, int r, const char *text, const char *failure);

#endif
