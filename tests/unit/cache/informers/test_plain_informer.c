/* Contract client 1.8, 1.9 and 1.10: the plain informer and its controller. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/err.h"
#include "cache/informers/plain_informer.h"
#include "fake_server.h"
#include "test.h"

struct fake {
    struct fake_server server;
    struct cor_plain_informer *inf;
    char requests[TRACE_MAX], heard[TRACE_MAX];
    struct listener listener;
    struct cor_handler_fns handler;
    struct cor_index_def index;
    int refusals; /* how often the index still refuses an object called "x" */
};

static int index_or_refuse(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    struct fake *f = arg;

    if (cor_str_eqz(cor_object_name(o), "x") && f->refusals > 0) {
        f->refusals--;
        return -COR_EINVALID;
    }
    return cor_index_values_add(out, cor_object_name(o));
}

static struct cor_cache_controller_opts options(struct fake *f)
{
    struct cor_cache_controller_opts opts = {0};

    *f = (struct fake){.listener = {"", f->heard}};
    f->handler = listener_handler(&f->listener);
    fake_server_init(&f->server, f->requests);
    opts.driver = &f->server.driver;
    opts.clock = &f->server.clk.clock;
    return opts;
}

/* With an index that refuses "x" as often as f->refusals says. */
static struct cor_cache_controller_opts indexed_options(struct fake *f)
{
    struct cor_cache_controller_opts opts = options(f);

    f->index = (struct cor_index_def){COR_STR("name"), index_or_refuse, f};
    opts.indexes = &f->index;
    opts.nindexes = 1;
    return opts;
}

static void begin(struct fake *f, const struct cor_cache_controller_opts *opts)
{
    assert_int_equal(cor_plain_informer_new(opts, &f->handler, &f->inf), 0);
    f->server.to = cor_cache_controller_reflector(cor_plain_informer_controller(f->inf));
    cor_plain_informer_start(f->inf);
}

static void end(struct fake *f)
{
    cor_cache_controller_stop(cor_plain_informer_controller(f->inf));
    cor_plain_informer_free(f->inf);
}

static void step(struct fake *f)
{
    while (cor_cache_controller_step(cor_plain_informer_controller(f->inf), 2))
        ;
}

/* Contract client 1.8.1 to 1.8.3, 1.8.6, 1.9.1, 1.10.5. */
TEST(plain_informer, tells_its_handler_what_it_applies)
{
    struct fake f;
    struct cor_cache_controller_opts opts = options(&f);

    begin(&f, &opts);
    fake_server_list(&f.server, "a1 b2", "10");
    fake_server_opened(&f.server);
    assert_false(cor_controller_has_synced(cor_plain_informer_controller(f.inf)));
    step(&f);
    assert_true(cor_controller_has_synced(cor_plain_informer_controller(f.inf)));
    fake_server_event(&f.server, COR_WATCH_ADDED, "a", 11);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "n", 12);
    fake_server_event(&f.server, COR_WATCH_DELETED, "b", 13);
    fake_server_event(&f.server, COR_WATCH_DELETED, "u", 14);
    step(&f);
    assert_string_equal(f.heard,
                        "add(a1!) add(b2!) update(a1-11) add(n12) delete(b13) delete(u14)");
    assert_int_equal(cor_indexer_len(cor_plain_informer_indexer(f.inf)), 2);
    end(&f);
}

static void note_cached(struct fake *f, const char *what, struct cor_str key)
{
    struct cor_object_iter it;
    struct cor_object *o = NULL, *indexed;
    struct cor_str rv;
    bool is_indexed;

    cor_indexer_get(cor_plain_informer_indexer(f->inf), key, &o);
    assert_int_equal(
        cor_indexer_by_index(cor_plain_informer_indexer(f->inf), COR_STR("name"), key, &it), 0);
    is_indexed = cor_object_iter_next(&it, &indexed, NULL);
    cor_object_iter_deinit(&it);
    rv = o ? cor_object_resource_version(o) : COR_STR("none");
    trace_note(f->heard, "%s:%.*s%s", what, COR_STR_ARG(rv), is_indexed ? "" : "?");
    cor_object_unref(o);
}

static void look_at_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    note_cached(arg, "add", cor_object_name(o));
}

static void look_at_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    note_cached(arg, "update", cor_object_name(o));
}

static void look_at_delete(void *arg, struct cor_str key, struct cor_object *o, bool unknown)
{
    note_cached(arg, "delete", key);
}

/* Contract client 1.8.5. */
TEST(plain_informer, its_cache_and_indexes_have_what_its_handler_is_told)
{
    struct fake f;
    struct cor_cache_controller_opts opts = indexed_options(&f);

    f.handler = (struct cor_handler_fns){look_at_add, look_at_update, look_at_delete, NULL, &f};
    begin(&f, &opts);
    fake_server_list(&f.server, "a1", "10");
    fake_server_opened(&f.server);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_server_event(&f.server, COR_WATCH_DELETED, "a", 12);
    step(&f);
    assert_string_equal(f.heard, "add:1 update:11 delete:none?");
    end(&f);
}

/* One who asks the queue something while the handler runs. */
struct asker {
    struct fake *f;
    pthread_t thread;
    atomic_bool asks, returns; /* the handler */
};

static void *ask_queue(void *arg)
{
    struct asker *a = arg;

    atomic_store(&a->asks, true);
    cor_controller_has_synced(cor_plain_informer_controller(a->f->inf));
    return atomic_load(&a->returns) ? NULL : arg;
}

static void be_asked(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct asker *a = arg;

    assert_int_equal(pthread_create(&a->thread, NULL, ask_queue, a), 0);
    while (!atomic_load(&a->asks))
        sched_yield();
    for (int i = 0; i < 100; i++)
        sched_yield();
    atomic_store(&a->returns, true);
}

/* Contract client 1.10.7. */
TEST(plain_informer, its_queue_is_locked_while_its_handler_runs)
{
    struct fake f;
    struct cor_cache_controller_opts opts = options(&f);
    struct asker a = {.f = &f};
    void *early;

    f.handler = (struct cor_handler_fns){.on_add = be_asked, .arg = &a};
    begin(&f, &opts);
    fake_server_list(&f.server, "a1", "10");
    step(&f);
    pthread_join(a.thread, &early);
    assert_null(early);
    end(&f);
}

/* Contract client 1.9.4, 1.10.9. */
TEST(plain_informer, tells_of_relists_and_resyncs_though_nothing_changed)
{
    struct fake f;
    struct cor_cache_controller_opts opts = options(&f);

    opts.reflector.resync_ms = 3000;
    begin(&f, &opts);
    fake_server_list(&f.server, "a1", "10");
    fake_server_opened(&f.server);
    step(&f);
    f.heard[0] = '\0';
    fake_server_pass(&f.server, 3000);
    step(&f);
    assert_string_equal(f.heard, "update(a1-1)");
    fake_server_error(&f.server, -COR_EEXPIRED);
    fake_server_wake(&f.server);
    fake_server_list(&f.server, "a1", "20");
    step(&f);
    assert_string_equal(f.heard, "update(a1-1) update(a1-1)");
    end(&f);
}

/* Contract client 1.3.3, 1.6.12: nobody has the object, and its handler copes. */
TEST(plain_informer, a_deletion_by_key_alone_takes_what_is_cached_by_that_key)
{
    struct fake f;
    struct cor_cache_controller_opts opts = options(&f);
    struct cor_reflector_store *store;

    begin(&f, &opts);
    fake_server_list(&f.server, "a1 b2", "10");
    step(&f);
    store = cor_delta_fifo_store(cor_cache_controller_queue(cor_plain_informer_controller(f.inf)));
    assert_int_equal(
        store->ops->del(store, COR_STR("a"), NULL, cor_reflector_at(COR_STR("11")), NULL), 0);
    step(&f);
    assert_string_equal(f.heard, "add(a1!) add(b2!) lost(a?)");
    assert_int_equal(cor_indexer_len(cor_plain_informer_indexer(f.inf)), 1);
    end(&f);
}

/* Contract client 1.10.6. */
TEST(plain_informer, has_the_indexes_it_is_given_or_none)
{
    struct fake f;
    struct cor_object_iter it;
    struct cor_object *o;

    for (size_t n = 0; n < 2; n++) {
        struct cor_cache_controller_opts opts = indexed_options(&f);

        opts.nindexes = n;
        begin(&f, &opts);
        fake_server_list(&f.server, "a1 b2", "10");
        step(&f);
        assert_string_equal(f.heard, "add(a1!) add(b2!)");
        if (n == 0) {
            assert_int_equal(cor_indexer_by_index(cor_plain_informer_indexer(f.inf),
                                                  COR_STR("name"), COR_STR("b"), &it),
                             -COR_ENOTFOUND);
        } else {
            assert_int_equal(cor_indexer_by_index(cor_plain_informer_indexer(f.inf),
                                                  COR_STR("name"), COR_STR("b"), &it),
                             0);
            assert_true(cor_object_iter_next(&it, &o, NULL));
            assert_str(cor_object_name(o), "b");
            cor_object_iter_deinit(&it);
        }
        end(&f);
    }
}

static int move_up(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    struct cor_object *moved;

    assert_int_equal(cor_object_at(*object, (*object)->rev + 100, &moved), 0);
    cor_object_unref(*object);
    *object = moved;
    return 0;
}

/* Contract client 1.10.10: client-go's TestTransformingInformer and TestTransformingInformerRace.
 */
TEST(plain_informer, its_cache_and_handler_see_what_was_transformed_once)
{
    struct fake f;
    struct cor_cache_controller_opts opts = options(&f);
    struct cor_object *o;

    opts.transform = move_up;
    opts.reflector.resync_ms = 3000;
    begin(&f, &opts);
    fake_server_list(&f.server, "a1 b2", "10");
    fake_server_opened(&f.server);
    step(&f);
    assert_string_equal(f.heard, "add(a101!) add(b102!)");
    f.heard[0] = '\0';
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_server_pass(&f.server, 3000);
    fake_server_event(&f.server, COR_WATCH_DELETED, "b", 12);
    step(&f);
    assert_string_equal(f.heard, "update(a101-111) update(b102-102) delete(b112)");
    f.heard[0] = '\0';
    fake_server_pass(&f.server, 3000);
    step(&f);
    fake_server_error(&f.server, -COR_EEXPIRED);
    fake_server_wake(&f.server);
    fake_server_list(&f.server, "c20", "20");
    step(&f);
    assert_string_equal(f.heard, "update(a111-111) lost(a111) add(c120)");
    assert_int_equal(cor_indexer_get(cor_plain_informer_indexer(f.inf), COR_STR("c"), &o), 0);
    assert_str(cor_object_resource_version(o), "120");
    cor_object_unref(o);
    end(&f);
}

/* Contract client 1.8.4. */
TEST(plain_informer, drops_a_change_that_an_index_refuses)
{
    struct fake f;
    struct cor_cache_controller_opts opts = indexed_options(&f);

    f.refusals = 1;
    begin(&f, &opts);
    fake_server_list(&f.server, "x1 a2", "10");
    step(&f);
    assert_string_equal(f.heard, "add(a2!)");
    assert_true(cor_controller_has_synced(cor_plain_informer_controller(f.inf)));
    end(&f);
}

/* Contract client 1.8.4. */
TEST(plain_informer, drops_what_was_gathered_behind_a_change_that_an_index_refuses)
{
    struct fake f;
    struct cor_cache_controller_opts opts = indexed_options(&f);

    opts.by_key = true;
    f.refusals = 1;
    begin(&f, &opts);
    fake_server_list(&f.server, "x1", "10");
    fake_server_opened(&f.server);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "x", 11);
    step(&f);
    assert_string_equal(f.heard, "");
    assert_int_equal(cor_indexer_len(cor_plain_informer_indexer(f.inf)), 0);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "x", 12);
    step(&f);
    assert_string_equal(f.heard, "add(x12)");
    end(&f);
}

/* Contract client 1.4.10: retry_on_error, as client-go had it up to 1.32. */
TEST(plain_informer, retries_a_refused_change_after_the_others_when_asked_to)
{
    struct fake f;
    struct cor_cache_controller_opts opts = indexed_options(&f);

    opts.retry_on_error = true;
    f.refusals = 2;
    begin(&f, &opts);
    fake_server_list(&f.server, "x1 a2", "10");
    for (int i = 0; i < 2; i++) {
        step(&f);
        assert_string_equal(f.heard, "add(a2!)");
        assert_true(cor_controller_has_retries(cor_plain_informer_controller(f.inf)));
    }
    step(&f);
    assert_string_equal(f.heard, "add(a2!) add(x1)");
    assert_false(cor_controller_has_retries(cor_plain_informer_controller(f.inf)));
    end(&f);
}

/* Each step tries each of them once, and what is fresh is not kept waiting. */
TEST(plain_informer, does_not_spin_on_changes_that_stay_refused)
{
    static const char *const taken[] = {"add(a2!) add(b11) add(x12)",
                                        "add(a2!) add(b11) add(x1) update(x1-12)"};

    for (int by_key = 0; by_key < 2; by_key++) {
        struct fake f;
        struct cor_cache_controller_opts opts = indexed_options(&f);

        opts.retry_on_error = true;
        opts.by_key = by_key;
        f.refusals = 1000;
        begin(&f, &opts);
        fake_server_list(&f.server, "x1 a2", "10");
        fake_server_opened(&f.server);
        step(&f);
        assert_int_equal(f.refusals, 999);
        assert_false(cor_cache_controller_step(cor_plain_informer_controller(f.inf), 50));
        assert_int_equal(f.refusals, 998);
        fake_server_event(&f.server, COR_WATCH_ADDED, "b", 11);
        fake_server_event(&f.server, COR_WATCH_MODIFIED, "x", 12);
        step(&f);
        assert_string_equal(f.heard, "add(a2!) add(b11)");
        f.refusals = 0;
        step(&f);
        assert_string_equal(f.heard, taken[by_key]);
        end(&f);
    }
}

TEST(plain_informer, gives_up_a_refused_change_for_a_newer_one)
{
    struct fake f;
    struct cor_cache_controller_opts opts = indexed_options(&f);

    opts.retry_on_error = true;
    f.refusals = 1;
    begin(&f, &opts);
    fake_server_list(&f.server, "x1", "10");
    fake_server_opened(&f.server);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "x", 11);
    step(&f);
    assert_string_equal(f.heard, "add(x11)");
    end(&f);
}

/* Contract client 1.10.3. */
TEST(plain_informer, applies_nothing_after_stop)
{
    struct fake f;
    struct cor_cache_controller_opts opts = options(&f);

    begin(&f, &opts);
    fake_server_list(&f.server, "a1", "10");
    cor_cache_controller_stop(cor_plain_informer_controller(f.inf));
    assert_false(cor_cache_controller_step(cor_plain_informer_controller(f.inf), 10));
    assert_string_equal(f.heard, "");
    assert_true(cor_controller_is_stopped(cor_plain_informer_controller(f.inf)));
    cor_plain_informer_start(f.inf);
    assert_string_equal(f.requests, "L(0,500) W(10) cancel");
    end(&f);
}

#define NAMES 5

/* The revision that a handler was told last of each name; 0 when it is gone. */
struct follower {
    uint64_t last[NAMES];
    int nupdates;
};

static uint64_t *last_of(struct follower *f, struct cor_str name)
{
    return &f->last[name.p[0] - 'a'];
}

static void follow_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    uint64_t *last = last_of(arg, cor_object_name(o));

    assert_int_equal(*last, 0);
    *last = o->rev;
}

static void follow_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    uint64_t *last = last_of(arg, cor_object_name(o));

    assert_int_equal(old->rev, *last);
    *last = o->rev;
    ((struct follower *)arg)->nupdates++;
}

static void follow_delete(void *arg, struct cor_str key, struct cor_object *o, bool unknown)
{
    assert_int_not_equal(*last_of(arg, key), 0);
    *last_of(arg, key) = 0;
}

/* One of the names comes, changes or goes; the server has it at `rvs`, 0 when it is gone. */
static void change_at_random(struct fake *f, int rvs[NAMES], int rv)
{
    size_t i = test_random() % NAMES;
    char name[2] = {(char)('a' + i), '\0'};

    if (rvs[i] == 0) {
        fake_server_event(&f->server, COR_WATCH_ADDED, name, rv);
        rvs[i] = rv;
    } else if (test_random() % 3) {
        fake_server_event(&f->server, COR_WATCH_MODIFIED, name, rv);
        rvs[i] = rv;
    } else {
        fake_server_event(&f->server, COR_WATCH_DELETED, name, rv);
        rvs[i] = 0;
    }
}

/* Contract client 1.10.10: client-go's TestUpdate and TestHammerController; resyncs come between
 * events, and every update begins where the one before it ended. */
TEST(plain_informer, tells_a_chain_of_states_whatever_comes_between)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct follower follower = {0};
        int rvs[NAMES] = {0};
        struct fake f;
        struct cor_cache_controller_opts opts = options(&f);

        f.handler = (struct cor_handler_fns){.on_add = follow_add,
                                             .on_update = follow_update,
                                             .on_delete = follow_delete,
                                             .arg = &follower};
        opts.by_key = by_key;
        opts.reflector.resync_ms = 3000;
        begin(&f, &opts);
        fake_server_list(&f.server, "", "10");
        fake_server_opened(&f.server);
        for (int rv = 11; rv < 2000; rv++) {
            change_at_random(&f, rvs, rv);
            if (test_random() % 4 == 0)
                fake_server_pass(&f.server, 3000);
            if (test_random() % 4 == 0)
                cor_cache_controller_step(cor_plain_informer_controller(f.inf),
                                          test_random() % 3 + 1);
        }
        step(&f);
        assert_true(follower.nupdates > 0);
        for (int i = 0; i < NAMES; i++)
            assert_int_equal(follower.last[i], rvs[i]);
        end(&f);
    }
}

TEST(plain_informer, tells_each_change_once_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;
        struct cor_cache_controller_opts opts = options(&f);

        test_fail_alloc(0, false);
        opts.by_key = true;
        begin(&f, &opts);
        fake_server_list(&f.server, "a1", "10");
        fake_server_opened(&f.server);
        fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
        fake_server_event(&f.server, COR_WATCH_DELETED, "a", 12);
        fake_server_event(&f.server, COR_WATCH_ADDED, "b", 13);
        test_fail_alloc(n, false);
        step(&f);
        assert_string_equal(f.heard, "add(a1!) update(a1-11) delete(a12) add(b13)");
        end(&f);
    }
}

TEST(plain_informer, is_made_or_not_made_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;
        struct cor_cache_controller_opts opts = indexed_options(&f);

        if (cor_plain_informer_new(&opts, &f.handler, &f.inf) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        test_fail_alloc(0, false);
        assert_int_equal(cor_indexer_len(cor_plain_informer_indexer(f.inf)), 0);
        assert_int_equal(
            cor_indexer_add_indexes(cor_plain_informer_indexer(f.inf), opts.indexes, opts.nindexes),
            -COR_EEXIST);
        assert_non_null(cor_plain_informer_controller(f.inf));
        cor_plain_informer_free(f.inf);
    }
}
