/* The body of a request as JSON: the content type chooses the decoder, JSON is passed through.
 *
 * Failures: another content type, or protobuf of a kind without a message, is 415; what a decoder
 * refuses is 400 in upstream's words. Which words a refusal has depends on the step at which
 * upstream's decoder stops: "unrecognized" (no type could be read), "cannot be handled" (a member
 * is wrong), 422 for what a patch made.
 * Thread: the thread that has the call. */
#include "server/write/write_body.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "codec/yaml.h"
#include "meta/names/field_error.h"
#include "schema/go/go_text.h"
#include "schema/kinds/decode.h"
#include "schema/protobuf/protobuf.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define SUMMARY_MAX     (16u * 1024)
#define PROTOBUF_TYPE   "application/vnd.kubernetes.protobuf"
#define PROTOBUF_GROWTH 16 /* an empty message of two bytes may have many zeros in JSON */
#define YAML_GROWTH     4  /* its decoder takes so much longer than that of JSON */
/* What an object inside a body costs besides its own bytes. Defaults make up to 200 bytes of an
 * empty container, port, volume or claim in up to 1.7 us, in which the stages go over this many
 * plain bytes. */
#define ELEMENT_BYTES 64
/* In fewer bytes there are not enough objects to count: they take 2 ms at most. */
#define SCANNED_BYTES_MIN 4096

int cor_body_cannot_handle(struct cor_call *call, struct cor_str api_version, struct cor_str kind,
                           const char *why)
{
    struct cor_gv gv = {call->type->group, call->type->version};

    if (api_version.n > 0)
        (void)cor_gv_parse(api_version, &gv, NULL);
    if (kind.n == 0)
        kind = call->type->kind;
    return cor_status_bad_request(
        &call->status, "%.*s in version \"%.*s\" cannot be handled as a %.*s: %s",
        COR_STR_ARG(kind), COR_STR_ARG(gv.version), COR_STR_ARG(call->type->kind), why);
}

int cor_body_unrecognized(struct cor_call *call, const char *why)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf summary = {0};

    cor_buf_init(&summary, SUMMARY_MAX);
    (void)cor_decode_summary(call->req->body, &summary);
    return cor_status_bad_request(
        &call->status, "the object provided is unrecognized (must be of type %.*s): %s (%s)",
        COR_STR_ARG(call->type->kind), why, cor_buf_z(&summary));
}

/* Appends a strategic merge patch as upstream prints it, as a map of Go; one that is too large to
 * print is left out. 0, -COR_ENOMEM. */
static int body_print_strategic(struct cor_str patch, struct cor_buf *out)
{
    static const struct cor_json_limits limits = {COR_WRITE_JSON_MAX, COR_JSON_DEPTH_MAX, true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {0};
    int r;

    cor_buf_init(&sorted, COR_WRITE_JSON_MAX);
    cor_buf_init(out, COR_WRITE_JSON_MAX);
    r = cor_json_canonicalize(patch, &limits, &sorted, NULL, NULL);
    if (r == 0)
        r = cor_go_text(cor_buf_str(&sorted), out);
    return r == -COR_ENOMEM ? r : 0;
}

int cor_body_refuse_patched(struct cor_call *call, const struct cor_write_asked *asked,
                            struct cor_str json, const char *why)
{
    static const struct cor_field_path patch = {.name = COR_STR("patch")};
    static const struct cor_gk none = {COR_STR(""), COR_STR("")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf map = {0};
    struct cor_str value = json;

    if (asked->strategic.p) {
        if (body_print_strategic(asked->strategic, &map) < 0)
            return cor_status_set_err(&call->status, -COR_ENOMEM);
        value = cor_buf_str(&map);
    }
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &patch, cor_field_string(value), why);
    return cor_status_invalid(&call->status, &none, COR_STR(""), &errs);
}

static int body_read_yaml(struct cor_call *call, struct cor_buf *text, struct cor_buf *dups,
                          struct cor_str *ret_json)
{
    struct cor_yaml_error why = {.message = ""};
    int r = cor_yaml_to_json(call->req->body, text, dups, &why);

    if (r == -COR_EINVAL)
        return cor_body_unrecognized(call, why.message);
    if (r < 0)
        return cor_status_set(&call->status, r, "%s",
                              why.message[0] ? why.message : cor_err_text(r));
    *ret_json = cor_buf_str(text);
    return 0;
}

static int body_refuse_type(struct cor_call *call)
{
    return cor_status_set(&call->status, -COR_EMEDIATYPE,
                          "the body of the request was in an unknown format - accepted media "
                          "types include: application/json, application/yaml, " PROTOBUF_TYPE);
}

/* An object that has only a type, of a kind that has no message: it is refused where the kinds of
 * all bodies are checked. */
static int body_write_type(const struct cor_protobuf *object, struct cor_buf *text)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, text);
    cor_json_begin_object(&w);
    if (object->kind.n > 0)
        cor_json_member(&w, COR_STR("kind"), object->kind);
    if (object->api_version.n > 0)
        cor_json_member(&w, COR_STR("apiVersion"), object->api_version);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* A version that is empty behind a group is that of the request, whatever the group is. */
static struct cor_str body_envelope_version(struct cor_str api_version)
{
    bool is_open =
        api_version.n > 0 && cor_str_find(api_version, '/') == (ptrdiff_t)api_version.n - 1;

    return is_open ? COR_STR("") : api_version;
}

/* What is wrong with the envelope is refused as a body without a kind, what is wrong with the
 * message as a body of its kind. */
static int body_read_protobuf(struct cor_call *call, const struct cor_gvk *expected,
                              struct cor_buf *text, struct cor_str *ret_json)
{
    struct cor_pb_error why = {.message = ""};
    const struct cor_type *type;
    struct cor_protobuf object;
    int r;

    if (cor_protobuf_open(call->req->body, &object, &why) < 0)
        return cor_body_unrecognized(call, why.message);
    object.api_version = body_envelope_version(object.api_version);
    type = cor_protobuf_type(&object, expected);
    r = type ? cor_protobuf_to_json(&object, type, text, &why) : body_write_type(&object, text);
    if (r == -COR_EINVAL)
        return cor_body_cannot_handle(call, object.api_version, object.kind, why.message);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    *ret_json = cor_buf_str(text);
    return 0;
}

int cor_body_json(struct cor_call *call, const struct cor_gvk *expected, struct cor_buf *text,
                  struct cor_buf *dups, struct cor_str *ret_json)
{
    struct cor_str type = cor_media_type(call->req->content_type);

    assert(call->req && text->n == 0 && dups->n == 0);
    if (cor_media_type_is(type, "application/yaml"))
        return body_read_yaml(call, text, dups, ret_json);
    if (cor_media_type_is(type, PROTOBUF_TYPE))
        return body_read_protobuf(call, expected, text, ret_json);
    if (type.n > 0 && !cor_media_type_is(type, "application/json"))
        return body_refuse_type(call);
    *ret_json = call->req->body;
    return 0;
}

static size_t body_count_weight(struct cor_str json)
{
    size_t n = 0;

    for (size_t i = 0; i < json.n; i++)
        n += json.p[i] == '{';
    return json.n + ELEMENT_BYTES * n;
}

size_t cor_body_json_weight(struct cor_str json)
{
    struct cor_str metadata, list;
    size_t weight;

    if (json.n < SCANNED_BYTES_MIN || json.n > 2 * COR_HEAVY_BYTES)
        return json.n;
    weight = body_count_weight(json);
    /* Nothing is filled in to managedFields, and most stages never see them. Their weight is
     * looked for only where it may decide: not in a body that is too long for a loop without it,
     * or with it. */
    if (weight > COR_HEAVY_BYTES / 2 &&
        cor_json_get(json, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) == 0 &&
        cor_json_get(metadata, COR_STR("managedFields"), COR_JSON_ANY_ORDER, &list) == 0 &&
        list.n <= COR_HEAVY_BYTES)
        weight -= body_count_weight(list);
    return weight;
}

/* An alias stands for any part of the document before it, also for one with aliases in it. */
static bool body_has_aliases(struct cor_str yaml)
{
    return memchr(yaml.p, '&', yaml.n) && memchr(yaml.p, '*', yaml.n);
}

size_t cor_body_weight(const struct cor_call *call)
{
    struct cor_str type = cor_media_type(call->req->content_type), body = call->req->body;

    if (body.n == 0)
        return 0;
    if (cor_media_type_is(type, PROTOBUF_TYPE))
        return PROTOBUF_GROWTH * body.n;
    if (!cor_media_type_is(type, "application/yaml") &&
        !cor_media_type_is(type, "application/apply-patch+yaml"))
        return cor_body_json_weight(body);
    return body_has_aliases(body) ? COR_BODY_BYTES_MAX : YAML_GROWTH * body.n;
}
