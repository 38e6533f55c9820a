/* clang-format off */
/* The deletion of one resource's objects in a namespace, in upstream's order and requests:
 *
 *   ESTIMATE (pods only): LIST the pods: the longest grace period
 *      │
 *   DELETE: DELETE of the collection ── not supported (405, 404, or no such verb) ──► LIST
 *      │                                                                              │
 *      │                                          DELETE_EACH: DELETE each object ◄───┘
 *      ▼                                                         │
 *   VERIFY: LIST the metadata of what remains ◄──────────────────┘
 *      └──► on_done
 *
 * Any other failure of a request ends the work with that failure; what was deleted stays deleted.
 * Objects that remain are not a failure while the estimate runs, or when one of them has a
 * finalizer; otherwise they are, because nothing explains them.
 * Thread: the port's loop. */
/* clang-format on */
#include "server/controllers/namespace/namespace_content.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "coracle/object.h"
#include "coracle/view.h"

static void content_delete(struct cor_namespace_content *c);
static void content_list(struct cor_namespace_content *c);
static void content_verify(struct cor_namespace_content *c);

bool cor_namespace_content_is_pods(const struct cor_port_resource *resource)
{
    return resource->gvr.group.n == 0 && cor_str_eqz(resource->gvr.version, "v1") &&
           cor_str_eqz(resource->gvr.resource, "pods");
}

static bool content_has_verb(const struct cor_namespace_content *c, unsigned verb)
{
    return (c->resource->verbs & verb) != 0;
}

static void content_finish(struct cor_namespace_content *c)
{
    c->step = CONTENT_IDLE;
    c->on_done(c);
}

static void content_fail(struct cor_namespace_content *c, const struct cor_status *error)
{
    if (c->error.err == 0)
        cor_status_copy(&c->error, error);
    content_finish(c);
}

/* The server has the resource in its enumeration, and yet not the verb. */
static bool is_unsupported(const struct cor_api_answer *answer)
{
    return answer->error && answer->end == COR_API_ANSWERED &&
           (answer->error->err == -COR_ENOTFOUND || answer->error->err == -COR_ENOTSUP);
}

/* The longest time that a pod which has not ended may take. */
static void content_look_at_pod(struct cor_namespace_content *c, const struct cor_object *pod)
{
    struct cor_view top = cor_object_view(pod);
    struct cor_view phase =
        cor_view_member(cor_view_member(top, COR_STR("status")), COR_STR("phase"));
    struct cor_view grace = cor_view_member(cor_view_member(top, COR_STR("spec")),
                                            COR_STR("terminationGracePeriodSeconds"));
    struct cor_str text = cor_view_text_or(phase, NULL, 0, "");
    int64_t grace_s = cor_view_int_or(grace, 0);

    if (!cor_str_eqz(text, "Succeeded") && !cor_str_eqz(text, "Failed") && grace_s > c->estimate_s)
        c->estimate_s = grace_s;
}

static int on_content_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_namespace_content *c = COR_CONTAINER_OF(req, struct cor_namespace_content, request);
    struct cor_str name;

    switch (c->step) {
    case CONTENT_ESTIMATE:
        content_look_at_pod(c, item);
        return 0;
    case CONTENT_LIST:
        name = cor_object_name(item);
        return cor_buf_add(&c->names, name.p, name.n) < 0 || cor_buf_addc(&c->names, '\0') < 0
                   ? -COR_ENOMEM
                   : 0;
    case CONTENT_VERIFY:
        c->nremaining++;
        return cor_finalizer_counts_add(&c->finalizers, item);
    default:
        assert(0);
        return -COR_EINVAL;
    }
}

/* The answer to the list of pods. */
static void content_on_estimate(struct cor_namespace_content *c,
                                const struct cor_api_answer *answer)
{
    int64_t now_s = cor_clock_wall_ms(c->clock) / 1000;

    if (answer->error) {
        c->estimate_s = 0;
        content_fail(c, answer->error);
        return;
    }
    if (now_s - c->deleted_at_s >= c->estimate_s)
        c->estimate_s = 0;
    content_delete(c);
}

static void content_delete_next(struct cor_namespace_content *c)
{
    const struct cor_removal_options opts = {.propagation = COR_STR("Background")};
    const char *name = cor_buf_str(&c->names).p + c->next_name;

    if (c->next_name == c->names.n) {
        content_verify(c);
        return;
    }
    c->step = CONTENT_DELETE_EACH;
    c->request.at.name = cor_strz(name);
    c->next_name += c->request.at.name.n + 1;
    cor_api_remove(c->port, &c->request, &opts);
}

/* The answer to the list of what remains. */
static void content_on_verified(struct cor_namespace_content *c,
                                const struct cor_api_answer *answer)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf gvr;

    cor_buf_init(&gvr, 4096);
    if (answer->error) {
        c->nremaining = 0;
        if (is_unsupported(answer))
            content_finish(c);
        else
            content_fail(c, answer->error);
        return;
    }
    if (c->nremaining == 0) {
        c->estimate_s = 0;
    } else if (c->estimate_s == 0 && cor_map_len(&c->finalizers.map) > 0) {
        c->estimate_s = COR_NAMESPACE_FINALIZER_S;
    } else if (c->estimate_s == 0) {
        (void)cor_gvr_print(&c->resource->gvr, &gvr);
        cor_status_untyped(&c->error, -COR_EIO,
                           "unexpected items still remain in namespace: %.*s for gvr: %s",
                           COR_STR_ARG(c->ns), cor_buf_z(&gvr));
    }
    content_finish(c);
}

static void on_content_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_namespace_content *c = COR_CONTAINER_OF(req, struct cor_namespace_content, request);

    switch (c->step) {
    case CONTENT_ESTIMATE:
        content_on_estimate(c, answer);
        return;
    case CONTENT_DELETE:
        if (!answer->error)
            content_verify(c);
        else if (is_unsupported(answer))
            content_list(c);
        else
            content_fail(c, answer->error);
        return;
    case CONTENT_LIST:
        if (!answer->error)
            content_delete_next(c);
        else if (is_unsupported(answer))
            content_verify(c);
        else
            content_fail(c, answer->error);
        return;
    case CONTENT_DELETE_EACH:
        if (!answer->error || is_unsupported(answer))
            content_delete_next(c);
        else
            content_fail(c, answer->error);
        return;
    case CONTENT_VERIFY:
        content_on_verified(c, answer);
        return;
    case CONTENT_IDLE:
        break;
    }
    assert(0);
}

/* Prepares the next request; one at a time is under way. */
static void content_step(struct cor_namespace_content *c, int step)
{
    static const struct cor_api_request_cbs cbs = {.on_item = on_content_item,
                                                   .on_done = on_content_done};

    assert(!cor_api_is_under_way(&c->request));
    c->step = step;
    c->request =
        (struct cor_api_request){.at = {.gvr = c->resource->gvr, .ns = c->ns}, .cbs = &cbs};
}

static void content_delete(struct cor_namespace_content *c)
{
    const struct cor_removal_options opts = {.propagation = COR_STR("Background")};

    if (!content_has_verb(c, COR_API_VERB_BIT(DELETECOLLECTION))) {
        content_list(c);
        return;
    }
    content_step(c, CONTENT_DELETE);
    cor_api_remove_collection(c->port, &c->request, &opts, NULL);
}

static void content_list(struct cor_namespace_content *c)
{
    if (!content_has_verb(c, COR_API_VERB_BIT(LIST))) {
        content_verify(c);
        return;
    }
    content_step(c, CONTENT_LIST);
    c->request.metadata_only = true;
    cor_api_list(c->port, &c->request, &(struct cor_list_query){0});
}

/* Without the verb `list` nothing can be verified. */
static void content_verify(struct cor_namespace_content *c)
{
    if (!content_has_verb(c, COR_API_VERB_BIT(LIST))) {
        content_finish(c);
        return;
    }
    content_step(c, CONTENT_VERIFY);
    c->request.metadata_only = true;
    cor_api_list(c->port, &c->request, &(struct cor_list_query){0});
}

bool cor_namespace_content_can_delete(const struct cor_port_resource *resource)
{
    return (resource->verbs & (COR_API_VERB_BIT(DELETECOLLECTION) | COR_API_VERB_BIT(LIST))) != 0;
}

void cor_namespace_content_start(struct cor_namespace_content *c)
{
    assert(c->port && c->clock && c->resource && c->on_done && c->step == CONTENT_IDLE);
    assert(cor_namespace_content_can_delete(c->resource));
    cor_buf_init(&c->names, COR_NAMESPACE_NAMES_MAX);
    cor_finalizer_counts_init(&c->finalizers);
    if (cor_namespace_content_is_pods(c->resource)) {
        content_step(c, CONTENT_ESTIMATE);
        cor_api_list(c->port, &c->request, &(struct cor_list_query){0});
        return;
    }
    content_delete(c);
}

void cor_namespace_content_end(struct cor_namespace_content *c)
{
    if (!c->resource)
        return;
    cor_api_cancel(c->port, &c->request);
    cor_buf_deinit(&c->names);
    cor_finalizer_counts_deinit(&c->finalizers);
    cor_status_deinit(&c->error);
    *c = (struct cor_namespace_content){0};
}
