/* A token bucket with a line. A request that finds a token continues at once; else it waits in
 * line, and one timer, set for the time of the next token, lets the first in line continue. The
 * timer is always set, so that moving it cannot fail. Thread: the loop. */
#include "kit/rest/rest_throttle.h"

#include "loop/loop.h"

#define BURST_DEFAULT 10

/* Sets the timer to when the first in line gets its token; to never while the line is empty. */
static void throttle_set_timer(struct cor_rest_throttle *t)
{
    struct cor_token_bucket later = t->bucket;
    uint64_t wait_ms = UINT64_MAX;

    if (t->nwaiting > 0)
        cor_token_bucket_reserve(&later, cor_loop_now_ms(t->timer.loop), UINT64_MAX, &wait_ms);
    cor_timer_set(&t->timer, wait_ms);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_rest_throttle *t = COR_CONTAINER_OF(timer, struct cor_rest_throttle, timer);
    struct cor_rest_turn *turn = NULL;

    if (t->nwaiting > 0 && cor_token_bucket_try(&t->bucket, cor_loop_now_ms(timer->loop))) {
        turn = COR_CONTAINER_OF(cor_dlist_pop(&t->waiting), struct cor_rest_turn, link);
        t->nwaiting--;
    }
    throttle_set_timer(t);
    if (turn)
        turn->on_turn(turn);
}

int cor_rest_throttle_init(struct cor_rest_throttle *t, struct cor_loop *loop, double qps,
                           uint32_t burst)
{
    t->is_off = qps <= 0;
    cor_dlist_init(&t->waiting);
    cor_timer_init(&t->timer, loop, on_timer);
    cor_token_bucket_init(&t->bucket, t->is_off ? 1 : qps, burst ? burst : BURST_DEFAULT,
                          cor_loop_now_ms(loop));
    return cor_timer_set(&t->timer, UINT64_MAX);
}

void cor_rest_throttle_deinit(struct cor_rest_throttle *t)
{
    assert(t->nwaiting == 0);
    if (t->timer.loop)
        cor_timer_cancel(&t->timer);
}

bool cor_rest_throttle_enter(struct cor_rest_throttle *t, struct cor_rest_turn *turn)
{
    if (t->is_off ||
        (t->nwaiting == 0 && cor_token_bucket_try(&t->bucket, cor_loop_now_ms(t->timer.loop))))
        return true;
    cor_dlist_push(&t->waiting, &turn->link);
    t->nwaiting++;
    if (t->nwaiting == 1)
        throttle_set_timer(t);
    return false;
}

bool cor_rest_throttle_has_turn(const struct cor_rest_throttle *t, uint64_t within_ms)
{
    struct cor_token_bucket later = t->bucket;
    uint64_t wait_ms;

    later.tokens -= (double)t->nwaiting;
    return t->is_off || cor_token_bucket_reserve(&later, cor_loop_now_ms(t->timer.loop), within_ms,
                                                 &wait_ms) == 0;
}

void cor_rest_throttle_leave(struct cor_rest_throttle *t, struct cor_rest_turn *turn)
{
    if (cor_dlist_empty(&turn->link))
        return;
    cor_dlist_remove(&turn->link);
    t->nwaiting--;
}
