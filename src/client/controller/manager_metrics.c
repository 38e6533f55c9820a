/* The metrics of a manager in Prometheus' text form, with controller-runtime's names and labels, so
 * that dashboards and alerts made for it work. The figures of all controllers are read once; then
 * each family is written with the samples of all controllers.
 *
 * The counts of the manager's client and informers follow. Not included: panics (C has none), and
 * native histograms. Failures: without memory the scrape fails as a whole. Thread: the runtime's
 * loop. */
#include <assert.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/controller/manager_int.h"
#include "client/metrics/figures.h"
#include "client/metrics/prometheus.h"
#include "client/metrics/queue_metrics.h"

/* Each byte of a name takes two at most, and a queue shows it twice. */
#define LABELS_MAX (4 * COR_CONTROLLER_NAME_MAX + 64)

/* The bounds of reconcile_time_seconds. */
static const uint64_t time_bounds_ms[COR_RUN_TIMES] = {
    5,    10,   25,   50,   100,   150,   200,   250,   300,   350,   400,   450,  500,  600,
    700,  800,  900,  1000, 1250,  1500,  1750,  2000,  2500,  3000,  3500,  4000, 4500, 5000,
    6000, 7000, 8000, 9000, 10000, 15000, 20000, 25000, 30000, 40000, 50000, 60000};

void cor_run_times_count(struct cor_run_times *times, uint64_t us)
{
    size_t i = 0;

    while (i < COR_RUN_TIMES && us > time_bounds_ms[i] * 1000)
        i++;
    times->counts[i]++;
    times->sum_us += us;
}

/* What one controller is shown with. */
struct figures {
    struct cor_buf labels;       /* controller="NAME" */
    struct cor_buf queue_labels; /* the same, with the queue's name behind it */
    struct cor_buf depth_labels; /* the same, with a priority behind it */
    struct cor_control_loop_stats loop;
    const struct cor_run_times *times;
};

struct scrape {
    struct cor_buf *out;
    struct figures *figures;
    struct cor_queue_figures *queues; /* borrow their labels from `figures` */
    size_t n;
};

static void scrape_deinit(struct scrape *s)
{
    for (size_t i = 0; i < s->n; i++) {
        cor_buf_deinit(&s->figures[i].labels);
        cor_buf_deinit(&s->figures[i].queue_labels);
        cor_buf_deinit(&s->figures[i].depth_labels);
    }
    cor_free(s->figures);
    cor_free(s->queues);
}

static int figures_name(struct figures *f, const char *name)
{
    int r = cor_buf_addz(&f->labels, "controller=");

    if (r == 0)
        r = cor_prometheus_label(&f->labels, name);
    if (r == 0)
        r = cor_buf_addf(&f->queue_labels, "%s,name=", cor_buf_z(&f->labels));
    if (r == 0)
        r = cor_prometheus_label(&f->queue_labels, name);
    return r == 0 ? cor_buf_addf(&f->depth_labels, "%s,priority=\"\"", cor_buf_z(&f->queue_labels))
                  : r;
}

static int scrape_read(struct scrape *s, const struct cor_manager *m)
{
    size_t n = m->ncontrollers ? m->ncontrollers : 1;
    int r = 0;

    s->figures = cor_calloc(n, sizeof(s->figures[0]));
    s->queues = cor_calloc(n, sizeof(s->queues[0]));
    if (!s->figures || !s->queues)
        return -COR_ENOMEM;
    for (; r == 0 && s->n < m->ncontrollers; s->n++) {
        struct cor_controller *c = m->controllers[s->n];
        struct figures *f = &s->figures[s->n];
        struct cor_queue_figures *q = &s->queues[s->n];

        cor_buf_init(&f->labels, LABELS_MAX);
        cor_buf_init(&f->queue_labels, LABELS_MAX);
        cor_buf_init(&f->depth_labels, LABELS_MAX);
        f->times = &c->times;
        cor_control_loop_stats(c->loop, &f->loop);
        r = figures_name(f, cor_control_loop_name(c->loop));
        q->labels = cor_buf_z(&f->queue_labels);
        q->depth_labels = cor_buf_z(&f->depth_labels);
        q->stats = f->loop.queue;
        cor_control_loop_queue_durations(c->loop, &q->durations);
    }
    return r;
}

/* Families of one number for each controller. */

struct family {
    const char *name, *type, *help;
    uint64_t (*read)(const struct figures *f);
};

static uint64_t read_errors(const struct figures *f)
{
    return f->loop.error;
}

static uint64_t read_terminal(const struct figures *f)
{
    return f->loop.terminal;
}

static uint64_t read_max(const struct figures *f)
{
    return f->loop.max;
}

static uint64_t read_active(const struct figures *f)
{
    return f->loop.active;
}

static const struct family families[] = {
    {"controller_runtime_reconcile_errors_total", "counter", "Reconciles that failed.",
     read_errors},
    {"controller_runtime_terminal_reconcile_errors_total", "counter",
     "Reconciles that failed and are not tried again.", read_terminal},
    {"controller_runtime_max_concurrent_reconciles", "gauge",
     "How many reconciles may be under way at once.", read_max},
    {"controller_runtime_active_workers", "gauge", "Reconciles under way.", read_active},
};

static int write_family(struct scrape *s, const struct family *family)
{
    int r = cor_prometheus_head(s->out, family->name, family->type, family->help);

    for (size_t i = 0; r == 0 && i < s->n; i++)
        r = cor_buf_addf(s->out, "%s{%s} %" PRIu64 "\n", family->name,
                         cor_buf_z(&s->figures[i].labels), family->read(&s->figures[i]));
    return r;
}

/* controller_runtime_reconcile_total has the result as a second label. */
static int write_results(struct scrape *s)
{
    static const char name[] = "controller_runtime_reconcile_total";
    int r = cor_prometheus_head(s->out, name, "counter", "Reconciles, by their result.");

    for (size_t i = 0; r == 0 && i < s->n; i++) {
        const struct cor_control_loop_stats *l = &s->figures[i].loop;
        const struct {
            const char *result;
            uint64_t value;
        } results[] = {{"error", l->error},
                       {"requeue", l->requeue},
                       {"requeue_after", l->requeue_after},
                       {"success", l->success}};

        for (size_t j = 0; r == 0 && j < COR_ARRAY_LEN(results); j++)
            r = cor_buf_addf(s->out, "%s{%s,result=\"%s\"} %" PRIu64 "\n", name,
                             cor_buf_z(&s->figures[i].labels), results[j].result, results[j].value);
    }
    return r;
}

/* The shortest decimal number, as Go prints it. */
static int write_time_bound(struct cor_buf *out, size_t i)
{
    return cor_buf_addf(out, "%g", (double)time_bounds_ms[i] / 1000);
}

static int write_times(struct scrape *s)
{
    static const char name[] = "controller_runtime_reconcile_time_seconds";
    int r = cor_prometheus_head(s->out, name, "histogram", "How long reconciles took.");

    for (size_t i = 0; r == 0 && i < s->n; i++) {
        const struct figures *f = &s->figures[i];
        const struct cor_prometheus_histogram h = {.name = name,
                                                   .labels = cor_buf_z(&f->labels),
                                                   .counts = f->times->counts,
                                                   .nbounds = COR_RUN_TIMES,
                                                   .sum_us = f->times->sum_us,
                                                   .bound = write_time_bound};

        r = cor_prometheus_histogram(s->out, &h);
    }
    return r;
}

static int write_leader(struct scrape *s, const struct cor_manager *m)
{
    static const char name[] = "leader_election_master_status";
    int r;

    if (!m->opts.lease_name)
        return 0;
    r = cor_prometheus_head(s->out, name, "gauge",
                            "1: this process has the Lease of this name, else 0.");
    if (r == 0)
        r = cor_buf_addf(s->out, "%s{name=", name);
    if (r == 0)
        r = cor_prometheus_label(s->out, m->opts.lease_name);
    return r == 0 ? cor_buf_addf(s->out, "} %d\n", atomic_load(&m->is_leader)) : r;
}

/* Writes the metrics of the manager's client and of its informers. */
static int write_own(const struct cor_manager *m, struct cor_buf *out)
{
    COR_CLEANUP(cor_figures_deinit) struct cor_figures figures = {0};
    int r = cor_figures_add_client(&figures, m->client);

    if (r == 0)
        r = cor_figures_add_informers(&figures, m->informers);
    return r == 0 ? cor_figures_write(&figures, out) : r;
}

int cor_manager_write_metrics(const struct cor_manager *m, struct cor_buf *out)
{
    COR_CLEANUP(scrape_deinit) struct scrape s = {.out = out};
    int r = scrape_read(&s, m);

    assert(cor_loop_is_current(m->runtime->loop));
    if (r == 0)
        r = write_results(&s);
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(families); i++)
        r = write_family(&s, &families[i]);
    if (r == 0)
        r = write_times(&s);
    if (r == 0)
        r = cor_queue_metrics_write(out, s.queues, s.n);
    if (r == 0)
        r = write_leader(&s, m);
    return r == 0 ? write_own(m, out) : r;
}
