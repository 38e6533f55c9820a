/* Operations as HTTP requests; see the header. A table says of each verb how it is written; then
 * come the path, the query and the body, and the first failure ends the writing. Names are checked
 * before anything is written, in upstream's words (kit/resource_path.h). Thread: any (values). */
#include "kit/api_operation.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "kit/request_options.h"
#include "kit/resource_path.h"
#include "meta/names/patch_type.h"

#define TARGET_MAX  (64u * 1024)
#define OPTIONS_MAX 4096

enum {
    COLLECTION = 1, /* of a whole collection, with ListOptions */
    NAMED = 2,      /* of an object, whose name must be there */
    WRITES = 4,     /* with CreateOptions, UpdateOptions or PatchOptions */
    REMOVES = 8,    /* with DeleteOptions */
};

static const struct verb_form {
    enum cor_http_method method;
    enum cor_api_result result;
    unsigned is;
} verb_forms[COR_API_VERB_COUNT] = {
    [COR_API_VERB_CREATE] = {COR_HTTP_POST, COR_API_RESULT_OBJECT, WRITES},
    [COR_API_VERB_DELETE] = {COR_HTTP_DELETE, COR_API_RESULT_OBJECT, NAMED | REMOVES},
    [COR_API_VERB_DELETECOLLECTION] = {COR_HTTP_DELETE, COR_API_RESULT_NOTHING,
                                       COLLECTION | REMOVES},
    [COR_API_VERB_GET] = {COR_HTTP_GET, COR_API_RESULT_OBJECT, NAMED},
    [COR_API_VERB_LIST] = {COR_HTTP_GET, COR_API_RESULT_LIST, COLLECTION},
    [COR_API_VERB_PATCH] = {COR_HTTP_PATCH, COR_API_RESULT_OBJECT, NAMED | WRITES},
    [COR_API_VERB_UPDATE] = {COR_HTTP_PUT, COR_API_RESULT_OBJECT, NAMED | WRITES},
    [COR_API_VERB_WATCH] = {COR_HTTP_GET, COR_API_RESULT_WATCH, COLLECTION},
};

int cor_api_cannot_send(int r, struct cor_status *reterr)
{
    return cor_status_set(reterr, r, "the request could not be sent: %s", cor_err_text(r));
}

/* Groups and versions are names of the sender's program, not input. */
static int form_document(const struct cor_gvr *gvr, struct cor_buf *target)
{
    return gvr->group.n > 0 ? cor_buf_addf(target, "/apis/%.*s/%.*s", COR_STR_ARG(gvr->group),
                                           COR_STR_ARG(gvr->version))
                            : cor_buf_addf(target, "/api/%.*s", COR_STR_ARG(gvr->version));
}

static int form_path(const struct cor_api_operation *op, const struct verb_form *vf,
                     struct cor_buf *target, struct cor_status *reterr)
{
    struct cor_resource_path at = op->at;

    if (vf->is & COLLECTION)
        at.name = at.subresource = COR_STR("");
    else if (op->object && at.name.n == 0)
        at.name = cor_object_name(op->object);
    if (op->verb == COR_API_VERB_CREATE && at.subresource.n == 0)
        at.name = COR_STR("");
    if ((vf->is & NAMED) && at.name.n == 0)
        return cor_status_set(reterr, -COR_EINVAL, "name is required");
    return cor_resource_path_write(&at, target, reterr);
}

static int form_options(const struct cor_api_operation *op, const struct verb_form *vf,
                        struct cor_buf *target)
{
    struct cor_list_query query;

    if (op->verb == COR_API_VERB_GET)
        return cor_query_add(target, "resourceVersion", op->query.list.resource_version);
    if (vf->is & WRITES)
        return cor_write_options_write(&op->write, target);
    if (!(vf->is & COLLECTION))
        return 0;
    query = op->query;
    query.list.watch = op->verb == COR_API_VERB_WATCH;
    return cor_list_query_write(&query, target);
}

static int form_body(const struct cor_api_operation *op, const struct verb_form *vf,
                     struct cor_api_form *form)
{
    int r = 0;

    if (op->verb == COR_API_VERB_PATCH) {
        form->content_type = cor_patch_media_type(op->patch_type);
        form->body = op->patch;
    } else if (vf->is & REMOVES) {
        r = cor_removal_options_write(&op->removal, &form->options);
        form->body = cor_buf_str(&form->options);
    }
    return r;
}

int cor_api_form_init(struct cor_api_form *form, const struct cor_api_operation *op,
                      struct cor_status *reterr)
{
    const struct verb_form *vf;
    int r;

    *form = (struct cor_api_form){0};
    cor_buf_init(&form->target, TARGET_MAX);
    cor_buf_init(&form->options, OPTIONS_MAX);
    if ((unsigned)op->verb >= COR_API_VERB_COUNT)
        return cor_status_set(reterr, -COR_EINVAL, "there is no verb %d", (int)op->verb);
    if (op->verb == COR_API_VERB_PATCH && (unsigned)op->patch_type >= COR_PATCH_TYPES)
        return cor_status_set(reterr, -COR_EINVAL, "there is no patch type %d",
                              (int)op->patch_type);
    vf = &verb_forms[op->verb];
    form->method = vf->method;
    form->result = op->is_discovery ? COR_API_RESULT_NOTHING : vf->result;
    form->metadata_only = op->metadata_only && !(vf->is & REMOVES);
    if (op->is_discovery) {
        r = form_document(&op->at.gvr, &form->target);
    } else {
        r = form_path(op, vf, &form->target, reterr);
        if (r < 0)
            return r;
        r = form_options(op, vf, &form->target);
    }
    if (r == 0)
        r = form_body(op, vf, form);
    return r < 0 ? cor_api_cannot_send(r, reterr) : 0;
}

void cor_api_form_deinit(struct cor_api_form *form)
{
    cor_buf_deinit(&form->target);
    cor_buf_deinit(&form->options);
}
