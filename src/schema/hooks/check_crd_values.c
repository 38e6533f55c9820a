/* What the schemas of a CustomResourceDefinition say of values (contract crd 1.6.15, 1.6.22, 1.8):
 * patterns are regular expressions, what is restricted below allOf, anyOf, oneOf and not is defined
 * in the structure, and defaults are values that their schemas accept.
 *
 * The functions recurse into the schemas of a schema; JSON is at most COR_JSON_DEPTH_MAX deep.
 * Failures: no memory, which the errors keep. Thread: any. */
#include "base/err.h"
#include "schema/hooks/check_crd_parts.h"
#include "schema/structural/pattern.h"
#include "schema/structural/structural.h"

#define WORDS_MAX (16u << 10)

/* A definition has the same few patterns again and again, and compiling one is much work. */
void cor_crd_check_pattern(struct cor_check *check, const struct cor_place *schema)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WORDS_MAX};
    COR_CLEANUP(cor_pattern_freep) struct cor_pattern *pattern = NULL;
    struct cor_str text = cor_field_text(check, schema, "pattern");
    const struct cor_place *definition = schema;
    int r;

    if (text.n == 0 || cor_check_has_seen(check, COR_SEEN_PATTERNS, text))
        return;
    while (definition->parent)
        definition = definition->parent;
    r = cor_pattern_compile(text, &pattern, &why);
    if (r == 0)
        (void)cor_check_see(check, COR_SEEN_PATTERNS, definition, text);
    if (r == -COR_EINVALID)
        refuse_text(check, schema, "pattern",
                    cor_check_printf(check, "must be a valid regular expression, but isn't: %s",
                                     cor_buf_z(&why)));
    else
        cor_check_note(check, r);
}

/* The path of a schema, for a detail. */
static const char *path_of(struct cor_check *check, const struct cor_place *place)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = WORDS_MAX};
    int r = cor_field_path_print(&place->path, &text);

    cor_check_note(check, r == -COR_ETOOBIG ? 0 : r);
    return cor_check_printf(check, "because it is defined in %s", cor_buf_z(&text));
}

static void check_values_complete(struct cor_check *check, const struct cor_place *structure,
                                  const struct cor_place *values);

/* Are the properties and items that the nested schema restricts defined in the structure? */
static void check_nested_complete(struct cor_check *check, const struct cor_place *structure,
                                  const struct cor_place *nested)
{
    struct cor_place list, item, known, defined;

    check_values_complete(check, structure, nested);
    if (schema_of(check, nested, "items", &item)) {
        if (schema_of(check, structure, "items", &defined))
            check_nested_complete(check, &defined, &item);
        else
            require(check, structure, "items", path_of(check, &item));
    }
    if (!cor_place_field(check, nested, "properties", &list))
        return;
    cor_place_field(check, structure, "properties", &known);
    COR_EACH(check, &list, item) {
        if (cor_place_entry(check, &known, item.key, &defined))
            check_nested_complete(check, &defined, &item);
        else
            cor_check_required(check, &defined, path_of(check, &item));
    }
}

static void check_values_complete(struct cor_check *check, const struct cor_place *structure,
                                  const struct cor_place *values)
{
    struct cor_place list, item;

    if (cor_place_field(check, values, "not", &item))
        check_nested_complete(check, structure, &item);
    for (size_t i = 0; i < COR_ARRAY_LEN(crd_junctors); i++) {
        if (!cor_place_field(check, values, crd_junctors[i], &list))
            continue;
        COR_EACH(check, &list, item)
            check_nested_complete(check, structure, &item);
    }
}

void cor_crd_check_complete(struct cor_check *check, const struct cor_place *root)
{
    check_values_complete(check, root, root);
}

void cor_crd_check_defaults(struct cor_check *check, const struct cor_place *root)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    int r = cor_structural_compile(cor_place_json(check, root), NULL, &schema, NULL);

    if (r == 0)
        cor_structural_check_defaults(schema, &root->path, check->errors);
    else
        cor_check_note(check, r);
}
