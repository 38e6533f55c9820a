/* The hooks of validation for ReplicaSet, Deployment, StatefulSet, DaemonSet and
 * ReplicationController (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/workloads.h"

#include "base/err.h"
#include "meta/label_selector.h"
#include "schema/hooks/hooks.h"

/* An absent selector selects nothing, so that it does not match; an empty one is refused elsewhere.
 */
void cor_hook_selector_matches(struct cor_check *check, const struct cor_place *place,
                               struct cor_str arg)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors mistakes = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;
    struct cor_place field, template, metadata, labels;
    struct cor_str json;
    int r;

    (void)arg;
    cor_place_field(check, place, "selector", &field);
    cor_place_field(check, place, "template", &template);
    cor_place_field(check, &template, "metadata", &metadata);
    cor_place_field(check, &metadata, "labels", &labels);
    r = cor_label_selector_read(cor_place_json(check, &field), &field.path, &mistakes, &selector);
    cor_check_note(check, r);
    if (r < 0 || (selector->n == 0 && !selector->nothing))
        return;
    json = cor_place_json(check, &labels);
    if (!cor_label_selector_matches(selector, json.p ? json : COR_STR("")))
        cor_check_invalid(check, &labels, "`selector` does not match template `labels`");
}

/* As upstream's getIntOrPercentValue: a text that is neither a percentage nor a number counts as 0.
 */
bool cor_test_is_zero_percent(struct cor_check *check, const struct cor_place *place,
                              struct cor_str arg)
{
    struct cor_str text;
    int64_t number;

    (void)arg;
    if (!cor_place_is_text(check, place))
        return cor_place_int(check, place) == 0;
    text = cor_place_text(check, place);
    if (cor_str_ends(text, COR_STR("%")))
        text.n--;
    return cor_str_to_i64(text, &number) < 0 || number == 0;
}
