/* The families of metrics about encryption at rest, with upstream's names and labels. A scrape
 * reads the counters when it is written, from the thread of the scrape; a sample whose labels
 * cannot be written for want of memory is left out. The identity of a server is a hash of the
 * host's name. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "net/crypto/crypto.h"
#include "server/instance/instance_int.h"
#include "server/metrics/metrics.h"

#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 255
#endif
#define ID_LABEL "apiserver_id_hash"
#define NS_PER_S 1000000000
#define OK       "OK"
/* Upstream's word for a failure that does not come from a KMS. */
#define FAILED "unknown-non-grpc"

static void add_id(struct cor_buf *labels)
{
    char host[HOST_NAME_MAX + 1] = "", text[8 + 2 * COR_SHA256_BYTES] = "sha256:";
    uint8_t digest[COR_SHA256_BYTES];
    size_t n = strlen(text);

    (void)gethostname(host, sizeof(host) - 1);
    if (cor_sha256(cor_strz(host), digest) < 0)
        return;
    for (size_t i = 0; i < sizeof(digest); i++, n += 2)
        snprintf(text + n, sizeof(text) - n, "%02x", digest[i]);
    (void)cor_metric_label(labels, ID_LABEL, cor_strz(text));
}

static void put_status(struct cor_metric_out *to, const char *status, uint64_t value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    add_id(&labels);
    if (cor_metric_label(&labels, "status", cor_strz(status)) == 0)
        cor_metric_put(to, cor_buf_str(&labels), value);
}

static void collect_reloads(void *arg, struct cor_metric_out *to)
{
    struct cor_instance *in = arg;

    put_status(to, "success", atomic_load(&in->reloads));
    put_status(to, "failure", atomic_load(&in->reloads_failed));
}

static void collect_reload_times(void *arg, struct cor_metric_out *to)
{
    struct cor_instance *in = arg;

    put_status(to, "success", atomic_load(&in->reloaded_s));
    put_status(to, "failure", atomic_load(&in->reload_failed_s));
}

static void collect_config(void *arg, struct cor_metric_out *to)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;
    struct cor_instance *in = arg;
    char hash[COR_ENCRYPTION_HASH_MAX];

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    cor_dynamic_transformers_hash(in->transformers, hash);
    add_id(&labels);
    if (cor_metric_label(&labels, "hash", cor_strz(hash)) == 0)
        cor_metric_put(to, cor_buf_str(&labels), 1);
}

static int add_kind(struct cor_buf *labels, enum cor_transform_type type,
                    enum cor_transform_prefix prefix)
{
    int r =
        cor_metric_label(labels, "transformation_type", cor_strz(cor_transform_type_name(type)));

    return r < 0 ? r
                 : cor_metric_label(labels, "transformer_prefix",
                                    cor_strz(cor_transform_prefix_name(type, prefix)));
}

static void put_count(struct cor_metric_out *to, struct cor_str resource,
                      enum cor_transform_type type, enum cor_transform_prefix prefix,
                      const char *status, uint64_t value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;

    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    if (value > 0 && cor_metric_label(&labels, "resource", resource) == 0 &&
        add_kind(&labels, type, prefix) == 0 &&
        cor_metric_label(&labels, "status", cor_strz(status)) == 0)
        cor_metric_put(to, cor_buf_str(&labels), value);
}

static void put_counts_of(void *arg, const struct cor_gr *gr,
                          const struct cor_transform_counts *counts)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf resource;

    cor_buf_init(&resource, COR_METRIC_LABELS_MAX);
    if (cor_gr_print(gr, &resource) < 0)
        return;
    for (int type = 0; type < COR_TRANSFORM_TYPES; type++) {
        for (int prefix = 0; prefix < COR_TRANSFORM_PREFIXES; prefix++) {
            put_count(arg, cor_buf_str(&resource), type, prefix, OK,
                      atomic_load(&counts->ok[type][prefix]));
            put_count(arg, cor_buf_str(&resource), type, prefix, FAILED,
                      atomic_load(&counts->failed[type][prefix]));
        }
    }
}

static void collect_transformations(void *arg, struct cor_metric_out *to)
{
    cor_dynamic_transformers_counts(((struct cor_instance *)arg)->transformers, put_counts_of, to);
}

static void put_times(struct cor_metric_out *to, const struct cor_transform_times *times,
                      enum cor_transform_type type, enum cor_transform_prefix prefix)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels;
    uint64_t counts[COR_TRANSFORM_BUCKETS + 1], all = 0;

    for (size_t i = 0; i <= COR_TRANSFORM_BUCKETS; i++)
        all += counts[i] = atomic_load(&times->at[type][prefix].counts[i]);
    cor_buf_init(&labels, COR_METRIC_LABELS_MAX);
    if (all > 0 && add_kind(&labels, type, prefix) == 0)
        cor_metric_put_histogram(to, cor_buf_str(&labels), counts,
                                 atomic_load(&times->at[type][prefix].sum_ns));
}

static void collect_times(void *arg, struct cor_metric_out *to)
{
    const struct cor_transform_times *times =
        cor_dynamic_transformers_times(((struct cor_instance *)arg)->transformers);

    for (int type = 0; type < COR_TRANSFORM_TYPES; type++)
        for (int prefix = 0; prefix < COR_TRANSFORM_PREFIXES; prefix++)
            put_times(to, times, type, prefix);
}

static const struct {
    struct cor_metric_desc desc;
    void (*collect)(void *arg, struct cor_metric_out *to);
} families[] = {
    {{"apiserver_encryption_config_controller_automatic_reloads_total",
      "Total number of reload successes and failures of encryption configuration split by "
      "apiserver identity.",
      COR_METRIC_COUNTER},
     collect_reloads},
    {{"apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
      "Timestamp of the last successful or failed automatic reload of encryption configuration "
      "split by apiserver identity.",
      COR_METRIC_GAUGE},
     collect_reload_times},
    {{"apiserver_encryption_config_controller_last_config_info",
      "Information about the last applied encryption configuration with hash as label, split by "
      "apiserver identity.",
      COR_METRIC_GAUGE},
     collect_config},
    {{"apiserver_storage_transformation_operations_total",
      "Total number of transformations. Successful transformation will have a status 'OK' and a "
      "varied status string when the transformation fails.",
      COR_METRIC_COUNTER},
     collect_transformations},
    {{"apiserver_storage_transformation_duration_seconds",
      "Latencies in seconds of value transformation operations.", COR_METRIC_HISTOGRAM, NS_PER_S,
      cor_transform_bounds_ns, COR_TRANSFORM_BUCKETS},
     collect_times},
};

int cor_instance_add_encryption_metrics(struct cor_instance *in)
{
    struct cor_metric *metric;
    int r = 0;

    assert(in->metrics && in->transformers);
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(families); i++) {
        r = cor_metrics_add(in->metrics, &families[i].desc, &metric);
        if (r == 0)
            cor_metric_set_collect(metric, families[i].collect, in);
    }
    return r;
}
