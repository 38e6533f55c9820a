/* What stands above the REST client against a real server: the dynamic client, discovery, the
 * mapper, the pager and retry on conflict. */
#include <stdio.h>

#include "base/err.h"
#include "client/discovery/mapper_lookup.h"
#include "kit/dynamic/pager.h"
#include "kit/dynamic/retry_on_conflict.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "server_process.h"
#include "test.h"

#define PATIENCE_MS 60000

/* A server in a process of its own, and clients of it on a loop of this one. */
struct cluster {
    char data[400];
    struct server_process server;
    struct cor_client_config config;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_rest_client *clients[2];
};

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool is_flag(void *arg)
{
    return *(bool *)arg;
}

static void cluster_until(struct cluster *c, bool (*done)(void *arg), void *arg)
{
    assert_true(cor_loop_run_until(c->loop, done, arg, PATIENCE_MS));
}

static void cluster_begin(struct cluster *c)
{
    struct cor_rest_client_opts opts = {.config = &c->config, .qps = -1};
    char path[512];

    *c = (struct cluster){.server = {.program = getenv("COR_SERVER_PROGRAM"), .flags = ""}};
    snprintf(c->data, sizeof(c->data), "%s", test_tmpdir());
    c->server.data = c->data;
    assert_true(server_process_start(&c->server));
    snprintf(path, sizeof(path), "%s/admin.kubeconfig", c->data);
    assert_int_equal(cor_client_config_load(path, NULL, &c->config, NULL), 0);
    assert_int_equal(cor_loop_new(64, &c->loop), 0);
    assert_int_equal(cor_net_open(c->loop, &c->net), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cor_rest_client_open(c->net, &opts, &c->clients[i], NULL), 0);
}

static void cluster_end(struct cluster *c)
{
    bool closed[3] = {false};

    for (int i = 0; i < 2; i++)
        cor_rest_client_close(c->clients[i], set_flag, &closed[i]);
    cluster_until(c, is_flag, &closed[0]);
    cluster_until(c, is_flag, &closed[1]);
    cor_net_close(c->net, set_flag, &closed[2]);
    cluster_until(c, is_flag, &closed[2]);
    cor_loop_free(c->loop);
    cor_client_config_deinit(&c->config);
    server_process_deinit(&c->server);
}

static const struct cor_gvr configmaps = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")};

struct told {
    struct cluster c;
    struct cor_dynamic_request *req;
    struct cor_object *object; /* the last answer */
    bool is_done;
    int err;
    char text[512];
    size_t n;
};

static void on_changed(void *arg, struct cor_object *object, const struct cor_status *error)
{
    struct told *t = arg;

    t->is_done = true;
    t->err = error ? error->err : 0;
    cor_object_unref(t->object);
    t->object = object ? cor_object_ref(object) : NULL;
}

static void on_done(void *arg, const struct cor_response *response)
{
    on_changed(arg, response->object, response->error);
}

static int answer(struct told *t, int r)
{
    assert_int_equal(r, 0);
    cluster_until(&t->c, is_flag, &t->is_done);
    t->is_done = false;
    return t->err;
}

/* Sends an operation on ConfigMaps of the namespace default, and waits for its answer. */
static int ask(struct told *t, struct cor_api_operation op)
{
    static const struct cor_dynamic_cbs cbs = {.on_done = on_done};
    const struct cor_dynamic_call call = {.client = t->c.clients[0], .cbs = &cbs, .arg = t};

    op.at.gvr = configmaps;
    op.at.ns = COR_STR("default");
    return answer(t, cor_dynamic_send(&call, &op, &t->req, NULL));
}

static int ask_for(struct told *t, enum cor_api_verb verb, const char *name)
{
    return ask(t, (struct cor_api_operation){.verb = verb, .at = {.name = cor_strz(name)}});
}

static int patch(struct told *t, const char *name, enum cor_patch_type type, const char *text)
{
    return ask(t, (struct cor_api_operation){.verb = COR_API_VERB_PATCH,
                                             .at = {.name = cor_strz(name)},
                                             .patch_type = type,
                                             .patch = cor_strz(text)});
}

static int write_object(struct told *t, enum cor_api_verb verb, struct cor_object *object)
{
    return ask(t, (struct cor_api_operation){.verb = verb, .object = object});
}

static struct cor_object *configmap(const char *name, const char *rest)
{
    struct cor_object *object;
    char json[512];

    snprintf(json, sizeof(json),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"}%s}",
             name, rest);
    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

static void create(struct told *t, const char *name, const char *rest)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = configmap(name, rest);

    assert_int_equal(write_object(t, COR_API_VERB_CREATE, object), 0);
}

static bool has(const struct told *t, const char *text)
{
    return t->object && strstr(cor_object_json(t->object).p, text);
}

static void all_verbs(struct told *t)
{
    struct cor_object *stale = configmap("a", "");
    struct cor_object *first;

    create(t, "a", ",\"data\":{\"x\":\"1\"}");
    first = cor_object_ref(t->object);
    assert_int_equal(write_object(t, COR_API_VERB_CREATE, stale), -COR_EEXIST);
    assert_int_equal(ask_for(t, COR_API_VERB_GET, "a"), 0);
    assert_true(has(t, "\"x\":\"1\""));
    assert_int_equal(patch(t, "a", COR_PATCH_MERGE, "{\"data\":{\"y\":\"2\"}}"), 0);
    assert_int_equal(patch(t, "a", COR_PATCH_JSON, "[{\"op\":\"remove\",\"path\":\"/data/x\"}]"),
                     0);
    assert_int_equal(patch(t, "a", COR_PATCH_STRATEGIC, "{\"data\":{\"z\":\"3\"}}"), 0);
    assert_true(has(t, "\"data\":{\"y\":\"2\",\"z\":\"3\"}"));
    assert_int_equal(write_object(t, COR_API_VERB_UPDATE, first), -COR_ECONFLICT);
    assert_int_equal(write_object(t, COR_API_VERB_UPDATE, stale), 0);
    assert_false(has(t, "\"data\""));
    assert_int_equal(ask_for(t, COR_API_VERB_DELETE, "a"), 0);
    assert_int_equal(ask_for(t, COR_API_VERB_GET, "a"), -COR_ENOTFOUND);
    cor_object_unref(first);
    cor_object_unref(stale);
}

static void on_list(void *arg, const struct cor_paged_list *list, const struct cor_status *error)
{
    struct told *t = arg;

    t->is_done = true;
    t->err = error ? error->err : 0;
    t->n = list ? list->n : 0;
    t->text[0] = list && list->is_paged ? 'p' : '-';
}

static void pages(struct told *t)
{
    struct cor_pager_opts opts = {
        .client = t->c.clients[0],
        .op = {.verb = COR_API_VERB_LIST,
               .at = {.gvr = configmaps, .ns = COR_STR("default")},
               .query = {.label_selector = COR_STR("of=pages"), .list = {.limit = 3}}}};
    struct cor_api_operation removal;
    struct cor_pager *pager;
    char name[16];

    for (int i = 0; i < 7; i++) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
        char json[256];

        snprintf(name, sizeof(name), "page-%d", i);
        snprintf(json, sizeof(json),
                 "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
                 "\"labels\":{\"of\":\"pages\"}}}",
                 name);
        assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
        assert_int_equal(write_object(t, COR_API_VERB_CREATE, object), 0);
    }
    assert_int_equal(answer(t, cor_pager_list(&opts, on_list, t, &pager, NULL)), 0);
    assert_int_equal(t->n, 7);
    assert_int_equal(t->text[0], 'p');
    opts.op.query.list.limit = 0;
    removal = opts.op;
    removal.verb = COR_API_VERB_DELETECOLLECTION;
    assert_int_equal(ask(t, removal), 0);
    assert_int_equal(answer(t, cor_pager_list(&opts, on_list, t, &pager, NULL)), 0);
    assert_int_equal(t->n, 0);
}

static void on_found(void *arg, const struct cor_rest_mapping *mapping,
                     const struct cor_status *error)
{
    struct told *t = arg;

    t->is_done = true;
    t->err = error ? error->err : 0;
    if (mapping)
        snprintf(t->text, sizeof(t->text), "%.*s/%.*s/%.*s=%.*s%s",
                 COR_STR_ARG(mapping->resource.group), COR_STR_ARG(mapping->resource.version),
                 COR_STR_ARG(mapping->resource.resource), COR_STR_ARG(mapping->kind.kind),
                 mapping->is_namespaced ? "" : "!");
}

static void mappings(struct told *t)
{
    struct cor_discovery *d;
    struct cor_mapper_lookup_opts opts = {.on_done = on_found, .arg = t};

    assert_int_equal(cor_discovery_new(&(struct cor_discovery_opts){.client = t->c.clients[0]}, &d),
                     0);
    opts.discovery = d;
    opts.resource.resource = COR_STR("po");
    assert_int_equal(answer(t, cor_mapper_lookup_start(&opts)), 0);
    assert_string_equal(t->text, "/v1/pods=Pod");
    opts.resource.resource = COR_STR("deploy");
    assert_int_equal(answer(t, cor_mapper_lookup_start(&opts)), 0);
    assert_string_equal(t->text, "apps/v1/deployments=Deployment");
    opts.resource.resource = COR_STR("");
    opts.kind = (struct cor_gvk){COR_STR(""), COR_STR(""), COR_STR("Node")};
    assert_int_equal(answer(t, cor_mapper_lookup_start(&opts)), 0);
    assert_string_equal(t->text, "/v1/nodes=Node!");
    opts.kind.kind = COR_STR("Nothing");
    assert_int_equal(answer(t, cor_mapper_lookup_start(&opts)), -COR_ENOTFOUND);
    cor_discovery_free(d);
}

/* Adds to a counter in the bytes, and lets another writer in before the first two writes. */
static int change(void *arg, struct cor_object *current, struct cor_object **ret_object,
                  struct cor_status *reterr)
{
    struct told *t = arg;
    struct cor_object *stale = NULL;

    t->n++;
    if (t->n > 2)
        return cor_object_at(current, current->rev, ret_object);
    cor_object_at(current, 1, &stale);
    *ret_object = stale;
    return 0;
}

static void conflicts(struct told *t)
{
    struct cor_conflict_retry *retry;
    struct cor_rand rand;
    struct cor_conflict_retry_opts opts = {
        .client = t->c.clients[0],
        .at = {.gvr = configmaps, .ns = COR_STR("default"), .name = COR_STR("c")},
        .backoff = COR_RETRY_DEFAULT,
        .rand = &rand,
        .change = change,
        .on_done = on_changed,
        .arg = t};

    cor_rand_init(&rand);
    create(t, "c", "");
    t->n = 0;
    assert_int_equal(answer(t, cor_conflict_retry_open(&opts, &retry, NULL)), 0);
    assert_int_equal(t->n, 3);
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct told *t = arg;

    t->n++;
    if (event->object)
        strncat(t->text, cor_object_name(event->object).p, cor_object_name(event->object).n);
    return 0;
}

static void on_watch_done(void *arg, const struct cor_response *response)
{
    ((struct told *)arg)->is_done = true;
}

static bool has_one(void *arg)
{
    return ((struct told *)arg)->n >= 1;
}

static bool has_three(void *arg)
{
    return ((struct told *)arg)->n >= 3;
}

static void watches(struct told *t)
{
    static const struct cor_dynamic_cbs cbs = {.on_event = on_event, .on_done = on_watch_done};
    const struct cor_dynamic_call call = {.client = t->c.clients[1], .cbs = &cbs, .arg = t};
    const struct cor_api_operation watch = {
        .verb = COR_API_VERB_WATCH,
        .at = {.gvr = configmaps, .ns = COR_STR("default")},
        .query = {.field_selector = COR_STR("metadata.name=w")}};
    struct cor_dynamic_request *request;

    create(t, "w", "");
    t->n = 0;
    t->text[0] = '\0';
    assert_int_equal(cor_dynamic_send(&call, &watch, &request, NULL), 0);
    assert_int_equal(patch(t, "w", COR_PATCH_MERGE, "{\"data\":{\"y\":\"2\"}}"), 0);
    cluster_until(&t->c, has_one, t);
    assert_int_equal(patch(t, "w", COR_PATCH_MERGE, "{\"data\":{\"y\":\"3\"}}"), 0);
    assert_int_equal(ask_for(t, COR_API_VERB_DELETE, "w"), 0);
    cluster_until(&t->c, has_three, t);
    cor_dynamic_cancel(request);
    assert_memory_equal(t->text, "www", 3);
}

TEST(dynamic, everything_above_the_rest_client_works)
{
    struct told t = {0};

    cluster_begin(&t.c);
    all_verbs(&t);
    pages(&t);
    mappings(&t);
    conflicts(&t);
    watches(&t);
    cor_object_unref(t.object);
    cluster_end(&t.c);
}
