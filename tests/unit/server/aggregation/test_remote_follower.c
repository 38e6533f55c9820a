/* What other servers say of themselves, from their answers to the documents that clients get. */
#include <stdio.h>

#include "../port/port_fixture.h"
#include "base/limits.h"
#include "recording_target.h"
#include "server/aggregation/remote_follower_int.h"
#include "server/api/api_loop.h"
#include "server/api/publisher.h"

#define GROUP      "wardle.example.com"
#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define FLUNDERS                                                                                          \
    "{\"resource\":\"flunders\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"Flunder\"}," \
    "\"scope\":\"Namespaced\",\"singularResource\":\"flunder\",\"verbs\":[\"get\",\"list\"]}"
#define LIST_OF(resources)                                                                           \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{}," \
    "\"items\":[{\"metadata\":{\"name\":\"" GROUP "\"},\"versions\":[{\"version\":\"v1alpha1\","     \
    "\"resources\":[" resources                                                                      \
    "],\"freshness\":\"Current\"}]},{\"metadata\":{\"name\":\"apps\"},"                              \
    "\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"zzliars\"}]}]}]}"
#define CURRENT_OF(resources)                                                                      \
    "{\"metadata\":{\"name\":\"" GROUP                                                             \
    "\"},\"versions\":[{\"version\":\"v1alpha1\",\"resources\":[" resources                        \
    "],\"freshness\":\"Current\"}]}"
#define STALE                                                                                      \
    "{\"metadata\":{\"name\":\"" GROUP                                                             \
    "\"},\"versions\":[{\"version\":\"v1alpha1\",\"freshness\":"                                   \
    "\"Stale\"}]}"
#define V2                                                                                         \
    "{\"swagger\":\"2.0\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"paths\":{\"/apis/" GROUP  \
    "/v1alpha1/flunders\":{\"get\":{\"produces\":[\"application/json\"],\"responses\":{\"200\":{"  \
    "\"description\":\"OK\",\"schema\":{\"$ref\":\"#/definitions/Flunder\"}}}}},\"/apis/apps/v1/"  \
    "zzliars\":{}},\"definitions\":{\"Flunder\":{\"type\":\"object\"}}}"
#define V3                                                                                              \
    "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"paths\":{},\"components\":{" \
    "\"schemas\":{\"Flunder\":{\"type\":\"object\"}}}}"
#define INDEX(hash)                                                                                \
    "{\"paths\":{\"apis/" GROUP "/v1alpha1\":{\"serverRelativeURL\":\"/openapi/v3/apis/" GROUP     \
    "/v1alpha1?hash=" hash "\"},\"apis/" GROUP                                                     \
    "\":{\"serverRelativeURL\":\"/openapi/v3/apis/" GROUP "?hash=" hash                            \
    "\"},\"version\":{\"serverRelativeURL\":\"/openapi/v3/version?hash=1\"}}}"

/* What the other server answers to a path; the last row has none. */
struct scripted {
    const char *path;
    int status;
    const char *type, *etag, *body;
};

static const struct scripted full[] = {
    {"/apis", 200, AGGREGATED, "\"d1\"", LIST_OF(FLUNDERS)},
    {"/openapi/v2", 200, "application/json", "\"o1\"", V2},
    {"/openapi/v3", 200, "text/plain", "", INDEX("12")},
    {"/openapi/v3/apis/" GROUP "/v1alpha1", 200, "application/json", "", V3},
    {"/openapi/v3/apis/" GROUP, 200, "application/json", "",
     "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"group\"}}"},
    {0},
};

/* The older forms alone. */
static const struct scripted legacy[] = {
    {"/apis/" GROUP "/v1alpha1", 200, "application/json", "",
     "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"flunders\",\"singularName\":\"flunder\","
     "\"namespaced\":true,\"kind\":\"Flunder\",\"verbs\":[\"get\",\"list\"]}]}"},
    {"/openapi/v2", 200, "application/json", "", V2},
    {0},
};

struct following {
    struct pfx p;
    struct target_ids ids;
    struct recording rec; /* its server answers by the script */
    const struct scripted *script;
    char *large; /* NULL: none. Else the body of /openapi/v2 */
    struct cor_target_config config;
    struct cor_targets *targets;
    struct cor_remote_follower *follower;
    struct cor_api_service *service;
    bool is_closed;
    const char *wanted, *unwanted, *path;
};

static void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg)
{
    struct following *f = arg;
    const struct scripted *row = f->script;

    f->rec.nrequests++;
    recording_note(&f->rec, req);
    while (row->path && !cor_str_eqz(req->path, row->path))
        row++;
    if (!row->path) {
        recording_send(resp, 404, "", "", "404 page not found\n");
    } else if (row->etag[0] &&
               cor_str_eqz(cor_http_request_header(req, COR_STR("if-none-match")), row->etag)) {
        recording_send(resp, 304, "ETag", row->etag, "");
    } else {
        const struct cor_http_header headers[] = {{COR_STR("Content-Type"), cor_strz(row->type)},
                                                  {COR_STR("ETag"), cor_strz(row->etag)}};
        bool is_large = f->large && cor_str_eqz(req->path, "/openapi/v2");

        cor_http_response_send(resp, row->status, headers, row->etag[0] && !is_large ? 2 : 1,
                               cor_strz(is_large ? f->large : row->body));
    }
}

static void server_open(struct following *f)
{
    static const char *const alpn[] = {"http/1.1"};
    const struct cor_tls_opts tls_opts = {.role = COR_TLS_SERVER,
                                          .cert_pem = cor_buf_str(&f->ids.server.cert_pem),
                                          .key_pem = cor_buf_str(&f->ids.server.key_pem),
                                          .ca_pem = cor_buf_str(&f->ids.proxy_ca.cert_pem),
                                          .alpn = alpn,
                                          .nalpn = 1};
    const struct cor_http_server_opts opts = {
        .loops = &f->rec.loop, .nloops = 1, .on_request = on_request, .arg = f};

    f->rec = (struct recording){.loop = f->p.a.fx.loop, .port = f->rec.port};
    cor_buf_init(&f->rec.seen, 1 << 20);
    assert_int_equal(cor_tls_new(&tls_opts, &f->rec.tls), 0);
    assert_int_equal(cor_http_server_new(&opts, &f->rec.server), 0);
    assert_int_equal(
        cor_http_server_listen(f->rec.server, "127.0.0.1", f->rec.port, f->rec.tls, &f->rec.port),
        0);
}

static struct cor_api_service *service_new(const char *priority)
{
    struct cor_api_service *service;
    struct cor_object *stored, *object;
    char json[1024];

    snprintf(
        json, sizeof(json),
        "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\",\"metadata\":{\"name\":"
        "\"v1alpha1." GROUP "\",\"uid\":\"u\"},\"spec\":{\"group\":\"" GROUP
        "\",\"version\":\"v1alpha1\","
        "\"groupPriorityMinimum\":1000,\"versionPriority\":%s,\"insecureSkipTLSVerify\":true,"
        "\"service\":{\"namespace\":\"wardle\",\"name\":\"api\",\"port\":443}}}",
        priority);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &stored, NULL), 0);
    assert_int_equal(cor_object_at(stored, 7, &object), 0);
    assert_int_equal(cor_api_service_new(object, &service), 0);
    cor_object_unref(stored);
    cor_object_unref(object);
    return service;
}

static void publish(struct following *f, size_t n)
{
    struct cor_publisher *publisher = cor_api_publisher(f->p.a.fx.api);

    assert_int_equal(cor_publisher_set_services(publisher, &f->service, n), 0);
    assert_int_equal(cor_publisher_publish(publisher), 0);
}

static void following_open(struct following *f, const struct scripted *script, bool is_available)
{
    char text[64];

    memset(f, 0, sizeof(*f));
    f->script = script;
    pfx_open(&f->p, false);
    target_ids_init(&f->ids);
    server_open(f);
    snprintf(text, sizeof(text), "api.wardle=127.0.0.1:%u", f->rec.port);
    assert_int_equal(cor_resolve_overrides_add(&f->config.overrides, cor_strz(text), NULL), 0);
    f->config.cert_file = f->ids.cert_file;
    f->config.key_file = f->ids.key_file;
    assert_int_equal(cor_targets_open(f->p.a.fx.loop, &f->p.ip.port, &f->config, &f->targets), 0);
    f->service = service_new("15");
    atomic_store(&f->service->is_available, is_available);
    assert_int_equal(cor_remote_follower_open(f->p.a.fx.api, f->targets, &f->follower), 0);
    publish(f, 1);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void following_close(struct following *f)
{
    cor_remote_follower_close(f->follower, on_closed, &f->is_closed);
    pfx_wait(&f->p, is_true, &f->is_closed);
    f->is_closed = false;
    cor_targets_close(f->targets, on_closed, &f->is_closed);
    pfx_wait(&f->p, is_true, &f->is_closed);
    recording_close(&f->rec);
    cor_api_service_unref(f->service);
    cor_resolve_overrides_deinit(&f->config.overrides);
    target_ids_deinit(&f->ids);
    cor_free(f->large);
    pfx_close(&f->p);
}

static const char *ask(struct following *f, const char *path)
{
    static const struct fx_headers aggregated = {.accept = AGGREGATED};
    static const struct fx_headers json = {.accept = "application/json"};

    return fx_do_with(&f->p.a.fx, 200, "GET", path, "",
                      strcmp(path, "/apis") == 0 ? &aggregated : &json);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* Lets the loop work for so long. */
static void run_for(struct following *f, uint64_t ms)
{
    (void)cor_loop_run_until(f->p.a.fx.loop, never, NULL, ms);
}

static bool is_shown(struct following *f)
{
    const char *doc = ask(f, f->path);

    return (!f->wanted || strstr(doc, f->wanted)) && (!f->unwanted || !strstr(doc, f->unwanted));
}

/* Waits until the document at `path` has a text, or has it not. */
static void wait_for(struct following *f, const char *path, const char *wanted,
                     const char *unwanted)
{
    f->path = path;
    f->wanted = wanted;
    f->unwanted = unwanted;
    for (size_t i = 0; !is_shown(f); i++) {
        assert_true(i < 3000);
        run_for(f, 20);
    }
}

static struct cor_remote *remote_of(struct following *f)
{
    assert_false(cor_dlist_empty(&f->follower->remotes));
    return COR_CONTAINER_OF(f->follower->remotes.next, struct cor_remote, link);
}

static bool is_idle(void *arg)
{
    struct cor_remote *remote = remote_of(arg);

    for (size_t t = 0; t < COR_REMOTE_TOPICS; t++) {
        if (remote->askers[t].is_busy || remote->askers[t].due_ms == 0)
            return false;
    }
    return !cor_timer_is_set(&remote->follower->publish);
}

/* Lets the next minute begin, and waits until both chains have ended. */
static void ask_again(struct following *f)
{
    struct cor_remote *remote = remote_of(f);

    pfx_wait(&f->p, is_idle, f);
    for (size_t t = 0; t < COR_REMOTE_TOPICS; t++)
        remote->askers[t].due_ms = 0;
    assert_int_equal(cor_timer_set(&f->follower->tick, 0), 0);
    pfx_wait(&f->p, is_idle, f);
}

/* Contract extension 4.5.2, 4.5.5, 4.5.6. Of what the server says about groups that are not its own
 * nothing is taken. */
TEST(remote_follower, merges_what_another_server_serves)
{
    struct following f;
    const char *doc;

    following_open(&f, full, true);
    wait_for(&f, "/apis", CURRENT_OF(FLUNDERS), "zzliars");
    wait_for(&f, "/openapi/v2", "/apis/" GROUP "/v1alpha1/flunders\":{\"get\"", "zzliars");
    assert_non_null(strstr(ask(&f, "/openapi/v2"), "\"Flunder\":{\"type\":\"object\"}"));
    doc = ask(&f, "/openapi/v3");
    assert_non_null(strstr(doc, "\"apis/" GROUP
                                "/v1alpha1\":{\"serverRelativeURL\":\"/openapi/v3/apis/" GROUP
                                "/v1alpha1?hash="));
    assert_non_null(strstr(doc, "\"apis/" GROUP "\":{"));
    assert_non_null(strstr(ask(&f, "/openapi/v3/apis/" GROUP "/v1alpha1"), "\"Flunder\""));
    assert_non_null(strstr(ask(&f, "/openapi/v3/apis/" GROUP), "\"title\":\"group\""));
    assert_true(recording_saw(&f.rec, "accept: " AGGREGATED
                                      ",application/json;g=apidiscovery.k8s.io;v=v2beta1;"
                                      "as=APIGroupDiscoveryList\n"));
    assert_true(recording_saw(&f.rec, "x-remote-user: system:kube-aggregator\n"));
    following_close(&f);
}

TEST(remote_follower, asks_every_minute_for_what_has_changed)
{
    static const struct scripted next[] = {
        {"/apis", 200, AGGREGATED, "\"d2\"", LIST_OF("")},
        {"/openapi/v2", 200, "application/json", "\"o1\"", V2},
        {"/openapi/v3", 200, "text/plain", "", INDEX("13")},
        {"/openapi/v3/apis/" GROUP "/v1alpha1", 200, "application/json", "",
         "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"new\"}}"},
        {"/openapi/v3/apis/" GROUP, 200, "application/json", "", V3},
        {0},
    };
    struct following f;
    uint64_t generation, now_ms;
    size_t n;

    following_open(&f, full, true);
    wait_for(&f, "/openapi/v2", "/flunders", NULL);
    pfx_wait(&f.p, is_idle, &f);
    now_ms = cor_loop_now_ms(f.p.a.fx.loop);
    for (size_t t = 0; t < COR_REMOTE_TOPICS; t++) {
        assert_true(remote_of(&f)->askers[t].due_ms <= now_ms + 60000);
        assert_true(remote_of(&f)->askers[t].due_ms > now_ms + 30000);
    }
    /* Nothing has changed: tags and hashes are compared, and nothing is published. */
    generation = cor_served_generation(cor_api_home(f.p.a.fx.api)->served);
    n = f.rec.nrequests;
    ask_again(&f);
    assert_int_equal(f.rec.nrequests, n + 3);
    assert_true(recording_saw(&f.rec, "if-none-match: \"d1\"\n"));
    assert_true(recording_saw(&f.rec, "if-none-match: \"o1\"\n"));
    assert_int_equal(cor_served_generation(cor_api_home(f.p.a.fx.api)->served), generation);

    f.script = next;
    ask_again(&f);
    wait_for(&f, "/apis", "{\"version\":\"v1alpha1\",\"freshness\":\"Current\"}", "flunders");
    wait_for(&f, "/openapi/v3/apis/" GROUP "/v1alpha1", "new", NULL);
    following_close(&f);
}

/* Contract extension 4.5.3. A kube-apiserver shows no resources of a stale version, also when it
 * knew some before; OpenAPI documents stay. */
TEST(remote_follower, marks_versions_as_stale)
{
    static const struct scripted refusing[] = {{"/apis", 503, "text/plain", "", "no"}, {0}};
    static const struct scripted lying[] = {
        {"/apis", 200, AGGREGATED, "", "{\"kind\":\"APIGroupDiscoveryList\",\"items\":7}"}, {0}};
    static const struct scripted typed[] = {
        {"/apis", 200, AGGREGATED, "", LIST_OF("{\"verbs\":7}")}, {0}};
    static const struct scripted nothing[] = {{0}};
    static const struct scripted *const scripts[] = {refusing, lying, typed, nothing};

    for (size_t i = 0; i < COR_ARRAY_LEN(scripts); i++) {
        struct following f;

        following_open(&f, full, true);
        wait_for(&f, "/openapi/v2", "/flunders", NULL);
        wait_for(&f, "/apis", CURRENT_OF(FLUNDERS), NULL);
        f.script = scripts[i];
        ask_again(&f);
        wait_for(&f, "/apis", STALE, NULL);
        assert_non_null(strstr(ask(&f, "/openapi/v2"), "/flunders"));
        f.script = full;
        ask_again(&f);
        wait_for(&f, "/apis", CURRENT_OF(FLUNDERS), "Stale");
        following_close(&f);
    }
}

TEST(remote_follower, keeps_openapi_of_a_server_that_has_gone)
{
    struct following f;

    following_open(&f, full, true);
    wait_for(&f, "/openapi/v2", "/flunders", NULL);
    wait_for(&f, "/openapi/v3", GROUP "/v1alpha1", NULL);
    recording_close(&f.rec);
    ask_again(&f);
    wait_for(&f, "/apis", STALE, NULL);
    assert_int_equal(remote_of(&f)->askers[COR_REMOTE_OPENAPI].failures, 1);
    ask_again(&f);
    ask_again(&f);
    assert_int_equal(remote_of(&f)->askers[COR_REMOTE_OPENAPI].failures, 3);
    /* After failures one, two and four minutes. */
    assert_true(remote_of(&f)->askers[COR_REMOTE_OPENAPI].due_ms >
                cor_loop_now_ms(f.p.a.fx.loop) + 200000);
    assert_non_null(strstr(ask(&f, "/openapi/v2"), "/flunders"));
    assert_non_null(strstr(ask(&f, "/openapi/v3/apis/" GROUP "/v1alpha1"), "Flunder"));
    server_open(&f);
    following_close(&f);
}

/* Worked case 35: a version whose service is not there. It is not asked. */
TEST(remote_follower, shows_versions_of_unavailable_services_as_stale)
{
    struct following f;

    following_open(&f, full, false);
    wait_for(&f, "/apis", STALE, NULL);
    assert_int_equal(f.rec.nrequests, 0);
    assert_null(strstr(ask(&f, "/openapi/v3"), GROUP));
    /* As soon as it is available it is asked. */
    atomic_store(&f.service->is_available, true);
    wait_for(&f, "/apis", CURRENT_OF(FLUNDERS), NULL);
    wait_for(&f, "/openapi/v3", GROUP "/v1alpha1", NULL);
    atomic_store(&f.service->is_available, false);
    wait_for(&f, "/apis", STALE, NULL);
    following_close(&f);
}

/* Contract extension 4.5.2, 4.5.6: servers that have only the older forms. */
TEST(remote_follower, takes_the_older_forms)
{
    struct following f;

    following_open(&f, legacy, true);
    wait_for(&f, "/apis", CURRENT_OF(FLUNDERS), NULL);
    wait_for(&f, "/openapi/v3", GROUP "/v1alpha1", NULL);
    assert_non_null(strstr(ask(&f, "/openapi/v3/apis/" GROUP "/v1alpha1"),
                           "\"$ref\":\"#/components/schemas/Flunder\""));
    following_close(&f);
}

TEST(remote_follower, forgets_services_that_go)
{
    struct following f;
    struct cor_api_service *next;

    following_open(&f, full, true);
    wait_for(&f, "/openapi/v2", "/flunders", NULL);
    /* Another spec: everything is asked again. */
    next = service_new("16");
    atomic_store(&next->is_available, true);
    cor_api_service_unref(f.service);
    f.service = next;
    publish(&f, 1);
    wait_for(&f, "/apis", CURRENT_OF(FLUNDERS), NULL);
    publish(&f, 0);
    wait_for(&f, "/openapi/v2", NULL, "/flunders");
    wait_for(&f, "/apis", NULL, GROUP);
    assert_null(strstr(ask(&f, "/openapi/v3"), GROUP));
    assert_true(cor_dlist_empty(&f.follower->remotes));
    assert_int_equal(f.follower->bytes, 0);
    following_close(&f);
}

/* A document of `n` definitions that are taken. */
static char *large_new(size_t n)
{
    struct cor_buf json;

    cor_buf_init(&json, 32u << 20);
    assert_int_equal(
        cor_buf_addz(&json, "{\"paths\":{\"/apis/" GROUP "/v1alpha1/large\":{}},\"definitions\":{"),
        0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(
            cor_buf_addf(&json, "%s\"D%zu\":{\"type\":\"object\",\"description\":\"%0100zu\"}",
                         i > 0 ? "," : "", i, i),
            0);
    assert_int_equal(cor_buf_addz(&json, "}}"), 0);
    return cor_buf_steal(&json, NULL);
}

/* Long documents are read on a thread; a document beyond the maximum is not taken, and the one
 * before it stays. */
TEST(remote_follower, holds_to_its_maxima)
{
    struct following f;

    following_open(&f, full, true);
    f.large = large_new(2000);
    wait_for(&f, "/openapi/v2", "v1alpha1/large", NULL);
    cor_free(f.large);
    f.large = large_new(COR_REMOTE_OPENAPI_BYTES / 100);
    ask_again(&f);
    assert_int_equal(remote_of(&f)->askers[COR_REMOTE_OPENAPI].failures, 1);
    assert_non_null(strstr(ask(&f, "/openapi/v2"), "v1alpha1/large"));
    assert_non_null(strstr(ask(&f, "/apis"), "Current"));
    following_close(&f);
}

/* A follower, or a service, may go while a thread reads its documents. */
TEST(remote_follower, may_be_closed_at_any_time)
{
    for (unsigned turns = 0; turns < 40; turns += 3) {
        struct following f;

        following_open(&f, full, true);
        f.large = large_new(20000);
        for (unsigned i = 0; i < turns; i++)
            run_for(&f, 1);
        if (turns % 2)
            publish(&f, 0);
        run_for(&f, 1);
        following_close(&f);
    }
}

/* A service that cannot be followed for want of memory is followed with the next snapshot. */
TEST(remote_follower, survives_every_failed_allocation)
{
    struct following f;

    following_open(&f, full, true);
    wait_for(&f, "/apis", CURRENT_OF(FLUNDERS), NULL);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_remote_follower *second;
        bool is_closed = false;
        int r = cor_remote_follower_open(f.p.a.fx.api, f.targets, &second);

        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            continue;
        }
        if (cor_dlist_empty(&second->remotes)) {
            test_fail_alloc(0, false);
            second->served.on_served(&second->served);
        }
        assert_int_equal(second->nversions, 1);
        cor_remote_follower_close(second, on_closed, &is_closed);
        pfx_wait(&f.p, is_true, &is_closed);
    }
    following_close(&f);
}
