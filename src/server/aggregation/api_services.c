/* clang-format off */
/* Follows the APIServices through the port in process, and publishes what they register.
 *
 *   list, watch ──► services_take: is it newer than the entry's? ──► another spec: another service, published once per
 *   turn; the same spec: its availability is set ──► registration and availability look at it
 *
 * Nothing is published before the server has tried to register what it serves (auto_register.c):
 * discovery never shows a part of it, and the first start of a server publishes once.
 *
 * Failures: without memory for an entry the reflector lists again, after a pause; a snapshot for
 * which there is no memory is made again after RETRY_MS. What was served stays served meanwhile. An
 * object that cannot be read, or one too many, is logged and not served.
 * Thread: the first loop of the API. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/aggregation/api_services_int.h"
#include "server/api/api_loop.h"

#define RETRY_MS   100
#define USER_AGENT "kube-apiserver"

static struct cor_loop *services_loop(const struct cor_api_services *as)
{
    return cor_api_home(as->api)->loop;
}

/* names a kind: what is followed and written */
static const struct cor_gvr services_gvr = {COR_STR_INIT(COR_GROUP_REGISTRATION),
                                            COR_STR_INIT("v1"), COR_STR_INIT("apiservices")};

struct cor_resource_path cor_api_service_path(struct cor_str name, const char *subresource)
{
    return (struct cor_resource_path){
        .gvr = services_gvr, .name = name, .subresource = cor_strz(subresource)};
}

/* ---- publishing ---- */

static int services_publish(struct cor_api_services *as)
{
    struct cor_api_service **services =
        cor_calloc(as->nentries ? as->nentries : 1, sizeof(struct cor_api_service *));
    size_t n = 0;
    int r;

    if (!services)
        return -COR_ENOMEM;
    for (size_t i = 0; i < as->nentries; i++) {
        if (as->entries[i]->service)
            services[n++] = as->entries[i]->service;
    }
    r = cor_publisher_set_services(as->publisher, services, n);
    cor_free(services);
    return r < 0 ? r : cor_publisher_publish(as->publisher);
}

static void services_try_publish(struct cor_api_services *as)
{
    int r = 0;

    as->is_publishing = false;
    if (!as->follower.is_following || as->on_stopped || !as->is_settled)
        return;
    if (as->has_changed)
        r = services_publish(as);
    if (r == 0) {
        as->has_changed = false;
        atomic_store(&as->are_published, true);
        return;
    }
    COR_LOG_ERROR("APIServices could not be published; another try follows",
                  COR_F_STR("err", cor_err_text(r)));
    if (cor_timer_set(&as->retry, RETRY_MS) == 0)
        as->is_publishing = true;
}

static void services_on_publish(struct cor_mail *mail)
{
    services_try_publish(COR_CONTAINER_OF(mail, struct cor_api_services, publish_mail));
}

static void services_on_retry(struct cor_timer *timer)
{
    services_try_publish(COR_CONTAINER_OF(timer, struct cor_api_services, retry));
}

/* Changes of one turn are published together. */
static void services_publish_soon(struct cor_api_services *as)
{
    if (as->is_publishing || !as->is_settled)
        return;
    as->is_publishing = true;
    cor_dlist_init(&as->publish_mail.link);
    cor_loop_post_always(services_loop(as), &as->publish_mail);
}

void cor_api_services_settle(struct cor_api_services *as)
{
    if (as->is_settled)
        return;
    as->is_settled = true;
    services_publish_soon(as);
}

/* ---- entries ---- */

static size_t entries_lower(const struct cor_api_services *as, struct cor_str name)
{
    size_t lo = 0, hi = as->nentries;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (cor_str_cmp(cor_object_name(as->entries[mid]->object), name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct api_entry *cor_api_services_find(const struct cor_api_services *as, struct cor_str name)
{
    size_t at = entries_lower(as, name);

    return at < as->nentries && cor_str_eq(cor_object_name(as->entries[at]->object), name)
               ? as->entries[at]
               : NULL;
}

static void entry_free(struct api_entry *entry)
{
    cor_api_service_unref(entry->service);
    cor_object_unref(entry->object);
    cor_free(entry);
}

static int entries_insert(struct cor_api_services *as, struct cor_object *object,
                          struct api_entry **ret_entry)
{
    size_t at = entries_lower(as, cor_object_name(object));
    struct api_entry *entry = cor_calloc(1, sizeof(*entry));
    int r = entry ? COR_ARRAY_RESERVE(&as->entries, as->nentries, &as->entries_cap,
                                      COR_API_SERVICES_MAX)
                  : -COR_ENOMEM;

    if (r < 0) {
        cor_free(entry);
        return r;
    }
    memmove(&as->entries[at + 1], &as->entries[at], (as->nentries - at) * sizeof(as->entries[0]));
    as->entries[at] = entry;
    as->nentries++;
    entry->object = cor_object_ref(object);
    entry->was_at_start = !as->has_listed;
    *ret_entry = entry;
    return 0;
}

/* The service of the entry's newest state. 0, -COR_ENOMEM. */
static int entry_renew(struct cor_api_services *as, struct api_entry *entry)
{
    bool was_remote = entry->service && entry->service->is_remote;
    struct cor_api_service *service = NULL;
    int r;

    if (entry->service && cor_api_service_is_of(entry->service, entry->object)) {
        atomic_store(&entry->service->is_available, cor_api_service_says_available(entry->object));
        return 0;
    }
    r = cor_api_service_new(entry->object, &service);
    if (r == -COR_ENOMEM)
        return r;
    if (r < 0)
        COR_LOG_ERROR("an APIService cannot be read",
                      COR_F_STR("name", cor_object_name(entry->object)));
    as->has_changed = as->has_changed || service || entry->service;
    cor_api_service_unref(entry->service);
    entry->service = service;
    services_publish_soon(as);
    if (was_remote || (service && service->is_remote))
        cor_availability_follow(as->availability);
    return 0;
}

static int services_enqueue(struct cor_api_services *as, struct cor_str name)
{
    return cor_reconciler_enqueue(&as->follower.reconciler, COR_STR(""), name, 0);
}

/* A state that is newer than the entry's; an older one is left alone. 0, -COR_ENOMEM. */
static int services_take(struct cor_api_services *as, struct cor_object *object)
{
    struct api_entry *entry = cor_api_services_find(as, cor_object_name(object));
    int r = 0;

    if (entry && (entry->object->rev > object->rev ||
                  (entry->object->rev == object->rev && entry->is_taken)))
        return 0;
    if (!entry)
        r = entries_insert(as, object, &entry);
    if (r == -COR_ETOOBIG) {
        COR_LOG_ERROR("too many APIServices", COR_F_STR("name", cor_object_name(object)));
        return 0;
    }
    if (r < 0)
        return r;
    if (entry->object != object) {
        cor_object_unref(entry->object);
        entry->object = cor_object_ref(object);
    }
    entry->is_taken = false;
    r = entry_renew(as, entry);
    if (r == 0)
        r = services_enqueue(as, cor_object_name(object));
    if (r == 0)
        r = cor_availability_look(as->availability, entry);
    entry->is_taken = r == 0;
    cor_auto_register_look(as, entry);
    return r;
}

int cor_api_services_take_answer(struct cor_api_services *as, struct cor_object *object)
{
    return cor_api_services_find(as, cor_object_name(object)) ? services_take(as, object) : 0;
}

static int entries_remove(struct cor_api_services *as, size_t at)
{
    struct api_entry *entry = as->entries[at];
    bool was_remote = entry->service && entry->service->is_remote;
    int r = services_enqueue(as, cor_object_name(entry->object));

    /* The next list removes it. */
    if (r < 0)
        return r;
    as->nentries--;
    memmove(&as->entries[at], &as->entries[at + 1], (as->nentries - at) * sizeof(as->entries[0]));
    as->has_changed = as->has_changed || entry->service;
    cor_available_metrics_forget(&as->metrics, cor_object_name(entry->object));
    entry_free(entry);
    services_publish_soon(as);
    if (was_remote)
        cor_availability_follow(as->availability);
    return 0;
}

/* ---- what is followed ---- */

static struct cor_api_services *services_of(struct cor_feed_handler *h)
{
    return COR_CONTAINER_OF(h, struct cor_api_services, follower.handler);
}

static int services_on_show(struct cor_feed_handler *h, struct cor_object *object)
{
    struct api_entry *entry;
    int r = services_take(services_of(h), object);

    entry = r == 0 ? cor_api_services_find(services_of(h), cor_object_name(object)) : NULL;
    if (entry)
        entry->list = h->list;
    return r;
}

static int services_on_gone(struct cor_feed_handler *h, struct cor_object *object)
{
    struct cor_api_services *as = services_of(h);

    return cor_api_services_find(as, cor_object_name(object))
               ? entries_remove(as, entries_lower(as, cor_object_name(object)))
               : 0;
}

static int services_on_listed(struct cor_feed_handler *h)
{
    struct cor_api_services *as = services_of(h);

    for (size_t i = as->nentries; i > 0; i--) {
        int r = as->entries[i - 1]->list == h->list ? 0 : entries_remove(as, i - 1);

        if (r < 0)
            return r;
    }
    if (!as->has_listed) {
        as->has_listed = true;
        cor_reconciler_synced(&as->follower.reconciler);
        cor_auto_register_begin(as);
        cor_availability_begin(as->availability);
    }
    return 0;
}

/* ---- life ---- */

/* The port is availability's, too. */
static bool services_are_busy(struct cor_inner_follower *f)
{
    const struct cor_api_services *as = COR_CONTAINER_OF(f, struct cor_api_services, follower);

    return as->is_publishing || !as->is_availability_stopped;
}

static void services_on_availability_stopped(struct cor_api_services *as)
{
    as->is_availability_stopped = true;
}

static void services_on_stopped(struct cor_inner_follower *f)
{
    struct cor_api_services *as = COR_CONTAINER_OF(f, struct cor_api_services, follower);

    as->on_stopped(as->arg);
}

static void services_on_served(struct cor_served_follower *served)
{
    cor_auto_register_follow(COR_CONTAINER_OF(served, struct cor_api_services, served));
}

int cor_api_services_new(const struct cor_api_services_opts *opts,
                         struct cor_api_services **ret_services, struct cor_status *reterr)
{
    static const struct cor_feed_handler_ops handler = {
        .show = services_on_show, .gone = services_on_gone, .listed = services_on_listed};
    struct cor_api_services *as = cor_calloc(1, sizeof(*as));
    struct cor_inner_follower_opts follower_opts = {.home = cor_api_home(opts->api),
                                                    .user_agent = COR_STR(USER_AGENT),
                                                    .resource = &services_gvr,
                                                    .handler = &handler,
                                                    .reconciler = &cor_auto_register_opts,
                                                    .is_busy = services_are_busy};
    int r;

    if (!as)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    as->api = opts->api;
    as->clock = opts->clock ? opts->clock : cor_clock_real();
    as->publisher = cor_api_publisher(opts->api);
    as->publish_mail.on_mail = services_on_publish;
    as->served.on_served = services_on_served;
    cor_dlist_init(&as->served.link);
    cor_timer_init(&as->retry, services_loop(as), services_on_retry);
    follower_opts.clock = as->clock;
    r = cor_auto_register_init(as);
    if (r == 0)
        r = cor_available_metrics_init(&as->metrics, opts->metrics);
    if (r < 0)
        (void)cor_status_set_err(reterr, r);
    if (r == 0)
        r = cor_inner_follower_init(&as->follower, &follower_opts, reterr);
    if (r == 0)
        r = cor_availability_new(as, opts->config, &as->availability, reterr);
    if (r < 0) {
        cor_api_services_free(as);
        return r;
    }
    *ret_services = as;
    return 0;
}

struct cor_api_services *cor_api_services_free(struct cor_api_services *as)
{
    if (!as)
        return NULL;
    cor_availability_free(as->availability);
    cor_inner_follower_deinit(&as->follower);
    cor_auto_register_deinit(as);
    for (size_t i = 0; i < as->nentries; i++)
        entry_free(as->entries[i]);
    cor_free(as->entries);
    return cor_free(as);
}

int cor_api_services_start(struct cor_api_services *as, struct cor_status *reterr)
{
    int r = cor_availability_start(as->availability, reterr);

    assert(cor_loop_is_current(services_loop(as)));
    if (r < 0)
        return r;
    cor_api_follow_served(cor_api_home(as->api), &as->served);
    return cor_inner_follower_start(&as->follower, reterr);
}

bool cor_api_services_are_published(const struct cor_api_services *as)
{
    return atomic_load(&as->are_published);
}

bool cor_api_services_are_registered(const struct cor_api_services *as)
{
    return atomic_load(&as->are_registered);
}

void cor_api_services_stop(struct cor_api_services *as, uint64_t max_ms,
                           void (*on_stopped)(void *arg), void *arg)
{
    assert(on_stopped && !as->on_stopped);
    as->on_stopped = on_stopped;
    as->arg = arg;
    cor_api_unfollow_served(&as->served);
    if (cor_timer_is_set(&as->retry)) {
        cor_timer_cancel(&as->retry);
        as->is_publishing = false;
    }
    cor_availability_stop(as->availability, max_ms, services_on_availability_stopped);
    cor_inner_follower_stop(&as->follower, max_ms, services_on_stopped);
}
