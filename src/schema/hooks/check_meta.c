/* The hooks of validation for metadata, labels and label selectors
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_meta.h"

#include "meta/metadata/object_meta.h"
#include "meta/select/label_selector.h"
#include "schema/hooks/hooks.h"

static struct cor_str json_or_empty(const struct cor_check *check, const struct cor_place *place)
{
    struct cor_str json = cor_place_open_json(check, place);

    return json.p ? json : COR_STR("{}");
}

COR_HOOK(object_meta)
{
    check->has_meta = true;
    cor_object_meta_check(json_or_empty(check, place), &check->meta, check->errors);
}

COR_HOOK(object_meta_update)
{
    struct cor_place old = cor_place_old(place);

    cor_object_meta_check_update(json_or_empty(check, place), json_or_empty(check, &old),
                                 &check->meta, check->errors);
}

COR_HOOK(labels)
{
    if (cor_place_is_present(place))
        cor_object_meta_check_labels(cor_place_json(check, place), &place->path, check->errors);
}

COR_HOOK(annotations)
{
    if (cor_place_is_present(place))
        cor_object_meta_check_annotations(cor_place_json(check, place), &place->path,
                                          check->errors);
}

/* Has an expression of the selector a value that is not a label value? */
static bool has_bad_values(struct cor_check *check, const struct cor_place *selector)
{
    struct cor_place expressions, expression, values, value;
    struct cor_each each, inner;

    cor_place_field(check, selector, "matchExpressions", &expressions);
    each = cor_each(check, &expressions);
    while (cor_each_next(check, &each, &expression)) {
        cor_place_field(check, &expression, "values", &values);
        inner = cor_each(check, &values);
        while (cor_each_next(check, &inner, &value)) {
            if (!cor_format_ok(COR_FORMAT_LABEL_VALUE, cor_place_text(check, &value)))
                return true;
        }
    }
    return false;
}

static void check_expression(struct cor_check *check, const struct cor_place *expression,
                             bool any_value)
{
    struct cor_place key, operator, values, value;
    struct cor_str text;
    struct cor_each each;

    cor_place_field(check, expression, "key", &key);
    cor_place_field(check, expression, "operator", &operator);
    cor_place_field(check, expression, "values", &values);
    text = cor_place_text(check, &operator);
    if (cor_str_eqz(text, "In") || cor_str_eqz(text, "NotIn")) {
        if (cor_place_is_empty(check, &values))
            cor_check_required(check, &values,
                               "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (cor_str_eqz(text, "Exists") || cor_str_eqz(text, "DoesNotExist")) {
        if (!cor_place_is_empty(check, &values))
            cor_check_forbidden(
                check, &values,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
        cor_check_invalid(check, &operator, "not a valid selector operator");
    }
    (void)cor_check_format(check, &key, COR_FORMAT_QUALIFIED_NAME);
    each = cor_each(check, &values);
    while (!any_value && cor_each_next(check, &each, &value))
        (void)cor_check_format(check, &value, COR_FORMAT_LABEL_VALUE);
}

COR_HOOK(label_selector)
{
    struct cor_place old = cor_place_old(place), labels, expressions, expression;
    bool any_value = cor_str_eqz(arg, "values_of_old")
                         ? check->has_old && has_bad_values(check, &old)
                         : arg.n > 0 && cor_when_old_has(check, place, arg);

    cor_place_field(check, place, "matchLabels", &labels);
    cor_hook_labels(check, &labels, COR_STR(""));
    cor_place_field(check, place, "matchExpressions", &expressions);
    COR_EACH(check, &expressions, expression)
        check_expression(check, &expression, any_value);
}

COR_WHEN(is_selector)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors mistakes = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;
    int r;

    if (!cor_place_is_present(place))
        return true;
    r = cor_label_selector_read(cor_place_json(check, place), &place->path, &mistakes, &selector);
    cor_check_note(check, r);
    return r == 0;
}
