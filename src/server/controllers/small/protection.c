/* clang-format off */
/* The three controllers that keep storage objects while they are used (contract controllers 3.9):
 * claims while a pod uses them, volumes while a claim is bound to them, VolumeAttributesClasses while a
 * claim or a volume names them. The strategies of the kinds (api/all.strategies) add the finalizer
 * when an object is created; these controllers remove it from an object that is being deleted and that
 * nobody uses.
 *
 *   GET the object ──► not there, or nothing to do: done ──► not being deleted, and without the finalizer (it is
 *   older than this server): PUT with it ──► for each kind of users: LIST them from the store, with the other objects
 *   of the namespace that are looked at (shared_list.h) ──► one uses the object: wait for its change, and look again after RECHECK_MS ──► nobody does: PUT without the finalizer
 *
 * The feeds keep no objects. A deletion of a user that no watch has shown therefore wakes nobody; the object is looked
 * at again after RECHECK_MS. Upstream keeps all pods for this.
 * A write that comes too late (409) is tried again with the object as it is then.
 * Thread: the host's loop. */
/* clang-format on */
#include <stdio.h>

#include "base/buf.h"

#include "base/err.h"
#include "coracle/builder.h"
#include "coracle/metadata.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/controller_tools.h"
#include "server/controllers/host/small_controller.h"
#include <assert.h>

#define RECHECK_MS 60000
#define USERS_MAX  2
#define NAME_MAX_  520

/* Who may use an object. */
struct protection_user {
    struct cor_gvr gvr;
    /* Sets is_used of those of the tasks (struct cor_list_member) whose object it uses. The user is
     * walked once for all of them. */
    void (*note_used)(const struct cor_object *user, struct cor_dlist *tasks);
};

/* One of the kinds that are protected. */
struct protection {
    const char *finalizer;
    struct cor_gvr gvr;
    /* Does the object itself show that it is used? NULL: no. */
    bool (*is_used)(const struct cor_object *object);
    struct protection_user users[USERS_MAX];
    size_t nusers;
};

struct protection_task {
    struct cor_task task; /* first */
    const struct protection *kind;
    struct cor_object *object; /* as it was read */
    struct cor_str name;       /* its own: of a large object it takes long to find */
    size_t user;               /* whose list is under way */
    struct cor_list_member member;
    bool is_used;
};

static struct protection_task *protection_task_of(struct cor_task *task)
{
    struct protection_task *own = COR_CONTAINER_OF(task, struct protection_task, task);

    assert(cor_task_size(task) == sizeof(*own));
    return own;
}

static void protection_on_object(struct cor_api_request *req, const struct cor_api_answer *answer);
static void protection_on_user(struct cor_dlist *members, struct cor_object *item);
static void protection_on_users(struct cor_list_member *member,
                                const struct cor_api_answer *answer);
static void protection_on_written(struct cor_api_request *req, const struct cor_api_answer *answer);

static struct protection_task *task_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct protection_task, task.req);
}

static void protection_deinit(struct cor_task *task)
{
    cor_list_member_leave(&protection_task_of(task)->member);
    cor_object_unref(protection_task_of(task)->object);
}

/* Begins with the object; live, because a decision to remove the finalizer follows. */
static void protection_begin(struct cor_task *task, const struct protection *kind)
{
    static const struct cor_api_request_cbs cbs = {.on_done = protection_on_object};

    protection_task_of(task)->kind = kind;
    task->req = (struct cor_api_request){
        .at = {.gvr = kind->gvr, .ns = task->rec->ns, .name = task->rec->name}, .cbs = &cbs};
    cor_api_get(cor_task_port(task), &task->req, COR_STR(""));
}

/* Writes the object with the finalizer, or without it. */
static void protection_write(struct protection_task *p, bool has_finalizer)
{
    static const struct cor_api_request_cbs cbs = {.on_done = protection_on_written};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_builder *builder = NULL;
    struct cor_status why;
    int r = cor_builder_new(p->object, &builder);

    cor_status_init(&why);
    if (r == 0)
        r = has_finalizer ? cor_builder_add_finalizer(builder, p->kind->finalizer)
                          : cor_builder_remove_finalizer(builder, p->kind->finalizer);
    if (r >= 0)
        r = cor_builder_finish(builder, &object, &why);
    cor_builder_free(builder);
    if (r < 0) {
        cor_task_end(&p->task, r, NULL);
    } else {
        p->task.req.cbs = &cbs;
        cor_api_update(cor_task_port(&p->task), &p->task.req, object, NULL);
    }
    cor_status_deinit(&why);
}

static void protection_on_written(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    cor_task_end_with(&task_of(req)->task, answer);
}

/* Lists the next kind of users, or decides. */
static void protection_next_user(struct protection_task *p)
{
    const struct cor_reconcile_result later = {.again_after_ms = RECHECK_MS};
    int r;

    if (p->is_used) {
        cor_task_done(&p->task, &later);
    } else if (p->user < p->kind->nusers) {
        p->member.on_item = protection_on_user;
        p->member.on_done = protection_on_users;
        r = cor_shared_lists_join(&cor_small_controller_of(&p->task)->lists,
                                  cor_task_port(&p->task), &p->kind->users[p->user].gvr,
                                  p->task.rec->ns, &p->member);
        if (r < 0)
            cor_task_end(&p->task, r, NULL);
    } else {
        protection_write(p, false);
    }
}

static struct protection_task *task_at(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(cor_list_member_at(link), struct protection_task, member);
}

/* All members wait for the same kind of users: the list is that of a reconciler and a resource. */
static void protection_on_user(struct cor_dlist *members, struct cor_object *item)
{
    const struct protection_task *first = task_at(members->next);

    first->kind->users[first->user].note_used(item, members);
}

static void protection_on_users(struct cor_list_member *member, const struct cor_api_answer *answer)
{
    struct protection_task *p = COR_CONTAINER_OF(member, struct protection_task, member);

    if (answer->error) {
        cor_task_end(&p->task, answer->error->err, answer->error);
        return;
    }
    p->user++;
    protection_next_user(p);
}

static void protection_on_object(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct protection_task *p = task_of(req);
    bool has_finalizer, is_being_deleted;

    if (answer->error) {
        cor_task_end_with(&p->task, answer);
        return;
    }
    p->object = cor_object_ref(answer->object);
    p->name = cor_object_name(p->object);
    has_finalizer = cor_object_has_finalizer(p->object, p->kind->finalizer);
    is_being_deleted = cor_object_is_being_deleted(p->object);
    if (is_being_deleted && has_finalizer) {
        p->is_used = p->kind->is_used && p->kind->is_used(p->object);
        protection_next_user(p);
    } else if (!is_being_deleted && !has_finalizer) {
        protection_write(p, true);
    } else {
        cor_task_end(&p->task, 0, NULL);
    }
}

/* Has the controller something to do for the object? `arg` is its finalizer. */
static bool protection_concerns(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_DELETED && cor_object_is_being_deleted(event->object) ==
                                                     cor_object_has_finalizer(event->object, arg);
}

static struct cor_view view_at(struct cor_view view, const char *first, const char *second)
{
    return cor_view_member(cor_view_member(view, cor_strz(first)), cor_strz(second));
}

static struct cor_str text_of(struct cor_view view)
{
    return cor_view_text_or(view, NULL, 0, "");
}

/* ---- claims, which pods use ---- */

/* What is asked of a pod for each of its volumes, of which there may be thousands. */
struct pod_head {
    struct cor_str ns, name;
    struct cor_view_iter volumes;
};

static struct pod_head pod_head(const struct cor_object *pod)
{
    return (struct pod_head){cor_object_namespace(pod), cor_object_name(pod),
                             cor_view_iter(view_at(cor_object_view(pod), "spec", "volumes"))};
}

/* The name of the claim that a volume of the pod has; empty: it has none. The claim of an ephemeral
 * volume is named after the pod and the volume: `held` keeps its text. */
static struct cor_str pod_volume_claim(struct cor_str pod_name, struct cor_view volume,
                                       char held[NAME_MAX_], bool *ret_is_ephemeral)
{
    struct cor_str name = text_of(view_at(volume, "persistentVolumeClaim", "claimName"));
    int n;

    *ret_is_ephemeral = false;
    if (name.n > 0 ||
        cor_view_type(cor_view_member(volume, COR_STR("ephemeral"))) != COR_JSON_OBJECT)
        return name;
    *ret_is_ephemeral = true;
    name = text_of(cor_view_member(volume, COR_STR("name")));
    n = snprintf(held, NAME_MAX_, "%.*s-%.*s", COR_STR_ARG(pod_name), COR_STR_ARG(name));
    return cor_str(held, n > 0 && n < NAME_MAX_ ? (size_t)n : 0);
}

/* Is the kubelet done with the pod, or was the pod deleted by force? */
static bool pod_is_shut_down(const struct cor_object *pod)
{
    int64_t grace_s;

    return cor_object_is_being_deleted(pod) && cor_object_deletion_grace_s(pod, &grace_s) == 0 &&
           grace_s == 0;
}

static bool pod_is_scheduled(const struct cor_object *pod)
{
    return text_of(view_at(cor_object_view(pod), "spec", "nodeName")).n > 0;
}

/* A pod that has no node yet does not use its claims: no kubelet starts a pod whose claim is being
 * deleted. */
static void pod_note_used(const struct cor_object *pod, struct cor_dlist *tasks)
{
    struct pod_head head = pod_head(pod);
    bool is_shut_down = pod_is_shut_down(pod), is_ephemeral;
    char held[NAME_MAX_];

    if (!pod_is_scheduled(pod))
        return;
    while (cor_view_next(&head.volumes)) {
        struct cor_str name = pod_volume_claim(head.name, head.volumes.value, held, &is_ephemeral);

        if (name.n == 0 || (is_ephemeral && is_shut_down))
            continue;
        COR_DLIST_FOREACH(link, tasks) {
            struct protection_task *p = task_at(link);

            p->is_used =
                p->is_used || (cor_str_eq(name, p->name) &&
                               (!is_ephemeral || cor_object_is_controlled_by(p->object, pod)));
        }
    }
}

static void map_pod_to_claims(void *arg, const struct cor_object *pod,
                              struct cor_control_keys *keys)
{
    struct pod_head head = pod_head(pod);
    char held[NAME_MAX_];
    bool is_ephemeral;

    while (cor_view_next(&head.volumes)) {
        struct cor_str name = pod_volume_claim(head.name, head.volumes.value, held, &is_ephemeral);

        if (name.n > 0)
            cor_control_keys_add(keys, head.ns, name);
    }
}

static bool no_container_runs(struct cor_view status, const char *list)
{
    struct cor_view_iter it = cor_view_iter(cor_view_member(status, cor_strz(list)));

    while (cor_view_next(&it)) {
        struct cor_view state = cor_view_member(it.value, COR_STR("state"));

        if (cor_view_type(cor_view_member(state, COR_STR("terminated"))) != COR_JSON_OBJECT &&
            cor_view_type(cor_view_member(state, COR_STR("waiting"))) != COR_JSON_OBJECT)
            return false;
    }
    return true;
}

static bool pod_is_terminated(const struct cor_object *pod)
{
    struct cor_view status = cor_view_member(cor_object_view(pod), COR_STR("status"));
    struct cor_str phase = text_of(cor_view_member(status, COR_STR("phase")));

    return cor_str_eqz(phase, "Failed") || cor_str_eqz(phase, "Succeeded") ||
           (cor_object_is_being_deleted(pod) &&
            no_container_runs(status, "initContainerStatuses") &&
            no_container_runs(status, "containerStatuses") &&
            no_container_runs(status, "ephemeralContainerStatuses"));
}

/* May the change of the pod let a claim go? */
static bool pod_may_release(const void *arg, const struct cor_control_event *event)
{
    return event->kind == COR_CONTROL_DELETED || pod_is_terminated(event->object) ||
           !pod_is_scheduled(event->object);
}

/* ---- volumes, which are bound to claims ---- */

static bool volume_is_bound(const struct cor_object *volume)
{
    return cor_str_eqz(text_of(view_at(cor_object_view(volume), "status", "phase")), "Bound");
}

/* ---- classes, which claims and volumes name ---- */

/* The names of classes in a claim or a volume; empty where there is none. */
static void class_names(const struct cor_object *user, struct cor_str ret_names[3])
{
    struct cor_view view = cor_object_view(user);
    struct cor_view status = cor_view_member(view, COR_STR("status"));

    ret_names[0] = text_of(view_at(view, "spec", "volumeAttributesClassName"));
    ret_names[1] = text_of(cor_view_member(status, COR_STR("currentVolumeAttributesClassName")));
    ret_names[2] =
        text_of(view_at(status, "modifyVolumeStatus", "targetVolumeAttributesClassName"));
}

static void note_named_class(const struct cor_object *user, struct cor_dlist *tasks)
{
    struct cor_str names[3];

    class_names(user, names);
    COR_DLIST_FOREACH(link, tasks) {
        struct protection_task *p = task_at(link);

        for (size_t i = 0; i < COR_ARRAY_LEN(names); i++)
            p->is_used = p->is_used || cor_str_eq(names[i], p->name);
    }
}

static void map_to_classes(void *arg, const struct cor_object *user, struct cor_control_keys *keys)
{
    struct cor_str names[3];

    class_names(user, names);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++)
        if (names[i].n > 0)
            cor_control_keys_add(keys, COR_STR(""), names[i]);
}

static bool is_no_creation(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_CREATED;
}

/* ---- the three controllers ---- */

/* names a kind: what the controllers are about */
#define CLAIMS                                                                                     \
    {                                                                                              \
        COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("persistentvolumeclaims")               \
    }
#define VOLUMES                                                                                    \
    {                                                                                              \
        COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("persistentvolumes")                    \
    }
#define PODS                                                                                       \
    {                                                                                              \
        COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("pods")                                 \
    }
#define CLASSES                                                                                    \
    {                                                                                              \
        COR_STR_INIT("storage.k8s.io"), COR_STR_INIT("v1"),                                        \
            COR_STR_INIT("volumeattributesclasses")                                                \
    }
#define CLAIM_FINALIZER  "kubernetes.io/pvc-protection"
#define VOLUME_FINALIZER "kubernetes.io/pv-protection"
#define CLASS_FINALIZER  "kubernetes.io/vac-protection"

static const struct cor_control_predicate claim_concerns = {protection_concerns, CLAIM_FINALIZER};
static const struct cor_control_predicate volume_concerns = {protection_concerns, VOLUME_FINALIZER};
static const struct cor_control_predicate class_concerns = {protection_concerns, CLASS_FINALIZER};
static const struct cor_control_predicate pod_releases = {pod_may_release, NULL};
static const struct cor_control_predicate no_creation = {is_no_creation, NULL};

static void claim_reconcile(struct cor_task *task)
{
    static const struct protection kind = {
        .finalizer = CLAIM_FINALIZER, .gvr = CLAIMS, .users = {{PODS, pod_note_used}}, .nusers = 1};

    protection_begin(task, &kind);
}

static void volume_reconcile(struct cor_task *task)
{
    static const struct protection kind = {
        .finalizer = VOLUME_FINALIZER, .gvr = VOLUMES, .is_used = volume_is_bound};

    protection_begin(task, &kind);
}

static void class_reconcile(struct cor_task *task)
{
    static const struct protection kind = {
        .finalizer = CLASS_FINALIZER,
        .gvr = CLASSES,
        .users = {{VOLUMES, note_named_class}, {CLAIMS, note_named_class}},
        .nusers = 2};

    protection_begin(task, &kind);
}

/* names a kind: what the controllers follow */
static const struct cor_port_source claim_sources[] = {
    {.source = {.kind = COR_CONTROL_FOR,
                .gk = {COR_STR_INIT(""), COR_STR_INIT("PersistentVolumeClaim")},
                .predicates = {&claim_concerns, 1}},
     .what = {.of = {.at = {.gvr = CLAIMS}}}},
    {.source = {.kind = COR_CONTROL_WATCHES,
                .gk = {COR_STR_INIT(""), COR_STR_INIT("Pod")},
                .map = map_pod_to_claims,
                .predicates = {&pod_releases, 1}},
     .what = {.of = {.at = {.gvr = PODS}}}},
};
static const struct cor_port_source volume_sources[] = {
    {.source = {.kind = COR_CONTROL_FOR,
                .gk = {COR_STR_INIT(""), COR_STR_INIT("PersistentVolume")},
                .is_cluster_scoped = true,
                .predicates = {&volume_concerns, 1}},
     .what = {.of = {.at = {.gvr = VOLUMES}}}},
};
/* The state before an update of a claim or a volume names the class that it has given up. */
static const struct cor_port_source class_sources[] = {
    {.source = {.kind = COR_CONTROL_FOR,
                .gk = {COR_STR_INIT("storage.k8s.io"), COR_STR_INIT("VolumeAttributesClass")},
                .is_cluster_scoped = true,
                .predicates = {&class_concerns, 1}},
     .what = {.of = {.at = {.gvr = CLASSES}}}},
    {.source = {.kind = COR_CONTROL_WATCHES,
                .gk = {COR_STR_INIT(""), COR_STR_INIT("PersistentVolumeClaim")},
                .map = map_to_classes,
                .predicates = {&no_creation, 1}},
     .what = {.of = {.at = {.gvr = CLAIMS}}, .keeps_objects = true}},
    {.source = {.kind = COR_CONTROL_WATCHES,
                .gk = {COR_STR_INIT(""), COR_STR_INIT("PersistentVolume")},
                .map = map_to_classes,
                .predicates = {&no_creation, 1}},
     .what = {.of = {.at = {.gvr = VOLUMES}}, .keeps_objects = true}},
};

#define RECONCILES_MAX 30 /* at once, as upstream's workers */

#define PROTECTION(noun, controller, account_name, queue_name)                                     \
    static int noun##_new(const struct cor_server_controller_env *env, void **ret_controller,      \
                          struct cor_status *reterr)                                               \
    {                                                                                              \
        static const struct cor_reconciler_opts opts = {.name = controller,                        \
                                                        .task_size =                               \
                                                            sizeof(struct protection_task),        \
                                                        .reconciles_max = RECONCILES_MAX,          \
                                                        .sources = noun##_sources,                 \
                                                        .nsources = COR_ARRAY_LEN(noun##_sources), \
                                                        .reconcile = noun##_reconcile,             \
                                                        .task_deinit = protection_deinit};         \
                                                                                                   \
        return cor_small_controller_new(env, &opts, ret_controller, reterr);                       \
    }                                                                                              \
    const struct cor_server_controller_ops cor_##noun##_protection_ops = {                         \
        .name = controller,                                                                        \
        .account = account_name,                                                                   \
        .queues = {queue_name},                                                                    \
        .new = noun##_new,                                                                         \
        .start = cor_small_controller_start,                                                       \
        .stop = cor_small_controller_stop,                                                         \
        .free = cor_small_controller_release,                                                      \
        .loop = cor_small_controller_loop}

PROTECTION(claim, "persistentvolumeclaim-protection-controller", "pvc-protection-controller",
           "pvcprotection");
PROTECTION(volume, "persistentvolume-protection-controller", "pv-protection-controller",
           "pvprotection");
PROTECTION(class, "volumeattributesclass-protection-controller",
           "volumeattributesclass-protection-controller", "vacprotection");
