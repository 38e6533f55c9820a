/* A candidate for the lease "takeover" of a namespace: candidate NAMESPACE IDENTITY LEASE_MS
 * RENEW_MS RETRY_MS. Says "leads NANOSECONDS" when it is elected, "rests NANOSECONDS" when its work
 * is over, both of the wall clock, and only then gives the lease back. */
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "coracle.h"

static sem_t news;
static atomic_bool is_over;

static void say(const char *what)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    printf("%s %lld%09ld\n", what, (long long)now.tv_sec, now.tv_nsec);
    fflush(stdout);
}

static void on_signal(int signo)
{
    atomic_store(&is_over, true);
    sem_post(&news);
}

static void on_started(void *arg)
{
    say("leads");
}

static void on_stopped(void *arg)
{
    atomic_store(&is_over, true);
    sem_post(&news);
}

static int stand(struct cor_client *client, char **argv, struct cor_status *why)
{
    const struct cor_election_opts opts = {COR_ELECTION_OPTS,
                                           .ns = argv[1],
                                           .name = "takeover",
                                           .identity = argv[2],
                                           .lease_ms = strtoull(argv[3], NULL, 10),
                                           .renew_ms = strtoull(argv[4], NULL, 10),
                                           .retry_ms = strtoull(argv[5], NULL, 10),
                                           .release_on_cancel = true,
                                           .on_started = on_started,
                                           .on_stopped = on_stopped};
    struct cor_election *election;
    int r = cor_election_new(client, &opts, &election, why);

    if (r < 0)
        return r;
    while (!atomic_load(&is_over))
        sem_wait(&news);
    if (cor_election_is_leader(election))
        say("rests");
    cor_election_free(election);
    return 0;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config, .qps = -1};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    struct cor_status why;
    int r;

    if (argc != 6)
        return 2;
    sem_init(&news, 0, 0);
    signal(SIGTERM, on_signal);
    cor_status_init(&why);
    r = cor_client_config_load(NULL, NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &client, &why);
    if (r == 0)
        r = stand(client, argv, &why);
    if (r < 0)
        fprintf(stderr, "candidate: %s\n", why.err ? cor_status_message(&why) : cor_err_text(r));
    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0;
}
