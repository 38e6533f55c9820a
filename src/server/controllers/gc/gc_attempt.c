/* What attempts to delete and attempts to orphan have in common: their beginning, their ends, the
 * requests, and the way from an apiVersion and kind to a path. */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "coracle/status_is.h"
#include "server/controllers/gc/gc_int.h"

static void attempt_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_gc_attempt *a = COR_CONTAINER_OF(req, struct cor_gc_attempt, req);

    a->on_answer(a, answer);
}

static const struct cor_api_request_cbs attempt_cbs = {.on_done = attempt_on_done};

struct cor_gc_attempt *cor_gc_attempt_new(struct cor_gc *gc, struct cor_reconcile *rec)
{
    const struct cor_gc_node *node = cor_gc_graph_find(&gc->graph, rec->name);
    struct cor_reconcile_result result = {0};
    struct cor_gc_attempt *a;

    if (!node) {
        cor_reconcile_done(rec, &result);
        return NULL;
    }
    a = cor_calloc(1, sizeof(*a));
    if (!a || cor_gc_identity_copy(&node->id, &a->id, &a->id_strings) < 0) {
        cor_free(a);
        result.err = -COR_ENOMEM;
        cor_reconcile_done(rec, &result);
        return NULL;
    }
    a->gc = gc;
    a->rec = rec;
    a->req.cbs = &attempt_cbs;
    cor_due_init(&a->sleep);
    cor_buf_init(&a->patch, COR_GC_PATCH_MAX);
    rec->work = a;
    return a;
}

static void attempt_end(struct cor_gc_attempt *a, const struct cor_reconcile_result *result)
{
    struct cor_reconcile *rec = a->rec;

    assert(!cor_api_is_under_way(&a->req) && !a->orphaning);
    cor_due_heap_remove(&a->gc->sleeping, &a->sleep);
    cor_object_unref(a->latest);
    cor_buf_deinit(&a->patch);
    cor_free(a->uids);
    cor_free(a->id_strings);
    cor_free(a);
    cor_reconcile_done(rec, result);
}

void cor_gc_attempt_done(struct cor_gc_attempt *a)
{
    attempt_end(a, &(struct cor_reconcile_result){0});
}

void cor_gc_attempt_again(struct cor_gc_attempt *a)
{
    attempt_end(a, &(struct cor_reconcile_result){.again = true});
}

void cor_gc_attempt_fail(struct cor_gc_attempt *a, int err, const struct cor_status *why)
{
    assert(err < 0);
    attempt_end(a, &(struct cor_reconcile_result){.err = err, .why = why});
}

void cor_gc_attempt_fail_with(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    cor_gc_attempt_fail(a, answer->error->err, answer->error);
}

const struct cor_port_resource *cor_gc_map_kind(const struct cor_gc *gc, struct cor_str api_version,
                                                struct cor_str kind, struct cor_status *why)
{
    const struct cor_port_resource *found = NULL;
    struct cor_gv gv;

    if (gc->resources && cor_gv_parse(api_version, &gv, NULL) == 0)
        found =
            cor_api_resources_of_kind(gc->resources, &(struct cor_gvk){gv.group, gv.version, kind});
    if (!found)
        cor_status_set(why, -COR_ENOTFOUND, "unable to get REST mapping for %.*s/%.*s.",
                       COR_STR_ARG(api_version), COR_STR_ARG(kind));
    return found;
}

bool cor_gc_path(const struct cor_gc *gc, const struct cor_gc_identity *id,
                 struct cor_resource_path *ret_path, struct cor_status *why)
{
    const struct cor_port_resource *found = cor_gc_map_kind(gc, id->api_version, id->kind, why);

    if (!found)
        return false;
    *ret_path = (struct cor_resource_path){
        .gvr = found->gvr,
        .ns = found->is_namespaced ? id->ns : COR_STR(""),
        .name = id->name,
    };
    return true;
}

struct cor_gc_followed *cor_gc_followed_of(const struct cor_gc *gc, const struct cor_gvr *gvr)
{
    COR_DLIST_FOREACH(link, &gc->followed) {
        struct cor_gc_followed *f = COR_CONTAINER_OF(link, struct cor_gc_followed, link);

        if (cor_str_eq(f->gvr.resource, gvr->resource) && cor_str_eq(f->gvr.group, gvr->group))
            return f;
    }
    return NULL;
}

struct cor_gc_followed *cor_gc_followed_by_number(const struct cor_gc *gc, uint32_t number)
{
    COR_DLIST_FOREACH(link, &gc->followed) {
        struct cor_gc_followed *f = COR_CONTAINER_OF(link, struct cor_gc_followed, link);

        if (f->origin.resource == number)
            return f;
    }
    return NULL;
}

void cor_gc_attempt_read(struct cor_gc_attempt *a, const struct cor_resource_path *path,
                         void (*on_answer)(struct cor_gc_attempt *, const struct cor_api_answer *))
{
    a->on_answer = on_answer;
    a->req.at = *path;
    a->req.metadata_only = true;
    cor_api_get(a->gc->opts.port, &a->req, COR_STR(""));
}

/* Points the request at the attempt's object. False: the attempt has failed. */
static bool attempt_aim(struct cor_gc_attempt *a)
{
    struct cor_status why = {0};
    bool is_known = cor_gc_path(a->gc, &a->id, &a->req.at, &why);

    if (!is_known)
        cor_gc_attempt_fail(a, why.err, &why);
    cor_status_deinit(&why);
    return is_known;
}

void cor_gc_attempt_patch(struct cor_gc_attempt *a, enum cor_patch_type type,
                          void (*on_answer)(struct cor_gc_attempt *, const struct cor_api_answer *))
{
    if (!attempt_aim(a))
        return;
    a->on_answer = on_answer;
    a->req.metadata_only = true;
    cor_api_patch(a->gc->opts.port, &a->req, type, cor_buf_str(&a->patch), NULL);
}

void cor_gc_attempt_remove(struct cor_gc_attempt *a, const struct cor_removal_options *opts,
                           void (*on_answer)(struct cor_gc_attempt *,
                                             const struct cor_api_answer *))
{
    if (!attempt_aim(a))
        return;
    a->on_answer = on_answer;
    a->req.metadata_only = true;
    cor_api_remove(a->gc->opts.port, &a->req, opts);
}

bool cor_gc_answer_is(const struct cor_api_answer *answer, int err)
{
    if (!answer->error || answer->end != COR_API_ANSWERED)
        return false;
    switch (err) {
    case -COR_ENOTFOUND:
        return cor_status_is_not_found(answer->error);
    case -COR_ECONFLICT:
        return cor_status_is_conflict(answer->error);
    case -COR_EMEDIATYPE:
        return cor_status_is_unsupported_media_type(answer->error);
    default:
        assert(false);
        return false;
    }
}
