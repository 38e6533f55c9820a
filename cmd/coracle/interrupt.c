/* Signals as mails: a thread waits for SIGINT, SIGTERM and SIGHUP, and posts a mail to the loop, so
 * that no handler runs in the middle of other code. */
#include "interrupt.h"

#include "base/cleanup.h"
#include "base/err.h"

void interrupt_block(struct interrupt *in)
{
    sigemptyset(&in->signals);
    sigaddset(&in->signals, SIGINT);
    sigaddset(&in->signals, SIGTERM);
    if (in->on_hangup)
        sigaddset(&in->signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &in->signals, &in->old_mask);
}

static void on_mail(struct cor_mail *mail)
{
    struct interrupt *in = COR_CONTAINER_OF(mail, struct interrupt, mail);

    if (in->on_interrupt)
        in->on_interrupt(in->arg);
}

static void on_hangup_mail(struct cor_mail *mail)
{
    struct interrupt *in = COR_CONTAINER_OF(mail, struct interrupt, hangup_mail);

    atomic_store(&in->hangup_is_posted, false);
    if (in->on_interrupt)
        in->on_hangup(in->arg);
}

/* A signal that comes while the mail is on its way is answered by that mail. */
static void post_hangup(struct interrupt *in)
{
    if (!atomic_exchange(&in->hangup_is_posted, true))
        cor_loop_post_always(in->loop, &in->hangup_mail);
}

static void *wait_for_signal(void *arg)
{
    struct interrupt *in = arg;
    int number;

    while (sigwait(&in->signals, &number) == 0 && !atomic_load(&in->stopping)) {
        if (number != SIGHUP) {
            cor_loop_post_always(in->loop, &in->mail);
            break;
        }
        post_hangup(in);
    }
    return NULL;
}

int interrupt_start(struct interrupt *in, struct cor_loop *loop, void (*on_interrupt)(void *arg),
                    void *arg)
{
    in->loop = loop;
    in->on_interrupt = on_interrupt;
    in->arg = arg;
    in->mail.on_mail = on_mail;
    in->hangup_mail.on_mail = on_hangup_mail;
    cor_dlist_init(&in->mail.link);
    cor_dlist_init(&in->hangup_mail.link);
    return pthread_create(&in->thread, NULL, wait_for_signal, in) == 0 ? 0 : -COR_EIO;
}

void interrupt_stop(struct interrupt *in)
{
    in->on_interrupt = NULL;
    atomic_store(&in->stopping, true);
    pthread_kill(in->thread, SIGINT);
    pthread_join(in->thread, NULL);
    if (in->on_hangup)
        sigaddset(&in->old_mask, SIGHUP);
    pthread_sigmask(SIG_SETMASK, &in->old_mask, NULL);
}
