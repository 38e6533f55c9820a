#include "test.h"

#include "base/err.h"
#include "net/session/h1.h"

static const struct cor_http_header json = {COR_STR("Content-Type"), COR_STR("application/json")};

static void check_response(int status, struct cor_h1_message msg, enum cor_h1_framing framing,
                           const char *want)
{
    enum cor_h1_framing got;
    struct cor_buf out;

    cor_buf_init(&out, 1 << 16);
    assert_int_equal(cor_h1_write_response(&out, status, &msg, &got), 0);
    assert_string_equal(cor_buf_z(&out), want);
    assert_int_equal(got, framing);
    cor_buf_deinit(&out);
}

TEST(h1_write, a_known_length_is_said)
{
    struct cor_h1_message msg = {.peer_minor = 1, .keep_alive = true, .length = 12};

    check_response(200, msg, COR_H1_LENGTH, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n");
    msg.headers = &json;
    msg.nheaders = 1;
    msg.date = COR_STR("Sun, 06 Nov 1994 08:49:37 GMT");
    msg.length = 0;
    check_response(
        404, msg, COR_H1_LENGTH,
        "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        "Content-Length: 0\r\n\r\n");
    check_response(799, (struct cor_h1_message){.peer_minor = 1, .keep_alive = true}, COR_H1_LENGTH,
                   "HTTP/1.1 799 \r\nContent-Length: 0\r\n\r\n");
}

TEST(h1_write, an_unknown_length_is_chunked_or_ends_with_the_connection)
{
    struct cor_h1_message msg = {
        .peer_minor = 1, .keep_alive = true, .length = COR_H1_LENGTH_UNKNOWN};

    check_response(200, msg, COR_H1_CHUNKED,
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    msg.peer_minor = 0;
    check_response(200, msg, COR_H1_UNTIL_CLOSE, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

TEST(h1_write, the_connection_header_follows_version_and_wish)
{
    check_response(200, (struct cor_h1_message){.peer_minor = 1}, COR_H1_LENGTH,
                   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    check_response(200, (struct cor_h1_message){.peer_minor = 0, .keep_alive = true}, COR_H1_LENGTH,
                   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
}

TEST(h1_write, some_responses_have_no_body)
{
    struct cor_h1_message msg = {.peer_minor = 1, .keep_alive = true, .length = 5, .to_head = true};

    check_response(200, msg, COR_H1_NO_BODY, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    msg.to_head = false;
    msg.length = COR_H1_LENGTH_UNKNOWN;
    check_response(204, msg, COR_H1_NO_BODY, "HTTP/1.1 204 No Content\r\n\r\n");
    check_response(304, msg, COR_H1_NO_BODY, "HTTP/1.1 304 Not Modified\r\n\r\n");
}

TEST(h1_write, a_header_cannot_break_out_of_its_line)
{
    struct cor_http_header evil = {COR_STR("A\r\nB"), COR_STR("x\r\nSet-Cookie: y\0z")};

    check_response(200,
                   (struct cor_h1_message){
                       .peer_minor = 1, .keep_alive = true, .headers = &evil, .nheaders = 1},
                   COR_H1_LENGTH,
                   "HTTP/1.1 200 OK\r\nA  B: x  Set-Cookie: y z\r\nContent-Length: 0\r\n\r\n");
}

static void check_request(const char *method, uint64_t length, enum cor_h1_framing framing,
                          const char *want)
{
    struct cor_http_header host = {COR_STR("Host"), COR_STR("a")};
    struct cor_h1_message msg = {
        .peer_minor = 1, .keep_alive = true, .length = length, .headers = &host, .nheaders = 1};
    enum cor_h1_framing got;
    struct cor_buf out;

    cor_buf_init(&out, 1 << 16);
    assert_int_equal(cor_h1_write_request(&out, cor_strz(method), COR_STR("/x"), &msg, &got), 0);
    assert_string_equal(cor_buf_z(&out), want);
    assert_int_equal(got, framing);
    cor_buf_deinit(&out);
}

TEST(h1_write, requests_say_a_length_where_a_body_is_expected)
{
    check_request("GET", 0, COR_H1_NO_BODY, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    check_request("POST", 0, COR_H1_NO_BODY,
                  "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    check_request("PUT", 7, COR_H1_LENGTH,
                  "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n");
    check_request("POST", COR_H1_LENGTH_UNKNOWN, COR_H1_CHUNKED,
                  "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(h1_write, chunk_heads_are_hexadecimal)
{
    char out[COR_H1_CHUNK_HEAD_MAX];

    assert_str(cor_str(out, cor_h1_chunk_head(out, 1)), "1\r\n");
    assert_str(cor_str(out, cor_h1_chunk_head(out, 255)), "ff\r\n");
    assert_str(cor_str(out, cor_h1_chunk_head(out, 0x10000)), "10000\r\n");
    assert_str(cor_str(out, cor_h1_chunk_head(out, SIZE_MAX)), "ffffffffffffffff\r\n");
}

TEST(h1_write, a_head_that_does_not_fit_leaves_the_buffer_as_it_was)
{
    struct cor_h1_message msg = {.peer_minor = 1, .headers = &json, .nheaders = 1};
    enum cor_h1_framing framing;
    struct cor_buf out;

    cor_buf_init(&out, 100);
    assert_int_equal(cor_buf_addz(&out, "abc"), 0);
    assert_int_equal(cor_h1_write_response(&out, 200, &msg, &framing), -COR_ETOOBIG);
    assert_string_equal(cor_buf_z(&out), "abc");
    cor_buf_deinit(&out);
    cor_buf_init(&out, 1 << 16);
    FOR_EACH_FAILED_ALLOC(i) {
        int r = cor_h1_write_request(&out, COR_STR("GET"), COR_STR("/"), &msg, &framing);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_int_equal(strncmp(cor_buf_z(&out), "GET / HTTP/1.1\r\n", 16), 0);
        else
            assert_int_equal(out.n, 0);
        cor_buf_deinit(&out);
    }
}
