/* PATCH: JSON patch, merge patch and strategic merge patch. The content type chooses the patch, the
 * options are checked and the patch is copied; then update.c runs a guaranteed update whose step
 * calls patch_apply(): the present object in the version of the request, patched, is read like a
 * body. The step may run several times, each time on a newer object.
 *
 * Failures: another content type is refused with 415; a patch that is not well-formed with 400; one
 * that cannot be applied with 422 in upstream's words, which do not give the reason; what the patch
 * makes is judged like a body.
 * Thread: the call's loop; patch_apply() also on another thread (a stage of update.c). */
#include "json/patch.h"

#include "base/err.h"
#include "schema/strategic_merge.h"
#include "server/verbs/update.h"

#define JSON_PATCH  "application/json-patch+json"
#define MERGE_PATCH "application/merge-patch+json"
#define STRATEGIC   "application/strategic-merge-patch+json"
/* What an object, a patch and the copies of a JSON patch can add up to. The result is judged like a
 * body, and refused for its size in the same words. */
#define PATCHED_BYTES_MAX (8u << 20)

typedef int (*patch_fn)(struct cor_str doc, struct cor_str patch,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr);

struct patch_call {
    struct cor_update_call update;
    patch_fn patch; /* NULL: strategic merge, which also needs the type */
    bool is_json_patch;
    struct cor_buf text; /* the patch, copied: steps may run after the request is freed */
};

/* Upstream does not say why a patch cannot be applied. */
static int patch_refuse(struct cor_call *call, int r, const struct cor_json_patch_error *why)
{
    if (r == -COR_EINVAL)
        return cor_status_bad_request(&call->status, "%s", why->message);
    if (r == -COR_ETOOBIG)
        return cor_status_set(&call->status, r, "Request entity too large: %s",
                              why->message[0] ? why->message : "the patched object is too large");
    if (r == -COR_EINVALID) {
        cor_status_set(&call->status, r,
                       "the server rejected our request due to an error in our request");
        call->status.has_details = true;
        return r;
    }
    return cor_status_set_err(&call->status, r);
}

/* Makes the body of the update from the present object. 0, or a failure in the status. */
static int patch_apply(struct cor_update_call *update, struct cor_object *current)
{
    static const struct cor_json_limits limits = {COR_JSON_PATCH_COPY_BYTES_MAX,
                                                  COR_JSON_DEPTH_MAX};
    struct patch_call *patch = (struct patch_call *)update;
    struct cor_call *call = &update->call;
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL;
    struct cor_json_patch_error why = {.message = ""};
    struct cor_str made;
    int r;

    cor_json_dups_init(&dups);
    cor_buf_init(&out, PATCHED_BYTES_MAX);
    r = cor_call_convert(call, current, &shown);
    if (r < 0)
        return r;
    if (patch->patch)
        r = patch->patch(cor_object_json(shown), cor_buf_str(&patch->text), &limits, &out, &dups,
                         &why);
    else
        r = cor_strategic_merge(
            cor_object_json(shown), cor_buf_str(&patch->text),
            cor_type_of_kind(call->type->group, call->type->version, call->type->kind), &limits,
            &out, &dups, &why);
    if (r < 0)
        return patch_refuse(call, r, &why);
    made = cor_buf_str(&out);
    r = cor_body_report_dups(call, &dups, patch->is_json_patch ? "json patch " : "", &made);
    if (r < 0)
        return r;
    cor_body_deinit(&update->body);
    return cor_body_from_json(call, made, &update->body);
}

/* Upstream's router knows apply patches: a client that sends one is told which types this server
 * accepts. For other types the answer is the bare code. */
static int patch_refuse_type(struct cor_call *call, struct cor_str type)
{
    if (cor_str_starts(type, COR_STR("application/apply-patch+")))
        return cor_status_set(&call->status, -COR_EMEDIATYPE,
                              "the body of the request was in an unknown format - accepted media "
                              "types include: " JSON_PATCH ", " MERGE_PATCH ", " STRATEGIC);
    cor_status_set(&call->status, -COR_EMEDIATYPE, "415: Unsupported Media Type");
    call->status.has_details = true;
    return -COR_EMEDIATYPE;
}

/* Chooses the patch function by the content type. 0, or 415 in the status. */
static int patch_choose(struct patch_call *patch)
{
    struct cor_call *call = &patch->update.call;
    struct cor_str type = cor_media_type(call->req->content_type);

    patch->is_json_patch = cor_str_eq(type, COR_STR(JSON_PATCH));
    if (patch->is_json_patch)
        patch->patch = cor_json_json_patch;
    else if (cor_str_eq(type, COR_STR(MERGE_PATCH)))
        patch->patch = cor_json_merge_patch;
    else if (cor_str_eq(type, COR_STR(STRATEGIC)))
        patch->patch = NULL;
    else
        return patch_refuse_type(call, type);
    return 0;
}

static int patch_read_request(struct patch_call *patch)
{
    struct cor_call *call = &patch->update.call;
    int r = patch_choose(patch);

    if (r == 0)
        r = cor_write_options_validate(call, "PatchOptions");
    if (r == 0)
        r = cor_call_set_key(call);
    if (r < 0)
        return r;
    patch->update.patch_bytes = call->req->body.n;
    r = cor_buf_adds(&patch->text, call->req->body);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

static void patch_run(struct cor_call *call)
{
    struct patch_call *patch = (struct patch_call *)call;

    cor_buf_init(&patch->text, COR_JSON_PATCH_COPY_BYTES_MAX);
    patch->update.apply = patch_apply;
    if (patch_read_request(patch) < 0)
        cor_call_fail(call);
    else
        cor_update_call_start(&patch->update);
}

static void patch_deinit(struct cor_call *call)
{
    cor_buf_deinit(&((struct patch_call *)call)->text);
    cor_update_call_deinit(call);
}

const struct cor_verb cor_verb_patch = {
    .size = sizeof(struct patch_call), .run = patch_run, .deinit = patch_deinit};
