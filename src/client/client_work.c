/* The list of what is under way on a client, and the cancel handle of each. A handle posts its mail
 * once at most and with its lock held, and cor_cancel_hook_remove() takes that lock: after the end
 * `is_posted` does not change any more. Nothing here can fail but the wait, which is refused before
 * anything is begun. Thread: the loop, but for on_handle() and cor_waited_work_run(). */
#include "client/client_work.h"

#include <assert.h>

#include "client/client_int.h"
#include "loop/loop.h"

static struct cor_client_work *work_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_client_work, link);
}

static void on_mail(struct cor_mail *mail)
{
    struct cor_client_work *work = COR_CONTAINER_OF(mail, struct cor_client_work, mail);

    work->is_delivered = true;
    if (!work->is_over)
        work->give_up(work, COR_CLIENT_CANCELED);
    else if (work->is_released)
        work->on_gone(work);
}

/* With the handle's lock held, on the thread that triggers it. */
static void on_handle(struct cor_cancel_hook *hook)
{
    struct cor_client_work *work = COR_CONTAINER_OF(hook, struct cor_client_work, hook);

    work->is_posted = true;
    cor_loop_post_always(work->loop, &work->mail);
}

bool cor_client_work_begin(struct cor_client_work *work, struct cor_cancel *cancel)
{
    work->loop = work->client->runtime->loop;
    work->mail.on_mail = on_mail;
    work->hook.on_cancel = on_handle;
    assert(cor_loop_is_current(work->loop) && work->give_up && work->on_gone);
    cor_dlist_push(&work->client->under_way, &work->link);
    if (cor_cancel_hook_add(&work->hook, cancel))
        return true;
    work->give_up(work, COR_CLIENT_CANCELED);
    return false;
}

void cor_client_work_end(struct cor_client_work *work)
{
    assert(cor_loop_is_current(work->loop) && !work->is_over);
    work->is_over = true;
    cor_dlist_remove(&work->link);
    cor_cancel_hook_remove(&work->hook);
}

void cor_client_work_release(struct cor_client_work *work)
{
    assert(cor_loop_is_current(work->loop) && work->is_over && !work->is_released);
    work->is_released = true;
    if (!work->is_posted || work->is_delivered)
        work->on_gone(work);
}

void cor_client_work_stop(struct cor_client *client)
{
    while (!cor_dlist_empty(&client->under_way)) {
        struct cor_client_work *work = work_of(client->under_way.next);

        work->give_up(work, COR_CLIENT_STOPPED);
    }
}

static void waited_on_gone(struct cor_client_work *work)
{
    cor_client_leave(work->client);
    cor_waiter_set(&COR_CONTAINER_OF(work, struct cor_waited_work, work)->done);
}

void cor_waited_work_finish(struct cor_waited_work *ww)
{
    cor_client_work_end(&ww->work);
    cor_client_work_release(&ww->work);
}

int cor_waited_work_run(struct cor_waited_work *ww, struct cor_client *client,
                        void (*begin)(void *arg), void *arg, struct cor_status *reterr)
{
    ww->work.client = client;
    ww->work.on_gone = waited_on_gone;
    return cor_client_wait_for(client, begin, arg, &ww->done, reterr);
}
