#include "interrupt.h"

#include "base/cleanup.h"
#include "base/err.h"

void interrupt_block(struct interrupt *in)
{
    sigemptyset(&in->signals);
    sigaddset(&in->signals, SIGINT);
    sigaddset(&in->signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &in->signals, &in->old_mask);
}

static void on_mail(struct cor_mail *mail)
{
    struct interrupt *in = COR_CONTAINER_OF(mail, struct interrupt, mail);

    if (in->on_interrupt)
        in->on_interrupt(in->arg);
}

static void *wait_for_signal(void *arg)
{
    struct interrupt *in = arg;
    int number;

    if (sigwait(&in->signals, &number) == 0 && !atomic_load(&in->stopping))
        cor_loop_reply(in->loop, &in->mail);
    return NULL;
}

int interrupt_start(struct interrupt *in, struct cor_loop *loop, void (*on_interrupt)(void *arg),
                    void *arg)
{
    in->loop = loop;
    in->on_interrupt = on_interrupt;
    in->arg = arg;
    in->mail.on_mail = on_mail;
    cor_list_init(&in->mail.link);
    return pthread_create(&in->thread, NULL, wait_for_signal, in) == 0 ? 0 : -COR_EIO;
}

void interrupt_stop(struct interrupt *in)
{
    in->on_interrupt = NULL;
    atomic_store(&in->stopping, true);
    pthread_kill(in->thread, SIGINT);
    pthread_join(in->thread, NULL);
    pthread_sigmask(SIG_SETMASK, &in->old_mask, NULL);
}
