/* clang-format off */
/* Each loop keeps its waiting calls in one list, in the order in which they began to wait.
 *
 *   cor_held_set: the sum of all loops is over the budget ──► mail to the loop itself ──►
 *   held_on_mail: cuts calls from the front of the list until the sum is within the budget
 *
 * Calls are cut from the mail and not at once, because the call that goes over the budget is inside
 * its own write. The mail counts as a call of the loop, so that the loop is not released before the
 * mail has come. Nothing here can fail. */
/* clang-format on */
#include "server/api/held.h"

#include <assert.h>

#include "base/clock.h"
#include "server/api/call.h"

/* Is the sum over the budget? With `without` bytes of one call: would the others still hold more
 * than half of it? */
static bool is_over_budget(const struct cor_held_account *account, size_t without)
{
    size_t bytes = atomic_load_explicit(&account->bytes, memory_order_relaxed);

    return bytes > account->max && (without == 0 || bytes - without > account->max / 2);
}

static void held_on_mail(struct cor_mail *mail)
{
    struct cor_api_loop *loop = COR_CONTAINER_OF(mail, struct cor_api_loop, held.mail);
    struct cor_held_account *account = &loop->api->held;
    uint64_t now_ms = cor_clock_mono_ms(loop->api->clock);

    loop->held.is_posted = false;
    loop->ncalls--;
    COR_DLIST_FOREACH_SAFE(link, &loop->held.waiting) {
        struct cor_call *call = COR_CONTAINER_OF(link, struct cor_call, held.link);

        if (!is_over_budget(account, 0) || call->held.since_ms + COR_HELD_GRACE_MS > now_ms)
            break;
        if (!is_over_budget(account, call->held.bytes) ||
            (call->verb->may_cut && !call->verb->may_cut(call)))
            continue;
        atomic_fetch_add(&account->ended, 1);
        cor_call_cut(call);
    }
}

void cor_held_loop_init(struct cor_api_loop *loop)
{
    cor_dlist_init(&loop->held.waiting);
    loop->held.mail.on_mail = held_on_mail;
}

static void held_check_budget(struct cor_api_loop *loop)
{
    if (loop->held.is_posted || !is_over_budget(&loop->api->held, 0))
        return;
    loop->held.is_posted = true;
    loop->ncalls++;
    cor_loop_post_always(loop->loop, &loop->held.mail);
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
        return;
    }
    if (cor_dlist_empty(&held->link)) {
        held->since_ms = cor_clock_mono_ms(call->loop->api->clock);
        cor_dlist_push(&call->loop->held.waiting, &held->link);
    }
    held_check_budget(call->loop);
}
