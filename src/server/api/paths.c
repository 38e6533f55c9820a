/* The paths outside resources: health, discovery, OpenAPI, /version and the list of paths at `/`. A
 * call holds the snapshot of what was served when it came (server/catalog/served.h), because it may
 * send a document that the snapshot keeps. A method other than GET and HEAD is refused with 405
 * where GET would answer. Unknown paths get a Status below /api and known groups, and plain text
 * elsewhere, as upstream's. Thread: the call's loop. */
#include "server/api/paths.h"

#include <assert.h>

#include "base/err.h"
#include "coracle/version.h"
#include "schema/protobuf/protobuf.h"
#include "server/api/api_int.h"
#include "server/api/call_int.h"
#include "server/api/health.h"
#include "server/api/kube_version.h"
#include "server/api/openapi_reply.h"
#include "server/api/root_paths.h"
#include "server/docs/discovery_docs.h"
#include "json/write/writer.h"

/* What this server's API is compatible with. */

#define TEXT_TYPE       "text/plain; charset=utf-8"
#define UNKNOWN_RETRY_S 5 /* until a path may be known */

struct path_call {
    struct cor_call call;
    struct cor_served *served; /* what was served when the call came */
    struct cor_openapi_answer openapi;
};

static struct path_call *path_call_of(struct cor_call *call)
{
    struct path_call *own = COR_CONTAINER_OF(call, struct path_call, call);

    assert(call->verb == &cor_verb_path);
    return own;
}

static struct cor_served *served_of(struct cor_call *call)
{
    return path_call_of(call)->served;
}

/* Is the path below /api or below a served group, where a 404 is a Status? What upstream's handler
 * of custom resources does not know is a page. */
static bool is_below_group(struct cor_call *call)
{
    struct cor_str path = call->req->info.path;

    if (cor_str_starts(path, COR_STR("/api/")))
        return true;
    if (!cor_str_starts(path, COR_STR("/apis/")))
        return false;
    path = cor_str_from(path, 6);
    path = cor_str_cut(&path, '/');
    return path.n > 0 && cor_served_has_group(served_of(call), path) &&
           !cor_served_is_custom(served_of(call), path);
}

static void reply_not_found(struct cor_call *call)
{
    static const struct cor_http_header nosniff = {COR_STR("X-Content-Type-Options"),
                                                   COR_STR("nosniff")};

    if (is_below_group(call)) {
        (void)cor_call_no_such_resource(call);
        cor_call_fail(call);
        return;
    }
    /* A client must not take a custom resource for gone that is not known yet. */
    if (atomic_load(&call->loop->shared->awaits_definitions)) {
        cor_status_set(&call->status, -COR_EUNAVAILABLE,
                       "the request has been made before all known HTTP paths have been installed, "
                       "please try again");
        call->status.has_details = true;
        call->status.retry_after_s = UNKNOWN_RETRY_S;
        cor_call_fail(call);
        return;
    }
    cor_call_reply_bytes(call, 404, TEXT_TYPE, &nosniff, 1, COR_STR("404 page not found\n"));
}

/* Answers with the document in `out`, indented for every client if `is_pretty`. r: the result of
 * making it; -COR_ENOTFOUND is a 404. */
static void reply_doc_as(struct cor_call *call, enum cor_answer answer, bool is_pretty, int r)
{
    if (r == -COR_ENOTFOUND) {
        reply_not_found(call);
        return;
    }
    if (r < 0)
        cor_status_set_err(&call->status, r);
    else
        r = cor_negotiate(call->req->accept, answer, NULL, &call->accept, &call->status);
    call->accept.is_pretty =
        call->accept.is_pretty || is_pretty || cor_wants_pretty(COR_UNSET, call->req->user_agent);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_call_reply_json(call, 200);
}

static void reply_doc(struct cor_call *call, enum cor_answer answer, int r)
{
    reply_doc_as(call, answer, false, r);
}

/* Answers with a document that the snapshot keeps. */
static void reply_kept(struct cor_call *call, enum cor_served_doc_id id)
{
    const struct cor_served_doc *doc;
    int r = cor_discovery_doc(served_of(call), id, call->loop->api->address, &doc);

    reply_doc(call, COR_ANSWER_DISCOVERY,
              r < 0 ? r : cor_buf_adds(&call->out, cor_buf_str(&doc->json)));
}

/* Appends an aggregated document in protobuf. */
static int write_aggregated(const struct cor_served_doc *doc, struct cor_buf *out)
{
    static const struct cor_str group = COR_STR("apidiscovery.k8s.io"), version = COR_STR("v2"),
                                kind = COR_STR("APIGroupDiscoveryList");
    const struct cor_type *type = cor_type_of_kind(group, version, kind);

    assert(type);
    return cor_protobuf_from_json(COR_STR("apidiscovery.k8s.io/v2"), kind, type,
                                  cor_buf_str(&doc->json), out, NULL);
}

/* The same for an aggregated document: in JSON its bytes are sent as they are, with their ETag. */
static void reply_aggregated(struct cor_call *call, enum cor_served_doc_id id, bool is_protobuf)
{
    const struct cor_served_doc *doc;
    int r = cor_discovery_doc(served_of(call), id, NULL, &doc);
    struct cor_http_header headers[] = {
        {COR_STR("ETag"), COR_STR("")},
        {COR_STR("Vary"), COR_STR("Accept")},
        {COR_STR("Cache-Control"), COR_STR("public")},
    };

    if (r == 0 && is_protobuf)
        r = write_aggregated(doc, &call->out);
    if (r < 0) {
        cor_status_set_err(&call->status, r);
        cor_call_fail(call);
        return;
    }
    headers[0].value = cor_strz(doc->etag);
    if (cor_str_eqz(call->req->if_none_match, doc->etag))
        cor_call_reply_bytes(call, 304, NULL, headers, COR_ARRAY_LEN(headers), COR_STR(""));
    else
        cor_call_reply_bytes(call, 200, is_protobuf ? COR_AGGREGATED_PROTOBUF : COR_AGGREGATED_TYPE,
                             headers, COR_ARRAY_LEN(headers),
                             cor_buf_str(is_protobuf ? &call->out : &doc->json));
}

static void reply_version(struct cor_call *call)
{
    static const struct {
        struct cor_str key, value;
    } members[] = {
        {COR_STR("major"), COR_STR(COR_KUBE_MAJOR)},
        {COR_STR("minor"), COR_STR(COR_KUBE_MINOR)},
        {COR_STR("emulationMajor"), COR_STR(COR_KUBE_MAJOR)},
        {COR_STR("emulationMinor"), COR_STR(COR_KUBE_MINOR)},
        {COR_STR("minCompatibilityMajor"), COR_STR(COR_KUBE_MAJOR)},
        {COR_STR("minCompatibilityMinor"), COR_STR(COR_KUBE_COMPAT_MINOR)},
        {COR_STR("gitVersion"), COR_STR(COR_KUBE_GIT_VERSION)},
        {COR_STR("gitCommit"), COR_STR("")},
        {COR_STR("gitTreeState"), COR_STR("clean")},
        {COR_STR("buildDate"), COR_STR(COR_KUBE_BUILD_DATE)},
        {COR_STR("goVersion"), COR_STR("none")},
        {COR_STR("compiler"), COR_STR(__VERSION__)},
        {COR_STR("platform"), COR_STR(COR_KUBE_PLATFORM)},
    };
    struct cor_json_writer w;
    int r;

    if (!cor_accept_takes_json(call->req->accept)) {
        cor_status_set(&call->status, -COR_ENOTACCEPTABLE,
                       "406: Not Acceptable\n\nAvailable representations: application/json");
        call->status.has_details = true;
        cor_call_fail(call);
        return;
    }
    cor_json_writer_init(&w, &call->out);
    cor_json_begin_object(&w);
    for (size_t i = 0; i < COR_ARRAY_LEN(members); i++)
        cor_json_member(&w, members[i].key, members[i].value);
    cor_json_end_object(&w);
    call->accept.is_pretty = true;
    r = cor_json_writer_finish(&w);
    if (r == 0) {
        cor_call_reply_json(call, 200);
        return;
    }
    cor_status_set_err(&call->status, r);
    cor_call_fail(call);
}

/* Below /apis/: the document of a group, or of one of its versions. */
static void reply_group(struct cor_call *call, struct cor_str rest)
{
    const struct cor_served *served = served_of(call);
    struct cor_str group = cor_str_cut(&rest, '/');

    reply_doc(call, COR_ANSWER_DISCOVERY,
              rest.n == 0 ? cor_discovery_group(served, group, &call->out)
                          : cor_discovery_version(served, group, rest, &call->out));
}

static bool discovery_reply(struct cor_call *call, struct cor_str path)
{
    const struct cor_served *served = served_of(call);
    bool is_protobuf, aggregated = cor_accept_wants_aggregated(call->req->accept, &is_protobuf);

    if (cor_str_eq(path, COR_STR("/api"))) {
        if (aggregated)
            reply_aggregated(call, COR_DOC_CORE_ALL, is_protobuf);
        else
            reply_kept(call, COR_DOC_VERSIONS);
    } else if (cor_str_eq(path, COR_STR("/apis"))) {
        if (aggregated)
            reply_aggregated(call, COR_DOC_GROUPS_ALL, is_protobuf);
        else
            reply_kept(call, COR_DOC_GROUPS);
    } else if (cor_str_starts(path, COR_STR("/apis/"))) {
        reply_group(call, cor_str_from(path, 6));
    } else if (cor_str_starts(path, COR_STR("/api/"))) {
        reply_doc(call, COR_ANSWER_DISCOVERY,
                  cor_discovery_version(served, COR_STR(""), cor_str_from(path, 5), &call->out));
    } else {
        return false;
    }
    return true;
}

/* 405 where GET would answer, otherwise 404. */
static void path_refuse_method(struct cor_call *call, struct cor_str path)
{
    const struct cor_served *served = served_of(call);
    struct cor_str rest = path, group;
    bool is_here = cor_str_eq(path, COR_STR("/api")) || cor_str_eq(path, COR_STR("/apis")) ||
                   cor_str_eq(path, COR_STR("/version"));
    int r = -COR_ENOTFOUND;

    if (cor_str_starts(path, COR_STR("/api/"))) {
        r = cor_discovery_version(served, COR_STR(""), cor_str_from(path, 5), &call->out);
    } else if (cor_str_starts(path, COR_STR("/apis/"))) {
        rest = cor_str_from(path, 6);
        group = cor_str_cut(&rest, '/');
        r = rest.n == 0 ? cor_discovery_group(served, group, &call->out)
                        : cor_discovery_version(served, group, rest, &call->out);
    }
    if (!is_here && r < 0) {
        reply_not_found(call);
        return;
    }
    (void)cor_call_not_allowed(call);
    cor_call_fail(call);
}

static void path_run(struct cor_call *call)
{
    struct cor_str path = call->req->info.path;

    path_call_of(call)->served = cor_served_ref(call->loop->served);
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    call->accept.is_pretty = cor_wants_pretty(COR_UNSET, call->req->user_agent);
    if (cor_health_reply(call))
        return;
    if (call->req->method != COR_HTTP_GET && call->req->method != COR_HTTP_HEAD) {
        path_refuse_method(call, path);
        return;
    }
    if (discovery_reply(call, path) ||
        cor_openapi_reply(call, served_of(call), path, &path_call_of(call)->openapi))
        return;
    if (cor_str_eq(path, COR_STR("/version")))
        reply_version(call);
    else if (cor_str_eq(path, COR_STR("/")))
        reply_doc_as(call, COR_ANSWER_OBJECT, true,
                     cor_root_paths_write(call->loop->api, served_of(call), &call->out));
    else
        reply_not_found(call);
}

static void path_deinit(struct cor_call *call)
{
    cor_openapi_answer_deinit(&path_call_of(call)->openapi);
    cor_served_unref(path_call_of(call)->served);
}

/* A document that is no longer kept lives for this call only. */
static size_t path_held(struct cor_call *call)
{
    const struct cor_kept_doc *doc = path_call_of(call)->openapi.doc;

    return doc && cor_ref_is_sole(&doc->ref) ? doc->n : 0;
}

const struct cor_verb_ops cor_verb_path = {
    .size = sizeof(struct path_call), .run = path_run, .deinit = path_deinit, .held = path_held};
