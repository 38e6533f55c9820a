/* clang-format off */
/* cor_client_pause(): a thread that waits before it tries again. The pause is a timer of the loop, so that
 * the end of the client and a cancel handle end it as they end a request.
 *
 *   caller: cor_waited_work_run() ──► loop: pause_begin() ──► the timer, the handle's mail or the client's end ──► pause_finish()
 *           waits ◄──────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * The struct is on the caller's stack, which waits. Without memory for the timer the pause ends with that error.
 * Thread: the loop, except for cor_client_pause(). */
/* clang-format on */
#include "base/err.h"
#include "client/client_int.h"
#include "client/client_work.h"
#include "loop/timer.h"

struct pause {
    struct cor_waited_work waited;
    struct cor_timer timer;
    uint64_t ms;
    struct cor_cancel *handle;
    int r;
};

static void pause_finish(struct pause *p, int r)
{
    p->r = r;
    cor_timer_cancel(&p->timer);
    cor_waited_work_finish(&p->waited);
}

static void pause_on_timer(struct cor_timer *timer)
{
    pause_finish(COR_CONTAINER_OF(timer, struct pause, timer), 0);
}

static void pause_give_up(struct cor_client_work *work, const char *text)
{
    pause_finish(COR_CONTAINER_OF(work, struct pause, waited.work), -COR_ECANCELED);
}

static void pause_begin(void *arg)
{
    struct pause *p = arg;
    int r;

    cor_timer_init(&p->timer, p->waited.work.client->runtime->loop, pause_on_timer);
    if (!cor_client_work_begin(&p->waited.work, p->handle))
        return;
    r = cor_timer_set(&p->timer, p->ms);
    if (r < 0)
        pause_finish(p, r);
}

int cor_client_pause(struct cor_client *client, uint64_t ms, struct cor_cancel *cancel,
                     struct cor_status *reterr)
{
    struct pause p = {.waited.work.give_up = pause_give_up, .ms = ms, .handle = cancel};
    int r = cor_waited_work_run(&p.waited, client, pause_begin, &p, reterr);

    if (r < 0)
        return r;
    return p.r < 0 ? cor_status_set(reterr, p.r, "the wait was ended: %s", cor_err_text(p.r)) : 0;
}
