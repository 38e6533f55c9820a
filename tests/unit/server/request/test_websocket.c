#include "server/request/websocket.h"

#include "base/err.h"
#include "test.h"

#define TOKEN "base64url.bearer.authorization.k8s.io."

/* A request with these headers: names and values in turn, NULL at the end. */
static struct cor_http_request request_of(const char *const *text, struct cor_http_header *headers)
{
    struct cor_http_request req = {.method = COR_HTTP_GET, .headers = headers};

    for (; text[0]; text += 2)
        headers[req.nheaders++] = (struct cor_http_header){cor_strz(text[0]), cor_strz(text[1])};
    return req;
}

TEST(websocket, is_asked_for_by_two_headers)
{
    static const struct {
        const char *headers[9];
        bool is_asked;
    } rows[] = {
        {{"Upgrade", "websocket", "Connection", "Upgrade"}, true},
        {{"upgrade", "WebSocket", "connection", "keep-alive, upgrade"}, true},
        {{"Connection", "close", "Upgrade", "websocket", "Connection", "xUPGRADEx"}, true},
        {{"Upgrade", "websocket"}, false},
        {{"Connection", "Upgrade"}, false},
        {{"Upgrade", "h2c", "Connection", "Upgrade"}, false},
        {{"Upgrade", "websocket, h2c", "Connection", "Upgrade"}, false},
        {{"Upgrade", "websocket", "Connection", "Upgrad"}, false},
        {{NULL}, false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_http_header headers[4];
        struct cor_http_request req = request_of(rows[i].headers, headers);

        assert_int_equal(cor_websocket_is_asked(&req), rows[i].is_asked);
    }
}

/* Contract access 2.4.2. */
TEST(websocket, carries_a_token_beside_another_subprotocol)
{
    static const struct {
        const char *headers[5];
        int r;
        const char *token;
    } rows[] = {
        {{"Sec-WebSocket-Protocol", TOKEN "c2VjcmV0, v1"}, 1, "secret"},
        {{"Sec-WebSocket-Protocol", "v1," TOKEN "c2VjcmV0"}, 1, "secret"},
        {{"sec-websocket-protocol", "v1", "Sec-WebSocket-Protocol", " " TOKEN "c2VjcmV0 "},
         1,
         "secret"},
        {{"Sec-WebSocket-Protocol", TOKEN "_-8"}, -COR_EINVAL, ""}, /* not UTF-8 */
        {{"Sec-WebSocket-Protocol", TOKEN "w7w, v1"}, 1, "\xc3\xbc"},
        {{"Sec-WebSocket-Protocol", TOKEN "c2VjcmV0"}, -COR_EINVAL, ""},
        {{"Sec-WebSocket-Protocol", TOKEN "c2VjcmV0," TOKEN "c2VjcmV0, v1"}, -COR_EINVAL, ""},
        {{"Sec-WebSocket-Protocol", TOKEN "c2VjcmV0==, v1"}, -COR_EINVAL, ""},
        {{"Sec-WebSocket-Protocol", TOKEN "!!!, v1"}, -COR_EINVAL, ""},
        {{"Sec-WebSocket-Protocol", TOKEN ", v1"}, 0, ""},
        {{"Sec-WebSocket-Protocol", "v1, v2"}, 0, ""},
        {{"Sec-WebSocket-Protocol", ""}, 0, ""},
        {{NULL}, 0, ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf token;
        struct cor_http_header headers[2];
        struct cor_http_request req = request_of(rows[i].headers, headers);
        int r;

        cor_buf_init(&token, 100);
        r = cor_websocket_token(&req, &token);
        assert_int_equal(r, rows[i].r);
        if (r == 1)
            assert_str(cor_buf_str(&token), rows[i].token);
    }
}

/* As kube-apiserver answers them (golang.org/x/net/websocket). */
TEST(websocket, handshakes_are_accepted_and_refused_as_upstream)
{
    static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==", origin[] = "https://a.example";
    static const struct {
        const char *key, *version, *origin, *protocol;
        bool is_by_token;
        int refusal;
        const char *text, *answered;
    } rows[] = {
        {key, "13", origin, NULL, false, 0, "", ""},
        {key, "13", "/x", NULL, false, 0, "", ""},
        {key, "13", "*", NULL, false, 0, "", ""},
        {key, "13", "app:x", NULL, false, 0, "", ""},
        {key, "13", "http://a%20b", NULL, false, 0, "", ""},
        {key, "13", origin, "v1", false, 0, "", "v1"},
        {key, "13", origin, TOKEN "c2VjcmV0, v1", true, 0, "", "v1"},
        {key, "13", origin, TOKEN "c2VjcmV0, v1", false, 400, "", ""},
        {key, "13", origin, "v1, v2", false, 400, "", ""},
        {key, "13", origin, "v1,", false, 400, "", ""},
        {key, "13", origin, " ", false, 0, "", ""},
        {key, "13", NULL, NULL, false, 403, "", ""},
        {key, "13", "", NULL, false, 403, "", ""},
        {key, "13", "null", NULL, false, 403, "", ""},
        {key, "13", "::x%%", NULL, false, 403, "", ""},
        {key, "13", "http://a b", NULL, false, 403, "", ""},
        {key, "8", origin, NULL, false, 400, "missing or bad WebSocket Version", ""},
        {key, NULL, origin, NULL, false, 400, "missing or bad WebSocket Version", ""},
        {NULL, "8", NULL, NULL, false, 400, "mismatch challenge/response", ""},
        {"", "13", origin, NULL, false, 400, "mismatch challenge/response", ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_http_header headers[4];
        struct cor_http_request req = {.headers = headers};
        struct cor_websocket_handshake shake;
        const char *const pairs[][2] = {{"Sec-WebSocket-Key", rows[i].key},
                                        {"Sec-WebSocket-Version", rows[i].version},
                                        {"Origin", rows[i].origin},
                                        {"Sec-WebSocket-Protocol", rows[i].protocol}};

        for (size_t k = 0; k < COR_ARRAY_LEN(pairs); k++) {
            if (pairs[k][1])
                headers[req.nheaders++] =
                    (struct cor_http_header){cor_strz(pairs[k][0]), cor_strz(pairs[k][1])};
        }
        assert_int_equal(cor_websocket_shake(&req, rows[i].is_by_token, &shake), 0);
        assert_int_equal(shake.refusal, rows[i].refusal);
        assert_string_equal(shake.text, rows[i].text);
        assert_int_equal(shake.is_bad_version, strstr(rows[i].text, "Version") != NULL);
        if (shake.refusal == 0) {
            assert_string_equal(shake.protocol, rows[i].answered);
            assert_string_equal(shake.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        }
    }
}
