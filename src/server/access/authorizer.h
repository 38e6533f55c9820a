/* clang-format off */
/* The authorizer: what a user may do. A server has one; it is used by the filters of HTTP,
 * impersonation, the access reviews, and admission.
 *
 *   cor_authorizer_ask ──► system:masters may do everything
 *                      ──► the authorizer's own rules: the answer is there at once
 *                      ──► somebody else has to be asked: COR_AUTHZ_ASKS, and the answer follows
 *
 * An authorizer is a table of functions; docs/internals/recipes.md says how one is added.
 * Thread: any; a question belongs to its loop.  Owner: its maker; it stays until no loop runs. */
/* clang-format on */
#ifndef COR_SERVER_AUTHORIZER_H
#define COR_SERVER_AUTHORIZER_H

#include <stddef.h>

#include "base/str.h"
#include "meta/status/status.h"
#include "server/access/attributes.h"
#include "server/access/reviews.h"

struct cor_json_writer;

/* kube-apiserver's words. Without a mode only system:masters may do anything. DELEGATED: another
 * server is asked (delegated_authorizer.h). */
enum cor_authz_mode {
    COR_AUTHZ_MASTERS,
    COR_AUTHZ_ALWAYS_ALLOW,
    COR_AUTHZ_ALWAYS_DENY,
    COR_AUTHZ_DELEGATED,
};

enum cor_authz_decision {
    COR_AUTHZ_NO_OPINION, /* nobody allows it */
    COR_AUTHZ_ALLOWED,
    COR_AUTHZ_DENIED, /* and nobody else may allow it */
};

struct cor_authz_answer {
    /* 0; -COR_EUNAUTHORIZED: the sender must authenticate first; any other failure: no decision was
     * possible, and the reason says why. */
    int r;
    enum cor_authz_decision decision; /* with `r` 0 */
    const char *reason;               /* NULL: none */
};

/* Embedded by a caller that can wait for an answer; zeroed at first. */
struct cor_authz_question {
    /* The answer is borrowed for the call, from a later turn of the loop. */
    void (*on_answer)(struct cor_authz_question *question, const struct cor_authz_answer *answer);
    struct cor_review_waiter waiter; /* of an authorizer that asks another server */
};

struct cor_authorizer;

struct cor_authorizer_ops {
    /* As cor_authorizer_ask(), of somebody who is not in system:masters; `ret_answer` is empty. */
    int (*ask)(const struct cor_authorizer *az, size_t loop_index, const struct cor_attributes *a,
               struct cor_authz_question *question, struct cor_authz_answer *ret_answer);
    /* As cor_authorizer_write_rules(), likewise. */
    void (*write_rules)(const struct cor_authorizer *az, const struct cor_attributes *a,
                        struct cor_json_writer *w);
    bool reads_selectors; /* `ask` looks at what a request selects */
};

/* Embedded by an authorizer that has a state. Immutable. */
struct cor_authorizer {
    const struct cor_authorizer_ops *ops;
};

#define COR_AUTHZ_ASKS 1

/* May `a->user` do this? On the loop `loop_index` of the server. 0: `*ret_answer` is the answer,
 * whose reason stays until the next question on this loop. COR_AUTHZ_ASKS: somebody else has to be
 * asked; with a question on_answer follows, never before this returns, and without one
 * `*ret_answer` says what is known without asking. -COR_EBUSY: too many wait; -COR_ENOMEM,
 * -COR_ETOOBIG: it cannot be asked. */
int cor_authorizer_ask(const struct cor_authorizer *az, size_t loop_index,
                       const struct cor_attributes *a, struct cor_authz_question *question,
                       struct cor_authz_answer *ret_answer);

/* No on_answer after this. Harmless when the question does not wait. */
void cor_authz_question_leave(struct cor_authz_question *question);

/* Returns whether it needs to know what a list selects. If so, the caller sets `selectors`, and
 * sets a name that they require as the name of the attributes. */
static inline bool cor_authorizer_reads_selectors(const struct cor_authorizer *az)
{
    return az->ops->reads_selectors;
}

/* Writes what `a->user` may do in `a->ns`: the status of a SelfSubjectRulesReview. */
void cor_authorizer_write_rules(const struct cor_authorizer *az, const struct cor_attributes *a,
                                struct cor_json_writer *w);

/* Refuses what an answer does not allow, in upstream's words. -COR_EUNAUTHORIZED; -COR_EFORBIDDEN,
 * also for a failure, which the message does not describe. */
int cor_authz_refuse(const struct cor_attributes *a, const struct cor_authz_answer *answer,
                     struct cor_status *reterr_status);

/* /healthz, /livez, /readyz and /version. Not the paths below them: a single check shows more. */
bool cor_path_is_public(struct cor_str path);

/* What authorizers that ask no other server decide alike: everybody may see the public paths, and
 * an anonymous sender must authenticate for everything else. False: the authorizer itself decides.
 */
bool cor_authz_is_decided(const struct cor_attributes *a, struct cor_authz_answer *ret_answer);

/* The authorizer of a mode that asks no other server, so never DELEGATED. */
const struct cor_authorizer *cor_authorizer_of_mode(enum cor_authz_mode mode);

#endif
