/* Families, their series, and the text of a scrape.
 *
 * A series is written by the loop of its shard alone, with relaxed atomics and no lock; the shard's
 * lock protects only the map, when a series is added and when a scrape walks it. A scrape writes,
 * for each family: its readings (values that another module keeps), what its collect function puts,
 * and the sums of its series over all shards.
 *
 * Failures: a series that cannot be added is NULL, and counting into NULL does nothing; a scrape
 * without memory, or over its maximum, fails as a whole.
 * Thread: see metrics.h. The lock of a shard is a leaf. */
#include "server/metrics/metrics.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

/* Written by its shard's loop only, read by scrapes. */
struct cor_series {
    const struct cor_metric_desc *desc;
    size_t nlabels;
    atomic_bool is_hidden;
    _Atomic uint64_t value;    /* counter, gauge (as int64), or a histogram's sum */
    _Atomic uint64_t counts[]; /* a histogram's buckets and +Inf; then the labels' text */
};

struct shard {
    struct cor_lock lock; /* taken by its loop to add a series, and by scrapes */
    struct cor_map series;
};

/* A value that somebody else keeps. */
struct reading {
    struct cor_dlist link;
    const char *labels;
    uint64_t (*read)(void *arg);
    void *arg;
};

struct cor_metric {
    struct cor_dlist link;
    const struct cor_metric_desc *desc;
    struct cor_dlist readings;
    void (*collect)(void *arg, struct cor_metric_out *to);
    void *collect_arg;
    size_t nshards;
    struct shard shards[];
};

struct cor_metrics {
    struct cor_dlist families;
    size_t nshards;
};

static size_t count_slots(const struct cor_metric_desc *desc)
{
    return desc->type == COR_METRIC_HISTOGRAM ? desc->nbuckets + 1 : 0;
}

static char *series_labels(struct cor_series *s)
{
    return (char *)&s->counts[count_slots(s->desc)];
}

int cor_metrics_new(size_t nshards, struct cor_metrics **ret_metrics)
{
    struct cor_metrics *metrics = cor_calloc(1, sizeof(*metrics));

    assert(nshards > 0);
    if (!metrics)
        return -COR_ENOMEM;
    cor_dlist_init(&metrics->families);
    metrics->nshards = nshards;
    *ret_metrics = metrics;
    return 0;
}

static void metric_free(struct cor_metric *metric)
{
    for (size_t i = 0; i < metric->nshards; i++) {
        COR_MAP_FOREACH(it, &metric->shards[i].series) {
            cor_free(it.value);
        }
        cor_map_deinit(&metric->shards[i].series);
        cor_lock_deinit(&metric->shards[i].lock);
    }
    COR_DLIST_FOREACH_SAFE(it, &metric->readings) {
        cor_free(COR_CONTAINER_OF(it, struct reading, link));
    }
    cor_dlist_remove(&metric->link);
    cor_free(metric);
}

struct cor_metrics *cor_metrics_free(struct cor_metrics *metrics)
{
    if (!metrics)
        return NULL;
    while (!cor_dlist_empty(&metrics->families))
        metric_free(COR_CONTAINER_OF(metrics->families.next, struct cor_metric, link));
    return cor_free(metrics);
}

int cor_metrics_add(struct cor_metrics *metrics, const struct cor_metric_desc *desc,
                    struct cor_metric **ret_metric)
{
    struct cor_metric *metric =
        cor_calloc(1, sizeof(*metric) + metrics->nshards * sizeof(metric->shards[0]));

    assert(desc->nbuckets <= COR_METRIC_BUCKETS_MAX);
    if (!metric)
        return -COR_ENOMEM;
    metric->desc = desc;
    metric->nshards = metrics->nshards;
    cor_dlist_init(&metric->readings);
    for (size_t i = 0; i < metric->nshards; i++) {
        cor_lock_init(&metric->shards[i].lock, COR_LOCK_METRIC_SHARD);
        cor_map_init(&metric->shards[i].series, COR_METRIC_SERIES_MAX);
    }
    cor_dlist_push(&metrics->families, &metric->link);
    *ret_metric = metric;
    return 0;
}

int cor_metric_add_read(struct cor_metric *metric, const char *labels, uint64_t (*read)(void *arg),
                        void *arg)
{
    struct reading *reading = cor_alloc(sizeof(*reading));

    assert(labels && read);
    if (!reading)
        return -COR_ENOMEM;
    *reading = (struct reading){.labels = labels, .read = read, .arg = arg};
    cor_dlist_push(&metric->readings, &reading->link);
    return 0;
}

static struct cor_series *series_new(const struct cor_metric_desc *desc, struct cor_str labels)
{
    size_t counts = count_slots(desc) * sizeof(_Atomic uint64_t);
    struct cor_series *s = cor_calloc(1, sizeof(*s) + counts + labels.n);

    if (!s)
        return NULL;
    s->desc = desc;
    s->nlabels = labels.n;
    memcpy(series_labels(s), labels.p, labels.n);
    return s;
}

struct cor_series *cor_metric_series(struct cor_metric *metric, size_t shard, struct cor_str labels)
{
    struct shard *sh = &metric->shards[shard];
    struct cor_series *s = cor_map_peek(&sh->series, labels);
    int r;

    assert(shard < metric->nshards);
    if (s)
        return s;
    s = series_new(metric->desc, labels);
    if (!s)
        return NULL;
    cor_lock_acquire(&sh->lock);
    r = cor_map_put(&sh->series, cor_str(series_labels(s), s->nlabels), s, NULL);
    cor_lock_release(&sh->lock);
    return r == 0 ? s : cor_free(s);
}

/* There is one writer, so that a load and a store are enough. */
static void bump_relaxed(_Atomic uint64_t *v, uint64_t by)
{
    atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

void cor_series_add(struct cor_series *series, int64_t delta)
{
    if (series)
        bump_relaxed(&series->value, (uint64_t)delta);
}

void cor_series_set(struct cor_series *series, int64_t value)
{
    if (series)
        atomic_store_explicit(&series->value, (uint64_t)value, memory_order_relaxed);
}

void cor_series_hide(struct cor_series *series, bool is_hidden)
{
    if (series)
        atomic_store_explicit(&series->is_hidden, is_hidden, memory_order_relaxed);
}

void cor_series_observe(struct cor_series *series, uint64_t value)
{
    size_t i = 0;

    if (!series)
        return;
    while (i < series->desc->nbuckets && value > series->desc->buckets[i])
        i++;
    bump_relaxed(&series->counts[i], 1);
    bump_relaxed(&series->value, value);
}

int cor_metric_label(struct cor_buf *labels, const char *name, struct cor_str value)
{
    int r = cor_buf_addf(labels, "%s%s=\"", labels->n ? "," : "", name);

    assert(name && name[0]);
    for (size_t i = 0; r == 0 && i < value.n; i++) {
        char c = value.p[i];

        if (c == '\n')
            r = cor_buf_addz(labels, "\\n");
        else if (c == '"' || c == '\\')
            r = cor_buf_addf(labels, "\\%c", c);
        else
            r = cor_buf_addc(labels, c);
    }
    return r == 0 ? cor_buf_addc(labels, '"') : r;
}

/* What the shards hold together for one set of labels; the labels are a series' text. */
struct total {
    uint64_t value;
    uint64_t counts[COR_METRIC_BUCKETS_MAX + 1];
};

static int total_add_series(struct cor_map *totals, struct cor_str labels,
                            const struct cor_series *s)
{
    struct total *total = cor_map_peek(totals, labels);
    int r;

    if (!total) {
        total = cor_calloc(1, sizeof(*total));
        r = total ? cor_map_put(totals, labels, total, NULL) : -COR_ENOMEM;
        if (r < 0) {
            cor_free(total);
            return r;
        }
    }
    total->value += atomic_load_explicit(&s->value, memory_order_relaxed);
    for (size_t i = 0; i < count_slots(s->desc); i++)
        total->counts[i] += atomic_load_explicit(&s->counts[i], memory_order_relaxed);
    return 0;
}

static int metric_sum_shards(struct cor_metric *metric, struct cor_map *totals)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < metric->nshards; i++) {
        struct shard *sh = &metric->shards[i];

        cor_lock_acquire(&sh->lock);
        COR_MAP_FOREACH(it, &sh->series) {
            const struct cor_series *s = it.value;

            if (r == 0 && !atomic_load_explicit(&s->is_hidden, memory_order_relaxed))
                r = total_add_series(totals, it.key, s);
        }
        cor_lock_release(&sh->lock);
    }
    return r;
}

static int write_scaled(struct cor_buf *out, const struct cor_metric_desc *desc, uint64_t v)
{
    if (desc->scale > 1)
        return cor_buf_addf(out, "%.10g", (double)v / desc->scale);
    return desc->type == COR_METRIC_GAUGE ? cor_buf_addf(out, "%lld", (long long)(int64_t)v)
                                          : cor_buf_addu64(out, v);
}

static int write_sample(struct cor_buf *out, const struct cor_metric_desc *desc, const char *suffix,
                        struct cor_str labels, const char *bound, uint64_t v, bool is_count)
{
    int r = cor_buf_addf(out, "%s%s", desc->name, suffix);

    if (r == 0 && (labels.n || bound[0]))
        r = cor_buf_addf(out, "{%.*s%s%s}", COR_STR_ARG(labels), labels.n && bound[0] ? "," : "",
                         bound);
    if (r == 0)
        r = cor_buf_addc(out, ' ');
    if (r == 0)
        r = is_count ? cor_buf_addu64(out, v) : write_scaled(out, desc, v);
    return r == 0 ? cor_buf_addc(out, '\n') : r;
}

static int write_histogram(struct cor_buf *out, const struct cor_metric_desc *desc,
                           struct cor_str labels, const uint64_t *counts, uint64_t sum)
{
    uint64_t count = 0;
    char bound[48];
    int r = 0;

    for (size_t i = 0; r == 0 && i <= desc->nbuckets; i++) {
        count += counts[i];
        if (i < desc->nbuckets)
            snprintf(bound, sizeof(bound), "le=\"%.10g\"",
                     (double)desc->buckets[i] / (desc->scale ? desc->scale : 1));
        else
            snprintf(bound, sizeof(bound), "le=\"+Inf\"");
        r = write_sample(out, desc, "_bucket", labels, bound, count, true);
    }
    if (r == 0)
        r = write_sample(out, desc, "_sum", labels, "", sum, false);
    return r == 0 ? write_sample(out, desc, "_count", labels, "", count, true) : r;
}

struct cor_metric_out {
    struct cor_buf *out;
    const struct cor_metric_desc *desc;
    int err;
};

void cor_metric_set_collect(struct cor_metric *metric,
                            void (*collect)(void *arg, struct cor_metric_out *to), void *arg)
{
    assert(!metric->collect);
    metric->collect = collect;
    metric->collect_arg = arg;
}

const struct cor_metric_desc *cor_metric_out_desc(const struct cor_metric_out *to)
{
    return to->desc;
}

void cor_metric_put(struct cor_metric_out *to, struct cor_str labels, uint64_t value)
{
    if (to->err == 0)
        to->err = write_sample(to->out, to->desc, "", labels, "", value, false);
}

void cor_metric_put_histogram(struct cor_metric_out *to, struct cor_str labels,
                              const uint64_t *counts, uint64_t sum)
{
    assert(to->desc->type == COR_METRIC_HISTOGRAM);
    if (to->err == 0)
        to->err = write_histogram(to->out, to->desc, labels, counts, sum);
}

static int write_head(struct cor_buf *out, const struct cor_metric_desc *desc)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};

    return cor_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", desc->name, desc->help, desc->name,
                        types[desc->type]);
}

/* Writes the sums of `desc` as those of `desc->also`. What a bucket counts goes to the next larger
 * bucket that is there. */
static int write_also(struct cor_buf *out, const struct cor_metric_desc *desc,
                      const struct cor_map *totals)
{
    const struct cor_metric_desc *also = desc->also;
    int r = write_head(out, also);

    assert(also->type == COR_METRIC_HISTOGRAM && also->nbuckets <= desc->nbuckets);
    COR_MAP_FOREACH(it, totals) {
        const struct total *total = it.value;
        uint64_t counts[COR_METRIC_BUCKETS_MAX + 1] = {0};
        size_t at = 0;

        for (size_t i = 0; i <= desc->nbuckets; i++) {
            while (at < also->nbuckets &&
                   (i == desc->nbuckets || desc->buckets[i] > also->buckets[at]))
                at++;
            counts[at] += total->counts[i];
        }
        if (r == 0)
            r = write_histogram(out, also, it.key, counts, total->value);
    }
    return r;
}

static int metric_write(struct cor_metric *metric, struct cor_buf *out)
{
    const struct cor_metric_desc *desc = metric->desc;
    struct cor_map totals;
    int r;

    r = write_head(out, desc);
    COR_DLIST_FOREACH(it, &metric->readings) {
        const struct reading *reading = COR_CONTAINER_OF(it, struct reading, link);

        if (r == 0)
            r = write_sample(out, desc, "", cor_strz(reading->labels), "",
                             reading->read(reading->arg), false);
    }
    cor_map_init(&totals, COR_METRIC_SERIES_MAX * metric->nshards);
    if (r == 0 && metric->collect) {
        struct cor_metric_out to = {out, desc, 0};

        metric->collect(metric->collect_arg, &to);
        r = to.err;
    }
    if (r == 0)
        r = metric_sum_shards(metric, &totals);
    COR_MAP_FOREACH(it, &totals) {
        const struct total *total = it.value;

        if (r == 0 && desc->type == COR_METRIC_HISTOGRAM)
            r = write_histogram(out, desc, it.key, total->counts, total->value);
        else if (r == 0)
            r = write_sample(out, desc, "", it.key, "", total->value, false);
    }
    if (r == 0 && desc->also)
        r = write_also(out, desc, &totals);
    COR_MAP_FOREACH(it, &totals) {
        cor_free(it.value);
    }
    cor_map_deinit(&totals);
    return r;
}

int cor_metrics_write(struct cor_metrics *metrics, struct cor_buf *out)
{
    int r = 0;

    COR_DLIST_FOREACH(it, &metrics->families) {
        if (r == 0)
            r = metric_write(COR_CONTAINER_OF(it, struct cor_metric, link), out);
    }
    return r;
}
