/* Impersonation. A request without Impersonate-* headers costs one look at each header's name.
 *
 * Flow: collect_wanted() finds what the headers ask for; make_identity() copies it into a new
 * identity; check_all() asks the authorizer for each part in upstream's order (user, groups,
 * extras, uid), always as the caller; then the new identity replaces the caller's. Failures: the
 * new identity is freed, and the caller's is unchanged. Thread: any (no state). */
#include "server/access/impersonation.h"

#include <assert.h>
#include <strings.h>

#include "base/err.h"
#include "meta/names/validation.h"
#include "meta/status/quote.h"

#define PREFIX          COR_STR("impersonate-")
#define EXTRA           COR_STR("impersonate-extra-")
#define AUTHENTICATION  COR_STR("authentication.k8s.io")
#define ANONYMOUS       COR_STR("system:anonymous")
#define UNAUTHENTICATED COR_STR("system:unauthenticated")
#define ACCOUNT         COR_STR("system:serviceaccount:")
#define ACCOUNTS        COR_STR("system:serviceaccounts")
/* A service account's two groups, or system:unauthenticated. */
#define GROUPS_ADDED 2
/* A refusal quotes headers, whose size is limited; quoting and HTML escapes make it longer. */
#define REFUSAL_MAX (8u << 20)

/* What the headers ask for, still as they were sent. */
struct wanted {
    struct cor_str user, uid; /* empty: not asked for */
    bool has_user, has_uid;   /* only the first header of each counts, an empty one too */
    size_t ngroups, nextras;
    size_t bytes; /* of the names and values of the headers */
};

/* Compares the first letter first, because most headers differ there. */
static bool name_starts(struct cor_str name, struct cor_str prefix)
{
    return name.n >= prefix.n && (name.p[0] | 0x20) == prefix.p[0] &&
           strncasecmp(name.p, prefix.p, prefix.n) == 0;
}

static bool is_group(struct cor_str name)
{
    return cor_header_name_eq(name, COR_STR("impersonate-group"));
}

static void collect_wanted(const struct cor_http_request *req, struct wanted *wanted)
{
    for (size_t i = 0; i < req->nheaders; i++) {
        struct cor_str name = req->headers[i].name, value = req->headers[i].value;

        if (!name_starts(name, PREFIX))
            continue;
        wanted->bytes += name.n + value.n;
        if (is_group(name)) {
            wanted->ngroups++;
        } else if (name_starts(name, EXTRA)) {
            wanted->nextras++;
        } else if (!wanted->has_user && cor_header_name_eq(name, COR_STR("impersonate-user"))) {
            wanted->has_user = true;
            wanted->user = value;
        } else if (!wanted->has_uid && cor_header_name_eq(name, COR_STR("impersonate-uid"))) {
            wanted->has_uid = true;
            wanted->uid = value;
        }
    }
}

/* "system:serviceaccount:NAMESPACE:NAME", both of them valid. */
static bool split_account(struct cor_str user, struct cor_str *ret_ns, struct cor_str *ret_name)
{
    struct cor_str rest, ns;

    if (!cor_str_starts(user, ACCOUNT))
        return false;
    rest = cor_str_from(user, ACCOUNT.n);
    ns = cor_str_cut(&rest, ':');
    if (!rest.p || !cor_name_ok(COR_NAME_DNS1123_LABEL, ns) ||
        !cor_name_ok(COR_NAME_DNS1123_SUBDOMAIN, rest))
        return false;
    *ret_ns = ns;
    *ret_name = rest;
    return true;
}

static void add_groups(struct cor_identity_draft *draft, const struct wanted *wanted)
{
    const struct cor_user *user = &draft->id.user;
    struct cor_str ns, name;

    if (wanted->ngroups == 0 && split_account(user->name, &ns, &name)) {
        struct cor_str group = cor_identity_draft_keep(draft, ACCOUNTS);

        cor_identity_draft_add_group(draft, group);
        group = cor_identity_draft_keep(draft, ACCOUNTS);
        group.n += cor_identity_draft_keep(draft, COR_STR(":")).n;
        group.n += cor_identity_draft_keep(draft, ns).n;
        cor_identity_draft_add_group(draft, group);
    }
    if (cor_str_eq(user->name, ANONYMOUS) && !cor_user_is_in(user, UNAUTHENTICATED))
        cor_identity_draft_add_group(draft, UNAUTHENTICATED);
    cor_identity_draft_add_authenticated(draft);
}

/* 0, or -COR_ENOMEM with nothing to release. */
static int make_identity(const struct cor_http_request *req, const struct wanted *wanted,
                         struct cor_identity *ret_id)
{
    struct cor_identity_draft draft;
    size_t room = 2 * wanted->bytes + 2 * ACCOUNTS.n + 1 + wanted->user.n;
    int r = cor_identity_draft_init(&draft, wanted->ngroups + GROUPS_ADDED, wanted->nextras, room);

    if (r < 0)
        return r;
    draft.id.user.name = cor_identity_draft_keep(&draft, wanted->user);
    draft.id.user.uid = cor_identity_draft_keep(&draft, wanted->uid);
    for (size_t i = 0; i < req->nheaders; i++) {
        struct cor_str name = req->headers[i].name, value = req->headers[i].value;

        if (is_group(name)) {
            cor_identity_draft_add_group(&draft, cor_identity_draft_keep(&draft, value));
        } else if (name_starts(name, EXTRA)) {
            struct cor_str key = cor_identity_draft_keep_key(&draft, cor_str_from(name, EXTRA.n));

            cor_identity_draft_add_extra(&draft, key, cor_identity_draft_keep(&draft, value));
        }
    }
    add_groups(&draft, wanted);
    *ret_id = cor_identity_draft_finish(&draft);
    return 0;
}

struct check {
    cor_impersonation_check may;
    void *arg;
    const struct cor_identity *caller;
    struct cor_status *status;
};

static int check_one(const struct check *check, struct cor_attributes what)
{
    what.user = &check->caller->user;
    what.is_anonymous = check->caller->is_anonymous;
    what.is_resource = true;
    what.verb = COR_STR("impersonate");
    return check->may(check->arg, &what, check->status);
}

static int check_user(const struct check *check, struct cor_str user)
{
    struct cor_attributes what = {.resource = COR_STR("users"), .name = user};

    if (split_account(user, &what.ns, &what.name))
        what.resource = COR_STR("serviceaccounts"); /* names a kind: what rules grant */
    return check_one(check, what);
}

/* `ngroups`: only the groups that were asked for; those that are added need no permission. */
static int check_all(const struct check *check, const struct cor_user *user, size_t ngroups)
{
    int r = check_user(check, user->name);

    for (size_t i = 0; r == 0 && i < ngroups; i++)
        r = check_one(
            check, (struct cor_attributes){.resource = COR_STR("groups"), .name = user->groups[i]});
    for (size_t i = 0; r == 0 && i < user->nextras; i++)
        r = check_one(check, (struct cor_attributes){.group = AUTHENTICATION,
                                                     .version = COR_STR("v1"),
                                                     .resource = COR_STR("userextras"),
                                                     .subresource = user->extras[i].key,
                                                     .name = user->extras[i].value});
    if (r == 0 && user->uid.n > 0)
        r = check_one(check, (struct cor_attributes){.group = AUTHENTICATION,
                                                     .version = COR_STR("v1"),
                                                     .resource = COR_STR("uids"),
                                                     .name = user->uid});
    return r;
}

/* One reference to an object as Go's %v prints it: kind, namespace, name, uid, apiVersion,
 * resourceVersion, fieldPath. */
static int add_reference(struct cor_buf *out, const char *kind, struct cor_str name,
                         struct cor_str path)
{
    bool is_core = strcmp(kind, "Group") == 0;
    int r = out->n > 0 ? cor_buf_addc(out, ' ') : 0;

    if (r == 0)
        r = cor_buf_addf(out, "{%s  %.*s  %s  %.*s}", kind, COR_STR_ARG(name),
                         is_core ? "" : "authentication.k8s.io/v1", COR_STR_ARG(path));
    return r;
}

static int add_references(struct cor_buf *out, const struct cor_identity *id, size_t ngroups)
{
    const struct cor_user *user = &id->user;
    int r = 0;

    for (size_t i = 0; r == 0 && i < ngroups; i++)
        r = add_reference(out, "Group", user->groups[i], COR_STR(""));
    for (size_t i = 0; r == 0 && i < user->nextras; i++)
        r = add_reference(out, "UserExtra", user->extras[i].value, user->extras[i].key);
    if (r == 0 && user->uid.n > 0)
        r = add_reference(out, "UID", user->uid, COR_STR(""));
    return r;
}

/* Refuses groups, a uid or extras without a user, in upstream's words. */
static int refuse_without_user(const struct cor_http_request *req, const struct cor_identity *id,
                               size_t ngroups, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf references, text, html;
    int r;

    cor_buf_init(&references, REFUSAL_MAX);
    cor_buf_init(&text, REFUSAL_MAX);
    cor_buf_init(&html, REFUSAL_MAX);
    r = add_references(&references, id, ngroups);
    if (r == 0)
        r = cor_buf_addz(&text, "Internal Server Error: ");
    if (r == 0)
        r = cor_quote(req->target, &text);
    if (r == 0)
        r = cor_buf_addf(&text, ": requested [%s] without impersonating a user\n",
                         cor_buf_z(&references));
    if (r == 0)
        r = cor_quote_html(cor_buf_str(&text), &html);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    return cor_status_untyped(reterr_status, -COR_EINVAL, "%s", cor_buf_z(&html));
}

int cor_impersonate(cor_impersonation_check may, void *arg, const struct cor_http_request *req,
                    struct cor_identity *identity, struct cor_status *reterr_status)
{
    const struct check check = {may, arg, identity, reterr_status};
    struct wanted wanted = {0};
    struct cor_identity id;
    int r;

    assert(req && identity);
    collect_wanted(req, &wanted);
    if (wanted.user.n == 0 && wanted.ngroups == 0 && wanted.nextras == 0 && wanted.uid.n == 0)
        return 0;
    r = make_identity(req, &wanted, &id);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    if (wanted.user.n == 0)
        r = refuse_without_user(req, &id, wanted.ngroups, reterr_status);
    else
        r = check_all(&check, &id.user, wanted.ngroups);
    if (r != 0) {
        cor_identity_deinit(&id);
        return r;
    }
    cor_identity_deinit(identity);
    *identity = id;
    return 0;
}
