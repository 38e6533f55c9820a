/* clang-format off */
/* The changes that wait for room in a controller's queue:
 *
 *   a change ──► the control loop ──► queued
 *       │             └── the queue is full (-COR_EBUSY) ──► the end of the list ──► a run begins or ends: fed again
 *       └── others wait already ───────────────────────────────▲
 *
 * A queue that is full has keys to run, so that the next run comes without a timer. Failures: without
 * memory to hold a change the caller gets the error; a held change that cannot be queued for another
 * reason is judged as a new one is (cor_controller_judge()).
 * Thread: the loop. */
/* clang-format on */
#include "client/controller/held_changes.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/controller/manager_int.h"

struct held_change {
    struct cor_dlist link;
    struct cor_controller_source *source; /* NULL: a key */
    struct cor_control_event event;       /* with references to its objects */
    uint64_t due_ms;                      /* of a key: by the runtime's clock */
    size_t ns_n, name_n;
    char text[]; /* ns, then name */
};

static void held_free(struct held_change *change)
{
    cor_object_unref((struct cor_object *)change->event.object);
    cor_object_unref((struct cor_object *)change->event.old);
    cor_free(change);
}

void cor_held_changes_init(struct cor_held_changes *held)
{
    cor_dlist_init(&held->list);
}

void cor_held_changes_deinit(struct cor_held_changes *held)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&held->list)))
        held_free(COR_CONTAINER_OF(link, struct held_change, link));
}

/* Takes a place at the end. The first one is logged. */
static int held_push(struct cor_controller *c, struct held_change *take_change)
{
    if (!take_change)
        return -COR_ENOMEM;
    if (cor_dlist_empty(&c->held.list))
        cor_manager_log(c->manager, "controller %s: the queue is full, and changes wait for room",
                        cor_control_loop_name(c->loop));
    cor_dlist_push(&c->held.list, &take_change->link);
    return 0;
}

static struct cor_object *object_ref(const struct cor_object *object)
{
    return object ? cor_object_ref((struct cor_object *)object) : NULL;
}

int cor_controller_feed_event(struct cor_controller_source *source,
                              const struct cor_control_event *event)
{
    struct cor_controller *c = source->controller;
    struct held_change *change;
    int r = cor_dlist_empty(&c->held.list) ? cor_control_loop_event(c->loop, source->kit, event)
                                           : -COR_EBUSY;

    if (r != -COR_EBUSY)
        return r;
    change = cor_calloc(1, sizeof(*change));
    if (change) {
        change->source = source;
        change->event = *event;
        change->event.object = object_ref(event->object);
        change->event.old = object_ref(event->old);
    }
    return held_push(c, change);
}

int cor_controller_feed_key(struct cor_controller *c, struct cor_str ns, struct cor_str name,
                            uint64_t delay_ms)
{
    struct held_change *change;
    int r = cor_dlist_empty(&c->held.list) ? cor_control_loop_enqueue(c->loop, ns, name, delay_ms)
                                           : -COR_EBUSY;

    if (r != -COR_EBUSY)
        return r;
    change = cor_calloc(1, sizeof(*change) + ns.n + name.n);
    if (change) {
        uint64_t now = cor_clock_mono_ms(c->manager->runtime->clock);

        change->due_ms = delay_ms < UINT64_MAX - now ? now + delay_ms : UINT64_MAX;
        change->ns_n = ns.n;
        change->name_n = name.n;
        if (ns.n > 0)
            memcpy(change->text, ns.p, ns.n);
        memcpy(change->text + ns.n, name.p, name.n);
    }
    return held_push(c, change);
}

static int held_feed(struct cor_controller *c, const struct held_change *change)
{
    uint64_t now = cor_clock_mono_ms(c->manager->runtime->clock);

    if (change->source)
        return cor_control_loop_event(c->loop, change->source->kit, &change->event);
    return cor_control_loop_enqueue(c->loop, cor_str(change->text, change->ns_n),
                                    cor_str(change->text + change->ns_n, change->name_n),
                                    change->due_ms > now ? change->due_ms - now : 0);
}

void cor_controller_feed_held(struct cor_controller *c)
{
    assert(cor_loop_is_current(c->manager->runtime->loop));
    while (!cor_dlist_empty(&c->held.list)) {
        struct held_change *change = COR_CONTAINER_OF(c->held.list.next, struct held_change, link);
        int r = held_feed(c, change);

        if (r == -COR_EBUSY)
            return;
        cor_dlist_remove(&change->link);
        cor_controller_judge(c, change->source, r);
        held_free(change);
    }
}
