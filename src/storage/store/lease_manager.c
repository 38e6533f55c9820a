/* One lease for many objects.
 *
 * A want is answered at once while the present lease fits. Otherwise it queues up, and one grant at
 * a time is asked for, for the first in the queue. When it is answered, the others are answered
 * from the new lease in order, until one does not fit: then the next grant is asked for, for that
 * one.
 *
 * What fails: a grant that fails is answered to the want that it was asked for; the next want in
 * the queue is tried with the lease that is there. Thread: the loop's. */
#include "storage/store/lease_manager.h"

#include "base/clock.h"

static void lease_on_granted(struct cor_engine_req *req);

void cor_lease_manager_init(struct cor_lease_manager *lm, struct cor_engine *engine,
                            struct cor_loop *loop, const struct cor_clock *clock,
                            const struct cor_lease_limits *limits)
{
    *lm = (struct cor_lease_manager){.engine = engine, .clock = clock, .limits = *limits};
    if (lm->limits.reuse_s == 0)
        lm->limits.reuse_s = COR_LEASE_REUSE_S_DEFAULT;
    if (lm->limits.objects_max == 0)
        lm->limits.objects_max = COR_LEASE_OBJECTS_MAX_DEFAULT;
    cor_engine_req_init(&lm->grant.req, loop, lease_on_granted);
    cor_dlist_init(&lm->waiting);
}

void cor_lease_manager_deinit(struct cor_lease_manager *lm)
{
    assert(cor_dlist_empty(&lm->waiting));
    cor_engine_req_deinit(&lm->grant.req);
}

int64_t cor_lease_manager_window(const struct cor_lease_manager *lm, int64_t ttl_s)
{
    int64_t percent5 = ttl_s / 20;

    return percent5 < lm->limits.reuse_s ? percent5 : lm->limits.reuse_s;
}

/* May the present lease be used? It must outlive the object, but not by more than the window. Every
 * attempt counts as an object, whether its write then succeeds or not. */
static bool lease_fits(struct cor_lease_manager *lm, const struct cor_lease_want *want,
                       uint64_t now_ms)
{
    uint64_t least = now_ms + (uint64_t)want->ttl_s * 1000;
    uint64_t most = least + (uint64_t)cor_lease_manager_window(lm, want->ttl_s) * 1000;

    lm->objects++;
    return lm->id != 0 && least < lm->expires_ms && most > lm->expires_ms &&
           lm->objects <= lm->limits.objects_max;
}

static void lease_ask(struct cor_lease_manager *lm, const struct cor_lease_want *want,
                      uint64_t now_ms)
{
    lm->granting_ms = now_ms;
    lm->grant.ttl_s = want->ttl_s + cor_lease_manager_window(lm, want->ttl_s);
    cor_status_deinit(&lm->grant.req.status);
    cor_engine_lease(lm->engine, &lm->grant);
}

static struct cor_lease_want *lease_first_waiting(struct cor_lease_manager *lm)
{
    return COR_CONTAINER_OF(lm->waiting.next, struct cor_lease_want, link);
}

static void lease_answer(struct cor_lease_manager *lm, struct cor_lease_want *want, int result)
{
    cor_dlist_remove(&want->link);
    want->result = result;
    want->id = result < 0 ? 0 : lm->id;
    want->on_lease(want);
}

/* `granting` stays set while wants wait, so that a want from within an answer queues up behind
 * them. The last answer may free the manager. */
static void lease_on_granted(struct cor_engine_req *req)
{
    struct cor_lease_manager *lm = COR_CONTAINER_OF(req, struct cor_lease_manager, grant.req);
    struct cor_lease_want *want = lease_first_waiting(lm);
    uint64_t now_ms = cor_clock_mono_ms(lm->clock);
    int result = req->result;

    if (result == 0) {
        lm->id = lm->grant.ret_id;
        lm->expires_ms = lm->granting_ms + (uint64_t)lm->grant.ttl_s * 1000;
        lm->objects = 1;
    }
    while (want->link.next != &lm->waiting) {
        lease_answer(lm, want, result);
        result = 0;
        want = lease_first_waiting(lm);
        if (!lease_fits(lm, want, now_ms)) {
            lease_ask(lm, want, now_ms);
            return;
        }
    }
    lm->granting = false;
    lease_answer(lm, want, result);
}

bool cor_lease_manager_acquire(struct cor_lease_manager *lm, struct cor_lease_want *want)
{
    uint64_t now_ms = cor_clock_mono_ms(lm->clock);

    assert(want->ttl_s > 0 && want->on_lease);
    if (!lm->granting && lease_fits(lm, want, now_ms)) {
        want->result = 0;
        want->id = lm->id;
        return true;
    }
    cor_dlist_push(&lm->waiting, &want->link);
    if (!lm->granting) {
        lm->granting = true;
        lease_ask(lm, want, now_ms);
    }
    return false;
}

bool cor_lease_manager_lost(struct cor_lease_manager *lm, struct cor_lease_want *want,
                            const struct cor_write_req *write)
{
    if (write->req.result != -COR_ENOTFOUND || want->lost)
        return false;
    if (lm->id == write->lease)
        lm->id = 0;
    want->lost = true;
    return true;
}
