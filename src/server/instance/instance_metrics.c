/* The families of metrics about the whole program: the store, the watch caches together, answers
 * that wait for their readers, the offload threads and the turns of the loops. A scrape reads the
 * figures when it is written, from the thread of the scrape: each reader here loads atomics, or
 * asks a module whose statistics may be read from any thread. What is counted per request is in
 * server/metrics/request_metrics.c, what the HTTP server counts in server/http/server_metrics.c. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "loop/offload.h"
#include "loop/turns.h"
#include "server/instance/instance_int.h"

static uint64_t read_store_bytes(void *arg)
{
    return atomic_load(&((struct cor_instance *)arg)->store_bytes);
}

static uint64_t read_store_full(void *arg)
{
    return atomic_load(&((struct cor_instance *)arg)->is_store_full);
}

static uint64_t read_refused_writes(void *arg)
{
    return cor_engine_refused_writes(((struct cor_instance *)arg)->engine);
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

static uint64_t read_cache_replays(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).replays;
}

static uint64_t read_ended_lists(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).ended_lists;
}

static uint64_t read_ended_watches(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).ended_watches;
}

static struct cor_api_protobuf_cache_stats protobuf_stats(void *arg)
{
    return cor_api_protobuf_cache_stats(((struct cor_instance *)arg)->api);
}

static uint64_t read_protobuf_bytes(void *arg)
{
    return protobuf_stats(arg).bytes;
}

static uint64_t read_protobuf_bytes_max(void *arg)
{
    return protobuf_stats(arg).bytes_max;
}

static uint64_t read_protobuf_hits(void *arg)
{
    return protobuf_stats(arg).hits;
}

static uint64_t read_protobuf_misses(void *arg)
{
    return protobuf_stats(arg).misses;
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

/* A sample of the turns of a loop or of the engine's thread. */
static void put_thread(struct cor_metric_out *to, const char *name,
                       const struct cor_loop_turns *turns, bool wall, bool longest)
{
    const struct cor_turn_figures *figures = wall ? &turns->wall : &turns->cpu;
    char labels[40];

    snprintf(labels, sizeof(labels), "loop=\"%s\"", name);
    if (longest)
        cor_metric_put(to, cor_strz(labels), figures->max_us);
    else
        cor_metric_put_histogram(to, cor_strz(labels), figures->counts, figures->sum_us);
}

static void put_turns(const struct cor_instance *in, bool wall, bool longest,
                      struct cor_metric_out *to)
{
    struct cor_loop_turns turns;

    for (size_t i = 0; i < in->nworkers; i++) {
        char name[24];

        snprintf(name, sizeof(name), "%zu", i);
        cor_loop_get_turns(in->workers[i].loop, &turns);
        put_thread(to, name, &turns, wall, longest);
    }
    cor_loop_get_turns(in->home, &turns);
    put_thread(to, "home", &turns, wall, longest);
    cor_engine_get_turns(in->engine, &turns);
    put_thread(to, "engine", &turns, wall, longest);
}

static void collect_turns(void *arg, struct cor_metric_out *to)
{
    put_turns(arg, false, false, to);
}

static void collect_longest_turns(void *arg, struct cor_metric_out *to)
{
    put_turns(arg, false, true, to);
}

static void collect_wall_turns(void *arg, struct cor_metric_out *to)
{
    put_turns(arg, true, false, to);
}

static void collect_longest_wall_turns(void *arg, struct cor_metric_out *to)
{
    put_turns(arg, true, true, to);
}

static int add_turn_metrics(struct cor_instance *in)
{
#define HISTOGRAM(n, h)                                                                            \
    {                                                                                              \
        .name = n, .help = h, .type = COR_METRIC_HISTOGRAM, .scale = 1000000,                      \
        .buckets = cor_loop_turn_buckets, .nbuckets = COR_LOOP_TURN_BUCKETS                        \
    }
#define LONGEST(n, h)                                                                              \
    {                                                                                              \
        .name = n, .help = h, .type = COR_METRIC_GAUGE, .scale = 1000000                           \
    }
    static const struct {
        struct cor_metric_desc desc;
        void (*collect)(void *arg, struct cor_metric_out *to);
    } rows[] = {
        {HISTOGRAM(
             "coracle_loop_turn_seconds",
             "CPU time that a loop's thread, or the engine's, takes from one sleep to the next."),
         collect_turns},
        {LONGEST("coracle_loop_turn_max_seconds",
                 "The longest turn since the start, in CPU time of the loop's thread."),
         collect_longest_turns},
        {HISTOGRAM(
             "coracle_loop_turn_wall_seconds",
             "Such turns on the clock, with what they wait for: locks, pages, disk, processors."),
         collect_wall_turns},
        {LONGEST("coracle_loop_turn_wall_max_seconds",
                 "The longest turn since the start on the clock."),
         collect_longest_wall_turns},
    };
#undef HISTOGRAM
#undef LONGEST
    struct cor_metric *metric;
    int r = 0;

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(rows); i++) {
        r = cor_metrics_add(in->metrics, &rows[i].desc, &metric);
        if (r == 0)
            cor_metric_set_collect(metric, rows[i].collect, in);
    }
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

#define LOOKUPS_HELP                                                                                \
    "Items of lists in protobuf that were looked for among the kept ones, in each of a list's two " \
    "passes."
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
        {{"coracle_storage_full",
          "1 while the store has no room and refuses writes, and for 10 s after it.",
          COR_METRIC_GAUGE},
         "",
         read_store_full},
        {{"coracle_storage_refused_writes_total", "Writes that the store had no room for.",
          COR_METRIC_COUNTER},
         "",
         read_refused_writes},
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
        {{"coracle_watch_cache_replays",
          "Readings of the engine's history for watches from before a window.", COR_METRIC_GAUGE},
         "",
         read_cache_replays},
        {{"coracle_watch_cache_ended_readers_total", ENDED_HELP, COR_METRIC_COUNTER},
         "verb=\"list\"",
         read_ended_lists},
        {{"coracle_watch_cache_ended_readers_total", ENDED_HELP, COR_METRIC_COUNTER},
         "verb=\"watch\"",
         read_ended_watches},
        {{"coracle_protobuf_cache_bytes",
          "What kept items of lists in protobuf hold, with the objects that they were made of.",
          COR_METRIC_GAUGE},
         "",
         read_protobuf_bytes},
        {{"coracle_protobuf_cache_limit_bytes", "What they may hold: --protobuf-cache-bytes.",
          COR_METRIC_GAUGE},
         "",
         read_protobuf_bytes_max},
        {{"coracle_protobuf_cache_lookups_total", LOOKUPS_HELP, COR_METRIC_COUNTER},
         "result=\"hit\"",
         read_protobuf_hits},
        {{"coracle_protobuf_cache_lookups_total", LOOKUPS_HELP, COR_METRIC_COUNTER},
         "result=\"miss\"",
         read_protobuf_misses},
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

    assert(in->nworkers > 0);
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(rows); i++) {
        /* Rows of one metric with several labels stand together. */
        if (i == 0 || strcmp(rows[i].desc.name, rows[i - 1].desc.name) != 0)
            r = cor_metrics_add(in->metrics, &rows[i].desc, &metric);
        if (r == 0)
            r = cor_metric_add_read(metric, rows[i].labels, rows[i].read, in);
    }
    return r < 0 ? r : add_turn_metrics(in);
}
