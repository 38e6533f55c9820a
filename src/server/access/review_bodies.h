/* The bodies of questions to a delegate, TokenReview and SubjectAccessReview, and the reading of
 * its answers (reviews.h). Thread: any (no state). */
#ifndef COR_SERVER_REVIEW_BODIES_H
#define COR_SERVER_REVIEW_BODIES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "server/access/attributes.h"
#include "server/access/reviews.h"

extern const struct cor_gvr cor_token_review_resource, cor_access_review_resource;

/* The largest question: a request's head, escaped. */
#define COR_REVIEW_QUESTION_MAX (1u << 20)

/* 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_token_review_write(struct cor_str token, struct cor_buf *out);
int cor_access_review_write(const struct cor_attributes *a, struct cor_buf *out);

/* May the answer be kept? Upstream's bound for what a client chooses freely. */
bool cor_access_review_is_kept(const struct cor_attributes *a);

/* As struct cor_reviews_opts has it. A token whose user has no name is not accepted. */
int cor_token_review_read(struct cor_str body, struct cor_review_answer *ret_answer);
int cor_access_review_read(struct cor_str body, struct cor_review_answer *ret_answer);

#endif
