/* clang-format off */
/* Every operation becomes one request of the REST client; the answer becomes objects.
 *
 *   cor_dynamic_send() ──► cor_api_form_init() ──► request_open() ──► REST client
 *   OBJECT, NOTHING: the whole body ──► on_object_done(): one object, or a Status
 *   LIST:            pieces ──► list reader ──► on_item; at the end on_list_done()
 *   WATCH:           pieces ──► watch reader ──► on_event; at the end on_watch_done()
 *
 * What fails before the request is sent is returned (a name, no memory, too many); what fails later
 * goes to on_done. `why` is what was wrong with the answer itself, and counts more than the error
 * that the REST client reports for the end that this caused. A watch that breaks after it was open
 * ends without an error, as a stream that the server ended.
 *
 * A callback may cancel its request while a reader is on the stack; then the request is freed when
 * the reader has returned (is_busy, is_cancelled).
 * Thread: the REST client's loop. */
/* clang-format on */
#include "kit/dynamic/dynamic_client.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "kit/dynamic/list_reader.h"
#include "kit/dynamic/watch_reader.h"
#include "meta/object/object_received.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define PROTOBUF "application/vnd.kubernetes.protobuf"

struct cor_dynamic_request {
    struct cor_rest_request *rest;
    struct cor_dynamic_call call;
    enum cor_api_result result;
    bool is_busy;          /* a reader is on the stack and must not be freed */
    bool is_cancelled;     /* while it was busy: it is freed when the reader has returned */
    bool is_open;          /* of a watch */
    struct cor_status why; /* what was wrong with the answer */
    struct cor_list_reader list;
    struct cor_watch_reader watch;
};

static void request_free(struct cor_dynamic_request *req)
{
    cor_list_reader_deinit(&req->list);
    cor_watch_reader_deinit(&req->watch);
    cor_status_deinit(&req->why);
    cor_free(req);
}

const char *cor_dynamic_failure(const struct cor_dynamic_request *req)
{
    return req->rest ? cor_rest_request_failure(req->rest) : "";
}

void cor_dynamic_cancel(struct cor_dynamic_request *req)
{
    struct cor_rest_request *rest = COR_STEAL(req->rest);

    assert(!req->is_cancelled);
    req->is_cancelled = true;
    if (rest)
        cor_rest_request_cancel(rest);
    if (!req->is_busy)
        request_free(req);
}

/* Ends the time in a reader, of which `r` came, and returns what the REST client is to get. */
static int request_leave(struct cor_dynamic_request *req, int r)
{
    bool is_cancelled = req->is_cancelled;

    req->is_busy = false;
    if (is_cancelled)
        request_free(req);
    return is_cancelled ? -COR_ECANCELED : r;
}

/* Protobuf is read where it was asked for and sent. */
static const struct cor_wire_type *wire_of(const struct cor_rest_head *head,
                                           const struct cor_wire_type *asked)
{
    struct cor_str type = cor_header_find(head->headers, head->nheaders, COR_STR("Content-Type"));

    return type.p && cor_str_starts(type, COR_STR(PROTOBUF)) ? asked : NULL;
}

static int on_head(void *arg, const struct cor_rest_head *head)
{
    struct cor_dynamic_request *req = arg;

    req->is_open = true;
    if (req->result == COR_API_RESULT_LIST) {
        req->list.wire.type = wire_of(head, req->call.wire);
        return 0;
    }
    req->watch.wire = wire_of(head, req->call.wire);
    if (!req->call.cbs->on_open)
        return 0;
    req->is_busy = true;
    return request_leave(req, req->call.cbs->on_open(req->call.arg));
}

static int on_body(void *arg, struct cor_str piece)
{
    struct cor_dynamic_request *req = arg;
    int r;

    req->is_busy = true;
    r = req->result == COR_API_RESULT_LIST ? cor_list_reader_feed(&req->list, piece, &req->why)
                                           : cor_watch_reader_feed(&req->watch, piece, &req->why);
    return request_leave(req, r);
}

/* The error to report: what was wrong with the answer, else what ended the request. */
static const struct cor_status *error_of(const struct cor_dynamic_request *req,
                                         const struct cor_rest_result *result)
{
    return req->why.err < 0 ? &req->why : result->error;
}

static bool is_failed_status(const struct cor_object *object)
{
    struct cor_str status, raw;

    return cor_str_eqz(cor_object_kind(object), "Status") &&
           (cor_json_get(cor_object_json(object), COR_STR("status"), cor_object_order(object),
                         &status) < 0 ||
            cor_json_to_raw(status, &raw) < 0 || !cor_str_eqz(raw, "Success"));
}

static void request_finish(struct cor_dynamic_request *req, const struct cor_response *response)
{
    req->call.cbs->on_done(req->call.arg, response);
    request_free(req);
}

static void on_object_done(void *arg, const struct cor_rest_result *result)
{
    struct cor_dynamic_request *req = arg;
    struct cor_response response = {.remaining = -1};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;

    if (!result->error && req->result == COR_API_RESULT_OBJECT)
        cor_status_received(&req->why, cor_object_received(result->body, COR_STR(""), COR_STR(""),
                                                           &object, &req->why));
    if (object && is_failed_status(object))
        cor_status_read(&req->why, 500, result->body);
    if (req->call.code)
        *req->call.code = result->code;
    response.error = error_of(req, result);
    response.object = response.error ? NULL : object;
    request_finish(req, &response);
}

static void on_list_done(void *arg, const struct cor_rest_result *result)
{
    struct cor_dynamic_request *req = arg;
    struct cor_response response = {.remaining = -1};
    struct cor_list_meta meta;

    if (!result->error)
        cor_list_reader_end(&req->list, &req->why);
    response.error = error_of(req, result);
    if (!response.error) {
        meta = cor_list_reader_meta(&req->list);
        response.resource_version = meta.resource_version;
        response.continue_token = meta.continue_token;
        response.remaining = meta.remaining;
    }
    request_finish(req, &response);
}

static void on_watch_done(void *arg, const struct cor_rest_result *result)
{
    struct cor_dynamic_request *req = arg;
    const struct cor_status *error = error_of(req, result);
    bool is_plain = req->is_open && error && req->why.err == 0 &&
                    (error->err == -COR_EBROKEN || error->err == -COR_ETIMEOUT);
    const struct cor_response response = {.error = is_plain ? NULL : error, .remaining = -1};

    request_finish(req, &response);
}

/* How each answer is read. */
static const struct {
    enum cor_rest_kind kind;
    struct cor_rest_cbs cbs;
} readings[] = {
    [COR_API_RESULT_OBJECT] = {COR_REST_WHOLE, {NULL, NULL, on_object_done}},
    [COR_API_RESULT_NOTHING] = {COR_REST_WHOLE, {NULL, NULL, on_object_done}},
    [COR_API_RESULT_LIST] = {COR_REST_STREAM, {on_head, on_body, on_list_done}},
    [COR_API_RESULT_WATCH] = {COR_REST_WATCH, {on_head, on_body, on_watch_done}},
};

/* The Accept headers of client-go's metadata client, and of its typed clients. A server without
 * protobuf sends JSON. */
static struct cor_str accept_of(const struct cor_api_form *form, const struct cor_wire_type *wire)
{
    if (!form->metadata_only)
        return wire ? COR_STR(PROTOBUF ",application/json") : COR_STR("");
    return form->result == COR_API_RESULT_LIST ? COR_STR(COR_ACCEPT_METADATA_LIST)
                                               : COR_STR(COR_ACCEPT_METADATA);
}

/* Opens the request, and frees it when it cannot be sent. */
static int request_open(struct cor_dynamic_request *take_req, const struct cor_api_operation *op,
                        const struct cor_api_form *form)
{
    const struct cor_dynamic_call *call = &take_req->call;
    const struct cor_rest_request_opts opts = {
        .kind = readings[form->result].kind,
        .is_discovery = op->is_discovery,
        .method = cor_http_method_name(form->method),
        .target = cor_buf_str(&form->target),
        .accept = accept_of(form, call->wire),
        .content_type = form->content_type,
        .body = op->object ? cor_object_json(op->object) : form->body,
        .timeout_ms = form->result == COR_API_RESULT_WATCH ? 0 : call->timeout_ms,
        .deadline_ms = call->deadline_ms,
        .cbs = &readings[form->result].cbs,
        .arg = take_req,
    };
    int r;

    take_req->result = form->result;
    if (form->result == COR_API_RESULT_LIST)
        cor_list_reader_init(&take_req->list, call->cbs->on_item, call->arg);
    else if (form->result == COR_API_RESULT_WATCH)
        cor_watch_reader_init(&take_req->watch, call->cbs->on_event, call->arg);
    r = cor_rest_request_open(call->client, &opts, &take_req->rest);
    if (r < 0)
        request_free(take_req);
    return r;
}

/* client-go's check. A patch that is no JSON, or is nested more deeply than is read here, is left
 * to the server. */
static int check_apply(struct cor_str patch, struct cor_status *reterr)
{
    struct cor_str metadata, fields;
    bool is_canonical;

    if (cor_json_check(patch, &COR_JSON_LIMITS_DEFAULT, &is_canonical, NULL) < 0 ||
        cor_json_get(patch, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) < 0 ||
        cor_json_get(metadata, COR_STR("managedFields"), COR_JSON_ANY_ORDER, &fields) < 0 ||
        cor_json_type(fields) != COR_JSON_ARRAY || fields.n == sizeof("[]") - 1)
        return 0;
    return cor_status_set(reterr, -COR_EINVAL,
                          "cannot apply an object with managed fields already set");
}

int cor_dynamic_send(const struct cor_dynamic_call *call, const struct cor_api_operation *op,
                     struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    COR_CLEANUP(cor_api_form_deinit) struct cor_api_form form;
    struct cor_dynamic_request *req;
    int r = cor_api_form_init(&form, op, reterr);

    if (r == 0 && op->verb == COR_API_VERB_PATCH && op->patch_type == COR_PATCH_APPLY)
        r = check_apply(op->patch, reterr);
    if (r < 0)
        return r;
    req = cor_calloc(1, sizeof(*req));
    if (!req || (op->object && cor_object_make_json(op->object) < 0)) {
        cor_free(req);
        return cor_api_cannot_send(-COR_ENOMEM, reterr);
    }
    req->call = *call;
    r = request_open(req, op, &form);
    if (r < 0)
        return cor_api_cannot_send(r, reterr);
    *ret_req = req;
    return 0;
}
