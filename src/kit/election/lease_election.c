/* clang-format off */
/* The driver of the state machine in leader_election.c: its requests go to the API port, one at a
 * time, and the answers come back as records.
 *
 *   cor_leader ── get, create, update ──► this driver ── cor_api_get() … ──► port
 *   cor_leader ◄── cor_leader_got(), cor_leader_written() ── on_lease_done() ◄── answer
 *
 * When a step fails:
 * - a request fails, or could not be sent: on_error is called (not for a Lease that does not exist
 *   yet, and is created), and the state machine tries again in its next round;
 * - a Lease cannot be read (its spec has other types): on_error, and as above;
 * - no memory for the Lease to write: the request is refused, which is the first case.
 * What was seen (`seen`) and what the state machine remembers are always of the same version, since
 * an update is the seen Lease with another spec.
 * Thread: the port's loop. */
/* clang-format on */
#include "kit/election/lease_election.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kit/election/leader_election.h"
#include "kit/election/lease_record.h"

#define RENEW_MS       10000
#define REQUEST_MIN_MS 1000

struct cor_lease_election {
    struct cor_leader_driver driver;
    struct cor_lease_election_opts opts;
    struct cor_leader *leader;
    struct cor_rand rand;        /* when the options have none */
    struct cor_lease_name lease; /* the strings are in `text` */
    char *text;
    struct cor_string_pair labels[COR_LEASE_LABELS_MAX];
    struct cor_api_request request; /* the one under way */
    bool is_getting;                /* the request is a get */
    bool has_led, is_over;
    struct cor_object *seen;
};

static struct cor_lease_election *election_of(struct cor_leader_driver *driver)
{
    return COR_CONTAINER_OF(driver, struct cor_lease_election, driver);
}

static uint64_t now_ms(const struct cor_lease_election *e)
{
    return cor_clock_mono_ms(e->opts.clock);
}

static int64_t wall_us(const struct cor_lease_election *e)
{
    return cor_clock_wall_ms(e->opts.clock) * 1000;
}

static void report_observed(const struct cor_lease_election *e)
{
    if (e->opts.on_observed)
        e->opts.on_observed(e->opts.arg);
}

static void report_error(const struct cor_lease_election *e, const struct cor_status *error)
{
    if (e->opts.on_error)
        e->opts.on_error(e->opts.arg, error);
}

/* Reads the Lease of an answer. The answer to a write is not read: the record is the one that was
 * written. */
static int read_lease(struct cor_lease_election *e, struct cor_object *lease,
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
        report_error(e, &why);
        return r;
    }
    memcpy(version, rv.p, rv.n);
    return 0;
}

static void on_lease_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_lease_election *e = COR_CONTAINER_OF(req, struct cor_lease_election, request);
    struct cor_leader_record record = {0};
    char version[COR_LEADER_VERSION_MAX + 1] = "";
    int r = answer->error ? answer->error->err : 0;

    if (r < 0 && !(e->is_getting && r == -COR_ENOTFOUND))
        report_error(e, answer->error);
    if (r == 0)
        r = read_lease(e, answer->object, &record, version);
    if (r == 0) {
        cor_object_unref(e->seen);
        e->seen = cor_object_ref(answer->object);
    }
    if (e->is_getting)
        cor_leader_got(e->leader, now_ms(e), wall_us(e), r, &record, version);
    else
        cor_leader_written(e->leader, now_ms(e), wall_us(e), r, version);
    report_observed(e);
}

static const struct cor_api_request_cbs lease_cbs = {.on_done = on_lease_done};

/* Two requests fit into the time that a leader has for a renewal. */
static void request_prepare(struct cor_lease_election *e, bool is_getting)
{
    uint64_t timeout_ms = (e->opts.renew_ms ? e->opts.renew_ms : RENEW_MS) / 2;

    assert(!cor_api_is_under_way(&e->request));
    e->is_getting = is_getting;
    e->request = (struct cor_api_request){
        .at = {.gvr = {COR_STR("coordination.k8s.io"), COR_STR("v1"), COR_STR("leases")},
               .ns = e->lease.ns,
               .name = is_getting ? e->lease.name : COR_STR("")},
        .timeout_ms = timeout_ms > REQUEST_MIN_MS ? timeout_ms : REQUEST_MIN_MS,
        .cbs = &lease_cbs,
    };
}

static void driver_get(struct cor_leader_driver *driver)
{
    struct cor_lease_election *e = election_of(driver);

    request_prepare(e, true);
    cor_api_get(e->opts.port, &e->request, COR_STR(""));
}

static void driver_create(struct cor_leader_driver *driver, const struct cor_leader_record *record)
{
    struct cor_lease_election *e = election_of(driver);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *lease = NULL;

    request_prepare(e, false);
    if (cor_lease_record_write(record, NULL, &e->lease, &lease, &e->request.refusal) < 0)
        cor_api_refuse(e->opts.port, &e->request);
    else
        cor_api_create(e->opts.port, &e->request, lease, NULL);
}

static void driver_update(struct cor_leader_driver *driver, const struct cor_leader_record *record,
                          const char *version)
{
    struct cor_lease_election *e = election_of(driver);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *lease = NULL;

    assert(e->seen && cor_str_eqz(cor_object_resource_version(e->seen), version));
    request_prepare(e, false);
    if (cor_lease_record_write(record, e->seen, &e->lease, &lease, &e->request.refusal) < 0)
        cor_api_refuse(e->opts.port, &e->request);
    else
        cor_api_update(e->opts.port, &e->request, lease, NULL);
}

static void driver_cancel(struct cor_leader_driver *driver)
{
    struct cor_lease_election *e = election_of(driver);

    cor_api_cancel(e->opts.port, &e->request);
}

static void driver_wake_at(struct cor_leader_driver *driver, uint64_t at_ms)
{
    struct cor_lease_election *e = election_of(driver);

    e->opts.wake_at(e->opts.arg, at_ms);
}

static const struct cor_leader_driver_ops driver_ops = {
    .get = driver_get,
    .create = driver_create,
    .update = driver_update,
    .cancel = driver_cancel,
    .wake_at = driver_wake_at,
};

static void on_leader_started(void *arg)
{
    struct cor_lease_election *e = arg;

    e->has_led = true;
    report_observed(e);
    e->opts.on_started(e->opts.arg);
}

static void on_leader_stopped(void *arg)
{
    struct cor_lease_election *e = arg;

    e->is_over = true;
    report_observed(e);
    e->opts.on_stopped(e->opts.arg);
}

static void on_leader_new_leader(void *arg, const char *identity)
{
    struct cor_lease_election *e = arg;

    report_observed(e);
    if (e->opts.on_new_leader)
        e->opts.on_new_leader(e->opts.arg, identity);
}

/* Namespace, name and labels in one allocation. */
static int copy_lease_name(struct cor_lease_election *e, const struct cor_lease_election_opts *from)
{
    struct cor_str parts[2 + 2 * COR_LEASE_LABELS_MAX] = {from->ns, from->name};
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

static int make_leader(struct cor_lease_election *e, struct cor_status *reterr)
{
    const struct cor_leader_opts opts = {
        .identity = e->opts.identity,
        .lease_ms = e->opts.lease_ms,
        .renew_ms = e->opts.renew_ms,
        .retry_ms = e->opts.retry_ms,
        .release_on_cancel = e->opts.release_on_cancel,
        .rand = e->opts.rand,
        .on_started = on_leader_started,
        .on_stopped = on_leader_stopped,
        .on_new_leader = on_leader_new_leader,
        .arg = e,
    };

    return cor_leader_new(&opts, &e->driver, &e->leader, reterr);
}

int cor_lease_election_new(const struct cor_lease_election_opts *opts,
                           struct cor_lease_election **ret_election, struct cor_status *reterr)
{
    COR_CLEANUP(cor_lease_election_freep) struct cor_lease_election *e = NULL;
    int r;

    assert(opts->port && opts->wake_at);
    if (opts->ns.n == 0 || opts->name.n == 0 || !opts->identity)
        return cor_status_set(reterr, -COR_EINVAL, "an election needs ns, name and identity");
    if (opts->nlabels > COR_LEASE_LABELS_MAX)
        return cor_status_set(reterr, -COR_EINVAL, "an election has at most %d labels",
                              COR_LEASE_LABELS_MAX);
    if (!opts->on_started || !opts->on_stopped)
        return cor_status_set(reterr, -COR_EINVAL, "an election needs on_started and on_stopped");
    e = cor_calloc(1, sizeof(*e));
    if (!e)
        return cor_status_set(reterr, -COR_ENOMEM, "make an election");
    e->driver.ops = &driver_ops;
    e->opts = *opts;
    if (!e->opts.clock)
        e->opts.clock = cor_clock_real();
    cor_rand_init(&e->rand);
    if (!e->opts.rand)
        e->opts.rand = &e->rand;
    r = copy_lease_name(e, opts);
    if (r < 0)
        return cor_status_set(reterr, r, "make an election");
    r = make_leader(e, reterr);
    if (r < 0)
        return r;
    *ret_election = COR_STEAL(e);
    return 0;
}

struct cor_lease_election *cor_lease_election_free(struct cor_lease_election *e)
{
    if (!e)
        return NULL;
    assert(!cor_api_is_under_way(&e->request));
    cor_leader_free(e->leader);
    cor_object_unref(e->seen);
    cor_free(e->text);
    return cor_free(e);
}

void cor_lease_election_start(struct cor_lease_election *e)
{
    cor_leader_start(e->leader, now_ms(e), wall_us(e));
}

void cor_lease_election_tick(struct cor_lease_election *e)
{
    cor_leader_tick(e->leader, now_ms(e), wall_us(e));
    report_observed(e);
}

void cor_lease_election_cancel(struct cor_lease_election *e, uint64_t release_max_ms)
{
    if (!e->is_over)
        cor_leader_cancel(e->leader, now_ms(e), wall_us(e), release_max_ms);
}

bool cor_lease_election_is_over(const struct cor_lease_election *e)
{
    return e->is_over;
}

bool cor_lease_election_is_leader(const struct cor_lease_election *e)
{
    return !e->is_over && cor_leader_is_leader(e->leader);
}

bool cor_lease_election_has_led(const struct cor_lease_election *e)
{
    return e->has_led;
}

const char *cor_lease_election_holder(const struct cor_lease_election *e)
{
    return cor_leader_holder(e->leader);
}

const char *cor_lease_election_identity(const struct cor_lease_election *e)
{
    return cor_leader_identity(e->leader);
}

uint64_t cor_lease_election_lapses_at_ms(const struct cor_lease_election *e)
{
    return cor_leader_lapses_at_ms(e->leader);
}

struct cor_object *cor_lease_election_peek(const struct cor_lease_election *e)
{
    return e->seen;
}
