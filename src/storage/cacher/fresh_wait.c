/* Reads that wait until the watch caches have reached a revision.
 *
 *   1. The read names the revision it needs. With CACHERS_STORE_REV, which means "whatever the
 *      store has now", the loop first asks the engine for the store's revision (wait_ask()).
 *   2. The wait is counted under the loop's lock, and then looks at the published revision
 *      (wait_register()). The writer publishes a revision before it looks at the count, so at least
 *      one side sees the other and no wake-up is lost.
 *   3. A mail of the writer makes the loop look at all its waits (cor_cachers_loop_end_waits()).
 *
 * One question to the store serves all reads of a loop that began before it was asked. A read that
 * comes later shares the next question: the answer under way may be older than a write that was
 * acknowledged meanwhile.
 *
 * What fails: no memory for the timer is returned to the caller, who does without the wait. When
 * the engine does not answer, or FRESH_WAIT_MS pass, on_done(false) is called.
 *
 * Thread: the loop's. */
#include "storage/cacher/cache_reader_int.h"

static void wait_ask(struct cachers_loop *loop);

static void wait_unregister(struct fresh_wait *wait)
{
    cor_dlist_remove(&wait->link);
    cor_timer_cancel(&wait->timer);
    if (wait->is_asking)
        return;
    cor_lock_acquire(&wait->loop->lock);
    wait->loop->waiting--;
    cor_lock_release(&wait->loop->lock);
}

static void wait_finish(struct fresh_wait *wait, bool in_time)
{
    wait_unregister(wait);
    wait->on_done(wait, in_time);
}

static void wait_on_timer(struct cor_timer *timer)
{
    wait_finish(COR_CONTAINER_OF(timer, struct fresh_wait, timer), false);
}

/* The order matters: see step 2 above. */
static void wait_register(struct fresh_wait *wait)
{
    struct cachers_loop *loop = wait->loop;

    cor_dlist_push(&loop->waits, &wait->link);
    cor_lock_acquire(&loop->lock);
    loop->waiting++;
    cor_lock_release(&loop->lock);
    if (cachers_have_reached(loop->cachers, wait->need))
        wait_finish(wait, true);
}

static void wait_on_store_rev(struct cor_engine_req *req)
{
    struct cachers_loop *loop = COR_CONTAINER_OF(req, struct cachers_loop, store_rev.req);
    cor_rev rev = req->result < 0 ? 0 : loop->store_rev.ret_rev;
    struct cor_dlist answered, *link;

    cor_range_req_deinit(&loop->store_rev);
    loop->is_asking = false;
    cor_dlist_init(&answered);
    cor_dlist_splice(&answered, &loop->asked);
    /* Reads that came meanwhile ask before any callback of an answered one can add another. */
    wait_ask(loop);
    while ((link = cor_dlist_pop(&answered))) {
        struct fresh_wait *wait = COR_CONTAINER_OF(link, struct fresh_wait, link);

        if (rev == 0) {
            wait_finish(wait, false);
            continue;
        }
        wait->is_asking = false;
        wait->need = rev;
        wait_register(wait);
    }
    if (loop->is_ending)
        cor_cachers_loop_ended(loop);
}

static void wait_ask(struct cachers_loop *loop)
{
    if (loop->is_asking || cor_dlist_empty(&loop->asking))
        return;
    loop->is_asking = true;
    cor_dlist_splice(&loop->asked, &loop->asking);
    cor_range_req_init(&loop->store_rev, loop->loop, wait_on_store_rev);
    loop->store_rev.keys_only = true;
    cor_engine_range(loop->cachers->engine, &loop->store_rev);
}

int cor_fresh_wait_begin(struct fresh_wait *wait, struct cachers_loop *loop, cor_rev need,
                         void (*on_done)(struct fresh_wait *wait, bool in_time))
{
    int r;

    assert(cor_loop_is_current(loop->loop) && !loop->is_ending);
    wait->loop = loop;
    wait->need = need;
    wait->on_done = on_done;
    wait->is_asking = need == CACHERS_STORE_REV;
    cor_timer_init(&wait->timer, loop->loop, wait_on_timer);
    r = cor_timer_set(&wait->timer, FRESH_WAIT_MS);
    if (r < 0) {
        wait->loop = NULL;
        return r;
    }
    if (wait->is_asking) {
        cor_dlist_push(&loop->asking, &wait->link);
        wait_ask(loop);
    } else {
        wait_register(wait);
    }
    return 0;
}

void cor_fresh_wait_cancel(struct fresh_wait *wait)
{
    if (wait->loop && cor_timer_is_set(&wait->timer))
        wait_unregister(wait);
}

/* A callback may begin and cancel waits: each wait is in one of the two lists at any time. */
void cor_cachers_loop_end_waits(struct cachers_loop *loop)
{
    struct cor_dlist todo, *link;

    cor_dlist_init(&todo);
    cor_dlist_splice(&todo, &loop->waits);
    while ((link = cor_dlist_pop(&todo))) {
        struct fresh_wait *wait = COR_CONTAINER_OF(link, struct fresh_wait, link);

        cor_dlist_push(&loop->waits, link);
        if (cachers_have_reached(loop->cachers, wait->need))
            wait_finish(wait, true);
    }
}
