/* Turns SIGINT and SIGTERM, and SIGHUP if that is wanted, into mails on a loop.
 * Thread: one of its own waits for the signals; the rest is the loop's.  Owner: whoever embeds it.
 */
#ifndef COR_CMD_INTERRUPT_H
#define COR_CMD_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "loop/loop.h"

struct interrupt {
    struct cor_mail mail, hangup_mail;
    struct cor_loop *loop;
    pthread_t thread;
    sigset_t signals, old_mask;
    _Atomic bool stopping;         /* the next signal is only to wake the thread */
    _Atomic bool hangup_is_posted; /* hangup_mail has not arrived yet */
    void (*on_hangup)(void *arg);  /* set before interrupt_block(): for each SIGHUP, on the loop */
    void (*on_interrupt)(void *arg); /* on the loop, at most once */
    void *arg;
};

/* Blocks the signals in the calling thread and those it makes later: call it before others are
 * started.
 */
void interrupt_block(struct interrupt *in);

/* 0, or -COR_EIO. */
int interrupt_start(struct interrupt *in, struct cor_loop *loop, void (*on_interrupt)(void *arg),
                    void *arg);

/* No call after this. SIGHUP, if it was wanted, stays blocked; the others do again what they did.
 */
void interrupt_stop(struct interrupt *in);

#endif
