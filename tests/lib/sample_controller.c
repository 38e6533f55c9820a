#include "sample_controller.h"

#include "base/buf.h"
#include "base/err.h"
#include "test.h"

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

static void sample_finish(struct sample *s, const struct cor_status *error)
{
    const struct cor_reconcile_result result = {.err = error ? error->err : 0, .why = error};
    struct cor_reconcile *rec = COR_STEAL(s->rec);

    cor_reconcile_done(rec, &result);
}

static void on_secret_created(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct sample *s = COR_CONTAINER_OF(req, struct sample, request);

    s->ncreated += !answer->error;
    sample_finish(s, answer->error && answer->error->err == -COR_EEXIST ? NULL : answer->error);
}

static const struct cor_api_request_cbs create_cbs = {.on_done = on_secret_created};

static void on_config_read(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct sample *s = COR_CONTAINER_OF(req, struct sample, request);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *secret = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

    cor_buf_init(&json, 4096);
    if (answer->error) {
        bool is_absent = answer->error->err == -COR_ENOTFOUND;

        s->nabsent += is_absent;
        sample_finish(s, is_absent ? NULL : answer->error);
        return;
    }
    assert_int_equal(
        cor_buf_addf(&json,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%.*s\","
                     "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                     "\"name\":\"%.*s\",\"uid\":\"%.*s\",\"controller\":true}]}}",
                     COR_STR_ARG(s->rec->name), COR_STR_ARG(s->rec->name),
                     COR_STR_ARG(cor_object_uid(answer->object))),
        0);
    assert_int_equal(cor_object_from_json(cor_buf_str(&json), &secret, NULL), 0);
    s->request = request_of("secrets", COR_STR(""), &create_cbs);
    cor_api_create(s->port, &s->request, secret, NULL);
}

static const struct cor_api_request_cbs read_cbs = {.on_done = on_config_read};

static void sample_reconcile(void *arg, struct cor_reconcile *rec)
{
    struct sample *s = arg;

    assert_null(s->rec);
    assert_str(rec->ns, "default");
    s->rec = rec;
    s->request = request_of("configmaps", rec->name, &read_cbs);
    cor_api_get(s->port, &s->request, COR_STR(""));
}

static void sample_on_cancel(void *arg, struct cor_reconcile *rec)
{
    struct sample *s = arg;

    assert_ptr_equal(s->rec, rec);
    cor_api_cancel(s->port, &s->request);
    sample_finish(s, NULL);
}

static void sample_on_report(void *arg, const struct cor_control_report *report)
{
    (void)report;
    ((struct sample *)arg)->nreports++;
}

static void sample_on_stopped(void *arg, const struct cor_status *why)
{
    assert_null(why);
    ((struct sample *)arg)->is_stopped = true;
}

void sample_begin(struct sample *s, struct cor_api_port *port)
{
    const struct cor_port_controller_opts opts = {.port = port,
                                                  .rand = &s->rand,
                                                  .control = {.reconcile = sample_reconcile,
                                                              .on_cancel = sample_on_cancel,
                                                              .on_report = sample_on_report,
                                                              .on_stopped = sample_on_stopped,
                                                              .arg = s}};
    const struct cor_port_source configs = {
        .source = {.kind = COR_CONTROL_FOR, .gk = {COR_STR(""), COR_STR("ConfigMap")}},
        .what = {.of = {.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")},
                               .ns = COR_STR("default")},
                        .label_selector = COR_STR("keep=yes")}}};
    const struct cor_port_source secrets = {
        .source = {.kind = COR_CONTROL_OWNS, .gk = {COR_STR(""), COR_STR("Secret")}},
        .what = {.of = {.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("secrets")},
                               .ns = COR_STR("default")}},
                 .keeps_objects = true}};

    *s = (struct sample){.port = port};
    cor_rand_init(&s->rand);
    assert_int_equal(cor_port_controller_new(&opts, &s->controller, NULL), 0);
    assert_int_equal(cor_port_controller_add(s->controller, &configs, NULL, NULL), 0);
    assert_int_equal(cor_port_controller_add(s->controller, &secrets, NULL, NULL), 0);
    assert_int_equal(cor_port_controller_start(s->controller, NULL), 0);
}

void sample_stop(struct sample *s)
{
    cor_port_controller_stop(s->controller, 60000);
}

void sample_free(struct sample *s)
{
    assert_true(s->is_stopped);
    s->controller = cor_port_controller_free(s->controller);
}

bool sample_is_idle(struct sample *s)
{
    struct cor_control_loop *l = cor_port_controller_loop(s->controller);
    struct cor_control_loop_stats stats;

    cor_control_loop_stats(l, &stats);
    return cor_control_loop_is_synced(l) && stats.active == 0 && stats.queue.depth == 0;
}
