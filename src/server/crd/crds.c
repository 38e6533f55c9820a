/* clang-format off */
/* Follows the CustomResourceDefinitions through the port in process, and publishes what they define.
 *
 *   list, watch ──► cor_crds_take: is it newer than the entry's? ──► cor_crds_serve: its names are accepted, and it is other than what
 *   is served ──► a definition, its watch cache ──► crds_publish_soon, once per turn ──► the cache is filled: the definition takes
 *   the place of the old one, which is retired ──► the next snapshot ──► those that wait to be Established are reconciled
 *
 * A change of the spec or of the accepted names makes another definition, whose predecessor's watches
 * end; a change of labels or conditions does not (contract crd 3.2.3). The beginning of the deletion
 * marks the definition, and publishes it once more for discovery.
 *
 * Failures: without memory for an entry or a definition the reflector lists again, after a pause; a
 * snapshot for which there is no memory is made again after RETRY_MS. What was served stays served
 * meanwhile. An object that cannot be served (it has no accepted names) is logged.
 * Thread: the first loop of the API. */
/* clang-format on */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/api/api_cachers.h"
#include "server/catalog/version_order.h"
#include "server/crd/crds_int.h"

#define RETRY_MS   100
#define FILLING_MS 1 /* between looks at caches that are being filled */
#define USER_AGENT "kube-apiserver"

static struct cor_loop *crds_loop(const struct cor_crds *crds)
{
    return cor_api_home(crds->api)->loop;
}

/* ---- what is published ---- */

/* By group, then the better version first, then by name. */
static int order_rows(const void *a, const void *b)
{
    const struct cor_resource_row *x = *(const struct cor_resource_row *const *)a;
    const struct cor_resource_row *y = *(const struct cor_resource_row *const *)b;
    int order = cor_str_cmp(x->group, y->group);

    if (order == 0)
        order = cor_version_order(x->version, y->version);
    return order ? order : cor_str_cmp(x->plural, y->plural);
}

static struct cor_crds *crds_of_maker(struct cor_row_maker *maker)
{
    return COR_CONTAINER_OF(maker, struct cor_crds, maker);
}

static size_t crds_nrows_max(struct cor_row_maker *maker)
{
    const struct cor_crds *crds = crds_of_maker(maker);
    size_t max = 0;

    for (size_t i = 0; i < crds->nentries; i++)
        max += crds->entries[i]->served ? cor_definition_n(crds->entries[i]->served) : 0;
    return max;
}

/* The rows of all definitions that are served, sorted. */
static size_t crds_add_rows(struct cor_row_maker *maker, const struct cor_resource_row **rows)
{
    const struct cor_crds *crds = crds_of_maker(maker);
    size_t n = 0;

    for (size_t i = 0; i < crds->nentries; i++) {
        const struct cor_definition *d = crds->entries[i]->served;

        for (size_t k = 0; d && k < cor_definition_n(d); k++) {
            const struct cor_resource_row *row = cor_definition_row(d, k);

            if (!row->custom->is_hidden)
                rows[n++] = row;
        }
    }
    qsort(rows, n, sizeof(rows[0]), order_rows);
    return n;
}

/* Drops the reference to a definition that is not served any more since the revision `rev`; NULL is
 * fine. */
static void definition_retire(const struct cor_crds *crds, struct cor_definition **definition,
                              cor_rev rev)
{
    struct cor_definition *d = COR_STEAL(*definition);

    if (!d)
        return;
    cor_definition_retire(d, crds->publisher->generation + 1, rev);
    cor_row_unref(cor_definition_row(d, 0));
}

static int crds_enqueue(struct cor_crds *crds, struct cor_str name)
{
    return cor_reconciler_enqueue(&crds->follower.reconciler, COR_STR(""), name, 0);
}

/* Without memory for a key the next event of that definition does it. */
static void crds_enqueue_waiting(struct cor_crds *crds)
{
    for (size_t i = 0; i < crds->nentries; i++) {
        struct crd_entry *entry = crds->entries[i];

        if (!entry->awaits_publication)
            continue;
        entry->awaits_publication = false;
        (void)crds_enqueue(crds, entry->name);
    }
}

static void crds_publish_soon(struct cor_crds *crds);

/* Nothing is published any more. */
static bool crds_are_ending(const struct cor_crds *crds)
{
    return !crds->follower.is_following || crds->on_stopped;
}

static void crds_on_published(struct cor_row_maker *maker)
{
    struct cor_crds *crds = crds_of_maker(maker);

    crds->has_changed = false;
    crds->generation = crds->publisher->generation;
    /* Whoever waits is told when the loops serve it. */
    if (!crds_are_ending(crds))
        crds_publish_soon(crds);
}

/* Replaces served definitions with those whose caches are filled, so that a client which sees a
 * resource can read it. Returns how many wait for their caches. */
static size_t crds_settle(struct cor_crds *crds)
{
    size_t nwaiting = 0;

    for (size_t i = 0; i < crds->nentries; i++) {
        struct crd_entry *entry = crds->entries[i];

        if (!entry->next)
            continue;
        /* A deletion is shown at once: nothing may be created any more. */
        if (!cor_definition_is_settled(entry->next) && !cor_crd_is_deleted(entry->object)) {
            nwaiting++;
            continue;
        }
        entry->may_fit = entry->served || cor_api_shared(crds->api)->cachers;
        definition_retire(crds, &entry->served, entry->object->rev);
        entry->served = COR_STEAL(entry->next);
        crds->has_changed = true;
    }
    return nwaiting;
}

/* Has every loop taken what was published last? A thread may be behind by a while. */
static bool crds_are_served(const struct cor_crds *crds)
{
    return cor_api_has_taken(crds->api, crds->generation);
}

/* All definitions that were stored are served. */
static void set_synced(struct cor_crds *crds)
{
    atomic_store(&crds->is_synced, true);
    atomic_store(&cor_api_shared(crds->api)->awaits_definitions, false);
}

/* From the stop on nothing is published, and the retry is not set any more. */
static void crds_try_publish(struct cor_crds *crds)
{
    bool is_ending = crds_are_ending(crds);
    size_t nwaiting = is_ending ? 0 : crds_settle(crds);
    int r = !is_ending && crds->has_changed ? cor_publisher_publish(crds->publisher) : 0;
    bool is_served = is_ending || (r == 0 && crds_are_served(crds));

    crds->is_publishing = false;
    crds->nfilling = nwaiting;
    if (is_served)
        crds_enqueue_waiting(crds);
    if (is_served && nwaiting == 0) {
        if (crds->has_listed)
            set_synced(crds);
        return;
    }
    if (r < 0)
        COR_LOG_ERROR("custom resources could not be published; another try follows",
                      COR_F_STR("err", cor_err_text(r)));
    if (cor_timer_set(&crds->retry, r < 0 ? RETRY_MS : FILLING_MS) == 0)
        crds->is_publishing = true;
}

static void crds_on_publish(struct cor_mail *mail)
{
    crds_try_publish(COR_CONTAINER_OF(mail, struct cor_crds, publish_mail));
}

static void crds_on_retry(struct cor_timer *timer)
{
    crds_try_publish(COR_CONTAINER_OF(timer, struct cor_crds, retry));
}

static void crds_post_publish(struct cor_crds *crds)
{
    crds->is_publishing = true;
    cor_dlist_init(&crds->publish_mail.link);
    cor_loop_post_always(crds_loop(crds), &crds->publish_mail);
}

/* Changes of one turn are published together. */
static void crds_publish_soon(struct cor_crds *crds)
{
    if (!crds->is_publishing)
        crds_post_publish(crds);
}

/* The last of the caches that were waited for need not wait for the retry. The retry remains for
 * those that cannot be filled. */
static void crds_on_filled(void *arg)
{
    struct cor_crds *crds = arg;

    if (crds->nfilling == 0 || --crds->nfilling > 0 || crds->on_stopped ||
        !cor_timer_is_set(&crds->retry))
        return;
    cor_timer_cancel(&crds->retry);
    crds_post_publish(crds);
}

/* ---- entries ---- */

/* Nothing of the entry is served from the next snapshot on, because of what the store says since
 * the revision `rev`. */
static void entry_retire(struct cor_crds *crds, struct crd_entry *entry, cor_rev rev)
{
    definition_retire(crds, &entry->next, rev);
    if (!entry->served)
        return;
    definition_retire(crds, &entry->served, rev);
    crds->has_changed = true;
    crds_publish_soon(crds);
}

/* Nothing is created any more when the object is being deleted; discovery shows it. */
static void entry_close_gate(struct cor_crds *crds, struct crd_entry *entry)
{
    if ((!cor_crd_is_deleted(entry->object) && !cor_crd_is_true(&entry->crd, "Terminating")) ||
        atomic_exchange(&entry->gate->is_closed, true))
        return;
    entry->closed_ms = cor_loop_now_ms(crds_loop(crds));
    crds->has_changed = crds->has_changed || entry->served;
    if (entry->served)
        crds_publish_soon(crds);
}

int cor_crds_serve(struct cor_crds *crds, struct crd_entry *entry)
{
    struct cor_definition *d, *newest = entry->next ? entry->next : entry->served;
    struct cor_custom_cache *cache = NULL;
    int r;

    entry_close_gate(crds, entry);
    if (!cor_crd_is_true(&entry->crd, "NamesAccepted") &&
        !cor_crd_is_true(&entry->crd, "Established")) {
        entry_retire(crds, entry, entry->object->rev);
        return 0;
    }
    if (newest && cor_definition_is_of(newest, &entry->crd))
        return 0;
    r = cor_definition_new(entry->object, &entry->crd, &entry->versions, &crds->places, entry->gate,
                           &d);
    if (r == -COR_EINVAL || r == -COR_ETOOBIG) {
        COR_LOG_ERROR("a custom resource cannot be served", COR_F_STR("name", entry->name),
                      COR_F_STR("err", cor_err_text(r)));
        entry_retire(crds, entry, entry->object->rev);
        return 0;
    }
    if (r < 0)
        return r;
    if (cor_api_shared(crds->api)->cachers) {
        r = cor_api_cachers_add(cor_api_shared(crds->api)->cachers, cor_definition_stored(d),
                                crds_on_filled, crds, &cache, NULL);
        if (r < 0) {
            cor_row_unref(cor_definition_row(d, 0));
            return r;
        }
        cor_definition_set_cache(d, cache);
    }
    definition_retire(crds, &entry->next, entry->object->rev);
    entry->next = d;
    crds_publish_soon(crds);
    return 0;
}

int cor_crds_take(struct cor_crds *crds, struct cor_object *crd)
{
    struct crd_entry *entry = cor_crds_find(crds, cor_object_name(crd));
    int r = 0;

    if (entry && entry->object->rev > crd->rev)
        return 0;
    if (!entry)
        r = cor_crd_entries_insert(crds, crd, &entry);
    else if (entry->object->rev < crd->rev)
        r = cor_crd_entry_replace(entry, crd);
    if (r == -COR_ETOOBIG) {
        COR_LOG_ERROR("too many CustomResourceDefinitions",
                      COR_F_STR("name", cor_object_name(crd)));
        return 0;
    }
    if (r == 0)
        r = cor_crds_serve(crds, entry);
    return r < 0 ? r : crds_enqueue(crds, cor_object_name(crd));
}

bool cor_crds_shows(struct cor_crds *crds, struct crd_entry *entry)
{
    entry->awaits_publication = entry->next || crds->has_changed || !crds_are_served(crds);
    return !entry->awaits_publication;
}

void cor_crds_requeue_group(struct cor_crds *crds, struct cor_str group, struct cor_str but)
{
    for (size_t i = 0; i < crds->nentries; i++) {
        const struct crd_entry *entry = crds->entries[i];

        if (entry->is_named || !cor_str_eq(entry->group, group) || cor_str_eq(entry->name, but))
            continue;
        /* Without memory for the key the next event of that definition does it. */
        (void)crds_enqueue(crds, entry->name);
    }
}

/* The store does not have it any more. */
static void entries_remove(struct cor_crds *crds, size_t at)
{
    struct crd_entry *entry = crds->entries[at];

    cor_crd_entries_take_out(crds, at);
    entry_retire(crds, entry, crds->follower.handler.rev);
    /* The names are free. */
    cor_crds_requeue_group(crds, entry->group, COR_STR(""));
    cor_crd_entry_free(entry);
}

/* ---- what is followed ---- */

static struct cor_crds *crds_of(struct cor_feed_handler *h)
{
    return COR_CONTAINER_OF(h, struct cor_crds, follower.handler);
}

static int crds_on_show(struct cor_feed_handler *h, struct cor_object *object)
{
    struct crd_entry *entry;
    int r = cor_crds_take(crds_of(h), object);

    entry = r == 0 ? cor_crds_find(crds_of(h), cor_object_name(object)) : NULL;
    if (entry)
        entry->list = h->list;
    return r;
}

static int crds_on_gone(struct cor_feed_handler *h, struct cor_object *object)
{
    struct cor_crds *crds = crds_of(h);
    const struct crd_entry *entry = cor_crds_find(crds, cor_object_name(object));

    if (entry)
        entries_remove(crds, cor_crd_entries_at(crds, entry->name));
    return 0;
}

static int crds_on_listed(struct cor_feed_handler *h)
{
    struct cor_crds *crds = crds_of(h);

    for (size_t i = crds->nentries; i > 0; i--) {
        if (crds->entries[i - 1]->list != h->list)
            entries_remove(crds, i - 1);
    }
    if (!crds->has_listed) {
        crds->has_listed = true;
        cor_reconciler_synced(&crds->follower.reconciler);
        if (!crds->is_publishing)
            set_synced(crds);
    }
    return 0;
}

/* ---- life ---- */

static bool crds_is_busy(struct cor_inner_follower *f)
{
    return COR_CONTAINER_OF(f, struct cor_crds, follower)->is_publishing;
}

/* What is served stays until the loops are released. */
static void crds_on_stopped(struct cor_inner_follower *f)
{
    struct cor_crds *crds = COR_CONTAINER_OF(f, struct cor_crds, follower);

    cor_publisher_set_maker(crds->publisher, NULL);
    for (size_t i = 0; i < crds->nentries; i++)
        cor_crd_entry_free(crds->entries[i]);
    crds->nentries = 0;
    crds->on_stopped(crds->arg);
}

int cor_crds_new(const struct cor_crds_opts *opts, struct cor_crds **ret_crds,
                 struct cor_status *reterr)
{
    /* names a kind: what is followed */
    static const struct cor_gvr resource = {COR_STR_INIT("apiextensions.k8s.io"),
                                            COR_STR_INIT("v1"),
                                            COR_STR_INIT("customresourcedefinitions")};
    static const struct cor_feed_handler_ops handler = {
        .show = crds_on_show, .gone = crds_on_gone, .listed = crds_on_listed};
    struct cor_crds *crds = cor_calloc(1, sizeof(*crds));
    struct cor_inner_follower_opts follower_opts = {.home = cor_api_home(opts->api),
                                                    .user_agent = COR_STR(USER_AGENT),
                                                    .resource = &resource,
                                                    .handler = &handler,
                                                    .reconciler = &cor_crd_status_opts,
                                                    .is_busy = crds_is_busy};
    int r;

    if (!crds)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    crds->api = opts->api;
    atomic_store(&cor_api_shared(crds->api)->awaits_definitions, true);
    crds->clock = opts->clock ? opts->clock : cor_clock_real();
    crds->publisher = cor_api_publisher(opts->api);
    crds->maker = (struct cor_row_maker){crds_nrows_max, crds_add_rows, crds_on_published};
    cor_publisher_set_maker(crds->publisher, &crds->maker);
    crds->publish_mail.on_mail = crds_on_publish;
    cor_timer_init(&crds->retry, crds_loop(crds), crds_on_retry);
    follower_opts.clock = crds->clock;
    r = cor_inner_follower_init(&crds->follower, &follower_opts, reterr);
    if (r < 0) {
        atomic_store(&cor_api_shared(crds->api)->awaits_definitions, false);
        cor_publisher_set_maker(crds->publisher, NULL);
        cor_crds_free(crds);
        return r;
    }
    *ret_crds = crds;
    return 0;
}

struct cor_crds *cor_crds_free(struct cor_crds *crds)
{
    if (!crds)
        return NULL;
    cor_inner_follower_deinit(&crds->follower);
    for (size_t i = 0; i < crds->nentries; i++)
        cor_crd_entry_free(crds->entries[i]);
    for (size_t i = 0; i < COR_DEFINITIONS_MAX / 64; i++)
        assert(atomic_load(&crds->places.taken[i]) == 0);
    cor_free(crds->entries);
    return cor_free(crds);
}

int cor_crds_start(struct cor_crds *crds, struct cor_status *reterr)
{
    assert(cor_loop_is_current(crds_loop(crds)));
    return cor_inner_follower_start(&crds->follower, reterr);
}

bool cor_crds_is_synced(const struct cor_crds *crds)
{
    return atomic_load(&crds->is_synced);
}

void cor_crds_stop(struct cor_crds *crds, uint64_t max_ms, void (*on_stopped)(void *arg), void *arg)
{
    assert(on_stopped && !crds->on_stopped);
    crds->on_stopped = on_stopped;
    crds->arg = arg;
    if (cor_timer_is_set(&crds->retry)) {
        cor_timer_cancel(&crds->retry);
        crds->is_publishing = false;
    }
    cor_inner_follower_stop(&crds->follower, max_ms, crds_on_stopped);
}
