#include "http/request.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "http/http_server_int.h"

static const struct cor_str methods[] = {
    [COR_HTTP_GET] = COR_STR_INIT("GET"),         [COR_HTTP_HEAD] = COR_STR_INIT("HEAD"),
    [COR_HTTP_POST] = COR_STR_INIT("POST"),       [COR_HTTP_PUT] = COR_STR_INIT("PUT"),
    [COR_HTTP_PATCH] = COR_STR_INIT("PATCH"),     [COR_HTTP_DELETE] = COR_STR_INIT("DELETE"),
    [COR_HTTP_OPTIONS] = COR_STR_INIT("OPTIONS"),
};
static_assert(COR_ARRAY_LEN(methods) == COR_HTTP_OTHER, "each method has its name");

struct cor_str cor_http_method_name(enum cor_http_method method)
{
    assert(method < COR_HTTP_OTHER);
    return methods[method];
}

static enum cor_http_method method_of(struct cor_str name)
{
    unsigned method = 0;

    while (method < COR_HTTP_OTHER && !cor_str_eq(methods[method], name))
        method++;
    return (enum cor_http_method)method;
}

/* "http://host/path" is what a client sends to a proxy; a server takes it too. */
static struct cor_str without_authority(struct cor_str target)
{
    struct cor_str rest;
    size_t n = 0;

    if (cor_str_starts(target, COR_STR("http://")))
        rest = cor_str_from(target, 7);
    else if (cor_str_starts(target, COR_STR("https://")))
        rest = cor_str_from(target, 8);
    else
        return target;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    return cor_str_from(rest, n);
}

int cor_request_set_target(struct cor_http_request *req, struct cor_str method,
                           struct cor_str target)
{
    struct cor_str rest = without_authority(target);

    req->method = method_of(method);
    req->method_name = method;
    req->target = target;
    req->path = cor_str_cut(&rest, '?');
    req->query = rest;
    if (req->path.n == 0)
        req->path = COR_STR("/");
    return cor_str_starts(req->path, COR_STR("/")) ? 0 : -COR_EINVAL;
}

struct cor_str cor_http_request_header(const struct cor_http_request *req, struct cor_str name)
{
    return cor_header_find(req->headers, req->nheaders, name);
}
