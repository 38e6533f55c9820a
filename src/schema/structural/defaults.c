/* The defaults of a schema, checked against the schema itself when the definition is written
 * (contract crd 1.8): a default that its own node would prune or refuse is an error of the
 * definition, and so is one of an embedded resource without apiVersion and kind. A default of the
 * metadata of an embedded resource, or of its apiVersion or kind, is put into a resource that has
 * nothing else, which must be valid. Children of a default get no defaults first, as upstream has
 * it. The walk goes over the nodes in the order of properties and items. Failures: out of memory,
 * which is noted in the field errors. Thread: any. */
#include "base/err.h"
#include "schema/structural/structural_int.h"

#define PATH_MAX_BYTES (64u << 10)

/* Where a node is in the embedded resource around it. */
struct place {
    const struct place *up; /* NULL: the resource itself */
    const struct cor_structural_node *resource;
    struct cor_str key; /* raw; p == NULL: an item of a list */
    bool is_meta;       /* apiVersion, kind, metadata or something in them */
};

static void note(struct cor_field_errors *errors, int r)
{
    if (r < 0 && errors->error == 0)
        errors->error = r;
}

/* --- Metadata ----------------------------------------------------------------------------------
 */

/* Appends the resource around a value up to where the value begins. */
static int open_around(const struct place *place, struct cor_buf *out)
{
    int r;

    if (!place->up)
        return 0;
    r = open_around(place->up, out);
    if (r < 0)
        return r;
    if (!place->key.p)
        return cor_buf_addc(out, '[');
    r = cor_buf_addc(out, '{');
    if (r == 0 && !place->up->up && !cor_str_eqz(place->key, "kind"))
        r = cor_buf_addz(out, "\"kind\":\"Validation\",");
    if (r == 0 && !place->up->up && !cor_str_eqz(place->key, "apiVersion"))
        r = cor_buf_addz(out, "\"apiVersion\":\"validation/v1\",");
    return r < 0 ? r : cor_buf_addf(out, "\"%.*s\":", COR_STR_ARG(place->key));
}

static int close_around(const struct place *place, struct cor_buf *out)
{
    int r = 0;

    for (; r == 0 && place->up; place = place->up)
        r = cor_buf_addc(out, place->key.p ? '}' : ']');
    return r;
}

/* What is wrong with the resource around a default of its metadata, as one text. */
static int describe_metadata(const struct cor_structural *schema, const struct place *place,
                             struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors found = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = COR_STRUCTURAL_JSON_MAX};
    int r = open_around(place, &whole);

    r = r < 0 ? r : cor_buf_adds(&whole, json);
    r = r < 0 ? r : close_around(place, &whole);
    if (r < 0)
        return r;
    cor_structural_check_embedded_value(schema, place->resource, true, cor_buf_str(&whole), NULL,
                                        &found);
    if (found.error < 0 || found.n == 0)
        return found.error;
    r = cor_buf_addf(out, "must result in valid metadata: %s", found.n > 1 ? "[" : "");
    for (size_t i = 0; r == 0 && i < found.n; i++)
        r = cor_buf_addf(out, "%s%s: %s", i > 0 ? ", " : "", found.v[i].field, found.v[i].body);
    return r == 0 && found.n > 1 ? cor_buf_addc(out, ']') : r;
}

static void check_metadata(const struct cor_structural *schema, const struct place *place,
                           struct cor_str json, const struct cor_field_path *at,
                           struct cor_field_errors *errors)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = COR_STRUCTURAL_JSON_MAX};

    note(errors, describe_metadata(schema, place, json, &why));
    if (why.n > 0)
        cor_field_errors_add(errors, COR_FIELD_INVALID, at, cor_field_json(json), cor_buf_z(&why));
}

/* --- Defaults ----------------------------------------------------------------------------------
 */

static void check_pruned(const struct cor_structural *schema,
                         const struct cor_structural_node *node, bool is_resource,
                         struct cor_str json, const struct cor_field_path *at,
                         struct cor_field_errors *errors)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pruned = {.max = COR_STRUCTURAL_JSON_MAX};
    int r = cor_structural_rewrite_value(schema, node, is_resource, json, COR_STRUCTURAL_PRUNE,
                                         &pruned, NULL);

    note(errors, r);
    if (r == 1)
        cor_field_errors_add(errors, COR_FIELD_INVALID, at, cor_field_json(json),
                             "must not have unknown fields");
}

static void check_default(const struct cor_structural *schema,
                          const struct cor_structural_node *node, const struct place *place,
                          const struct cor_field_path *path, struct cor_work *work,
                          struct cor_field_errors *errors)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf prefix = {.max = PATH_MAX_BYTES};
    struct cor_str json = cor_structural_text(schema, node->default_json);
    struct cor_field_path at = cor_field_child(path, COR_STR("default"));
    bool is_resource = place->resource == node;
    size_t before;

    if (!place->is_meta)
        check_pruned(schema, node, is_resource, json, &at, errors);
    note(errors, cor_field_path_print(&at, &prefix));
    before = errors->n;
    if (errors->error == 0 && place->is_meta)
        check_metadata(schema, place, json, &at, errors);
    else if (errors->error == 0)
        cor_structural_check_embedded_value(schema, node, is_resource, json, &at, errors);
    if (errors->error == 0 && errors->n == before)
        cor_structural_validate_value(schema, node, json, cor_str(NULL, 0), cor_buf_str(&prefix),
                                      true, work, errors);
}

static void check_defaults(const struct cor_structural *schema,
                           const struct cor_structural_node *node, const struct place *around,
                           const struct cor_field_path *path, struct cor_work *work,
                           struct cor_field_errors *errors)
{
    struct cor_field_path list = cor_field_child(path, COR_STR("properties")), at;
    struct place own = {.resource = node}, below;
    const struct place *place =
        cor_structural_is(node, COR_STRUCTURAL_EMBEDDED) || !around ? &own : around;

    if (errors->error < 0 || cor_work_result(work) < 0)
        return;
    if (cor_structural_is(node, COR_STRUCTURAL_HAS_DEFAULT))
        check_default(schema, node, place, path, work, errors);
    if (!cor_structural_is(node, COR_STRUCTURAL_DEFAULTS_BELOW))
        return;
    below = (struct place){.up = place, .resource = place->resource, .is_meta = place->is_meta};
    if (node->items != COR_STRUCTURAL_NONE) {
        at = cor_field_child(path, COR_STR("items"));
        check_defaults(schema, &schema->nodes[node->items], &below, &at, work, errors);
    }
    for (uint32_t i = 0; i < node->nproperties; i++) {
        const struct cor_structural_property *property =
            &schema->properties[node->first_property + i];

        below.key = cor_structural_text(schema, property->name);
        below.is_meta = place->is_meta || (!place->up && cor_structural_is_meta(below.key));
        at = cor_field_key(&list, below.key);
        check_defaults(schema, &schema->nodes[property->node], &below, &at, work, errors);
    }
}

void cor_structural_check_defaults(const struct cor_structural *schema,
                                   const struct cor_field_path *path,
                                   struct cor_field_errors *errors)
{
    struct cor_work work = cor_work_new(false);

    check_defaults(schema, cor_structural_root(schema), NULL, path, &work, errors);
}
