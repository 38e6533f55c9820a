/* clang-format off */
/* A call's life and its output.
 *
 *   cor_call_new ──► the verb runs: store operations (begin_op, end_op), stages (heavy.h) ──► one
 *   answer: cor_call_reply_*, cor_call_fail, or cor_call_start and spans ──► cor_call_pump writes
 *   the spans as the sink takes them, and asks `refill` for more ──► cor_call_end ──► freed
 *
 * Who ends a call:
 *   - its answer is written: call_over() after the sink's end;
 *   - its reader goes (the sink's on_gone), or it is cut: the verb's `gone` first, then
 *     call_over();
 *   - a refill fails: the answer is aborted, so that it does not look whole.
 * call_over() frees the call unless operations of the store or a stage are under way; then the last
 * cor_call_end_op() frees it. So every callback of an operation begins with cor_call_end_op() and
 * touches the call only if that returns true.
 *
 * Memory: a failure to write a Status is answered with a constant text (OUT_OF_MEMORY), which needs
 * none. A failure after the head has been sent cuts the answer.
 * Thread: the call's loop. cor_call_convert() and cor_call_now_ms() also on a thread that has the
 * call. */
/* clang-format on */
#include "server/api/call.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "codec/yaml.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "meta/status/storage_error.h"
#include "schema/kinds/custom_row.h"
#include "schema/print/custom_columns.h"
#include "schema/protobuf/protobuf.h"
#include "server/api/api_int.h"
#include "server/api/call_int.h"
#include "server/api/heavy.h"
#include "server/api/scale_of_custom.h"
#include "server/docs/table.h"
#include "json/write/pretty.h"

/* How long slices of lists may take of one turn of a loop. Those that are left wait for the next.
 */
#define SLICES_US 4000

/* No object has a longer name. A selector for one lists all objects and finds none, because a key
 * of that length would be refused. */
#define NARROW_NAME_MAX 1024
#define JSON_TYPE       "application/json"
#define YAML_TYPE       "application/yaml"
#define PROTOBUF_TYPE   "application/vnd.kubernetes.protobuf"
/* The answer when a Status cannot be written. */
#define OUT_OF_MEMORY                                                                              \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","           \
    "\"message\":\"out of memory\",\"reason\":\"InternalError\",\"code\":500}\n"

static void call_on_writable(void *arg)
{
    cor_call_pump(arg);
}

static void call_free(struct cor_call *call)
{
    assert(call->is_over && call->pending == 0 && !call->heavy && call->held.bytes == 0);
    if (call->verb->deinit)
        call->verb->deinit(call);
    call->loop->ncalls--;
    cor_api_options_deinit(&call->opts);
    cor_buf_deinit(&call->key);
    cor_buf_deinit(&call->names);
    cor_buf_deinit(&call->out);
    cor_status_deinit(&call->status);
    cor_warnings_deinit(&call->warnings);
    cor_object_unref(call->out_object);
    if (call->res && call->res->life && call->backing)
        cor_api_put_backing(call->loop, call->backing);
    cor_row_unref(call->res);
    cor_free(call);
}

/* The call has answered, or its reader is gone: frees it now or with its last operation. */
static void call_over(struct cor_call *call)
{
    if (call->held.bytes > 0)
        cor_held_set(call, 0);
    call->is_over = true;
    call->req = NULL;
    call->sink = NULL;
    if (call->pending == 0)
        call_free(call);
}

void cor_call_gone(struct cor_call *call)
{
    assert(!call->is_over && !cor_heavy_is_running(call));
    if (call->verb->gone)
        call->verb->gone(call);
    call_over(call);
}

static void call_on_gone(void *arg)
{
    struct cor_call *call = arg;

    if (!cor_heavy_note_gone(call))
        cor_call_gone(call);
}

static void call_on_drain(void *arg)
{
    struct cor_call *call = arg;

    /* A stage on a thread ends soon: the verb is not touched meanwhile. */
    if (call->verb->drain && !cor_heavy_is_running(call))
        call->verb->drain(call);
}

static const struct cor_sink_cbs sink_cbs = {call_on_writable, call_on_gone, call_on_drain};

struct cor_call *cor_call_new(const struct cor_verb_ops *verb, struct cor_api_loop *loop,
                              const struct cor_server_request *req, struct cor_sink *sink)
{
    size_t spans_max = verb->spans_max ? verb->spans_max : COR_CALL_SPANS_FEW;
    struct cor_call *call = cor_calloc(1, verb->size + spans_max * sizeof(struct cor_str));

    assert(verb->run && verb->size >= sizeof(*call) && verb->size % _Alignof(struct cor_str) == 0);
    if (!call)
        return NULL;
    call->spans = (struct cor_str *)((char *)call + verb->size);
    call->spans_max = spans_max;
    call->verb = verb;
    call->loop = loop;
    call->req = req;
    call->sink = sink;
    call->takes_objects = cor_sink_takes_objects(sink);
    cor_buf_init(&call->key, COR_KEY_BYTES_MAX);
    cor_buf_init(&call->names, COR_KEY_BYTES_MAX);
    cor_buf_init(&call->out, COR_CALL_OUT_MAX);
    cor_status_init(&call->status);
    cor_warnings_init(&call->warnings);
    cor_dlist_init(&call->held.link);
    loop->ncalls++;
    cor_sink_set_cbs(sink, &sink_cbs, call);
    return call;
}

bool cor_call_takes_slice(struct cor_call *call, struct cor_mail *mail)
{
    struct cor_api_loop *loop = call->loop;

    if (call->is_over || cor_turn_share_take(&loop->slices, loop->loop, SLICES_US, true))
        return true;
    cor_loop_post_always(loop->loop, mail);
    return false;
}

bool cor_call_end_op(struct cor_call *call)
{
    assert(call->pending > 0 && cor_loop_is_current(call->loop->loop));
    call->pending--;
    if (!call->is_over)
        return true;
    if (call->pending == 0)
        call_free(call);
    return false;
}

/* Copies the names, because the request is freed with its reader while the store may still work. */
static int call_copy_names(struct cor_call *call)
{
    const struct cor_request_info *info = &call->req->info;
    size_t ns_n = cor_api_is_namespaced(call->res) ? info->ns.n : 0;
    /* A custom resource is created whatever name its path has. */
    bool has_name = !call->res->custom || call->sub || info->verb != COR_API_VERB_CREATE;
    int r = cor_buf_add(&call->names, info->ns.p, ns_n);

    if (r == 0 && has_name)
        r = cor_buf_adds(&call->names, info->name);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    call->ns = cor_str(cor_buf_z(&call->names), ns_n);
    call->name = cor_str_from(cor_buf_str(&call->names), ns_n);
    return 0;
}

int cor_call_set_key(struct cor_call *call)
{
    struct cor_str prefix;
    int r = call_copy_names(call);

    assert(call->req && call->key.n == 0);
    if (r < 0 || !call->backing)
        return r;
    prefix = cor_buf_str(&call->backing->prefix);
    if (call->name.n > 0)
        return cor_key_of_object(prefix, cor_api_is_namespaced(call->res), call->ns, call->name,
                                 &call->key, &call->status);
    r = cor_key_of_namespace(prefix, call->ns, &call->key);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

int cor_call_predicate(struct cor_call *call, struct cor_predicate *ret_predicate)
{
    assert(call->res);
    return cor_predicate_parse(call->opts.label_selector, call->opts.field_selector,
                               call->res->field_labels, ret_predicate, &call->status);
}

/* When the predicate selects a single object by its name, sets the key to that object's, and
 * `ret_recursive` to false. 0, or a failure in `status`. */
static int call_narrow(struct cor_call *call, const struct cor_predicate *predicate,
                       bool *ret_recursive)
{
    bool is_namespaced = cor_api_is_namespaced(call->res);
    struct cor_str name;

    if (!cor_predicate_requires(predicate, COR_STR("metadata.name"), &name) ||
        (is_namespaced && call->ns.n == 0) || name.n == 0 || name.n > NARROW_NAME_MAX ||
        !cor_name_ok(COR_NAME_PATH_SEGMENT, name))
        return 0;
    cor_buf_reset(&call->key);
    *ret_recursive = false;
    return cor_key_of_object(cor_buf_str(&call->backing->prefix), is_namespaced, call->ns, name,
                             &call->key, &call->status);
}

int cor_call_list_options(struct cor_call *call, bool watch, struct cor_list_options *ret_options,
                          struct cor_predicate *ret_predicate, enum cor_table_include *ret_include)
{
    int r = cor_api_options_to_list(&call->opts, watch, ret_options, &call->status);

    assert(call->backing);
    if (r == 0)
        r = cor_call_set_key(call);
    if (r == 0)
        r = cor_call_predicate(call, ret_predicate);
    if (r == 0 && call->accept.view == COR_VIEW_TABLE)
        r = cor_table_include_parse(call->opts.include_object, ret_include, &call->status);
    if (r < 0)
        return r;
    /* The URL of an old watch names the object itself. */
    if (call->name.n > 0) {
        ret_options->recursive = false;
        return 0;
    }
    /* A page continues where the one before ended: its key stays the collection's. */
    if (!watch && (ret_options->continue_token.n > 0 || ret_options->limit > 0))
        return 0;
    return call_narrow(call, ret_predicate, &ret_options->recursive);
}

int64_t cor_call_now_ms(const struct cor_call *call)
{
    return cor_clock_wall_ms(call->loop->settings->clock);
}

struct headers {
    struct cor_http_header v[COR_SINK_HEADERS_MAX];
    size_t n;
};

static void headers_add(struct headers *h, const char *name, struct cor_str value)
{
    if (h->n < COR_SINK_HEADERS_MAX)
        h->v[h->n++] = (struct cor_http_header){cor_strz(name), value};
}

void cor_call_start(struct cor_call *call, int code, const char *content_type,
                    const struct cor_http_header *headers, size_t nheaders, uint64_t length)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uuid = {0};
    struct headers h;
    bool has_cache = false;
    char retry[24];

    assert(call->req && call->sink && !cor_heavy_is_running(call));
    cor_buf_init(&uuid, 64);
    if (call->req->audit_id.n == 0)
        (void)cor_uuid_add(&call->loop->rand, &uuid);
    h.n = 0; /* the array is large, and what is not used of it stays as it is */
    for (size_t i = 0; i < nheaders; i++) {
        headers_add(&h, headers[i].name.p, headers[i].value);
        has_cache = has_cache || cor_str_eq(headers[i].name, COR_STR("Cache-Control"));
    }
    if (content_type)
        headers_add(&h, "Content-Type", cor_strz(content_type));
    headers_add(&h, "Audit-Id",
                call->req->audit_id.n > 0 ? call->req->audit_id : cor_buf_str(&uuid));
    if (!has_cache)
        headers_add(&h, "Cache-Control", COR_STR("no-cache, private"));
    for (size_t i = 0; i < call->warnings.n; i++) {
        if (code < 300 || i < call->nroute_warnings || i >= call->nsuccess_warnings)
            headers_add(&h, "Warning", cor_warnings_at(&call->warnings, i));
    }
    if (code >= 400 && call->status.retry_after_s > 0) {
        snprintf(retry, sizeof(retry), "%lld", (long long)call->status.retry_after_s);
        headers_add(&h, "Retry-After", cor_strz(retry));
    }
    cor_sink_start(call->sink, code, h.v, h.n, length);
}

static size_t call_spans_length(const struct cor_call *call)
{
    size_t n = 0;

    for (size_t i = 0; i < call->nspans; i++)
        n += call->spans[i].n;
    return n;
}

void cor_call_end(struct cor_call *call)
{
    assert(call->sink && !cor_heavy_is_running(call));
    cor_sink_end(call->sink);
    call_over(call);
}

void cor_call_abort(struct cor_call *call)
{
    assert(call->sink && !cor_heavy_is_running(call));
    cor_sink_abort(call->sink);
    call_over(call);
}

void cor_call_cut(struct cor_call *call)
{
    assert(!call->is_over && !cor_heavy_is_running(call));
    if (call->verb->gone)
        call->verb->gone(call);
    cor_call_abort(call);
}

void cor_call_weigh(struct cor_call *call)
{
    size_t bytes = sizeof(*call) + call->out.cap;

    assert(!cor_heavy_is_running(call));
    if (call->out_object)
        bytes += sizeof(*call->out_object) + call->out_object->len;
    if (call->verb->held)
        bytes += call->verb->held(call);
    cor_held_set(call, bytes);
}

void cor_call_pump(struct cor_call *call)
{
    /* A thread has the call: the end of the stage pumps again. */
    if (cor_heavy_is_running(call))
        return;
    for (;;) {
        size_t total = call_spans_length(call);
        int r;

        if (call->skip < total)
            call->skip += cor_sink_writev(call->sink, call->spans, call->nspans, call->skip);
        if (call->skip < total) {
            cor_call_weigh(call);
            return;
        }
        call->skip = 0;
        call->nspans = 0;
        r = call->refill ? call->refill(call) : 0;
        if (r == COR_REFILL_WAIT) {
            if (call->held.bytes > 0)
                cor_held_set(call, 0);
            return;
        }
        if (r < 0) {
            cor_call_abort(call);
            return;
        }
        if (r == 0) {
            cor_call_end(call);
            return;
        }
    }
}

/* Answers with the spans as the whole body. */
static void call_reply_spans(struct cor_call *call, int code, const char *content_type,
                             const struct cor_http_header *headers, size_t nheaders)
{
    call->refill = NULL;
    call->skip = 0;
    cor_call_start(call, code, content_type, headers, nheaders, call_spans_length(call));
    cor_call_pump(call);
}

static void call_reply_no_memory(struct cor_call *call)
{
    call->nspans = 0;
    cor_call_add_span(call, COR_STR(OUT_OF_MEMORY));
    call_reply_spans(call, 500, JSON_TYPE, NULL, 0);
}

void cor_call_unencodable(struct cor_call *call, const struct cor_object *object, const char *why)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf logical = {0}, key = {0};
    int r = 0;

    cor_buf_init(&logical, COR_KEY_BYTES_MAX);
    cor_buf_init(&key, 2 * COR_KEY_BYTES_MAX);
    if (object && call->backing)
        r = cor_key_of_object(cor_buf_str(&call->backing->prefix), cor_api_is_namespaced(call->res),
                              cor_object_namespace(object), cor_object_name(object), &logical,
                              NULL);
    else if (call->name.n > 0)
        r = cor_buf_adds(&logical, cor_buf_str(&call->key));
    if (r == 0 && logical.n > 0)
        r = cor_store_add_key(call->backing->store, cor_buf_str(&logical), &key);
    if (r < 0)
        cor_status_set_err(&call->status, r);
    else if (key.n == 0)
        cor_status_internal(&call->status, "unable to encode the object: %s", why);
    else
        cor_status_internal(&call->status, "unable to encode key \"%s\": %s", cor_buf_z(&key), why);
}

/* Appends the JSON in `out`, which is of a built-in kind or a document of discovery, as protobuf.
 * -COR_EINVAL with the call's status: the object was stored with a value that its type does not
 * have. */
static int call_write_protobuf(struct cor_call *call, struct cor_buf *out)
{
    static const struct cor_gvk expected = {COR_STR(""), COR_STR(""), COR_STR("")};
    struct cor_str json = cor_buf_str(&call->out), value;
    struct cor_protobuf object = {COR_STR(""), COR_STR(""), COR_STR("")};
    struct cor_pb_error why = {.message = ""};
    const struct cor_type *type;
    int r;

    if (cor_json_get(json, COR_STR("kind"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &object.kind);
    if (cor_json_get(json, COR_STR("apiVersion"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &object.api_version);
    type = cor_protobuf_type(&object, &expected);
    if (!type) {
        cor_status_internal(&call->status, "there is no protobuf message for the kind %.*s",
                            COR_STR_ARG(object.kind));
        return -COR_EINVAL;
    }
    r = cor_protobuf_from_json(object.api_version, object.kind, type, json, out, &why);
    if (r == -COR_EINVAL)
        cor_call_unencodable(call, NULL, why.message);
    return r;
}

/* Turns the JSON in `out` into the form that was asked for. A stage (server/api/heavy.h). */
static int call_rewrite_out(struct cor_call *call)
{
    struct cor_buf text;
    int r;

    if (!call->accept.is_yaml && !call->accept.is_pretty && !call->accept.is_protobuf)
        return cor_buf_addc(&call->out, '\n');
    cor_buf_init(&text, COR_CALL_OUT_MAX);
    if (call->accept.is_protobuf)
        r = call_write_protobuf(call, &text);
    else if (call->accept.is_yaml)
        r = cor_yaml_from_json(cor_buf_str(&call->out), &text);
    else
        r = cor_json_pretty(cor_buf_str(&call->out), 0, &text);
    if (r < 0) {
        cor_buf_deinit(&text);
        return r;
    }
    cor_buf_deinit(&call->out);
    call->out = text;
    return 0;
}

static void call_on_rewritten(struct cor_call *call, int r)
{
    if (call->is_over)
        return;
    /* No thread was free for a GET: the Status is short, so that it is written on the loop. */
    if (r == -COR_EBUSY || (r == -COR_EINVAL && call->accept.is_protobuf)) {
        cor_call_fail(call);
        return;
    }
    if (r < 0) {
        call_reply_no_memory(call);
        return;
    }
    call->nspans = 0;
    cor_call_add_span(call, cor_buf_str(&call->out));
    call_reply_spans(call, call->out_code,
                     call->accept.is_protobuf ? PROTOBUF_TYPE
                     : call->accept.is_yaml   ? YAML_TYPE
                                              : JSON_TYPE,
                     NULL, 0);
}

void cor_call_reply_json(struct cor_call *call, int code)
{
    bool is_made = call->accept.is_yaml || call->accept.is_pretty || call->accept.is_protobuf;

    assert(!call->is_over && code >= 200);
    call->out_code = code;
    cor_heavy_owe(call, is_made ? call->out.n : 0, call_rewrite_out, call_on_rewritten);
}

void cor_call_reply_success(struct cor_call *call, int code)
{
    cor_buf_reset(&call->out);
    if (cor_buf_addf(&call->out,
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                     "\"Success\",\"code\":%d}",
                     code) < 0)
        call_reply_no_memory(call);
    else
        cor_call_reply_json(call, code);
}

void cor_call_reply_bytes(struct cor_call *call, int code, const char *content_type,
                          const struct cor_http_header *headers, size_t nheaders,
                          struct cor_str body)
{
    assert(!call->is_over && code >= 200 && !cor_heavy_is_running(call));
    call->nspans = 0;
    cor_call_add_span(call, body);
    call_reply_spans(call, code, content_type, headers, nheaders);
}

void cor_call_fail(struct cor_call *call)
{
    bool is_pretty;
    int r;

    assert(!call->is_over && call->status.code != 0);
    is_pretty = call->accept.is_pretty;
    call->accept = cor_negotiate_failure(call->req->accept);
    call->accept.is_pretty = call->accept.is_pretty || is_pretty;
    cor_buf_reset(&call->out);
    r = cor_status_write(&call->status, &call->out);
    if (r < 0)
        call_reply_no_memory(call);
    else
        cor_call_reply_json(call, call->status.code);
}

void cor_call_fail_storage(struct cor_call *call, enum cor_storage_op op)
{
    struct cor_gr gr = cor_api_gr(call->res);
    bool is_late =
        call->req->deadline_ms > 0 && cor_loop_now_ms(call->loop->loop) >= call->req->deadline_ms;

    assert(call->res && call->status.err < 0);
    /* Then the store has stopped because of the call's deadline, and the client gets the deadline's
     * error, not the store's. */
    if (call->status.err == -COR_ETIMEOUT && is_late)
        cor_status_timeout(&call->status, 0, "%s",
                           call->req->method == COR_HTTP_GET ? COR_ALLOTTED_TEXT
                                                             : COR_DEADLINE_TEXT);
    else
        cor_storage_error_to_api(&call->status, op, &gr, call->name);
    cor_call_fail(call);
}

static int call_write_table(struct cor_call *call, struct cor_object *object, struct cor_work *work)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL;
    struct cor_table_opts opts = {
        .columns = call->columns,
        .include = call->include,
        .now_us = cor_call_now_ms(call) * 1000,
        .is_v1beta1 = call->accept.is_v1beta1,
        .has_columns = true,
        .shows_cells = call->res->custom,
        .work = work,
    };
    struct cor_json_writer w;
    int r = 0;

    if (cor_call_has_stored_cells(call) && cor_call_converts_rows(call, opts.include))
        r = cor_call_convert(call, object, &shown);
    if (r < 0)
        return r;
    cor_json_writer_init(&w, &call->out);
    cor_table_of_object(&w, &opts, object, shown ? shown : object);
    r = cor_json_writer_finish(&w);
    if (r == COR_WORK_YIELD)
        return r;
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

int cor_call_convert(struct cor_call *call, struct cor_object *object,
                     struct cor_object **ret_object)
{
    int r;

    assert(object && call->type);
    if (!call->conversion) {
        *ret_object = cor_object_ref(object);
        return 0;
    }
    if (cor_call_has_custom_scale(call))
        return cor_call_make_custom_scale(call, object, ret_object);
    /* The variants belong to the loop: a thread converts by itself. */
    if (cor_heavy_is_running(call))
        r = cor_row_convert(call->type, call->conversion, object, ret_object);
    else
        r = cor_variants_get(&cor_loop_part(call->loop)->variants, call->conversion, call->type,
                             object, ret_object);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Answers with an object in the version of the answer. */
static void call_reply_converted(struct cor_call *call, int code, struct cor_object *take_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *answer = take_object;
    struct cor_work work = cor_work_new(false);
    int r;

    if (call->takes_objects && call->accept.view == COR_VIEW_OBJECT) {
        cor_call_start(call, code, JSON_TYPE, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
        (void)cor_sink_take_object(call->sink, COR_WATCH_ADDED, answer);
        cor_call_end(call);
        return;
    }
    if (call->accept.view == COR_VIEW_OBJECT && !call->accept.is_pretty && !call->accept.is_yaml &&
        !call->accept.is_protobuf) {
        cor_object_unref(call->out_object);
        call->out_object = COR_STEAL(answer);
        call->nspans = 0;
        cor_call_add_span(call, cor_object_json(call->out_object));
        cor_call_add_span(call, COR_STR("\n"));
        call_reply_spans(call, code, JSON_TYPE, NULL, 0);
        return;
    }
    cor_buf_reset(&call->out);
    if (call->accept.view == COR_VIEW_TABLE) {
        r = call_write_table(call, answer, &work);
    } else if (call->accept.view == COR_VIEW_PARTIAL) {
        r = cor_buf_adds(&call->out, cor_partial_head(call->accept.is_v1beta1));
        if (r == 0)
            r = cor_buf_adds(&call->out, cor_object_metadata(answer));
        if (r == 0)
            r = cor_buf_addc(&call->out, '}');
    } else {
        r = cor_buf_adds(&call->out, cor_object_json(answer));
    }
    if (r < 0 && call->accept.view != COR_VIEW_TABLE)
        (void)cor_status_set_err(&call->status, r);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_call_reply_json(call, code);
}

/* Makes the table of `out_object`, the stored object, in `out`. A stage (server/api/heavy.h). */
static int call_write_out_table(struct cor_call *call)
{
    struct cor_work work = cor_heavy_work_of(call);

    cor_buf_reset(&call->out);
    return call_write_table(call, call->out_object, &work);
}

/* The bytes that a row reads: each column reads the object. */
static size_t call_table_weight(const struct cor_call *call, const struct cor_object *object)
{
    size_t n = cor_object_json(object).n;

    if (n > COR_HEAVY_BYTES || cor_columns_steps(call->columns, n) <= COR_WORK_SLICE)
        return n;
    return COR_HEAVY_BYTES + 1;
}

static void call_on_table(struct cor_call *call, int r)
{
    if (call->is_over)
        return;
    if (r == COR_WORK_YIELD) {
        r = cor_heavy_start(call, cor_object_json(call->out_object).n, call_write_out_table,
                            call_on_table);
        if (r == 0)
            return;
    }
    if (r < 0)
        cor_call_fail(call);
    else
        cor_call_reply_json(call, call->out_code);
}

/* Converts `out_object`. A stage (server/api/heavy.h). */
static int call_convert_out(struct cor_call *call)
{
    struct cor_object *made;
    int r = cor_call_convert(call, call->out_object, &made);

    if (r < 0)
        return r;
    cor_object_unref(call->out_object);
    call->out_object = made;
    return 0;
}

static void call_on_converted(struct cor_call *call, int r)
{
    if (call->is_over)
        return;
    if (r < 0)
        cor_call_fail(call);
    else
        call_reply_converted(call, call->out_code, COR_STEAL(call->out_object));
}

void cor_call_reply_object(struct cor_call *call, int code, struct cor_object *object)
{
    struct cor_object *answer;

    assert(object && !call->is_over);
    if (call->accept.view == COR_VIEW_TABLE &&
        cor_table_include_parse(call->opts.include_object, &call->include, &call->status) < 0) {
        cor_call_fail(call);
        return;
    }
    if (cor_call_has_stored_cells(call) ||
        (call->conversion && cor_object_json(object).n > COR_HEAVY_BYTES)) {
        (void)cor_object_ref(object); /* it may be the call's own */
        cor_object_unref(call->out_object);
        call->out_object = object;
        call->out_code = code;
        if (cor_call_has_stored_cells(call))
            cor_heavy_owe(call, call_table_weight(call, object), call_write_out_table,
                          call_on_table);
        else
            cor_heavy_owe(call, cor_object_json(object).n, call_convert_out, call_on_converted);
    } else if (cor_call_convert(call, object, &answer) < 0) {
        cor_call_fail(call);
    } else {
        call_reply_converted(call, code, answer);
    }
}
