/* clang-format off */
/* The state machine of an election. The caller brings inputs (start, got, written, tick, cancel)
 * and the time; the driver performs requests and the wake-up.
 *
 *            start
 *  IDLE ------------> ACQUIRING --- acquired ---> RENEWING --- lost, or cancelled --> OVER
 *                       |  ^ pause                 |  ^ pause                          ^
 *                       '--'                       '--'--- cancelled, and releases --> RELEASING
 *
 * A round of ACQUIRING and RENEWING:
 *   the lock is known to be ours ──► update at once (FAST_UPDATE) ──► fails ──► get
 *   else                         ──► get ──► not found: create
 *                                        ──► held by another: the round is lost
 *                                        ──► free, lapsed or ours: update
 * A round that is lost is followed by a pause. While acquiring there is no end to the rounds; while
 * renewing, the leader stops when no round was won within the renew deadline.
 *
 * RELEASING is a get and an update that writes a record without a holder. It ends, whatever came of
 * the two, at its own deadline at the latest.
 * At most one request is under way (`request`). An answer that comes after the driver's cancel
 * would be a mistake of the driver, and is asserted. on_stopped is called exactly once. */
/* clang-format on */
#include "kit/election/leader_election.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define LEASE_MS   15000
#define RENEW_MS   10000
#define RETRY_MS   2000
#define JITTER     1.2
#define RELEASED_S 1
#define NEVER      UINT64_MAX

enum state { IDLE, ACQUIRING, RENEWING, RELEASING, OVER };
enum request { NONE, FAST_UPDATE, GET, CREATE, UPDATE };

struct cor_leader {
    struct cor_leader_opts opts;
    struct cor_leader_driver *driver;
    char identity[COR_LEADER_IDENTITY_MAX + 1];
    enum state state;
    enum request request; /* under way */
    uint64_t now_ms;      /* of the input under way */
    int64_t wall_us;
    uint64_t next_ms;                  /* of the next round, while none is under way */
    uint64_t deadline_ms;              /* of renewing, and of a release */
    uint64_t release_ms;               /* the longest that a release may take */
    struct cor_leader_record observed; /* as it was last seen */
    char version[COR_LEADER_VERSION_MAX + 1];
    bool has_observed;
    uint64_t observed_ms;            /* when it last changed, on this clock */
    struct cor_leader_record wanted; /* of the write under way */
    char reported[COR_LEADER_IDENTITY_MAX + 1];
};

static int check_opts(const struct cor_leader_opts *o, struct cor_status *reterr)
{
    if (!o->identity || !o->identity[0] || strlen(o->identity) > COR_LEADER_IDENTITY_MAX)
        return cor_status_set(reterr, -COR_EINVAL, "identity: 1 to %d bytes are expected",
                              COR_LEADER_IDENTITY_MAX);
    if (o->lease_ms <= o->renew_ms)
        return cor_status_set(reterr, -COR_EINVAL,
                              "leaseDuration must be greater than renewDeadline");
    if ((double)o->renew_ms <= JITTER * (double)o->retry_ms)
        return cor_status_set(reterr, -COR_EINVAL,
                              "renewDeadline must be greater than retryPeriod*JitterFactor");
    if (!o->on_started || !o->on_stopped)
        return cor_status_set(reterr, -COR_EINVAL,
                              "on_started and on_stopped: both callbacks are expected");
    return 0;
}

int cor_leader_new(const struct cor_leader_opts *opts, struct cor_leader_driver *driver,
                   struct cor_leader **ret_leader, struct cor_status *reterr)
{
    struct cor_leader_opts o = *opts;
    struct cor_leader *l;
    int r;

    o.lease_ms = o.lease_ms ? o.lease_ms : LEASE_MS;
    o.renew_ms = o.renew_ms ? o.renew_ms : RENEW_MS;
    o.retry_ms = o.retry_ms ? o.retry_ms : RETRY_MS;
    r = check_opts(&o, reterr);
    if (r < 0)
        return r;
    l = cor_calloc(1, sizeof(*l));
    if (!l)
        return cor_status_set(reterr, -COR_ENOMEM, "no memory for a leader election");
    l->opts = o;
    l->driver = driver;
    l->next_ms = l->deadline_ms = NEVER;
    l->release_ms = o.renew_ms;
    memcpy(l->identity, o.identity, strlen(o.identity));
    *ret_leader = l;
    return 0;
}

struct cor_leader *cor_leader_free(struct cor_leader *l)
{
    assert(!l || l->state == IDLE || l->state == OVER);
    return cor_free(l);
}

bool cor_leader_is_leader(const struct cor_leader *l)
{
    return l->has_observed && strcmp(l->observed.holder, l->identity) == 0;
}

const char *cor_leader_identity(const struct cor_leader *l)
{
    return l->identity;
}

const char *cor_leader_holder(const struct cor_leader *l)
{
    return l->observed.holder;
}

bool cor_leader_is_over(const struct cor_leader *l)
{
    return l->state == OVER;
}

uint64_t cor_leader_lapses_at_ms(const struct cor_leader *l)
{
    return cor_leader_is_leader(l) ? l->observed_ms + l->opts.lease_ms : UINT64_MAX;
}

bool cor_leader_is_stale(const struct cor_leader *l, uint64_t now_ms, uint64_t tolerance_ms)
{
    uint64_t at_ms = cor_leader_lapses_at_ms(l);

    return at_ms != UINT64_MAX && now_ms > at_ms + tolerance_ms;
}

/* Is the lock, as it was last seen, still held? It is until it has not changed for the duration
 * that its own record names, on this clock. */
static bool is_held(const struct cor_leader *l)
{
    return l->observed.holder[0] && l->observed.duration_s > 0 &&
           l->observed_ms + (uint64_t)l->observed.duration_s * 1000 > l->now_ms;
}

static void set_wake(struct cor_leader *l)
{
    uint64_t at = l->request == NONE ? l->next_ms : NEVER;

    if ((l->state == RENEWING || l->state == RELEASING) && l->deadline_ms < at)
        at = l->deadline_ms;
    l->driver->ops->wake_at(l->driver, l->state == OVER ? NEVER : at);
}

static void report_leader(struct cor_leader *l)
{
    if (!l->has_observed || strcmp(l->observed.holder, l->reported) == 0)
        return;
    memcpy(l->reported, l->observed.holder, sizeof(l->reported));
    if (l->opts.on_new_leader)
        l->opts.on_new_leader(l->opts.arg, l->reported);
}

static void set_version(struct cor_leader *l, const char *version)
{
    size_t n = strnlen(version, COR_LEADER_VERSION_MAX);

    memcpy(l->version, version, n);
    l->version[n] = '\0';
}

static void leader_observe(struct cor_leader *l, const struct cor_leader_record *record,
                           const char *version)
{
    bool same = l->has_observed && strcmp(l->observed.holder, record->holder) == 0 &&
                l->observed.duration_s == record->duration_s &&
                l->observed.acquire_us == record->acquire_us &&
                l->observed.renew_us == record->renew_us &&
                l->observed.transitions == record->transitions;

    set_version(l, version);
    if (same)
        return;
    l->observed = *record;
    l->observed_ms = l->now_ms;
    l->has_observed = true;
}

static void leader_stop(struct cor_leader *l)
{
    l->state = OVER;
    l->next_ms = l->deadline_ms = NEVER;
    set_wake(l);
    l->opts.on_stopped(l->opts.arg);
}

static void leader_send(struct cor_leader *l, enum request request)
{
    assert(l->request == NONE);
    l->request = request;
    if (request == GET)
        l->driver->ops->get(l->driver);
    else if (request == CREATE)
        l->driver->ops->create(l->driver, &l->wanted);
    else
        l->driver->ops->update(l->driver, &l->wanted, l->version);
}

/* The record to write when no lock exists. */
static void want_new_lock(struct cor_leader *l)
{
    l->wanted = (struct cor_leader_record){
        .duration_s = (int32_t)(l->opts.lease_ms / 1000),
        .acquire_us = l->wall_us,
        .renew_us = l->wall_us,
    };
    memcpy(l->wanted.holder, l->identity, sizeof(l->wanted.holder));
}

/* The record to write when a lock was observed: it makes this process the holder, or keeps it. */
static void want_lock(struct cor_leader *l)
{
    want_new_lock(l);
    l->wanted.transitions = l->observed.transitions;
    if (cor_leader_is_leader(l))
        l->wanted.acquire_us = l->observed.acquire_us;
    else if (l->wanted.transitions < INT32_MAX)
        l->wanted.transitions++;
}

static void round_begin(struct cor_leader *l)
{
    if (cor_leader_is_leader(l) && is_held(l)) {
        want_lock(l);
        leader_send(l, FAST_UPDATE);
    } else {
        leader_send(l, GET);
    }
    set_wake(l);
}

/* This process holds the lock for another renew deadline. */
static void round_won(struct cor_leader *l)
{
    bool first = l->state == ACQUIRING;

    l->state = RENEWING;
    l->next_ms = l->now_ms + l->opts.retry_ms;
    l->deadline_ms = l->next_ms + l->opts.renew_ms;
    set_wake(l);
    report_leader(l);
    if (first && l->state == RENEWING)
        l->opts.on_started(l->opts.arg);
}

static void round_lost(struct cor_leader *l)
{
    double pause_ms = (double)l->opts.retry_ms;

    if (l->state == ACQUIRING)
        pause_ms += cor_rand_unit(l->opts.rand) * JITTER * pause_ms;
    l->next_ms = l->now_ms + (uint64_t)pause_ms;
    set_wake(l);
    report_leader(l);
}

static void release_begin(struct cor_leader *l)
{
    l->state = RELEASING;
    l->deadline_ms = l->now_ms + l->release_ms;
    leader_send(l, GET);
    set_wake(l);
}

/* Ends acquiring or renewing, for whatever reason. */
static void leader_leave(struct cor_leader *l)
{
    if (l->request != NONE) {
        l->request = NONE;
        l->driver->ops->cancel(l->driver);
    }
    if (l->state == RENEWING && l->opts.release_on_cancel && cor_leader_is_leader(l))
        release_begin(l);
    else
        leader_stop(l);
}

static void want_release(struct cor_leader *l)
{
    l->wanted = (struct cor_leader_record){.duration_s = RELEASED_S,
                                           .acquire_us = l->wall_us,
                                           .renew_us = l->wall_us,
                                           .transitions = l->observed.transitions};
}

static void leader_enter(struct cor_leader *l, uint64_t now_ms, int64_t wall_us)
{
    l->now_ms = now_ms;
    l->wall_us = wall_us;
}

void cor_leader_start(struct cor_leader *l, uint64_t now_ms, int64_t wall_us)
{
    if (l->state != IDLE)
        return;
    leader_enter(l, now_ms, wall_us);
    l->state = ACQUIRING;
    round_begin(l);
}

static void got_for_release(struct cor_leader *l, int r, const struct cor_leader_record *record,
                            const char *version)
{
    if (r == 0)
        leader_observe(l, record, version);
    if (r < 0 || !cor_leader_is_leader(l)) {
        leader_stop(l);
        return;
    }
    want_release(l);
    leader_send(l, UPDATE);
    set_wake(l);
}

void cor_leader_got(struct cor_leader *l, uint64_t now_ms, int64_t wall_us, int r,
                    const struct cor_leader_record *record, const char *version)
{
    assert(l->request == GET && l->state != IDLE && l->state != OVER);
    leader_enter(l, now_ms, wall_us);
    l->request = NONE;
    if (l->state == RELEASING) {
        got_for_release(l, r, record, version);
        return;
    }
    if (r == -COR_ENOTFOUND) {
        want_new_lock(l);
        leader_send(l, CREATE);
        set_wake(l);
        return;
    }
    if (r == 0)
        leader_observe(l, record, version);
    if (r < 0 || (!cor_leader_is_leader(l) && is_held(l))) {
        round_lost(l);
        return;
    }
    want_lock(l);
    leader_send(l, UPDATE);
    set_wake(l);
}

void cor_leader_written(struct cor_leader *l, uint64_t now_ms, int64_t wall_us, int r,
                        const char *version)
{
    bool was_fast = l->request == FAST_UPDATE;

    assert(l->request == FAST_UPDATE || l->request == CREATE || l->request == UPDATE);
    leader_enter(l, now_ms, wall_us);
    l->request = NONE;
    if (r == 0) {
        leader_observe(l, &l->wanted, version);
        l->observed_ms = now_ms;
    }
    if (l->state == RELEASING) {
        report_leader(l);
        leader_stop(l);
    } else if (r == 0) {
        round_won(l);
    } else if (was_fast) {
        leader_send(l, GET);
        set_wake(l);
    } else {
        round_lost(l);
    }
}

void cor_leader_tick(struct cor_leader *l, uint64_t now_ms, int64_t wall_us)
{
    leader_enter(l, now_ms, wall_us);
    if (l->state == RELEASING && now_ms >= l->deadline_ms) {
        l->request = NONE;
        l->driver->ops->cancel(l->driver);
        leader_stop(l);
    } else if (l->state == RENEWING && now_ms >= l->deadline_ms) {
        leader_leave(l);
    } else if ((l->state == ACQUIRING || l->state == RENEWING) && l->request == NONE &&
               now_ms >= l->next_ms) {
        round_begin(l);
    } else if (l->state != IDLE && l->state != OVER) {
        set_wake(l);
    }
}

void cor_leader_cancel(struct cor_leader *l, uint64_t now_ms, int64_t wall_us,
                       uint64_t release_max_ms)
{
    leader_enter(l, now_ms, wall_us);
    if (release_max_ms > 0 && release_max_ms < l->release_ms)
        l->release_ms = release_max_ms;
    if (l->state == IDLE || l->state == ACQUIRING || l->state == RENEWING)
        leader_leave(l);
}
