/* Sends operations (kit/api_operation.h) on objects of any type: client-go's dynamic client.
 * Requests and answers are cor_objects; a failure is the server's Status, or says what went wrong
 * on the way.
 *
 * Owner: the REST client owns the requests that run on it.  Thread: the REST client's loop. No
 * function calls back before it returns. */
#ifndef COR_KIT_DYNAMIC_CLIENT_H
#define COR_KIT_DYNAMIC_CLIENT_H

#include <stdint.h>

#include "coracle/request.h"
#include "kit/api_operation.h"
#include "kit/rest/rest_client.h"

struct cor_dynamic_request;
struct cor_wire_type;

/* As cor_rest_request_failure(). */
const char *cor_dynamic_failure(const struct cor_dynamic_request *req);

/* Ends the request without a callback, and frees it. Also inside its on_item, on_open and on_event;
 * not inside its on_done. */
void cor_dynamic_cancel(struct cor_dynamic_request *req);

/* A negative return of on_open, on_item or on_event ends the request with that code. */
struct cor_dynamic_cbs {
    int (*on_open)(void *arg); /* the server has accepted the watch; may be NULL */
    /* Each item of a list as it arrives; some may have arrived before a failure. */
    int (*on_item)(void *arg, struct cor_object *item);
    int (*on_event)(void *arg, const struct cor_watch_event *event);
    /* The last call. A watch whose stream ended, or broke after it was open, has no error. */
    void (*on_done)(void *arg, const struct cor_response *response);
};

/* Which client sends the operation, and who gets the answer. Copied by the call. */
struct cor_dynamic_call {
    struct cor_rest_client *client;
    /* Of a list or watch: protobuf of this type is asked for, and JSON taken. NULL: JSON. */
    const struct cor_wire_type *wire;
    uint64_t timeout_ms;               /* 0: the REST client's; a watch has none */
    uint64_t deadline_ms;              /* as that of a REST request; 0: none */
    const struct cor_dynamic_cbs *cbs; /* must stay valid */
    void *arg;
    int *code; /* set to the HTTP status of an object's answer (0: none) before on_done; or NULL */
};

/* `op` is read before this returns. An apply in JSON must not have managedFields; the server checks
 * one in YAML. 0, or why the operation cannot be sent, with the cause in `reterr`: -COR_EINVAL, as
 * cor_api_form_init() or for the managedFields, -COR_EBUSY, -COR_ETOOBIG, -COR_ENOMEM. After 0,
 * on_done is called exactly once, unless the request is cancelled. */
int cor_dynamic_send(const struct cor_dynamic_call *call, const struct cor_api_operation *op,
                     struct cor_dynamic_request **ret_req, struct cor_status *reterr);

#endif
