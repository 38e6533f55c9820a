#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/rest_int.h"
#include "loop/loop.h"
#include "net/h1.h"

#define ERROR_MAX (1u << 20) /* of an answer that tells of one; the rest is not read */
#define NEVER     UINT64_MAX
/* Of a call's headers, for those of the HTTP client and the credentials. */
#define HEADERS_SPARE 8

/*   WAITING ──► CALLING ──► DONE */
enum state { WAITING, CALLING, DONE };

struct cor_rest_request {
    struct cor_rest_client *rc;
    struct cor_list link; /* rc->requests */
    enum state state;
    struct cor_rest_request_opts opts; /* the strings are in `text` */
    char *text;
    struct cor_buf target;
    struct cor_header_list headers;
    struct cor_http_call *call;
    struct cor_timer timer; /* always set, so that moving it cannot fail */
    uint64_t deadline_ms;   /* of the loop's clock; NEVER: none */
    int code;
    struct cor_buf body;
    struct cor_status error;
    bool has_error;
};

struct cor_rest_request *cor_rest_request_of(struct cor_list *link)
{
    return COR_CONTAINER_OF(link, struct cor_rest_request, link);
}

static void free_request(struct cor_rest_request *req)
{
    cor_timer_cancel(&req->timer);
    cor_list_remove(&req->link);
    req->rc->nrequests--;
    cor_header_list_deinit(&req->headers);
    cor_buf_deinit(&req->target);
    cor_buf_deinit(&req->body);
    cor_status_deinit(&req->error);
    cor_free(req->text);
    cor_free(req);
}

static void deliver(struct cor_rest_request *req)
{
    struct cor_rest_client *rc = req->rc;
    struct cor_rest_result result = {.error = req->has_error ? &req->error : NULL,
                                     .code = req->code};

    if (!req->has_error && req->opts.kind == COR_REST_WHOLE)
        result.body = cor_buf_str(&req->body);
    req->opts.cbs->on_done(req->opts.arg, &result);
    free_request(req);
    cor_rest_client_look_closed(rc);
}

/* As Go's url.Error: `Get "https://host/path": <what happened>`. */
static void set_error(struct cor_rest_request *req, int r, const char *text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf verb;

    cor_buf_init(&verb, COR_REST_TARGET_MAX);
    cor_buf_adds(&verb, req->opts.method);
    for (size_t i = 1; i < verb.n; i++)
        verb.p[i] = (char)tolower((unsigned char)verb.p[i]);
    req->has_error = true;
    cor_status_untyped(&req->error, r, "%s \"%s%s\": %s", cor_buf_z(&verb), req->rc->url.origin,
                       cor_buf_z(&req->target), text[0] ? text : cor_err_text(r));
}

/* on_done comes from a later turn. */
static void end_soon(struct cor_rest_request *req, int r, const char *text)
{
    struct cor_http_call *call = COR_STEAL(req->call);

    set_error(req, r, text);
    req->state = DONE;
    cor_timer_set(&req->timer, 0);
    if (call)
        cor_http_call_cancel(call);
}

void cor_rest_request_abort(struct cor_rest_request *req)
{
    if (req->state != DONE)
        end_soon(req, -COR_ECANCELED, "context canceled");
}

static bool is_success(int code)
{
    return code >= 200 && code <= 206;
}

static int on_head(void *arg, int code, const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_rest_request *req = arg;
    struct cor_rest_head head = {code, headers, nheaders};

    req->code = code;
    if (!is_success(code)) {
        cor_buf_init(&req->body, ERROR_MAX);
        return 0;
    }
    return req->opts.cbs->on_head ? req->opts.cbs->on_head(req->opts.arg, &head) : 0;
}

static int on_body(void *arg, struct cor_str piece)
{
    struct cor_rest_request *req = arg;
    size_t room = req->body.max - req->body.n;

    if (!is_success(req->code))
        return cor_buf_adds(&req->body, cor_str(piece.p, piece.n < room ? piece.n : room));
    if (req->opts.kind == COR_REST_WHOLE)
        return cor_buf_adds(&req->body, piece);
    return req->opts.cbs->on_body ? req->opts.cbs->on_body(req->opts.arg, piece) : 0;
}

static void on_call_done(void *arg, int r, const char *text)
{
    struct cor_rest_request *req = arg;

    req->call = NULL;
    if (r < 0) {
        set_error(req, r, text);
    } else if (!is_success(req->code)) {
        req->has_error = true;
        cor_status_read(&req->error, req->code, cor_buf_str(&req->body));
    }
    deliver(req);
}

static const struct cor_http_call_cbs call_cbs = {on_head, on_body, on_call_done};

/* The request's own headers win over the client's. */
static size_t join_headers(const struct cor_rest_request *req,
                           struct cor_http_header to[COR_H1_HEADERS_MAX])
{
    const struct cor_header_list *lists[] = {&req->rc->headers, &req->rc->authorization};
    size_t n = 0;

    for (size_t i = 0; i < req->headers.n; i++)
        to[n++] = req->headers.at[i];
    for (size_t k = 0; k < COR_ARRAY_LEN(lists); k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            if (!cor_header_find(req->headers.at, req->headers.n, lists[k]->at[i].name).p)
                to[n++] = lists[k]->at[i];
    return n;
}

static int call(struct cor_rest_request *req)
{
    struct cor_http_header headers[COR_H1_HEADERS_MAX];
    uint64_t now = cor_loop_now_ms(req->rc->loop);
    struct cor_http_call_opts opts = {
        .method = req->opts.method,
        .target = cor_buf_str(&req->target),
        .headers = headers,
        .nheaders = join_headers(req, headers),
        .body = req->opts.body,
        .deadline_ms = req->deadline_ms == NEVER ? 0 : req->deadline_ms - now,
        .cbs = &call_cbs,
        .arg = req,
    };

    return cor_http_call_open(req->rc->http, &opts, &req->call);
}

static void go_on(struct cor_rest_request *req)
{
    int r;

    if (cor_loop_now_ms(req->rc->loop) >= req->deadline_ms) {
        end_soon(req, -COR_ETIMEOUT, "context deadline exceeded");
        return;
    }
    req->state = CALLING;
    r = call(req);
    if (r < 0)
        end_soon(req, r, "");
    else
        cor_timer_set(&req->timer, NEVER);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_rest_request *req = COR_CONTAINER_OF(timer, struct cor_rest_request, timer);

    if (req->state == DONE)
        deliver(req);
    else
        go_on(req);
}

static int write_target(struct cor_rest_request *req, struct cor_str target, uint64_t timeout_ms)
{
    char mark = cor_str_find(target, '?') < 0 ? '?' : '&';
    bool is_whole = timeout_ms % 1000 == 0;
    int r = cor_buf_addz(&req->target, req->rc->url.prefix);

    if (r == 0)
        r = cor_buf_adds(&req->target, target);
    if (r < 0 || timeout_ms == 0)
        return r;
    return cor_buf_addf(&req->target, "%ctimeout=%llu%s", mark,
                        (unsigned long long)(is_whole ? timeout_ms / 1000 : timeout_ms),
                        is_whole ? "s" : "ms");
}

static int copy_headers(struct cor_rest_request *req, const struct cor_rest_request_opts *from)
{
    struct cor_str json = COR_STR("application/json");
    int r =
        cor_header_list_add(&req->headers, COR_STR("Accept"), from->accept.n ? from->accept : json);

    if (r == 0 && from->body.n > 0)
        r = cor_header_list_add(&req->headers, COR_STR("Content-Type"),
                                from->content_type.n ? from->content_type : json);
    for (size_t i = 0; r == 0 && i < from->nheaders; i++)
        r = cor_header_list_add(&req->headers, from->headers[i].name, from->headers[i].value);
    /* Host, lengths and the like are the HTTP client's. */
    if (r == 0 && req->headers.n + req->rc->headers.n + HEADERS_SPARE > COR_H1_HEADERS_MAX)
        r = -COR_ETOOBIG;
    return r;
}

/* Method and body; the other strings have their places. */
static int copy_text(struct cor_rest_request *req, const struct cor_rest_request_opts *from)
{
    struct cor_str method = from->method.n > 0 ? from->method : COR_STR("GET");
    char *text = cor_alloc(method.n + from->body.n + 1);

    if (!text)
        return -COR_ENOMEM;
    memcpy(text, method.p, method.n);
    if (from->body.n > 0)
        memcpy(text + method.n, from->body.p, from->body.n);
    req->text = text;
    req->opts = *from;
    req->opts.method = cor_str(text, method.n);
    req->opts.body = cor_str(text + method.n, from->body.n);
    return 0;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int fill(struct cor_rest_request *req, const struct cor_rest_request_opts *opts)
{
    struct cor_rest_client *rc = req->rc;
    uint64_t now = cor_loop_now_ms(rc->loop);
    uint64_t timeout_ms = opts->timeout_ms ? opts->timeout_ms : rc->timeout_ms;
    int r = copy_text(req, opts);

    req->deadline_ms = sooner(opts->deadline_ms ? now + opts->deadline_ms : NEVER,
                              timeout_ms ? now + timeout_ms : NEVER);
    if (r == 0)
        r = write_target(req, opts->target, timeout_ms);
    if (r == 0)
        r = copy_headers(req, opts);
    return r < 0 ? r : cor_timer_set(&req->timer, NEVER);
}

int cor_rest_request_open(struct cor_rest_client *rc, const struct cor_rest_request_opts *opts,
                          struct cor_rest_request **ret_request)
{
    struct cor_rest_request *req;
    int r;

    assert(cor_loop_is_current(rc->loop) && opts->target.n > 0 && opts->target.p[0] == '/');
    if (rc->is_closing || rc->nrequests == COR_REST_REQUESTS_MAX)
        return -COR_EBUSY;
    req = cor_calloc(1, sizeof(*req));
    if (!req)
        return -COR_ENOMEM;
    req->rc = rc;
    rc->nrequests++;
    cor_list_push(&rc->requests, &req->link);
    cor_timer_init(&req->timer, rc->loop, on_timer);
    cor_buf_init(&req->target, COR_REST_TARGET_MAX);
    cor_buf_init(&req->body, opts->body_max ? opts->body_max : COR_REST_BODY_MAX);
    r = fill(req, opts);
    if (r < 0) {
        free_request(req);
        return r;
    }
    go_on(req);
    *ret_request = req;
    return 0;
}

void cor_rest_request_cancel(struct cor_rest_request *req)
{
    if (req->call)
        cor_http_call_cancel(req->call);
    free_request(req);
}
