/* The families about requests. A request's labels are found by their places in tables, and the
 * series of the last label sets are remembered per shard (memos), so that the usual request makes
 * no label text and no lookup. Only names of the catalog become labels: what clients make up
 * must not fill the memory. A series that cannot be made is not counted.
 * Thread: the shard's loop. */
#include "server/metrics/request_metrics.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

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
/* Without the two smallest buckets. Nothing is to be subtracted: there are no webhooks and no
 * queues in which a request would wait. */
static const struct cor_metric_desc sli_duration = {
    .name = "apiserver_request_sli_duration_seconds",
    .help = "Response latency distribution (not counting webhook duration and priority & fairness "
            "queue wait times) in seconds for each verb, group, version, resource, subresource, "
            "scope and component.",
    .type = COR_METRIC_HISTOGRAM,
    .scale = 1000000,
    .buckets = duration_buckets + 2,
    .nbuckets = COR_ARRAY_LEN(duration_buckets) - 2};
static const struct cor_metric_desc duration = {
    .name = "apiserver_request_duration_seconds",
    .help = "Response latency distribution in seconds for each verb, dry run value, group, "
            "version, resource, subresource, scope and component.",
    .type = COR_METRIC_HISTOGRAM,
    .scale = 1000000,
    .buckets = duration_buckets,
    .nbuckets = COR_ARRAY_LEN(duration_buckets),
    .also = &sli_duration};
static const uint64_t size_buckets[] = {1000,     10000,     100000,    1000000,
                                        10000000, 100000000, 1000000000};
static const struct cor_metric_desc sizes = {
    .name = "apiserver_response_sizes",
    .help = "Response size distribution in bytes for each group, version, verb, resource, "
            "subresource, scope and component.",
    .type = COR_METRIC_HISTOGRAM,
    .buckets = size_buckets,
    .nbuckets = COR_ARRAY_LEN(size_buckets)};
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

int cor_request_metrics_init(struct cor_request_metrics *rm, struct cor_metrics *metrics,
                             size_t nshards)
{
    int r;

    assert(nshards > 0);
    rm->nshards = nshards;
    rm->memos = cor_calloc(nshards, sizeof(*rm->memos));
    if (!rm->memos)
        return -COR_ENOMEM;
    r = cor_metrics_add(metrics, &total, &rm->total);
    if (r == 0)
        r = cor_metrics_add(metrics, &duration, &rm->duration);
    if (r == 0)
        r = cor_metrics_add(metrics, &sizes, &rm->sizes);
    if (r == 0)
        r = cor_metrics_add(metrics, &long_running, &rm->long_running);
    if (r == 0)
        r = cor_metrics_add(metrics, &terminations, &rm->terminations);
    return r == 0 ? cor_metrics_add(metrics, &aborts, &rm->aborts) : r;
}

void cor_request_metrics_deinit(struct cor_request_metrics *rm)
{
    rm->memos = cor_free(rm->memos);
}

static struct cor_str verb_label(const struct cor_request_info *info, struct cor_str method)
{
    static const struct cor_str names[] = {
        [COR_API_VERB_CREATE] = {"POST", 4},
        [COR_API_VERB_DELETE] = {"DELETE", 6},
        [COR_API_VERB_DELETECOLLECTION] = {"DELETECOLLECTION", 16},
        [COR_API_VERB_GET] = {"GET", 3},
        [COR_API_VERB_LIST] = {"LIST", 4},
        [COR_API_VERB_PATCH] = {"PATCH", 5},
        [COR_API_VERB_UPDATE] = {"PUT", 3},
        [COR_API_VERB_WATCH] = {"WATCH", 5},
        [COR_API_VERB_NONE] = {"other", 5}};
    static const struct cor_str methods[] = {{"GET", 3},   {"POST", 4},   {"PUT", 3},
                                             {"PATCH", 5}, {"DELETE", 6}, {"HEAD", 4}};

    if (info->is_resource)
        return names[info->verb];
    for (size_t i = 0; i < COR_ARRAY_LEN(methods); i++)
        if (cor_str_eq(method, methods[i]))
            return methods[i];
    return names[COR_API_VERB_NONE];
}

static struct cor_str scope_label(const struct cor_request_info *info)
{
    if (!info->is_resource)
        return COR_STR("");
    if (info->name.n || info->verb == COR_API_VERB_CREATE)
        return COR_STR("resource");
    return info->ns.n ? COR_STR("namespace") : COR_STR("cluster");
}

static struct cor_request_labels request_labels_of(const struct cor_request_info *info,
                                                   const struct cor_resource_row *res,
                                                   struct cor_str method)
{
    return (struct cor_request_labels){
        .verb = verb_label(info, method),
        .scope = scope_label(info),
        .res = res,
        .sub = res && info->subresource.n ? cor_api_subresource(res, info->subresource) : NULL};
}

static int add_labels(struct cor_buf *out, const struct cor_request_labels *labels)
{
    const struct cor_resource_row *res = labels->res;
    int r = cor_metric_label(out, "verb", labels->verb);

    if (r == 0)
        r = cor_metric_label(out, "group", res ? res->group : COR_STR(""));
    if (r == 0)
        r = cor_metric_label(out, "version", res ? res->version : COR_STR(""));
    if (r == 0)
        r = cor_metric_label(out, "resource", res ? res->plural : COR_STR(""));
    if (r == 0)
        r = cor_metric_label(out, "subresource", cor_strz(labels->sub ? labels->sub->name : ""));
    if (r == 0)
        r = cor_metric_label(out, "scope", labels->scope);
    return r == 0 ? cor_metric_label(out, "component", COR_STR("apiserver")) : r;
}

static int add_code(struct cor_buf *labels, int code)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", code);
    return cor_metric_label(labels, "code", cor_strz(text));
}

/* The texts of verb and scope are literals: equal addresses mean equal labels. */
static bool is_same_labels(const struct cor_request_labels *a, const struct cor_request_labels *b)
{
    return a->verb.p == b->verb.p && a->scope.p == b->scope.p && a->res == b->res &&
           a->sub == b->sub && a->is_dry_run == b->is_dry_run && a->code == b->code;
}

static struct cor_request_memo *memo_at(struct cor_request_metrics *rm, size_t shard,
                                        const struct cor_request_labels *labels)
{
    uintptr_t h = (uintptr_t)labels->res / sizeof(*labels->res) + (uintptr_t)labels->sub +
                  (uintptr_t)labels->verb.p + (uintptr_t)labels->scope.p * 7 +
                  (unsigned)labels->code;

    return &rm->memos[shard][h % COR_REQUEST_MEMOS];
}

/* Finds or makes the series. Only reads of a resource have sizes. */
static void memo_fill(struct cor_request_metrics *rm, size_t shard,
                      const struct cor_request_labels *labels, struct cor_request_memo *memo)
{
    bool is_read =
        labels->res && (cor_str_eqz(labels->verb, "GET") || cor_str_eqz(labels->verb, "LIST"));
    struct cor_buf text;
    int r;

    *memo = (struct cor_request_memo){.labels = *labels};
    cor_buf_init(&text, COR_METRIC_LABELS_MAX);
    r = add_labels(&text, labels);
    if (r == 0 && is_read)
        memo->sizes = cor_metric_series(rm->sizes, shard, cor_buf_str(&text));
    if (r == 0)
        r = cor_metric_label(&text, "dry_run", cor_strz(labels->is_dry_run ? "All" : ""));
    if (r == 0)
        memo->duration = cor_metric_series(rm->duration, shard, cor_buf_str(&text));
    if (r == 0 && add_code(&text, labels->code) == 0)
        memo->total = cor_metric_series(rm->total, shard, cor_buf_str(&text));
    cor_buf_deinit(&text);
}

/* Adds `delta` to the series with these labels, and with the code unless it is 0. */
static void count_labels(struct cor_metric *metric, size_t shard,
                         const struct cor_request_labels *labels, int code, int delta)
{
    struct cor_buf text;

    cor_buf_init(&text, COR_METRIC_LABELS_MAX);
    if (add_labels(&text, labels) == 0 && (code == 0 || add_code(&text, code) == 0))
        cor_series_add(cor_metric_series(metric, shard, cor_buf_str(&text)), delta);
    cor_buf_deinit(&text);
}

void cor_request_metrics_done(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info,
                              const struct cor_resource_row *res, struct cor_str method,
                              bool is_dry_run, int code, uint64_t duration_us, uint64_t bytes)
{
    struct cor_request_labels labels = request_labels_of(info, res, method);
    struct cor_request_memo *memo, once = {.total = NULL};

    if (code == 0) {
        count_labels(rm->aborts, shard, &labels, 0, 1);
        return;
    }
    labels.is_dry_run = is_dry_run;
    labels.code = code;
    /* Nothing is remembered of a row that may be freed: another one at its address would pass for
     * it. */
    memo = res && res->life ? &once : memo_at(rm, shard, &labels);
    if (!memo->total || !is_same_labels(&memo->labels, &labels))
        memo_fill(rm, shard, &labels, memo);
    cor_series_observe(memo->duration, duration_us);
    cor_series_observe(memo->sizes, bytes);
    cor_series_add(memo->total, 1);
}

void cor_request_metrics_long(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info,
                              const struct cor_resource_row *res, int delta)
{
    struct cor_request_labels labels = request_labels_of(info, res, COR_STR("GET"));

    assert(delta == 1 || delta == -1);
    count_labels(rm->long_running, shard, &labels, 0, delta);
}

void cor_request_metrics_refused(struct cor_request_metrics *rm, size_t shard,
                                 const struct cor_request_info *info,
                                 const struct cor_resource_row *res, struct cor_str method,
                                 int code)
{
    struct cor_request_labels labels = request_labels_of(info, res, method);

    assert(code >= 400);
    count_labels(rm->terminations, shard, &labels, code, 1);
}
