#include "server/http/server.h"

#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/http/server_int.h"

#define REQUEST_TIMEOUT_MS (60u * 1000)

static const struct cor_metric_desc resident_desc = {.name = "process_resident_memory_bytes",
                                                     .help = "Resident memory size in bytes.",
                                                     .type = COR_METRIC_GAUGE};
static const struct cor_metric_desc connections_desc = {.name = "coracle_http_connections",
                                                        .help = "Connections that are open now.",
                                                        .type = COR_METRIC_GAUGE};
static const struct cor_metric_desc accepted_desc = {.name =
                                                         "coracle_http_connections_accepted_total",
                                                     .help = "Connections that were accepted.",
                                                     .type = COR_METRIC_COUNTER};
static const struct cor_metric_desc held_desc = {
    .name = "coracle_http_held_bytes",
    .help = "Bytes that are held for clients, by what is known of them.",
    .type = COR_METRIC_GAUGE};
static const struct cor_metric_desc replaced_desc = {
    .name = "coracle_http_connections_replaced_total",
    .help = "Connections that were ended, before they had authenticated, to make room for others.",
    .type = COR_METRIC_COUNTER};
static const struct cor_metric_desc refusals_desc = {
    .name = "coracle_http_refusals_total",
    .help = "Connections, requests and bodies that were refused, by the limit that refused them.",
    .type = COR_METRIC_COUNTER};
static const struct cor_metric_desc inflight_desc = {
    .name = "apiserver_current_inflight_requests",
    .help = "Requests that count against the in-flight limits now, per request kind.",
    .type = COR_METRIC_GAUGE};

/* The second number of the one line: resident pages. */
static uint64_t read_resident(void *arg)
{
    char line[128] = "";
    struct cor_str rest;
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file)
        return 0;
    rest = cor_strz(fgets(line, sizeof(line), file));
    (void)fclose(file);
    cor_str_cut(&rest, ' ');
    if (cor_str_to_u64(cor_str_cut(&rest, ' '), &pages) < 0)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t read_connections(void *arg)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(((struct cor_server *)arg)->http, &stats);
    return stats.connections;
}

static uint64_t read_accepted(void *arg)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(((struct cor_server *)arg)->http, &stats);
    return stats.accepted;
}

static uint64_t read_replaced(void *arg)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(((struct cor_server *)arg)->http, &stats);
    return stats.replaced;
}

static uint64_t read_held(void *arg)
{
    const struct cor_server_figure *figure = arg;
    struct cor_http_server_stats stats;
    uint64_t below;

    cor_http_server_stats(figure->server->http, &stats);
    below = figure->index > 0 ? stats.held[figure->index - 1] : 0;
    /* A loop that charges bytes adds them to the lower rank first. */
    return stats.held[figure->index] > below ? stats.held[figure->index] - below : 0;
}

static uint64_t read_refusals(void *arg)
{
    const struct cor_server_figure *figure = arg;
    struct cor_http_server_stats stats;

    cor_http_server_stats(figure->server->http, &stats);
    return stats.refusals[figure->index];
}

static uint64_t read_reading(void *arg)
{
    return atomic_load(&((struct cor_server *)arg)->reading.nplaces);
}

static uint64_t read_mutating(void *arg)
{
    return atomic_load(&((struct cor_server *)arg)->mutating.nplaces);
}

static int add_read(struct cor_server *s, const struct cor_metric_desc *desc,
                    uint64_t (*read)(void *arg))
{
    struct cor_metric *metric;
    int r = cor_metrics_add(s->metrics, desc, &metric);

    return r == 0 ? cor_metric_add_read(metric, "", read, s) : r;
}

static const char *const held_labels[COR_HTTP_NRANKS] = {
    [COR_HTTP_UNKNOWN] = "sender=\"unauthenticated\"",
    [COR_HTTP_USER] = "sender=\"user\"",
    [COR_HTTP_MASTER] = "sender=\"master\"",
};

/* NULL: masters have no limit of their own. */
static const char *const refusal_labels[COR_BUDGET_NLIMITS] = {
    [COR_BUDGET_CONNECTION_BYTES] = "limit=\"connection_bytes\"",
    [COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_UNKNOWN] = "limit=\"address_bytes\"",
    [COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_USER] = "limit=\"user_bytes\"",
    [COR_BUDGET_POOL_BYTES + COR_HTTP_UNKNOWN] = "limit=\"unauthenticated_bytes\"",
    [COR_BUDGET_POOL_BYTES + COR_HTTP_USER] = "limit=\"users_bytes\"",
    [COR_BUDGET_POOL_BYTES + COR_HTTP_MASTER] = "limit=\"all_bytes\"",
    [COR_BUDGET_ACCOUNT_CONNECTIONS + COR_HTTP_UNKNOWN] = "limit=\"address_connections\"",
    [COR_BUDGET_ACCOUNT_CONNECTIONS + COR_HTTP_USER] = "limit=\"user_connections\"",
    [COR_BUDGET_POOL_CONNECTIONS + COR_HTTP_UNKNOWN] = "limit=\"unauthenticated_connections\"",
    [COR_BUDGET_POOL_CONNECTIONS + COR_HTTP_USER] = "limit=\"users_connections\"",
};

/* A family with a series for each label; the figures must stay. */
static int add_figures(struct cor_server *s, const struct cor_metric_desc *desc,
                       const char *const labels[], size_t n, struct cor_server_figure *figures,
                       uint64_t (*read)(void *arg))
{
    struct cor_metric *metric;
    int r = cor_metrics_add(s->metrics, desc, &metric);

    for (size_t i = 0; i < n && r == 0; i++) {
        figures[i] = (struct cor_server_figure){.server = s, .index = i};
        if (labels[i])
            r = cor_metric_add_read(metric, labels[i], read, &figures[i]);
    }
    return r;
}

static int add_metrics(struct cor_server *s, size_t nloops)
{
    struct cor_metric *inflight;
    int r = cor_request_metrics_init(&s->request_metrics, s->metrics, nloops);

    if (r == 0)
        r = cor_metrics_add(s->metrics, &inflight_desc, &inflight);
    if (r == 0)
        r = cor_metric_add_read(inflight, "request_kind=\"readOnly\"", read_reading, s);
    if (r == 0)
        r = cor_metric_add_read(inflight, "request_kind=\"mutating\"", read_mutating, s);
    if (r == 0)
        r = add_read(s, &connections_desc, read_connections);
    if (r == 0)
        r = add_read(s, &accepted_desc, read_accepted);
    if (r == 0)
        r = add_read(s, &replaced_desc, read_replaced);
    if (r == 0)
        r = add_figures(s, &held_desc, held_labels, COR_HTTP_NRANKS, s->held, read_held);
    if (r == 0)
        r = add_figures(s, &refusals_desc, refusal_labels, COR_BUDGET_NLIMITS, s->refusals,
                        read_refusals);
    return r == 0 ? add_read(s, &resident_desc, read_resident) : r;
}

/* Upstream's words for what the HTTP layer refuses by itself. */
static void describe_error(int code, const char *message, struct cor_status *st)
{
    switch (code) {
    case 504:
        (void)cor_status_timeout(st, 0, "%s", message);
        break;
    case 413:
        (void)cor_status_set(st, -COR_ETOOBIG, "Request entity too large: limit is 3145728");
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
                                             .on_head = cor_server_on_head,
                                             .on_request = cor_server_on_request,
                                             .on_error = on_error,
                                             .arg = s};
    int r;

    if (!s)
        return -COR_ENOMEM;
    s->api = opts->api;
    s->metrics = opts->metrics;
    s->authenticator = opts->authenticator;
    s->authz_mode = opts->authz_mode;
    cor_flight_init(&s->reading, opts->reading_max);
    cor_flight_init(&s->mutating, opts->mutating_max);
    s->request_timeout_ms =
        opts->limits.request_timeout_ms ? opts->limits.request_timeout_ms : REQUEST_TIMEOUT_MS;
    r = cor_http_server_new(&http_opts, &s->http);
    if (r == 0)
        r = add_metrics(s, opts->nloops);
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
