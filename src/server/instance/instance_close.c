#include "base/mem.h"
#include "loop/offload.h"
#include "net/tls.h"
#include "server/instance/instance_int.h"
#include "storage/maintenance/compactor.h"

#define QUIET_CHECK_MS 2

static bool nothing_awaited(void *arg)
{
    return ((struct cor_instance *)arg)->waiting == 0;
}

void cor_instance_wait(struct cor_instance *in)
{
    while (!cor_loop_run_until(in->home, nothing_awaited, in, COR_INSTANCE_FOREVER_MS))
        continue;
}

static void on_answer(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct cor_instance, mail)->waiting--;
}

void cor_instance_answer_home(struct cor_instance *in)
{
    in->mail.on_mail = on_answer;
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

static void on_quiet(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance->waiting--;
}

/* On the worker's loop. Calls may outlive their responses while the store works for them. */
static void check_quiet(struct cor_timer *timer)
{
    struct cor_worker *w = COR_CONTAINER_OF(timer, struct cor_worker, timer);
    struct cor_api_loop *loop = cor_api_loop(w->instance->api, w->index);

    if (cor_api_loop_calls(loop) > 0 && cor_timer_set(timer, QUIET_CHECK_MS) == 0)
        return;
    cor_api_loop_release(loop);
    w->mail.on_mail = on_quiet;
    cor_loop_post_always(w->instance->home, &w->mail);
}

static void on_ask_quiet(struct cor_mail *mail)
{
    struct cor_worker *w = COR_CONTAINER_OF(mail, struct cor_worker, mail);

    cor_timer_init(&w->timer, w->loop, check_quiet);
    check_quiet(&w->timer);
}

static void on_cachers_closed(void *arg)
{
    cor_instance_answer_home(arg);
}

/* On the first worker's loop. */
static void on_ask_cachers(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    if (!cor_api_close_cachers(in->api, on_cachers_closed, in))
        cor_instance_answer_home(in);
}

/* Waits for what the workers were asked. Loops that were never started turn here. */
static void wait_for_workers(struct cor_instance *in)
{
    while (in->waiting > 0) {
        for (size_t i = 0; i < in->nworkers; i++)
            if (!in->workers[i].is_started)
                (void)cor_loop_run_until(in->workers[i].loop, nothing_awaited, in, 1);
        (void)cor_loop_run_until(in->home, nothing_awaited, in,
                                 in->workers[0].is_started ? COR_INSTANCE_FOREVER_MS : 1);
    }
}

static void ask_worker(struct cor_worker *w, void (*on_mail)(struct cor_mail *mail))
{
    w->mail.on_mail = on_mail;
    cor_dlist_init(&w->mail.link);
    w->instance->waiting++;
    cor_loop_post_always(w->loop, &w->mail);
}

static void drain(struct cor_instance *in, uint64_t drain_ms)
{
    in->waiting++;
    cor_http_server_close(cor_server_http(in->server), drain_ms, on_http_closed, in);
    wait_for_workers(in);
    for (size_t i = 0; i < in->nworkers; i++)
        ask_worker(&in->workers[i], on_ask_quiet);
    wait_for_workers(in);
    ask_worker(&in->workers[0], on_ask_cachers);
    wait_for_workers(in);
}

static bool engine_is_quiet(void *arg)
{
    return !((struct cor_instance *)arg)->engine_busy;
}

static void close_home(struct cor_instance *in)
{
    cor_timer_cancel(&in->engine_timer);
    cor_timer_cancel(&in->encryption_timer);
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
        drain(in, drain_ms);
    for (size_t i = 0; i < in->nworkers; i++)
        if (in->workers[i].is_started)
            cor_loop_stop(in->workers[i].loop);
    if (in->home)
        close_home(in);
    cor_offload_free(in->offload);
    cor_server_free(in->server);
    cor_api_free(in->api);
    cor_engine_close(in->engine);
    cor_dynamic_transformers_free(in->transformers);
    for (size_t i = 0; i < in->nworkers; i++)
        cor_loop_free(in->workers[i].loop);
    cor_loop_free(in->home);
    cor_metrics_free(in->metrics);
    cor_token_table_free(in->tokens);
    cor_tls_unref(in->tls);
    cor_server_credentials_deinit(&in->credentials);
    cor_status_deinit(&in->bootstrap_status);
    pthread_mutex_destroy(&in->engine_lock);
    return cor_free(in);
}
