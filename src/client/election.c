/* The leader election of this folder over HTTP: a Lease by the dynamic client, a timer of the loop,
 * and the hops from other threads. */
#include "coracle/election.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "client/client_int.h"
#include "client/dynamic/dynamic_client.h"
#include "kit/election/lease_record.h"
#include "loop/timer.h"

_Static_assert(COR_ELECTION_LABELS_MAX == COR_LEASE_LABELS_MAX, "one bound, two names");

struct cor_election {
    struct cor_leader_driver driver;
    struct cor_client *client;
    struct cor_loop *loop;
    struct cor_election_opts opts;
    struct cor_lease_name lease; /* the strings are in `text` */
    char *text;
    struct cor_string_pair labels[COR_ELECTION_LABELS_MAX];
    bool has_led, is_over;
    struct cor_leader *leader;
    struct cor_rand rand;
    struct cor_timer timer; /* always set, so that moving it cannot fail */
    struct cor_timer soon;  /* a request that could not be sent is told; likewise */
    struct cor_dynamic_request *request;
    bool is_getting;          /* the request is a get */
    struct cor_status unsent; /* why a request could not be sent */
    struct cor_object *seen;  /* the Lease as it was last read or written */
    atomic_bool is_leader;
    pthread_mutex_t lock; /* a leaf; of what was last seen, for any thread: */
    char holder[COR_LEADER_IDENTITY_MAX + 1];
    uint64_t lapses_at_ms; /* of the machine's clock; UINT64_MAX: another leads, or nobody */
    atomic_bool cancel_asked;
    struct cor_mail cancel, last; /* the second comes after the first */
    struct cor_waiter over, gone;
};

static struct cor_election *of(struct cor_leader_driver *driver)
{
    return COR_CONTAINER_OF(driver, struct cor_election, driver);
}

static uint64_t now_ms(const struct cor_election *e)
{
    return cor_loop_now_ms(e->loop);
}

static int64_t wall_us(void)
{
    return (int64_t)cor_clock_wall_ms(cor_clock_real()) * 1000;
}

static void note_record(struct cor_election *e)
{
    uint64_t at_ms = cor_leader_lapses_at_ms(e->leader);

    pthread_mutex_lock(&e->lock);
    snprintf(e->holder, sizeof(e->holder), "%s", cor_leader_holder(e->leader));
    /* The loop's clock stands still within a turn. */
    e->lapses_at_ms =
        at_ms == UINT64_MAX ? UINT64_MAX : cor_clock_mono_ms(cor_clock_real()) + at_ms - now_ms(e);
    pthread_mutex_unlock(&e->lock);
}

static void note_leader(struct cor_election *e)
{
    atomic_store(&e->is_leader, !e->is_over && cor_leader_is_leader(e->leader));
    note_record(e);
}

static void tell_error(const struct cor_election *e, const struct cor_status *error)
{
    if (e->opts.on_error)
        e->opts.on_error(e->opts.arg, error);
}

/* What came of a request: the Lease, or why there is none. */
static int read_lease(struct cor_election *e, struct cor_object *lease,
                      struct cor_leader_record *ret, char version[COR_LEADER_VERSION_MAX + 1])
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_str rv = cor_object_resource_version(lease);
    int r = e->is_getting ? cor_lease_record_read(lease, ret) : 0;

    if (rv.n > COR_LEADER_VERSION_MAX)
        r = -COR_ETOOBIG;
    if (r < 0) {
        cor_status_untyped(&why, r, "the Lease %.*s/%.*s cannot be read: %s",
                           COR_STR_ARG(e->lease.ns), COR_STR_ARG(e->lease.name), cor_err_text(r));
        tell_error(e, &why);
        return r;
    }
    memcpy(version, rv.p, rv.n);
    return 0;
}

static void see(struct cor_election *e, struct cor_object *lease)
{
    cor_object_unref(e->seen);
    e->seen = lease ? cor_object_ref(lease) : NULL;
}

/* The answer to the request: `r` 0 with the Lease, or an error. */
static void answer(struct cor_election *e, int r, struct cor_object *lease)
{
    struct cor_leader_record record = {0};
    char version[COR_LEADER_VERSION_MAX + 1] = "";

    if (r == 0)
        r = read_lease(e, lease, &record, version);
    /* What is seen and what the election remembers are of one version. */
    if (r == 0)
        see(e, lease);
    if (e->is_getting)
        cor_leader_got(e->leader, now_ms(e), wall_us(), r, &record, version);
    else
        cor_leader_written(e->leader, now_ms(e), wall_us(), r, version);
    note_leader(e);
}

static void on_answer(void *arg, struct cor_object *object, const struct cor_status *error)
{
    struct cor_election *e = arg;

    e->request = NULL;
    if (error && !(e->is_getting && error->err == -COR_ENOTFOUND)) /* it is made then */
        tell_error(e, error);
    answer(e, error ? error->err : 0, object);
}

static struct cor_dynamic_call call_to(struct cor_election *e)
{
    uint64_t timeout_ms = (e->opts.renew_ms ? e->opts.renew_ms : 10000) / 2;

    return (struct cor_dynamic_call){
        .client = e->client->rest,
        .at = {.gvr = {COR_STR("coordination.k8s.io"), COR_STR("v1"), COR_STR("leases")},
               .ns = e->lease.ns},
        .timeout_ms = timeout_ms > 1000 ? timeout_ms : 1000,
        .on_done = on_answer,
        .arg = e,
    };
}

/* A driver must not answer before it returns. */
static void tell_soon(struct cor_election *e, int r)
{
    if (r < 0)
        cor_timer_set(&e->soon, 0);
}

static void on_soon(struct cor_timer *timer)
{
    struct cor_election *e = COR_CONTAINER_OF(timer, struct cor_election, soon);

    cor_timer_set(&e->soon, UINT64_MAX);
    if (e->request || cor_leader_is_over(e->leader))
        return;
    tell_error(e, &e->unsent);
    answer(e, -COR_EIO, NULL);
}

static void get(struct cor_leader_driver *driver)
{
    struct cor_election *e = of(driver);
    struct cor_dynamic_call call = call_to(e);

    e->is_getting = true;
    call.at.name = e->lease.name;
    tell_soon(e, cor_dynamic_get(&call, COR_STR(""), &e->request, &e->unsent));
}

static void create(struct cor_leader_driver *driver, const struct cor_leader_record *record)
{
    struct cor_election *e = of(driver);
    const struct cor_dynamic_call call = call_to(e);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *lease = NULL;
    int r = cor_lease_record_write(record, NULL, &e->lease, &lease, &e->unsent);

    e->is_getting = false;
    if (r == 0)
        r = cor_dynamic_create(&call, lease, NULL, &e->request, &e->unsent);
    tell_soon(e, r);
}

/* What was last seen has the version that is expected. */
static void update(struct cor_leader_driver *driver, const struct cor_leader_record *record,
                   const char *version)
{
    struct cor_election *e = of(driver);
    const struct cor_dynamic_call call = call_to(e);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *lease = NULL;
    int r;

    assert(e->seen && cor_str_eqz(cor_object_resource_version(e->seen), version));
    e->is_getting = false;
    r = cor_lease_record_write(record, e->seen, &e->lease, &lease, &e->unsent);
    if (r == 0)
        r = cor_dynamic_update(&call, lease, NULL, &e->request, &e->unsent);
    tell_soon(e, r);
}

static void cancel_request(struct cor_leader_driver *driver)
{
    struct cor_election *e = of(driver);

    cor_timer_set(&e->soon, UINT64_MAX);
    if (e->request)
        cor_dynamic_cancel(COR_STEAL(e->request));
}

static void wake_at(struct cor_leader_driver *driver, uint64_t at_ms)
{
    struct cor_election *e = of(driver);
    uint64_t now = now_ms(e);

    if (at_ms == UINT64_MAX)
        cor_timer_set(&e->timer, UINT64_MAX);
    else
        cor_timer_set(&e->timer, at_ms > now ? at_ms - now : 0);
}

static const struct cor_leader_driver_ops driver_ops = {get, create, update, cancel_request,
                                                        wake_at};

static void on_timer(struct cor_timer *timer)
{
    struct cor_election *e = COR_CONTAINER_OF(timer, struct cor_election, timer);

    cor_timer_set(&e->timer, UINT64_MAX);
    cor_leader_tick(e->leader, now_ms(e), wall_us());
    note_leader(e);
}

static void record(struct cor_election *e, const char *text)
{
    if (e->opts.events && e->seen)
        cor_events_record(e->opts.events, e->seen, COR_EVENT_NORMAL, "LeaderElection", "%s %s",
                          cor_leader_identity(e->leader), text);
}

static void on_started(void *arg)
{
    struct cor_election *e = arg;

    atomic_store(&e->is_leader, true);
    e->has_led = true;
    record(e, "became leader");
    e->opts.on_started(e->opts.arg);
}

static void on_stopped(void *arg)
{
    struct cor_election *e = arg;

    e->is_over = true;
    note_leader(e);
    if (e->has_led)
        record(e, "stopped leading");
    e->opts.on_stopped(e->opts.arg);
    cor_waiter_set(&e->over);
}

static void on_new_leader(void *arg, const char *identity)
{
    struct cor_election *e = arg;

    note_record(e);
    if (e->opts.on_new_leader)
        e->opts.on_new_leader(e->opts.arg, identity);
}

static void on_cancel_mail(struct cor_mail *mail)
{
    struct cor_election *e = COR_CONTAINER_OF(mail, struct cor_election, cancel);

    if (!cor_leader_is_over(e->leader))
        cor_leader_cancel(e->leader, now_ms(e), wall_us());
}

/* On the loop. Nothing of it is under way. */
static void free_parts(void *arg)
{
    struct cor_election *e = arg;

    cor_timer_cancel(&e->timer);
    cor_timer_cancel(&e->soon);
    cor_leader_free(e->leader);
    cor_object_unref(e->seen);
}

static void on_last_mail(struct cor_mail *mail)
{
    struct cor_election *e = COR_CONTAINER_OF(mail, struct cor_election, last);

    free_parts(e);
    cor_waiter_set(&e->gone);
}

static void free_election(struct cor_election *e)
{
    cor_waiter_deinit(&e->over);
    cor_waiter_deinit(&e->gone);
    pthread_mutex_destroy(&e->lock);
    cor_status_deinit(&e->unsent);
    cor_free(e->text);
    cor_free(e);
}

struct starting {
    struct cor_election *election;
    int r;
};

static void start(void *arg)
{
    struct starting *s = arg;
    struct cor_election *e = s->election;

    s->r = cor_timer_set(&e->timer, UINT64_MAX);
    if (s->r == 0)
        s->r = cor_timer_set(&e->soon, UINT64_MAX);
    if (s->r == 0)
        cor_leader_start(e->leader, now_ms(e), wall_us());
}

static int copy_lease(struct cor_election *e, const struct cor_election_opts *from)
{
    struct cor_str parts[2 + 2 * COR_ELECTION_LABELS_MAX] = {cor_strz(from->ns),
                                                             cor_strz(from->name)};
    struct cor_str *strings[COR_ARRAY_LEN(parts)];
    size_t n = 2;
    int r;

    for (size_t i = 0; i < from->nlabels; i++) {
        parts[n++] = cor_strz(from->labels[i].key);
        parts[n++] = cor_strz(from->labels[i].value);
    }
    for (size_t i = 0; i < n; i++)
        strings[i] = &parts[i];
    r = cor_str_gather(strings, n, &e->text);
    if (r < 0)
        return r;
    e->lease = (struct cor_lease_name){parts[0], parts[1], e->labels, from->nlabels};
    for (size_t i = 0; i < from->nlabels; i++)
        e->labels[i] =
            (struct cor_string_pair){(char *)parts[2 + 2 * i].p, (char *)parts[3 + 2 * i].p};
    return 0;
}

static int make_leader(struct cor_election *e, struct cor_status *reterr)
{
    const struct cor_leader_opts opts = {
        .identity = e->opts.identity,
        .lease_ms = e->opts.lease_ms,
        .renew_ms = e->opts.renew_ms,
        .retry_ms = e->opts.retry_ms,
        .release_on_cancel = e->opts.release_on_cancel,
        .rand = &e->rand,
        .on_started = on_started,
        .on_stopped = on_stopped,
        .on_new_leader = on_new_leader,
        .arg = e,
    };

    return cor_leader_new(&opts, &e->driver, &e->leader, reterr);
}

int cor_election_new(struct cor_client *client, const struct cor_election_opts *opts,
                     struct cor_election **ret_election, struct cor_status *reterr)
{
    struct cor_election *e;
    struct starting starting = {0};
    int r;

    if (!opts->ns || !*opts->ns || !opts->name || !*opts->name || !opts->identity)
        return cor_status_set(reterr, -COR_EINVAL, "an election needs ns, name and identity");
    if (opts->nlabels > COR_ELECTION_LABELS_MAX)
        return cor_status_set(reterr, -COR_EINVAL, "an election has at most %d labels",
                              COR_ELECTION_LABELS_MAX);
    if (!opts->on_started || !opts->on_stopped)
        return cor_status_set(reterr, -COR_EINVAL, "an election needs on_started and on_stopped");
    e = cor_calloc(1, sizeof(*e));
    if (!e)
        return cor_status_set(reterr, -COR_ENOMEM, "make an election");
    e->driver.ops = &driver_ops;
    e->client = client;
    e->loop = client->runtime->loop;
    e->opts = *opts;
    e->cancel.on_mail = on_cancel_mail;
    e->last.on_mail = on_last_mail;
    cor_timer_init(&e->timer, e->loop, on_timer);
    cor_timer_init(&e->soon, e->loop, on_soon);
    cor_rand_init(&e->rand);
    pthread_mutex_init(&e->lock, NULL);
    e->lapses_at_ms = UINT64_MAX;
    cor_waiter_init(&e->over);
    cor_waiter_init(&e->gone);
    starting.election = e;
    r = copy_lease(e, opts);
    r = r == 0 ? make_leader(e, reterr) : cor_status_set(reterr, r, "make an election");
    if (r == 0) {
        cor_runtime_run(client->runtime, start, &starting);
        r = starting.r < 0 ? cor_status_set(reterr, starting.r, "make an election") : 0;
    }
    if (r < 0) {
        cor_runtime_run(client->runtime, free_parts, e);
        free_election(e);
        return r;
    }
    atomic_fetch_add(&client->nusers, 1);
    *ret_election = e;
    return 0;
}

void cor_election_cancel(struct cor_election *e)
{
    if (!atomic_exchange(&e->cancel_asked, true))
        cor_loop_post_always(e->loop, &e->cancel);
}

struct cor_election *cor_election_free(struct cor_election *e)
{
    struct cor_client *client;
    int r;

    if (!e)
        return NULL;
    client = e->client;
    cor_election_cancel(e);
    r = cor_runtime_wait(client->runtime, &e->over, COR_WAIT_FOREVER);
    assert(r == 0); /* inside a callback it would wait for itself */
    (void)r;
    cor_loop_post_always(e->loop, &e->last);
    cor_runtime_wait(client->runtime, &e->gone, COR_WAIT_FOREVER);
    free_election(e);
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

    pthread_mutex_lock(&e->lock);
    n = snprintf(to, cap, "%s", e->holder);
    pthread_mutex_unlock(&e->lock);
    return (size_t)n;
}

bool cor_election_is_stale(struct cor_election *e, uint64_t tolerance_ms)
{
    uint64_t now = cor_clock_mono_ms(cor_clock_real()), at_ms;

    pthread_mutex_lock(&e->lock);
    at_ms = e->lapses_at_ms;
    pthread_mutex_unlock(&e->lock);
    return at_ms != UINT64_MAX && now > at_ms && now - at_ms > tolerance_ms;
}
