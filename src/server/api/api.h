/* The REST API: from a request to a verb's answer in a sink. HTTP and in-process callers use it
 * alike.
 *
 * One cor_api is shared by all loops; each loop has its own part with its stores and readers.
 * Thread: cor_api_new, _free and _loop on the maker's, before the loops start and after they have
 * stopped; a cor_api_loop is its loop's.  Owner: the server. */
#ifndef COR_SERVER_API_H
#define COR_SERVER_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/str.h"
#include "server/access/user.h"
#include "server/request/request_info.h"
#include "server/request/sink.h"
#include "server/stored/stored_form.h"
#include "storage/cacher/cachers.h"
#include "storage/cacher/ready.h"

#define COR_API_LOOPS_MAX 256

struct cor_admission_list;
struct cor_api;
struct cor_api_loop;
struct cor_api_service;
struct cor_authorizer;
struct cor_clock;
struct cor_dynamic_transformers;
struct cor_engine;
struct cor_loop;
struct cor_metrics;
struct cor_offload;
struct cor_repair_port;
struct cor_served;
struct cor_status;

/* One check of /healthz, /livez and /readyz. It answers at once, from any loop. Its own path
 * (/readyz/etcd), which is not public, shows why it failed. */
struct cor_health_check {
    const char *name;
    bool (*is_ok)(void *arg, char reterr_why[COR_READY_MESSAGE_MAX]);
    void *arg;
    bool live, ready; /* which endpoints it counts for; healthz has all live ones */
};

struct cor_api_opts {
    struct cor_engine *engine;
    const char *path_prefix;          /* of all keys; NULL: the store's default; must stay */
    enum cor_stored_form stored_form; /* what is written */
    struct cor_loop *const *loops;    /* copied */
    size_t nloops;                    /* at most COR_API_LOOPS_MAX */
    struct cor_dynamic_transformers *transformers; /* NULL: nothing is encrypted; must stay */
    const struct cor_clock *clock;                 /* NULL: the real one */
    uint64_t random_seed;          /* 0: the kernel's randomness; else names and uids repeat */
    int64_t event_ttl_s;           /* 0: 3600 */
    bool allow_privileged;         /* containers may be privileged */
    int64_t min_request_timeout_s; /* 0: 1800; a watch lasts one to two times this */
    size_t held_bytes_max; /* of answers that wait for their readers: see held.h; 0: its default */
    size_t protobuf_cache_bytes;          /* see protobuf_cache.h; 0: no items are kept */
    const struct cor_token_table *tokens; /* what TokenReviews are answered from; NULL: none; must
                                           * stay */
    const struct cor_authorizer *authorizer;    /* of HTTP and of the access reviews; NULL: only
                                                 * system:masters may do anything; must stay */
    const struct cor_admission_list *admission; /* the plugins that requests pass; NULL: the
                                                 * server's own (admission/plugins.c); must stay */
    const struct cor_health_check *checks;      /* must stay */
    size_t nchecks;
    /* The threads for requests over large bytes; NULL: the loops do all work. Must stay until the
     * last call has ended. */
    struct cor_offload *offload;
};

/* 0, -COR_ENOMEM. */
int cor_api_new(const struct cor_api_opts *opts, struct cor_api **ret_api,
                struct cor_status *reterr_status);

struct cor_api_cachers_opts {
    size_t bytes_max;  /* of all history; 0: the default */
    const char *sizes; /* "pods#0,deployments.apps#0": 0 is a resource without a cache; or NULL */
};

/* Reads go to watch caches from now on; without it they go to the store. Before the loops start, at
 * most once. When it fails, cor_api_close_cachers() is due all the same. -COR_EINVAL (sizes),
 * -COR_ENOMEM, -COR_EBUSY. */
int cor_api_open_cachers(struct cor_api *api, const struct cor_api_cachers_opts *opts,
                         struct cor_status *reterr_status);

/* Adds the families about single caches, when there are any, and about stored objects. Before the
 * loops start. 0, -COR_ENOMEM.
 */
int cor_api_add_cache_metrics(struct cor_api *api, struct cor_metrics *metrics);

/* Do all caches have what the store has? From any thread. */
bool cor_api_is_synced(const struct cor_api *api);

/* Returns whether some cache is incomplete, and every such cache has failed to become complete.
 * `reterr_why` then has a failure, and is undefined otherwise. From any thread. */
bool cor_api_sync_failed(const struct cor_api *api, char reterr_why[COR_READY_MESSAGE_MAX]);

/* Zeros without caches. From any thread while requests are served. */
struct cor_cachers_stats cor_api_cache_stats(const struct cor_api *api);

struct cor_api_held_stats {
    size_t bytes;   /* what answers hold that wait for their readers */
    uint64_t ended; /* answers that were cut for it */
};

/* From any thread. */
struct cor_api_held_stats cor_api_held_stats(const struct cor_api *api);

struct cor_api_protobuf_cache_stats {
    size_t bytes, bytes_max; /* what kept items of lists in protobuf hold, and may hold */
    uint64_t hits, misses;   /* items that were looked up, in each of a list's two passes */
};

/* From any thread. */
struct cor_api_protobuf_cache_stats cor_api_protobuf_cache_stats(struct cor_api *api);

/* Is an object being created in the namespace whose request was admitted before this call? From any
 * thread (shared/creations.h). */
bool cor_api_creates_in(struct cor_api_loop *loop, struct cor_str ns);

/* To ask the allocators of Services for a repair (api/repair_port.h); NULL: there are none. From
 * any thread while the allocators are open. */
struct cor_repair_port *cor_api_repair_port(struct cor_api_loop *loop);

/* On the loop, when it has no calls: frees its readers and stores. No call may come after this. */
void cor_api_loop_release(struct cor_api_loop *loop);

/* On the first loop, when all are released and turning. True: `on_closed` follows on that loop;
 * false: there is nothing to close. */
bool cor_api_close_cachers(struct cor_api *api, void (*on_closed)(void *arg), void *arg);

/* Requests that begin after this, on each loop from its next turn on, are routed by `served`, whose
 * generation is greater than that of the snapshot before. For the publisher (api/publisher.h);
 * until it publishes, every loop keeps the first generation. From any thread; not after the loops
 * were released. */
void cor_api_publish(struct cor_api *api, struct cor_served *served);

/* Are requests on every loop routed by this generation or a later one? From any thread. */
bool cor_api_has_taken(const struct cor_api *api, uint64_t generation);

/* Those who are called when a loop is routed by another snapshot: the controllers, which follow
 * what is served. The callback may follow and unfollow nothing. */
struct cor_served_follower {
    struct cor_dlist link;
    void (*on_served)(struct cor_served_follower *follower);
};

/* On the loop, for both. The follower must stay valid until it is unfollowed. */
void cor_api_follow_served(struct cor_api_loop *loop, struct cor_served_follower *follower);
void cor_api_unfollow_served(struct cor_served_follower *follower);

/* Where clients reach it, "host:port", for /api. Before its loops run. 0, -COR_ENOMEM. */
int cor_api_set_address(struct cor_api *api, const char *server_address);

/* Every call must have ended, and the caches be closed. Returns NULL; NULL is fine. */
struct cor_api *cor_api_free(struct cor_api *api);

struct cor_api_loop *cor_api_loop(struct cor_api *api, size_t index);

/* A request, complete. Everything it points to stays until the sink has ended. */
struct cor_server_request {
    enum cor_http_method method;
    struct cor_request_info info;
    struct cor_str query;                                                     /* still encoded */
    struct cor_str accept, content_type, user_agent, if_none_match, audit_id; /* headers */
    struct cor_str body;
    bool is_websocket;           /* a watch, whose events are messages */
    bool takes_gzip_docs;        /* documents that are kept may be sent compressed */
    bool metadata_only;          /* no more than the metadata of objects is wanted; a verb of ours
                                  * need not know it */
    bool reaches_remote;         /* an aggregated server may answer (cor_api_set_remote()) */
    const struct cor_user *user; /* NULL: the server itself */
    uint64_t deadline_ms;        /* on cor_loop_now_ms()'s clock; 0: none */
};

/* Answers into `sink`, now or later. Each request gets exactly one answer, unless its reader goes.
 * On the loop. */
void cor_api_call(struct cor_api_loop *loop, const struct cor_server_request *request,
                  struct cor_sink *sink);

/* Answers requests of the server to itself, whose sinks take objects, for a resource of an
 * aggregated server (server/aggregation/). As cor_api_call(). */
typedef void (*cor_api_remote)(void *arg, struct cor_api_loop *loop,
                               struct cor_api_service *service,
                               const struct cor_server_request *request, struct cor_sink *sink);

/* Until it is set such resources are not found. Before the loops run. */
void cor_api_set_remote(struct cor_api *api, cor_api_remote answer, void *arg);

/* How many calls of this loop have not ended, watches included. */
size_t cor_api_loop_calls(const struct cor_api_loop *loop);

/* Creates the namespaces that every cluster has: default, kube-system, kube-public and
 * kube-node-lease. `on_done` gets 0 or the first failure; when memory runs out, perhaps before this
 * returns. 0, -COR_ENOMEM. */
int cor_api_bootstrap(struct cor_api_loop *loop,
                      void (*on_done)(void *arg, int err, const struct cor_status *status),
                      void *arg, struct cor_status *reterr_status);

#endif
