/* Requests to the engine, as etcd is asked for them. */
#include "base/err.h"
#include "etcd_feed_fixture.h"
#include "loop/loop.h"
#include "storage/etcd/engine_int.h"

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
    etcd_request(&engine, &asked->range.req);
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
TEST(etcd_request, a_page_that_is_too_large_is_asked_for_in_quarters)
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

TEST(etcd_request, a_page_that_fits_after_all_is_the_answer)
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
