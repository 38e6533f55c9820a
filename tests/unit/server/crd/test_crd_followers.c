/* The controllers of the server and custom resources that come and go: they follow what the catalog
 * publishes at once, not with their next enumeration. A minute is what a wait may take, and an
 * enumeration comes every 30 s; so each test looks at the time, too. */
#include "crd_fixture.h"

#include "server/controllers/host/controllers.h"

#define LIST    "garbage-collector-controller,namespace-controller,resourcequota-controller"
#define AT_ONCE 15000 /* half of what an enumeration takes that is not asked for */
#define CONFIGS "/api/v1/namespaces/default/configmaps"
#define QUOTAS  "/api/v1/namespaces/default/resourcequotas"
#define OWNED_FMT                                                                                   \
    "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":\"owned\"," \
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\","        \
    "\"uid\":\"%s\"}]}}"

struct followers_fx {
    struct crd_fx c;
    struct cor_controller_host *host;
    bool is_host_stopped;
    uint64_t begin_ms;
};

static void followers_open(struct followers_fx *f)
{
    struct cor_controller_host_opts opts = {.controllers = LIST};

    crd_fx_open(&f->c, true);
    opts.api = cor_api_loop(f->c.fx.api, 0);
    assert_int_equal(cor_controller_host_new(&opts, &f->host, NULL), 0);
    cor_controller_host_start(f->host);
    f->begin_ms = cor_loop_now_ms(f->c.fx.loop);
}

static void followers_close(struct followers_fx *f)
{
    assert_true(cor_loop_now_ms(f->c.fx.loop) - f->begin_ms < AT_ONCE);
    cor_controller_host_stop(f->host, FX_TIMEOUT_MS, on_stopped, &f->is_host_stopped);
    assert_true(cor_loop_run_until(f->c.fx.loop, is_set, &f->is_host_stopped, FX_TIMEOUT_MS));
    cor_controller_host_free(f->host);
    crd_fx_close(&f->c);
}

/* Contract controllers 2.2.4, without the 30 s. */
TEST(crd_followers, an_instance_goes_with_its_owner_right_after_the_definition)
{
    struct followers_fx f = {0};
    char body[512];
    const char *owner;

    followers_open(&f);
    define(&f.c, KETTLE_CRD(PROPS(SPEC_A)));
    owner =
        fx_do(&f.c.fx, 201, "POST", CONFIGS,
              "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"owner\"}}");
    snprintf(body, sizeof(body), OWNED_FMT, fx_at(owner, "metadata.uid"));
    fx_do(&f.c.fx, 201, "POST", KETTLES, body);
    fx_do(&f.c.fx, 200, "DELETE", CONFIGS "/owner", "");
    await(&f.c, KETTLES "/owned", NULL, NULL);
    /* Another definition of that name is followed anew. */
    fx_do(&f.c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    await(&f.c, CRDS "/kettles.shop.example.org", NULL, NULL);
    define(&f.c, KETTLE_CRD(PROPS(SPEC_A)));
    fx_do(&f.c.fx, 201, "POST", KETTLES, body); /* its owner is gone already */
    await(&f.c, KETTLES "/owned", NULL, NULL);
    followers_close(&f);
}

/* Contract controllers 1.3.1. */
TEST(crd_followers, a_namespace_with_instances_of_a_new_definition_ends)
{
    struct followers_fx f = {0};

    followers_open(&f);
    fx_do(&f.c.fx, 201, "POST", "/api/v1/namespaces",
          "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"shelf\"}}");
    define(&f.c, KETTLE_CRD(PROPS(SPEC_A)));
    fx_do(&f.c.fx, 201, "POST", "/apis/shop.example.org/v1/namespaces/shelf/kettles",
          KETTLE("k", ""));
    fx_do(&f.c.fx, 200, "DELETE", "/api/v1/namespaces/shelf", "");
    await(&f.c, "/api/v1/namespaces/shelf", NULL, NULL);
    assert_string_equal(
        fx_at(fx_do(&f.c.fx, 200, "GET", "/apis/shop.example.org/v1/kettles", ""), "items[0]"), "");
    followers_close(&f);
}

/* Contract controllers 3.3.5, 3.3.7. */
TEST(crd_followers, a_quota_counts_instances_of_a_new_definition)
{
    struct followers_fx f = {0};

    followers_open(&f);
    fx_do(
        &f.c.fx, 201, "POST", QUOTAS,
        "{\"kind\":\"ResourceQuota\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"q\"},\"spec\":"
        "{\"hard\":{\"count/kettles.shop.example.org\":\"5\"}}}");
    await(&f.c, QUOTAS "/q", "status.hard.count/kettles\\.shop\\.example\\.org", "5");
    define(&f.c, KETTLE_CRD(PROPS(SPEC_A)));
    fx_do(&f.c.fx, 201, "POST", KETTLES, KETTLE("a", ""));
    fx_do(&f.c.fx, 201, "POST", KETTLES, KETTLE("b", ""));
    await(&f.c, QUOTAS "/q", "status.used.count/kettles\\.shop\\.example\\.org", "2");
    fx_do(&f.c.fx, 200, "DELETE", KETTLES "/a", "");
    await(&f.c, QUOTAS "/q", "status.used.count/kettles\\.shop\\.example\\.org", "1");
    followers_close(&f);
}
