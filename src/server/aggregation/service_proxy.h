/* clang-format off */
/* One request of a client that an aggregated API server answers: its head, its body, and the answer go
 * through as streams, and each side waits for the other.
 *
 *   cor_proxied_start ──► the target is ready ──► the call ──► its answer ──► on_over
 *                  └──► refused: answered with a text ──► on_over
 *
 * An upgrade (WebSocket, SPDY) becomes a tunnel for the bytes of both sides, and ends with the first
 * side that ends. Owner: the response, until on_over.  Thread: the response's loop. */
/* clang-format on */
#ifndef COR_SERVER_AGGREGATION_SERVICE_PROXY_H
#define COR_SERVER_AGGREGATION_SERVICE_PROXY_H

#include "http/response.h"
#include "server/aggregation/remote_headers.h"
#include "server/aggregation/target.h"
#include "server/catalog/api_service.h"

/* What a proxied request holds at most beside its response and its connections: the rest of a piece
 * that the client could not take yet. Charged while it is kept. A piece is a window at most, or one
 * read of a socket. */
#define COR_PROXIED_REST_MAX (2 * COR_TARGET_WINDOW)

struct cor_proxied_opts {
    struct cor_targets *targets;
    struct cor_api_service *service;     /* a reference is taken */
    const struct cor_http_request *head; /* read before the start returns */
    struct cor_http_response *response;  /* its body is held back */
    const struct cor_user *user;         /* likewise; who was authorized */
    struct cor_str path;                 /* decoded */
    struct cor_str audit_id;
    const struct cor_remote_names *names;
    bool is_long;            /* it has no deadline */
    bool forwards_redirects; /* an answer 3xx with a Location goes to the client */
    size_t held;             /* what the caller keeps for the response: charged beside our own */
    /* The response is over: the code of the answer (0: none was begun) and the bytes of its body.
     * The proxy is gone when it returns. */
    void (*on_over)(void *arg, int code, uint64_t bytes);
    void *arg;
};

/* Answers the request, now or later; on_over may come before this returns. Takes over the callbacks
 * of the response. */
void cor_proxied_start(const struct cor_proxied_opts *opts);

#endif
