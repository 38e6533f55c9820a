/* A request of the server to itself: a path and a body go to a verb (server/api/api.h), and the
 * answer comes back as objects, without HTTP and without copying their bytes.
 *
 * The sender acts as a service account of kube-system in group system:masters, or as the server
 * itself. The request passes everything that a request over HTTP passes after the filters:
 * defaults, validation, strategies, allocation.
 *
 * Each is made for a request of the API port, its origin, whose callbacks get the answer. After it
 * was opened, the origin's on_done is called exactly once, in a later turn and as the last
 * callback, unless the request is cancelled.
 *
 * Thread: the loop of the API's part that the caller sends to, for every function and callback.
 * Owner: the sender's struct is embedded; a request owns itself. */
#ifndef COR_SERVER_INNER_REQUEST_H
#define COR_SERVER_INNER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/str.h"
#include "http/request.h"
#include "kit/api_port.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "server/access/user.h"

#define COR_INNER_TARGET_MAX (64u * 1024)
/* Requests of a sender at a time, unless it sets another maximum. */
#define COR_INNER_REQUESTS_MAX 256
/* Objects of a request that wait for its callbacks; the verb waits when there are so many, or when
 * they have so many bytes. */
#define COR_INNER_WAITING_MAX   64
#define COR_INNER_WAITING_BYTES (4u << 20)
#define COR_INNER_NAME_MAX      128

struct cor_api_loop;
struct cor_loop;
struct cor_inner_request;

/* Who sends requests. */
struct cor_inner_sender {
    struct cor_api_loop *api;
    char name[COR_INNER_NAME_MAX];
    struct cor_user user;
    struct cor_str user_agent;
    /* Aggregated servers may be asked: the sender is a controller, not the server itself, which
     * needs what it asks for to find such servers. */
    bool reaches_remote;
    struct cor_dlist requests; /* until they are freed */
    size_t nrequests, requests_max;
    bool is_draining; /* the server shuts down: nothing more is sent */
};

/* `account` is the name of a service account in kube-system, shorter than 90 bytes; empty: the
 * sender is the server itself (cor_user_or_server()). The user agent is that of the manager whose
 * fields it writes, and must stay valid. `requests_max` 0: the default. Cannot fail. */
void cor_inner_sender_init(struct cor_inner_sender *s, struct cor_api_loop *api,
                           struct cor_str account, struct cor_str user_agent, size_t requests_max);
/* The sender is idle. */
void cor_inner_sender_deinit(struct cor_inner_sender *s);

struct cor_loop *cor_inner_sender_loop(const struct cor_inner_sender *s);

/* Has every request ended, and been freed? A cancelled one may be freed in a later turn. */
static inline bool cor_inner_sender_is_idle(const struct cor_inner_sender *s)
{
    return s->nrequests == 0;
}

/* The server shuts down: watches end soon, as if their time was over, and what is sent from now on
 * is refused with -COR_EUNREACHABLE. A second call does nothing. */
void cor_inner_sender_drain(struct cor_inner_sender *s);

struct cor_inner_opts {
    enum cor_api_result result; /* what is expected, and given to the callbacks */
    enum cor_http_method method;
    struct cor_str target;       /* path and query, escaped; copied */
    struct cor_str content_type; /* of `body`; must stay valid */
    struct cor_str body;         /* copied */
    struct cor_object *object;   /* the body in place of `body`: held by reference; or NULL */
    bool metadata_only;          /* objects come as PartialObjectMetadata */
    uint64_t timeout_ms;         /* until the whole answer, or the end of a watch; 0: none */
};

/* `origin` has the state SENT; its `sent` is set to the request. 0, or the reason in its `refusal`
 * that nothing was sent: -COR_EBUSY (too many requests), -COR_EUNREACHABLE (the server shuts down),
 * -COR_EINVAL (a bad path), -COR_ETOOBIG, -COR_ENOMEM. */
int cor_inner_request_open(struct cor_inner_sender *s, const struct cor_inner_opts *opts,
                           struct cor_api_request *origin);

/* Ends the request without a callback. Also inside on_item, on_open and on_event of its origin, not
 * inside its on_done. The verb may have done what was asked, or may still do it. */
void cor_inner_request_cancel(struct cor_inner_request *req);

#endif
