/* All verbs on objects of any type: client-go's dynamic client. Requests and answers are
 * cor_objects; a failure is the server's Status, or says what went wrong on the way.
 *
 * Every function that sends returns 0, or why the request cannot be sent, with the cause in
 * `reterr`: -COR_EINVAL (a name is missing, or is not a path segment), -COR_EBUSY, -COR_ETOOBIG,
 * -COR_ENOMEM. After 0, on_done is called exactly once, as the last callback, unless the request is
 * cancelled.  Owner: the REST client owns the requests that run on it. Thread: the REST client's
 * loop. No function calls back before it returns. */
#ifndef COR_KIT_DYNAMIC_CLIENT_H
#define COR_KIT_DYNAMIC_CLIENT_H

#include <stdint.h>

#include "base/str.h"
#include "coracle/request.h"
#include "kit/dynamic/list_reader.h"
#include "kit/dynamic/watch_reader.h"
#include "kit/request_options.h"
#include "kit/resource_path.h"
#include "kit/rest/rest_client.h"
#include "meta/object/object.h"
#include "meta/status/status.h"

struct cor_dynamic_request;

/* As cor_rest_request_failure(). */
const char *cor_dynamic_failure(const struct cor_dynamic_request *req);

/* Ends the request without a callback, and frees it. Also inside its on_item, on_open and on_event;
 * not inside its on_done. */
void cor_dynamic_cancel(struct cor_dynamic_request *req);

/* Where a request goes, and who gets the answer. Strings are copied by the call. */
struct cor_dynamic_call {
    struct cor_rest_client *client;
    struct cor_resource_path at;
    uint64_t timeout_ms;  /* 0: the REST client's */
    uint64_t deadline_ms; /* as that of a REST request; 0: none */
    bool metadata_only;   /* the answer is to be a PartialObjectMetadata; not for deletions */
    /* `error` NULL: success, and `object`, borrowed, is the server's answer: the object, or after a
     * deletion also a Status of success; NULL after a deletion of a collection. */
    void (*on_done)(void *arg, struct cor_object *object, const struct cor_status *error);
    void *arg;
    int *code; /* set to the HTTP status of the answer (0: none) before on_done; NULL: not wanted */
};

/* `resource_version`: "", "0" or a number, as GetOptions has it. */
int cor_dynamic_get(const struct cor_dynamic_call *call, struct cor_str resource_version,
                    struct cor_dynamic_request **ret_req, struct cor_status *reterr);

/* The options of these may be NULL. A name that is not in `at` is the object's; an object that is
 * created in a collection needs none. */
int cor_dynamic_create(const struct cor_dynamic_call *call, const struct cor_object *object,
                       const struct cor_write_options *opts, struct cor_dynamic_request **ret_req,
                       struct cor_status *reterr);
int cor_dynamic_update(const struct cor_dynamic_call *call, const struct cor_object *object,
                       const struct cor_write_options *opts, struct cor_dynamic_request **ret_req,
                       struct cor_status *reterr);

/* An apply in JSON must not have managedFields (-COR_EINVAL); the server checks one in YAML. */
int cor_dynamic_patch(const struct cor_dynamic_call *call, enum cor_patch_type type,
                      struct cor_str patch, const struct cor_write_options *opts,
                      struct cor_dynamic_request **ret_req, struct cor_status *reterr);

/* Server-side apply of an object, which must not have managedFields (-COR_EINVAL). */
int cor_dynamic_apply(const struct cor_dynamic_call *call, const struct cor_object *object,
                      const struct cor_write_options *opts, struct cor_dynamic_request **ret_req,
                      struct cor_status *reterr);

int cor_dynamic_delete(const struct cor_dynamic_call *call, const struct cor_removal_options *opts,
                       struct cor_dynamic_request **ret_req, struct cor_status *reterr);

/* `which` may be NULL: all. */
int cor_dynamic_delete_collection(const struct cor_dynamic_call *call,
                                  const struct cor_removal_options *opts,
                                  const struct cor_list_query *which,
                                  struct cor_dynamic_request **ret_req, struct cor_status *reterr);

/* One page of a list, or all of it when the query has no limit. */
struct cor_dynamic_list_call {
    struct cor_rest_client *client;
    struct cor_resource_path at;
    const struct cor_wire_type *wire; /* protobuf is asked for, and JSON taken; NULL: JSON */
    uint64_t timeout_ms;
    uint64_t deadline_ms; /* as that of a REST request; 0: none */
    /* Each item as it arrives; some may have arrived before a failure. A negative return ends the
     * request with that code. */
    cor_list_item_cb on_item;
    /* `meta` is NULL on failure. */
    void (*on_done)(void *arg, const struct cor_list_meta *meta, const struct cor_status *error);
    void *arg;
};
int cor_dynamic_list(const struct cor_dynamic_list_call *call, const struct cor_list_query *query,
                     struct cor_dynamic_request **ret_req, struct cor_status *reterr);

struct cor_dynamic_watch_call {
    struct cor_rest_client *client;
    struct cor_resource_path at;
    const struct cor_wire_type *wire; /* as above */
    uint64_t deadline_ms;             /* a silent server is given up then; 0: never */
    /* The server has accepted the watch. A negative return ends it with that code. May be NULL. */
    int (*on_open)(void *arg);
    /* A negative return ends the watch with that code. */
    cor_watch_event_cb on_event;
    /* `error` NULL: the stream ended, or broke after it was open. */
    void (*on_done)(void *arg, const struct cor_status *error);
    void *arg;
};
int cor_dynamic_watch(const struct cor_dynamic_watch_call *call, const struct cor_list_query *query,
                      struct cor_dynamic_request **ret_req, struct cor_status *reterr);

#endif
