#include "storage/cacher/pins.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "fake_engine.h"
#include "storage/cacher/cache_reader_int.h"
#include "storage/cacher/snapshot.h"

/* What is charged, against a count of what the snapshots really keep. */

#define KEYS      30
#define SNAPSHOTS 12
#define ENTRIES   (2 * SNAPSHOTS * KEYS)

struct world {
    struct cor_watch_cache cache;
    struct cor_pin_totals totals;
    struct cor_rand rand;
    cor_rev rev;
    struct cor_cache_snapshot snapshots[SNAPSHOTS]; /* oldest first, [begin, end) are taken */
    size_t begin, end;
};

static struct cor_cache_entry *entry(unsigned key, cor_rev rev, size_t more)
{
    struct cor_object *object;
    char json[512], name[16], pad[256];

    memset(pad, 'x', sizeof(pad));
    snprintf(name, sizeof(name), "/r/k%02u", key);
    snprintf(json, sizeof(json),
             "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{},\"v\":\"%.*s\"}", (int)more,
             pad);
    assert_int_equal(cor_object_from_stored(cor_strz(json), rev, &object, NULL, NULL), 0);
    return cor_cache_entry_new(cor_strz(name), object, NULL);
}

static void change(struct world *w)
{
    unsigned key = (unsigned)cor_rand_below(&w->rand, KEYS);
    struct cor_cache_entry *now = NULL;
    char name[16];

    w->rev++;
    snprintf(name, sizeof(name), "/r/k%02u", key);
    if (cor_rand_below(&w->rand, 4) > 0)
        now = entry(key, w->rev, cor_rand_below(&w->rand, 200));
    cor_lock_acquire(&w->cache.lock);
    assert_int_equal(cor_watch_cache_apply_locked(&w->cache, cor_strz(name), now, w->rev, 0), 0);
    cor_lock_release(&w->cache.lock);
}

static bool is_in_window(struct world *w, const struct cor_cache_entry *e)
{
    struct cor_window *window = &w->cache.window;

    for (uint64_t n = window->first; n < window->next; n++) {
        COR_CLEANUP(cor_window_segment_unrefp)
        struct cor_window_segment *s = cor_window_get(window, n);

        if (cor_window_segment_at(s, n)->old == e)
            return true;
    }
    return false;
}

static bool is_live(struct world *w, const struct cor_cache_entry *e)
{
    struct cor_btree_entry found;

    return cor_btree_peek(cor_btree_live(w->cache.tree), cor_cache_entry_key(e), &found) &&
           found.item == e;
}

struct count {
    const struct cor_cache_entry *seen[ENTRIES];
    size_t n, bytes;
};

static void count_shown(struct world *w, const struct cor_cache_snapshot *s, struct count *count)
{
    const struct cor_cache_entry *e;
    struct cor_cache_iter it;

    cor_cache_iter_init(&it, s, COR_STR("/r/"), COR_STR("/r/"), NULL);
    while ((e = cor_cache_iter_next(&it))) {
        bool known = is_live(w, e) || is_in_window(w, e);

        for (size_t k = 0; !known && k < count->n; k++)
            known = count->seen[k] == e;
        if (known)
            continue;
        count->seen[count->n++] = e;
        count->bytes += cor_cache_entry_bytes(e);
    }
}

/* Bytes of the entries that some snapshot keeps, and neither the tree nor the window has. A root
 * keeps also what its overlay hides. */
static size_t really_held(struct world *w)
{
    struct count count = {.n = 0};

    for (size_t i = w->begin; i < w->end; i++) {
        struct cor_cache_snapshot bare = w->snapshots[i];

        count_shown(w, &w->snapshots[i], &count);
        bare.noverlay = 0;
        count_shown(w, &bare, &count);
    }
    return count.bytes;
}

static size_t charged(struct world *w)
{
    return atomic_load(&w->totals.held) + atomic_load(&w->totals.leaving);
}

static void open_world(struct world *w)
{
    memset(w, 0, sizeof(*w));
    cor_rand_init_seeded(&w->rand, test_random());
    assert_int_equal(cor_watch_cache_init(&w->cache, NULL, &w->totals), 0);
    w->rev = 1;
    assert_int_equal(cor_watch_cache_replace(&w->cache, NULL, 0, 0, NULL, w->rev), 0);
}

static void close_world(struct world *w)
{
    for (size_t i = w->begin; i < w->end; i++)
        cor_cache_snapshot_deinit(&w->snapshots[i]);
    assert_int_equal(charged(w), 0);
    while (cor_btree_reclaim(w->cache.tree, 64))
        ;
    cor_watch_cache_deinit(&w->cache);
}

static void change_some(struct world *w)
{
    for (uint64_t n = cor_rand_below(&w->rand, 200); n > 0; n--)
        change(w);
    while (cor_watch_cache_evict(&w->cache))
        ;
}

TEST(pins, what_snapshots_alone_hold_is_counted_exactly_while_the_oldest_go_first)
{
    static struct world w;
    size_t most = 0;

    open_world(&w);
    for (int round = 0; round < 60; round++) {
        change_some(&w);
        if (w.end < SNAPSHOTS)
            assert_int_equal(cor_cache_snapshot_now(&w.cache, NULL, &w.snapshots[w.end++]), 0);
        change_some(&w);
        assert_int_equal(charged(&w), really_held(&w));
        if (w.begin < w.end && cor_rand_below(&w.rand, 3) == 0)
            cor_cache_snapshot_deinit(&w.snapshots[w.begin++]);
        assert_int_equal(charged(&w), really_held(&w));
        most = charged(&w) > most ? charged(&w) : most;
    }
    assert_true(most > 0);
    close_world(&w);
}

static void swap_last(struct world *w, size_t at)
{
    size_t last = --w->end;

    cor_cache_snapshot_deinit(&w->snapshots[at]);
    if (at == last)
        return;
    /* A snapshot must not be moved: the last place is taken anew where it was, at its revision. */
    cor_cache_snapshot_deinit(&w->snapshots[last]);
    assert_int_equal(cor_cache_snapshot_now(&w->cache, NULL, &w->snapshots[at]), 0);
}

TEST(pins, in_any_order_the_count_is_never_too_low_nor_above_all_that_is_shown)
{
    static struct world w;
    size_t exact = 0;

    open_world(&w);
    for (int round = 0; round < 200; round++) {
        size_t most = 0;

        if (w.end < SNAPSHOTS) {
            /* Exact reads begin at older roots than others. */
            cor_rev past = cor_rand_below(&w.rand, w.rev - w.cache.window.base + 1);
            struct cor_cache_snapshot *s = &w.snapshots[w.end];

            if (cor_cache_snapshot_at(&w.cache, w.rev - past, NULL, s) < 0)
                assert_int_equal(cor_cache_snapshot_now(&w.cache, NULL, s), 0);
            exact += s->noverlay > 0;
            w.end++;
        }
        for (uint64_t n = cor_rand_below(&w.rand, 200); n > 0; n--)
            change(&w);
        if (round % 8 == 7)
            change_some(&w);
        if (w.end > 0 && cor_rand_below(&w.rand, 2) == 0)
            swap_last(&w, cor_rand_below(&w.rand, w.end));
        assert_true(charged(&w) >= really_held(&w));
        COR_DLIST_FOREACH(link, &w.cache.pins.list) {
            const struct cor_pin *pin = COR_CONTAINER_OF(link, struct cor_pin, link);

            assert_true(pin->bytes <= pin->max);
            assert_true(link->prev == &w.cache.pins.list ||
                        COR_CONTAINER_OF(link->prev, struct cor_pin, link)->next <= pin->next);
            most += pin->bytes;
        }
        assert_int_equal(charged(&w), most);
    }
    assert_true(exact > 0);
    close_world(&w);
}

TEST(pins, a_cache_that_is_listed_anew_leaves_its_old_objects_to_their_snapshots)
{
    static struct world w;

    open_world(&w);
    change_some(&w);
    assert_int_equal(cor_cache_snapshot_now(&w.cache, NULL, &w.snapshots[w.end++]), 0);
    for (int i = 0; i < 40; i++)
        change(&w);
    assert_int_equal(cor_cache_snapshot_now(&w.cache, NULL, &w.snapshots[w.end++]), 0);
    for (int i = 0; i < 40; i++)
        change(&w);
    assert_int_equal(charged(&w), 0);
    assert_int_equal(cor_watch_cache_replace(&w.cache, NULL, 0, 0, NULL, ++w.rev), 0);
    assert_true(charged(&w) >= really_held(&w));
    assert_true(really_held(&w) > 0);
    close_world(&w);
}

TEST(pins, one_that_is_asked_for_does_not_count_until_it_stays)
{
    static struct world w;
    struct cor_pin *pin;
    size_t bytes;

    open_world(&w);
    for (int i = 0; i < 100; i++)
        change(&w);
    assert_int_equal(cor_cache_snapshot_now(&w.cache, NULL, &w.snapshots[w.end++]), 0);
    for (int i = 0; i < 500; i++)
        change(&w);
    while (cor_watch_cache_evict(&w.cache))
        ;
    bytes = atomic_load(&w.totals.held);
    pin = cor_pins_oldest_locked(&w.cache.pins);
    assert_true(bytes > 0 && pin == &w.snapshots[0].pin);
    assert_null(cor_pins_younger_locked(&w.cache.pins, pin));
    cor_pins_leave_locked(&w.cache.pins, pin);
    assert_true(cor_cache_snapshot_is_leaving(&w.snapshots[0]));
    assert_int_equal(atomic_load(&w.totals.held), 0);
    assert_int_equal(atomic_load(&w.totals.leaving), bytes);
    cor_cache_snapshot_stay(&w.snapshots[0]);
    assert_false(cor_cache_snapshot_is_leaving(&w.snapshots[0]));
    assert_int_equal(atomic_load(&w.totals.held), bytes);
    assert_int_equal(atomic_load(&w.totals.leaving), 0);
    cor_pins_leave_locked(&w.cache.pins, pin);
    close_world(&w);
}

/* Who is ended, over an engine that the test plays. One generation of objects is more than the
 * budget; the events that a window keeps in any case are less than half of it. */

#define OBJECTS  1000
#define BUDGET   (2u << 20)
#define GRACE_MS 1000
#define LOOK_MS  100

static struct fake f;
static unsigned generation;

static void write_some(size_t n)
{
    static char more[3500];
    char name[16];

    generation++;
    memset(more, (int)('a' + generation % 26), sizeof(more) - 1);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "p%03zu", i);
        fake_put(&f, "ns", name, "node", more);
    }
    /* What is charged is looked at ten times a second. */
    cor_clock_manual_advance(&f.clock, LOOK_MS);
    fake_bump(&f);
    fake_settle(&f);
}

static void open_slow(struct fake_watch *w)
{
    struct cor_reader_watch_opts opts = fake_watch_opts(w, "0", "");

    w->pause_each = true;
    fake_watch_open(&f, w, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(w->n, 1);
}

/* The end of a watch is told when its client reads on. */
static bool has_ended(struct fake_watch *w)
{
    w->pause_each = false;
    cor_watch_resume(w->watch);
    fake_settle(&f);
    return w->ended;
}

static struct cor_cachers_stats stats(void)
{
    return cor_cachers_stats(f.cachers);
}

static size_t window_events(void)
{
    return cor_cacher_stats(f.cacher).window_events;
}

TEST(slow_readers, a_slow_watch_counts_with_what_its_snapshot_alone_holds)
{
    struct fake_watch w;

    fake_open(&f, 64u << 20);
    write_some(OBJECTS);
    open_slow(&w);
    write_some(OBJECTS);
    assert_int_equal(stats().pinned, 0); /* it is all in the window */
    cor_clock_manual_advance(&f.clock, EVENT_FRESH_MS + 1);
    write_some(1);
    assert_true(stats().pinned > (OBJECTS / 2) * 3500);
    assert_int_equal(stats().ended_watches, 0); /* within the budget */
    fake_watch_close(&w);
    assert_int_equal(stats().pinned, 0);
    fake_close(&f);
}

TEST(slow_readers, slow_watches_are_ended_when_the_budget_is_full)
{
    enum { WATCHES = 6 };
    struct fake_watch watches[WATCHES];
    uint64_t evicted;

    fake_open(&f, BUDGET);
    write_some(OBJECTS);
    for (size_t i = 0; i < WATCHES; i++) {
        open_slow(&watches[i]);
        write_some(OBJECTS);
        cor_clock_manual_advance(&f.clock, GRACE_MS);
        write_some(1);
        assert_true(stats().pinned <= BUDGET);
        assert_true(window_events() >= COR_WINDOW_EVENTS_MIN);
    }
    evicted = cor_cacher_reader_stats(f.reader).evicted;
    assert_int_equal(stats().ended_watches, WATCHES);
    assert_int_equal(evicted, WATCHES);
    for (size_t i = 0; i < WATCHES; i++) {
        assert_true(has_ended(&watches[i]));
        assert_int_equal(watches[i].error, 0);
        assert_int_equal(watches[i].n, 1);
        fake_watch_close(&watches[i]);
    }
    fake_close(&f);
}

TEST(slow_readers, the_oldest_are_ended_and_no_more_than_needed)
{
    struct fake_watch old, young;

    fake_open(&f, BUDGET);
    write_some(OBJECTS);
    open_slow(&old);
    write_some(OBJECTS / 2);
    open_slow(&young);
    write_some(OBJECTS / 4);
    cor_clock_manual_advance(&f.clock, GRACE_MS);
    write_some(1);
    assert_int_equal(stats().ended_watches, 1);
    assert_true(stats().pinned > 0);
    assert_true(has_ended(&old));
    assert_int_equal(old.n, 1);
    /* The younger one gets its whole initial state; the events after it have left meanwhile. */
    assert_true(has_ended(&young));
    assert_int_equal(young.n, OBJECTS);
    assert_int_equal(stats().ended_watches, 1);
    fake_watch_close(&old);
    fake_watch_close(&young);
    fake_close(&f);
}

TEST(slow_readers, one_burst_does_not_end_a_reader_at_once)
{
    struct fake_watch w;

    fake_open(&f, BUDGET);
    write_some(OBJECTS);
    open_slow(&w);
    write_some(OBJECTS);
    cor_clock_manual_advance(&f.clock, GRACE_MS - 2 * LOOK_MS - 1);
    write_some(1);
    assert_true(stats().pinned > BUDGET / 2);
    assert_int_equal(stats().ended_watches, 0);
    w.pause_each = false;
    cor_watch_resume(w.watch);
    fake_settle(&f);
    assert_true(w.n >= OBJECTS);
    assert_int_equal(stats().pinned, 0);
    fake_watch_close(&w);
    fake_close(&f);
}

static void write_one(struct fake_watch *w)
{
    static char more[3500];
    char name[16];

    if (w->n > OBJECTS)
        return;
    memset(more, 'z', sizeof(more) - 1);
    snprintf(name, sizeof(name), "p%03zu", w->n - 1);
    fake_put(&f, "ns", name, "node", more);
    cor_clock_manual_advance(&f.clock, 10);
}

TEST(slow_readers, a_watch_that_is_delivered_at_full_speed_is_not_ended)
{
    struct fake_watch w;
    struct cor_reader_watch_opts opts;

    fake_open(&f, BUDGET);
    write_some(OBJECTS);
    opts = fake_watch_opts(&w, "0", "");
    w.on_each = write_one;
    fake_watch_open(&f, &w, "/pods", &opts);
    fake_settle(&f);
    assert_true(w.n >= OBJECTS);
    assert_int_equal(stats().ended_watches, 0);
    fake_watch_close(&w);
    fake_close(&f);
}

/* Lists. */

struct list {
    struct cor_list_cursor *cursor;
    size_t n, lost, kept;
    bool keeps;
};

static void on_listed(void *arg, int err, struct cor_status *status,
                      struct cor_list_cursor *take_cursor)
{
    assert_int_equal(err, 0);
    ((struct list *)arg)->cursor = take_cursor;
}

static bool on_lost(void *arg)
{
    struct list *l = arg;

    if (l->keeps) {
        l->kept++;
        return false;
    }
    l->lost++;
    l->cursor = cor_list_cursor_free(l->cursor);
    return true;
}

static void begin_list(struct list *l, bool can_end)
{
    struct cor_store_list_opts opts = {.options.recursive = true};

    *l = (struct list){0};
    assert_int_equal(cor_reader_list(f.reader, COR_STR("/pods"), &opts, on_listed, l, NULL), 0);
    fake_settle(&f);
    assert_non_null(cor_list_cursor_next(l->cursor));
    l->n = 1;
    if (!can_end)
        return;
    l->cursor->on_lost = on_lost;
    l->cursor->lost_arg = l;
}

static void finish_list(struct list *l)
{
    while (l->cursor && cor_list_cursor_next(l->cursor))
        l->n++;
    assert_int_equal(l->n, OBJECTS);
    l->cursor = cor_list_cursor_free(l->cursor);
}

TEST(slow_readers, slow_lists_are_ended_when_the_budget_is_full)
{
    enum { LISTS = 4 };
    struct list lists[LISTS], busy;

    fake_open(&f, BUDGET);
    write_some(OBJECTS);
    begin_list(&busy, false);
    for (size_t i = 0; i < LISTS; i++) {
        begin_list(&lists[i], true);
        write_some(OBJECTS);
        cor_clock_manual_advance(&f.clock, GRACE_MS);
        write_some(1);
        assert_int_equal(lists[i].lost, 1);
        assert_true(window_events() >= COR_WINDOW_EVENTS_MIN);
    }
    assert_int_equal(stats().ended_lists, LISTS);
    /* One whose answer has not begun is not slow: it is left, and whole. */
    finish_list(&busy);
    assert_int_equal(stats().pinned, 0);
    fake_close(&f);
}

TEST(slow_readers, a_list_that_is_read_at_full_speed_is_kept_and_asked_again)
{
    struct list l;

    fake_open(&f, BUDGET);
    write_some(OBJECTS);
    begin_list(&l, true);
    l.keeps = true;
    for (size_t i = 1; i <= 3; i++) {
        write_some(OBJECTS);
        cor_clock_manual_advance(&f.clock, GRACE_MS);
        write_some(1);
        assert_int_equal(l.kept, i);
    }
    assert_int_equal(stats().ended_lists, 0);
    assert_true(stats().pinned > 0);
    finish_list(&l);
    assert_int_equal(stats().pinned, 0);
    fake_close(&f);
}

TEST(slow_readers, an_exact_read_of_the_past_counts_too)
{
    struct cor_store_list_opts opts = {.options.recursive = true};
    struct list l = {0};
    char rv[24];

    fake_open(&f, BUDGET);
    write_some(OBJECTS);
    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)f.rev);
    write_some(50);
    opts.options.resource_version = cor_strz(rv);
    opts.options.resource_version_match = COR_STR("Exact");
    assert_int_equal(cor_reader_list(f.reader, COR_STR("/pods"), &opts, on_listed, &l, NULL), 0);
    fake_settle(&f);
    l.cursor->on_lost = on_lost;
    l.cursor->lost_arg = &l;
    write_some(OBJECTS);
    cor_clock_manual_advance(&f.clock, GRACE_MS);
    write_some(1);
    assert_int_equal(l.lost, 1);
    assert_int_equal(stats().pinned, 0);
    fake_close(&f);
}

TEST(slow_readers, lists_survive_every_failed_allocation_and_leave_no_pin)
{
    COR_CLEANUP(cor_predicate_deinit) struct cor_predicate not_a = {0};

    assert_int_equal(
        cor_predicate_parse(COR_STR(""), COR_STR("metadata.name!=a"), NULL, &not_a, NULL), 0);
    fake_open(&f, 0);
    for (int i = 0; i < 3; i++)
        fake_put(&f, "ns", (const char *[]){"a", "b", "c"}[i], "node", NULL);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cacher_reader *reader = cacher_reader_of(f.reader);
        struct cor_list_cursor *cursor;
        struct cor_cache_snapshot *snapshot;
        int r = cor_cacher_cursor_new(reader, COR_STR("/registry/pods/"), &cursor, &snapshot);

        if (r < 0)
            continue;
        r = cor_cache_snapshot_now(&f.cacher->cache, NULL, snapshot);
        if (r == 0)
            r = cor_cacher_cursor_begin(cursor, cor_str("", 0), 2, NULL);
        if (r == 0) {
            assert_int_equal(cursor->remaining, 1);
            assert_int_equal(cursor->rev, f.rev);
            assert_str(cor_object_name(cor_list_cursor_next(cursor)), "a");
            assert_str(cor_object_name(cor_list_cursor_next(cursor)), "b");
            assert_null(cor_list_cursor_next(cursor));
        } else {
            assert_int_equal(r, -COR_ENOMEM);
        }
        cor_list_cursor_free(cursor);
        /* What is left is that of the kept root. */
        assert_int_equal(f.cacher->cache.nroots, 1);
        assert_true(f.cacher->cache.pins.list.next == &f.cacher->cache.roots[0].pin->link);
        assert_true(f.cacher->cache.pins.list.prev == &f.cacher->cache.roots[0].pin->link);
    }
    /* With a selector the page is collected. */
    FOR_EACH_FAILED_ALLOC(n) {
        struct cacher_reader *reader = cacher_reader_of(f.reader);
        struct cor_list_cursor *cursor;
        struct cor_cache_snapshot *snapshot;
        int r = cor_cacher_cursor_new(reader, COR_STR("/registry/pods/"), &cursor, &snapshot);

        if (r < 0)
            continue;
        r = cor_cache_snapshot_now(&f.cacher->cache, NULL, snapshot);
        if (r == 0)
            r = cor_cacher_cursor_begin(cursor, cor_str("", 0), 1, &not_a);
        if (r == 0) {
            assert_int_equal(cursor->remaining, -1);
            assert_true(cursor->continue_token[0] != '\0');
            assert_int_equal(cursor->rev, f.rev);
            assert_str(cor_object_name(cor_list_cursor_next(cursor)), "b");
            assert_null(cor_list_cursor_next(cursor));
        } else {
            assert_int_equal(r, -COR_ENOMEM);
        }
        cor_list_cursor_free(cursor);
        /* What is left is that of the kept root. */
        assert_int_equal(f.cacher->cache.nroots, 1);
        assert_true(f.cacher->cache.pins.list.next == &f.cacher->cache.roots[0].pin->link);
        assert_true(f.cacher->cache.pins.list.prev == &f.cacher->cache.roots[0].pin->link);
    }
    fake_close(&f);
}
