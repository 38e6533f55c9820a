/* clang-format off */
/* cor_client_pause(): a thread that waits before it tries again. The pause is a timer of the loop, so that
 * the end of the client and a cancel handle end it as they end a request.
 *
 *   caller: cor_client_wait_for() ──► loop: pause_begin() ──► the timer, the handle's mail or the client's end ──► pause_finish()
 *           waits ◄──────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * The struct is on the caller's stack, which waits. Without memory for the timer the pause ends with that error.
 * Thread: the loop, but for cor_client_pause(). */
/* clang-format on */
#include "base/err.h"
#include "client/cancel.h"
#include "client/client_int.h"
#include "loop/timer.h"

struct pause {
    struct cor_client *client;
    struct cor_dlist link; /* in the client's pauses */
    struct cor_timer timer;
    uint64_t ms;
    struct cor_cancel *cancel;
    struct cor_waiter done;
    int r;
    struct cor_cancel_hook on_handle;
    struct cor_mail cancel_mail;
    bool cancel_is_posted;    /* under the lock of the cancel handle */
    bool cancel_is_delivered; /* the loop's, as is: */
    bool is_over;             /* only the cancel's mail is waited for */
};

static void pause_wake(struct pause *p)
{
    cor_client_leave(p->client);
    cor_waiter_set(&p->done);
}

/* A cancel's mail that is on its way is waited for. */
static void pause_finish(struct pause *p, int r)
{
    p->r = r;
    cor_timer_cancel(&p->timer);
    cor_dlist_remove(&p->link);
    cor_cancel_hook_remove(&p->on_handle);
    p->is_over = true;
    if (!p->cancel_is_posted || p->cancel_is_delivered)
        pause_wake(p);
}

static void pause_on_timer(struct cor_timer *timer)
{
    pause_finish(COR_CONTAINER_OF(timer, struct pause, timer), 0);
}

static void pause_on_cancel_mail(struct cor_mail *mail)
{
    struct pause *p = COR_CONTAINER_OF(mail, struct pause, cancel_mail);

    p->cancel_is_delivered = true;
    if (p->is_over)
        pause_wake(p);
    else
        pause_finish(p, -COR_ECANCELED);
}

/* With the handle's lock held. */
static void pause_on_handle(struct cor_cancel_hook *hook)
{
    struct pause *p = COR_CONTAINER_OF(hook, struct pause, on_handle);

    p->cancel_is_posted = true;
    cor_loop_post_always(p->client->runtime->loop, &p->cancel_mail);
}

static void pause_begin(void *arg)
{
    struct pause *p = arg;
    int r;

    cor_timer_init(&p->timer, p->client->runtime->loop, pause_on_timer);
    cor_dlist_push(&p->client->pauses, &p->link);
    p->cancel_mail.on_mail = pause_on_cancel_mail;
    p->on_handle.on_cancel = pause_on_handle;
    r = cor_cancel_hook_add(&p->on_handle, p->cancel) ? cor_timer_set(&p->timer, p->ms)
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
    struct pause p = {.client = client, .ms = ms, .cancel = cancel};
    int r = cor_client_wait_for(client, pause_begin, &p, &p.done, reterr);

    if (r < 0)
        return r;
    return p.r < 0 ? cor_status_set(reterr, p.r, "the wait was ended: %s", cor_err_text(p.r)) : 0;
}
