/* The families of metrics about the HTTP server: connections, what is held for senders, refusals,
 * requests in flight, and with them those of the process. A scrape reads the figures when it is
 * written, from the thread of the scrape; the figures are atomics of the HTTP server. */
#include <assert.h>

#include "server/api/kube_version.h"
#include "server/http/api_server_int.h"
#include "server/metrics/process_metrics.h"

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

/* There is no queue: a request that finds no place is refused. */
static const struct cor_metric_desc inqueue_desc = {
    .name = "apiserver_current_inqueue_requests",
    .help = "Maximal number of queued requests in this apiserver per request kind in last second.",
    .type = COR_METRIC_GAUGE};
static const struct cor_metric_desc build_desc = {
    .name = "kubernetes_build_info",
    .help = "A metric with a constant '1' value labeled by major, minor, git version, git commit, "
            "git tree state, build date, Go version, and compiler from which Kubernetes was built, "
            "and platform on which it is running.",
    .type = COR_METRIC_GAUGE};
static const struct cor_metric_desc version_desc = {
    .name = "version_info",
    .help = "Provides the compatibility version info of the component.",
    .type = COR_METRIC_GAUGE};

static uint64_t read_zero(void *arg)
{
    return 0;
}

static uint64_t read_one(void *arg)
{
    return 1;
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

/* One series for each rank of senders. What a rank holds is what it and the lower ranks hold
 * together, less what the lower ranks hold. */
static void collect_held(void *arg, struct cor_metric_out *to)
{
    static const char *const labels[COR_HTTP_NRANKS] = {
        [COR_HTTP_UNKNOWN] = "sender=\"unauthenticated\"",
        [COR_HTTP_USER] = "sender=\"user\"",
        [COR_HTTP_MASTER] = "sender=\"master\"",
    };
    struct cor_http_server_stats stats;
    uint64_t below = 0;

    cor_http_server_stats(((struct cor_server *)arg)->http, &stats);
    for (size_t rank = 0; rank < COR_HTTP_NRANKS; rank++) {
        /* A loop that charges bytes adds them to the lower rank first, so that the lower sum may be
         * larger for a moment. */
        cor_metric_put(to, cor_strz(labels[rank]),
                       stats.held[rank] > below ? stats.held[rank] - below : 0);
        below = stats.held[rank];
    }
}

static void collect_refusals(void *arg, struct cor_metric_out *to)
{
    /* NULL: senders of system:masters have no limit of their own. */
    static const char *const labels[COR_BUDGET_NLIMITS] = {
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
    struct cor_http_server_stats stats;

    cor_http_server_stats(((struct cor_server *)arg)->http, &stats);
    for (size_t i = 0; i < COR_BUDGET_NLIMITS; i++)
        if (labels[i])
            cor_metric_put(to, cor_strz(labels[i]), stats.refusals[i]);
}

static int add_collect(struct cor_server *s, const struct cor_metric_desc *desc,
                       void (*collect)(void *arg, struct cor_metric_out *to))
{
    struct cor_metric *metric;
    int r = cor_metrics_add(s->metrics, desc, &metric);

    if (r == 0)
        cor_metric_set_collect(metric, collect, s);
    return r;
}

int cor_server_add_metrics(struct cor_server *s, size_t nloops)
{
    static const char build_labels[] =
        "build_date=\"" COR_KUBE_BUILD_DATE "\",compiler=\"" __VERSION__
        "\",git_commit=\"\",git_tree_state=\"clean\",git_version=\"" COR_KUBE_GIT_VERSION
        "\",go_version=\"none\",major=\"" COR_KUBE_MAJOR "\",minor=\"" COR_KUBE_MINOR
        "\",platform=\"" COR_KUBE_PLATFORM "\"";
    static const char version_labels[] =
        "binary=\"" COR_KUBE_MAJOR "." COR_KUBE_MINOR
        "\",component=\"kube\",emulation=\"" COR_KUBE_MAJOR "." COR_KUBE_MINOR
        "\",min_compat=\"" COR_KUBE_MAJOR "." COR_KUBE_COMPAT_MINOR "\"";
    struct cor_metric *inflight, *inqueue, *build, *version;
    int r = cor_request_metrics_init(&s->request_metrics, s->metrics, nloops);

    assert(s->http && s->metrics);
    if (r == 0)
        r = cor_metrics_add(s->metrics, &inflight_desc, &inflight);
    if (r == 0)
        r = cor_metric_add_read(inflight, "request_kind=\"readOnly\"", read_reading, s);
    if (r == 0)
        r = cor_metric_add_read(inflight, "request_kind=\"mutating\"", read_mutating, s);
    if (r == 0)
        r = cor_metrics_add(s->metrics, &inqueue_desc, &inqueue);
    if (r == 0)
        r = cor_metric_add_read(inqueue, "request_kind=\"readOnly\"", read_zero, s);
    if (r == 0)
        r = cor_metric_add_read(inqueue, "request_kind=\"mutating\"", read_zero, s);
    if (r == 0)
        r = cor_metrics_add(s->metrics, &build_desc, &build);
    if (r == 0)
        r = cor_metric_add_read(build, build_labels, read_one, s);
    if (r == 0)
        r = cor_metrics_add(s->metrics, &version_desc, &version);
    if (r == 0)
        r = cor_metric_add_read(version, version_labels, read_one, s);
    if (r == 0)
        r = add_read(s, &connections_desc, read_connections);
    if (r == 0)
        r = add_read(s, &accepted_desc, read_accepted);
    if (r == 0)
        r = add_read(s, &replaced_desc, read_replaced);
    if (r == 0)
        r = add_collect(s, &held_desc, collect_held);
    if (r == 0)
        r = add_collect(s, &refusals_desc, collect_refusals);
    return r == 0 ? cor_process_metrics_add(s->metrics) : r;
}
