/* The worked sequences of the contract (section 9) that end in calls of handlers, each with its
 * number, and the rules of 1.17. A driver that answers nothing by itself stands for the server;
 * handlers write down what they hear. */
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cache/shared_informer.h"
#include "test.h"

struct fake {
    struct cor_reflector_driver driver;
    struct cor_clock_manual clk;
    struct cor_shared_informer *inf;
    char requests[512]; /* since the last look */
    char heard[2][2048];
    uint64_t wake_ms;
};

static struct fake *of(struct cor_reflector_driver *d)
{
    return COR_CONTAINER_OF(d, struct fake, driver);
}

static void note(char *to, size_t max, const char *fmt, ...) COR_PRINTF(3, 4);
static void note(char *to, size_t max, const char *fmt, ...)
{
    size_t n = strlen(to);
    va_list ap;

    if (n > 0)
        to[n++] = ' ';
    va_start(ap, fmt);
    assert_true((size_t)vsnprintf(to + n, max - n, fmt, ap) < max - n);
    va_end(ap);
}

static void on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    note(of(d)->requests, sizeof(of(d)->requests), "L(%.*s,%d)",
         COR_STR_ARG(opts->resource_version), (int)opts->limit);
}

static void on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                     uint32_t timeout_s)
{
    note(of(d)->requests, sizeof(of(d)->requests), "W(%.*s)", COR_STR_ARG(opts->resource_version));
}

static void on_cancel(struct cor_reflector_driver *d)
{
    note(of(d)->requests, sizeof(of(d)->requests), "cancel");
}

static void on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    of(d)->wake_ms = at_ms;
}

static const struct cor_reflector_driver_ops driver_ops = {on_list, on_watch, on_cancel,
                                                           on_wake_at};

static void begin_with(struct fake *f, struct cor_shared_informer_opts opts)
{
    *f = (struct fake){.driver = {&driver_ops}};
    cor_clock_manual_init(&f->clk, 1000, 0);
    opts.driver = &f->driver;
    opts.clock = &f->clk.clock;
    assert_int_equal(cor_shared_informer_new(&opts, &f->inf), 0);
}

static void begin(struct fake *f)
{
    begin_with(f, (struct cor_shared_informer_opts){0});
}

static void end(struct fake *f)
{
    cor_shared_informer_stop(f->inf);
    cor_shared_informer_free(f->inf);
}

static uint64_t now(struct fake *f)
{
    return cor_clock_mono_ms(&f->clk.clock);
}

static void step(struct fake *f)
{
    while (cor_shared_informer_step(f->inf, 3))
        ;
}

static struct cor_object *object(const char *name, int rv)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *bare, *o;
    char json[128];

    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\"}}", name);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &bare, &status), 0);
    assert_int_equal(cor_object_at(bare, (cor_rev)rv, &o), 0);
    cor_object_unref(bare);
    return o;
}

/* "a1 b2" */
static void answer_list(struct fake *f, const char *objects, const char *rv)
{
    struct cor_object *list[16];
    struct cor_list_page page = {.objects = list, .resource_version = cor_strz(rv)};
    struct cor_str rest = cor_strz(objects);

    while (rest.p && rest.n > 0) {
        struct cor_str word = cor_str_cut(&rest, ' ');
        char name[2] = {word.p[0], '\0'};

        list[page.n++] = object(name, (int)strtol(word.p + 1, NULL, 10));
    }
    cor_reflector_list_page(cor_shared_informer_reflector(f->inf), now(f), &page);
    for (size_t i = 0; i < page.n; i++)
        cor_object_unref(list[i]);
}

static void event(struct fake *f, enum cor_watch_type type, const char *name, int rv)
{
    struct cor_object *o = object(name, rv);
    struct cor_reflector_event e = {.type = type, .object = o};

    cor_reflector_watch_event(cor_shared_informer_reflector(f->inf), now(f), &e);
    cor_object_unref(o);
}

/* Started, listed, and watching. */
static void sync_with(struct fake *f, const char *objects, const char *rv)
{
    cor_shared_informer_start(f->inf);
    answer_list(f, objects, rv);
    cor_reflector_watch_opened(cor_shared_informer_reflector(f->inf), now(f));
    step(f);
    f->requests[0] = f->heard[0][0] = f->heard[1][0] = '\0';
}

/* The watch ends with an error event; the pause before the relist goes by. */
static void lose_watch(struct fake *f)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status gone = {0};
    struct cor_reflector_event e = {.type = COR_WATCH_ERROR, .status = &gone};

    cor_status_expired(&gone, "too old resource version");
    cor_reflector_watch_event(cor_shared_informer_reflector(f->inf), now(f), &e);
    cor_clock_manual_advance(&f->clk, 2000);
    cor_reflector_tick(cor_shared_informer_reflector(f->inf), now(f));
    step(f);
}

static void tick(struct fake *f, uint64_t ms)
{
    cor_clock_manual_advance(&f->clk, ms);
    cor_reflector_tick(cor_shared_informer_reflector(f->inf), now(f));
    step(f);
}

static struct cor_str rv_of(struct cor_object *o)
{
    return cor_object_resource_version(o);
}

static void hear_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    note(arg, 2048, "add(%.*s%.*s%s)", COR_STR_ARG(cor_object_name(o)), COR_STR_ARG(rv_of(o)),
         in_initial_list ? "!" : "");
}

static void hear_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    note(arg, 2048, "update(%.*s%.*s-%.*s)", COR_STR_ARG(cor_object_name(o)),
         COR_STR_ARG(rv_of(old)), COR_STR_ARG(rv_of(o)));
}

static void hear_delete(void *arg, struct cor_str key, struct cor_object *o, bool unknown)
{
    struct cor_str rv = o ? rv_of(o) : COR_STR("?");

    note(arg, 2048, "%s(%.*s%.*s)", unknown ? "lost" : "delete", COR_STR_ARG(key), COR_STR_ARG(rv));
}

static struct cor_registration *hear_every(struct fake *f, int i, uint64_t resync_ms)
{
    struct cor_registration *reg;
    struct cor_registration_opts opts = {
        .handler = {hear_add, hear_update, hear_delete, NULL, f->heard[i]}, .resync_ms = resync_ms};

    assert_int_equal(cor_shared_informer_add_handler(f->inf, &opts, &reg), 0);
    return reg;
}

static struct cor_registration *hear(struct fake *f, int i)
{
    return hear_every(f, i, COR_RESYNC_DEFAULT);
}

TEST(shared_informer, sequence_1_a_cold_start)
{
    struct fake f;
    struct cor_registration *reg;

    begin(&f);
    reg = hear(&f, 0);
    cor_shared_informer_start(f.inf);
    assert_string_equal(f.requests, "L(0,500)");
    answer_list(&f, "a1 b2", "10");
    assert_string_equal(f.requests, "L(0,500) W(10)");
    assert_false(cor_shared_informer_has_synced(f.inf));
    assert_true(cor_shared_informer_step(f.inf, 1));
    assert_false(cor_shared_informer_has_synced(f.inf));
    step(&f);
    assert_true(cor_shared_informer_has_synced(f.inf));
    assert_true(cor_registration_has_synced(reg));
    assert_string_equal(f.heard[0], "add(a1!) add(b2!)");
    end(&f);
}

TEST(shared_informer, sequence_2_an_empty_collection)
{
    struct fake f;
    struct cor_registration *reg;

    begin(&f);
    reg = hear(&f, 0);
    cor_shared_informer_start(f.inf);
    assert_false(cor_registration_has_synced(reg));
    answer_list(&f, "", "10");
    assert_true(cor_shared_informer_has_synced(f.inf));
    assert_true(cor_registration_has_synced(reg));
    step(&f);
    assert_string_equal(f.heard[0], "");
    end(&f);
}

TEST(shared_informer, sequences_3_to_6_events)
{
    struct fake f;

    begin(&f);
    hear(&f, 0);
    sync_with(&f, "a1", "10");
    event(&f, COR_WATCH_ADDED, "a", 11);
    event(&f, COR_WATCH_MODIFIED, "n", 12);
    event(&f, COR_WATCH_DELETED, "u", 13);
    event(&f, COR_WATCH_DELETED, "a", 14);
    event(&f, COR_WATCH_BOOKMARK, "", 50);
    step(&f);
    assert_string_equal(f.heard[0], "update(a1-11) add(n12) delete(u13) delete(a14)");
    cor_clock_manual_advance(&f.clk, 2000);
    cor_reflector_watch_ended(cor_shared_informer_reflector(f.inf), now(&f), NULL);
    assert_string_equal(f.requests, "W(50)");
    end(&f);
    begin_with(&f, (struct cor_shared_informer_opts){.by_key = true});
    hear(&f, 0);
    sync_with(&f, "a1", "10");
    event(&f, COR_WATCH_DELETED, "u", 13);
    step(&f);
    assert_string_equal(f.heard[0], "");
    end(&f);
}

TEST(shared_informer, sequences_19_20_22_a_relist_tells_what_was_missed)
{
    struct fake f;

    begin(&f);
    hear(&f, 0);
    sync_with(&f, "a1 b2 c3", "10");
    lose_watch(&f);
    assert_string_equal(f.requests, "cancel L(10,0)");
    answer_list(&f, "a1 c9", "20");
    step(&f);
    assert_string_equal(f.heard[0], "lost(b2) update(a1-1) update(c3-9)");
    end(&f);
}

TEST(shared_informer, sequence_23_a_relist_buries_what_is_still_queued)
{
    struct fake f;

    begin(&f);
    hear(&f, 0);
    sync_with(&f, "", "10");
    event(&f, COR_WATCH_ADDED, "c", 11);
    lose_watch(&f);
    answer_list(&f, "", "20");
    step(&f);
    assert_string_equal(f.heard[0], "add(c11) lost(c11)");
    end(&f);
}

TEST(shared_informer, sequence_31_a_late_handler_hears_of_all_that_is_cached)
{
    struct fake f;
    struct cor_registration *late;

    begin(&f);
    hear(&f, 0);
    sync_with(&f, "a1 b2 c3", "10");
    late = hear(&f, 1);
    assert_false(cor_registration_has_synced(late));
    event(&f, COR_WATCH_DELETED, "a", 11);
    step(&f);
    assert_string_equal(f.heard[1], "add(a1!) add(b2!) add(c3!) delete(a11)");
    assert_string_equal(f.heard[0], "delete(a11)");
    assert_true(cor_registration_has_synced(late));
    end(&f);
}

TEST(shared_informer, sequence_32_a_removed_handler_hears_nothing_of_what_waited)
{
    struct fake f;
    struct cor_registration *reg;

    begin(&f);
    hear(&f, 0);
    sync_with(&f, "a1 b2", "10");
    reg = hear(&f, 1);
    cor_shared_informer_remove_handler(f.inf, reg);
    event(&f, COR_WATCH_MODIFIED, "a", 11);
    step(&f);
    assert_string_equal(f.heard[1], "");
    assert_string_equal(f.heard[0], "update(a1-11)");
    end(&f);
}

TEST(shared_informer, sequence_33_two_registrations_hear_everything_twice)
{
    struct fake f;

    begin(&f);
    hear(&f, 0);
    hear(&f, 0);
    sync_with(&f, "a1", "10");
    event(&f, COR_WATCH_MODIFIED, "a", 11);
    step(&f);
    assert_string_equal(f.heard[0], "update(a1-11) update(a1-11)");
    end(&f);
}

TEST(shared_informer, sequence_34_a_resync_repeats_the_cache_to_those_whose_time_has_come)
{
    struct fake f;

    begin_with(&f, (struct cor_shared_informer_opts){.reflector = {.resync_ms = 1000}});
    hear_every(&f, 0, 0);
    hear_every(&f, 1, 2000);
    sync_with(&f, "a1 b2", "10");
    tick(&f, 1000);
    assert_string_equal(f.heard[1], "");
    tick(&f, 1000);
    assert_string_equal(f.heard[1], "update(a1-1) update(b2-2)");
    assert_string_equal(f.heard[0], "");
    assert_string_equal(f.requests, "");
    end(&f);
}

TEST(shared_informer, sequence_21_a_relist_without_change_reaches_those_who_resync)
{
    struct fake f;

    begin_with(&f, (struct cor_shared_informer_opts){.reflector = {.resync_ms = 5000}});
    hear_every(&f, 0, 0);
    hear_every(&f, 1, 5000);
    sync_with(&f, "a1", "10");
    tick(&f, 5000);
    assert_string_equal(f.heard[1], "update(a1-1)");
    lose_watch(&f);
    answer_list(&f, "a1", "20");
    step(&f);
    assert_string_equal(f.heard[0], "");
    assert_string_equal(f.heard[1], "update(a1-1) update(a1-1)");
    end(&f);
}

TEST(shared_informer, sequence_35_periods_have_a_minimum_and_none_without_a_check)
{
    struct fake f;

    begin_with(&f, (struct cor_shared_informer_opts){.reflector = {.resync_ms = 60000}});
    hear_every(&f, 0, 300);
    sync_with(&f, "a1", "10");
    tick(&f, 300);
    assert_string_equal(f.heard[0], "");
    tick(&f, 700);
    assert_string_equal(f.heard[0], "update(a1-1)");
    end(&f);
    begin(&f);
    hear_every(&f, 0, 5000);
    sync_with(&f, "a1", "10");
    tick(&f, 20000);
    assert_string_equal(f.heard[0], "");
    end(&f);
}

TEST(shared_informer, sequences_38_39_stop_is_for_good_and_the_cache_stays)
{
    struct fake f;
    struct cor_registration *reg;
    struct cor_registration_opts opts = {0};
    struct cor_object *o;

    begin(&f);
    reg = hear(&f, 0);
    sync_with(&f, "a1", "10");
    event(&f, COR_WATCH_MODIFIED, "a", 11);
    cor_shared_informer_stop(f.inf);
    step(&f);
    assert_string_equal(f.heard[0], "");
    assert_string_equal(f.requests, "cancel");
    assert_true(cor_shared_informer_is_stopped(f.inf));
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &(struct cor_registration *){0}),
                     -COR_ECANCELED);
    assert_int_equal(cor_shared_informer_add_indexes(f.inf, NULL, 0), -COR_ECANCELED);
    cor_shared_informer_remove_handler(f.inf, reg);
    assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(f.inf), COR_STR("a"), &o), 0);
    cor_object_unref(o);
    cor_shared_informer_start(f.inf);
    assert_string_equal(f.requests, "cancel");
    end(&f);
}

struct remover {
    struct fake *f;
    struct cor_registration *reg;
};

static void remove_self(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct remover *r = arg;

    hear_add(r->f->heard[0], o, in_initial_list);
    cor_shared_informer_remove_handler(r->f->inf, r->reg);
}

TEST(shared_informer, a_handler_may_remove_itself)
{
    struct fake f;
    struct remover r = {&f, NULL};
    struct cor_registration_opts opts = {.handler = {.on_add = remove_self, .arg = &r}};

    begin(&f);
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &r.reg), 0);
    hear(&f, 1);
    cor_shared_informer_start(f.inf);
    answer_list(&f, "a1 b2", "10");
    step(&f);
    assert_string_equal(f.heard[0], "add(a1!)");
    assert_string_equal(f.heard[1], "add(a1!) add(b2!)");
    end(&f);
}

static void wake_nobody(void *arg)
{
}

TEST(shared_informer, a_handler_may_remove_itself_where_it_is_drained)
{
    struct fake f;
    struct remover r = {&f, NULL};
    struct cor_registration_opts opts = {.handler = {.on_add = remove_self, .arg = &r},
                                         .on_ready = wake_nobody};

    begin(&f);
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &r.reg), 0);
    cor_shared_informer_start(f.inf);
    answer_list(&f, "a1 b2", "10");
    step(&f);
    assert_int_equal(cor_registration_drain(r.reg, 10), 1);
    assert_string_equal(f.heard[0], "add(a1!)");
    end(&f);
}

TEST(shared_informer, the_cache_and_the_handlers_agree_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;
        struct cor_object *got;

        test_fail_alloc(0, false);
        begin(&f);
        hear(&f, 0);
        sync_with(&f, "a1", "10");
        event(&f, COR_WATCH_MODIFIED, "a", 11);
        event(&f, COR_WATCH_ADDED, "b", 12);
        test_fail_alloc(n, false);
        step(&f);
        test_fail_alloc(0, false);
        assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(f.inf), COR_STR("b"), &got),
                         0);
        cor_object_unref(got);
        assert_non_null(strstr(f.heard[0], "update(a1-11)"));
        assert_non_null(strstr(f.heard[0], "add(b12)"));
        end(&f);
    }
}

/* A look that finds no memory proves nothing. */
static bool is_cached(struct fake *f, const char *key)
{
    struct cor_object *o;
    int r = cor_indexer_get(cor_shared_informer_indexer(f->inf), cor_strz(key), &o);

    if (r == 0)
        cor_object_unref(o);
    return r != -COR_ENOTFOUND;
}

TEST(shared_informer, is_not_synced_before_its_list_is_cached_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;
        bool more = true;

        test_fail_alloc(0, false);
        begin(&f);
        hear(&f, 0);
        cor_shared_informer_start(f.inf);
        answer_list(&f, "a1 b2", "10");
        test_fail_alloc(n, false);
        while (more) {
            more = cor_shared_informer_step(f.inf, 1);
            if (cor_shared_informer_has_synced(f.inf))
                assert_true(is_cached(&f, "a") && is_cached(&f, "b"));
        }
        assert_string_equal(f.heard[0], "add(a1!) add(b2!)");
        end(&f);
    }
}

TEST(shared_informer, repeats_no_change_of_a_key_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;

        test_fail_alloc(0, false);
        begin_with(&f, (struct cor_shared_informer_opts){.by_key = true});
        hear(&f, 0);
        sync_with(&f, "a1", "10");
        event(&f, COR_WATCH_MODIFIED, "a", 11);
        event(&f, COR_WATCH_MODIFIED, "a", 12);
        event(&f, COR_WATCH_DELETED, "a", 13);
        test_fail_alloc(n, false);
        step(&f);
        assert_string_equal(f.heard[0], "update(a1-11) update(a11-12) delete(a13)");
        end(&f);
    }
}

/* Contract 1.17.30: what the cache and the handlers see is the transformed object, and its key is
 * the one that counts there. */
static int rename_object(void *arg, struct cor_object **o, struct cor_status *reterr)
{
    char name[2] = {(char)(cor_object_name(*o).p[0] - 'a' + 'A'), '\0'};
    uint64_t rv = 0;

    assert_int_equal(cor_str_to_u64(rv_of(*o), &rv), 0);
    cor_object_unref(*o);
    *o = object(name, (int)rv);
    return 0;
}

TEST(shared_informer, follows_an_object_that_the_transform_renames)
{
    struct fake f;

    begin_with(&f, (struct cor_shared_informer_opts){.transform = rename_object});
    hear(&f, 0);
    cor_shared_informer_start(f.inf);
    answer_list(&f, "a1", "10");
    cor_reflector_watch_opened(cor_shared_informer_reflector(f.inf), now(&f));
    step(&f);
    event(&f, COR_WATCH_MODIFIED, "a", 11);
    step(&f);
    assert_true(is_cached(&f, "A"));
    event(&f, COR_WATCH_DELETED, "a", 12);
    step(&f);
    assert_string_equal(f.heard[0], "add(A1!) update(A1-11) delete(A12)");
    assert_false(is_cached(&f, "A"));
    end(&f);
}
