/* clang-format off */
/* The server that decides for this one: it says whose a token is and what a user may do. One loop's
 * client of it, made from a kubeconfig.
 *
 *   cor_delegate_send ──► sent ──► 2xx: on_done(0)
 *                          ▲  │──► 429, 500, 504, Retry-After, a connection that broke: a pause, and again
 *                          └──┘──► anything else, five attempts, the time limit: on_done with the failure
 *
 * The circuit (base/circuit.h): after COR_DELEGATE_FAILURES calls in a row that got no answer, calls
 * fail at once with the last failure's text, for half a second at first and at most for two.
 * Owner: its opener.  Thread: the loop. */
/* clang-format on */
#ifndef COR_SERVER_DELEGATE_H
#define COR_SERVER_DELEGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/buf.h"
#include "base/circuit.h"
#include "base/cleanup.h"
#include "base/dlist.h"
#include "loop/timer.h"
#include "meta/status/status.h"

struct cor_delegate;
struct cor_delegate_config;
struct cor_http_call;
struct cor_net;

#define COR_DELEGATE_CALLS_MAX   256 /* at once, on one loop */
#define COR_DELEGATE_ANSWER_MAX  (1u << 20)
#define COR_DELEGATE_TIMEOUT_MS  10000 /* of one attempt: upstream's for delegates */
#define COR_DELEGATE_FAILURES    5
#define COR_DELEGATE_OPEN_MS     500
#define COR_DELEGATE_OPEN_MAX_MS 2000

/* What the kubeconfig at `path` says; immutable, shared by all loops, which it outlives. `flag`
 * names it in messages. What this client cannot do is refused: credential plugins and
 * impersonation. 0, -COR_ENOTFOUND, -COR_EINVAL, -COR_EIO, -COR_ENOMEM. */
int cor_delegate_config_load(const char *path, const char *flag,
                             struct cor_delegate_config **ret_config,
                             struct cor_status *reterr_status);
struct cor_delegate_config *cor_delegate_config_free(struct cor_delegate_config *config);
COR_DEFINE_CLEANUP(struct cor_delegate_config, cor_delegate_config_free)

/* Nothing is connected yet. 0, -COR_EINVAL (certificate or key), -COR_EIO, -COR_ENOMEM. */
int cor_delegate_open(struct cor_net *net, const struct cor_delegate_config *config,
                      struct cor_delegate **ret_delegate);
/* All calls have ended or were cancelled. `on_closed` comes from a later turn. */
void cor_delegate_close(struct cor_delegate *d, void (*on_closed)(void *arg), void *arg);

/* A call: embedded and zeroed; `on_done` is set by its user. */
struct cor_delegate_call {
    /* 0: `answer` has the body of a 2xx answer. A failure: `text` is one line, borrowed. The call
     * is over; its user may free it. Never before the starting call has returned. */
    void (*on_done)(struct cor_delegate_call *call, int r, const char *text);
    struct cor_buf answer; /* valid during on_done */

    /* Of delegate.c. */
    struct cor_delegate *delegate; /* NULL: not under way */
    struct cor_http_call *http;
    struct cor_timer timer; /* the next attempt */
    struct cor_backoff backoff;
    struct cor_buf target, body; /* as sent */
    bool is_post;
    struct cor_circuit_pass pass;
    int status;              /* of the answer; 0: none yet */
    uint64_t retry_after_ms; /* 0: the answer does not say */
    bool says_retry;         /* the answer has Retry-After */
    uint64_t until_ms;       /* no attempt after this */
};

/* Sends `body` (JSON) by POST to `path`; an empty one: a GET. Five attempts at most, none of which
 * begins after `limit_ms` and each of which ends then. 0, -COR_EBUSY (too many calls),
 * -COR_EUNREACHABLE (the circuit is open, cor_delegate_why() says why), -COR_ETOOBIG, -COR_ENOMEM.
 */
int cor_delegate_send(struct cor_delegate *d, struct cor_delegate_call *call, const char *path,
                      struct cor_str body, uint64_t limit_ms);

/* The text of the last failure, one line. */
const char *cor_delegate_why(const struct cor_delegate *d);

/* No on_done after this. Harmless when the call is not under way. */
void cor_delegate_call_cancel(struct cor_delegate_call *call);

struct cor_loop *cor_delegate_loop(const struct cor_delegate *d);

/* For a request of another form, such as a watch: the client, the prefix of all paths, and the
 * value of the Authorization header (empty: there is none), which is borrowed until the next turn.
 */
struct cor_http_client *cor_delegate_client(struct cor_delegate *d);
const char *cor_delegate_prefix(const struct cor_delegate *d);
struct cor_str cor_delegate_authorization(struct cor_delegate *d);

#endif
