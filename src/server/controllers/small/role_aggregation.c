/* clang-format off */
/* The cluster role aggregation controller: a ClusterRole with an aggregationRule has the rules of the ClusterRoles that
 * its selectors match. Contract controllers 3.6.
 *
 *   any ClusterRole was created, updated or deleted ──► the one key of this controller ──► LIST all ClusterRoles (from the
 *   cache) ──► for each with an aggregationRule: its rules are computed ──► they differ: apply them, then the next role
 *
 * Upstream queues every aggregated role at each change; here one reconcile looks at all of them, so that changes close
 * together cost one list. The rules of a role are those of each selector in order, and of each selector those of the
 * matching roles sorted by name, without repeated rules; the role itself is skipped. A role that aggregates others
 * that aggregate is put right by the reconcile that the first write causes.
 * The rules are applied by force, as upstream does, which replaces those of other managers; nothing else of the role is
 * touched. Rules of somebody else stay in a role that selects nothing, as in upstream: an apply without rules gives up
 * its own. A conflict (409: another role has the name now) makes the reconcile begin again. Upstream falls back to PUT
 * when a server cannot apply (415); this one can.
 * A selector that cannot be read is an error of its role; the other roles are written first.
 * Thread: the host's loop. */
/* clang-format on */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "meta/select/label_selector.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/small_controller.h"
#include "json/write/writer.h"

#define ROLES_MAX 65536 /* a cluster with more of them is not aggregated */
#define RULES_MAX COR_OBJECT_BYTES_MAX_DEFAULT

/* names a kind: what the controller is about */
#define ROLES                                                                                      \
    {                                                                                              \
        COR_STR_INIT("rbac.authorization.k8s.io"), COR_STR_INIT("v1"),                             \
            COR_STR_INIT("clusterroles")                                                           \
    }
#define KEY  "all"
#define NAME "clusterrole-aggregation-controller" /* also the manager of the fields */

struct aggregation_task {
    struct cor_task task;      /* first */
    struct cor_object **roles; /* sorted by name, as lists are */
    size_t nroles, cap;
    size_t next; /* the role that is looked at next */
    int err;     /* of the first role that cannot be aggregated */
};

static int aggregation_on_role(struct cor_api_request *req, struct cor_object *item);
static void aggregation_on_list(struct cor_api_request *req, const struct cor_api_answer *answer);
static void aggregation_on_written(struct cor_api_request *req,
                                   const struct cor_api_answer *answer);

static void map_to_one_key(void *arg, const struct cor_object *object,
                           struct cor_control_keys *keys)
{
    cor_control_keys_add(keys, COR_STR(""), COR_STR(KEY));
}

static void aggregation_deinit(struct cor_task *task)
{
    struct aggregation_task *a = (struct aggregation_task *)task;

    for (size_t i = 0; i < a->nroles; i++)
        cor_object_unref(a->roles[i]);
    cor_free(a->roles);
}

static void aggregation_reconcile(struct cor_task *task)
{
    static const struct cor_api_request_cbs cbs = {.on_item = aggregation_on_role,
                                                   .on_done = aggregation_on_list};
    static const struct cor_list_query from_cache = {
        .list = {.resource_version = COR_STR_INIT("0")}};

    task->req = (struct cor_api_request){.at = {.gvr = ROLES}, .cbs = &cbs};
    cor_api_list(cor_task_port(task), &task->req, &from_cache);
}

static int aggregation_on_role(struct cor_api_request *req, struct cor_object *item)
{
    struct aggregation_task *a = COR_CONTAINER_OF(req, struct aggregation_task, task.req);
    int r = COR_ARRAY_RESERVE(&a->roles, a->nroles, &a->cap, ROLES_MAX);

    if (r == 0)
        a->roles[a->nroles++] = cor_object_ref(item);
    return r;
}

/* Appends the rules of the roles that the selector matches, but those in `seen`. */
static int aggregation_add_rules(const struct aggregation_task *a, const struct cor_object *role,
                                 const struct cor_label_selector *selector,
                                 struct cor_str_set *seen, struct cor_json_writer *w)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < a->nroles; i++) {
        struct cor_str rules = cor_object_member(a->roles[i], COR_STR("rules"));
        struct cor_json_iter it = cor_json_iter(rules.p ? rules : COR_STR("[]"));

        if (a->roles[i] == role ||
            !cor_label_selector_matches(selector, cor_object_labels(a->roles[i])))
            continue;
        while (r == 0 && cor_json_iter_elem(&it)) {
            struct cor_str rule = cor_json_iter_value(&it);
            bool is_new;

            r = cor_str_set_add(seen, rule, &is_new);
            if (r == 0 && is_new)
                cor_json_raw(w, rule);
        }
    }
    return r;
}

/* Writes the rules that the role should have, as a JSON list. 0, -COR_EINVAL (a selector),
 * -COR_ENOMEM, -COR_ETOOBIG. */
static int aggregation_write_rules(const struct aggregation_task *a, const struct cor_object *role,
                                   struct cor_buf *out)
{
    struct cor_str rule = cor_object_member(role, COR_STR("aggregationRule")), selectors;
    struct cor_field_path root = cor_field_root(COR_STR("aggregationRule"));
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen;
    struct cor_json_iter it;
    struct cor_json_writer w;
    int r = 0;

    if (cor_json_get(rule, COR_STR("clusterRoleSelectors"), COR_JSON_ANY_ORDER, &selectors) < 0)
        selectors = COR_STR("[]");
    it = cor_json_iter(selectors);
    cor_str_set_init(&seen, RULES_MAX);
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (r == 0 && cor_json_iter_elem(&it)) {
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs;
        struct cor_label_selector *selector = NULL;

        cor_field_errors_init(&errs);
        r = cor_label_selector_read(cor_json_iter_value(&it), &root, &errs, &selector);
        if (r == 0)
            r = aggregation_add_rules(a, role, selector, &seen, &w);
        cor_label_selector_free(selector);
    }
    cor_json_end_array(&w);
    return r < 0 ? r : cor_json_writer_finish(&w);
}

static bool is_empty_list(struct cor_str list)
{
    return !list.p || list.n == 0 || cor_str_eqz(list, "[]") || cor_str_eqz(list, "null");
}

/* Writes what is applied: the rules alone, and none when there are none. The uid keeps an apply
 * from creating a role anew that was deleted meanwhile (409). 0, -COR_ENOMEM, -COR_ETOOBIG. */
static int aggregation_write_body(const struct cor_object *role, struct cor_str rules,
                                  struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    /* names a kind: what the controller is about */
    cor_json_member(&w, COR_STR("kind"), COR_STR("ClusterRole"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("rbac.authorization.k8s.io/v1"));
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("name"), cor_object_name(role));
    cor_json_member(&w, COR_STR("uid"), cor_object_uid(role));
    cor_json_end_object(&w);
    if (!is_empty_list(rules)) {
        cor_json_key(&w, COR_STR("rules"));
        cor_json_raw(&w, rules);
    }
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* Applies the rules of the role, if they differ: 1. Else 0 or an error, and nothing was sent. */
static int aggregation_apply(struct aggregation_task *a, struct cor_object *role)
{
    static const struct cor_api_request_cbs cbs = {.on_done = aggregation_on_written};
    static const struct cor_write_options opts = {.field_manager = COR_STR_INIT(NAME),
                                                  .force = COR_TRUE};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf rules, body;
    struct cor_str present = cor_object_member(role, COR_STR("rules"));
    int r;

    cor_buf_init(&rules, RULES_MAX);
    cor_buf_init(&body, 2 * RULES_MAX);
    r = aggregation_write_rules(a, role, &rules);
    if (r < 0 || cor_str_eq(present, cor_buf_str(&rules)) ||
        (is_empty_list(present) && is_empty_list(cor_buf_str(&rules))))
        return r;
    r = aggregation_write_body(role, cor_buf_str(&rules), &body);
    if (r < 0)
        return r;
    a->task.req =
        (struct cor_api_request){.at = {.gvr = ROLES, .name = cor_object_name(role)}, .cbs = &cbs};
    cor_api_patch(cor_task_port(&a->task), &a->task.req, COR_PATCH_APPLY, cor_buf_str(&body),
                  &opts);
    return 1;
}

static void aggregation_go_on(struct aggregation_task *a)
{
    while (a->next < a->nroles) {
        struct cor_object *role = a->roles[a->next++];
        int r = 0;

        if (cor_object_member(role, COR_STR("aggregationRule")).p)
            r = aggregation_apply(a, role);
        if (r > 0)
            return;
        if (r < 0 && a->err == 0)
            a->err = r;
    }
    cor_task_end(&a->task, a->err, NULL);
}

static void aggregation_on_list(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct aggregation_task *a = COR_CONTAINER_OF(req, struct aggregation_task, task.req);

    if (answer->error)
        cor_task_end(&a->task, answer->error->err, answer->error);
    else
        aggregation_go_on(a);
}

static void aggregation_on_written(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct aggregation_task *a = COR_CONTAINER_OF(req, struct aggregation_task, task.req);

    /* A role that is not there any more is no reason to stop. */
    if (answer->error && !cor_api_answer_is(answer, 404)) {
        cor_task_end_with(&a->task, answer);
        return;
    }
    /* The roles that follow see the new rules. Otherwise two roles that aggregate each other would
     * exchange their rules in each reconcile, for ever. */
    if (answer->object) {
        cor_object_unref(a->roles[a->next - 1]);
        a->roles[a->next - 1] = cor_object_ref(answer->object);
    }
    aggregation_go_on(a);
}

static int aggregation_new(const struct cor_server_controller_env *env, void **ret_controller,
                           struct cor_status *reterr)
{
    /* names a kind: what the controller follows */
    static const struct cor_port_source roles = {
        .source = {.kind = COR_CONTROL_WATCHES,
                   .gk = {COR_STR_INIT("rbac.authorization.k8s.io"), COR_STR_INIT("ClusterRole")},
                   .map = map_to_one_key},
        .what = {.of = {.at = {.gvr = ROLES}}}};
    static const struct cor_reconciler_opts opts = {.name = NAME,
                                                    .task_size = sizeof(struct aggregation_task),
                                                    .reconciles_max = 1,
                                                    .sources = &roles,
                                                    .nsources = 1,
                                                    .reconcile = aggregation_reconcile,
                                                    .task_deinit = aggregation_deinit};

    return cor_small_controller_new(env, &opts, ret_controller, reterr);
}

const struct cor_server_controller_ops cor_role_aggregation_ops = {
    .name = NAME,
    .account = NAME,
    .queues = {"ClusterRoleAggregator"},
    .new = aggregation_new,
    .start = cor_small_controller_start,
    .stop = cor_small_controller_stop,
    .free = cor_small_controller_release,
    .loop = cor_small_controller_loop};
