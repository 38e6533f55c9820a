/* clang-format off */
/* The questions of one exchange: to the delegate of its loop, whose a token is, and to the server's
 * authorizer, what the sender may do.
 *
 *   filter ──► the answer is there, or it is kept: goes on at once
 *          ──► on its way: COR_EXCHANGE_WAITS; the head is copied, the body is held back
 *                answer ──► noted here ──► cor_exchange_resume(): the filter runs again and finds it
 *
 * A filter that runs again asks the same questions in the same order: tokens by their place in the
 * request, accesses by their number. So what was answered is not asked again, and an answer counts
 * for this request even when it is not kept for others.
 *
 * Failures: a token whose review fails is not accepted (401). Access that the authorizer could not
 * decide about is a 500 in upstream's words, or for impersonation a 403. A client that leaves takes its
 * exchange with it; the question goes on for others. */
/* clang-format on */
#include "server/http/exchange_wait.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/status/quote.h"
#include "server/access/delegation.h"
#include "server/access/review_bodies.h"

#define TEXT_MAX (8u << 20)

struct cor_exchange_wait {
    struct cor_exchange *ex;
    struct cor_review_waiter waiter; /* for a token */
    struct cor_token_questions tokens;
    struct cor_authz_question question;
    unsigned nallowed;              /* questions of this filter that were allowed */
    unsigned nseen;                 /* questions of this filter in this run */
    bool has_answer;                /* to the question number `nallowed` */
    struct cor_authz_answer answer; /* its reason is `reason` */
    char *reason;
    struct cor_http_request head; /* a copy */
    struct cor_http_header *headers;
    char *text; /* of the head; NULL: it was not copied */
    size_t text_bytes;
};

static int wait_open(struct cor_exchange *ex)
{
    if (ex->wait)
        return 0;
    ex->wait = cor_calloc(1, sizeof(*ex->wait));
    if (!ex->wait)
        return -COR_ENOMEM;
    ex->wait->ex = ex;
    return 0;
}

struct cor_exchange_wait *cor_exchange_wait_free(struct cor_exchange_wait *wait)
{
    if (!wait)
        return NULL;
    cor_review_waiter_leave(&wait->waiter);
    cor_authz_question_leave(&wait->question);
    cor_token_questions_deinit(&wait->tokens);
    cor_free(wait->reason);
    cor_free(wait->headers);
    if (wait->text)
        explicit_bzero(wait->text, wait->text_bytes);
    cor_free(wait->text);
    return cor_free(wait);
}

bool cor_exchange_wait_has_head(const struct cor_exchange_wait *wait)
{
    return wait->text != NULL;
}

static struct cor_str copy_str(char **at, struct cor_str s)
{
    struct cor_str copy = s;

    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    if (s.p)
        copy.p = *at;
    *at += s.n;
    return copy;
}

int cor_exchange_wait_keep_head(struct cor_exchange *ex)
{
    struct cor_exchange_wait *wait = ex->wait;
    const struct cor_http_request *http = ex->http;
    size_t n = http->method_name.n + http->target.n + http->path.n + http->query.n;
    size_t held = sizeof(*wait) + http->nheaders * sizeof(*wait->headers);
    char *at;

    assert(wait && !wait->text);
    for (size_t i = 0; i < http->nheaders; i++)
        n += http->headers[i].name.n + http->headers[i].value.n;
    if (cor_http_response_hold(ex->response, cor_exchange_held(ex, n + held)) < 0)
        return -COR_EBUSY;
    wait->text = at = cor_alloc(n + 1);
    wait->text_bytes = n;
    wait->headers = cor_calloc(http->nheaders + 1, sizeof(*wait->headers));
    if (!at || !wait->headers)
        return cor_status_no_memory(&ex->status);
    wait->head = *http;
    wait->head.method_name = copy_str(&at, http->method_name);
    wait->head.target = copy_str(&at, http->target);
    wait->head.path = copy_str(&at, http->path);
    wait->head.query = copy_str(&at, http->query);
    for (size_t i = 0; i < http->nheaders; i++) {
        wait->headers[i].name = copy_str(&at, http->headers[i].name);
        wait->headers[i].value = copy_str(&at, http->headers[i].value);
    }
    wait->head.headers = wait->headers;
    ex->http = &wait->head;
    cor_exchange_release_strings(ex);
    ex->upgrade = ex->accept_encoding = (struct cor_str){0};
    cor_exchange_read_head(ex);
    return 0;
}

/* --- who sends it ----------------------------------------------------------------------------- */

static void note_token(struct cor_token_questions *tokens, const struct cor_review_answer *answer)
{
    tokens->answers[tokens->place].is_answered = true;
    if (answer->r == 0 && answer->user) {
        cor_ref_get(&answer->user->ref);
        tokens->answers[tokens->place].user = answer->user;
    }
    cor_buf_deinit(&tokens->token);
}

static void on_token_answer(struct cor_review_waiter *waiter,
                            const struct cor_review_answer *answer)
{
    struct cor_exchange_wait *wait = COR_CONTAINER_OF(waiter, struct cor_exchange_wait, waiter);

    note_token(&wait->tokens, answer);
    cor_exchange_resume(wait->ex);
}

/* Asks for the token of the question. 0: it is answered. */
static int ask_token(struct cor_exchange *ex)
{
    struct cor_exchange_wait *wait = ex->wait;
    struct cor_reviews *reviews = cor_delegation_tokens(ex->server->delegation, ex->shard);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf question = {0};
    const struct cor_review_answer *answer;
    int r;

    cor_buf_init_secret(&question, COR_REVIEW_QUESTION_MAX);
    r = cor_token_review_write(cor_buf_str(&wait->tokens.token), &question);
    if (r < 0)
        return r;
    wait->waiter.on_answer = on_token_answer;
    r = cor_reviews_ask(reviews, cor_buf_str(&question), true, &wait->waiter, &answer);
    if (r == 0)
        note_token(&wait->tokens, answer);
    if (r == -COR_EUNREACHABLE) {
        note_token(&wait->tokens, &(struct cor_review_answer){.r = r});
        return 0;
    }
    return r == 1 ? COR_EXCHANGE_WAITS : r;
}

int cor_exchange_authenticate(struct cor_exchange *ex)
{
    struct cor_token_questions fresh = {0};
    int r;

    for (;;) {
        struct cor_token_questions *questions = ex->wait ? &ex->wait->tokens : &fresh;

        r = cor_authenticate(&ex->server->authenticator, ex->http, questions, &ex->identity);
        if (r != COR_AUTHN_ASKS)
            break;
        if (!ex->wait) {
            r = wait_open(ex);
            if (r < 0)
                break;
            ex->wait->tokens = fresh;
            fresh = (struct cor_token_questions){0};
        }
        r = ask_token(ex);
        if (r != 0)
            break;
    }
    cor_token_questions_deinit(&fresh);
    return r;
}

/* --- what the sender may do ------------------------------------------------------------------- */

void cor_exchange_begin_checks(struct cor_exchange *ex)
{
    if (ex->wait)
        ex->wait->nseen = 0;
}

void cor_exchange_end_checks(struct cor_exchange *ex)
{
    if (ex->wait)
        ex->wait->nseen = ex->wait->nallowed = 0;
}

static void note_access(struct cor_exchange_wait *wait, const struct cor_authz_answer *answer)
{
    wait->has_answer = true;
    wait->answer = *answer;
    cor_free(wait->reason);
    wait->reason = answer->reason ? cor_strdup(answer->reason) : NULL;
    wait->answer.reason = wait->reason;
}

static void on_access_answer(struct cor_authz_question *question,
                             const struct cor_authz_answer *answer)
{
    struct cor_exchange_wait *wait = COR_CONTAINER_OF(question, struct cor_exchange_wait, question);

    note_access(wait, answer);
    cor_exchange_resume(wait->ex);
}

/* For an authorizer that must ask another server: the answer to this question of the filter, which
 * may have come while the filter waited. 0, COR_EXCHANGE_WAITS, or a failure. */
static int await_access(struct cor_exchange *ex, const struct cor_attributes *a,
                        struct cor_authz_answer *ret_answer)
{
    struct cor_exchange_wait *wait;
    int r = wait_open(ex);

    if (r < 0)
        return r;
    wait = ex->wait;
    if (wait->nseen++ < wait->nallowed) {
        ret_answer->decision = COR_AUTHZ_ALLOWED;
        return 0;
    }
    if (wait->has_answer) {
        *ret_answer = wait->answer;
    } else {
        wait->question.on_answer = on_access_answer;
        r = cor_authorizer_ask(cor_api_settings(ex->server->api)->authorizer, ex->shard, a,
                               &wait->question, ret_answer);
    }
    if (r == COR_AUTHZ_ASKS)
        return COR_EXCHANGE_WAITS;
    wait->has_answer = false;
    if (r == 0 && ret_answer->r == 0 && ret_answer->decision == COR_AUTHZ_ALLOWED)
        wait->nallowed++;
    return r;
}

/* Upstream's plain text for an authorizer that has failed. */
static int fail_access(struct cor_exchange *ex, const struct cor_authz_answer *answer)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0}, html = {0};
    int r;

    cor_buf_init(&text, TEXT_MAX);
    cor_buf_init(&html, TEXT_MAX);
    r = cor_buf_addz(&text, "Internal Server Error: ");
    if (r == 0)
        r = cor_quote(ex->http->target, &text);
    if (r == 0)
        r = cor_buf_addf(&text, ": %s\n",
                         answer->reason ? answer->reason : cor_err_text(answer->r));
    if (r == 0)
        r = cor_quote_html(cor_buf_str(&text), &html);
    if (r < 0)
        return cor_status_set_err(&ex->status, r);
    return cor_status_untyped(&ex->status, -COR_EINTERNAL, "%s", cor_buf_z(&html));
}

int cor_exchange_authorize(struct cor_exchange *ex, const struct cor_attributes *a,
                           bool is_failure_forbidden)
{
    struct cor_authz_answer answer;
    int r = cor_authorizer_ask(cor_api_settings(ex->server->api)->authorizer, ex->shard, a, NULL,
                               &answer);

    if (r == COR_AUTHZ_ASKS) {
        answer = (struct cor_authz_answer){0};
        r = await_access(ex, a, &answer);
    }
    if (r < 0)
        return r != -COR_EBUSY ? cor_status_set_err(&ex->status, r) : r;
    if (r == COR_EXCHANGE_WAITS)
        return r;
    if (answer.r == 0 && answer.decision == COR_AUTHZ_ALLOWED)
        return 0;
    if (answer.r < 0 && answer.r != -COR_EUNAUTHORIZED && !is_failure_forbidden)
        return fail_access(ex, &answer);
    return cor_authz_refuse(a, &answer, &ex->status);
}
