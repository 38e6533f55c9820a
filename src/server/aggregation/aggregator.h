/* What the server needs to pass requests on to aggregated API servers: the settings that all loops
 * share, and on each loop its targets, made with the first request that needs them.
 * Owner: the instance.  Thread: each function says. */
#ifndef COR_SERVER_AGGREGATOR_H
#define COR_SERVER_AGGREGATOR_H

#include "base/cleanup.h"
#include "server/aggregation/remote_headers.h"
#include "server/aggregation/target.h"
#include "server/api/api.h"

struct cor_aggregator;
struct cor_api;

struct cor_aggregator_opts {
    struct cor_api *api;
    size_t nloops;
    const struct cor_target_config *config; /* must stay valid */
    struct cor_remote_names names; /* headers that say who the user is, beside X-Remote-* */
    bool forwards_redirects;
};

/* Before the loops run. 0, -COR_ENOMEM. */
int cor_aggregator_new(const struct cor_aggregator_opts *opts, struct cor_aggregator **ret);

/* After every loop was closed. Returns NULL; NULL is fine. */
struct cor_aggregator *cor_aggregator_free(struct cor_aggregator *ag);

const struct cor_remote_names *cor_aggregator_names(const struct cor_aggregator *ag);
bool cor_aggregator_forwards_redirects(const struct cor_aggregator *ag);

/* On the loop. NULL: no memory. */
struct cor_targets *cor_aggregator_targets(struct cor_aggregator *ag, size_t loop);

/* A cor_api_remote; `aggregator` is the struct cor_aggregator. On the loop. */
void cor_aggregator_answer(void *aggregator, struct cor_api_loop *loop,
                           struct cor_api_service *service,
                           const struct cor_server_request *request, struct cor_sink *sink);

/* On the loop, when no request is proxied any more, once: `on_closed` follows, also before this
 * returns. */
void cor_aggregator_close_loop(struct cor_aggregator *ag, size_t loop, void (*on_closed)(void *arg),
                               void *arg);

#endif
