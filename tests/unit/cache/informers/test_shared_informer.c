/* The rules of contract client 1.17 that its worked sequences (test_sequences.c) do not show, and
 * what an informer does when memory runs out. */
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cache/informers/shared_informer_int.h"
#include "cache/store/lister.h"
#include "drain.h"
#include "fake_informer.h"
#include "meta/select/label_selector.h"
#include "test.h"

struct remover {
    struct fake *f;
    struct cor_registration *reg;
};

static void remove_self(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct remover *r = arg;

    trace_note(r->f->heard[0], "add");
    cor_shared_informer_remove_handler(r->f->inf, r->reg);
}

TEST(shared_informer, a_handler_may_remove_itself)
{
    struct fake f;
    struct remover r = {&f, NULL};
    struct cor_registration_opts opts = {.handler = {.on_add = remove_self, .arg = &r}};

    fake_begin(&f);
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &r.reg), 0);
    fake_hear(&f, 1);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1 b2", "10");
    fake_step(&f);
    assert_string_equal(f.heard[0], "add");
    assert_string_equal(f.heard[1], "add(a1!) add(b2!)");
    fake_end(&f);
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

    fake_begin(&f);
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &r.reg), 0);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1 b2", "10");
    fake_step(&f);
    assert_int_equal(drain_registration(r.reg, 10), 1);
    assert_string_equal(f.heard[0], "add");
    fake_end(&f);
}

/* Its handle is not written before: see above. */
TEST(shared_informer, a_held_handler_is_not_run_before_its_release)
{
    struct fake f;
    struct remover r = {&f, NULL};
    struct cor_registration_opts opts = {.handler = {.on_add = remove_self, .arg = &r},
                                         .is_held = true};

    fake_begin(&f);
    fake_sync_with(&f, "a1 b2", "10");
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &r.reg), 0);
    fake_step(&f);
    assert_string_equal(f.heard[0], "");
    cor_registration_release(r.reg);
    fake_step(&f);
    assert_string_equal(f.heard[0], "add");
    fake_end(&f);
}

TEST(shared_informer, a_handler_that_is_closed_hears_nothing_of_what_waits)
{
    struct fake f;
    struct cor_registration_opts opts = {.handler = listener_handler(&f.listeners[0]),
                                         .on_ready = wake_nobody};
    struct cor_registration *reg;

    fake_begin(&f);
    fake_sync_with(&f, "a1 b2", "10");
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    assert_int_equal(drain_registration(reg, 1), 1);
    cor_registration_close(reg);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_step(&f);
    assert_int_equal(drain_registration(reg, 10), 0);
    assert_string_equal(f.heard[0], "add(a1!)");
    cor_shared_informer_remove_handler(f.inf, reg);
    fake_end(&f);
}

TEST(shared_informer, the_cache_and_the_handlers_agree_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;
        struct cor_object *got;

        test_fail_alloc(0, false);
        fake_begin(&f);
        fake_hear(&f, 0);
        fake_sync_with(&f, "a1", "10");
        fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
        fake_server_event(&f.server, COR_WATCH_ADDED, "b", 12);
        test_fail_alloc(n, false);
        fake_step(&f);
        test_fail_alloc(0, false);
        assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(f.inf), COR_STR("b"), &got),
                         0);
        cor_object_unref(got);
        assert_non_null(strstr(f.heard[0], "update(a1-11)"));
        assert_non_null(strstr(f.heard[0], "add(b12)"));
        fake_end(&f);
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
        fake_begin(&f);
        fake_hear(&f, 0);
        cor_shared_informer_start(f.inf);
        fake_server_list(&f.server, "a1 b2", "10");
        test_fail_alloc(n, false);
        while (more) {
            more = cor_shared_informer_step(f.inf, 1);
            if (cor_shared_informer_has_synced(f.inf))
                assert_true(is_cached(&f, "a") && is_cached(&f, "b"));
        }
        assert_string_equal(f.heard[0], "add(a1!) add(b2!)");
        fake_end(&f);
    }
}

TEST(shared_informer, repeats_no_change_of_a_key_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake f;

        test_fail_alloc(0, false);
        fake_begin_with(&f, (struct cor_cache_controller_opts){.by_key = true});
        fake_hear(&f, 0);
        fake_sync_with(&f, "a1", "10");
        fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
        fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 12);
        fake_server_event(&f.server, COR_WATCH_DELETED, "a", 13);
        test_fail_alloc(n, false);
        fake_step(&f);
        assert_string_equal(f.heard[0], "update(a1-11) update(a11-12) delete(a13)");
        fake_end(&f);
    }
}

/* Contract client 1.17.30: what the cache and the handlers see is the transformed object, and its
 * key is the one that counts there. */
static int rename_object(void *arg, struct cor_object **o, struct cor_status *reterr)
{
    char name[2] = {(char)(cor_object_name(*o).p[0] - 'a' + 'A'), '\0'};
    uint64_t rv = 0;

    assert_int_equal(cor_str_to_u64(cor_object_resource_version(*o), &rv), 0);
    cor_object_unref(*o);
    *o = fake_object(name, (int)rv);
    return 0;
}

TEST(shared_informer, follows_an_object_that_the_transform_renames)
{
    struct fake f;

    fake_begin_with(&f, (struct cor_cache_controller_opts){.transform = rename_object});
    fake_hear(&f, 0);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1", "10");
    fake_server_opened(&f.server);
    fake_step(&f);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_step(&f);
    assert_true(is_cached(&f, "A"));
    fake_server_event(&f.server, COR_WATCH_DELETED, "a", 12);
    fake_step(&f);
    assert_string_equal(f.heard[0], "add(A1!) update(A1-11) delete(A12)");
    assert_false(is_cached(&f, "A"));
    fake_end(&f);
}

static void note_wait(void *arg, int r)
{
    trace_note(arg, "told(%d)", r);
}

/* Contract client 1.19.1 without polling. */
TEST(shared_informer, tells_once_when_the_first_list_is_cached)
{
    struct fake f;
    uint64_t id;

    fake_begin(&f);
    assert_int_equal(cor_shared_informer_on_synced(f.inf, note_wait, f.heard[0], &id), 0);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1 b2", "10");
    assert_true(cor_shared_informer_step(f.inf, 1));
    assert_string_equal(f.heard[0], "");
    fake_step(&f);
    assert_string_equal(f.heard[0], "told(0)");
    assert_int_equal(cor_shared_informer_on_synced(f.inf, note_wait, f.heard[0], &id), 1);
    assert_false(cor_shared_informer_cancel_wait(f.inf, id));
    fake_step(&f);
    assert_string_equal(f.heard[0], "told(0)");
    fake_end(&f);
}

TEST(shared_informer, tells_those_who_wait_that_it_was_stopped)
{
    struct fake f;
    uint64_t id, other;

    fake_begin(&f);
    assert_int_equal(cor_shared_informer_on_synced(f.inf, note_wait, f.heard[0], &id), 0);
    assert_int_equal(cor_shared_informer_on_rv(f.inf, COR_STR("10"), note_wait, f.heard[0], &other),
                     0);
    assert_true(cor_shared_informer_cancel_wait(f.inf, other));
    cor_shared_informer_start(f.inf);
    cor_shared_informer_stop(f.inf);
    assert_int_not_equal(strlen(f.heard[0]), 0);
    assert_null(strchr(f.heard[0], ' '));
    assert_int_equal(cor_shared_informer_on_synced(f.inf, note_wait, NULL, &id), -COR_ECANCELED);
    fake_end(&f);
}

static void wait_rv(struct fake *f, const char *rv, int expected)
{
    uint64_t id;

    assert_int_equal(cor_shared_informer_on_rv(f->inf, cor_strz(rv), note_wait, f->heard[0], &id),
                     expected);
}

TEST(shared_informer, tells_when_a_write_is_in_the_cache)
{
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "a1", "10");
    wait_rv(&f, "9", 1);
    wait_rv(&f, "10", 1);
    wait_rv(&f, "12", 0);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_step(&f);
    assert_string_equal(f.heard[0], "");
    fake_server_event(&f.server, COR_WATCH_ADDED, "b", 13);
    assert_string_equal(f.heard[0], "");
    fake_step(&f);
    assert_string_equal(f.heard[0], "told(0)");
    fake_end(&f);
}

TEST(shared_informer, a_bookmark_counts_once_what_came_before_it_is_cached)
{
    struct fake f;
    char rv[COR_CACHE_WAITER_RV_MAX + 1];

    fake_begin(&f);
    fake_sync_with(&f, "a1", "10");
    wait_rv(&f, "100", 0);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_server_bookmark(&f.server, 120, false);
    assert_string_equal(f.heard[0], "");
    fake_step(&f);
    assert_string_equal(f.heard[0], "told(0)");
    wait_rv(&f, "130", 0);
    fake_server_bookmark(&f.server, 130, false);
    assert_string_equal(f.heard[0], "told(0) told(0)");
    cor_shared_informer_last_rv(f.inf, rv);
    assert_string_equal(rv, "130");
    fake_end(&f);
}

TEST(shared_informer, a_relist_tells_those_who_wait_for_what_it_has)
{
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "a1", "10");
    wait_rv(&f, "15", 0);
    fake_server_error(&f.server, -COR_EEXPIRED);
    fake_server_wake(&f.server);
    fake_server_list(&f.server, "a14", "20");
    assert_string_equal(f.heard[0], "");
    fake_step(&f);
    assert_string_equal(f.heard[0], "told(0)");
    fake_end(&f);
}

static void note_mutation(void *arg, const struct cor_object *o)
{
    (*(int *)arg)++;
}

/* Contract client 1.21.2, 1.21.3. */
TEST(shared_informer, finds_who_writes_into_its_objects_when_asked_to)
{
    struct fake f;
    struct cor_object *o;
    int found = 0;

    fake_begin_with(
        &f, (struct cor_cache_controller_opts){.on_mutation = note_mutation, .arg = &found});
    fake_sync_with(&f, "a1", "10");
    assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(f.inf), COR_STR("a"), &o), 0);
    cor_shared_informer_check_mutations(f.inf);
    assert_int_equal(found, 0);
    o->bytes[o->len - 1] = '!';
    cor_shared_informer_check_mutations(f.inf);
    assert_int_equal(found, 1);
    cor_object_unref(o);
    fake_end(&f);
}

/* Contract client 1.21.2: what an update brings is watched, what a deletion brings is not. */
TEST(shared_informer, looks_for_mutations_of_what_it_caches)
{
    static const struct {
        enum cor_watch_type type;
        int found;
    } cases[] = {{COR_WATCH_ADDED, 1}, {COR_WATCH_MODIFIED, 1}, {COR_WATCH_DELETED, 0}};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_object *o = fake_object("a", 11);
        struct fake f;
        int found = 0;

        fake_begin_with(
            &f, (struct cor_cache_controller_opts){.on_mutation = note_mutation, .arg = &found});
        fake_sync_with(&f, cases[i].type == COR_WATCH_ADDED ? "" : "a1", "10");
        fake_server_object(&f.server, cases[i].type, o);
        fake_step(&f);
        o->bytes[o->len - 1] = '!';
        cor_shared_informer_check_mutations(f.inf);
        assert_int_equal(found, cases[i].found);
        cor_object_unref(o);
        fake_end(&f);
    }
}

/* What a projection leaves: the fields that the machine itself reads. */
static int project(void *arg, struct cor_object **o, struct cor_status *reterr)
{
    struct cor_str rv = cor_object_resource_version(*o), team = {0};
    struct cor_object *cut;
    char json[256];

    cor_object_label(*o, COR_STR("team"), &team);
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"labels\":{\"team\":\"%.*s\"},\"name\":\"%.*s\",\"uid\":\"%.*s\"}}",
             COR_STR_ARG(team), COR_STR_ARG(cor_object_name(*o)), COR_STR_ARG(cor_object_uid(*o)));
    cut = fake_object_json(json, (int)strtol(rv.p, NULL, 10));
    cor_object_unref(*o);
    *o = cut;
    return 0;
}

static int count(void *arg, struct cor_object *o)
{
    (*(int *)arg)++;
    assert_true(o->len < 200);
    return 0;
}

static struct cor_object *large(const char *name, const char *team, int rv)
{
    static char json[6000];
    char spec[5000];

    memset(spec, 'x', sizeof(spec) - 1);
    spec[sizeof(spec) - 1] = '\0';
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"labels\":{\"team\":\"%s\"},\"name\":\"%s\",\"uid\":\"u-%s\"},"
             "\"spec\":\"%s\"}",
             team, name, name, spec);
    return fake_object_json(json, rv);
}

/* Contract client 1.17.30, with fewer bytes. */
TEST(shared_informer, lives_on_objects_that_a_projection_has_cut)
{
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *red = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *list[2] = {large("a", "red", 1), large("b", "blue", 2)}, *got;
    struct cor_list_page page = {.objects = list, .n = 2, .resource_version = COR_STR("10")};
    struct cor_lister lister;
    size_t before;
    struct fake f;
    int n = 0;

    fake_begin_with(&f, (struct cor_cache_controller_opts){.transform = project});
    fake_hear(&f, 0);
    cor_shared_informer_start(f.inf);
    before = test_live_bytes();
    cor_reflector_list_page(f.server.to, fake_server_now(&f.server), &page);
    fake_server_opened(&f.server);
    cor_object_unref(list[0]);
    cor_object_unref(list[1]);
    fake_step(&f);
    assert_true(test_live_bytes() < before);
    lister = (struct cor_lister){.indexer = cor_shared_informer_indexer(f.inf)};
    assert_int_equal(cor_label_selector_parse(COR_STR("team=red"), &red, &status), 0);
    assert_int_equal(cor_indexer_each(lister.indexer, COR_STR(""), red, count, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(cor_lister_get(&lister, COR_STR(""), COR_STR("b"), &got, &status), 0);
    assert_str(cor_object_uid(got), "u-b");
    assert_str(cor_object_resource_version(got), "2");
    cor_object_unref(got);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_server_event(&f.server, COR_WATCH_DELETED, "b", 12);
    fake_step(&f);
    assert_string_equal(f.heard[0], "add(a1!) add(b2!) update(a1-11) delete(b12)");
    fake_end(&f);
}

static void note_report(void *arg, enum cor_reflector_report what, const struct cor_status *status)
{
    (*(int *)arg) += what == COR_REFLECTOR_WATCH_EXPIRED;
}

TEST(shared_informer, reports_what_client_go_would_log)
{
    struct fake f;
    int expired = 0;

    fake_begin_with(&f, (struct cor_cache_controller_opts){
                            .reflector = {.on_report = note_report, .arg = &expired}});
    fake_sync_with(&f, "a1", "10");
    fake_server_error(&f.server, -COR_EEXPIRED);
    assert_int_equal(expired, 1);
    fake_end(&f);
}

TEST(shared_informer, bounds_what_waits_for_a_handler_by_default)
{
    struct cor_registration_opts opts = cor_registration_defaults();

    assert_int_equal(opts.bytes_max, 64u << 20);
    assert_true(opts.resync_ms == COR_RESYNC_DEFAULT);
}

static int count_words(const char *text)
{
    int n = *text != '\0';

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

/* What was made, added or waited for under a failure works as any other. */
TEST(shared_informer, is_made_or_not_made_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        char trace[TRACE_MAX];
        struct fake_server server;
        struct cor_cache_controller_opts opts = {.driver = &server.driver,
                                                 .on_mutation = note_mutation};
        struct cor_shared_informer *inf;
        struct cor_registration_opts handler = cor_registration_defaults();
        struct cor_registration *reg = NULL;
        char waits[TRACE_MAX] = "", heard[TRACE_MAX] = "";
        struct listener listener = {"", heard};
        int added, synced, version;
        uint64_t id;

        fake_server_init(&server, trace);
        opts.clock = &server.clk.clock;
        handler.handler = listener_handler(&listener);
        if (cor_shared_informer_new(&opts, &inf) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        server.to = cor_shared_informer_reflector(inf);
        added = cor_shared_informer_add_handler(inf, &handler, &reg);
        synced = cor_shared_informer_on_synced(inf, note_wait, waits, &id);
        version = cor_shared_informer_on_rv(inf, COR_STR("5"), note_wait, waits, &id);
        assert_true((added == 0 && synced == 0 && version == 0) || test_alloc_failed());
        test_fail_alloc(0, false);
        cor_shared_informer_start(inf);
        fake_server_list(&server, "a1", "10");
        while (cor_shared_informer_step(inf, 3))
            ;
        assert_string_equal(heard, added == 0 ? "add(a1!)" : "");
        assert_int_equal(count_words(waits), (synced == 0) + (version == 0));
        cor_shared_informer_stop(inf);
        cor_shared_informer_free(inf);
    }
}

static struct cor_registration *hear_every(struct fake *f, struct listener *l, uint64_t resync_ms)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;

    opts.handler = listener_handler(l);
    opts.resync_ms = resync_ms;
    assert_int_equal(cor_shared_informer_add_handler(f->inf, &opts, &reg), 0);
    return reg;
}

/* Contract client 1.17.10, 1.17.20, 1.17.21: client-go's TestResyncCheckPeriod. */
TEST(shared_informer, the_shortest_period_before_start_is_how_often_a_resync_is_thought_of)
{
    struct fake f = {0};
    struct cor_registration *regs[6];
    struct listener l = {"", f.heard[0]};

    fake_begin_with(&f,
                    (struct cor_cache_controller_opts){.reflector = {.resync_ms = 12 * 3600000}});
    regs[0] = hear_every(&f, &l, COR_RESYNC_DEFAULT);
    assert_int_equal(f.inf->resync_check_ms, 12 * 3600000);
    regs[1] = hear_every(&f, &l, 60000);
    assert_int_equal(f.inf->resync_check_ms, 60000);
    regs[2] = hear_every(&f, &l, 55000);
    assert_int_equal(f.inf->resync_check_ms, 55000);
    regs[3] = hear_every(&f, &l, 5000);
    assert_int_equal(f.inf->resync_check_ms, 5000);
    assert_int_equal(regs[0]->resync_ms, 12 * 3600000);
    assert_int_equal(regs[1]->resync_ms, 60000);
    assert_int_equal(regs[2]->resync_ms, 55000);
    assert_int_equal(regs[3]->resync_ms, 5000);
    cor_shared_informer_start(f.inf);
    regs[4] = hear_every(&f, &l, 300);
    regs[5] = hear_every(&f, &l, 0);
    assert_int_equal(regs[4]->resync_ms, 5000);
    assert_int_equal(regs[5]->resync_ms, 0);
    assert_int_equal(f.inf->resync_check_ms, 5000);
    fake_end(&f);
}

/* Contract client 1.17.22. */
TEST(shared_informer, one_that_never_resyncs_gives_no_handler_a_period)
{
    struct fake f = {0};
    struct listener l = {"", f.heard[0]};

    fake_begin(&f);
    assert_int_equal(hear_every(&f, &l, COR_RESYNC_DEFAULT)->resync_ms, 0);
    assert_int_equal(hear_every(&f, &l, 5000)->resync_ms, 0);
    fake_sync_with(&f, "a1", "10");
    assert_int_equal(hear_every(&f, &l, 5000)->resync_ms, 0);
    assert_true(f.server.wake_ms == COR_REFLECTOR_NEVER);
    fake_end(&f);
}

static void tick(struct fake *f)
{
    fake_server_pass(&f->server, 1000);
    fake_step(f);
}

/* Nothing is made up for: the next period begins now. */
TEST(shared_informer, a_resync_that_comes_late_comes_once)
{
    struct fake f = {0};
    struct listener two = {"2:", f.heard[0]};

    fake_begin_with(&f, (struct cor_cache_controller_opts){.reflector = {.resync_ms = 1000}});
    hear_every(&f, &two, 2000);
    fake_sync_with(&f, "a1", "10");
    fake_server_pass(&f.server, 10000);
    fake_step(&f);
    assert_string_equal(f.heard[0], "2:update(a1-1)");
    tick(&f);
    assert_string_equal(f.heard[0], "2:update(a1-1)");
    tick(&f);
    assert_string_equal(f.heard[0], "2:update(a1-1) 2:update(a1-1)");
    fake_end(&f);
}

/* Contract client 1.17.23, 1.17.25: client-go's TestListenerResyncPeriods. */
TEST(shared_informer, each_handler_is_repeated_to_at_its_own_period)
{
    struct fake f = {0};
    struct listener never = {"never:", f.heard[0]}, two = {"2:", f.heard[0]},
                    three = {"3:", f.heard[0]};

    fake_begin_with(&f, (struct cor_cache_controller_opts){.reflector = {.resync_ms = 1000}});
    hear_every(&f, &never, 0);
    hear_every(&f, &two, 2000);
    hear_every(&f, &three, 3000);
    fake_sync_with(&f, "a1", "10");
    tick(&f);
    assert_string_equal(f.heard[0], "");
    tick(&f);
    assert_string_equal(f.heard[0], "2:update(a1-1)");
    tick(&f);
    assert_string_equal(f.heard[0], "2:update(a1-1) 3:update(a1-1)");
    tick(&f);
    assert_string_equal(f.heard[0], "2:update(a1-1) 3:update(a1-1) 2:update(a1-1)");
    assert_string_equal(f.requests, "");
    fake_end(&f);
}

static int drop_version(void *arg, struct cor_object **o, struct cor_status *reterr)
{
    struct cor_object *bare;

    assert_int_equal(cor_object_at(*o, 0, &bare), 0);
    cor_object_unref(*o);
    *o = bare;
    return 0;
}

/* Contract client 1.17.26 to 1.17.28. */
TEST(shared_informer, objects_without_a_version_look_repeated_to_those_who_do_not_resync)
{
    struct fake f = {0};
    struct listener never = {"", f.heard[0]};

    fake_begin_with(&f, (struct cor_cache_controller_opts){.reflector = {.resync_ms = 1000},
                                                           .transform = drop_version});
    hear_every(&f, &never, 0);
    fake_sync_with(&f, "a1", "10");
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_step(&f);
    assert_string_equal(f.heard[0], "update(a-)");
    tick(&f);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 12);
    fake_step(&f);
    assert_string_equal(f.heard[0], "update(a-)");
    fake_end(&f);
}

/* Contract client 1.17.14. */
TEST(shared_informer, a_handler_may_be_removed_before_start_and_after_stop)
{
    struct fake f;
    struct cor_registration *after;

    fake_begin(&f);
    cor_shared_informer_remove_handler(f.inf, fake_hear(&f, 0));
    after = fake_hear(&f, 1);
    fake_sync_with(&f, "a1", "10");
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_step(&f);
    assert_string_equal(f.heard[0], "");
    assert_string_equal(f.heard[1], "update(a1-11)");
    cor_shared_informer_stop(f.inf);
    cor_shared_informer_remove_handler(f.inf, after);
    fake_end(&f);
}

static int by_name(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    return cor_index_values_add(out, cor_object_name(o));
}

/* Contract client 1.17.7: indexes added while it runs are there at once. */
TEST(shared_informer, takes_indexes_while_it_runs)
{
    const struct cor_index_def def = {COR_STR("name"), by_name, NULL};
    struct cor_object_iter it;
    struct cor_object *o;
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "a1 b2", "10");
    assert_int_equal(cor_shared_informer_add_indexes(f.inf, &def, 1), 0);
    assert_int_equal(cor_indexer_by_index(cor_shared_informer_indexer(f.inf), COR_STR("name"),
                                          COR_STR("b"), &it),
                     0);
    assert_true(cor_object_iter_next(&it, &o, NULL));
    assert_false(cor_object_iter_next(&it, &o, NULL));
    cor_object_iter_deinit(&it);
    assert_int_equal(cor_shared_informer_add_indexes(f.inf, &def, 1), -COR_EEXIST);
    fake_end(&f);
}
