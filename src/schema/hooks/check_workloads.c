/* The hooks of validation for ReplicaSet, Deployment, StatefulSet, DaemonSet and
 * ReplicationController (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_workloads.h"

#include "base/err.h"
#include "meta/select/label_selector.h"
#include "schema/hooks/hooks.h"

/* Has the map of labels each entry of the map `selector`? Both are sorted by their keys. */
static bool has_entries(struct cor_check *check, const struct cor_place *selector,
                        const struct cor_place *labels)
{
    struct cor_each have = cor_each(check, labels);
    struct cor_place want, label;

    COR_EACH(check, selector, want) {
        bool has_label = false;

        while (!has_label && cor_each_next(check, &have, &label))
            has_label = cor_str_cmp(label.key, want.key) >= 0;
        if (!has_label || !cor_str_eq(label.key, want.key) ||
            !cor_str_eq(cor_place_text(check, &label), cor_place_text(check, &want)))
            return false;
    }
    return true;
}

/* Does the LabelSelector select the labels? An absent one selects nothing; an empty one, which
 * other rules refuse, selects all. */
static bool is_selected(struct cor_check *check, const struct cor_place *place,
                        const struct cor_place *labels)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors mistakes = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;
    struct cor_str json = cor_place_json(check, labels);
    int r;

    r = cor_label_selector_read(cor_place_json(check, place), &place->path, &mistakes, &selector);
    cor_check_note(check, r);
    return r < 0 || cor_label_selector_matches(selector, json.p ? json : COR_STR(""));
}

/* The selector of a ReplicationController is a map of labels, those of others are LabelSelectors.
 */
COR_HOOK(selector_matches)
{
    struct cor_place selector, template, metadata, labels;
    bool matches;

    cor_place_field(check, place, "selector", &selector);
    cor_place_field(check, place, "template", &template);
    cor_place_field(check, &template, "metadata", &metadata);
    cor_place_field(check, &metadata, "labels", &labels);
    matches = cor_type_shape(selector.type) == COR_SHAPE_MAP
                  ? has_entries(check, &selector, &labels)
                  : is_selected(check, &selector, &labels);
    if (!matches && !cor_check_is_over(check))
        cor_check_invalid(check, &labels, "`selector` does not match template `labels`");
}

COR_WHEN(is_json_object)
{
    struct cor_str json = cor_place_json(check, place);

    return json.n > 0 && json.p[0] == '{';
}

/* As upstream's getIntOrPercentValue: a text that is neither a percentage nor a number counts as 0.
 */
COR_WHEN(is_zero_percent)
{
    struct cor_str text;
    int64_t number;

    if (!cor_place_is_text(check, place))
        return cor_place_int(check, place) == 0;
    text = cor_place_text(check, place);
    if (cor_str_ends(text, COR_STR("%")))
        text.n--;
    return cor_str_to_i64(text, &number) < 0 || number == 0;
}
