/* Handlers that are added to an informer that has a cache already. */
#include "base/err.h"
#include "cache/informers/shared_informer_int.h"
#include "cache/store/indexer_int.h"
#include "drain.h"
#include "fake_informer.h"
#include "test.h"

static void wake_nobody(void *arg)
{
}

static void count_ready(void *arg)
{
    (*(int *)arg)++;
}

/* Snapshots of the cache that somebody holds. */
static size_t snapshots(struct fake *f)
{
    return cor_btree_snapshots(f->inf->indexer->all);
}

#define OBJECTS 26

TEST(late_handler, takes_no_memory_for_each_object)
{
    size_t allocs, bytes;
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "", "10");
    for (int i = 0; i < OBJECTS; i++)
        fake_server_event(&f.server, COR_WATCH_ADDED, (char[2]){(char)('a' + i)}, 11 + i);
    fake_step(&f);
    allocs = test_live_allocs();
    bytes = test_live_bytes();
    fake_hear(&f, 0);
    assert_true(test_live_allocs() - allocs < OBJECTS);
    assert_true(test_live_bytes() - bytes < 1024);
    fake_step(&f);
    assert_non_null(strstr(f.heard[0], "add(z36!)"));
    fake_end(&f);
}

/* Contract client 1.17.13, 1.17.17, 1.17.18. */
TEST(late_handler, hears_the_cache_as_it_was_and_then_what_came_since)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;
    int nready = 0;

    fake_begin(&f);
    fake_sync_with(&f, "a1 b2 c3", "10");
    opts.handler = listener_handler(&f.listeners[0]);
    opts.on_ready = count_ready;
    opts.arg = &nready;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "b", 11);
    fake_server_event(&f.server, COR_WATCH_DELETED, "c", 12);
    fake_server_event(&f.server, COR_WATCH_ADDED, "c", 13);
    fake_step(&f);
    assert_int_equal(nready, 1);
    assert_int_equal(snapshots(&f), 1);
    assert_false(cor_registration_has_synced(reg));
    assert_int_equal(drain_registration(reg, 2), 2);
    assert_string_equal(f.heard[0], "add(a1!) add(b2!)");
    assert_false(cor_registration_has_synced(reg));
    assert_int_equal(drain_registration(reg, 1), 1);
    assert_int_equal(snapshots(&f), 0);
    assert_true(cor_registration_has_synced(reg));
    assert_int_equal(drain_registration(reg, 10), 3);
    assert_string_equal(f.heard[0],
                        "add(a1!) add(b2!) add(c3!) update(b2-11) delete(c12) add(c13)");
    fake_end(&f);
}

/* Contract client 1.17.17. */
TEST(late_handler, of_an_empty_cache_has_seen_it_all)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;
    int nready = 0;

    fake_begin(&f);
    fake_sync_with(&f, "", "10");
    opts.on_ready = count_ready;
    opts.arg = &nready;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    assert_true(cor_registration_has_synced(reg));
    assert_int_equal(nready, 0);
    assert_int_equal(snapshots(&f), 0);
    fake_server_event(&f.server, COR_WATCH_ADDED, "a", 11);
    fake_step(&f);
    assert_int_equal(nready, 1);
    fake_end(&f);
}

/* Contract client 1.17.15: what is told of when it is removed is not heard. */
TEST(late_handler, may_go_before_it_has_heard_all)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "a1 b2 c3", "10");
    opts.handler = listener_handler(&f.listeners[0]);
    opts.on_ready = wake_nobody;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    assert_int_equal(drain_registration(reg, 1), 1);
    cor_registration_close(reg);
    assert_int_equal(snapshots(&f), 0);
    assert_int_equal(drain_registration(reg, 10), 0);
    assert_false(cor_registration_has_synced(reg));
    cor_shared_informer_remove_handler(f.inf, reg);
    assert_string_equal(f.heard[0], "add(a1!)");
    fake_end(&f);
}

struct leaver {
    struct fake *f;
    struct cor_registration *reg;
    void (*how)(struct leaver *l);
};

static void is_removed(struct leaver *l)
{
    cor_shared_informer_remove_handler(l->f->inf, l->reg);
}

static void is_closed(struct leaver *l)
{
    cor_registration_close(l->reg);
}

static void leave(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct leaver *l = arg;

    l->how(l);
    assert_int_equal(snapshots(l->f), 1);
    trace_note(l->f->heard[0], "add(%.*s)", COR_STR_ARG(cor_object_name(o)));
}

/* Contract client 1.17.15. */
TEST(late_handler, keeps_the_object_of_the_call_in_which_it_goes)
{
    static void (*const ways[])(struct leaver *) = {is_removed, is_closed};

    for (size_t i = 0; i < COR_ARRAY_LEN(ways); i++) {
        struct fake f;
        struct leaver l = {&f, NULL, ways[i]};
        struct cor_registration_opts opts = cor_registration_defaults();

        fake_begin(&f);
        fake_sync_with(&f, "a1 b2", "10");
        opts.handler = (struct cor_handler_fns){.on_add = leave, .arg = &l};
        assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &l.reg), 0);
        fake_step(&f);
        assert_string_equal(f.heard[0], "add(a)");
        assert_int_equal(snapshots(&f), 0);
        fake_end(&f);
    }
}

static void count_behind(void *arg, size_t pending_bytes)
{
    trace_note(((struct listener *)arg)->trace, "behind");
}

TEST(late_handler, what_it_begins_with_does_not_count_towards_its_bound)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_processor_listener_stats stats;
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "a1 b2", "10");
    opts.handler = listener_handler(&f.listeners[0]);
    opts.handler.on_behind = count_behind;
    opts.bytes_max = 1;
    opts.on_ready = wake_nobody;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    cor_processor_listener_stats(reg->listener, &stats);
    assert_int_equal(stats.pending, 2);
    assert_int_equal(stats.pending_bytes, 0);
    assert_string_equal(f.heard[0], "");
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 12);
    fake_step(&f);
    drain_registration(reg, 10);
    assert_string_equal(f.heard[0], "behind add(a1!) add(b2!) update(a1-12)");
    fake_end(&f);
}

TEST(late_handler, hears_all_or_is_not_there_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_registration_opts opts = cor_registration_defaults();
        struct cor_registration *reg;
        struct fake f;
        int r;

        test_fail_alloc(0, false);
        fake_begin(&f);
        fake_sync_with(&f, "a1 b2", "10");
        opts.handler = listener_handler(&f.listeners[0]);
        test_fail_alloc(n, false);
        r = cor_shared_informer_add_handler(f.inf, &opts, &reg);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        fake_step(&f);
        assert_string_equal(f.heard[0], r == 0 ? "add(a1!) add(b2!)" : "");
        fake_end(&f);
    }
}
