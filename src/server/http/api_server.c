/* The API server over HTTP: makes the HTTP server whose handlers are exchange.c's, with what all
 * exchanges share, and writes what the HTTP layer refuses by itself as a Status. */
#include "server/http/api_server.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/http/api_server_int.h"
#include "server/http/exchange.h"

/* Upstream's words for what the HTTP layer refuses by itself. */
static void describe_error(int code, const char *message, struct cor_status *st)
{
    switch (code) {
    case 504:
        (void)cor_status_timeout(st, 0, "%s", message);
        break;
    case 413:
        (void)cor_status_set(st, -COR_ETOOBIG, "Request entity too large: limit is %u",
                             COR_BODY_BYTES_MAX);
        break;
    default:
        (void)cor_status_set(st, code >= 500 ? -COR_EINTERNAL : -COR_EINVAL, "%s", message);
        st->code = code;
    }
}

static const char *on_error(const struct cor_http_request *req, int code, const char *message,
                            struct cor_buf *out, void *arg)
{
    struct cor_status st;
    int r;

    cor_status_init(&st);
    describe_error(code, message, &st);
    r = cor_status_write(&st, out);
    cor_status_deinit(&st);
    return r == 0 ? "application/json" : NULL;
}

int cor_server_new(const struct cor_server_opts *opts, struct cor_server **ret_server)
{
    COR_CLEANUP(cor_server_freep) struct cor_server *s = cor_calloc(1, sizeof(*s));
    struct cor_http_server_opts http_opts = {.loops = opts->loops,
                                             .nloops = opts->nloops,
                                             .limits = opts->limits,
                                             .on_head = cor_exchange_on_head,
                                             .on_request = cor_exchange_on_request,
                                             .on_error = on_error,
                                             .arg = s};
    int r;

    assert(opts->api && opts->metrics && opts->nloops > 0 && opts->nloops <= COR_API_LOOPS_MAX);
    if (!s)
        return -COR_ENOMEM;
    s->api = opts->api;
    s->aggregator = opts->aggregator;
    s->metrics = opts->metrics;
    s->authenticator = opts->authenticator;
    s->delegation = opts->delegation;
    assert(opts->delegation || !opts->authenticator.asks_delegate);
    cor_flight_init(&s->reading, opts->reading_max);
    cor_flight_init(&s->mutating, opts->mutating_max);
    s->request_timeout_ms =
        opts->limits.request_timeout_ms ? opts->limits.request_timeout_ms : COR_REQUEST_TIMEOUT_MS;
    r = cor_http_server_new(&http_opts, &s->http);
    if (r == 0)
        r = cor_server_add_metrics(s, opts->nloops);
    if (r < 0)
        return r;
    *ret_server = COR_STEAL(s);
    return 0;
}

struct cor_server *cor_server_free(struct cor_server *server)
{
    if (!server)
        return NULL;
    cor_http_server_free(server->http);
    cor_request_metrics_deinit(&server->request_metrics);
    return cor_free(server);
}

struct cor_http_server *cor_server_http(struct cor_server *server)
{
    return server->http;
}
