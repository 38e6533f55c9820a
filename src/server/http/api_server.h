/* The API server as HTTP clients see it: authentication, authorization, limits of requests in
 * flight, and then the REST API; with metrics about all of them.
 *
 * Made and freed on one thread while the loops are idle; requests run on their connection's loop.
 * Owner: its maker. */
#ifndef COR_SERVER_HTTP_API_SERVER_H
#define COR_SERVER_HTTP_API_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "http/http_server.h"
#include "meta/status/status.h"
#include "server/access/authenticator.h"
#include "server/api/api.h"
#include "server/metrics/metrics.h"

struct cor_delegation;
struct cor_aggregator;
struct cor_server;

struct cor_server_opts {
    struct cor_api *api;           /* must outlive the server; made for the same loops */
    struct cor_metrics *metrics;   /* likewise; with a shard for each loop */
    struct cor_loop *const *loops; /* copied */
    size_t nloops;
    struct cor_authenticator authenticator;
    struct cor_delegation *delegation;  /* must outlive the server; NULL: nothing is delegated */
    struct cor_aggregator *aggregator;  /* must outlive the server; NULL: nothing is proxied */
    uint64_t reading_max, mutating_max; /* places of server/http/flight.h; 0: no limit */
    struct cor_http_limits limits;
};

/* 0, -COR_ENOMEM, -COR_EIO. */
int cor_server_new(const struct cor_server_opts *opts, struct cor_server **ret_server);

/* As cor_http_server_free(). */
struct cor_server *cor_server_free(struct cor_server *server);
COR_DEFINE_CLEANUP(struct cor_server, cor_server_free)

/* The HTTP server: the caller makes it listen, and closes it. */
struct cor_http_server *cor_server_http(struct cor_server *server);

#endif
