/* A server without a network that serves custom resources, and definitions of some. Included by the
 * tests of server/crd/.
 * Owner: the test.  Thread: the test's. */
#ifndef COR_TEST_CRD_FIXTURE_H
#define COR_TEST_CRD_FIXTURE_H

#include "api_fixture.h"

#include <stdio.h>

#include "base/err.h"
#include "server/crd/crds.h"

#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define KETTLES "/apis/shop.example.org/v1/namespaces/default/kettles"
#define SPEC_A  "\"spec\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"
#define ANY     "\"x-kubernetes-preserve-unknown-fields\":true"

/* One version: its name, more members, the members of its schema. */
#define VERSION(name, more, schema)                                                                \
    "{\"name\":\"" name "\",\"served\":true," more                                                 \
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"," schema "}}}"
#define STORED   "\"storage\":true,"
#define STATUS   "\"subresources\":{\"status\":{}},"
#define PROPS(p) "\"properties\":{" p "}"
#define CRD_OF(plural, kind, more_names, scope, versions)                                          \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"" plural ".shop.example.org\"},\"spec\":{\"group\":"                 \
    "\"shop.example.org\",\"scope\":\"" scope "\",\"names\":{\"plural\":\"" plural                 \
    "\",\"kind\":\"" kind "\"" more_names "},\"versions\":[" versions "]}}"
#define KETTLE_CRD(schema)                                                                         \
    CRD_OF("kettles", "Kettle", ",\"shortNames\":[\"kt\"],\"categories\":[\"all\"]", "Namespaced", \
           VERSION("v1", STORED STATUS, schema))
#define KETTLE(name, rest)                                                                         \
    "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":\"" name   \
    "\"}" rest "}"

struct crd_fx {
    struct fx fx;
    struct cor_crds *crds;
    bool has_caches, is_stopped, are_caches_closed;
};

static inline bool is_synced(void *arg)
{
    return cor_crds_is_synced(((struct crd_fx *)arg)->crds);
}

static inline void crd_fx_open(struct crd_fx *c, bool has_caches)
{
    const struct cor_api_cachers_opts cache_opts = {0};
    struct cor_crds_opts opts = {0};

    fx_open(&c->fx);
    c->has_caches = has_caches;
    if (has_caches)
        assert_int_equal(cor_api_open_cachers(c->fx.api, &cache_opts, NULL), 0);
    fx_bootstrap(&c->fx);
    opts.api = c->fx.api;
    assert_int_equal(cor_crds_new(&opts, &c->crds, NULL), 0);
    assert_int_equal(cor_crds_start(c->crds, NULL), 0);
    assert_true(cor_loop_run_until(c->fx.loop, is_synced, c, FX_TIMEOUT_MS));
}

static inline void on_stopped(void *arg)
{
    *(bool *)arg = true;
}

static inline bool is_set(void *arg)
{
    return *(bool *)arg;
}

static inline bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct crd_fx *)arg)->fx.api, 0)) == 0;
}

static inline void crd_fx_close(struct crd_fx *c)
{
    cor_crds_stop(c->crds, FX_TIMEOUT_MS, on_stopped, &c->is_stopped);
    assert_true(cor_loop_run_until(c->fx.loop, is_set, &c->is_stopped, FX_TIMEOUT_MS));
    assert_true(cor_loop_run_until(c->fx.loop, has_no_calls, c, FX_TIMEOUT_MS));
    cor_api_loop_release(cor_api_loop(c->fx.api, 0));
    if (cor_api_close_cachers(c->fx.api, on_stopped, &c->are_caches_closed))
        assert_true(cor_loop_run_until(c->fx.loop, is_set, &c->are_caches_closed, FX_TIMEOUT_MS));
    cor_crds_free(c->crds);
    fx_close(&c->fx);
}

/* Waits until a GET of `target` has this value at `path`, and returns the answer; NULL: until the
 * answer is 404. */
struct awaited {
    struct fx *fx;
    const char *target, *path, *value;
};

static inline bool has_come(void *arg)
{
    const struct awaited *awaited = arg;
    const char *answer = fx_do(awaited->fx, 0, "GET", awaited->target, "");

    return awaited->path
               ? strcmp(fx_at(answer, awaited->path), awaited->value) == 0
               : strcmp(fx_at(answer, "code"), "404") == 0 || strstr(answer, "404 page not found");
}

static inline const char *await(struct crd_fx *c, const char *target, const char *path,
                                const char *value)
{
    struct awaited awaited = {&c->fx, target, path, value};

    for (uint64_t end = cor_loop_now_ms(c->fx.loop) + FX_TIMEOUT_MS;
         !has_come(&awaited) && cor_loop_now_ms(c->fx.loop) < end;)
        (void)cor_loop_run_until(c->fx.loop, is_set, &c->is_stopped, 1);
    if (!has_come(&awaited))
        fail_msg("%s has not come at %s: %s", path ? value : "404", target,
                 fx_do(&c->fx, 0, "GET", target, ""));
    return fx_do(&c->fx, 0, "GET", target, "");
}

/* The condition of a definition: "True NoConflicts no conflicts found". */
static inline const char *condition(const char *crd, const char *type)
{
    static char text[512];
    int n;

    for (int i = 0; i < 8; i++) {
        char path[64];

        snprintf(path, sizeof(path), "status.conditions[%d].type", i);
        if (strcmp(fx_at(crd, path), type) != 0)
            continue;
        snprintf(path, sizeof(path), "status.conditions[%d].status", i);
        n = snprintf(text, sizeof(text), "%s ", fx_at(crd, path));
        snprintf(path, sizeof(path), "status.conditions[%d].reason", i);
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s: ", fx_at(crd, path));
        snprintf(path, sizeof(path), "status.conditions[%d].message", i);
        snprintf(text + n, sizeof(text) - (size_t)n, "%s", fx_at(crd, path));
        return text;
    }
    return "none";
}

static inline void define(struct crd_fx *c, const char *crd)
{
    char target[256];

    fx_do(&c->fx, 201, "POST", CRDS, crd);
    snprintf(target, sizeof(target), CRDS "/%s", fx_at(crd, "metadata.name"));
    await(c, target, "status.conditions[1].status", "True");
    /* It is served as soon as its last condition can be read. */
    await(c, "/apis/shop.example.org", "kind", "APIGroup");
}

#endif
