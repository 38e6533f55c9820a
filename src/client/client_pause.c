/* clang-format off */
/* cor_client_pause(): a thread that waits before it tries again. The pause is a timer of the loop, so that
 * the end of the client and a cancel handle end it as they end a request.
 *
 *   caller: cor_client_wait_for() ──► loop: pause_begin() ──► the timer, the handle's mail or the client's end ──► pause_finish()
 *           waits ◄──────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * The struct is on the caller's stack, which waits. Without memory for the timer the pause ends with that error.
 * Thread: the loop, except for cor_client_pause(). */
/* clang-format on */
#include "base/err.h"
#include "client/client_int.h"
#include "client/waited_cancel.h"
#include "loop/timer.h"

struct pause {
    struct cor_client *client;
    struct cor_dlist link; /* in the client's pauses */
    struct cor_timer timer;
    uint64_t ms;
    struct cor_cancel *handle;
    struct cor_waited_cancel cancel;
    struct cor_waiter done;
    int r;
};

static void pause_on_gone(struct cor_waited_cancel *cancel)
{
    struct pause *p = COR_CONTAINER_OF(cancel, struct pause, cancel);

    cor_client_leave(p->client);
    cor_waiter_set(&p->done);
}

static void pause_finish(struct pause *p, int r)
{
    p->r = r;
    cor_timer_cancel(&p->timer);
    cor_dlist_remove(&p->link);
    cor_waited_cancel_end(&p->cancel);
}

static void pause_on_timer(struct cor_timer *timer)
{
    pause_finish(COR_CONTAINER_OF(timer, struct pause, timer), 0);
}

static void pause_on_cancel(struct cor_waited_cancel *cancel)
{
    pause_finish(COR_CONTAINER_OF(cancel, struct pause, cancel), -COR_ECANCELED);
}

static void pause_begin(void *arg)
{
    struct pause *p = arg;
    int r;

    cor_timer_init(&p->timer, p->client->runtime->loop, pause_on_timer);
    cor_dlist_push(&p->client->pauses, &p->link);
    r = cor_waited_cancel_begin(&p->cancel, p->handle) ? cor_timer_set(&p->timer, p->ms)
                                                       : -COR_ECANCELED;
    if (r < 0)
        pause_finish(p, r);
}

void cor_client_cancel_pauses(struct cor_client *client)
{
    while (!cor_dlist_empty(&client->pauses))
        pause_finish(COR_CONTAINER_OF(client->pauses.next, struct pause, link), -COR_ECANCELED);
}

int cor_client_pause(struct cor_client *client, uint64_t ms, struct cor_cancel *cancel,
                     struct cor_status *reterr)
{
    struct pause p = {.client = client,
                      .ms = ms,
                      .handle = cancel,
                      .cancel = {.on_cancel = pause_on_cancel,
                                 .on_gone = pause_on_gone,
                                 .loop = client->runtime->loop}};
    int r = cor_client_wait_for(client, pause_begin, &p, &p.done, reterr);

    if (r < 0)
        return r;
    return p.r < 0 ? cor_status_set(reterr, p.r, "the wait was ended: %s", cor_err_text(p.r)) : 0;
}
