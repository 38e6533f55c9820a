/* Informers of the public API against a real server, on both kinds of runtime. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ear.h"

struct set {
    struct world w;
    struct cor_informers *informers;
    struct cor_informer *inf;
};

static const struct cor_informer_opts of_configmaps = {
    COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"}, .ns = "default"};

static void begin(struct set *s, enum cor_runtime_kind kind)
{
    world_begin(&s->w, kind);
    assert_int_equal(cor_informers_new(s->w.client, NULL, &s->informers), 0);
    assert_int_equal(cor_informers_for_resource(s->informers, &of_configmaps, &s->inf, NULL), 0);
}

static void end(struct set *s)
{
    assert_null(cor_informers_free(s->informers));
    world_end(&s->w);
}

/* Contract client 1.17.32, 1.18.3, 1.18.5. */
TEST(informers, handlers_hear_what_happens_in_order)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct ear ears[3];
        struct cor_handler_opts opts;
        char rv[32];

        begin(&s, kind);
        world_create(&s.w, "one", "{}", "1");
        for (int i = 0; i < 3; i++) {
            ear_init(&ears[i]);
            opts = ear_opts(&ears[i]);
            assert_int_equal(cor_informer_add_handler(s.inf, &opts, NULL), 0);
        }
        cor_informers_start(s.informers);
        cor_informers_start(s.informers);
        assert_int_equal(cor_informers_wait_for_sync(s.informers, PATIENCE_MS, NULL), 0);
        assert_true(cor_informer_has_synced(s.inf));
        world_create(&s.w, "two", "{}", "1");
        world_update(&s.w, "one", "2", rv);
        world_delete(&s.w, "two");
        for (int i = 0; i < 3; i++)
            ear_await(&ears[i], &s.w, "!one +two ~one -two ");
        end(&s);
        for (int i = 0; i < 3; i++)
            assert_int_equal(ears[i].nremoved, 1);
    }
}

/* Blocks in its first add, so that what follows waits for it. */
struct slow_ear {
    struct ear ear;
    sem_t go_on;
    atomic_int nbehind;
};

static void on_slow_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct slow_ear *e = arg;

    ear_on_add(&e->ear, object, in_initial_list);
    while (sem_wait(&e->go_on) != 0)
        ;
}

static void on_slow_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    ear_on_update(&((struct slow_ear *)arg)->ear, old, object);
}

static void on_behind(void *arg, size_t pending_bytes)
{
    assert_true(pending_bytes > 0);
    atomic_fetch_add(&((struct slow_ear *)arg)->nbehind, 1);
}

/* Three updates come in while the handler is busy. Only a thread of its own lets them wait: a pump
 * runs a handler before it takes the next answer. */
static void update_behind_its_back(const struct cor_handler_opts *with, const char *heard,
                                   int nbehind)
{
    struct set s;
    struct slow_ear e = {.nbehind = 0};
    struct ear next; /* in the order of news */
    struct cor_handler_opts opts = *with, of_next = ear_opts(&next);
    char rv[32];

    ear_init(&e.ear);
    ear_init(&next);
    sem_init(&e.go_on, 0, 0);
    opts.on = (struct cor_handler_fns){on_slow_add, on_slow_update, NULL, on_behind, &e};
    begin(&s, COR_RUNTIME_THREADS);
    world_create(&s.w, "one", "{}", "1");
    assert_int_equal(cor_informer_add_handler(s.inf, &opts, NULL), 0);
    assert_int_equal(cor_informer_add_handler(s.inf, &of_next, NULL), 0);
    cor_informers_start(s.informers);
    ear_await(&e.ear, &s.w, "!one ");
    for (int i = 0; i < 3; i++)
        world_update(&s.w, "one", i % 2 ? "a" : "b", rv);
    ear_await(&next, &s.w, "!one ~one ~one ~one ");
    assert_int_equal(atomic_load(&e.nbehind), nbehind);
    sem_post(&e.go_on);
    ear_await(&e.ear, &s.w, heard);
    world_create(&s.w, "two", "{}", "1");
    sem_post(&e.go_on);
    ear_await_part(&e.ear, &s.w, "+two ");
    end(&s);
    assert_int_equal(strncmp(e.ear.text, heard, strlen(heard)), 0);
    sem_destroy(&e.go_on);
}

TEST(informers, updates_for_a_slow_handler_are_folded_beyond_its_bound)
{
    const struct cor_handler_opts small = {COR_HANDLER_OPTS, .bytes_max = 1};
    const struct cor_handler_opts unbounded = {COR_HANDLER_OPTS, .bytes_max = 0};
    const struct cor_handler_opts defaults = {COR_HANDLER_DEFAULTS};

    assert_int_equal(defaults.bytes_max, 64u << 20);
    update_behind_its_back(&small, "!one ~one ", 2); /* the add was beyond it, too */
    update_behind_its_back(&unbounded, "!one ~one ~one ~one ", 0);
    update_behind_its_back(&defaults, "!one ~one ~one ~one ", 0);
}

static bool has_synced(void *handler)
{
    return cor_handler_has_synced(handler);
}

/* Contract client 1.17.13, 1.17.15, 1.18.3. */
TEST(informers, a_late_handler_hears_all_and_an_early_one_goes)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct ear early, late;
        struct cor_handler_opts opts;
        struct cor_handler *handler;

        begin(&s, kind);
        ear_init(&early);
        ear_init(&late);
        opts = ear_opts(&early);
        early.removes_itself = true;
        world_create(&s.w, "one", "{}", "1");
        assert_int_equal(cor_informer_add_handler(s.inf, &opts, &early.self), 0);
        cor_informers_start(s.informers);
        ear_await(&early, &s.w, "!one ");
        world_create(&s.w, "two", "{}", "1");
        opts = ear_opts(&late);
        assert_int_equal(cor_informer_add_handler(s.inf, &opts, &handler), 0);
        world_create(&s.w, "three", "{}", "1");
        world_run(&s.w, has_synced, handler);
        cor_handler_remove(handler);
        end(&s);
        assert_string_equal(early.text, "!one ");
        assert_int_equal(early.nremoved, 1);
        assert_int_equal(late.nremoved, 1);
        assert_int_equal(strncmp(late.text, "!one ", 5), 0);
    }
}

static bool is_removed(void *arg)
{
    return atomic_load(&((struct ear *)arg)->nremoved) > 0;
}

TEST(informers, a_removal_is_told_of_where_handlers_run)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct ear ear;
        struct cor_handler_opts opts;

        begin(&s, kind);
        ear_init(&ear);
        opts = ear_opts(&ear);
        assert_int_equal(cor_informer_add_handler(s.inf, &opts, &ear.self), 0);
        cor_handler_remove(ear.self);
        if (kind == COR_RUNTIME_PUMPED)
            assert_int_equal(ear.nremoved, 0);
        world_run(&s.w, is_removed, &ear);
        assert_int_equal(!pthread_equal(ear.removed_on, pthread_self()),
                         kind == COR_RUNTIME_THREADS);
        end(&s);
    }
}

/* A call that goes on until another handler has been removed, when the end of the informers has
 * begun, and a moment longer, in which that end must not come. */
struct long_call {
    sem_t entered, removed, freed;
    atomic_bool returned, outlived;
};

static void on_add_and_wait(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct long_call *c = arg;
    struct timespec until;

    sem_post(&c->entered);
    while (sem_wait(&c->removed) != 0)
        ;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    atomic_store(&c->outlived, sem_timedwait(&c->freed, &until) == 0);
    atomic_store(&c->returned, true);
}

static void post(void *arg)
{
    sem_post(arg);
}

/* Contract client 1.17.3, 3.1.8 and sequence 40: the end stops the informers and waits until they
 * have ended; the set is gone afterwards, so that nothing can be started again. Without threads no
 * call can be under way. */
TEST(informers, their_end_waits_for_a_call_that_is_under_way)
{
    struct set s;
    struct long_call c = {.returned = false};
    struct cor_handler_opts opts = cor_handler_defaults(), other = cor_handler_defaults();

    sem_init(&c.entered, 0, 0);
    sem_init(&c.removed, 0, 0);
    sem_init(&c.freed, 0, 0);
    begin(&s, COR_RUNTIME_THREADS);
    world_create(&s.w, "one", "{}", "1");
    opts.on = (struct cor_handler_fns){.on_add = on_add_and_wait, .arg = &c};
    assert_int_equal(cor_informer_add_handler(s.inf, &opts, NULL), 0);
    other.on.arg = &c.removed;
    other.on_removed = post;
    assert_int_equal(cor_informer_add_handler(s.inf, &other, NULL), 0);
    cor_informers_start(s.informers);
    while (sem_wait(&c.entered) != 0)
        ;
    cor_informers_free(s.informers);
    sem_post(&c.freed);
    assert_true(atomic_load(&c.returned));
    assert_false(atomic_load(&c.outlived));
    world_end(&s.w);
    sem_destroy(&c.entered);
    sem_destroy(&c.removed);
    sem_destroy(&c.freed);
}

#define COMERS 200

struct comer {
    struct set *s;
    atomic_bool is_done;
};

/* Each handler removes itself by its handle when it is called for the first time. */
static void *come_and_go(void *arg)
{
    struct comer *c = arg;
    struct ear ear;
    struct cor_handler_opts opts;

    for (int i = 0; i < COMERS; i++) {
        ear_init(&ear);
        ear.removes_itself = true;
        opts = ear_opts(&ear);
        assert_int_equal(cor_informer_add_handler(c->s->inf, &opts, &ear.self), 0);
        while (!is_removed(&ear))
            sched_yield();
        assert_string_equal(ear.text, "!one ");
    }
    atomic_store(&c->is_done, true);
    return NULL;
}

static bool has_come(void *arg)
{
    return atomic_load(&((struct comer *)arg)->is_done);
}

TEST(informers, a_handler_has_its_handle_when_it_is_called)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct comer c = {.s = &s};
        pthread_t thread;

        begin(&s, kind);
        world_create(&s.w, "one", "{}", "1");
        world_create(&s.w, "two", "{}", "1");
        cor_informers_start(s.informers);
        assert_int_equal(cor_informers_wait_for_sync(s.informers, PATIENCE_MS, NULL), 0);
        assert_int_equal(pthread_create(&thread, NULL, come_and_go, &c), 0);
        world_run(&s.w, has_come, &c);
        pthread_join(thread, NULL);
        end(&s);
    }
}

/* Contract controllers 6.7.8: a read after a write may be old, until the cache has its version. */
TEST(informers, a_write_can_be_waited_for)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        char rv[32];

        begin(&s, kind);
        world_create(&s.w, "one", "{}", "1");
        cor_informers_start(s.informers);
        for (int i = 0; i < 5; i++) {
            struct cor_object *object;

            world_update(&s.w, "one", i % 2 ? "a" : "b", rv);
            assert_int_equal(cor_informer_wait_for_version(s.inf, cor_strz(rv), PATIENCE_MS), 0);
            assert_int_equal(
                cor_informer_get(s.inf, COR_STR("default"), COR_STR("one"), &object, NULL), 0);
            assert_str(cor_object_resource_version(object), rv);
            cor_object_unref(object);
        }
        assert_int_equal(cor_informer_wait_for_version(s.inf, COR_STR("999999999"), 10),
                         -COR_ETIMEOUT);
        assert_int_equal(cor_informer_wait_for_version(s.inf, COR_STR(""), 10), -COR_EINVAL);
        end(&s);
    }
}

static int by_v(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    struct cor_str name = cor_object_name(object);

    return cor_index_values_add(out, cor_str(name.p, 1));
}

static int count(void *arg, struct cor_object *object)
{
    return ++*(int *)arg < 0;
}

/* Contract client 1.22.1 to 1.22.3, 3.2.2, 3.2.4. */
TEST(informers, caches_are_read_by_name_label_and_index)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct cor_label_selector *selector;
        struct cor_object *object;
        const struct cor_index_def def = {COR_STR("first-letter"), by_v, NULL};
        struct cor_status why;
        int n = 0;

        begin(&s, kind);
        assert_int_equal(cor_informer_add_indexes(s.inf, &def, 1), 0);
        world_create(&s.w, "one", "{\"app\":\"a\"}", "1");
        world_create(&s.w, "two", "{\"app\":\"a\"}", "1");
        world_create(&s.w, "three", "{\"app\":\"b\"}", "1");
        cor_informers_start(s.informers);
        assert_int_equal(cor_informer_wait_for_sync(s.inf, PATIENCE_MS), 0);
        assert_int_equal(cor_informer_len(s.inf), 3);
        assert_int_equal(cor_label_selector_parse(COR_STR("app=a"), &selector, NULL), 0);
        assert_int_equal(cor_informer_each(s.inf, COR_STR("default"), selector, count, &n), 0);
        assert_int_equal(n, 2);
        cor_label_selector_free(selector);
        n = 0;
        assert_int_equal(
            cor_informer_each_by_index(s.inf, COR_STR("first-letter"), COR_STR("t"), count, &n), 0);
        assert_int_equal(n, 2);
        assert_int_equal(cor_informer_get_by_key(s.inf, COR_STR("default/two"), &object), 0);
        cor_object_unref(object);
        cor_status_init(&why);
        assert_int_equal(cor_informer_get(s.inf, COR_STR("x"), COR_STR("two"), &object, &why),
                         -COR_ENOTFOUND);
        assert_string_equal(cor_status_message(&why), "configmaps \"two\" not found");
        assert_true(cor_status_is_not_found(&why));
        cor_status_deinit(&why);
        end(&s);
    }
}

/* Contract client 3.1.1, 3.2.1. */
TEST(informers, equal_scopes_share_one_and_others_do_not)
{
    struct set s;
    struct cor_informer *again, *other;
    struct cor_informer_opts opts = of_configmaps;

    begin(&s, COR_RUNTIME_THREADS);
    assert_int_equal(cor_informers_for_resource(s.informers, &opts, &again, NULL), 0);
    opts.label_selector = "app=a";
    assert_int_equal(cor_informers_for_resource(s.informers, &opts, &other, NULL), 0);
    assert_ptr_equal(again, s.inf);
    assert_ptr_not_equal(other, s.inf);
    opts.resource.version = NULL;
    assert_int_equal(cor_informers_for_resource(s.informers, &opts, &other, NULL), -COR_EINVAL);
    end(&s);
}

static int refuse_two(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    return cor_str_eqz(cor_object_name(*object), "two") ? -COR_EINVALID : 0;
}

TEST(informers, a_transform_decides_what_is_kept)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct cor_informer *inf;
        struct cor_informer_opts opts = of_configmaps;
        struct cor_object *object;
        char rv[32];

        begin(&s, kind);
        opts.transform = refuse_two;
        assert_int_equal(cor_informers_for_resource(s.informers, &opts, &inf, NULL), 0);
        assert_ptr_not_equal(inf, s.inf);
        world_create(&s.w, "one", "{}", "1");
        cor_informers_start(s.informers);
        assert_int_equal(cor_informers_wait_for_sync(s.informers, PATIENCE_MS, NULL), 0);
        world_create(&s.w, "two", "{}", "1");
        world_create(&s.w, "three", "{}", "1");
        world_update(&s.w, "three", "2", rv);
        assert_int_equal(cor_informer_wait_for_version(s.inf, cor_strz(rv), PATIENCE_MS), 0);
        assert_int_equal(cor_informer_wait_for_version(inf, cor_strz(rv), PATIENCE_MS), 0);
        assert_int_equal(cor_informer_len(s.inf), 3);
        assert_int_equal(cor_informer_len(inf), 2);
        assert_int_equal(cor_informer_get_by_key(inf, COR_STR("default/two"), &object),
                         -COR_ENOTFOUND);
        end(&s);
    }
}

/* Contract client 1.17.8. */
TEST(informers, a_stop_keeps_the_cache_and_ends_the_waits)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct ear ear;
        struct cor_handler_opts opts;

        begin(&s, kind);
        ear_init(&ear);
        opts = ear_opts(&ear);
        world_create(&s.w, "one", "{}", "1");
        cor_informers_start(s.informers);
        assert_int_equal(cor_informers_wait_for_sync(s.informers, PATIENCE_MS, NULL), 0);
        cor_informers_stop(s.informers);
        world_create(&s.w, "two", "{}", "1");
        assert_int_equal(cor_informer_len(s.inf), 1);
        assert_int_equal(cor_informer_wait_for_version(s.inf, COR_STR("999999999"), PATIENCE_MS),
                         -COR_ECANCELED);
        assert_int_equal(cor_informer_add_handler(s.inf, &opts, NULL), -COR_ECANCELED);
        end(&s);
    }
}

#define READERS 4

struct reader {
    pthread_t thread;
    struct set *s;
    atomic_bool *stop;
    atomic_int ncalls;
};

static void *read_and_change(void *arg)
{
    struct reader *r = arg;
    struct ear ear;
    struct cor_handler_opts opts;
    struct cor_handler *handler;
    int n = 0;

    ear_init(&ear);
    opts = ear_opts(&ear);
    for (int i = 1; !atomic_load(r->stop); i++) {
        cor_informer_each(r->s->inf, COR_STR(""), NULL, count, &n);
        assert_int_equal(cor_informer_add_handler(r->s->inf, &opts, &handler), 0);
        cor_handler_remove(handler);
        while (atomic_load(&ear.nremoved) < i)
            sched_yield();
        ear.text[0] = '\0';
        atomic_fetch_add(&r->ncalls, 1);
    }
    return NULL;
}

static bool are_busy(void *arg)
{
    struct reader *readers = arg;

    for (int i = 0; i < READERS; i++)
        if (atomic_load(&readers[i].ncalls) < 20)
            return false;
    return true;
}

TEST(informers, many_threads_read_and_come_and_go)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct reader readers[READERS];
        atomic_bool stop = false;
        char name[32];

        begin(&s, kind);
        cor_informers_start(s.informers);
        for (int i = 0; i < READERS; i++) {
            readers[i] = (struct reader){.s = &s, .stop = &stop};
            assert_int_equal(pthread_create(&readers[i].thread, NULL, read_and_change, &readers[i]),
                             0);
        }
        for (int i = 0; i < 20; i++) {
            snprintf(name, sizeof(name), "n%d", i);
            world_create(&s.w, name, "{}", "1");
        }
        world_run(&s.w, are_busy, readers);
        atomic_store(&stop, true);
        /* A reader may be waiting for its handler to be gone, which a pump does. */
        for (int i = 0; i < READERS; i++) {
            while (pthread_tryjoin_np(readers[i].thread, NULL) != 0) {
                cor_runtime_pump(s.w.rt);
                sched_yield();
            }
        }
        end(&s);
    }
}

/* A write is not tried again on a connection that broke under it. */
static bool is_reachable(void *arg)
{
    struct set *s = arg;
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};

    return cor_client_do(s->w.client, &req, NULL, NULL) == 0;
}

TEST(informers, go_on_when_the_server_was_away)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct ear ear;
        struct cor_handler_opts opts;

        begin(&s, kind);
        ear_init(&ear);
        opts = ear_opts(&ear);
        world_create(&s.w, "one", "{}", "1");
        assert_int_equal(cor_informer_add_handler(s.inf, &opts, NULL), 0);
        cor_informers_start(s.informers);
        ear_await(&ear, &s.w, "!one ");
        server_process_kill(&s.w.server);
        assert_true(server_process_start(&s.w.server));
        world_run(&s.w, is_reachable, &s);
        world_create(&s.w, "two", "{}", "1");
        ear_await_part(&ear, &s.w, "+two ");
        end(&s);
    }
}

static int threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = -2; /* "." and ".." */

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static int tcp_connections(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
            (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
            n++;
    }
    return n;
}

#define MANY 50

/* A thread that was joined may be listed for a moment more. */
static bool has_few_threads(void *arg)
{
    return threads() <= *(int *)arg;
}

/* Selectors make them 50: the server has fewer resources. */
TEST(informers, fifty_of_them_need_a_handful_of_threads_and_one_connection)
{
    FOR_EACH_KIND(kind)
    {
        struct set s;
        struct cor_informer *inf;
        struct cor_informer_opts opts = of_configmaps;
        char selector[32];
        int nthreads = threads() + (kind == COR_RUNTIME_PUMPED ? 0 : 3);

        begin(&s, kind);
        opts.label_selector = selector;
        for (int i = 0; i < MANY - 1; i++) {
            snprintf(selector, sizeof(selector), "n=%d", i);
            assert_int_equal(cor_informers_for_resource(s.informers, &opts, &inf, NULL), 0);
        }
        cor_informers_start(s.informers);
        assert_int_equal(cor_informers_wait_for_sync(s.informers, PATIENCE_MS, NULL), 0);
        world_run(&s.w, has_few_threads, &nthreads);
        assert_int_equal(tcp_connections(), 1);
        end(&s);
    }
}
