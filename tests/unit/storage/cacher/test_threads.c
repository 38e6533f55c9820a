/* Several loops read and watch one cache while others write; for ThreadSanitizer above all. Every
 * watch checks that it misses nothing and sees nothing twice, and that what it saw, put together,
 * is what a list at the end shows. In the second test events cannot be read now and then, so that
 * the cache lists anew, and nearly nothing fits the budget: watches end, and go on where they
 * were. In the third, lists and watches hold snapshots without reading on, until the budget ends
 * them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "conformance.h"
#include "storage/store/store_int.h"

#define LOOPS   3
#define PODS    20
#define WRITES  300
#define WATCHES 4
#define HELD    8
#define TICK_MS 100 /* that a write takes in the third test */

#define POD_JSON                                                                                   \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p%02zu\"},\"spec\":{"        \
    "\"nodeName\":\"%u-%zu\"}}"

struct watching {
    struct side *side;
    struct cor_watch *watch;
    cor_rev state[PODS]; /* 0: absent */
    cor_rev last;
    bool initial; /* its objects come by key, not by revision */
    bool open, ended, expired, closed;
};

/* A list that is not read on. */
struct holding {
    struct side *side;
    struct cor_list_cursor *cursor;
    unsigned asked;
};

struct side {
    struct cor_loop *loop;
    struct cor_store *store;
    struct cor_reader *reader;
    struct watching watching[WATCHES];
    struct holding holding[HELD];
    cor_rev final;
    size_t written, lists;
    bool list_done, reply_done, failed;
    pthread_t thread;
    unsigned number;
};

static struct conf c;
static struct side sides[LOOPS];
static _Atomic cor_rev final_rev;
static bool is_rough; /* watches may end */
static bool is_slow;  /* some are not read before all is written */
static struct cor_clock_manual slow_clock;
static _Atomic unsigned reads, relists, resumes;

/* Where the threads stand, and what they may do. */
static _Atomic unsigned made, written, freed, stopped;
static _Atomic bool may_run, may_stop, may_free;

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static void wait_until(struct side *s, bool (*done)(void *arg), void *arg)
{
    if (!cor_loop_run_until(s->loop, done, arg, CONF_TIMEOUT_MS))
        s->failed = true;
}

static unsigned pod_of(const struct cor_object *object)
{
    struct cor_str name = cor_object_name(object);

    return (unsigned)(name.p[1] - '0') * 10 + (unsigned)(name.p[2] - '0');
}

/* One that is refused is asked for again: as much history may be read already as may be. */
static void on_open(void *arg, int err, struct cor_status *status)
{
    struct watching *w = arg;

    w->ended |= err < 0;
    w->side->failed |= err < 0 && !is_rough;
}

/* Its initial state is not read on. */
static bool is_held(const struct watching *w)
{
    return is_slow && w->initial && w->side->written < WRITES && w == &w->side->watching[1];
}

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct watching *w = arg;
    cor_rev *state;

    if (!event || event->type == COR_WATCH_ERROR) {
        w->ended = true;
        /* History that could not be read is told to who asked for it, who lists anew as well. */
        w->expired = event && (event->status->code == 410 || event->status->code == 500);
        w->side->failed |= !is_rough || (event && !w->expired);
        return;
    }
    if (event->type == COR_WATCH_BOOKMARK) {
        w->initial = false;
        w->last = event->rev;
        return;
    }
    state = &w->state[pod_of(event->object)];
    w->side->failed |= (event->type == COR_WATCH_ADDED) != (*state == 0);
    w->side->failed |= !w->initial && event->rev <= w->last;
    *state = event->type == COR_WATCH_DELETED ? 0 : event->rev;
    w->last = event->rev;
    /* Every other one reads one event at a time. */
    if ((w - w->side->watching) % 2) {
        cor_watch_pause(w->watch);
        if (!is_held(w))
            cor_watch_resume(w->watch);
    }
}

/* From where it was, or anew. */
static void open_watch(struct watching *w)
{
    struct cor_reader_watch_opts opts = {
        .options = {.recursive = true, .allow_bookmarks = true},
        .on_open = on_open,
        .on_event = on_event,
        .arg = w,
    };
    char rv[24];
    int r;

    if (w->initial || w->expired || w->last == 0) {
        memset(w->state, 0, sizeof(w->state));
        w->initial = true;
        opts.options.send_initial_events = COR_TRUE;
        opts.options.resource_version_match = COR_STR("NotOlderThan");
        atomic_fetch_add(&relists, 1);
    } else {
        snprintf(rv, sizeof(rv), "%llu", (unsigned long long)w->last);
        opts.options.resource_version = cor_strz(rv);
        atomic_fetch_add(&resumes, 1);
    }
    w->ended = w->expired = false;
    r = cor_reader_watch(w->side->reader, COR_STR("/pods"), &opts, &w->watch, NULL);
    w->open = r == 0;
    w->side->failed |= r < 0 && !(is_rough && r == -COR_EBUSY);
}

static void close_watch(struct watching *w)
{
    if (!w->open)
        return;
    w->closed = w->open = false;
    cor_watch_close(w->watch, set_true, &w->closed);
    wait_until(w->side, is_true, &w->closed);
}

/* The first time there was nothing to hold. */
static void begin_anew(struct watching *w)
{
    if (w->initial)
        return;
    close_watch(w);
    w->last = 0;
}

static bool never(void *arg)
{
    return false;
}

/* A cache that is not ready is waited for. */
static void mend_watches(struct side *s)
{
    for (size_t i = 0; i < WATCHES; i++) {
        struct watching *w = &s->watching[i];

        if (w->ended)
            close_watch(w);
        while (!w->open && !s->failed) {
            open_watch(w);
            if (!w->open)
                cor_loop_run_until(s->loop, never, NULL, 5);
        }
    }
}

static void put_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct side *s = arg;
    struct cor_object *object;
    char json[160];

    snprintf(json, sizeof(json), POD_JSON, s->written % PODS, s->number, s->written);
    if (cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, NULL) < 0)
        abort();
    cor_store_change_write(change, object, 0);
}

static void on_written(void *arg, const struct cor_store_reply *reply)
{
    struct side *s = arg;

    s->reply_done = true;
    s->failed |= reply->err < 0 && reply->err != -COR_ENOTFOUND;
    if (reply->object)
        s->final = reply->object->rev;
}

struct raw_write {
    struct cor_write_req write;
    bool done;
};

static void on_raw(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct raw_write, write.req)->done = true;
}

/* Without the object, so that the cache has to read the value. It may lose against another. */
static void write_raw(struct side *s, const struct cor_object *hint)
{
    struct raw_write raw = {.done = false};
    char key[48], json[160];

    snprintf(key, sizeof(key), "/registry/pods/p%02zu", s->written % PODS);
    snprintf(json, sizeof(json), POD_JSON, s->written % PODS, s->number, s->written);
    cor_write_req_init(&raw.write, s->loop, on_raw);
    raw.write.key = cor_strz(key);
    raw.write.value = cor_strz(json);
    raw.write.expected = hint ? hint->rev : 0;
    cor_engine_write(c.engine, &raw.write);
    wait_until(s, is_true, &raw.done);
    if (raw.write.req.result == 0)
        s->final = raw.write.ret_rev;
    s->failed |= raw.write.req.result < 0 && raw.write.req.result != -COR_ECONFLICT;
    cor_write_req_deinit(&raw.write);
}

static void write_one(struct side *s)
{
    struct cor_object *hint;
    char key[32];
    int r = 0;

    snprintf(key, sizeof(key), "/pods/p%02zu", s->written % PODS);
    hint = cor_reader_suggest(s->reader, cor_strz(key));
    s->reply_done = false;
    if (is_rough && s->written % 3 == 1) {
        write_raw(s, hint);
        s->reply_done = true;
    } else if (s->written % 7 == 3) {
        struct cor_store_delete_opts opts = {.suggestion = hint, .on_done = on_written, .arg = s};

        r = cor_store_delete(s->store, cor_strz(key), &opts, NULL);
    } else {
        struct cor_store_update_opts opts = {.ignore_not_found = true,
                                             .suggestion = hint,
                                             .step = put_step,
                                             .on_done = on_written,
                                             .arg = s};

        r = cor_store_update(s->store, cor_strz(key), &opts, NULL);
    }
    s->failed |= r < 0;
    if (r == 0)
        wait_until(s, is_true, &s->reply_done);
    cor_object_unref(hint);
}

static void let_go(struct holding *h)
{
    h->cursor = cor_list_cursor_free(h->cursor);
}

/* Goes at the second time, and takes its neighbour along. */
static bool on_lost(void *arg)
{
    struct holding *h = arg;

    if (h->asked++ == 0)
        return false;
    let_go(&h->side->holding[(size_t)(h - h->side->holding + 1) % HELD]);
    let_go(h);
    return true;
}

/* True: the cursor is kept. */
static bool hold(struct side *s, struct cor_list_cursor *cursor)
{
    for (size_t i = 0; is_slow && i < HELD; i++) {
        struct holding *h = &s->holding[i];

        if (h->cursor)
            continue;
        *h = (struct holding){.side = s, .cursor = cursor};
        cursor->on_lost = on_lost;
        cursor->lost_arg = h;
        return true;
    }
    return false;
}

/* The list must hold what was acknowledged to this loop before. */
static void on_list(void *arg, int err, struct cor_status *status, struct cor_list_cursor *cursor)
{
    struct side *s = arg;

    s->list_done = true;
    s->lists++;
    if (err < 0) {
        s->failed |= !(is_rough && err == -COR_EBUSY);
    } else if (cursor->rev < s->final) {
        s->failed = true;
    } else {
        struct cor_object *object = cor_list_cursor_next(cursor);

        if (object && hold(s, cursor))
            return;
        for (; object; object = cor_list_cursor_next(cursor))
            s->failed |= object->rev > cursor->rev;
    }
    cor_list_cursor_free(cursor);
}

/* Every second list is of one node's pods, from the index, and makes notes of their names. */
static void list_one(struct side *s)
{
    COR_CLEANUP(cor_predicate_deinit) struct cor_predicate predicate = {0};
    struct cor_store_list_opts opts = {.options.recursive = true};
    char fields[64];
    int r;

    snprintf(fields, sizeof(fields), "spec.nodeName=%u-%zu,metadata.name!=x", s->number,
             s->written);
    /* A list that is held would outlive its predicate. */
    if (!is_slow && s->written % 2) {
        predicate = conf_predicate("", fields);
        opts.predicate = &predicate;
    }
    s->list_done = false;
    r = cor_reader_list(s->reader, COR_STR("/pods"), &opts, on_list, s, NULL);
    s->failed |= r < 0 && !(is_rough && r == -COR_EBUSY);
    if (r == 0)
        wait_until(s, is_true, &s->list_done);
}

static bool has_seen_all(void *arg)
{
    struct side *s = arg;
    cor_rev rev = atomic_load(&final_rev);

    for (size_t i = 0; i < WATCHES && rev > 0; i++) {
        const struct watching *w = &s->watching[i];

        if (w->initial || w->last < rev)
            return false;
    }
    return rev > 0;
}

/* Turns of the loop until another thread says so. */
static void turn_until(struct cor_loop *loop, const _Atomic bool *flag)
{
    while (!atomic_load(flag))
        cor_loop_run_until(loop, never, NULL, 5);
}

static void turn_until_all(struct cor_loop *loop, const _Atomic unsigned *count)
{
    while (atomic_load(count) < LOOPS)
        cor_loop_run_until(loop, never, NULL, 5);
}

static void close_side(struct side *s)
{
    for (size_t i = 0; i < WATCHES; i++)
        close_watch(&s->watching[i]);
    for (size_t i = 0; i < HELD; i++)
        let_go(&s->holding[i]);
    cor_reader_free(s->reader);
}

static void *run_side(void *arg)
{
    struct side *s = arg;
    struct cor_store_opts store = {
        .engine = c.engine,
        .resource_prefix = "/pods",
        .api_version = COR_STR("v1"),
        .kind = COR_STR("Pod"),
    };

    if (cor_loop_new(4096, &s->loop) < 0)
        abort();
    store.loop = s->loop;
    atomic_fetch_add(&made, 1);
    turn_until(s->loop, &may_run);
    if (cor_store_new(&store, &s->store, NULL) < 0 ||
        cor_cacher_reader_new(c.cacher, s->store, &s->reader) < 0)
        abort();
    for (size_t i = 0; i < WATCHES; i++)
        s->watching[i].side = s;
    for (; s->written < WRITES && !s->failed; s->written++) {
        if (is_slow && s->written % 10 == 5)
            begin_anew(&s->watching[1]);
        mend_watches(s);
        write_one(s);
        if (is_slow)
            cor_clock_manual_advance(&slow_clock, TICK_MS);
        if (s->written % 10 == 0)
            list_one(s);
    }
    atomic_fetch_add(&written, 1);
    for (size_t i = 0; i < WATCHES; i++)
        if (s->watching[i].open)
            cor_watch_resume(s->watching[i].watch);
    while (!s->failed && !cor_loop_run_until(s->loop, has_seen_all, s, 5))
        mend_watches(s);
    close_side(s);
    atomic_fetch_add(&freed, 1);
    turn_until(s->loop, &may_stop);
    cor_store_free(s->store);
    atomic_fetch_add(&stopped, 1);
    turn_until(s->loop, &may_free);
    cor_loop_free(s->loop);
    return NULL;
}

static void open_cachers(void)
{
    struct cor_loop *loops[LOOPS + 1] = {c.loop};
    struct cor_cachers_opts cachers = {.engine = c.engine,
                                       .loops = loops,
                                       .nloops = LOOPS + 1,
                                       .bytes_max = is_rough ? 1 : 1u << 20,
                                       .clock = is_slow ? &slow_clock.clock : NULL};
    struct cor_cacher_opts cacher = {.store = c.store};

    for (unsigned i = 0; i < LOOPS; i++)
        loops[i + 1] = sides[i].loop;
    assert_int_equal(cor_cachers_open(&cachers, &c.cachers), 0);
    cacher.cachers = c.cachers;
    assert_int_equal(cor_cacher_open(&cacher, &c.cacher, NULL), 0);
    while (!cor_cacher_is_ready(c.cacher))
        cor_loop_run_until(c.loop, never, NULL, 5);
}

static void close_cachers(void)
{
    bool closed = false;

    cor_cacher_close(c.cacher, set_true, &closed);
    conf_wait(&c, &closed);
    closed = false;
    cor_cachers_close(c.cachers, set_true, &closed);
    conf_wait(&c, &closed);
}

/* What the watches of all loops put together is what the store holds. */
static void check_states(void)
{
    struct cor_store_list_opts opts = {.options.recursive = true};
    CONF_LIST list = conf_list(&c, "/pods", &opts);
    cor_rev expected[PODS] = {0};

    assert_int_equal(list.err, 0);
    for (size_t i = 0; i < list.nitems; i++)
        expected[pod_of(list.items[i])] = list.items[i]->rev;
    for (unsigned i = 0; i < LOOPS; i++) {
        assert_false(sides[i].failed);
        for (size_t j = 0; j < WATCHES; j++)
            assert_memory_equal(sides[i].watching[j].state, expected, sizeof(expected));
    }
}

static struct cor_cachers_stats run(const struct cor_transformer *transformer)
{
    struct cor_cachers_stats stats;
    cor_rev last = 0;

    made = written = freed = stopped = 0;
    may_run = may_stop = may_free = false;
    atomic_store(&final_rev, 0);
    conf_open_store(&c);
    c.store->transformer = transformer;
    memset(sides, 0, sizeof(sides));
    for (unsigned i = 0; i < LOOPS; i++) {
        sides[i].number = i;
        assert_int_equal(pthread_create(&sides[i].thread, NULL, run_side, &sides[i]), 0);
    }
    turn_until_all(c.loop, &made);
    open_cachers();
    atomic_store(&may_run, true);
    turn_until_all(c.loop, &written);
    for (unsigned i = 0; i < LOOPS; i++)
        last = sides[i].final > last ? sides[i].final : last;
    atomic_store(&final_rev, last);
    turn_until_all(c.loop, &freed);
    stats = cor_cachers_stats(c.cachers);
    assert_int_equal(stats.pinned, 0);
    close_cachers();
    c.store->transformer = cor_transformer_identity();
    check_states();
    atomic_store(&may_stop, true);
    turn_until_all(c.loop, &stopped);
    cor_store_free(c.store);
    cor_engine_close(c.engine);
    atomic_store(&may_free, true);
    for (unsigned i = 0; i < LOOPS; i++)
        pthread_join(sides[i].thread, NULL);
    cor_loop_free(c.loop);
    return stats;
}

TEST(threads, watches_on_several_loops_put_together_what_the_store_holds)
{
    is_rough = is_slow = false;
    run(cor_transformer_identity());
}

static int read_or_fail(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status)
{
    if (atomic_fetch_add(&reads, 1) % 100 == 99)
        return -COR_ENOMEM;
    *ret_out = in;
    *ret_stale = false;
    return 0;
}

TEST(threads, watches_that_end_go_on_without_a_gap_through_relists_and_evictions)
{
    static const struct cor_transformer transformer = {.from_storage = read_or_fail};

    is_rough = true;
    is_slow = false;
    atomic_store(&reads, 0);
    atomic_store(&resumes, 0);
    run(&transformer);
    assert_true(atomic_load(&resumes) > 0);
}

TEST(threads, slow_lists_and_watches_are_ended_on_their_loops_while_others_write)
{
    struct cor_cachers_stats stats;

    is_rough = is_slow = true;
    cor_clock_manual_init(&slow_clock, 1000, 0);
    stats = run(cor_transformer_identity());
    assert_true(stats.ended_lists > 0);
    assert_true(stats.ended_watches > 0);
}
