/* clang-format off */
/* The end of an instance, on the home loop, which turns while it waits for the others:
 *
 *   readiness fails ──► the controllers end ──► custom resources are not followed any more ──► the HTTP server closes: no new connections, watches end, requests have
 *   drain_ms ──► the upkeep of the server stops ──► the Service default/kubernetes and the allocators are not looked after any more ──► each worker's loop, when it has no calls left, frees its stores and readers ──►
 *   the watch caches close on the first worker's loop ──► clients of delegates close on each worker's loop ──► the workers' threads stop ──► compactor
 *   and timers of the home loop ──► memory
 *
 * `waiting` counts the answers that have not come to the home loop yet. Loops whose threads were
 * never started (an open that failed) are turned here, so that the same way serves both ends.
 * Nothing here can fail.
 * Thread: home, except what a comment says runs on a worker's loop. */
/* clang-format on */
#include <assert.h>

#include "base/mem.h"
#include "loop/offload.h"
#include "net/stream/tls.h"
#include "server/alloc/alloc.h"
#include "server/controllers/host/controllers.h"
#include "server/crd/crds.h"
#include "server/instance/instance_int.h"
#include "server/instance/kubernetes_service.h"
#include "server/instance/server_upkeep.h"
#include "storage/maintenance/compactor.h"

#define QUIET_CHECK_MS      2
#define CONTROLLERS_STOP_MS 2000

static bool is_nothing_awaited(void *arg)
{
    return ((struct cor_instance *)arg)->waiting == 0;
}

void cor_instance_wait(struct cor_instance *in)
{
    assert(cor_loop_is_current(in->home));
    while (!cor_loop_run_until(in->home, is_nothing_awaited, in, COR_INSTANCE_FOREVER_MS))
        continue;
}

static void instance_on_answer(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct cor_instance, mail)->waiting--;
}

void cor_instance_answer_home(struct cor_instance *in)
{
    in->mail.on_mail = instance_on_answer;
    cor_dlist_init(&in->mail.link);
    cor_loop_post_always(in->home, &in->mail);
}

static void on_http_closed(void *arg)
{
    cor_instance_answer_home(arg);
}

static void on_compactor_closed(void *arg)
{
    ((struct cor_instance *)arg)->waiting--;
}

void cor_instance_on_worker_answer(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance->waiting--;
}

static void worker_on_ask_quiet(struct cor_mail *mail);

/* On the worker's loop: releases it when its last call has ended. Calls may outlive their responses
 * while the store works for them. */
static void worker_check_quiet(struct cor_timer *timer)
{
    struct cor_worker *w = COR_CONTAINER_OF(timer, struct cor_worker, timer);
    struct cor_api_loop *loop = cor_api_loop(w->instance->api, w->index);

    if (cor_api_loop_calls(loop) > 0) {
        /* Without memory for the timer the loop looks again in its next turn. */
        if (cor_timer_set(timer, QUIET_CHECK_MS) < 0) {
            w->mail.on_mail = worker_on_ask_quiet;
            cor_loop_post_always(w->loop, &w->mail);
        }
        return;
    }
    cor_api_loop_release(loop);
    w->mail.on_mail = cor_instance_on_worker_answer;
    cor_loop_post_always(w->instance->home, &w->mail);
}

static void worker_on_ask_quiet(struct cor_mail *mail)
{
    struct cor_worker *w = COR_CONTAINER_OF(mail, struct cor_worker, mail);

    cor_timer_init(&w->timer, w->loop, worker_check_quiet);
    worker_check_quiet(&w->timer);
}

static void on_aggregator_closed(void *arg)
{
    struct cor_worker *w = arg;

    w->mail.on_mail = cor_instance_on_worker_answer;
    cor_dlist_init(&w->mail.link);
    cor_loop_post_always(w->instance->home, &w->mail);
}

/* On each worker's loop, when no request is proxied any more. */
static void worker_on_ask_aggregator(struct cor_mail *mail)
{
    struct cor_worker *w = COR_CONTAINER_OF(mail, struct cor_worker, mail);

    cor_aggregator_close_loop(w->instance->aggregator, w->index, on_aggregator_closed, w);
}

static void on_service_stopped(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the first worker's loop. */
static void worker_on_ask_service(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_kubernetes_service_stop(in->service, on_service_stopped, in);
}

static void on_upkeep_stopped(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the first worker's loop. */
static void worker_on_ask_upkeep(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_server_upkeep_stop(in->upkeep, on_upkeep_stopped, in);
}

static void on_controllers_stopped(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the loop of the controllers. */
static void worker_on_ask_controllers(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_controller_host_stop(in->controllers, CONTROLLERS_STOP_MS, on_controllers_stopped, in);
}

static void on_crds_stopped(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the first worker's loop. */
static void worker_on_ask_crds(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_crds_stop(in->crds, CONTROLLERS_STOP_MS, on_crds_stopped, in);
}

static void on_services_stopped(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the first worker's loop. */
static void worker_on_ask_services(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_api_services_stop(in->services, CONTROLLERS_STOP_MS, on_services_stopped, in);
}

static void on_alloc_stopped(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the first worker's loop, before it is released. */
static void worker_on_ask_alloc(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_alloc_stop(in->alloc, on_alloc_stopped, in);
}

static void on_cachers_closed(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the first worker's loop. */
static void worker_on_ask_cachers(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    if (!cor_api_close_cachers(in->api, on_cachers_closed, in))
        cor_instance_answer_home(in);
}

/* Turns the home loop until all workers have answered, and with it the loops that have no thread.
 */
static void instance_wait_for_workers(struct cor_instance *in)
{
    while (in->waiting > 0) {
        for (size_t i = 0; i < in->nworkers; i++)
            if (!in->workers[i].is_started)
                (void)cor_loop_run_until(in->workers[i].loop, is_nothing_awaited, in, 1);
        (void)cor_loop_run_until(in->home, is_nothing_awaited, in,
                                 in->workers[0].is_started ? COR_INSTANCE_FOREVER_MS : 1);
    }
}

static void worker_ask(struct cor_worker *w, void (*on_mail)(struct cor_mail *mail))
{
    w->mail.on_mail = on_mail;
    cor_dlist_init(&w->mail.link);
    w->instance->waiting++;
    cor_loop_post_always(w->loop, &w->mail);
}

static void instance_drain(struct cor_instance *in, uint64_t drain_ms)
{
    if (in->are_controllers_started) {
        worker_ask(cor_instance_controllers_worker(in), worker_on_ask_controllers);
        instance_wait_for_workers(in);
    }
    /* Before the custom resources, whose rows its snapshots have. */
    if (in->are_services_started) {
        worker_ask(&in->workers[0], worker_on_ask_services);
        instance_wait_for_workers(in);
    }
    if (in->are_crds_started) {
        worker_ask(&in->workers[0], worker_on_ask_crds);
        instance_wait_for_workers(in);
    }
    in->waiting++;
    cor_http_server_close(cor_server_http(in->server), drain_ms, on_http_closed, in);
    instance_wait_for_workers(in);
    for (size_t i = 0; i < in->nworkers; i++)
        worker_ask(&in->workers[i], worker_on_ask_aggregator);
    instance_wait_for_workers(in);
    if (in->is_upkeep_started) {
        worker_ask(&in->workers[0], worker_on_ask_upkeep);
        instance_wait_for_workers(in);
    }
    if (in->is_service_started) {
        worker_ask(&in->workers[0], worker_on_ask_service);
        instance_wait_for_workers(in);
    }
    if (in->alloc) {
        worker_ask(&in->workers[0], worker_on_ask_alloc);
        instance_wait_for_workers(in);
    }
    for (size_t i = 0; i < in->nworkers; i++)
        worker_ask(&in->workers[i], worker_on_ask_quiet);
    instance_wait_for_workers(in);
    worker_ask(&in->workers[0], worker_on_ask_cachers);
    instance_wait_for_workers(in);
}

static bool engine_is_quiet(void *arg)
{
    return !((struct cor_instance *)arg)->engine_busy;
}

static void instance_close_home(struct cor_instance *in)
{
    cor_timer_cancel(&in->engine_timer);
    cor_timer_cancel(&in->encryption_timer);
    cor_timer_cancel(&in->trust_timer);
    if (in->compactor) {
        in->waiting++;
        cor_compactor_close(in->compactor, on_compactor_closed, in);
    }
    cor_instance_wait(in);
    while (!cor_loop_run_until(in->home, engine_is_quiet, in, COR_INSTANCE_FOREVER_MS))
        continue;
}

struct cor_instance *cor_instance_close(struct cor_instance *instance, uint64_t drain_ms)
{
    struct cor_instance *in = instance;

    if (!in)
        return NULL;
    atomic_store(&in->draining, true);
    if (in->server)
        instance_drain(in, drain_ms);
    if (in->delegation) {
        for (size_t i = 0; i < in->nworkers; i++)
            worker_ask(&in->workers[i], cor_instance_worker_close_delegation);
        instance_wait_for_workers(in);
    }
    for (size_t i = 0; i < in->nworkers; i++)
        if (in->workers[i].is_started)
            cor_loop_stop(in->workers[i].loop);
    if (in->home)
        instance_close_home(in);
    cor_offload_free(in->offload);
    cor_server_free(in->server);
    cor_instance_free_aggregator(in);
    cor_controller_host_free(in->controllers);
    cor_server_upkeep_free(in->upkeep);
    cor_kubernetes_service_free(in->service);
    cor_alloc_free(in->alloc);
    cor_api_services_free(in->services);
    cor_api_free(in->api);
    cor_crds_free(in->crds);
    cor_engine_close(in->engine);
    cor_dynamic_transformers_free(in->transformers);
    for (size_t i = 0; i < in->nworkers; i++)
        cor_loop_free(in->workers[i].loop);
    cor_loop_free(in->home);
    cor_metrics_free(in->metrics);
    cor_token_table_free(in->tokens);
    cor_delegation_free(in->delegation);
    cor_tls_unref(in->tls);
    cor_instance_close_trust(in);
    cor_server_credentials_deinit(&in->credentials);
    cor_status_deinit(&in->bootstrap_status);
    cor_lock_deinit(&in->engine_lock);
    return cor_free(in);
}
