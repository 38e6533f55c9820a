/* clang-format off */
/* Each loop keeps its waiting calls in one list, in the order in which they began to wait.
 *
 *   the list is no longer empty ──► timer, a second ──► held_on_timer: cuts calls from the front of
 *                 ▲                  ▲                  the list until the sum of all loops is
 *                 │                  │                  within the budget; again in a second
 *                 └── cor_held_set ──┘ at once, when the sum is over the budget
 *
 * Calls are cut by the timer and not at once, because the call that goes over the budget is inside
 * its own write. The timer runs for as long as a call waits: calls that were in their first second
 * when the sum went over the budget may have readers that never read on, and the call that went
 * over it may be another loop's. Without memory for the timer, the loop's next call that waits sets
 * it. */
/* clang-format on */
#include "server/api/held.h"

#include <assert.h>

#include "loop/loop.h"
#include "server/api/api_int.h"
#include "server/api/call.h"

#define RETRY_AFTER_S 1

/* Returns whether the sum is over the budget. With `without` bytes of one call: whether the others
 * would still hold more than half of it. */
static bool is_over_budget(const struct cor_held_account *account, size_t without)
{
    size_t bytes = atomic_load_explicit(&account->bytes, memory_order_relaxed);

    return bytes > account->max && (without == 0 || bytes - without > account->max / 2);
}

/* Calls that have waited for less are not ended. */
static bool is_in_grace(const struct cor_call *call, uint64_t now_ms)
{
    return call->held.since_ms + COR_HELD_GRACE_MS > now_ms;
}

bool cor_held_must_give_up(struct cor_call *call)
{
    struct cor_held_account *account = &call->loop->api->held;

    assert(cor_loop_is_current(call->loop->loop) && !call->is_over && call->verb->may_cut);
    if (call->held.bytes == 0 || is_in_grace(call, cor_loop_now_ms(call->loop->loop)) ||
        !is_over_budget(account, call->held.bytes))
        return false;
    atomic_fetch_add(&account->ended, 1);
    return true;
}

int cor_held_refuse(struct cor_call *call)
{
    return cor_status_too_many_requests(
        &call->status, "the server holds too much for answers, please try again later",
        RETRY_AFTER_S);
}

static void held_on_timer(struct cor_timer *timer)
{
    struct cor_loop_part *part = COR_CONTAINER_OF(timer, struct cor_loop_part, held.timer);
    struct cor_api_loop *loop = &part->loop;
    struct cor_held_account *account = &loop->api->held;
    uint64_t now_ms = cor_loop_now_ms(loop->loop);

    COR_DLIST_FOREACH_SAFE(link, &part->held.waiting) {
        struct cor_call *call = COR_CONTAINER_OF(link, struct cor_call, held.link);

        if (!is_over_budget(account, 0) || is_in_grace(call, now_ms))
            break;
        if (!is_over_budget(account, call->held.bytes) ||
            (call->verb->may_cut && !call->verb->may_cut(call)))
            continue;
        atomic_fetch_add(&account->ended, 1);
        cor_call_cut(call);
    }
    if (!cor_dlist_empty(&part->held.waiting))
        cor_timer_set(timer, COR_HELD_GRACE_MS);
}

void cor_held_loop_init(struct cor_api_loop *loop)
{
    cor_dlist_init(&cor_loop_part(loop)->held.waiting);
    cor_timer_init(&cor_loop_part(loop)->held.timer, loop->loop, held_on_timer);
}

/* The list is not empty. */
static void held_set_timer(struct cor_api_loop *loop)
{
    if (is_over_budget(&loop->api->held, 0))
        cor_timer_set(&cor_loop_part(loop)->held.timer, 0);
    else if (!cor_timer_is_set(&cor_loop_part(loop)->held.timer))
        cor_timer_set(&cor_loop_part(loop)->held.timer, COR_HELD_GRACE_MS);
}

void cor_held_set(struct cor_call *call, size_t bytes)
{
    struct cor_held *held = &call->held;

    assert(cor_loop_is_current(call->loop->loop) && !call->is_over);
    atomic_fetch_add_explicit(&call->loop->api->held.bytes, bytes - held->bytes,
                              memory_order_relaxed);
    held->bytes = bytes;
    if (bytes == 0) {
        cor_dlist_remove(&held->link);
        if (cor_dlist_empty(&cor_loop_part(call->loop)->held.waiting))
            cor_timer_cancel(&cor_loop_part(call->loop)->held.timer);
        return;
    }
    if (cor_dlist_empty(&held->link)) {
        held->since_ms = cor_loop_now_ms(call->loop->loop);
        cor_dlist_push(&cor_loop_part(call->loop)->held.waiting, &held->link);
    }
    held_set_timer(call->loop);
}
