/* Instances in the store: where they are kept, and that none is left behind by its definition.
 * Numbers are lines of contract crd. */
#include "base/limits.h"
#include "crd_fixture.h"

#include "../alloc/alloc_fixture.h"
#include "server/crd/crds_int.h"

#define MAP "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}"
#define CRD_IN(group, plural, kind)                                                                \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"" plural "." group "\"},\"spec\":{\"group\":\"" group                \
    "\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"" plural "\",\"kind\":\"" kind            \
    "\"},\"versions\":[" VERSION("v1", STORED, ANY) "]}}"

static const char *names_of(struct crd_fx *c, const char *collection)
{
    static char text[256];
    const char *list = fx_do(&c->fx, 200, "GET", collection, "");
    char path[64];

    text[0] = '\0';
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof(path), "items[%d].metadata.name", i);
        strncat(text, fx_at(list, path), sizeof(text) - strlen(text) - 1);
    }
    return text;
}

/* 3.2.2: the group is part of the key. */
static void check_apart(bool has_caches)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, has_caches);
    fx_do(&c.fx, 201, "POST", "/api/v1/namespaces/default/configmaps", MAP);
    define(&c, CRD_OF("configmaps", "ConfigMap", "", "Namespaced", VERSION("v1", STORED, ANY)));
    define(&c, CRD_IN("other.example.org", "configmaps", "ConfigMap"));
    await(&c, "/apis/other.example.org/v1/configmaps", "kind", "ConfigMapList");
    assert_string_equal(names_of(&c, "/apis/shop.example.org/v1/configmaps"), "");
    fx_do(&c.fx, 201, "POST", "/apis/shop.example.org/v1/namespaces/default/configmaps",
          "{\"kind\":\"ConfigMap\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":"
          "\"b\"}}");
    assert_string_equal(names_of(&c, "/apis/shop.example.org/v1/configmaps"), "b");
    assert_string_equal(names_of(&c, "/apis/other.example.org/v1/configmaps"), "");
    assert_string_equal(names_of(&c, "/api/v1/configmaps"), "a");
    crd_fx_close(&c);
}

/* Contract crd 3.2.2. */
TEST(crd_instances, resources_of_the_same_name_in_other_groups_are_apart)
{
    check_apart(true);
    check_apart(false);
}

/* Turns the loop for a moment, in which nothing is expected to happen. */
static void turn(struct crd_fx *c)
{
    (void)cor_loop_run_until(c->fx.loop, is_set, &c->is_stopped, 50);
}

/* A request that was admitted before the deletion is stored after it: 5.4, 3.1.11. The second
 * request holds a definition that was replaced before the deletion. */
static void check_late_create(bool is_of_older)
{
    struct crd_fx c = {0};
    struct afx a;
    struct afx_hold hold;
    FX_CALL call = {0};

    crd_fx_open(&c, true);
    a.fx = c.fx;
    define(&c, KETTLE_CRD(PROPS(SPEC_A)));
    afx_hold(&a, &hold, COR_ENGINE_WRITE, "shop.example.org/kettles/default/late");
    fx_start(&c.fx, &call, "POST", KETTLES, KETTLE("late", ""), NULL);
    afx_wait_held(&a, &hold);
    if (is_of_older) {
        fx_do_with(&c.fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
                   "{\"spec\":{\"names\":{\"categories\":[\"some\"]}}}",
                   &(struct fx_headers){.content_type = "application/merge-patch+json"});
        await(&c, "/apis/shop.example.org/v1", "resources[0].categories[0]", "some");
    }
    fx_do(&c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    await(&c, "/apis/shop.example.org/v1", "resources[0].verbs[4]", "watch");
    turn(&c);
    fx_do(&c.fx, 200, "GET", CRDS "/kettles.shop.example.org", "");
    fx_do(&c.fx, 403, "POST", KETTLES, KETTLE("later", ""));
    afx_let_go(&a, &hold);
    fx_wait(&call);
    await(&c, CRDS "/kettles.shop.example.org", NULL, NULL);
    define(&c, KETTLE_CRD(PROPS(SPEC_A)));
    assert_string_equal(names_of(&c, "/apis/shop.example.org/v1/kettles"), "");
    crd_fx_close(&c);
}

TEST(crd_instances, a_create_that_ends_after_the_deletion_began_is_awaited)
{
    check_late_create(false);
    check_late_create(true);
}

/* Takes all places that are free, and notes them. */
static void take_places(struct crd_fx *c, uint64_t taken[])
{
    for (size_t i = 0; i < COR_DEFINITIONS_MAX / 64; i++)
        taken[i] |= ~atomic_exchange(&c->crds->places.taken[i], UINT64_MAX);
}

/* There is no place for another definition: what is stored must not be forgotten.
 * Contract crd 5.6. */
TEST(crd_instances, a_definition_that_cannot_be_served_is_not_deleted_before_its_instances)
{
    struct crd_fx c = {0};
    uint64_t taken[COR_DEFINITIONS_MAX / 64] = {0};

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(PROPS(SPEC_A)));
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ""));
    take_places(&c, taken);
    fx_do_with(&c.fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
               "{\"spec\":{\"versions\":[" VERSION("v1", STORED, ANY) "]}}",
               &(struct fx_headers){.content_type = "application/merge-patch+json"});
    await(&c, KETTLES, NULL, NULL);
    take_places(&c, taken); /* that of the old definition is free */
    fx_do(&c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    await(&c, CRDS "/kettles.shop.example.org", "status.conditions[2].reason",
          "InstanceDeletionFailed");
    assert_string_equal(
        condition(fx_do(&c.fx, 200, "GET", CRDS "/kettles.shop.example.org", ""), "Terminating"),
        "True InstanceDeletionFailed: could not list instances: the custom resource cannot be "
        "served");
    for (size_t i = 0; i < COR_DEFINITIONS_MAX / 64; i++)
        atomic_fetch_and(&c.crds->places.taken[i], ~taken[i]);
    await(&c, CRDS "/kettles.shop.example.org", NULL, NULL);
    define(&c, KETTLE_CRD(PROPS(SPEC_A)));
    assert_string_equal(names_of(&c, "/apis/shop.example.org/v1/kettles"), "");
    crd_fx_close(&c);
}

#define APPROVED "\"annotations\":{\"api-approved.kubernetes.io\":\"unapproved, a test\"},"
#define OVERLAP(status)                                                                            \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"customresourcedefinitions.apiextensions.k8s.io\"," APPROVED          \
    "\"uid\":\"u\",\"creationTimestamp\":\"2025-01-01T00:00:00Z\"},"                               \
    "\"spec\":{\"group\":\"apiextensions.k8s.io\",\"scope\":\"Cluster\",\"names\":{\"plural\":"    \
    "\"customresourcedefinitions\",\"singular\":\"x\",\"kind\":\"X\",\"listKind\":\"XList\"},"     \
    "\"conversion\":{\"strategy\":\"None\"},"                                                      \
    "\"versions\":[" VERSION("v2", STORED, ANY) "]}" status "}"

/* Contract crd 5.4: its instances would be the definitions themselves. */
TEST(crd_instances, a_definition_with_the_keys_of_a_built_in_resource_is_refused)
{
    struct crd_fx c = {0};
    const char *refused;

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(PROPS(SPEC_A)));
    refused = fx_do(&c.fx, 422, "POST", CRDS, OVERLAP(""));
    assert_at(refused, "details.causes[0].field", "spec.names.plural");
    assert_at(refused, "details.causes[0].message",
              "Invalid value: \"customresourcedefinitions\": instances overlap with built-in "
              "resources in storage");
    /* Another server has let one in. */
    fx_put_raw(&c.fx,
               "/registry/apiextensions.k8s.io/customresourcedefinitions/"
               "customresourcedefinitions.apiextensions.k8s.io",
               OVERLAP(""));
    await(&c, CRDS "/customresourcedefinitions.apiextensions.k8s.io", "status.conditions[1].status",
          "True");
    turn(&c);
    fx_do(&c.fx, 404, "GET", "/apis/apiextensions.k8s.io/v2/customresourcedefinitions", "");
    fx_do(&c.fx, 200, "DELETE", CRDS "/customresourcedefinitions.apiextensions.k8s.io", "");
    await(&c, CRDS "/customresourcedefinitions.apiextensions.k8s.io", NULL, NULL);
    fx_do(&c.fx, 200, "GET", CRDS "/kettles.shop.example.org", "");
    crd_fx_close(&c);
}

/* 1.3.15: in the built-in version nothing can be reached; the deletion goes by the other one. */
TEST(crd_instances, a_definition_in_a_built_in_version_is_deleted_with_its_instances)
{
    static const char crd[] =
        "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","
        "\"metadata\":{\"name\":\"kettles.networking.k8s.io\"," APPROVED "\"uid\":\"u\"},\"spec\":{"
        "\"group\":\"networking.k8s.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":"
        "\"kettles\",\"kind\":\"Kettle\"},\"versions\":[" VERSION("v1", STORED, ANY) "," VERSION(
            "v1alpha9", "\"storage\":false,", ANY) "]}}";
    struct crd_fx c = {0};

    crd_fx_open(&c, true);
    fx_do(&c.fx, 201, "POST", CRDS, crd);
    await(&c, "/apis/networking.k8s.io/v1alpha9", "resources[0].name", "kettles");
    fx_do(&c.fx, 404, "GET", "/apis/networking.k8s.io/v1/kettles", "");
    fx_do(&c.fx, 201, "POST", "/apis/networking.k8s.io/v1alpha9/namespaces/default/kettles",
          "{\"kind\":\"Kettle\",\"apiVersion\":\"networking.k8s.io/v1alpha9\",\"metadata\":{"
          "\"name\":\"k\"}}");
    fx_do(&c.fx, 200, "DELETE", CRDS "/kettles.networking.k8s.io", "");
    await(&c, CRDS "/kettles.networking.k8s.io", NULL, NULL);
    fx_do(&c.fx, 201, "POST", CRDS, crd);
    await(&c, "/apis/networking.k8s.io/v1alpha9", "resources[0].name", "kettles");
    assert_string_equal(names_of(&c, "/apis/networking.k8s.io/v1alpha9/kettles"), "");
    crd_fx_close(&c);
}

/* The life of a definition with an instance that is watched. */
static void live_once(struct crd_fx *c)
{
    FX_CALL watch = {0};

    define(c, KETTLE_CRD(PROPS(SPEC_A)));
    fx_do(&c->fx, 201, "POST", KETTLES, KETTLE("k", ",\"spec\":{\"a\":\"b\"}"));
    fx_start(&c->fx, &watch, "GET", KETTLES "?watch=1", "", NULL);
    fx_do_with(&c->fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
               "{\"spec\":{\"versions\":[" VERSION("v1", STORED, ANY) "]}}",
               &(struct fx_headers){.content_type = "application/merge-patch+json"});
    fx_do(&c->fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    await(c, CRDS "/kettles.shop.example.org", NULL, NULL);
    fx_wait(&watch);
}

/* `per_life`: what caches keep of the events of the definitions themselves. */
static void check_memory(bool has_caches, size_t per_life)
{
    const size_t slack = 64u << 10;
    struct crd_fx c = {0};
    size_t before;

    crd_fx_open(&c, has_caches);
    for (int i = 0; i < 10; i++) /* what is made once is made */
        live_once(&c);
    before = test_live_bytes();
    for (int i = 0; i < 10; i++)
        live_once(&c);
    assert_true(test_live_bytes() < before + slack + 10 * per_life);
    crd_fx_close(&c);
}

TEST(crd_instances, memory_returns_when_a_definition_has_gone)
{
    check_memory(false, 0);
    check_memory(true, 32u << 10);
}

#define WATCHED 40

struct way_to_watch {
    const char *query;
    const struct fx_headers *headers;
};

/* How often a text comes in the answer. */
static size_t count_of(const struct fx_call *call, const char *text)
{
    struct cor_str rest = cor_buf_str(&call->sink.body);
    const char *at;
    size_t n = 0;

    for (; rest.n > 0 && (at = memmem(rest.p, rest.n, text, strlen(text))); n++)
        rest = cor_str_from(rest, (size_t)(at - rest.p) + strlen(text));
    return n;
}

static void create_watched(struct crd_fx *c)
{
    define(c, KETTLE_CRD(PROPS(SPEC_A)));
    for (int i = 0; i < WATCHED; i++) {
        char body[256];

        snprintf(body, sizeof(body), KETTLE("k%d", ""), i);
        fx_do(&c->fx, 201, "POST", KETTLES, body);
    }
}

/* The instances are deleted, and their definition with them or changed after them. */
static void delete_watched(struct crd_fx *c, bool is_changed)
{
    if (is_changed) {
        fx_do(&c->fx, 200, "DELETE", KETTLES, "");
        fx_do_with(&c->fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
                   "{\"spec\":{\"names\":{\"categories\":[\"some\"]}}}",
                   &(struct fx_headers){.content_type = "application/merge-patch+json"});
        await(c, "/apis/shop.example.org/v1", "resources[0].categories[0]", "some");
    } else {
        fx_do(&c->fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
        await(c, CRDS "/kettles.shop.example.org", NULL, NULL);
    }
    turn(c);
}

static void check_deletions_seen(const struct way_to_watch *way, bool has_caches, bool is_changed)
{
    struct crd_fx c = {0};
    FX_CALL watch = {0};

    crd_fx_open(&c, has_caches);
    create_watched(&c);
    fx_start(&c.fx, &watch, "GET", way->query, "", way->headers);
    watch.sink.room = 0; /* Nothing is read yet. */
    turn(&c);
    delete_watched(&c, is_changed);
    sink_drain(&watch.sink, 64u << 20);
    fx_wait(&watch);
    assert_false(watch.sink.is_aborted);
    if (count_of(&watch, "\"type\":\"DELETED\"") != WATCHED)
        fail_msg("%s, %s, %s: %zu of %d deletions: %.*s", way->query,
                 has_caches ? "caches" : "no caches", is_changed ? "changed" : "deleted",
                 count_of(&watch, "\"type\":\"DELETED\""), WATCHED,
                 COR_STR_ARG(cor_buf_str(&watch.sink.body)));
    crd_fx_close(&c);
}

/* What a watch has not delivered yet, because its client is slow or the store tells it late, comes
 * before the end that its definition brings. Contract crd 3.2.4, 3.2.5. */
TEST(crd_instances, a_watch_delivers_the_deletions_before_its_definition_ends_it)
{
    static const struct fx_headers table = {.accept =
                                                "application/json;as=Table;v=v1;g=meta.k8s.io"};
    static const struct way_to_watch ways[] = {
        {KETTLES "?watch=1&resourceVersion=1", NULL},
        {KETTLES "?watch=1", NULL},
        {KETTLES "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                 "&allowWatchBookmarks=true",
         NULL},
        {KETTLES "?watch=1", &table},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(ways); i++) {
        for (int how = 0; how < 4; how++)
            check_deletions_seen(&ways[i], how & 1, how & 2);
    }
}
