/* One timer serves both wishes of the sender: it expires at once when there is something to send,
 * and at the time of the next try. It is set as long as there is a sender, so that moving it needs
 * no memory.
 * Thread: the port's loop. */
#include "server/controllers/host/controller_events.h"

#include <assert.h>

#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"

#define NEVER      UINT64_MAX
#define REQUEST_MS 30000

static void events_set_timer(struct cor_controller_events *events)
{
    uint64_t now = cor_clock_mono_ms(events->clock);
    uint64_t at = events->is_ready ? now : events->wake_ms;

    (void)cor_timer_set(&events->timer, at == NEVER ? NEVER : at > now ? at - now : 0);
}

static void events_on_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_controller_events *events = arg;

    events->wake_ms = at_ms;
    events_set_timer(events);
}

/* Events are recorded on the loop alone, so this is on the loop, too. */
static void events_on_ready(void *arg)
{
    struct cor_controller_events *events = arg;

    events->is_ready = true;
    events_set_timer(events);
}

static void events_on_timer(struct cor_timer *timer)
{
    struct cor_controller_events *events =
        COR_CONTAINER_OF(timer, struct cor_controller_events, timer);
    bool is_due = events->wake_ms <= cor_clock_mono_ms(events->clock);
    bool was_ready = events->is_ready;

    events->is_ready = false;
    if (is_due)
        events->wake_ms = NEVER;
    events_set_timer(events);
    if (is_due)
        cor_event_sender_tick(events->sender);
    if (was_ready)
        cor_event_sender_step(events->sender);
}

/* After a shutdown only, which there is none of. */
static void events_on_idle(void *arg)
{
}

static int events_open(struct cor_controller_events *events)
{
    const struct cor_event_sender_opts opts = {.port = events->port,
                                               .timeout_ms = REQUEST_MS,
                                               .component = cor_strz(events->component),
                                               .clock = events->clock,
                                               .rand = events->rand,
                                               .wake_at = events_on_wake_at,
                                               .on_ready = events_on_ready,
                                               .on_idle = events_on_idle,
                                               .arg = events};
    int r = cor_timer_set(&events->timer, NEVER);

    return r < 0 ? r : cor_event_sender_new(&opts, &events->sender);
}

void cor_controller_events_init(struct cor_controller_events *events, struct cor_api_port *port,
                                const char *component, const struct cor_clock *clock,
                                struct cor_rand *rand)
{
    *events = (struct cor_controller_events){
        .port = port, .component = component, .clock = clock, .rand = rand, .wake_ms = NEVER};
    cor_timer_init(&events->timer, port->loop, events_on_timer);
}

void cor_controller_events_deinit(struct cor_controller_events *events)
{
    cor_timer_cancel(&events->timer);
    events->sender = cor_event_sender_free(events->sender);
    events->is_ready = false;
    events->wake_ms = NEVER;
}

void cor_controller_events_record(struct cor_controller_events *events,
                                  const struct cor_event_told *told)
{
    int r = 0;

    assert(cor_loop_is_current(events->port->loop));
    if (!events->sender)
        r = events_open(events);
    if (r == 0)
        r = cor_event_sender_record(events->sender, told);
    if (r < 0)
        COR_LOG_WARN("an event was not recorded", COR_F_STR("controller", events->component),
                     COR_F_STR("reason", told->reason), COR_F_ERR(r));
}
