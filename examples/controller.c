/* A whole controller, as client-go's sample-controller: of several processes the elected one works,
 * its workers begin when the caches are synced, and it shuts down in order when it is interrupted:
 * controller [WORKERS] */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "deployment_controller.h"
#include "usage.h"

#define WORKERS_MAX 16
#define END_MS      5000

static sem_t news; /* synced, elected, not any more, or interrupted */
static atomic_bool is_over, is_wanted = true;
static atomic_int nsynced; /* informers */

static void on_signal(int signo)
{
    atomic_store(&is_wanted, false);
    atomic_store(&is_over, true);
    sem_post(&news);
}

static void on_synced(void *arg, int r)
{
    atomic_fetch_add(&nsynced, r == 0);
    sem_post(&news);
}

static void on_started_leading(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    sem_post(&news);
}

static void on_lease_error(void *arg, const struct cor_status *error)
{
    fprintf(stderr, "controller: lease: %s\n", cor_status_message(error));
}

/* A leader that lost its lease must stop at once: another one may be at work. */
static void on_stopped_leading(void *arg)
{
    atomic_store(&is_over, true);
    sem_post(&news);
}

static void *work(void *arg)
{
    struct deployment_controller *c = arg;
    const char *key;

    while (cor_workqueue_get(c->queue, &key) == 0)
        deployment_controller_work(c, key);
    return NULL;
}

static void run_workers(struct deployment_controller *c, int n)
{
    pthread_t threads[WORKERS_MAX];
    int started = 0;

    while (started < n && pthread_create(&threads[started], NULL, work, c) == 0)
        started++;
    printf("working\n");
    fflush(stdout);
    while (!atomic_load(&is_over))
        sem_wait(&news);
    /* Requests of the workers end now; the lease and the last events have END_MS together. */
    cor_client_stop(c->client);
    cor_workqueue_shutdown(c->queue);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

static int lead(struct deployment_controller *c, int nworkers, struct cor_status *why)
{
    atomic_bool is_leading = false;
    char identity[128];
    const struct cor_election_opts opts = {
        COR_ELECTION_OPTS,
        .ns = "default",
        .name = "deployment-controller",
        .identity = identity,
        .release_on_cancel = true,
        .on_started = on_started_leading,
        .on_stopped = on_stopped_leading,
        .on_error = on_lease_error,
        .arg = &is_leading,
    };
    struct cor_election *election;
    int r;

    snprintf(identity, sizeof(identity), "example-%d", (int)getpid());
    r = cor_election_new(c->client, &opts, &election, why);
    if (r < 0)
        return r;
    while (!atomic_load(&is_leading) && !atomic_load(&is_over))
        sem_wait(&news);
    if (atomic_load(&is_leading))
        run_workers(c, nworkers);
    if (atomic_load(&is_wanted))
        fprintf(stderr, "controller: the lease is lost\n");
    cor_election_free(election);
    return atomic_load(&is_wanted) ? -COR_ECANCELED : 0;
}

static int run(struct cor_client *client, int nworkers, struct cor_status *why)
{
    const struct deployment_controller_opts opts = {.program = "controller",
                                                    .on_synced = on_synced};
    struct deployment_controller c;
    int r = deployment_controller_open(&c, client, &opts, why);

    if (r == 0) {
        cor_informers_start(c.informers);
        while (atomic_load(&nsynced) < 2 && !atomic_load(&is_over))
            sem_wait(&news);
    }
    if (r == 0 && !atomic_load(&is_over))
        r = lead(&c, nworkers, why);
    deployment_controller_close(&c);
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config, .end_ms = END_MS};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    int nworkers = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;
    struct cor_status why;
    int r;

    usage(argc, argv, 0, nworkers > 0 && nworkers <= WORKERS_MAX ? 1 : 0,
          "controller [WORKERS]\nKeeps a ReplicaSet for each Deployment.");
    sem_init(&news, 0, 0);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);

    cor_status_init(&why);
    r = cor_client_config_load(NULL, NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &client, &why);
    if (r == 0)
        r = run(client, nworkers, &why);
    if (r < 0)
        fprintf(stderr, "controller: %s\n", why.err ? cor_status_message(&why) : cor_err_text(r));

    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0;
}
