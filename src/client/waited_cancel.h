/* clang-format off */
/* The cancel handle of work that runs on the loop while a thread waits for it, with its struct on that
 * thread's stack. The handle may be triggered on any thread at any time, so its mail to the loop may
 * cross the end of the work: the thread is woken only when no mail is on its way.
 *
 *   cor_waited_cancel_begin() ──► on_cancel(): ends the work ──► cor_waited_cancel_end() ──► on_gone(), once and last
 *                            └──► the work ends by itself ─────┘
 *
 * Owner: the work embeds it.  Thread: the loop. */
/* clang-format on */
#ifndef COR_CLIENT_WAITED_CANCEL_H
#define COR_CLIENT_WAITED_CANCEL_H

#include <stdbool.h>

#include "client/cancel.h"
#include "loop/mailbox.h"

struct cor_loop;

struct cor_waited_cancel {
    /* Set by the owner. */
    void (*on_cancel)(struct cor_waited_cancel *wc); /* must call cor_waited_cancel_end() */
    void (*on_gone)(struct cor_waited_cancel *wc);   /* the memory may go */
    struct cor_loop *loop;
    /* Its own. */
    struct cor_cancel_hook hook;
    struct cor_mail mail;
    bool is_posted;    /* under the lock of the handle */
    bool is_delivered; /* the mail was */
    bool is_over;      /* only the mail is waited for */
};

/* `cancel` may be NULL. False: the handle was triggered already, and on_cancel is not called.
 * cor_waited_cancel_end() follows in either case. */
bool cor_waited_cancel_begin(struct cor_waited_cancel *wc, struct cor_cancel *cancel);

/* on_cancel is not called any more. Calls on_gone, or has the mail that is on its way call it. */
void cor_waited_cancel_end(struct cor_waited_cancel *wc);

#endif
