/* Contract client 3.1, over drivers that a test answers. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/informers/informer_factory.h"
#include "fake_server.h"
#include "test.h"

#define SERVERS 4

struct fake {
    struct cor_clock_manual clk; /* begins as the servers' do */
    struct fake_server servers[SERVERS];
    char requests[SERVERS][TRACE_MAX];
    struct cor_informer_scope scopes[SERVERS];
    size_t made, freed;
    char errors[TRACE_MAX], told[TRACE_MAX];
    int transformed;
    struct cor_informer_factory *factory;
};

static const struct cor_gvr pods = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};
static const struct cor_gvr nodes = {COR_STR(""), COR_STR("v1"), COR_STR("nodes")};

static int make_driver(void *arg, const struct cor_informer_scope *scope,
                       struct cor_reflector_driver **ret_driver)
{
    struct fake *f = arg;

    assert_true(f->made < SERVERS);
    fake_server_init(&f->servers[f->made], f->requests[f->made]);
    f->scopes[f->made] = *scope;
    *ret_driver = &f->servers[f->made++].driver;
    return 0;
}

static void set_reflector(void *arg, struct cor_reflector_driver *driver,
                          struct cor_reflector *reflector)
{
    COR_CONTAINER_OF(driver, struct fake_server, driver)->to = reflector;
}

static void free_driver(void *arg, struct cor_reflector_driver *driver)
{
    ((struct fake *)arg)->freed++;
}

static int transform(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    ((struct fake *)arg)->transformed++;
    return 0;
}

static void on_watch_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    trace_note(((struct fake *)arg)->errors, "%.*s:%s", COR_STR_ARG(plural),
               cor_err_name(error->err));
}

static void begin_with(struct fake *f, struct cor_informers_opts set)
{
    struct cor_informer_factory_opts opts = {.set = set};

    *f = (struct fake){0};
    cor_clock_manual_init(&f->clk, 1000, 0);
    opts.clock = &f->clk.clock;
    opts.maker = (struct cor_driver_maker){make_driver, set_reflector, free_driver, f};
    opts.set.transform = transform;
    opts.set.on_watch_error = on_watch_error;
    opts.set.arg = f;
    assert_int_equal(cor_informer_factory_new(&opts, &f->factory), 0);
}

static void begin(struct fake *f)
{
    begin_with(f, (struct cor_informers_opts){COR_INFORMERS_OPTS});
}

static void end(struct fake *f)
{
    cor_informer_factory_stop(f->factory);
    cor_informer_factory_free(f->factory);
    assert_int_equal(f->freed, f->made);
}

static struct cor_shared_informer *get_scope(struct fake *f, struct cor_informer_scope scope)
{
    struct cor_shared_informer *inf = NULL;

    assert_int_equal(cor_informer_factory_informer_for(f->factory, &scope, &inf), 0);
    return inf;
}

static struct cor_shared_informer *get(struct fake *f, struct cor_gvr resource)
{
    return get_scope(f, (struct cor_informer_scope){.resource = resource});
}

static void step(struct fake *f)
{
    while (cor_informer_factory_step(f->factory, 2))
        ;
}

static void small_pages(void *arg, struct cor_informer_request *req)
{
    req->limit = 7;
}

/* Contract client 3.1.1 */
TEST(informer_factory, makes_one_informer_for_each_scope)
{
    struct fake f;
    struct cor_informer_scope scope;
    struct cor_shared_informer *all, *some;

    begin(&f);
    all = get(&f, pods);
    assert_ptr_equal(get(&f, pods), all);
    scope = (struct cor_informer_scope){.resource = pods};
    scope.ns = COR_STR("default");
    some = get_scope(&f, scope);
    assert_ptr_not_equal(some, all);
    assert_ptr_equal(get_scope(&f, scope), some);
    scope.tweak = small_pages;
    assert_ptr_not_equal(get_scope(&f, scope), some);
    scope.tweak = NULL;
    scope.metadata_only = true;
    assert_ptr_not_equal(get_scope(&f, scope), some);
    assert_int_equal(f.made, 4);
    end(&f);
}

TEST(informer_factory, tells_scopes_apart_that_would_print_alike)
{
    const struct cor_informer_scope a = {.ns = COR_STR("ab"), .label_selector = COR_STR("c")};
    const struct cor_informer_scope b = {.ns = COR_STR("a"), .label_selector = COR_STR("bc")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf x = {.max = 1000}, y = {.max = 1000};

    assert_int_equal(cor_informer_scope_print(&a, &x), 0);
    assert_int_equal(cor_informer_scope_print(&b, &y), 0);
    assert_false(cor_str_eq(cor_buf_str(&x), cor_buf_str(&y)));
    cor_buf_deinit(&y);
}

/* Contract client 3.1.3: namespace and tweak of a scope, the transform of the set. */
TEST(informer_factory, gives_a_scope_to_its_driver_and_the_transform_to_every_scope)
{
    struct fake f;

    begin(&f);
    get_scope(&f, (struct cor_informer_scope){.resource = pods,
                                              .ns = COR_STR("kube-system"),
                                              .label_selector = COR_STR("app=dns"),
                                              .field_selector = COR_STR("metadata.name=x"),
                                              .tweak = small_pages});
    assert_str(f.scopes[0].ns, "kube-system");
    assert_str(f.scopes[0].label_selector, "app=dns");
    assert_str(f.scopes[0].field_selector, "metadata.name=x");
    assert_ptr_equal(f.scopes[0].tweak, small_pages);
    cor_informer_factory_start(f.factory);
    fake_server_list(&f.servers[0], "a1", "10");
    step(&f);
    assert_int_equal(f.transformed, 1);
    end(&f);
}

/* Contract client 3.1.2 */
TEST(informer_factory, resyncs_by_scope_or_by_default)
{
    char heard[TRACE_MAX] = "";
    struct listener listener = {"", heard};
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    begin_with(&f, (struct cor_informers_opts){COR_INFORMERS_OPTS, .resync_ms = 60000});
    opts.handler = listener_handler(&listener);
    assert_int_equal(cor_shared_informer_add_handler(get(&f, pods), &opts, &reg), 0);
    assert_int_equal(
        cor_shared_informer_add_handler(
            get_scope(&f, (struct cor_informer_scope){.resource = nodes, .resync_ms = 5000}), &opts,
            &reg),
        0);
    cor_informer_factory_start(f.factory);
    fake_server_list(&f.servers[0], "p1", "10");
    fake_server_list(&f.servers[1], "n1", "10");
    step(&f);
    assert_string_equal(heard, "add(p1!) add(n1!)");
    cor_clock_manual_advance(&f.clk, 5000);
    for (int i = 0; i < 2; i++)
        cor_reflector_tick(f.servers[i].to, cor_clock_mono_ms(&f.clk.clock));
    step(&f);
    assert_string_equal(heard, "add(p1!) add(n1!) update(n1-1)");
    end(&f);
}

/* Contract client 3.1.4, 3.1.5 */
TEST(informer_factory, starts_only_what_is_new)
{
    struct fake f;

    begin(&f);
    get(&f, pods);
    cor_informer_factory_start(f.factory);
    cor_informer_factory_start(f.factory);
    get(&f, nodes);
    assert_string_equal(f.requests[0], "L(0,500)");
    assert_string_equal(f.requests[1], "");
    cor_informer_factory_start(f.factory);
    assert_string_equal(f.requests[0], "L(0,500)");
    assert_string_equal(f.requests[1], "L(0,500)");
    end(&f);
}

static void note_mutation(void *arg, const struct cor_object *o)
{
    trace_note(((struct fake *)arg)->told, "changed %.*s", COR_STR_ARG(cor_object_name(o)));
}

TEST(informer_factory, looks_for_silent_watches_and_for_changed_objects_when_asked_to)
{
    struct cor_shared_informer *inf;
    struct cor_object *o;
    struct fake f;

    begin_with(&f, (struct cor_informers_opts){COR_INFORMERS_OPTS, .watch_silence_ms = 60000,
                                               .on_mutation = note_mutation});
    inf = get(&f, pods);
    cor_informer_factory_start(f.factory);
    fake_server_list(&f.servers[0], "p1", "10");
    fake_server_opened(&f.servers[0]);
    step(&f);
    assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(inf), COR_STR("p"), &o), 0);
    o->bytes[3] ^= 1;
    cor_object_unref(o);
    cor_clock_manual_advance(&f.clk, 60000);
    cor_informer_factory_check_mutations(f.factory);
    assert_string_equal(f.told, "changed p");
    fake_server_wake(&f.servers[0]);
    assert_string_equal(f.requests[0], "L(0,500) W(10) cancel W(10)");
    end(&f);
}

TEST(informer_factory, says_whose_list_failed)
{
    struct fake f;

    begin(&f);
    get(&f, pods);
    get(&f, nodes);
    cor_informer_factory_start(f.factory);
    fake_server_list_fails(&f.servers[1], -COR_EFORBIDDEN);
    assert_string_equal(f.errors, "nodes:EFORBIDDEN");
    end(&f);
}

static void note_synced(void *arg, const struct cor_informer_scope *scope, bool synced)
{
    trace_note(((struct fake *)arg)->told, "%.*s:%d", COR_STR_ARG(scope->resource.resource),
               synced);
}

/* Contract client 3.1.7 */
TEST(informer_factory, tells_by_type_what_is_synced)
{
    struct fake f;

    begin(&f);
    assert_true(cor_informer_factory_wait_for_sync(f.factory, 0, note_synced, &f));
    assert_string_equal(f.told, "");
    get(&f, pods);
    get(&f, nodes);
    cor_informer_factory_start(f.factory);
    fake_server_list(&f.servers[0], "", "10");
    assert_false(cor_informer_factory_wait_for_sync(f.factory, 0, note_synced, &f));
    assert_string_equal(f.told, "pods:1 nodes:0");
    fake_server_list(&f.servers[1], "n1", "10");
    step(&f);
    f.told[0] = '\0';
    assert_true(cor_informer_factory_wait_for_sync(f.factory, 0, note_synced, &f));
    assert_string_equal(f.told, "pods:1 nodes:1");
    end(&f);
}

static void *wait_synced(void *arg)
{
    return cor_informer_factory_wait_for_sync(arg, 60000, NULL, NULL) ? arg : NULL;
}

TEST(informer_factory, wakes_a_thread_that_waits_for_the_lists)
{
    pthread_t thread;
    struct fake f;
    void *synced;

    begin(&f);
    get(&f, pods);
    cor_informer_factory_start(f.factory);
    assert_int_equal(pthread_create(&thread, NULL, wait_synced, f.factory), 0);
    fake_server_list(&f.servers[0], "p1", "10");
    step(&f);
    pthread_join(thread, &synced);
    assert_ptr_equal(synced, f.factory);
    end(&f);
}

/* Contract client 3.1.11 */
TEST(informer_factory, ends_the_wait_of_a_thread_when_it_is_stopped)
{
    pthread_t thread;
    struct fake f;
    void *synced;

    begin(&f);
    get(&f, pods);
    get(&f, nodes);
    cor_informer_factory_start(f.factory);
    assert_int_equal(pthread_create(&thread, NULL, wait_synced, f.factory), 0);
    cor_informer_factory_stop(f.factory);
    pthread_join(thread, &synced);
    assert_null(synced);
    assert_false(cor_informer_factory_wait_for_sync(f.factory, 0, NULL, NULL));
    cor_informer_factory_start(f.factory);
    assert_ptr_equal(get(&f, pods), get(&f, pods));
    assert_string_equal(f.requests[0], "L(0,500) cancel");
    assert_int_equal(f.made, 2);
    end(&f);
}

/* What was made under a failure works as any other: its first list is waited for. */
static void assert_works(struct fake *f, struct cor_shared_informer *inf)
{
    cor_informer_factory_start(f->factory);
    assert_string_equal(f->requests[0], "L(0,500)");
    assert_false(cor_informer_factory_wait_for_sync(f->factory, 0, NULL, NULL));
    test_fail_alloc(0, false);
    fake_server_list(&f->servers[0], "a1 b2", "10");
    step(f);
    assert_true(cor_informer_factory_wait_for_sync(f->factory, 0, NULL, NULL));
    assert_int_equal(cor_indexer_len(cor_shared_informer_indexer(inf)), 2);
}

TEST(informer_factory, is_as_before_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_informer_factory_opts opts = {0};
        struct cor_shared_informer *inf = NULL, *again;
        const struct cor_informer_scope scope = {.resource = pods, .tweak = small_pages};
        struct fake f = {0};
        int r;

        opts.maker = (struct cor_driver_maker){make_driver, set_reflector, free_driver, &f};
        cor_clock_manual_init(&f.clk, 1000, 0);
        opts.clock = &f.clk.clock;
        if (cor_informer_factory_new(&opts, &f.factory) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        r = cor_informer_factory_informer_for(f.factory, &scope, &inf);
        if (r == 0) {
            assert_true(f.scopes[0].tweak == small_pages);
            assert_works(&f, inf);
            assert_int_equal(cor_informer_factory_informer_for(f.factory, &scope, &again), 0);
            assert_ptr_equal(again, inf);
        } else {
            assert_int_equal(r, -COR_ENOMEM);
            assert_true(test_alloc_failed());
            assert_null(inf);
            assert_false(cor_informer_factory_step(f.factory, 8));
        }
        end(&f);
    }
}

/* One is synced already, another was stopped before it was. */
TEST(informer_factory, a_wait_for_what_was_stopped_says_so)
{
    struct cor_shared_informer *first;
    struct fake f;

    begin(&f);
    first = get(&f, pods);
    get(&f, nodes);
    cor_informer_factory_start(f.factory);
    fake_server_list(&f.servers[1], "n1", "10");
    step(&f);
    cor_shared_informer_stop(first);
    assert_false(cor_informer_factory_wait_for_sync(f.factory, 60000, note_synced, &f));
    assert_string_equal(f.told, "pods:0 nodes:1");
    end(&f);
}

struct slow_listener {
    struct fake *f;
    const char *name;
    uint64_t takes_ms;
};

static void take_time(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct slow_listener *l = arg;

    trace_note(l->f->told, "%s:%.*s", l->name, COR_STR_ARG(cor_object_name(o)));
    cor_clock_manual_advance(&l->f->clk, l->takes_ms);
}

static void listen_slowly(struct cor_shared_informer *inf, struct slow_listener *l)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;

    opts.handler = (struct cor_handler_fns){.on_add = take_time, .arg = l};
    assert_int_equal(cor_shared_informer_add_handler(inf, &opts, &reg), 0);
}

TEST(informer_factory, between_two_long_calls_of_one_informer_the_others_are_stepped)
{
    struct fake f;
    struct slow_listener slow = {&f, "slow", 3000}, quick = {&f, "quick", 0};

    begin(&f);
    listen_slowly(get(&f, pods), &slow);
    listen_slowly(get(&f, nodes), &quick);
    cor_informer_factory_start(f.factory);
    fake_server_list(&f.servers[0], "a1 b2", "10");
    fake_server_list(&f.servers[1], "x1 y2", "10");
    assert_true(cor_informer_factory_step(f.factory, 8));
    assert_string_equal(f.told, "slow:a");
    assert_true(cor_informer_factory_step(f.factory, 8));
    assert_string_equal(f.told, "slow:a quick:x quick:y slow:b");
    step(&f);
    assert_string_equal(f.told, "slow:a quick:x quick:y slow:b");
    end(&f);
}
