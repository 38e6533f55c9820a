/* Events on their way from the window to watches: who is offered them, who lags, what leaves. */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fake_engine.h"
#include "storage/cacher/cache_watch_int.h"

static struct fake f;

static const char *rv(cor_rev rev)
{
    static char text[4][24];
    static unsigned turn;
    char *out = text[turn++ % 4];

    snprintf(out, sizeof(text[0]), "%llu", (unsigned long long)rev);
    return out;
}

static struct cor_cacher_reader_stats stats(void)
{
    return cor_cacher_reader_stats(f.reader);
}

static void open_from(struct fake_watch *w, cor_rev rev, const char *fields)
{
    struct cor_reader_watch_opts opts = fake_watch_opts(w, rv(rev), fields);

    fake_watch_open(&f, w, "/pods", &opts);
}

TEST(cacher_dispatch, events_for_another_node_neither_end_nor_cost_an_idle_watcher)
{
    enum { EVENTS = 20000 };
    struct fake_watch b;

    fake_open(&f, 1u << 20);
    open_from(&b, f.rev, "spec.nodeName=node-b");
    fake_settle(&f);
    assert_int_equal(stats().idle, 1);
    cor_watch_pause(b.watch);
    for (int i = 0; i < EVENTS; i++) {
        fake_put(&f, "ns", "p", "node-a", i % 2 ? "x" : "y");
        if (i % 100 == 0)
            fake_settle(&f);
    }
    fake_settle(&f);
    assert_int_equal(stats().events, EVENTS);
    assert_int_equal(stats().visits, 0);
    assert_int_equal(stats().walked, 0);
    assert_int_equal(stats().idle, 1);
    assert_true(cor_cachers_stats(f.cachers).evicted > 0);
    cor_watch_resume(b.watch);
    fake_put(&f, "ns", "p", "node-b", NULL);
    fake_settle(&f);
    assert_false(b.ended);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.last_type, COR_WATCH_ADDED);
    fake_watch_close(&b);
    fake_close(&f);
}

/* What one event for the first watcher costs, with `n` watchers each on its own node. */
static uint64_t visits_of_an_event(size_t n)
{
    struct fake_watch *watches = cor_calloc(n, sizeof(*watches));
    struct cor_cacher_reader_stats before, after;
    char fields[64];

    fake_open(&f, 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(fields, sizeof(fields), "spec.nodeName=node-%zu", i);
        open_from(&watches[i], f.rev, fields);
    }
    fake_settle(&f);
    assert_int_equal(stats().idle, n);
    before = stats();
    fake_put(&f, "ns", "p", "node-0", NULL);
    fake_settle(&f);
    after = stats();
    assert_int_equal(watches[0].n, 1);
    for (size_t i = 0; i < n; i++)
        fake_watch_close(&watches[i]);
    fake_close(&f);
    cor_free(watches);
    return after.visits - before.visits + after.walked - before.walked;
}

TEST(cacher_dispatch, an_event_costs_its_watchers_however_many_others_there_are)
{
    assert_int_equal(visits_of_an_event(50), 1);
    assert_int_equal(visits_of_an_event(5000), 1);
}

TEST(cacher_dispatch, watchers_that_do_not_read_cost_the_others_nothing)
{
    enum { N = 5000, STUCK = N / 10, EVENTS = 40 };
    struct fake_watch *watches = cor_calloc(N, sizeof(*watches));
    struct cor_cacher_reader_stats before, after;

    fake_open(&f, 0);
    for (size_t i = 0; i < N; i++)
        open_from(&watches[i], f.rev, "");
    fake_settle(&f);
    for (size_t i = 0; i < STUCK; i++)
        cor_watch_pause(watches[i].watch);
    fake_put(&f, "ns", "p", "a", NULL);
    fake_settle(&f);
    assert_int_equal(stats().lagging, STUCK);
    before = stats();
    for (int i = 0; i < EVENTS; i++) {
        fake_put(&f, "ns", "p", i % 2 ? "a" : "b", NULL);
        fake_settle(&f);
    }
    after = stats();
    assert_int_equal(after.visits - before.visits, (N - STUCK) * EVENTS);
    assert_int_equal(after.deliveries - before.deliveries, (N - STUCK) * EVENTS);
    assert_int_equal(after.walked, before.walked);
    for (size_t i = 0; i < STUCK; i++)
        cor_watch_resume(watches[i].watch);
    fake_settle(&f);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(watches[i].n, EVENTS + 1);
        assert_int_equal(watches[i].last, f.rev);
        fake_watch_close(&watches[i]);
    }
    fake_close(&f);
    cor_free(watches);
}

/* Who was called, in order. */
static const void *calls[16];
static size_t ncalls;

static void note_call(void *arg, const struct cor_reader_event *event)
{
    assert_true(ncalls < COR_ARRAY_LEN(calls));
    calls[ncalls++] = arg;
}

static void open_noted(struct fake_watch *w, const char *fields)
{
    struct cor_reader_watch_opts opts = fake_watch_opts(w, rv(f.rev), fields);

    opts.on_event = note_call;
    fake_watch_open(&f, w, "/pods", &opts);
}

TEST(cacher_dispatch, events_that_come_together_reach_each_watcher_in_a_row)
{
    struct fake_watch a, b, c;
    const void *want[] = {&a, &a, &a, &b, &b, &b, &c, &c};

    fake_open(&f, 0);
    ncalls = 0;
    open_noted(&a, "");
    open_noted(&b, "");
    open_noted(&c, "spec.nodeName=n");
    fake_settle(&f);
    fake_put(&f, "ns", "p", "n", "1");
    fake_put(&f, "ns", "q", "other", "2");
    fake_put(&f, "ns", "p", "n", "3");
    fake_settle(&f);
    assert_int_equal(ncalls, COR_ARRAY_LEN(want));
    /* Which of the buckets comes first is not said. */
    if (calls[0] == &c)
        assert_memory_equal(&calls[2], want, 6 * sizeof(want[0]));
    else
        assert_memory_equal(calls, want, sizeof(want));
    fake_watch_close(&a);
    fake_watch_close(&b);
    fake_watch_close(&c);
    fake_close(&f);
}

TEST(cacher_dispatch, a_lagging_watcher_walks_its_own_events_only)
{
    struct fake_watch b;
    struct cor_cacher_reader_stats before;

    fake_open(&f, 0);
    open_from(&b, f.rev, "spec.nodeName=node-b");
    fake_settle(&f);
    cor_watch_pause(b.watch);
    fake_put(&f, "ns", "b0", "node-b", NULL);
    for (int i = 0; i < 3000; i++) {
        fake_put(&f, "ns", "a", "node-a", i % 2 ? "x" : "y");
        if (i % 1000 == 0)
            fake_put(&f, "ns", i ? "b2" : "b1", "node-b", i > 1000 ? "x" : "y");
    }
    fake_settle(&f);
    assert_int_equal(stats().lagging, 1);
    before = stats();
    cor_watch_resume(b.watch);
    fake_settle(&f);
    assert_int_equal(b.n, 4);
    assert_int_equal(stats().walked - before.walked, 4);
    assert_int_equal(stats().idle, 1);
    fake_watch_close(&b);
    fake_close(&f);
}

TEST(cacher_dispatch, what_is_kept_for_a_lagging_watcher_counts_as_history)
{
    enum { EVENTS = 500 };
    struct fake_watch a;
    size_t with;

    fake_open(&f, 0);
    open_from(&a, f.rev, "spec.nodeName=node-a");
    fake_settle(&f);
    cor_watch_pause(a.watch);
    for (int i = 0; i < EVENTS; i++)
        fake_put(&f, "ns", "p", "node-a", NULL);
    fake_settle(&f);
    assert_int_equal(stats().lagging, 1);
    with = cor_cachers_stats(f.cachers).bytes;
    fake_watch_close(&a);
    assert_true(cor_cachers_stats(f.cachers).bytes + EVENTS * sizeof(uint64_t) <= with);
    fake_close(&f);
}

TEST(cacher_dispatch, a_lagging_watcher_whose_event_was_evicted_ends_plainly)
{
    struct fake_watch slow, fast;
    char filler[1001];

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 1u << 20);
    open_from(&slow, f.rev, "");
    open_from(&fast, f.rev, "");
    fake_settle(&f);
    cor_watch_pause(slow.watch);
    for (int i = 0; i < 3000; i++) {
        filler[0] = i % 2 ? 'a' : 'b';
        fake_put(&f, "ns", "p", "a", filler);
        cor_clock_manual_advance(&f.clock, 1);
        fake_settle(&f);
    }
    assert_int_equal(slow.n, 0);
    assert_int_equal(stats().evicted, 1);
    /* Evictions were put off for its sake first, but only as long as the time budget lasted. */
    assert_true(cor_cachers_stats(f.cachers).put_off > 0);
    assert_true(cor_cachers_stats(f.cachers).bytes <= (1u << 20) + 200 * 1500);
    cor_watch_resume(slow.watch);
    fake_settle(&f);
    assert_true(slow.ended);
    assert_int_equal(slow.n, 0);
    assert_false(fast.ended);
    assert_int_equal(fast.n, 3000);
    fake_watch_close(&slow);
    fake_watch_close(&fast);
    fake_close(&f);
}

TEST(cacher_dispatch, events_leave_after_75_s_but_for_the_last_hundred)
{
    struct fake_watch w;

    fake_open(&f, 0);
    for (int i = 0; i < 1000; i++)
        fake_put(&f, "ns", "p", i % 2 ? "a" : "b", NULL);
    cor_clock_manual_advance(&f.clock, 74000);
    fake_put(&f, "ns", "p", "c", NULL);
    f.compact_rev = f.rev; /* no history to extend the window by */
    open_from(&w, 2, "");
    fake_settle(&f);
    assert_int_equal(w.n, 1000);
    fake_watch_close(&w);
    cor_clock_manual_advance(&f.clock, 2000);
    fake_put(&f, "ns", "p", "d", NULL);
    open_from(&w, 2, "");
    fake_settle(&f);
    assert_int_equal(w.error, 410);
    fake_watch_close(&w);
    open_from(&w, f.rev - 100, "");
    fake_settle(&f);
    assert_int_equal(w.n, 100);
    fake_watch_close(&w);
    fake_close(&f);
}

/* TestCacheWatcherHandlesFiltering */
TEST(cacher_dispatch, a_selector_turns_changes_into_added_modified_and_deleted)
{
    struct fake_watch w;

    fake_open(&f, 0);
    open_from(&w, f.rev, "spec.nodeName=a");
    fake_settle(&f);
#define STEP(change, count, type)                                                                  \
    change;                                                                                        \
    fake_settle(&f);                                                                               \
    assert_int_equal(w.n, count);                                                                  \
    assert_int_equal(w.last_type, type)
    STEP(fake_put(&f, "ns", "p", "b", NULL), 0, 0);
    STEP(fake_put(&f, "ns", "p", "a", NULL), 1, COR_WATCH_ADDED);
    STEP(fake_put(&f, "ns", "p", "a", "x"), 2, COR_WATCH_MODIFIED);
    STEP(fake_put(&f, "ns", "p", "b", "x"), 3, COR_WATCH_DELETED);
    assert_int_equal(w.last, f.rev);
    STEP(fake_delete(&f, "ns", "p"), 3, COR_WATCH_DELETED);
    STEP(fake_put(&f, "ns", "p", "a", "y"), 4, COR_WATCH_ADDED);
    STEP(fake_delete(&f, "ns", "p"), 5, COR_WATCH_DELETED);
    assert_int_equal(w.last, f.rev);
#undef STEP
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(cacher_dispatch, a_watcher_that_pauses_at_every_event_gets_each_once_and_in_order)
{
    static const char *const fields[] = {"", "spec.nodeName=a", "metadata.name=p"};

    fake_open(&f, 0);
    for (size_t k = 0; k < COR_ARRAY_LEN(fields); k++) {
        struct fake_watch w;
        cor_rev from = f.rev;

        fake_put(&f, "ns", "p", "a", "0");
        open_from(&w, from, fields[k]);
        w.pause_each = true;
        for (int i = 0; i < 300; i++) {
            fake_put(&f, "ns", "p", "a", i % 2 ? "x" : "y");
            fake_put(&f, "ns", "other", "b", i % 2 ? "x" : "y");
            if (i % 3 == 0) {
                cor_rev last = w.last;
                size_t n = w.n;

                cor_watch_resume(w.watch);
                fake_settle(&f);
                assert_int_equal(w.n, n + 1);
                assert_true(w.last > last);
            }
        }
        w.pause_each = false;
        cor_watch_resume(w.watch);
        fake_settle(&f);
        assert_int_equal(w.n, k == 0 ? 601 : 301);
        fake_watch_close(&w);
    }
    fake_close(&f);
}

static void write_again(struct fake_watch *w)
{
    if (w->n < 100)
        fake_put(w->f, "ns", "p", w->n % 2 ? "a" : "b", NULL);
}

struct bystander {
    struct cor_mail mail;
    struct fake_watch *w;
    size_t events_before;
};

static void on_bystander(struct cor_mail *mail)
{
    struct bystander *b = COR_CONTAINER_OF(mail, struct bystander, mail);

    b->events_before = b->w->n;
}

TEST(cacher_dispatch, a_writer_that_never_rests_leaves_the_loop_its_other_work)
{
    struct fake_watch w;
    struct bystander other = {.mail.on_mail = on_bystander, .w = &w};

    fake_open(&f, 0);
    open_from(&w, f.rev, "");
    w.on_each = write_again;
    fake_settle(&f);
    fake_put(&f, "ns", "p", "a", NULL);
    cor_loop_post_always(f.loop, &other.mail);
    while (w.n < 100)
        fake_settle(&f);
    assert_int_equal(other.events_before, 1);
    fake_watch_close(&w);
    fake_close(&f);
}

/* A watcher that takes a millisecond for each event. */
struct slow_watch {
    struct fake_watch watch;
    size_t n;
};

enum { SLOW_WATCHES = 40, SLOW_EVENTS = 2 };
static struct slow_watch slow_watches[SLOW_WATCHES];
static size_t ntaken, in_turn, most_in_turn; /* events of all of them; in the loop's turn */
static uint64_t last_turn;

static uint64_t turn_now(void)
{
    struct cor_loop_turns turns;
    uint64_t n = 0;

    cor_loop_get_turns(f.loop, &turns);
    for (size_t i = 0; i <= COR_LOOP_TURN_BUCKETS; i++)
        n += turns.cpu.counts[i];
    return n;
}

static void take_slowly(void *arg, const struct cor_reader_event *event)
{
    struct slow_watch *w = arg;
    uint64_t until_us = cor_clock_mono_us(cor_clock_real()) + 1000;

    w->n++;
    assert_int_equal(event->rev, f.rev - SLOW_EVENTS + w->n);
    in_turn = turn_now() == last_turn ? in_turn + 1 : 1;
    last_turn = turn_now();
    most_in_turn = in_turn > most_in_turn ? in_turn : most_in_turn;
    ntaken++;
    while (cor_clock_mono_us(cor_clock_real()) < until_us)
        ;
}

static bool all_are_taken(void *arg)
{
    return ntaken == SLOW_WATCHES * SLOW_EVENTS;
}

TEST(cacher_dispatch, what_many_watchers_are_given_is_shared_among_the_turns_of_a_loop)
{
    fake_open(&f, 0);
    cor_loop_measure_turns(f.loop);
    for (size_t i = 0; i < SLOW_WATCHES; i++) {
        struct slow_watch *w = &slow_watches[i];
        struct cor_reader_watch_opts opts = fake_watch_opts(&w->watch, rv(f.rev), "");

        opts.on_event = take_slowly;
        opts.arg = w;
        fake_watch_open(&f, &w->watch, "/pods", &opts);
    }
    fake_settle(&f);
    for (int i = 0; i < SLOW_EVENTS; i++)
        fake_put(&f, "ns", "p", i ? "b" : "a", NULL);
    fake_wait(&f, all_are_taken, NULL);
    /* One mail of the writer, and those of watches, each within a share of 4 ms. */
    assert_true(most_in_turn <= SLOW_WATCHES * SLOW_EVENTS / 2);
    fake_settle(&f);
    assert_int_equal(stats().lagging, 0);
    assert_int_equal(stats().idle, SLOW_WATCHES);
    for (size_t i = 0; i < SLOW_WATCHES; i++) {
        assert_int_equal(slow_watches[i].n, SLOW_EVENTS);
        fake_watch_close(&slow_watches[i].watch);
    }
    fake_close(&f);
}

enum { LOOKING = 100, LABELS = 5000 };

static size_t shares_taken;

/* Takes the whole share that deliveries have of a turn. */
static void take_the_share(void *arg, const struct cor_reader_event *event)
{
    uint64_t until_us = cor_clock_mono_us(cor_clock_real()) + 5000;

    shares_taken++;
    while (cor_clock_mono_us(cor_clock_real()) < until_us)
        ;
}

/* Without that, hundreds of watches that select nothing would have one turn for all their looks. */
TEST(cacher_dispatch, looks_at_many_labels_are_left_to_later_turns_when_the_share_is_used_up)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels = {.max = 1u << 20};
    static struct fake_watch greedy[2], looking[LOOKING];
    uint64_t walked;

    shares_taken = 0;
    fake_open(&f, 0);
    cor_loop_measure_turns(f.loop); /* Only then turns are told apart. */
    assert_int_equal(cor_buf_addz(&labels, "{\"l\":\"no\""), 0);
    for (int i = 0; i < LABELS; i++)
        assert_int_equal(cor_buf_addf(&labels, ",\"l%05d\":\"v\"", i), 0);
    assert_int_equal(cor_buf_addz(&labels, ",\"zz\":\"no\"}"), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(greedy); i++) {
        struct cor_reader_watch_opts opts = fake_watch_opts(&greedy[i], rv(f.rev), "");

        opts.on_event = take_the_share;
        fake_watch_open(&f, &greedy[i], "/pods", &opts);
    }
    for (size_t i = 0; i < LOOKING; i++) {
        struct cor_reader_watch_opts opts = fake_watch_opts(&looking[i], rv(f.rev), "");

        assert_int_equal(cor_predicate_parse(COR_STR("zz=yes"), cor_str("", 0), NULL,
                                             &looking[i].predicate, NULL),
                         0);
        fake_watch_open(&f, &looking[i], "/pods", &opts);
    }
    fake_settle(&f);
    walked = stats().walked;
    f.labels = cor_buf_z(&labels);
    fake_put(&f, "ns", "p", "a", NULL);
    fake_settle(&f);
    fake_settle(&f);
    assert_int_equal(shares_taken, COR_ARRAY_LEN(greedy));
    assert_int_equal(stats().lagging, 0);
    assert_int_equal(stats().idle, COR_ARRAY_LEN(greedy) + LOOKING);
    /* The first few looks are no more than hundreds of ordinary ones. */
    assert_uint_in_range(stats().walked - walked, LOOKING - 10, LOOKING);
    for (size_t i = 0; i < LOOKING; i++) {
        assert_int_equal(looking[i].n, 0);
        fake_watch_close(&looking[i]);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(greedy); i++)
        fake_watch_close(&greedy[i]);
    f.labels = NULL;
    fake_close(&f);
}

TEST(cacher_dispatch, changes_of_one_revision_are_all_delivered_at_it)
{
    struct fake_watch live, later;
    cor_rev from;

    fake_open(&f, 0);
    from = f.rev;
    open_from(&live, from, "");
    fake_settle(&f);
    for (int i = 0; i < 150; i++)
        fake_put_two(&f, "ns", "a", "b", i % 2 ? "x" : "y");
    fake_settle(&f);
    assert_int_equal(live.n, 300);
    assert_int_equal(live.last, f.rev);
    open_from(&later, from + 100, "");
    fake_settle(&f);
    assert_int_equal(later.n, 100);
    fake_watch_close(&live);
    fake_watch_close(&later);
    fake_close(&f);
}

/* The loop itself was too slow: what it has not dispatched has left. */
TEST(cacher_dispatch, an_idle_watcher_that_missed_events_ends)
{
    struct fake_watch w;
    char filler[1001];

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 100u << 10);
    open_from(&w, f.rev, "");
    fake_settle(&f);
    for (int i = 0; i < 1000; i++)
        fake_put(&f, "ns", "p", i % 2 ? "a" : "b", filler);
    fake_settle(&f);
    assert_true(w.ended);
    assert_int_equal(w.n, 0);
    fake_watch_close(&w);
    fake_close(&f);
}

/* Waiting that no lagging watcher needs any more is not charged: the budget is there next time. */
TEST(cacher_dispatch, the_time_budget_fills_again_when_no_one_lags)
{
    struct fake_watch slow;
    char filler[1001];
    uint64_t put_off;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 100u << 10);
    for (int round = 0; round < 2; round++) {
        put_off = cor_cachers_stats(f.cachers).put_off;
        open_from(&slow, f.rev, "");
        fake_settle(&f);
        cor_watch_pause(slow.watch);
        for (int i = 0; i < 600 && !slow.ended; i++) {
            fake_put(&f, "ns", "p", i % 2 ? "a" : "b", filler);
            cor_clock_manual_advance(&f.clock, 1);
            fake_settle(&f);
        }
        assert_true(cor_cachers_stats(f.cachers).put_off > put_off + 50);
        fake_watch_close(&slow);
        cor_clock_manual_advance(&f.clock, 10000);
        fake_bump(&f);
    }
    fake_close(&f);
}
