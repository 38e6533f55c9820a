#include "loop/mailbox.h"

#include <assert.h>
#include <stdbool.h>

#include "base/err.h"

void cor_mailbox_init(struct cor_mailbox *mb, size_t max, void (*wake)(void *arg), void *arg)
{
    pthread_mutex_init(&mb->lock, NULL);
    cor_list_init(&mb->queue);
    mb->len = 0;
    mb->max = max;
    mb->wake = wake;
    mb->arg = arg;
}

void cor_mailbox_deinit(struct cor_mailbox *mb)
{
    assert(cor_list_empty(&mb->queue));
    pthread_mutex_destroy(&mb->lock);
}

/* True when the receiver sleeps, as far as the mailbox knows. */
static bool push_locked(struct cor_mailbox *mb, struct cor_mail *mail)
{
    bool was_empty = cor_list_empty(&mb->queue);

    cor_list_push(&mb->queue, &mail->link);
    mb->len++;
    return was_empty;
}

int cor_mailbox_post(struct cor_mailbox *mb, struct cor_mail *mail)
{
    bool wake;

    assert(mail->on_mail);
    pthread_mutex_lock(&mb->lock);
    if (mb->len >= mb->max) {
        pthread_mutex_unlock(&mb->lock);
        return -COR_EBUSY;
    }
    wake = push_locked(mb, mail);
    pthread_mutex_unlock(&mb->lock);
    if (wake)
        mb->wake(mb->arg);
    return 0;
}

void cor_mailbox_reply(struct cor_mailbox *mb, struct cor_mail *mail)
{
    bool wake;

    assert(mail->on_mail);
    pthread_mutex_lock(&mb->lock);
    wake = push_locked(mb, mail);
    pthread_mutex_unlock(&mb->lock);
    if (wake)
        mb->wake(mb->arg);
}

void cor_mailbox_reply_all(struct cor_mailbox *mb, struct cor_list *mails, size_t n)
{
    bool wake;

    if (n == 0)
        return;
    pthread_mutex_lock(&mb->lock);
    wake = cor_list_empty(&mb->queue);
    cor_list_splice(&mb->queue, mails);
    mb->len += n;
    pthread_mutex_unlock(&mb->lock);
    if (wake)
        mb->wake(mb->arg);
}

size_t cor_mailbox_deliver(struct cor_mailbox *mb)
{
    struct cor_list batch, *link;
    size_t n;

    cor_list_init(&batch);
    pthread_mutex_lock(&mb->lock);
    cor_list_splice(&batch, &mb->queue);
    n = mb->len;
    mb->len = 0;
    pthread_mutex_unlock(&mb->lock);
    while ((link = cor_list_pop(&batch))) {
        struct cor_mail *mail = COR_CONTAINER_OF(link, struct cor_mail, link);

        mail->on_mail(mail);
    }
    return n;
}
