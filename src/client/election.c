/* clang-format off */
/* The public election: the Lease election of the kit on the client's API port, with a timer of the
 * loop and the hops from other threads.
 *
 *   any thread                                    the loop
 *   cor_election_new() ──── run on the loop ────► the election starts
 *   cor_election_is_leader() … ◄── a copy ─────── on_observed: what was last seen
 *   cor_election_cancel() ─────── mail ─────────► the election ends, after a release if wanted
 *   cor_election_free() waits ◄── `over` ──────── on_stopped
 *                  ──── a last mail ────────────► the election is freed
 *                       waits ◄── `gone` ────────
 *
 * A timer that is always set can be moved without memory, so nothing fails after the start.
 * Thread: the loop, except for the public functions. */
/* clang-format on */
#include "coracle/election.h"
#include "base/lock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "kit/election/leader_election.h"
#include "kit/election/lease_election.h"
#include "kit/election/lease_record.h"
#include "loop/timer.h"

_Static_assert(COR_ELECTION_LABELS_MAX == COR_LEASE_LABELS_MAX, "one bound, two names");

struct cor_election {
    struct cor_client *client;
    struct cor_loop *loop;
    struct cor_election_opts opts;
    struct cor_lease_election *kit; /* the loop's */
    struct cor_timer timer;         /* always set, so that moving it cannot fail */
    atomic_bool is_leader;
    struct cor_lock lock; /* a leaf; guards the copy of what was last seen, for any thread: */
    char holder[COR_LEADER_IDENTITY_MAX + 1];
    uint64_t lapses_at_ms; /* by the runtime's clock; UINT64_MAX: another leads, or nobody */
    atomic_bool cancel_asked;
    struct cor_mail cancel, last; /* the second is posted after the first */
    struct cor_waiter over, gone;
};

static void on_observed(void *arg)
{
    struct cor_election *e = arg;

    atomic_store(&e->is_leader, cor_lease_election_is_leader(e->kit));
    cor_lock_acquire(&e->lock);
    snprintf(e->holder, sizeof(e->holder), "%s", cor_lease_election_holder(e->kit));
    e->lapses_at_ms = cor_lease_election_lapses_at_ms(e->kit);
    cor_lock_release(&e->lock);
}

static void on_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_election *e = arg;
    uint64_t now = cor_clock_mono_ms(e->client->runtime->clock);
    uint64_t delay_ms = at_ms == UINT64_MAX ? UINT64_MAX : at_ms > now ? at_ms - now : 0;

    cor_timer_set(&e->timer, delay_ms);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_election *e = COR_CONTAINER_OF(timer, struct cor_election, timer);

    cor_timer_set(&e->timer, UINT64_MAX);
    cor_lease_election_tick(e->kit);
}

static void record_event(struct cor_election *e, const char *text)
{
    struct cor_object *lease = cor_lease_election_peek(e->kit);

    if (e->opts.events && lease)
        cor_events_record(e->opts.events, lease, COR_EVENT_NORMAL, "LeaderElection", "%s %s",
                          cor_lease_election_identity(e->kit), text);
}

static void on_started(void *arg)
{
    struct cor_election *e = arg;

    record_event(e, "became leader");
    e->opts.on_started(e->opts.arg);
}

static void on_stopped(void *arg)
{
    struct cor_election *e = arg;

    if (cor_lease_election_has_led(e->kit))
        record_event(e, "stopped leading");
    e->opts.on_stopped(e->opts.arg);
    cor_waiter_set(&e->over);
}

static void on_new_leader(void *arg, const char *identity)
{
    struct cor_election *e = arg;

    cor_runtime_log(e->client->runtime, COR_SEVERITY_INFO, "lease %s/%s: the leader is %s",
                    e->opts.ns, e->opts.name, identity);
    if (e->opts.on_new_leader)
        e->opts.on_new_leader(e->opts.arg, identity);
}

static void on_error(void *arg, const struct cor_status *error)
{
    struct cor_election *e = arg;

    cor_runtime_log(e->client->runtime, COR_SEVERITY_WARNING, "lease %s/%s: %s", e->opts.ns,
                    e->opts.name, cor_status_message(error));
    if (e->opts.on_error)
        e->opts.on_error(e->opts.arg, error);
}

static void on_cancel_mail(struct cor_mail *mail)
{
    struct cor_election *e = COR_CONTAINER_OF(mail, struct cor_election, cancel);

    cor_lease_election_cancel(e->kit, cor_client_end_left_ms(e->client));
}

/* On the loop. The election has not started, or has ended. */
static void election_free_parts(void *arg)
{
    struct cor_election *e = arg;

    cor_timer_cancel(&e->timer);
    e->kit = cor_lease_election_free(e->kit);
}

static void on_last_mail(struct cor_mail *mail)
{
    struct cor_election *e = COR_CONTAINER_OF(mail, struct cor_election, last);

    election_free_parts(e);
    cor_waiter_set(&e->gone);
}

static void election_free_rest(struct cor_election *e)
{
    cor_waiter_deinit(&e->over);
    cor_waiter_deinit(&e->gone);
    cor_lock_deinit(&e->lock);
    cor_free(e);
}

/* On the loop. */
static int election_start(void *arg, struct cor_status *reterr)
{
    struct cor_election *e = arg;
    const struct cor_lease_election_opts opts = {
        .port = &e->client->port.port,
        .clock = e->client->runtime->clock,
        .ns = cor_strz(e->opts.ns),
        .name = cor_strz(e->opts.name),
        .labels = e->opts.labels,
        .nlabels = e->opts.nlabels,
        .identity = e->opts.identity,
        .lease_ms = e->opts.lease_ms,
        .renew_ms = e->opts.renew_ms,
        .retry_ms = e->opts.retry_ms,
        .release_on_cancel = e->opts.release_on_cancel,
        .wake_at = on_wake_at,
        .on_observed = on_observed,
        .on_started = e->opts.on_started ? on_started : NULL,
        .on_stopped = e->opts.on_stopped ? on_stopped : NULL,
        .on_new_leader = on_new_leader,
        .on_error = on_error,
        .arg = e,
    };
    int r = cor_lease_election_new(&opts, &e->kit, reterr);

    if (r < 0)
        return r;
    r = cor_timer_set(&e->timer, UINT64_MAX);
    if (r < 0)
        return cor_status_set(reterr, r, "make an election");
    cor_lease_election_start(e->kit);
    return 0;
}

int cor_election_new(struct cor_client *client, const struct cor_election_opts *opts,
                     struct cor_election **ret_election, struct cor_status *reterr)
{
    struct cor_election_opts o;
    struct cor_election *e;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "make an election: %s", cor_sized_text(r));
    if (atomic_load(&client->is_stopped))
        return cor_status_set(reterr, -COR_ECANCELED, COR_CLIENT_STOPPED);
    e = cor_calloc(1, sizeof(*e));
    if (!e)
        return cor_status_set(reterr, -COR_ENOMEM, "make an election");
    e->client = client;
    e->loop = client->runtime->loop;
    e->opts = o;
    e->cancel.on_mail = on_cancel_mail;
    e->last.on_mail = on_last_mail;
    cor_timer_init(&e->timer, e->loop, on_timer);
    cor_lock_init(&e->lock, COR_LOCK_ELECTION);
    e->lapses_at_ms = UINT64_MAX;
    cor_waiter_init(&e->over);
    cor_waiter_init(&e->gone);
    r = cor_runtime_try(client->runtime, election_start, e, reterr);
    if (r < 0) {
        cor_runtime_run(client->runtime, election_free_parts, e);
        election_free_rest(e);
        return r;
    }
    atomic_fetch_add(&client->nusers, 1);
    *ret_election = e;
    return 0;
}

void cor_election_cancel(struct cor_election *e)
{
    if (!cor_runtime_is_forked(e->client->runtime) && !atomic_exchange(&e->cancel_asked, true))
        cor_loop_post_always(e->loop, &e->cancel);
}

struct cor_election *cor_election_free(struct cor_election *e)
{
    struct cor_client *client;
    int r;

    if (!e || cor_runtime_is_forked(e->client->runtime))
        return NULL;
    client = e->client;
    assert(!cor_runtime_is_inside(client->runtime) &&
           "cor_election_free() was called inside a callback");
    cor_election_cancel(e);
    r = cor_runtime_wait(client->runtime, &e->over, COR_WAIT_FOREVER);
    assert(r == 0);
    (void)r;
    cor_loop_post_always(e->loop, &e->last);
    cor_runtime_wait(client->runtime, &e->gone, COR_WAIT_FOREVER);
    election_free_rest(e);
    atomic_fetch_sub(&client->nusers, 1);
    return NULL;
}

bool cor_election_is_leader(const struct cor_election *e)
{
    return atomic_load(&e->is_leader);
}

size_t cor_election_leader(struct cor_election *e, char *to, size_t cap)
{
    int n;

    cor_lock_acquire(&e->lock);
    n = snprintf(to, cap, "%s", e->holder);
    cor_lock_release(&e->lock);
    return (size_t)n;
}

bool cor_election_is_stale(struct cor_election *e, uint64_t tolerance_ms)
{
    uint64_t now = cor_clock_mono_ms(e->client->runtime->clock), at_ms;

    cor_lock_acquire(&e->lock);
    at_ms = e->lapses_at_ms;
    cor_lock_release(&e->lock);
    return at_ms != UINT64_MAX && now > at_ms && now - at_ms > tolerance_ms;
}
