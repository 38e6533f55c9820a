/* The stage MATCH_KIND of custom resources: the object has to be of the kind and the version of the
 * resource. Bodies of built-in kinds are judged when they are decoded, because their types are read
 * by their kind.
 * Failures: 422 with what is wrong; no memory.
 * Thread: the thread that has the call. */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "meta/names/field_error.h"
#include "meta/status/gvk.h"
#include "server/write/stages.h"

/* `found` has the escapes of JSON. */
static void must_be(const char *name, struct cor_str found, struct cor_str wanted,
                    struct cor_field_errors *errs)
{
    const struct cor_field_path path = {.name = cor_strz(name)};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = found.n + 3};
    char detail[512];

    if (cor_str_eq(found, wanted))
        return;
    snprintf(detail, sizeof(detail), "must be %.*s", COR_STR_ARG(wanted));
    if (cor_buf_addf(&json, "\"%.*s\"", COR_STR_ARG(found)) < 0)
        errs->error = -COR_ENOMEM;
    else
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path, cor_field_json(cor_buf_str(&json)),
                             detail);
}

int cor_stage_match_kind(const struct cor_judging *write)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_call *call = write->call;
    struct cor_str kind = cor_object_kind(write->received->body);
    struct cor_gk gk = {call->type->group, kind};
    struct cor_gv gv = {call->type->group, call->type->version};

    must_be("kind", kind, call->type->kind, &errs);
    must_be("apiVersion", write->received->api_version, call->type->api_version, &errs);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    if (cor_gv_parse(write->received->api_version, &gv, NULL) == 0)
        gk.group = gv.group;
    return cor_status_invalid(&call->status, &gk, cor_object_name(write->received->body), &errs);
}
