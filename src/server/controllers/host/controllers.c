/* clang-format off */
/* The life of the controllers inside the server. A slot per controller that is enabled:
 *
 *   IDLE ──new, start──► RUNS ──stop──► STOPPING ──on_stopped──► ENDED ──free, in a turn of the host──► IDLE
 *    ▲                    └── on_stopped by itself ────────────────▲                                     │
 *    └──────────────────────────── a second later, unless the host stops ───────────────────────────────┘
 *
 * With other servers on the store there is an election first:
 *
 *   elect ──► the Lease is won: all slots run ──► it is lost: all slots are stopped ──► elect again
 *
 * Everything that changes a slot or the election only notes it and wakes the host; host_turn(), on
 * the host's timer, does what follows. So no controller is freed inside its own callback. Both
 * timers are always set, far away when there is nothing to do, so that moving them needs no memory.
 *
 * Failures: a controller that cannot be made or started, or ends by itself, is logged and tried again a second later.
 * An election that ends is begun again. Controllers that do not end within the bound of the stop are reported by their
 * control loop; the host then waits for the port's requests only.
 * Thread: the host's loop. */
/* clang-format on */
#include "server/controllers/host/controllers.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "kit/election/lease_election.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "server/api/api.h"
#include "server/controllers/host/controller_events.h"
#include "server/controllers/host/controller_table.h"
#include "server/port/inner_port.h"

#define NEVER            UINT64_MAX
#define RESTART_MS       1000
#define STOP_MS          1000 /* for the controllers of a server that has lost the Lease */
#define IDLE_CHECK_MS    2
#define NAME_OF_HOST_MAX 256
/* kube-controller-manager's. */
#define LEASE_MS 15000
#define RENEW_MS 10000
#define RETRY_MS 2000
/* The manager of all fields that upstream's controllers write. */
#define USER_AGENT "kube-controller-manager"

struct controller_slot {
    struct cor_controller_host *host;
    const struct cor_server_controller_ops *ops;
    struct cor_inner_port port;
    struct cor_controller_events events;
    void *controller; /* NULL: IDLE */
    enum { SLOT_IDLE, SLOT_RUNS, SLOT_STOPPING, SLOT_ENDED } state;
    uint64_t again_ms; /* IDLE: when it is started */
};

struct cor_controller_host {
    struct cor_controller_host_opts opts;
    struct cor_loop *loop;
    const struct cor_clock *clock;
    struct cor_rand rand;
    struct cor_timer timer; /* always set, as is election_timer */
    struct cor_served_follower served;
    bool is_running; /* the slots are to run: there is no election, or it is won */
    bool is_stopping;
    uint64_t stop_by_ms;
    void (*on_stopped)(void *arg);
    void *arg;

    struct cor_lease_election *election; /* NULL: there is none at the moment */
    struct cor_inner_port election_port;
    struct cor_timer election_timer;
    uint64_t elect_ms; /* when an election that could not be made is tried again */
    char identity[NAME_OF_HOST_MAX + 64];

    struct cor_lock lock; /* guards `controller` of each slot against scrapes of other threads */
    size_t nslots;
    struct controller_slot slots[COR_SERVER_CONTROLLERS_MAX];
};

static uint64_t host_now_ms(const struct cor_controller_host *host)
{
    return cor_clock_mono_ms(host->clock);
}

static void host_set_timer(struct cor_controller_host *host, struct cor_timer *timer,
                           uint64_t at_ms)
{
    uint64_t now = host_now_ms(host);

    (void)cor_timer_set(timer, at_ms == NEVER ? NEVER : at_ms > now ? at_ms - now : 0);
}

static void host_wake(struct cor_controller_host *host)
{
    host_set_timer(host, &host->timer, 0);
}

/* ---- slots ---- */

static void slot_on_record(void *arg, const struct cor_event_told *told)
{
    struct controller_slot *slot = arg;

    cor_controller_events_record(&slot->events, told);
}

static void slot_on_stopped(void *arg, const struct cor_status *why)
{
    struct controller_slot *slot = arg;

    assert(slot->state == SLOT_RUNS || slot->state == SLOT_STOPPING);
    if (why)
        COR_LOG_WARN("a controller has ended", COR_F_STR("controller", slot->ops->name),
                     COR_F_STR("reason", cor_status_message(why)), COR_F_ERR(why->err));
    slot->state = SLOT_ENDED;
    host_wake(slot->host);
}

static void slot_free_controller(struct controller_slot *slot)
{
    void *controller;

    cor_lock_acquire(&slot->host->lock);
    controller = COR_STEAL(slot->controller);
    cor_lock_release(&slot->host->lock);
    if (controller)
        slot->ops->free(controller);
    cor_controller_events_deinit(&slot->events);
    slot->state = SLOT_IDLE;
    slot->again_ms = host_now_ms(slot->host) + slot->host->opts.restart_ms;
}

static bool slot_creates_in(void *arg, struct cor_str ns)
{
    const struct controller_slot *slot = arg;

    return cor_api_creates_in(slot->host->opts.api, ns);
}

static void slot_begin(struct controller_slot *slot)
{
    struct cor_controller_host *host = slot->host;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const struct cor_server_controller_env env = {.port = &slot->port.port,
                                                  .clock = host->clock,
                                                  .rand = &host->rand,
                                                  .root_ca = host->opts.root_ca,
                                                  .has_others = host->opts.has_others,
                                                  .repair = cor_api_repair_port(host->opts.api),
                                                  .creates_in = slot_creates_in,
                                                  .record = slot_on_record,
                                                  .on_stopped = slot_on_stopped,
                                                  .arg = slot};
    void *controller = NULL;
    int r = slot->ops->new (&env, &controller, &why);

    assert(slot->state == SLOT_IDLE);
    cor_lock_acquire(&host->lock);
    slot->controller = controller;
    cor_lock_release(&host->lock);
    if (r == 0)
        r = slot->ops->start(slot->controller, &why);
    if (r == 0) {
        slot->state = SLOT_RUNS;
        return;
    }
    COR_LOG_WARN("a controller could not be started", COR_F_STR("controller", slot->ops->name),
                 COR_F_STR("reason", cor_status_message(&why)), COR_F_ERR(r));
    slot_free_controller(slot);
}

static void slot_stop(struct controller_slot *slot, uint64_t max_ms)
{
    if (slot->state != SLOT_RUNS)
        return;
    slot->state = SLOT_STOPPING;
    slot->ops->stop(slot->controller, max_ms);
}

static void host_stop_slots(struct cor_controller_host *host, uint64_t max_ms)
{
    for (size_t i = 0; i < host->nslots; i++)
        slot_stop(&host->slots[i], max_ms);
}

/* A controller that is not running enumerates when it starts. */
static void host_on_served(struct cor_served_follower *follower)
{
    struct cor_controller_host *host =
        COR_CONTAINER_OF(follower, struct cor_controller_host, served);

    for (size_t i = 0; i < host->nslots; i++) {
        const struct controller_slot *slot = &host->slots[i];

        if (slot->state == SLOT_RUNS && slot->ops->resources_changed)
            slot->ops->resources_changed(slot->controller);
    }
}

/* ---- the election ---- */

static void election_on_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_controller_host *host = arg;

    host_set_timer(host, &host->election_timer, at_ms);
}

static void election_on_timer(struct cor_timer *timer)
{
    struct cor_controller_host *host =
        COR_CONTAINER_OF(timer, struct cor_controller_host, election_timer);

    (void)cor_timer_set(timer, NEVER);
    if (host->election)
        cor_lease_election_tick(host->election);
}

static void election_on_started(void *arg)
{
    struct cor_controller_host *host = arg;

    COR_LOG_INFO("this server runs the controllers", COR_F_STR("identity", host->identity));
    host->is_running = true;
    host_wake(host);
}

static void election_on_stopped(void *arg)
{
    struct cor_controller_host *host = arg;

    if (!host->is_stopping)
        COR_LOG_INFO("this server does not run the controllers any more",
                     COR_F_STR("identity", host->identity));
    host->is_running = false;
    host_wake(host);
}

static void election_on_error(void *arg, const struct cor_status *error)
{
    COR_LOG_DEBUG("the Lease of the controllers could not be read or written",
                  COR_F_STR("answer", cor_status_message(error)), COR_F_ERR(error->err));
}

static void host_elect(struct cor_controller_host *host)
{
    const struct cor_lease_election_opts opts = {
        .port = &host->election_port.port,
        .clock = host->clock,
        .rand = &host->rand,
        .ns = COR_STR("kube-system"),
        .name = COR_STR(COR_CONTROLLERS_LEASE),
        .identity = host->identity,
        .lease_ms = LEASE_MS,
        .renew_ms = RENEW_MS,
        .retry_ms = RETRY_MS,
        .release_on_cancel = true,
        .wake_at = election_on_wake_at,
        .on_started = election_on_started,
        .on_stopped = election_on_stopped,
        .on_error = election_on_error,
        .arg = host,
    };

    assert(!host->election && !host->is_stopping);
    if (cor_lease_election_new(&opts, &host->election, NULL) < 0)
        host->elect_ms = host_now_ms(host) + host->opts.restart_ms; /* there was no memory */
    else
        cor_lease_election_start(host->election);
}

/* ---- turns ---- */

static bool host_has_ended_slots(const struct cor_controller_host *host)
{
    for (size_t i = 0; i < host->nslots; i++)
        if (host->slots[i].state != SLOT_IDLE)
            return false;
    return true;
}

static bool host_is_idle(const struct cor_controller_host *host)
{
    for (size_t i = 0; i < host->nslots; i++)
        if (!cor_inner_port_is_idle(&host->slots[i].port))
            return false;
    return cor_inner_port_is_idle(&host->election_port);
}

/* The Lease is released when the last controller has ended, so that no other server runs them at
 * the same time. A port frees its cancelled requests in a later turn, which it does not report. */
static void host_turn_stopping(struct cor_controller_host *host)
{
    void (*on_stopped)(void *arg) = host->on_stopped;
    uint64_t now = host_now_ms(host);

    if (!host_has_ended_slots(host))
        return; /* on_stopped of a slot wakes the host */
    if (host->election) {
        cor_lease_election_cancel(host->election,
                                  host->stop_by_ms > now ? host->stop_by_ms - now : 1);
        return; /* its on_stopped wakes the host */
    }
    if (!host_is_idle(host)) {
        host_set_timer(host, &host->timer, host_now_ms(host) + IDLE_CHECK_MS);
        return;
    }
    cor_timer_cancel(&host->timer);
    cor_timer_cancel(&host->election_timer);
    cor_api_unfollow_served(&host->served);
    host->on_stopped = NULL;
    on_stopped(host->arg); /* this may free the host */
}

static void host_turn(struct cor_timer *timer)
{
    struct cor_controller_host *host = COR_CONTAINER_OF(timer, struct cor_controller_host, timer);
    uint64_t now = host_now_ms(host), next = NEVER;

    (void)cor_timer_set(timer, NEVER);
    if (host->election && cor_lease_election_is_over(host->election)) {
        host->election = cor_lease_election_free(host->election);
        host->elect_ms = now;
        host_stop_slots(host, STOP_MS); /* when the host stops they have been stopped before */
    }
    for (size_t i = 0; i < host->nslots; i++)
        if (host->slots[i].state == SLOT_ENDED)
            slot_free_controller(&host->slots[i]);
    if (host->is_stopping) {
        host_turn_stopping(host);
        return;
    }
    if (host->opts.has_others && !host->election) {
        if (host->elect_ms <= now)
            host_elect(host);
        if (!host->election)
            next = host->elect_ms;
    }
    for (size_t i = 0; host->is_running && i < host->nslots; i++) {
        struct controller_slot *slot = &host->slots[i];

        if (slot->state == SLOT_IDLE && slot->again_ms <= now)
            slot_begin(slot);
        if (slot->state == SLOT_IDLE && slot->again_ms < next)
            next = slot->again_ms;
    }
    if (next != NEVER)
        host_set_timer(host, timer, next);
}

/* ---- life ---- */

int cor_controller_host_new(const struct cor_controller_host_opts *opts,
                            struct cor_controller_host **ret_host, struct cor_status *reterr)
{
    COR_CLEANUP(cor_controller_host_freep) struct cor_controller_host *host = NULL;
    char name[NAME_OF_HOST_MAX] = "";

    assert(opts->api);
    host = cor_calloc(1, sizeof(*host));
    if (!host)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    host->opts = *opts;
    if (!opts->table) {
        host->opts.table = cor_server_controllers;
        host->opts.ntable = cor_nserver_controllers;
    }
    if (opts->restart_ms == 0)
        host->opts.restart_ms = RESTART_MS;
    assert(host->opts.ntable <= COR_SERVER_CONTROLLERS_MAX);
    host->clock = cor_clock_real();
    cor_lock_init(&host->lock, COR_LOCK_CONTROLLER_HOST);
    cor_rand_init(&host->rand);
    cor_inner_port_init(&host->election_port, opts->api, COR_STR(""), COR_STR("coracle"), 0);
    host->loop = host->election_port.port.loop;
    cor_dlist_init(&host->served.link);
    host->served.on_served = host_on_served;
    cor_timer_init(&host->timer, host->loop, host_turn);
    cor_timer_init(&host->election_timer, host->loop, election_on_timer);
    if (gethostname(name, sizeof(name) - 1) < 0 || !name[0])
        snprintf(name, sizeof(name), "unknown");
    snprintf(host->identity, sizeof(host->identity), "%s_%016llx", name,
             (unsigned long long)cor_rand_u64(&host->rand));
    for (size_t i = 0; i < host->opts.ntable; i++) {
        const struct cor_server_controller_ops *ops = host->opts.table[i];
        struct controller_slot *slot = &host->slots[host->nslots];

        if (!cor_server_controller_is_enabled(opts->controllers, ops->name))
            continue;
        slot->host = host;
        slot->ops = ops;
        cor_inner_port_init(&slot->port, opts->api, cor_strz(ops->account), COR_STR(USER_AGENT), 0);
        cor_controller_events_init(&slot->events, &slot->port.port, ops->name, host->clock,
                                   &host->rand);
        host->nslots++;
    }
    if (cor_timer_set(&host->timer, NEVER) < 0 || cor_timer_set(&host->election_timer, NEVER) < 0)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    *ret_host = COR_STEAL(host);
    return 0;
}

struct cor_controller_host *cor_controller_host_free(struct cor_controller_host *host)
{
    if (!host)
        return NULL;
    assert(host_has_ended_slots(host) && !host->election);
    cor_timer_cancel(&host->timer);
    cor_timer_cancel(&host->election_timer);
    for (size_t i = 0; i < host->nslots; i++)
        cor_inner_port_deinit(&host->slots[i].port);
    cor_inner_port_deinit(&host->election_port);
    cor_lock_deinit(&host->lock);
    return cor_free(host);
}

void cor_controller_host_start(struct cor_controller_host *host)
{
    assert(cor_loop_is_current(host->loop) && !host->is_stopping);
    host->is_running = !host->opts.has_others;
    if (host->nslots == 0)
        return;
    cor_api_follow_served(host->opts.api, &host->served);
    host_wake(host);
}

void cor_controller_host_stop(struct cor_controller_host *host, uint64_t max_ms,
                              void (*on_stopped)(void *arg), void *arg)
{
    assert(cor_loop_is_current(host->loop) && !host->is_stopping && on_stopped);
    host->is_stopping = true;
    host->stop_by_ms = host_now_ms(host) + max_ms;
    host->on_stopped = on_stopped;
    host->arg = arg;
    host_stop_slots(host, max_ms);
    host_wake(host);
}

void cor_controller_host_each_queue(struct cor_controller_host *host,
                                    void (*fn)(void *arg, const char *queue,
                                               const struct cor_workqueue_stats *stats),
                                    void *arg)
{
    cor_lock_acquire(&host->lock);
    for (size_t i = 0; i < host->nslots; i++) {
        struct controller_slot *slot = &host->slots[i];
        const char *const *names = slot->ops->queues;

        if (!slot->controller || !slot->ops->loop)
            continue;
        for (size_t q = 0; q < COR_SERVER_CONTROLLER_QUEUES_MAX && (q == 0 || names[q]); q++) {
            struct cor_workqueue_stats stats;

            cor_control_loop_queue_stats(slot->ops->loop(slot->controller, q), &stats);
            fn(arg, names[q] ? names[q] : slot->ops->name, &stats);
        }
    }
    cor_lock_release(&host->lock);
}
