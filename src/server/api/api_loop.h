/* What the rooms above the API work with: what it was made with, what all its loops share, and the
 * part of it that belongs to one loop. The rest is server/api/'s own (api_int.h).
 *
 * Owner: the API.  Thread: the settings never change; a loop's part is its loop's. */
#ifndef COR_SERVER_API_LOOP_H
#define COR_SERVER_API_LOOP_H

#include "base/rand.h"
#include "loop/loop.h"
#include "loop/turns.h"
#include "server/api/api.h"
#include "server/api/backing.h"
#include "server/catalog/served.h"
#include "server/shared/creations.h"
#include "server/shared/ending_namespaces.h"
#include "server/shared/frames.h"
#include "server/shared/protobuf_cache.h"
#include "storage/store/feed_shares.h"

struct cor_admission_list;
struct cor_alloc;
struct cor_api_cachers;

/* As given to cor_api_new(), with the defaults filled in. */
struct cor_api_settings {
    struct cor_engine *engine;
    const char *path_prefix;
    enum cor_stored_form stored_form;
    struct cor_dynamic_transformers *transformers;
    const struct cor_clock *clock;
    int64_t event_ttl_s;
    bool allow_privileged; /* containers may be privileged */
    int64_t min_request_timeout_s;
    const struct cor_token_table *tokens;
    const struct cor_authorizer *authorizer;
    const struct cor_admission_list *admission; /* NULL: the server's own plugins */
    const struct cor_health_check *checks;
    size_t nchecks;
    struct cor_offload *offload; /* NULL: everything is done on the loops */
};

/* Each thing says itself from which thread it may be used. */
struct cor_api_shared {
    struct cor_api_cachers *cachers; /* NULL: reads go to the store */
    struct cor_alloc *alloc;         /* NULL: Services get no addresses and ports (server/alloc/) */
    struct cor_repair_port *repair;  /* of `alloc` */
    struct cor_protobuf_cache protobuf_cache;
    struct cor_feed_shares feeds;
    struct cor_creations creations;
    struct cor_ending_namespaces ending_namespaces;
    cor_api_remote remote; /* answers for aggregated servers; NULL: nobody does */
    void *remote_arg;
    atomic_bool awaits_definitions; /* custom resources may be served that are not known yet */
};

struct cor_api_loop {
    struct cor_api *api;
    const struct cor_api_settings *settings;
    struct cor_api_shared *shared;
    struct cor_loop *loop;
    size_t index;              /* among the API's loops */
    struct cor_served *served; /* what its requests are routed by */
    struct cor_rand rand;
    struct cor_frames frames;
    struct cor_protobuf_cache_loop protobuf_cache;
    struct {
        uint64_t now_ms, steps;   /* of the turn that began then */
    } rows;                       /* that watches have made as tables (base/work.h) */
    struct cor_turn_share given;  /* to the controllers: objects of their lists and watches */
    struct cor_turn_share slices; /* of lists and deletions that go on in a later turn */
    size_t ncalls;
    _Atomic uint64_t *watch_events; /* that were sent, by the place of a built-in resource; only the
                                     * loop writes */
};

const struct cor_api_settings *cor_api_settings(const struct cor_api *api);
struct cor_api_shared *cor_api_shared(struct cor_api *api);

/* The loop of the server's own work: the first one. */
static inline struct cor_api_loop *cor_api_home(struct cor_api *api)
{
    return cor_api_loop(api, 0);
}

#endif
