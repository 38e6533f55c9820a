/* TokenReview and SubjectAccessReview as a delegating server sends and reads them. A member that is
 * absent or of another type counts as Go's zero value would: nothing is accepted or allowed by it.
 */
#include "server/access/review_bodies.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/access/review_selectors.h"
#include "json/text/scan.h"
#include "json/write/print.h"

/* Upstream's maxControlledAttrCacheSize. */
#define KEPT_BYTES_MAX 10000u

const struct cor_gvr cor_token_review_resource = {
    COR_STR_INIT("authentication.k8s.io"), COR_STR_INIT("v1"),
    COR_STR_INIT("tokenreviews")}; /* names a kind: what a delegate is asked */
const struct cor_gvr cor_access_review_resource = {
    COR_STR_INIT("authorization.k8s.io"), COR_STR_INIT("v1"),
    COR_STR_INIT("subjectaccessreviews")}; /* names a kind: as above */

static void write_head(struct cor_json_writer *w, const char *kind, const char *api_version)
{
    cor_json_print(w, "{kind:%s,apiVersion:%s,metadata:{},spec:{", kind, api_version);
}

int cor_token_review_write(struct cor_str token, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    /* names a kind: what a delegate is asked */
    write_head(&w, "TokenReview", "authentication.k8s.io/v1");
    cor_json_print(&w, "token:%s}}", token);
    return cor_json_writer_finish(&w);
}

static void write_attributes(struct cor_json_writer *w, const struct cor_attributes *a)
{
    if (!a->is_resource) {
        cor_json_print(w, "nonResourceAttributes:{path?:%s,verb?:%s}", a->path, a->verb);
        return;
    }
    cor_json_print(w,
                   "resourceAttributes:{namespace?:%s,verb?:%s,group?:%s,version?:%s,resource?:%s,"
                   "subresource?:%s,name?:%s",
                   a->ns, a->verb, a->group, a->version, a->resource, a->subresource, a->name);
    if (a->selectors)
        cor_review_selectors_write(a->selectors, w);
    cor_json_end_object(w);
}

int cor_access_review_write(const struct cor_attributes *a, struct cor_buf *out)
{
    const struct cor_user *user = a->user;
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    /* names a kind: what a delegate is asked */
    write_head(&w, "SubjectAccessReview", "authorization.k8s.io/v1");
    write_attributes(&w, a);
    cor_json_print(&w, "user?:%s", user->name);
    if (user->ngroups > 0) {
        cor_json_key(&w, COR_STR("groups"));
        cor_json_begin_array(&w);
        for (size_t i = 0; i < user->ngroups; i++)
            cor_json_string(&w, user->groups[i]);
        cor_json_end_array(&w);
    }
    if (user->nextras > 0)
        cor_user_write_extras(user, &w);
    cor_json_print(&w, "uid?:%s}}", user->uid);
    return cor_json_writer_finish(&w);
}

bool cor_access_review_is_kept(const struct cor_attributes *a)
{
    return a->ns.n + a->verb.n + a->group.n + a->version.n + a->resource.n + a->subresource.n +
               a->name.n + a->path.n <
           KEPT_BYTES_MAX;
}

/* --- answers ---------------------------------------------------------------------------------- */

static struct cor_str member(struct cor_str object, const char *key)
{
    struct cor_str value;

    return object.p && cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0
               ? value
               : (struct cor_str){0};
}

static bool is_true(struct cor_str value)
{
    bool is = false;

    return value.p && cor_json_to_bool(value, &is) == 0 && is;
}

static bool has_text(struct cor_str value)
{
    struct cor_str raw;

    return value.p && cor_json_to_raw(value, &raw) == 0 && raw.n > 0;
}

/* The text of a JSON string, copied. NULL: it is absent, empty or no string, or there is no memory;
 * the text only describes. */
static char *copy_text(struct cor_str value)
{
    struct cor_str raw, text;
    char *copy;

    if (!has_text(value) || cor_json_to_raw(value, &raw) < 0)
        return NULL;
    copy = cor_alloc(raw.n + 1);
    if (!copy || cor_json_unescape(raw, copy, raw.n, &text) < 0)
        return cor_free(copy);
    memmove(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

/* Keeps the text of a JSON string in the draft; "" when it is not a string. */
static struct cor_str keep_text(struct cor_identity_draft *draft, struct cor_str value)
{
    struct cor_str raw, text, kept;

    if (!value.p || cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    kept = cor_identity_draft_keep(draft, raw);
    if (cor_json_unescape(kept, (char *)kept.p, kept.n, &text) < 0)
        return COR_STR("");
    return text;
}

static size_t count_elements(struct cor_str array)
{
    struct cor_json_iter it = cor_json_iter(array.p ? array : COR_STR("[]"));
    size_t n = 0;

    while (cor_json_iter_elem(&it))
        n++;
    return n;
}

static size_t count_extras(struct cor_str extra)
{
    struct cor_json_iter it = cor_json_iter(extra.p ? extra : COR_STR("{}"));
    struct cor_str key;
    size_t n = 0;

    while (cor_json_iter_member(&it, &key))
        n += count_elements(cor_json_iter_value(&it));
    return n;
}

static void read_extras(struct cor_str extra, struct cor_identity_draft *draft)
{
    struct cor_json_iter it = cor_json_iter(extra.p ? extra : COR_STR("{}"));
    struct cor_str raw;

    while (cor_json_iter_member(&it, &raw)) {
        struct cor_json_iter values = cor_json_iter(cor_json_iter_value(&it));
        struct cor_str kept = cor_identity_draft_keep(draft, raw), key;

        if (cor_json_unescape(kept, (char *)kept.p, kept.n, &key) < 0)
            continue;
        while (cor_json_iter_elem(&values))
            cor_identity_draft_add_extra(draft, key,
                                         keep_text(draft, cor_json_iter_value(&values)));
    }
}

static int read_user(struct cor_str user, struct cor_identity *ret_identity)
{
    struct cor_str groups = member(user, "groups"), extra = member(user, "extra");
    struct cor_json_iter it = cor_json_iter(groups.p ? groups : COR_STR("[]"));
    struct cor_identity_draft draft;
    int r = cor_identity_draft_init(&draft, count_elements(groups), count_extras(extra), user.n);

    if (r < 0)
        return r;
    draft.id.user.name = keep_text(&draft, member(user, "username"));
    draft.id.user.uid = keep_text(&draft, member(user, "uid"));
    while (cor_json_iter_elem(&it))
        cor_identity_draft_add_group(&draft, keep_text(&draft, cor_json_iter_value(&it)));
    read_extras(extra, &draft);
    cor_identity_draft_add_authenticated(&draft);
    *ret_identity = cor_identity_draft_finish(&draft);
    return 0;
}

int cor_token_review_read(struct cor_str body, struct cor_review_answer *ret_answer)
{
    struct cor_str status = member(body, "status"), user = member(status, "user");
    struct cor_identity id;
    int r;

    if (cor_json_type(body) != COR_JSON_OBJECT)
        return -COR_EINVAL;
    if (!is_true(member(status, "authenticated")) || !user.p ||
        cor_json_type(user) != COR_JSON_OBJECT) {
        ret_answer->is_passing = has_text(member(status, "error"));
        ret_answer->text = copy_text(member(status, "error"));
        return 0;
    }
    r = read_user(user, &id);
    if (r < 0)
        return r;
    if (id.user.name.n == 0) {
        cor_identity_deinit(&id);
        return 0;
    }
    ret_answer->user = cor_kept_user_new(&id);
    return ret_answer->user ? 0 : -COR_ENOMEM;
}

int cor_access_review_read(struct cor_str body, struct cor_review_answer *ret_answer)
{
    struct cor_str status = member(body, "status");

    if (cor_json_type(body) != COR_JSON_OBJECT)
        return -COR_EINVAL;
    ret_answer->is_denied = is_true(member(status, "denied"));
    ret_answer->is_allowed = is_true(member(status, "allowed"));
    if (ret_answer->is_denied && ret_answer->is_allowed) {
        ret_answer->is_allowed = false;
        ret_answer->text =
            cor_strdup("webhook subject access review returned both allow and deny response");
        return -COR_EPROTOCOL;
    }
    ret_answer->text = copy_text(member(status, "reason"));
    return 0;
}
