/* clang-format off */
/* Gathers and writes the figures of clients and informers.
 *
 *   cor_figures_add_client(), _add_informers(): on the loop, copies ──► cor_figures_write(): families, one after the other
 *
 * Without memory a source is left out and the gathering fails; what was gathered before is whole.
 * Thread: as the header says. */
/* clang-format on */
#include "client/metrics/figures.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/metrics/prometheus.h"
#include "kit/rest/rest_client.h"

#define LABELS_MAX 4096

/* Finds the entry of these labels by a linear search: a program has few clients. */
static struct cor_client_figures *client_of(struct cor_figures *figures, const char *host)
{
    for (size_t i = 0; i < figures->nclients; i++)
        if (strcmp(figures->clients[i].host, host) == 0)
            return &figures->clients[i];
    return NULL;
}

int cor_figures_add_client(struct cor_figures *figures, const struct cor_client *client)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf host = {.max = LABELS_MAX};
    struct cor_client_figures *f, *grown;
    int r = cor_prometheus_label(&host, cor_rest_client_host(client->rest));

    assert(cor_loop_is_current(client->runtime->loop));
    if (r < 0)
        return r;
    f = client_of(figures, cor_buf_z(&host));
    if (!f) {
        grown = cor_realloc(figures->clients, (figures->nclients + 1) * sizeof(*grown));
        if (!grown)
            return -COR_ENOMEM;
        figures->clients = grown;
        f = &grown[figures->nclients];
        *f = (struct cor_client_figures){.host = cor_strdup(cor_buf_z(&host))};
        if (!f->host)
            return -COR_ENOMEM;
        figures->nclients++;
    }
    cor_rest_metrics_add(&f->metrics, cor_rest_client_metrics(client->rest));
    return 0;
}

static int write_informer_labels(const struct cor_informer *inf, struct cor_buf *labels)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name = {.max = LABELS_MAX};
    int r = cor_buf_addf(&name, "%s%s%s/%s", inf->group, inf->group[0] ? "/" : "", inf->version,
                         inf->plural);

    if (r == 0)
        r = cor_buf_addz(labels, "name=");
    if (r == 0)
        r = cor_prometheus_label(labels, cor_buf_z(&name));
    if (r == 0)
        r = cor_buf_addz(labels, ",namespace=");
    return r == 0 ? cor_prometheus_label(labels, inf->ns) : r;
}

static int figures_add_informer(struct cor_figures *figures, struct cor_informer *inf)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels = {.max = LABELS_MAX};
    struct cor_informer_figures *f = &figures->informers[figures->ninformers];
    int r = write_informer_labels(inf, &labels);

    if (r < 0)
        return r;
    *f = (struct cor_informer_figures){.labels = cor_strdup(cor_buf_z(&labels))};
    if (!f->labels)
        return -COR_ENOMEM;
    figures->ninformers++;
    f->nobjects = cor_informer_len(inf);
    cor_informer_stats(inf, &f->stats);
    return 0;
}

static int by_labels(const void *a, const void *b)
{
    return strcmp(((const struct cor_informer_figures *)a)->labels,
                  ((const struct cor_informer_figures *)b)->labels);
}

static void informer_figures_sum(struct cor_informer_figures *to,
                                 const struct cor_informer_figures *from)
{
    to->nobjects += from->nobjects;
    to->stats.lists += from->stats.lists;
    to->stats.list_ms += from->stats.list_ms;
    to->stats.list_items += from->stats.list_items;
    to->stats.watches += from->stats.watches;
    to->stats.watch_ms += from->stats.watch_ms;
    to->stats.watch_items += from->stats.watch_items;
    to->stats.short_watches += from->stats.short_watches;
    to->stats.backlog += from->stats.backlog;
}

/* Sorts the informers, and joins those with the same labels. */
static void informers_join(struct cor_figures *figures)
{
    size_t n = 0;

    qsort(figures->informers, figures->ninformers, sizeof(figures->informers[0]), by_labels);
    for (size_t i = 0; i < figures->ninformers; i++) {
        struct cor_informer_figures *f = &figures->informers[i];

        if (n > 0 && by_labels(&figures->informers[n - 1], f) == 0) {
            informer_figures_sum(&figures->informers[n - 1], f);
            cor_free(f->labels);
        } else {
            figures->informers[n++] = *f;
        }
    }
    figures->ninformers = n;
}

int cor_figures_add_informers(struct cor_figures *figures, const struct cor_informers *set)
{
    struct cor_informer_figures *grown;
    size_t n = figures->ninformers;
    int r = 0;

    assert(cor_loop_is_current(set->runtime->loop));
    COR_DLIST_FOREACH(it, &set->informers)
        n++;
    if (n == figures->ninformers)
        return 0;
    grown = cor_realloc(figures->informers, n * sizeof(*grown));
    if (!grown)
        return -COR_ENOMEM;
    figures->informers = grown;
    COR_DLIST_FOREACH(it, &set->informers) {
        r = figures_add_informer(figures, COR_CONTAINER_OF(it, struct cor_informer, link));
        if (r < 0)
            return r;
    }
    informers_join(figures);
    return 0;
}

/* Clients. */

/* The label of a code; client-go's for an attempt without an answer. */
static int write_code(struct cor_buf *out, int code)
{
    return code > 0 ? cor_buf_addf(out, "code=\"%d\"", code)
                    : cor_buf_addz(out, "code=\"<error>\"");
}

static int write_answers(const struct cor_figures *figures, bool are_retries, struct cor_buf *out)
{
    const char *name =
        are_retries ? "rest_client_request_retries_total" : "rest_client_requests_total";
    int r = cor_prometheus_head(out, name, "counter",
                                are_retries ? "Attempts of requests that were repeated."
                                            : "Attempts of requests, by their answer.");

    for (size_t i = 0; i < figures->nclients; i++) {
        const struct cor_client_figures *f = &figures->clients[i];

        for (size_t j = 0; r == 0 && j < f->metrics.nanswers; j++) {
            const struct cor_rest_answers *answers = &f->metrics.answers[j];
            uint64_t value = are_retries ? answers->retries : answers->n;

            if (value == 0)
                continue;
            r = cor_buf_addf(out, "%s{", name);
            if (r == 0)
                r = write_code(out, answers->code);
            if (r == 0)
                r = cor_buf_addf(out, ",host=%s,%s=\"%s\"} %" PRIu64 "\n", f->host,
                                 are_retries ? "verb" : "method",
                                 cor_rest_method_name(answers->method), value);
        }
    }
    return r;
}

static int write_time_bound(struct cor_buf *out, size_t i)
{
    return cor_buf_addf(out, "%g", (double)cor_rest_time_bound_ms(i) / 1000);
}

/* A method that was never used has no samples. */
static int write_client_times(const struct cor_client_figures *f, int method, const char *name,
                              struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels = {.max = 2 * LABELS_MAX};
    struct cor_prometheus_histogram h = {.name = name,
                                         .counts = f->metrics.times[method],
                                         .nbounds = COR_REST_TIMES,
                                         .sum_us = f->metrics.sum_ms[method] * 1000,
                                         .bound = write_time_bound};
    uint64_t n = 0;
    int r;

    for (size_t i = 0; i <= COR_REST_TIMES; i++)
        n += h.counts[i];
    if (n == 0)
        return 0;
    r = cor_buf_addf(&labels, "host=%s,verb=\"%s\"", f->host, cor_rest_method_name(method));
    h.labels = cor_buf_z(&labels);
    return r == 0 ? cor_prometheus_histogram(out, &h) : r;
}

static int write_clients(const struct cor_figures *figures, struct cor_buf *out)
{
    static const char times[] = "rest_client_request_duration_seconds";
    int r = write_answers(figures, false, out);

    if (r == 0)
        r = write_answers(figures, true, out);
    if (r == 0)
        r = cor_prometheus_head(out, times, "histogram", "How long requests took.");
    for (size_t i = 0; i < figures->nclients; i++)
        for (int method = 0; r == 0 && method < COR_REST_METHODS; method++)
            r = write_client_times(&figures->clients[i], method, times, out);
    return r;
}

/* Informers. */

/* Values are 64 bits wide at these places of struct cor_informer_figures; a summary has its sum at
 * the first and its count at the second. */
enum value_kind { OF_COUNT, OF_MS, OF_SIZE };

struct informer_family {
    const char *name, *type, *help;
    enum value_kind kind;
    size_t value, count;
};

#define AT(member) offsetof(struct cor_informer_figures, member)

static const struct informer_family informer_families[] = {
    {"reflector_lists_total", "counter", "Lists that were begun.", OF_COUNT, AT(stats.lists), 0},
    {"reflector_list_duration_seconds", "summary", "How long lists took.", OF_MS, AT(stats.list_ms),
     AT(stats.lists)},
    {"reflector_items_per_list", "summary", "Objects of lists.", OF_COUNT, AT(stats.list_items),
     AT(stats.lists)},
    {"reflector_watches_total", "counter", "Watches that were requested.", OF_COUNT,
     AT(stats.watches), 0},
    {"reflector_short_watches_total", "counter", "Watches that ended at once without an event.",
     OF_COUNT, AT(stats.short_watches), 0},
    {"reflector_watch_duration_seconds", "summary", "How long watches took that are over.", OF_MS,
     AT(stats.watch_ms), AT(stats.watches)},
    {"reflector_items_per_watch", "summary", "Events of watches.", OF_COUNT, AT(stats.watch_items),
     AT(stats.watches)},
    {"coracle_informer_objects", "gauge", "Objects in the cache.", OF_SIZE, AT(nobjects), 0},
    {"coracle_informer_backlog", "gauge", "Changes on their way into the cache.", OF_SIZE,
     AT(stats.backlog), 0},
};

static uint64_t read_value(const struct cor_informer_figures *f, enum value_kind kind, size_t at)
{
    const void *value = (const char *)f + at;

    return kind == OF_SIZE ? *(const size_t *)value : *(const uint64_t *)value;
}

static int write_informer_family(const struct cor_figures *figures,
                                 const struct informer_family *family, struct cor_buf *out)
{
    int r = cor_prometheus_head(out, family->name, family->type, family->help);

    for (size_t i = 0; r == 0 && i < figures->ninformers; i++) {
        const struct cor_informer_figures *f = &figures->informers[i];
        uint64_t value = read_value(f, family->kind, family->value);

        r = cor_buf_addf(out, "%s%s{%s} ", family->name, family->count ? "_sum" : "", f->labels);
        if (r == 0)
            r = family->kind == OF_MS ? cor_prometheus_seconds(out, value * 1000)
                                      : cor_buf_addf(out, "%" PRIu64 "\n", value);
        if (r == 0 && family->count)
            r = cor_buf_addf(out, "%s_count{%s} %" PRIu64 "\n", family->name, f->labels,
                             read_value(f, OF_COUNT, family->count));
    }
    return r;
}

int cor_figures_write(const struct cor_figures *figures, struct cor_buf *out)
{
    int r = figures->nclients > 0 ? write_clients(figures, out) : 0;

    for (size_t i = 0; r == 0 && figures->ninformers > 0 && i < COR_ARRAY_LEN(informer_families);
         i++)
        r = write_informer_family(figures, &informer_families[i], out);
    return r;
}

void cor_figures_deinit(struct cor_figures *figures)
{
    for (size_t i = 0; i < figures->nclients; i++)
        cor_free(figures->clients[i].host);
    for (size_t i = 0; i < figures->ninformers; i++)
        cor_free(figures->informers[i].labels);
    cor_free(figures->clients);
    cor_free(figures->informers);
    *figures = (struct cor_figures){0};
}
