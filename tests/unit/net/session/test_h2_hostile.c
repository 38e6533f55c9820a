/* Peers that break the protocol or the peace, byte by byte. */
#include "base/limits.h"
#include "test.h"

#include "../h2_fixture.h"

enum frame {
    DATA,
    HEADERS,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    PUSH_PROMISE,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    CONTINUATION
};

#define END_STREAM  1
#define ACK         1
#define END_HEADERS 4

/* GET http://h/ */
#define REQUEST "\x82\x86\x84\x41\x01h"
#define OK_HEAD "\x88"

struct hostile {
    struct h2_end end;
    struct cor_buf in;
};

static void frame(struct hostile *p, enum frame type, int flags, uint32_t id,
                  struct cor_str payload)
{
    char head[9] = {
        (char)(payload.n >> 16), (char)(payload.n >> 8), (char)payload.n, (char)type, (char)flags,
        (char)(id >> 24),        (char)(id >> 16),       (char)(id >> 8), (char)id};

    assert_int_equal(cor_buf_add(&p->in, head, sizeof(head)), 0);
    assert_int_equal(cor_buf_adds(&p->in, payload), 0);
}

static void start_with(struct hostile *p, enum cor_h2_role role, const struct cor_h2_limits *limits)
{
    assert_int_equal(h2_end_init(&p->end, role, limits), 0);
    cor_buf_reserve(&p->end.log, H2_LOG_MAX);
    cor_buf_init(&p->in, 16u << 20);
    if (role == COR_H2_SERVER)
        assert_int_equal(cor_buf_addz(&p->in, COR_H2_PREFACE), 0);
    frame(p, SETTINGS, 0, 0, COR_STR(""));
}

static void start(struct hostile *p, enum cor_h2_role role)
{
    start_with(p, role, &h2_limits);
}

/* Feeds what was framed; what the session answers is thrown away. */
static int feed(struct hostile *p, uint64_t now_ms)
{
    int r = cor_h2_feed(p->end.h, cor_buf_str(&p->in), now_ms);

    cor_buf_reset(&p->in);
    return r;
}

static void end(struct hostile *p)
{
    cor_h2_drop_all(p->end.h, COR_H2_LOST);
    h2_end_deinit(&p->end);
    cor_buf_deinit(&p->in);
}

/* Does the output end in GOAWAY with this code? */
static bool said_goaway(struct hostile *p, uint32_t code)
{
    struct cor_str out = cor_buf_str(&p->end.out);
    bool found = false;

    while (out.n >= 9) {
        const unsigned char *f = (const unsigned char *)out.p;
        size_t n = (size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2];

        if (f[3] == GOAWAY)
            found = ((uint32_t)f[13] << 24 | (uint32_t)f[14] << 16 | (uint32_t)f[15] << 8 |
                     f[16]) == code;
        out = cor_str_from(out, 9 + n);
    }
    return found;
}

static void flood(struct hostile *p, int want)
{
    int r = feed(p, 0);

    if (r != want)
        fail_msg("got %s (%s), %zu streams", cor_err_name(r), cor_h2_error(p->end.h),
                 cor_h2_nstreams(p->end.h));
    if (want < 0) {
        assert_true(
            said_goaway(p, want == -COR_EBUSY ? COR_H2_ENHANCE_YOUR_CALM : COR_H2_PROTOCOL_ERROR));
        assert_true(cor_h2_error(p->end.h)[0]);
        assert_int_equal(cor_h2_feed(p->end.h, COR_STR("more"), 0), want);
    }
    end(p);
}

TEST(h2_hostile, what_does_not_begin_with_the_preface_is_refused)
{
    struct hostile p;

    start(&p, COR_H2_SERVER);
    cor_buf_reset(&p.in);
    cor_buf_addz(&p.in, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(feed(&p, 0), -COR_EINVAL);
    end(&p);
}

static const struct {
    enum frame type;
    int flags;
    uint32_t id;
    struct cor_str payload;
} broken[] = {
    {DATA, 0, 0, COR_STR("x")},
    {DATA, 0, 7, COR_STR("x")},
    {DATA, 8, 1, COR_STR("\xff")},
    {HEADERS, END_HEADERS, 0, COR_STR(REQUEST)},
    {HEADERS, END_HEADERS, 2, COR_STR(REQUEST)},
    {HEADERS, END_HEADERS, 1, COR_STR("\xff\xff\xff\xff\xff\xff")},
    {HEADERS, END_HEADERS, 1, COR_STR("\x80")},
    {HEADERS, END_HEADERS, 1, COR_STR("\x40\x85zz")},
    {HEADERS, END_HEADERS | 8, 1, COR_STR("\x80" REQUEST)},
    {CONTINUATION, END_HEADERS, 1, COR_STR(REQUEST)},
    {SETTINGS, 0, 0, COR_STR("\0")},
    {SETTINGS, 0, 1, COR_STR("")},
    {SETTINGS, ACK, 0, COR_STR("\0\0\0\0\0\0")},
    {SETTINGS, 0, 0, COR_STR("\0\2\0\0\0\2")},
    {SETTINGS, 0, 0, COR_STR("\0\4\x80\0\0\0")},
    {SETTINGS, 0, 0, COR_STR("\0\5\0\0\0\1")},
    {PING, 0, 0, COR_STR("1234567")},
    {PING, 0, 1, COR_STR("12345678")},
    {GOAWAY, 0, 1, COR_STR("\0\0\0\0\0\0\0\0")},
    {GOAWAY, 0, 0, COR_STR("\0\0\0\0")},
    {WINDOW_UPDATE, 0, 0, COR_STR("\0\0\0\0")},
    {WINDOW_UPDATE, 0, 0, COR_STR("\x7f\xff\xff\xff")},
    {WINDOW_UPDATE, 0, 0, COR_STR("\0\0\1")},
    {WINDOW_UPDATE, 0, 9, COR_STR("\0\0\0\1")},
    {RST_STREAM, 0, 0, COR_STR("\0\0\0\0")},
    {RST_STREAM, 0, 9, COR_STR("\0\0\0\0")},
    {RST_STREAM, 0, 1, COR_STR("\0\0\0")},
    {PUSH_PROMISE, END_HEADERS, 1, COR_STR("\0\0\0\2" REQUEST)},
    {PRIORITY, 0, 0, COR_STR("\0\0\0\0\1")},
    {PRIORITY, 0, 1, COR_STR("\0\0\0\0")},
};

TEST(h2_hostile, frames_that_break_the_protocol_end_the_session)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(broken); i++) {
        struct hostile p;
        int r;

        start(&p, COR_H2_SERVER);
        frame(&p, broken[i].type, broken[i].flags, broken[i].id, broken[i].payload);
        r = feed(&p, 0);
        if (r != -COR_EINVAL)
            fail_msg("frame %zu: %s", i, cor_err_name(r));
        end(&p);
    }
}

TEST(h2_hostile, a_frame_longer_than_allowed_ends_the_session)
{
    static const char big[16385];
    struct hostile p;

    start(&p, COR_H2_SERVER);
    frame(&p, DATA, 0, 1, cor_str(big, sizeof(big)));
    assert_int_equal(feed(&p, 0), -COR_EINVAL);
    assert_true(cor_h2_error(p.end.h)[0]);
    end(&p);
}

TEST(h2_hostile, a_request_on_a_closed_stream_ends_the_session_unless_it_may_have_crossed_a_reset)
{
    static const struct {
        uint32_t first, second;
        int request_r, want_r;
        uint32_t code;
    } rows[] = {{1, 1, 0, -COR_EINVAL, 5},
                {5, 3, 0, -COR_EINVAL, COR_H2_PROTOCOL_ERROR},
                {1, 1, -COR_EBUSY, 0, 0}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct hostile p;

        start(&p, COR_H2_SERVER);
        p.end.request_r = rows[i].request_r;
        frame(&p, HEADERS, END_HEADERS | END_STREAM, rows[i].first, COR_STR(REQUEST));
        assert_int_equal(feed(&p, 0), 0);
        frame(&p, HEADERS, END_HEADERS | END_STREAM, rows[i].second, COR_STR(REQUEST));
        assert_int_equal(feed(&p, 0), rows[i].want_r);
        assert_int_equal(said_goaway(&p, rows[i].code), rows[i].want_r < 0);
        end(&p);
    }
}

TEST(h2_hostile, a_body_on_a_closed_stream_is_passed_over)
{
    struct hostile p;

    start(&p, COR_H2_SERVER);
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, COR_STR(REQUEST));
    assert_int_equal(feed(&p, 0), 0);
    frame(&p, DATA, END_STREAM, 1, COR_STR("late"));
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 3, COR_STR(REQUEST));
    assert_int_equal(feed(&p, 0), 0);
    assert_non_null(strstr(cor_buf_z(&p.end.log), "req 3 GET h / len=0|end 3 0|"));
    end(&p);
}

/* The request is at fault, not the connection: what a client gets is a reset or an answer. */
TEST(h2_hostile, malformed_requests_reset_their_stream_and_no_more)
{
    static const struct cor_str blocks[] = {
        COR_STR("\x82\x86\x41\x01h"), /* no :path */
        COR_STR("\x86\x84\x41\x01h"), /* no :method */
        COR_STR(REQUEST "\x82"),      /* two methods */
        COR_STR(REQUEST "\x00\x01"
                        "A\x01"
                        "b"), /* upper case */
        COR_STR(REQUEST "\x00\x0a"
                        "connection\x05"
                        "close"), /* HTTP/1's */
        COR_STR(REQUEST "\x00\x11transfer-encoding\x07"
                        "chunked"),
        COR_STR(REQUEST "\x00\x02te\x04gzip"),
        COR_STR(REQUEST "\x00\x01"
                        "a\x03"
                        "x\ny"), /* a line end in a value */
        COR_STR(REQUEST "\x00\x0e"
                        "content-length\x01"
                        "5"),                  /* but no body */
        COR_STR(REQUEST "\x00\x01x\x01y\x82"), /* a late pseudo header */
        COR_STR(REQUEST "\x00\x03:xy\x01z"),   /* an unknown one */
        COR_STR("\x82\x86\x84\x00\x07:status\x03"
                "200"),
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(blocks); i++) {
        struct hostile p;

        start(&p, COR_H2_SERVER);
        frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, blocks[i]);
        frame(&p, HEADERS, END_HEADERS | END_STREAM, 3, COR_STR(REQUEST));
        assert_int_equal(feed(&p, 0), 0);
        if (strstr(cor_buf_z(&p.end.log), "end 1"))
            fail_msg("block %zu was served: %s", i, cor_buf_z(&p.end.log));
        assert_non_null(strstr(cor_buf_z(&p.end.log), "req 3 GET h / len=0|end 3 0|"));
        assert_int_equal(cor_h2_nstreams(p.end.h), 0);
        end(&p);
    }
}

TEST(h2_hostile, a_body_that_differs_from_its_length_resets_the_stream)
{
    struct hostile p;

    start(&p, COR_H2_SERVER);
    frame(&p, HEADERS, END_HEADERS, 1,
          COR_STR(REQUEST "\x00\x0e"
                          "content-length\x01"
                          "3"));
    frame(&p, DATA, END_STREAM, 1, COR_STR("four"));
    assert_int_equal(feed(&p, 0), 0);
    assert_string_equal(cor_buf_z(&p.end.log), "req 1 GET h / len=3|closed 1 1|");
    end(&p);
}

/* What the session answers to `n` requests, each with the frame after it. */
static int repeat(struct hostile *p, int n, uint64_t pace_ms, enum frame type,
                  struct cor_str payload)
{
    int r = 0;

    start(p, COR_H2_SERVER);
    for (int i = 0; i < n && r == 0; i++) {
        frame(p, HEADERS, END_HEADERS, 1 + 2 * (uint32_t)i, COR_STR(REQUEST));
        frame(p, type, 0, 1 + 2 * (uint32_t)i, payload);
        cor_buf_reset(&p->end.out);
        r = feed(p, pace_ms * (uint64_t)i);
    }
    if (r == 0)
        assert_int_equal(cor_h2_nstreams(p->end.h), 0);
    return r;
}

TEST(h2_hostile, rapid_resets_end_the_session)
{
    struct hostile p;

    assert_int_equal(repeat(&p, 900, 0, RST_STREAM, COR_STR("\0\0\0\x8")), 0);
    end(&p);
    assert_int_equal(repeat(&p, 1100, 0, RST_STREAM, COR_STR("\0\0\0\x8")), -COR_EBUSY);
    assert_true(said_goaway(&p, COR_H2_ENHANCE_YOUR_CALM));
    end(&p);
}

/* A window that overflows makes the server reset the stream itself. */
TEST(h2_hostile, errors_that_make_the_server_reset_count_like_resets)
{
    struct hostile p;

    assert_int_equal(repeat(&p, 990, 0, WINDOW_UPDATE, COR_STR("\x7f\xff\xff\xff")), 0);
    end(&p);
    assert_int_equal(repeat(&p, 1100, 0, WINDOW_UPDATE, COR_STR("\x7f\xff\xff\xff")), -COR_EBUSY);
    assert_true(said_goaway(&p, COR_H2_ENHANCE_YOUR_CALM));
    end(&p);
}

/* Requests cost nothing of what there is for control frames: only the resets that answer malformed
 * ones are counted. */
TEST(h2_hostile, malformed_requests_count_like_resets)
{
    static const int numbers[] = {900, 1100};

    for (size_t i = 0; i < COR_ARRAY_LEN(numbers); i++) {
        struct hostile p;
        int r = 0;

        start(&p, COR_H2_SERVER);
        for (int k = 0; k < numbers[i] && r == 0; k++) {
            frame(&p, HEADERS, END_HEADERS | END_STREAM, 1 + 2 * (uint32_t)k,
                  COR_STR(REQUEST "\x82"));
            cor_buf_reset(&p.end.out);
            r = feed(&p, 0);
        }
        assert_int_equal(r, i == 0 ? 0 : -COR_EBUSY);
        assert_int_equal(said_goaway(&p, COR_H2_ENHANCE_YOUR_CALM), i == 1);
        end(&p);
    }
}

TEST(h2_hostile, resets_at_a_slow_pace_are_fine)
{
    struct hostile p;

    assert_int_equal(repeat(&p, 5000, 50, WINDOW_UPDATE, COR_STR("\x7f\xff\xff\xff")), 0);
    end(&p);
}

static void flood_with(enum frame type, int flags, uint32_t id, struct cor_str payload)
{
    for (int n = 900; n <= 1300; n += 400) {
        struct hostile p;

        start(&p, COR_H2_SERVER);
        if (id > 0)
            frame(&p, HEADERS, END_HEADERS, id, COR_STR(REQUEST));
        assert_int_equal(feed(&p, 0), 0);
        for (int i = 0; i < n; i++) {
            frame(&p, type, flags, id, payload);
            if (i % 50 == 49 && i < 890) {
                assert_int_equal(feed(&p, 0), 0);
                cor_buf_reset(&p.end.out);
            }
        }
        flood(&p, n > COR_H2_CONTROL_BURST ? -COR_EBUSY : 0);
    }
}

TEST(h2_hostile, floods_of_control_frames_end_the_session)
{
    flood_with(PING, ACK, 0, COR_STR("12345678"));
    flood_with(PING, 0, 0, COR_STR("12345678"));
    flood_with(SETTINGS, 0, 0, COR_STR(""));
    flood_with(WINDOW_UPDATE, 0, 0, COR_STR("\0\0\0\1"));
    flood_with(WINDOW_UPDATE, 0, 1, COR_STR("\0\0\0\1"));
    flood_with(PRIORITY, 0, 3, COR_STR("\0\0\0\0\1"));
    flood_with(DATA, 0, 1, COR_STR(""));
}

TEST(h2_hostile, answers_that_are_not_read_are_limited)
{
    for (int i = 0; i < 2; i++) {
        struct hostile p;

        start(&p, COR_H2_SERVER);
        assert_int_equal(feed(&p, 0), 0);
        p.end.send_r = -COR_EBUSY;
        for (int k = 0; k < COR_H2_ACKS_MAX + 10; k++)
            frame(&p, i ? PING : SETTINGS, 0, 0, i ? COR_STR("12345678") : COR_STR(""));
        assert_int_equal(feed(&p, 0), -COR_EBUSY);
        end(&p);
    }
}

TEST(h2_hostile, a_reader_may_open_windows_as_fast_as_it_reads)
{
    struct h2_end client, server;

    assert_int_equal(h2_end_init(&client, COR_H2_CLIENT, &h2_limits), 0);
    assert_int_equal(h2_end_init(&server, COR_H2_SERVER, &h2_limits), 0);
    server.answer_bytes = 7000000;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(h2_request(&client, "/", 0, NULL), 0);
        assert_int_equal(h2_pump(&client, &server), 0);
        assert_int_equal(client.streams[i].body.n, 7000000);
        cor_buf_deinit(&client.streams[i].body);
    }
    h2_end_deinit(&client);
    h2_end_deinit(&server);
}

TEST(h2_hostile, a_header_block_of_many_frames_ends_the_session)
{
    for (int n = 6; n <= 7; n++) {
        struct hostile p;

        start(&p, COR_H2_SERVER);
        frame(&p, HEADERS, END_STREAM, 1, COR_STR(REQUEST));
        for (int i = 0; i < n; i++)
            frame(&p, CONTINUATION, i == n - 1 ? END_HEADERS : 0, 1, COR_STR(""));
        flood(&p, n > COR_H2_CONTINUATIONS_MAX ? -COR_EBUSY : 0);
    }
}

TEST(h2_hostile, a_head_above_the_limit_is_answered_431)
{
    static const struct cor_h2_limits narrow = {
        .streams_max = 10, .window = 65536, .head_max = 1000, .headers_max = 8};
    static const char *const logs[] = {"req 1 GET h / len=0|end 1 0|", ""};
    struct cor_buf block;
    struct hostile p;

    for (int too_many = 0; too_many < 2; too_many++) {
        start_with(&p, COR_H2_SERVER, &narrow);
        cor_buf_add(&p.in, "\0\0\0\1\5\0\0\0\1", 9);
        p.in.p[p.in.n - 7] = (char)(6 + 5 * (4 + too_many));
        cor_buf_add(&p.in, REQUEST, 6);
        for (int i = 0; i < 4 + too_many; i++)
            cor_buf_add(&p.in, "\0\1a\1b", 5);
        assert_int_equal(feed(&p, 0), 0);
        assert_string_equal(cor_buf_z(&p.end.log), logs[too_many]);
        assert_int_equal(cor_h2_nstreams(p.end.h), 0);
        end(&p);
    }
    start_with(&p, COR_H2_SERVER, &narrow);
    cor_buf_init(&block, 2000);
    cor_buf_add(&block,
                REQUEST "\x00\x01"
                        "a\x7f\x81\x08",
                12);
    for (int i = 0; i < 1152; i++)
        cor_buf_addc(&block, 'x');
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, cor_buf_str(&block));
    assert_int_equal(feed(&p, 0), 0);
    assert_string_equal(cor_buf_z(&p.end.log), "");
    cor_buf_deinit(&block);
    end(&p);
}

/* One entry of 4 KB in the table, and a byte for each time it is named again. */
TEST(h2_hostile, a_header_bomb_ends_the_session)
{
    struct cor_buf block;
    struct hostile p;

    cor_buf_init(&block, 16384);
    cor_buf_add(&block,
                REQUEST "\x40\x01"
                        "a\x7f\xa1\x1e",
                12);
    for (int i = 0; i < 4000; i++)
        cor_buf_addc(&block, 'x');
    for (int i = 0; i < 5000; i++)
        cor_buf_addc(&block, '\xbe');
    start(&p, COR_H2_SERVER);
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, cor_buf_str(&block));
    flood(&p, -COR_EBUSY);
    cor_buf_deinit(&block);
}

/* `n` requests, one each `pace_ms`, whose heads name an entry of 4 KB `again` times. */
static int repeat_expanded(struct hostile *p, uint32_t n, uint64_t pace_ms, int again)
{
    struct cor_buf block;
    int r = 0;

    cor_buf_init(&block, 16384);
    start(p, COR_H2_SERVER);
    for (uint32_t i = 0; i < n && r == 0; i++) {
        cor_buf_reset(&block);
        /* As REQUEST, but nothing is added to the table, where it would drive the entry out. */
        cor_buf_add(&block, "\x82\x84\x87\x01\x01h", 6);
        if (i == 0) {
            cor_buf_add(&block,
                        "\x40\x01"
                        "a\x7f\xa1\x1e",
                        6);
            for (int j = 0; j < 4000; j++)
                cor_buf_addc(&block, 'x');
        }
        for (int j = 0; j < again; j++)
            cor_buf_addc(&block, '\xbe');
        frame(p, HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, cor_buf_str(&block));
        cor_buf_reset(&p->end.out);
        r = feed(p, pace_ms * i);
    }
    cor_buf_deinit(&block);
    return r;
}

TEST(h2_hostile, heads_that_compression_makes_large_end_the_session_when_they_are_many)
{
    struct hostile p;

    assert_int_equal(repeat_expanded(&p, 190, 0, 8), 0);
    end(&p);
    assert_int_equal(repeat_expanded(&p, 300, 0, 8), -COR_EBUSY);
    assert_true(said_goaway(&p, COR_H2_ENHANCE_YOUR_CALM));
    end(&p);
    /* A token of 4 KB in the table is what a client may have, and others may be slow. */
    assert_int_equal(repeat_expanded(&p, 1500, 0, 3), 0);
    end(&p);
    assert_int_equal(repeat_expanded(&p, 1000, 100, 8), 0);
    end(&p);
}

TEST(h2_hostile, streams_above_the_limit_are_refused)
{
    struct hostile p;

    start(&p, COR_H2_SERVER);
    p.end.answer_bytes = SIZE_MAX;
    for (uint32_t i = 0; i < 40; i++)
        frame(&p, HEADERS, END_HEADERS, 1 + 2 * i, COR_STR(REQUEST));
    assert_int_equal(feed(&p, 0), 0);
    assert_int_equal(cor_h2_nstreams(p.end.h), h2_limits.streams_max);
    assert_null(strstr(cor_buf_z(&p.end.log), "req 65 "));
    end(&p);
}

TEST(h2_hostile, a_window_of_one_byte_gets_one_byte)
{
    struct hostile p;

    start(&p, COR_H2_SERVER);
    p.end.answer_bytes = 100;
    frame(&p, SETTINGS, 0, 0, COR_STR("\0\4\0\0\0\1"));
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, COR_STR(REQUEST));
    assert_int_equal(feed(&p, 0), 0);
    assert_int_equal(p.end.streams[0].written, 1);
    frame(&p, SETTINGS, 0, 0, COR_STR("\0\4\0\0\0\0"));
    frame(&p, WINDOW_UPDATE, 0, 1, COR_STR("\0\0\0\3"));
    assert_int_equal(feed(&p, 0), 0);
    assert_int_equal(p.end.streams[0].written, 3);
    frame(&p, WINDOW_UPDATE, 0, 1, COR_STR("\0\1\0\0"));
    assert_int_equal(feed(&p, 0), 0);
    assert_int_equal(p.end.streams[0].written, 100);
    assert_int_equal(cor_h2_nstreams(p.end.h), 0);
    end(&p);
}

static void start_client(struct hostile *p)
{
    start(p, COR_H2_CLIENT);
    assert_int_equal(h2_request(&p->end, "/", 0, NULL), 0);
}

TEST(h2_hostile, a_client_takes_no_pushes)
{
    struct hostile p;

    start_client(&p);
    frame(&p, PUSH_PROMISE, END_HEADERS, 1, COR_STR("\0\0\0\2" REQUEST));
    assert_int_equal(feed(&p, 0), 0);
    assert_int_equal(cor_h2_nstreams(p.end.h), 1);
    frame(&p, SETTINGS, ACK, 0, COR_STR(""));
    frame(&p, PUSH_PROMISE, END_HEADERS, 1, COR_STR("\0\0\0\4" REQUEST));
    assert_int_equal(feed(&p, 0), -COR_EINVAL);
    end(&p);
}

TEST(h2_hostile, a_client_ends_a_session_that_answers_what_was_not_asked)
{
    struct hostile p;

    start_client(&p);
    frame(&p, HEADERS, END_HEADERS, 3, COR_STR(OK_HEAD));
    assert_int_equal(feed(&p, 0), -COR_EINVAL);
    end(&p);
}

TEST(h2_hostile, a_client_resets_malformed_responses)
{
    static const struct cor_str blocks[] = {
        COR_STR("\x00\x01"
                "a\x01"
                "b"), /* no :status */
        COR_STR("\x08\x03"
                "abc"), /* no number */
        COR_STR("\x08\x03"
                "050"),          /* out of range */
        COR_STR(OK_HEAD "\x88"), /* two */
        COR_STR(OK_HEAD "\x00\x0a"
                        "connection\x01x"),
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(blocks); i++) {
        struct hostile p;

        start_client(&p);
        frame(&p, HEADERS, END_HEADERS, 1, blocks[i]);
        assert_int_equal(feed(&p, 0), 0);
        assert_string_equal(cor_buf_z(&p.end.log), "closed 1 1|");
        end(&p);
    }
}

TEST(h2_hostile, a_response_head_above_the_limit_ends_its_stream_and_is_told)
{
    static const struct cor_h2_limits narrow = {
        .streams_max = 10, .window = 65536, .head_max = 100, .headers_max = 8};
    struct hostile p;

    start_with(&p, COR_H2_CLIENT, &narrow);
    assert_int_equal(h2_request(&p.end, "/", 0, NULL), 0);
    frame(&p, HEADERS, END_HEADERS, 1,
          COR_STR(OK_HEAD "\x00\x01x\x10"
                          "0123456789abcdef\x00\x01y\x10"
                          "0123456789abcdef\x00\x01z\x10"
                          "0123456789abcdef"));
    frame(&p, DATA, END_STREAM, 1, COR_STR("body"));
    assert_int_equal(feed(&p, 0), 0);
    assert_string_equal(cor_buf_z(&p.end.log), "closed 1 1|");
    end(&p);
}

TEST(h2_hostile, interim_responses_are_passed_over)
{
    struct hostile p;

    start_client(&p);
    frame(&p, HEADERS, END_HEADERS, 1,
          COR_STR("\x08\x03"
                  "100"));
    frame(&p, HEADERS, END_HEADERS, 1,
          COR_STR("\x08\x03"
                  "103"));
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, COR_STR(OK_HEAD));
    assert_int_equal(feed(&p, 0), 0);
    assert_string_equal(cor_buf_z(&p.end.log), "head 1 200 last|end 1 0|closed 1 0|");
    end(&p);
}

TEST(h2_hostile, a_sixth_interim_response_ends_its_stream)
{
    for (int n = 5; n <= 6; n++) {
        struct hostile p;

        start_client(&p);
        for (int i = 0; i < n; i++)
            frame(&p, HEADERS, END_HEADERS, 1,
                  COR_STR("\x08\x03"
                          "102"));
        frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, COR_STR(OK_HEAD));
        assert_int_equal(feed(&p, 0), 0);
        assert_string_equal(cor_buf_z(&p.end.log),
                            n == 5 ? "head 1 200 last|end 1 0|closed 1 0|" : "closed 1 1|");
        end(&p);
    }
}

TEST(h2_hostile, streams_that_a_goaway_leaves_out_are_refused_and_others_go_on)
{
    struct hostile p;

    start_client(&p);
    assert_int_equal(h2_request(&p.end, "/2", 0, NULL), 0);
    frame(&p, GOAWAY, 0, 0, COR_STR("\0\0\0\1\0\0\0\0"));
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, COR_STR(OK_HEAD));
    assert_int_equal(feed(&p, 0), 0);
    assert_string_equal(cor_buf_z(&p.end.log),
                        "goaway 0|head 1 200 last|end 1 0|closed 3 7|closed 1 0|");
    assert_true(cor_h2_is_done(p.end.h));
    end(&p);
}

TEST(h2_hostile, a_goaway_with_an_error_says_why)
{
    struct hostile p;

    start_client(&p);
    frame(&p, GOAWAY, 0, 0, COR_STR("\0\0\0\0\0\0\0\x0btoo_many_pings"));
    assert_int_equal(feed(&p, 0), 0);
    assert_string_equal(cor_h2_error(p.end.h), "the peer said ENHANCE_YOUR_CALM: too_many_pings");
    end(&p);
}

TEST(h2_hostile, a_body_beyond_the_window_ends_the_stream_or_the_session)
{
    static const char kb16[16384];
    struct hostile p;

    start_client(&p);
    p.end.streams[0].holds_back = true;
    frame(&p, HEADERS, END_HEADERS, 1, COR_STR(OK_HEAD));
    for (int i = 0; i < 17; i++)
        frame(&p, DATA, 0, 1, cor_str(kb16, sizeof(kb16)));
    feed(&p, 0);
    assert_true(p.end.streams[0].body.n <= COR_H2_WINDOW);
    assert_null(p.end.streams[0].s);
    end(&p);
}

/* A whole conversation, of both sides' bytes. */
static void record(struct cor_buf *client_says, struct cor_buf *server_says)
{
    struct h2_end client, server;

    assert_int_equal(h2_end_init(&client, COR_H2_CLIENT, &h2_limits), 0);
    assert_int_equal(h2_end_init(&server, COR_H2_SERVER, &h2_limits), 0);
    server.answer_bytes = 600;
    server.has_trailers = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(h2_request(&client, "/path", 300 * (size_t)i, NULL), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(cor_h2_turn(client.h, 0), 0);
        assert_int_equal(cor_buf_adds(client_says, cor_buf_str(&client.out)), 0);
        assert_int_equal(h2_move(&client, &server, SIZE_MAX, 0), 0);
        assert_int_equal(cor_h2_turn(server.h, 0), 0);
        assert_int_equal(cor_buf_adds(server_says, cor_buf_str(&server.out)), 0);
        assert_int_equal(h2_move(&server, &client, SIZE_MAX, 0), 0);
    }
    h2_end_deinit(&client);
    h2_end_deinit(&server);
}

static void replay(enum cor_h2_role role, struct cor_str in, size_t cut)
{
    struct h2_end e;
    int r;

    assert_int_equal(h2_end_init(&e, role, &h2_limits), 0);
    e.answer_bytes = role == COR_H2_SERVER ? 600 : SIZE_MAX;
    for (int i = 0; i < 3 && role == COR_H2_CLIENT; i++)
        assert_int_equal(h2_request(&e, "/path", 300 * (size_t)i, NULL), 0);
    for (r = 0; in.n > 0 && r == 0;) {
        size_t n = in.n < cut ? in.n : cut;

        r = cor_h2_feed(e.h, cor_str(in.p, n), 0);
        in = cor_str_from(in, n);
        cor_buf_reset(&e.out);
    }
    cor_h2_drop_all(e.h, COR_H2_LOST);
    assert_int_equal(cor_h2_nstreams(e.h), 0);
    h2_end_deinit(&e);
}

TEST(h2_hostile, a_conversation_that_is_cut_or_bent_at_any_byte_is_survived)
{
    struct cor_buf says[2];

    cor_buf_init(&says[0], 1 << 20);
    cor_buf_init(&says[1], 1 << 20);
    record(&says[0], &says[1]);
    for (int i = 0; i < 2; i++) {
        enum cor_h2_role role = i == 0 ? COR_H2_SERVER : COR_H2_CLIENT;

        for (size_t at = 0; at < says[i].n; at++) {
            char was = says[i].p[at];

            replay(role, cor_str(says[i].p, at), 1 + test_random() % 50);
            says[i].p[at] = (char)test_random();
            replay(role, cor_buf_str(&says[i]), SIZE_MAX);
            says[i].p[at] = was;
        }
    }
    cor_buf_deinit(&says[0]);
    cor_buf_deinit(&says[1]);
}
