/* The handshake of a WebSocket. The order of checks is that of golang.org/x/net/websocket, behind
 * which kube-apiserver serves watches: key, version, origin, number of subprotocols.
 * Thread: any. */
#include "server/request/websocket.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/utf8.h"

#define TOKEN_PREFIX    "base64url.bearer.authorization.k8s.io."
#define PROTOCOL_HEADER COR_STR("sec-websocket-protocol")

static bool has_upgrade(struct cor_str value)
{
    static const char word[] = "upgrade";

    for (; value.n >= sizeof(word) - 1; value = cor_str_from(value, 1)) {
        if (strncasecmp(value.p, word, sizeof(word) - 1) == 0)
            return true;
    }
    return false;
}

bool cor_websocket_is_asked(const struct cor_http_request *req)
{
    struct cor_str upgrade = cor_http_request_header(req, COR_STR("upgrade"));

    if (!upgrade.p || !cor_header_name_eq(upgrade, COR_STR("websocket")))
        return false;
    for (size_t i = 0; i < req->nheaders; i++) {
        if (cor_header_name_eq(req->headers[i].name, COR_STR("connection")) &&
            has_upgrade(req->headers[i].value))
            return true;
    }
    return false;
}

int cor_websocket_token(const struct cor_http_request *req, struct cor_buf *out)
{
    struct cor_str encoded = {0};
    size_t nothers = 0, before = out->n;
    int r;

    for (size_t i = 0; i < req->nheaders; i++) {
        struct cor_str rest = req->headers[i].value;

        if (!cor_header_name_eq(req->headers[i].name, PROTOCOL_HEADER))
            continue;
        /* As Go splits: what has no comma is one item, even if it is empty. */
        do {
            struct cor_str item = cor_str_trim(cor_str_cut(&rest, ','));

            if (!cor_str_starts(item, COR_STR(TOKEN_PREFIX)))
                nothers++;
            else if (encoded.p)
                return -COR_EINVAL;
            else
                encoded = cor_str_from(item, sizeof(TOKEN_PREFIX) - 1);
        } while (rest.p);
    }
    if (encoded.n == 0)
        return 0;
    r = cor_base64_decode(COR_BASE64_RAW_URL, encoded, out, NULL);
    if (r < 0)
        return r == -COR_ETOOBIG ? -COR_EINVAL : r;
    if (cor_utf8_find_invalid(cor_str_from(cor_buf_str(out), before)) >= 0)
        return -COR_EINVAL;
    if (out->n == before)
        return 0;
    return nothers == 0 ? -COR_EINVAL : 1;
}

/* Would Go's url.ParseRequestURI take it? A path, `*`, or what begins with a scheme; no control
 * characters, no percent sign without its two digits, no space in the host. */
static bool is_origin(struct cor_str origin)
{
    struct cor_str rest = origin;
    size_t scheme = 0;

    for (size_t i = 0; i < origin.n; i++) {
        unsigned char c = (unsigned char)origin.p[i];

        if (c < 0x20 || c == 0x7f)
            return false;
        if (c == '%' && (origin.n - i < 3 || !isxdigit((unsigned char)origin.p[i + 1]) ||
                         !isxdigit((unsigned char)origin.p[i + 2])))
            return false;
    }
    while (scheme < origin.n && (isalpha((unsigned char)origin.p[scheme]) ||
                                 (scheme > 0 && (isdigit((unsigned char)origin.p[scheme]) ||
                                                 memchr("+-.", origin.p[scheme], 3)))))
        scheme++;
    if (scheme > 0 && scheme < origin.n && origin.p[scheme] == ':')
        rest = cor_str_from(origin, scheme + 1);
    else
        return cor_str_eqz(origin, "*") || (origin.n > 0 && origin.p[0] == '/');
    if (cor_str_starts(rest, COR_STR("//"))) {
        rest = cor_str_from(rest, 2);
        return cor_str_find(cor_str_cut(&rest, '/'), ' ') < 0;
    }
    return true;
}

/* Chooses the subprotocol that is answered: the only one there is. False: there are several. */
static bool choose_protocol(const struct cor_http_request *req, bool is_by_token,
                            char ret_protocol[COR_WEBSOCKET_PROTOCOL_MAX])
{
    struct cor_str chosen = {0};
    size_t n = 0;

    for (size_t i = 0; i < req->nheaders; i++) {
        struct cor_str rest = cor_str_trim(req->headers[i].value);

        if (!cor_header_name_eq(req->headers[i].name, PROTOCOL_HEADER) || rest.n == 0)
            continue;
        do {
            struct cor_str item = cor_str_trim(cor_str_cut(&rest, ','));

            if (is_by_token && cor_str_starts(item, COR_STR(TOKEN_PREFIX)))
                continue;
            chosen = item;
            n++;
        } while (rest.p);
        /* All headers of that name are read only where the token is looked for. */
        if (!is_by_token)
            break;
    }
    if (n > 1 || chosen.n >= COR_WEBSOCKET_PROTOCOL_MAX)
        return false;
    if (chosen.n > 0)
        memcpy(ret_protocol, chosen.p, chosen.n);
    ret_protocol[chosen.n] = '\0';
    return true;
}

int cor_websocket_shake(const struct cor_http_request *req, bool is_by_token,
                        struct cor_websocket_handshake *ret_handshake)
{
    struct cor_str key = cor_http_request_header(req, COR_STR("sec-websocket-key"));
    struct cor_str version = cor_http_request_header(req, COR_STR("sec-websocket-version"));
    struct cor_str origin = cor_http_request_header(req, COR_STR("origin"));
    struct cor_websocket_handshake *shake = ret_handshake;

    *shake = (struct cor_websocket_handshake){.refusal = 400, .text = ""};
    if (key.n == 0) {
        shake->text = "mismatch challenge/response";
    } else if (!cor_str_eqz(version, "13")) {
        shake->text = "missing or bad WebSocket Version";
        shake->is_bad_version = true;
    } else if (!is_origin(origin)) {
        shake->refusal = 403;
    } else if (choose_protocol(req, is_by_token, shake->protocol)) {
        shake->refusal = 0;
        return cor_ws_accept(key, shake->accept);
    }
    return 0;
}
