/* The families of metrics about work queues, with client-go's names. A scrape reads the numbers of
 * the queues on its own thread; a sample whose label cannot be written for want of memory is left
 * out. The two histograms of client-go (queue and work duration) are not there: a queue keeps sums.
 * Thread: any, for the collect functions. */
#include "server/controllers/host/controllers.h"

#include "base/buf.h"
#include "queue/workqueue_families.h"
#include "server/metrics/metrics.h"

/* One family: which number of a queue it shows. */
struct queue_family {
    struct cor_metric_desc desc;
    uint64_t (*read)(const struct cor_workqueue_stats *stats);
};

#define ROW(member, name, help, type, scale)                                                       \
    {{name, help, COR_METRIC_##type, scale}, read_##member},

COR_WORKQUEUE_FAMILIES(COR_WORKQUEUE_READ)

static const struct queue_family families[] = {COR_WORKQUEUE_FAMILIES(ROW)};

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
