/* A controller and its test, without a server and without sleeping. The controller counts the pods
 * of each node and publishes the numbers. The test scripts a collection of pods, lets the server
 * and the publishing fail, and moves the clock instead of waiting: controller_test */
#include <coracle.h>
#include <stdio.h>
#include <stdlib.h>

#include "usage.h"

/* The controller. It gets its informers and its clock from whoever runs it: a program gives it
 * cor_informers_new() and no clock, the test cor_informers_new_on() and a manual clock. */

#define NODE_MAX 254

struct pod_counter {
    struct cor_informer *pods;
    struct cor_workqueue *queue;
    int (*publish)(void *arg, const char *node, int npods); /* 0, or negative: tried again later */
    void *arg;
};

static struct cor_str node_of(const struct cor_object *pod)
{
    struct cor_view spec = cor_view_member(cor_object_view(pod), COR_STR("spec"));

    return cor_view_text_or(cor_view_member(spec, COR_STR("nodeName")), NULL, 0, "");
}

static int index_by_node(void *arg, const struct cor_object *pod, struct cor_index_values *out)
{
    return cor_index_values_add(out, node_of(pod));
}

/* Handlers only note which node needs work. */
static void enqueue(struct pod_counter *c, const struct cor_object *pod)
{
    char node[NODE_MAX];

    snprintf(node, sizeof(node), "%.*s", COR_STR_ARG(node_of(pod)));
    if (node[0])
        cor_workqueue_add(c->queue, node);
}

static void on_add(void *arg, struct cor_object *pod, bool in_initial_list)
{
    enqueue(arg, pod);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *pod)
{
    enqueue(arg, old);
    enqueue(arg, pod);
}

static void on_delete(void *arg, struct cor_str key, struct cor_object *pod, bool unknown)
{
    if (pod)
        enqueue(arg, pod);
}

static int count(void *arg, struct cor_object *pod)
{
    ++*(int *)arg;
    return 0;
}

/* Works on every node that is ready. */
static void pod_counter_work(struct pod_counter *c)
{
    const char *node;
    uint64_t at_ms;

    while (cor_workqueue_try_get(c->queue, &node, &at_ms) == 0) {
        int npods = 0;
        int r = cor_informer_each_by_index(c->pods, COR_STR("node"), cor_strz(node), count, &npods);

        if (r == 0)
            r = c->publish(c->arg, node, npods);
        if (r == 0)
            cor_workqueue_forget(c->queue, node);
        else
            cor_workqueue_add_rate_limited(c->queue, node);
        cor_workqueue_done(c->queue, node);
    }
}

static int pod_counter_open(struct pod_counter *c, struct cor_informers *informers,
                            const struct cor_clock *clock)
{
    const struct cor_workqueue_opts queue = {COR_WORKQUEUE_OPTS, .clock = clock};
    const struct cor_informer_opts of_pods = {COR_INFORMER_OPTS, .resource = {"", "v1", "pods"}};
    const struct cor_index_def by_node = {COR_STR("node"), index_by_node, NULL};
    const struct cor_handler_opts handler = {COR_HANDLER_DEFAULTS,
                                             .on = {on_add, on_update, on_delete, NULL, c}};
    int r = cor_workqueue_new(&queue, &c->queue);

    if (r == 0)
        r = cor_informers_for_resource(informers, &of_pods, &c->pods, NULL);
    if (r == 0)
        r = cor_informer_add_indexes(c->pods, &by_node, 1);
    if (r == 0)
        r = cor_informer_add_handler(c->pods, &handler, NULL);
    return r;
}

/* The test. */

struct board { /* where the numbers are published */
    int a, b, nfailing, ntries;
};

static int publish(void *arg, const char *node, int npods)
{
    struct board *board = arg;

    board->ntries++;
    if (board->nfailing > 0) {
        board->nfailing--;
        return -COR_EUNREACHABLE;
    }
    *(node[0] == 'a' ? &board->a : &board->b) = npods;
    return 0;
}

/* The set calls it for each resource that the controller asks for. */
static int make_list_watch(void *arg, const struct cor_informer_opts *opts,
                           struct cor_list_watch **ret_list_watch)
{
    return cor_list_watch_script_list_watch(arg, opts->ns, opts->label_selector, ret_list_watch,
                                            NULL);
}

static void check(bool is_so, const char *what)
{
    printf("%s - %s\n", is_so ? "ok" : "not ok", what);
    if (!is_so)
        exit(1);
}

static void put_pod(struct cor_list_watch_script *pods, const char *name, const char *node)
{
    struct cor_object *pod;
    char json[256];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\"},\"spec\":{\"nodeName\":\"%s\"}}",
             name, node);
    check(cor_object_from_json(cor_strz(json), &pod, NULL) == 0 &&
              cor_list_watch_script_put(pods, pod) == 0,
          "a pod is put into the script");
    cor_object_unref(pod);
}

/* Everything that is due now: the runtime's callbacks, then the controller's work. */
static void run(struct cor_runtime *runtime, struct pod_counter *c)
{
    cor_runtime_pump(runtime);
    pod_counter_work(c);
}

int main(int argc, char **argv)
{
    struct board board = {0};
    struct pod_counter c = {.publish = publish, .arg = &board};
    struct cor_runtime_opts on_clock = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};
    struct cor_informers_opts scripted = {COR_INFORMERS_OPTS, .make_list_watch = make_list_watch};
    struct cor_clock_manual *clock;
    struct cor_runtime *runtime;
    struct cor_list_watch_script *pods;
    struct cor_informers *informers;

    usage(argc, argv, 0, 0, "controller_test\nTests a controller without a server.");
    check(cor_clock_manual_new(&clock) == 0, "a clock");
    on_clock.clock = cor_clock_manual_peek(clock);
    check(cor_runtime_new(&on_clock, &runtime) == 0, "a runtime on the clock");
    check(cor_list_watch_script_new(&pods) == 0, "a collection");
    scripted.arg = pods;
    check(cor_informers_new_on(runtime, &scripted, &informers) == 0, "informers over it");
    check(pod_counter_open(&c, informers, on_clock.clock) == 0, "the controller");

    put_pod(pods, "one", "a");
    put_pod(pods, "two", "a");
    put_pod(pods, "three", "b");
    cor_list_watch_script_fail_next(pods, -COR_EUNREACHABLE, 1);
    cor_informers_start(informers);
    run(runtime, &c);
    check(!cor_informer_has_synced(c.pods) && board.ntries == 0,
          "nothing is published while the server is away");
    cor_clock_manual_advance(clock, 2000);
    run(runtime, &c);
    check(board.a == 2 && board.b == 1, "the pods are counted when it is back");

    put_pod(pods, "two", "b");
    run(runtime, &c);
    check(board.a == 1 && board.b == 2, "a pod that moves counts on its new node");

    board.nfailing = 1;
    check(cor_list_watch_script_remove(pods, COR_STR("default/three")) == 0, "a pod is deleted");
    run(runtime, &c);
    check(board.b == 2 && cor_workqueue_requeues(c.queue, "b") == 1, "a failure is noted");
    cor_clock_manual_advance(clock, 1000);
    run(runtime, &c);
    check(board.b == 1 && cor_workqueue_requeues(c.queue, "b") == 0, "and tried again later");

    cor_list_watch_script_end_watches(pods, -COR_EEXPIRED);
    cor_list_watch_script_compact(pods);
    put_pod(pods, "four", "a");
    cor_clock_manual_advance(clock, 60000);
    run(runtime, &c);
    cor_clock_manual_advance(clock, 60000);
    run(runtime, &c);
    check(board.a == 2, "a watch that expired is followed by a list");

    cor_informers_free(informers);
    cor_workqueue_free(c.queue);
    cor_list_watch_script_free(pods);
    cor_runtime_free(runtime);
    cor_clock_manual_free(clock);
    return 0;
}
