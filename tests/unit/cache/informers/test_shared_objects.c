/* An object is one reference-counted thing, shared by all that speak of it: who has it, and for how
 * long. */
#include <stdio.h>

#include "cache/informers/shared_informer.h"
#include "drain.h"
#include "fake_server.h"
#include "test.h"

#define HEARERS 2

struct hearer {
    struct cor_object *object, *old; /* of the last call; borrowed, to be compared only */
    char rv[8];
    int ncalls;
};

struct fake {
    struct fake_server server;
    struct cor_shared_informer *inf;
    struct cor_registration *regs[HEARERS];
    struct hearer hearers[HEARERS];
    char requests[TRACE_MAX];
};

static void note(struct hearer *h, struct cor_object *old, struct cor_object *object)
{
    h->old = old;
    h->object = object;
    snprintf(h->rv, sizeof(h->rv), "%.*s", COR_STR_ARG(cor_object_resource_version(object)));
    h->ncalls++;
}

static void on_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    note(arg, NULL, o);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    note(arg, old, o);
}

static void on_delete(void *arg, struct cor_str key, struct cor_object *o, bool unknown)
{
    note(arg, NULL, o);
}

static void wake_nobody(void *arg)
{
}

/* Handlers run when the test drains them. */
static void begin(struct fake *f, const char *objects)
{
    struct cor_cache_controller_opts opts = {.reflector = {.resync_ms = 1000}};

    *f = (struct fake){0};
    fake_server_init(&f->server, f->requests);
    opts.driver = &f->server.driver;
    opts.clock = &f->server.clk.clock;
    assert_int_equal(cor_shared_informer_new(&opts, &f->inf), 0);
    f->server.to = cor_shared_informer_reflector(f->inf);
    for (int i = 0; i < HEARERS; i++) {
        struct cor_registration_opts reg = cor_registration_defaults();

        reg.handler = (struct cor_handler_fns){on_add, on_update, on_delete, NULL, &f->hearers[i]};
        reg.on_ready = wake_nobody;
        assert_int_equal(cor_shared_informer_add_handler(f->inf, &reg, &f->regs[i]), 0);
    }
    cor_shared_informer_start(f->inf);
    fake_server_list(&f->server, objects, "10");
    fake_server_opened(&f->server);
}

static void step(struct fake *f)
{
    while (cor_shared_informer_step(f->inf, 8))
        ;
}

static struct cor_object *peek(struct fake *f, const char *key)
{
    struct cor_object *o = NULL;

    assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(f->inf), cor_strz(key), &o), 0);
    cor_object_unref(o);
    return o;
}

static void end(struct fake *f)
{
    cor_shared_informer_stop(f->inf);
    cor_shared_informer_free(f->inf);
}

/* Contract client 1.22.4, 1.27.6. */
TEST(shared_objects, the_cache_and_all_handlers_have_the_same_object)
{
    struct fake f;

    begin(&f, "a1");
    step(&f);
    for (int i = 0; i < HEARERS; i++) {
        assert_int_equal(drain_registration(f.regs[i], 10), 1);
        assert_ptr_equal(f.hearers[i].object, peek(&f, "a"));
    }
    end(&f);
}

static void come_and_go(struct fake *f)
{
    fake_server_event(&f->server, COR_WATCH_ADDED, "a", 11);
    fake_server_event(&f->server, COR_WATCH_DELETED, "a", 12);
    step(f);
    assert_int_equal(cor_indexer_len(cor_shared_informer_indexer(f->inf)), 0);
}

/* Contract client 1.27.6: the last who lets go frees it. */
TEST(shared_objects, what_the_cache_has_lost_lives_until_it_was_told_of)
{
    struct fake f;
    size_t live;

    begin(&f, "");
    come_and_go(&f); /* what grows has grown */
    for (int i = 0; i < HEARERS; i++)
        assert_int_equal(drain_registration(f.regs[i], 10), 2);
    live = test_live_allocs();
    come_and_go(&f);
    for (int i = 0; i < HEARERS; i++) {
        assert_true(test_live_allocs() > live);
        assert_int_equal(drain_registration(f.regs[i], 1), 1);
        assert_string_equal(f.hearers[i].rv, "11");
        assert_int_equal(drain_registration(f.regs[i], 1), 1);
        assert_string_equal(f.hearers[i].rv, "12");
    }
    assert_int_equal(test_live_allocs(), live);
    end(&f);
}

/* Contract client 1.27.7. */
TEST(shared_objects, a_resync_tells_of_one_object_as_old_and_new)
{
    struct fake f;

    begin(&f, "a1");
    step(&f);
    drain_registration(f.regs[0], 10);
    fake_server_pass(&f.server, 1000);
    step(&f);
    assert_int_equal(drain_registration(f.regs[0], 10), 1);
    assert_non_null(f.hearers[0].old);
    assert_ptr_equal(f.hearers[0].old, f.hearers[0].object);
    assert_ptr_equal(f.hearers[0].object, peek(&f, "a"));
    end(&f);
}

/* Contract client 1.27.12: nothing expires. */
TEST(shared_objects, the_cache_is_as_it_was_while_the_server_is_away)
{
    struct cor_object *before;
    struct fake f;

    begin(&f, "a1 b2");
    step(&f);
    before = peek(&f, "a");
    fake_server_ended(&f.server, -COR_EUNREACHABLE);
    for (int i = 0; i < 100; i++) {
        if (cor_reflector_state(f.server.to) == COR_REFLECTOR_LISTING)
            fake_server_list_fails(&f.server, -COR_EUNREACHABLE);
        else
            fake_server_wake(&f.server);
        step(&f);
    }
    assert_non_null(strstr(f.requests, "L(10,0) L(10,0) L(10,0)"));
    fake_server_pass(&f.server, 7ull * 24 * 3600 * 1000);
    step(&f);
    assert_int_equal(cor_indexer_len(cor_shared_informer_indexer(f.inf)), 2);
    assert_ptr_equal(peek(&f, "a"), before);
    end(&f);
}
