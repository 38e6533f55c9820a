/* A program with a manager and one controller, for tests against a server: the functions of the
 * controller, and what a test sees of them.
 * Owner: the test.  Thread: as each function says. */
#ifndef COR_TEST_CLIENT_PROGRAM_H
#define COR_TEST_CLIENT_PROGRAM_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "world.h"

static const struct cor_resource secrets = {"", "v1", "secrets"};
/* The server's own controllers make a ConfigMap in each namespace. */
static const struct cor_informer_opts of_configmaps = {
    COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"}, .ns = "default", .kind = "ConfigMap",
    .field_selector = "metadata.name!=kube-root-ca.crt"};
static const struct cor_informer_opts of_secrets = {
    COR_INFORMER_OPTS, .resource = {"", "v1", "secrets"}, .ns = "default", .kind = "Secret"};

/* What a program under test has: a manager with one controller, and what its function has seen. */
struct program {
    struct world *w;
    struct cor_manager *manager;
    struct cor_controller *controller;
    struct cor_informer *configmaps, *secrets;
    struct cor_run *run; /* that a test ends; see `holds` */
    atomic_int nruns, nmissing, nstopped, ncancelled;
    atomic_int fails; /* so many runs return an error */
    atomic_bool holds, is_terminal, is_slow_seen;
    uint64_t again_after_ms;
    sem_t entered, may_leave;
    int stopped_with, last_r;
    char log[8192];
    pthread_t thread;
};

/* The options of its manager: the log and the end go to the program. */
struct cor_manager_opts manager_opts(struct program *p);
void program_init(struct program *p, struct world *w);
/* Makes the manager, the informers of ConfigMaps and Secrets, and the controller, which is for the
 * former and owns the latter. */
void program_make(struct program *p, const struct cor_manager_opts *mo,
                  const struct cor_controller_opts *co);
/* Both of them, with a controller that runs run_as_told(). */
void program_begin(struct program *p, struct world *w, struct cor_controller_opts co);
/* Runs the manager on a thread of its own, so that the test can look at it. */
void program_run(struct program *p);
/* Stops the manager, which must end with `r`, and frees it. */
void program_end(struct program *p, int r);

/* Reconcile functions; `arg` is the program. The first two are for worker threads. */
int keep_secret(void *arg, struct cor_run *run);   /* a Secret for each ConfigMap */
int run_as_told(void *arg, struct cor_run *run);   /* fails, waits and ends as the members say */
void begin_secret(void *arg, struct cor_run *run); /* keep_secret() without a thread */

/* Waits until there is a Secret of this name with `text` in it; NULL: until there is none. */
void wait_for_secret(struct world *w, const char *name, const char *text);
void remove_object(struct world *w, struct cor_resource resource, const char *name);

/* For world_run(). */
bool is_positive(void *arg);         /* an atomic_int */
bool is_true(void *arg);             /* an atomic_bool */
bool has_run_three_times(void *arg); /* an atomic_int */
bool is_stopped(void *arg);          /* a program */

#endif
