/* clang-format off */
/* From the bytes of a write to an object in the stored version.
 *
 *   cor_body_read (POST, PUT):   content type ──► JSON (YAML and protobuf are turned into it) ──►
 *     parsed, canonical ──► kind, metadata and known members checked as upstream's decoder does ──►
 *     version, name, namespace and resourceVersion against the URL ──► repeated fields reported ──►
 *     converted to the stored version
 *   cor_body_from_json (PATCH):  the same from the parsing on, with other words for refusals
 *
 * Each step that fails sets the call's status in upstream's words and ends the way; nothing is
 * returned then. Which words a refusal has depends on the step at which upstream's decoder stops:
 * "unrecognized" (no type could be read), "cannot be handled" (a member is wrong), 422 for what a
 * patch made.
 * The file also checks the options that all writes have (cor_write_options_validate).
 * Thread: the thread that has the call: these functions are stages (server/api/heavy.h). */
/* clang-format on */
#include "server/verbs/body.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "codec/yaml.h"
#include "http/url.h"
#include "meta/field_error.h"
#include "meta/key.h"
#include "meta/object_edit.h"
#include "meta/resource_version.h"
#include "schema/conversion.h"
#include "schema/decode.h"
#include "schema/protobuf.h"
#include "server/strategy/data_size.h"
#include "json/json.h"
#include "json/writer.h"

#define STRICT_TEXT_MAX   (16u * 1024)
#define WHY_MAX           (64u * 1024)
#define FIELD_MANAGER_MAX 128
#define PROTOBUF_TYPE     "application/vnd.kubernetes.protobuf"
#define PROTOBUF_GROWTH   16         /* an empty message of two bytes may have many zeros in JSON */
#define YAML_JSON_MAX     (3u << 20) /* of what YAML or protobuf become */

void cor_body_deinit(struct cor_body *body)
{
    body->object = cor_object_unref(body->object);
}

/* Writes all values of dryRun as a JSON list, which a refusal shows; `ret_known`: all are "All". */
static int list_dry_runs(struct cor_str query, struct cor_buf *list, bool *ret_known)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str name, value;
    int r = 0, more;

    cor_buf_init(&text, COR_API_OPTIONS_BYTES_MAX);
    *ret_known = true;
    while (r == 0 && (more = cor_url_query_next(&query, &name, &value)) != 0) {
        if (more < 0 || !cor_url_query_is(name, COR_STR("dryRun")))
            continue;
        cor_buf_reset(&text);
        more = cor_url_unescape(value, COR_URL_QUERY, &text);
        if (more == -COR_ENOMEM)
            return more;
        if (more < 0)
            continue;
        *ret_known = *ret_known && cor_str_eq(cor_buf_str(&text), COR_STR("All"));
        r = cor_buf_addc(list, list->n > 0 ? ',' : '[');
        if (r == 0)
            r = cor_json_quote(list, cor_buf_str(&text));
    }
    return r < 0 || list->n == 0 ? r : cor_buf_addc(list, ']');
}

void cor_dry_run_check(struct cor_str query, struct cor_field_errors *errs)
{
    static const char *const known[] = {"All"};
    static const struct cor_field_path path = {.name = COR_STR("dryRun")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {0};
    bool is_known;

    cor_buf_init(&list, 2 * COR_API_OPTIONS_BYTES_MAX);
    if (list_dry_runs(query, &list, &is_known) < 0)
        errs->error = -COR_ENOMEM;
    else if (!is_known)
        cor_field_errors_add_not_supported(errs, &path, cor_field_json(cor_buf_str(&list)), known,
                                           1);
}

/* A field manager consists of printable characters; each other character is named. */
static void check_manager(struct cor_str manager, struct cor_field_errors *errs)
{
    static const struct cor_field_path path = {.name = COR_STR("fieldManager")};
    char why[64];

    if (manager.n > FIELD_MANAGER_MAX)
        cor_field_errors_add_too_long(errs, &path, FIELD_MANAGER_MAX);
    for (size_t i = 0; i < manager.n; i++) {
        unsigned char c = (unsigned char)manager.p[i];

        if (c >= 0x20 && c != 0x7f)
            continue;
        snprintf(why, sizeof(why), "invalid character U+%04X (at position %zu)", c, i);
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path, cor_field_string(manager), why);
    }
}

/* Warns that objects of this resource are stored and nothing more, if the object is stored. */
static int warn_of_inert(struct cor_call *call)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    if (!call->res->inert)
        return 0;
    assert(call->warnings.n == 0);
    cor_buf_init(&text, COR_WARNINGS_BYTES_MAX);
    r = cor_buf_addf(&text, "%.*s is stored but has no effect on this server: %s",
                     COR_STR_ARG(call->res->kind), call->res->inert);
    if (r == 0)
        r = cor_warnings_add(&call->warnings, cor_buf_str(&text));
    call->nsuccess_warnings = call->warnings.n;
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

int cor_write_options_validate(struct cor_call *call, const char *kind)
{
    static const char *const validations[] = {"", "Ignore", "Strict", "Warn"};
    static const struct cor_field_path validation = {.name = COR_STR("fieldValidation")};
    static const struct cor_field_path force = {.name = COR_STR("force")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    const struct cor_api_options *o = &call->opts;
    struct cor_gk gk = {COR_STR("meta.k8s.io"), cor_strz(kind)};
    bool known = false;

    assert(call->req && kind);
    if (o->force != COR_UNSET && call->req->info.verb == COR_VERB_PATCH)
        cor_field_errors_add(&errs, COR_FIELD_FORBIDDEN, &force, cor_field_none(),
                             "may not be specified for non-apply patch");
    check_manager(o->field_manager, &errs);
    cor_dry_run_check(call->req->query, &errs);
    for (size_t i = 0; i < COR_ARRAY_LEN(validations); i++)
        known = known || cor_str_eqz(o->field_validation, validations[i]);
    if (!known)
        cor_field_errors_add_not_supported(&errs, &validation,
                                           cor_field_string(o->field_validation), validations,
                                           COR_ARRAY_LEN(validations));
    if (errs.n == 0 && errs.error == 0)
        return warn_of_inert(call);
    return cor_status_invalid(&call->status, &gk, COR_STR(""), &errs);
}

/* `Kind in version "v1" cannot be handled as a Kind: …`; "" is the resource's own. */
static int body_cannot_handle(struct cor_call *call, struct cor_str api_version,
                              struct cor_str kind, const char *why)
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

static int body_unrecognized(struct cor_call *call, const char *why)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf summary = {0};

    cor_buf_init(&summary, STRICT_TEXT_MAX);
    (void)cor_decode_summary(call->req->body, &summary);
    return cor_status_bad_request(
        &call->status, "the object provided is unrecognized (must be of type %.*s): %s (%s)",
        COR_STR_ARG(call->type->kind), why, cor_buf_z(&summary));
}

int cor_body_refuse_patched(struct cor_call *call, struct cor_str json, const char *why)
{
    static const struct cor_field_path patch = {.name = COR_STR("patch")};
    static const struct cor_gk none = {COR_STR(""), COR_STR("")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};

    cor_field_errors_add(&errs, COR_FIELD_INVALID, &patch, cor_field_string(json), why);
    return cor_status_invalid(&call->status, &none, COR_STR(""), &errs);
}

int cor_body_report_dups(struct cor_call *call, const struct cor_json_dups *dups,
                         const char *prefix, const struct cor_str *patched)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    bool strict = cor_str_eq(call->opts.field_validation, COR_STR("Strict"));
    int r = 0;

    if (dups->n == 0 || cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return 0;
    cor_buf_init(&text, STRICT_TEXT_MAX);
    if (strict)
        r = cor_buf_addz(&text, "strict decoding error: ");
    for (size_t i = 0; i < dups->n && r == 0; i++) {
        r = cor_buf_addf(&text, "%s%sduplicate field \"%s\"", strict && i > 0 ? ", " : "", prefix,
                         dups->v[i].path);
        if (strict || r < 0)
            continue;
        r = cor_warnings_add(&call->warnings, cor_buf_str(&text));
        cor_buf_reset(&text);
    }
    if (r == -COR_ENOMEM)
        return cor_status_set_err(&call->status, r);
    if (!strict)
        return 0;
    return patched ? cor_body_refuse_patched(call, *patched, cor_buf_z(&text))
                   : body_cannot_handle(call, COR_STR(""), COR_STR(""), cor_buf_z(&text));
}

static int body_check_version(struct cor_call *call, const struct cor_object *object)
{
    struct cor_str version = cor_object_api_version(object);

    if (version.n == 0 || cor_str_eq(version, call->type->api_version))
        return 0;
    return cor_status_bad_request(
        &call->status,
        "the API version in the data (%.*s) does not match the expected API version (%.*s)",
        COR_STR_ARG(version), COR_STR_ARG(call->type->api_version));
}

static int body_check_names(struct cor_call *call, const struct cor_object *object)
{
    struct cor_str name = cor_object_name(object), ns = cor_object_namespace(object);
    bool is_action = call->sub && call->req->info.verb == COR_VERB_CREATE;

    if (!is_action && call->name.n > 0 && name.n > 0 && !cor_str_eq(name, call->name))
        return cor_status_bad_request(
            &call->status,
            "the name of the object (%.*s) does not match the name on the URL (%.*s)",
            COR_STR_ARG(name), COR_STR_ARG(call->name));
    if (!is_action && call->name.n > 0 && name.n == 0)
        return cor_status_bad_request(
            &call->status,
            "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
            COR_STR_ARG(call->name));
    if (cor_api_is_namespaced(call->res) && ns.n > 0 && !cor_str_eq(ns, call->ns))
        return cor_status_bad_request(
            &call->status, "the namespace of the provided object does not match the namespace "
                           "sent on the request");
    return 0;
}

/* The resourceVersion of a new object counts only when it can be read; others must be valid. */
static int body_read_rv(struct cor_call *call, struct cor_str rv, struct cor_body *body)
{
    if (call->name.n == 0 && cor_str_to_u64(rv, &body->rev) < 0)
        body->rev = 0;
    return call->name.n == 0 ? 0 : cor_resource_version_parse_object(rv, &body->rev, &call->status);
}

static int body_check_object(struct cor_call *call, struct cor_str rv, struct cor_body *body)
{
    int r = body_check_version(call, body->object);

    if (r == 0)
        r = body_check_names(call, body->object);
    if (r == 0)
        r = body_read_rv(call, rv, body);
    return r;
}

/* Kind and metadata, as far as upstream's decoder would look at them. */
static int body_check_decodes(struct cor_call *call, const struct cor_object *object,
                              struct cor_buf *why)
{
    struct cor_str kind = cor_object_kind(object);
    int r = cor_decode_check_type(cor_object_json(object), why);

    if (r == 0)
        r = cor_decode_check_kind(call->type, cor_object_api_version(object), kind, why);
    if (r == 0)
        r = cor_decode_check_object_metadata(object, why);
    return r < 0 ? r
                 : cor_decode_check_members(cor_object_json(object), COR_JSON_SORTED, call->type,
                                            why);
}

/* The function that makes the stored object from the one that was sent; NULL: they are the same. */
static cor_convert_fn body_to_stored(const struct cor_call *call, const struct cor_object *object)
{
    struct cor_str ignored;

    if (call->conversion)
        return call->conversion->to_stored;
    if ((call->res->flags & COR_API_STRING_DATA) &&
        cor_json_get(cor_object_json(object), COR_STR("stringData"), COR_JSON_SORTED, &ignored) ==
            0)
        return cor_secret_fold;
    return NULL;
}

static int body_convert(struct cor_call *call, struct cor_body *body)
{
    cor_convert_fn fn = body_to_stored(call, body->object);
    struct cor_object *stored;
    int r;

    if (!fn)
        return 0;
    r = cor_convert_object(fn, call->stored->kind, call->stored->api_version, body->object,
                           &stored);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_object_unref(body->object);
    body->object = stored;
    return 0;
}

int cor_body_from_json(struct cor_call *call, struct cor_str json, struct cor_body *ret_body)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    struct cor_body body = {0};
    struct cor_str rv;
    int r = cor_data_size_check(call, json);

    assert(call->type && call->stored);
    if (r < 0)
        return r;
    r = cor_object_parse(json, NULL, NULL, &rv, &body.object, &call->status);
    cor_buf_init(&why, WHY_MAX);
    if (r == -COR_EINVAL && (cor_decode_check_metadata(json, call->type->kind, &why) < 0 ||
                             cor_decode_check_numbers(json, &why) < 0))
        r = cor_body_refuse_patched(call, json, cor_buf_z(&why));
    if (r == 0 && body_check_decodes(call, body.object, &why) < 0)
        r = cor_body_refuse_patched(call, json, cor_buf_z(&why));
    if (r == 0)
        r = body_check_object(call, rv, &body);
    if (r == 0)
        r = body_convert(call, &body);
    if (r < 0) {
        cor_body_deinit(&body);
        return r;
    }
    *ret_body = body;
    return 0;
}

/* The bytes could not be parsed as an object: finds the words that upstream has for it. */
static int body_refuse_bytes(struct cor_call *call, struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};

    cor_buf_init(&why, WHY_MAX);
    if (cor_decode_check_bytes(json, &why) < 0)
        return body_unrecognized(call, cor_buf_z(&why));
    if (cor_decode_check_metadata(json, call->type->kind, &why) < 0 ||
        cor_decode_check_members(json, COR_JSON_ANY_ORDER, call->type, &why) < 0 ||
        cor_decode_check_numbers(json, &why) < 0)
        return body_cannot_handle(call, COR_STR(""), COR_STR(""), cor_buf_z(&why));
    return call->status.err;
}

static int body_decode(struct cor_call *call, struct cor_str json, struct cor_json_dups *dups,
                       struct cor_str *ret_rv, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    struct cor_object *object;
    struct cor_gv gv;
    int r;

    /* Go decodes null into an empty struct. */
    if (cor_str_eq(cor_str_trim(json), COR_STR("null")))
        json = COR_STR("{}");
    r = cor_data_size_check(call, json);
    if (r < 0)
        return r;
    r = cor_object_parse(json, NULL, dups, ret_rv, &object, &call->status);
    if (r == -COR_EINVAL)
        return body_refuse_bytes(call, json);
    if (r < 0)
        return r;
    cor_buf_init(&why, WHY_MAX);
    if (cor_decode_check_type(cor_object_json(object), &why) < 0) {
        r = body_unrecognized(call, cor_buf_z(&why));
    } else if (cor_gv_parse(cor_object_api_version(object), &gv, NULL) < 0) {
        (void)cor_buf_addf(&why, "unexpected GroupVersion string: %.*s",
                           COR_STR_ARG(cor_object_api_version(object)));
        r = body_unrecognized(call, cor_buf_z(&why));
    } else if (body_check_decodes(call, object, &why) < 0) {
        r = body_cannot_handle(call, cor_object_api_version(object), cor_object_kind(object),
                               cor_buf_z(&why));
    }
    if (r < 0) {
        cor_object_unref(object);
        return r;
    }
    *ret_object = object;
    return 0;
}

/* Each line of the decoder's report is one text: `line 3: key "a" already set in map`. */
static int body_report_yaml_dups(struct cor_call *call, struct cor_str report)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    bool strict = cor_str_eq(call->opts.field_validation, COR_STR("Strict"));
    int r = 0;

    if (report.n == 0 || cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return 0;
    if (strict) {
        cor_buf_init(&text, STRICT_TEXT_MAX);
        (void)cor_buf_addf(&text, "strict decoding error: %.*s", COR_STR_ARG(report));
        return body_cannot_handle(call, COR_STR(""), COR_STR(""), cor_buf_z(&text));
    }
    (void)cor_str_cut(&report, '\n');
    while (report.n > 0 && r == 0)
        r = cor_warnings_add(&call->warnings, cor_str_trim(cor_str_cut(&report, '\n')));
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

static int body_read_yaml(struct cor_call *call, struct cor_buf *scratch, struct cor_str *ret_json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf dups = {0};
    struct cor_yaml_error why = {.message = ""};
    int r;

    cor_buf_init(&dups, STRICT_TEXT_MAX);
    cor_buf_init(scratch, YAML_JSON_MAX);
    r = cor_yaml_to_json(call->req->body, scratch, &dups, &why);
    if (r == -COR_EINVAL)
        return body_unrecognized(call, why.message);
    if (r < 0)
        return cor_status_set(&call->status, r, "%s",
                              why.message[0] ? why.message : cor_err_text(r));
    *ret_json = cor_buf_str(scratch);
    return body_report_yaml_dups(call, cor_buf_str(&dups));
}

static int body_refuse_type(struct cor_call *call)
{
    return cor_status_set(&call->status, -COR_EMEDIATYPE,
                          "the body of the request was in an unknown format - accepted media "
                          "types include: application/json, application/yaml");
}

/* A kind that is not built in has no type, and its client should have sent JSON. What is wrong with
 * the envelope is refused as a body without a kind, what is wrong with the message as one of its
 * kind. */
static int body_read_protobuf(struct cor_call *call, const struct cor_gvk *expected,
                              struct cor_buf *scratch, struct cor_str *ret_json)
{
    struct cor_pb_error why = {.message = ""};
    const struct cor_type *type;
    struct cor_protobuf object;
    int r;

    cor_buf_init(scratch, YAML_JSON_MAX);
    if (cor_protobuf_open(call->req->body, &object, &why) < 0)
        return body_unrecognized(call, why.message);
    type = cor_protobuf_type(&object, expected);
    if (!type)
        return body_refuse_type(call);
    r = cor_protobuf_to_json(&object, type, scratch, &why);
    if (r == -COR_EINVAL)
        return body_cannot_handle(call, object.api_version, object.kind, why.message);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    *ret_json = cor_buf_str(scratch);
    return 0;
}

int cor_body_json(struct cor_call *call, const struct cor_gvk *expected, struct cor_buf *scratch,
                  struct cor_str *ret_json)
{
    struct cor_str type = cor_media_type(call->req->content_type);

    assert(call->req);
    if (cor_media_type_is(type, "application/yaml"))
        return body_read_yaml(call, scratch, ret_json);
    if (cor_media_type_is(type, PROTOBUF_TYPE))
        return body_read_protobuf(call, expected, scratch, ret_json);
    if (type.n > 0 && !cor_media_type_is(type, "application/json"))
        return body_refuse_type(call);
    *ret_json = call->req->body;
    return 0;
}

size_t cor_body_weight(const struct cor_call *call)
{
    bool is_protobuf = cor_media_type_is(cor_media_type(call->req->content_type), PROTOBUF_TYPE);

    return is_protobuf ? PROTOBUF_GROWTH * call->req->body.n : call->req->body.n;
}

int cor_body_read(struct cor_call *call, struct cor_body *ret_body)
{
    const struct cor_gvk expected = {call->type->group, call->type->version, call->type->kind};
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {0};
    struct cor_body body = {0};
    struct cor_str json, rv;
    int r;

    assert(call->req && call->type && call->stored);
    cor_json_dups_init(&dups);
    r = cor_body_json(call, &expected, &scratch, &json);
    if (r == 0)
        r = body_decode(call, json, scratch.n > 0 ? NULL : &dups, &rv, &body.object);
    if (r == 0)
        r = body_check_object(call, rv, &body);
    if (r == 0)
        r = cor_body_report_dups(call, &dups, "", NULL);
    if (r == 0)
        r = body_convert(call, &body);
    if (r < 0) {
        cor_body_deinit(&body);
        return r;
    }
    *ret_body = body;
    return 0;
}

void cor_write_begin(struct cor_call *call, const char *kind, cor_heavy_work read,
                     cor_heavy_next next)
{
    int r = cor_write_options_validate(call, kind);

    assert(read && next && cor_loop_is_current(call->loop->loop));
    if (r == 0)
        r = cor_call_set_key(call);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_heavy_then(call, cor_body_weight(call), read, next);
}
