/* The hooks of validation for APIService (schema/check/check.h describes what they work with).
 * Thread: any. */
#include "schema/hooks/check_registration.h"

#include "schema/hooks/hooks.h"

/* Returns whether the text is a valid path segment, but not the name that an APIService must have.
 */
static bool is_other_name(struct cor_str text, struct cor_str wanted)
{
    return text.n > 0 && cor_format_ok(COR_FORMAT_PATH_SEGMENT, text) && !cor_str_eq(text, wanted);
}

COR_HOOK(version_and_group)
{
    static const char *const names[] = {"generateName", "name"};
    struct cor_place metadata, name, spec;
    struct cor_str parts[3], wanted;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, place, "spec", &spec);
    parts[0] = cor_field_text(check, &spec, "version");
    parts[1] = COR_STR(".");
    parts[2] = cor_field_text(check, &spec, "group");
    wanted = cor_check_concat(check, parts, COR_ARRAY_LEN(parts));
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        cor_place_field(check, &metadata, names[i], &name);
        if (is_other_name(cor_place_text(check, &name), wanted))
            cor_check_invalid(check, &name,
                              cor_check_printf(check,
                                               "must be `spec.version+\".\"+spec.group`: \"%.*s\"",
                                               COR_STR_ARG(wanted)));
    }
}

/* The number of bytes that a text in base64 stands for. */
static size_t decoded_length(struct cor_str text)
{
    size_t n = text.n / 4 * 3;

    for (size_t i = text.n; i > 0 && text.p[i - 1] == '='; i--)
        n--;
    return n;
}

COR_HOOK(no_bundle)
{
    size_t n = decoded_length(cor_place_text(check, place));

    if (n > 0)
        cor_check_add_value(check, COR_FIELD_INVALID, place,
                            cor_field_string(cor_strz(cor_check_printf(check, "%zu bytes", n))),
                            "local APIServices may not have a caBundle");
}
