/* The hooks of validation for the volumes of pods
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/pod_volumes.h"

#include "base/err.h"
#include "schema/hooks/hooks.h"

/* Was an error added at the place or below it? Those of the place that is checked now are the last.
 */
static bool has_mistake(struct cor_check *check, const struct cor_place *place)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};

    if (check->errors->n == 0)
        return false;
    cor_check_note(check, cor_field_path_print(&place->path, &path));
    return cor_str_starts(cor_strz(check->errors->v[check->errors->n - 1].field),
                          cor_buf_str(&path));
}

/* The claims that a StatefulSet makes are volumes of its pods, in place of those with their names.
 */
void cor_hook_claim_template_volumes(struct cor_check *check, const struct cor_place *place,
                                     struct cor_str arg)
{
    struct cor_place template, spec, list, claim, metadata;
    struct cor_each each;

    (void)arg;
    cor_place_field(check, place, "template", &template);
    cor_place_field(check, &template, "spec", &spec);
    cor_place_field(check, place, "volumeClaimTemplates", &list);
    each = cor_each(check, &list);
    while (cor_each_next(check, &each, &claim)) {
        struct cor_str name;

        cor_place_field(check, &claim, "metadata", &metadata);
        name = cor_field_text(check, &metadata, "name");
        (void)cor_check_see(check, COR_SEEN_TEMPLATE_VOLUMES, &spec, name);
        (void)cor_check_see(check, COR_SEEN_VOLUMES, &spec, name);
        (void)cor_check_see(check, COR_SEEN_CLAIM_VOLUMES, &spec, name);
    }
}

/* Comes last of a volume's rules. Only a volume without a mistake can be mounted, and its name
 * cannot be used again. */
void cor_hook_volume_name(struct cor_check *check, const struct cor_place *place,
                          struct cor_str arg)
{
    struct cor_place name, source;
    struct cor_str text;
    bool is_right = !has_mistake(check, place);

    (void)arg;
    cor_place_field(check, place, "name", &name);
    text = cor_place_text(check, &name);
    if (cor_check_has_seen(check, COR_SEEN_TEMPLATE_VOLUMES, text))
        return;
    if (cor_check_has_seen(check, COR_SEEN_VOLUMES, text)) {
        cor_check_duplicate(check, &name);
        return;
    }
    if (!is_right)
        return;
    (void)cor_check_see(check, COR_SEEN_VOLUMES, place->parent->parent, text);
    if (cor_place_field(check, place, "persistentVolumeClaim", &source) ||
        cor_place_field(check, place, "ephemeral", &source))
        (void)cor_check_see(check, COR_SEEN_CLAIM_VOLUMES, place->parent->parent, text);
}
