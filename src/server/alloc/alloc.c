/* clang-format off */
/* What all loops share of the allocators, and the two watches that feed the index.
 *
 *   open: the default ServiceCIDR is created, if there is none ──► watches of IPAddresses and of
 *   ServiceCIDRs, each from the present state on ──► both have told all that there is, and the
 *   repair has made its first pass: ready
 *
 * A watch that ends (the cache was filled again, the engine's history was compacted) begins again
 * after RETRY_MS. The addresses of the index are forgotten then, and are complete again when all have
 * come once more: meanwhile the index proposes addresses that are taken, and the store refuses them.
 * The ranges stay, and those that did not come again are dropped at the end.
 * Failures: a watch that cannot be opened, and an object that there is no memory for, are tried
 * again later. The default ServiceCIDR has a file of its own (default_range.c).
 * Thread: the API's first loop (its maker's, before the loops start), except what alloc.h says is
 * for any. */
/* clang-format on */
#include "server/alloc/alloc.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/timer.h"
#include "meta/object/object_edit.h"
#include "server/alloc/default_range.h"
#include "server/alloc/repair.h"
#include "storage/store/reader.h"
#include "json/text/scan.h"

#define RETRY_MS 1000
/* The first attempts come sooner: a watch cache is being filled while the server starts. */
#define RETRY_MIN_MS 1
/* Addresses of a range that the flag gives. */
#define RANGE_MIN 8

/* One of the two watches. */
struct feed {
    struct cor_alloc *alloc;
    enum cor_api_role role;
    void (*restart)(struct cor_address_index *index);
    void (*end_restart)(struct cor_address_index *index);
    int (*apply)(struct cor_alloc *alloc, const struct cor_object *object, bool is_gone);
    struct cor_watch *watch; /* NULL: not open */
    struct cor_timer retry;
    struct cor_mail mail; /* to itself: instead of the timer */
    uint64_t retry_ms;    /* doubled with each attempt that fails */
    bool is_synced;       /* all that there was has come once */
    bool is_current;      /* all that there was when the present watch began has come */
    bool is_closing;
    bool has_mail; /* `mail` is under way */
};

struct cor_alloc {
    struct cor_api *api;
    struct cor_api_loop *home;
    struct cor_service_cluster cluster;
    struct cor_default_range default_range;
    struct cor_address_index index;
    struct cor_ports *ports;
    struct feed addresses, cidrs;
    struct cor_repair *repair;
    bool is_repairing; /* the first pass is under way, or the last one when it stops */
    bool has_default;  /* the default ServiceCIDR was seen */
    atomic_bool is_ready, has_reserved;
    bool is_stopping;
    void (*on_stopped)(void *arg);
    void *arg;
};

const struct cor_service_cluster *cor_alloc_cluster(const struct cor_alloc *alloc)
{
    return &alloc->cluster;
}

struct cor_addr cor_alloc_first_address(const struct cor_alloc *alloc)
{
    const struct cor_addr_range *primary = &alloc->default_range.ranges[0];

    return (struct cor_addr){primary->net.hi, primary->first_lo};
}

struct cor_address_index *cor_alloc_index(struct cor_alloc *alloc)
{
    return &alloc->index;
}

struct cor_ports *cor_alloc_ports(struct cor_alloc *alloc)
{
    return alloc->ports;
}

struct cor_repair *cor_alloc_repair(struct cor_alloc *alloc)
{
    return alloc->repair;
}

bool cor_alloc_is_ready(const struct cor_alloc *alloc)
{
    return atomic_load(&alloc->is_ready);
}

void cor_alloc_note_reserving(struct cor_alloc *alloc)
{
    if (!atomic_load_explicit(&alloc->has_reserved, memory_order_relaxed))
        atomic_store(&alloc->has_reserved, true);
}

bool cor_alloc_has_reserved(const struct cor_alloc *alloc)
{
    return atomic_load(&alloc->has_reserved);
}

/* ---- options ---- */

static int parse_cidrs(const char *cidrs, struct cor_addr_range ranges[2], size_t *ret_n,
                       struct cor_status *st)
{
    struct cor_str rest = cor_strz(cidrs ? cidrs : COR_ALLOC_CIDRS_DEFAULT);
    size_t n = 0;

    while (rest.p) {
        struct cor_str cidr = cor_str_cut(&rest, ',');

        if (n == 2)
            return cor_status_set(st, -COR_EINVAL,
                                  "--service-cluster-ip-range must not contain more than two "
                                  "entries");
        if (cor_addr_range_parse(cidr, &ranges[n]) < 0)
            return cor_status_set(
                st, -COR_EINVAL,
                "--service-cluster-ip-range: \"%.*s\" is not a range such as "
                "10.0.0.0/24 or fd00::/112; IPv6 has a prefix of at least 64 bits",
                COR_STR_ARG(cidr));
        if (ranges[n].last_lo - ranges[n].net.lo < RANGE_MIN - 2)
            return cor_status_set(st, -COR_EINVAL,
                                  "--service-cluster-ip-range: \"%.*s\" must be at least %d IP "
                                  "addresses",
                                  COR_STR_ARG(cidr), RANGE_MIN);
        n++;
    }
    if (n == 2 && cor_addr_range_family(&ranges[0]) == cor_addr_range_family(&ranges[1]))
        return cor_status_set(st, -COR_EINVAL,
                              "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] "
                              "must be of different IP family");
    *ret_n = n;
    return 0;
}

static int parse_ports(const char *ports, struct cor_port_range *ret_range, struct cor_status *st)
{
    *ret_range = COR_PORT_RANGE_DEFAULT;
    if (ports && cor_port_range_parse(cor_strz(ports), ret_range) < 0)
        return cor_status_set(st, -COR_EINVAL,
                              "--service-node-port-range: \"%s\" is not a range of ports, such as "
                              "30000-32767",
                              ports);
    return 0;
}

int cor_alloc_check(const struct cor_alloc_opts *opts, struct cor_status *reterr_status)
{
    struct cor_addr_range ranges[2];
    struct cor_port_range ports;
    size_t n;
    int r = parse_cidrs(opts->cidrs, ranges, &n, reterr_status);

    return r < 0 ? r : parse_ports(opts->ports, &ports, reterr_status);
}

static void alloc_note_ready(struct cor_alloc *alloc);
static void alloc_end_stop(struct cor_alloc *alloc);

static void alloc_on_idle(void *arg)
{
    alloc_end_stop(arg);
}

/* ---- what the watches tell ---- */

static int apply_address(struct cor_alloc *alloc, const struct cor_object *object, bool is_gone)
{
    struct cor_addr ip;

    if (cor_addr_parse(cor_object_name(object), &ip) < 0)
        return 0;
    if (!is_gone)
        return cor_address_index_add(&alloc->index, ip);
    cor_address_index_remove(&alloc->index, ip);
    return 0;
}

/* Returns whether the condition Ready is true or absent. Without kube-controller-manager nothing
 * sets it. */
static bool range_is_ready(const struct cor_object *object)
{
    struct cor_str status = cor_object_member(object, COR_STR("status")), conditions, value, raw;
    struct cor_json_iter it;

    if (cor_object_meta_member(object, COR_STR("deletionTimestamp")).p)
        return false;
    if (!status.p ||
        cor_json_get(status, COR_STR("conditions"), COR_JSON_ANY_ORDER, &conditions) < 0)
        return true;
    it = cor_json_iter(conditions);
    while (cor_json_iter_elem(&it)) {
        struct cor_str condition = cor_json_iter_value(&it);

        if (cor_json_get(condition, COR_STR("type"), COR_JSON_ANY_ORDER, &value) == 0 &&
            cor_json_to_raw(value, &raw) == 0 && cor_str_eqz(raw, "Ready"))
            return cor_json_get(condition, COR_STR("status"), COR_JSON_ANY_ORDER, &value) == 0 &&
                   cor_json_to_raw(value, &raw) == 0 && cor_str_eqz(raw, "True");
    }
    return true;
}

static int apply_range(struct cor_alloc *alloc, const struct cor_object *object, bool is_gone)
{
    struct cor_addr_range ranges[2];
    size_t n = is_gone ? 0 : cor_service_cidr_ranges(object, ranges);

    alloc->has_default |= cor_default_range_note(&alloc->default_range, object, is_gone);
    return cor_address_index_set_ranges(&alloc->index, cor_object_name(object), ranges, n,
                                        range_is_ready(object));
}

/* ---- the watches ---- */

static void feed_open(struct feed *feed);

static void feed_on_mail(struct cor_mail *mail)
{
    struct feed *feed = COR_CONTAINER_OF(mail, struct feed, mail);

    feed->has_mail = false;
    if (feed->alloc->is_stopping)
        alloc_end_stop(feed->alloc);
    else
        feed_open(feed);
}

/* Without memory for the timer the next turn of the loop tries again. */
static void feed_open_later(struct feed *feed)
{
    if (cor_timer_set(&feed->retry, feed->retry_ms) < 0) {
        feed->has_mail = true;
        feed->mail.on_mail = feed_on_mail;
        cor_loop_post_always(feed->alloc->home->loop, &feed->mail);
    }
    feed->retry_ms = 2 * feed->retry_ms < RETRY_MS ? 2 * feed->retry_ms : RETRY_MS;
}

static void feed_on_closed(void *arg)
{
    struct feed *feed = arg;

    feed->is_closing = false;
    if (feed->alloc->is_stopping)
        alloc_end_stop(feed->alloc);
    else
        feed_open_later(feed);
}

static void feed_close(struct feed *feed)
{
    struct cor_watch *watch = COR_STEAL(feed->watch);

    if (!watch)
        return;
    feed->is_closing = true;
    cor_watch_close(watch, feed_on_closed, feed);
}

static void feed_on_open(void *arg, int err, struct cor_status *status)
{
    struct feed *feed = arg;

    if (err < 0)
        feed_close(feed);
    else
        feed->restart(&feed->alloc->index);
    feed->is_current = false;
}

static void feed_on_event(void *arg, const struct cor_reader_event *event)
{
    struct feed *feed = arg;
    int r = 0;

    if (!event || event->type == COR_WATCH_ERROR) {
        feed->is_synced = true;
        feed_close(feed);
        alloc_note_ready(feed->alloc);
        return;
    }
    if (event->type == COR_WATCH_BOOKMARK) {
        if (!feed->is_current)
            feed->end_restart(&feed->alloc->index);
        feed->is_synced = feed->is_current = true;
        feed->retry_ms = RETRY_MIN_MS;
        alloc_note_ready(feed->alloc);
        return;
    }
    r = feed->apply(feed->alloc, event->object, event->type == COR_WATCH_DELETED);
    /* Without the memory for an address all of them are read again later. */
    if (r < 0)
        feed_close(feed);
    else
        alloc_note_ready(feed->alloc);
}

static void feed_open(struct feed *feed)
{
    struct cor_backing *backing;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const struct cor_reader_watch_opts opts = {
        .options = {.recursive = true,
                    .watch = true,
                    .allow_bookmarks = true,
                    .resource_version = COR_STR(""),
                    .resource_version_match = COR_STR("NotOlderThan"),
                    .send_initial_events = COR_TRUE},
        .on_open = feed_on_open,
        .on_event = feed_on_event,
        .arg = feed,
    };
    int r = cor_api_backing(feed->alloc->home, cor_api_of_role(feed->role), &backing, &why);

    if (r == 0)
        r = cor_reader_watch(backing->reader, cor_buf_str(&backing->prefix), &opts, &feed->watch,
                             &why);
    if (r < 0) {
        feed->watch = NULL;
        feed_open_later(feed);
    }
}

static void feed_on_retry(struct cor_timer *timer)
{
    feed_open(COR_CONTAINER_OF(timer, struct feed, retry));
}

/* ---- life ---- */

static void alloc_on_repaired(void *arg, int err)
{
    struct cor_alloc *alloc = arg;

    alloc->is_repairing = false;
    if (err < 0)
        COR_LOG_WARN("the reservations of Services are checked later", COR_F_ERR(err));
    atomic_store(&alloc->is_ready, true);
}

/* When all is read, the first pass of the repair begins; when it ends, all is ready. An object that
 * cannot be read keeps the server neither from starting nor from allocating. */
static void alloc_note_ready(struct cor_alloc *alloc)
{
    if (!alloc->addresses.is_synced || !alloc->cidrs.is_synced || !alloc->has_default ||
        alloc->is_repairing || alloc->is_stopping || atomic_load(&alloc->is_ready))
        return;
    alloc->is_repairing = true;
    cor_repair_open(alloc->repair, alloc_on_repaired, alloc);
}

static void feed_init(struct cor_alloc *alloc, struct feed *feed, enum cor_api_role role)
{
    feed->alloc = alloc;
    feed->role = role;
    feed->restart =
        role == COR_ROLE_ADDRESSES ? cor_address_index_restart : cor_address_index_restart_ranges;
    /* A proposal whose address was created and deleted while no watch was open is never seen. */
    feed->end_restart =
        role == COR_ROLE_ADDRESSES ? cor_address_index_forget_picks : cor_address_index_end_restart;
    feed->apply = role == COR_ROLE_ADDRESSES ? apply_address : apply_range;
    feed->retry_ms = RETRY_MIN_MS;
    cor_timer_init(&feed->retry, alloc->home->loop, feed_on_retry);
}

int cor_alloc_open(struct cor_api *api, const struct cor_alloc_opts *opts,
                   struct cor_alloc **ret_alloc, struct cor_status *reterr_status)
{
    struct cor_alloc *alloc = cor_calloc(1, sizeof(*alloc));
    struct cor_port_range ports;
    int r;

    assert(!cor_api_shared(api)->alloc);
    if (!alloc)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    alloc->api = api;
    alloc->home = cor_api_home(api);
    cor_address_index_init(&alloc->index, cor_rand_u64(&alloc->home->rand));
    r = parse_cidrs(opts->cidrs, alloc->default_range.ranges, &alloc->default_range.nranges,
                    reterr_status);
    if (r == 0)
        r = parse_ports(opts->ports, &ports, reterr_status);
    if (r == 0)
        r = cor_ports_new(api, ports, &alloc->ports, reterr_status);
    if (r == 0)
        r = cor_repair_new(alloc, api, &alloc->repair);
    if (r < 0) {
        cor_ports_free(alloc->ports);
        cor_address_index_deinit(&alloc->index);
        cor_free(alloc);
        return r;
    }
    alloc->cluster.primary = cor_addr_range_family(&alloc->default_range.ranges[0]);
    for (size_t i = 0; i < alloc->default_range.nranges; i++)
        alloc->cluster.has[cor_addr_range_family(&alloc->default_range.ranges[i])] = true;
    cor_default_range_init(&alloc->default_range, alloc->home, alloc_on_idle, alloc);
    feed_init(alloc, &alloc->addresses, COR_ROLE_ADDRESSES);
    feed_init(alloc, &alloc->cidrs, COR_ROLE_RANGES);
    cor_default_range_create(&alloc->default_range);
    feed_open(&alloc->addresses);
    feed_open(&alloc->cidrs);
    cor_api_shared(api)->alloc = alloc;
    cor_api_shared(api)->repair = cor_repair_port(alloc->repair);
    *ret_alloc = alloc;
    return 0;
}

static void alloc_end_stop(struct cor_alloc *alloc)
{
    if (alloc->addresses.is_closing || alloc->cidrs.is_closing || alloc->addresses.has_mail ||
        alloc->cidrs.has_mail || alloc->is_repairing ||
        cor_default_range_is_busy(&alloc->default_range))
        return;
    alloc->on_stopped(alloc->arg);
}

static void alloc_on_repair_stopped(void *arg)
{
    struct cor_alloc *alloc = arg;

    alloc->is_repairing = false;
    alloc_end_stop(alloc);
}

void cor_alloc_stop(struct cor_alloc *alloc, void (*on_stopped)(void *arg), void *arg)
{
    assert(cor_loop_is_current(alloc->home->loop) && !alloc->is_stopping);
    alloc->is_stopping = true;
    alloc->on_stopped = on_stopped;
    alloc->arg = arg;
    cor_default_range_stop(&alloc->default_range);
    cor_timer_cancel(&alloc->addresses.retry);
    cor_timer_cancel(&alloc->cidrs.retry);
    feed_close(&alloc->addresses);
    feed_close(&alloc->cidrs);
    alloc->is_repairing = true;
    cor_repair_stop(alloc->repair, alloc_on_repair_stopped, alloc);
}

struct cor_alloc *cor_alloc_free(struct cor_alloc *alloc)
{
    if (!alloc)
        return NULL;
    assert(alloc->is_stopping && !alloc->addresses.watch && !alloc->cidrs.watch);
    cor_api_shared(alloc->api)->alloc = NULL;
    cor_api_shared(alloc->api)->repair = NULL;
    cor_repair_free(alloc->repair);
    cor_ports_free(alloc->ports);
    cor_address_index_deinit(&alloc->index);
    return cor_free(alloc);
}
