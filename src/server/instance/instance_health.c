/* clang-format off */
/* The instance watches over itself: the health checks of the API, and the engine's status, which is
 * asked for every ENGINE_CHECK_MS and kept for the checks and metrics.
 *
 *   timer ──► cor_engine_status ──► the answer: verdict and cause stored ──► timer
 *
 * Whether the store has room is judged with each answer, from what the engine counted.
 *
 * The timer is set at all times (far away while an answer is awaited), because setting a timer that
 * is set cannot fail. A change of the verdict is logged once.
 * Thread: home; the checks run on any loop, so that they read atomics, and the cause under a lock.
 */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "server/alloc/alloc.h"
#include "server/crd/crds.h"
#include "server/instance/instance_int.h"

#define ENGINE_CHECK_MS 2000
#define ENGINE_FAR_MS   3600000
/* A store that is nearly full takes small values and refuses large ones: it has room again when it
 * has refused nothing for so many checks. */
#define ROOMY_CHECKS 5

static bool is_engine_ok(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    struct cor_instance *in = arg;

    if (atomic_load(&in->engine_ok))
        return true;
    cor_lock_acquire(&in->engine_lock);
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "%s", in->engine_why);
    cor_lock_release(&in->engine_lock);
    return false;
}

static bool has_store_room(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    if (!atomic_load(&((struct cor_instance *)arg)->is_store_full))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "the store has no room, and refuses writes");
    return false;
}

static bool is_always_ok(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    return true;
}

static bool is_synced(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    const struct cor_instance *in = arg;
    const struct cor_api *api = in->api;

    if (cor_api_is_synced(api) && in->alloc && cor_alloc_is_ready(in->alloc))
        return true;
    if (cor_api_is_synced(api)) {
        snprintf(reterr_why, COR_READY_MESSAGE_MAX, "addresses of Services are not read yet");
        return false;
    }
    if (!cor_api_sync_failed(api, reterr_why))
        snprintf(reterr_why, COR_READY_MESSAGE_MAX, "watch caches are not filled yet");
    return false;
}

/* The checks of upstream's post-start hooks: what a server does once after its start, and which a
 * client may wait for. */
static bool is_bootstrapped(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    if (atomic_load(&((struct cor_instance *)arg)->is_bootstrapped))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "not finished");
    return false;
}

static bool are_crds_synced(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    const struct cor_instance *in = arg;

    if (in->crds && cor_crds_is_synced(in->crds))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "not finished");
    return false;
}

static bool are_services_registered(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    const struct cor_instance *in = arg;

    if (in->services && cor_api_services_are_registered(in->services))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "missing APIService");
    return false;
}

static bool is_alloc_ready(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    const struct cor_instance *in = arg;

    if (in->alloc && cor_alloc_is_ready(in->alloc))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "not finished");
    return false;
}

static bool is_service_checked(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    if (atomic_load(&((struct cor_instance *)arg)->is_service_checked))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "not finished");
    return false;
}

static bool is_not_draining(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    if (!atomic_load(&((struct cor_instance *)arg)->draining))
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "process is shutting down");
    return false;
}

/* Stores the verdict of a health check, and logs a change of it: /readyz withholds the reason,
 * /readyz/etcd and the log show it. */
static void instance_judge_engine(struct cor_instance *in, const struct cor_engine_req *req)
{
    bool was_ok;

    /* The cause is stored before the verdict: a loop that sees the verdict finds its cause. */
    if (req->result < 0) {
        cor_lock_acquire(&in->engine_lock);
        snprintf(in->engine_why, sizeof(in->engine_why), "%s", cor_status_message(&req->status));
        cor_lock_release(&in->engine_lock);
    }
    was_ok = atomic_exchange(&in->engine_ok, req->result == 0);
    if (was_ok && req->result < 0)
        COR_LOG_ERROR("the store fails its health check",
                      COR_F_STR("err", cor_status_message(&req->status)));
    else if (!was_ok && req->result == 0)
        COR_LOG_INFO("the store is healthy again");
    if (req->result < 0)
        return;
    atomic_store(&in->store_bytes, in->engine_req.ret_file_bytes);
    atomic_store(&in->store_rev, in->engine_req.ret_rev);
}

/* Logs once that the store refuses writes for want of room, and once that it takes them again. */
static void instance_judge_room(struct cor_instance *in)
{
    uint64_t refused = cor_engine_refused_writes(in->engine);

    if (refused != in->refused_seen) {
        in->nroomy = 0;
        in->refused_seen = refused;
        if (!atomic_exchange(&in->is_store_full, true))
            COR_LOG_ERROR("the store has no room: writes are refused, reads go on",
                          COR_F_U64("refused", refused));
    } else if (atomic_load(&in->is_store_full) && !cor_engine_is_full(in->engine) &&
               ++in->nroomy >= ROOMY_CHECKS) {
        atomic_store(&in->is_store_full, false);
        COR_LOG_INFO("the store has room again", COR_F_U64("refused", refused));
    }
}

static void instance_set_engine_timer(struct cor_instance *in, uint64_t ms)
{
    int r = cor_timer_set(&in->engine_timer, ms);

    assert(r == 0);
    (void)r;
}

static void instance_on_engine_status(struct cor_engine_req *req)
{
    struct cor_instance *in = COR_CONTAINER_OF(req, struct cor_instance, engine_req.req);

    instance_judge_engine(in, req);
    instance_judge_room(in);
    cor_engine_req_deinit(req);
    in->engine_busy = false;
    if (!atomic_load(&in->draining))
        instance_set_engine_timer(in, ENGINE_CHECK_MS);
}

int cor_instance_prepare_checks(struct cor_instance *in)
{
    return cor_timer_set(&in->engine_timer, ENGINE_FAR_MS);
}

void cor_instance_check_engine(struct cor_timer *timer)
{
    struct cor_instance *in = COR_CONTAINER_OF(timer, struct cor_instance, engine_timer);

    assert(!in->engine_busy && cor_loop_is_current(in->home));
    instance_set_engine_timer(in, ENGINE_FAR_MS);
    in->engine_req = (struct cor_engine_status_req){0};
    cor_engine_req_init(&in->engine_req.req, in->home, instance_on_engine_status);
    in->engine_busy = true;
    cor_engine_status(in->engine, &in->engine_req);
}

void cor_instance_add_checks(struct cor_instance *in)
{
    /* Upstream's names and order: those that mean something here. */
    static const struct cor_health_check checks[] = {
        {"log", is_always_ok, NULL, true, true},
        {"etcd", is_engine_ok, NULL, true, true},
        {"etcd-readiness", is_engine_ok, NULL, false, true},
        {"store-room", has_store_room, NULL, false, true},
        {"informer-sync", is_synced, NULL, false, true},
        {"poststarthook/generic-apiserver-start-informers", is_always_ok, NULL, true, true},
        {"poststarthook/start-apiextensions-controllers", are_crds_synced, NULL, true, true},
        {"poststarthook/crd-informer-synced", are_crds_synced, NULL, true, true},
        {"poststarthook/start-system-namespaces-controller", is_bootstrapped, NULL, true, true},
        {"poststarthook/start-service-ip-repair-controllers", is_alloc_ready, NULL, true, true},
        {"poststarthook/bootstrap-controller", is_service_checked, NULL, true, true},
        {"poststarthook/start-kubernetes-service-cidr-controller", is_alloc_ready, NULL, true,
         true},
        {"autoregister-completion", are_services_registered, NULL, true, true},
        /* Upstream has it as soon as the file is reloaded, also when no provider is a KMS. */
        {"kms-providers", is_always_ok, NULL, true, true},
        {"shutdown", is_not_draining, NULL, false, true},
    };
    static const size_t kms = COR_ARRAY_LEN(checks) - 2;

    static_assert(COR_ARRAY_LEN(checks) == COR_ARRAY_LEN(in->checks), "there is room for all");
    assert(in->nchecks == 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(checks); i++) {
        if (i == kms && !in->opts.encryption_reload)
            continue;
        in->checks[in->nchecks] = checks[i];
        in->checks[in->nchecks++].arg = in;
    }
}
