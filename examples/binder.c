/* A small scheduler, with types: binds pods whose spec.schedulerName is "binder". binder */
#include <signal.h>
#include <stdio.h>

#include "pod_binder.h"
#include "usage.h"

static struct cor_manager *manager;

static void on_signal(int signo)
{
    cor_manager_stop(manager);
}

static void on_log(void *arg, const char *line)
{
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv)
{
    const struct cor_manager_opts opts = {COR_MANAGER_OPTS, .name = BINDER_NAME, .on_log = on_log};
    struct pod_binder binder = {NULL};
    struct cor_status why;
    int r;

    usage(argc, argv, 0, 0, "binder\nBinds pods of the scheduler \"binder\" to ready nodes.");
    cor_status_init(&why);
    r = cor_manager_new(&opts, &manager, &why);
    if (r == 0)
        r = pod_binder_add(&binder, manager, &why);
    if (r == 0) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        r = cor_manager_run(manager, &why);
    }
    cor_manager_free(manager);
    if (r < 0)
        fprintf(stderr, "binder: %s\n", cor_status_message(&why));
    cor_status_deinit(&why);
    return r < 0;
}
