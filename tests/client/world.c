#include "world.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>

static void connect_client(struct world *w, enum cor_runtime_kind kind)
{
    const struct cor_runtime_opts runtime = {COR_RUNTIME_OPTS, .kind = kind};
    struct cor_client_opts client = {COR_CLIENT_OPTS, .config = &w->config,
                                     .timeout_ms = PATIENCE_MS, .qps = -1};

    assert_int_equal(cor_runtime_new(&runtime, &w->rt), 0);
    assert_int_equal(cor_client_new(w->rt, &client, &w->client, NULL), 0);
}

void world_begin(struct world *w, enum cor_runtime_kind kind)
{
    struct cor_status why;
    char path[512];

    _Static_assert(sizeof(path) > sizeof(w->data), "room for a file's name");
    cor_status_init(&why);
    *w = (struct world){.server = {.program = getenv("COR_SERVER_PROGRAM"), .flags = ""}};
    snprintf(w->data, sizeof(w->data), "%s", test_tmpdir());
    w->server.data = w->data;
    assert_true(server_process_start(&w->server));
    snprintf(path, sizeof(path), "%s/admin.kubeconfig", w->data);
    assert_int_equal(cor_client_config_load(path, NULL, &w->config, &why), 0);
    connect_client(w, kind);
}

void world_begin_at(struct world *w, enum cor_runtime_kind kind, const char *url)
{
    *w = (struct world){0};
    assert_int_equal(cor_client_config_set(&w->config.server, url), 0);
    connect_client(w, kind);
}

void world_end(struct world *w)
{
    cor_client_free(w->client);
    cor_runtime_free(w->rt);
    cor_client_config_deinit(&w->config);
    server_process_deinit(&w->server);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void world_run(struct world *w, bool (*done)(void *arg), void *arg)
{
    uint64_t end_ms = now_ms() + PATIENCE_MS;
    struct pollfd p = {.fd = cor_runtime_fd(w->rt), .events = POLLIN};

    while (!done(arg)) {
        assert_true(now_ms() < end_ms);
        poll(&p, p.fd >= 0 ? 1 : 0, 5);
        if (p.fd >= 0)
            assert_int_equal(cor_runtime_pump(w->rt), 0);
    }
}

static struct cor_object *configmap(const char *name, const char *labels, const char *v)
{
    struct cor_object *object;
    char json[32 * 1024];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
             "\"labels\":%s},\"data\":{\"v\":\"%s\"}}",
             name, labels, v);
    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

static void must(struct world *w, const struct cor_request *req, struct cor_object **ret_object)
{
    struct cor_status why;
    int r;

    cor_status_init(&why);
    r = cor_client_do(w->client, req, ret_object, &why);
    if (r < 0)
        print_message("%s\n", cor_status_message(&why));
    assert_int_equal(r, 0);
}

void world_create(struct world *w, const char *name, const char *labels, const char *v)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = configmaps,
                                    .ns = "default", .object = configmap(name, labels, v)};

    must(w, &req, NULL);
    cor_object_unref(req.object);
}

void world_update(struct world *w, const char *name, const char *v, char rv[32])
{
    char patch[256];
    struct cor_object *object;
    struct cor_request req = {
        COR_REQUEST,     .verb = COR_VERB_PATCH, .resource = configmaps,
        .ns = "default", .name = name,           .patch_type = COR_PATCH_MERGE};

    snprintf(patch, sizeof(patch), "{\"data\":{\"v\":\"%s\"}}", v);
    req.patch = cor_strz(patch);
    must(w, &req, &object);
    snprintf(rv, 32, "%.*s", COR_STR_ARG(cor_object_resource_version(object)));
    cor_object_unref(object);
}

void world_delete(struct world *w, const char *name)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_DELETE, .resource = configmaps,
                                    .ns = "default", .name = name};

    must(w, &req, NULL);
}

struct cor_request watch_from(const char *version, bool resumes)
{
    return (struct cor_request){
        COR_REQUEST,     .verb = COR_VERB_WATCH,      .resource = configmaps,
        .ns = "default", .resource_version = version, .resumes = resumes};
}
