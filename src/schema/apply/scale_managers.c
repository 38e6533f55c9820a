/* clang-format off */
/* The managers of a scale.
 *
 *   the object's managers ──► those who own the replicas, in the version of the scale
 *        │                                    │ an update or an apply of a Scale
 *        ▼                                    ▼
 *   a manager who lost the replicas loses that path; one who won them gets an entry of its own
 *
 * Upstream names the manager of an update with its version, and a scale has another version than
 * the object. So the entry of an update never meets itself on the way back: it loses the replicas
 * in any case, and when it still owns them, they come back as a second entry of the same manager
 * without a time. Entries of applies have no version in their names and stay as they are. */
/* clang-format on */
#include "schema/apply/scale_managers.h"

#include <assert.h>

#include "base/err.h"
#include "schema/apply/field_managers_int.h"

/* The group of "apps/v1"; empty for "v1". */
static struct cor_str group_of(struct cor_str api_version)
{
    ptrdiff_t slash = cor_str_find(api_version, '/');

    return cor_str(api_version.p, slash < 0 ? 0 : (size_t)slash);
}

/* Is the version one of the object's kind? Upstream drops the entries of others. */
static bool is_known(const struct cor_scale_managers *scale,
                     const struct cor_field_manager *manager)
{
    return cor_str_eq(group_of(manager->api_version), group_of(scale->parent_version));
}

static bool owns_replicas(const struct cor_scale_managers *scale,
                          const struct cor_field_manager *manager)
{
    return cor_fieldset_meets(manager->set, scale->parent_fields);
}

int cor_scale_managers_show(const struct cor_scale_managers *scale,
                            const struct cor_field_managers *parent,
                            struct cor_field_managers *ret_scale)
{
    int r = 0;

    assert(!cor_fieldset_is_empty(scale->parent_fields));
    *ret_scale = (struct cor_field_managers){0};
    for (size_t i = 0; i < parent->n && r == 0; i++) {
        struct cor_field_manager shown = parent->v[i];

        if (!is_known(scale, &shown) || !owns_replicas(scale, &shown))
            continue;
        shown.api_version = scale->scale_version;
        shown.set = scale->scale_fields;
        r = cor_field_managers_append(scale->arena, ret_scale, &shown);
    }
    return r;
}

/* Adds what remains of an entry of the object. */
static int return_parent(const struct cor_scale_managers *scale,
                         const struct cor_field_manager *manager,
                         const struct cor_field_managers_index *after,
                         struct cor_field_managers *ret)
{
    struct cor_field_manager kept = *manager;
    const struct cor_field_manager *same = cor_field_managers_index_find(after, manager);
    bool is_owner = owns_replicas(scale, manager);

    if (!is_known(scale, manager))
        return 0;
    if (is_owner && !same)
        kept.set = cor_fieldset_difference(scale->arena, kept.set, scale->parent_fields);
    if (cor_fieldset_is_empty(kept.set))
        return scale->arena->error;
    /* An applier of the scale whose entry had no replicas before is replaced below. */
    if (!is_owner && same && cor_fieldset_meets(same->set, scale->scale_fields))
        return 0;
    return cor_field_managers_append(scale->arena, ret, &kept);
}

int cor_scale_managers_return(const struct cor_scale_managers *scale,
                              const struct cor_field_managers *parent,
                              const struct cor_field_managers *after,
                              struct cor_field_managers *ret_parent)
{
    struct cor_field_managers_index before, now;
    int r = cor_field_managers_index_make(scale->arena, parent, &before);

    assert(parent != ret_parent && after != ret_parent);
    *ret_parent = (struct cor_field_managers){0};
    if (r == 0)
        r = cor_field_managers_index_make(scale->arena, after, &now);
    for (size_t i = 0; i < parent->n && r == 0; i++)
        r = return_parent(scale, &parent->v[i], &now, ret_parent);
    for (size_t i = 0; i < after->n && r == 0; i++) {
        struct cor_field_manager won = after->v[i];
        const struct cor_field_manager *same = cor_field_managers_index_find(&before, &won);

        if (!cor_fieldset_meets(won.set, scale->scale_fields) ||
            (same && owns_replicas(scale, same)))
            continue;
        won.api_version = scale->parent_version;
        won.set = scale->parent_fields;
        won.time = same ? same->time : COR_STR("");
        r = cor_field_managers_append(scale->arena, ret_parent, &won);
    }
    return r < 0 ? r : scale->arena->error;
}
