/* clang-format off */
/* Asks the delegate by a SubjectAccessReview, and turns its answer into the authorizer's.
 *
 *   ask ──► a path that everybody may ask for: allowed
 *       ──► the asker cannot wait: what this server knows by itself, and that another one decides
 *       ──► the answer is kept, or the circuit is open: at once
 *       ──► under way: on_answer follows
 *
 * Failures: a delegate that cannot be asked or does not answer is an answer whose `r` says so, with
 * the delegate's words; without memory nothing is asked.
 * Thread: the loop of the question. */
/* clang-format on */
#include "server/access/delegated_authorizer.h"

#include <assert.h>

#include "base/err.h"
#include "server/access/delegation.h"
#include "server/access/review_bodies.h"
#include "json/write/writer.h"

static struct cor_authz_answer answer_of(const struct cor_review_answer *review)
{
    return (struct cor_authz_answer){.r = review->r,
                                     .decision = review->r < 0        ? COR_AUTHZ_NO_OPINION
                                                 : review->is_allowed ? COR_AUTHZ_ALLOWED
                                                 : review->is_denied  ? COR_AUTHZ_DENIED
                                                                      : COR_AUTHZ_NO_OPINION,
                                     .reason = review->text};
}

static void on_review(struct cor_review_waiter *waiter, const struct cor_review_answer *review)
{
    struct cor_authz_question *question =
        COR_CONTAINER_OF(waiter, struct cor_authz_question, waiter);
    struct cor_authz_answer answer = answer_of(review);

    question->on_answer(question, &answer);
}

static int ask_delegate(const struct cor_delegation *dn, size_t loop_index,
                        const struct cor_attributes *a, struct cor_authz_question *question,
                        struct cor_authz_answer *ret_answer)
{
    struct cor_reviews *reviews = cor_delegation_accesses(dn, loop_index);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {0};
    const struct cor_review_answer *review;
    int r;

    cor_buf_init(&body, COR_REVIEW_QUESTION_MAX);
    r = cor_access_review_write(a, &body);
    if (r < 0)
        return r;
    question->waiter.on_answer = on_review;
    r = cor_reviews_ask(reviews, cor_buf_str(&body), cor_access_review_is_kept(a),
                        &question->waiter, &review);
    if (r == 0)
        *ret_answer = answer_of(review);
    if (r != -COR_EUNREACHABLE)
        return r == 1 ? COR_AUTHZ_ASKS : r;
    ret_answer->r = r;
    ret_answer->reason = cor_delegate_why(cor_reviews_delegate(reviews));
    return 0;
}

static int delegated_ask(const struct cor_authorizer *az, size_t loop_index,
                         const struct cor_attributes *a, struct cor_authz_question *question,
                         struct cor_authz_answer *ret_answer)
{
    const struct cor_delegated_authorizer *da = (const struct cor_delegated_authorizer *)az;

    if (!a->is_resource && cor_delegation_allows_path(da->delegation, a->path)) {
        ret_answer->decision = COR_AUTHZ_ALLOWED;
        return 0;
    }
    if (question)
        return ask_delegate(da->delegation, loop_index, a, question, ret_answer);
    if (!a->is_resource && cor_path_is_public(a->path))
        ret_answer->decision = COR_AUTHZ_ALLOWED;
    else
        ret_answer->reason =
            "this server delegates authorization; ask the server that it delegates to";
    return COR_AUTHZ_ASKS;
}

/* Contract access 3.9: what the delegate would allow cannot be listed. */
static void delegated_write_rules(const struct cor_authorizer *az, const struct cor_attributes *a,
                                  struct cor_json_writer *w)
{
    cor_json_raw(w, COR_STR("{\"evaluationError\":\"webhook authorizer does not support user rule "
                            "resolution\",\"incomplete\":true,\"nonResourceRules\":[],"
                            "\"resourceRules\":[]}"));
}

void cor_delegated_authorizer_init(struct cor_delegated_authorizer *da,
                                   struct cor_delegation *delegation)
{
    static const struct cor_authorizer_ops ops = {
        .ask = delegated_ask, .write_rules = delegated_write_rules, .reads_selectors = true};

    assert(delegation);
    da->authorizer.ops = &ops;
    da->delegation = delegation;
}
