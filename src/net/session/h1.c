#include "net/session/h1.h"

#include <assert.h>

#include <llhttp.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

enum phase { PHASE_IDLE, PHASE_HEAD, PHASE_BODY, PHASE_DONE, PHASE_FAILED };

struct cor_h1 {
    llhttp_t parser; /* its `data` is the session */
    enum phase phase;
    bool to_head;
    bool in_value;   /* the last header field has got its value's first byte */
    bool is_interim; /* a 1xx response, which is not shown */
    bool is_paused;  /* after the head or a piece of the body, because its callback asked for it */
    bool takes_upgrade; /* client: a 101 is a response */
    unsigned ninterim;  /* client: 1xx responses before this one */
    int r;              /* the code of a failure found in a callback */
    size_t extra;       /* bytes of trailers and chunk extensions */
    uint64_t body_bytes, body_max;
    struct cor_buf bytes;            /* target and header fields of the head */
    struct cor_http_header *headers; /* while the head is read, `p` counts from bytes.p */
    size_t nheaders, headers_cap;
    size_t target_n;
    struct cor_h1_head head;
    struct cor_h1_error error;
    const struct cor_h1_limits *limits;
    const struct cor_h1_cbs *cbs;
    void *arg;
};

#define HEADERS_FIRST_CAP 16

static int fail(struct cor_h1 *h, int r, int status, const char *text)
{
    h->r = r;
    h->error = (struct cor_h1_error){status, text};
    return HPE_USER;
}

static int fail_memory(struct cor_h1 *h)
{
    return fail(h, -COR_ENOMEM, 503, "out of memory");
}

static int on_message_begin(llhttp_t *parser)
{
    struct cor_h1 *h = parser->data;

    h->phase = PHASE_HEAD;
    return 0;
}

/* Room is made for all of `n`; what does not fit the limit is a failure with `status`. */
static int add_bytes(struct cor_h1 *h, const char *p, size_t n, int status, const char *text)
{
    int r = cor_buf_add(&h->bytes, p, n);

    if (r == -COR_ETOOBIG)
        return fail(h, r, status, text);
    return r < 0 ? fail_memory(h) : 0;
}

static int on_url(llhttp_t *parser, const char *p, size_t n)
{
    struct cor_h1 *h = parser->data;

    h->target_n += n;
    return add_bytes(h, p, n, 414, "request target too long");
}

static int count_extra(struct cor_h1 *h, size_t n)
{
    h->extra += n;
    if (h->extra > h->limits->head_max)
        return fail(h, -COR_ETOOBIG, 431, "trailers or chunk extensions too large");
    return 0;
}

static int on_chunk_extension(llhttp_t *parser, const char *p, size_t n)
{
    return count_extra(parser->data, n);
}

static int begin_header(struct cor_h1 *h)
{
    if (h->nheaders == h->limits->headers_max)
        return fail(h, -COR_ETOOBIG, 431, "too many header fields");
    if (COR_ARRAY_RESERVE(&h->headers, h->nheaders, &h->headers_cap, COR_ARRAY_NO_MAX) < 0)
        return fail_memory(h);
    h->headers[h->nheaders++] = (struct cor_http_header){
        .name = {(const char *)(uintptr_t)h->bytes.n, 0},
    };
    h->in_value = false;
    return 0;
}

static int on_header_field(llhttp_t *parser, const char *p, size_t n)
{
    struct cor_h1 *h = parser->data;
    int r;

    if (h->phase == PHASE_BODY)
        return count_extra(h, n);
    if (h->nheaders == 0 || h->in_value) {
        r = begin_header(h);
        if (r != 0)
            return r;
    }
    h->headers[h->nheaders - 1].name.n += n;
    return add_bytes(h, p, n, 431, "request header fields too large");
}

static void begin_value(struct cor_h1 *h)
{
    if (!h->in_value)
        h->headers[h->nheaders - 1].value.p = (const char *)(uintptr_t)h->bytes.n;
    h->in_value = true;
}

static int on_header_value(llhttp_t *parser, const char *p, size_t n)
{
    struct cor_h1 *h = parser->data;

    if (h->phase == PHASE_BODY)
        return count_extra(h, n);
    begin_value(h);
    h->headers[h->nheaders - 1].value.n += n;
    return add_bytes(h, p, n, 431, "request header fields too large");
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct cor_h1 *h = parser->data;

    if (h->phase != PHASE_BODY)
        begin_value(h);
    return 0;
}

static void rebase(struct cor_h1 *h)
{
    const char *base = h->bytes.p ? h->bytes.p : "";

    h->head.target = cor_str(base, h->target_n);
    for (size_t i = 0; i < h->nheaders; i++) {
        struct cor_http_header *f = &h->headers[i];

        f->name.p = base + (uintptr_t)f->name.p;
        f->value.p = base + (uintptr_t)f->value.p;
        f->value = cor_str_trim(f->value);
    }
    h->head.headers = h->headers;
    h->head.nheaders = h->nheaders;
}

static int check_transfer_encoding(struct cor_h1 *h)
{
    struct cor_str value = cor_header_find(h->headers, h->nheaders, COR_STR("transfer-encoding"));

    if (!value.p)
        return 0;
    if (h->head.minor == 0)
        return fail(h, -COR_EINVAL, 400, "transfer encoding in HTTP/1.0");
    if (cor_header_count(h->headers, h->nheaders, COR_STR("transfer-encoding")) > 1 ||
        !cor_header_name_eq(value, COR_STR("chunked")))
        return fail(h, -COR_ENOTSUP, 501, "unsupported transfer encoding");
    return 0;
}

static int check_request(struct cor_h1 *h)
{
    struct cor_str expect = cor_header_find(h->headers, h->nheaders, COR_STR("expect"));
    size_t hosts = cor_header_count(h->headers, h->nheaders, COR_STR("host"));

    if (hosts > 1)
        return fail(h, -COR_EINVAL, 400, "too many Host headers");
    if (hosts == 0 && h->head.minor > 0)
        return fail(h, -COR_EINVAL, 400, "missing required Host header");
    if (h->parser.method == HTTP_CONNECT)
        return fail(h, -COR_ENOTSUP, 501, "CONNECT is not supported");
    if (!expect.p || h->head.minor == 0)
        return 0;
    h->head.expects_continue = cor_header_name_eq(expect, COR_STR("100-continue"));
    return h->head.expects_continue ? 0 : fail(h, -COR_EINVAL, 417, "unknown expectation");
}

static uint64_t body_length(const struct cor_h1 *h)
{
    if (h->to_head || h->head.status == 101 || h->head.status == 204 || h->head.status == 304)
        return 0;
    if (h->parser.flags & F_CONTENT_LENGTH)
        return h->parser.content_length;
    if (h->parser.flags & F_CHUNKED)
        return COR_H1_LENGTH_UNKNOWN;
    return h->parser.type == HTTP_REQUEST ? 0 : COR_H1_LENGTH_UNKNOWN;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct cor_h1 *h = parser->data;
    bool is_request = parser->type == HTTP_REQUEST;
    int r;

    rebase(h);
    h->head.status = is_request ? 0 : parser->status_code;
    h->head.minor = parser->http_minor;
    h->is_interim = h->head.status >= 100 && h->head.status < 200 && h->head.status != 101;
    if (parser->http_major != 1)
        return fail(h, -COR_ENOTSUP, 505, "unsupported protocol version");
    if (!is_request && h->head.status < 100)
        return fail(h, -COR_EINVAL, 400, "a status below 100");
    if (h->head.status == 101 && !h->takes_upgrade)
        return fail(h, -COR_EINVAL, 400, "an upgrade that was not asked for");
    if (h->is_interim && h->ninterim == COR_H1_INTERIM_MAX)
        return fail(h, -COR_ETOOBIG, 400, "too many interim responses");
    r = check_transfer_encoding(h);
    if (r == 0 && is_request)
        r = check_request(h);
    if (r != 0)
        return r;
    parser->upgrade = 0;
    h->phase = PHASE_BODY;
    /* The parser would read a body that the head of an interim response declares. */
    if (h->is_interim)
        return 1;
    if (is_request)
        h->head.method = cor_strz(llhttp_method_name((llhttp_method_t)parser->method));
    h->head.length = body_length(h);
    h->head.keep_alive = llhttp_should_keep_alive(parser);
    r = h->cbs->on_head(&h->head, h->arg);
    if (r < 0)
        return fail(h, r, 500, "refused");
    if (r == COR_H1_PAUSE) {
        h->is_paused = true;
        return HPE_PAUSED;
    }
    if (h->head.length != COR_H1_LENGTH_UNKNOWN && h->head.length > h->body_max)
        return fail(h, -COR_ETOOBIG, 413, "body too large");
    return h->to_head || h->head.status == 101 ? 1 : 0;
}

static int on_body(llhttp_t *parser, const char *p, size_t n)
{
    struct cor_h1 *h = parser->data;
    int r;

    if (n == 0)
        return 0;
    h->body_bytes += n;
    if (h->body_bytes > h->body_max)
        return fail(h, -COR_ETOOBIG, 413, "body too large");
    r = h->cbs->on_body(cor_str(p, n), h->arg);
    if (r == COR_H1_PAUSE) {
        h->is_paused = true;
        return HPE_PAUSED;
    }
    return r < 0 ? fail(h, r, 500, "refused") : 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct cor_h1 *h = parser->data;
    int r;

    h->phase = PHASE_DONE;
    if (h->is_interim)
        return HPE_PAUSED;
    r = h->cbs->on_end(h->arg);
    return r < 0 ? fail(h, r, 500, "refused") : HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

struct cor_h1 *cor_h1_new(enum cor_h1_role role, const struct cor_h1_limits *limits,
                          const struct cor_h1_cbs *cbs, void *arg)
{
    struct cor_h1 *h = cor_calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    llhttp_init(&h->parser, role == COR_H1_SERVER ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
    h->parser.data = h;
    cor_buf_init(&h->bytes, limits->head_max);
    h->limits = limits;
    h->body_max = limits->body_max;
    h->cbs = cbs;
    h->arg = arg;
    return h;
}

static void free_fields(struct cor_h1 *h)
{
    cor_buf_deinit(&h->bytes);
    h->headers = cor_free(h->headers);
    h->nheaders = h->headers_cap = 0;
}

static void forget(struct cor_h1 *h)
{
    free_fields(h);
    h->target_n = h->extra = 0;
    h->ninterim = 0;
    h->body_bytes = 0;
    h->body_max = h->limits->body_max;
    h->in_value = h->is_interim = h->is_paused = h->takes_upgrade = false;
    h->head = (struct cor_h1_head){0};
    h->phase = PHASE_IDLE;
}

struct cor_h1 *cor_h1_free(struct cor_h1 *h)
{
    if (!h)
        return NULL;
    forget(h);
    return cor_free(h);
}

void cor_h1_next(struct cor_h1 *h, bool to_head)
{
    llhttp_type_t type = (llhttp_type_t)h->parser.type;

    assert(h->phase == PHASE_DONE || h->phase == PHASE_IDLE);
    forget(h);
    h->to_head = to_head;
    llhttp_init(&h->parser, type, &settings);
    h->parser.data = h;
}

static int parser_failure(struct cor_h1 *h, llhttp_errno_t e)
{
    h->phase = PHASE_FAILED;
    if (h->r < 0)
        return h->r;
    if (e == HPE_PAUSED_H2_UPGRADE || (e == HPE_INVALID_VERSION && h->parser.http_major != 1)) {
        h->error = (struct cor_h1_error){505, "unsupported protocol version"};
        return -COR_ENOTSUP;
    }
    h->error = (struct cor_h1_error){400, llhttp_get_error_reason(&h->parser)};
    if (!h->error.text || !*h->error.text)
        h->error.text = "malformed message";
    return -COR_EINVAL;
}

/* llhttp hands out a head in pieces of what it is fed: room for the first feed at once saves the
 * steps of growing. */
static int feed(struct cor_h1 *h, struct cor_str in, size_t *ret_used)
{
    size_t first = in.n < h->limits->head_max ? in.n : h->limits->head_max;
    llhttp_errno_t e;

    if (h->phase == PHASE_IDLE && cor_buf_reserve(&h->bytes, first < 2048 ? first : 2048) < 0) {
        fail_memory(h);
        h->phase = PHASE_FAILED;
        return h->r;
    }
    e = llhttp_execute(&h->parser, in.p, in.n);
    *ret_used = e == HPE_OK ? in.n : (size_t)(llhttp_get_error_pos(&h->parser) - in.p);
    return e == HPE_OK || e == HPE_PAUSED ? 0 : parser_failure(h, e);
}

int cor_h1_feed(struct cor_h1 *h, struct cor_str in, size_t *ret_used)
{
    /* After the last piece of a body there is nothing to read, and its end to be noticed. */
    bool was_in_body = h->is_paused && h->body_bytes > 0;
    size_t used;
    int r;

    assert(h->phase != PHASE_FAILED);
    *ret_used = 0;
    if (h->is_paused) {
        h->is_paused = false;
        llhttp_resume(&h->parser);
    }
    while ((in.n > 0 || was_in_body) && h->phase != PHASE_DONE && !h->is_paused) {
        used = 0;
        was_in_body = false;
        r = feed(h, in, &used);
        *ret_used += used;
        if (r < 0)
            return r;
        in = cor_str_from(in, used);
        if (h->phase == PHASE_DONE && h->is_interim) {
            bool takes_upgrade = h->takes_upgrade;
            unsigned ninterim = h->ninterim + 1;

            cor_h1_next(h, h->to_head);
            h->takes_upgrade = takes_upgrade;
            h->ninterim = ninterim;
        }
    }
    return 0;
}

int cor_h1_finish(struct cor_h1 *h)
{
    llhttp_errno_t e;

    if (h->phase == PHASE_IDLE || h->phase == PHASE_DONE)
        return 0;
    if (h->phase != PHASE_BODY || !llhttp_message_needs_eof(&h->parser)) {
        h->phase = PHASE_FAILED;
        h->error = (struct cor_h1_error){400, "the message is cut off"};
        return -COR_EINVAL;
    }
    e = llhttp_finish(&h->parser);
    return e == HPE_OK || e == HPE_PAUSED ? 0 : parser_failure(h, e);
}

bool cor_h1_is_done(const struct cor_h1 *h)
{
    return h->phase == PHASE_DONE;
}

bool cor_h1_is_paused(const struct cor_h1 *h)
{
    return h->is_paused;
}

uint64_t cor_h1_body_left(const struct cor_h1 *h)
{
    if (h->phase == PHASE_DONE)
        return 0;
    if (h->head.length == COR_H1_LENGTH_UNKNOWN)
        return COR_H1_LENGTH_UNKNOWN;
    return h->head.length - h->body_bytes;
}

void cor_h1_set_body_max(struct cor_h1 *h, uint64_t max)
{
    h->body_max = max;
}

void cor_h1_take_upgrade(struct cor_h1 *h)
{
    assert(h->phase == PHASE_IDLE);
    h->takes_upgrade = true;
}

void cor_h1_release_head(struct cor_h1 *h)
{
    assert(h->phase == PHASE_BODY || h->phase == PHASE_DONE);
    free_fields(h);
    h->head.target = (struct cor_str){0};
    h->head.headers = NULL;
    h->head.nheaders = 0;
}

size_t cor_h1_head_bytes(const struct cor_h1 *h)
{
    return h->bytes.cap + h->headers_cap * sizeof(*h->headers);
}

bool cor_h1_is_begun(const struct cor_h1 *h)
{
    return h->phase != PHASE_IDLE;
}

const struct cor_h1_head *cor_h1_head(const struct cor_h1 *h)
{
    return &h->head;
}

const struct cor_h1_error *cor_h1_error(const struct cor_h1 *h)
{
    return &h->error;
}
