/* What a handler may rely on when it is called: contract client 1.17.29 and 1.17.32 to 1.17.35. */
#include "base/err.h"
#include "cache/informers/shared_informer.h"
#include "drain.h"
#include "fake_informer.h"
#include "test.h"

static char *cached_rv(struct fake *f, const char *key, char to[16])
{
    struct cor_object *o;
    struct cor_str rv;

    to[0] = '\0';
    if (cor_indexer_get(cor_shared_informer_indexer(f->inf), cor_strz(key), &o) < 0)
        return to;
    rv = cor_object_resource_version(o);
    assert_true(rv.n < 16);
    memcpy(to, rv.p, rv.n);
    to[rv.n] = '\0';
    cor_object_unref(o);
    return to;
}

static void look_at_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct fake *f = arg;
    char rv[16];

    assert_str(cor_object_resource_version(o), cached_rv(f, "a", rv));
    trace_note(f->heard[0], "add(%s)", rv);
}

static void look_at_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    struct fake *f = arg;
    char rv[16];

    assert_str(cor_object_resource_version(o), cached_rv(f, "a", rv));
    trace_note(f->heard[0], "update(%s)", rv);
}

static void look_at_delete(void *arg, struct cor_str key, struct cor_object *o,
                           bool final_state_unknown)
{
    struct fake *f = arg;
    char rv[16];

    assert_string_equal(cached_rv(f, "a", rv), "");
    trace_note(f->heard[0], "delete");
}

/* When something waits for the handler, and before it can be drained. */
static void look_when_ready(void *arg)
{
    struct fake *f = arg;
    char rv[16];

    trace_note(f->heard[1], "%s", *cached_rv(f, "a", rv) ? rv : "none");
}

/* Contract client 1.17.33: one change at a time here; else the store may be ahead. */
TEST(shared_informer_order, the_store_has_a_change_before_a_handler_can_hear_of_it)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    opts.handler = (struct cor_handler_fns){look_at_add, look_at_update, look_at_delete, NULL, &f};
    opts.on_ready = look_when_ready;
    opts.arg = &f;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1", "10");
    fake_server_opened(&f.server);
    fake_step(&f);
    drain_registration(reg, 1);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 11);
    fake_step(&f);
    drain_registration(reg, 1);
    fake_server_event(&f.server, COR_WATCH_DELETED, "a", 12);
    fake_step(&f);
    drain_registration(reg, 1);
    assert_string_equal(f.heard[0], "add(1) update(11) delete");
    assert_string_equal(f.heard[1], "1 11 none");
    fake_end(&f);
}

/* Contract client 1.17.32: across objects, too, for each handler by itself. */
TEST(shared_informer_order, each_handler_hears_all_in_the_order_of_arrival)
{
    static const char expected[] =
        "add(b1!) add(a2!) update(b1-11) add(c12) update(a2-13) delete(b14) update(c12-15)";
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    fake_hear(&f, 0);
    opts.handler = listener_handler(&f.listeners[1]);
    opts.is_held = true;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "b1 a2", "10");
    fake_server_opened(&f.server);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "b", 11);
    fake_server_event(&f.server, COR_WATCH_ADDED, "c", 12);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "a", 13);
    fake_server_event(&f.server, COR_WATCH_DELETED, "b", 14);
    fake_server_event(&f.server, COR_WATCH_MODIFIED, "c", 15);
    fake_step(&f);
    assert_string_equal(f.heard[0], expected);
    assert_string_equal(f.heard[1], "");
    cor_registration_release(reg);
    fake_step(&f);
    assert_string_equal(f.heard[1], expected);
    fake_end(&f);
}

static void assert_cached(struct fake *f, const char *a, const char *b)
{
    char rv[16];

    assert_string_equal(cached_rv(f, "a", rv), a);
    assert_string_equal(cached_rv(f, "b", rv), b);
}

/* Contract client 1.17.34: a read is of one instant; between two objects nothing is promised. */
TEST(shared_informer_order, a_relist_is_applied_object_by_object_and_a_read_is_of_one_instant)
{
    struct cor_object_iter it;
    struct cor_object *o;
    struct fake f;

    fake_begin(&f);
    fake_sync_with(&f, "a1 b2", "10");
    fake_server_error(&f.server, -COR_EEXPIRED);
    fake_server_wake(&f.server);
    fake_server_list(&f.server, "a8 b9", "20");
    assert_cached(&f, "1", "2");
    assert_true(cor_shared_informer_step(f.inf, 1));
    assert_cached(&f, "8", "2");
    assert_int_equal(cor_indexer_list(cor_shared_informer_indexer(f.inf), &it), 0);
    fake_step(&f);
    assert_cached(&f, "8", "9");
    assert_true(cor_object_iter_next(&it, &o, NULL));
    assert_str(cor_object_resource_version(o), "8");
    assert_true(cor_object_iter_next(&it, &o, NULL));
    assert_str(cor_object_resource_version(o), "2");
    assert_false(cor_object_iter_next(&it, &o, NULL));
    cor_object_iter_deinit(&it);
    fake_end(&f);
}

static void note_uids(void *arg, struct cor_object *old, struct cor_object *o)
{
    trace_note(arg, "%.*s-%.*s", COR_STR_ARG(cor_object_uid(old)), COR_STR_ARG(cor_object_uid(o)));
}

static void list_one(struct fake *f, const char *json, int rv)
{
    struct cor_object *o = fake_object_json(json, rv);
    struct cor_list_page page = {.objects = &o, .n = 1, .resource_version = COR_STR("10")};

    cor_reflector_list_page(f->server.to, fake_server_now(&f->server), &page);
    cor_object_unref(o);
}

/* Contract client 1.17.29. */
TEST(shared_informer_order, one_that_was_made_anew_behind_its_back_is_an_update)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    opts.handler = (struct cor_handler_fns){.on_update = note_uids, .arg = f.heard[0]};
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    cor_shared_informer_start(f.inf);
    list_one(&f, "{\"metadata\":{\"name\":\"a\",\"uid\":\"first\"}}", 1);
    fake_server_opened(&f.server);
    fake_server_error(&f.server, -COR_EEXPIRED);
    fake_server_wake(&f.server);
    list_one(&f, "{\"metadata\":{\"name\":\"a\",\"uid\":\"second\"}}", 9);
    fake_step(&f);
    assert_string_equal(f.heard[0], "first-second");
    fake_end(&f);
}

/* Handlers that are run in step: what each hears is one letter, and the slow ones move the clock.
 */
struct turns {
    struct fake *f;
    char letter;
    uint64_t takes_ms;
    uint64_t slow_ms;
};

static void note_turn(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct turns *t = arg;

    trace_note(t->f->heard[0], "%c%.*s", t->letter, COR_STR_ARG(cor_object_name(o)));
    cor_clock_manual_advance(&t->f->server.clk, t->takes_ms);
}

static void note_slow(void *arg, uint64_t ms)
{
    ((struct turns *)arg)->slow_ms = ms;
}

static void hear_turns(struct fake *f, struct turns *t)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;

    opts.handler = (struct cor_handler_fns){.on_add = note_turn, .arg = t};
    opts.on_slow = note_slow;
    opts.arg = t;
    t->f = f;
    assert_int_equal(cor_shared_informer_add_handler(f->inf, &opts, &reg), 0);
}

static void assert_step(struct fake *f, const char *heard)
{
    f->heard[0][0] = '\0';
    cor_shared_informer_step(f->inf, 8);
    assert_string_equal(f->heard[0], heard);
}

TEST(shared_informer_order, a_step_ends_with_a_long_call_and_the_next_goes_on_after_it)
{
    struct turns slow = {.letter = 'S', .takes_ms = 3000}, quick = {.letter = 'q'};
    struct turns other = {.letter = 'T', .takes_ms = 40};
    struct fake f;

    fake_begin(&f);
    hear_turns(&f, &slow);
    hear_turns(&f, &quick);
    hear_turns(&f, &other);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1 b2 c3", "10");
    assert_step(&f, "Sa");
    assert_step(&f, "qa qb qc Ta");
    assert_step(&f, "Sb");
    assert_step(&f, "Tb");
    assert_step(&f, "Sc");
    assert_step(&f, "Tc");
    assert_step(&f, "");
    assert_int_equal(slow.slow_ms, 3000);
    assert_int_equal(other.slow_ms, 0);
    fake_end(&f);
}

/* The handler that was served last is gone when the next step begins. */
TEST(shared_informer_order, turns_go_on_when_handlers_come_and_go)
{
    struct turns first = {.letter = 'S', .takes_ms = 3000}, second = {.letter = 'q'};
    struct turns late = {.letter = 'l'};
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    opts.handler = (struct cor_handler_fns){.on_add = note_turn, .arg = &first};
    first.f = &f;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    hear_turns(&f, &second);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1 b2", "10");
    assert_step(&f, "Sa");
    cor_shared_informer_remove_handler(f.inf, reg);
    assert_step(&f, "qa qb");
    hear_turns(&f, &late);
    assert_step(&f, "la lb");
    assert_step(&f, "");
    fake_end(&f);
}

TEST(shared_informer_order, a_step_ends_when_the_handler_that_was_served_last_is_gone)
{
    struct turns first = {.letter = 'q'}, last = {.letter = 'S', .takes_ms = 3000};
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;
    struct fake f;

    fake_begin(&f);
    hear_turns(&f, &first);
    opts.handler = (struct cor_handler_fns){.on_add = note_turn, .arg = &last};
    last.f = &f;
    assert_int_equal(cor_shared_informer_add_handler(f.inf, &opts, &reg), 0);
    cor_shared_informer_start(f.inf);
    fake_server_list(&f.server, "a1", "10");
    assert_step(&f, "qa Sa");
    cor_shared_informer_remove_handler(f.inf, reg);
    fake_server_opened(&f.server);
    fake_server_event(&f.server, COR_WATCH_ADDED, "b", 11);
    assert_step(&f, "qb");
    assert_step(&f, "");
    fake_end(&f);
}
