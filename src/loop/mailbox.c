/* A list of mails under a lock. The sender that finds the list empty wakes the receiver after it
 * has released the lock; later senders know that a wake is on its way. The receiver takes the whole
 * list and runs it without the lock, so a mail may post to the same mailbox. Thread: see mailbox.h.
 */
#include "loop/mailbox.h"

#include <assert.h>
#include <sched.h>
#include <stdbool.h>

#include "base/err.h"

void cor_mailbox_init(struct cor_mailbox *mb, size_t max, void (*wake)(void *arg), void *arg)
{
    cor_lock_init(&mb->lock, COR_LOCK_MAILBOX);
    cor_dlist_init(&mb->queue);
    mb->len = 0;
    mb->max = max;
    mb->wake = wake;
    mb->arg = arg;
    atomic_init(&mb->nwaking, 0);
}

void cor_mailbox_deinit(struct cor_mailbox *mb)
{
    assert(cor_dlist_empty(&mb->queue));
    while (atomic_load_explicit(&mb->nwaking, memory_order_acquire) > 0)
        sched_yield(); /* a sender is inside `wake`, which takes as long as a write() */
    cor_lock_deinit(&mb->lock);
}

/* Gives the lock back, and wakes the receiver if the mailbox was empty. The receiver may be awake,
 * take the mail before it is woken and free the mailbox. So `nwaking` is counted up before the lock
 * is released and counted down last, and cor_mailbox_deinit() waits for it. */
static void unlock_and_wake(struct cor_mailbox *mb, bool was_empty)
{
    if (was_empty)
        atomic_fetch_add_explicit(&mb->nwaking, 1, memory_order_relaxed);
    cor_lock_release(&mb->lock);
    if (!was_empty)
        return;
    mb->wake(mb->arg);
    atomic_fetch_sub_explicit(&mb->nwaking, 1, memory_order_release);
}

static void push_and_unlock(struct cor_mailbox *mb, struct cor_mail *mail)
{
    bool was_empty = cor_dlist_empty(&mb->queue);

    cor_dlist_push(&mb->queue, &mail->link);
    mb->len++;
    unlock_and_wake(mb, was_empty);
}

int cor_mailbox_post(struct cor_mailbox *mb, struct cor_mail *mail)
{
    assert(mail->on_mail);
    cor_lock_acquire(&mb->lock);
    if (mb->len >= mb->max) {
        cor_lock_release(&mb->lock);
        return -COR_EBUSY;
    }
    push_and_unlock(mb, mail);
    return 0;
}

void cor_mailbox_post_always(struct cor_mailbox *mb, struct cor_mail *mail)
{
    assert(mail->on_mail);
    cor_lock_acquire(&mb->lock);
    push_and_unlock(mb, mail);
}

void cor_mailbox_post_always_all(struct cor_mailbox *mb, struct cor_dlist *mails, size_t n)
{
    bool was_empty;

    if (n == 0)
        return;
    cor_lock_acquire(&mb->lock);
    was_empty = cor_dlist_empty(&mb->queue);
    cor_dlist_splice(&mb->queue, mails);
    mb->len += n;
    unlock_and_wake(mb, was_empty);
}

/* What is not delivered of the batch comes before what was posted meanwhile. */
static void put_back(struct cor_mailbox *mb, struct cor_dlist *batch, size_t n)
{
    cor_lock_acquire(&mb->lock);
    cor_dlist_splice(batch, &mb->queue);
    cor_dlist_splice(&mb->queue, batch);
    mb->len += n;
    cor_lock_release(&mb->lock);
    mb->wake(mb->arg);
}

size_t cor_mailbox_deliver(struct cor_mailbox *mb)
{
    return cor_mailbox_deliver_while(mb, NULL, NULL);
}

size_t cor_mailbox_deliver_while(struct cor_mailbox *mb, bool (*has_time)(void *arg), void *arg)
{
    struct cor_dlist batch, *link;
    size_t n, done = 0;

    cor_dlist_init(&batch);
    cor_lock_acquire(&mb->lock);
    cor_dlist_splice(&batch, &mb->queue);
    n = mb->len;
    mb->len = 0;
    cor_lock_release(&mb->lock);
    for (; !cor_dlist_empty(&batch) && (!has_time || has_time(arg)); done++) {
        struct cor_mail *mail;

        link = cor_dlist_pop(&batch);
        mail = COR_CONTAINER_OF(link, struct cor_mail, link);
        cor_lock_assert_none();
        mail->on_mail(mail);
    }
    if (!cor_dlist_empty(&batch))
        put_back(mb, &batch, n - done);
    return done;
}
