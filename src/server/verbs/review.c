/* clang-format off */
/* The review APIs: TokenReview, the access reviews, SelfSubjectReview. A client creates a question,
 * and the answer is the same object with a status. Nothing is stored.
 *
 *   the stages decode to convert ──► admission that mutates ──► is the question valid? ──► admission
 *     that validates ──► write the status of this kind ──► 201 with the object
 *
 * `reviews` names the functions that check and answer each kind, by the action of its row. What is asked is answered from the same tables
 * that serve requests: the tokens and the authorizer of the API. A question that is not
 * valid is refused (400, 422) in upstream's words.
 * Thread: the call's loop. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "server/access/authorizer.h"
#include "server/access/token_table.h"
#include "server/write/write.h"
#include "json/text/scan.h"
#include "json/write/print.h"

#define ANSWER_MAX (1u << 20)

struct review_call {
    struct cor_write write; /* of the question, which is not stored */
    struct cor_object *answer;
};

static struct review_call *review_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_review);
    return COR_CONTAINER_OF(call, struct review_call, write.call);
}

/* What one kind of review answers: writes the value of `status`. 0, or a failure in the call's. */
typedef int (*answer_fn)(struct review_call *review, struct cor_json_writer *w);
/* Is it a question? 0, or a failure in the call's status. */
typedef int (*check_fn)(struct review_call *review);

/* A user whom a review describes. */
struct subject {
    struct cor_user user;
    struct cor_str *groups;
    struct cor_buf text; /* of the names, decoded */
};

static void subject_deinit(struct subject *subject)
{
    cor_free(subject->groups);
    cor_buf_deinit(&subject->text);
}

static struct cor_str spec_of(const struct review_call *review)
{
    return cor_object_member(cor_write_body(&review->write), COR_STR("spec"));
}

/* Appends the text of a JSON string to `out`, which has room for it. "" when it is not a string. */
static struct cor_str decode_text(struct cor_str value, struct cor_buf *out)
{
    struct cor_str raw, text;

    if (!value.p || cor_json_to_raw(value, &raw) < 0 ||
        cor_json_unescape(raw, out->p + out->n, raw.n, &text) < 0)
        return COR_STR("");
    if (text.p == out->p + out->n)
        out->n += text.n;
    return text;
}

static int read_subject(struct cor_str spec, struct subject *subject)
{
    struct cor_str groups = cor_convert_member(spec, "groups");
    struct cor_json_iter it = cor_json_iter(groups.p ? groups : COR_STR("[]"));
    size_t n = 0;
    int r;

    cor_buf_init(&subject->text, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_buf_reserve(&subject->text, spec.n);
    while (cor_json_iter_elem(&it))
        n++;
    subject->groups = cor_calloc(n + 1, sizeof(subject->groups[0]));
    if (r < 0 || !subject->groups)
        return -COR_ENOMEM;
    subject->user.name = decode_text(cor_convert_member(spec, "user"), &subject->text);
    subject->user.groups = subject->groups;
    it = cor_json_iter(groups.p ? groups : COR_STR("[]"));
    while (cor_json_iter_elem(&it))
        subject->groups[subject->user.ngroups++] =
            decode_text(cor_json_iter_value(&it), &subject->text);
    return 0;
}

/* The user who asks; the server itself for a call of its own. */
static const struct cor_user *asker(const struct review_call *review)
{
    return cor_user_or_server(review->write.call.req->user);
}

static int no_memory(struct cor_call *call, int r)
{
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

static int answer_who(struct review_call *review, struct cor_json_writer *w)
{
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("userInfo"));
    cor_user_write(asker(review), w);
    cor_json_end_object(w);
    return 0;
}

static int check_token(struct review_call *review)
{
    if (cor_convert_member(spec_of(review), "token").n > 2)
        return 0;
    return cor_status_bad_request(&review->write.call.status,
                                  "token is required for TokenReview in authentication");
}

static int answer_token(struct review_call *review, struct cor_json_writer *w)
{
    struct cor_call *call = &review->write.call;
    const struct cor_token_table *tokens = call->loop->settings->tokens;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str spec = spec_of(review), token;
    const struct cor_user *user = NULL;
    int r;

    cor_buf_init(&text, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = no_memory(call, cor_buf_reserve(&text, spec.p ? spec.n : 0));
    if (r < 0)
        return r;
    token = decode_text(cor_convert_member(spec, "token"), &text);
    /* The tokens of the table are for this server, which has no audience name of its own: a review
     * that names audiences finds no token. */
    if (tokens && cor_convert_member(spec, "audiences").n <= 2)
        user = cor_token_table_find(tokens, token);
    cor_json_begin_object(w);
    if (user) {
        cor_json_key(w, COR_STR("authenticated"));
        cor_json_bool(w, true);
    } else {
        cor_json_member(w, COR_STR("error"), COR_STR("invalid bearer token"));
    }
    cor_json_key(w, COR_STR("user"));
    if (user)
        cor_user_write(user, w);
    else
        cor_json_raw(w, COR_STR("{}"));
    cor_json_end_object(w);
    return 0;
}

static int add_bare_path(struct cor_str attributes, struct cor_buf *out)
{
    struct cor_str path = cor_convert_member(attributes, "path");
    struct cor_str verb = cor_convert_member(attributes, "verb");

    return cor_buf_addf(out, "{\"Path\":%.*s,\"Verb\":%.*s}",
                        COR_STR_ARG(path.p ? path : COR_STR("\"\"")),
                        COR_STR_ARG(verb.p ? verb : COR_STR("\"\"")));
}

static void check_attributes(struct review_call *review, bool is_self,
                             struct cor_field_errors *errs)
{
    struct cor_field_path spec_path = cor_field_root(COR_STR("spec"));
    struct cor_field_path resource_path =
        cor_field_child(&spec_path, COR_STR("resourceAttributes"));
    struct cor_field_path path_path = cor_field_child(&spec_path, COR_STR("nonResourceAttributes"));
    struct cor_field_path user_path = cor_field_child(&spec_path, COR_STR("user"));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str spec = spec_of(review);
    struct cor_str resource = cor_convert_member(spec, "resourceAttributes");
    struct cor_str path = cor_convert_member(spec, "nonResourceAttributes");

    cor_buf_init(&text, ANSWER_MAX);
    if (path.p && add_bare_path(path, &text) < 0)
        errs->error = -COR_ENOMEM;
    if (resource.p && path.p)
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path_path,
                             cor_field_json(cor_buf_str(&text)),
                             "cannot be specified in combination with resourceAttributes");
    if (!resource.p && !path.p)
        cor_field_errors_add(errs, COR_FIELD_INVALID, &resource_path,
                             cor_field_json(COR_STR("null")),
                             "exactly one of nonResourceAttributes or resourceAttributes must be "
                             "specified");
    if (!is_self && cor_convert_member(spec, "user").n <= 2 &&
        cor_convert_member(spec, "groups").n <= 2)
        cor_field_errors_add(errs, COR_FIELD_INVALID, &user_path, cor_field_string(COR_STR("")),
                             "at least one of user or group must be specified");
    if (cor_api_is_namespaced(review->write.call.res) && path.p)
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path_path,
                             cor_field_json(cor_buf_str(&text)),
                             "disallowed on this kind of request");
}

/* Is this what Go writes for a member that was never set? */
static bool is_blank(struct cor_str value)
{
    return cor_json_type(value) == COR_JSON_NULL || cor_str_eqz(value, "\"\"") ||
           cor_str_eqz(value, "{}") || cor_str_eqz(value, "[]");
}

static bool has_content(struct cor_str object)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key))
        if (!is_blank(cor_json_iter_value(&it)))
            return true;
    return false;
}

/* A review may have no metadata, except that a local review names its namespace. */
static int check_metadata(struct review_call *review, struct cor_field_errors *errs)
{
    struct cor_field_path path = cor_field_root(COR_STR("metadata"));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf rest = {0};
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&rest, COR_OBJECT_BYTES_MAX_DEFAULT);
    if (cor_api_is_namespaced(review->write.call.res))
        cor_edits_drop(&edits, COR_STR("namespace"));
    cor_edits_drop(&edits, COR_STR("managedFields"));
    r = cor_edits_apply(&edits, cor_object_metadata(cor_write_body(&review->write)), &rest);
    if (r == 0 && has_content(cor_buf_str(&rest)))
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path, cor_field_json(cor_buf_str(&rest)),
                             "must be empty");
    return r;
}

static void check_namespace(struct review_call *review, struct cor_field_errors *errs)
{
    struct cor_field_path spec = cor_field_root(COR_STR("spec"));
    struct cor_field_path attributes = cor_field_child(&spec, COR_STR("resourceAttributes"));
    struct cor_field_path path = cor_field_child(&attributes, COR_STR("namespace"));
    struct cor_str resource = cor_convert_member(spec_of(review), "resourceAttributes");
    struct cor_str raw = COR_STR("");

    if (!cor_api_is_namespaced(review->write.call.res) || !resource.p)
        return;
    if (cor_json_to_raw(cor_convert_member(resource, "namespace"), &raw) < 0)
        raw = COR_STR("");
    if (!cor_str_eq(raw, review->write.call.ns))
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path, cor_field_string(raw),
                             "must match metadata.namespace");
}

static int check_access(struct review_call *review, bool is_self)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_gk gk = {review->write.call.res->group, COR_STR("")};
    int r;

    check_attributes(review, is_self, &errs);
    r = no_memory(&review->write.call, check_metadata(review, &errs));
    if (r < 0)
        return r;
    check_namespace(review, &errs);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    return cor_status_invalid(&review->write.call.status, &gk, COR_STR(""), &errs);
}

static struct cor_str raw_member(struct cor_str object, const char *key)
{
    struct cor_str raw;

    return cor_json_to_raw(cor_convert_member(object, key), &raw) == 0 ? raw : COR_STR("");
}

/* Asks the server's authorizer. A review does not wait: of one that would have to ask another
 * server the answer says what is known without. 0, or a failure in the call's status. */
static int write_access(struct review_call *review, const struct cor_user *user,
                        struct cor_json_writer *w)
{
    const struct cor_api_loop *loop = review->write.call.loop;
    struct cor_str spec = spec_of(review);
    struct cor_str resource = cor_convert_member(spec, "resourceAttributes");
    struct cor_str path = cor_convert_member(spec, "nonResourceAttributes");
    const struct cor_attributes a = {
        .user = user,
        .is_resource = resource.p != NULL,
        .verb = raw_member(resource.p ? resource : path, "verb"),
        .group = raw_member(resource, "group"),
        .version = raw_member(resource, "version"),
        .resource = raw_member(resource, "resource"),
        .subresource = raw_member(resource, "subresource"),
        .ns = raw_member(resource, "namespace"),
        .name = raw_member(resource, "name"),
        .path = raw_member(path, "path"),
    };
    struct cor_authz_answer answer;
    int r = no_memory(&review->write.call, cor_authorizer_ask(loop->settings->authorizer,
                                                              loop->index, &a, NULL, &answer));

    if (r < 0)
        return r;
    cor_json_print(w, "{allowed:%b", answer.r == 0 && answer.decision == COR_AUTHZ_ALLOWED);
    if (answer.r == 0 && answer.decision == COR_AUTHZ_DENIED) {
        cor_json_key(w, COR_STR("denied"));
        cor_json_bool(w, true);
    }
    if (answer.reason)
        cor_json_member(w, answer.r == 0 ? COR_STR("reason") : COR_STR("evaluationError"),
                        cor_strz(answer.reason));
    cor_json_end_object(w);
    return 0;
}

static int check_self_access(struct review_call *review)
{
    return check_access(review, true);
}

static int answer_self_access(struct review_call *review, struct cor_json_writer *w)
{
    return write_access(review, asker(review), w);
}

static int check_access_of_any(struct review_call *review)
{
    return check_access(review, false);
}

static int answer_access(struct review_call *review, struct cor_json_writer *w)
{
    COR_CLEANUP(subject_deinit) struct subject subject = {0};
    int r = no_memory(&review->write.call, read_subject(spec_of(review), &subject));

    return r == 0 ? write_access(review, &subject.user, w) : r;
}

static int check_rules(struct review_call *review)
{
    if (raw_member(spec_of(review), "namespace").n > 0)
        return 0;
    return cor_status_bad_request(&review->write.call.status, "no namespace on request");
}

static int answer_rules(struct review_call *review, struct cor_json_writer *w)
{
    struct cor_call *call = &review->write.call;
    const struct cor_attributes a = {.user = asker(review),
                                     .ns = raw_member(spec_of(review), "namespace")};

    cor_authorizer_write_rules(call->loop->settings->authorizer, &a, w);
    return 0;
}

/* SelfSubjectReview: the answer has nothing of the question. */
static void show_status_alone(struct cor_object_edit *edit, struct cor_str now)
{
    edit->top = edit->metadata = COR_STR("{}");
    cor_edits_set(&edit->meta_edits, COR_STR("creationTimestamp"), now);
}

static void show_empty_spec(struct cor_object_edit *edit, struct cor_str now)
{
    (void)now;
    edit->top = edit->metadata = COR_STR("{}");
    cor_edits_set(&edit->top_edits, COR_STR("spec"), COR_STR("{}"));
}

static const struct {
    check_fn check; /* NULL: every such object is a question */
    answer_fn answer;
    /* Sets what the answer shows beside the status; NULL: the question. `now` is a JSON string. */
    void (*show)(struct cor_object_edit *edit, struct cor_str now);
} reviews[COR_ACTION_COUNT] = {
    [COR_ACTION_TOKEN_REVIEW] = {check_token, answer_token, NULL},
    [COR_ACTION_ACCESS_REVIEW] = {check_access_of_any, answer_access, NULL},
    [COR_ACTION_SELF_ACCESS_REVIEW] = {check_self_access, answer_self_access, NULL},
    [COR_ACTION_SELF_REVIEW] = {NULL, answer_who, show_status_alone},
    [COR_ACTION_RULES_REVIEW] = {check_rules, answer_rules, show_empty_spec},
};

static int review_make_answer(struct review_call *review)
{
    struct cor_call *call = &review->write.call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf status = {0}, ns = {0};
    char text[COR_TIME_TEXT_MAX], quoted[COR_TIME_TEXT_MAX + 2];
    struct cor_str now = cor_time_print(cor_call_now_ms(call) / 1000, text);
    struct cor_json_writer w;
    struct cor_object_edit edit = {
        .kind = call->res->kind,
        .api_version = call->res->api_version,
        .top = cor_object_json(cor_write_body(&review->write)),
        .metadata = cor_object_metadata(cor_write_body(&review->write)),
    };
    int r;

    assert(reviews[call->res->action].answer);
    cor_buf_init(&status, ANSWER_MAX);
    cor_buf_init(&ns, ANSWER_MAX);
    cor_json_writer_init(&w, &status);
    r = reviews[call->res->action].answer(review, &w);
    if (r == 0)
        r = no_memory(call, cor_json_writer_finish(&w));
    if (r == 0)
        r = no_memory(call, cor_json_quote(&ns, call->ns));
    if (r < 0)
        return r;
    snprintf(quoted, sizeof(quoted), "\"%.*s\"", COR_STR_ARG(now));
    if (reviews[call->res->action].show)
        reviews[call->res->action].show(&edit, cor_strz(quoted));
    cor_edits_set(&edit.top_edits, COR_STR("status"), cor_buf_str(&status));
    if (cor_api_is_namespaced(call->res))
        cor_edits_set(&edit.meta_edits, COR_STR("namespace"), cor_buf_str(&ns));
    return cor_object_edit(&edit, &review->answer, &call->status);
}

static void review_on_admitted(struct cor_write *write, int r)
{
    struct review_call *review = review_of(&write->call);

    if (r == 0)
        r = review_make_answer(review);
    if (cor_write_goes_on(write, r))
        cor_call_reply_object(&write->call, 201, review->answer);
}

static void review_on_mutated(struct cor_write *write, int r)
{
    check_fn check = reviews[write->call.res->action].check;

    if (r == 0 && check)
        r = check(review_of(&write->call));
    if (cor_write_goes_on(write, r))
        cor_write_admit(write, COR_ADMISSION_VALIDATES, review_on_admitted);
}

static void review_on_read(struct cor_write *write, int r)
{
    if (cor_write_goes_on(write, r))
        cor_write_admit(write, COR_ADMISSION_MUTATES, review_on_mutated);
}

static void review_run(struct cor_call *call)
{
    struct cor_write *write = &review_of(call)->write;

    cor_write_init(write);
    cor_write_begin(write, "CreateOptions", COR_STAGE_MANAGE_FIELDS, review_on_read);
}

static void review_deinit(struct cor_call *call)
{
    struct review_call *review = review_of(call);

    cor_write_deinit(&review->write);
    cor_object_unref(review->answer);
}

const struct cor_verb_ops cor_verb_review = {
    .size = sizeof(struct review_call), .run = review_run, .deinit = review_deinit};
