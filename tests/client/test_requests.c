/* The public client's verbs, waiting and with callbacks, on both kinds of runtime. */
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "script.h"
#include "world.h"

static int get(struct world *w, const char *name, struct cor_object **ret_object)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = name};

    return cor_client_do(w->client, &req, ret_object, NULL);
}

TEST(requests, every_verb_that_waits)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct cor_object *object;
        struct cor_object_list list;
        char rv[32];
        const struct cor_request some = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                         .ns = "default", .label_selector = "app=a"};
        const struct cor_request remove_some = {COR_REQUEST, .verb = COR_VERB_DELETE_COLLECTION,
                                                .resource = configmaps, .ns = "default",
                                                .label_selector = "app=a"};

        world_begin(&w, kind);
        world_create(&w, "one", "{\"app\":\"a\"}", "1");
        world_create(&w, "two", "{\"app\":\"b\"}", "2");
        world_update(&w, "one", "3", rv);
        assert_int_equal(get(&w, "one", &object), 0);
        assert_str(cor_object_resource_version(object), rv);
        cor_object_unref(object);
        assert_int_equal(cor_client_list(w.client, &some, &list, NULL), 0);
        assert_int_equal(list.n, 1);
        assert_str(cor_object_name(list.items[0]), "one");
        assert_string_equal(list.continue_token, "");
        cor_object_list_deinit(&list);
        assert_int_equal(cor_client_do(w.client, &remove_some, NULL, NULL), 0);
        assert_int_equal(get(&w, "one", &object), -COR_ENOTFOUND);
        world_delete(&w, "two");
        assert_int_equal(get(&w, "two", &object), -COR_ENOTFOUND);
        world_end(&w);
    }
}

/* More than 128 KB, which the server compresses for who accepts it. */
TEST(requests, a_large_list_is_the_same_with_and_without_compression)
{
    static char value[20001];
    const struct cor_request all = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                    .ns = "default"};

    memset(value, 'x', sizeof(value) - 1);
    FOR_EACH_KIND(kind)
    {
        struct cor_client_opts opts = {COR_CLIENT_OPTS, .qps = -1};
        struct cor_object_list packed, plain;
        struct world w;

        world_begin(&w, kind);
        for (int i = 0; i < 10; i++) {
            char name[16];

            snprintf(name, sizeof(name), "m%d", i);
            world_create(&w, name, "{}", value);
        }
        assert_int_equal(cor_client_list(w.client, &all, &packed, NULL), 0);
        cor_client_free(w.client);
        w.config.disable_compression = true;
        opts.config = &w.config;
        assert_int_equal(cor_client_new(w.rt, &opts, &w.client, NULL), 0);
        assert_int_equal(cor_client_list(w.client, &all, &plain, NULL), 0);
        assert_int_equal(packed.n, 10);
        assert_int_equal(plain.n, 10);
        for (size_t i = 0; i < plain.n; i++)
            assert_true(
                cor_str_eq(cor_object_json(packed.items[i]), cor_object_json(plain.items[i])));
        cor_object_list_deinit(&packed);
        cor_object_list_deinit(&plain);
        world_end(&w);
    }
}

/* Over TLS and HTTP/2. The frame of the tests counts by cor_mem_set(), and looks for what is left.
 */
TEST(requests, what_a_connection_takes_comes_from_the_allocator)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_client_opts opts = {COR_CLIENT_OPTS, .qps = -1};
        struct cor_object *object;
        struct world w;
        size_t before;

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        cor_client_free(w.client);
        opts.config = &w.config;
        assert_int_equal(cor_client_new(w.rt, &opts, &w.client, NULL), 0);
        before = test_live_allocs();
        assert_int_equal(get(&w, "one", &object), 0);
        cor_object_unref(object);
        assert_true(test_live_allocs() > before + 3);
        world_end(&w);
    }
}

TEST(requests, an_update_of_an_old_object_is_a_conflict)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct cor_request req = {COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = configmaps,
                                  .ns = "default"};
        struct cor_status why;
        char rv[32];

        cor_status_init(&why);
        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        assert_int_equal(get(&w, "one", &req.object), 0);
        world_update(&w, "one", "2", rv);
        assert_int_equal(cor_client_do(w.client, &req, NULL, &why), -COR_ECONFLICT);
        assert_int_equal(why.code, 409);
        assert_string_equal(why.reason, "Conflict");
        cor_object_unref(req.object);
        cor_status_deinit(&why);
        world_end(&w);
    }
}

TEST(requests, a_request_that_makes_no_sense_is_told_of)
{
    struct world w;
    struct cor_object_list list;
    const struct cor_request no_object = {COR_REQUEST, .verb = COR_VERB_CREATE,
                                          .resource = configmaps, .ns = "default"};
    const struct cor_request no_name = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                        .ns = "default"};
    const struct cor_request watch = {COR_REQUEST, .verb = COR_VERB_WATCH, .resource = configmaps};
    const struct cor_request odd_patch = {
        COR_REQUEST,   .verb = COR_VERB_PATCH, .resource = configmaps, .ns = "default",
        .name = "one", .patch_type = 99,       .patch = COR_STR("{}")};
    const struct cor_request managed = {
        COR_REQUEST,
        .verb = COR_VERB_PATCH,
        .resource = configmaps,
        .ns = "default",
        .name = "one",
        .patch_type = COR_PATCH_APPLY,
        .field_manager = "us",
        .patch = COR_STR("{\"metadata\": {\"managedFields\": [{\"manager\": \"us\"}]}}")};
    struct cor_status why = {0};

    world_begin(&w, COR_RUNTIME_THREADS);
    assert_int_equal(cor_client_do(w.client, &odd_patch, NULL, NULL), -COR_EINVAL);
    assert_int_equal(cor_client_do(w.client, &managed, NULL, &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why),
                        "cannot apply an object with managed fields already set");
    cor_status_deinit(&why);
    assert_int_equal(cor_client_do(w.client, &no_object, NULL, NULL), -COR_EINVAL);
    assert_int_equal(cor_client_do(w.client, &no_name, NULL, NULL), -COR_EINVAL);
    assert_int_equal(cor_client_do(w.client, &watch, NULL, NULL), -COR_EINVAL);
    assert_int_equal(cor_client_list(w.client, &watch, &list, NULL), -COR_EINVAL);
    world_end(&w);
}

/* What callbacks heard; written on the runtime's thread. */
struct heard {
    struct world *w;
    atomic_int nitems, nevents, done;
    int err;
    int waited; /* what a call that waits returned inside a callback */
};

static int on_item(void *arg, struct cor_object *item)
{
    atomic_fetch_add(&((struct heard *)arg)->nitems, 1);
    return 0;
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct heard *h = arg;

    assert_int_equal(event->type, COR_WATCH_ADDED);
    h->waited = get(h->w, "one", NULL);
    atomic_fetch_add(&h->nevents, 1);
    return 0;
}

static void on_done(void *arg, const struct cor_response *response)
{
    struct heard *h = arg;

    h->err = response->error ? response->error->err : 0;
    atomic_fetch_add(&h->done, 1);
}

static const struct cor_request_cbs cbs = {on_item, on_event, on_done};

static bool is_done(void *arg)
{
    return atomic_load(&((struct heard *)arg)->done) > 0;
}

static bool has_events(void *arg)
{
    return atomic_load(&((struct heard *)arg)->nevents) >= 2;
}

TEST(requests, a_watch_goes_on_until_it_is_cancelled)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct heard h = {.w = &w};
        struct cor_client_call *call;
        const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_WATCH, .resource = configmaps,
                                        .ns = "default"};

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        assert_int_equal(cor_client_send(w.client, &req, &cbs, &h, &call), 0);
        world_create(&w, "two", "{}", "1");
        world_run(&w, has_events, &h);
        assert_int_equal(h.waited, -COR_EINVAL);
        cor_client_call_cancel(call);
        cor_client_call_cancel(call);
        world_run(&w, is_done, &h);
        assert_int_equal(h.err, -COR_ECANCELED);
        cor_client_call_cancel(call);
        assert_null(cor_client_call_unref(call));
        world_end(&w);
    }
}

TEST(requests, a_list_comes_item_by_item)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct heard h = {.w = &w};
        const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                        .ns = "default"};

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        world_create(&w, "two", "{}", "1");
        assert_int_equal(cor_client_send(w.client, &req, &cbs, &h, NULL), 0);
        world_run(&w, is_done, &h);
        assert_int_equal(h.err, 0);
        assert_int_equal(h.nitems, 2);
        world_end(&w);
    }
}

TEST(requests, a_deadline_ends_a_watch)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct heard h = {.w = &w};
        const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_WATCH, .resource = configmaps,
                                        .ns = "default", .timeout_ms = 20};

        world_begin(&w, kind);
        assert_int_equal(cor_client_send(w.client, &req, &cbs, &h, NULL), 0);
        world_run(&w, is_done, &h);
        assert_int_equal(h.err, -COR_ETIMEOUT);
        world_end(&w);
    }
}

TEST(requests, closing_the_client_ends_what_is_under_way)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct heard h[3] = {{.w = &w}, {.w = &w}, {.w = &w}};
        const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_WATCH,
                                        .resource = configmaps};

        world_begin(&w, kind);
        for (int i = 0; i < 3; i++)
            assert_int_equal(cor_client_send(w.client, &req, &cbs, &h[i], NULL), 0);
        w.client = cor_client_free(w.client);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(h[i].done, 1);
            assert_int_equal(h[i].err, -COR_ECANCELED);
        }
        world_end(&w);
    }
}

static const struct cor_request all_maps = {COR_REQUEST, .verb = COR_VERB_WATCH,
                                            .resource = {"", "v1", "configmaps"}};

static void send_again(void *arg, const struct cor_response *response);

static const struct cor_request_cbs cbs_again = {on_item, on_event, send_again};

static void send_again(void *arg, const struct cor_response *response)
{
    struct heard *h = arg;

    h->err = cor_client_send(h->w->client, &all_maps, &cbs_again, h, NULL);
    atomic_fetch_add(&h->done, 1);
}

TEST(requests, one_that_is_sent_again_while_the_client_closes_is_refused)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct heard h = {.w = &w};

        world_begin(&w, kind);
        assert_int_equal(cor_client_send(w.client, &all_maps, &cbs_again, &h, NULL), 0);
        w.client = cor_client_free(w.client);
        assert_int_equal(h.done, 1);
        assert_int_equal(h.err, -COR_ECANCELED);
        world_end(&w);
    }
}

/* A server that takes connections and never answers, and a client of it that is freed by another
 * thread as soon as a request has reached it. */
struct mute {
    struct cor_runtime *rt;
    struct cor_client *client;
    pthread_t freer;
    int fd;
};

static void *free_client(void *arg)
{
    struct mute *m = arg;
    struct pollfd p = {.fd = m->fd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    cor_client_free(m->client);
    return NULL;
}

static void mute_begin(struct mute *m, enum cor_runtime_kind kind)
{
    const struct cor_runtime_opts runtime = {COR_RUNTIME_OPTS, .kind = kind};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(at);
    char url[64];
    struct cor_client_config config = {.server = url};
    const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};

    m->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(m->fd >= 0);
    assert_int_equal(bind(m->fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(m->fd, 16), 0);
    assert_int_equal(getsockname(m->fd, (struct sockaddr *)&at, &n), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(cor_runtime_new(&runtime, &m->rt), 0);
    assert_int_equal(cor_client_new(m->rt, &opts, &m->client, NULL), 0);
    assert_int_equal(pthread_create(&m->freer, NULL, free_client, m), 0);
}

static bool is_joined(void *arg)
{
    return pthread_tryjoin_np(((struct mute *)arg)->freer, NULL) == 0;
}

static void mute_end(struct mute *m)
{
    struct world w = {.rt = m->rt};

    world_run(&w, is_joined, m);
    cor_runtime_free(m->rt);
    close(m->fd);
}

static int leave(void *arg, struct cor_object *current, struct cor_object **ret_object,
                 struct cor_status *reterr)
{
    *ret_object = cor_object_ref(current);
    return 0;
}

TEST(requests, a_change_under_way_ends_when_the_client_is_freed)
{
    const struct cor_request req = {COR_REQUEST, .resource = configmaps, .ns = "default",
                                    .name = "one"};

    FOR_EACH_KIND(kind)
    {
        struct mute m;
        struct cor_status why;

        cor_status_init(&why);
        mute_begin(&m, kind);
        assert_int_equal(cor_client_change(m.client, &req, leave, NULL, NULL, &why),
                         -COR_ECANCELED);
        assert_int_equal(why.err, -COR_ECANCELED);
        cor_status_deinit(&why);
        mute_end(&m);
    }
}

static int read_nothing(void *arg, struct cor_str body)
{
    return -COR_EINTERNAL;
}

TEST(requests, a_read_of_a_path_ends_when_the_client_is_freed)
{
    FOR_EACH_KIND(kind)
    {
        struct mute m;
        struct cor_status why;

        cor_status_init(&why);
        mute_begin(&m, kind);
        assert_int_equal(cor_client_get_path(m.client, "/version", 0, read_nothing, NULL, &why),
                         -COR_ECANCELED);
        assert_int_equal(why.err, -COR_ECANCELED);
        cor_status_deinit(&why);
        mute_end(&m);
    }
}

TEST(requests, a_search_under_way_ends_when_the_client_is_freed)
{
    const struct cor_resource partial = {NULL, NULL, "pods"};

    FOR_EACH_KIND(kind)
    {
        struct mute m;
        struct cor_found_resource found;
        struct cor_status why;

        cor_status_init(&why);
        mute_begin(&m, kind);
        assert_int_equal(cor_client_find(m.client, &partial, &found, &why), -COR_ECANCELED);
        assert_int_equal(why.err, -COR_ECANCELED);
        cor_status_deinit(&why);
        mute_end(&m);
    }
}

TEST(requests, a_call_that_waits_ends_when_the_client_is_freed)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};

    FOR_EACH_KIND(kind)
    {
        struct mute m;

        mute_begin(&m, kind);
        assert_int_equal(cor_client_do(m.client, &req, NULL, NULL), -COR_ECANCELED);
        mute_end(&m);
    }
}

TEST(requests, an_unreachable_server_is_told_of)
{
    struct world w;
    struct cor_object *object;

    world_begin(&w, COR_RUNTIME_THREADS);
    server_process_kill(&w.server);
    assert_true(get(&w, "one", &object) < 0);
    world_end(&w);
}

#define WRITERS 6
#define WRITES  10

struct writer {
    pthread_t thread;
    struct world *w;
    int id;
    atomic_int *left;
};

static void *write_much(void *arg)
{
    struct writer *writer = arg;
    char name[32], rv[32];

    for (int i = 0; i < WRITES; i++) {
        snprintf(name, sizeof(name), "w%d-%d", writer->id, i);
        world_create(writer->w, name, "{}", "1");
        world_update(writer->w, name, "2", rv);
        world_delete(writer->w, name);
    }
    atomic_fetch_sub(writer->left, 1);
    return NULL;
}

static bool is_zero(void *arg)
{
    return atomic_load((atomic_int *)arg) == 0;
}

TEST(requests, many_threads_call_at_once)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct writer writers[WRITERS];
        atomic_int left = WRITERS;

        world_begin(&w, kind);
        for (int i = 0; i < WRITERS; i++) {
            writers[i] = (struct writer){.w = &w, .id = i, .left = &left};
            assert_int_equal(pthread_create(&writers[i].thread, NULL, write_much, &writers[i]), 0);
        }
        world_run(&w, is_zero, &left);
        for (int i = 0; i < WRITERS; i++)
            pthread_join(writers[i].thread, NULL);
        world_end(&w);
    }
}

static int resolve(void *arg, const char *host, struct cor_addresses *ret_found)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    if (strcmp(host, "a.name") != 0)
        return -COR_ENOTFOUND;
    snprintf(ret_found->at[0], sizeof(ret_found->at[0]), "127.0.0.1");
    ret_found->n = 1;
    return 0;
}

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(d);
    for (struct dirent *it; (it = readdir(d));)
        n += it->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Makes the client anew, for the server under this name. */
static void rename_server(struct world *w, const char *host)
{
    struct cor_client_opts client = {COR_CLIENT_OPTS, .timeout_ms = PATIENCE_MS};
    struct cor_client_config config;
    char path[512], url[64];

    snprintf(path, sizeof(path), "%s/admin.kubeconfig", w->data);
    snprintf(url, sizeof(url), "https://%s:%u", host, w->server.port);
    assert_int_equal(cor_client_config_load(path, NULL, &config, NULL), 0);
    assert_int_equal(cor_client_config_set(&config.server, url), 0);
    assert_int_equal(cor_client_config_set(&config.tls_server_name, "localhost"), 0);
    client.config = &config;
    w->client = cor_client_free(w->client);
    assert_int_equal(cor_client_new(w->rt, &client, &w->client, NULL), 0);
    cor_client_config_deinit(&config);
}

TEST(requests, names_are_looked_up_without_threads)
{
    struct world w;
    int nthreads;

    world_begin(&w, COR_RUNTIME_PUMPED);
    nthreads = count_threads();
    rename_server(&w, "localhost");
    world_create(&w, "one", "{}", "1");
    assert_int_equal(count_threads(), nthreads);
    world_end(&w);
}

TEST(requests, names_are_looked_up_by_a_resolver_of_the_programs)
{
    atomic_int nasked = 0;
    const struct cor_runtime_opts opts = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED,
                                          .resolve = resolve, .resolve_arg = &nasked};
    struct cor_runtime *rt;
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    w.client = cor_client_free(w.client);
    assert_int_equal(cor_runtime_new(&opts, &rt), 0);
    cor_runtime_free(w.rt);
    w.rt = rt;
    rename_server(&w, "a.name");
    world_create(&w, "one", "{}", "1");
    assert_true(nasked > 0);
    world_end(&w);
}

static int refuse(void *arg, const char *host, struct cor_addresses *ret_found)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    assert_string_equal(host, "a.proxy");
    return -COR_ENOTFOUND;
}

static int new_behind(struct cor_runtime *rt, const char *server, const char *proxy,
                      struct cor_client **ret_client, struct cor_status *reterr)
{
    const struct cor_client_config config = {.server = (char *)server, .proxy_url = (char *)proxy};
    const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};

    return cor_client_new(rt, &opts, ret_client, reterr);
}

/* Nobody listens at the proxy's address: its name was looked up, and the server's was not. */
static void expect_no_proxy(struct cor_runtime *rt, const char *server, const char *proxy)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    struct cor_client *client;
    struct cor_status why;

    cor_status_init(&why);
    assert_int_equal(new_behind(rt, server, proxy, &client, NULL), 0);
    assert_int_equal(cor_client_do(client, &req, NULL, &why), -COR_EUNREACHABLE);
    assert_non_null(strstr(cor_status_message(&why), "connection refused"));
    cor_status_deinit(&why);
    cor_client_free(client);
}

/* The name that is dialled is the proxy's; the server's is the proxy's to look up. */
TEST(requests, a_proxy_is_looked_up_without_threads)
{
    atomic_int nasked = 0;
    const struct cor_runtime_opts pumped = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};
    const struct cor_runtime_opts resolving = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED,
                                               .resolve = refuse, .resolve_arg = &nasked};
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    struct cor_client *client;
    struct cor_runtime *rt;

    assert_int_equal(cor_runtime_new(&pumped, &rt), 0);
    expect_no_proxy(rt, "https://192.0.2.1:6443", "http://localhost:1");
    expect_no_proxy(rt, "https://a.name:6443", "http://localhost:1");
    setenv("HTTPS_PROXY", "http://localhost:1", 1);
    expect_no_proxy(rt, "https://192.0.2.1:6443", NULL);
    unsetenv("HTTPS_PROXY");
    assert_int_equal(new_behind(rt, "https://a.name:6443", "http://127.0.0.1:1", &client, NULL), 0);
    cor_client_free(client);
    assert_int_equal(new_behind(rt, "unix:///x", "http://a.proxy:3128", &client, NULL), 0);
    cor_client_free(client);
    assert_int_equal(new_behind(rt, "https://a.name:6443", "socks5://a.proxy", &client, NULL),
                     -COR_EINVAL);
    cor_runtime_free(rt);
    assert_int_equal(cor_runtime_new(&resolving, &rt), 0);
    assert_int_equal(new_behind(rt, "http://192.0.2.1", "http://a.proxy:3128", &client, NULL), 0);
    assert_int_equal(cor_client_do(client, &req, NULL, NULL), -COR_EUNREACHABLE);
    assert_true(nasked > 0);
    cor_client_free(client);
    cor_runtime_free(rt);
}

static int get_one_of(struct cor_client *client, struct cor_status *reterr)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};

    return cor_client_do(client, &req, NULL, reterr);
}

/* What went wrong where has a code of its own. */
TEST(requests, failures_of_the_caller_the_server_and_the_way_are_told_apart)
{
    static const struct script_answer rows[][1] = {
        {{"GET", .status = 400,
          .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":400,"
                  "\"reason\":\"BadRequest\",\"message\":\"no\"}"}},
        {{"GET", .status = 502, .body = "<html>bad gateway</html>"}},
        {{"GET", .status = 503, .body = "no"}},
        {{"GET", .body = "{\"kind\":"}},
        {{"GET", .body = "[]"}},
    };
    static const int codes[] = {-COR_EINVAL, -COR_EUNAVAILABLE, -COR_EUNAVAILABLE, -COR_EPROTOCOL,
                                -COR_EPROTOCOL};
    struct cor_status why;
    struct script script;
    struct world w;
    char url[300];

    cor_status_init(&why);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        script_begin(&script, rows[i], 1);
        world_begin_at(&w, COR_RUNTIME_PUMPED, script.url);
        assert_int_equal(get_one_of(w.client, NULL), codes[i]);
        world_end(&w);
        script_end(&script);
    }
    script_begin(&script, rows[0], 1);
    snprintf(url, sizeof(url), "https%s", script.url + strlen("http"));
    world_begin_at(&w, COR_RUNTIME_PUMPED, url);
    assert_int_equal(get_one_of(w.client, &why), -COR_ETLS);
    assert_int_equal(why.code, 0);
    assert_string_equal(why.reason, "");
    cor_status_deinit(&why);
    world_end(&w);
    script_end(&script);
}

/* Code and reason are those of the error's row, as of a server that refuses. */
TEST(requests, a_refusal_before_the_request_has_a_code_and_a_reason)
{
    const struct cor_request no_name = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                        .ns = "default"};
    const struct cor_request no_version = {COR_REQUEST, .verb = COR_VERB_GET,
                                           .resource = {"", "", "configmaps"}, .ns = "default",
                                           .name = "one"};
    const struct cor_request *const bad[] = {&no_name, &no_version};
    struct cor_status why;
    struct world w;

    cor_status_init(&why);
    world_begin_at(&w, COR_RUNTIME_PUMPED, "http://127.0.0.1:1");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cor_client_do(w.client, bad[i], NULL, &why), -COR_EINVAL);
        assert_int_equal(why.code, 400);
        assert_true(cor_status_is_bad_request(&why));
    }
    assert_int_equal(get_one_of(w.client, &why), -COR_EUNREACHABLE);
    assert_int_equal(why.code, 0);
    assert_null(strstr(cor_err_text(why.err), "storage"));
    cor_status_deinit(&why);
    world_end(&w);
}

static int no_event(void *arg, const struct cor_watch_event *event)
{
    return 0;
}

static void keep_end(void *arg, const struct cor_response *response)
{
    cor_status_copy(arg, response->error);
}

static bool has_ended(void *arg)
{
    return ((struct cor_status *)arg)->err != 0;
}

/* A watch that resumes goes on while nobody listens at the server's port. */
TEST(requests, what_is_given_up_tells_of_the_last_failure)
{
    static const struct cor_request_cbs quiet_cbs = {.on_event = no_event, .on_done = keep_end};
    struct cor_request req = {COR_REQUEST,       .verb = COR_VERB_WATCH,  .resource = configmaps,
                              .ns = "default",   .resource_version = "5", .resumes = true,
                              .timeout_ms = 1500};
    struct cor_client_call *call;
    struct cor_status end;
    struct world w;

    cor_status_init(&end);
    world_begin_at(&w, COR_RUNTIME_PUMPED, "http://127.0.0.1:1");
    assert_int_equal(cor_client_send(w.client, &req, &quiet_cbs, &end, NULL), 0);
    world_run(&w, has_ended, &end);
    assert_int_equal(end.err, -COR_ETIMEOUT);
    assert_non_null(strstr(cor_status_message(&end), "; the last failure: "));
    assert_non_null(strstr(cor_status_message(&end), "127.0.0.1:1"));
    cor_status_deinit(&end);
    /* Its first attempt has failed when a request that was sent after it has. */
    req.timeout_ms = 0;
    assert_int_equal(cor_client_send(w.client, &req, &quiet_cbs, &end, &call), 0);
    assert_int_equal(get_one_of(w.client, NULL), -COR_EUNREACHABLE);
    assert_int_equal(get_one_of(w.client, NULL), -COR_EUNREACHABLE);
    cor_client_call_cancel(call);
    world_run(&w, has_ended, &end);
    assert_int_equal(end.err, -COR_ECANCELED);
    assert_non_null(strstr(cor_status_message(&end), "127.0.0.1:1"));
    cor_client_call_unref(call);
    cor_status_deinit(&end);
    world_end(&w);
}

struct labeler {
    struct cor_object *stale; /* what the first try writes */
    int ntries;
};

static int relabel(void *arg, struct cor_object *current, struct cor_object **ret_object,
                   struct cor_status *reterr)
{
    struct labeler *l = arg;
    struct cor_builder *b;
    int r = cor_builder_new(l->ntries++ == 0 ? l->stale : current, &b);

    if (r < 0)
        return r;
    cor_builder_set_label(b, "changed", COR_STR("yes"));
    r = cor_builder_finish(b, ret_object, reterr);
    cor_builder_free(b);
    return r;
}

TEST(requests, a_change_is_tried_again_after_a_conflict)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct labeler labeler = {.ntries = 0};
        struct cor_object *object;
        struct cor_str value;
        char rv[32];
        struct cor_request req = {COR_REQUEST, .resource = configmaps, .ns = "default",
                                  .name = "one"};

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        assert_int_equal(get(&w, "one", &labeler.stale), 0);
        world_update(&w, "one", "2", rv);
        assert_int_equal(cor_client_change(w.client, &req, relabel, &labeler, &object, NULL), 0);
        assert_true(cor_object_label(object, COR_STR("changed"), &value));
        cor_object_unref(object);
        cor_object_unref(labeler.stale);
        assert_int_equal(labeler.ntries, 2);
        assert_int_equal(cor_client_change(w.client, &req, leave, NULL, NULL, NULL), 0);
        req.name = "two";
        assert_int_equal(cor_client_change(w.client, &req, leave, NULL, NULL, NULL),
                         -COR_ENOTFOUND);
        world_end(&w);
    }
}

TEST(requests, a_resource_is_found_by_any_of_its_names)
{
    static const char *const names[] = {"deployments", "deployment", "deploy", "Deployment"};

    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct cor_found_resource found;
        struct cor_resource unknown = {"", "", "nothing"};

        world_begin(&w, kind);
        for (size_t i = 0; i < 4; i++) {
            const struct cor_resource partial = {NULL, NULL, names[i]};

            assert_int_equal(cor_client_find(w.client, &partial, &found, NULL), 0);
            assert_string_equal(found.group, "apps");
            assert_string_equal(found.version, "v1");
            assert_string_equal(found.plural, "deployments");
            assert_string_equal(found.kind, "Deployment");
            assert_true(found.is_namespaced);
        }
        assert_int_equal(cor_client_find(w.client, &unknown, &found, NULL), -COR_ENOTFOUND);
        world_end(&w);
    }
}

/* Less than any timer of a client's connection: what wakes the sleeper is the descriptor. */
#define SLEEP_MAX_MS 25000

TEST(requests, a_program_that_sleeps_on_the_descriptor_misses_nothing)
{
    struct world w;
    struct pollfd p = {.events = POLLIN};
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                    .ns = "default"};

    world_begin(&w, COR_RUNTIME_PUMPED);
    p.fd = cor_runtime_fd(w.rt);
    for (int i = 0; i < 20; i++) {
        struct heard h = {.w = &w};

        assert_int_equal(cor_client_send(w.client, &req, &cbs, &h, NULL), 0);
        while (h.done == 0) {
            assert_int_equal(poll(&p, 1, SLEEP_MAX_MS), 1);
            assert_int_equal(cor_runtime_pump(w.rt), 0);
        }
        assert_int_equal(h.err, 0);
    }
    world_end(&w);
}
