/* The service account controller. Contract controllers 3.1. */
#include "../host_fixture.h"

#include "base/err.h"
#include "server/controllers/host/builtin.h"

#define LIST     "serviceaccount-controller"
#define ACCOUNT  "/api/v1/namespaces/team/serviceaccounts/default"
#define ACCOUNTS "/api/v1/namespaces/team/serviceaccounts"

static void create_team(struct hfx *h, const char *json)
{
    hfx_do(h, 201, "POST", "/api/v1/namespaces", json);
}

/* Contract controllers 3.1.1, 3.1.2, 3.1.4. */
TEST(service_accounts, every_active_namespace_gets_a_default_account)
{
    struct hfx h;
    const char *account;

    hfx_open(&h, LIST);
    /* Of the namespaces that exist before the start … */
    hfx_await(&h, "/api/v1/namespaces/kube-system/serviceaccounts/default", "metadata.name",
              "default");
    hfx_await(&h, "/api/v1/namespaces/default/serviceaccounts/default", "metadata.name", "default");
    /* … and of new ones. It has nothing but a name. */
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    account = hfx_await(&h, ACCOUNT, "metadata.name", "default");
    assert_at(account, "metadata.namespace", "team");
    assert_at(account, "secrets", "");
    assert_at(account, "metadata.labels", "");
    hfx_close(&h);
}

/* Contract controllers 3.1.1, 3.1.6. */
TEST(service_accounts, a_default_account_that_is_deleted_comes_back_with_another_uid)
{
    struct hfx h;
    char uid[64];

    hfx_open(&h, LIST);
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    snprintf(uid, sizeof(uid), "%s",
             fx_at(hfx_await(&h, ACCOUNT, "metadata.name", "default"), "metadata.uid"));
    hfx_do(&h, 200, "DELETE", ACCOUNT, "");
    assert_string_not_equal(
        fx_at(hfx_await(&h, ACCOUNT, "metadata.name", "default"), "metadata.uid"), uid);
    hfx_close(&h);
}

/* Contract controllers 3.1.4, 3.1.6: an account that exists stays as it is. */
TEST(service_accounts, an_account_that_exists_is_not_changed)
{
    const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct hfx h;
    char version[32];

    pfx_open(&h.p, true);
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    snprintf(version, sizeof(version), "%s",
             fx_at(hfx_do(&h, 201, "POST", ACCOUNTS,
                          "{\"metadata\":{\"name\":\"default\"},\"imagePullSecrets\":[{\"name\":"
                          "\"mine\"}],\"automountServiceAccountToken\":false}"),
                   "metadata.resourceVersion"));
    hfx_start(&h, LIST);
    fx_do_with(&h.p.a.fx, 200, "PATCH", "/api/v1/namespaces/team",
               "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", &merge);
    create_team(&h, "{\"metadata\":{\"name\":\"later\"}}");
    hfx_await(&h, "/api/v1/namespaces/later/serviceaccounts/default", "metadata.name", "default");
    assert_at(hfx_do(&h, 200, "GET", ACCOUNT, ""), "metadata.resourceVersion", version);
    hfx_close(&h);
}

/* Contract controllers 3.1.3. */
TEST(service_accounts, a_namespace_that_terminates_gets_no_account)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    hfx_await(&h, ACCOUNT, "metadata.name", "default");
    hfx_do(&h, 200, "DELETE", "/api/v1/namespaces/team", "");
    hfx_do(&h, 200, "DELETE", ACCOUNT, "");
    /* The keys are reconciled in their order: a later namespace has its account when the deletion
     * was looked at. */
    create_team(&h, "{\"metadata\":{\"name\":\"later\"}}");
    hfx_await(&h, "/api/v1/namespaces/later/serviceaccounts/default", "metadata.name", "default");
    hfx_do(&h, 404, "GET", ACCOUNT, "");
    hfx_close(&h);
}

/* The controller by itself, on a port that refuses each creation. */
struct refused {
    struct pfx p;
    const struct cor_api_port_ops *own; /* the port's */
    struct cor_api_port_ops ops;        /* with another `send` */
    struct cor_rand rand;
    void *controller;
    bool is_stopped;
};

static size_t ncreations;
static bool creations_have_cause;

static void refuse_create(struct cor_api_port *port, struct cor_api_request *req,
                          const struct cor_api_operation *op)
{
    struct refused *f = COR_CONTAINER_OF(port, struct refused, p.ip.port);

    if (op->verb != COR_API_VERB_CREATE) {
        f->own->send(port, req, op);
        return;
    }
    ncreations++;
    assert_str(cor_object_name(op->object), "default");
    cor_status_set(&req->refusal, -COR_EFORBIDDEN, "refused");
    if (creations_have_cause)
        assert_int_equal(cor_status_add_cause(&req->refusal, "NamespaceTerminating", "going", NULL),
                         0);
    cor_api_refuse(port, req);
}

static void refused_on_stopped(void *arg, const struct cor_status *why)
{
    assert_null(why);
    ((struct refused *)arg)->is_stopped = true;
}

static bool refused_is_stopped(void *arg)
{
    return ((struct refused *)arg)->is_stopped;
}

static struct cor_control_loop_stats refused_stats(struct refused *f)
{
    struct cor_control_loop_stats stats;

    cor_control_loop_stats(cor_service_accounts_ops.loop(f->controller, 0), &stats);
    return stats;
}

static void refused_open(struct refused *f, bool has_cause)
{
    struct cor_server_controller_env env = {.clock = cor_clock_real(),
                                            .on_stopped = refused_on_stopped};

    *f = (struct refused){0};
    ncreations = 0;
    creations_have_cause = has_cause;
    pfx_open(&f->p, true);
    f->own = f->p.ip.port.ops;
    f->ops = *f->own;
    f->ops.send = refuse_create;
    f->p.ip.port.ops = &f->ops;
    cor_rand_init_seeded(&f->rand, 1);
    env.port = &f->p.ip.port;
    env.rand = &f->rand;
    env.arg = f;
    assert_int_equal(cor_service_accounts_ops.new(&env, &f->controller, NULL), 0);
    assert_int_equal(cor_service_accounts_ops.start(f->controller, NULL), 0);
}

static void refused_close(struct refused *f)
{
    cor_service_accounts_ops.stop(f->controller, 1000);
    pfx_wait(&f->p, refused_is_stopped, f);
    cor_service_accounts_ops.free(f->controller);
    pfx_close(&f->p);
}

/* The four namespaces of the start. */
static bool has_looked_at_all(void *arg)
{
    struct cor_control_loop_stats stats = refused_stats(arg);

    return stats.success + stats.error >= 4 && stats.active == 0;
}

static bool has_tried_again(void *arg)
{
    return ncreations > 4;
}

/* Contract controllers 3.1.5. */
TEST(service_accounts, a_refusal_because_the_namespace_terminates_is_no_failure)
{
    struct refused f;

    refused_open(&f, true);
    pfx_wait(&f.p, has_looked_at_all, &f);
    assert_int_equal(ncreations, 4);
    assert_int_equal(refused_stats(&f).error, 0);
    refused_close(&f);
}

/* Contract controllers 3.1.5. */
TEST(service_accounts, any_other_refusal_is_tried_again)
{
    struct refused f;

    refused_open(&f, false);
    pfx_wait(&f.p, has_tried_again, &f);
    assert_true(refused_stats(&f).error >= 4);
    refused_close(&f);
}
