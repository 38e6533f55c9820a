/* The hooks of validation for APIService (schema/check.h describes what they work with). Thread:
 * any. */
#include "schema/hooks/registration.h"

#include "schema/hooks/hooks.h"

void cor_hook_version_and_group(struct cor_check *check, const struct cor_place *place,
                                struct cor_str arg)
{
    struct cor_place metadata, name, spec;
    const char *wanted;

    (void)arg;
    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, &metadata, "name", &name);
    cor_place_field(check, place, "spec", &spec);
    wanted =
        cor_check_printf(check, "%.*s.%.*s", COR_STR_ARG(cor_field_text(check, &spec, "version")),
                         COR_STR_ARG(cor_field_text(check, &spec, "group")));
    if (cor_format_ok(COR_FORMAT_PATH_SEGMENT, cor_place_text(check, &name)) &&
        !cor_str_eq(cor_place_text(check, &name), cor_strz(wanted)))
        cor_check_invalid(
            check, &name,
            cor_check_printf(check, "must be `spec.version+\".\"+spec.group`: \"%s\"", wanted));
}

/* The number of bytes that a text in base64 stands for. */
static size_t decoded_length(struct cor_str text)
{
    size_t n = text.n / 4 * 3;

    for (size_t i = text.n; i > 0 && text.p[i - 1] == '='; i--)
        n--;
    return n;
}

void cor_hook_no_bundle(struct cor_check *check, const struct cor_place *place, struct cor_str arg)
{
    size_t n = decoded_length(cor_place_text(check, place));

    (void)arg;
    if (n > 0)
        cor_check_add_value(check, COR_FIELD_INVALID, place,
                            cor_field_string(cor_strz(cor_check_printf(check, "%zu bytes", n))),
                            "local APIServices may not have a caBundle");
}
