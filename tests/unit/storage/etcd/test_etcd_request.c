/* Requests to the engine, as etcd is asked for them. */
#include "base/err.h"
#include "base/mem.h"
#include "etcd_feed_fixture.h"
#include "loop/loop.h"
#include "storage/etcd/etcd_engine_int.h"

struct asked {
    struct cor_range_req range;
    bool is_done;
};

static void on_done(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct asked, range.req)->is_done = true;
}

static void ask(struct asked *asked, uint64_t limit)
{
    *asked = (struct asked){0};
    cor_range_req_init(&asked->range, session.loop, on_done);
    asked->range.key = COR_STR("/a/");
    asked->range.end = COR_STR("/a0");
    asked->range.limit = limit;
    cor_etcd_request(&engine, &asked->range.req);
    turn();
}

/* The limit that etcd was told with the one question that is open. */
static int64_t asked_limit(void)
{
    struct etcd_stream *stream = stream_at(0);
    Etcd__RangeRequest *m;
    int64_t limit;

    assert_non_null(stream);
    assert_null(stream_at(1));
    m = etcd__range_request__unpack(NULL, stream->request_len, (const uint8_t *)stream->request);
    assert_non_null(m);
    limit = m->limit;
    etcd__range_request__free_unpacked(m, NULL);
    return limit;
}

static void say_too_large(void)
{
    fake_stream_fail(stream_at(0), COR_GRPC_RESOURCE_EXHAUSTED,
                     "a message of 99 bytes is too large", false);
    turn();
}

/* An answer that does not fit is asked for again in smaller pieces, down to single keys. */
TEST(cor_etcd_request, a_page_that_is_too_large_is_asked_for_in_quarters)
{
    static const int64_t limits[] = {100, 25, 6, 1};
    struct asked asked;

    open_engine(true);
    engine.page_keys = 100;
    ask(&asked, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(asked_limit(), limits[i]);
        assert_false(asked.is_done);
        say_too_large();
    }
    assert_true(asked.is_done);
    assert_int_equal(asked.range.req.result, -COR_ETOOBIG);
    /* The next page begins with what fitted last. */
    assert_int_equal(engine.page_keys, 1);
    cor_range_req_deinit(&asked.range);
    close_engine();
}

TEST(cor_etcd_request, a_page_that_fits_after_all_is_the_answer)
{
    struct asked asked;

    open_engine(true);
    ask(&asked, 10);
    assert_int_equal(asked_limit(), 10);
    say_too_large();
    assert_int_equal(asked_limit(), 2);
    say_revision(stream_at(0), 7);
    turn();
    assert_true(asked.is_done);
    assert_int_equal(asked.range.req.result, 0);
    assert_int_equal(asked.range.ret_rev, 7);
    cor_range_req_deinit(&asked.range);
    close_engine();
}

/* The next page, of which there are more behind it, that has two values of this size. */
static void answer_page(size_t value_bytes)
{
    Etcd__ResponseHeader header = ETCD__RESPONSE_HEADER__INIT;
    Etcd__RangeResponse m = ETCD__RANGE_RESPONSE__INIT;
    Etcd__KeyValue kvs[2] = {ETCD__KEY_VALUE__INIT, ETCD__KEY_VALUE__INIT};
    Etcd__KeyValue *all[2] = {&kvs[0], &kvs[1]};
    uint8_t *value = cor_calloc(1, value_bytes), *bytes = cor_calloc(1, 2 * value_bytes + 256);
    struct asked asked;

    for (size_t i = 0; i < 2; i++) {
        kvs[i].key.data = (uint8_t *)(i == 0 ? "/a/1" : "/a/2");
        kvs[i].key.len = 4;
        kvs[i].value.data = value;
        kvs[i].value.len = value_bytes;
        kvs[i].create_revision = kvs[i].mod_revision = 5;
    }
    header.revision = 7;
    m.header = &header;
    m.n_kvs = 2;
    m.kvs = all;
    m.more = true;
    m.count = 9;
    ask(&asked, 0);
    fake_stream_reply(stream_at(0), cor_str((char *)bytes, etcd__range_response__pack(&m, bytes)));
    turn();
    assert_true(asked.is_done);
    assert_int_equal(asked.range.req.result, 0);
    assert_int_equal(asked.range.ret_nkvs, 2);
    assert_true(asked.range.ret_more);
    cor_range_req_deinit(&asked.range);
    cor_free(value);
    cor_free(bytes);
}

/* Small values make pages of more keys, large values pages of fewer. */
TEST(cor_etcd_request, the_next_page_is_chosen_by_what_the_last_one_weighed)
{
    open_engine(true);
    engine.page_keys = 100;
    answer_page(10);
    assert_int_equal(engine.page_keys, 200);
    answer_page(3u << 20);
    assert_int_equal(engine.page_keys, 200);
    answer_page(9u << 20);
    assert_int_equal(engine.page_keys, 100);
    engine.page_keys = 1;
    answer_page(9u << 20);
    assert_int_equal(engine.page_keys, 1);
    engine.page_keys = 6000;
    answer_page(10);
    assert_int_equal(engine.page_keys, 10000);
    close_engine();
}
