/* clang-format off */
/* The frame of all authorizers, the modes that decide by themselves, and the words of a refusal.
 *
 *   ask ──► system:masters: allowed ──► the mode: the public paths are everybody's, an anonymous
 *           sender has to say who it is, then AlwaysAllow, AlwaysDeny, or the few rules that hold
 *           without a mode
 *
 * Without memory a refusal is shorter, never an approval.
 * Thread: any (no state). */
/* clang-format on */
#include "server/access/authorizer.h"

#include <assert.h>

#include "base/err.h"
#include "meta/status/gvk.h"
#include "meta/status/quote.h"
#include "json/write/writer.h"

#define MESSAGE_MAX 8192

/* names a kind: the resources that rules grant */
#define RULES_ALL                                                                                   \
    "{\"incomplete\":false,\"nonResourceRules\":[{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*\"]}]," \
    "\"resourceRules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}"
#define RULES_FEW                                                                                  \
    "{\"incomplete\":false,\"nonResourceRules\":[{\"nonResourceURLs\":[\"/healthz\",\"/livez\","   \
    "\"/readyz\",\"/version\",\"/version/\"],\"verbs\":[\"get\"]}],\"resourceRules\":[{"           \
    "\"apiGroups\":[\"authorization.k8s.io\"],\"resources\":[\"selfsubjectaccessreviews\","        \
    "\"selfsubjectrulesreviews\"],\"verbs\":[\"create\"]},{\"apiGroups\":["                        \
    "\"authentication.k8s.io\"],\"resources\":[\"selfsubjectreviews\"],\"verbs\":[\"create\"]}]}"

static bool is_master(const struct cor_attributes *a)
{
    return cor_user_is_in(a->user, COR_STR(COR_GROUP_MASTERS));
}

int cor_authorizer_ask(const struct cor_authorizer *az, size_t loop_index,
                       const struct cor_attributes *a, struct cor_authz_question *question,
                       struct cor_authz_answer *ret_answer)
{
    assert(az && a->user && ret_answer && (!question || question->on_answer));
    *ret_answer = (struct cor_authz_answer){0};
    if (is_master(a)) {
        ret_answer->decision = COR_AUTHZ_ALLOWED;
        return 0;
    }
    return az->ops->ask(az, loop_index, a, question, ret_answer);
}

void cor_authz_question_leave(struct cor_authz_question *question)
{
    cor_review_waiter_leave(&question->waiter);
}

void cor_authorizer_write_rules(const struct cor_authorizer *az, const struct cor_attributes *a,
                                struct cor_json_writer *w)
{
    assert(az && a->user);
    if (is_master(a))
        cor_json_raw(w, COR_STR(RULES_ALL));
    else
        az->ops->write_rules(az, a, w);
}

/* --- modes that decide by themselves ---------------------------------------------------------- */

bool cor_path_is_public(struct cor_str path)
{
    static const char *const paths[] = {"/healthz", "/livez", "/readyz", "/version", "/version/"};

    for (size_t i = 0; i < COR_ARRAY_LEN(paths); i++) {
        if (cor_str_eqz(path, paths[i]))
            return true;
    }
    return false;
}

bool cor_authz_is_decided(const struct cor_attributes *a, struct cor_authz_answer *ret_answer)
{
    if (!a->is_resource && cor_path_is_public(a->path))
        ret_answer->decision = COR_AUTHZ_ALLOWED;
    else if (a->is_anonymous)
        ret_answer->r = -COR_EUNAUTHORIZED;
    else
        return false;
    return true;
}

static int ask_always_allow(const struct cor_authorizer *az, size_t loop_index,
                            const struct cor_attributes *a, struct cor_authz_question *question,
                            struct cor_authz_answer *ret_answer)
{
    if (!cor_authz_is_decided(a, ret_answer))
        ret_answer->decision = COR_AUTHZ_ALLOWED;
    return 0;
}

static int ask_always_deny(const struct cor_authorizer *az, size_t loop_index,
                           const struct cor_attributes *a, struct cor_authz_question *question,
                           struct cor_authz_answer *ret_answer)
{
    if (!cor_authz_is_decided(a, ret_answer))
        ret_answer->reason = "Everything is forbidden.";
    return 0;
}

/* Every authenticated user may ask who they are and what they may do. */
static bool is_self_review(const struct cor_attributes *a)
{
    /* names a kind: the resources that a built-in rule grants */
    static const struct cor_gr reviews[] = {
        {COR_STR("authentication.k8s.io"), COR_STR("selfsubjectreviews")},
        {COR_STR("authorization.k8s.io"), COR_STR("selfsubjectaccessreviews")},
        {COR_STR("authorization.k8s.io"), COR_STR("selfsubjectrulesreviews")},
    };

    if (!a->is_resource || !cor_str_eq(a->verb, COR_STR("create")) || a->subresource.n > 0 ||
        !cor_user_is_in(a->user, COR_STR("system:authenticated")))
        return false;
    for (size_t i = 0; i < COR_ARRAY_LEN(reviews); i++) {
        if (cor_str_eq(a->group, reviews[i].group) && cor_str_eq(a->resource, reviews[i].resource))
            return true;
    }
    return false;
}

static int ask_masters(const struct cor_authorizer *az, size_t loop_index,
                       const struct cor_attributes *a, struct cor_authz_question *question,
                       struct cor_authz_answer *ret_answer)
{
    if (!cor_authz_is_decided(a, ret_answer) && is_self_review(a))
        ret_answer->decision = COR_AUTHZ_ALLOWED;
    return 0;
}

static void write_all(const struct cor_authorizer *az, const struct cor_attributes *a,
                      struct cor_json_writer *w)
{
    cor_json_raw(w, COR_STR(RULES_ALL));
}

static void write_few(const struct cor_authorizer *az, const struct cor_attributes *a,
                      struct cor_json_writer *w)
{
    cor_json_raw(w, COR_STR(RULES_FEW));
}

const struct cor_authorizer *cor_authorizer_of_mode(enum cor_authz_mode mode)
{
    static const struct cor_authorizer_ops masters = {.ask = ask_masters, .write_rules = write_few},
                                           always_allow = {.ask = ask_always_allow,
                                                           .write_rules = write_all},
                                           always_deny = {.ask = ask_always_deny,
                                                          .write_rules = write_few};
    static const struct cor_authorizer authorizers[] = {
        [COR_AUTHZ_MASTERS] = {&masters},
        [COR_AUTHZ_ALWAYS_ALLOW] = {&always_allow},
        [COR_AUTHZ_ALWAYS_DENY] = {&always_deny},
    };

    assert(mode < COR_ARRAY_LEN(authorizers));
    return &authorizers[mode];
}

/* --- the words of a refusal ------------------------------------------------------------------- */

static int add_word(struct cor_buf *out, const char *before, struct cor_str value)
{
    int r = cor_buf_addz(out, before);

    return r == 0 ? cor_quote(value, out) : r;
}

/* `User "u" cannot get resource "pods/log" in API group "" in the namespace "n"`. */
static int describe_request(struct cor_buf *out, const struct cor_attributes *a)
{
    struct cor_buf resource;
    int r = add_word(out, "User ", a->user->name);

    if (r == 0)
        r = cor_buf_addf(out, " cannot %.*s ", COR_STR_ARG(a->verb));
    if (r < 0 || !a->is_resource)
        return r < 0 ? r : add_word(out, "path ", a->path);
    cor_buf_init(&resource, MESSAGE_MAX);
    r = cor_buf_adds(&resource, a->resource);
    if (r == 0 && a->subresource.n)
        r = cor_buf_addf(&resource, "/%.*s", COR_STR_ARG(a->subresource));
    if (r == 0)
        r = add_word(out, "resource ", cor_buf_str(&resource));
    if (r == 0)
        r = add_word(out, " in API group ", a->group);
    if (r == 0)
        r = a->ns.n ? add_word(out, " in the namespace ", a->ns)
                    : cor_buf_addz(out, " at the cluster scope");
    cor_buf_deinit(&resource);
    return r;
}

static int add_subject(struct cor_buf *out, const struct cor_attributes *a)
{
    int r;

    if (!a->is_resource)
        return cor_buf_addz(out, "forbidden: ");
    r = cor_buf_adds(out, a->resource);
    if (r == 0 && a->group.n)
        r = cor_buf_addf(out, ".%.*s", COR_STR_ARG(a->group));
    if (r == 0 && a->name.n)
        r = add_word(out, " ", a->name);
    return r == 0 ? cor_buf_addz(out, " is forbidden: ") : r;
}

int cor_authz_refuse(const struct cor_attributes *a, const struct cor_authz_answer *answer,
                     struct cor_status *st)
{
    struct cor_buf text, message;
    int r;

    assert(answer->r < 0 || answer->decision != COR_AUTHZ_ALLOWED);
    if (answer->r == -COR_EUNAUTHORIZED)
        return cor_status_set(st, -COR_EUNAUTHORIZED, "Unauthorized");
    cor_buf_init(&text, MESSAGE_MAX);
    cor_buf_init(&message, 5 * MESSAGE_MAX);
    r = add_subject(&message, a);
    if (r == 0)
        r = describe_request(&text, a);
    if (r == 0)
        r = cor_quote_html(cor_buf_str(&text), &message);
    if (r == 0 && answer->r == 0 && answer->reason)
        r = cor_buf_addf(&message, ": %s", answer->reason);
    (void)cor_status_set(st, -COR_EFORBIDDEN, "%s", r == 0 ? cor_buf_z(&message) : "forbidden");
    if (st && a->is_resource)
        (void)cor_status_set_details(st, a->name, a->group, a->resource);
    else if (st)
        st->has_details = true;
    cor_buf_deinit(&text);
    cor_buf_deinit(&message);
    return -COR_EFORBIDDEN;
}
