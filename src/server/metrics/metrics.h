/* Metrics of the server in Prometheus' text form: counters, gauges and histograms.
 *
 * Every loop writes its own shard, without a lock; a scrape adds the shards up. A family is added
 * before the loops start; its series are made when they are first used.
 * Owner: the server.  Thread: new, add and free on the maker's; a series belongs to its shard's
 * loop; cor_metrics_write() from any. */
#ifndef COR_SERVER_METRICS_H
#define COR_SERVER_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

struct cor_metric;
struct cor_metrics;
struct cor_series;

/* Series of one family in one shard; further ones are not counted. */
#define COR_METRIC_SERIES_MAX  20000
#define COR_METRIC_BUCKETS_MAX 32
#define COR_METRIC_LABELS_MAX  1024

enum cor_metric_type { COR_METRIC_COUNTER, COR_METRIC_GAUGE, COR_METRIC_HISTOGRAM };

/* Must stay valid. */
struct cor_metric_desc {
    const char *name;
    const char *help;
    enum cor_metric_type type;
    /* Observed values are integers; the text shows them divided by this: microseconds as seconds
     * with 1000000. */
    unsigned scale;
    const uint64_t *buckets; /* upper bounds, rising; +Inf is added */
    size_t nbuckets;
    /* Of a histogram: another one that shows the same series under its own name, and with some of
     * the buckets. It is not added itself. NULL: none. */
    const struct cor_metric_desc *also;
};

/* 0, -COR_ENOMEM. */
int cor_metrics_new(size_t nshards, struct cor_metrics **ret_metrics);
struct cor_metrics *cor_metrics_free(struct cor_metrics *metrics);
COR_DEFINE_CLEANUP(struct cor_metrics, cor_metrics_free)

/* 0, -COR_ENOMEM. */
int cor_metrics_add(struct cor_metrics *metrics, const struct cor_metric_desc *desc,
                    struct cor_metric **ret_metric);

/* Adds a series whose value another module keeps: `read` is called by each scrape, on its thread.
 * `labels` must stay. 0, -COR_ENOMEM. */
int cor_metric_add_read(struct cor_metric *metric, const char *labels, uint64_t (*read)(void *arg),
                        void *arg);

/* Where a collect function puts the samples of its family. */
struct cor_metric_out;

/* Sets the function that puts all samples of a family whose values another module keeps; each
 * scrape calls it, on its thread. At most once for a family. */
void cor_metric_set_collect(struct cor_metric *metric,
                            void (*collect)(void *arg, struct cor_metric_out *to), void *arg);
/* Which family the samples are for: the description that it was added with. */
const struct cor_metric_desc *cor_metric_out_desc(const struct cor_metric_out *to);
void cor_metric_put(struct cor_metric_out *to, struct cor_str labels, uint64_t value);
/* `counts`: one for each bucket, not cumulative, and what is above the last. */
void cor_metric_put_histogram(struct cor_metric_out *to, struct cor_str labels,
                              const uint64_t *counts, uint64_t sum);

/* The series with these labels (`verb="GET",code="200"`, or empty) in a shard, made on first use.
 * NULL: out of memory, or too many; the functions below take it. */
struct cor_series *cor_metric_series(struct cor_metric *metric, size_t shard,
                                     struct cor_str labels);

/* Counters and gauges. */
void cor_series_add(struct cor_series *series, int64_t delta);
/* Gauges. */
void cor_series_set(struct cor_series *series, int64_t value);
/* Of a gauge whose object is gone: it is left out of scrapes until it is shown again. */
void cor_series_hide(struct cor_series *series, bool is_hidden);
/* Histograms. */
void cor_series_observe(struct cor_series *series, uint64_t value);

/* All families. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_metrics_write(struct cor_metrics *metrics, struct cor_buf *out);

/* Appends `name="value"`, escaped, with a comma before it unless it is the first. As cor_buf_add().
 */
int cor_metric_label(struct cor_buf *labels, const char *name, struct cor_str value);

#endif
