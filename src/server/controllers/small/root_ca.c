/* clang-format off */
/* The root CA publisher: every namespace has a ConfigMap `kube-root-ca.crt` with the certificate by which pods verify
 * this server. Contract controllers 3.2.
 *
 *   a Namespace was created, or is active and was updated ──┐    it is missing ──► POST
 *   a ConfigMap of that name was changed or deleted ────────┴─► it has other data, or no description ──► PUT
 *                                                               it is right: nothing
 *
 * 404 (there is no such namespace) and 403 because the namespace terminates are fine for a POST. A PUT has the version
 * that was read: 409 brings another try with the newer one.
 * Thread: the host's loop. */
/* clang-format on */
#include "base/buf.h"
#include "base/err.h"
#include "coracle/builder.h"
#include "coracle/view.h"
#include "meta/object/object_edit.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/controller_tools.h"
#include "server/controllers/host/small_controller.h"
#include "json/write/print.h"

#define CONTROLLER "root-ca-certificate-publisher-controller"
#define NAME       "kube-root-ca.crt"
#define KEY        "ca.crt"
#define DESCRIPTION                                                                                \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "      \
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "      \
    "guaranteed across distributions of Kubernetes clusters."
#define DATA_MAX (2u << 20)

enum { NAMESPACES, MAPS, SOURCES }; /* what is followed */

static void root_ca_on_created(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_task *task = COR_CONTAINER_OF(req, struct cor_task, req);
    const struct cor_status *error = answer->error;

    if (!error || error->err == -COR_ENOTFOUND || cor_is_namespace_terminating(error))
        cor_task_end(task, 0, NULL);
    else
        cor_task_end(task, error->err, error);
}

static void root_ca_on_updated(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_task *task = COR_CONTAINER_OF(req, struct cor_task, req);

    cor_task_end(task, answer->error ? answer->error->err : 0, answer->error);
}

/* Has it exactly our data, and some description? */
static bool root_ca_is_right(const struct cor_object *map, struct cor_str data)
{
    struct cor_view description = cor_object_annotation(map, COR_STR("kubernetes.io/description"));

    /* The stored form of an object is canonical, as is what the writer has written. */
    return cor_str_eq(cor_object_member(map, COR_STR("data")), data) &&
           cor_view_exists(description) && cor_view_text_or(description, NULL, 0, "?").n > 0;
}

/* The ConfigMap as it should be: `map` with our data in place of its own and with the description,
 * or a new one when `map` is NULL. 0, -COR_ENOMEM. */
static int root_ca_make(const struct cor_object *map, struct cor_str data,
                        struct cor_object **ret_object)
{
    struct cor_builder *b = NULL;
    int r = cor_builder_new(map, &b);

    if (r < 0)
        return r;
    /* The first failure is the result of `finish`. */
    (void)cor_builder_set_text(b, "metadata.name", COR_STR(NAME));
    (void)cor_builder_set_annotation(b, "kubernetes.io/description", COR_STR(DESCRIPTION));
    (void)cor_builder_set_json(b, "data", data);
    r = cor_builder_finish(b, ret_object, NULL);
    cor_builder_free(b);
    return r;
}

/* The member `data` of every ConfigMap. 0, -COR_ENOMEM. */
static int root_ca_write_data(const struct cor_task *task, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{" KEY ":%s}", cor_small_controller_of(task)->env.root_ca);
    return cor_json_writer_finish(&w);
}

static void root_ca_reconcile(struct cor_task *task)
{
    static const struct cor_api_request_cbs create_cbs = {.on_done = root_ca_on_created};
    static const struct cor_api_request_cbs update_cbs = {.on_done = root_ca_on_updated};
    struct cor_str ns = task->rec->name;
    const struct cor_object *map =
        cor_control_feed_peek(task->reconciler->feeds[MAPS], ns, COR_STR(NAME));
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf data;
    int r;

    cor_buf_init(&data, DATA_MAX);
    task->req = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")}, .ns = ns},
        .cbs = map ? &update_cbs : &create_cbs,
    };
    r = root_ca_write_data(task, &data);
    if (r == 0 && (!map || !root_ca_is_right(map, cor_buf_str(&data))))
        r = root_ca_make(map, cor_buf_str(&data), &object);
    if (!object)
        cor_task_end(task, r, NULL);
    else if (map)
        cor_api_update(cor_task_port(task), &task->req, object, NULL);
    else
        cor_api_create(cor_task_port(task), &task->req, object, NULL);
}

/* A Namespace that was created in any phase, or is active and was updated. */
static bool namespace_passes(const void *arg, const struct cor_control_event *event)
{
    return event->kind == COR_CONTROL_CREATED ||
           (event->kind == COR_CONTROL_UPDATED && cor_is_namespace_active(event->object));
}

static bool map_passes(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_CREATED;
}

static int root_ca_new(const struct cor_server_controller_env *env, void **ret_controller,
                       struct cor_status *reterr)
{
    static const struct cor_control_predicate of_namespaces = {namespace_passes, NULL};
    static const struct cor_control_predicate of_maps = {map_passes, NULL};
    static const struct cor_port_source sources[SOURCES] = {
        [NAMESPACES] = {.source = {.kind = COR_CONTROL_FOR,
                                   .gk = {COR_STR_INIT(""), COR_STR_INIT("Namespace")},
                                   .is_cluster_scoped = true,
                                   .predicates = {&of_namespaces, 1}},
                        .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                                       COR_STR_INIT("namespaces")}}}}},
        [MAPS] = {.source = {.kind = COR_CONTROL_WATCHES,
                             .gk = {COR_STR_INIT(""), COR_STR_INIT("ConfigMap")},
                             .map = cor_map_to_namespace,
                             .predicates = {&of_maps, 1}},
                  .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                                 COR_STR_INIT("configmaps")}},
                                  .field_selector = COR_STR_INIT("metadata.name=" NAME)},
                           .keeps_objects = true}},
    };
    static const struct cor_reconciler_opts opts = {.name = CONTROLLER,
                                                    .task_size = sizeof(struct cor_task),
                                                    .sources = sources,
                                                    .nsources = SOURCES,
                                                    .reconcile = root_ca_reconcile};

    return cor_small_controller_new(env, &opts, ret_controller, reterr);
}

const struct cor_server_controller_ops cor_root_ca_ops = {
    .name = CONTROLLER,
    .account = "root-ca-cert-publisher",
    .queues = {"root_ca_cert_publisher"},
    .new = root_ca_new,
    .start = cor_small_controller_start,
    .stop = cor_small_controller_stop,
    .free = cor_small_controller_release,
    .loop = cor_small_controller_loop,
};
