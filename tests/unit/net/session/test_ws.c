#include "net/session/ws.h"

#include "base/err.h"
#include "test.h"

/* A frame of a client. */
static void add_frame(struct cor_buf *out, int first, const char *bytes, size_t n, bool is_masked)
{
    static const char mask[4] = {1, 2, 3, 4};

    assert_int_equal(cor_buf_addc(out, (char)first), 0);
    assert_true(n < 65536);
    assert_int_equal(cor_buf_addc(out, (char)((is_masked ? 0x80 : 0) | (n < 126 ? (int)n : 126))),
                     0);
    if (n >= 126) {
        assert_int_equal(cor_buf_addc(out, (char)(n >> 8)), 0);
        assert_int_equal(cor_buf_addc(out, (char)n), 0);
    }
    if (is_masked)
        assert_int_equal(cor_buf_add(out, mask, sizeof(mask)), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addc(out, is_masked ? (char)(bytes[i] ^ mask[i % 4]) : bytes[i]),
                         0);
}

static void expect_bytes(const struct cor_buf *out, const char *bytes, size_t n)
{
    assert_int_equal(out->n, n);
    assert_memory_equal(out->p, bytes, n);
}

#define EXPECT(out, bytes) expect_bytes((out), (bytes), sizeof(bytes) - 1)

/* RFC 6455 section 1.3, and a key that is none. */
TEST(ws, answers_a_key_as_the_standard_says)
{
    char accept[COR_WS_ACCEPT_MAX];

    assert_int_equal(cor_ws_accept(COR_STR("dGhlIHNhbXBsZSBub25jZQ=="), accept), 0);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_int_equal(cor_ws_accept(COR_STR("abc"), accept), 0);
    assert_string_equal(accept, "zwKd5BnoWxQ6GxTxxSmBSHGHX9M=");
}

TEST(ws, begins_messages_of_every_length)
{
    static const struct {
        size_t n;
        const char *text, *binary;
        size_t head;
    } rows[] = {
        {1, "\x81\x01", "\x82\x01", 2},
        {125, "\x81\x7d", "\x82\x7d", 2},
        {126, "\x81\x7e\x00\x7e", "\x82\x7e\x00\x7e", 4},
        {65535, "\x81\x7e\xff\xff", "\x82\x7e\xff\xff", 4},
        {65536, "\x81\x7f\0\0\0\0\0\x01\0\0", "\x82\x7f\0\0\0\0\0\x01\0\0", 10},
        {5000000, "\x81\x7f\0\0\0\0\0\x4c\x4b\x40", "\x82\x7f\0\0\0\0\0\x4c\x4b\x40", 10},
    };

    for (int is_binary = 0; is_binary < 2; is_binary++) {
        struct cor_ws *ws = cor_ws_new();

        for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

            cor_buf_init(&out, COR_WS_HEAD_MAX);
            assert_int_equal(cor_ws_begin(ws, is_binary, rows[i].n, &out), 0);
            expect_bytes(&out, is_binary ? rows[i].binary : rows[i].text, rows[i].head);
        }
        cor_ws_free(ws);
    }
}

TEST(ws, answers_pings_ignores_messages_and_ends_when_told)
{
    for (size_t step = 1; step < 2000; step += 666) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf in, out;
        struct cor_ws *ws = cor_ws_new();
        static char text[1000];
        struct cor_str rest;

        cor_buf_init(&in, 1u << 16);
        cor_buf_init(&out, 1u << 16);
        memset(text, 'x', sizeof(text));
        add_frame(&in, 0x81, "hello", 5, true);
        add_frame(&in, 0x89, "ping", 4, true);
        add_frame(&in, 0x01, text, sizeof(text), true); /* in three pieces, a ping between them */
        add_frame(&in, 0x00, "more", 4, true);
        add_frame(&in, 0x89, "", 0, true);
        add_frame(&in, 0x80, "end", 3, true);
        add_frame(&in, 0x8a, "pong", 4, true);
        add_frame(&in, 0x82, text, sizeof(text), true);
        for (rest = cor_buf_str(&in); rest.n > 0;) {
            struct cor_str head = cor_str(rest.p, rest.n < step ? rest.n : step);

            assert_int_equal(cor_ws_feed(ws, head, &out), 0);
            rest = cor_str_from(rest, head.n);
        }
        EXPECT(&out, "\x8a\x04ping\x8a\x00");
        cor_buf_reset(&out);
        assert_int_equal(cor_ws_end(ws, &out), 0);
        EXPECT(&out, "\x88\x02\x03\xe8");
        cor_ws_free(ws);
    }
}

/* The end of the client, and what breaks the protocol. */
TEST(ws, ends_with_the_client_and_with_what_is_no_frame)
{
    static const struct {
        int first;
        const char *bytes;
        size_t n;
        bool is_unmasked;
        const char *answer;
        size_t nanswer;
    } rows[] = {
        {0x88, "", 0, false, "\x88\x00", 2},
        {0x88, "\x03\xe8", 2, false, "\x88\x02\x03\xe8", 4},
        {0x88, "\x03\xe9gone", 6, false, "\x88\x06\x03\xe9gone", 8},
        {0x88, "\x03", 1, false, "\x88\x00", 2},
        {0x81, "x", 1, true, "\x88\x02\x03\xea", 4},         /* not masked */
        {0x83, "x", 1, false, "\x88\x02\x03\xea", 4},        /* no such opcode */
        {0xf1, "x", 1, false, "\x88\x02\x03\xea", 4},        /* reserved bits */
        {0x80, "x", 1, false, "\x88\x02\x03\xea", 4},        /* continues nothing */
        {0x09, "x", 1, false, "\x88\x00", 2},                /* half a ping */
        {0x81, "\xff\xfe", 2, false, "\x88\x02\x03\xef", 4}, /* not UTF-8 */
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf in, out;
        struct cor_ws *ws = cor_ws_new();

        cor_buf_init(&in, 1000);
        cor_buf_init(&out, 1000);
        add_frame(&in, rows[i].first, rows[i].bytes, rows[i].n, !rows[i].is_unmasked);
        assert_int_equal(cor_ws_feed(ws, cor_buf_str(&in), &out), -COR_ECANCELED);
        expect_bytes(&out, rows[i].answer, rows[i].nanswer);
        cor_ws_free(ws);
    }
}

TEST(ws, keeps_nothing_of_large_messages_and_refuses_too_large_ones)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf in, out;
    struct cor_ws *ws = cor_ws_new();
    static char piece[60000];
    int r = 0, n = 0;

    cor_buf_init(&in, 1u << 17);
    cor_buf_init(&out, 1000);
    memset(piece, 'x', sizeof(piece));
    for (; r == 0 && n < 100; n++) {
        size_t live = test_live_bytes();

        cor_buf_reset(&in);
        add_frame(&in, n == 0 ? 0x01 : 0x00, piece, sizeof(piece), true);
        live = test_live_bytes();
        r = cor_ws_feed(ws, cor_buf_str(&in), &out);
        assert_true(r < 0 || test_live_bytes() == live);
    }
    assert_int_equal(r, -COR_ECANCELED);
    assert_true((size_t)n * sizeof(piece) > COR_WS_MESSAGE_MAX);
    EXPECT(&out, "\x88\x02\x03\xf1");
    cor_ws_free(ws);
}

TEST(ws, without_memory_fails_and_never_sends_half_of_an_answer)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
        char accept[COR_WS_ACCEPT_MAX];
        struct cor_ws *ws;
        int r = cor_ws_accept(COR_STR("abc"), accept);

        assert_true(r == 0 || r == -COR_ENOMEM);
        if (r == 0)
            assert_string_equal(accept, "zwKd5BnoWxQ6GxTxxSmBSHGHX9M=");
        ws = cor_ws_new();
        if (!ws) {
            assert_true(test_alloc_failed());
            continue;
        }
        cor_buf_init(&out, 1000);
        r = cor_ws_begin(ws, true, 7, &out);
        assert_int_equal(r == 0 ? out.n : 0, r == 0 ? 2 : 0);
        if (r == 0)
            r = cor_ws_feed(ws, COR_STR("\x89\x82\x01\x02\x03\x04\x60\x60"), &out);
        if (r == 0)
            r = cor_ws_end(ws, &out);
        if (r == 0)
            EXPECT(&out, "\x82\x07\x8a\x02"
                         "ab\x88\x02\x03\xe8");
        else
            assert_int_equal(r, -COR_ENOMEM);
        cor_ws_free(ws);
    }
}
