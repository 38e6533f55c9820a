/* clang-format off */
/* The stage "decode": the JSON of a body, or of what a patch made, becomes a canonical object of
 * the request's type.
 *
 *   size of ConfigMaps and Secrets ──► parsed, canonical ──► kind and apiVersion are those of a
 *   kind that can become the request's ──► metadata and known members have the right types
 *
 * Fields that a body repeats are noted for the stage "strict"; a repeated field is not an error
 * here. The first step that fails sets the call's status in upstream's words: 400 for a body, 422
 * for what a patch made. `body` stays NULL then.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/object_edit.h"
#include "schema/decode.h"
#include "server/strategy/data_size.h"
#include "server/write/body.h"
#include "server/write/stages.h"

#define WHY_MAX (64u * 1024)

/* Kind and metadata, as far as upstream's decoder would look at them. */
static int decode_check(struct cor_call *call, const struct cor_object *object, struct cor_buf *why)
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

/* The bytes could not be parsed as an object: finds the words that upstream has for it. */
static int decode_refuse_bytes(struct cor_call *call, struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};

    cor_buf_init(&why, WHY_MAX);
    if (cor_decode_check_bytes(json, &why) < 0)
        return cor_body_unrecognized(call, cor_buf_z(&why));
    if (cor_decode_check_metadata(json, call->type->kind, &why) < 0 ||
        cor_decode_check_members(json, COR_JSON_ANY_ORDER, call->type, &why) < 0 ||
        cor_decode_check_numbers(json, &why) < 0)
        return cor_body_cannot_handle(call, COR_STR(""), COR_STR(""), cor_buf_z(&why));
    return call->status.err;
}

/* The object was sent as a body. */
static int decode_check_sent(struct cor_call *call, const struct cor_object *object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    struct cor_str version = cor_object_api_version(object);
    struct cor_gv gv;

    cor_buf_init(&why, WHY_MAX);
    if (cor_decode_check_type(cor_object_json(object), &why) < 0)
        return cor_body_unrecognized(call, cor_buf_z(&why));
    if (cor_gv_parse(version, &gv, NULL) < 0) {
        (void)cor_buf_addf(&why, "unexpected GroupVersion string: %.*s", COR_STR_ARG(version));
        return cor_body_unrecognized(call, cor_buf_z(&why));
    }
    if (decode_check(call, object, &why) < 0)
        return cor_body_cannot_handle(call, version, cor_object_kind(object), cor_buf_z(&why));
    return 0;
}

static int decode_sent(struct cor_write *write, struct cor_str *ret_rv,
                       struct cor_object **ret_object)
{
    struct cor_call *call = &write->call;
    const struct cor_gvk expected = {call->type->group, call->type->version, call->type->kind};
    int r = cor_body_json(call, &expected, &write->text, &write->yaml_dups, &write->json);

    if (r < 0)
        return r;
    /* Go decodes null into an empty struct. */
    if (cor_str_eq(cor_str_trim(write->json), COR_STR("null")))
        write->json = COR_STR("{}");
    r = cor_data_size_check(call, write->json);
    if (r < 0)
        return r;
    /* Only the client's own JSON can repeat a field: YAML has its own report. */
    r = cor_object_parse(write->json, NULL, write->text.n > 0 ? NULL : &write->dups, ret_rv,
                         ret_object, &call->status);
    if (r == -COR_EINVAL)
        return decode_refuse_bytes(call, write->json);
    return r < 0 ? r : decode_check_sent(call, *ret_object);
}

static int decode_patched(struct cor_write *write, struct cor_str *ret_rv,
                          struct cor_object **ret_object)
{
    struct cor_call *call = &write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    int r = cor_data_size_check(call, write->json);

    if (r < 0)
        return r;
    r = cor_object_parse(write->json, NULL, NULL, ret_rv, ret_object, &call->status);
    cor_buf_init(&why, WHY_MAX);
    if (r == -COR_EINVAL && (cor_decode_check_metadata(write->json, call->type->kind, &why) < 0 ||
                             cor_decode_check_numbers(write->json, &why) < 0))
        return cor_body_refuse_patched(call, write->json, cor_buf_z(&why));
    if (r == 0 && decode_check(call, *ret_object, &why) < 0)
        return cor_body_refuse_patched(call, write->json, cor_buf_z(&why));
    return r;
}

int cor_write_decode(struct cor_write *write)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r;

    assert(write->call.type && write->call.stored);
    write->body = cor_object_unref(write->body);
    r = write->apply ? decode_patched(write, &write->rv, &object)
                     : decode_sent(write, &write->rv, &object);
    if (r == 0)
        write->body = COR_STEAL(object);
    return r;
}
