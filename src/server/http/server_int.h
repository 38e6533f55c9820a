/* Inside the server: what all requests share. */
#ifndef COR_SERVER_SERVER_INT_H
#define COR_SERVER_SERVER_INT_H

#include "server/http/flight.h"
#include "server/http/server.h"
#include "server/metrics/request_metrics.h"

/* One of several figures of a kind, for a metric that reads it. */
struct cor_server_figure {
    const struct cor_server *server;
    size_t index;
};

struct cor_server {
    struct cor_http_server *http;
    struct cor_api *api;
    struct cor_metrics *metrics;
    struct cor_request_metrics request_metrics;
    struct cor_authenticator authenticator;
    enum cor_authz_mode authz_mode;
    uint64_t request_timeout_ms;
    struct cor_flight reading, mutating;
    struct cor_server_figure held[COR_HTTP_NRANKS], refusals[COR_BUDGET_NLIMITS];
};

/* The handlers of the HTTP server: exchange.c. */
void cor_server_on_head(const struct cor_http_request *req, struct cor_http_response *resp,
                        void *arg);
void cor_server_on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                           void *arg);

#endif
