/* clang-format off */
/* cor_client_raw(): any path, sent by the REST client on the loop while the caller waits.
 *
 *   caller: cor_waited_work_run() ──► loop: raw_begin() ──► on_piece() … ──► on_done() ──► cor_waited_work_finish()
 *           waits ◄───────────────────────────────────────────────────────────────────────────────┘
 *
 * Every failure (of the request, of the program's function, the client was stopped, the cancel handle) ends
 * there too, with its status. The struct is on the caller's stack, which waits.
 * Thread: the loop, except for the functions that wait. */
/* clang-format on */
#include "coracle/raw_request.h"

#include "base/err.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "client/client_work.h"

#define METHOD_MAX 16

struct raw_call {
    struct cor_waited_work waited;
    struct cor_rest_request *rest;
    const struct cor_raw_request *req;
    cor_path_fn fn;
    void *arg;
    int code;
    struct cor_status *reterr;
    int r;
};

static int on_piece(void *arg, struct cor_str piece)
{
    struct raw_call *call = arg;

    call->r = call->fn ? call->fn(call->arg, piece) : 0;
    return call->r < 0 ? call->r : 0;
}

static void on_done(void *arg, const struct cor_rest_result *result)
{
    struct raw_call *call = arg;
    bool is_refused = call->r < 0;

    call->code = result->code;
    if (!result->error && !call->req->streams)
        is_refused = on_piece(call, result->body) < 0;
    if (is_refused) {
        cor_status_set(call->reterr, call->r, "what was read was refused: %s",
                       cor_err_text(call->r));
    } else if (result->error) {
        call->r = result->error->err;
        if (call->reterr)
            cor_status_copy(call->reterr, result->error);
    }
    cor_waited_work_finish(&call->waited);
}

static void raw_give_up(struct cor_client_work *work, const char *text)
{
    struct raw_call *call = COR_CONTAINER_OF(work, struct raw_call, waited.work);

    call->r = cor_client_give_up(call->reterr, -COR_ECANCELED, text,
                                 call->rest ? cor_rest_request_failure(call->rest) : "");
    if (call->rest)
        cor_rest_request_cancel(call->rest);
    cor_waited_work_finish(&call->waited);
}

static void raw_begin(void *arg)
{
    static const struct cor_rest_cbs whole = {.on_done = on_done};
    static const struct cor_rest_cbs streamed = {.on_body = on_piece, .on_done = on_done};
    struct raw_call *call = arg;
    const struct cor_raw_request *req = call->req;
    const struct cor_rest_request_opts opts = {
        .kind = req->streams ? COR_REST_STREAM : COR_REST_WHOLE,
        .method = cor_strz(req->method),
        .target = cor_strz(req->path),
        .accept = req->accept ? cor_strz(req->accept) : COR_STR("application/json, */*"),
        .content_type = cor_strz(req->content_type),
        .body = req->body,
        .timeout_ms = req->timeout_ms,
        .deadline_ms = req->timeout_ms,
        .cbs = req->streams ? &streamed : &whole,
        .arg = call};

    if (!cor_client_work_begin(&call->waited.work, req->cancel))
        return;
    call->r = cor_rest_request_open(call->waited.work.client->rest, &opts, &call->rest);
    if (call->r < 0) {
        cor_status_set(call->reterr, call->r, "the request could not be sent: %s",
                       cor_err_text(call->r));
        cor_waited_work_finish(&call->waited);
    }
}

/* The path goes into the request line as it is: white space or a control character would end it. */
static bool is_target(const char *path)
{
    if (!path || path[0] != '/')
        return false;
    while (*path > ' ' && *path < 0x7f && *path != '#')
        path++;
    return *path == '\0';
}

static bool is_method(const char *method)
{
    size_t n = 0;

    while (method[n] >= 'A' && method[n] <= 'Z' && n <= METHOD_MAX)
        n++;
    return n > 0 && n <= METHOD_MAX && method[n] == '\0';
}

/* A header's value ends at a line break; what follows one would be another header. */
static bool is_media_type(const char *text)
{
    while (text && *text >= ' ' && *text < 0x7f)
        text++;
    return !text || *text == '\0';
}

static int raw_check(const struct cor_raw_request *req, struct cor_status *reterr)
{
    if (!is_target(req->path))
        return cor_status_set(reterr, -COR_EINVAL,
                              "path: an absolute one is expected, in escaped ASCII");
    if (req->method && !is_method(req->method))
        return cor_status_set(reterr, -COR_EINVAL, "method: one to %d capital letters are expected",
                              METHOD_MAX);
    if (!is_media_type(req->accept) || !is_media_type(req->content_type))
        return cor_status_set(reterr, -COR_EINVAL, "%s: printable ASCII is expected",
                              is_media_type(req->accept) ? "content_type" : "accept");
    return 0;
}

int cor_client_raw(struct cor_client *client, const struct cor_raw_request *req, cor_path_fn fn,
                   void *arg, int *ret_code, struct cor_status *reterr)
{
    struct cor_raw_request own;
    struct raw_call call = {
        .waited.work.give_up = raw_give_up, .req = &own, .fn = fn, .arg = arg, .reterr = reterr};
    int r = cor_sized_copy(&own, sizeof(own), req);

    if (r < 0)
        return cor_status_set(reterr, r, "raw request: %s", cor_sized_text(r));
    r = raw_check(&own, reterr);
    if (r < 0)
        return r;
    own.timeout_ms = own.streams ? cor_client_wait_ms(client, own.timeout_ms)
                                 : cor_client_timeout_ms(client, own.timeout_ms);
    r = cor_waited_work_run(&call.waited, client, raw_begin, &call, reterr);
    if (r == 0)
        r = call.r;
    if (r >= 0 && ret_code)
        *ret_code = call.code;
    return r;
}

int cor_client_get_path(struct cor_client *client, const char *path, uint64_t timeout_ms,
                        cor_path_fn fn, void *arg, struct cor_status *reterr)
{
    const struct cor_raw_request req = {COR_RAW_REQUEST, .path = path, .timeout_ms = timeout_ms};

    return cor_client_raw(client, &req, fn, arg, NULL, reterr);
}
