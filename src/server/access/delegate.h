/* clang-format off */
/* The server that decides for this one: it says to whom a token belongs and what a user may do.
 * This is one loop's client of it, made from a kubeconfig: an API port with its credentials, and a
 * circuit.
 *
 *   cor_delegate_send ──► sent ──► an object: on_done(0)
 *                          ▲  │──► 429, 500, 504, Retry-After, a connection that broke: a pause, and again
 *                          └──┘──► anything else, five attempts, the time limit: on_done with the failure
 *
 * The circuit (base/circuit.h): after COR_DELEGATE_FAILURES calls in a row that got no answer, calls
 * fail at once with the last failure's text, for half a second at first and at most for two.
 * Owner: its opener.  Thread: the loop. */
/* clang-format on */
#ifndef COR_SERVER_DELEGATE_H
#define COR_SERVER_DELEGATE_H

#include <stdint.h>

#include "base/backoff.h"
#include "base/circuit.h"
#include "kit/api_port.h"
#include "kit/config/client_config.h"
#include "loop/timer.h"
#include "meta/status/status.h"

struct cor_delegate;
struct cor_net;

#define COR_DELEGATE_CALLS_MAX   256 /* at once, on one loop */
#define COR_DELEGATE_ANSWER_MAX  (1u << 20)
#define COR_DELEGATE_TIMEOUT_MS  10000 /* of one attempt: upstream's for delegates */
#define COR_DELEGATE_FAILURES    5
#define COR_DELEGATE_OPEN_MS     500
#define COR_DELEGATE_OPEN_MAX_MS 2000

/* What the kubeconfig at `path` says. `flag` names it in messages. Settings that do not suit a
 * server are refused: credential plugins and impersonation. 0, -COR_ENOTFOUND, -COR_EINVAL,
 * -COR_EIO, -COR_ENOMEM. */
int cor_delegate_config_load(const char *path, const char *flag,
                             struct cor_client_config *ret_config,
                             struct cor_status *reterr_status);

/* `config` is copied. Nothing is connected yet. Errors as of cor_rest_client_open(). */
int cor_delegate_open(struct cor_net *net, const struct cor_client_config *config,
                      struct cor_delegate **ret_delegate, struct cor_status *reterr_status);
/* All calls, and what was sent on the port, have ended or were cancelled. `on_closed` comes from a
 * later turn. */
void cor_delegate_close(struct cor_delegate *d, void (*on_closed)(void *arg), void *arg);

/* A call: embedded and zeroed; `on_done` and `req.at`, whose strings must stay, are set by its
 * user. */
struct cor_delegate_call {
    /* 0: `answer` is the object that came. A failure: `text` says why; both are borrowed. The call
     * is over; its user may free it. Never before the starting call has returned. */
    void (*on_done)(struct cor_delegate_call *call, int r, struct cor_object *answer,
                    const char *text);
    struct cor_api_request req;

    /* Of delegate.c. */
    struct cor_delegate *delegate; /* NULL: not under way */
    struct cor_object *question;   /* may hold a token; NULL: a get */
    struct cor_timer timer;        /* the next attempt */
    struct cor_backoff backoff;
    struct cor_circuit_pass pass;
    uint64_t until_ms; /* no attempt after this */
};

/* Creates the object that `question` is, in JSON; an empty one: gets the object. Five attempts at
 * most, none of which begins after `limit_ms` and each of which ends then. 0, -COR_EBUSY (too many
 * calls), -COR_EUNREACHABLE (the circuit is open, cor_delegate_why() says why), -COR_ENOMEM,
 * -COR_EINVAL (no object); other failures come with on_done. */
int cor_delegate_send(struct cor_delegate *d, struct cor_delegate_call *call,
                      struct cor_str question, uint64_t limit_ms);

/* The text of the last failure. */
const char *cor_delegate_why(const struct cor_delegate *d);

/* No on_done after this. Harmless when the call is not under way. */
void cor_delegate_call_cancel(struct cor_delegate_call *call);

/* For requests of another form, such as a watch; they pass the circuit by. */
struct cor_api_port *cor_delegate_port(struct cor_delegate *d);

#endif
