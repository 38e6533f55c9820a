/* clang-format off */
/* The service account controller: every active namespace has a ServiceAccount `default`. Contract
 * controllers 3.1.
 *
 *   a Namespace was created or updated ──┐
 *   a ServiceAccount was deleted ────────┴─► its namespace is reconciled: active, and `default` is missing ──► POST
 *
 * Upstream follows the deletions of all service accounts. Only that of `default` changes anything, so only `default`
 * is followed here.
 * An answer 409 (somebody was faster), and 403 because the namespace terminates, are fine; the next change of the
 * namespace, or the limiter, brings the next try for any other failure.
 * Thread: the host's loop. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "coracle/view.h"
#include "kit/controller/port_controller.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/controller_tools.h"

#define BODY "{\"metadata\":{\"name\":\"default\"}}"

struct service_accounts {
    struct cor_server_controller_env env;
    struct cor_port_controller *controller;
    struct cor_control_feed *namespaces, *accounts; /* the controller's */
    struct cor_reconcile *rec;                      /* the one under way, or NULL */
    struct cor_api_request create;
};

static void accounts_finish(struct service_accounts *a, int err, const struct cor_status *why)
{
    const struct cor_reconcile_result result = {.err = err, .why = why};

    cor_reconcile_done(COR_STEAL(a->rec), &result);
}

static void accounts_on_created(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct service_accounts *a = COR_CONTAINER_OF(req, struct service_accounts, create);
    const struct cor_status *error = answer->error;

    if (!error || error->err == -COR_EEXIST || cor_is_namespace_terminating(error))
        accounts_finish(a, 0, NULL);
    else
        accounts_finish(a, error->err, error);
}

static void accounts_reconcile(void *arg, struct cor_reconcile *rec)
{
    static const struct cor_api_request_cbs cbs = {.on_done = accounts_on_created};
    struct service_accounts *a = arg;
    const struct cor_object *ns = cor_control_feed_peek(a->namespaces, COR_STR(""), rec->name);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *account = NULL;
    int r;

    assert(!a->rec && rec->ns.n == 0);
    a->rec = rec;
    if (!ns || !cor_is_namespace_active(ns) ||
        cor_control_feed_has(a->accounts, rec->name, COR_STR("default"))) {
        accounts_finish(a, 0, NULL);
        return;
    }
    r = cor_object_from_json(COR_STR(BODY), &account, NULL);
    if (r < 0) {
        accounts_finish(a, r, NULL);
        return;
    }
    a->create = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("serviceaccounts")}, .ns = rec->name},
        .cbs = &cbs,
    };
    cor_api_create(a->env.port, &a->create, account, NULL);
}

static void accounts_on_cancel(void *arg, struct cor_reconcile *rec)
{
    struct service_accounts *a = arg;

    cor_api_cancel(a->env.port, &a->create);
    accounts_finish(a, -COR_ECANCELED, NULL);
}

static void accounts_on_stopped(void *arg, const struct cor_status *why)
{
    struct service_accounts *a = arg;

    a->env.on_stopped(a->env.arg, why);
}

static void accounts_free(void *controller)
{
    struct service_accounts *a = controller;

    cor_port_controller_free(a->controller);
    cor_free(a);
}

static int accounts_new(const struct cor_server_controller_env *env, void **ret_controller,
                        struct cor_status *reterr)
{
    static const struct cor_control_predicate is_no_deletion = {cor_control_is_no_deletion, NULL};
    static const struct cor_control_predicate is_deletion = {cor_control_is_deletion, NULL};
    static const struct cor_port_source namespaces = {
        .source = {.kind = COR_CONTROL_FOR,
                   .gk = {COR_STR_INIT(""), COR_STR_INIT("Namespace")},
                   .is_cluster_scoped = true,
                   .predicates = {&is_no_deletion, 1}},
        .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                       COR_STR_INIT("namespaces")}}},
                 .keeps_objects = true},
    };
    static const struct cor_port_source accounts = {
        .source = {.kind = COR_CONTROL_WATCHES,
                   .gk = {COR_STR_INIT(""), COR_STR_INIT("ServiceAccount")},
                   .map = cor_map_to_namespace,
                   .predicates = {&is_deletion, 1}},
        .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                       COR_STR_INIT("serviceaccounts")}},
                        .field_selector = COR_STR_INIT("metadata.name=default")}},
    };
    struct service_accounts *a = cor_calloc(1, sizeof(*a));
    struct cor_port_controller_opts opts = {
        .port = env->port,
        .rand = env->rand,
        .control = {.name = "serviceaccount-controller",
                    .clock = env->clock,
                    .reconcile = accounts_reconcile,
                    .on_cancel = accounts_on_cancel,
                    .on_stopped = accounts_on_stopped,
                    .arg = a},
    };
    int r;

    if (!a)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    a->env = *env;
    r = cor_port_controller_new(&opts, &a->controller, reterr);
    if (r == 0)
        r = cor_port_controller_add(a->controller, &namespaces, &a->namespaces, reterr);
    if (r == 0)
        r = cor_port_controller_add(a->controller, &accounts, &a->accounts, reterr);
    if (r < 0) {
        accounts_free(a);
        return r;
    }
    *ret_controller = a;
    return 0;
}

static int accounts_start(void *controller, struct cor_status *reterr)
{
    return cor_port_controller_start(((struct service_accounts *)controller)->controller, reterr);
}

static void accounts_stop(void *controller, uint64_t max_ms)
{
    cor_port_controller_stop(((struct service_accounts *)controller)->controller, max_ms);
}

static struct cor_control_loop *accounts_loop(void *controller, size_t queue)
{
    assert(queue == 0);
    return cor_port_controller_loop(((struct service_accounts *)controller)->controller);
}

const struct cor_server_controller_ops cor_service_accounts_ops = {
    .name = "serviceaccount-controller",
    .account = "service-account-controller",
    .queues = {"serviceaccount"},
    .new = accounts_new,
    .start = accounts_start,
    .stop = accounts_stop,
    .free = accounts_free,
    .loop = accounts_loop,
};
