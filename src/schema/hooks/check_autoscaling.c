/* The hooks of validation for HorizontalPodAutoscaler and Scale
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_autoscaling.h"

#include "meta/value/quantity.h"
#include "schema/hooks/hooks.h"

/* --- References to objects -------------------------------------------------------------------- */

enum version_form {
    VERSION_ALONE, /* "v1", "" */
    VERSION_WITH_GROUP,
    VERSION_WRONG, /* more than one slash */
};

static enum version_form version_form(struct cor_str text)
{
    ptrdiff_t slash = cor_str_find(text, '/');

    if (slash < 0 || cor_str_eq(text, COR_STR("/")))
        return VERSION_ALONE;
    if (cor_str_find(cor_str_from(text, (size_t)slash + 1), '/') >= 0)
        return VERSION_WRONG;
    return slash == 0 ? VERSION_ALONE : VERSION_WITH_GROUP;
}

static void add_wrong_version(struct cor_check *check, const struct cor_place *place)
{
    cor_check_invalid(check, place,
                      cor_check_printf(check, "unexpected GroupVersion string: %.*s",
                                       COR_STR_ARG(cor_place_text(check, place))));
}

/* A reference that keeps its kind and version may stay as it is. Of the core kinds, only the
 * ReplicationController can be scaled. */
COR_HOOK(target_api_version)
{
    enum version_form form = version_form(cor_place_text(check, place));
    struct cor_place kind;

    cor_place_field(check, place->parent, "kind", &kind);
    if (check->has_old && !cor_place_is_changed(check, place) &&
        !cor_place_is_changed(check, &kind))
        return;
    if (form == VERSION_WRONG)
        add_wrong_version(check, place);
    else if (form == VERSION_ALONE &&
             !cor_str_eq(cor_place_text(check, &kind), COR_STR("ReplicationController")))
        cor_check_invalid(check, place, "apiVersion must specify API group");
}

/* Has an Object metric of the old autoscaler a version of a wrong form? The list is read once per
 * check. */
static bool had_wrong_version(struct cor_check *check, const struct cor_place *metrics)
{
    struct cor_place old = cor_place_old(metrics), metric, source, described;

    if (!check->has_old || !cor_place_is_present(&old))
        return false;
    if (!cor_check_see(check, COR_SEEN_METRICS, metrics, COR_STR("read")))
        return cor_check_has_seen(check, COR_SEEN_METRICS, COR_STR("wrong"));
    COR_EACH(check, &old, metric) {
        if (!cor_str_eq(cor_field_text(check, &metric, "type"), COR_STR("Object")) ||
            !cor_place_field(check, &metric, "object", &source))
            continue;
        cor_place_field(check, &source, "describedObject", &described);
        if (version_form(cor_field_text(check, &described, "apiVersion")) == VERSION_WRONG) {
            cor_check_see(check, COR_SEEN_METRICS, metrics, COR_STR("wrong"));
            return true;
        }
    }
    return false;
}

/* The place is below metrics[i].object.describedObject. */
COR_HOOK(object_api_version)
{
    const struct cor_place *metric = cor_place_around(place, "MetricSpec");

    if (version_form(cor_place_text(check, place)) == VERSION_WRONG &&
        !(metric && had_wrong_version(check, metric->parent)))
        add_wrong_version(check, place);
}

/* --- Metrics ---------------------------------------------------------------------------------- */

/* A single source that is not of the metric's type is not reported: the missing one is. */
COR_HOOK(other_sources)
{
    static const struct {
        const char *type, *field;
    } sources[] = {{"Object", "object"},
                   {"External", "external"},
                   {"Pods", "pods"},
                   {"Resource", "resource"},
                   {"ContainerResource", "containerResource"}};
    struct cor_str type = cor_field_text(check, place, "type");
    struct cor_place source;
    size_t n = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(sources); i++)
        n += cor_place_field(check, place, sources[i].field, &source);
    for (size_t i = 0; n > 1 && i < COR_ARRAY_LEN(sources); i++) {
        if (cor_place_field(check, place, sources[i].field, &source) &&
            !cor_str_eq(type, cor_strz(sources[i].type)))
            cor_check_forbidden(check, &source, "must populate the given metric source only");
    }
}

COR_WHEN(scales_from_zero)
{
    struct cor_place metric;

    COR_EACH(check, place, metric) {
        struct cor_str type = cor_field_text(check, &metric, "type");

        if (cor_str_eq(type, COR_STR("Object")) || cor_str_eq(type, COR_STR("External")))
            return true;
    }
    return false;
}

COR_WHEN(was_sent_empty)
{
    return cor_check_was_sent_empty(check, place);
}
