/* How much of a list is decoded in one turn of the loop, counted in turns. */
#include "storage/store/store_list.h"

#include "base/mem.h"
#include "loop/loop.h"
#include "storage/engine/engine_int.h"
#include "storage/store/value_codec.h"
#include "test.h"

#define VALUES      4
#define VALUE_BYTES (200u << 10)

struct bed {
    struct cor_engine engine;
    struct cor_loop *loop;
    struct cor_store *store;
    struct cor_mail tick; /* comes once in each turn */
    size_t turns, nitems;
    bool is_done;
};

static void range(struct cor_engine *engine, struct cor_range_req *req)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 2 * VALUE_BYTES};

    assert_int_equal(cor_buf_addz(&json, "{\"kind\":\"Kettle\",\"apiVersion\":\"a.io/v1\","
                                         "\"metadata\":{},\"spec\":\""),
                     0);
    while (json.n < VALUE_BYTES)
        assert_int_equal(cor_buf_addc(&json, 'x'), 0);
    assert_int_equal(cor_buf_addz(&json, "\"}"), 0);
    req->ret_rev = 5;
    req->ret_kvs = cor_calloc(VALUES, sizeof(struct cor_kv *));
    req->ret_nkvs = VALUES;
    for (size_t i = 0; i < VALUES; i++)
        req->ret_kvs[i] =
            cor_kv_new(COR_STR("/registry/kettles/a"), cor_buf_str(&json), 2, 3 + i / 2, 0);
    cor_engine_req_done(&req->req, 0);
}

static const struct cor_engine_ops engine_ops = {.range = range};

static void on_tick(struct cor_mail *mail)
{
    struct bed *b = COR_CONTAINER_OF(mail, struct bed, tick);

    b->turns++;
    if (!b->is_done)
        cor_loop_post_always(b->loop, &b->tick);
}

static void on_list(void *arg, struct cor_store_list_reply *reply)
{
    struct bed *b = arg;

    assert_int_equal(reply->err, 0);
    b->nitems = reply->nitems;
    b->is_done = true;
}

static bool is_done(void *arg)
{
    return ((struct bed *)arg)->is_done;
}

static bool is_never(void *arg)
{
    return false;
}

static bool is_slow(const struct cor_value_codec *codec, struct cor_str stored, cor_rev written)
{
    return true;
}

/* Returns in how many turns the list was made. */
static size_t list(bool slowly)
{
    struct cor_value_codec_ops slow_ops = *cor_json_codec()->ops;
    struct cor_value_codec slow = {&slow_ops};
    struct bed b = {.engine.ops = &engine_ops, .tick.on_mail = on_tick};
    struct cor_store_opts opts = {.resource_prefix = "/kettles",
                                  .api_version = COR_STR("a.io/v1"),
                                  .kind = COR_STR("Kettle"),
                                  .take_codec = slowly ? &slow : NULL};
    const struct cor_store_list_opts list_opts = {.options.recursive = true};

    slow_ops.is_slow = is_slow;
    assert_int_equal(cor_loop_new(64, &b.loop), 0);
    opts.engine = &b.engine;
    opts.loop = b.loop;
    assert_int_equal(cor_store_new(&opts, &b.store, NULL), 0);
    cor_loop_post_always(b.loop, &b.tick);
    assert_int_equal(cor_store_list(b.store, COR_STR("/kettles"), &list_opts, on_list, &b, NULL),
                     0);
    assert_true(cor_loop_run_until(b.loop, is_done, &b, 60000));
    assert_int_equal(b.nitems, VALUES);
    /* The last tick is on its way. */
    assert_false(cor_loop_run_until(b.loop, is_never, &b, 1));
    cor_store_free(b.store);
    cor_loop_free(b.loop);
    return b.turns;
}

/* What the schema of a custom resource makes of a value takes several times as long as to decode
 * it.
 */
TEST(store_list, a_large_value_that_is_slow_to_decode_has_a_turn_for_itself)
{
    size_t plain = list(false), slow = list(true);

    if (slow < plain + VALUES - 1)
        fail_msg("%zu turns for slow values, %zu for others", slow, plain);
}
