/* Impersonation. A request without Impersonate-* headers costs one look at each header's name.
 *
 * Flow: collect_wanted() finds what the headers ask for; make_identity() copies it into a new
 * identity; check_all() asks the authorizer for each part in upstream's order (user, groups,
 * extras, uid), always as the caller; then the new identity replaces the caller's. Failures: the
 * new identity is freed, and the caller's is unchanged. Thread: any (no state). */
#include "server/access/impersonation.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/url.h"
#include "meta/quote.h"
#include "meta/validation.h"

#define PREFIX          COR_STR("impersonate-")
#define EXTRA           COR_STR("impersonate-extra-")
#define AUTHENTICATION  COR_STR("authentication.k8s.io")
#define ANONYMOUS       COR_STR("system:anonymous")
#define AUTHENTICATED   COR_STR("system:authenticated")
#define UNAUTHENTICATED COR_STR("system:unauthenticated")
#define ACCOUNT         COR_STR("system:serviceaccount:")
#define ACCOUNTS        COR_STR("system:serviceaccounts")
/* A service account's two groups, and system:authenticated or system:unauthenticated. */
#define GROUPS_ADDED 3
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

/* Appends to a buffer that has room for it. */
static struct cor_str keep_text(struct cor_buf *text, struct cor_str s)
{
    size_t at = text->n;

    (void)cor_buf_adds(text, s);
    return cor_str(text->p + at, text->n - at);
}

/* The key of an extra is in lower case, and then its escapes are decoded; a key whose escapes are
 * wrong is taken as it is. */
static struct cor_str keep_key(struct cor_buf *text, struct cor_str header)
{
    struct cor_str raw = keep_text(text, cor_str_from(header, EXTRA.n));
    char *p = text->p + text->n - raw.n;
    size_t at = text->n;

    for (size_t i = 0; i < raw.n; i++)
        p[i] = (char)tolower((unsigned char)p[i]);
    if (cor_url_unescape(raw, COR_URL_PATH, text) < 0)
        return raw;
    return cor_str(text->p + at, text->n - at);
}

/* By key, then in the order of the headers, which is the order of the texts. */
static int compare_extras(const void *a, const void *b)
{
    const struct cor_user_extra *x = a, *y = b;
    int order = cor_str_cmp(x->key, y->key);

    return order ? order : (x->value.p > y->value.p) - (x->value.p < y->value.p);
}

static void add_groups(struct cor_identity *id, struct cor_buf *text, const struct wanted *wanted)
{
    struct cor_user *user = &id->user;
    struct cor_str ns, name;
    bool is_anonymous = cor_str_eq(user->name, ANONYMOUS);

    if (wanted->ngroups == 0 && split_account(user->name, &ns, &name)) {
        struct cor_str group = keep_text(text, ACCOUNTS);

        id->groups[user->ngroups++] = group;
        group = keep_text(text, ACCOUNTS);
        group.n += keep_text(text, COR_STR(":")).n;
        group.n += keep_text(text, ns).n;
        id->groups[user->ngroups++] = group;
    }
    if (is_anonymous && !cor_user_is_in(user, UNAUTHENTICATED))
        id->groups[user->ngroups++] = UNAUTHENTICATED;
    else if (!is_anonymous && !cor_user_is_in(user, UNAUTHENTICATED) &&
             !cor_user_is_in(user, AUTHENTICATED))
        id->groups[user->ngroups++] = AUTHENTICATED;
}

/* 0, or -COR_ENOMEM with nothing to release. */
static int make_identity(const struct cor_http_request *req, const struct wanted *wanted,
                         struct cor_identity *ret_id)
{
    struct cor_identity id = {0};
    struct cor_buf text;
    size_t room = 2 * wanted->bytes + 2 * ACCOUNTS.n + 1 + wanted->user.n;

    cor_buf_init(&text, room);
    id.groups = cor_calloc(wanted->ngroups + GROUPS_ADDED, sizeof(id.groups[0]));
    id.extras = cor_calloc(wanted->nextras + 1, sizeof(id.extras[0]));
    if (!id.groups || !id.extras || cor_buf_reserve(&text, room) < 0) {
        cor_identity_deinit(&id);
        cor_buf_deinit(&text);
        return -COR_ENOMEM;
    }
    id.text = text.p;
    id.user = (struct cor_user){.name = keep_text(&text, wanted->user),
                                .uid = keep_text(&text, wanted->uid),
                                .groups = id.groups,
                                .extras = id.extras};
    for (size_t i = 0; i < req->nheaders; i++) {
        struct cor_str name = req->headers[i].name, value = req->headers[i].value;

        if (is_group(name)) {
            id.groups[id.user.ngroups++] = keep_text(&text, value);
        } else if (name_starts(name, EXTRA)) {
            struct cor_user_extra *extra = &id.extras[id.user.nextras++];

            extra->key = keep_key(&text, name);
            extra->value = keep_text(&text, value);
        }
    }
    if (id.user.nextras > 1)
        qsort(id.extras, id.user.nextras, sizeof(id.extras[0]), compare_extras);
    add_groups(&id, &text, wanted);
    assert(text.p == id.text); /* it never grew */
    *ret_id = id;
    return 0;
}

struct check {
    enum cor_authz_mode mode;
    const struct cor_identity *caller;
    struct cor_status *status;
};

static int check_one(const struct check *check, struct cor_request_info what)
{
    what.is_resource = true;
    return cor_authorize(check->mode, check->caller, &what, "impersonate", check->status);
}

static int check_user(const struct check *check, struct cor_str user)
{
    struct cor_request_info what = {.resource = COR_STR("users"), .name = user};

    if (split_account(user, &what.ns, &what.name))
        what.resource = COR_STR("serviceaccounts"); /* names a kind: what rules grant */
    return check_one(check, what);
}

/* `ngroups`: only the groups that were asked for; those that are added need no permission. */
static int check_all(const struct check *check, const struct cor_user *user, size_t ngroups)
{
    int r = check_user(check, user->name);

    for (size_t i = 0; r == 0 && i < ngroups; i++)
        r = check_one(check, (struct cor_request_info){.resource = COR_STR("groups"),
                                                       .name = user->groups[i]});
    for (size_t i = 0; r == 0 && i < user->nextras; i++)
        r = check_one(check, (struct cor_request_info){.group = AUTHENTICATION,
                                                       .version = COR_STR("v1"),
                                                       .resource = COR_STR("userextras"),
                                                       .subresource = user->extras[i].key,
                                                       .name = user->extras[i].value});
    if (r == 0 && user->uid.n > 0)
        r = check_one(check, (struct cor_request_info){.group = AUTHENTICATION,
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

int cor_impersonate(enum cor_authz_mode mode, const struct cor_http_request *req,
                    struct cor_identity *identity, struct cor_status *reterr_status)
{
    const struct check check = {mode, identity, reterr_status};
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
    if (r < 0) {
        cor_identity_deinit(&id);
        return r;
    }
    cor_identity_deinit(identity);
    *identity = id;
    return 0;
}
