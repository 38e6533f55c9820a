/* The families of metrics about work queues, with client-go's names. A scrape reads the numbers of
 * the queues on its own thread; a sample whose label cannot be written for want of memory is left
 * out. The two histograms of client-go (queue and work duration) are not there: a queue keeps sums.
 * Thread: any, for the collect functions. */
#include "server/controllers/controllers.h"

#include "base/buf.h"
#include "server/metrics/metrics.h"

#define US_PER_S 1000000

/* One family: which number of a queue it shows. */
struct queue_family {
    struct cor_metric_desc desc;
    uint64_t (*read)(const struct cor_workqueue_stats *stats);
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

static const struct queue_family families[] = {
    {{"workqueue_depth", "Current depth of workqueue", COR_METRIC_GAUGE}, read_depth},
    {{"workqueue_adds_total", "Total number of adds handled by workqueue", COR_METRIC_COUNTER},
     read_adds},
    {{"workqueue_retries_total", "Total number of retries handled by workqueue",
      COR_METRIC_COUNTER},
     read_retries},
    {{"workqueue_unfinished_work_seconds",
      "How many seconds of work has done that is in progress and hasn't been observed by "
      "work_duration. Large values indicate stuck threads. One can deduce the number of stuck "
      "threads by observing the rate at which this increases.",
      COR_METRIC_GAUGE, US_PER_S},
     read_unfinished},
    {{"workqueue_longest_running_processor_seconds",
      "How many seconds has the longest running processor for workqueue been running.",
      COR_METRIC_GAUGE, US_PER_S},
     read_longest},
};

struct collecting {
    struct cor_metric_out *to;
    const struct queue_family *family;
};

static void metrics_put_queue(void *arg, const char *queue, const struct cor_workqueue_stats *stats)
{
    struct collecting *c = arg;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    if (cor_metric_label(&labels, "name", cor_strz(queue)) == 0)
        cor_metric_put(c->to, cor_buf_str(&labels), c->family->read(stats));
}

static void metrics_collect(void *arg, struct cor_metric_out *to)
{
    struct collecting c = {.to = to};

    for (size_t i = 0; i < COR_ARRAY_LEN(families); i++)
        if (&families[i].desc == cor_metric_out_desc(to))
            c.family = &families[i];
    if (c.family)
        cor_controller_host_each_queue(arg, metrics_put_queue, &c);
}

int cor_controller_host_add_metrics(struct cor_controller_host *host, struct cor_metrics *metrics)
{
    struct cor_metric *metric;
    int r = 0;

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(families); i++) {
        r = cor_metrics_add(metrics, &families[i].desc, &metric);
        if (r == 0)
            cor_metric_set_collect(metric, metrics_collect, host);
    }
    return r;
}
