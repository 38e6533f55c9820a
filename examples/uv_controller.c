/* The same controller inside a libuv program. The library has no threads here: it is one descriptor
 * in the program's loop, in which its handlers run. Keys are worked on by libuv's own workers, a
 * few at a time, because reconciling waits for the server: uv_controller */
#include <stdio.h>

#include <uv.h>

#include "deployment_controller.h"
#include "usage.h"

#define WORKERS 2

struct program;

/* A key that one of libuv's workers has. */
struct job {
    uv_work_t work;
    struct program *program;
    const char *key; /* NULL: the worker is free */
};

struct program {
    uv_loop_t loop;
    uv_poll_t runtime_poll; /* the library's descriptor */
    uv_async_t queue_ready; /* the work queue may have a key */
    uv_timer_t queue_later; /* it will have one then */
    uv_signal_t on_int, on_term;
    struct cor_runtime *runtime;
    struct cor_client *client;
    struct deployment_controller controller;
    int nsynced; /* informers */
    struct job jobs[WORKERS];
    int nbusy;
    bool is_over;
    struct cor_status why;
};

static void hand_out(struct program *p);

static void on_work(uv_work_t *work)
{
    struct job *job = work->data;

    deployment_controller_work(&job->program->controller, job->key);
}

static void on_worked(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct program *p = job->program;

    job->key = NULL;
    p->nbusy--;
    if (p->is_over && p->nbusy == 0)
        uv_stop(&p->loop);
    else
        hand_out(p);
}

static void on_later(uv_timer_t *timer)
{
    hand_out(timer->data);
}

static struct job *find_free(struct program *p)
{
    for (int i = 0; i < WORKERS; i++)
        if (!p->jobs[i].key)
            return &p->jobs[i];
    return NULL;
}

/* Gives a key to each worker that is free; otherwise comes back when there is one. */
static void hand_out(struct program *p)
{
    uint64_t at_ms = COR_WORKQUEUE_NEVER;
    struct job *job;

    while (!p->is_over && p->nsynced == 2 && (job = find_free(p))) {
        if (cor_workqueue_try_get(p->controller.queue, &job->key, &at_ms) < 0)
            break;
        job->program = p;
        job->work.data = job;
        p->nbusy++;
        uv_queue_work(&p->loop, &job->work, on_work, on_worked);
    }
    if (at_ms != COR_WORKQUEUE_NEVER) {
        uint64_t now_ms = uv_hrtime() / 1000000;

        uv_timer_start(&p->queue_later, on_later, at_ms > now_ms ? at_ms - now_ms : 0, 0);
    }
}

static void on_queue_ready(uv_async_t *async)
{
    hand_out(async->data);
}

/* Of the work queue, from any thread. */
static void wake(void *arg)
{
    uv_async_send(&((struct program *)arg)->queue_ready);
}

static void on_runtime(uv_poll_t *poll, int status, int events)
{
    cor_runtime_pump(((struct program *)poll->data)->runtime);
}

/* Workers begin when both caches are synced. */
static void on_synced(void *arg, int r)
{
    struct program *p = arg;

    if (r == 0 && ++p->nsynced == 2) {
        printf("working\n");
        fflush(stdout);
        hand_out(p);
    }
}

static void on_signal(uv_signal_t *handle, int signo)
{
    struct program *p = handle->data;

    p->is_over = true;
    if (p->nbusy == 0)
        uv_stop(&p->loop);
}

static void open_handles(struct program *p)
{
    uv_loop_init(&p->loop);
    uv_async_init(&p->loop, &p->queue_ready, on_queue_ready);
    uv_timer_init(&p->loop, &p->queue_later);
    uv_signal_init(&p->loop, &p->on_int);
    uv_signal_init(&p->loop, &p->on_term);
    uv_poll_init(&p->loop, &p->runtime_poll, cor_runtime_fd(p->runtime));
    p->queue_ready.data = p->queue_later.data = p->runtime_poll.data = p;
    p->on_int.data = p->on_term.data = p;
    uv_signal_start(&p->on_int, on_signal, SIGINT);
    uv_signal_start(&p->on_term, on_signal, SIGTERM);
    uv_poll_start(&p->runtime_poll, UV_READABLE, on_runtime);
}

static void close_handles(struct program *p)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&p->queue_ready, (uv_handle_t *)&p->queue_later,
                              (uv_handle_t *)&p->on_int, (uv_handle_t *)&p->on_term,
                              (uv_handle_t *)&p->runtime_poll};

    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
        uv_close(handles[i], NULL);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    uv_loop_close(&p->loop);
}

static int run(struct program *p)
{
    const struct deployment_controller_opts opts = {
        .program = "uv_controller", .on_ready = wake, .on_synced = on_synced, .arg = p};
    struct deployment_controller *c = &p->controller;
    int r;

    open_handles(p);
    r = deployment_controller_open(c, p->client, &opts, &p->why);
    if (r == 0) {
        cor_informers_start(c->informers);
        uv_run(&p->loop, UV_RUN_DEFAULT);
    }
    /* Closing runs what the library has to do; the loop's turns are over. */
    deployment_controller_close(c);
    cor_client_free(p->client);
    close_handles(p);
    return r;
}

int main(int argc, char **argv)
{
    const struct cor_runtime_opts pumped = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};
    struct program p = {0};
    int r;

    usage(argc, argv, 0, 0,
          "uv_controller\nKeeps a ReplicaSet for each Deployment, in libuv's loop.");
    cor_status_init(&p.why);
    r = cor_client_config_load(NULL, NULL, &config, &p.why);
    if (r == 0)
        r = cor_runtime_new(&pumped, &p.runtime);
    if (r == 0)
        r = cor_client_new(p.runtime, &opts, &p.client, &p.why);
    if (r == 0)
        r = run(&p);
    if (r < 0)
        fprintf(stderr, "uv_controller: %s\n",
                p.why.err ? cor_status_message(&p.why) : cor_err_text(r));
    cor_runtime_free(p.runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&p.why);
    return r < 0;
}
