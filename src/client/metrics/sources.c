/* clang-format off */
/* cor_prometheus_write(): figures of all sources, then one text.
 *
 *   caller ──► the loop of each client and set: copies of its counts ──► the caller: queues, the text, fn()
 *
 * Nothing is held while a loop is waited for. Any failure ends the call before `fn`.
 * Thread: any that may wait. */
/* clang-format on */
#include "coracle/prometheus.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "client/metrics/figures.h"
#include "client/metrics/prometheus.h"
#include "client/metrics/queue_metrics.h"

#define METRICS_MAX (16u << 20)

struct gathering {
    struct cor_figures *figures;
    const struct cor_client *client; /* one of these two is set */
    const struct cor_informers *informers;
};

static int gather(void *arg, struct cor_status *reterr)
{
    struct gathering *g = arg;
    int r = g->client ? cor_figures_add_client(g->figures, g->client)
                      : cor_figures_add_informers(g->figures, g->informers);

    return r < 0 ? cor_status_set(reterr, r, "gather metrics: %s", cor_err_text(r)) : 0;
}

static int gather_all(const struct cor_prometheus_of *of, struct cor_figures *figures,
                      struct cor_status *reterr)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < of->nclients; i++) {
        struct gathering g = {.figures = figures, .client = of->clients[i]};

        r = cor_runtime_try(of->clients[i]->runtime, gather, &g, reterr);
    }
    for (size_t i = 0; r == 0 && i < of->ninformers; i++) {
        struct gathering g = {.figures = figures, .informers = of->informers[i]};

        r = cor_runtime_try(of->informers[i]->runtime, gather, &g, reterr);
    }
    return r;
}

/* `labels` holds what the figures point to. */
static int read_queue(const struct cor_named_queue *named, struct cor_buf *labels,
                      struct cor_queue_figures *figures)
{
    int r = cor_buf_addz(labels, "name=");

    if (r == 0)
        r = cor_prometheus_label(labels, named->name ? named->name : "");
    if (r < 0)
        return r;
    figures->labels = figures->depth_labels = cor_buf_z(labels);
    cor_workqueue_stats(named->queue, &figures->stats);
    cor_workqueue_durations(named->queue, &figures->durations);
    return 0;
}

static int write_queues(const struct cor_prometheus_of *of, struct cor_buf *out)
{
    struct cor_queue_figures *figures;
    struct cor_buf *labels;
    int r = 0;

    if (of->nqueues == 0)
        return 0;
    figures = cor_calloc(of->nqueues, sizeof(*figures));
    labels = cor_calloc(of->nqueues, sizeof(*labels));
    if (!figures || !labels)
        r = -COR_ENOMEM;
    for (size_t i = 0; r == 0 && i < of->nqueues; i++) {
        cor_buf_init(&labels[i], METRICS_MAX);
        r = read_queue(&of->queues[i], &labels[i], &figures[i]);
    }
    if (r == 0)
        r = cor_queue_metrics_write(out, figures, of->nqueues);
    for (size_t i = 0; labels && i < of->nqueues; i++)
        cor_buf_deinit(&labels[i]);
    cor_free(labels);
    cor_free(figures);
    return r;
}

int cor_prometheus_write(const struct cor_prometheus_of *of,
                         int (*fn)(void *arg, struct cor_str text), void *arg,
                         struct cor_status *reterr)
{
    COR_CLEANUP(cor_figures_deinit) struct cor_figures figures = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = METRICS_MAX};
    struct cor_prometheus_of own;
    int r = cor_sized_copy(&own, sizeof(own), of);

    if (r < 0)
        return cor_status_set(reterr, r, "metrics: %s", cor_sized_text(r));
    r = gather_all(&own, &figures, reterr);
    if (r < 0)
        return r;
    r = cor_figures_write(&figures, &out);
    if (r == 0)
        r = write_queues(&own, &out);
    if (r < 0)
        return cor_status_set(reterr, r, "write metrics: %s", cor_err_text(r));
    return fn(arg, cor_buf_str(&out));
}
