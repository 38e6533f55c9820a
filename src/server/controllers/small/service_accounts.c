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
#include "base/err.h"
#include "coracle/view.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/controller_tools.h"
#include "server/controllers/host/small_controller.h"

#define NAME "serviceaccount-controller"
#define BODY "{\"metadata\":{\"name\":\"default\"}}"

enum { NAMESPACES, ACCOUNTS, SOURCES }; /* what is followed */

static void accounts_on_created(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_task *task = COR_CONTAINER_OF(req, struct cor_task, req);
    const struct cor_status *error = answer->error;

    if (!error || error->err == -COR_EEXIST || cor_is_namespace_terminating(error))
        cor_task_end(task, 0, NULL);
    else
        cor_task_end(task, error->err, error);
}

static void accounts_reconcile(struct cor_task *task)
{
    static const struct cor_api_request_cbs cbs = {.on_done = accounts_on_created};
    struct cor_control_feed *const *feeds = task->reconciler->feeds;
    struct cor_str name = task->rec->name;
    const struct cor_object *ns = cor_control_feed_peek(feeds[NAMESPACES], COR_STR(""), name);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *account = NULL;
    int r = 0;

    if (ns && cor_is_namespace_active(ns) &&
        !cor_control_feed_has(feeds[ACCOUNTS], name, COR_STR("default")))
        r = cor_object_from_json(COR_STR(BODY), &account, NULL);
    if (!account) {
        cor_task_end(task, r, NULL);
        return;
    }
    task->req = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("serviceaccounts")}, .ns = name},
        .cbs = &cbs,
    };
    cor_api_create(cor_task_port(task), &task->req, account, NULL);
}

static int accounts_new(const struct cor_server_controller_env *env, void **ret_controller,
                        struct cor_status *reterr)
{
    static const struct cor_control_predicate is_no_deletion = {cor_control_is_no_deletion, NULL};
    static const struct cor_control_predicate is_deletion = {cor_control_is_deletion, NULL};
    static const struct cor_port_source sources[SOURCES] = {
        [NAMESPACES] = {.source = {.kind = COR_CONTROL_FOR,
                                   .gk = {COR_STR_INIT(""), COR_STR_INIT("Namespace")},
                                   .is_cluster_scoped = true,
                                   .predicates = {&is_no_deletion, 1}},
                        .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                                       COR_STR_INIT("namespaces")}}},
                                 .keeps_objects = true}},
        [ACCOUNTS] = {.source = {.kind = COR_CONTROL_WATCHES,
                                 .gk = {COR_STR_INIT(""), COR_STR_INIT("ServiceAccount")},
                                 .map = cor_map_to_namespace,
                                 .predicates = {&is_deletion, 1}},
                      .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                                     COR_STR_INIT("serviceaccounts")}},
                                      .field_selector = COR_STR_INIT("metadata.name=default")}}},
    };
    static const struct cor_reconciler_opts opts = {.name = NAME,
                                                    .task_size = sizeof(struct cor_task),
                                                    .sources = sources,
                                                    .nsources = SOURCES,
                                                    .reconcile = accounts_reconcile};

    return cor_small_controller_new(env, &opts, ret_controller, reterr);
}

const struct cor_server_controller_ops cor_service_accounts_ops = {
    .name = NAME,
    .account = "service-account-controller",
    .queues = {"serviceaccount"},
    .new = accounts_new,
    .start = cor_small_controller_start,
    .stop = cor_small_controller_stop,
    .free = cor_small_controller_release,
    .loop = cor_small_controller_loop,
};
