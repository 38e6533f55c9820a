/* The cancel handle of work that a thread waits for. A handle posts its mail once at most and with
 * its lock held, and cor_cancel_hook_remove() takes that lock: after it `is_posted` does not change
 * any more. Nothing here can fail. Thread: the loop, except for on_handle(). */
#include "client/waited_cancel.h"

#include <assert.h>

#include "base/dlist.h"
#include "loop/loop.h"

static void on_mail(struct cor_mail *mail)
{
    struct cor_waited_cancel *wc = COR_CONTAINER_OF(mail, struct cor_waited_cancel, mail);

    wc->is_delivered = true;
    if (wc->is_over)
        wc->on_gone(wc);
    else
        wc->on_cancel(wc);
}

/* With the handle's lock held, on the thread that triggers it. */
static void on_handle(struct cor_cancel_hook *hook)
{
    struct cor_waited_cancel *wc = COR_CONTAINER_OF(hook, struct cor_waited_cancel, hook);

    wc->is_posted = true;
    cor_loop_post_always(wc->loop, &wc->mail);
}

bool cor_waited_cancel_begin(struct cor_waited_cancel *wc, struct cor_cancel *cancel)
{
    assert(cor_loop_is_current(wc->loop) && wc->on_cancel && wc->on_gone);
    wc->mail.on_mail = on_mail;
    wc->hook.on_cancel = on_handle;
    return cor_cancel_hook_add(&wc->hook, cancel);
}

void cor_waited_cancel_end(struct cor_waited_cancel *wc)
{
    assert(cor_loop_is_current(wc->loop) && !wc->is_over);
    cor_cancel_hook_remove(&wc->hook);
    wc->is_over = true;
    if (!wc->is_posted || wc->is_delivered)
        wc->on_gone(wc);
}
