/* The hooks of validation for metadata, labels and label selectors
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/meta.h"

#include "meta/label_selector.h"
#include "meta/object_meta.h"
#include "schema/hooks/hooks.h"

static struct cor_str json_or_empty(const struct cor_check *check, const struct cor_place *place)
{
    struct cor_str json = cor_place_json(check, place);

    return json.p ? json : COR_STR("{}");
}

void cor_hook_object_meta(struct cor_check *check, const struct cor_place *place,
                          struct cor_str arg)
{
    (void)arg;
    check->has_meta = true;
    cor_object_meta_check(json_or_empty(check, place), &check->meta, check->errors);
}

void cor_hook_object_meta_update(struct cor_check *check, const struct cor_place *place,
                                 struct cor_str arg)
{
    struct cor_place old = cor_place_old(place);

    (void)arg;
    cor_object_meta_check_update(json_or_empty(check, place), json_or_empty(check, &old),
                                 check->meta.any_finalizer, check->errors);
}

void cor_hook_labels(struct cor_check *check, const struct cor_place *place, struct cor_str arg)
{
    (void)arg;
    if (cor_place_is_present(place))
        cor_object_meta_check_labels(cor_place_json(check, place), &place->path, check->errors);
}

void cor_hook_annotations(struct cor_check *check, const struct cor_place *place,
                          struct cor_str arg)
{
    (void)arg;
    if (cor_place_is_present(place))
        cor_object_meta_check_annotations(cor_place_json(check, place), &place->path,
                                          check->errors);
}

void cor_hook_label_selector(struct cor_check *check, const struct cor_place *place,
                             struct cor_str arg)
{
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;

    (void)arg;
    if (cor_place_is_present(place))
        cor_check_note(check, cor_label_selector_read(cor_place_json(check, place), &place->path,
                                                      check->errors, &selector));
}

bool cor_test_is_selector(struct cor_check *check, const struct cor_place *place,
                          struct cor_str arg)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors mistakes = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;
    int r;

    (void)arg;
    if (!cor_place_is_present(place))
        return true;
    r = cor_label_selector_read(cor_place_json(check, place), &place->path, &mistakes, &selector);
    cor_check_note(check, r);
    return r == 0;
}
