/* Conflicts of an apply: which of them are forgiven, and the others in upstream's words, with the
 * managers in the order of their identifiers and below each of them its fields. Each field is also
 * given to the request's on_conflict(). Failures: no memory, or too many words. Thread: one at a
 * time for a request. */
#include <stdlib.h>

#include "base/err.h"
#include "schema/apply/apply_doc.h"
#include "schema/apply/field_managers_int.h"

#define TEXT_MAX (64u << 20) /* of the name of one manager */

int cor_field_managers_forgive(struct cor_apply_op *op, struct cor_apply_doc *live,
                               struct cor_field_managers *conflicts)
{
    const struct cor_apply_request *request = op->request;
    struct cor_fieldset allowed;
    struct cor_comparison c;
    struct cor_apply_doc *last;
    int r;

    if (request->last_applied.n == 0)
        return 0;
    r = cor_apply_doc_open(op, request->last_applied, request->api_version, &last);
    if (r == 0)
        r = cor_apply_doc_check(last, false, NULL);
    if (r == 0)
        r = cor_apply_doc_check(live, false, NULL);
    if (r == 0)
        r = cor_typed_fields(cor_apply_doc_typed(last), op->arena, &allowed);
    if (r == 0)
        r = cor_typed_compare(cor_apply_doc_typed(last), cor_apply_doc_typed(live), op->arena, &c);
    if (r < 0)
        return r == -COR_EINVALID || r == -COR_EINVAL ? 0 : r;
    allowed = cor_fieldset_difference(op->arena, allowed, c.modified);
    allowed = cor_fieldset_difference(op->arena, allowed, c.added);
    allowed = cor_fieldset_difference(op->arena, allowed, c.removed);
    for (size_t i = 0; i < conflicts->n; i++) {
        struct cor_field_manager *conflict = &conflicts->v[i];

        conflict->set = cor_fieldset_difference(op->arena, conflict->set, allowed);
    }
    cor_field_managers_drop_empty(conflicts);
    return op->arena->error;
}

struct conflict_lines {
    const struct cor_apply_request *request;
    struct cor_buf *out;
    const char *before; /* each path */
    struct cor_buf who;
};

static int count_path(void *arg, const struct cor_path *path)
{
    (void)path;
    (*(size_t *)arg)++;
    return 0;
}

static int add_path(void *arg, const struct cor_path *path)
{
    struct conflict_lines *lines = arg;
    const struct cor_apply_request *request = lines->request;
    int r = cor_buf_addz(lines->out, lines->before);
    size_t at = lines->out->n;

    if (r == 0)
        r = cor_path_print(path, lines->out);
    if (r == 0 && request->on_conflict)
        r = request->on_conflict(request->arg, cor_buf_str(&lines->who),
                                 cor_str_from(cor_buf_str(lines->out), at));
    return r;
}

static int add_who(struct cor_buf *out, const struct cor_field_manager *manager)
{
    int r = cor_buf_addf(out, "\"%.*s\"", (int)manager->name.n, manager->name.p);

    if (r == 0 && manager->subresource.n > 0)
        r = cor_buf_addf(out, " with subresource \"%.*s\"", (int)manager->subresource.n,
                         manager->subresource.p);
    if (r == 0 && !manager->is_apply)
        r = cor_buf_addf(out, " using %.*s", (int)manager->api_version.n, manager->api_version.p);
    return r;
}

/* A conflict and the text by which it is sorted. */
struct named_conflict {
    struct cor_str identifier;
    struct cor_field_manager manager;
};

static int named_conflict_cmp(const void *a, const void *b)
{
    const struct named_conflict *x = a, *y = b;

    return cor_str_cmp(x->identifier, y->identifier);
}

static int sort_conflicts(struct cor_arena *arena, struct cor_field_managers *conflicts)
{
    struct named_conflict *v = cor_arena_alloc(arena, (conflicts->n + 1) * sizeof(*v));

    for (size_t i = 0; v && i < conflicts->n; i++)
        v[i] = (struct named_conflict){cor_field_manager_identifier(arena, &conflicts->v[i]),
                                       conflicts->v[i]};
    if (arena->error < 0)
        return arena->error;
    qsort(v, conflicts->n, sizeof(*v), named_conflict_cmp);
    for (size_t i = 0; i < conflicts->n; i++)
        conflicts->v[i] = v[i].manager;
    return 0;
}

/* Appends the conflicts with one manager. */
static int write_conflict(struct conflict_lines *lines, const struct cor_field_manager *manager,
                          bool is_only, bool is_first)
{
    int r = cor_buf_addz(lines->out, is_only     ? "conflict with "
                                     : !is_first ? "\nconflicts with "
                                                 : "conflicts with ");

    cor_buf_reset(&lines->who);
    if (r == 0)
        r = add_who(lines->out, manager);
    if (r == 0)
        r = cor_buf_addc(lines->out, ':');
    if (r == 0)
        r = cor_buf_addz(&lines->who, "conflict with ");
    if (r == 0)
        r = add_who(&lines->who, manager);
    lines->before = is_only ? " " : "\n- ";
    return r < 0 ? r : cor_fieldset_each(manager->set, add_path, lines);
}

int cor_field_managers_write_conflicts(const struct cor_apply_request *request,
                                       struct cor_field_managers *conflicts, struct cor_buf *words)
{
    struct conflict_lines lines = {request, words, "", {.max = TEXT_MAX}};
    size_t n = 0;
    int r = sort_conflicts(request->arena, conflicts);

    for (size_t i = 0; i < conflicts->n; i++)
        cor_fieldset_each(conflicts->v[i].set, count_path, &n);
    if (r == 0)
        r = cor_buf_addf(words, "Apply failed with %zu conflict%s: ", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < conflicts->n && r == 0; i++)
        r = write_conflict(&lines, &conflicts->v[i], n == 1, i == 0);
    cor_buf_deinit(&lines.who);
    return r < 0 ? r : -COR_ECONFLICT;
}
