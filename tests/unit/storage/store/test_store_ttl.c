/* The store's leases on an engine whose wall clock jumps; what needs no jump is in the conformance
 * suite. */
#include <stdio.h>

#include "engine_fixture.h"
#include "storage/store/store.h"

struct bed {
    struct fx fx;
    struct cor_store *store;
    struct cor_object *pod;
    bool done;
    int err;
};

static void bed_open(struct bed *b)
{
    struct cor_store_opts opts = {.resource_prefix = "/pods"};

    fx_open(&b->fx, ":memory:");
    opts.engine = b->fx.engine;
    opts.loop = b->fx.loop;
    opts.clock = &b->fx.clock.clock;
    assert_int_equal(cor_store_new(&opts, &b->store, NULL), 0);
    assert_int_equal(cor_object_parse(COR_STR("{\"metadata\":{\"name\":\"a\"}}"), NULL, NULL, NULL,
                                      &b->pod, NULL),
                     0);
}

static void bed_close(struct bed *b)
{
    cor_object_unref(b->pod);
    b->store = cor_store_free(b->store);
    fx_close(&b->fx);
}

static void on_reply(void *arg, const struct cor_store_reply *reply)
{
    struct bed *b = arg;

    b->err = reply->err;
    b->done = true;
}

static bool is_done(void *arg)
{
    return ((struct bed *)arg)->done;
}

static int wait_reply(struct bed *b)
{
    assert_true(cor_loop_run_until(b->fx.loop, is_done, b, FX_TIMEOUT_MS));
    return b->err;
}

static int create(struct bed *b, const char *key, int64_t ttl_s)
{
    b->done = false;
    assert_int_equal(cor_store_create(b->store, cor_strz(key), b->pod, ttl_s, on_reply, b, NULL),
                     0);
    return wait_reply(b);
}

static void write_for_an_hour(void *arg, struct cor_store_change *change,
                              struct cor_object *current)
{
    struct bed *b = arg;

    cor_store_change_write(change, cor_object_ref(b->pod), 3600);
}

static int put(struct bed *b, const char *key)
{
    struct cor_store_update_opts opts = {
        .ignore_not_found = true, .step = write_for_an_hour, .on_done = on_reply, .arg = b};

    b->done = false;
    assert_int_equal(cor_store_update(b->store, cor_strz(key), &opts, NULL), 0);
    return wait_reply(b);
}

/* By the monotonic clock the lease in use is still good for the next object. */
static void jump(struct bed *b, int64_t s)
{
    cor_clock_manual_advance(&b->fx.clock, 1000);
    atomic_fetch_add(&b->fx.clock.wall_us, s * 1000000);
}

TEST(store_ttl, a_lease_that_ended_by_a_jump_of_the_wall_clock_is_replaced)
{
    struct bed b;

    bed_open(&b);
    assert_int_equal(create(&b, "/pods/a", 3600), 0);
    jump(&b, 7200);
    assert_int_equal(create(&b, "/pods/b", 3600), 0);
    assert_string_equal(fx_list(&b.fx, "/registry/pods/", "/registry/pods0", 0),
                        "/registry/pods/b={\"metadata\":{\"name\":\"a\"}}@4");
    jump(&b, 7200);
    assert_int_equal(put(&b, "/pods/c"), 0);
    assert_string_equal(fx_list(&b.fx, "/registry/pods/", "/registry/pods0", 0),
                        "/registry/pods/c={\"metadata\":{\"name\":\"a\"}}@6");
    bed_close(&b);
}

static const char *all(struct bed *b)
{
    return fx_list(&b->fx, "/registry/pods/", "/registry/pods0", 0);
}

/* The time that an update gives is the object's own, whatever it had before. */
TEST(store_ttl, what_an_update_wrote_ends_after_the_time_that_it_gave)
{
    struct bed b;

    bed_open(&b);
    assert_int_equal(create(&b, "/pods/a", 0), 0);
    assert_int_equal(put(&b, "/pods/a"), 0);
    assert_int_equal(put(&b, "/pods/c"), 0);
    jump(&b, 7200);
    /* Writes let the engine look at its leases; the first object is as it was, because an update
     * that changes nothing gives no time either. */
    for (int i = 0; i < 1000 && strstr(all(&b), "/pods/c="); i++) {
        char key[32];

        snprintf(key, sizeof(key), "/pods/d%d", i);
        assert_int_equal(create(&b, key, 0), 0);
    }
    assert_null(strstr(all(&b), "/pods/c="));
    assert_non_null(strstr(all(&b), "/pods/a="));
    bed_close(&b);
}

static void on_last_reply(void *arg, const struct cor_store_reply *reply)
{
    struct bed *b = arg;

    b->store = cor_store_free(b->store);
    on_reply(arg, reply);
}

TEST(store_ttl, a_refused_lease_may_end_the_store)
{
    const int64_t too_long_s = INT64_C(9000000001);
    struct bed b = {0};

    bed_open(&b);
    assert_int_equal(
        cor_store_create(b.store, COR_STR("/pods/a"), b.pod, too_long_s, on_last_reply, &b, NULL),
        0);
    assert_int_equal(wait_reply(&b), -COR_EINVAL);
    bed_close(&b);
}
