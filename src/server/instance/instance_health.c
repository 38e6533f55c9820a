#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "loop/offload.h"
#include "loop/turns.h"
#include "server/instance/instance_int.h"

#define ENGINE_CHECK_MS 2000
#define ENGINE_FAR_MS   3600000

static bool is_engine_ok(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    struct cor_instance *in = arg;

    if (atomic_load(&in->engine_ok))
        return true;
    pthread_mutex_lock(&in->engine_lock);
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "%s", in->engine_why);
    pthread_mutex_unlock(&in->engine_lock);
    return false;
}

static bool is_always_ok(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    return true;
}

static bool is_synced(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    const struct cor_api *api = ((struct cor_instance *)arg)->api;

    if (cor_api_is_synced(api))
        return true;
    if (!cor_api_sync_failed(api, reterr_why))
        snprintf(reterr_why, COR_READY_MESSAGE_MAX, "watch caches are not filled yet");
    return false;
}

static bool is_not_draining(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    if (!atomic_load(&((struct cor_instance *)arg)->draining))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "process is shutting down");
    return false;
}

/* The cause stands before the verdict, for loops that read it meanwhile. */
static bool exchange_verdict(struct cor_instance *in, const struct cor_engine_req *req)
{
    if (req->result < 0) {
        pthread_mutex_lock(&in->engine_lock);
        snprintf(in->engine_why, sizeof(in->engine_why), "%s", cor_status_message(&req->status));
        pthread_mutex_unlock(&in->engine_lock);
    }
    return atomic_exchange(&in->engine_ok, req->result == 0);
}

/* /readyz withholds the reason, as upstream's; /readyz/etcd and the log have it, the log once. */
static void judge_engine(struct cor_instance *in, const struct cor_engine_req *req)
{
    bool was_ok = exchange_verdict(in, req);

    if (was_ok && req->result < 0)
        COR_LOG_ERROR("the store fails its health check",
                      COR_F_STR("err", cor_status_message(&req->status)));
    else if (!was_ok && req->result == 0)
        COR_LOG_INFO("the store is healthy again");
    if (req->result < 0)
        return;
    atomic_store(&in->store_bytes, in->engine_req.ret_file_bytes);
    atomic_store(&in->store_rev, in->engine_req.ret_rev);
}

/* It is always set, far away while an answer is awaited, so that setting it cannot fail. */
static void set_timer(struct cor_instance *in, uint64_t ms)
{
    int r = cor_timer_set(&in->engine_timer, ms);

    assert(r == 0);
    (void)r;
}

static void on_engine_status(struct cor_engine_req *req)
{
    struct cor_instance *in = COR_CONTAINER_OF(req, struct cor_instance, engine_req.req);

    judge_engine(in, req);
    cor_engine_req_deinit(req);
    in->engine_busy = false;
    if (!atomic_load(&in->draining))
        set_timer(in, ENGINE_CHECK_MS);
}

int cor_instance_prepare_checks(struct cor_instance *in)
{
    return cor_timer_set(&in->engine_timer, ENGINE_FAR_MS);
}

void cor_instance_check_engine(struct cor_timer *timer)
{
    struct cor_instance *in = COR_CONTAINER_OF(timer, struct cor_instance, engine_timer);

    set_timer(in, ENGINE_FAR_MS);
    in->engine_req = (struct cor_engine_status_req){0};
    cor_engine_req_init(&in->engine_req.req, in->home, on_engine_status);
    in->engine_busy = true;
    cor_engine_status(in->engine, &in->engine_req);
}

static uint64_t read_store_bytes(void *arg)
{
    return atomic_load(&((struct cor_instance *)arg)->store_bytes);
}

static uint64_t read_store_rev(void *arg)
{
    return atomic_load(&((struct cor_instance *)arg)->store_rev);
}

static uint64_t read_cache_bytes(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).bytes;
}

static uint64_t read_cache_bytes_max(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).bytes_max;
}

static uint64_t read_cache_evicted(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).evicted;
}

static uint64_t read_cache_pinned(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).pinned;
}

static uint64_t read_ended_lists(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).ended_lists;
}

static uint64_t read_ended_watches(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).ended_watches;
}

static uint64_t read_held(void *arg)
{
    return cor_api_held_stats(((struct cor_instance *)arg)->api).bytes;
}

static uint64_t read_held_ended(void *arg)
{
    return cor_api_held_stats(((struct cor_instance *)arg)->api).ended;
}

static uint64_t read_cache_rev(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).rev;
}

static uint64_t read_cache_lag(void *arg)
{
    struct cor_cachers_stats stats = cor_api_cache_stats(((struct cor_instance *)arg)->api);

    return stats.seen > stats.rev ? stats.seen - stats.rev : 0;
}

static void label_loop(char text[32], size_t i)
{
    snprintf(text, 32, "loop=\"%zu\"", i);
}

static void collect_turns(void *arg, struct cor_metric_out *to)
{
    const struct cor_instance *in = arg;

    for (size_t i = 0; i < in->nworkers; i++) {
        struct cor_loop_turns turns;
        char labels[32];

        label_loop(labels, i);
        cor_loop_get_turns(in->workers[i].loop, &turns);
        cor_metric_put_histogram(to, cor_strz(labels), turns.counts, turns.sum_us);
    }
}

static void collect_longest_turns(void *arg, struct cor_metric_out *to)
{
    const struct cor_instance *in = arg;

    for (size_t i = 0; i < in->nworkers; i++) {
        struct cor_loop_turns turns;
        char labels[32];

        label_loop(labels, i);
        cor_loop_get_turns(in->workers[i].loop, &turns);
        cor_metric_put(to, cor_strz(labels), turns.max_us);
    }
}

static int add_turn_metrics(struct cor_instance *in)
{
    static const struct cor_metric_desc turns = {
        .name = "coracle_loop_turn_seconds",
        .help = "CPU time that a loop's thread takes from one sleep to the next.",
        .type = COR_METRIC_HISTOGRAM,
        .scale = 1000000,
        .buckets = cor_loop_turn_buckets,
        .nbuckets = COR_LOOP_TURN_BUCKETS,
    };
    static const struct cor_metric_desc longest = {
        .name = "coracle_loop_turn_max_seconds",
        .help = "The longest turn since the start, in CPU time of the loop's thread.",
        .type = COR_METRIC_GAUGE,
        .scale = 1000000,
    };
    struct cor_metric *metric;
    int r = cor_metrics_add(in->metrics, &turns, &metric);

    if (r < 0)
        return r;
    cor_metric_set_collect(metric, collect_turns, in);
    r = cor_metrics_add(in->metrics, &longest, &metric);
    if (r == 0)
        cor_metric_set_collect(metric, collect_longest_turns, in);
    return r;
}

static uint64_t read_offloaded(void *arg)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(((struct cor_instance *)arg)->offload, &stats);
    return stats.jobs;
}

static uint64_t read_offload_refused(void *arg)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(((struct cor_instance *)arg)->offload, &stats);
    return stats.refused;
}

static uint64_t read_offload_bytes(void *arg)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(((struct cor_instance *)arg)->offload, &stats);
    return stats.bytes;
}

#define ENDED_HELP                                                                                 \
    "Slow lists and watches that were ended because what they kept in memory was over the budget."

int cor_instance_add_metrics(struct cor_instance *in)
{
    static const struct {
        struct cor_metric_desc desc;
        const char *labels;
        uint64_t (*read)(void *arg);
    } rows[] = {
        {{"apiserver_storage_size_bytes",
          "Size of the storage database file physically allocated in bytes.", COR_METRIC_GAUGE},
         "storage_cluster_id=\"etcd-0\"",
         read_store_bytes},
        {{"coracle_storage_revision",
          "The store's revision: every change of an object counts one. Read every 2 s.",
          COR_METRIC_COUNTER},
         "",
         read_store_rev},
        {{"coracle_watch_cache_revision", "The revision up to which all watch caches are complete.",
          COR_METRIC_COUNTER},
         "",
         read_cache_rev},
        {{"coracle_watch_cache_lag_revisions",
          "Revisions that were committed and shown, and are not in all watch caches yet.",
          COR_METRIC_GAUGE},
         "",
         read_cache_lag},
        {{"coracle_watch_cache_history_bytes",
          "What windows and kept roots of all watch caches hold.", COR_METRIC_GAUGE},
         "",
         read_cache_bytes},
        {{"coracle_watch_cache_history_limit_bytes", "What they may hold: --watch-cache-bytes.",
          COR_METRIC_GAUGE},
         "",
         read_cache_bytes_max},
        {{"coracle_watch_cache_evicted_segments_total",
          "Segments of events that left a window by the byte budget.", COR_METRIC_COUNTER},
         "",
         read_cache_evicted},
        {{"coracle_watch_cache_pinned_bytes",
          "What lists and watches that are being read alone keep in memory, beside the history.",
          COR_METRIC_GAUGE},
         "",
         read_cache_pinned},
        {{"coracle_watch_cache_ended_readers_total", ENDED_HELP, COR_METRIC_COUNTER},
         "verb=\"list\"",
         read_ended_lists},
        {{"coracle_watch_cache_ended_readers_total", ENDED_HELP, COR_METRIC_COUNTER},
         "verb=\"watch\"",
         read_ended_watches},
        {{"coracle_waiting_answers_bytes",
          "What answers hold that wait for their readers, beside what watch caches hold.",
          COR_METRIC_GAUGE},
         "",
         read_held},
        {{"coracle_waiting_answers_ended_total",
          "Answers that were cut because all that waited held more than --watch-cache-bytes.",
          COR_METRIC_COUNTER},
         "",
         read_held_ended},
        {{"coracle_offload_jobs_total",
          "Stages of requests over more than 64 KB, which ran on other threads than the loops'.",
          COR_METRIC_COUNTER},
         "",
         read_offloaded},
        {{"coracle_offload_refused_total",
          "Requests that were answered 429 because too many such stages waited.",
          COR_METRIC_COUNTER},
         "",
         read_offload_refused},
        {{"coracle_offload_bytes", "What such stages that wait or run go over.", COR_METRIC_GAUGE},
         "",
         read_offload_bytes},
    };
    struct cor_metric *metric = NULL;
    int r = cor_metrics_new(in->nworkers, &in->metrics);

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(rows); i++) {
        /* Rows of one metric with several labels stand together. */
        if (i == 0 || strcmp(rows[i].desc.name, rows[i - 1].desc.name) != 0)
            r = cor_metrics_add(in->metrics, &rows[i].desc, &metric);
        if (r == 0)
            r = cor_metric_add_read(metric, rows[i].labels, rows[i].read, in);
    }
    return r < 0 ? r : add_turn_metrics(in);
}

void cor_instance_add_checks(struct cor_instance *in)
{
    in->checks[0] = (struct cor_health_check){"log", is_always_ok, in, true, true};
    in->checks[1] = (struct cor_health_check){"etcd", is_engine_ok, in, true, true};
    in->checks[2] = (struct cor_health_check){"informer-sync", is_synced, in, false, true};
    in->checks[3] = (struct cor_health_check){"shutdown", is_not_draining, in, false, true};
    in->nchecks = 4;
    /* Upstream has it as soon as the file is reloaded, also when no provider is a KMS. */
    if (in->opts.encryption_reload)
        in->checks[in->nchecks++] =
            (struct cor_health_check){"kms-providers", is_always_ok, in, true, true};
}
