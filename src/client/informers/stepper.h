/* A machine that is stepped on a runtime's loop: whoever has work for it asks for a step, on any
 * thread. One mail carries all that was asked for meanwhile, so that a step may find more than one
 * piece of work, or none.
 *
 * Thread: the loop's, but for cor_stepper_wake() (any) and cor_stepper_deinit().  Owner: its
 * embedder. */
#ifndef COR_CLIENT_STEPPER_H
#define COR_CLIENT_STEPPER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "client/runtime/runtime_int.h"

/* What a step leaves behind. */
enum cor_step {
    COR_STEP_DONE,  /* nothing: the next one is asked for */
    COR_STEP_MORE,  /* more work: the next one follows, after other work of the loop */
    COR_STEP_LATER, /* what cannot be done yet: the next one follows in a second, or when asked for
                     */
};

struct cor_stepper {
    struct cor_runtime *runtime;
    enum cor_step (*step)(struct cor_stepper *s);
    struct cor_mail mail;
    atomic_bool is_posted; /* the mail is on its way */
    struct cor_timer later;
    bool is_stopped;
    struct cor_waiter arrived; /* stopped, and no mail is on its way */
};

/* Any thread, before the first cor_stepper_wake(). */
void cor_stepper_init(struct cor_stepper *s, struct cor_runtime *runtime,
                      enum cor_step (*step)(struct cor_stepper *s));

/* Asks for a step. Locks may be held. */
void cor_stepper_wake(struct cor_stepper *s);

/* No step is made afterwards, and none may be asked for. */
void cor_stepper_stop(struct cor_stepper *s);

/* After the stop, outside of the loop's callbacks: waits until the mail that is on its way has
 * arrived. */
void cor_stepper_deinit(struct cor_stepper *s);

#endif
