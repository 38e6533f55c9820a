/* How things end: what may not be called inside callbacks and handlers fails at once, a forked
 * child is told so, calls that wait are cancelled from another thread, and the end of everything
 * has one bound. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "configmap_words.h"
#include "script.h"
#include "world.h"

static const struct script_answer one_map[] = {
    {.to = "watch=true", .body = "", .stays_open = true},
    {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
};

/* --- Misuse, in a process of its own, which must die by abort() with words. --- */

static struct world *misused;
static struct cor_informers *misused_set;

static void free_informers(void *arg, struct cor_object *object, bool in_initial_list)
{
    cor_informers_free(misused_set);
}

static void free_runtime(void *arg, struct cor_object *object, bool in_initial_list)
{
    cor_runtime_free(misused->rt);
}

static void free_client_in_callback(void *arg, const struct cor_response *response)
{
    cor_client_free(misused->client);
}

static bool never(void *arg)
{
    return false;
}

static void misuse_in_handler(enum cor_runtime_kind kind,
                              void (*on_add)(void *arg, struct cor_object *object, bool initial))
{
    const struct cor_informer_opts maps = {COR_INFORMER_OPTS, .resource = configmaps,
                                           .ns = "default"};
    const struct cor_handler_opts on = {COR_HANDLER_DEFAULTS, .on = {.on_add = on_add}};
    struct cor_informer *informer;
    struct script script;
    struct world w;

    SCRIPT_BEGIN(&script, one_map);
    world_begin_at(&w, kind, script.url);
    misused = &w;
    if (cor_informers_new(w.client, NULL, &misused_set) < 0 ||
        cor_informers_for_resource(misused_set, &maps, &informer, NULL) < 0 ||
        cor_informer_add_handler(informer, &on, NULL) < 0)
        _exit(1);
    cor_informers_start(misused_set);
    world_run(&w, never, NULL);
}

static void misuse_informers_free(enum cor_runtime_kind kind)
{
    misuse_in_handler(kind, free_informers);
}

static void misuse_runtime_free(enum cor_runtime_kind kind)
{
    misuse_in_handler(kind, free_runtime);
}

static void misuse_client_free(enum cor_runtime_kind kind)
{
    static const struct cor_request_cbs cbs = {.on_done = free_client_in_callback};
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    struct script script;
    struct world w;

    SCRIPT_BEGIN(&script, one_map);
    world_begin_at(&w, kind, script.url);
    misused = &w;
    if (cor_client_send(w.client, &get, &cbs, NULL, NULL) < 0)
        _exit(1);
    world_run(&w, never, NULL);
}

/* Runs `misuse` in a child, which an alarm ends when it hangs; returns how the child died, and what
 * it wrote to stderr. */
static int die_of(void (*misuse)(enum cor_runtime_kind kind), enum cor_runtime_kind kind,
                  char words[4096])
{
    const struct rlimit no_core = {0, 0};
    int out[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        alarm(60);
        dup2(out[1], STDERR_FILENO);
        misuse(kind);
        _exit(1);
    }
    close(out[1]);
    while (n < 4095 && (got = read(out[0], words + n, 4095 - n)) > 0)
        n += (size_t)got;
    words[n] = '\0';
    close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

TEST(ends, freeing_informers_inside_a_handler_stops_the_program_at_once)
{
    FOR_EACH_KIND(kind)
    {
        char words[4096];

        assert_int_equal(die_of(misuse_informers_free, kind, words), SIGABRT);
        assert_non_null(strstr(words, "inside a callback or a handler"));
    }
}

TEST(ends, freeing_a_runtime_inside_a_handler_stops_the_program_at_once)
{
    FOR_EACH_KIND(kind)
    {
        char words[4096];

        assert_int_equal(die_of(misuse_runtime_free, kind, words), SIGABRT);
        assert_non_null(strstr(words, "inside a callback or a handler"));
    }
}

TEST(ends, freeing_a_client_inside_a_callback_stops_the_program_at_once)
{
    FOR_EACH_KIND(kind)
    {
        char words[4096];

        assert_int_equal(die_of(misuse_client_free, kind, words), SIGABRT);
        assert_non_null(strstr(words, "inside a callback"));
    }
}

/* --- Fork. --- */

static void on_nothing(void *arg, const struct cor_response *response)
{
    _exit(40);
}

/* In the child; returns which step was wrong, or 0. */
static int try_everything(struct world *w, struct cor_informers *set, struct cor_election *election,
                          struct cor_events *events)
{
    static const struct cor_request_cbs cbs = {.on_done = on_nothing};
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    const struct cor_request list = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                     .ns = "default"};
    const struct cor_informer_opts maps = {COR_INFORMER_OPTS, .resource = configmaps,
                                           .ns = "default"};
    struct cor_informer *informer = NULL;
    struct cor_object_list items;
    struct cor_found_resource found;
    struct cor_informers *another;
    struct cor_client *client;
    struct cor_status why = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &w->config};

    if (cor_client_do(w->client, &get, NULL, &why) != -COR_EINVAL)
        return 1;
    if (!strstr(cor_status_message(&why), "fork"))
        return 2;
    if (cor_client_send(w->client, &get, &cbs, NULL, NULL) != -COR_EINVAL)
        return 3;
    if (cor_client_list(w->client, &list, &items, NULL) != -COR_EINVAL)
        return 4;
    if (cor_client_find(w->client, &configmaps, &found, NULL) != -COR_EINVAL)
        return 5;
    if (cor_client_new(w->rt, &opts, &client, NULL) != -COR_EINVAL)
        return 6;
    if (cor_informers_new(w->client, NULL, &another) != -COR_EINVAL)
        return 7;
    if (cor_informers_for_resource(set, &maps, &informer, NULL) != -COR_EINVAL)
        return 8;
    if (cor_informers_wait_for_sync(set, 60000, NULL) != -COR_EINVAL)
        return 9;
    if (cor_runtime_fd(w->rt) >= 0 && cor_runtime_pump(w->rt) != -COR_EINVAL)
        return 10;
    cor_informers_start(set);
    cor_informers_stop(set);
    cor_client_stop(w->client);
    cor_election_cancel(election);
    if (cor_election_free(election) || cor_events_free(events) || cor_informers_free(set) ||
        cor_client_free(w->client) || cor_runtime_free(w->rt))
        return 11;
    return 0;
}

/* A runtime of the child's own works; but a sanitizer of threads does not know threads that are
 * made after such a fork. Returns which step was wrong, or 0. */
static int begin_anew(const struct world *parent, enum cor_runtime_kind kind)
{
    int wrong = 0;
#ifndef __SANITIZE_THREAD__
    const struct cor_runtime_opts runtime = {COR_RUNTIME_OPTS, .kind = kind};
    const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &parent->config};
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    struct cor_runtime *rt;
    struct cor_client *client;

    if (cor_runtime_new(&runtime, &rt) < 0 || cor_client_new(rt, &opts, &client, NULL) < 0)
        return 20;
    if (cor_client_do(client, &get, NULL, NULL) < 0)
        wrong = 21;
    cor_client_free(client);
    cor_runtime_free(rt);
#endif
    return wrong;
}

static void on_election(void *arg)
{
}

static const struct script_answer no_lease[] = {
    {.to = "watch=true", .body = "", .stays_open = true},
    {.to = "configmaps/one", .body = MAP("one", "5")},
    {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    {.to = "leases", .status = 500, .body = "{}"},
};

TEST(ends, a_forked_child_is_refused_and_its_frees_return)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                        .ns = "default", .name = "one"};
        const struct cor_election_opts election_opts = {
            COR_ELECTION_OPTS, .ns = "default",           .name = "lock",
            .identity = "a",   .on_started = on_election, .on_stopped = on_election};
        const struct cor_events_opts events_opts = {COR_EVENTS_OPTS, .component = "test"};
        struct cor_informers *set;
        struct cor_election *election;
        struct cor_events *events;
        struct script script;
        struct world w;
        int status;
        pid_t pid;

        SCRIPT_BEGIN(&script, no_lease);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_informers_new(w.client, NULL, &set), 0);
        assert_int_equal(cor_events_new(w.client, &events_opts, &events), 0);
        assert_int_equal(cor_election_new(w.client, &election_opts, &election, NULL), 0);
        assert_int_equal(cor_client_do(w.client, &get, NULL, NULL), 0);
        pid = fork();
        if (pid == 0) {
            alarm(60);
            status = try_everything(&w, set, election, events);
            _exit(status ? status : begin_anew(&w, kind));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        /* The parent goes on. */
        assert_int_equal(cor_client_do(w.client, &get, NULL, NULL), 0);
        cor_election_free(election);
        cor_events_free(events);
        cor_informers_free(set);
        world_end(&w);
        script_end(&script);
    }
}

/* --- Calls that wait, and the thread that stops them. --- */

static const struct script_answer silence[] = {
    {.to = "/", .is_silent = true},
};

static const struct script_answer silent_watch[] = {
    {.to = "watch=true", .is_silent = true},
    {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
};

static int on_condition(void *arg, const struct cor_watch_event *event)
{
    return 0;
}

static const cor_watch_condition_fn conditions[] = {on_condition};

static int on_precondition(void *arg, struct cor_informer *informer)
{
    return 0;
}

static int keep(void *arg, struct cor_object *current, struct cor_object **ret_object,
                struct cor_status *reterr)
{
    return -COR_EIO;
}

static int read_body(void *arg, struct cor_str body)
{
    return 0;
}

static int wait_get(struct cor_client *client, struct cor_status *why)
{
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};

    return cor_client_do(client, &get, NULL, why);
}

static int wait_list(struct cor_client *client, struct cor_status *why)
{
    const struct cor_request list = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                     .ns = "default"};
    struct cor_object_list items;

    return cor_client_list(client, &list, &items, why);
}

static int wait_watch(struct cor_client *client, struct cor_status *why)
{
    const struct cor_request watch = {COR_REQUEST, .verb = COR_VERB_WATCH, .resource = configmaps,
                                      .ns = "default"};

    return cor_client_watch_until(client, &watch, conditions, 1, NULL, NULL, why);
}

static int wait_resuming_watch(struct cor_client *client, struct cor_status *why)
{
    const struct cor_request watch = watch_from("7", true);

    return cor_client_watch_until(client, &watch, conditions, 1, NULL, NULL, why);
}

static int wait_change(struct cor_client *client, struct cor_status *why)
{
    const struct cor_request change = {COR_REQUEST, .resource = configmaps, .ns = "default",
                                       .name = "one"};

    return cor_client_change(client, &change, keep, NULL, NULL, why);
}

static int wait_path(struct cor_client *client, struct cor_status *why)
{
    return cor_client_get_path(client, "/version", 0, read_body, NULL, why);
}

static int wait_find(struct cor_client *client, struct cor_status *why)
{
    const struct cor_resource partial = {"", "", "cm"};
    struct cor_found_resource found;

    return cor_client_find(client, &partial, &found, why);
}

static int wait_cache_until(struct cor_client *client, bool has_precondition,
                            struct cor_status *why)
{
    const struct cor_informer_opts scope = {COR_INFORMER_OPTS, .resource = configmaps,
                                            .ns = "default"};
    const struct cor_sync_until_opts opts = {
        COR_SYNC_UNTIL_OPTS, .scope = &scope, .conditions = conditions, .n = 1,
        .precondition = has_precondition ? on_precondition : NULL};

    return cor_client_sync_until(client, &opts, NULL, why);
}

static int wait_cache(struct cor_client *client, struct cor_status *why)
{
    return wait_cache_until(client, false, why);
}

static int wait_first_list(struct cor_client *client, struct cor_status *why)
{
    return wait_cache_until(client, true, why);
}

/* All informers of a set, and one of them. */
static int wait_set(struct cor_client *client, bool one)
{
    const struct cor_informer_opts maps = {COR_INFORMER_OPTS, .resource = configmaps,
                                           .ns = "default"};
    struct cor_informers *set;
    struct cor_informer *informer;
    int r;

    assert_int_equal(cor_informers_new(client, NULL, &set), 0);
    assert_int_equal(cor_informers_for_resource(set, &maps, &informer, NULL), 0);
    cor_informers_start(set);
    r = one ? cor_informer_wait_for_sync(informer, PATIENCE_MS)
            : cor_informers_wait_for_sync(set, PATIENCE_MS, NULL);
    cor_informers_free(set);
    return r;
}

static int wait_informers(struct cor_client *client, struct cor_status *why)
{
    cor_status_init(why);
    return wait_set(client, false);
}

static int wait_informer(struct cor_client *client, struct cor_status *why)
{
    cor_status_init(why);
    return wait_set(client, true);
}

static const struct {
    int (*wait)(struct cor_client *client, struct cor_status *why);
    const struct script_answer *answers;
    size_t n;
    const char *asked; /* the request after which the call does nothing but wait */
    bool has_words;
} waits[] = {
    {wait_get, silence, 1, "GET", true},
    {wait_list, silence, 1, "GET", true},
    {wait_watch, silence, 1, "GET", true},
    {wait_resuming_watch, silence, 1, "GET", true},
    {wait_change, silence, 1, "GET", true},
    {wait_path, silence, 1, "GET", true},
    {wait_find, silence, 1, "GET", true},
    {wait_first_list, silence, 1, "GET", false},
    {wait_cache, silent_watch, 2, "watch=true", true},
    {wait_informers, silence, 1, "GET", false},
    {wait_informer, silence, 1, "GET", false},
};

struct stopper {
    struct script *script;
    struct cor_client *client;
    const char *asked;
};

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* As a thread that waits for signals would. */
static void *stop_when_asked(void *arg)
{
    struct stopper *s = arg;

    while (script_count(s->script, s->asked) == 0)
        pause_ms(1);
    cor_client_stop(s->client);
    cor_client_stop(s->client);
    return NULL;
}

TEST(ends, another_thread_cancels_every_call_that_waits)
{
    FOR_EACH_KIND(kind)
    {
        for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
            struct cor_status why;
            struct stopper stopper;
            struct script script;
            struct world w;
            pthread_t thread;

            cor_status_init(&why);
            script_begin(&script, waits[i].answers, waits[i].n);
            world_begin_at(&w, kind, script.url);
            stopper = (struct stopper){&script, w.client, waits[i].asked};
            assert_int_equal(pthread_create(&thread, NULL, stop_when_asked, &stopper), 0);
            if (waits[i].wait(w.client, &why) != -COR_ECANCELED)
                fail_msg("call %zu did not end with -COR_ECANCELED", i);
            if (waits[i].has_words && !strstr(cor_status_message(&why), "the client was stopped"))
                fail_msg("call %zu said: %s", i, cor_status_message(&why));
            pthread_join(thread, NULL);
            cor_status_deinit(&why);
            world_end(&w);
            script_end(&script);
        }
    }
}

TEST(ends, a_stopped_client_takes_nothing_new)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_election_opts election_opts = {
            COR_ELECTION_OPTS, .ns = "default",           .name = "lock",
            .identity = "a",   .on_started = on_election, .on_stopped = on_election};
        const struct cor_events_opts events_opts = {COR_EVENTS_OPTS, .component = "test"};
        struct cor_informers *set;
        struct cor_election *election;
        struct cor_events *events;
        struct cor_status why;
        struct script script;
        struct world w;

        cor_status_init(&why);
        SCRIPT_BEGIN(&script, silence);
        world_begin_at(&w, kind, script.url);
        cor_client_stop(w.client);
        assert_int_equal(wait_get(w.client, &why), -COR_ECANCELED);
        assert_string_equal(cor_status_message(&why), "the client was stopped");
        assert_int_equal(wait_find(w.client, &why), -COR_ECANCELED);
        assert_int_equal(cor_informers_new(w.client, NULL, &set), -COR_ECANCELED);
        assert_int_equal(cor_events_new(w.client, &events_opts, &events), -COR_ECANCELED);
        assert_int_equal(cor_election_new(w.client, &election_opts, &election, &why),
                         -COR_ECANCELED);
        cor_status_deinit(&why);
        world_end(&w);
        script_end(&script);
    }
}

static atomic_int nled;

static void on_led(void *arg)
{
    atomic_fetch_add(&nled, 1);
}

static bool has_led(void *arg)
{
    return atomic_load(&nled) > 0;
}

static bool is_asked_for_events(void *arg)
{
    return script_count(arg, "events") > 0;
}

#define LEASE                                                                                      \
    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":"        \
    "\"lock\",\"namespace\":\"default\",\"resourceVersion\":\"5\"},\"spec\":{"                     \
    "\"holderIdentity\":\"a\",\"leaseDurationSeconds\":240}}"

static const struct script_answer then_silence[] = {
    {.to = "GET /apis/coordination", .status = 404, .body = "{}", .times = 1},
    {.to = "POST /apis/coordination", .body = LEASE},
    {.to = "/", .is_silent = true},
};

static uint64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Without the bound the release takes four minutes of a server that hangs, and the events ten
 * seconds. */
TEST(ends, one_bound_holds_for_the_release_and_the_events_of_a_server_that_hangs)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_events_opts events_opts = {COR_EVENTS_OPTS, .component = "test"};
        struct cor_election_opts opts = {COR_ELECTION_OPTS,
                                         .ns = "default",
                                         .name = "lock",
                                         .identity = "a",
                                         .lease_ms = 5 * PATIENCE_MS,
                                         .renew_ms = 4 * PATIENCE_MS,
                                         .retry_ms = 2 * PATIENCE_MS,
                                         .release_on_cancel = true,
                                         .on_started = on_led,
                                         .on_stopped = on_election};
        struct cor_client_opts client_opts = {COR_CLIENT_OPTS, .qps = -1, .end_ms = 200};
        struct cor_election *election;
        struct cor_client *client;
        struct script script;
        struct world w;
        uint64_t began_ms;

        atomic_store(&nled, 0);
        SCRIPT_BEGIN(&script, then_silence);
        world_begin_at(&w, kind, script.url);
        client_opts.config = &w.config;
        assert_int_equal(cor_client_new(w.rt, &client_opts, &client, NULL), 0);
        assert_int_equal(cor_events_new(client, &events_opts, &opts.events), 0);
        assert_int_equal(cor_election_new(client, &opts, &election, NULL), 0);
        world_run(&w, has_led, NULL);
        world_run(&w, is_asked_for_events, &script); /* "became leader", which is not answered */
        began_ms = clock_ms();
        cor_client_stop(client);
        cor_election_free(election);
        cor_events_free(opts.events);
        cor_client_free(client);
        assert_true(clock_ms() - began_ms < PATIENCE_MS);
        world_end(&w);
        script_end(&script);
    }
}
