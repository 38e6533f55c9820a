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
#define COR_CLIENT_CALLS_MAX 1000 /* of one client, under way or waiting */
/* Objects of one list that is gathered; use pages, or callbacks, beyond. */
#define COR_CLIENT_LIST_MAX (1u << 20)

struct cor_client_opts {
    size_t size; /* of this struct: COR_CLIENT_OPTS sets it (coracle/api.h) */
    const struct cor_client_config *config; /* copied */
    const char *user_agent;                 /* NULL: the library's */
    uint64_t timeout_ms; /* of calls that set none (but watches); 0: none, as client-go */
    /* At most so many requests a second, so many at once; watches do not count. 0: 5 and 10, as
     * client-go, and 5 and 300 of discovery, which is counted by itself; qps below 0: no limit. */
    double qps;
    uint32_t burst;
    /* What the server warns of, each text once. On the I/O thread or inside the pump; it must not
     * call the client. NULL: nobody listens. */
    void (*on_warning)(void *arg, struct cor_str text);
    void *arg;
    /* How long the end may take: giving a lease back, and sending the last events. After
     * cor_client_stop() this is the time for all of it together, counted from that call; without
     * that call each has it for itself. 0: COR_CLIENT_END_MS. */
    uint64_t end_ms;
};

#define COR_CLIENT_OPTS .size = sizeof(struct cor_client_opts)

/* Nothing is connected yet. 0, -COR_EINVAL (an unusable server, certificate, key or token file, or
 * a configuration that contradicts itself), -COR_ENOTSUP (a pumped runtime without a resolver, and
 * the server, or its proxy, is a name: the message says so), -COR_ENOMEM. */
COR_API int cor_client_new(struct cor_runtime *runtime, const struct cor_client_opts *opts,
                           struct cor_client **ret_client, struct cor_status *reterr);

/* Begins the end of the program, from any thread, callbacks and handlers included, and returns at
 * once:
 * - calls that are under way, also those that wait on another thread, end with -COR_ECANCELED, and
 *   later ones are refused with it;
 * - the informers of the client stop, as by cor_informers_stop(), and so does a wait for them;
 * - from now on there are `end_ms` in all for giving leases back and for sending the last events,
 *   whatever a server does. cor_election_free() and cor_events_free() do these, as before.
 * A signal handler must not call this, or anything else of the library: a thread that waits for
 * signals does (sigwait, signalfd, a pipe that the handler writes to). A second call does nothing.
 */
COR_API void cor_client_stop(struct cor_client *client);

/* Waits: calls that are under way end with -COR_ECANCELED, on whatever thread they wait, and
 * connections are closed. What was made on the client (informers, elections, events) is freed
 * before. Not inside a callback (coracle/runtime.h). Returns NULL; NULL is allowed. */
COR_API struct cor_client *cor_client_free(struct cor_client *client);

/* Sends a request and returns at once; `cbs` must stay valid until on_done. `ret_call` (NULL: not
 * wanted) is for cancelling, and the caller's to release. 0, -COR_EBUSY (too many), -COR_ECANCELED
 * (the client was stopped, or is being freed), -COR_EINVAL (in a forked child), -COR_ENOMEM: then
 * nothing is called. What is wrong with a request is reported to on_done. */
COR_API int cor_client_send(struct cor_client *client, const struct cor_request *req,
                            const struct cor_request_cbs *cbs, void *arg,
                            struct cor_client_call **ret_call);

/* Ends it soon; on_done tells with -COR_ECANCELED, unless it was done already. */
COR_API void cor_client_call_cancel(struct cor_client_call *call);

/* Only the handle goes, not the call; at any time, also after the client. NULL is fine; returns
 * NULL. */
COR_API struct cor_client_call *cor_client_call_unref(struct cor_client_call *call);

/* Sends a request and waits: get, create, update, patch, delete and delete collection. `ret_object`
 * (NULL: not wanted) gets the answer, for the caller to unref; NULL after a deletion of a
 * collection. 0, or the error's `err`: -COR_ENOTFOUND, -COR_ECONFLICT, … and those of
 * cor_response.error; -COR_EINVAL also inside a callback and in a forked child (coracle/runtime.h).
 */
COR_API int cor_client_do(struct cor_client *client, const struct cor_request *req,
                          struct cor_object **ret_object, struct cor_status *reterr);

/* A list as a whole, or one page of it. */
struct cor_object_list {
    struct cor_object **items;
    size_t n;
    char *resource_version; /* of the list */
    char *continue_token;   /* "": there is no more */
    int64_t remaining;
};

/* Sends a list and waits for it. `ret_list` is released by cor_object_list_deinit(); a failure
 * leaves it as it was. Errors as above; -COR_ETOOBIG beyond COR_CLIENT_LIST_MAX. */
COR_API int cor_client_list(struct cor_client *client, const struct cor_request *req,
                            struct cor_object_list *ret_list, struct cor_status *reterr);

COR_API void cor_object_list_deinit(struct cor_object_list *list); /* safe on a zeroed struct */

/* Makes the object to write of the present one, whose resourceVersion it keeps: a new reference, or
 * `current` itself when nothing is to be changed. A negative return ends it. Called anew for each
 * try, on the runtime's I/O thread or inside the pump: it must not block. */
typedef int (*cor_change_fn)(void *arg, struct cor_object *current, struct cor_object **ret_object,
                             struct cor_status *reterr);

/* Reads an object (resource, ns and name of the request), has it changed, writes it (to the
 * subresource, where there is one), and waits for that; again from the start when another writer
 * was faster, five times: client-go's RetryOnConflict. `ret_object` (NULL: not wanted) gets the
 * object as it is then; timeout_ms is for all of it together. Errors as cor_client_do();
 * -COR_ECONFLICT when no try is left; -COR_EBUSY (too many calls), -COR_ECANCELED (the client was
 * stopped, or is being freed). */
COR_API int cor_client_change(struct cor_client *client, const struct cor_request *req,
                              cor_change_fn fn, void *arg, struct cor_object **ret_object,
                              struct cor_status *reterr);

/* What a server answered, borrowed. Its return is that of cor_client_get_path(). On the runtime's
 * I/O thread or inside the pump: it must not block. */
typedef int (*cor_path_fn)(void *arg, struct cor_str body);

/* Gets what the server has at a path that is no resource, with a query if wanted, and waits:
 * "/version", "/readyz?verbose", "/openapi/v3". The path is sent as it is, below that of the
 * server's URL; timeout_ms as that of a request. 0 or what `fn` returned; -COR_EINVAL (no absolute
 * path, or a character that is to be escaped), -COR_ETOOBIG (more than 64 MB), or as
 * cor_client_do(). */
COR_API int cor_client_get_path(struct cor_client *client, const char *path, uint64_t timeout_ms,
                                cor_path_fn fn, void *arg, struct cor_status *reterr);

#define COR_RESOURCE_TEXT_MAX 254 /* with its NUL */

struct cor_found_resource {
    char group[COR_RESOURCE_TEXT_MAX], version[COR_RESOURCE_TEXT_MAX];
    char plural[COR_RESOURCE_TEXT_MAX], kind[COR_RESOURCE_TEXT_MAX];
    bool is_namespaced;
};

/* Looks a resource up in what the server serves, and waits for that the first time: `plural` may be
 * a kind ("Deployment"), a plural, a singular or a short name ("deploy"); group and version may be
 * absent. 0, -COR_ENOTFOUND, -COR_ECONFLICT (several match), or as cor_client_change(). */
COR_API int cor_client_find(struct cor_client *client, const struct cor_resource *partial,
                            struct cor_found_resource *ret_found, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
