/* A share is allocated with its user's first feed and freed with the last. Nothing waits here: a
 * user who gets no feed is answered 429 and tries again. */
#include "server/shared/feed_shares.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

#define RETRY_S   1
#define USERS_MAX (1u << 16)

struct cor_feed_share {
    size_t n; /* feeds */
    size_t name_len;
    char name[];
};

void cor_feed_shares_init(struct cor_feed_shares *shares, size_t max)
{
    *shares = (struct cor_feed_shares){.max = max};
    cor_lock_init(&shares->lock, COR_LOCK_FEED_SHARES);
    cor_map_init(&shares->users, USERS_MAX);
}

void cor_feed_shares_deinit(struct cor_feed_shares *shares)
{
    assert(shares->used == 0 && cor_map_len(&shares->users) == 0);
    cor_map_deinit(&shares->users);
    cor_lock_deinit(&shares->lock);
}

static struct cor_feed_share *feed_share_new(struct cor_feed_shares *shares, struct cor_str user)
{
    struct cor_feed_share *share = cor_alloc(sizeof(*share) + user.n);

    if (!share)
        return NULL;
    share->n = 0;
    share->name_len = user.n;
    memcpy(share->name, user.p, user.n);
    if (cor_map_put(&shares->users, cor_str(share->name, user.n), share, NULL) == 0)
        return share;
    return cor_free(share);
}

/* 0, -COR_ENOMEM, -COR_EBUSY. */
static int feed_share_take_locked(struct cor_feed_shares *shares, struct cor_str user,
                                  struct cor_feed_share **ret_share)
{
    struct cor_feed_share *share = cor_map_peek(&shares->users, user);
    size_t has = share ? share->n : 0;

    if (has >= shares->max - shares->used)
        return -COR_EBUSY;
    if (!share)
        share = feed_share_new(shares, user);
    if (!share)
        return -COR_ENOMEM;
    share->n++;
    shares->used++;
    *ret_share = share;
    return 0;
}

int cor_feed_share_take(struct cor_feed_shares *shares, struct cor_str user,
                        struct cor_feed_share **ret_share, struct cor_status *reterr_status)
{
    int r;

    assert(user.p && ret_share);
    cor_lock_acquire(&shares->lock);
    r = feed_share_take_locked(shares, user, ret_share);
    cor_lock_release(&shares->lock);
    if (r == -COR_EBUSY)
        return cor_status_too_many_requests(
            reterr_status, "this user has too many watches without a watch cache", RETRY_S);
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

struct cor_feed_share *cor_feed_share_give(struct cor_feed_shares *shares,
                                           struct cor_feed_share *share)
{
    if (!share)
        return NULL;
    cor_lock_acquire(&shares->lock);
    assert(shares->used > 0 && share->n > 0);
    shares->used--;
    if (--share->n > 0)
        share = NULL;
    else
        (void)cor_map_remove(&shares->users, cor_str(share->name, share->name_len));
    cor_lock_release(&shares->lock);
    return cor_free(share);
}
