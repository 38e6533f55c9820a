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

/* What a module knows at one moment: a family of `figure_rows` shows one or two members of it. */
union figures {
    struct {
        uint64_t bytes, rev, is_full, refused_writes;
    } store;
    struct {
        struct cor_cachers_stats stats;
        uint64_t lag;
    } caches;
    struct cor_api_protobuf_cache_stats protobuf;
    struct cor_api_held_stats held;
    struct cor_offload_stats offload;
};

static void take_store(const struct cor_instance *in, union figures *ret_figures)
{
    ret_figures->store.bytes = atomic_load(&in->store_bytes);
    ret_figures->store.rev = atomic_load(&in->store_rev);
    ret_figures->store.is_full = atomic_load(&in->is_store_full);
    ret_figures->store.refused_writes = cor_engine_refused_writes(in->engine);
}

static void take_caches(const struct cor_instance *in, union figures *ret_figures)
{
    struct cor_cachers_stats stats = cor_api_cache_stats(in->api);

    ret_figures->caches.stats = stats;
    ret_figures->caches.lag = stats.seen > stats.rev ? stats.seen - stats.rev : 0;
}

static void take_protobuf(const struct cor_instance *in, union figures *ret_figures)
{
    ret_figures->protobuf = cor_api_protobuf_cache_stats(in->api);
}

static void take_held(const struct cor_instance *in, union figures *ret_figures)
{
    ret_figures->held = cor_api_held_stats(in->api);
}

static void take_offload(const struct cor_instance *in, union figures *ret_figures)
{
    cor_offload_get_stats(in->offload, &ret_figures->offload);
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

#define LOOKUPS_HELP                                                                                \
    "Items of lists in protobuf that were looked for among the kept ones, in each of a list's two " \
    "passes."
#define ENDED_HELP                                                                                 \
    "Slow lists and watches that were ended because what they kept in memory was over the budget."

#define FIGURE(member) offsetof(union figures, member), sizeof(((union figures *)0)->member)

/* Rows of one family with several labels are adjacent. */
static const struct figure_row {
    struct cor_metric_desc desc;
    const char *labels;
    void (*take)(const struct cor_instance *in, union figures *ret_figures);
    size_t at, width; /* the figure: an unsigned number inside what `take` gives */
} figure_rows[] = {
    {{"apiserver_storage_size_bytes",
      "Size of the storage database file physically allocated in bytes.", COR_METRIC_GAUGE},
     "storage_cluster_id=\"etcd-0\"",
     take_store,
     FIGURE(store.bytes)},
    {{"coracle_storage_full",
      "1 while the store has no room and refuses writes, and for 10 s after it.", COR_METRIC_GAUGE},
     "",
     take_store,
     FIGURE(store.is_full)},
    {{"coracle_storage_refused_writes_total", "Writes that the store had no room for.",
      COR_METRIC_COUNTER},
     "",
     take_store,
     FIGURE(store.refused_writes)},
    {{"coracle_storage_revision",
      "The store's revision: every change of an object counts one. Read every 2 s.",
      COR_METRIC_COUNTER},
     "",
     take_store,
     FIGURE(store.rev)},
    {{"coracle_watch_cache_revision", "The revision up to which all watch caches are complete.",
      COR_METRIC_COUNTER},
     "",
     take_caches,
     FIGURE(caches.stats.rev)},
    {{"coracle_watch_cache_lag_revisions",
      "Revisions that were committed and shown, and are not in all watch caches yet.",
      COR_METRIC_GAUGE},
     "",
     take_caches,
     FIGURE(caches.lag)},
    {{"coracle_watch_cache_history_bytes", "What windows and kept roots of all watch caches hold.",
      COR_METRIC_GAUGE},
     "",
     take_caches,
     FIGURE(caches.stats.bytes)},
    {{"coracle_watch_cache_history_limit_bytes", "What they may hold: --watch-cache-bytes.",
      COR_METRIC_GAUGE},
     "",
     take_caches,
     FIGURE(caches.stats.bytes_max)},
    {{"coracle_watch_cache_evicted_segments_total",
      "Segments of events that left a window by the byte budget.", COR_METRIC_COUNTER},
     "",
     take_caches,
     FIGURE(caches.stats.evicted)},
    {{"coracle_watch_cache_pinned_bytes",
      "What lists and watches that are being read alone keep in memory, beside the history.",
      COR_METRIC_GAUGE},
     "",
     take_caches,
     FIGURE(caches.stats.pinned)},
    {{"coracle_watch_cache_replays",
      "Readings of the engine's history for watches from before a window.", COR_METRIC_GAUGE},
     "",
     take_caches,
     FIGURE(caches.stats.replays)},
    {{"coracle_watch_cache_ended_readers_total", ENDED_HELP, COR_METRIC_COUNTER},
     "verb=\"list\"",
     take_caches,
     FIGURE(caches.stats.ended_lists)},
    {{"coracle_watch_cache_ended_readers_total", ENDED_HELP, COR_METRIC_COUNTER},
     "verb=\"watch\"",
     take_caches,
     FIGURE(caches.stats.ended_watches)},
    {{"coracle_protobuf_cache_bytes",
      "What kept items of lists in protobuf hold, with the objects that they were made of.",
      COR_METRIC_GAUGE},
     "",
     take_protobuf,
     FIGURE(protobuf.bytes)},
    {{"coracle_protobuf_cache_limit_bytes", "What they may hold: --protobuf-cache-bytes.",
      COR_METRIC_GAUGE},
     "",
     take_protobuf,
     FIGURE(protobuf.bytes_max)},
    {{"coracle_protobuf_cache_lookups_total", LOOKUPS_HELP, COR_METRIC_COUNTER},
     "result=\"hit\"",
     take_protobuf,
     FIGURE(protobuf.hits)},
    {{"coracle_protobuf_cache_lookups_total", LOOKUPS_HELP, COR_METRIC_COUNTER},
     "result=\"miss\"",
     take_protobuf,
     FIGURE(protobuf.misses)},
    {{"coracle_waiting_answers_bytes",
      "What answers hold that wait for their readers, beside what watch caches hold.",
      COR_METRIC_GAUGE},
     "",
     take_held,
     FIGURE(held.bytes)},
    {{"coracle_waiting_answers_ended_total",
      "Answers that were cut because all that waited held more than --watch-cache-bytes.",
      COR_METRIC_COUNTER},
     "",
     take_held,
     FIGURE(held.ended)},
    {{"coracle_offload_jobs_total",
      "Stages of large requests, which ran on other threads than the loops'.", COR_METRIC_COUNTER},
     "",
     take_offload,
     FIGURE(offload.jobs)},
    {{"coracle_offload_refused_total",
      "Requests that were answered 429 because too many such stages waited.", COR_METRIC_COUNTER},
     "",
     take_offload,
     FIGURE(offload.refused)},
    {{"coracle_offload_bytes", "What such stages that wait or run go over.", COR_METRIC_GAUGE},
     "",
     take_offload,
     FIGURE(offload.bytes)},
};
#undef FIGURE

static uint64_t figure_of(const union figures *figures, const struct figure_row *row)
{
    const char *p = (const char *)figures + row->at;
    uint64_t wide;
    size_t n;

    assert(row->width == sizeof(wide) || row->width == sizeof(n));
    if (row->width == sizeof(wide)) {
        memcpy(&wide, p, sizeof(wide));
        return wide;
    }
    memcpy(&n, p, sizeof(n));
    return n;
}

/* Shows the family whose first row has the description. */
static void collect_figures(void *arg, struct cor_metric_out *to)
{
    const struct figure_row *row =
        COR_CONTAINER_OF(cor_metric_out_desc(to), const struct figure_row, desc);
    const struct figure_row *end = figure_rows + COR_ARRAY_LEN(figure_rows);
    const char *name = row->desc.name;
    union figures figures;

    assert(row >= figure_rows && row < end);
    row->take(arg, &figures);
    for (; row < end && strcmp(row->desc.name, name) == 0; row++)
        cor_metric_put(to, cor_strz(row->labels), figure_of(&figures, row));
}

int cor_instance_add_metrics(struct cor_instance *in)
{
    struct cor_metric *metric;
    int r = cor_metrics_new(in->nworkers, &in->metrics);

    assert(in->nworkers > 0);
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(figure_rows); i++) {
        if (i > 0 && strcmp(figure_rows[i].desc.name, figure_rows[i - 1].desc.name) == 0)
            continue;
        r = cor_metrics_add(in->metrics, &figure_rows[i].desc, &metric);
        if (r == 0)
            cor_metric_set_collect(metric, collect_figures, in);
    }
    return r < 0 ? r : add_turn_metrics(in);
}
