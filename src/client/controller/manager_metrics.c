/* The metrics of a manager in Prometheus' text form, with controller-runtime's names and labels, so
 * that dashboards and alerts made for it work. The figures of all controllers are read once; then
 * each family is written with the samples of all controllers.
 *
 * What is not there: panics (C has none), requests of the client, and native histograms.
 * Failures: without memory the scrape fails as a whole. Thread: the runtime's loop. */
#include <assert.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/controller/manager_int.h"

#define US_PER_S 1000000

/* The bounds of reconcile_time_seconds. */
static const uint64_t time_bounds_ms[COR_RUN_TIMES] = {
    5,    10,   25,   50,   100,   150,   200,   250,   300,   350,   400,   450,  500,  600,
    700,  800,  900,  1000, 1250,  1500,  1750,  2000,  2500,  3000,  3500,  4000, 4500, 5000,
    6000, 7000, 8000, 9000, 10000, 15000, 20000, 25000, 30000, 40000, 50000, 60000};

/* The bounds of a queue's durations, as client-go computes and prints them. */
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
    struct cor_buf label; /* its name as the value of a label, quotes included */
    struct cor_control_loop_stats loop;
    struct cor_workqueue_durations durations;
    const struct cor_run_times *times;
};

struct scrape {
    struct cor_buf *out;
    struct figures *figures;
    size_t n;
};

static void scrape_deinit(struct scrape *s)
{
    for (size_t i = 0; i < s->n; i++)
        cor_buf_deinit(&s->figures[i].label);
    cor_free(s->figures);
}

/* Appends `text` as the value of a label. */
static int write_label(struct cor_buf *out, const char *text)
{
    int r = cor_buf_addc(out, '"');

    for (; r == 0 && *text; text++) {
        if (*text == '\n')
            r = cor_buf_addz(out, "\\n");
        else if (*text == '"' || *text == '\\')
            r = cor_buf_addf(out, "\\%c", *text);
        else
            r = cor_buf_addc(out, *text);
    }
    return r == 0 ? cor_buf_addc(out, '"') : r;
}

static int scrape_read(struct scrape *s, const struct cor_manager *m)
{
    int r = 0;

    s->figures = cor_calloc(m->ncontrollers ? m->ncontrollers : 1, sizeof(s->figures[0]));
    if (!s->figures)
        return -COR_ENOMEM;
    for (; r == 0 && s->n < m->ncontrollers; s->n++) {
        struct cor_controller *c = m->controllers[s->n];
        struct figures *f = &s->figures[s->n];

        /* Each byte of a name takes two at most. */
        cor_buf_init(&f->label, 2 * COR_CONTROLLER_NAME_MAX + 2);
        cor_control_loop_stats(c->loop, &f->loop);
        cor_control_loop_queue_durations(c->loop, &f->durations);
        f->times = &c->times;
        r = write_label(&f->label, cor_control_loop_name(c->loop));
    }
    return r;
}

static int write_head(struct scrape *s, const char *name, const char *type, const char *help)
{
    return cor_buf_addf(s->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Families of one number for each controller. */

enum labels { BY_CONTROLLER, BY_QUEUE, BY_PRIORITY };

struct family {
    const char *name, *type, *help;
    enum labels labels;
    uint64_t (*read)(const struct figures *f);
    bool is_time; /* microseconds, shown as seconds */
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

static uint64_t read_depth(const struct figures *f)
{
    return f->loop.queue.depth;
}

static uint64_t read_adds(const struct figures *f)
{
    return f->loop.queue.adds;
}

static uint64_t read_retries(const struct figures *f)
{
    return f->loop.queue.retries;
}

static uint64_t read_unfinished(const struct figures *f)
{
    return f->loop.queue.unfinished_us;
}

static uint64_t read_longest(const struct figures *f)
{
    return f->loop.queue.longest_run_us;
}

static const struct family families[] = {
    {"controller_runtime_reconcile_errors_total", "counter", "Reconciles that failed.",
     BY_CONTROLLER, read_errors, false},
    {"controller_runtime_terminal_reconcile_errors_total", "counter",
     "Reconciles that failed and are not tried again.", BY_CONTROLLER, read_terminal, false},
    {"controller_runtime_max_concurrent_reconciles", "gauge",
     "How many reconciles may be under way at once.", BY_CONTROLLER, read_max, false},
    {"controller_runtime_active_workers", "gauge", "Reconciles under way.", BY_CONTROLLER,
     read_active, false},
    {"workqueue_depth", "gauge", "Keys that wait.", BY_PRIORITY, read_depth, false},
    {"workqueue_adds_total", "counter", "Keys that were added.", BY_QUEUE, read_adds, false},
    {"workqueue_retries_total", "counter", "Keys that were added with a delay.", BY_QUEUE,
     read_retries, false},
    {"workqueue_unfinished_work_seconds", "gauge",
     "How long the reconciles under way have been running, together.", BY_QUEUE, read_unfinished,
     true},
    {"workqueue_longest_running_processor_seconds", "gauge",
     "How long the oldest reconcile under way has been running.", BY_QUEUE, read_longest, true},
};

static int write_labels(struct cor_buf *out, const struct figures *f, enum labels labels)
{
    const char *label = cor_buf_z(&f->label);

    if (labels == BY_CONTROLLER)
        return cor_buf_addf(out, "controller=%s", label);
    return cor_buf_addf(out, "controller=%s,name=%s%s", label, label,
                        labels == BY_PRIORITY ? ",priority=\"\"" : "");
}

static int write_seconds(struct cor_buf *out, uint64_t us)
{
    return cor_buf_addf(out, "%" PRIu64 ".%06" PRIu64 "\n", us / US_PER_S, us % US_PER_S);
}

static int write_family(struct scrape *s, const struct family *family)
{
    int r = write_head(s, family->name, family->type, family->help);

    for (size_t i = 0; r == 0 && i < s->n; i++) {
        uint64_t value = family->read(&s->figures[i]);

        r = cor_buf_addf(s->out, "%s{", family->name);
        if (r == 0)
            r = write_labels(s->out, &s->figures[i], family->labels);
        if (r == 0)
            r = cor_buf_addz(s->out, "} ");
        if (r == 0)
            r = family->is_time ? write_seconds(s->out, value)
                                : cor_buf_addf(s->out, "%" PRIu64 "\n", value);
    }
    return r;
}

/* controller_runtime_reconcile_total has the result as a second label. */
static int write_results(struct scrape *s)
{
    static const char name[] = "controller_runtime_reconcile_total";
    int r = write_head(s, name, "counter", "Reconciles, by their result.");

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
            r = cor_buf_addf(s->out, "%s{controller=%s,result=\"%s\"} %" PRIu64 "\n", name,
                             cor_buf_z(&s->figures[i].label), results[j].result, results[j].value);
    }
    return r;
}

/* Histograms. */

/* A histogram of a controller: `counts` has an element for each bound, and a last element for
 * values above all bounds. `bound` prints the bound of an element. */
struct histogram {
    const char *name;
    const struct figures *figures;
    enum labels labels;
    const uint64_t *counts;
    size_t nbounds;
    uint64_t sum_us;
    int (*bound)(struct cor_buf *out, size_t i);
};

static int write_decade(struct cor_buf *out, size_t i)
{
    return cor_buf_addz(out, decade_texts[i]);
}

/* The shortest decimal number, as Go prints it. */
static int write_time_bound(struct cor_buf *out, size_t i)
{
    return cor_buf_addf(out, "%g", (double)time_bounds_ms[i] / 1000);
}

static int write_sample(struct cor_buf *out, const struct histogram *h, const char *suffix)
{
    int r = cor_buf_addf(out, "%s_%s{", h->name, suffix);

    return r == 0 ? write_labels(out, h->figures, h->labels) : r;
}

static int write_histogram(struct cor_buf *out, const struct histogram *h)
{
    uint64_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i <= h->nbounds; i++) {
        n += h->counts[i];
        r = write_sample(out, h, "bucket");
        if (r == 0)
            r = cor_buf_addz(out, ",le=\"");
        if (r == 0)
            r = i < h->nbounds ? h->bound(out, i) : cor_buf_addz(out, "+Inf");
        if (r == 0)
            r = cor_buf_addf(out, "\"} %" PRIu64 "\n", n);
    }
    if (r == 0)
        r = write_sample(out, h, "sum");
    if (r == 0)
        r = cor_buf_addz(out, "} ");
    if (r == 0)
        r = write_seconds(out, h->sum_us);
    if (r == 0)
        r = write_sample(out, h, "count");
    return r == 0 ? cor_buf_addf(out, "} %" PRIu64 "\n", n) : r;
}

static int write_times(struct scrape *s)
{
    static const char name[] = "controller_runtime_reconcile_time_seconds";
    int r = write_head(s, name, "histogram", "How long reconciles took.");

    for (size_t i = 0; r == 0 && i < s->n; i++) {
        const struct figures *f = &s->figures[i];
        const struct histogram h = {name,
                                    f,
                                    BY_CONTROLLER,
                                    f->times->counts,
                                    COR_RUN_TIMES,
                                    f->times->sum_us,
                                    write_time_bound};

        r = write_histogram(s->out, &h);
    }
    return r;
}

static int write_queue_times(struct scrape *s, bool is_work)
{
    const char *name =
        is_work ? "workqueue_work_duration_seconds" : "workqueue_queue_duration_seconds";
    int r = write_head(s, name, "histogram",
                       is_work ? "How long keys were with a worker."
                               : "How long keys waited for a worker.");

    for (size_t i = 0; r == 0 && i < s->n; i++) {
        const struct figures *f = &s->figures[i];
        const struct histogram h = {name,
                                    f,
                                    BY_QUEUE,
                                    is_work ? f->durations.worked : f->durations.queued,
                                    COR_WORKQUEUE_DECADES,
                                    is_work ? f->loop.queue.work_us : f->loop.queue.queue_us,
                                    write_decade};

        r = write_histogram(s->out, &h);
    }
    return r;
}

static int write_leader(struct scrape *s, const struct cor_manager *m)
{
    static const char name[] = "leader_election_master_status";
    int r;

    if (!m->opts.lease_name)
        return 0;
    r = write_head(s, name, "gauge", "1: this process has the Lease of this name, else 0.");
    if (r == 0)
        r = cor_buf_addf(s->out, "%s{name=", name);
    if (r == 0)
        r = write_label(s->out, m->opts.lease_name);
    return r == 0 ? cor_buf_addf(s->out, "} %d\n", atomic_load(&m->is_leader)) : r;
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
        r = write_queue_times(&s, false);
    if (r == 0)
        r = write_queue_times(&s, true);
    return r == 0 ? write_leader(&s, m) : r;
}
