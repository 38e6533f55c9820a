/* The moment of a commit is taken where it happens: the engine's thread syncs the log (the VFS shim
 * notes when that returned) and then calls the feeds, so a feed of our own reads that note for
 * every revision. The subscriber is a store's watch on a loop with a thread of its own. */
#include "subscriber.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/mem.h"
#include "fault_vfs.h"
#include "load.h"
#include "loop/timer.h"
#include "measure.h"
#include "storage/store/store_watch.h"

#define REVS_MAX 100000
#define WAIT_MS  60000

struct subscriber {
    struct load load;
    pthread_t thread;
    struct cor_feed *feed;
    struct cor_timer timer;
    struct load_row row;
    size_t wanted, begun, done, interval_us;
    uint64_t began_ns;
    uint64_t *committed_ns,
        *arrived_ns; /* by revision; each written by one thread, read after join */
    _Atomic size_t arrived;
    _Atomic int open; /* the watch is there */
    _Atomic int feed_closed;
    struct cor_store_watch *watch; /* the thread's */
    bool watch_closed;
};

static void on_batch(void *arg, const struct cor_feed_batch *batch)
{
    struct subscriber *s = arg;

    for (size_t i = 0; i < batch->nevents; i++) {
        cor_rev rev = batch->events[i].kv->mod_rev;

        if (rev < REVS_MAX)
            s->committed_ns[rev] = fault_vfs_synced_ns();
    }
}

static void on_broken(void *arg, int err, const char *message)
{
    (void)arg, (void)err;
    fprintf(stderr, "bench: feed: %s\n", message);
}

static void on_feed_closed(void *arg)
{
    atomic_store(&((struct subscriber *)arg)->feed_closed, 1);
}

static void on_watch_closed(void *arg)
{
    ((struct subscriber *)arg)->watch_closed = true;
}

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct subscriber *s = arg;

    if (event->type == COR_WATCH_ERROR)
        load_die("watch", event->status);
    if (event->rev < REVS_MAX)
        s->arrived_ns[event->rev] = measure_now_ns();
    if (atomic_fetch_add(&s->arrived, 1) + 1 == s->wanted)
        cor_store_watch_close(COR_STEAL(s->watch), on_watch_closed, s);
}

static bool is_watch_closed(void *arg)
{
    return ((struct subscriber *)arg)->watch_closed;
}

static void *watch(void *arg)
{
    struct subscriber *s = arg;
    const struct cor_store_watch_opts opts = {
        .options = {.recursive = true, .watch = true, .send_initial_events = COR_FALSE},
        .on_event = on_event,
        .arg = s,
    };
    struct cor_store *store;
    struct cor_status status;
    struct cor_loop *loop;

    cor_status_init(&status);
    if (cor_loop_new(4096, &loop) < 0)
        load_die("loop", NULL);
    load_store_new(s->load.engine, loop, &store);
    if (cor_store_watch_open(store, COR_STR(LOAD_PREFIX), &opts, &s->watch, &status) < 0)
        load_die("watch", &status);
    atomic_store(&s->open, 1);
    if (!cor_loop_run_until(loop, is_watch_closed, s, WAIT_MS))
        load_die("watch: events are missing", NULL);
    cor_store_free(store);
    cor_loop_free(loop);
    return NULL;
}

static void on_created(void *arg, const struct cor_store_reply *reply)
{
    struct subscriber *s = arg;

    if (reply->err < 0)
        load_die("create", reply->status);
    s->done++;
}

static void create_one(struct subscriber *s)
{
    struct cor_object *object;
    struct cor_status status;

    cor_status_init(&status);
    load_row_fill(&s->row, s->begun++);
    if (cor_object_parse(cor_strz(s->row.json), NULL, NULL, NULL, &object, &status) < 0 ||
        cor_store_create(s->load.store, cor_strz(s->row.key), object, 0, on_created, s, &status) <
            0)
        load_die("create", &status);
    cor_object_unref(object);
}

/* Catches up with the schedule, so that a late timer does not lower the rate. */
static void on_timer(struct cor_timer *timer)
{
    struct subscriber *s = COR_CONTAINER_OF(timer, struct subscriber, timer);
    size_t due;

    if (!atomic_load(&s->open)) {
        cor_timer_set(timer, 1);
        return;
    }
    if (!s->began_ns)
        s->began_ns = measure_now_ns();
    due = (measure_now_ns() - s->began_ns) / 1000 / s->interval_us + 1;
    while (s->begun < due && s->begun < s->wanted)
        create_one(s);
    if (s->begun < s->wanted)
        cor_timer_set(timer, 1);
}

static bool is_finished(void *arg)
{
    struct subscriber *s = arg;

    return s->done == s->wanted && atomic_load(&s->arrived) >= s->wanted;
}

static bool feed_is_closed(void *arg)
{
    return atomic_load(&((struct subscriber *)arg)->feed_closed);
}

static void open_all(struct subscriber *s, const char *dir)
{
    const struct cor_feed_opts opts = {
        .key = COR_STR("/"),
        .end = COR_STR("0"),
        .credit = SIZE_MAX,
        .on_batch = on_batch,
        .on_broken = on_broken,
        .on_closed = on_feed_closed,
        .arg = s,
    };

    s->committed_ns = cor_calloc(REVS_MAX, sizeof(uint64_t));
    s->arrived_ns = cor_calloc(REVS_MAX, sizeof(uint64_t));
    if (!s->committed_ns || !s->arrived_ns)
        load_die("subscriber", NULL);
    load_open(&s->load, dir);
    if (cor_feed_open(s->load.engine, &opts, &s->feed) < 0 ||
        pthread_create(&s->thread, NULL, watch, s) != 0)
        load_die("subscriber", NULL);
}

static void close_all(struct subscriber *s)
{
    pthread_join(s->thread, NULL);
    cor_feed_close(s->feed);
    while (!cor_loop_run_until(s->load.loop, feed_is_closed, s, 10))
        continue;
    load_close(&s->load);
}

static struct subscriber_result collect(struct subscriber *s)
{
    struct subscriber_result res = {.events = 0};
    uint64_t *taken = cor_calloc(REVS_MAX, sizeof(*taken));

    if (!taken)
        load_die("memory", NULL);
    for (size_t rev = 0; rev < REVS_MAX; rev++) {
        if (s->committed_ns[rev] && s->arrived_ns[rev])
            taken[res.events++] = s->arrived_ns[rev] - s->committed_ns[rev];
    }
    res.p50_ns = measure_percentile(taken, res.events, 50);
    res.p99_ns = measure_percentile(taken, res.events, 99);
    cor_free(taken);
    cor_free(s->committed_ns);
    cor_free(s->arrived_ns);
    return res;
}

struct subscriber_result subscriber_measure(const char *dir, size_t per_second, size_t seconds)
{
    struct subscriber s = {.wanted = per_second * seconds, .interval_us = 1000000 / per_second};

    open_all(&s, dir);
    cor_timer_init(&s.timer, s.load.loop, on_timer);
    if (cor_timer_set(&s.timer, 1) < 0 ||
        !cor_loop_run_until(s.load.loop, is_finished, &s, WAIT_MS))
        load_die("subscriber: events are missing", NULL);
    close_all(&s);
    return collect(&s);
}
