/* clang-format off */
/* Every verb becomes one request of the REST client; the answer becomes objects.
 *
 *   cor_dynamic_get() … ──► path and query are written ──► request_send() ──► REST client
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
#include "meta/names/patch_type.h"
#include "meta/object/object_received.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define BODY_MAX 4096 /* of DeleteOptions */
#define PROTOBUF "application/vnd.kubernetes.protobuf"

enum kind { OBJECT, NOTHING, LIST, WATCH };

struct cor_dynamic_request {
    struct cor_rest_request *rest;
    enum kind kind;
    bool is_busy;          /* a reader is on the stack and must not be freed */
    bool is_cancelled;     /* while it was busy: it is freed when the reader has returned */
    bool is_open;          /* of a watch */
    struct cor_status why; /* what was wrong with the answer */
    struct cor_list_reader list;
    struct cor_watch_reader watch;
    union {
        struct cor_dynamic_call object_call;
        struct cor_dynamic_list_call list_call;
        struct cor_dynamic_watch_call watch_call;
    };
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
    if (req->kind == LIST)
        req->list.wire.type = wire_of(head, req->list_call.wire);
    else
        req->watch.wire = wire_of(head, req->watch_call.wire);
    if (req->kind != WATCH || !req->watch_call.on_open)
        return 0;
    req->is_busy = true;
    return request_leave(req, req->watch_call.on_open(req->watch_call.arg));
}

static int on_body(void *arg, struct cor_str piece)
{
    struct cor_dynamic_request *req = arg;
    int r;

    req->is_busy = true;
    r = req->kind == LIST ? cor_list_reader_feed(&req->list, piece, &req->why)
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

static void on_object_done(void *arg, const struct cor_rest_result *result)
{
    struct cor_dynamic_request *req = arg;
    struct cor_dynamic_call call = req->object_call;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;

    if (!result->error && req->kind == OBJECT)
        cor_status_received(&req->why, cor_object_received(result->body, COR_STR(""), COR_STR(""),
                                                           &object, &req->why));
    if (object && is_failed_status(object))
        cor_status_read(&req->why, 500, result->body);
    if (call.code)
        *call.code = result->code;
    if (error_of(req, result))
        call.on_done(call.arg, NULL, error_of(req, result));
    else
        call.on_done(call.arg, object, NULL);
    request_free(req);
}

static void on_list_done(void *arg, const struct cor_rest_result *result)
{
    struct cor_dynamic_request *req = arg;
    struct cor_dynamic_list_call call = req->list_call;
    struct cor_list_meta meta;

    if (!result->error)
        cor_list_reader_end(&req->list, &req->why);
    meta = cor_list_reader_meta(&req->list);
    if (error_of(req, result))
        call.on_done(call.arg, NULL, error_of(req, result));
    else
        call.on_done(call.arg, &meta, NULL);
    request_free(req);
}

static void on_watch_done(void *arg, const struct cor_rest_result *result)
{
    struct cor_dynamic_request *req = arg;
    struct cor_dynamic_watch_call call = req->watch_call;
    const struct cor_status *error = error_of(req, result);
    bool is_plain = req->is_open && error && req->why.err == 0 &&
                    (error->err == -COR_EBROKEN || error->err == -COR_ETIMEOUT);

    call.on_done(call.arg, is_plain ? NULL : error);
    request_free(req);
}

static const struct cor_rest_cbs object_cbs = {NULL, NULL, on_object_done};
static const struct cor_rest_cbs list_cbs = {on_head, on_body, on_list_done};
static const struct cor_rest_cbs watch_cbs = {on_head, on_body, on_watch_done};

static int cannot_send(int r, struct cor_status *reterr)
{
    return cor_status_set(reterr, r, "the request could not be sent: %s", cor_err_text(r));
}

static struct cor_dynamic_request *request_new(enum kind kind)
{
    struct cor_dynamic_request *req = cor_calloc(1, sizeof(*req));

    if (req)
        req->kind = kind;
    return req;
}

/* Sends the request, and frees it when it cannot be sent. */
static int request_send(struct cor_rest_client *client, struct cor_dynamic_request *take_req,
                        struct cor_rest_request_opts *opts, struct cor_dynamic_request **ret_req,
                        struct cor_status *reterr)
{
    int r;

    opts->arg = take_req;
    r = cor_rest_request_open(client, opts, &take_req->rest);
    if (r < 0) {
        request_free(take_req);
        return cannot_send(r, reterr);
    }
    *ret_req = take_req;
    return 0;
}

static int require_name(const struct cor_resource_path *at, struct cor_status *reterr)
{
    return at->name.n > 0 ? 0 : cor_status_set(reterr, -COR_EINVAL, "name is required");
}

/* The Accept headers of client-go's metadata client, and of its typed clients. A server without
 * that form sends whole objects, or JSON. */
static struct cor_str accept_of(enum kind kind, bool metadata_only,
                                const struct cor_wire_type *wire)
{
    if (!metadata_only)
        return wire ? COR_STR(PROTOBUF ",application/json") : COR_STR("");
    return kind == LIST
               ? COR_STR("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
                         "application/json")
               : COR_STR("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
                         "application/json");
}

/* Sends a request with one answer; `target` has the query already. */
static int request_object(const struct cor_dynamic_call *call, enum kind kind,
                          struct cor_rest_request_opts opts, const struct cor_buf *target,
                          struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    struct cor_dynamic_request *req = request_new(kind);

    if (!req)
        return cannot_send(-COR_ENOMEM, reterr);
    req->object_call = *call;
    opts.target = cor_buf_str(target);
    opts.accept = accept_of(kind, call->metadata_only, NULL);
    opts.timeout_ms = call->timeout_ms;
    opts.deadline_ms = call->deadline_ms;
    opts.cbs = &object_cbs;
    return request_send(call->client, req, &opts, ret_req, reterr);
}

int cor_dynamic_get(const struct cor_dynamic_call *call, struct cor_str resource_version,
                    struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target;
    int r = require_name(&call->at, reterr);

    cor_buf_init(&target, COR_REST_TARGET_MAX);
    if (r == 0)
        r = cor_resource_path_write(&call->at, &target, reterr);
    if (r < 0)
        return r;
    r = cor_query_add(&target, "resourceVersion", resource_version);
    return r < 0 ? cannot_send(r, reterr)
                 : request_object(call, OBJECT, (struct cor_rest_request_opts){0}, &target, ret_req,
                                  reterr);
}

/* Sends create, update and patch: a body to a path, with options in the query. */
static int write_object(const struct cor_dynamic_call *call, const struct cor_resource_path *at,
                        struct cor_rest_request_opts opts, const struct cor_write_options *write,
                        struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target;
    int r;

    cor_buf_init(&target, COR_REST_TARGET_MAX);
    r = cor_resource_path_write(at, &target, reterr);
    if (r < 0)
        return r;
    r = write ? cor_write_options_write(write, &target) : 0;
    return r < 0 ? cannot_send(r, reterr)
                 : request_object(call, OBJECT, opts, &target, ret_req, reterr);
}

/* The path of an object that is written: with its own name, unless the caller gave one. */
static struct cor_resource_path path_of(const struct cor_dynamic_call *call,
                                        const struct cor_object *object)
{
    struct cor_resource_path at = call->at;

    if (at.name.n == 0)
        at.name = cor_object_name(object);
    return at;
}

int cor_dynamic_create(const struct cor_dynamic_call *call, const struct cor_object *object,
                       const struct cor_write_options *opts, struct cor_dynamic_request **ret_req,
                       struct cor_status *reterr)
{
    struct cor_resource_path at = path_of(call, object);

    if (cor_object_make_json(object) < 0)
        return cannot_send(-COR_ENOMEM, reterr);
    if (at.subresource.n == 0)
        at.name = COR_STR("");
    return write_object(
        call, &at,
        (struct cor_rest_request_opts){.method = COR_STR("POST"), .body = cor_object_json(object)},
        opts, ret_req, reterr);
}

int cor_dynamic_update(const struct cor_dynamic_call *call, const struct cor_object *object,
                       const struct cor_write_options *opts, struct cor_dynamic_request **ret_req,
                       struct cor_status *reterr)
{
    struct cor_resource_path at = path_of(call, object);
    int r = require_name(&at, reterr);

    if (r == 0 && cor_object_make_json(object) < 0)
        r = cannot_send(-COR_ENOMEM, reterr);
    return r < 0 ? r
                 : write_object(call, &at,
                                (struct cor_rest_request_opts){.method = COR_STR("PUT"),
                                                               .body = cor_object_json(object)},
                                opts, ret_req, reterr);
}

static int send_patch(const struct cor_dynamic_call *call, const struct cor_resource_path *at,
                      enum cor_patch_type type, struct cor_str patch,
                      const struct cor_write_options *opts, struct cor_dynamic_request **ret_req,
                      struct cor_status *reterr)
{
    int r = require_name(at, reterr);

    if (r == 0 && (unsigned)type >= COR_PATCH_TYPES)
        r = cor_status_set(reterr, -COR_EINVAL, "there is no patch type %d", (int)type);
    return r < 0 ? r
                 : write_object(
                       call, at,
                       (struct cor_rest_request_opts){.method = COR_STR("PATCH"),
                                                      .content_type = cor_patch_media_type(type),
                                                      .body = patch},
                       opts, ret_req, reterr);
}

static int check_managed_fields(struct cor_str metadata, enum cor_json_order order,
                                struct cor_status *reterr)
{
    struct cor_str fields;

    if (cor_json_get(metadata, COR_STR("managedFields"), order, &fields) < 0 ||
        cor_json_type(fields) != COR_JSON_ARRAY || fields.n == sizeof("[]") - 1)
        return 0;
    return cor_status_set(reterr, -COR_EINVAL,
                          "cannot apply an object with managed fields already set");
}

int cor_dynamic_patch(const struct cor_dynamic_call *call, enum cor_patch_type type,
                      struct cor_str patch, const struct cor_write_options *opts,
                      struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    struct cor_str metadata;
    bool is_canonical;
    int r = 0;

    if (type == COR_PATCH_APPLY &&
        cor_json_check(patch, &COR_JSON_LIMITS_DEFAULT, &is_canonical, NULL) == 0 &&
        cor_json_get(patch, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) == 0)
        r = check_managed_fields(metadata, COR_JSON_ANY_ORDER, reterr);
    return r < 0 ? r : send_patch(call, &call->at, type, patch, opts, ret_req, reterr);
}

int cor_dynamic_apply(const struct cor_dynamic_call *call, const struct cor_object *object,
                      const struct cor_write_options *opts, struct cor_dynamic_request **ret_req,
                      struct cor_status *reterr)
{
    struct cor_resource_path at = path_of(call, object);
    struct cor_view metadata;
    int r;

    if (cor_object_make_json(object) < 0)
        return cannot_send(-COR_ENOMEM, reterr);
    metadata = cor_view_member(cor_object_view(object), COR_STR("metadata"));
    r = check_managed_fields(metadata.json, cor_object_order(object), reterr);
    return r < 0 ? r
                 : send_patch(call, &at, COR_PATCH_APPLY, cor_object_json(object), opts, ret_req,
                              reterr);
}

static int send_removal(const struct cor_dynamic_call *call, enum kind kind,
                        const struct cor_removal_options *opts, const struct cor_buf *target,
                        struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    static const struct cor_removal_options defaults;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body;
    int r;

    cor_buf_init(&body, BODY_MAX);
    r = cor_removal_options_write(opts ? opts : &defaults, &body);
    return r < 0 ? cannot_send(r, reterr)
                 : request_object(call, kind,
                                  (struct cor_rest_request_opts){.method = COR_STR("DELETE"),
                                                                 .body = cor_buf_str(&body)},
                                  target, ret_req, reterr);
}

int cor_dynamic_delete(const struct cor_dynamic_call *call, const struct cor_removal_options *opts,
                       struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target;
    int r = require_name(&call->at, reterr);

    cor_buf_init(&target, COR_REST_TARGET_MAX);
    if (r == 0)
        r = cor_resource_path_write(&call->at, &target, reterr);
    return r < 0 ? r : send_removal(call, OBJECT, opts, &target, ret_req, reterr);
}

/* Writes the path of a collection, and the query. */
static int write_collection(const struct cor_resource_path *from,
                            const struct cor_list_query *query, bool watch, struct cor_buf *target,
                            struct cor_status *reterr)
{
    struct cor_resource_path at = *from;
    struct cor_list_query q = query ? *query : (struct cor_list_query){0};
    int r;

    at.name = at.subresource = COR_STR("");
    q.list.watch = watch;
    r = cor_resource_path_write(&at, target, reterr);
    if (r < 0)
        return r;
    r = cor_list_query_write(&q, target);
    return r < 0 ? cannot_send(r, reterr) : 0;
}

int cor_dynamic_delete_collection(const struct cor_dynamic_call *call,
                                  const struct cor_removal_options *opts,
                                  const struct cor_list_query *which,
                                  struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target;
    int r;

    cor_buf_init(&target, COR_REST_TARGET_MAX);
    r = write_collection(&call->at, which, false, &target, reterr);
    return r < 0 ? r : send_removal(call, NOTHING, opts, &target, ret_req, reterr);
}

/* Sends a list or watch, whose reader is in `take_req`. */
static int send_collection(struct cor_rest_client *client, const struct cor_resource_path *at,
                           const struct cor_list_query *query, struct cor_rest_request_opts opts,
                           struct cor_dynamic_request *take_req,
                           struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target;
    int r;

    cor_buf_init(&target, COR_REST_TARGET_MAX);
    r = write_collection(at, query, opts.kind == COR_REST_WATCH, &target, reterr);
    if (r < 0) {
        request_free(take_req);
        return r;
    }
    opts.target = cor_buf_str(&target);
    return request_send(client, take_req, &opts, ret_req, reterr);
}

int cor_dynamic_list(const struct cor_dynamic_list_call *call, const struct cor_list_query *query,
                     struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    const struct cor_rest_request_opts opts = {
        .kind = COR_REST_STREAM,
        .accept = accept_of(LIST, query->metadata_only, call->wire),
        .timeout_ms = call->timeout_ms,
        .deadline_ms = call->deadline_ms,
        .cbs = &list_cbs};
    struct cor_dynamic_request *req = request_new(LIST);

    if (!req)
        return cannot_send(-COR_ENOMEM, reterr);
    req->list_call = *call;
    cor_list_reader_init(&req->list, call->on_item, call->arg);
    return send_collection(call->client, &call->at, query, opts, req, ret_req, reterr);
}

int cor_dynamic_watch(const struct cor_dynamic_watch_call *call, const struct cor_list_query *query,
                      struct cor_dynamic_request **ret_req, struct cor_status *reterr)
{
    const struct cor_rest_request_opts opts = {
        .kind = COR_REST_WATCH,
        .accept = accept_of(WATCH, query->metadata_only, call->wire),
        .deadline_ms = call->deadline_ms,
        .cbs = &watch_cbs};
    struct cor_dynamic_request *req = request_new(WATCH);

    if (!req)
        return cannot_send(-COR_ENOMEM, reterr);
    req->watch_call = *call;
    cor_watch_reader_init(&req->watch, call->on_event, call->arg);
    return send_collection(call->client, &call->at, query, opts, req, ret_req, reterr);
}
