/* The predicates. Each reads the metadata of one or two objects through views, and allocates
 * nothing. A predicate that compares two states lets every change pass that is not an update, and
 * every update whose old state is not known: a reconcile too many does no harm, a missing one does.
 * Failures: none.
 * Thread: any (pure). */
#include "kit/controller/control_event.h"

#include "coracle/label_selector.h"
#include "coracle/metadata.h"
#include "coracle/view.h"
#include "meta/object/object.h"

bool cor_control_predicates_pass(const struct cor_control_predicates *predicates,
                                 const struct cor_control_event *event)
{
    for (size_t i = 0; i < predicates->n; i++)
        if (!predicates->list[i].passes(predicates->list[i].arg, event))
            return false;
    return true;
}

static struct cor_view metadata_member(struct cor_view object, struct cor_str key)
{
    return cor_view_member(cor_view_member(object, COR_STR("metadata")), key);
}

#define MISPLACED_MAX 64

/* Are two maps of strings equal? A value that is written with other escapes is different, and so
 * are maps more than MISPLACED_MAX of whose keys have other places: servers sort them, and looking
 * for each key would be quadratic. Both cost a reconcile that was not needed, and lose none. */
static bool same_strings(struct cor_view a, struct cor_view b)
{
    struct cor_view_iter it = cor_view_iter(a), other = cor_view_iter(b);
    size_t nmisplaced = 0;

    if (cor_view_len(a) != cor_view_len(b))
        return false;
    while (cor_view_next(&it)) {
        struct cor_str value = cor_view_next(&other) && cor_str_eq(it.key, other.key)
                                   ? other.value.json
                               : nmisplaced++ < MISPLACED_MAX ? cor_view_member(b, it.key).json
                                                              : cor_str(NULL, 0);

        if (!cor_str_eq(it.value.json, value))
            return false;
    }
    return true;
}

bool cor_control_generation_changed(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_UPDATED || !event->old ||
           cor_object_generation(event->old) != cor_object_generation(event->object);
}

bool cor_control_version_changed(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_UPDATED || !event->old ||
           !cor_str_eq(cor_object_resource_version(event->old),
                       cor_object_resource_version(event->object));
}

bool cor_control_labels_changed(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_UPDATED || !event->old ||
           !same_strings(metadata_member(cor_object_head_view(event->old), COR_STR("labels")),
                         metadata_member(cor_object_head_view(event->object), COR_STR("labels")));
}

bool cor_control_annotations_changed(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_UPDATED || !event->old ||
           cor_object_make_json(event->old) < 0 || cor_object_make_json(event->object) < 0 ||
           !same_strings(metadata_member(cor_object_view(event->old), COR_STR("annotations")),
                         metadata_member(cor_object_view(event->object), COR_STR("annotations")));
}

bool cor_control_labels_match(const void *arg, const struct cor_control_event *event)
{
    return cor_label_selector_matches(arg, cor_object_labels(event->object));
}

bool cor_control_all(const void *arg, const struct cor_control_event *event)
{
    return cor_control_predicates_pass(arg, event);
}

bool cor_control_any(const void *arg, const struct cor_control_event *event)
{
    const struct cor_control_predicates *predicates = arg;

    for (size_t i = 0; i < predicates->n; i++)
        if (predicates->list[i].passes(predicates->list[i].arg, event))
            return true;
    return false;
}

bool cor_control_not(const void *arg, const struct cor_control_event *event)
{
    const struct cor_control_predicate *predicate = arg;

    return !predicate->passes(predicate->arg, event);
}
