#include "kit/dynamic/retry_on_conflict.h"

#include "rest_fixture.h"

#define POD(rv)                                                                                    \
    {                                                                                              \
        .body = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","            \
                "\"resourceVersion\":\"" rv "\"}}"                                                 \
    }
#define CONFLICT                                                                                   \
    {                                                                                              \
        .status = 409, .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"            \
                               "\"Failure\",\"reason\":\"Conflict\",\"message\":\"modified\","     \
                               "\"code\":409}"                                                     \
    }

struct outcome {
    struct cor_conflict_retry *retry;
    bool is_done;
    int err, changes;
    int refuse; /* what change returns */
    bool keep;  /* change changes nothing */
    char rv[16];
};

static int change(void *arg, struct cor_object *current, struct cor_object **ret_object,
                  struct cor_status *reterr)
{
    struct outcome *o = arg;

    o->changes++;
    if (o->refuse < 0)
        return o->refuse;
    if (o->keep) {
        *ret_object = cor_object_ref(current);
        return 0;
    }
    return cor_object_at(current, current->rev, ret_object);
}

static void on_done(void *arg, struct cor_object *object, const struct cor_status *error)
{
    struct outcome *o = arg;

    assert_false(o->is_done);
    o->is_done = true;
    o->err = error ? error->err : 0;
    if (object)
        snprintf(o->rv, sizeof(o->rv), "%.*s", COR_STR_ARG(cor_object_resource_version(object)));
}

static struct cor_conflict_retry_opts opts_of(struct world *w, struct outcome *o,
                                              struct cor_rand *rand)
{
    cor_rand_init_seeded(rand, 1);
    return (struct cor_conflict_retry_opts){
        .client = w->rc,
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")},
               .ns = COR_STR("x"),
               .name = COR_STR("a"),
               .subresource = COR_STR("status")},
        .backoff = COR_RETRY_DEFAULT,
        .rand = rand,
        .change = change,
        .on_done = on_done,
        .arg = o,
    };
}

static void run(const struct answer *script, size_t n, struct outcome *o, const char *asked)
{
    struct cor_conflict_retry_opts opts;
    struct cor_rand rand;
    struct world w;

    world_begin(&w, NULL);
    world_connect_freely(&w);
    world_script(&w, script, n);
    opts = opts_of(&w, o, &rand);
    assert_int_equal(cor_conflict_retry_open(&opts, &o->retry, NULL), 0);
    assert_false(o->is_done);
    world_until(&w, is_flag, &o->is_done);
    assert_str(cor_buf_str(&w.asked), asked);
    world_end(&w);
}

#define GET "GET /api/v1/namespaces/x/pods/a\n"
#define PUT "PUT /api/v1/namespaces/x/pods/a/status\n"

/* Contract client 4.13.1: read and changed anew. */
TEST(retry_on_conflict, reads_again_after_a_conflict)
{
    static const struct answer script[] = {POD("5"), CONFLICT, POD("6"), POD("7")};
    struct outcome o = {0};

    run(script, COR_ARRAY_LEN(script), &o, GET PUT GET PUT);
    assert_int_equal(o.err, 0);
    assert_int_equal(o.changes, 2);
    assert_string_equal(o.rv, "7");
}

/* Contract client 4.13.2: five tries of the default, and the last conflict is told. */
TEST(retry_on_conflict, gives_up_after_its_steps)
{
    static const struct answer script[] = {POD("5"), CONFLICT, POD("5"), CONFLICT, POD("5"),
                                           CONFLICT, POD("5"), CONFLICT, POD("5"), CONFLICT};
    struct outcome o = {0};

    run(script, COR_ARRAY_LEN(script), &o, GET PUT GET PUT GET PUT GET PUT GET PUT);
    assert_int_equal(o.err, -COR_ECONFLICT);
    assert_int_equal(o.changes, 5);
}

/* Contract client 4.13.2. */
TEST(retry_on_conflict, has_client_gos_two_backoffs)
{
    assert_int_equal(COR_RETRY_DEFAULT.steps, 5);
    assert_int_equal(COR_RETRY_DEFAULT.initial_ms, 10);
    assert_true(COR_RETRY_DEFAULT.factor == 1.0 && COR_RETRY_DEFAULT.jitter == 0.1);
    assert_int_equal(COR_RETRY_BACKOFF.steps, 4);
    assert_int_equal(COR_RETRY_BACKOFF.initial_ms, 10);
    assert_true(COR_RETRY_BACKOFF.factor == 5.0 && COR_RETRY_BACKOFF.jitter == 0.1);
}

/* Contract client 4.13.1. */
TEST(retry_on_conflict, other_failures_end_it_at_once)
{
    static const struct answer missing[] = {
        {.status = 404, .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404}"}};
    static const struct answer refused[] = {
        POD("5"),
        {.status = 403, .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403}"}};
    static const struct answer exists[] = {
        POD("5"),
        {.status = 409,
         .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"AlreadyExists\"}"}};
    struct outcome o = {0};

    run(missing, 1, &o, GET);
    assert_int_equal(o.err, -COR_ENOTFOUND);
    o = (struct outcome){0};
    run(refused, 2, &o, GET PUT);
    assert_int_equal(o.err, -COR_EFORBIDDEN);
    o = (struct outcome){0};
    run(exists, 2, &o, GET PUT);
    assert_int_equal(o.err, -COR_EEXIST);
    o = (struct outcome){.refuse = -COR_EINVALID};
    run(refused, 2, &o, GET);
    assert_int_equal(o.err, -COR_EINVALID);
}

TEST(retry_on_conflict, nothing_to_change_writes_nothing)
{
    static const struct answer script[] = {POD("5")};
    struct outcome o = {.keep = true};

    run(script, 1, &o, GET);
    assert_int_equal(o.err, 0);
    assert_string_equal(o.rv, "5");
}

static bool has_changed(void *arg)
{
    return ((struct outcome *)arg)->changes > 0;
}

TEST(retry_on_conflict, is_cancelled)
{
    static const struct answer script[] = {POD("5"), CONFLICT};
    struct cor_conflict_retry_opts opts;
    struct outcome o = {0};
    struct cor_rand rand;
    struct world w;

    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    opts = opts_of(&w, &o, &rand);
    assert_int_equal(cor_conflict_retry_open(&opts, &o.retry, NULL), 0);
    world_until(&w, has_changed, &o);
    cor_conflict_retry_cancel(o.retry);
    assert_false(o.is_done);
    world_end(&w);
}

TEST(retry_on_conflict, survives_failed_allocations)
{
    static const struct answer script[] = {POD("5"), CONFLICT, POD("6"), POD("7")};
    struct cor_conflict_retry_opts opts;
    struct cor_rand rand;
    struct world w;

    world_begin(&w, NULL);
    world_connect_freely(&w);
    FOR_EACH_FAILED_ALLOC(n) {
        struct outcome o = {0};
        int r;

        world_arm(&w, n);
        WORLD_SCRIPT(&w, script);
        opts = opts_of(&w, &o, &rand);
        r = cor_conflict_retry_open(&opts, &o.retry, NULL);
        if (r == 0)
            world_until(&w, is_flag, &o.is_done);
        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
        assert_true((r == 0 && o.err == 0) || test_alloc_failed());
        if (r == 0 && o.err == 0) {
            assert_int_equal(o.changes, 2);
            assert_string_equal(o.rv, "7");
        }
    }
    world_end(&w);
}
