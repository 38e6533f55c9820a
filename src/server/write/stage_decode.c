/* clang-format off */
/* The stage "decode": the JSON of a body, or of what a patch made, becomes a canonical object of
 * the request's type.
 *
 *   size of ConfigMaps and Secrets ──► parsed, canonical ──► a kind and an apiVersion can be read ──►
 *   the type of that kind can hold every value (schema/walk/read.h) ──► the kind can become the request's ──►
 *   repeated members are merged (schema/walk/repeated.h)
 *
 * Objects of custom resources have a way of their own after they were parsed (custom_stages.c).
 *
 * Fields that the type does not have, and fields that a body repeats, are noted in `report` for the
 * stage "strict": they are no mistake here. Most bodies have neither; then the walk over the type
 * allocates nothing, and there is no report.
 * The first step that fails sets the call's status in upstream's words: 400 for a body, 422 for what
 * a patch made. `body` stays NULL then.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/kinds/decode.h"
#include "schema/types/raw_values.h"
#include "schema/walk/read.h"
#include "schema/walk/repeated.h"
#include "schema/walk/restore.h"
#include "server/strategy/data_size.h"
#include "server/write/custom_stages.h"
#include "server/write/stages.h"
#include "server/write/write_body.h"

#define WHY_MAX (64u * 1024)

/* The kind and version that the bytes themselves have; "" is that of the request. */
struct decode_kind {
    struct cor_str api_version, kind;
};

/* The type that upstream's decoder would choose; NULL: there is no such kind. */
static const struct cor_type *decode_type(const struct cor_call *call,
                                          const struct decode_kind *sent)
{
    if ((sent->api_version.n == 0 || cor_str_eq(sent->api_version, call->type->api_version)) &&
        (sent->kind.n == 0 || cor_str_eq(sent->kind, call->type->kind)))
        return call->schema;
    return cor_decode_type(call->type, sent->api_version, sent->kind);
}

/* Walks over the JSON with the type that it claims to be of; a kind that does not exist is left to
 * the check of kinds. The order of findings is that of the client's JSON. YAML and patched
 * documents are sorted first, because upstream's reach its decoder so. 0, -COR_EINVAL
 * (report->error says why), -COR_ENOMEM. */
static int decode_read(struct cor_write *write, const struct decode_kind *sent, bool is_clean)
{
    const struct cor_json_limits limits = {COR_WRITE_JSON_MAX, COR_JSON_DEPTH_MAX, true};
    const struct cor_type *type = decode_type(&write->call, sent);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {0};
    bool is_sent_json = !write->apply && write->text.n == 0;
    struct cor_str json = write->json;

    if (!type || is_clean)
        return 0;
    if (!is_sent_json) {
        cor_buf_init(&sorted, json.n);
        if (cor_buf_reserve(&sorted, json.n) < 0 ||
            cor_json_canonicalize(json, &limits, &sorted, NULL, NULL) < 0)
            return -COR_ENOMEM;
        json = cor_buf_str(&sorted);
    }
    write->report = cor_read_report_new();
    return write->report ? cor_read(json, type, write->report) : -COR_ENOMEM;
}

/* Refuses what decode_read(), or a check that wrote into `why`, does not accept. Words that are
 * missing are words for which there was no memory. */
static int decode_refuse(struct cor_write *write, const struct decode_kind *sent, int r,
                         const struct cor_buf *why)
{
    const struct cor_buf *words = why->n == 0 && write->report ? &write->report->error : why;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf restored = {0};
    struct cor_call *call = &write->call;
    int found = 0;

    if (r != -COR_EINVAL || words->n == 0)
        return cor_status_set_err(&call->status, -COR_ENOMEM);
    /* What a strategic merge patch made is not decoded from JSON upstream. */
    if (write->strategic.p) {
        cor_buf_init(&restored, WHY_MAX);
        found = cor_restore_error(write->json, decode_type(call, sent), &restored);
    }
    if (found < 0)
        return cor_status_set_err(&call->status, found);
    if (write->apply)
        return cor_body_refuse_patched(write, cor_buf_z(found ? &restored : words));
    return cor_body_cannot_handle(call, sent->api_version, sent->kind, cor_buf_z(words));
}

/* The bytes could not be parsed as an object: finds the words that upstream has for it. */
static int decode_refuse_bytes(struct cor_write *write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    struct cor_call *call = &write->call;
    struct decode_kind sent = {COR_STR(""), COR_STR("")};
    struct cor_str value, json = write->json;
    int r;

    cor_buf_init(&why, WHY_MAX);
    if (cor_decode_check_bytes(json, &why) < 0)
        return write->apply ? cor_body_refuse_patched(write, cor_buf_z(&why))
                            : cor_body_unrecognized(call, cor_buf_z(&why));
    json = cor_str_trim(json);
    if (cor_json_get(json, COR_STR("kind"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &sent.kind);
    if (cor_json_get(json, COR_STR("apiVersion"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &sent.api_version);
    if (cor_write_is_custom(call) && cor_custom_check_metadata(write, json) < 0)
        return call->status.err;
    r = decode_read(write, &sent, false);
    if (r == 0)
        r = cor_decode_check_numbers(json, &why);
    return r < 0 ? decode_refuse(write, &sent, r, &why) : call->status.err;
}

/* The type that the object says it is of. A body that has fields of other names may have said it in
 * other letters; what was made of YAML, or by a patch, is sorted, so that small letters win. 0,
 * -COR_EINVAL with words in `why`. */
static int decode_find_kind(struct cor_write *write, const struct cor_object *object, bool has_dups,
                            struct decode_kind *sent, bool *is_clean, struct cor_buf *why)
{
    const struct cor_resource_row *type = write->call.type;
    const struct cor_type *schema;
    int r = cor_decode_check_type(cor_object_json(object), why);

    *sent = (struct decode_kind){cor_decode_version(type, cor_object_api_version(object)),
                                 cor_object_kind(object)};
    schema = decode_type(&write->call, sent);
    *is_clean = r < 0 || (!has_dups && schema && cor_read_is_clean(write->json, schema));
    if (!*is_clean && !write->strategic.p) {
        bool is_sorted = write->apply || write->text.n > 0;

        r = cor_decode_sniff(write->json, &sent->api_version, &sent->kind, why);
        if (is_sorted && cor_object_api_version(object).n > 0)
            sent->api_version = cor_object_api_version(object);
        if (is_sorted && cor_object_kind(object).n > 0)
            sent->kind = cor_object_kind(object);
        sent->api_version = cor_decode_version(type, sent->api_version);
    }
    return r;
}

/* Upstream reads what a JSON or merge patch made into its internal type. Without a version it is
 * taken for that type itself, which has none of these members, and so no name. */
static int decode_check_version(struct cor_write *write, const struct decode_kind *sent)
{
    struct cor_call *call = &write->call;

    if (!write->apply || write->is_applied || write->strategic.p || sent->api_version.n > 0)
        return 0;
    return cor_status_bad_request(
        &call->status,
        "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
        COR_STR_ARG(call->name));
}

/* A group without a version, which is not that of the request. */
static int decode_refuse_version(struct cor_write *write, const struct decode_kind *sent)
{
    struct cor_call *call = &write->call;
    struct cor_str body = write->apply ? write->json : call->req->body;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WHY_MAX + body.n};

    if (cor_buf_addf(&why, "Object 'apiVersion' is missing in '") < 0 ||
        cor_buf_adds(&why, body) < 0 || cor_buf_addc(&why, '\'') < 0)
        return cor_status_set_err(&call->status, -COR_ENOMEM);
    return write->apply
               ? cor_body_refuse_patched(write, cor_buf_z(&why))
               : cor_body_cannot_handle(call, sent->api_version, sent->kind, cor_buf_z(&why));
}

/* The bytes are an object. */
static int decode_check(struct cor_write *write, const struct cor_object *object, bool has_dups)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    struct cor_call *call = &write->call;
    struct decode_kind sent;
    struct cor_gv gv;
    bool is_clean;
    int r;

    cor_buf_init(&why, WHY_MAX);
    r = decode_find_kind(write, object, has_dups, &sent, &is_clean, &why);
    if (r == 0 && cor_gv_parse(sent.api_version, &gv, NULL) < 0) {
        (void)cor_buf_addf(&why, "unexpected GroupVersion string: %.*s",
                           COR_STR_ARG(sent.api_version));
        r = -COR_EINVAL;
    }
    if (r < 0 && !write->apply)
        return cor_body_unrecognized(call, cor_buf_z(&why));
    if (r == 0 && decode_check_version(write, &sent) < 0)
        return call->status.err;
    if (r == 0 && sent.api_version.n > 0 && sent.api_version.p[sent.api_version.n - 1] == '/')
        return decode_refuse_version(write, &sent);
    if (r == 0)
        r = decode_read(write, &sent, is_clean);
    write->api_version = sent.api_version;
    if (r == 0)
        r = cor_decode_check_kind(call->type, sent.api_version, sent.kind, &why);
    return r < 0 ? decode_refuse(write, &sent, r, &why) : 0;
}

/* `json` is `text` from now on, which is left empty. */
static void decode_take_text(struct cor_write *write, struct cor_buf *text)
{
    cor_buf_deinit(&write->text);
    write->text = *text;
    *text = (struct cor_buf){0};
    write->json = cor_buf_str(&write->text);
}

/* Makes the object again from a body that repeats members, as Go's decoder merges them. */
static int decode_merge(struct cor_write *write, const struct cor_object_limits *limits,
                        struct cor_object **object)
{
    const struct decode_kind sent = {
        cor_decode_version(write->call.type, cor_object_api_version(*object)),
        cor_object_kind(*object)};
    const struct cor_type *type = decode_type(&write->call, &sent);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf merged = {0};
    int r;

    assert(type);
    cor_buf_init(&merged, write->text.max);
    r = cor_repeated_merge(write->json, type, &merged);
    if (r < 0)
        return cor_status_set_err(&write->call.status, r);
    decode_take_text(write, &merged);
    *object = cor_object_unref(*object);
    r = cor_object_parse(write->json, limits, NULL, &write->rv, object, &write->call.status);
    if (r == 0)
        write->api_version = cor_decode_version(write->call.type, cor_object_api_version(*object));
    return r;
}

/* Sets `json` from the body. */
static int decode_take_body(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    const struct cor_gvk expected = {call->type->group, call->type->version, call->type->kind};
    int r = cor_body_json(call, &expected, &write->text, &write->yaml_dups, &write->json);

    /* Go decodes null into an empty struct. */
    if (r == 0 && cor_str_eq(cor_str_trim(write->json), COR_STR("null")))
        write->json = COR_STR("{}");
    return r;
}

/* Parses `json`, once more with its text mended if that is all that is wrong with it. 0, or the
 * failure in the status. */
static int decode_parse(struct cor_write *write, const struct cor_object_limits *limits,
                        struct cor_json_dups *dups, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf mended = {.max = 3 * COR_WRITE_JSON_MAX};
    struct cor_status *st = &write->call.status;
    int r = cor_object_parse(write->json, limits, dups, &write->rv, ret_object, st), has_mended;

    if (r != -COR_EINVAL)
        return r;
    has_mended = cor_json_mend(write->json, &mended);
    if (has_mended == 0)
        return r;
    cor_status_deinit(st);
    if (has_mended < 0)
        return cor_status_set_err(st, has_mended);
    decode_take_text(write, &mended);
    return cor_object_parse(write->json, limits, dups, &write->rv, ret_object, st);
}

int cor_write_decode(struct cor_write *write)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_call *call = &write->call;
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    /* What a patch makes repeats nothing, and YAML has a report of its own. */
    bool is_sent_json;
    /* Raw values of the request's type keep their bytes. */
    const void *root = cor_raw_values_of(call->schema);
    const struct cor_object_limits limits = {.guide = root ? &cor_raw_values : NULL, .root = root};
    int r = write->apply ? 0 : decode_take_body(write);

    assert(call->type && call->stored);
    cor_json_dups_init(&dups);
    write->body = cor_object_unref(write->body);
    write->report = cor_read_report_free(write->report);
    if (r == 0)
        r = cor_data_size_check(call, write->json);
    if (r < 0)
        return r;
    is_sent_json = !write->apply && write->text.n == 0;
    r = decode_parse(write, &limits, is_sent_json ? &dups : NULL, &object);
    if (r == -COR_EINVAL)
        r = decode_refuse_bytes(write);
    else if (r == 0 && cor_write_is_custom(call))
        r = cor_write_decode_custom(write, &dups, &object);
    else if (r == 0)
        r = decode_check(write, object, dups.n > 0);
    if (r == 0 && dups.n > 0 && !cor_write_is_custom(call))
        r = decode_merge(write, &limits, &object);
    if (r == 0)
        write->body = COR_STEAL(object);
    return r;
}
