/* One request: on_head gets it without its body, on_request after the last byte of it has arrived.
 * Owner: the connection.  Thread: the connection's loop.
 * Lifetime: that of the response that came with it (http/response.h). A server with an on_head
 * frees the head when that returns: name of the method, target, path, query and headers are empty
 * then. */
#ifndef COR_HTTP_REQUEST_H
#define COR_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/session/header.h"

struct cor_peer;

/* What Kubernetes' verbs are made from; the rest is COR_HTTP_OTHER, with its name in method_name.
 */
enum cor_http_method {
    COR_HTTP_GET,
    COR_HTTP_HEAD,
    COR_HTTP_POST,
    COR_HTTP_PUT,
    COR_HTTP_PATCH,
    COR_HTTP_DELETE,
    COR_HTTP_OPTIONS,
    COR_HTTP_OTHER,
};

/* Not of COR_HTTP_OTHER. */
struct cor_str cor_http_method_name(enum cor_http_method method);

struct cor_http_request {
    enum cor_http_method method;
    struct cor_str method_name; /* "GET" */
    struct cor_str target;      /* as sent */
    struct cor_str path;        /* starts with '/'; still percent-encoded (http/url.h) */
    struct cor_str query;       /* without '?'; still encoded; p == NULL when there was no '?' */
    const struct cor_http_header *headers;
    size_t nheaders;
    struct cor_str body; /* at most the server's body_max */
    const struct cor_peer
        *peer; /* the sender: certificate, Unix credentials, address (net/stream/peer.h) */
    uint64_t received_us; /* monotonic, when the head was complete; for latencies */
    unsigned loop;        /* which of the server's loops: index of cor_http_server_opts.loops */
};

/* The first header of that name, compared without case; p == NULL when absent. */
struct cor_str cor_http_request_header(const struct cor_http_request *req, struct cor_str name);

#endif
