/* Kept answers of a delegate. A review is pending, in `pending` with its waiters, or it is kept, in
 * the `kept` answers until it expires or is the one that was not used for longest; it is never in
 * both. Failures are told to the waiters and forgotten, so that the next request asks again. */
#include "server/access/reviews.h"

#include <assert.h>

#include "base/err.h"
#include "base/log.h"
#include "base/lru.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rand.h"
#include "loop/loop.h"
#include "net/crypto/crypto.h"

#define SECRET_BYTES 32

struct cor_review {
    struct cor_lru_link link; /* first member; its key is the digest */
    struct cor_reviews *reviews;
    uint8_t digest[COR_SHA256_BYTES];
    struct cor_delegate_call call;
    struct cor_dlist waiters; /* while it is pending */
    bool is_kept;             /* its answer may be */
    uint64_t until_ms;
    struct cor_review_answer answer;
};

struct cor_reviews {
    struct cor_reviews_opts opts;
    struct cor_loop *loop;
    struct cor_map pending;
    struct cor_lru kept;
    size_t nwaiters;
    char secret[SECRET_BYTES];
};

static void answer_deinit(struct cor_review_answer *answer)
{
    answer->user = cor_kept_user_unref(answer->user);
    answer->text = cor_free(answer->text);
}

static void review_free(struct cor_review *review)
{
    answer_deinit(&review->answer);
    cor_free(review);
}

static struct cor_review *review_of(struct cor_lru_link *link)
{
    struct cor_review *review = COR_CONTAINER_OF(link, struct cor_review, link);

    assert(link->key.p == (const char *)review->digest);
    return review;
}

static void on_drop(struct cor_lru_link *link)
{
    review_free(review_of(link));
}

int cor_reviews_open(const struct cor_reviews_opts *opts, struct cor_reviews **ret_reviews,
                     struct cor_status *reterr_status)
{
    struct cor_reviews *rs = cor_calloc(1, sizeof(*rs));
    struct cor_rand rand;

    if (!rs)
        return cor_status_no_memory(reterr_status);
    rs->opts = *opts;
    rs->loop = cor_delegate_port(opts->delegate)->loop;
    cor_map_init(&rs->pending, COR_DELEGATE_CALLS_MAX);
    cor_lru_init(&rs->kept, opts->kept_max, on_drop);
    cor_rand_init(&rand);
    cor_rand_bytes(&rand, rs->secret, sizeof(rs->secret));
    *ret_reviews = rs;
    return 0;
}

struct cor_reviews *cor_reviews_close(struct cor_reviews *rs)
{
    if (!rs)
        return NULL;
    assert(rs->nwaiters == 0);
    COR_MAP_FOREACH(it, &rs->pending) {
        struct cor_review *review = it.value;

        cor_delegate_call_cancel(&review->call);
        review_free(review);
    }
    cor_map_deinit(&rs->pending);
    cor_lru_deinit(&rs->kept);
    cor_secret_wipe(rs->secret, sizeof(rs->secret));
    return cor_free(rs);
}

static int digest_question(const struct cor_reviews *rs, struct cor_str question,
                           uint8_t ret[COR_SHA256_BYTES])
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init_secret(&text, question.n + SECRET_BYTES);
    r = cor_buf_reserve(&text, question.n + SECRET_BYTES);
    if (r == 0)
        r = cor_buf_add(&text, rs->secret, SECRET_BYTES);
    if (r == 0)
        r = cor_buf_adds(&text, question);
    return r == 0 ? cor_sha256(cor_buf_str(&text), ret) : r;
}

/* Keeps the answer, or frees the review. A request that has the same question twice asks it the
 * second time during the callback of the first answer: that answer is kept then, and makes room. */
static void review_keep(struct cor_review *review)
{
    struct cor_reviews *rs = review->reviews;
    struct cor_lru_link *older = cor_lru_use(&rs->kept, review->link.key);
    bool is_yes = review->answer.user || review->answer.is_allowed;
    uint64_t ttl_ms = is_yes ? rs->opts.yes_ms : rs->opts.no_ms;

    if (older)
        cor_lru_drop(&rs->kept, older);
    review->until_ms = cor_loop_now_ms(rs->loop) + ttl_ms;
    if (review->answer.r < 0 || review->answer.is_passing || !review->is_kept || ttl_ms == 0 ||
        cor_lru_add(&rs->kept, &review->link) < 0)
        review_free(review);
}

static void read_answer(struct cor_review *review, const struct cor_object *answer)
{
    int r = review->reviews->opts.read(cor_object_json(answer), &review->answer);

    review->answer.r = r;
    if (r < 0 && !review->answer.text)
        review->answer.text =
            cor_strdup(r == -COR_ENOMEM ? cor_err_text(r) : "the delegate's answer is no review");
}

static void review_on_done(struct cor_delegate_call *call, int r, struct cor_object *answer,
                           const char *text)
{
    struct cor_review *review = COR_CONTAINER_OF(call, struct cor_review, call);
    struct cor_reviews *rs = review->reviews;
    struct cor_dlist *link;

    if (r == 0) {
        read_answer(review, answer);
    } else {
        review->answer.r = r;
        review->answer.text = cor_strdup(text);
    }
    if (review->answer.r < 0)
        COR_LOG_ERROR("a review by the delegate has failed",
                      COR_F_STR("resource", rs->opts.resource.resource),
                      COR_F_STR("error", review->answer.text ? review->answer.text : ""));
    (void)cor_map_remove(&rs->pending, review->link.key);
    while ((link = cor_dlist_pop(&review->waiters))) {
        struct cor_review_waiter *waiter = COR_CONTAINER_OF(link, struct cor_review_waiter, link);

        waiter->review = NULL;
        rs->nwaiters--;
        waiter->on_answer(waiter, &review->answer);
    }
    review_keep(review);
}

static void review_join(struct cor_review *review, struct cor_review_waiter *waiter)
{
    waiter->review = review;
    cor_dlist_push(&review->waiters, &waiter->link);
    review->reviews->nwaiters++;
}

static int review_begin(struct cor_reviews *rs, const uint8_t digest[COR_SHA256_BYTES],
                        struct cor_str question, bool is_kept, struct cor_review_waiter *waiter)
{
    struct cor_review *review = cor_calloc(1, sizeof(*review));
    int r;

    if (!review)
        return -COR_ENOMEM;
    memcpy(review->digest, digest, sizeof(review->digest));
    review->link.key = cor_str((const char *)review->digest, sizeof(review->digest));
    review->reviews = rs;
    review->is_kept = is_kept;
    review->call.on_done = review_on_done;
    review->call.req.at.gvr = rs->opts.resource;
    cor_dlist_init(&review->waiters);
    r = cor_map_put(&rs->pending, review->link.key, review, NULL);
    if (r < 0) {
        cor_free(review);
        return r == -COR_ETOOBIG ? -COR_EBUSY : r;
    }
    r = cor_delegate_send(rs->opts.delegate, &review->call, question, rs->opts.limit_ms);
    if (r < 0) {
        (void)cor_map_remove(&rs->pending, review->link.key);
        cor_free(review);
        return r;
    }
    review_join(review, waiter);
    return 1;
}

int cor_reviews_ask(struct cor_reviews *rs, struct cor_str question, bool is_kept,
                    struct cor_review_waiter *waiter, const struct cor_review_answer **ret_answer)
{
    uint8_t digest[COR_SHA256_BYTES];
    struct cor_str key = cor_str((const char *)digest, sizeof(digest));
    struct cor_lru_link *kept;
    struct cor_review *review;
    int r = digest_question(rs, question, digest);

    assert(waiter->on_answer && !waiter->review);
    if (r < 0)
        return r;
    kept = cor_lru_use(&rs->kept, key);
    review = kept ? review_of(kept) : NULL;
    if (review && cor_loop_now_ms(rs->loop) < review->until_ms) {
        *ret_answer = &review->answer;
        return 0;
    }
    if (review)
        cor_lru_drop(&rs->kept, &review->link);
    if (rs->nwaiters == COR_REVIEW_WAITERS_MAX)
        return -COR_EBUSY;
    review = cor_map_peek(&rs->pending, key);
    if (!review)
        return review_begin(rs, digest, question, is_kept, waiter);
    review_join(review, waiter);
    return 1;
}

void cor_review_waiter_leave(struct cor_review_waiter *waiter)
{
    if (!waiter->review)
        return;
    cor_dlist_remove(&waiter->link);
    waiter->review->reviews->nwaiters--;
    waiter->review = NULL;
}

struct cor_delegate *cor_reviews_delegate(const struct cor_reviews *rs)
{
    return rs->opts.delegate;
}

size_t cor_reviews_kept(const struct cor_reviews *rs)
{
    return cor_lru_len(&rs->kept);
}

size_t cor_reviews_pending(const struct cor_reviews *rs)
{
    return cor_map_len(&rs->pending);
}
