#include "server/request_metrics.h"

#include <stdio.h>

#include "base/err.h"

/* Microseconds. */
static const uint64_t duration_buckets[] = {
    5000,    25000,    50000,    100000,   200000,   400000,   600000,  800000,
    1000000, 1250000,  1500000,  2000000,  3000000,  4000000,  5000000, 6000000,
    8000000, 10000000, 15000000, 20000000, 30000000, 45000000, 60000000};

static const struct cor_metric_desc total = {
    .name = "apiserver_request_total",
    .help = "Counter of apiserver requests broken out for each verb, dry run value, group, "
            "version, resource, scope, component, and HTTP response code.",
    .type = COR_METRIC_COUNTER};
static const struct cor_metric_desc duration = {
    .name = "apiserver_request_duration_seconds",
    .help = "Response latency distribution in seconds for each verb, dry run value, group, "
            "version, resource, subresource, scope and component.",
    .type = COR_METRIC_HISTOGRAM,
    .scale = 1000000,
    .buckets = duration_buckets,
    .nbuckets = COR_ARRAY_LEN(duration_buckets)};
static const struct cor_metric_desc long_running = {
    .name = "apiserver_longrunning_requests",
    .help = "Gauge of all active long-running apiserver requests broken out by verb, group, "
            "version, resource, scope and component.",
    .type = COR_METRIC_GAUGE};
static const struct cor_metric_desc terminations = {
    .name = "apiserver_request_terminations_total",
    .help = "Number of requests which apiserver terminated in self-defense.",
    .type = COR_METRIC_COUNTER};
static const struct cor_metric_desc aborts = {
    .name = "apiserver_request_aborts_total",
    .help = "Number of requests whose client went away or was cut before the end of the answer.",
    .type = COR_METRIC_COUNTER};

int cor_request_metrics_init(struct cor_request_metrics *rm, struct cor_metrics *metrics)
{
    int r = cor_metrics_add(metrics, &total, &rm->total);

    if (r == 0)
        r = cor_metrics_add(metrics, &duration, &rm->duration);
    if (r == 0)
        r = cor_metrics_add(metrics, &long_running, &rm->long_running);
    if (r == 0)
        r = cor_metrics_add(metrics, &terminations, &rm->terminations);
    return r == 0 ? cor_metrics_add(metrics, &aborts, &rm->aborts) : r;
}

static struct cor_str verb_label(const struct cor_request_info *info, struct cor_str method)
{
    static const struct cor_str names[] = {[COR_VERB_CREATE] = {"POST", 4},
                                           [COR_VERB_DELETE] = {"DELETE", 6},
                                           [COR_VERB_DELETECOLLECTION] = {"DELETECOLLECTION", 16},
                                           [COR_VERB_GET] = {"GET", 3},
                                           [COR_VERB_LIST] = {"LIST", 4},
                                           [COR_VERB_PATCH] = {"PATCH", 5},
                                           [COR_VERB_UPDATE] = {"PUT", 3},
                                           [COR_VERB_WATCH] = {"WATCH", 5},
                                           [COR_VERB_NONE] = {"other", 5}};
    static const struct cor_str methods[] = {{"GET", 3},   {"POST", 4},   {"PUT", 3},
                                             {"PATCH", 5}, {"DELETE", 6}, {"HEAD", 4}};

    if (info->is_resource)
        return names[info->verb];
    for (size_t i = 0; i < COR_ARRAY_LEN(methods); i++)
        if (cor_str_eq(method, methods[i]))
            return methods[i];
    return names[COR_VERB_NONE];
}

static struct cor_str scope_label(const struct cor_request_info *info)
{
    if (!info->is_resource)
        return COR_STR("");
    if (info->name.n || info->verb == COR_VERB_CREATE)
        return COR_STR("resource");
    return info->ns.n ? COR_STR("namespace") : COR_STR("cluster");
}

/* Only names of the table become labels: what clients make up must not fill the memory. */
static int add_labels(struct cor_buf *labels, const struct cor_request_info *info,
                      struct cor_str method)
{
    const struct cor_api_resource *res =
        info->is_resource ? cor_api_builtin(info->group, info->version, info->resource) : NULL;
    const struct cor_api_subresource *sub =
        res && info->subresource.n ? cor_api_subresource(res, info->subresource) : NULL;
    int r = cor_metric_label(labels, "verb", verb_label(info, method));

    if (r == 0)
        r = cor_metric_label(labels, "group", res ? res->group : COR_STR(""));
    if (r == 0)
        r = cor_metric_label(labels, "version", res ? res->version : COR_STR(""));
    if (r == 0)
        r = cor_metric_label(labels, "resource", res ? res->plural : COR_STR(""));
    if (r == 0)
        r = cor_metric_label(labels, "subresource", cor_strz(sub ? sub->name : ""));
    if (r == 0)
        r = cor_metric_label(labels, "scope", scope_label(info));
    return r == 0 ? cor_metric_label(labels, "component", COR_STR("apiserver")) : r;
}

static int add_code(struct cor_buf *labels, int code)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", code);
    return cor_metric_label(labels, "code", cor_strz(text));
}

void cor_request_metrics_done(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info, struct cor_str method,
                              bool is_dry_run, int code, uint64_t duration_us)
{
    struct cor_buf labels;
    int r;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    r = add_labels(&labels, info, method);
    if (r == 0 && code == 0)
        cor_series_add(cor_metric_series(rm->aborts, shard, cor_buf_str(&labels)), 1);
    if (r == 0)
        r = cor_metric_label(&labels, "dry_run", cor_strz(is_dry_run ? "All" : ""));
    if (r == 0 && code > 0) {
        cor_series_observe(cor_metric_series(rm->duration, shard, cor_buf_str(&labels)),
                           duration_us);
        if (add_code(&labels, code) == 0)
            cor_series_add(cor_metric_series(rm->total, shard, cor_buf_str(&labels)), 1);
    }
    cor_buf_deinit(&labels);
}

void cor_request_metrics_long(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info, int delta)
{
    struct cor_buf labels;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    if (add_labels(&labels, info, COR_STR("GET")) == 0)
        cor_series_add(cor_metric_series(rm->long_running, shard, cor_buf_str(&labels)), delta);
    cor_buf_deinit(&labels);
}

void cor_request_metrics_refused(struct cor_request_metrics *rm, size_t shard,
                                 const struct cor_request_info *info, struct cor_str method,
                                 int code)
{
    struct cor_buf labels;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    if (add_labels(&labels, info, method) == 0 && add_code(&labels, code) == 0)
        cor_series_add(cor_metric_series(rm->terminations, shard, cor_buf_str(&labels)), 1);
    cor_buf_deinit(&labels);
}
