/* Decides by the mode, and writes a refusal in upstream's words. cor_authorize() is for requests
 * over HTTP (anonymous callers get 401 for what is not public), cor_authz_allows() answers reviews
 * by the same rules. Without memory a refusal is shorter, never an approval.
 * Thread: any (no state). */
#include "server/access/authorizer.h"

#include <assert.h>

#include "base/err.h"
#include "meta/status/gvk.h"
#include "meta/status/quote.h"

#define MESSAGE_MAX 8192

bool cor_path_is_public(struct cor_str path)
{
    static const char *const paths[] = {"/healthz", "/livez", "/readyz", "/version", "/version/"};

    for (size_t i = 0; i < COR_ARRAY_LEN(paths); i++) {
        if (cor_str_eqz(path, paths[i]))
            return true;
    }
    return false;
}

static int add_word(struct cor_buf *out, const char *before, struct cor_str value)
{
    int r = cor_buf_addz(out, before);

    return r == 0 ? cor_quote(value, out) : r;
}

/* `User "u" cannot get resource "pods/log" in API group "" in the namespace "n"`. */
static int describe_request(struct cor_buf *out, const struct cor_user *user,
                            const struct cor_request_info *info, const char *verb)
{
    struct cor_buf resource;
    int r = add_word(out, "User ", user->name);

    if (r == 0)
        r = cor_buf_addf(out, " cannot %s ", verb);
    if (r < 0 || !info->is_resource)
        return r < 0 ? r : add_word(out, "path ", info->path);
    cor_buf_init(&resource, MESSAGE_MAX);
    r = cor_buf_adds(&resource, info->resource);
    if (r == 0 && info->subresource.n)
        r = cor_buf_addf(&resource, "/%.*s", COR_STR_ARG(info->subresource));
    if (r == 0)
        r = add_word(out, "resource ", cor_buf_str(&resource));
    if (r == 0)
        r = add_word(out, " in API group ", info->group);
    if (r == 0)
        r = info->ns.n ? add_word(out, " in the namespace ", info->ns)
                       : cor_buf_addz(out, " at the cluster scope");
    cor_buf_deinit(&resource);
    return r;
}

static int add_subject(struct cor_buf *out, const struct cor_request_info *info)
{
    int r;

    if (!info->is_resource)
        return cor_buf_addz(out, "forbidden: ");
    r = cor_buf_adds(out, info->resource);
    if (r == 0 && info->group.n)
        r = cor_buf_addf(out, ".%.*s", COR_STR_ARG(info->group));
    if (r == 0 && info->name.n)
        r = add_word(out, " ", info->name);
    return r == 0 ? cor_buf_addz(out, " is forbidden: ") : r;
}

int cor_authorize_refuse(const struct cor_user *user, const struct cor_request_info *info,
                         const char *verb, const char *reason, struct cor_status *st)
{
    struct cor_buf text, message;
    int r;

    cor_buf_init(&text, MESSAGE_MAX);
    cor_buf_init(&message, 5 * MESSAGE_MAX);
    r = add_subject(&message, info);
    if (r == 0)
        r = describe_request(&text, user, info, verb);
    if (r == 0)
        r = cor_quote_html(cor_buf_str(&text), &message);
    if (r == 0 && reason)
        r = cor_buf_addf(&message, ": %s", reason);
    (void)cor_status_set(st, -COR_EFORBIDDEN, "%s", r == 0 ? cor_buf_z(&message) : "forbidden");
    if (st && info->is_resource)
        (void)cor_status_set_details(st, info->name, info->group, info->resource);
    else if (st)
        st->has_details = true;
    cor_buf_deinit(&text);
    cor_buf_deinit(&message);
    return -COR_EFORBIDDEN;
}

/* Every authenticated user may ask who they are and what they may do. */
static bool is_self_review(const struct cor_user *user, const struct cor_authz_request *request)
{
    /* names a kind: the resources that a built-in rule grants */
    static const struct cor_gr reviews[] = {
        {COR_STR("authentication.k8s.io"), COR_STR("selfsubjectreviews")},
        {COR_STR("authorization.k8s.io"), COR_STR("selfsubjectaccessreviews")},
        {COR_STR("authorization.k8s.io"), COR_STR("selfsubjectrulesreviews")},
    };

    if (!cor_str_eq(request->verb, COR_STR("create")) || request->subresource.n > 0 ||
        !cor_user_is_in(user, COR_STR("system:authenticated")))
        return false;
    for (size_t i = 0; i < COR_ARRAY_LEN(reviews); i++) {
        if (cor_str_eq(request->group, reviews[i].group) &&
            cor_str_eq(request->resource, reviews[i].resource))
            return true;
    }
    return false;
}

bool cor_authz_allows(enum cor_authz_mode mode, const struct cor_user *user,
                      const struct cor_authz_request *request, const char **ret_reason)
{
    assert(user && request && ret_reason);
    *ret_reason = NULL;
    if (cor_user_is_in(user, COR_STR(COR_GROUP_MASTERS)) || mode == COR_AUTHZ_ALWAYS_ALLOW ||
        (!request->is_resource && cor_path_is_public(request->path)))
        return true;
    if (mode == COR_AUTHZ_DELEGATED) {
        *ret_reason = "this server delegates authorization; ask the server that it delegates to";
        return false;
    }
    if (mode == COR_AUTHZ_ALWAYS_DENY) {
        *ret_reason = "Everything is forbidden.";
        return false;
    }
    return request->is_resource && is_self_review(user, request);
}

int cor_authorize(enum cor_authz_mode mode, const struct cor_identity *identity,
                  const struct cor_request_info *info, const char *verb,
                  struct cor_status *reterr_status)
{
    const struct cor_authz_request request = {
        .is_resource = info->is_resource,
        .verb = cor_strz(verb),
        .group = info->group,
        .resource = info->resource,
        .subresource = info->subresource,
        .path = info->path,
    };
    const char *reason;

    assert(identity && info && verb);
    if (!info->is_resource && cor_path_is_public(info->path))
        return 0;
    if (identity->is_anonymous)
        return cor_status_set(reterr_status, -COR_EUNAUTHORIZED, "Unauthorized");
    if (cor_authz_allows(mode, &identity->user, &request, &reason))
        return 0;
    return cor_authorize_refuse(&identity->user, info, verb, reason, reterr_status);
}
