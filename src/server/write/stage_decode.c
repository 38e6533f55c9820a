/* clang-format off */
/* The stage DECODE of built-in kinds: the JSON of a body, or of what a patch made, becomes a canonical object of
 * the request's type.
 *
 *   size of ConfigMaps and Secrets ──► parsed, canonical ──► a kind and an apiVersion can be read ──►
 *   the type of that kind can hold every value (schema/walk/read.h) ──► the kind can become the request's ──►
 *   repeated members are merged (schema/walk/repeated.h)
 *
 * Fields that the type does not have, and fields that a body repeats, are noted in `report` for the
 * stage CHECK_FIELDS: they are not a mistake here. Most bodies have neither; then the walk over the
 * type allocates nothing, and there is no report. The first step that fails sets the call's status
 * in upstream's words: 400 for a body, 422 for what a patch made. `body` stays NULL then.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/kinds/decode.h"
#include "schema/types/raw_values.h"
#include "schema/walk/read.h"
#include "schema/walk/repeated.h"
#include "server/write/body_parse.h"
#include "server/write/stages.h"
#include "server/write/write_body.h"

#define WHY_MAX (64u * 1024)

/* The type that the object says it is of. A body with other fields may have written it in other
 * letter case; what came from YAML, or from a patch, is sorted, so that lower case wins. 0,
 * -COR_EINVAL with a message in `why`. */
static int decode_find_kind(const struct cor_receiving *write, const struct cor_object *object,
                            bool has_dups, struct cor_body_kind *sent, bool *is_clean,
                            struct cor_buf *why)
{
    const struct cor_resource_row *type = write->call->type;
    const struct cor_type *schema;
    int r = cor_decode_check_type(cor_object_json(object), why);

    *sent = (struct cor_body_kind){cor_decode_version(type, cor_object_api_version(object)),
                                   cor_object_kind(object)};
    schema = cor_body_type(write->call, sent);
    *is_clean = r < 0 || (!has_dups && schema && cor_read_is_clean(write->received->json, schema));
    if (!*is_clean && !write->asked->strategic.p) {
        bool is_sorted = write->asked->apply || write->received->text.n > 0;

        r = cor_decode_sniff(write->received->json, &sent->api_version, &sent->kind, why);
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
static int decode_check_version(const struct cor_receiving *write, const struct cor_body_kind *sent)
{
    struct cor_call *call = write->call;

    if (!write->asked->apply || write->asked->is_applied || write->asked->strategic.p ||
        sent->api_version.n > 0)
        return 0;
    return cor_status_bad_request(
        &call->status,
        "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
        COR_STR_ARG(call->name));
}

/* A group without a version, which is not that of the request. */
static int decode_refuse_version(const struct cor_receiving *write,
                                 const struct cor_body_kind *sent)
{
    struct cor_call *call = write->call;
    struct cor_str body = write->asked->apply ? write->received->json : call->req->body;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WHY_MAX + body.n};

    if (cor_buf_addf(&why, "Object 'apiVersion' is missing in '") < 0 ||
        cor_buf_adds(&why, body) < 0 || cor_buf_addc(&why, '\'') < 0)
        return cor_status_set_err(&call->status, -COR_ENOMEM);
    return write->asked->apply
               ? cor_body_refuse_patched(write->call, write->asked, write->received->json,
                                         cor_buf_z(&why))
               : cor_body_cannot_handle(call, sent->api_version, sent->kind, cor_buf_z(&why));
}

/* The bytes are an object. */
static int decode_check(const struct cor_receiving *write, const struct cor_object *object,
                        bool has_dups)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    struct cor_call *call = write->call;
    struct cor_body_kind sent;
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
    if (r < 0 && !write->asked->apply)
        return cor_body_unrecognized(call, cor_buf_z(&why));
    if (r == 0 && decode_check_version(write, &sent) < 0)
        return call->status.err;
    if (r == 0 && sent.api_version.n > 0 && sent.api_version.p[sent.api_version.n - 1] == '/')
        return decode_refuse_version(write, &sent);
    if (r == 0)
        r = cor_body_read(write, &sent, is_clean);
    write->received->api_version = sent.api_version;
    if (r == 0)
        r = cor_decode_check_kind(call->type, sent.api_version, sent.kind, &why);
    return r < 0 ? cor_body_refuse(write, &sent, r, &why) : 0;
}

/* Makes the object again from a body that repeats members, as Go's decoder merges them. */
static int decode_merge(const struct cor_receiving *write, const struct cor_object_limits *limits,
                        struct cor_object **object)
{
    const struct cor_body_kind sent = {
        cor_decode_version(write->call->type, cor_object_api_version(*object)),
        cor_object_kind(*object)};
    const struct cor_type *type = cor_body_type(write->call, &sent);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf merged = {0};
    int r;

    assert(type);
    cor_buf_init(&merged, write->received->text.max);
    r = cor_repeated_merge(write->received->json, type, &merged);
    if (r < 0)
        return cor_status_set_err(&write->call->status, r);
    cor_body_take_text(write, &merged);
    *object = cor_object_unref(*object);
    r = cor_object_parse(write->received->json, limits, NULL, &write->received->rv, object,
                         &write->call->status);
    if (r == 0)
        write->received->api_version =
            cor_decode_version(write->call->type, cor_object_api_version(*object));
    return r;
}

int cor_stage_decode(const struct cor_receiving *write)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    /* Raw values of the request's type keep their bytes. */
    const void *root = cor_raw_values_of(write->call->schema);
    const struct cor_object_limits limits = {.guide = root ? &cor_raw_values : NULL, .root = root};
    int r;

    cor_json_dups_init(&dups);
    write->received->body = cor_object_unref(write->received->body);
    write->received->report = cor_read_report_free(write->received->report);
    r = cor_body_parse(write, &limits, NULL, &dups, &object);
    if (r == 0)
        r = decode_check(write, object, dups.n > 0);
    if (r == 0 && dups.n > 0)
        r = decode_merge(write, &limits, &object);
    if (r == 0)
        write->received->body = COR_STEAL(object);
    return r;
}
