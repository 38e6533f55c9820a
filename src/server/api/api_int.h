/* Inside the API: one loop's stores, and the resources by name. */
#ifndef COR_SERVER_API_INT_H
#define COR_SERVER_API_INT_H

#include "base/rand.h"
#include "loop/loop.h"
#include "loop/mailbox.h"
#include "loop/turns.h"
#include "schema/kinds/resource_row.h"
#include "server/api/api.h"
#include "server/api/creations.h"
#include "server/api/ending_namespaces.h"
#include "server/api/feed_shares.h"
#include "server/api/frames.h"
#include "server/api/held.h"
#include "server/api/protobuf_cache.h"
#include "server/api/publisher.h"
#include "server/api/variants.h"
#include "server/catalog/served.h"
#include "server/docs/kept_docs.h"
#include "storage/store/reader.h"
#include "storage/store/transformer.h"

/* Where one resource lives, as one loop sees it. The backing of a built-in resource stays until the
 * loop is released; that of a custom resource until its definition is retired and no call uses it.
 */
struct cor_backing {
    const struct cor_resource_row *row; /* a reference */
    struct cor_store *store;
    struct cor_reader *reader; /* of the same objects */
    struct cor_buf prefix;     /* of its keys: "/pods" */
    /* Of a custom resource: */
    size_t ncalls;            /* calls that hold it (cor_api_hold_backing()) */
    struct cor_dlist watches; /* watches of it that end when it is retired: struct cor_call_link */
};

/* A watch in the list of its backing. */
struct cor_call_link {
    struct cor_dlist link;
    void (*end)(struct cor_dlist *link); /* ends the watch, and may free it */
};

struct cor_api_loop {
    struct cor_api *api;
    struct cor_loop *loop;
    struct cor_rand rand;
    struct cor_served *served;              /* what its requests are routed by */
    _Atomic uint64_t served_generation;     /* of `served`, for other threads */
    _Atomic(struct cor_served *) published; /* replaces it with the next mail; NULL: nothing */
    struct cor_mail served_mail;            /* is under way while `published` is not NULL */
    struct cor_dlist served_followers;      /* struct cor_served_follower */
    struct cor_backing **backings;          /* by cor_row_place(); NULL: not used yet */
    size_t nbackings;
    struct cor_variants variants;
    struct cor_frames frames;
    struct cor_dlist event_jobs; /* what event_maker.h makes */
    struct {
        uint64_t now_ms, steps;   /* of the turn that began then */
    } rows;                       /* that watches have made as tables (base/work.h) */
    struct cor_turn_share given;  /* to the controllers: objects of their lists and watches */
    struct cor_turn_share slices; /* of lists and deletions that go on in a later turn */
    struct cor_held_loop held;
    struct cor_protobuf_cache_loop protobuf_cache;
    struct cor_kept_docs_loop kept_docs;
    struct cor_dlist openapi_jobs; /* documents that are being made (openapi_reply.h) */
    size_t ncalls;
    _Atomic uint64_t *watch_events; /* that were sent, by the place of a built-in resource; only the
                                     * loop writes */
};

struct cor_alloc;
struct cor_repair_port;
struct cor_api_cachers;

struct cor_api {
    struct cor_engine *engine;
    struct cor_api_cachers *cachers; /* NULL: reads go to the store */
    struct cor_alloc *alloc;         /* NULL: Services get no addresses and ports (server/alloc/) */
    struct cor_repair_port *repair;  /* of `alloc` */
    const char *path_prefix;
    enum cor_stored_form stored_form;
    struct cor_dynamic_transformers *transformers;
    const struct cor_clock *clock;
    int64_t event_ttl_s;
    bool allow_privileged; /* containers may be privileged */
    int64_t min_request_timeout_s;
    const struct cor_token_table *tokens;
    const struct cor_authorizer *authorizer;
    const struct cor_health_check *checks;
    size_t nchecks;
    struct cor_offload *offload;     /* NULL: everything is done on the loops */
    char *address;                   /* "host:port", for /api; NULL: not known */
    _Atomic uint64_t *decode_errors; /* by the place of a built-in resource: values that could not
                                      * be decoded */
    struct cor_held_account held;
    struct cor_protobuf_cache protobuf_cache;
    struct cor_kept_docs kept_docs; /* OpenAPI */
    struct cor_feed_shares feeds;
    struct cor_creations creations;
    struct cor_ending_namespaces ending_namespaces;
    struct cor_publisher publisher;
    atomic_bool awaits_definitions; /* custom resources may be served that are not known yet */
    size_t nloops;
    struct cor_api_loop loops[];
};

/* The place of a loop among the server's. */
static inline size_t cor_api_loop_index(const struct cor_api_loop *loop)
{
    return (size_t)(loop - loop->api->loops);
}

/* The stores of `resource`, which is stored as it is, on this loop: made at first use, and kept
 * until the loop is released. 0, -COR_ENOMEM. */
int cor_api_backing(struct cor_api_loop *loop, const struct cor_resource_row *resource,
                    struct cor_backing **ret_backing, struct cor_status *reterr_status);

/* A call holds the backing of its resource: that of a custom resource is not freed before
 * cor_api_put_backing(), which the end of the call does. */
static inline void cor_api_hold_backing(struct cor_backing *backing)
{
    backing->ncalls++;
}
void cor_api_put_backing(struct cor_api_loop *loop, struct cor_backing *backing);

/* Makes a store of `resource` for a loop, with all that the stores of a resource have in common:
 * prefix, encryption, metrics. `ret_prefix` is the resource's prefix, which the store borrows; it
 * is set up in any case, and the caller frees it after the store. 0, -COR_ENOMEM. */
int cor_api_store_new(struct cor_api *api, const struct cor_resource_row *resource,
                      struct cor_loop *loop, struct cor_buf *ret_prefix,
                      struct cor_store **ret_store, struct cor_status *reterr_status);

/* Writes a random (version 4) UUID and returns its text, which `out` also ends with a NUL. */
#define COR_UUID_TEXT_MAX 37
struct cor_str cor_api_uuid(struct cor_rand *rand, char out[COR_UUID_TEXT_MAX]);
/* Appends one. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_api_add_uuid(struct cor_rand *rand, struct cor_buf *out);

#endif
