/* PATCH: JSON patch, merge patch, strategic merge patch and server-side apply. The content type
 * chooses the patch, the options are checked and the patch is copied; then update.c runs a
 * guaranteed update whose first stage is patch_apply(): the present object in the version of the
 * request, patched, goes through the same stages as a body. The step may run several times, each
 * time on a newer object.
 *
 * Failures: another content type is refused with 415; a patch that is not well-formed with 400; one
 * that cannot be applied with 422 in upstream's words, which do not give the reason; what the patch
 * makes is judged like a body.
 * Thread: the call's loop; patch_apply() also on another thread (a pure stage). */
#include "base/limits.h"
#include "json/patch/patch.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "meta/names/patch_type.h"
#include "schema/merge/strategic_merge.h"
#include "schema/types/raw_values.h"
#include "server/verbs/update.h"
#include "server/write/stage_apply.h"
#include "server/write/write_body.h"
#include "server/write/write_options.h"

typedef int (*patch_fn)(struct cor_str doc, struct cor_str patch,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr);

/* The types of a built-in kind, and those of a custom resource, for which there are no strategies
 * of merging. */
#define UNKNOWN_FORMAT                                                                             \
    "the body of the request was in an unknown format - accepted media types include: "            \
    "application/json-patch+json, application/merge-patch+json, "
#define BUILT_IN_PATCHES                                                                           \
    UNKNOWN_FORMAT "application/strategic-merge-patch+json, application/apply-patch+yaml"
#define CUSTOM_PATCHES UNKNOWN_FORMAT "application/apply-patch+yaml"

struct patch_call {
    struct cor_update_call update;
    patch_fn patch;            /* NULL: strategic merge, which also needs the type, or an apply */
    struct cor_buf text;       /* the patch, copied: steps may run after the request is freed */
    struct cor_json_dups dups; /* fields that the patch repeats */
};

static struct patch_call *patch_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_patch);
    return COR_CONTAINER_OF(call, struct patch_call, update.write.call);
}

/* Upstream does not say why a JSON patch cannot be applied. What of a strategic merge patch it does
 * not expect is a 500 that has no reason, only words. */
static int patch_refuse(struct cor_call *call, int r, const struct cor_json_patch_error *why)
{
    if (r == -COR_EINVAL)
        return cor_status_bad_request(&call->status, "%s", why->message);
    if (r == -COR_EINTERNAL)
        return cor_status_untyped(&call->status, r, "%s", why->message);
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

/* A patch merges sorted keys, and raw values need not have them sorted: what it sees of an object
 * with raw values is canonical, also inside them. Upstream's patches go through maps, which sort as
 * well. `scratch` holds the bytes of `*json` then. */
static int patch_sort_raw(const struct cor_type *type, struct cor_str *json,
                          struct cor_buf *scratch)
{
    const struct cor_json_limits limits = {COR_WRITE_JSON_MAX, COR_JSON_DEPTH_MAX, true};
    int r;

    if (!cor_raw_values_of(type))
        return 0;
    cor_buf_init(scratch, COR_WRITE_JSON_MAX);
    r = cor_json_canonicalize(*json, &limits, scratch, NULL, NULL);
    if (r == 0)
        *json = cor_buf_str(scratch);
    return r;
}

/* Patches `doc` into the text of the write. A failure of the patch, or COR_WORK_YIELD. */
static int patch_run_on(struct patch_call *patch, struct cor_str doc,
                        struct cor_json_patch_error *why)
{
    struct cor_write *write = &patch->update.write;
    const struct cor_json_limits limits = {
        .bytes_max = COR_BODY_BYTES_MAX, .depth_max = COR_JSON_DEPTH_MAX, .work = &write->run.work};
    struct cor_str text = cor_buf_str(&patch->text);

    cor_json_dups_deinit(write->asked.dups);
    cor_buf_init(&write->received.text, COR_WRITE_JSON_MAX);
    return patch->patch
               ? patch->patch(doc, text, &limits, &write->received.text, write->asked.dups, why)
               : cor_strategic_merge(doc, text, write->call.schema, &limits, &write->received.text,
                                     write->asked.dups, why);
}

/* Replaces text of the patch that is not UTF-8. 1; 0: there is none; -COR_ENOMEM, -COR_ETOOBIG. */
static int patch_mend(struct patch_call *patch)
{
    struct cor_buf mended;
    int r;

    cor_buf_init(&mended, 3 * COR_BODY_BYTES_MAX);
    r = cor_json_mend(cor_buf_str(&patch->text), &mended);
    if (r <= 0) {
        cor_buf_deinit(&mended);
        return r;
    }
    cor_buf_deinit(&patch->text);
    patch->text = mended;
    if (patch->update.write.asked.strategic.p)
        patch->update.write.asked.strategic = cor_buf_str(&patch->text);
    return 1;
}

/* The stage "apply": the JSON of the next state from the present object. 0, or a failure in the
 * status. */
static int patch_apply(const struct cor_applying *write)
{
    struct patch_call *patch = patch_of(write->call);
    struct cor_call *call = write->call;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {0};
    struct cor_json_patch_error why = {.message = ""};
    struct cor_str doc;
    int r;

    if (write->asked->is_applied)
        return cor_write_apply_config(write, cor_buf_str(&patch->text));
    r = cor_call_convert(call, write->present->current, &shown);
    if (r < 0)
        return r;
    doc = cor_object_json(shown);
    r = patch_sort_raw(call->schema, &doc, &sorted);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    r = patch_run_on(patch, doc, &why);
    if (r == -COR_EINVAL) {
        int mended = patch_mend(patch);

        if (mended < 0)
            return cor_status_set_err(&call->status, mended);
        if (mended > 0)
            r = patch_run_on(patch, doc, &why);
    }
    if (r == COR_WORK_YIELD)
        return r;
    if (r < 0)
        return patch_refuse(call, r, &why);
    write->received->json = cor_buf_str(&write->received->text);
    return 0;
}

static int patch_refuse_type(struct cor_call *call)
{
    cor_status_set(&call->status, -COR_EMEDIATYPE, "415: Unsupported Media Type");
    call->status.has_details = true;
    return -COR_EMEDIATYPE;
}

/* Chooses the patch function by the content type. 0, or 415 in the status. */
static int patch_choose(struct patch_call *patch)
{
    struct cor_call *call = &patch->update.write.call;
    struct cor_str rest = call->req->content_type, media_type = cor_str_cut(&rest, ';');
    enum cor_patch_type type;
    bool is_known = cor_patch_type_of(media_type, &type);

    if (call->type->custom && (!is_known || type == COR_PATCH_STRATEGIC))
        return cor_status_set(&call->status, -COR_EMEDIATYPE, "%s", CUSTOM_PATCHES);
    /* Upstream's router of built-in kinds ignores the spaces around a type, its handler does not.
     */
    if (!is_known && cor_patch_type_of(cor_str_trim(media_type), &type))
        return cor_status_set(&call->status, -COR_EMEDIATYPE, "%s", BUILT_IN_PATCHES);
    if (!is_known)
        return patch_refuse_type(call);
    switch (type) {
    case COR_PATCH_JSON:
        patch->patch = cor_json_json_patch;
        patch->update.write.asked.dups_prefix = "json patch ";
        return 0;
    case COR_PATCH_MERGE:
        patch->patch = cor_json_merge_patch;
        return 0;
    case COR_PATCH_STRATEGIC:
        return 0;
    case COR_PATCH_APPLY:
        patch->update.write.asked.is_applied = true;
        return 0;
    }
    return patch_refuse_type(call);
}

static size_t patch_count(struct cor_str patch, struct cor_str text)
{
    const char *end = patch.p + patch.n, *at = patch.p;
    size_t n = 0;

    while (at < end && (at = memmem(at, (size_t)(end - at), text.p, text.n))) {
        at += text.n;
        n++;
    }
    return n;
}

/* How many operations of a JSON patch may be copies. The text "copy" may also be something else,
 * and an escape may be a letter of it. */
static size_t patch_count_copies(struct cor_str patch)
{
    return patch_count(patch, COR_STR("\"copy\"")) + patch_count(patch, COR_STR("\\u"));
}

static int patch_read_request(struct patch_call *patch)
{
    struct cor_call *call = &patch->update.write.call;
    int r = patch_choose(patch);

    if (r == 0)
        r = cor_write_options_validate(call, "PatchOptions");
    if (r == 0)
        r = cor_call_set_key(call);
    if (r == 0)
        r = cor_write_note_client(&patch->update.write);
    if (r < 0)
        return r;
    patch->update.write.asked.patch_bytes =
        patch->update.write.asked.is_applied ? cor_body_weight(call) : call->req->body.n;
    if (patch->patch == cor_json_json_patch)
        patch->update.write.asked.patch_copies = patch_count_copies(call->req->body);
    r = cor_buf_adds(&patch->text, call->req->body);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (!patch->patch && !patch->update.write.asked.is_applied)
        patch->update.write.asked.strategic = cor_buf_str(&patch->text);
    return 0;
}

static void patch_run(struct cor_call *call)
{
    struct patch_call *patch = patch_of(call);

    cor_buf_init(&patch->text, COR_BODY_BYTES_MAX);
    cor_json_dups_init(&patch->dups);
    cor_write_init(&patch->update.write);
    patch->update.write.asked.dups = &patch->dups;
    patch->update.write.asked.apply = patch_apply;
    if (patch_read_request(patch) < 0)
        cor_call_fail(call);
    else
        cor_update_call_start(&patch->update);
}

static void patch_deinit(struct cor_call *call)
{
    struct patch_call *patch = patch_of(call);

    cor_json_dups_deinit(&patch->dups);
    cor_buf_deinit(&patch->text);
    cor_update_call_deinit(call);
}

const struct cor_verb_ops cor_verb_patch = {
    .size = sizeof(struct patch_call), .run = patch_run, .deinit = patch_deinit};
