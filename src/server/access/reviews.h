/* clang-format off */
/* Questions to the delegate and its answers, of one loop: answers are kept for a time, and requests
 * that ask the same at once share one call.
 *
 *   cor_reviews_ask ──► the answer is kept: returned at once
 *                   ──► the same question is under way: the waiter joins it
 *                   ──► asked; every waiter gets the answer, which is kept unless it is a failure
 *
 * A question is known by a digest with a key of this process: neither tokens nor names are kept.
 * Owner: its opener.  Thread: the loop. */
/* clang-format on */
#ifndef COR_SERVER_REVIEWS_H
#define COR_SERVER_REVIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/str.h"
#include "server/access/delegate.h"
#include "server/access/identity.h"

struct cor_review;
struct cor_reviews;

#define COR_REVIEW_WAITERS_MAX 4096 /* of one loop */

/* What the delegate has said. */
struct cor_review_answer {
    int r;                      /* 0; a failure: nothing is known, and `text` says why */
    struct cor_kept_user *user; /* of a token that is accepted; NULL: it is not */
    bool is_allowed;            /* what was asked for is allowed */
    bool is_denied;             /* and it is denied, not only not allowed */
    bool is_passing;            /* a refusal because something failed: it is not kept */
    char *text;                 /* owned: the reason or the failure; NULL: none */
};

/* Embedded by whoever waits; zeroed at first. */
struct cor_review_waiter {
    /* The answer is borrowed for the call. */
    void (*on_answer)(struct cor_review_waiter *waiter, const struct cor_review_answer *answer);
    struct cor_review *review; /* NULL: not waiting */
    struct cor_dlist link;
};

struct cor_reviews_opts {
    struct cor_delegate *delegate;
    struct cor_gvr resource; /* of which a question is an object that is created */
    size_t kept_max;         /* answers */
    uint64_t limit_ms;       /* of a question, with all its attempts */
    uint64_t yes_ms;         /* how long an answer that accepts or allows is kept; 0: not at all */
    uint64_t no_ms;          /* and one that does not */
    /* Reads an answer, which is a JSON object. 0 with the answer filled in; -COR_EINVAL: it is not
     * an answer; -COR_EPROTOCOL: it contradicts itself, and `text` says how; -COR_ENOMEM. */
    int (*read)(struct cor_str body, struct cor_review_answer *ret_answer);
};

/* The options are copied. 0, -COR_ENOMEM. */
int cor_reviews_open(const struct cor_reviews_opts *opts, struct cor_reviews **ret_reviews,
                     struct cor_status *reterr_status);

/* Nobody waits any more; questions under way are cancelled. Returns NULL; NULL is fine. */
struct cor_reviews *cor_reviews_close(struct cor_reviews *rs);

/* `question` is the body that is posted, and what is asked is known by it. `is_kept`: the answer
 * may be kept. 0: `*ret_answer` is it, borrowed until the next call; 1: on_answer follows, never
 * before this returns; -COR_EBUSY: too many wait; -COR_EUNREACHABLE: the delegate's circuit is
 * open; -COR_ENOMEM. */
int cor_reviews_ask(struct cor_reviews *rs, struct cor_str question, bool is_kept,
                    struct cor_review_waiter *waiter, const struct cor_review_answer **ret_answer);

/* No on_answer after this. The question goes on, for its answer is kept. Harmless when not waiting.
 */
void cor_review_waiter_leave(struct cor_review_waiter *waiter);

struct cor_delegate *cor_reviews_delegate(const struct cor_reviews *rs);

/* Of which answers there are: for tests and figures. */
size_t cor_reviews_kept(const struct cor_reviews *rs);
size_t cor_reviews_pending(const struct cor_reviews *rs);

#endif
