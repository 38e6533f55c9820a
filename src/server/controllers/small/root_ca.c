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
#include <assert.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "coracle/builder.h"
#include "coracle/view.h"
#include "kit/controller/port_controller.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/controller_tools.h"
#include "json/write/writer.h"

#define NAME "kube-root-ca.crt"
#define KEY  "ca.crt"
#define DESCRIPTION                                                                                \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "      \
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "      \
    "guaranteed across distributions of Kubernetes clusters."
#define DATA_MAX (2u << 20)

struct root_ca {
    struct cor_server_controller_env env;
    struct cor_port_controller *controller;
    struct cor_control_feed *maps; /* the controller's */
    struct cor_reconcile *rec;     /* the one under way, or NULL */
    struct cor_api_request req;
    struct cor_buf data; /* the member `data` of each ConfigMap, as JSON */
    struct cor_buf
        body; /* what every ConfigMap has: a new one, and the patch of one that differs */
};

static void root_ca_finish(struct root_ca *ca, int err, const struct cor_status *why)
{
    const struct cor_reconcile_result result = {.err = err, .why = why};

    cor_reconcile_done(COR_STEAL(ca->rec), &result);
}

static void root_ca_on_created(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct root_ca *ca = COR_CONTAINER_OF(req, struct root_ca, req);
    const struct cor_status *error = answer->error;

    if (!error || error->err == -COR_ENOTFOUND || cor_is_namespace_terminating(error))
        root_ca_finish(ca, 0, NULL);
    else
        root_ca_finish(ca, error->err, error);
}

static void root_ca_on_updated(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct root_ca *ca = COR_CONTAINER_OF(req, struct root_ca, req);

    root_ca_finish(ca, answer->error ? answer->error->err : 0, answer->error);
}

/* Has it exactly our data, and some description? */
static bool root_ca_is_right(const struct root_ca *ca, const struct cor_object *map)
{
    struct cor_view root = cor_object_view(map);
    struct cor_view metadata = cor_view_member(root, COR_STR("metadata"));
    struct cor_view annotations = cor_view_member(metadata, COR_STR("annotations"));
    struct cor_str description = cor_view_text_or(
        cor_view_member(annotations, COR_STR("kubernetes.io/description")), NULL, 0, "?");

    /* The stored form of an object is canonical, as is what the writer has written. */
    return cor_str_eq(cor_view_member(root, COR_STR("data")).json, cor_buf_str(&ca->data)) &&
           description.n > 0 &&
           cor_view_exists(cor_view_member(annotations, COR_STR("kubernetes.io/description")));
}

/* The ConfigMap as it should be: `map` with our data in place of its own and with the description,
 * or a new one when `map` is NULL. 0, -COR_ENOMEM. */
static int root_ca_make(const struct root_ca *ca, const struct cor_object *map,
                        struct cor_object **ret_object)
{
    struct cor_builder *b = NULL;
    int r = cor_builder_new(map, &b);

    if (r < 0)
        return r;
    /* The first failure is the result of `finish`. */
    (void)cor_builder_set_text(b, "metadata.name", COR_STR(NAME));
    (void)cor_builder_set_annotation(b, "kubernetes.io/description", COR_STR(DESCRIPTION));
    (void)cor_builder_set_json(b, "data", cor_buf_str(&ca->data));
    r = cor_builder_finish(b, ret_object, NULL);
    cor_builder_free(b);
    return r;
}

static void root_ca_reconcile(void *arg, struct cor_reconcile *rec)
{
    static const struct cor_api_request_cbs create_cbs = {.on_done = root_ca_on_created};
    static const struct cor_api_request_cbs update_cbs = {.on_done = root_ca_on_updated};
    struct root_ca *ca = arg;
    const struct cor_object *map = cor_control_feed_peek(ca->maps, rec->name, COR_STR(NAME));
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r = 0;

    assert(!ca->rec && rec->ns.n == 0);
    ca->rec = rec;
    ca->req = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")}, .ns = rec->name},
        .cbs = map ? &update_cbs : &create_cbs,
    };
    if (!map || !root_ca_is_right(ca, map))
        r = root_ca_make(ca, map, &object);
    if (r < 0 || !object)
        root_ca_finish(ca, r, NULL);
    else if (map)
        cor_api_update(ca->env.port, &ca->req, object, NULL);
    else
        cor_api_create(ca->env.port, &ca->req, object, NULL);
}

static void root_ca_on_cancel(void *arg, struct cor_reconcile *rec)
{
    struct root_ca *ca = arg;

    cor_api_cancel(ca->env.port, &ca->req);
    root_ca_finish(ca, -COR_ECANCELED, NULL);
}

static void root_ca_on_stopped(void *arg, const struct cor_status *why)
{
    struct root_ca *ca = arg;

    ca->env.on_stopped(ca->env.arg, why);
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

/* The member `data` of every ConfigMap. 0, -COR_ENOMEM. */
static int root_ca_write_data(struct root_ca *ca)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, &ca->data);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR(KEY), ca->env.root_ca);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void root_ca_free(void *controller)
{
    struct root_ca *ca = controller;

    cor_port_controller_free(ca->controller);
    cor_buf_deinit(&ca->data);
    cor_free(ca);
}

static int root_ca_new(const struct cor_server_controller_env *env, void **ret_controller,
                       struct cor_status *reterr)
{
    static const struct cor_control_predicate of_namespaces = {namespace_passes, NULL};
    static const struct cor_control_predicate of_maps = {map_passes, NULL};
    static const struct cor_port_source namespaces = {
        .source = {.kind = COR_CONTROL_FOR,
                   .gk = {COR_STR_INIT(""), COR_STR_INIT("Namespace")},
                   .is_cluster_scoped = true,
                   .predicates = {&of_namespaces, 1}},
        .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                       COR_STR_INIT("namespaces")}}}},
    };
    static const struct cor_port_source maps = {
        .source = {.kind = COR_CONTROL_WATCHES,
                   .gk = {COR_STR_INIT(""), COR_STR_INIT("ConfigMap")},
                   .map = cor_map_to_namespace,
                   .predicates = {&of_maps, 1}},
        .what = {.of = {.at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                       COR_STR_INIT("configmaps")}},
                        .field_selector = COR_STR_INIT("metadata.name=" NAME)},
                 .keeps_objects = true},
    };
    struct root_ca *ca = cor_calloc(1, sizeof(*ca));
    struct cor_port_controller_opts opts = {
        .port = env->port,
        .rand = env->rand,
        .control = {.name = "root-ca-certificate-publisher-controller",
                    .clock = env->clock,
                    .reconcile = root_ca_reconcile,
                    .on_cancel = root_ca_on_cancel,
                    .on_stopped = root_ca_on_stopped,
                    .arg = ca},
    };
    int r;

    if (!ca)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    ca->env = *env;
    cor_buf_init(&ca->data, DATA_MAX);
    r = root_ca_write_data(ca);
    if (r < 0)
        (void)cor_status_set_err(reterr, r);
    if (r == 0)
        r = cor_port_controller_new(&opts, &ca->controller, reterr);
    if (r == 0)
        r = cor_port_controller_add(ca->controller, &namespaces, NULL, reterr);
    if (r == 0)
        r = cor_port_controller_add(ca->controller, &maps, &ca->maps, reterr);
    if (r < 0) {
        root_ca_free(ca);
        return r;
    }
    *ret_controller = ca;
    return 0;
}

static int root_ca_start(void *controller, struct cor_status *reterr)
{
    return cor_port_controller_start(((struct root_ca *)controller)->controller, reterr);
}

static void root_ca_stop(void *controller, uint64_t max_ms)
{
    cor_port_controller_stop(((struct root_ca *)controller)->controller, max_ms);
}

static struct cor_control_loop *root_ca_loop(void *controller, size_t queue)
{
    assert(queue == 0);
    return cor_port_controller_loop(((struct root_ca *)controller)->controller);
}

const struct cor_server_controller_ops cor_root_ca_ops = {
    .name = "root-ca-certificate-publisher-controller",
    .account = "root-ca-cert-publisher",
    .queues = {"root_ca_cert_publisher"},
    .new = root_ca_new,
    .start = root_ca_start,
    .stop = root_ca_stop,
    .free = root_ca_free,
    .loop = root_ca_loop,
};
