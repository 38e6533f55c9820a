/* clang-format off */
/* The stage DECODE of custom resources: the JSON of a body, or of what a patch made, becomes a
 * canonical object that has a kind and a version (contract crd 4.1.4). What was repeated is a
 * finding for the stage CHECK_FIELDS.
 *
 *   parsed, canonical ──► a kind and a version are there, and can be read ──► repeated fields are
 *   noted, unless the object is of another kind: then it is left to MATCH_KIND
 *
 * Failures: 400 for a body, 422 for what a patch made, in upstream's words; no memory. `body` stays
 * NULL then.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "meta/status/gvk.h"
#include "schema/kinds/decode.h"
#include "server/write/body_parse.h"
#include "server/write/custom_body.h"
#include "server/write/stages.h"
#include "server/write/write_body.h"
#include "json/text/scan.h"

#define WHY_MAX (64u * 1024)

static int custom_check_kind(const struct cor_receiving *write, const struct cor_object *object)
{
    struct cor_call *call = write->call;
    struct cor_str body = write->asked->apply ? write->received->json : call->req->body;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WHY_MAX + body.n};
    int r = cor_decode_check_type(cor_object_json(object), &why);
    struct cor_gv gv;

    if (r == 0 && cor_object_kind(object).n == 0) {
        r = cor_buf_addz(&why, "Object 'Kind' is missing in '");
        if (r == 0)
            r = cor_buf_adds(&why, body);
        if (r == 0)
            r = cor_buf_addc(&why, '\'');
        if (r < 0)
            return cor_status_set_err(&call->status, r);
        r = -COR_EINVAL;
    }
    if (r == 0 && cor_gv_parse(cor_object_api_version(object), &gv, NULL) < 0) {
        r = cor_buf_addf(&why, "unexpected GroupVersion string: %.*s",
                         COR_STR_ARG(cor_object_api_version(object)));
        r = r < 0 ? r : -COR_EINVAL;
    }
    if (r == 0)
        return 0;
    if (why.n == 0)
        return cor_status_set_err(&call->status, r);
    return write->asked->apply ? cor_body_refuse_patched(write->call, write->asked,
                                                         write->received->json, cor_buf_z(&why))
                               : cor_body_unrecognized(call, cor_buf_z(&why));
}

/* Bytes that are not an object: refuses metadata of another type in upstream's words. */
static int custom_check_metadata(const struct cor_receiving *write, struct cor_str json)
{
    struct cor_str metadata;
    char why[96];

    if (cor_json_get(json, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) < 0 ||
        cor_json_type(metadata) == COR_JSON_OBJECT || cor_json_type(metadata) == COR_JSON_NULL)
        return 0;
    snprintf(why, sizeof(why), "json: cannot unmarshal %s into Go value of type v1.ObjectMeta",
             cor_json_go_type(cor_json_type(metadata)));
    return cor_custom_refuse(write, why);
}

int cor_stage_decode_custom(const struct cor_receiving *write)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    static const struct cor_object_limits limits = {.guide = NULL};
    int r;

    cor_json_dups_init(&dups);
    write->received->body = cor_object_unref(write->received->body);
    write->received->report = cor_read_report_free(write->received->report);
    cor_buf_reset(&write->received->findings);
    write->received->lacks_defaults = false;
    r = cor_body_parse(write, &limits, custom_check_metadata, &dups, &object);
    if (r == 0)
        r = custom_check_kind(write, object);
    if (r < 0)
        return r;
    write->received->body = COR_STEAL(object);
    write->received->api_version = cor_custom_version(write->received->body);
    if (!cor_custom_is_of_kind(write->call, write->received->body))
        return 0;
    for (size_t i = 0; i < dups.n && r == 0; i++)
        r = cor_custom_add_finding(write->received, "duplicate field ", cor_strz(dups.v[i].path));
    return r < 0 ? cor_status_set_err(&write->call->status, r) : 0;
}
