/* A controller on the kit's control loop that runs inside of the server, over the server's own
 * port: for each ConfigMap of `default` it keeps a Secret of the same name, which the ConfigMap
 * controls. The control loop itself: kit/controller. */
#include "port_fixture.h"

#include "base/buf.h"
#include "base/err.h"
#include "kit/controller/control_loop.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define SECRETS    "/api/v1/namespaces/default/secrets"

struct keeper;

/* A watch that feeds a source. */
struct feed {
    struct cor_api_request watch;
    struct cor_control_source *source;
    struct keeper *k;
};

struct keeper {
    struct pfx p;
    struct cor_control_loop *l;
    uint64_t wake_at_ms;
    struct feed feeds[2]; /* ConfigMaps, Secrets */
    struct cor_reconcile *rec;
    struct cor_api_request request; /* of the reconcile under way */
    size_t ncreated, nabsent, nreports;
    bool is_stopped;
};

static struct cor_api_request request_of(const char *resource, struct cor_str name,
                                         const struct cor_api_request_cbs *cbs)
{
    return (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), cor_strz(resource)},
               .ns = COR_STR("default"),
               .name = name},
        .cbs = cbs,
    };
}

/* Feeding: the bookmark after the first state is the first sync. */

static int feed_on_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    struct feed *f = COR_CONTAINER_OF(req, struct feed, watch);
    struct cor_control_event change = {.object = event->object};

    switch (event->type) {
    case COR_WATCH_ADDED:
        change.kind = COR_CONTROL_CREATED;
        break;
    case COR_WATCH_MODIFIED:
        change.kind = COR_CONTROL_UPDATED;
        change.old = event->object; /* no cache keeps the state before */
        break;
    case COR_WATCH_DELETED:
        change.kind = COR_CONTROL_DELETED;
        break;
    default:
        assert_int_equal(event->type, COR_WATCH_BOOKMARK);
        cor_control_loop_source_synced(f->k->l, f->source);
        return 0;
    }
    return cor_control_loop_event(f->k->l, f->source, &change);
}

static void feed_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    fail_msg("a watch has ended");
}

static const struct cor_api_request_cbs feed_cbs = {.on_event = feed_on_event,
                                                    .on_done = feed_on_done};

static void feed_begin(struct keeper *k, size_t i, const char *resource,
                       const struct cor_control_source_opts *opts)
{
    const struct cor_list_query query = {
        .list = {.send_initial_events = COR_TRUE,
                 .allow_bookmarks = true,
                 .resource_version_match = COR_STR("NotOlderThan")}};
    struct feed *f = &k->feeds[i];

    f->k = k;
    f->watch = request_of(resource, COR_STR(""), &feed_cbs);
    assert_int_equal(cor_control_loop_add_source(k->l, opts, &f->source, NULL), 0);
    cor_api_watch(&k->p.ip.port, &f->watch, &query);
}

/* Reconciling: get the ConfigMap, then create the Secret. */

static void keeper_finish(struct keeper *k, const struct cor_status *error)
{
    const struct cor_reconcile_result result = {.err = error ? error->err : 0, .why = error};
    struct cor_reconcile *rec = COR_STEAL(k->rec);

    cor_reconcile_done(rec, &result);
}

static void on_secret_created(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct keeper *k = COR_CONTAINER_OF(req, struct keeper, request);

    k->ncreated += !answer->error;
    keeper_finish(k, answer->error && answer->error->err == -COR_EEXIST ? NULL : answer->error);
}

static const struct cor_api_request_cbs create_cbs = {.on_done = on_secret_created};

static void on_config_read(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct keeper *k = COR_CONTAINER_OF(req, struct keeper, request);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *secret = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

    cor_buf_init(&json, 4096);
    if (answer->error) {
        bool is_absent = answer->error->err == -COR_ENOTFOUND;

        k->nabsent += is_absent;
        keeper_finish(k, is_absent ? NULL : answer->error);
        return;
    }
    assert_int_equal(
        cor_buf_addf(&json,
                     "{\"metadata\":{\"name\":\"%.*s\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
                     "\"kind\":\"ConfigMap\",\"name\":\"%.*s\",\"uid\":\"%.*s\","
                     "\"controller\":true}]}}",
                     COR_STR_ARG(k->rec->name), COR_STR_ARG(k->rec->name),
                     COR_STR_ARG(cor_object_uid(answer->object))),
        0);
    assert_int_equal(cor_object_from_json(cor_buf_str(&json), &secret, NULL), 0);
    k->request = request_of("secrets", COR_STR(""), &create_cbs);
    cor_api_create(&k->p.ip.port, &k->request, secret, NULL);
}

static const struct cor_api_request_cbs read_cbs = {.on_done = on_config_read};

static void keeper_reconcile(void *arg, struct cor_reconcile *rec)
{
    struct keeper *k = arg;

    assert_null(k->rec);
    assert_str(rec->ns, "default");
    k->rec = rec;
    k->request = request_of("configmaps", rec->name, &read_cbs);
    cor_api_get(&k->p.ip.port, &k->request, COR_STR(""));
}

static void keeper_on_report(void *arg, const struct cor_control_report *report)
{
    ((struct keeper *)arg)->nreports++;
}

static void keeper_on_stopped(void *arg, const struct cor_status *why)
{
    assert_null(why);
    ((struct keeper *)arg)->is_stopped = true;
}

static void keeper_on_wake_at(void *arg, uint64_t at_ms)
{
    ((struct keeper *)arg)->wake_at_ms = at_ms;
}

/* Calls the tick when it is due, in a turn of its own: nothing else of the test runs now. */
static void keeper_turn(struct keeper *k)
{
    while (!k->is_stopped && k->wake_at_ms <= cor_clock_mono_ms(&k->p.a.fx.clock.clock)) {
        k->wake_at_ms = UINT64_MAX;
        cor_control_loop_tick(k->l);
    }
}

static bool has_nothing_to_do(void *arg)
{
    struct keeper *k = arg;
    struct cor_control_loop_stats stats;

    keeper_turn(k);
    cor_control_loop_stats(k->l, &stats);
    return cor_control_loop_is_synced(k->l) && stats.active == 0 && stats.queue.depth == 0;
}

static bool has_created_two(void *arg)
{
    return has_nothing_to_do(arg) && ((struct keeper *)arg)->ncreated == 2;
}

static bool has_created_three(void *arg)
{
    return has_nothing_to_do(arg) && ((struct keeper *)arg)->ncreated == 3;
}

static bool has_seen_absence(void *arg)
{
    return has_nothing_to_do(arg) && ((struct keeper *)arg)->nabsent > 0;
}

static bool is_stopped(void *arg)
{
    keeper_turn(arg);
    return ((struct keeper *)arg)->is_stopped;
}

static void keeper_begin(struct keeper *k)
{
    const struct cor_control_source_opts configs = {.kind = COR_CONTROL_FOR,
                                                    .gk = {COR_STR(""), COR_STR("ConfigMap")}};
    const struct cor_control_source_opts secrets = {.kind = COR_CONTROL_OWNS,
                                                    .gk = {COR_STR(""), COR_STR("Secret")}};
    const struct cor_control_loop_opts opts = {.clock = &k->p.a.fx.clock.clock,
                                               .loop = k->p.a.fx.loop,
                                               .wake_at = keeper_on_wake_at,
                                               .reconcile = keeper_reconcile,
                                               .on_report = keeper_on_report,
                                               .on_stopped = keeper_on_stopped,
                                               .arg = k};

    k->wake_at_ms = UINT64_MAX;
    assert_int_equal(cor_control_loop_new(&opts, &k->l, NULL), 0);
    feed_begin(k, 0, "configmaps", &configs);
    feed_begin(k, 1, "secrets", &secrets);
    assert_int_equal(cor_control_loop_start(k->l, NULL), 0);
}

static void keeper_end(struct keeper *k)
{
    cor_control_loop_stop(k->l, 1000);
    pfx_wait(&k->p, is_stopped, k);
    for (size_t i = 0; i < COR_ARRAY_LEN(k->feeds); i++)
        cor_api_cancel(&k->p.ip.port, &k->feeds[i].watch);
    cor_control_loop_free(k->l);
    pfx_close(&k->p);
}

TEST(inner_controller, a_controller_inside_of_the_server_keeps_what_its_objects_own)
{
    struct keeper k = {0};

    pfx_open(&k.p, true);
    fx_do(&k.p.a.fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"before\"}}");
    keeper_begin(&k);
    fx_do(&k.p.a.fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"after\"}}");
    pfx_wait(&k.p, has_created_two, &k);
    assert_non_null(strstr(fx_do(&k.p.a.fx, 200, "GET", SECRETS "/before", ""),
                           "\"kind\":\"ConfigMap\",\"name\":\"before\""));
    fx_do(&k.p.a.fx, 200, "GET", SECRETS "/after", "");

    /* The deletion of a Secret is an event of its owner. */
    fx_do(&k.p.a.fx, 200, "DELETE", SECRETS "/before", "");
    pfx_wait(&k.p, has_created_three, &k);
    fx_do(&k.p.a.fx, 200, "GET", SECRETS "/before", "");

    /* The deletion of the ConfigMap is a reconcile that does not find it. */
    fx_do(&k.p.a.fx, 200, "DELETE", CONFIGMAPS "/before", "");
    pfx_wait(&k.p, has_seen_absence, &k);
    assert_int_equal(k.nreports, 0);
    keeper_end(&k);
}
