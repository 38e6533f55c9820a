/* A server without a network that has one aggregated server, which the test plays
 * (recording_target.h), and a port in its process, by which a controller asks for the resources of
 * that server. Included by the tests of what goes that way.
 * Owner: the test.  Thread: the test's. */
#ifndef COR_TEST_REMOTE_FIXTURE_H
#define COR_TEST_REMOTE_FIXTURE_H

#include "../port/port_fixture.h"
#include "meta/object/object.h"
#include "recording_target.h"
#include "server/aggregation/aggregator.h"
#include "server/api/api_loop.h"
#include "server/api/publisher.h"

#define WARDLE_GROUP   "wardle.example.com"
#define WARDLE_VERSION "v1alpha1"

struct rfx {
    struct pfx p;
    struct target_ids ids;
    struct recording rec;
    struct cor_target_config config;
    struct cor_aggregator *aggregator;
    struct cor_api_service *service;
    bool is_closed;
};

/* An APIService whose server is api.wardle; it is not available. */
static inline struct cor_api_service *rfx_service(const char *version, const char *group)
{
    struct cor_object *object = NULL;
    struct cor_api_service *service;
    char json[512];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s.%s\"},\"spec\":{\"group\":\"%s\",\"version\":\"%s\","
             "\"insecureSkipTLSVerify\":true,\"groupPriorityMinimum\":9,\"versionPriority\":9,"
             "\"service\":{\"namespace\":\"wardle\",\"name\":\"api\",\"port\":443}}}",
             version, group, group, version);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, NULL), 0);
    assert_int_equal(cor_api_service_new(object, &service), 0);
    cor_object_unref(object);
    return service;
}

static inline bool rfx_is_taken(void *api)
{
    return cor_api_has_taken(api, cor_api_publisher(api)->generation);
}

/* Publishes what the server of one version has said of its resources (NULL: nothing), and waits
 * until requests are routed by it. */
static inline void rfx_tell(struct cor_api *api, struct cor_api_service *service,
                            const char *resources)
{
    struct cor_publisher *publisher = cor_api_publisher(api);
    struct cor_remote_version version = {
        .group = service->group, .version = service->version, .is_current = true};
    struct cor_remote_docs *docs = NULL;

    if (resources) {
        assert_int_equal(cor_remote_text_new(cor_strz(resources), &version.resources), 0);
        assert_int_equal(cor_remote_docs_new(&version, 1, &docs), 0);
    }
    cor_publisher_set_remote_docs(publisher, docs);
    assert_int_equal(cor_publisher_set_services(publisher, &service, 1), 0);
    assert_int_equal(cor_publisher_publish(publisher), 0);
    cor_remote_docs_unref(docs);
    cor_remote_text_unref(version.resources);
    assert_true(cor_loop_run_until(cor_api_loop(api, 0)->loop, rfx_is_taken, api, FX_TIMEOUT_MS));
}

/* The API is that of pfx_open() with a cache or without, or of pfx_open_on_clock(). */
enum rfx_api { RFX_PLAIN, RFX_CACHED, RFX_ON_CLOCK };

/* The service is available, and has said nothing yet. */
static inline void rfx_open(struct rfx *r, enum rfx_api how)
{
    char text[64];

    memset(r, 0, sizeof(*r));
    if (how == RFX_ON_CLOCK)
        pfx_open_on_clock(&r->p);
    else
        pfx_open(&r->p, how == RFX_CACHED);
    target_ids_init(&r->ids);
    recording_open(&r->rec, r->p.a.fx.loop, &r->ids, true);
    snprintf(text, sizeof(text), "api.wardle=127.0.0.1:%u", r->rec.port);
    assert_int_equal(cor_resolve_overrides_add(&r->config.overrides, cor_strz(text), NULL), 0);
    r->config.cert_file = r->ids.cert_file;
    r->config.key_file = r->ids.key_file;
    assert_int_equal(
        cor_aggregator_new(
            &(struct cor_aggregator_opts){.api = r->p.a.fx.api, .nloops = 1, .config = &r->config},
            &r->aggregator),
        0);
    cor_api_set_remote(r->p.a.fx.api, cor_aggregator_answer, r->aggregator);
    r->service = rfx_service(WARDLE_VERSION, WARDLE_GROUP);
    atomic_store(&r->service->is_available, true);
    rfx_tell(r->p.a.fx.api, r->service, NULL);
}

static inline void rfx_on_closed(void *arg)
{
    *(bool *)arg = true;
}

static inline bool rfx_is_true(void *arg)
{
    return *(bool *)arg;
}

static inline void rfx_close(struct rfx *r)
{
    pfx_wait(&r->p, pfx_is_idle, &r->p);
    cor_aggregator_close_loop(r->aggregator, 0, rfx_on_closed, &r->is_closed);
    pfx_wait(&r->p, rfx_is_true, &r->is_closed);
    cor_aggregator_free(r->aggregator);
    recording_close(&r->rec);
    cor_api_service_unref(r->service);
    cor_resolve_overrides_deinit(&r->config.overrides);
    target_ids_deinit(&r->ids);
    pfx_close(&r->p);
}

#endif
