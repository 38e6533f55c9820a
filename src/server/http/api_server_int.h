/* Inside the server: what all exchanges share.
 * Thread: set before the loops start; afterwards read by all loops. `reading`, `mutating` and the
 * metrics change by atomics. */
#ifndef COR_SERVER_HTTP_API_SERVER_INT_H
#define COR_SERVER_HTTP_API_SERVER_INT_H

#include "server/http/api_server.h"
#include "server/http/flight.h"
#include "server/metrics/request_metrics.h"

struct cor_server {
    struct cor_http_server *http;
    struct cor_api *api;
    struct cor_aggregator *aggregator;
    struct cor_metrics *metrics;
    struct cor_request_metrics request_metrics;
    struct cor_authenticator authenticator;
    struct cor_delegation *delegation; /* NULL: nothing is delegated */
    uint64_t request_timeout_ms;
    struct cor_flight reading, mutating;
};

/* Adds the families of server_metrics.c and of requests, before the loops start. 0, -COR_ENOMEM. */
int cor_server_add_metrics(struct cor_server *server, size_t nloops);

#endif
