/* What an update and an apply do to the managers of an object.
 *
 * Both end in the same step (step_take()): the object before and after are compared, once in each
 * version in which a manager's set is written, and what was added or modified leaves the sets of
 * all other managers, or is a conflict; what was removed leaves them in any case.
 *
 * An update is that step with force, and the changed paths become those of the requester.
 * An apply merges the configuration into the live object, prunes what the applier owned and nobody
 * owns any more (field_managers_prune.c), and takes the step. Nothing of the live object or of the
 * managers is lost when it fails: the caller keeps the old ones.
 *
 * Every object that is made on the way (merged, pruned, converted) is a document of the operation.
 * Of the comparisons, whose sets borrow from the objects, the texts stay until the operation ends;
 * all else is freed with its version. The first failure ends the operation.
 * Thread: one at a time. */
#include <assert.h>

#include "base/err.h"
#include "schema/apply/apply_doc.h"
#include "schema/apply/field_managers_int.h"

static struct cor_fieldset reset_fields(const struct cor_apply_op *op, struct cor_str version)
{
    const struct cor_apply_versions *versions = op->request->versions;

    return versions->reset_fields ? versions->reset_fields(versions->arg, version)
                                  : (struct cor_fieldset){NULL};
}

/* ---- the common step ---- */

/* The comparison of an operation in one version. */
struct view {
    struct cor_str version;
    struct cor_comparison changes;
    struct cor_fieldset taken; /* modified and added */
};

static int view_make(struct cor_apply_op *op, struct cor_apply_doc *before,
                     struct cor_apply_doc *after, struct cor_str version, struct view *ret_view)
{
    struct cor_fieldset mask = reset_fields(op, version);
    struct cor_comparison *c = &ret_view->changes;
    struct cor_apply_doc *old, *new;
    /* Upstream converts the old object for the reconciliation first, and its message has no prefix
     * there. */
    int r = cor_apply_doc_convert(op, before, version, "", &old);

    if (r == 0)
        r = cor_apply_doc_convert(op, after, version, "failed to convert new object", &new);
    if (r == 0)
        r = cor_typed_compare(cor_apply_doc_typed(old), cor_apply_doc_typed(new), op->arena, c);
    if (r < 0)
        return r;
    if (old != before)
        cor_apply_doc_unread(old);
    if (new != after)
        cor_apply_doc_unread(new);
    c->added = cor_fieldset_recursive_difference(op->arena, c->added, mask);
    c->modified = cor_fieldset_recursive_difference(op->arena, c->modified, mask);
    c->removed = cor_fieldset_recursive_difference(op->arena, c->removed, mask);
    ret_view->taken = cor_fieldset_union(op->arena, c->modified, c->added);
    ret_view->version = version;
    return op->arena->error;
}

/* The comparisons of all versions that managers use; the first is that of the request. */
struct views {
    struct view *v;
    size_t n;
};

static int views_find(struct cor_apply_op *op, struct views *views, struct cor_apply_doc *before,
                      struct cor_apply_doc *after, struct cor_str version,
                      const struct view **ret_view)
{
    int r;

    for (size_t i = 0; i < views->n; i++) {
        if (cor_str_eq(views->v[i].version, version)) {
            *ret_view = &views->v[i];
            return 0;
        }
    }
    r = view_make(op, before, after, version, &views->v[views->n]);
    if (r == 0)
        *ret_view = &views->v[views->n++];
    return r;
}

/* Takes what changed out of the sets of all managers but `self` (NULL: of all). *ret_view is the
 * comparison in the version of the request. Without force a conflict is written to `conflicts`, by
 * manager, and the sets stay as they are: -COR_ECONFLICT. */
static int step_take(struct cor_apply_op *op, struct cor_field_managers *managers,
                     const struct cor_field_manager *self, struct cor_apply_doc *before,
                     struct cor_apply_doc *after, bool force, struct cor_field_managers *conflicts,
                     const struct view **ret_view)
{
    struct views views = {0};
    const struct view *view = NULL;
    int r;

    views.v = cor_arena_alloc(op->arena, (managers->n + 1) * sizeof(views.v[0]));
    if (!views.v)
        return op->arena->error;
    r = views_find(op, &views, before, after, op->request->api_version, ret_view);
    for (size_t i = 0; r == 0 && !force && i < managers->n; i++) {
        struct cor_field_manager conflict = managers->v[i];

        if (self && cor_field_manager_is_same(&conflict, self))
            continue;
        r = views_find(op, &views, before, after, conflict.api_version, &view);
        if (r < 0)
            break;
        conflict.set = cor_fieldset_intersection(op->arena, conflict.set, view->taken);
        if (!cor_fieldset_is_empty(conflict.set))
            r = cor_field_managers_append(op->arena, conflicts, &conflict);
    }
    if (r == 0)
        r = op->arena->error;
    if (r < 0 || conflicts->n > 0)
        return r < 0 ? r : -COR_ECONFLICT;
    for (size_t i = managers->n; r == 0 && i-- > 0;) {
        struct cor_field_manager *manager = &managers->v[i];

        if (self && cor_field_manager_is_same(manager, self))
            continue;
        r = views_find(op, &views, before, after, manager->api_version, &view);
        if (r < 0)
            break;
        manager->set = cor_fieldset_difference(op->arena, manager->set, view->taken);
        manager->set = cor_fieldset_difference(op->arena, manager->set, view->changes.removed);
    }
    if (r == 0)
        cor_field_managers_drop_empty(managers);
    return r < 0 ? r : op->arena->error;
}

/* A custom resource has an entry of a version that its definition does not have any more. */
static int refuse_version(struct cor_apply_op *op, struct cor_str version)
{
    int r = op->words
                ? cor_buf_addf(op->words, "request to convert CR to an invalid group/version: %.*s",
                               COR_STR_ARG(version))
                : 0;

    return r < 0 ? r : -COR_EINVALID;
}

/* Brings the sets in line with the schema of today; managers of unknown versions are dropped. Of a
 * custom resource these are refused, and so are versions that the live object is none of. */
static int step_reconcile(struct cor_apply_op *op, struct cor_field_managers *managers,
                          struct cor_apply_doc *live)
{
    const struct cor_apply_versions *versions = op->request->versions;

    struct cor_apply_place place = {0};
    struct cor_str version = {NULL, 0}; /* of `place` */
    struct cor_apply_doc *converted = live;
    struct cor_seen_versions seen;
    bool is_known = false;
    size_t n = 0;
    int r = cor_seen_versions_init(&seen, op, managers);

    if (r < 0)
        return r;
    for (size_t i = 0; i < managers->n; i++) {
        struct cor_field_manager manager = managers->v[i];

        if (!version.p || !cor_str_eq(version, manager.api_version)) {
            version = manager.api_version;
            is_known = versions->place(versions->arg, version, &place);
            if (!is_known && versions->is_custom)
                r = refuse_version(op, version);
            else if (versions->is_custom && cor_seen_versions_see(&seen, version))
                r = cor_apply_doc_convert(op, live, version, "", &converted);
        }
        if (r < 0)
            return r;
        if (converted != live)
            cor_apply_doc_drop(op, converted);
        converted = live;
        if (!is_known)
            continue;
        manager.set = cor_fieldset_reconcile(op->arena, manager.set, &place);
        managers->v[n++] = manager;
    }
    managers->n = n;
    return op->arena->error;
}

/* ---- what nobody ever owns ---- */

enum cor_never_level cor_never_below(enum cor_never_level level, struct cor_str raw_key)
{
    static const struct cor_str kept[] = {
        COR_STR_INIT("clusterName"),
        COR_STR_INIT("creationTimestamp"),
        COR_STR_INIT("generation"),
        COR_STR_INIT("managedFields"),
        COR_STR_INIT("name"),
        COR_STR_INIT("namespace"),
        COR_STR_INIT("resourceVersion"),
        COR_STR_INIT("selfLink"),
        COR_STR_INIT("uid"),
    };

    if (level == COR_NEVER_ROOT) {
        if (cor_str_eq(raw_key, COR_STR("metadata")))
            return COR_NEVER_METADATA;
        return cor_str_eq(raw_key, COR_STR("kind")) || cor_str_eq(raw_key, COR_STR("apiVersion"))
                   ? COR_NEVER_OWNED
                   : COR_NEVER_DEEPER;
    }
    for (size_t i = 0; level == COR_NEVER_METADATA && i < COR_ARRAY_LEN(kept); i++) {
        if (cor_str_eq(raw_key, kept[i]))
            return COR_NEVER_OWNED;
    }
    return COR_NEVER_DEEPER;
}

/* The nodes of one level without those that have no owner by definition. */
static const struct cor_field_node *
strip_level(struct cor_arena *arena, const struct cor_field_node *node, enum cor_never_level level)
{
    struct cor_field_level stripped = {0};

    for (; node; node = node->next) {
        enum cor_never_level at = node->element.kind == COR_PATH_FIELD
                                      ? cor_never_below(level, node->element.text)
                                      : COR_NEVER_DEEPER;

        cor_field_level_add(
            arena, &stripped, &node->element, node->is_member && at == COR_NEVER_DEEPER,
            at == COR_NEVER_METADATA ? strip_level(arena, node->first, at) : node->first);
    }
    return cor_field_level_end(&stripped);
}

static int strip(struct cor_arena *arena, struct cor_fieldset *set)
{
    set->first = strip_level(arena, set->first, COR_NEVER_ROOT);
    return arena->error;
}

struct cor_field_manager cor_field_manager_requester(const struct cor_apply_request *request,
                                                     bool is_apply)
{
    return (struct cor_field_manager){
        .name = request->manager.n > 0 ? request->manager : COR_STR("unknown"),
        .api_version = request->api_version,
        .subresource = request->subresource,
        .is_apply = is_apply,
    };
}

/* ---- update ---- */

/* An apply may begin with an update: what the live object has belongs to before-first-apply. */
static int check_after(struct cor_apply_op *op, const struct cor_apply_doc *after)
{
    size_t begin = op->words ? op->words->n : 0;
    int r = op->words ? cor_buf_addf(op->words,
                                     "failed to create manager for existing fields: failed to "
                                     "convert new object (%.*s) to smd typed: ",
                                     COR_STR_ARG(op->request->live_subject))
                      : 0;

    if (r == 0)
        r = cor_apply_doc_check(after, true, op->words);
    if (r == 0 && op->words)
        cor_buf_truncate(op->words, begin);
    return r;
}

static int update_docs(struct cor_apply_op *op, struct cor_field_managers *managers,
                       struct cor_field_manager self, struct cor_apply_doc *before,
                       struct cor_apply_doc *after)
{
    struct cor_field_managers none = {0};
    const struct view *view;
    struct cor_field_manager *old;
    int r = cor_apply_doc_check(before, true, NULL);

    if (r == 0)
        r = check_after(op, after);
    if (r == 0)
        r = step_reconcile(op, managers, before);
    if (r == 0)
        r = step_take(op, managers, NULL, before, after, true, &none, &view);
    if (r < 0)
        return r;
    self.set = view->taken;
    r = strip(op->arena, &self.set);
    if (r == 0 && !cor_fieldset_is_empty(self.set)) {
        old = cor_field_managers_find(managers, &self);
        if (old)
            self.set = cor_fieldset_union(op->arena, self.set, old->set);
        self.time = op->request->now;
        r = cor_field_managers_put(op->arena, managers, &self);
    }
    return r < 0 ? r : cor_field_managers_cap(op->arena, managers);
}

int cor_field_managers_update(struct cor_field_managers *managers,
                              const struct cor_apply_request *request, struct cor_str before,
                              struct cor_str after)
{
    struct cor_apply_op op = {.request = request, .arena = request->arena};
    struct cor_apply_doc *old, *new;
    int r = cor_apply_doc_open(&op, before, request->api_version, &old);

    if (r == 0)
        r = cor_apply_doc_open(&op, after, request->api_version, &new);
    if (r == 0)
        r = update_docs(&op, managers, cor_field_manager_requester(request, false), old, new);
    cor_apply_op_deinit(&op);
    return r;
}

int cor_field_managers_changes(const struct cor_apply_request *request, struct cor_str before,
                               struct cor_str after, struct cor_comparison *ret_changes,
                               struct cor_fieldset *ret_taken)
{
    struct cor_apply_op op = {.request = request, .arena = request->arena};
    struct view view = {.taken = {NULL}};
    struct cor_apply_doc *old, *new;
    int r = cor_apply_doc_open(&op, before, request->api_version, &old);

    if (r == 0)
        r = cor_apply_doc_open(&op, after, request->api_version, &new);
    /* Only an object of a custom resource may be none of its type. */
    if (r == 0 && request->versions->is_custom)
        r = cor_apply_doc_check(old, true, NULL);
    if (r == 0 && request->versions->is_custom)
        r = cor_apply_doc_check(new, true, NULL);
    if (r == 0)
        r = view_make(&op, old, new, request->api_version, &view);
    *ret_changes = view.changes;
    *ret_taken = view.taken;
    cor_apply_op_deinit(&op);
    return r;
}

/* ---- apply ---- */

static int apply_docs(struct cor_apply_op *op, struct cor_field_managers *managers,
                      struct cor_apply_doc *live, struct cor_apply_doc *config, struct cor_buf *out,
                      struct cor_buf *words)
{
    struct cor_field_manager self = cor_field_manager_requester(op->request, true), last = {0},
                             *old;
    struct cor_field_managers conflicts = {0};
    const struct view *view;
    struct cor_apply_doc *merged, *pruned;
    bool is_same;
    int r = step_reconcile(op, managers, live);

    if (r < 0)
        return r;
    merged = cor_apply_doc_new(op, op->request->api_version);
    if (!merged)
        return -COR_ENOMEM;
    r = cor_typed_merge(cor_apply_doc_typed(live), cor_apply_doc_typed(config), op->arena,
                        &merged->own);
    if (r == 0)
        r = cor_apply_doc_read(op, merged, cor_buf_str(&merged->own));
    if (r == 0)
        r = cor_typed_fields(cor_apply_doc_typed(config), op->arena, &self.set);
    if (r < 0)
        return r;
    self.set = cor_fieldset_recursive_difference(op->arena, self.set,
                                                 reset_fields(op, op->request->api_version));
    old = cor_field_managers_find(managers, &self);
    if (old) {
        last = *old;
        self.time = old->time;
    }
    r = cor_field_managers_put(op->arena, managers, &self);
    if (r == 0)
        r = cor_field_managers_prune(op, managers, &last, merged, &pruned);
    if (r == 0)
        r = step_take(op, managers, &self, live, pruned, op->request->force, &conflicts, &view);
    if (r == -COR_ECONFLICT) {
        r = cor_field_managers_forgive(op, live, &conflicts);
        if (r == 0 && conflicts.n > 0)
            return cor_field_managers_write_conflicts(op->request, &conflicts, words);
        if (r == 0)
            r = step_take(op, managers, &self, live, pruned, true, &conflicts, &view);
    }
    if (r < 0)
        return r;
    is_same = cor_typed_equal(cor_apply_doc_typed(live), cor_apply_doc_typed(pruned));
    r = strip(op->arena, &self.set);
    if (r == 0 && !is_same)
        self.time = op->request->now;
    if (r == 0 && !cor_fieldset_is_empty(self.set)) {
        r = cor_field_managers_put(op->arena, managers, &self);
    } else if (r == 0) {
        old = cor_field_managers_find(managers, &self);
        if (old)
            cor_field_managers_drop(managers, (size_t)(old - managers->v));
    }
    if (r == 0)
        r = cor_buf_adds(out, is_same ? live->text : pruned->text);
    return r < 0 ? r : is_same;
}

/* Checks an object and says in `words` which of the two is wrong. */
static int check_applied(const struct cor_apply_op *op, const struct cor_apply_doc *doc,
                         bool is_live, struct cor_buf *words)
{
    struct cor_str subject = is_live ? op->request->live_subject : op->request->subject;
    size_t before = words->n;
    int r = cor_buf_addz(words, is_live ? "failed to create typed live object"
                                        : "failed to create typed patch object");

    if (r == 0 && subject.n > 0)
        r = cor_buf_addf(words, " (%.*s)", COR_STR_ARG(subject));
    if (r == 0)
        r = cor_buf_addz(words, ": ");
    if (r == 0)
        r = cor_typed_check(cor_apply_doc_typed(doc), is_live, words);
    if (r == 0)
        cor_buf_truncate(words, before);
    return r;
}

int cor_field_managers_apply(struct cor_field_managers *managers,
                             const struct cor_apply_request *request, struct cor_str zero,
                             struct cor_str live, struct cor_str config, struct cor_buf *out,
                             struct cor_buf *words)
{
    struct cor_apply_op op = {.request = request, .arena = request->arena, .words = words};
    struct cor_apply_doc *empty, *old, *new;
    int r = cor_apply_doc_open(&op, zero, request->api_version, &empty);

    if (r == 0)
        r = cor_apply_doc_open(&op, live, request->api_version, &old);
    if (r == 0)
        r = cor_apply_doc_open(&op, config, request->api_version, &new);
    if (r == 0 && managers->n == 0) {
        struct cor_field_manager before = cor_field_manager_requester(request, false);

        before.name = COR_STR("before-first-apply");
        r = update_docs(&op, managers, before, empty, old);
    }
    if (r == 0)
        r = check_applied(&op, new, false, words);
    if (r == 0)
        r = check_applied(&op, old, true, words);
    if (r == 0)
        r = apply_docs(&op, managers, old, new, out, words);
    cor_apply_op_deinit(&op);
    return r;
}
