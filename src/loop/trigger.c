/* A trigger is a flag, and a write to the eventfd that also wakes the loop for mail. The flag is
 * set before the write, and the loop reads the eventfd before it looks at the flags: a trigger that
 * is fired after the look makes the eventfd readable again, so no call is lost. */
#include "loop/trigger.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/loop_int.h"

void cor_trigger_init(struct cor_trigger *trigger, struct cor_loop *loop,
                      void (*on_fired)(struct cor_trigger *trigger))
{
    assert(cor_loop_is_current(loop));
    trigger->loop = loop;
    trigger->on_fired = on_fired;
    atomic_init(&trigger->is_fired, false);
    cor_dlist_push(&loop->triggers, &trigger->link);
}

void cor_trigger_deinit(struct cor_trigger *trigger)
{
    if (!trigger->loop)
        return;
    assert(cor_loop_is_current(trigger->loop));
    cor_dlist_remove(&trigger->link);
    trigger->loop = NULL;
}

void cor_trigger_fire(struct cor_trigger *trigger)
{
    const uint64_t one = 1;
    int kept_errno = errno;
    ssize_t n;

    atomic_store(&trigger->is_fired, true);
    n = write(trigger->loop->wake_fd, &one, sizeof(one));
    (void)n; /* a full eventfd is readable, which is all that is needed */
    errno = kept_errno;
}

/* A callback may remove its own trigger; it must not remove another one. */
void cor_triggers_run(struct cor_loop *loop)
{
    COR_DLIST_FOREACH_SAFE(it, &loop->triggers) {
        struct cor_trigger *trigger = COR_CONTAINER_OF(it, struct cor_trigger, link);

        if (atomic_exchange(&trigger->is_fired, false))
            trigger->on_fired(trigger);
    }
}
