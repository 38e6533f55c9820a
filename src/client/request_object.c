/* Requests by object: the names of the object become texts of the request, where the program has
 * set none. A patch that must not overwrite what others wrote gets the object's resourceVersion,
 * which is set in a canonical copy of the patch. Thread: any. */
#include "client/request_object.h"

#include "base/err.h"
#include "base/mem.h"
#include "meta/object/object.h"
#include "json/text/json.h"
#include "json/write/editor.h"
#include "json/write/writer.h"

#define TEXT_MAX (64u << 20)

static const char *text_or_none(struct cor_str text)
{
    return text.n > 0 ? text.p : NULL;
}

static bool is_unset(const char *text)
{
    return !text || !*text;
}

/* Sets the patch's metadata.resourceVersion. */
static int lock_patch(struct cor_request *req, struct cor_str version,
                      struct cor_request_texts *texts)
{
    static const struct cor_json_limits limits = {.bytes_max = TEXT_MAX,
                                                  .depth_max = COR_JSON_DEPTH_MAX};
    COR_CLEANUP(cor_json_editor_deinit) struct cor_json_editor editor = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {0};
    int r;

    if (req->patch_type != COR_PATCH_MERGE && req->patch_type != COR_PATCH_STRATEGIC)
        return -COR_EINVAL;
    cor_buf_init(&quoted, TEXT_MAX);
    cor_buf_init(&texts->patch, TEXT_MAX);
    r = cor_json_canonicalize(req->patch, &limits, &texts->patch, NULL, NULL);
    if (r == 0 && texts->patch.p[0] != '{')
        r = -COR_EINVAL;
    if (r == 0)
        r = cor_json_editor_init(&editor, cor_buf_str(&texts->patch), TEXT_MAX);
    if (r == 0)
        r = cor_json_quote(&quoted, version);
    if (r == 0)
        r = cor_json_editor_set(&editor, COR_STR("metadata.resourceVersion"), cor_buf_str(&quoted));
    if (r < 0)
        return r;
    cor_buf_deinit(&texts->patch);
    texts->patch = editor.bytes;
    editor.bytes = (struct cor_buf){0};
    req->patch = cor_buf_str(&texts->patch);
    return 0;
}

static int take_version(struct cor_request *req, struct cor_str version,
                        struct cor_request_texts *texts)
{
    if (version.n == 0)
        return -COR_EINVAL;
    switch (req->verb) {
    case COR_VERB_UPDATE:
        return 0;
    case COR_VERB_PATCH:
        return lock_patch(req, version, texts);
    case COR_VERB_DELETE:
        req->resource_version_is = version.p;
        return 0;
    default:
        return -COR_EINVAL;
    }
}

/* A watch follows this object alone, from the state that the program has. */
static int take_watch(struct cor_request *req, struct cor_str name, struct cor_str version,
                      struct cor_request_texts *texts)
{
    int r = 0;

    cor_buf_init(&texts->selector, TEXT_MAX);
    if (is_unset(req->field_selector)) {
        r = cor_buf_addf(&texts->selector, "metadata.name=%.*s", COR_STR_ARG(name));
        req->field_selector = cor_buf_z(&texts->selector);
    }
    if (is_unset(req->resource_version))
        req->resource_version = text_or_none(version);
    req->name = NULL;
    return r;
}

int cor_request_take_object(struct cor_request *req, struct cor_request_texts *texts)
{
    struct cor_str ns, name, uid, version;
    struct cor_str *const strings[] = {&ns, &name, &uid, &version};
    /* The name of an object that is created is in the object; a subresource is that of a name. */
    bool creates = req->verb == COR_VERB_CREATE;
    bool has_name = !creates || !is_unset(req->subresource);
    int r;

    if (!req->of)
        return req->unless_changed ? -COR_EINVAL : 0;
    if (req->verb == COR_VERB_LIST || req->verb == COR_VERB_DELETE_COLLECTION)
        return -COR_EINVAL;
    ns = cor_object_namespace(req->of);
    name = cor_object_name(req->of);
    uid = cor_object_uid(req->of);
    version = cor_object_resource_version(req->of);
    r = cor_str_gather(strings, COR_ARRAY_LEN(strings), &texts->block);
    if (r < 0)
        return r;
    if (is_unset(req->ns))
        req->ns = text_or_none(ns);
    if (is_unset(req->name) && has_name)
        req->name = text_or_none(name);
    if (!req->object && (creates || req->verb == COR_VERB_UPDATE))
        req->object = req->of;
    if (req->verb == COR_VERB_DELETE && is_unset(req->uid_is))
        req->uid_is = text_or_none(uid);
    if (req->verb == COR_VERB_WATCH)
        r = take_watch(req, name, version, texts);
    return r < 0 || !req->unless_changed ? r : take_version(req, version, texts);
}

void cor_request_texts_deinit(struct cor_request_texts *texts)
{
    cor_free(texts->block);
    cor_buf_deinit(&texts->selector);
    cor_buf_deinit(&texts->patch);
}
