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
 * Roles, selectors and rules are the client's, and so is their product: after STEPS of them the next turn goes on. Of a role that
 * several selectors match the rules are added once.
 * Thread: the host's loop. */
/* clang-format on */
#include "base/array.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "loop/timer.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "meta/select/label_selector.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/small_controller.h"
#include "json/write/print.h"
#include <assert.h>

#define ROLES_MAX 65536 /* a cluster with more of them is not aggregated */
#define RULES_MAX COR_OBJECT_BYTES_MAX_DEFAULT
#define STEPS     8192 /* of a turn: roles that are matched, rules that are looked at; 2 ms */

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
    struct cor_timer
        timer; /* the next turn; without a loop there is none, and nothing is put off */
    /* The role before `next`, while its rules are added up. */
    struct aggregation_sum {
        bool is_begun;
        struct cor_json_iter selectors;
        struct cor_label_selector *selector; /* the present one; NULL: the next one is read */
        size_t role;                         /* that is matched next */
        struct cor_json_iter rules;          /* of the role before it */
        bool *is_added;                      /* by role: a selector has matched it */
        struct cor_str_set seen;
        struct cor_buf text; /* what the role should have, as a JSON list */
        struct cor_json_writer writer;
    } sum;
    size_t steps; /* in this turn */
};

static struct aggregation_task *aggregation_task_of(struct cor_task *task)
{
    struct aggregation_task *own = COR_CONTAINER_OF(task, struct aggregation_task, task);

    assert(cor_task_size(task) == sizeof(*own));
    return own;
}

static int aggregation_on_role(struct cor_api_request *req, struct cor_object *item);
static void aggregation_on_list(struct cor_api_request *req, const struct cor_api_answer *answer);
static void aggregation_on_written(struct cor_api_request *req,
                                   const struct cor_api_answer *answer);
static void aggregation_on_timer(struct cor_timer *timer);
static void sum_end(struct aggregation_sum *sum);

static void map_to_one_key(void *arg, const struct cor_object *object,
                           struct cor_control_keys *keys)
{
    cor_control_keys_add(keys, COR_STR(""), COR_STR(KEY));
}

static void aggregation_deinit(struct cor_task *task)
{
    struct aggregation_task *a = aggregation_task_of(task);

    if (a->timer.loop)
        cor_timer_cancel(&a->timer);
    sum_end(&a->sum);
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

    if (cor_task_port(task)->loop)
        cor_timer_init(&aggregation_task_of(task)->timer, cor_task_port(task)->loop,
                       aggregation_on_timer);
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

/* ---- the rules that a role should have ---- */

static void sum_end(struct aggregation_sum *sum)
{
    cor_label_selector_free(sum->selector);
    cor_free(sum->is_added);
    cor_str_set_deinit(&sum->seen);
    cor_buf_deinit(&sum->text);
    *sum = (struct aggregation_sum){.is_begun = false};
}

static int sum_begin(struct aggregation_task *a, const struct cor_object *role)
{
    struct cor_str rule = cor_object_member(role, COR_STR("aggregationRule")), selectors;
    struct aggregation_sum *sum = &a->sum;

    if (cor_json_get(rule, COR_STR("clusterRoleSelectors"), COR_JSON_ANY_ORDER, &selectors) < 0)
        selectors = COR_STR("[]");
    *sum = (struct aggregation_sum){.is_begun = true,
                                    .selectors = cor_json_iter(selectors),
                                    .rules = cor_json_iter(COR_STR("[]")),
                                    .is_added = cor_calloc(a->nroles, sizeof(bool)),
                                    .text = {.max = RULES_MAX}};
    cor_str_set_init(&sum->seen, RULES_MAX);
    cor_json_writer_init(&sum->writer, &sum->text);
    cor_json_begin_array(&sum->writer);
    return sum->is_added ? 0 : -COR_ENOMEM;
}

/* Adds the next rule of the present role. 1, 0 (it has no more), or an error. */
static int sum_add_rule(struct aggregation_sum *sum)
{
    struct cor_str rule;
    bool is_new;
    int r;

    if (!cor_json_iter_elem(&sum->rules))
        return 0;
    rule = cor_json_iter_value(&sum->rules);
    r = cor_str_set_add(&sum->seen, rule, &is_new);
    if (r == 0 && is_new)
        cor_json_raw(&sum->writer, rule);
    return r < 0 ? r : 1;
}

/* Reads the next selector: 1, 0 (there is none), or an error. */
static int sum_next_selector(struct aggregation_sum *sum)
{
    struct cor_field_path root = cor_field_root(COR_STR("aggregationRule"));
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    int r;

    if (!cor_json_iter_elem(&sum->selectors))
        return 0;
    sum->role = 0;
    r = cor_label_selector_read(cor_json_iter_value(&sum->selectors), &root, &errs, &sum->selector);
    return r < 0 ? r : 1;
}

/* The next role that the selector matches, and that no selector before has matched: its rules
 * follow. At the end of the roles the selector goes. */
static void sum_match_role(const struct aggregation_task *a, struct aggregation_sum *sum)
{
    const struct cor_object *self = a->roles[a->next - 1], *role;
    size_t i = sum->role++;
    struct cor_str rules;

    if (i == a->nroles) {
        sum->selector = cor_label_selector_free(sum->selector);
        return;
    }
    role = a->roles[i];
    if (role == self || sum->is_added[i] ||
        !cor_label_selector_matches(sum->selector, cor_object_labels(role)))
        return;
    sum->is_added[i] = true;
    rules = cor_object_member(role, COR_STR("rules"));
    sum->rules = cor_json_iter(rules.p ? rules : COR_STR("[]"));
}

/* 1: the next turn goes on. 0: `text` has the rules, as a JSON list. -COR_EINVAL (a selector),
 * -COR_ENOMEM, -COR_ETOOBIG. */
static int sum_go_on(struct aggregation_task *a)
{
    struct aggregation_sum *sum = &a->sum;
    int r = 1;

    while (r > 0 && (a->steps++ < STEPS || !a->timer.loop)) {
        r = sum_add_rule(sum);
        if (r == 0 && sum->selector) {
            sum_match_role(a, sum);
            r = 1;
        } else if (r == 0) {
            r = sum_next_selector(sum);
        }
    }
    if (r != 0)
        return r;
    cor_json_end_array(&sum->writer);
    return cor_json_writer_finish(&sum->writer);
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
    /* names a kind: what the controller is about */
    cor_json_print(&w,
                   "{kind:'ClusterRole',apiVersion:'rbac.authorization.k8s.io/v1',"
                   "metadata:{name:%s,uid:%s},rules?:%j}",
                   cor_object_name(role), cor_object_uid(role),
                   is_empty_list(rules) ? COR_STR("") : rules);
    return cor_json_writer_finish(&w);
}

/* Applies the rules that were added up, if the role's differ: 1. Else 0 or an error, and nothing
 * was sent. */
static int aggregation_apply(struct aggregation_task *a, struct cor_object *role)
{
    static const struct cor_api_request_cbs cbs = {.on_done = aggregation_on_written};
    static const struct cor_write_options opts = {.field_manager = COR_STR_INIT(NAME),
                                                  .force = COR_TRUE};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 2 * RULES_MAX};
    struct cor_str present = cor_object_member(role, COR_STR("rules"));
    struct cor_str rules = cor_buf_str(&a->sum.text);
    int r;

    if (cor_str_eq(present, rules) || (is_empty_list(present) && is_empty_list(rules)))
        return 0;
    r = aggregation_write_body(role, rules, &body);
    if (r < 0)
        return r;
    a->task.req =
        (struct cor_api_request){.at = {.gvr = ROLES, .name = cor_object_name(role)}, .cbs = &cbs};
    cor_api_patch(cor_task_port(&a->task), &a->task.req, COR_PATCH_APPLY, cor_buf_str(&body),
                  &opts);
    return 1;
}

/* Goes on with the next turn. */
static void aggregation_wait(struct aggregation_task *a)
{
    int r = cor_timer_set(&a->timer, 0);

    if (r < 0)
        cor_task_end(&a->task, r, NULL);
}

static void aggregation_go_on(struct aggregation_task *a)
{
    while (a->next < a->nroles || a->sum.is_begun) {
        int r = 0;

        if (!a->sum.is_begun) {
            struct cor_object *role = a->roles[a->next++];

            a->steps++;
            if (!cor_object_member(role, COR_STR("aggregationRule")).p)
                continue;
            r = sum_begin(a, role);
        }
        if (r == 0)
            r = sum_go_on(a);
        if (r > 0) {
            aggregation_wait(a);
            return;
        }
        if (r == 0)
            r = aggregation_apply(a, a->roles[a->next - 1]);
        sum_end(&a->sum);
        if (r > 0)
            return;
        if (r < 0 && a->err == 0)
            a->err = r;
    }
    cor_task_end(&a->task, a->err, NULL);
}

static void aggregation_on_timer(struct cor_timer *timer)
{
    struct aggregation_task *a = COR_CONTAINER_OF(timer, struct aggregation_task, timer);

    a->steps = 0;
    aggregation_go_on(a);
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
     * exchange their rules in each reconcile, forever. */
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
