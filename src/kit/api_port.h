/* How code of the kit reaches the Kubernetes API, wherever that code runs. The port sends
 * operations (kit/api_operation.h) as asynchronous calls over objects. The client implements it
 * over HTTP (kit/dynamic/api_port_http.h), the server in process (server/port/inner_port.h), and
 * tests have a scripted one (tests/lib/scripted_port.h). docs/internals/kit.md has the picture.
 *
 * Rules that every implementation keeps:
 * - Each request that is sent ends exactly once: with on_done, in a later turn and never inside the
 *   call that sent it, or with cor_api_cancel(). This holds for a request that cannot be sent, too:
 *   its on_done gets the reason. So a sender has one place for all failures.
 * - The request struct belongs to the sender, who embeds it. It must stay valid until it has ended.
 *   When on_done is called the request has ended already: on_done may send it again, or free it.
 * - What a call is given (paths, options, bodies) is read before the call returns; an object keeps
 *   its bytes by reference if the port needs them longer. What a callback is given is borrowed for
 *   that callback.
 * Thread: the port's loop, for every function and every callback.
 * Owner: whoever made the implementation; the port outlives the requests that are sent on it. */
#ifndef COR_KIT_API_PORT_H
#define COR_KIT_API_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/str.h"
#include "kit/api_operation.h"
#include "kit/api_resources.h"
#include "meta/object/object.h"
#include "meta/status/status.h"

struct cor_loop;
struct cor_api_port;
struct cor_api_request;

/* How a request has ended. */
enum cor_api_end {
    COR_API_ANSWERED,   /* the server answered, with success or with an error */
    COR_API_UNANSWERED, /* no answer: unreachable, broken off, or out of time */
    COR_API_REFUSED,    /* the port did not send it: no memory, too many requests, a bad name */
};

struct cor_api_answer {
    enum cor_api_end end;
    const struct cor_status *error; /* NULL: success */
    /* The object that the server answered with; after a deletion it may be a Status of success.
     * NULL after an error, a list, a watch, a deletion of a collection, `serves` and `resources`.
     */
    struct cor_object *object;
    struct cor_api_resources *resources; /* of `resources`; the receiver may take a reference */
    struct cor_str resource_version, continue_token; /* of a list */
    int64_t remaining; /* of a list: items after this page; -1: unknown */
};

struct cor_api_request_cbs {
    /* Each item of a list, as it arrives; some may have arrived before a failure. Each event of a
     * watch; the server has accepted the watch (may be NULL). A negative return ends the request
     * with that code. Each may cancel the request. */
    int (*on_item)(struct cor_api_request *req, struct cor_object *item);
    int (*on_open)(struct cor_api_request *req);
    int (*on_event)(struct cor_api_request *req, const struct cor_watch_event *event);
    /* The request has ended. A watch whose stream ended after it was open has no error. */
    void (*on_done)(struct cor_api_request *req, const struct cor_api_answer *answer);
};

/* One request, zeroed and then filled by its sender. */
struct cor_api_request {
    /* The sender's. `at` and `metadata_only` are those of the operation that the functions of one
     * verb make; a list has them too. */
    struct cor_resource_path at;
    bool metadata_only;
    /* From the first attempt to the whole answer; the server is told, too. 0: the port's own. A
     * watch has none. */
    uint64_t timeout_ms;
    uint64_t deadline_ms; /* from now, time in the line of the rate limit included; 0: none */
    const struct cor_api_request_cbs *cbs; /* must stay valid */
    /* The port's. */
    enum { COR_API_IDLE, COR_API_SENT, COR_API_REFUSING } state;
    struct cor_dlist link;     /* in the port's `refused` */
    struct cor_status refusal; /* the reason, while the state is REFUSING */
    void *sent;                /* what the implementation sent for it */
    unsigned kind;             /* of what it sent */
};

/* What an implementation does. A call that cannot send its request fills `req->refusal` and calls
 * cor_api_refuse(). */
struct cor_api_port_ops {
    void (*send)(struct cor_api_port *port, struct cor_api_request *req,
                 const struct cor_api_operation *op);
    void (*resources)(struct cor_api_port *port, struct cor_api_request *req);
    /* No callback of the request after this. Only called while the state is SENT. */
    void (*cancel)(struct cor_api_port *port, struct cor_api_request *req);
    /* Have cor_api_deliver_refusals() called in a later turn. Must not fail, so it must not need
     * memory. */
    void (*wake)(struct cor_api_port *port);
};

/* Embedded by the implementation. */
struct cor_api_port {
    const struct cor_api_port_ops *ops;
    struct cor_loop *loop;    /* for assertions; NULL: a port without a loop */
    struct cor_dlist refused; /* requests whose on_done is due */
};

/* `ops` and `loop` must stay valid. Cannot fail. */
void cor_api_port_init(struct cor_api_port *port, const struct cor_api_port_ops *ops,
                       struct cor_loop *loop);
/* No request may be under way. */
void cor_api_port_deinit(struct cor_api_port *port);

/* Is the request under way: sent or refused, and not ended? */
bool cor_api_is_under_way(const struct cor_api_request *req);

/* Sends a request that is not under way. `op` is read before this returns; `req->at` and
 * `req->metadata_only` are not. */
void cor_api_send(struct cor_api_port *port, struct cor_api_request *req,
                  const struct cor_api_operation *op);

/* The same for the operation of one verb. `resource_version` is "", "0" or a number, as in
 * GetOptions. The options of writes and deletions may be NULL, `which` too (all objects). */
void cor_api_get(struct cor_api_port *port, struct cor_api_request *req,
                 struct cor_str resource_version);
void cor_api_list(struct cor_api_port *port, struct cor_api_request *req,
                  const struct cor_list_query *query);
void cor_api_watch(struct cor_api_port *port, struct cor_api_request *req,
                   const struct cor_list_query *query);
void cor_api_create(struct cor_api_port *port, struct cor_api_request *req,
                    struct cor_object *object, const struct cor_write_options *opts);
void cor_api_update(struct cor_api_port *port, struct cor_api_request *req,
                    struct cor_object *object, const struct cor_write_options *opts);
void cor_api_patch(struct cor_api_port *port, struct cor_api_request *req, enum cor_patch_type type,
                   struct cor_str patch, const struct cor_write_options *opts);
void cor_api_remove(struct cor_api_port *port, struct cor_api_request *req,
                    const struct cor_removal_options *opts);
void cor_api_remove_collection(struct cor_api_port *port, struct cor_api_request *req,
                               const struct cor_removal_options *opts,
                               const struct cor_list_query *which);

/* Asks whether the server serves the group and version of `req->at.gvr`. on_done without an error:
 * yes; with an error from the server: no. */
void cor_api_serves(struct cor_api_port *port, struct cor_api_request *req);

/* Enumerates what the server serves at this time; nothing is taken from an earlier enumeration.
 * `req->at` and the times of the request are not used: the port has its own. A success may have
 * failures, the versions that could not be enumerated (kit/api_resources.h). An error: nothing
 * could. */
void cor_api_resources(struct cor_api_port *port, struct cor_api_request *req);

/* Ends a request for which the sender or the implementation could not make what is to be sent:
 * on_done gets `req->refusal`, whose `err` is set, in a later turn. */
void cor_api_refuse(struct cor_api_port *port, struct cor_api_request *req);

/* No callback of the request after this; nothing happens when it is not under way. Also from inside
 * its on_item, on_open and on_event. The server may have done what was asked. */
void cor_api_cancel(struct cor_api_port *port, struct cor_api_request *req);

/* Was it answered with an error of this HTTP status? */
bool cor_api_answer_is(const struct cor_api_answer *answer, int code);

/* Returns whether a write came too late: the object has changed (409), or is gone (404). */
bool cor_api_answer_is_late(const struct cor_api_answer *answer);

/* For implementations: ends a request that was sent, and calls its on_done. */
void cor_api_finish(struct cor_api_request *req, const struct cor_api_answer *answer);

/* For implementations, after `wake`: ends the requests that were refused before this call. */
void cor_api_deliver_refusals(struct cor_api_port *port);

#endif
