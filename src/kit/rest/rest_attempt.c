/* A request's attempts: each waits for its turn, is called, and is looked at: an answer, an error,
 * or a reason to try again. An answer in gzip is expanded piece by piece, as it comes, before
 * anybody looks at it. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kit/rest/rest_int.h"
#include "loop/loop.h"
#include "meta/value/wire_json.h"
#include "net/session/h1.h"

#define ERROR_MAX (1u << 20) /* of an answer that reports one; the rest is not kept */
/* What is expanded of it. */
#define ERROR_EXPANDED_MAX (16u << 20)
/* A whole answer of success up to so large may be a Status that reports a failure. */
#define STATUS_MAX (64u * 1024)
/* The wait after an attempt that broke, as after an answer that asks for it. */
#define BROKEN_WAIT_MS 1000

static uint64_t now_ms(const struct cor_rest_request *req)
{
    return cor_loop_now_ms(req->rc->loop);
}

static uint64_t left_ms(const struct cor_rest_request *req)
{
    uint64_t now = now_ms(req);

    return req->deadline_ms == COR_REST_NEVER ? COR_REST_NEVER
           : req->deadline_ms > now           ? req->deadline_ms - now
                                              : 0;
}

/* As Go's url.Error: `Get "https://host/path": <what happened>`. What broke in its answer is not
 * tried again here, since a part of that may have been handed over. The failure of an attempt
 * before this one is appended; an answer that asked for another attempt only where none came of
 * that (the time is up). A request that was never sent has HTTP status and reason of the error's
 * row, one that was sent and not answered has none. */
static void set_error(struct cor_rest_request *req, int r, const char *text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf verb;
    bool has_head = r == -COR_EBROKEN && req->code != 0;
    bool has_previous = req->previous && strcmp(req->previous, text) != 0 &&
                        (!req->previous_is_answer || r == -COR_ETIMEOUT || r == -COR_ECANCELED);

    cor_buf_init(&verb, COR_REST_TARGET_MAX);
    cor_buf_adds(&verb, req->opts.method);
    for (size_t i = 1; i < verb.n; i++)
        verb.p[i] = (char)tolower((unsigned char)verb.p[i]);
    req->has_error = true;
    cor_status_set(&req->error, r, "%s \"%s%s\": %s%s%s%s", cor_buf_z(&verb), req->rc->url.origin,
                   cor_buf_z(&req->target), has_head ? "the answer broke off, please retry: " : "",
                   text[0] ? text : cor_err_text(r),
                   has_previous ? " - error from a previous attempt: " : "",
                   has_previous ? req->previous : "");
    if (req->was_sent) {
        req->error.code = 0;
        req->error.reason = "";
    }
}

const char *cor_rest_request_failure(const struct cor_rest_request *req)
{
    return req->previous ? req->previous : "";
}

static struct cor_rest_throttle *throttle_of(struct cor_rest_request *req)
{
    return req->opts.is_discovery ? &req->rc->discovery_throttle : &req->rc->throttle;
}

void cor_rest_request_stop(struct cor_rest_request *req)
{
    struct cor_http_call *call = COR_STEAL(req->call);

    cor_rest_throttle_leave(throttle_of(req), &req->turn);
    cor_credentials_leave(&req->identity);
    if (call)
        cor_http_call_cancel(call);
}

void cor_rest_request_end_soon(struct cor_rest_request *req, int r, const char *text)
{
    if (req->state == COR_REST_DONE)
        return;
    set_error(req, r, text);
    req->state = COR_REST_DONE;
    cor_timer_set(&req->timer, 0);
    cor_rest_request_stop(req);
}

static bool is_success(int code)
{
    return code >= 200 && code <= 206;
}

/* Is the answer one to try again after? */
static bool asks_for_retry(const struct cor_rest_request *req)
{
    return req->attempt <= req->rc->retries_max && req->retry_after_s >= 0 &&
           (req->code == 429 || req->code >= 500);
}

static void read_retry_after(struct cor_rest_request *req, const struct cor_http_header *headers,
                             size_t n)
{
    struct cor_str value = cor_header_find(headers, n, COR_STR("Retry-After"));
    int64_t seconds;

    req->retry_after_s = -1;
    if (!value.p || cor_str_to_i64(cor_str_trim(value), &seconds) < 0)
        return;
    req->retry_after_s = seconds < 0                     ? 0
                         : seconds < COR_REST_WAIT_MAX_S ? seconds
                                                         : COR_REST_WAIT_MAX_S;
}

/* What the answer may expand to. */
static uint64_t expanded_max(const struct cor_rest_request *req)
{
    if (!is_success(req->code))
        return ERROR_EXPANDED_MAX;
    if (req->opts.kind == COR_REST_WHOLE)
        return req->body.max;
    return req->opts.kind == COR_REST_WATCH ? UINT64_MAX : COR_REST_EXPANDED_MAX;
}

/* Looks how the answer is encoded. 0, -COR_ENOMEM. */
static int read_encoding(struct cor_rest_request *req, const struct cor_http_header *headers,
                         size_t n)
{
    struct cor_str value = cor_header_find(headers, n, COR_STR("Content-Encoding"));

    req->gzip = cor_gzip_reader_free(req->gzip);
    req->gzip_error = NULL;
    req->has_gzip_bytes = false;
    req->is_encoded = false;
    if (value.n == 0 || cor_header_name_eq(value, COR_STR("identity")))
        return 0;
    if (!req->takes_gzip || !cor_header_name_eq(value, COR_STR("gzip"))) {
        req->is_encoded = true;
        return 0;
    }
    return cor_gzip_reader_new(expanded_max(req), &req->gzip);
}

/* Shows the head of a success. Of a compressed answer, without the two fields that tell of its
 * bytes before they are expanded, as Go's transport. */
static int show_head(struct cor_rest_request *req, const struct cor_http_header *headers,
                     size_t nheaders)
{
    struct cor_http_header expanded[COR_H1_HEADERS_MAX];
    struct cor_rest_head head = {req->code, headers, nheaders};

    if (!req->opts.cbs->on_head)
        return 0;
    if (!req->gzip)
        return req->opts.cbs->on_head(req->opts.arg, &head);
    assert(nheaders <= COR_ARRAY_LEN(expanded));
    head = (struct cor_rest_head){.code = req->code, .headers = expanded};
    for (size_t i = 0; i < nheaders; i++) {
        if (!cor_header_name_eq(headers[i].name, COR_STR("Content-Encoding")) &&
            !cor_header_name_eq(headers[i].name, COR_STR("Content-Length")))
            expanded[head.nheaders++] = headers[i];
    }
    return req->opts.cbs->on_head(req->opts.arg, &head);
}

static void set_body_max(struct cor_rest_request *req, size_t max)
{
    cor_buf_deinit(&req->body);
    cor_buf_init(&req->body, max);
}

static int on_head(void *arg, int code, const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_rest_request *req = arg;
    struct cor_str type = cor_header_find(headers, nheaders, COR_STR("Content-Type"));

    int r;

    req->code = code;
    set_body_max(req, !is_success(code)    ? ERROR_MAX
                      : req->opts.body_max ? req->opts.body_max
                                           : req->rc->body_max);
    r = read_encoding(req, headers, nheaders);
    if (r < 0)
        return r;
    req->is_text = !req->is_encoded && (!type.p || cor_str_starts(type, COR_STR("text/")));
    read_retry_after(req, headers, nheaders);
    if (is_success(code) || !asks_for_retry(req))
        cor_warner_read(&req->rc->warner, headers, nheaders);
    if (!is_success(code))
        return 0;
    return req->is_encoded ? -COR_EPROTOCOL : show_head(req, headers, nheaders);
}

static int take_piece(struct cor_rest_request *req, struct cor_str piece)
{
    size_t room = req->body.max - req->body.n;

    if (!is_success(req->code))
        return cor_buf_adds(&req->body, cor_str(piece.p, piece.n < room ? piece.n : room));
    if (req->opts.kind == COR_REST_WHOLE)
        return cor_buf_adds(&req->body, piece);
    return req->opts.cbs->on_body ? req->opts.cbs->on_body(req->opts.arg, piece) : 0;
}

/* A piece of an answer that is being expanded. */
struct expanded {
    struct cor_rest_request *req;
    int r; /* what its reader said; below 0: the request may be gone */
};

static int on_expanded(void *arg, struct cor_str piece)
{
    struct expanded *e = arg;

    e->r = take_piece(e->req, piece);
    return e->r;
}

/* Expands a piece. The reader of the answer may cancel the request, which frees it: meanwhile the
 * gzip reader belongs to this function. */
static int expand_piece(struct cor_rest_request *req, struct cor_str piece)
{
    struct cor_gzip_reader *gzip = COR_STEAL(req->gzip);
    struct expanded e = {.req = req};
    int r = cor_gzip_read(gzip, piece, on_expanded, &e);

    if (r == 0) {
        req->gzip = gzip;
        req->has_gzip_bytes = true;
        return 0;
    }
    cor_gzip_reader_free(gzip);
    if (e.r < 0)
        return e.r;
    req->gzip_error = r == -COR_EINVAL    ? "the answer is damaged: it is not gzip"
                      : r == -COR_ETOOBIG ? "the answer expands to too many bytes"
                                          : cor_err_text(r);
    return r == -COR_EINVAL ? -COR_EPROTOCOL : r;
}

static int on_body(void *arg, struct cor_str piece)
{
    struct cor_rest_request *req = arg;

    return req->gzip ? expand_piece(req, piece) : take_piece(req, piece);
}

/* Did it break in a way that another attempt may mend, and that cannot have done anything? */
static bool is_transient(const struct cor_rest_request *req, int r)
{
    if (req->code != 0 || !cor_str_eqz(req->opts.method, "GET"))
        return false;
    return r == -COR_EBROKEN ||
           (r == -COR_ETIMEOUT && req->opts.kind == COR_REST_WATCH && left_ms(req) > 0);
}

/* What the server asks for, or the back-off where that is longer. */
static uint64_t refused_wait_ms(struct cor_rest_request *req)
{
    uint64_t asked = (uint64_t)req->retry_after_s * 1000;
    uint64_t backoff = cor_backoff_next(&req->backoff, now_ms(req), NULL);

    return asked > backoff ? asked : backoff;
}

static void retry_in(struct cor_rest_request *req, uint64_t wait_ms)
{
    const struct cor_rest_client *rc = req->rc;
    uint64_t left = left_ms(req);

    req->state = COR_REST_DELAYED;
    cor_timer_set(&req->timer, wait_ms < left ? wait_ms : left);
    if (rc->on_retry)
        rc->on_retry(rc->retry_arg, req->opts.method, cor_buf_str(&req->target),
                     req->previous ? req->previous : "", wait_ms);
}

static void keep_previous(struct cor_rest_request *req, const char *text)
{
    cor_free(req->previous);
    req->previous = cor_strdup(text);
    req->previous_is_answer = false;
}

static void keep_answer(struct cor_rest_request *req)
{
    char text[64];

    snprintf(text, sizeof(text), "the server answered %d", req->code);
    keep_previous(req, text);
    req->previous_is_answer = true;
}

static void read_error(struct cor_rest_request *req)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_str body = cor_buf_str(&req->body);
    int64_t wait_s = req->retry_after_s > 0 ? req->retry_after_s : 0;

    /* A client that asked for protobuf gets failures in protobuf, too. */
    cor_buf_init(&json, (size_t)8 * ERROR_MAX);
    if (cor_wire_status_json(body, &json) == 0)
        body = cor_buf_str(&json);
    req->has_error = true;
    if (cor_status_is_failure(cor_str_trim(body)))
        cor_status_read(&req->error, req->code, body);
    else
        cor_status_generic(&req->error, req->code, req->opts.method,
                           req->is_text ? body : COR_STR("unknown"), wait_s);
}

/* A Status that reports a failure is one, whatever code it came with. */
static void read_success(struct cor_rest_request *req)
{
    struct cor_str body = cor_str_trim(cor_buf_str(&req->body));

    if (req->opts.kind == COR_REST_WHOLE && body.n <= STATUS_MAX && cor_status_is_failure(body)) {
        req->has_error = true;
        cor_status_read(&req->error, 500, body);
    }
}

static void finish(struct cor_rest_request *req, int r, const char *text)
{
    req->state = COR_REST_DONE;
    if (r < 0)
        set_error(req, r, text);
    else if (req->code != 0 && !is_success(req->code))
        read_error(req);
    else if (req->code != 0)
        read_success(req);
    cor_rest_request_deliver(req);
}

static void on_call_done(void *arg, int r, const char *text)
{
    struct cor_rest_request *req = arg;
    bool is_broken = r < 0 && is_transient(req, r);
    bool is_asked = req->code != 0 && asks_for_retry(req);
    bool is_repeated = is_asked || (is_broken && req->attempt <= req->rc->retries_max);

    req->call = NULL;
    if (r == -COR_EPROTOCOL && req->is_encoded && is_success(req->code)) {
        text = "the answer has a Content-Encoding that was not asked for";
    } else if (r < 0 && req->gzip_error) {
        text = req->gzip_error;
    } else if (r == 0 && req->gzip && req->has_gzip_bytes && !cor_gzip_reader_is_whole(req->gzip)) {
        r = -COR_EBROKEN;
        text = "the answer ends before its gzip does";
    }
    if (req->code == 401)
        cor_credentials_refused(&req->rc->credentials, req->generation);
    cor_rest_metrics_answer(&req->rc->metrics, req->opts.method, req->code, is_repeated);
    if (is_asked) {
        keep_answer(req);
        retry_in(req, refused_wait_ms(req));
    } else if (is_repeated) {
        keep_previous(req, text);
        cor_backoff_reset(&req->backoff);
        retry_in(req, BROKEN_WAIT_MS);
    } else {
        /* An empty watch then, as client-go's; its reader watches again. */
        finish(req, is_broken && req->opts.kind == COR_REST_WATCH ? 0 : r, text);
    }
}

static const struct cor_http_call_cbs call_cbs = {on_head, on_body, on_call_done};

static bool has_own(const struct cor_rest_request *req, struct cor_str name)
{
    return cor_header_find(req->headers.at, req->headers.n, name).p != NULL;
}

/* A request that acts for another has none of the client's impersonation. */
static bool replaces(const struct cor_rest_request *req, struct cor_str name)
{
    return has_own(req, name) || (cor_str_starts(name, COR_STR("Impersonate-")) &&
                                  has_own(req, COR_STR("Impersonate-User")));
}

/* The request's own headers win over the client's. */
static size_t join_headers(const struct cor_rest_request *req,
                           struct cor_http_header to[COR_REST_HEADERS_MAX])
{
    const struct cor_header_list *common = &req->rc->headers;
    struct cor_http_header identity = {COR_STR("Authorization"),
                                       cor_buf_str(&req->rc->credentials.authorization)};
    size_t n = 0;

    for (size_t i = 0; i < req->headers.n; i++)
        to[n++] = req->headers.at[i];
    for (size_t i = 0; i < common->n; i++)
        if (!replaces(req, common->at[i].name))
            to[n++] = common->at[i];
    if (identity.value.n > 0 && !has_own(req, identity.name))
        to[n++] = identity;
    return n;
}

static int call(struct cor_rest_request *req)
{
    struct cor_http_header headers[COR_REST_HEADERS_MAX];
    struct cor_http_call_opts opts = {
        .method = req->opts.method,
        .target = cor_buf_str(&req->target),
        .headers = headers,
        .nheaders = join_headers(req, headers),
        .body = req->opts.body,
        .deadline_ms = req->deadline_ms == COR_REST_NEVER ? 0 : left_ms(req),
        .cbs = &call_cbs,
        .arg = req,
    };

    req->was_sent = true;
    return cor_http_call_open(req->rc->http, &opts, &req->call);
}

static void begin_call(struct cor_rest_request *req)
{
    struct cor_status why = {0};
    int r = cor_rest_client_renew(req->rc, &why);

    req->state = COR_REST_CALLING;
    cor_timer_set(&req->timer, COR_REST_NEVER);
    req->generation = req->rc->credentials.generation;
    if (r == 0)
        r = call(req);
    if (r < 0)
        cor_rest_request_end_soon(req, r, why.message ? why.message : "");
    cor_status_deinit(&why);
}

static void end_without_identity(struct cor_rest_request *req, int r, const struct cor_status *why)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, COR_STATUS_MESSAGE_MAX);
    cor_buf_addf(&text, "getting credentials: %s", cor_status_message(why));
    cor_rest_request_end_soon(req, r, cor_buf_z(&text));
}

void cor_rest_request_on_identity(struct cor_credentials_wait *w, const struct cor_status *error)
{
    struct cor_rest_request *req = COR_CONTAINER_OF(w, struct cor_rest_request, identity);

    if (error)
        end_without_identity(req, error->err, error);
    else
        begin_call(req);
}

static void identify(struct cor_rest_request *req)
{
    struct cor_status why = {0};
    int r = has_own(req, COR_STR("Authorization"))
                ? 1
                : cor_credentials_refresh(&req->rc->credentials, &req->identity, &why);

    req->state = COR_REST_IDENTIFYING;
    cor_timer_set(&req->timer, left_ms(req));
    if (r < 0)
        end_without_identity(req, r, &why);
    else if (r > 0)
        begin_call(req);
    cor_status_deinit(&why);
}

/* The request's time begins with its first attempt: waiting for a turn is not counted. */
static void attempt(struct cor_rest_request *req)
{
    if (req->attempt++ == 0 && req->timeout_ms > 0 && req->timeout_ms < left_ms(req))
        req->deadline_ms = now_ms(req) + req->timeout_ms;
    req->code = 0;
    if (left_ms(req) == 0)
        cor_rest_request_end_soon(req, -COR_ETIMEOUT, "context deadline exceeded");
    else
        identify(req);
}

static void wait_turn(struct cor_rest_request *req)
{
    struct cor_rest_throttle *throttle = throttle_of(req);

    if (!cor_rest_throttle_has_turn(throttle, left_ms(req))) {
        cor_rest_request_end_soon(req, -COR_ETIMEOUT,
                                  "client rate limiter Wait returned an error: rate: Wait(n=1) "
                                  "would exceed context deadline");
        return;
    }
    req->state = COR_REST_THROTTLED;
    if (cor_rest_throttle_enter(throttle, &req->turn))
        attempt(req);
    else
        cor_timer_set(&req->timer, left_ms(req));
}

void cor_rest_request_on_turn(struct cor_rest_turn *turn)
{
    attempt(COR_CONTAINER_OF(turn, struct cor_rest_request, turn));
}

void cor_rest_request_start(struct cor_rest_request *req)
{
    if (req->opts.kind == COR_REST_WATCH)
        attempt(req);
    else
        wait_turn(req);
}

void cor_rest_request_on_timer(struct cor_timer *timer)
{
    struct cor_rest_request *req = COR_CONTAINER_OF(timer, struct cor_rest_request, timer);

    if (req->state == COR_REST_DONE)
        cor_rest_request_deliver(req);
    else if (req->state == COR_REST_DELAYED && left_ms(req) > 0)
        wait_turn(req);
    else
        cor_rest_request_end_soon(req, -COR_ETIMEOUT, "context deadline exceeded");
}
