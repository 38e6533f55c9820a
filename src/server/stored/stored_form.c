/* Reading a value goes from its bytes to JSON (cor_stored_form_to_json), to an object, and, for
 * values that are old or were protobuf, through the schema (cor_stored_form_renew): protobuf cannot
 * hold all that JSON can, such as the kinds of claim templates, and the schema fills that in again.
 * Writing goes from the object's JSON to protobuf, if that is the form. cor_stored_form_convert()
 * is both, one after the other.
 *
 * Failures: a value that cannot be decoded is -COR_EINVAL with the reason, to which callers add the
 * key; no memory and a value over its maximum change nothing.  Thread: any (no state). */
#include "server/stored/stored_form.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/status/gvk.h"
#include "schema/kinds/resource_row.h"
#include "schema/protobuf/protobuf.h"
#include "schema/types/raw_values.h"
#include "schema/walk/rewrite.h"
#include "storage/store/value_codec.h"

#define MEDIA_JSON     "application/json"
#define MEDIA_PROTOBUF "application/vnd.kubernetes.protobuf"

int cor_stored_form_parse(const char *media_type, enum cor_stored_form *ret_form,
                          struct cor_status *reterr_status)
{
    struct cor_str given = cor_strz(media_type ? media_type : MEDIA_JSON);

    if (cor_str_eq(given, COR_STR(MEDIA_JSON)))
        *ret_form = COR_STORED_JSON;
    else if (cor_str_eq(given, COR_STR(MEDIA_PROTOBUF)))
        *ret_form = COR_STORED_PROTOBUF;
    else
        return cor_status_set(
            reterr_status, -COR_EINVAL,
            "storage media type \"%s\" is not one of " MEDIA_JSON ", " MEDIA_PROTOBUF, given.p);
    return 0;
}

const struct cor_type *cor_stored_form_type(struct cor_str api_version, struct cor_str kind)
{
    const struct cor_type *type;
    struct cor_member metadata;
    struct cor_gv gv;

    if (api_version.n == 0 || kind.n == 0 || cor_gv_parse(api_version, &gv, NULL) < 0)
        return NULL;
    type = cor_type_of_kind(gv.group, gv.version, kind);
    /* Kinds without metadata (the options of requests) are never stored. */
    return type && cor_type_find_member(type, COR_STR("metadata"), &metadata) ? type : NULL;
}

bool cor_stored_form_has_protobuf(struct cor_str api_version, struct cor_str kind)
{
    return cor_stored_form_type(api_version, kind) != NULL;
}

static int form_fail(int r, const struct cor_pb_error *why, struct cor_status *reterr_status)
{
    return cor_status_set(reterr_status, r, "%s", why->message[0] ? why->message : cor_err_text(r));
}

/* The type of a protobuf value. Versions in which kube-apiserver keeps a kind as protobuf have the
 * same fields as the served one: the message is read as that, and cor_stored_form_renew() does the
 * rest. NULL: there is none. */
static const struct cor_type *form_type_of_message(const struct cor_protobuf *object)
{
    const struct cor_resource_row *kept = cor_api_kept(object->api_version, object->kind);

    return cor_stored_form_type(kept ? kept->api_version : object->api_version, object->kind);
}

int cor_stored_form_to_json(struct cor_str *value, struct cor_buf *out,
                            struct cor_status *reterr_status)
{
    struct cor_pb_error why = {.message = ""};
    const struct cor_type *type;
    struct cor_protobuf object;
    int r;

    assert(out->n == 0);
    if (!cor_str_starts(*value, COR_PROTOBUF_PREFIX))
        return 0;
    r = cor_protobuf_open(*value, &object, &why);
    if (r < 0)
        return form_fail(r, &why, reterr_status);
    type = form_type_of_message(&object);
    if (!type)
        return cor_status_set(reterr_status, -COR_EINVAL,
                              "no kind \"%.*s\" is registered for version \"%.*s\"",
                              COR_STR_ARG(object.kind), COR_STR_ARG(object.api_version));
    r = cor_protobuf_to_json(&object, type, out, &why);
    if (r < 0)
        return form_fail(r, &why, reterr_status);
    *value = cor_buf_str(out);
    return 0;
}

int cor_stored_form_to_protobuf(const struct cor_object *object, struct cor_buf *out,
                                struct cor_status *reterr_status)
{
    struct cor_str api_version = cor_object_api_version(object), kind = cor_object_kind(object);
    const struct cor_type *type = cor_stored_form_type(api_version, kind);
    struct cor_pb_error why = {.message = ""};
    int r;

    assert(type && object->rev == 0);
    r = cor_protobuf_from_json(api_version, kind, type, cor_object_json(object), out, &why);
    return r < 0 ? form_fail(r, &why, reterr_status) : 0;
}

/* Puts the renewed object into the place of `*object`: that of the bytes `json`, or, when they are
 * NULL, `*converted`, which is taken then. 1, or a negative error with the object as before. */
static int form_replace(struct cor_object **object, struct cor_object **converted,
                        const struct cor_buf *json)
{
    struct cor_object *renewed = NULL;
    int r = 0;

    if (json)
        r = cor_object_from_sorted(cor_buf_str(json), &renewed);
    else
        renewed = COR_STEAL(*converted);
    if (r < 0)
        return r;
    cor_object_unref(*object);
    *object = renewed;
    return 1;
}

int cor_stored_form_renew(struct cor_object **object)
{
    const struct cor_resource_row *kept =
        cor_api_kept(cor_object_api_version(*object), cor_object_kind(*object));
    COR_CLEANUP(cor_object_unrefp) struct cor_object *converted = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    const struct cor_object *from = *object;
    const struct cor_type *type;
    int r = 0;

    assert((*object)->rev == 0);
    cor_buf_init(&json, COR_STORED_VALUE_MAX);
    if (kept) {
        r = cor_convert_object(kept->from_kept, kept->kind, kept->api_version, from, &converted);
        from = converted;
    }
    if (r < 0)
        return r;
    type = cor_stored_form_type(cor_object_api_version(from), cor_object_kind(from));
    if (type)
        r = cor_rewrite_stored(type, cor_object_json(from), &json);
    if (r < 0 || (r == 0 && !kept))
        return r;
    return form_replace(object, &converted, r > 0 ? &json : NULL);
}

/* Rewrites a custom object as its schema has it, without defaults if these would make it larger
 * than an object may be: then it could not be read, changed or deleted. As
 * cor_structural_rewrite(). */
static int form_rewrite_custom(struct cor_custom_schema *schema,
                               const struct cor_structural *compiled, struct cor_str from,
                               struct cor_buf *json)
{
    const unsigned steps =
        COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED | COR_STRUCTURAL_NUMBERS;
    int r;

    json->max = from.n > COR_OBJECT_BYTES_MAX_DEFAULT ? from.n : COR_OBJECT_BYTES_MAX_DEFAULT;
    r = cor_structural_rewrite(compiled, from, steps, json, NULL);
    if (r != -COR_ETOOBIG)
        return r;
    cor_custom_schema_note_undefaulted(schema);
    json->max = COR_STORED_VALUE_MAX;
    return cor_structural_rewrite(compiled, from, steps & ~(unsigned)COR_STRUCTURAL_DEFAULT, json,
                                  NULL);
}

int cor_stored_form_renew_custom(struct cor_custom_schema *schema, struct cor_str kind,
                                 struct cor_str api_version, struct cor_object **object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *converted = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    const struct cor_structural *compiled;
    int r = cor_custom_schema_peek(schema, &compiled);

    assert((*object)->rev == 0);
    cor_buf_init(&json, COR_STORED_VALUE_MAX);
    if (r < 0)
        return r;
    if (!cor_str_eq(cor_object_api_version(*object), api_version) ||
        !cor_str_eq(cor_object_kind(*object), kind))
        r = cor_convert_object(cor_convert_version_alone, kind, api_version, *object, &converted);
    if (r == 0 && compiled)
        r = form_rewrite_custom(schema, compiled, cor_object_json(converted ? converted : *object),
                                &json);
    if (r < 0 || (r == 0 && !converted))
        return r;
    return form_replace(object, &converted, r > 0 ? &json : NULL);
}

/* Appends the JSON of a protobuf value as the store would read it: with what protobuf cannot hold.
 */
static int form_json_of_protobuf(struct cor_str value, struct cor_buf *out,
                                 struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    int r;

    cor_buf_init(&json, COR_STORED_VALUE_MAX);
    r = cor_stored_form_to_json(&value, &json, reterr_status);
    if (r == 0)
        r = cor_object_read_stored(value, 0, &cor_raw_values, &object, NULL, reterr_status);
    if (r < 0)
        return r;
    r = cor_stored_form_renew(&object);
    if (r >= 0)
        r = cor_buf_adds(out, cor_object_json(object));
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

int cor_stored_form_convert(enum cor_stored_form form, struct cor_str value, struct cor_buf *out,
                            struct cor_str *ret_value, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    bool is_protobuf = cor_str_starts(value, COR_PROTOBUF_PREFIX);
    int r;

    if (is_protobuf == (form == COR_STORED_PROTOBUF))
        return 0;
    if (is_protobuf) {
        r = form_json_of_protobuf(value, out, reterr_status);
    } else {
        r = cor_object_read_stored(value, 0, &cor_raw_values, &object, NULL, reterr_status);
        if (r == 0 &&
            !cor_stored_form_type(cor_object_api_version(object), cor_object_kind(object)))
            return 0;
        if (r == 0)
            r = cor_stored_form_to_protobuf(object, out, reterr_status);
    }
    if (r < 0)
        return r == -COR_ECORRUPT ? -COR_EINVAL : r;
    *ret_value = cor_buf_str(out);
    return 1;
}
