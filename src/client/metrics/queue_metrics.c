/* The families of work queues: seven numbers and two histograms of each. Thread: any. */
#include "client/metrics/queue_metrics.h"

#include <inttypes.h>

#include "client/metrics/prometheus.h"
#include "queue/workqueue_families.h"

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

#define GAUGE                                "gauge"
#define COUNTER                              "counter"
#define ROW(member, name, help, type, scale) {name, type, help, read_##member, (scale) > 1},

COR_WORKQUEUE_FAMILIES(COR_WORKQUEUE_READ)

/* The first is the depth. */
static const struct family families[] = {COR_WORKQUEUE_FAMILIES(ROW)};

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
