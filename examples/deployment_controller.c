#include "deployment_controller.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_TIMEOUT_MS 30000
#define KEY_MAX            512

static const struct cor_resource deployments = {"apps", "v1", "deployments"};
static const struct cor_resource replicasets = {"apps", "v1", "replicasets"};

static struct cor_view field(struct cor_object *object, const char *section, const char *name)
{
    struct cor_view part = cor_view_member(cor_object_view(object), cor_strz(section));

    return cor_view_member(part, cor_strz(name));
}

static void enqueue(struct deployment_controller *c, struct cor_str ns, struct cor_str name)
{
    char key[KEY_MAX];

    snprintf(key, sizeof(key), "%.*s/%.*s", COR_STR_ARG(ns), COR_STR_ARG(name));
    cor_workqueue_add(c->queue, key);
}

/* Handlers only note which key needs work: level, not edge. What happened is read from the cache
 * later. */
static void on_deployment(void *arg, struct cor_object *object, bool in_initial_list)
{
    enqueue(arg, cor_object_namespace(object), cor_object_name(object));
}

static void on_deployment_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    on_deployment(arg, object, false);
}

static void on_deployment_gone(void *arg, struct cor_str key, struct cor_object *object, bool lost)
{
    char text[KEY_MAX];
    struct deployment_controller *c = arg;

    snprintf(text, sizeof(text), "%.*s", COR_STR_ARG(key));
    cor_workqueue_add(c->queue, text);
}

static struct cor_view controller_of(struct cor_object *object)
{
    struct cor_view_iter it = cor_view_iter(field(object, "metadata", "ownerReferences"));

    while (cor_view_next(&it))
        if (cor_view_bool_or(cor_view_member(it.value, COR_STR("controller")), false))
            return it.value;
    return cor_view(COR_STR(""));
}

/* A ReplicaSet is of interest to the Deployment that controls it. */
static void on_replicaset(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct cor_view owner = controller_of(object);
    struct cor_str kind = cor_view_text_or(cor_view_member(owner, COR_STR("kind")), NULL, 0, "");

    if (cor_str_eqz(kind, "Deployment"))
        enqueue(arg, cor_object_namespace(object),
                cor_view_text_or(cor_view_member(owner, COR_STR("name")), NULL, 0, ""));
}

static void on_replicaset_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    /* Resyncs and relists bring the same version again. */
    if (!cor_str_eq(cor_object_resource_version(old), cor_object_resource_version(object)))
        on_replicaset(arg, object, false);
}

static void on_replicaset_gone(void *arg, struct cor_str key, struct cor_object *object, bool lost)
{
    if (object)
        on_replicaset(arg, object, false);
}

static int add_handlers(struct deployment_controller *c)
{
    const struct cor_handler_opts of_deployments = {
        COR_HANDLER_DEFAULTS,
        .on = {on_deployment, on_deployment_update, on_deployment_gone, NULL, c}};
    const struct cor_handler_opts of_replicasets = {
        COR_HANDLER_DEFAULTS,
        .on = {on_replicaset, on_replicaset_update, on_replicaset_gone, NULL, c}};
    int r = cor_informer_add_handler(c->deployments, &of_deployments, NULL);

    return r < 0 ? r : cor_informer_add_handler(c->replicasets, &of_replicasets, NULL);
}

/* No server, no permission: the informer goes on trying. */
static void on_watch_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    const struct deployment_controller *c = arg;

    fprintf(stderr, "%s: %.*s: %s\n", c->program, COR_STR_ARG(plural), cor_status_message(error));
}

int deployment_controller_open(struct deployment_controller *c, struct cor_client *client,
                               const struct deployment_controller_opts *opts,
                               struct cor_status *why)
{
    const struct cor_workqueue_opts queue = {COR_WORKQUEUE_OPTS, .on_ready = opts->on_ready,
                                             .arg = opts->arg};
    const struct cor_informers_opts set = {COR_INFORMERS_OPTS, .on_watch_error = on_watch_error,
                                           .arg = c};
    const struct cor_events_opts events = {COR_EVENTS_OPTS, .component = "deployment-controller"};
    const struct cor_informer_opts of_deployments = {COR_INFORMER_OPTS, .resource = deployments};
    const struct cor_informer_opts of_replicasets = {COR_INFORMER_OPTS, .resource = replicasets};
    int r;

    *c = (struct deployment_controller){.program = opts->program, .client = client};
    r = cor_workqueue_new(&queue, &c->queue);
    if (r == 0)
        r = cor_events_new(client, &events, &c->events);
    if (r == 0)
        r = cor_informers_new(client, &set, &c->informers);
    if (r == 0)
        r = cor_informers_for_resource(c->informers, &of_deployments, &c->deployments, why);
    if (r == 0)
        r = cor_informers_for_resource(c->informers, &of_replicasets, &c->replicasets, why);
    if (r == 0)
        r = cor_informer_on_sync(c->deployments, opts->on_synced, opts->arg);
    if (r == 0)
        r = cor_informer_on_sync(c->replicasets, opts->on_synced, opts->arg);
    return r < 0 ? r : add_handlers(c);
}

void deployment_controller_close(struct deployment_controller *c)
{
    cor_informers_free(c->informers);
    cor_events_free(c->events);
    cor_workqueue_free(c->queue);
}

static int create_replicaset(struct deployment_controller *c, struct cor_object *deployment,
                             struct cor_status *why)
{
    struct cor_str ns = cor_object_namespace(deployment), name = cor_object_name(deployment);
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = replicasets,
                              .timeout_ms = REQUEST_TIMEOUT_MS};
    char space[KEY_MAX];
    struct cor_builder *b;
    int r = cor_builder_new(NULL, &b);

    if (r < 0)
        return r;
    cor_builder_set_text(b, "apiVersion", COR_STR("apps/v1"));
    cor_builder_set_text(b, "kind", COR_STR("ReplicaSet"));
    cor_builder_set_text(b, "metadata.name", name);
    cor_builder_append_json(b, "metadata.ownerReferences", COR_STR("{}"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].apiVersion", COR_STR("apps/v1"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].kind", COR_STR("Deployment"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].name", name);
    cor_builder_set_text(b, "metadata.ownerReferences[0].uid", cor_object_uid(deployment));
    cor_builder_set_bool(b, "metadata.ownerReferences[0].controller", true);
    cor_builder_set_int(b, "spec.replicas",
                        cor_view_int_or(field(deployment, "spec", "replicas"), 1));
    cor_builder_set_json(b, "spec.selector", field(deployment, "spec", "selector").json);
    cor_builder_set_json(b, "spec.template", field(deployment, "spec", "template").json);
    r = cor_builder_finish(b, &req.object, why);
    cor_builder_free(b);
    snprintf(space, sizeof(space), "%.*s", COR_STR_ARG(ns));
    req.ns = space;
    if (r == 0)
        r = cor_client_do(c->client, &req, NULL, why);
    cor_object_unref(req.object);
    return r;
}

/* Writes a changed copy: what the cache holds is shared, and never modified. */
static int write(struct deployment_controller *c, struct cor_resource resource,
                 const char *subresource, struct cor_builder *b, struct cor_status *why)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = resource,
                              .subresource = subresource, .timeout_ms = REQUEST_TIMEOUT_MS};
    char space[KEY_MAX];
    int r = cor_builder_finish(b, &req.object, why);

    if (r < 0)
        return r;
    snprintf(space, sizeof(space), "%.*s", COR_STR_ARG(cor_object_namespace(req.object)));
    req.ns = space;
    r = cor_client_do(c->client, &req, NULL, why);
    cor_object_unref(req.object);
    return r;
}

static int scale(struct deployment_controller *c, struct cor_object *replicaset, int64_t wanted,
                 struct cor_status *why)
{
    struct cor_builder *b;
    int r = cor_builder_new(replicaset, &b);

    if (r < 0)
        return r;
    cor_builder_set_int(b, "spec.replicas", wanted);
    r = write(c, replicasets, NULL, b, why);
    cor_builder_free(b);
    return r;
}

static int update_status(struct deployment_controller *c, struct cor_object *deployment,
                         struct cor_object *replicaset, struct cor_status *why)
{
    int64_t generation = cor_view_int_or(field(deployment, "metadata", "generation"), 0);
    int64_t replicas = cor_view_int_or(field(replicaset, "status", "replicas"), 0);
    struct cor_builder *b;
    int r;

    if (cor_view_int_or(field(deployment, "status", "observedGeneration"), 0) == generation &&
        cor_view_int_or(field(deployment, "status", "replicas"), 0) == replicas)
        return 0;
    r = cor_builder_new(deployment, &b);
    if (r < 0)
        return r;
    cor_builder_set_int(b, "status.observedGeneration", generation);
    cor_builder_set_int(b, "status.replicas", replicas);
    r = write(c, deployments, "status", b, why);
    cor_builder_free(b);
    return r;
}

/* A ReplicaSet of another owner has the name. */
static bool is_of(struct cor_object *replicaset, struct cor_object *deployment)
{
    struct cor_view uid = cor_view_member(controller_of(replicaset), COR_STR("uid"));

    return cor_str_eq(cor_view_text_or(uid, NULL, 0, ""), cor_object_uid(deployment));
}

static int reconcile_with(struct deployment_controller *c, struct cor_object *deployment,
                          struct cor_object *replicaset, struct cor_status *why)
{
    int64_t wanted = cor_view_int_or(field(deployment, "spec", "replicas"), 1);
    int64_t there = cor_view_int_or(field(replicaset, "spec", "replicas"), 1);
    int r = 0;

    if (!is_of(replicaset, deployment)) {
        cor_events_record(c->events, deployment, COR_EVENT_WARNING, "ErrResourceExists",
                          "a ReplicaSet of this name is not managed by this Deployment");
        return -COR_EEXIST;
    }
    if (wanted != there)
        r = scale(c, replicaset, wanted, why);
    return r < 0 ? r : update_status(c, deployment, replicaset, why);
}

/* Decides by the present state, whatever led to it. */
static int reconcile(struct deployment_controller *c, const char *key, struct cor_status *why)
{
    struct cor_object *deployment, *replicaset;
    int r = cor_informer_get_by_key(c->deployments, cor_strz(key), &deployment);

    if (r == -COR_ENOTFOUND)
        return 0; /* deleted; the garbage collector takes what it owned */
    if (r < 0)
        return r;
    r = cor_informer_get_by_key(c->replicasets, cor_strz(key), &replicaset);
    if (r == -COR_ENOTFOUND) {
        r = create_replicaset(c, deployment, why);
        if (r == 0)
            cor_events_record(c->events, deployment, COR_EVENT_NORMAL, "Created",
                              "created its ReplicaSet");
    } else if (r == 0) {
        r = reconcile_with(c, deployment, replicaset, why);
        cor_object_unref(replicaset);
    }
    cor_object_unref(deployment);
    return r;
}

void deployment_controller_work(struct deployment_controller *c, const char *key)
{
    struct cor_status why;
    int r;

    cor_status_init(&why);
    r = reconcile(c, key, &why);
    if (r == 0) {
        cor_workqueue_forget(c->queue, key);
    } else {
        fprintf(stderr, "%s: %s; again later\n", key,
                why.err ? cor_status_message(&why) : cor_err_text(r));
        cor_workqueue_add_rate_limited(c->queue, key);
    }
    cor_workqueue_done(c->queue, key);
    cor_status_deinit(&why);
}
