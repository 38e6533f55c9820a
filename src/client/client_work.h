/* clang-format off */
/* What is under way on a client, whatever it is: a call, a change, an apply, a raw request, a pause. It is in
 * one list of the client from its begin to its end, so that a stop ends all of it in one way, and a cancel
 * handle ends it in the same way. The handle may be triggered on any thread at any time, so its mail to the
 * loop may cross the end: the memory is let go when no mail is on its way.
 *
 *   cor_client_work_begin() ──► give_up(), or the work ends by itself ──► cor_client_work_end() ──► the result is told
 *   ──► cor_client_work_release() ──► on_gone(), once and last
 *
 * Owner: the work embeds it.  Thread: the loop. */
/* clang-format on */
#ifndef COR_CLIENT_CLIENT_WORK_H
#define COR_CLIENT_CLIENT_WORK_H

#include <stdbool.h>

#include "base/dlist.h"
#include "client/cancel.h"
#include "client/runtime/runtime_int.h"
#include "loop/mailbox.h"

struct cor_client;

struct cor_client_work {
    /* Set by the owner. */
    struct cor_client *client; /* was entered for it, and is left after the end */
    /* Ends the work with -COR_ECANCELED, for the reason `text`: must call cor_client_work_end(). */
    void (*give_up)(struct cor_client_work *work, const char *text);
    void (*on_gone)(struct cor_client_work *work); /* the memory may go */
    /* Its own. */
    struct cor_dlist link; /* in the client's `under_way` */
    struct cor_cancel_hook hook;
    struct cor_mail mail;
    struct cor_loop *loop; /* outlives the client */
    bool is_posted;        /* under the lock of the handle */
    bool is_delivered;     /* the mail was */
    bool is_over;
    bool is_released;
};

/* `cancel` may be NULL. False: the handle was triggered already, and give_up() was called. */
bool cor_client_work_begin(struct cor_client_work *work, struct cor_cancel *cancel);

/* give_up() is not called any more. */
void cor_client_work_end(struct cor_client_work *work);

/* After the end: calls on_gone, or has the mail that is on its way call it. */
void cor_client_work_release(struct cor_client_work *work);

/* Gives up all that is under way. */
void cor_client_work_stop(struct cor_client *client);

/* Work that a thread waits for, with the struct on its stack. */
struct cor_waited_work {
    struct cor_client_work work; /* only give_up is set by the owner */
    struct cor_waiter done;
};

/* Runs `begin(arg)` on the loop, which begins the work, and waits until it has finished. 0, or as
 * cor_client_wait_for(): then nothing is run. */
int cor_waited_work_run(struct cor_waited_work *ww, struct cor_client *client,
                        void (*begin)(void *arg), void *arg, struct cor_status *reterr);

/* Ends the work, leaves the client, and wakes the thread. */
void cor_waited_work_finish(struct cor_waited_work *ww);

#endif
