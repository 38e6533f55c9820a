/* clang-format off */
/* The remote follower: which services there are, when each is asked, and what is published.
 *
 *   on_served ──► services and versions as the snapshot has them; changed ones are due now
 *   tick (1 s) ──► availability that has changed makes a service due
 *              ──► starts the chains that are due, at most BUSY_MAX of a topic at a time
 *   a chain ends ──► due again in a minute; OpenAPI after failures in 1, 2, 4 … 60 minutes
 *   something was learned ──► publish, PUBLISH_MS later, together with what is learned meanwhile
 *
 * When the versions of a service change, its chains are ended and begin again. A job cannot be ended:
 * its result is dropped, and a service that has gone waits for it.
 *
 * Failures: a service that does not answer is logged once until it answers again. Without memory a
 * chain fails, or the snapshot is published later. */
/* clang-format on */
#include "server/aggregation/remote_follower.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "server/aggregation/remote_follower_int.h"
#include "server/api/api_loop.h"
#include "server/api/heavy.h"
#include "server/api/publisher.h"

#define TICK_MS    1000
#define PUBLISH_MS 20
#define BUSY_MAX   8 /* chains of one topic at a time: each may hold one document */

/* --- Texts ------------------------------------------------------------------------------------ */

/* Without memory for the timer the next tick does it. */
static void follower_changed(struct cor_remote_follower *f)
{
    f->has_changed = true;
    if (!f->is_closing && !cor_timer_is_set(&f->publish))
        (void)cor_timer_set(&f->publish, PUBLISH_MS);
}

int cor_remote_set_text(struct cor_remote *remote, struct cor_remote_text **place,
                        struct cor_remote_text *take_text)
{
    struct cor_remote_follower *f = remote->follower;
    size_t old = *place ? (*place)->n : 0, new = take_text ? take_text->n : 0;

    if (take_text && *place && strcmp(take_text->hash, (*place)->hash) == 0) {
        cor_remote_text_unref(take_text);
        return 0;
    }
    if (new > old && (remote->bytes - old + new > COR_REMOTE_TARGET_BYTES ||
                      f->bytes - old + new > COR_REMOTE_ALL_BYTES)) {
        cor_remote_text_unref(take_text);
        return -COR_ETOOBIG;
    }
    if (take_text || *place)
        cor_remote_changed(remote);
    cor_remote_text_unref(*place);
    *place = take_text;
    remote->bytes = remote->bytes - old + new;
    f->bytes = f->bytes - old + new;
    return 0;
}

void cor_remote_changed(struct cor_remote *remote)
{
    follower_changed(remote->follower);
}

static void version_free(struct cor_remote *remote, struct cor_followed_version *v)
{
    (void)cor_remote_set_text(remote, &v->resources, NULL);
    (void)cor_remote_set_text(remote, &v->openapi_2, NULL);
    (void)cor_remote_set_text(remote, &v->openapi_3, NULL);
    (void)cor_remote_set_text(remote, &v->openapi_3_group, NULL);
    remote->follower->nversions--;
    cor_api_service_unref(v->service);
    cor_free(v);
}

struct cor_followed_version *cor_remote_available(const struct cor_remote *remote)
{
    for (size_t i = 0; i < remote->nversions; i++) {
        if (cor_api_service_is_available(remote->versions[i]->service))
            return remote->versions[i];
    }
    return NULL;
}

/* --- Publishing ------------------------------------------------------------------------------- */

static int follower_publish(struct cor_remote_follower *f)
{
    struct cor_remote_version *versions = cor_calloc(f->nversions + 1, sizeof(*versions));
    struct cor_publisher *publisher = cor_api_publisher(f->api);
    struct cor_remote_docs *docs = NULL;
    size_t n = 0;
    int r;

    if (!versions)
        return -COR_ENOMEM;
    COR_DLIST_FOREACH(link, &f->remotes) {
        const struct cor_remote *remote = COR_CONTAINER_OF(link, struct cor_remote, link);

        for (size_t i = 0; i < remote->nversions; i++) {
            const struct cor_followed_version *v = remote->versions[i];

            if (v->is_told)
                versions[n++] = (struct cor_remote_version){.group = v->service->group,
                                                            .version = v->service->version,
                                                            .is_current = v->is_current,
                                                            .resources = v->resources,
                                                            .openapi_2 = v->openapi_2,
                                                            .openapi_3 = v->openapi_3,
                                                            .openapi_3_group = v->openapi_3_group};
        }
    }
    r = cor_remote_docs_new(versions, n, &docs);
    cor_free(versions);
    if (r < 0)
        return r;
    cor_publisher_set_remote_docs(publisher, docs);
    cor_remote_docs_unref(docs);
    return cor_publisher_publish(publisher);
}

static void follower_on_publish(struct cor_timer *timer)
{
    struct cor_remote_follower *f = COR_CONTAINER_OF(timer, struct cor_remote_follower, publish);
    int r = follower_publish(f);

    f->has_changed = r < 0;
    if (r < 0) {
        COR_LOG_WARN("documents of aggregated services are not published yet", COR_F_ERR(r));
        (void)cor_timer_set(timer, TICK_MS);
    }
}

/* --- Chains ----------------------------------------------------------------------------------- */

static void asker_drop_job(struct cor_asker *asker)
{
    for (size_t i = 0; i < asker->njob_versions; i++) {
        cor_api_service_unref(asker->job_versions[i].service);
        cor_remote_text_unref(asker->job_versions[i].openapi_2);
        cor_remote_text_unref(asker->job_versions[i].openapi_3);
    }
    asker->job_versions = cor_free(asker->job_versions);
    asker->njob_versions = 0;
    asker->made = cor_remote_text_unref(asker->made);
    cor_buf_deinit(&asker->body);
    cor_buf_deinit(&asker->index);
}

static void asker_idle(struct cor_asker *asker)
{
    assert(asker->is_busy && !asker->fetch && !asker->is_in_job);
    asker_drop_job(asker);
    asker->is_busy = asker->is_outdated = false;
    asker->remote->follower->nbusy[asker->topic]--;
}

static uint64_t asker_delay_ms(const struct cor_asker *asker)
{
    unsigned doublings = asker->failures > 1 ? asker->failures - 1 : 0;

    if (asker->topic == COR_REMOTE_DISCOVERY)
        return COR_REMOTE_REFRESH_MS;
    return doublings >= 6 ? COR_REMOTE_BACKOFF_MS : (uint64_t)COR_REMOTE_REFRESH_MS << doublings;
}

void cor_asker_end(struct cor_asker *asker, int r, const char *text)
{
    struct cor_remote *remote = asker->remote;
    const struct cor_api_service *service = remote->versions[0]->service;

    asker->failures = r < 0 ? asker->failures + 1 : 0;
    if (r < 0 && !asker->is_logged) {
        COR_LOG_WARN(
            "an aggregated service does not say what it serves",
            COR_F_STR("service", service->service_name),
            COR_F_STR("namespace", service->service_ns),
            COR_F_STR("asked", asker->topic == COR_REMOTE_DISCOVERY ? "discovery" : "openapi"),
            COR_F_STR("why", text), COR_F_ERR(r));
    }
    asker->is_logged = r < 0;
    asker_idle(asker);
    asker->due_ms = cor_loop_now_ms(remote->follower->loop) + asker_delay_ms(asker);
}

int cor_asker_fetch(struct cor_asker *asker, const struct cor_followed_version *version,
                    const struct cor_fetch_opts *opts, cor_fetch_cb on_done)
{
    struct cor_fetch_opts all = *opts;

    assert(asker->is_busy && !asker->fetch && !asker->is_in_job);
    all.spec = cor_target_spec_of(version->service);
    return cor_fetch_open(asker->remote->follower->targets, &all, on_done, asker, &asker->fetch);
}

static void follower_end_if_idle(struct cor_remote_follower *f);
static void remote_free_if_idle(struct cor_remote *remote);

static void asker_on_job(struct cor_job *job)
{
    struct cor_asker *asker = COR_CONTAINER_OF(job, struct cor_asker, job);
    struct cor_remote *remote = asker->remote;
    struct cor_remote_follower *f = remote->follower;

    asker->is_in_job = false;
    if (remote->is_removed || f->is_closing) {
        asker_idle(asker);
        remote_free_if_idle(remote);
        follower_end_if_idle(f);
    } else if (asker->is_outdated) {
        asker_idle(asker);
        asker->due_ms = 0;
    } else {
        asker->next(asker);
    }
}

static void asker_run_job(struct cor_job *job)
{
    struct cor_asker *asker = COR_CONTAINER_OF(job, struct cor_asker, job);

    asker->work(asker);
}

int cor_asker_work(struct cor_asker *asker, void (*work)(struct cor_asker *asker),
                   void (*next)(struct cor_asker *asker))
{
    struct cor_remote_follower *f = asker->remote->follower;
    int r;

    assert(asker->is_busy && !asker->fetch && !asker->is_in_job);
    asker->work = work;
    asker->next = next;
    if (!cor_api_settings(f->api)->offload || asker->body.n <= COR_HEAVY_BYTES) {
        work(asker);
        next(asker);
        return 0;
    }
    /* The document, its canonical form, its index and what is made of it. */
    asker->job = (struct cor_job){
        .run = asker_run_job, .on_done = asker_on_job, .loop = f->loop, .bytes = 4 * asker->body.n};
    r = cor_offload_submit(cor_api_settings(f->api)->offload, &asker->job);
    asker->is_in_job = r == 0;
    return r;
}

/* Ends the chain, or lets the job end it. */
static void asker_stop(struct cor_asker *asker)
{
    if (!asker->is_busy)
        return;
    if (asker->fetch) {
        cor_fetch_cancel(asker->fetch);
        asker->fetch = NULL;
    }
    asker->is_outdated = asker->is_in_job;
    if (!asker->is_in_job)
        asker_idle(asker);
}

/* --- Services --------------------------------------------------------------------------------- */

static bool remote_is_busy(const struct cor_remote *remote)
{
    return remote->askers[COR_REMOTE_DISCOVERY].is_busy ||
           remote->askers[COR_REMOTE_OPENAPI].is_busy;
}

static void remote_free_if_idle(struct cor_remote *remote)
{
    if (remote->nversions > 0 || remote_is_busy(remote))
        return;
    cor_dlist_remove(&remote->link);
    cor_free(remote->versions);
    cor_free(remote);
}

/* All questions again, at the next tick. */
static void remote_ask_anew(struct cor_remote *remote)
{
    for (size_t t = 0; t < COR_REMOTE_TOPICS; t++) {
        asker_stop(&remote->askers[t]);
        remote->askers[t].due_ms = 0;
        remote->askers[t].failures = 0;
    }
}

static bool remote_is_of(const struct cor_remote *remote, const struct cor_api_service *service)
{
    const struct cor_api_service *own = remote->versions[0]->service;

    return own->service_port == service->service_port &&
           cor_str_eq(own->service_name, service->service_name) &&
           cor_str_eq(own->service_ns, service->service_ns);
}

static struct cor_remote *remote_find(struct cor_remote_follower *f,
                                      const struct cor_api_service *service)
{
    COR_DLIST_FOREACH(link, &f->remotes) {
        struct cor_remote *remote = COR_CONTAINER_OF(link, struct cor_remote, link);

        if (remote->nversions > 0 && remote_is_of(remote, service))
            return remote;
    }
    return NULL;
}

static struct cor_remote *remote_new(struct cor_remote_follower *f)
{
    struct cor_remote *remote = cor_calloc(1, sizeof(*remote));

    if (!remote)
        return NULL;
    remote->follower = f;
    for (size_t t = 0; t < COR_REMOTE_TOPICS; t++) {
        remote->askers[t].remote = remote;
        remote->askers[t].topic = (enum cor_remote_topic)t;
    }
    cor_dlist_push(&f->remotes, &remote->link);
    return remote;
}

static int remote_add(struct cor_remote *remote, struct cor_api_service *service)
{
    struct cor_remote_follower *f = remote->follower;
    struct cor_followed_version *v, **versions;

    if (f->nversions >= COR_REMOTE_VERSIONS_MAX)
        return -COR_ETOOBIG;
    versions = cor_realloc(remote->versions,
                           (remote->nversions + 1) * sizeof(struct cor_followed_version *));
    if (!versions)
        return -COR_ENOMEM;
    remote->versions = versions;
    v = cor_calloc(1, sizeof(*v));
    if (!v)
        return -COR_ENOMEM;
    v->service = cor_api_service_ref(service);
    v->is_seen = true;
    versions[remote->nversions++] = v;
    f->nversions++;
    return 0;
}

/* The service has this APIService. */
static int remote_see(struct cor_remote *remote, struct cor_api_service *service)
{
    int r;

    for (size_t i = 0; i < remote->nversions; i++) {
        struct cor_followed_version *v = remote->versions[i];

        if (!cor_str_eq(v->service->group, service->group) ||
            !cor_str_eq(v->service->version, service->version))
            continue;
        v->is_seen = true;
        if (v->service != service) {
            remote_ask_anew(remote);
            cor_api_service_unref(v->service);
            v->service = cor_api_service_ref(service);
        }
        return 0;
    }
    remote_ask_anew(remote);
    r = remote_add(remote, service);
    /* What the server answered with knew nothing of this version. */
    remote->askers[COR_REMOTE_DISCOVERY].etag[0] = '\0';
    remote->askers[COR_REMOTE_OPENAPI].etag[0] = '\0';
    return r;
}

/* Removes versions that the snapshot does not have. */
static void remote_sweep(struct cor_remote *remote)
{
    size_t kept = 0, n = remote->nversions;

    for (size_t i = 0; i < n; i++) {
        if (!remote->versions[i]->is_seen)
            remote_ask_anew(remote);
    }
    for (size_t i = 0; i < n; i++) {
        struct cor_followed_version *v = remote->versions[i];

        if (v->is_seen) {
            v->is_seen = false;
            remote->versions[kept++] = v;
        } else {
            if (v->is_told)
                cor_remote_changed(remote);
            version_free(remote, v);
        }
    }
    remote->nversions = kept;
    remote->is_removed = kept == 0;
    remote_free_if_idle(remote);
}

static void follower_on_served(struct cor_served_follower *follower)
{
    struct cor_remote_follower *f = COR_CONTAINER_OF(follower, struct cor_remote_follower, served);
    size_t n;
    struct cor_api_service *const *services = cor_served_services(cor_api_home(f->api)->served, &n);
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        struct cor_remote *remote;

        if (!services[i]->is_remote)
            continue;
        remote = remote_find(f, services[i]);
        if (!remote)
            remote = remote_new(f);
        if (!remote || remote_see(remote, services[i]) < 0)
            r = -COR_ENOMEM;
    }
    COR_DLIST_FOREACH_SAFE(link, &f->remotes)
        remote_sweep(COR_CONTAINER_OF(link, struct cor_remote, link));
    if (r < 0)
        COR_LOG_WARN("an aggregated service is not asked what it serves", COR_F_ERR(r));
    if (!cor_dlist_empty(&f->remotes) && !f->is_closing)
        (void)cor_timer_set(&f->tick, 0);
}

/* --- Time ------------------------------------------------------------------------------------- */

static void remote_look(struct cor_remote *remote)
{
    for (size_t i = 0; i < remote->nversions; i++) {
        struct cor_followed_version *v = remote->versions[i];
        bool is_available = cor_api_service_is_available(v->service);

        if (is_available == v->was_available)
            continue;
        v->was_available = is_available;
        /* The next answer must be a whole one. */
        remote->askers[COR_REMOTE_DISCOVERY].etag[0] = '\0';
        for (size_t t = 0; t < COR_REMOTE_TOPICS; t++) {
            remote->askers[t].due_ms = 0;
            remote->askers[t].failures = 0;
        }
    }
}

static void asker_start(struct cor_asker *asker)
{
    asker->is_busy = true;
    asker->step = 0;
    asker->at = 0;
    asker->remote->follower->nbusy[asker->topic]++;
    if (asker->topic == COR_REMOTE_DISCOVERY)
        cor_discovery_ask(asker);
    else
        cor_openapi_ask(asker);
}

static void follower_on_tick(struct cor_timer *timer)
{
    struct cor_remote_follower *f = COR_CONTAINER_OF(timer, struct cor_remote_follower, tick);
    uint64_t now_ms = cor_loop_now_ms(f->loop);

    COR_DLIST_FOREACH(link, &f->remotes) {
        struct cor_remote *remote = COR_CONTAINER_OF(link, struct cor_remote, link);

        remote_look(remote);
        for (size_t t = 0; t < COR_REMOTE_TOPICS && remote->nversions > 0; t++) {
            struct cor_asker *asker = &remote->askers[t];

            if (!asker->is_busy && asker->due_ms <= now_ms && f->nbusy[t] < BUSY_MAX)
                asker_start(asker);
        }
    }
    if (f->has_changed)
        follower_changed(f);
    if (!cor_dlist_empty(&f->remotes))
        (void)cor_timer_set(timer, TICK_MS);
}

/* --- Life ------------------------------------------------------------------------------------- */

static void follower_on_end(struct cor_timer *timer)
{
    struct cor_remote_follower *f = COR_CONTAINER_OF(timer, struct cor_remote_follower, end);
    void (*on_closed)(void *arg) = f->on_closed;
    void *arg = f->arg;

    cor_free(f);
    if (on_closed)
        on_closed(arg);
}

static void follower_end_if_idle(struct cor_remote_follower *f)
{
    if (f->is_closing && cor_dlist_empty(&f->remotes))
        (void)cor_timer_set(&f->end, 0);
}

int cor_remote_follower_open(struct cor_api *api, struct cor_targets *targets,
                             struct cor_remote_follower **ret_follower)
{
    struct cor_remote_follower *f = cor_calloc(1, sizeof(*f));
    int r;

    assert(api && targets && ret_follower);
    if (!f)
        return -COR_ENOMEM;
    f->api = api;
    f->loop = cor_targets_loop(targets);
    f->targets = targets;
    f->served.on_served = follower_on_served;
    assert(f->loop == cor_api_home(api)->loop && cor_loop_is_current(f->loop));
    cor_dlist_init(&f->remotes);
    cor_timer_init(&f->tick, f->loop, follower_on_tick);
    cor_timer_init(&f->publish, f->loop, follower_on_publish);
    cor_timer_init(&f->end, f->loop, follower_on_end);
    /* So that closing needs no memory. */
    r = cor_timer_set(&f->end, UINT32_MAX);
    if (r < 0) {
        cor_free(f);
        return r;
    }
    cor_api_follow_served(cor_api_home(api), &f->served);
    follower_on_served(&f->served);
    *ret_follower = f;
    return 0;
}

void cor_remote_follower_close(struct cor_remote_follower *f, void (*on_closed)(void *arg),
                               void *arg)
{
    assert(!f->is_closing && cor_loop_is_current(f->loop));
    f->is_closing = true;
    f->on_closed = on_closed;
    f->arg = arg;
    cor_api_unfollow_served(&f->served);
    cor_timer_cancel(&f->tick);
    cor_timer_cancel(&f->publish);
    COR_DLIST_FOREACH_SAFE(link, &f->remotes) {
        struct cor_remote *remote = COR_CONTAINER_OF(link, struct cor_remote, link);

        remote_sweep(remote);
    }
    follower_end_if_idle(f);
}
