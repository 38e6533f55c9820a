#include "base/limits.h"
#include "test.h"

#include "../h2_fixture.h"
#include "net/session/h2_int.h"

struct duo {
    struct h2_end client, server;
};

static void duo_init_with(struct duo *d, const struct cor_h2_limits *limits)
{
    assert_int_equal(h2_end_init(&d->client, COR_H2_CLIENT, &h2_limits), 0);
    assert_int_equal(h2_end_init(&d->server, COR_H2_SERVER, limits), 0);
    cor_buf_reserve(&d->client.log, H2_LOG_MAX);
    cor_buf_reserve(&d->server.log, H2_LOG_MAX);
}

static void duo_init(struct duo *d)
{
    duo_init_with(d, &h2_limits);
}

static void duo_deinit(struct duo *d)
{
    h2_end_deinit(&d->client);
    h2_end_deinit(&d->server);
}

static int duo_pump(struct duo *d)
{
    return h2_pump(&d->client, &d->server);
}

/* nghttp2 has several blocks of its own in each of the two sessions, which are one block each. */
TEST(h2, what_nghttp2_holds_comes_from_the_allocator)
{
    size_t before = test_live_allocs();
    struct duo d;

    duo_init(&d);
    assert_true(test_live_allocs() > before + 6);
    duo_deinit(&d);
    assert_int_equal(test_live_allocs(), before);
}

TEST(h2, a_request_gets_its_response)
{
    struct duo d;

    duo_init(&d);
    assert_int_equal(h2_request(&d.client, "/x?y", 0, NULL), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_string_equal(cor_buf_z(&d.server.log), "req 1 GET host /x?y len=0|end 1 0|");
    assert_string_equal(cor_buf_z(&d.client.log),
                        "head 1 200 last|content-type=a/b|end 1 0|closed 1 0|");
    assert_int_equal(cor_h2_nstreams(d.client.h), 0);
    assert_int_equal(cor_h2_nstreams(d.server.h), 0);
    duo_deinit(&d);
}

TEST(h2, bodies_of_any_size_cross_in_both_directions)
{
    static const size_t sizes[] = {1, 16384, 16385, 65535, 65536, 300000, 3000000};

    for (size_t i = 0; i < COR_ARRAY_LEN(sizes); i++) {
        struct h2_stream *t;
        struct duo d;

        duo_init(&d);
        d.server.answer_bytes = sizes[i];
        assert_int_equal(h2_request(&d.client, "/", sizes[i], &t), 0);
        assert_int_equal(duo_pump(&d), 0);
        assert_int_equal(d.server.streams[0].body.n, sizes[i]);
        assert_int_equal(t->body.n, sizes[i]);
        assert_null(t->s);
        assert_int_equal(cor_h2_nstreams(d.client.h) + cor_h2_nstreams(d.server.h), 0);
        duo_deinit(&d);
    }
}

TEST(h2, however_the_bytes_are_cut_the_sessions_say_the_same)
{
    for (size_t cut = 1; cut < 40; cut += 1 + cut / 5) {
        struct duo d;

        duo_init(&d);
        d.server.answer_bytes = 100;
        d.server.has_trailers = true;
        assert_int_equal(h2_request(&d.client, "/x", 0, NULL), 0);
        assert_int_equal(h2_pump_cut(&d.client, &d.server, cut), 0);
        assert_string_equal(
            cor_buf_z(&d.client.log),
            "head 1 200|content-type=a/b|trailers 1|grpc-status=0|grpc-message=a  b|end 1 100|closed 1 0|");
        duo_deinit(&d);
    }
}

TEST(h2, a_response_may_be_written_from_inside_on_request)
{
    struct h2_stream *t;
    struct duo d;

    duo_init(&d);
    d.server.answers_in_place = true;
    d.server.answer_bytes = 200000;
    assert_int_equal(h2_request(&d.client, "/x", 0, &t), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(t->body.n, 200000);
    assert_null(t->s);
    duo_deinit(&d);
}

TEST(h2, the_room_for_a_large_head_goes_with_the_last_stream)
{
    char path[5000];
    struct duo d;

    memset(path, 'p', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    duo_init(&d);
    assert_int_equal(h2_request(&d.client, "/x", 0, NULL), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_non_null(d.server.h->block.bytes.p);
    assert_uint_in_range(d.server.h->block.bytes.cap, 1, 1024);
    assert_int_equal(h2_request(&d.client, path, 0, NULL), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_null(d.server.h->block.bytes.p);
    assert_null(d.server.h->block.headers);
    duo_deinit(&d);
}

TEST(h2, a_reader_that_holds_back_stops_the_writer_at_its_window)
{
    struct h2_stream *t, *other;
    struct duo d;

    duo_init(&d);
    d.server.answer_bytes = 3000000;
    assert_int_equal(h2_request(&d.client, "/x", 0, &t), 0);
    t->holds_back = true;
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(t->body.n, COR_H2_WINDOW);
    assert_int_equal(d.server.streams[0].written, COR_H2_WINDOW);
    assert_int_equal(h2_request(&d.client, "/y", 0, &other), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(other->body.n, 3000000);
    t->holds_back = false;
    cor_h2_consume(t->s, COR_H2_WINDOW);
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(t->body.n, 3000000);
    duo_deinit(&d);
}

TEST(h2, output_that_is_full_stops_the_writer_and_a_turn_goes_on)
{
    struct h2_stream *t;
    struct duo d;

    duo_init(&d);
    d.server.answer_bytes = 100000;
    d.server.out_max = 4000;
    assert_int_equal(h2_request(&d.client, "/x", 0, &t), 0);
    assert_int_equal(cor_h2_turn(d.client.h, 0), 0);
    assert_int_equal(h2_move(&d.client, &d.server, SIZE_MAX, 0), 0);
    assert_true(d.server.out.n <= 4000 + 100);
    assert_true(d.server.wants_turn);
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(t->body.n, 100000);
    duo_deinit(&d);
}

TEST(h2, streams_that_wait_for_the_output_share_it)
{
    struct h2_stream *t[3];
    struct duo d;

    duo_init(&d);
    d.server.answer_bytes = 2000000;
    d.server.out_max = 100000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(h2_request(&d.client, "/x", 0, &t[i]), 0);
    assert_int_equal(cor_h2_turn(d.client.h, 0), 0);
    assert_int_equal(h2_move(&d.client, &d.server, SIZE_MAX, 0), 0);
    while (t[0]->body.n < 1000000) {
        assert_int_equal(h2_move(&d.server, &d.client, SIZE_MAX, 0), 0);
        assert_int_equal(h2_move(&d.client, &d.server, SIZE_MAX, 0), 0);
        assert_int_equal(cor_h2_turn(d.server.h, 0), 0);
    }
    assert_true(t[1]->body.n > 700000 && t[2]->body.n > 700000);
    assert_int_equal(duo_pump(&d), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t[i]->body.n, 2000000);
    duo_deinit(&d);
}

TEST(h2, a_reset_reaches_the_other_side_with_its_code)
{
    struct h2_stream *t;
    struct duo d;

    duo_init(&d);
    d.server.answer_bytes = 3000000;
    assert_int_equal(h2_request(&d.client, "/x", 0, &t), 0);
    t->holds_back = true;
    assert_int_equal(duo_pump(&d), 0);
    cor_h2_reset(t->s, COR_H2_CANCEL);
    t->s = NULL;
    assert_int_equal(duo_pump(&d), 0);
    assert_non_null(strstr(cor_buf_z(&d.server.log), "closed 1 8|"));
    assert_null(strstr(cor_buf_z(&d.client.log), "closed"));
    assert_int_equal(cor_h2_nstreams(d.client.h) + cor_h2_nstreams(d.server.h), 0);
    duo_deinit(&d);
}

TEST(h2, a_refused_request_is_told_as_refused)
{
    struct duo d;

    duo_init(&d);
    d.server.request_r = -COR_EBUSY;
    assert_int_equal(h2_request(&d.client, "/x", 0, NULL), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_string_equal(cor_buf_z(&d.client.log), "closed 1 7|");
    duo_deinit(&d);
}

TEST(h2, an_answer_before_the_end_of_the_request_refuses_the_rest)
{
    struct h2_stream *t;
    struct duo d;

    duo_init(&d);
    d.server.answers_in_place = true;
    assert_int_equal(h2_request(&d.client, "/x", 3000000, &t), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_null(t->s);
    assert_non_null(strstr(cor_buf_z(&d.client.log), "head 1 200 last|"));
    assert_non_null(strstr(cor_buf_z(&d.client.log), "closed 1 0|"));
    assert_int_equal(cor_h2_nstreams(d.server.h), 0);
    duo_deinit(&d);
}

TEST(h2, requests_beyond_the_peers_limit_wait_for_their_turn)
{
    static const struct cor_h2_limits two = {
        .streams_max = 2, .window = 65536, .head_max = 4096, .headers_max = 20};
    struct duo d;

    duo_init_with(&d, &two);
    assert_int_equal(duo_pump(&d), 0);
    d.server.answer_bytes = 500;
    for (int i = 0; i < 10; i++)
        assert_int_equal(h2_request(&d.client, "/x", 300, NULL), 0);
    assert_int_equal(duo_pump(&d), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(d.client.streams[i].body.n, 500);
    assert_int_equal(cor_h2_nstreams(d.client.h), 0);
    duo_deinit(&d);
}

TEST(h2, a_client_opens_no_more_than_its_own_limit)
{
    struct duo d;

    duo_init(&d);
    for (unsigned i = 0; i < h2_limits.streams_max; i++)
        assert_int_equal(h2_request(&d.client, "/x", 0, NULL), 0);
    assert_int_equal(h2_request(&d.client, "/x", 0, NULL), -COR_EBUSY);
    cor_h2_drop_all(d.client.h, COR_H2_CANCEL);
    duo_deinit(&d);
}

TEST(h2, a_ping_is_answered)
{
    struct duo d;

    duo_init(&d);
    assert_int_equal(cor_h2_ping(d.client.h), 0);
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(d.client.pongs, 1);
    duo_deinit(&d);
}

TEST(h2, a_clients_answer_to_a_ping_waits_for_company_or_a_turn)
{
    struct duo d;

    duo_init(&d);
    assert_int_equal(duo_pump(&d), 0);
    for (int with_request = 0; with_request < 2; with_request++) {
        assert_int_equal(cor_h2_ping(d.server.h), 0);
        assert_int_equal(h2_move(&d.server, &d.client, SIZE_MAX, 0), 0);
        assert_true(cor_h2_owes_pong(d.client.h));
        assert_int_equal(d.client.out.n, 0);
        if (with_request)
            assert_int_equal(h2_request(&d.client, "/x", 0, NULL), 0);
        else
            assert_int_equal(cor_h2_turn(d.client.h, 0), 0);
        assert_false(cor_h2_owes_pong(d.client.h));
        assert_int_equal(h2_move(&d.client, &d.server, SIZE_MAX, 0), 0);
        assert_int_equal(d.server.pongs, 1 + with_request);
    }
    assert_int_equal(duo_pump(&d), 0);
    duo_deinit(&d);
}

TEST(h2, a_shutdown_lets_streams_finish_and_takes_no_more)
{
    struct h2_stream *t;
    struct duo d;

    duo_init(&d);
    d.server.answer_bytes = 600000;
    assert_int_equal(h2_request(&d.client, "/x", 0, &t), 0);
    t->holds_back = true;
    assert_int_equal(duo_pump(&d), 0);
    cor_h2_shutdown(d.server.h);
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(d.client.goaways, 2);
    assert_int_equal(d.server.pongs, 0);
    assert_int_equal(h2_request(&d.client, "/y", 0, NULL), -COR_ECANCELED);
    assert_false(cor_h2_is_done(d.server.h));
    t->holds_back = false;
    cor_h2_consume(t->s, t->body.n);
    assert_int_equal(duo_pump(&d), 0);
    assert_int_equal(t->body.n, 600000);
    assert_true(cor_h2_is_done(d.server.h));
    assert_true(cor_h2_is_done(d.client.h));
    duo_deinit(&d);
}

TEST(h2, when_the_transport_goes_every_held_stream_is_told)
{
    struct duo d;

    duo_init(&d);
    d.server.answer_bytes = 3000000;
    d.server.out_max = 100;
    for (int i = 0; i < 3; i++)
        assert_int_equal(h2_request(&d.client, "/x", 0, NULL), 0);
    assert_int_equal(cor_h2_turn(d.client.h, 0), 0);
    assert_int_equal(h2_move(&d.client, &d.server, SIZE_MAX, 0), 0);
    cor_h2_drop_all(d.client.h, COR_H2_INTERNAL_ERROR);
    cor_h2_drop_all(d.server.h, COR_H2_CANCEL);
    assert_string_equal(cor_buf_z(&d.client.log), "closed 1 2|closed 3 2|closed 5 2|");
    assert_non_null(strstr(cor_buf_z(&d.server.log), "closed 1 8|closed 3 8|closed 5 8|"));
    assert_int_equal(cor_h2_turn(d.client.h, 0), -COR_ECANCELED);
    duo_deinit(&d);
}

TEST(h2, the_end_of_a_response_gives_the_stream_up_even_when_the_client_is_gone)
{
    struct cor_h2_stream *s;
    struct h2_stream *t;
    struct duo d;

    duo_init(&d);
    d.server.answer_bytes = 3000000;
    assert_int_equal(h2_request(&d.client, "/x", 0, &t), 0);
    t->holds_back = true;
    assert_int_equal(duo_pump(&d), 0);
    s = COR_STEAL(d.server.streams[0].s);
    d.server.send_r = -COR_EIO;
    assert_int_equal(cor_h2_ping(d.server.h), 0);
    assert_int_equal(cor_h2_write(s, NULL, 0, 0, true), 0);
    assert_int_equal(cor_h2_turn(d.server.h, 0), -COR_EIO);
    cor_h2_drop_all(d.server.h, COR_H2_LOST);
    assert_null(strstr(cor_buf_z(&d.server.log), "closed"));
    cor_h2_drop_all(d.client.h, COR_H2_LOST);
    duo_deinit(&d);
}

TEST(h2, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct duo d = {0};
        struct h2_stream *t;
        int r = h2_end_init(&d.client, COR_H2_CLIENT, &h2_limits);

        if (r == 0)
            r = h2_end_init(&d.server, COR_H2_SERVER, &h2_limits);
        d.server.answer_bytes = 40000;
        d.server.answers_in_place = n % 2;
        if (r == 0)
            r = h2_request(&d.client, "/x", 40000, &t);
        if (r == 0)
            r = duo_pump(&d);
        /* Without a word of failure the whole body came. */
        if (r == 0 && !strstr(cor_buf_z(&d.client.log), "closed 1 2") &&
            strstr(cor_buf_z(&d.client.log), "closed 1 0"))
            assert_int_equal(t->body.n, 40000);
        if (d.client.h)
            cor_h2_drop_all(d.client.h, COR_H2_CANCEL);
        if (d.server.h)
            cor_h2_drop_all(d.server.h, COR_H2_CANCEL);
        if (!test_alloc_failed())
            assert_int_equal(t->body.n, 40000);
        duo_deinit(&d);
    }
}
