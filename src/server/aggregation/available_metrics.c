/* Two families in the shard of the first loop. An APIService that is gone is hidden, since a scrape
 * may be reading its series; one of the same name shows it again. Thread: the first loop. */
#include "server/aggregation/available_metrics.h"

#include <assert.h>

#include "server/metrics/metrics.h"

#define SHARD 0

int cor_available_metrics_init(struct cor_available_metrics *m, struct cor_metrics *metrics)
{
    static const struct cor_metric_desc now = {
        "aggregator_unavailable_apiservice",
        "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
        COR_METRIC_GAUGE};
    static const struct cor_metric_desc total = {
        "aggregator_unavailable_apiservice_total",
        "Counter of APIServices which are marked as unavailable broken down by APIService name and "
        "reason.",
        COR_METRIC_COUNTER};
    int r = metrics ? cor_metrics_add(metrics, &now, &m->now) : 0;

    return metrics && r == 0 ? cor_metrics_add(metrics, &total, &m->total) : r;
}

/* The series of these labels; `reason` NULL: it has none. NULL: there is none. */
static struct cor_series *series_of(struct cor_metric *metric, struct cor_str name,
                                    const char *reason)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;
    int r;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    r = metric ? cor_metric_label(&labels, "name", name) : -1;
    if (r == 0 && reason)
        r = cor_metric_label(&labels, "reason", cor_strz(reason));
    return r == 0 ? cor_metric_series(metric, SHARD, cor_buf_str(&labels)) : NULL;
}

void cor_available_metrics_set(const struct cor_available_metrics *m, struct cor_str name,
                               bool is_available)
{
    struct cor_series *series = series_of(m->now, name, NULL);

    cor_series_set(series, !is_available);
    cor_series_hide(series, false);
}

void cor_available_metrics_count(const struct cor_available_metrics *m, struct cor_str name,
                                 const char *reason)
{
    assert(reason);
    cor_series_add(series_of(m->total, name, reason), 1);
}

void cor_available_metrics_forget(const struct cor_available_metrics *m, struct cor_str name)
{
    cor_series_hide(series_of(m->now, name, NULL), true);
}
