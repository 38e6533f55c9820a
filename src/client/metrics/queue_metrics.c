/* The families of work queues: seven numbers and two histograms of each. Thread: any. */
#include "client/metrics/queue_metrics.h"

#include <inttypes.h>

#include "client/metrics/prometheus.h"

/* The bounds of the durations, as client-go computes and prints them. */
static const char *const decade_texts[COR_WORKQUEUE_DECADES] = {"1e-08",
                                                                "1e-07",
                                                                "1e-06",
                                                                "9.999999999999999e-06",
                                                                "9.999999999999999e-05",
                                                                "0.001",
                                                                "0.01",
                                                                "0.1",
                                                                "1",
                                                                "10",
                                                                "100",
                                                                "1000"};

struct family {
    const char *name, *type, *help;
    uint64_t (*read)(const struct cor_workqueue_stats *stats);
    bool is_time; /* microseconds, shown as seconds */
};

static uint64_t read_depth(const struct cor_workqueue_stats *stats)
{
    return stats->depth;
}

static uint64_t read_adds(const struct cor_workqueue_stats *stats)
{
    return stats->adds;
}

static uint64_t read_retries(const struct cor_workqueue_stats *stats)
{
    return stats->retries;
}

static uint64_t read_unfinished(const struct cor_workqueue_stats *stats)
{
    return stats->unfinished_us;
}

static uint64_t read_longest(const struct cor_workqueue_stats *stats)
{
    return stats->longest_run_us;
}

/* The first is the depth. */
static const struct family families[] = {
    {"workqueue_depth", "gauge", "Keys that wait.", read_depth, false},
    {"workqueue_adds_total", "counter", "Keys that were added.", read_adds, false},
    {"workqueue_retries_total", "counter", "Keys that were added with a delay.", read_retries,
     false},
    {"workqueue_unfinished_work_seconds", "gauge",
     "How long the keys that are worked on have been with a worker, together.", read_unfinished,
     true},
    {"workqueue_longest_running_processor_seconds", "gauge",
     "How long the oldest key that is worked on has been with a worker.", read_longest, true},
};

static int write_family(struct cor_buf *out, const struct family *family,
                        const struct cor_queue_figures *figures, size_t n)
{
    int r = cor_prometheus_head(out, family->name, family->type, family->help);

    for (size_t i = 0; r == 0 && i < n; i++) {
        uint64_t value = family->read(&figures[i].stats);

        r = cor_buf_addf(out, "%s{%s} ", family->name,
                         family == families ? figures[i].depth_labels : figures[i].labels);
        if (r == 0)
            r = family->is_time ? cor_prometheus_seconds(out, value)
                                : cor_buf_addf(out, "%" PRIu64 "\n", value);
    }
    return r;
}

static int write_decade(struct cor_buf *out, size_t i)
{
    return cor_buf_addz(out, decade_texts[i]);
}

static int write_times(struct cor_buf *out, bool is_work, const struct cor_queue_figures *figures,
                       size_t n)
{
    const char *name =
        is_work ? "workqueue_work_duration_seconds" : "workqueue_queue_duration_seconds";
    int r = cor_prometheus_head(out, name, "histogram",
                                is_work ? "How long keys were with a worker."
                                        : "How long keys waited for a worker.");

    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct cor_queue_figures *f = &figures[i];
        const struct cor_prometheus_histogram h = {
            .name = name,
            .labels = f->labels,
            .counts = is_work ? f->durations.worked : f->durations.queued,
            .nbounds = COR_WORKQUEUE_DECADES,
            .sum_us = is_work ? f->stats.work_us : f->stats.queue_us,
            .bound = write_decade};

        r = cor_prometheus_histogram(out, &h);
    }
    return r;
}

int cor_queue_metrics_write(struct cor_buf *out, const struct cor_queue_figures *figures, size_t n)
{
    int r = 0;

    if (n == 0)
        return 0;
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(families); i++)
        r = write_family(out, &families[i], figures, n);
    if (r == 0)
        r = write_times(out, false, figures, n);
    return r == 0 ? write_times(out, true, figures, n) : r;
}
