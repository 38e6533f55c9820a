/* Writes the heads of HTTP/1.1 messages and of chunks. Room for a whole head is reserved at first,
 * and its parts are put without further checks. A CR, LF or NUL in what others gave becomes a
 * space, so that no field can begin another. How the body is framed follows from the message: by
 * its length, in chunks, by the end of the connection, or there is none. Fails only for lack of
 * memory or for the buffer's maximum, and has written nothing then. Thread: any. */
#include "net/session/h1.h"

#include "base/err.h"

static const struct {
    int status;
    const char *text;
} texts[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Request Entity Too Large"},
    {414, "Request URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

const char *cor_h1_status_text(int status)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        if (texts[i].status == status)
            return texts[i].text;
    }
    return "";
}

/* The room is there: write_head() reserves it. */
static void put(struct cor_buf *out, struct cor_str s)
{
    if (s.n > 0)
        memcpy(out->p + out->n, s.p, s.n);
    out->n += s.n;
}

static void put_clean(struct cor_buf *out, struct cor_str s)
{
    char *to = out->p + out->n;

    for (size_t i = 0; i < s.n; i++)
        to[i] = s.p[i] == '\r' || s.p[i] == '\n' || s.p[i] == '\0' ? ' ' : s.p[i];
    out->n += s.n;
}

static void put_number(struct cor_buf *out, uint64_t v)
{
    char digits[20];
    size_t i = sizeof(digits);

    do
        digits[--i] = (char)('0' + v % 10);
    while (v /= 10);
    put(out, cor_str(digits + i, sizeof(digits) - i));
}

static void put_framing(struct cor_buf *out, const struct cor_h1_message *msg,
                        enum cor_h1_framing framing, bool says_length)
{
    if (framing == COR_H1_CHUNKED) {
        put(out, COR_STR("Transfer-Encoding: chunked\r\n"));
    } else if (says_length) {
        put(out, COR_STR("Content-Length: "));
        put_number(out, msg->length);
        put(out, COR_STR("\r\n"));
    }
    if (!msg->keep_alive || framing == COR_H1_UNTIL_CLOSE)
        put(out, COR_STR("Connection: close\r\n"));
    else if (msg->peer_minor == 0)
        put(out, COR_STR("Connection: keep-alive\r\n"));
}

/* Everything after the first line. */
static void put_fields(struct cor_buf *out, const struct cor_h1_message *msg)
{
    for (size_t i = 0; i < msg->nheaders; i++) {
        put_clean(out, msg->headers[i].name);
        put(out, COR_STR(": "));
        put_clean(out, msg->headers[i].value);
        put(out, COR_STR("\r\n"));
    }
    if (msg->date.n > 0) {
        put(out, COR_STR("Date: "));
        put(out, msg->date);
        put(out, COR_STR("\r\n"));
    }
}

/* Enough for all that is not the caller's: the first line's fixed parts, framing and date. */
#define FIXED_MAX 256

static int reserve_head(struct cor_buf *out, const struct cor_h1_message *msg, size_t first_line)
{
    size_t n = FIXED_MAX + first_line + msg->date.n;

    for (size_t i = 0; i < msg->nheaders; i++)
        n += msg->headers[i].name.n + msg->headers[i].value.n + 4;
    return cor_buf_reserve(out, n);
}

static void end_head(struct cor_buf *out)
{
    put(out, COR_STR("\r\n"));
    out->p[out->n] = '\0';
}

int cor_h1_write_response(struct cor_buf *out, int status, const struct cor_h1_message *msg,
                          enum cor_h1_framing *ret_framing)
{
    bool bodiless = status == 204 || status == 304 || status < 200;
    bool has_length = msg->length != COR_H1_LENGTH_UNKNOWN;
    enum cor_h1_framing framing = COR_H1_LENGTH;
    int r = reserve_head(out, msg, 0);

    if (r < 0)
        return r;
    if (bodiless || msg->to_head)
        framing = COR_H1_NO_BODY;
    else if (!has_length)
        framing = msg->peer_minor > 0 ? COR_H1_CHUNKED : COR_H1_UNTIL_CLOSE;
    put(out, COR_STR("HTTP/1.1 "));
    put_number(out, (uint64_t)status);
    put(out, COR_STR(" "));
    put(out, cor_strz(cor_h1_status_text(status)));
    put(out, COR_STR("\r\n"));
    put_fields(out, msg);
    put_framing(out, msg, framing, has_length && !bodiless);
    end_head(out);
    *ret_framing = framing;
    return 0;
}

int cor_h1_write_request(struct cor_buf *out, struct cor_str method, struct cor_str target,
                         const struct cor_h1_message *msg, enum cor_h1_framing *ret_framing)
{
    bool has_length = msg->length != COR_H1_LENGTH_UNKNOWN;
    bool carries_body =
        cor_str_eqz(method, "POST") || cor_str_eqz(method, "PUT") || cor_str_eqz(method, "PATCH");
    enum cor_h1_framing framing = has_length ? COR_H1_LENGTH : COR_H1_CHUNKED;
    int r = reserve_head(out, msg, method.n + target.n);

    if (r < 0)
        return r;
    if (msg->length == 0)
        framing = COR_H1_NO_BODY;
    put_clean(out, method);
    put(out, COR_STR(" "));
    put_clean(out, target);
    put(out, COR_STR(" HTTP/1.1\r\n"));
    put_fields(out, msg);
    put_framing(out, msg, framing, has_length && (msg->length > 0 || carries_body));
    end_head(out);
    *ret_framing = framing;
    return 0;
}

size_t cor_h1_chunk_head(char out[COR_H1_CHUNK_HEAD_MAX], size_t n)
{
    char digits[16];
    size_t i = sizeof(digits), len;

    do
        digits[--i] = "0123456789abcdef"[n & 15];
    while (n >>= 4);
    len = sizeof(digits) - i;
    memcpy(out, digits + i, len);
    memcpy(out + len, "\r\n", 2);
    return len + 2;
}
