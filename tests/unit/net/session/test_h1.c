#include "test.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/session/h1.h"

/* What a session said, as text: "GET /x 1.1 ka len=3|Host=a|body|." for each message, and
 * "!status" at a failure. */
struct log {
    struct cor_h1 *h;
    struct cor_buf text;
    bool in_body;
};

static const struct cor_h1_limits small = {.head_max = 200, .headers_max = 4, .body_max = 16};
static const struct cor_h1_limits wide = {
    .head_max = COR_H1_HEAD_MAX, .headers_max = COR_H1_HEADERS_MAX, .body_max = 1 << 20};

static int on_head(const struct cor_h1_head *head, void *arg)
{
    struct log *log = arg;
    int r = 0;

    if (head->status)
        r |= cor_buf_addf(&log->text, "%d", head->status);
    else
        r |= cor_buf_addf(&log->text, "%.*s %.*s", COR_STR_ARG(head->method),
                          COR_STR_ARG(head->target));
    r |= cor_buf_addf(&log->text, " 1.%d %s", head->minor, head->keep_alive ? "ka" : "close");
    if (head->length == COR_H1_LENGTH_UNKNOWN)
        r |= cor_buf_addz(&log->text, " len=?");
    else
        r |= cor_buf_addf(&log->text, " len=%llu", (unsigned long long)head->length);
    if (head->expects_continue)
        r |= cor_buf_addz(&log->text, " expect");
    for (size_t i = 0; i < head->nheaders; i++)
        r |= cor_buf_addf(&log->text, "|%.*s=%.*s", COR_STR_ARG(head->headers[i].name),
                          COR_STR_ARG(head->headers[i].value));
    r |= cor_buf_addc(&log->text, '|');
    return r < 0 ? -COR_ENOMEM : 0;
}

static int on_body(struct cor_str piece, void *arg)
{
    return cor_buf_adds(&((struct log *)arg)->text, piece);
}

static int on_end(void *arg)
{
    return cor_buf_addz(&((struct log *)arg)->text, "|.");
}

static const struct cor_h1_cbs cbs = {on_head, on_body, on_end};

enum pieces { WHOLE, BYTES, RANDOM };

static size_t piece_size(enum pieces pieces, size_t left)
{
    size_t n = pieces == WHOLE ? left : pieces == BYTES ? 1 : 1 + test_random() % 40;

    return n < left ? n : left;
}

/* Feeds `in`, then the end of input when `eof`; returns the session's last code. */
static int run(struct log *log, enum cor_h1_role role, const struct cor_h1_limits *limits,
               struct cor_str in, enum pieces pieces, bool eof)
{
    int r = 0;

    cor_buf_init(&log->text, 1 << 22);
    log->h = cor_h1_new(role, limits, &cbs, log);
    if (!log->h)
        return -COR_ENOMEM;
    while (in.n > 0 && r == 0) {
        size_t n = piece_size(pieces, in.n), used;
        /* A copy of its own, so that reading past the piece shows. */
        char *piece = cor_alloc(n);

        if (!piece)
            return -COR_ENOMEM;
        memcpy(piece, in.p, n);
        r = cor_h1_feed(log->h, cor_str(piece, n), &used);
        cor_free(piece);
        assert_true(used <= n && (r < 0 || used == n || cor_h1_is_done(log->h)));
        in = cor_str_from(in, used);
        if (r == 0 && cor_h1_is_done(log->h))
            cor_h1_next(log->h, false);
    }
    if (r == 0 && eof)
        r = cor_h1_finish(log->h);
    return r;
}

static void end(struct log *log)
{
    log->h = cor_h1_free(log->h);
    cor_buf_deinit(&log->text);
}

static void check(enum cor_h1_role role, struct cor_str in, int want_r, int want_status,
                  const char *want)
{
    for (int i = 0; i < 12; i++) {
        struct log log;
        int r = run(&log, role, &small, in, i == 0 ? WHOLE : i == 1 ? BYTES : RANDOM, true);

        if (r != want_r || (r < 0 && want_status && cor_h1_error(log.h)->status != want_status))
            fail_msg("%.*s: got %s %d (%s)", COR_STR_ARG(in), cor_err_name(r),
                     cor_h1_error(log.h)->status, cor_h1_error(log.h)->text);
        if (r < 0)
            assert_true(cor_h1_error(log.h)->text && *cor_h1_error(log.h)->text);
        if (want)
            assert_string_equal(cor_buf_z(&log.text), want);
        end(&log);
    }
}

#define GOOD(in, want)         check(COR_H1_SERVER, COR_STR(in), 0, 0, want)
#define BAD(in, status)        check(COR_H1_SERVER, COR_STR(in), -COR_EINVAL, status, NULL)
#define TOO_BIG(in, status)    check(COR_H1_SERVER, COR_STR(in), -COR_ETOOBIG, status, NULL)
#define NOT_KNOWN(in, status)  check(COR_H1_SERVER, COR_STR(in), -COR_ENOTSUP, status, NULL)
#define RESPONSE(in, want)     check(COR_H1_CLIENT, COR_STR(in), 0, 0, want)
#define BAD_RESPONSE(in, want) check(COR_H1_CLIENT, COR_STR(in), -COR_EINVAL, 0, want)

TEST(h1, requests_are_read)
{
    GOOD("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a?b=c 1.1 ka len=0|Host=x||.");
    GOOD("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / 1.1 ka len=0|Host=x||.");
    GOOD("POST / HTTP/1.1\r\nHost:x\r\nContent-Length: 3\r\n\r\nabc",
         "POST / 1.1 ka len=3|Host=x|Content-Length=3|abc|.");
    GOOD(
        "PATCH / HTTP/1.1\r\nHost:x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n",
        "PATCH / 1.1 ka len=?|Host=x|Transfer-Encoding=chunked|abc0123456789|.");
    GOOD("GET / HTTP/1.1\r\nHost: x\r\nEmpty:\r\nSpaced: \t a b \t\r\n\r\n",
         "GET / 1.1 ka len=0|Host=x|Empty=|Spaced=a b||.");
    GOOD("DELETE http://h/x HTTP/1.1\r\nHost: h\r\n\r\n",
         "DELETE http://h/x 1.1 ka len=0|Host=h||.");
}

TEST(h1, connection_persistence_follows_version_and_header)
{
    GOOD("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
         "GET / 1.1 close len=0|Host=x|Connection=close||.");
    GOOD("GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close len=0||.");
    GOOD("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
         "GET / 1.0 ka len=0|Connection=keep-alive||.");
}

TEST(h1, an_upgrade_that_is_not_taken_is_an_ordinary_request)
{
    GOOD("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
         "GET / 1.1 ka len=0|Host=x|Connection=Upgrade|Upgrade=websocket||.");
}

TEST(h1, expect_continue_is_told_and_other_expectations_refused)
{
    GOOD("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\nab",
         "PUT / 1.1 ka len=2 expect|Host=x|Expect=100-Continue|Content-Length=2|ab|.");
    BAD("PUT / HTTP/1.1\r\nHost: x\r\nExpect: coffee\r\n\r\n", 417);
}

TEST(h1, an_expectation_in_http_1_0_is_ignored)
{
    GOOD("PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
         "PUT / 1.0 close len=2|Expect=100-continue|Content-Length=2|ab|.");
}

TEST(h1, pipelined_requests_come_one_by_one)
{
    GOOD(
        "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET /3 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /1 1.1 ka len=0|Host=x||.POST /2 1.1 ka len=2|Host=x|Content-Length=2|ab|.GET /3 1.1 ka len=0|Host=x||.");
}

TEST(h1, nothing_is_taken_after_the_end_until_next)
{
    struct cor_str in =
        COR_STR("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: y\r\n\r\n");
    struct log log = {0};
    size_t used;

    cor_buf_init(&log.text, 1 << 20);
    log.h = cor_h1_new(COR_H1_SERVER, &small, &cbs, &log);
    assert_false(cor_h1_is_begun(log.h));
    assert_int_equal(cor_h1_feed(log.h, in, &used), 0);
    assert_int_equal(used, in.n / 2);
    assert_true(cor_h1_is_done(log.h));
    assert_int_equal(cor_h1_feed(log.h, cor_str_from(in, used), &used), 0);
    assert_int_equal(used, 0);
    assert_str(cor_h1_head(log.h)->target, "/1");
    cor_h1_next(log.h, false);
    assert_false(cor_h1_is_begun(log.h));
    end(&log);
}

TEST(h1, messages_that_could_smuggle_are_refused)
{
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3 3\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabc", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        400);
    BAD("POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
    NOT_KNOWN("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
              501);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400);
    GOOD("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \tCHUNKED\r\n\r\n0\r\n\r\n",
         "POST / 1.1 ka len=?|Host=x|Transfer-Encoding=CHUNKED||.");
}

TEST(h1, an_unknown_transfer_encoding_is_refused)
{
    struct log log;
    int r =
        run(&log, COR_H1_SERVER, &small,
            COR_STR("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunkedd\r\n\r\n0\r\n\r\n"),
            BYTES, true);

    assert_true(r == -COR_EINVAL || r == -COR_ENOTSUP);
    end(&log);
}

TEST(h1, bad_chunks_are_refused)
{
#define CHUNKS "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    BAD(CHUNKS "x\r\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "\r\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "-1\r\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "0x3\r\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS " 3\r\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "3 \r\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "3\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "3\r\nabcd\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "3\r\nabc0\r\n\r\n", 400);
    BAD(CHUNKS "fffffffffffffffff\r\nabc\r\n0\r\n\r\n", 400);
    BAD(CHUNKS "3\r\nabc\r\n", 400);
    GOOD(CHUNKS "3;ext=1\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
         "POST / 1.1 ka len=?|Host=x|Transfer-Encoding=chunked|abc|.");
}

TEST(h1, malformed_heads_are_refused)
{
    BAD("GET / HTTP/1.1\nHost: x\n\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA: b\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tfolded\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA\0b: c\r\n\r\n", 400);
    BAD("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\n: c\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nNoColon\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400);
    BAD("GET  HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("get / HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("\x16\x03\x01\x02\x00\x01\x00", 400);
    NOT_KNOWN("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505);
    NOT_KNOWN("GET / HTTP/3.1\r\nHost: x\r\n\r\n", 505);
    NOT_KNOWN("CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", 501);
    NOT_KNOWN("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
}

/* What a name or a value may hold, and what a proxy would pass on otherwise than it was read. */
TEST(h1, names_and_values_with_odd_bytes_are_refused)
{
    static const char odd[] = " \t\"(),/:;<=>?@[\\]{}\x01\x1f\x7f\x80\xff";

    for (size_t i = 0; i < sizeof(odd) - 1; i++) {
        char in[100];

        if (odd[i] == ':') /* ends the name */
            continue;
        snprintf(in, sizeof(in), "GET / HTTP/1.1\r\nHost: x\r\nA%cB: c\r\n\r\n", odd[i]);
        check(COR_H1_SERVER, cor_strz(in), -COR_EINVAL, 400, NULL);
        snprintf(in, sizeof(in), "HTTP/1.1 200 OK\r\nA%cB: c\r\n\r\n", odd[i]);
        check(COR_H1_CLIENT, cor_strz(in), -COR_EINVAL, 0, NULL);
    }
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA\t: b\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n", 400);
    BAD("GET / HTTP/1.1\r\nHost: x\r\nA: b\x7f\r\n\r\n", 400);
    GOOD("GET / HTTP/1.1\r\nHost: x\r\nA: b\tc \xc3\xa9\r\n\r\n",
         "GET / 1.1 ka len=0|Host=x|A=b\tc \xc3\xa9||.");
}

/* An underscore is no hyphen: who looks for X-Remote-User does not find it. */
TEST(h1, names_with_underscores_are_names_of_their_own)
{
    struct cor_http_header headers[] = {{COR_STR("X_Remote_User"), COR_STR("a")},
                                        {COR_STR("X-Remote_User"), COR_STR("b")}};

    GOOD("GET / HTTP/1.1\r\nHost: x\r\nX_Remote_User: a\r\n\r\n",
         "GET / 1.1 ka len=0|Host=x|X_Remote_User=a||.");
    assert_null(cor_header_find(headers, 2, COR_STR("X-Remote-User")).p);
}

/* What Connection names is for the next hop to drop; it changes nothing of how a message is read.
 */
TEST(h1, headers_named_by_connection_frame_the_message_all_the_same)
{
    GOOD("POST / HTTP/1.1\r\nHost: x\r\nConnection: Content-Length\r\nContent-Length: 3\r\n\r\nabc",
         "POST / 1.1 ka len=3|Host=x|Connection=Content-Length|Content-Length=3|abc|.");
    BAD("POST / HTTP/1.1\r\nHost: x\r\nConnection: Transfer-Encoding\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400);
}

TEST(h1, request_lines_that_two_parsers_could_read_differently_are_refused)
{
    BAD("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("GET /a\tb HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("GET /a\x7f HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", 400);
    BAD("GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400);
    NOT_KNOWN("GET /\r\nHost: x\r\n\r\n", 505);
    BAD("GET / HTTP/1.1\r\n\nHost: x\r\n\r\n", 400);
    BAD("G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400);
}

TEST(h1, responses_that_could_smuggle_are_refused)
{
    BAD_RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", NULL);
    BAD_RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc", NULL);
    BAD_RESPONSE(
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        NULL);
    BAD_RESPONSE(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        NULL);
    BAD_RESPONSE("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", NULL);
    BAD_RESPONSE("HTTP/1.1 200 OK\nContent-Length: 0\n\n", NULL);
    BAD_RESPONSE("HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", NULL);
    BAD_RESPONSE("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
                 "");
}

/* After its head a 101 is another protocol's, whatever the head says of a body. */
TEST(h1, an_upgrade_that_was_asked_for_ends_with_its_head)
{
    static const char *const heads[] = {
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nTransfer-Encoding: chunked\r\n\r\n",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(heads); i++) {
        struct log log = {0};
        char in[200];
        size_t used;

        snprintf(in, sizeof(in), "%sraw", heads[i]);
        cor_buf_init(&log.text, 1 << 20);
        log.h = cor_h1_new(COR_H1_CLIENT, &small, &cbs, &log);
        cor_h1_take_upgrade(log.h);
        assert_int_equal(cor_h1_feed(log.h, cor_strz(in), &used), 0);
        assert_true(cor_h1_is_done(log.h));
        assert_int_equal(used, strlen(heads[i]));
        assert_int_equal(cor_h1_head(log.h)->status, 101);
        assert_int_equal(cor_h1_head(log.h)->length, 0);
        end(&log);
    }
}

static int pause_body(struct cor_str piece, void *arg)
{
    struct log *log = arg;

    cor_buf_addf(&log->text, "[%.*s]", COR_STR_ARG(piece));
    return COR_H1_PAUSE;
}

/* Piece by piece, however the message is cut; the end comes with the feed after the last. */
TEST(h1, a_feed_may_end_after_each_piece_of_the_body)
{
    static const struct cor_h1_cbs pausing = {on_head, pause_body, on_end};
    static const char *const bodies[] = {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n4\r\ncdef\r\n0\r\n\r\n"};

    for (int i = 0; i < 40; i++) {
        struct cor_str in = cor_strz(bodies[i % 2]);
        struct log log = {0};
        size_t used, nempty = 0, nbytes = 0;

        cor_buf_init(&log.text, 1 << 20);
        log.h = cor_h1_new(COR_H1_SERVER, &small, &pausing, &log);
        cor_h1_set_body_max(log.h, 6);
        while (!cor_h1_is_done(log.h) && nempty < 3) {
            size_t n = piece_size(i < 2 ? WHOLE : i < 4 ? BYTES : RANDOM, in.n);

            assert_int_equal(cor_h1_feed(log.h, cor_str(in.p, n), &used), 0);
            in = cor_str_from(in, used);
            nempty = n == 0 ? nempty + 1 : 0;
        }
        assert_true(cor_h1_is_done(log.h) && in.n == 0);
        assert_int_equal(cor_h1_body_left(log.h), 0);
        for (size_t k = 0; k < log.text.n; k++)
            nbytes += log.text.p[k] == '[';
        assert_true(nbytes >= 1 && nbytes <= 6);
        if (i == 0)
            assert_non_null(strstr(cor_buf_z(&log.text), "[abcdef]"));
        if (i == 1)
            assert_non_null(strstr(cor_buf_z(&log.text), "[ab][cdef]"));
        end(&log);
    }
}

TEST(h1, limits_have_their_own_answers)
{
    char in[600];

    snprintf(in, sizeof(in), "GET /%0200d HTTP/1.1\r\nHost: x\r\n\r\n", 0);
    check(COR_H1_SERVER, cor_strz(in), -COR_ETOOBIG, 414, "");
    snprintf(in, sizeof(in), "GET / HTTP/1.1\r\nHost: x\r\nA: %0200d\r\n\r\n", 0);
    check(COR_H1_SERVER, cor_strz(in), -COR_ETOOBIG, 431, "");
    TOO_BIG("GET / HTTP/1.1\r\nHost: x\r\nA:1\r\nB:2\r\nC:3\r\nD:4\r\n\r\n", 431);
    TOO_BIG("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n", 413);
    TOO_BIG(CHUNKS "9\r\n123456789\r\n8\r\n12345678\r\n0\r\n\r\n", 413);
    snprintf(in, sizeof(in), CHUNKS "1;%0201d\r\na\r\n0\r\n\r\n", 0);
    check(COR_H1_SERVER, cor_strz(in), -COR_ETOOBIG, 431, NULL);
    snprintf(in, sizeof(in), CHUNKS "0\r\nA: %0201d\r\n\r\n", 0);
    check(COR_H1_SERVER, cor_strz(in), -COR_ETOOBIG, 431, NULL);
    GOOD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n0123456789abcdef",
         "POST / 1.1 ka len=16|Host=x|Content-Length=16|0123456789abcdef|.");
}

TEST(h1, a_message_that_is_cut_off_is_told)
{
    BAD("GET / HTTP/1.1\r\nHost: x\r\n", 400);
    BAD("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab", 400);
    BAD_RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
                 "200 1.1 ka len=3|Content-Length=3|ab");
    BAD_RESPONSE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
                 "200 1.1 ka len=?|Transfer-Encoding=chunked|ab");
    BAD_RESPONSE("HTTP/1.1 200 OK\r\n", "");
    BAD_RESPONSE("HTTP/1.1 010 Below\r\n\r\n", "");
}

TEST(h1, responses_are_read)
{
    RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
             "200 1.1 ka len=3|Content-Length=3|abc|.");
    RESPONSE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
             "200 1.1 ka len=?|Transfer-Encoding=chunked|abc|.");
    RESPONSE("HTTP/1.1 200 OK\r\n\r\nuntil close", "200 1.1 close len=?|until close|.");
    RESPONSE("HTTP/1.0 200\r\n\r\nx", "200 1.0 close len=?|x|.");
    RESPONSE(
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "204 1.1 ka len=0||.304 1.1 ka len=0|Content-Length=9||.");
    RESPONSE(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
        "201 1.1 ka len=0|Content-Length=0||.");
}

/* Whatever an interim response says of a body, it ends with its head: RFC 9110, section 15.2. */
TEST(h1, an_interim_response_has_no_body)
{
    RESPONSE(
        "HTTP/1.1 104 X\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "200 1.1 ka len=1|Content-Length=1|x|.");
    RESPONSE(
        "HTTP/1.1 199 X\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "200 1.1 ka len=0|Content-Length=0||.");
    RESPONSE(
        "HTTP/1.1 100 X\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "200 1.1 ka len=0|Content-Length=0||.");
}

/* A server that has no end of them would hold a call without a deadline for ever. */
TEST(h1, a_sixth_interim_response_is_refused)
{
#define FIVE_INTERIM                                                                               \
    "HTTP/1.1 100 A\r\n\r\nHTTP/1.1 102 B\r\n\r\nHTTP/1.1 103 C\r\n\r\n"                           \
    "HTTP/1.1 102 D\r\n\r\nHTTP/1.1 102 E\r\n\r\n"
#define FINAL "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define SHOWN "200 1.1 ka len=0|Content-Length=0||."
    RESPONSE(FIVE_INTERIM FINAL, SHOWN);
    /* Each response has its own. */
    RESPONSE(FIVE_INTERIM FINAL FIVE_INTERIM FINAL, SHOWN SHOWN);
    check(COR_H1_CLIENT, COR_STR(FIVE_INTERIM "HTTP/1.1 102 F\r\n\r\n" FINAL), -COR_ETOOBIG, 0, "");
}

TEST(h1, a_response_to_head_has_no_body)
{
    struct cor_str in = COR_STR(
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx");
    struct log log = {0};
    size_t used;

    cor_buf_init(&log.text, 1 << 20);
    log.h = cor_h1_new(COR_H1_CLIENT, &small, &cbs, &log);
    cor_h1_next(log.h, true);
    assert_int_equal(cor_h1_feed(log.h, in, &used), 0);
    assert_true(cor_h1_is_done(log.h));
    cor_h1_next(log.h, false);
    in = cor_str_from(in, used);
    assert_int_equal(cor_h1_feed(log.h, in, &used), 0);
    assert_string_equal(
        cor_buf_z(&log.text),
        "200 1.1 ka len=0|Content-Length=9||.404 1.1 ka len=1|Content-Length=1|x|.");
    end(&log);
}

static int refuse_head(const struct cor_h1_head *head, void *arg)
{
    return -COR_EBUSY;
}

TEST(h1, a_callback_may_refuse)
{
    static const struct cor_h1_cbs refusing = {refuse_head, on_body, on_end};
    struct cor_h1 *h = cor_h1_new(COR_H1_SERVER, &small, &refusing, NULL);
    size_t used;

    assert_int_equal(cor_h1_feed(h, COR_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), &used),
                     -COR_EBUSY);
    cor_h1_free(h);
}

static int pause_after_head(const struct cor_h1_head *head, void *arg)
{
    int r = on_head(head, arg);

    return r < 0 ? r : COR_H1_PAUSE;
}

TEST(h1, a_feed_may_end_after_the_head_and_the_head_be_freed)
{
    static const struct cor_h1_cbs pausing = {pause_after_head, on_body, on_end};
    struct cor_str in = COR_STR("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "3\r\nabc\r\n0\r\nTrailer: b\r\n\r\nrest");
    struct log log = {0};
    size_t used, live = test_live_bytes();

    for (size_t cut = 1; cut < in.n; cut++) {
        log.h = cor_h1_new(COR_H1_SERVER, &wide, &pausing, &log);
        cor_buf_init(&log.text, 1 << 16);
        used = 0;
        for (struct cor_str rest = in; !cor_h1_is_paused(log.h); rest = cor_str_from(rest, used))
            assert_int_equal(
                cor_h1_feed(log.h, cor_str(rest.p, cut < rest.n ? cut : rest.n), &used), 0);
        assert_null(strstr(cor_buf_z(&log.text), "abc"));
        assert_true(cor_h1_head_bytes(log.h) > 0);
        cor_h1_release_head(log.h);
        assert_int_equal(cor_h1_head_bytes(log.h), 0);
        assert_int_equal(cor_h1_head(log.h)->nheaders, 0);
        assert_int_equal(cor_h1_head(log.h)->length, COR_H1_LENGTH_UNKNOWN);
        assert_int_equal(
            cor_h1_feed(log.h, COR_STR("3\r\nabc\r\n0\r\nTrailer: b\r\n\r\nrest"), &used), 0);
        assert_true(cor_h1_is_done(log.h));
        assert_string_equal(cor_buf_z(&log.text),
                            "POST /x 1.1 ka len=?|Host=a|Transfer-Encoding=chunked|abc|.");
        cor_h1_free(log.h);
        cor_buf_deinit(&log.text);
    }
    assert_int_equal(test_live_bytes(), live);
}

TEST(h1, long_messages_survive_any_cut)
{
    struct cor_buf in;
    struct log a, b;

    cor_buf_init(&in, 1 << 22);
    for (int i = 0; i < 20; i++) {
        size_t n = test_random() % 5000;

        cor_buf_addf(&in, "PUT /%0*d HTTP/1.1\r\nHost: h\r\n", (int)(test_random() % 3000), i);
        for (size_t k = test_random() % 60; k > 0; k--)
            cor_buf_addf(&in, "H%zu: %0*d\r\n", k, (int)(test_random() % 300), 1);
        cor_buf_addf(&in, "Content-Length: %zu\r\n\r\n%0*d", n + 1, (int)n + 1, 0);
    }
    assert_int_equal(run(&a, COR_H1_SERVER, &wide, cor_buf_str(&in), WHOLE, true), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(run(&b, COR_H1_SERVER, &wide, cor_buf_str(&in), RANDOM, true), 0);
        assert_true(cor_str_eq(cor_buf_str(&a.text), cor_buf_str(&b.text)));
        end(&b);
    }
    end(&a);
    cor_buf_deinit(&in);
}

TEST(h1, every_allocation_may_fail)
{
    struct cor_str in = COR_STR(
        "PUT /x HTTP/1.1\r\nHost: x\r\nA:1\r\nB:2\r\nC:3\r\nD:4\r\nE:5\r\nF:6\r\nG:7\r\nH:8\r\nI:9\r\nJ:1\r\nK:2\r\nL:3\r\nM:4\r\nN:5\r\nO:6\r\nP:7\r\nContent-Length: 2\r\n\r\nab");

    FOR_EACH_FAILED_ALLOC(i) {
        struct log log;
        int r = run(&log, COR_H1_SERVER, &wide, in, RANDOM, true);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        end(&log);
    }
}
