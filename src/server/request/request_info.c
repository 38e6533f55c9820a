/* Reads a path as upstream's RequestInfo does: /api/VERSION or /apis/GROUP/VERSION, the old
 * /watch/, /namespaces/NS/, resource, name, subresource. The path is decoded once into `text`, to
 * which all names point. A path that is not a resource's has is_resource false; only wrong escapes,
 * and a path that is too long, are failures.
 * Thread: any (values). */
#include "server/request/request_info.h"

#include "base/err.h"
#include "base/limits.h"
#include "http/url.h"
#include "server/request/query_options.h"

#define PARTS_MAX 10

struct parts {
    struct cor_str v[PARTS_MAX];
    size_t n;
};

/* Splits at slashes. Those at both ends are ignored; doubled ones between give empty parts. */
static struct parts path_split(struct cor_str path)
{
    struct parts parts = {.n = 0};

    while (path.n > 0 && path.p[0] == '/')
        path = cor_str_from(path, 1);
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    while (path.n > 0 && parts.n < PARTS_MAX)
        parts.v[parts.n++] = cor_str_cut(&path, '/');
    return parts;
}

static void parts_shift(struct parts *parts, size_t n)
{
    parts->n -= n;
    memmove(parts->v, parts->v + n, parts->n * sizeof(parts->v[0]));
}

static enum cor_api_verb verb_of_method(enum cor_http_method method)
{
    switch (method) {
    case COR_HTTP_POST:
        return COR_API_VERB_CREATE;
    case COR_HTTP_GET:
    case COR_HTTP_HEAD:
        return COR_API_VERB_GET;
    case COR_HTTP_PUT:
        return COR_API_VERB_UPDATE;
    case COR_HTTP_PATCH:
        return COR_API_VERB_PATCH;
    case COR_HTTP_DELETE:
        return COR_API_VERB_DELETE;
    case COR_HTTP_OPTIONS:
    case COR_HTTP_OTHER:
        break;
    }
    return COR_API_VERB_NONE;
}

/* Cuts off prefix, group and version; false when the path names no resource. */
static bool take_version(struct cor_request_info *info, struct parts *parts)
{
    bool core;

    if (parts->n < 3)
        return false;
    core = cor_str_eq(parts->v[0], COR_STR("api"));
    if (!core && !cor_str_eq(parts->v[0], COR_STR("apis")))
        return false;
    /* An empty group is the core group only below /api. */
    if (!core && (parts->n < 4 || parts->v[1].n == 0))
        return false;
    if (!core)
        info->group = parts->v[1];
    info->version = parts->v[core ? 1 : 2];
    parts_shift(parts, core ? 2 : 3);
    return true;
}

static void take_namespace(struct cor_request_info *info, struct parts *parts)
{
    /* names a kind: the grammar of URLs */
    if (!cor_str_eq(parts->v[0], COR_STR("namespaces")) || parts->n < 2)
        return;
    info->ns = parts->v[1];
    if (parts->n > 2 && !cor_str_eq(parts->v[2], COR_STR("status")) &&
        !cor_str_eq(parts->v[2], COR_STR("finalize"))) {
        info->in_namespace = true;
        parts_shift(parts, 2);
    }
}

static int read_resource(struct cor_request_info *info, enum cor_http_method method,
                         struct cor_str query, struct parts *parts)
{
    bool is_watch;
    int r;

    info->verb = verb_of_method(method);
    if (cor_str_eq(parts->v[0], COR_STR("watch")) && parts->n > 1) {
        info->is_watch_path = true;
        info->verb = COR_API_VERB_WATCH;
        parts_shift(parts, 1);
    }
    take_namespace(info, parts);
    info->resource = parts->v[0];
    if (parts->n > 1)
        info->name = parts->v[1];
    if (parts->n > 2)
        info->subresource = parts->v[2];
    info->has_more = parts->n > 3;
    if (info->name.n > 0)
        return 0;
    if (info->verb == COR_API_VERB_DELETE)
        info->verb = COR_API_VERB_DELETECOLLECTION;
    if (info->verb != COR_API_VERB_GET)
        return 0;
    r = cor_api_query_is_watch(query, &is_watch);
    if (r == 0)
        info->verb = is_watch ? COR_API_VERB_WATCH : COR_API_VERB_LIST;
    return r;
}

int cor_request_info_init(struct cor_request_info *info, enum cor_http_method method,
                          struct cor_str path, struct cor_str query)
{
    struct parts parts;
    int r;

    *info = (struct cor_request_info){.verb = COR_API_VERB_NONE};
    cor_buf_init(&info->text, COR_REQUEST_PATH_MAX);
    r = cor_url_unescape(path, COR_URL_PATH, &info->text);
    if (r == 0) {
        info->path = cor_buf_str(&info->text);
        parts = path_split(info->path);
        info->is_resource = take_version(info, &parts);
        if (info->is_resource)
            r = read_resource(info, method, query, &parts);
    }
    if (r < 0) {
        cor_buf_deinit(&info->text);
        *info = (struct cor_request_info){.verb = COR_API_VERB_NONE}; /* its strings are gone */
    }
    return r;
}

void cor_request_info_deinit(struct cor_request_info *info)
{
    cor_buf_deinit(&info->text);
}
