/* The mail of a stepper is on its way at most once: it is posted by the first who asks after it
 * arrived. When the stepper is stopped meanwhile, the mail's arrival is what its owner waits for.
 * Nothing here can fail: a timer that finds no memory is replaced by a mail. */
#include "client/informers/stepper.h"

#include <assert.h>

#include "base/cleanup.h"

#define LATER_MS 1000

void cor_stepper_wake(struct cor_stepper *s)
{
    if (!atomic_exchange(&s->is_posted, true))
        cor_loop_post_always(s->runtime->loop, &s->mail);
}

static void stepper_on_mail(struct cor_mail *mail)
{
    struct cor_stepper *s = COR_CONTAINER_OF(mail, struct cor_stepper, mail);

    atomic_store(&s->is_posted, false);
    if (s->is_stopped) {
        cor_waiter_set(&s->arrived);
        return;
    }
    switch (s->step(s)) {
    case COR_STEP_DONE:
        break;
    case COR_STEP_MORE:
        cor_stepper_wake(s);
        break;
    case COR_STEP_LATER:
        if (cor_timer_set(&s->later, LATER_MS) < 0)
            cor_stepper_wake(s);
        break;
    }
}

static void stepper_on_later(struct cor_timer *timer)
{
    cor_stepper_wake(COR_CONTAINER_OF(timer, struct cor_stepper, later));
}

void cor_stepper_init(struct cor_stepper *s, struct cor_runtime *runtime,
                      enum cor_step (*step)(struct cor_stepper *s))
{
    *s = (struct cor_stepper){.runtime = runtime, .step = step};
    s->mail.on_mail = stepper_on_mail;
    atomic_init(&s->is_posted, false);
    cor_timer_init(&s->later, runtime->loop, stepper_on_later);
    cor_waiter_init(&s->arrived);
}

void cor_stepper_stop(struct cor_stepper *s)
{
    assert(cor_loop_is_current(s->runtime->loop) && !s->is_stopped);
    s->is_stopped = true;
    cor_timer_cancel(&s->later);
    if (!atomic_load(&s->is_posted))
        cor_waiter_set(&s->arrived);
}

void cor_stepper_deinit(struct cor_stepper *s)
{
    assert(s->is_stopped);
    cor_runtime_wait(s->runtime, &s->arrived, COR_WAIT_FOREVER);
    cor_waiter_deinit(&s->arrived);
}
