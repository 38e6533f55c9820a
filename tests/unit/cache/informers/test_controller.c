/* Contract client 1.10: the controller alone, with a process function of the test's. */
#include "base/err.h"
#include "cache/informers/controller.h"
#include "fake_server.h"
#include "test.h"

struct fake {
    struct fake_server server;
    struct cor_cache_controller *c;
    char requests[TRACE_MAX], heard[TRACE_MAX];
    bool refuse_resync;
    uint64_t takes_ms;      /* each change */
    uint64_t tells_ms;      /* each report */
    uint64_t called_ms;     /* what waits for the first list */
    const char *is_refused; /* a key */
};

static int process(void *owner, struct cor_str key, const struct cor_delta *deltas, size_t n,
                   bool in_initial_list)
{
    struct fake *f = owner;

    trace_note(f->heard, "%.*s:%zu%s", COR_STR_ARG(key), n, in_initial_list ? "!" : "");
    cor_clock_manual_advance(&f->server.clk, f->takes_ms);
    return f->is_refused && cor_str_eq(key, cor_strz(f->is_refused)) ? -COR_EINVAL : 0;
}

static bool should_resync(void *owner)
{
    struct fake *f = owner;

    trace_note(f->heard, "resync?");
    return !f->refuse_resync;
}

static void on_watch_error(void *arg, const struct cor_status *error)
{
    trace_note(((struct fake *)arg)->heard, "error(%s)", cor_status_message(error));
}

static void on_report(void *arg, enum cor_reflector_report what, const struct cor_status *status)
{
    struct fake *f = arg;

    if (what == COR_REFLECTOR_SLOW_CHANGE)
        trace_note(f->heard, "slow(%s)", cor_status_message(status));
    cor_clock_manual_advance(&f->server.clk, f->tells_ms);
}

/* `known` may be NULL. */
static void begin_with(struct fake *f, struct cor_cache_controller_opts opts,
                       struct cor_indexer *known)
{
    const struct cor_delta_consumer consumer = {
        .known = known, .process = process, .should_resync = should_resync, .arg = f};

    *f = (struct fake){0};
    fake_server_init(&f->server, f->requests);
    opts.driver = &f->server.driver;
    opts.clock = &f->server.clk.clock;
    opts.reflector.on_watch_error = on_watch_error;
    opts.reflector.on_report = on_report;
    opts.reflector.arg = f;
    opts.arg = f;
    assert_int_equal(cor_cache_controller_new(&opts, &consumer, &f->c), 0);
    f->server.to = cor_cache_controller_reflector(f->c);
}

static void begin(struct fake *f)
{
    begin_with(f, (struct cor_cache_controller_opts){0}, NULL);
}

static void end(struct fake *f)
{
    cor_cache_controller_stop(f->c);
    cor_cache_controller_free(f->c);
}

static void step(struct fake *f)
{
    f->heard[0] = '\0';
    while (cor_cache_controller_step(f->c, 3))
        ;
}

/* Contract client 1.10.1. */
TEST(controller, its_options_reach_the_reflector_and_the_queue)
{
    struct cor_cache_controller_opts opts = {.by_key = true};
    struct cor_object *object = fake_object("k", 1);
    struct cor_indexer *known;
    struct fake f;

    opts.reflector.page_size = 7;
    opts.reflector.watch_timeout_min_ms = 900000;
    assert_int_equal(cor_indexer_new(NULL, 0, &known), 0);
    assert_int_equal(cor_indexer_put(known, object, NULL), 0);
    begin_with(&f, opts, known);
    f.server.timeout_min_s = 900;
    cor_cache_controller_start(f.c, 3000);
    fake_server_list_fails(&f.server, -COR_ENOTSUP);
    assert_non_null(strstr(f.heard, "error("));
    fake_server_wake(&f.server);
    fake_server_list(&f.server, "a1 a2 b3", "10");
    fake_server_opened(&f.server);
    assert_string_equal(f.requests, "L(0,7) L(0,7) W(10)");
    step(&f);
    assert_string_equal(f.heard, "a:2! b:1! k:1!");
    f.refuse_resync = true;
    fake_server_pass(&f.server, 3000);
    assert_string_equal(f.heard, "a:2! b:1! k:1! resync?");
    step(&f);
    assert_string_equal(f.heard, "");
    f.refuse_resync = false;
    fake_server_pass(&f.server, 3000);
    step(&f);
    assert_string_equal(f.heard, "k:1");
    end(&f);
    cor_indexer_free(known);
    cor_object_unref(object);
}

static void on_waited(void *arg, int r)
{
    *(int *)arg = r;
}

/* Contract client 1.10.2, 1.10.5, 1.11.1. */
TEST(controller, runs_once_and_ends_for_good)
{
    uint64_t id;
    int waited = 0;
    struct fake f;

    begin(&f);
    assert_int_equal(
        cor_delta_fifo_wait_synced(cor_cache_controller_queue(f.c), on_waited, &waited, &id), 0);
    assert_str(cor_reflector_last_sync_rv(f.server.to), "");
    cor_cache_controller_start(f.c, 0);
    cor_cache_controller_start(f.c, 0);
    assert_string_equal(f.requests, "L(0,500)");
    fake_server_list(&f.server, "a1 b2", "10");
    assert_str(cor_reflector_last_sync_rv(f.server.to), "10");
    fake_server_opened(&f.server);
    assert_true(cor_cache_controller_step(f.c, 1));
    assert_false(cor_controller_is_stopped(f.c));
    cor_cache_controller_stop(f.c);
    assert_int_equal(waited, -COR_ECANCELED);
    assert_true(cor_delta_fifo_is_closed(cor_cache_controller_queue(f.c)));
    assert_false(cor_cache_controller_step(f.c, 1));
    assert_string_equal(f.heard, "a:1!");
    cor_cache_controller_start(f.c, 0);
    fake_server_pass(&f.server, 3600000);
    assert_string_equal(f.requests, "L(0,500) W(10) cancel");
    end(&f);
}

/* Contract client 1.6.17, 1.7.12. */
TEST(controller, tells_of_a_change_that_holds_up_more_than_ten_others)
{
    static const struct {
        const char *list;
        uint64_t takes_ms;
        const char *expected;
    } cases[] = {
        {"a1 b2 c3 d4 e5 f6 g7 h8 i9 j1 k2 l3", 101,
         "a:1! slow(a took 101 ms to be applied, 11 changes wait behind it) b:1!"},
        {"a1 b2 c3 d4 e5 f6 g7 h8 i9 j1 k2 l3 m4", 100, "a:1! b:1!"},
        {"a1 b2 c3 d4 e5 f6 g7 h8 i9 j1 k2", 101, "a:1! b:1!"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct fake f;

        begin(&f);
        f.takes_ms = cases[i].takes_ms;
        cor_cache_controller_start(f.c, 0);
        fake_server_list(&f.server, cases[i].list, "10");
        fake_server_pass(&f.server, 1000);
        assert_true(cor_cache_controller_step(f.c, 2));
        assert_string_equal(f.heard, cases[i].expected);
        step(&f);
        assert_null(strstr(f.heard, "slow"));
        end(&f);
    }
}

static void wait_a_while(void *arg, int r)
{
    struct fake *f = arg;

    cor_clock_manual_advance(&f->server.clk, f->called_ms);
}

TEST(controller, blames_no_change_for_the_time_of_callbacks_before_it)
{
    uint64_t id;
    struct fake f;

    begin(&f);
    f.tells_ms = f.called_ms = 1000;
    f.is_refused = "a";
    cor_cache_controller_start(f.c, 0);
    fake_server_list(&f.server, "a1 b2", "10");
    fake_server_opened(&f.server);
    assert_int_equal(
        cor_delta_fifo_wait_synced(cor_cache_controller_queue(f.c), wait_a_while, &f, &id), 0);
    for (int i = 0; i < 13; i++)
        fake_server_event(&f.server, COR_WATCH_ADDED, (char[2]){(char)('c' + i)}, 11 + i);
    assert_true(cor_cache_controller_step(f.c, 4));
    assert_string_equal(f.heard, "a:1! b:1! c:1 d:1");
    end(&f);
}

TEST(controller, goes_on_when_there_is_no_memory_to_tell_of_a_slow_change)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;

        test_fail_alloc(0, false);
        begin(&f);
        f.takes_ms = 1000;
        cor_cache_controller_start(f.c, 0);
        fake_server_list(&f.server, "a1 b2 c3 d4 e5 f6 g7 h8 i9 j1 k2 l3", "10");
        test_fail_alloc(n, false);
        assert_true(cor_cache_controller_step(f.c, 1));
        assert_non_null(strstr(f.heard, "a:1! slow("));
        end(&f);
    }
}
