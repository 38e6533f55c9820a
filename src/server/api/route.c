/* clang-format off */
/* From a request to a running verb.
 *
 *   cor_api_call ──► the resource's row, from the snapshot that the loop has ──► which verb: `actions` for kinds that are not stored and for subresources that
 *   do something, else `verbs` by the method; a path outside of resources has cor_verb_path ──► a
 *   call as large as the verb needs, which holds the row ──► route_prepare: is this verb served at
 *   this path (route_check), query options, Accept, the stores of the resource ──► verb->run
 *
 * Failures: without memory for the call, 500 as plain text. Whatever route_prepare() refuses (404,
 * 405, 400, 406) is answered as a Status, and the verb does not run.
 * A new verb is a row of `verbs` or `actions`, its file in server/verbs/, and its bit in the rows
 * of schema/kinds/resource_row.c.
 * Thread: the call's loop. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "schema/print/custom_columns.h"
#include "server/api/api.h"
#include "server/api/call_int.h"
#include "server/api/paths.h"

/* For answers without a call: a failed allocation at the very start. */
#define NO_MEMORY "out of memory\n"

static const struct cor_verb_ops *const verbs[] = {
    [COR_API_VERB_CREATE] = &cor_verb_create,
    [COR_API_VERB_DELETE] = &cor_verb_delete,
    [COR_API_VERB_DELETECOLLECTION] = &cor_verb_delete_collection,
    [COR_API_VERB_GET] = &cor_verb_get,
    [COR_API_VERB_LIST] = &cor_verb_list,
    [COR_API_VERB_PATCH] = &cor_verb_patch,
    [COR_API_VERB_UPDATE] = &cor_verb_update,
    [COR_API_VERB_WATCH] = &cor_verb_watch,
    [COR_API_VERB_NONE] = &cor_verb_get,
};

int cor_call_no_such_resource(struct cor_call *call)
{
    int r = cor_status_set(&call->status, -COR_ENOTFOUND,
                           "the server could not find the requested resource");

    assert(!call->is_over);
    call->status.has_details = true;
    return r;
}

int cor_call_not_allowed(struct cor_call *call)
{
    int r = cor_status_set(&call->status, -COR_ENOTSUP,
                           "the server does not allow this method on the requested resource");

    assert(!call->is_over);
    call->status.has_details = true;
    return r;
}

/* The verbs of kinds that are not stored, and of subresources that are created to do something. */
static const struct cor_verb_ops *const actions[COR_ACTION_COUNT] = {
    [COR_ACTION_BINDING] = &cor_verb_binding,
    [COR_ACTION_COMPONENT_STATUS] = &cor_verb_component_status,
    [COR_ACTION_EVICTION] = &cor_verb_eviction,
    [COR_ACTION_TOKEN_REVIEW] = &cor_verb_review,
    [COR_ACTION_ACCESS_REVIEW] = &cor_verb_review,
    [COR_ACTION_SELF_ACCESS_REVIEW] = &cor_verb_review,
    [COR_ACTION_SELF_REVIEW] = &cor_verb_review,
    [COR_ACTION_RULES_REVIEW] = &cor_verb_review,
};

static const struct cor_verb_ops *route_choose_verb(const struct cor_server_request *req,
                                                    const struct cor_resource_row *res)
{
    const struct cor_request_info *info = &req->info;
    const struct cor_api_subresource *sub =
        res && info->subresource.n > 0 ? cor_api_subresource(res, info->subresource) : NULL;
    const struct cor_resource_row *type = sub ? sub->type : res;

    if (sub && sub->connect != COR_CONNECT_NONE)
        return &cor_verb_connect;
    if (!type || (sub && info->verb != COR_API_VERB_CREATE) || !actions[type->action])
        return verbs[info->verb];
    return actions[type->action];
}

static int route_check_subresource(struct cor_call *call)
{
    struct cor_gr gr = cor_api_gr(call->res);

    call->sub = cor_api_subresource(call->res, call->req->info.subresource);
    /* Upstream's handler of custom resources says that the object is not there. */
    if ((!call->sub || !call->sub->is_served) && call->res->custom)
        return cor_status_not_found(&call->status, &gr, call->req->info.name);
    if (!call->sub || !call->sub->is_served)
        return cor_call_no_such_resource(call);
    if (call->sub->type) {
        call->type = call->sub->type;
        call->schema = cor_row_schema(call->type);
    }
    if (call->sub->conversion)
        call->conversion = call->sub->conversion;
    return 0;
}

/* A verb that upstream's handler of custom resources does not have at this path. */
static int refuse_custom_verb(struct cor_call *call)
{
    static const char *const words[] = {[COR_API_VERB_CREATE] = "create",
                                        [COR_API_VERB_DELETE] = "delete",
                                        [COR_API_VERB_LIST] = "list",
                                        [COR_API_VERB_WATCH] = "watch"};
    enum cor_api_verb verb = call->req->info.verb;
    int r;

    if (call->req->info.name.n == 0)
        return cor_status_bad_request(&call->status, "name must be provided");
    if ((size_t)verb >= COR_ARRAY_LEN(words) || !words[verb])
        return cor_call_not_allowed(call);
    r = cor_status_set(&call->status, -COR_ENOTSUP,
                       "%s is not supported on resources of kind \"%.*s.%.*s\"", words[verb],
                       COR_STR_ARG(call->res->plural), COR_STR_ARG(call->res->group));
    (void)cor_status_set_details(&call->status, COR_STR(""), call->res->group, call->res->plural);
    return r;
}

static int refuse_watch(struct cor_call *call)
{
    int r = cor_status_set(&call->status, -COR_ENOTSUP,
                           "watch is not supported on resources of kind \"%.*s\"",
                           COR_STR_ARG(call->res->plural));

    (void)cor_status_set_details(&call->status, COR_STR(""), call->res->group, call->res->plural);
    return r;
}

/* The verbs that this path serves, as bits; route_check() has looked at the scope before. */
static unsigned route_verbs_at(const struct cor_call *call, bool all_namespaces)
{
    unsigned here = call->sub ? call->sub->verbs : call->res->verbs;

    if (all_namespaces)
        here &= COR_API_VERB_BIT(LIST) | COR_API_VERB_BIT(WATCH);
    if (call->req->info.name.n == 0)
        here &= COR_API_VERB_BIT(LIST) | COR_API_VERB_BIT(WATCH) | COR_API_VERB_BIT(CREATE) |
                COR_API_VERB_BIT(DELETECOLLECTION);
    else if (!call->sub && !call->res->custom)
        here &= ~COR_API_VERB_BIT(CREATE);
    return here;
}

/* Is this combination of verb, resource, subresource and scope served? */
static int route_check(struct cor_call *call)
{
    const struct cor_request_info *info = &call->req->info;
    bool all_namespaces = cor_api_is_namespaced(call->res) && info->ns.n == 0;
    int r = info->subresource.n > 0 ? route_check_subresource(call) : 0;
    unsigned here;

    if (r < 0)
        return r;
    if (info->has_more && !(call->sub && call->sub->takes_path))
        return cor_call_no_such_resource(call);
    if (!cor_api_is_namespaced(call->res) && info->in_namespace)
        return cor_call_no_such_resource(call);
    if (all_namespaces && info->in_namespace && info->name.n > 0)
        return cor_status_bad_request(&call->status, "Namespace parameter required.");
    if (all_namespaces && (info->name.n > 0 || !(call->res->verbs & COR_API_VERB_BIT(LIST))))
        return cor_call_no_such_resource(call);
    if (info->name.n > 0 && !call->sub && !(call->res->verbs & ~COR_API_VERB_BIT(CREATE)))
        return cor_call_no_such_resource(call);
    here = route_verbs_at(call, all_namespaces);
    if (info->verb == COR_API_VERB_WATCH && (here & COR_API_VERB_BIT(LIST)) &&
        !(here & COR_API_VERB_BIT(WATCH)))
        return refuse_watch(call);
    if (info->verb == COR_API_VERB_NONE || !(here & (1u << info->verb)) ||
        (info->is_watch_path && call->req->method != COR_HTTP_GET))
        return call->res->custom ? refuse_custom_verb(call) : cor_call_not_allowed(call);
    return 0;
}

static enum cor_answer answer_of(enum cor_api_verb verb)
{
    if (verb == COR_API_VERB_LIST)
        return COR_ANSWER_LIST;
    if (verb == COR_API_VERB_DELETECOLLECTION)
        return COR_ANSWER_DELETED_LIST;
    return verb == COR_API_VERB_WATCH ? COR_ANSWER_WATCH : COR_ANSWER_OBJECT;
}

/* The columns of a Table: of a custom resource those of the version that was asked for. */
static const struct cor_table_columns *route_columns(const struct cor_call *call)
{
    const struct cor_custom_row *custom = call->res->custom;

    if (custom && call->sub && call->sub->part == COR_PART_SCALE)
        return &custom->scale_columns->table;
    if (!cor_call_has_stored_cells(call))
        return cor_columns_of(call->schema);
    return custom && custom->columns ? &custom->columns->table
                                     : cor_columns_of(cor_row_schema(call->stored));
}

/* Opens the stores of the resource on this loop. 0, or a failure in the status. */
static int route_open_backing(struct cor_call *call)
{
    int r = cor_api_backing(call->loop, call->stored, &call->backing, &call->status);

    if (r == 0 && call->res->life)
        cor_api_hold_backing(call->backing);
    return r;
}

/* Says that some objects are served otherwise than the schema has it. */
static int route_warn_of_undefaulted(struct cor_call *call)
{
    const struct cor_custom_row *custom = call->stored->custom;
    char text[512];

    if (!custom || !cor_custom_schema_has_undefaulted(custom->schema))
        return 0;
    snprintf(text, sizeof(text),
             "objects that their defaults would make too large are served as they are stored: see "
             "the condition DefaultsTooLarge of customresourcedefinition %.*s.%.*s",
             COR_STR_ARG(call->res->plural), COR_STR_ARG(call->res->group));
    return cor_warnings_add(&call->warnings, cor_strz(text));
}

/* Sets what every verb needs: row, type, options, form of the answer, stores. 0, or a failure in
 * the status. */
static int route_prepare(struct cor_call *call)
{
    const struct cor_server_request *req = call->req;
    int r;

    call->accept.is_pretty = cor_wants_pretty(COR_UNSET, req->user_agent);
    if (!call->res)
        return cor_call_no_such_resource(call);
    call->stored = cor_api_stored(call->res);
    call->type = call->res;
    call->conversion = call->res->conversion;
    r = route_check(call);
    if (r == 0 && call->res->deprecation) {
        r = cor_warnings_add(&call->warnings, cor_strz(call->res->deprecation));
        if (r < 0)
            return cor_status_set_err(&call->status, r);
    }
    if (r == 0) {
        r = route_warn_of_undefaulted(call);
        if (r < 0)
            return cor_status_set_err(&call->status, r);
    }
    call->nroute_warnings = call->warnings.n;
    /* The query of a connection is not the API's, and a Status is its only answer that has a form
     * to choose. */
    if (r == 0 && call->sub && call->sub->connect != COR_CONNECT_NONE) {
        call->accept = cor_negotiate_failure(req->accept);
        call->accept.is_pretty = cor_wants_pretty(COR_UNSET, req->user_agent);
        return route_open_backing(call);
    }
    if (r == 0)
        r = cor_api_options_parse(req->query, req->info.verb, &call->opts, &call->status);
    if (r == 0)
        r = cor_negotiate(req->accept, answer_of(req->info.verb), call->res, &call->accept,
                          &call->status);
    if (r == 0 && call->accept.view == COR_VIEW_TABLE)
        call->columns = route_columns(call);
    call->accept.is_pretty =
        call->accept.is_pretty || cor_wants_pretty(call->opts.pretty, req->user_agent);
    if (r == 0 && !(call->res->flags & COR_API_VIRTUAL))
        r = route_open_backing(call);
    return r;
}

/* Returns whether the path has the scope of the custom resource. Upstream's handler passes others
 * on. Only lists and watches may be of all namespaces. */
static bool route_is_in_scope(const struct cor_resource_row *res,
                              const struct cor_request_info *info)
{
    if (!cor_api_is_namespaced(res))
        return !info->in_namespace;
    return info->ns.n > 0 || info->verb == COR_API_VERB_LIST || info->verb == COR_API_VERB_WATCH;
}

/* Is the request answered by cor_verb_path: it names no resource, or one of a version that is not
 * served? */
static bool route_is_path(const struct cor_served *served, const struct cor_request_info *info,
                          const struct cor_resource_row *res)
{
    if (!info->is_resource || cor_str_starts(info->path, COR_STR("//")))
        return true;
    if (res)
        return res->custom && !route_is_in_scope(res, info);
    return !cor_served_has_version(served, info->group, info->version) ||
           cor_served_is_custom(served, info->group);
}

/* Hands the request to an aggregated server, if it is one of the server to itself and the resource
 * is of such a server. */
static bool route_remote(struct cor_api_loop *loop, const struct cor_server_request *request,
                         struct cor_sink *sink)
{
    const struct cor_request_info *info = &request->info;
    struct cor_api_service *service =
        request->reaches_remote && loop->shared->remote && info->is_resource
            ? cor_served_service(loop->served, info->group, info->version)
            : NULL;

    if (service)
        loop->shared->remote(loop->shared->remote_arg, loop, service, request, sink);
    return service != NULL;
}

void cor_api_call(struct cor_api_loop *loop, const struct cor_server_request *request,
                  struct cor_sink *sink)
{
    const struct cor_request_info *info = &request->info;
    const struct cor_type *schema = NULL;
    const struct cor_resource_row *res =
        info->is_resource
            ? cor_served_find(loop->served, info->group, info->version, info->resource, &schema)
            : NULL;
    bool is_path = route_is_path(loop->served, info, res);
    struct cor_call *call;

    assert(cor_loop_is_current(loop->loop));
    if (!res && route_remote(loop, request, sink))
        return;
    call = cor_call_new(is_path ? &cor_verb_path : route_choose_verb(request, res), loop, request,
                        sink);
    if (!call) {
        static const struct cor_str text = COR_STR(NO_MEMORY);

        cor_sink_start(sink, 500, NULL, 0, text.n);
        (void)cor_sink_writev(sink, &text, 1, 0);
        cor_sink_end(sink);
        return;
    }
    if (!is_path && res) {
        call->res = cor_row_ref(res);
        call->schema = schema;
    }
    if (!is_path && route_prepare(call) < 0)
        cor_call_fail(call);
    else
        call->verb->run(call);
}
