/* clang-format off */
/* A request's life around its attempts (rest_attempt.c): the options are copied in, the result is
 * handed out, the memory is freed.
 *
 *   cor_rest_request_open(): copied, linked, cor_rest_request_start()
 *   ──► attempts ──► cor_rest_request_deliver(): on_done, freed
 *   ──► cor_rest_request_cancel(): freed without on_done
 *
 * What cannot be copied (no memory, too large) is returned by open, and nothing is called then.
 * Thread: the loop. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kit/rest/rest_int.h"
#include "loop/loop.h"
#include "net/crypto/crypto.h"

/* The longest time that Kubernetes can express, in nanoseconds; a server refuses a longer one. */
#define TIMEOUT_MAX_MS ((uint64_t)INT64_MAX / 1000000)

struct cor_rest_request *cor_rest_request_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_rest_request, link);
}

static void rest_request_free(struct cor_rest_request *req)
{
    cor_timer_cancel(&req->timer);
    cor_dlist_remove(&req->link);
    req->rc->nrequests--;
    cor_header_list_deinit(&req->headers);
    cor_buf_deinit(&req->target);
    cor_buf_deinit(&req->body);
    cor_gzip_reader_free(req->gzip);
    cor_status_deinit(&req->error);
    cor_free(req->previous);
    if (req->text) /* its body may be a Secret, or have a token */
        cor_secret_wipe(req->text, req->opts.method.n + req->opts.body.n);
    cor_free(req->text);
    cor_free(req);
}

void cor_rest_request_deliver(struct cor_rest_request *req)
{
    struct cor_rest_client *rc = req->rc;
    struct cor_rest_result result = {.error = req->has_error ? &req->error : NULL,
                                     .code = req->code};

    if (!req->has_error && req->opts.kind == COR_REST_WHOLE)
        result.body = cor_buf_str(&req->body);
    if (req->was_sent && req->opts.kind != COR_REST_WATCH)
        cor_rest_metrics_time(&rc->metrics, req->opts.method,
                              cor_loop_now_ms(rc->loop) - req->began_ms);
    req->opts.cbs->on_done(req->opts.arg, &result);
    rest_request_free(req);
    cor_rest_client_look_closed(rc);
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

/* As Go's transport: not for a part of an answer, nor when the program asks for an encoding itself,
 * whose answer it would have to expand itself. */
static bool may_take_gzip(const struct cor_rest_request *req)
{
    const struct cor_header_list *lists[] = {&req->headers, &req->rc->headers};

    if (req->rc->config.disable_compression || cor_str_eqz(req->opts.method, "HEAD"))
        return false;
    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        if (cor_header_find(lists[i]->at, lists[i]->n, COR_STR("Accept-Encoding")).p ||
            cor_header_find(lists[i]->at, lists[i]->n, COR_STR("Range")).p)
            return false;
    }
    return true;
}

static int rest_request_copy_headers(struct cor_rest_request *req,
                                     const struct cor_rest_request_opts *from)
{
    struct cor_str json = COR_STR("application/json");
    int r =
        cor_header_list_add(&req->headers, COR_STR("Accept"), from->accept.n ? from->accept : json);

    if (r == 0 && from->body.n > 0)
        r = cor_header_list_add(&req->headers, COR_STR("Content-Type"),
                                from->content_type.n ? from->content_type : json);
    for (size_t i = 0; r == 0 && i < from->nheaders; i++)
        r = cor_header_list_add(&req->headers, from->headers[i].name, from->headers[i].value);
    if (r == 0 && may_take_gzip(req)) {
        req->takes_gzip = true;
        r = cor_header_list_add(&req->headers, COR_STR("Accept-Encoding"), COR_STR("gzip"));
    }
    return r == 0 && req->headers.n + req->rc->headers.n >= COR_REST_HEADERS_MAX ? -COR_ETOOBIG : r;
}

/* Copies method and body; the other strings are copied into target and headers. */
static int rest_request_copy_text(struct cor_rest_request *req,
                                  const struct cor_rest_request_opts *from)
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

static int rest_request_fill(struct cor_rest_request *req, const struct cor_rest_request_opts *opts)
{
    struct cor_rest_client *rc = req->rc;
    uint64_t end_ms = cor_rest_client_end_ms(rc, opts->deadline_ms);
    int r = rest_request_copy_text(req, opts);

    req->timeout_ms = opts->timeout_ms ? opts->timeout_ms : rc->timeout_ms;
    if (req->timeout_ms > TIMEOUT_MAX_MS)
        req->timeout_ms = 0;
    req->deadline_ms = end_ms > 0 ? end_ms : COR_REST_NEVER;
    if (r == 0)
        r = write_target(req, opts->target, req->timeout_ms);
    if (r == 0)
        r = rest_request_copy_headers(req, opts);
    return r < 0 ? r : cor_timer_set(&req->timer, COR_REST_NEVER);
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
    cor_dlist_push(&rc->requests, &req->link);
    cor_dlist_init(&req->turn.link);
    cor_dlist_init(&req->identity.link);
    req->turn.on_turn = cor_rest_request_on_turn;
    req->identity.on_ready = cor_rest_request_on_identity;
    cor_timer_init(&req->timer, rc->loop, cor_rest_request_on_timer);
    req->began_ms = cor_loop_now_ms(rc->loop);
    cor_backoff_init(&req->backoff, &rc->backoff, req->began_ms);
    cor_buf_init(&req->target, COR_REST_TARGET_MAX);
    r = rest_request_fill(req, opts);
    if (r < 0) {
        rest_request_free(req);
        return r;
    }
    cor_rest_request_start(req);
    *ret_request = req;
    return 0;
}

void cor_rest_request_cancel(struct cor_rest_request *req)
{
    assert(cor_loop_is_current(req->rc->loop));
    cor_rest_request_stop(req);
    rest_request_free(req);
}
