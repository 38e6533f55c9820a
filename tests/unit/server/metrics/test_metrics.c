#include "server/metrics/metrics.h"

#include <pthread.h>
#include <stdio.h>

#include "base/err.h"
#include "test.h"

static const uint64_t bounds[] = {1000, 500000};
static const struct cor_metric_desc requests = {
    .name = "requests_total", .help = "Requests.", .type = COR_METRIC_COUNTER};
static const struct cor_metric_desc seconds = {.name = "seconds",
                                               .help = "Time.",
                                               .type = COR_METRIC_HISTOGRAM,
                                               .scale = 1000000,
                                               .buckets = bounds,
                                               .nbuckets = 2};
static const struct cor_metric_desc open_now = {
    .name = "open", .help = "Open now.", .type = COR_METRIC_GAUGE};

static void check_text(struct cor_metrics *metrics, const char *text)
{
    struct cor_buf out;

    cor_buf_init(&out, 1u << 20);
    assert_int_equal(cor_metrics_write(metrics, &out), 0);
    assert_string_equal(cor_buf_z(&out), text);
    cor_buf_deinit(&out);
}

TEST(metrics, counters_of_all_shards_are_added_up)
{
    struct cor_metrics *metrics;
    struct cor_metric *metric;

    assert_int_equal(cor_metrics_new(2, &metrics), 0);
    assert_int_equal(cor_metrics_add(metrics, &requests, &metric), 0);
    cor_series_add(cor_metric_series(metric, 0, COR_STR("code=\"200\"")), 2);
    cor_series_add(cor_metric_series(metric, 1, COR_STR("code=\"200\"")), 3);
    check_text(metrics, "# HELP requests_total Requests.\n# TYPE requests_total counter\n"
                        "requests_total{code=\"200\"} 5\n");
    cor_metrics_free(metrics);
}

TEST(metrics, histograms_are_cumulative_and_scaled)
{
    struct cor_metrics *metrics;
    struct cor_metric *metric;
    struct cor_series *series;

    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_metrics_add(metrics, &seconds, &metric), 0);
    series = cor_metric_series(metric, 0, COR_STR("v=\"GET\""));
    cor_series_observe(series, 1000);
    cor_series_observe(series, 1001);
    cor_series_observe(series, 2000000);
    check_text(metrics, "# HELP seconds Time.\n# TYPE seconds histogram\n"
                        "seconds_bucket{v=\"GET\",le=\"0.001\"} 1\n"
                        "seconds_bucket{v=\"GET\",le=\"0.5\"} 2\n"
                        "seconds_bucket{v=\"GET\",le=\"+Inf\"} 3\n"
                        "seconds_sum{v=\"GET\"} 2.002001\nseconds_count{v=\"GET\"} 3\n");
    cor_metrics_free(metrics);
}

TEST(metrics, a_histogram_is_shown_under_a_second_name_with_fewer_buckets)
{
    static const uint64_t buckets[] = {10, 20, 30};
    static const struct cor_metric_desc second = {"second", "Few.", COR_METRIC_HISTOGRAM,
                                                  .buckets = buckets + 1, .nbuckets = 2};
    static const struct cor_metric_desc first = {
        "first", "All.", COR_METRIC_HISTOGRAM, .buckets = buckets, .nbuckets = 3, .also = &second};
    struct cor_metrics *metrics;
    struct cor_metric *metric;
    struct cor_series *series;

    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_metrics_add(metrics, &first, &metric), 0);
    series = cor_metric_series(metric, 0, COR_STR(""));
    for (uint64_t value = 5; value < 50; value += 10)
        cor_series_observe(series, value);
    check_text(metrics, "# HELP first All.\n# TYPE first histogram\n"
                        "first_bucket{le=\"10\"} 1\nfirst_bucket{le=\"20\"} 2\n"
                        "first_bucket{le=\"30\"} 3\nfirst_bucket{le=\"+Inf\"} 5\n"
                        "first_sum 125\nfirst_count 5\n"
                        "# HELP second Few.\n# TYPE second histogram\n"
                        "second_bucket{le=\"20\"} 2\nsecond_bucket{le=\"30\"} 3\n"
                        "second_bucket{le=\"+Inf\"} 5\nsecond_sum 125\nsecond_count 5\n");
    cor_metrics_free(metrics);
}

static uint64_t read_seven(void *arg)
{
    return *(uint64_t *)arg;
}

TEST(metrics, gauges_go_down_and_may_be_read_elsewhere)
{
    struct cor_metrics *metrics;
    struct cor_metric *metric;
    uint64_t seven = 7;

    assert_int_equal(cor_metrics_new(2, &metrics), 0);
    assert_int_equal(cor_metrics_add(metrics, &open_now, &metric), 0);
    assert_int_equal(cor_metric_add_read(metric, "k=\"v\"", read_seven, &seven), 0);
    cor_series_add(cor_metric_series(metric, 0, COR_STR("")), 1);
    cor_series_add(cor_metric_series(metric, 1, COR_STR("")), -3);
    check_text(metrics, "# HELP open Open now.\n# TYPE open gauge\nopen{k=\"v\"} 7\nopen -2\n");
    cor_metrics_free(metrics);
}

TEST(metrics, a_gauge_whose_object_is_gone_is_hidden_until_it_is_back)
{
    struct cor_metrics *metrics;
    struct cor_metric *metric;
    struct cor_series *a, *b;

    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_metrics_add(metrics, &open_now, &metric), 0);
    a = cor_metric_series(metric, 0, COR_STR("name=\"a\""));
    b = cor_metric_series(metric, 0, COR_STR("name=\"b\""));
    cor_series_set(a, 1);
    cor_series_set(b, 1);
    cor_series_set(b, 0);
    cor_series_hide(a, true);
    check_text(metrics, "# HELP open Open now.\n# TYPE open gauge\nopen{name=\"b\"} 0\n");
    cor_series_hide(b, true);
    check_text(metrics, "# HELP open Open now.\n# TYPE open gauge\n");
    cor_series_hide(a, false);
    check_text(metrics, "# HELP open Open now.\n# TYPE open gauge\nopen{name=\"a\"} 1\n");
    cor_series_set(NULL, 1);
    cor_series_hide(NULL, true);
    cor_metrics_free(metrics);
}

TEST(metrics, label_values_are_escaped)
{
    struct cor_buf labels;

    cor_buf_init(&labels, 64);
    assert_int_equal(cor_metric_label(&labels, "a", COR_STR("x\"\\\n")), 0);
    assert_int_equal(cor_metric_label(&labels, "b", COR_STR("")), 0);
    assert_string_equal(cor_buf_z(&labels), "a=\"x\\\"\\\\\\n\",b=\"\"");
    cor_buf_deinit(&labels);
}

struct writer {
    struct cor_metric *metric;
    size_t shard;
};

static void *count_up(void *arg)
{
    struct writer *w = arg;
    char labels[32];

    for (int i = 0; i < 20000; i++) {
        snprintf(labels, sizeof(labels), "n=\"%d\"", i % 50);
        cor_series_add(cor_metric_series(w->metric, w->shard, cor_strz(labels)), 1);
    }
    return NULL;
}

TEST(metrics, shards_are_written_while_others_read)
{
    struct cor_metrics *metrics;
    struct writer writers[2];
    pthread_t threads[2];
    struct cor_buf out;
    struct cor_metric *metric;

    assert_int_equal(cor_metrics_new(2, &metrics), 0);
    assert_int_equal(cor_metrics_add(metrics, &requests, &metric), 0);
    cor_buf_init(&out, 1u << 20);
    for (size_t i = 0; i < 2; i++) {
        writers[i] = (struct writer){metric, i};
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &writers[i]), 0);
    }
    for (int i = 0; i < 50; i++) {
        cor_buf_reset(&out);
        assert_int_equal(cor_metrics_write(metrics, &out), 0);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    cor_buf_reset(&out);
    assert_int_equal(cor_metrics_write(metrics, &out), 0);
    assert_non_null(strstr(cor_buf_z(&out), "requests_total{n=\"49\"} 800\n"));
    cor_buf_deinit(&out);
    cor_metrics_free(metrics);
}

static void put_all(void *arg, struct cor_metric_out *to)
{
    static const uint64_t counts[] = {1, 0, 2};

    cor_metric_put(to, COR_STR("code=\"200\""), *(uint64_t *)arg);
    cor_metric_put_histogram(to, COR_STR("v=\"GET\""), counts, 1500000);
}

TEST(metrics, samples_that_others_keep_are_collected)
{
    struct cor_metrics *metrics;
    struct cor_metric *metric;
    uint64_t value = 5;

    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_metrics_add(metrics, &seconds, &metric), 0);
    cor_metric_set_collect(metric, put_all, &value);
    check_text(metrics, "# HELP seconds Time.\n# TYPE seconds histogram\n"
                        "seconds{code=\"200\"} 5e-06\n"
                        "seconds_bucket{v=\"GET\",le=\"0.001\"} 1\n"
                        "seconds_bucket{v=\"GET\",le=\"0.5\"} 1\n"
                        "seconds_bucket{v=\"GET\",le=\"+Inf\"} 3\n"
                        "seconds_sum{v=\"GET\"} 1.5\n"
                        "seconds_count{v=\"GET\"} 3\n");
    cor_metrics_free(metrics);
}

TEST(metrics, fail_cleanly_without_memory)
{
    int r = -1;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_metrics *metrics = NULL;
        struct cor_metric *metric;
        struct cor_buf out;

        cor_buf_init(&out, 1u << 16);
        r = cor_metrics_new(1, &metrics);
        if (r == 0)
            r = cor_metrics_add(metrics, &requests, &metric);
        if (r == 0)
            r = cor_metric_add_read(metric, "", read_seven, &(uint64_t){7});
        if (r == 0) {
            cor_series_add(cor_metric_series(metric, 0, COR_STR("a=\"b\"")), 1);
            r = cor_metrics_write(metrics, &out);
        }
        assert_true(r == 0 || r == -COR_ENOMEM);
        /* A series that there was no memory for is missing; everything else is there. */
        if (r == 0) {
            assert_non_null(strstr(cor_buf_z(&out), "# TYPE"));
            assert_non_null(strstr(cor_buf_z(&out), " 7\n"));
            assert_true(test_alloc_failed() || strstr(cor_buf_z(&out), "{a=\"b\"} 1\n"));
        }
        cor_buf_deinit(&out);
        cor_metrics_free(metrics);
    }
    assert_int_equal(r, 0);
}
