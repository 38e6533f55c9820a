/* What an apply takes out of the merged object: the fields that the applier owned before, does not
 * apply any more, and nobody else owns. First goes what the applier's old set names; then what
 * managers own comes back, in the version of that set and in each other one; then what the set
 * never named; the result is in the version of the request.
 *
 * Each step makes a document of the operation, and the ones before it are dropped when nothing
 * needs them. Failures: no memory; an object that cannot be converted, with a message.
 * Thread: one at a time. */
#include "base/err.h"
#include "schema/apply/apply_doc.h"
#include "schema/apply/field_managers_int.h"

/* The fields of an object, with the named fields around them. */
static int named_fields(struct cor_apply_op *op, const struct cor_apply_doc *doc,
                        struct cor_fieldset *ret_set)
{
    int r = cor_typed_fields(cor_apply_doc_typed(doc), op->arena, ret_set);

    if (r == 0)
        *ret_set = cor_fieldset_name_parents(op->arena, *ret_set, &doc->place);
    return r < 0 ? r : op->arena->error;
}

#define PRUNE    "failed to prune fields: "
#define ADD_BACK PRUNE "failed add back owned items: "

/* Everything that managers own in one version. False: no manager uses the version. */
static bool owned_in(struct cor_apply_op *op, const struct cor_field_managers *managers,
                     struct cor_str version, struct cor_fieldset *ret_owned)
{
    struct cor_fieldset *sets = cor_arena_alloc(op->arena, (managers->n + 1) * sizeof(*sets));
    size_t n = 0;

    for (size_t i = 0; sets && i < managers->n; i++) {
        if (cor_str_eq(managers->v[i].api_version, version))
            sets[n++] = managers->v[i].set;
    }
    *ret_owned = cor_fieldset_union_all(op->arena, sets, n);
    return n > 0;
}

/* Puts back what managers of this version own: the pruned object is the merged one without what it
 * lacks already and nobody owns. The former pruned object is dropped. */
static int add_back_owned(struct cor_apply_op *op, const struct cor_field_managers *managers,
                          struct cor_str version, struct cor_apply_doc **merged,
                          struct cor_apply_doc **pruned)
{
    struct cor_apply_doc *before = *pruned, *converted;
    struct cor_fieldset all, left, owned;
    int r;

    if (!owned_in(op, managers, version, &owned))
        return op->arena->error;
    r = cor_apply_doc_convert(op, *merged, version,
                              ADD_BACK "failed to convert merged object at version ", merged);
    if (r == 0)
        r = cor_apply_doc_convert(op, *pruned, version,
                                  ADD_BACK "failed to convert pruned object at version ", pruned);
    if (r == 0)
        r = named_fields(op, *merged, &all);
    if (r == 0)
        r = named_fields(op, *pruned, &left);
    if (r < 0)
        return r;
    owned = cor_fieldset_name_parents(op->arena, owned, &(*merged)->place);
    all = cor_fieldset_difference(op->arena, all, cor_fieldset_union(op->arena, left, owned));
    converted = *pruned;
    r = op->arena->error < 0 ? op->arena->error : cor_apply_doc_without(op, *merged, all, pruned);
    if (r == 0 && converted != before)
        cor_apply_doc_drop(op, converted);
    if (r == 0)
        cor_apply_doc_drop(op, before);
    return r;
}

/* The same for each version of the managers but `last`, in the order in which managers have them.
 * There are few versions: entries of unknown ones are gone. */
static int add_back_others(struct cor_apply_op *op, const struct cor_field_managers *managers,
                           struct cor_str last, struct cor_apply_doc **merged,
                           struct cor_apply_doc **pruned)
{
    struct cor_apply_doc *first = *merged, *before;
    struct cor_seen_versions seen;
    int r = cor_seen_versions_init(&seen, op, managers);

    if (r == 0)
        (void)cor_seen_versions_see(&seen, last);
    for (size_t i = 0; r == 0 && i < managers->n; i++) {
        struct cor_str version = managers->v[i].api_version;

        if (!cor_seen_versions_see(&seen, version))
            continue;
        before = *merged;
        r = add_back_owned(op, managers, version, merged, pruned);
        if (r == 0 && *merged != before && before != first)
            cor_apply_doc_drop(op, before);
    }
    return r;
}

int cor_field_managers_prune(struct cor_apply_op *op, const struct cor_field_managers *managers,
                             const struct cor_field_manager *last, struct cor_apply_doc *merged,
                             struct cor_apply_doc **ret_pruned)
{
    struct cor_apply_doc *at_last, *pruned, *walked;
    struct cor_fieldset named, all, left;
    int r;

    *ret_pruned = merged;
    if (cor_fieldset_is_empty(last->set))
        return 0;
    r = cor_apply_doc_convert(op, merged, last->api_version,
                              PRUNE "failed to convert merged object to last applied version",
                              &at_last);
    if (r < 0)
        return r;
    named = cor_fieldset_name_parents(op->arena, last->set, &at_last->place);
    r = cor_apply_doc_without(op, at_last, named, &pruned);
    walked = at_last;
    if (r == 0)
        r = add_back_owned(op, managers, last->api_version, &walked, &pruned);
    if (r == 0)
        r = add_back_others(op, managers, last->api_version, &walked, &pruned);
    if (r == 0)
        r = cor_apply_doc_convert(
            op, pruned, last->api_version,
            PRUNE "failed add back dangling items: failed to convert pruned object to "
                  "last applied version",
            &pruned);
    if (r == 0)
        r = named_fields(op, pruned, &left);
    if (r == 0)
        r = named_fields(op, at_last, &all);
    if (r < 0)
        return r;
    all = cor_fieldset_difference(op->arena, all, left);
    all = cor_fieldset_intersection(op->arena, all, named);
    r = op->arena->error < 0 ? op->arena->error : cor_apply_doc_without(op, at_last, all, &pruned);
    return r < 0 ? r
                 : cor_apply_doc_convert(op, pruned, op->request->api_version,
                                         "failed to prune fields", ret_pruned);
}
