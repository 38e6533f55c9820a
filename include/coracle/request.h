/* A request to an API server: one struct for every verb and every resource. Members that a verb
 * does not use are left zero; an empty or NULL text is absent.
 *
 *   struct cor_request req = {.verb = COR_VERB_LIST,
 *                             .resource = {"", "v1", "pods"},
 *                             .ns = "default",
 *                             .label_selector = "app=web"};
 *
 * Thread: any (a value).  Owner: the caller; a call copies what it needs. */
#ifndef CORACLE_REQUEST_H
#define CORACLE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/cancel.h"
#include "coracle/object.h"
#include "coracle/status.h"
#include "coracle/str.h"
#include "coracle/watch_type.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cor_verb {
    COR_VERB_GET,
    COR_VERB_LIST,
    COR_VERB_WATCH,
    COR_VERB_CREATE,
    COR_VERB_UPDATE,
    COR_VERB_PATCH,
    COR_VERB_DELETE,
    COR_VERB_DELETE_COLLECTION,
};

enum cor_patch_type {
    COR_PATCH_JSON,
    COR_PATCH_MERGE,
    COR_PATCH_STRATEGIC,
    COR_PATCH_APPLY, /* server-side apply: YAML or JSON without managedFields; wants a field manager
                      */
};

/* How a large list is requested: client-go's pager. */
enum cor_paging {
    COR_PAGING_NONE, /* one answer: all, or the page of `limit` and `continue_token` */
    /* Page after page; the next page is requested while the items of one are delivered. A page that
     * has expired (410) ends the list with that error: client-go's EachListItem. */
    COR_PAGING_EACH,
    /* Page after page; the items are delivered when all pages have come. When a later page has
     * expired, the whole list is requested again as one answer, at the request's resourceVersion:
     * client-go's List. */
    COR_PAGING_WHOLE,
};

/* A resource as the server's paths name it: {"apps", "v1", "deployments"}; the core group is "". */
struct cor_resource {
    const char *group, *version, *plural;
};

#define COR_PAGE_SIZE 500

struct cor_request {
    size_t size; /* of this struct: COR_REQUEST sets it (coracle/api.h) */
    enum cor_verb verb;
    struct cor_resource resource;
    const char *ns;          /* absent: not namespaced, or all namespaces */
    const char *name;        /* of a create or update absent: the object's */
    const char *subresource; /* "status", "scale", … */
    uint64_t timeout_ms; /* from now until the answer, or the last of its pages, is complete; 0: the
                            client's timeout; for a watch: no timeout. It is sent to the server,
                            too. A request whose turn under the client's limit of requests would
                            come later fails at once */

    /* All verbs except deletions: request only the metadata of objects, as PartialObjectMetadata. A
     * server that does not know this form answers with whole objects. */
    bool metadata_only;

    struct cor_object *object; /* create, update; borrowed */
    enum cor_patch_type patch_type;
    struct cor_str patch;

    /* list, watch, delete collection */
    const char *label_selector, *field_selector;
    const char *resource_version; /* get, too */
    const char *resource_version_match;
    const char *continue_token;
    int64_t limit;           /* 0: all; of `paging`: COR_PAGE_SIZE */
    enum cor_paging paging;  /* list */
    uint32_t server_timeout; /* seconds after which the server ends a watch; 0: its own choice */
    bool allow_bookmarks;    /* watch */
    bool send_initial_events;
    /* A watch that continues after the last delivered event when its stream ends or breaks, so that
     * every event is delivered once and in order: client-go's RetryWatcher. It begins at
     * `resource_version`, which must be that of a list or an object; there is at least a second
     * between two starts. It ends with an ERROR event, and the same error in on_done, when the
     * server has no history from that revision any more (410: list again), refuses the watch (401,
     * 403), sends something that cannot be resumed, or sends an event of more than 8 MiB (500). */
    bool resumes;

    /* create, update, patch */
    bool dry_run; /* delete, too */
    bool force;   /* of an apply */
    const char *field_manager;
    const char *field_validation; /* "Ignore", "Warn" or "Strict" */

    /* delete */
    const char *propagation; /* "Orphan", "Background" or "Foreground" */
    bool has_grace;
    int64_t grace_s;
    const char *uid_is, *resource_version_is; /* preconditions */

    /* The object that the request is about; borrowed. What the request does not set is taken from
     * this object: `ns` and `name`; the object of a create or update; the uid that a delete
     * requires, so that an object that was created again with the same name is not deleted; the
     * field selector and the resourceVersion of a watch, which then follows this object alone. Not
     * for lists. */
    struct cor_object *of;
    /* A delete or a patch (merge or strategic) by `of` is refused with a conflict when the object
     * has changed since. An update always is, by the resourceVersion of its object. */
    bool unless_changed;
    /* Ends the call with -COR_ECANCELED when it is triggered (coracle/cancel.h). NULL: none. */
    struct cor_cancel *cancel;
};

#define COR_REQUEST .size = sizeof(struct cor_request)

/* The result of a request. Everything in it is borrowed for the call that receives it. */
struct cor_response {
    const struct cor_status *error; /* NULL: success. Where no server answered `code` is 0, and
                                       `err` says what happened: -COR_EUNREACHABLE, -COR_ETLS,
                                       -COR_EPROTOCOL, -COR_EBROKEN, -COR_ETIMEOUT, -COR_ECANCELED,
                                       … (coracle/err.h) */
    struct cor_object *object;      /* the server's answer; for a delete the object or a Status of
                                       success. NULL after a list, a watch or a delete collection */
    struct cor_str resource_version, continue_token; /* of a list */
    int64_t remaining;                               /* items after this page; -1: unknown */
};

struct cor_watch_event {
    enum cor_watch_type type;
    struct cor_object *object;       /* NULL for COR_WATCH_ERROR */
    const struct cor_status *status; /* of COR_WATCH_ERROR; else NULL */
};

/* The callbacks of a request. The runtime calls them on its I/O thread or inside the pump, so they
 * must not block. */
struct cor_request_cbs {
    /* Called for each item of a list as it arrives; items may arrive before a failure. A negative
     * return ends the call with that code. */
    int (*on_item)(void *arg, struct cor_object *item);
    /* Called for each event of a watch; a negative return ends the call with that code. */
    int (*on_event)(void *arg, const struct cor_watch_event *event);
    /* Always called, once, as the last call. A watch that the server ended has no error; a watch
     * that resumes always ends with one. */
    void (*on_done)(void *arg, const struct cor_response *response);
};

#ifdef __cplusplus
}
#endif

#endif
