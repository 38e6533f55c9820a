/* The families of metrics about single watch caches: one series, or one per state, for each
 * resource that has a cache. Nothing is kept here: a scrape asks each cache for its statistics and
 * writes the samples, from the thread of the scrape. A series whose labels cannot be written for
 * want of memory is left out of that scrape. Values that cannot be decoded are counted by the
 * stores, and events that were sent by the watches, with and without a cache. */
#include <assert.h>
#include <stdatomic.h>

#include "server/api/api_cachers.h"
#include "server/api/api_int.h"

#define SAMPLES_MAX 3

/* One figure of a cache's statistics. */
enum figure {
    FIGURE_REV,
    FIGURE_RECEIVED,
    FIGURE_FILLS,
    FIGURE_EVENTS,
    FIGURE_BYTES,
    FIGURE_DELIVERIES,
    FIGURE_EVICTED,
    FIGURE_IDLE,
    FIGURE_LAGGING,
    FIGURE_CHECKS_PASSED,
    FIGURE_CHECKS_FAILED,
    FIGURE_CHECKS_ERRORS,
    FIGURE_OBJECTS,
};

static uint64_t figure_of(const struct cor_cacher_stats *stats, enum figure figure)
{
    switch (figure) {
    case FIGURE_REV:
        return stats->rev;
    case FIGURE_RECEIVED:
        return stats->received;
    case FIGURE_FILLS:
        return stats->fills;
    case FIGURE_EVENTS:
        return stats->window_events;
    case FIGURE_BYTES:
        return stats->window_bytes;
    case FIGURE_DELIVERIES:
        return stats->deliveries;
    case FIGURE_EVICTED:
        return stats->evicted;
    case FIGURE_IDLE:
        return stats->idle;
    case FIGURE_LAGGING:
        return stats->lagging;
    case FIGURE_CHECKS_PASSED:
        return stats->checks_passed;
    case FIGURE_CHECKS_FAILED:
        return stats->checks_failed;
    case FIGURE_CHECKS_ERRORS:
        return stats->checks_errors;
    case FIGURE_OBJECTS:
        return stats->objects;
    }
    return 0;
}

static const struct family {
    struct cor_metric_desc desc;
    struct sample {
        enum figure figure;
        const char *name, *value; /* a label beside group and resource; NULL: none */
    } samples[SAMPLES_MAX];
    size_t nsamples;
    bool has_one_label; /* the resource with its group, "deployments.apps", in one label */
} families[] = {
    {{"apiserver_resource_objects",
      "Number of stored objects at the time of last check split by kind.", COR_METRIC_GAUGE},
     {{FIGURE_OBJECTS, NULL, NULL}},
     1},
    {{"apiserver_storage_objects",
      "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects at "
      "the time of last check split by kind.",
      COR_METRIC_GAUGE},
     {{FIGURE_OBJECTS, NULL, NULL}},
     1,
     true},
    {{"apiserver_watch_cache_resource_version",
      "Current resource version of watch cache broken by resource type.", COR_METRIC_GAUGE},
     {{FIGURE_REV, NULL, NULL}},
     1},
    {{"apiserver_watch_cache_events_received_total",
      "Counter of events received in watch cache broken by resource type.", COR_METRIC_COUNTER},
     {{FIGURE_RECEIVED, NULL, NULL}},
     1},
    {{"apiserver_watch_cache_initializations_total",
      "Counter of watch cache initializations broken by resource type.", COR_METRIC_COUNTER},
     {{FIGURE_FILLS, NULL, NULL}},
     1},
    {{"coracle_watch_cache_window_events", "Events that a watch cache holds.", COR_METRIC_GAUGE},
     {{FIGURE_EVENTS, NULL, NULL}},
     1},
    {{"apiserver_terminated_watchers_total",
      "Counter of watchers closed due to unresponsiveness broken by resource type.",
      COR_METRIC_COUNTER},
     {{FIGURE_EVICTED, NULL, NULL}},
     1},
    {{"coracle_watch_cache_window_bytes", "What the events of a watch cache hold.",
      COR_METRIC_GAUGE},
     {{FIGURE_BYTES, NULL, NULL}},
     1},
    {{"coracle_watch_cache_deliveries_total", "Events that were given to watchers.",
      COR_METRIC_COUNTER},
     {{FIGURE_DELIVERIES, NULL, NULL}},
     1},
    {{"coracle_watchers",
      "Watchers that have seen everything (idle), or wait for their client to read (lagging).",
      COR_METRIC_GAUGE},
     {{FIGURE_IDLE, "state", "idle"}, {FIGURE_LAGGING, "state", "lagging"}},
     2},
    {{"apiserver_storage_consistency_checks_total",
      "Counter for status of consistency checks between etcd and watch cache", COR_METRIC_COUNTER},
     {{FIGURE_CHECKS_PASSED, "status", "success"},
      {FIGURE_CHECKS_FAILED, "status", "failure"},
      {FIGURE_CHECKS_ERRORS, "status", "error"}},
     3},
};

/* Adds the labels that name a resource. 0, -COR_ENOMEM. */
static int add_resource_labels(struct cor_buf *labels, const struct cor_resource_row *resource,
                               bool has_one_label)
{
    int r;

    if (has_one_label)
        return cor_buf_addf(labels, "resource=\"%.*s%s%.*s\"", COR_STR_ARG(resource->plural),
                            resource->group.n > 0 ? "." : "", COR_STR_ARG(resource->group));
    r = cor_metric_label(labels, "group", resource->group);
    return r == 0 ? cor_metric_label(labels, "resource", resource->plural) : r;
}

static void put_sample(struct cor_metric_out *to, const struct cor_resource_row *resource,
                       const struct family *family, const struct sample *sample,
                       const struct cor_cacher_stats *stats)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;
    int r;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    r = add_resource_labels(&labels, resource, family->has_one_label);
    if (r == 0 && sample->name)
        r = cor_metric_label(&labels, sample->name, cor_strz(sample->value));
    if (r == 0)
        cor_metric_put(to, cor_buf_str(&labels), figure_of(stats, sample->figure));
}

static void collect_family(void *arg, struct cor_metric_out *to)
{
    const struct cor_api *api = arg;
    const struct family *family =
        COR_CONTAINER_OF(cor_metric_out_desc(to), const struct family, desc);

    const struct cor_resource_row *row;

    for (size_t i = 0;; i++) {
        struct cor_cacher *cacher = cor_api_cachers_at(api->shared.cachers, i, &row);
        struct cor_cacher_stats stats;

        if (!row)
            break;
        if (!cacher)
            continue;
        stats = cor_cacher_stats(cacher);
        for (size_t j = 0; j < family->nsamples; j++)
            put_sample(to, row, family, &family->samples[j], &stats);
    }
}

static void collect_decode_errors(void *arg, struct cor_metric_out *to)
{
    const struct cor_api *api = arg;
    size_t nrows;
    const struct cor_resource_row *rows = cor_api_builtins(&nrows);

    for (size_t i = 0; i < nrows; i++) {
        uint64_t n = atomic_load(&api->decode_errors[i]);
        COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;

        cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
        if (n > 0 && cor_metric_label(&labels, "group", rows[i].group) == 0 &&
            cor_metric_label(&labels, "resource", rows[i].plural) == 0)
            cor_metric_put(to, cor_buf_str(&labels), n);
    }
}

static void collect_watch_events(void *arg, struct cor_metric_out *to)
{
    const struct cor_api *api = arg;
    size_t nrows;
    const struct cor_resource_row *rows = cor_api_builtins(&nrows);

    for (size_t i = 0; i < nrows; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;
        uint64_t n = 0;

        for (size_t l = 0; l < api->nloops; l++)
            n += atomic_load_explicit(&api->parts[l].loop.watch_events[i], memory_order_relaxed);
        cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
        if (n > 0 && add_resource_labels(&labels, &rows[i], false) == 0 &&
            cor_metric_label(&labels, "version", rows[i].version) == 0)
            cor_metric_put(to, cor_buf_str(&labels), n);
    }
}

int cor_api_add_cache_metrics(struct cor_api *api, struct cor_metrics *metrics)
{
    static const struct cor_metric_desc watch_events = {"apiserver_watch_events_total",
                                                        "Number of events sent in watch clients",
                                                        COR_METRIC_COUNTER};
    static const struct cor_metric_desc decode_errors = {
        "apiserver_storage_decode_errors_total",
        "Number of stored object decode errors split by object type", COR_METRIC_COUNTER};
    struct cor_metric *errors, *events;
    int r = cor_metrics_add(metrics, &decode_errors, &errors);

    if (r == 0)
        cor_metric_set_collect(errors, collect_decode_errors, api);
    if (r == 0)
        r = cor_metrics_add(metrics, &watch_events, &events);
    if (r == 0)
        cor_metric_set_collect(events, collect_watch_events, api);
    for (size_t i = 0; api->shared.cachers && r == 0 && i < COR_ARRAY_LEN(families); i++) {
        struct cor_metric *metric;

        assert(families[i].nsamples > 0 && families[i].nsamples <= SAMPLES_MAX);
        r = cor_metrics_add(metrics, &families[i].desc, &metric);
        if (r == 0)
            cor_metric_set_collect(metric, collect_family, api);
    }
    return r;
}
