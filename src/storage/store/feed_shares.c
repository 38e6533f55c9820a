/* A share is allocated with its user's first feed and freed with the last. Nothing waits here: a
 * user who gets no feed is answered 429 and tries again. */
#include "storage/store/feed_shares.h"

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

void cor_feed_shares_init(struct cor_feed_shares *shares, size_t max, const char *refusal)
{
    *shares = (struct cor_feed_shares){.max = max, .refusal = refusal};
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

static bool is_out_locked(struct cor_feed_shares *shares, struct cor_str user)
{
    const struct cor_feed_share *share = cor_map_peek(&shares->users, user);

    return shares->used >= shares->max || (share && share->n >= shares->max - shares->used);
}

/* 0 or -COR_ENOMEM. */
static int feed_share_take_locked(struct cor_feed_shares *shares, struct cor_str user,
                                  struct cor_feed_share **ret_share)
{
    struct cor_feed_share *share = cor_map_peek(&shares->users, user);

    if (!share)
        share = feed_share_new(shares, user);
    if (!share)
        return -COR_ENOMEM;
    share->n++;
    shares->used++;
    *ret_share = share;
    return 0;
}

static void feed_share_give_locked(struct cor_feed_shares *shares, struct cor_feed_share *share)
{
    assert(shares->used > 0 && share->n > 0);
    shares->used--;
    if (--share->n > 0)
        return;
    (void)cor_map_remove(&shares->users, cor_str(share->name, share->name_len));
    cor_free(share);
}

int cor_feed_share_take(struct cor_feed_shares *shares, struct cor_str user,
                        struct cor_feed_share **ret_share, struct cor_status *reterr_status)
{
    int r;

    assert(user.p && ret_share);
    cor_lock_acquire(&shares->lock);
    r = is_out_locked(shares, user) ? -COR_EBUSY : feed_share_take_locked(shares, user, ret_share);
    cor_lock_release(&shares->lock);
    if (r == -COR_EBUSY)
        return cor_feed_shares_refuse(shares, reterr_status);
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

bool cor_feed_shares_are_out(struct cor_feed_shares *shares, struct cor_str user)
{
    return COR_LOCKED(&shares->lock, is_out_locked(shares, user));
}

int cor_feed_shares_refuse(const struct cor_feed_shares *shares, struct cor_status *reterr_status)
{
    return cor_status_too_many_requests(reterr_status, shares->refusal, RETRY_S);
}

int cor_feed_share_move(struct cor_feed_shares *shares, struct cor_feed_share **share,
                        struct cor_str user)
{
    struct cor_feed_share *moved;
    int r;

    assert(user.p && *share);
    cor_lock_acquire(&shares->lock);
    r = feed_share_take_locked(shares, user, &moved);
    if (r == 0) {
        feed_share_give_locked(shares, *share);
        *share = moved;
    }
    cor_lock_release(&shares->lock);
    return r;
}

struct cor_feed_share *cor_feed_share_give(struct cor_feed_shares *shares,
                                           struct cor_feed_share *share)
{
    if (!share)
        return NULL;
    cor_lock_acquire(&shares->lock);
    feed_share_give_locked(shares, share);
    cor_lock_release(&shares->lock);
    return NULL;
}
