/* A client of one API server: every verb on every resource, with one set of connections,
 * credentials and limits. A request is sent with callbacks, or by a call that waits for the answer.
 * Owner: the maker.  Thread: any; what waits may not be called inside a callback
 * (coracle/runtime.h has the table). */
#ifndef CORACLE_CLIENT_H
#define CORACLE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/client_config.h"
#include "coracle/request.h"
#include "coracle/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_client;
struct cor_client_call;

#define COR_CLIENT_END_MS    10000
#define COR_CLIENT_CALLS_MAX 1000 /* of one client, in progress or waiting */
/* The most objects that cor_client_list() gathers; use pages or callbacks for more. */
#define COR_CLIENT_LIST_MAX (1u << 20)

struct cor_client_opts {
    size_t size; /* of this struct: COR_CLIENT_OPTS sets it (coracle/api.h) */
    const struct cor_client_config *config; /* copied; must be set */
    const char *user_agent;                 /* NULL: the library's own */
    /* For requests that set no timeout, except watches; 0: no timeout, as client-go. */
    uint64_t timeout_ms;
    /* The limit of requests per second, and how many may be sent at once (0: 10; of discovery,
     * which is counted separately, 300); watches are not counted. A qps of 0 or below: no limit.
     * Servers share fairly by themselves: their 429 and Retry-After are obeyed in any case. */
    double qps;
    uint32_t burst;
    /* Called with each warning that the server sends, once for each text, on the I/O thread or
     * inside the pump. It must not call the client. May be NULL. */
    void (*on_warning)(void *arg, struct cor_str text);
    void *arg;
    /* How long shutdown may take: releasing a lease, and sending the last events. After
     * cor_client_stop() this is the time for all of it together, counted from that call; without
     * that call each step has this time for itself. 0: COR_CLIENT_END_MS. */
    uint64_t end_ms;
};

#define COR_CLIENT_OPTS .size = sizeof(struct cor_client_opts)

/* Makes a client; it connects with its first request. 0; -COR_EINVAL (an unusable server,
 * certificate, key or token file, or a configuration that contradicts itself); -COR_ENOTSUP (the
 * runtime is pumped and has no resolver, the server or its proxy is a host name, and c-ares is not
 * installed: the message says so); -COR_ENOMEM. */
COR_API int cor_client_new(struct cor_runtime *runtime, const struct cor_client_opts *opts,
                           struct cor_client **ret_client, struct cor_status *reterr);

/* Begins the shutdown and returns at once. It may be called on any thread, callbacks and handlers
 * included:
 * - calls in progress, including those that wait on another thread, end with -COR_ECANCELED, and
 *   later calls are refused with it;
 * - the informers of the client stop, as by cor_informers_stop(), and so does a wait for them;
 * - from now on releasing leases and sending the last events may take `end_ms` in total, whatever a
 *   server does. cor_election_free() and cor_events_free() do these, as before. A signal handler
 *   must not call this or any other function of the library; let a thread wait for signals and call
 *   it (sigwait, signalfd, a pipe that the handler writes to). A second call does nothing. */
COR_API void cor_client_stop(struct cor_client *client);

/* Waits: calls in progress end with -COR_ECANCELED, on whatever thread they wait, and connections
 * are closed. Free everything that was made on the client (informers, elections, events) first. Not
 * inside a callback (coracle/runtime.h). Returns NULL; NULL is allowed. */
COR_API struct cor_client *cor_client_free(struct cor_client *client);

/* Sends a request and returns at once; `cbs` must stay valid until on_done. `ret_call` (NULL: not
 * wanted) can cancel the call, and the caller releases it. 0, -COR_EBUSY (too many), -COR_ECANCELED
 * (the client was stopped, or is being freed), -COR_EINVAL (in a forked child), -COR_ENOMEM: then
 * nothing is called. Errors in a request are reported to on_done. */
COR_API int cor_client_send(struct cor_client *client, const struct cor_request *req,
                            const struct cor_request_cbs *cbs, void *arg,
                            struct cor_client_call **ret_call);

/* Cancels the call. on_done is called with -COR_ECANCELED from the loop's next turn, unless the
 * call has ended before. */
COR_API void cor_client_call_cancel(struct cor_client_call *call);

/* Releases the handle; the call itself continues. Allowed at any time, even after the client was
 * freed. Returns NULL; NULL is allowed. */
COR_API struct cor_client_call *cor_client_call_unref(struct cor_client_call *call);

/* Sends a get, create, update, patch, delete or delete collection, and waits for the answer.
 * `ret_object` (NULL: not wanted) is set to the answer, which the caller unrefs, and to NULL after
 * a delete collection. 0, or the error's `err`: -COR_ENOTFOUND, -COR_ECONFLICT, … and those of
 * cor_response.error; -COR_EINVAL also inside a callback and in a forked child (coracle/runtime.h).
 */
COR_API int cor_client_do(struct cor_client *client, const struct cor_request *req,
                          struct cor_object **ret_object, struct cor_status *reterr);

/* A whole list, or one page of a list. */
struct cor_object_list {
    struct cor_object **items;
    size_t n;
    char *resource_version; /* of the list */
    char *continue_token;   /* "": there are no more pages */
    int64_t remaining;
};

/* Sends a list and waits for all of its items. The caller releases `ret_list` by
 * cor_object_list_deinit(); it is not written on failure. Errors as above; -COR_ETOOBIG when there
 * are more than COR_CLIENT_LIST_MAX objects. */
COR_API int cor_client_list(struct cor_client *client, const struct cor_request *req,
                            struct cor_object_list *ret_list, struct cor_status *reterr);

COR_API void cor_object_list_deinit(struct cor_object_list *list); /* safe on a zeroed struct */

/* Makes the object to be written from the present one, and keeps its resourceVersion. It returns a
 * new reference, or `current` itself when nothing needs to change; a negative return ends the
 * change with that code. It is called once for each attempt, on the runtime's I/O thread or inside
 * the pump, and must not block. */
typedef int (*cor_change_fn)(void *arg, struct cor_object *current, struct cor_object **ret_object,
                             struct cor_status *reterr);

/* Reads an object (resource, ns and name of the request), calls `fn` to change it, writes the
 * result (to the request's subresource, if set), and waits for the answer. When another writer was
 * faster, it starts over with reading, up to five times: client-go's RetryOnConflict. `ret_object`
 * (NULL: not wanted) is set to the written object; timeout_ms bounds all attempts together. Errors
 * as cor_client_do(); -COR_ECONFLICT when no attempt is left; -COR_EBUSY (too many calls),
 * -COR_ECANCELED (the client was stopped, or is being freed). */
COR_API int cor_client_change(struct cor_client *client, const struct cor_request *req,
                              cor_change_fn fn, void *arg, struct cor_object **ret_object,
                              struct cor_status *reterr);

/* Receives the body of the answer, borrowed for the call. cor_client_get_path() returns what it
 * returns. It is called on the runtime's I/O thread or inside the pump, and must not block. */
typedef int (*cor_path_fn)(void *arg, struct cor_str body);

/* Sends a GET for a path that is not a resource, with an optional query, and waits for the answer:
 * "/version", "/readyz?verbose", "/openapi/v3". The path is appended to that of the server's URL
 * and sent as it is; timeout_ms as in a request. 0 or what `fn` returned; -COR_EINVAL (the path is
 * not absolute, or has a character that must be escaped), -COR_ETOOBIG (more than 64 MB), or as
 * cor_client_do(). */
COR_API int cor_client_get_path(struct cor_client *client, const char *path, uint64_t timeout_ms,
                                cor_path_fn fn, void *arg, struct cor_status *reterr);

#define COR_RESOURCE_TEXT_MAX 254 /* with its NUL */

struct cor_found_resource {
    char group[COR_RESOURCE_TEXT_MAX], version[COR_RESOURCE_TEXT_MAX];
    char plural[COR_RESOURCE_TEXT_MAX], kind[COR_RESOURCE_TEXT_MAX];
    bool is_namespaced;
};

/* Looks up a resource among those that the server serves; the first call waits for the server's
 * list of them. `plural` may be a kind ("Deployment"), a plural, a singular or a short name
 * ("deploy"); group and version may be absent. 0, -COR_ENOTFOUND, -COR_ECONFLICT (several match),
 * or as cor_client_change(). */
COR_API int cor_client_find(struct cor_client *client, const struct cor_resource *partial,
                            struct cor_found_resource *ret_found, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
