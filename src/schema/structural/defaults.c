/* The defaults of a schema, checked against the schema itself when the definition is written
 * (contract crd 1.8): a default that its own node would prune or refuse is an error of the
 * definition, and so is one of an embedded resource without apiVersion and kind. Children of a
 * default get no defaults first, as upstream has it. The walk goes over
 * the nodes in the order of properties and items. Failures: out of memory, which is noted in the
 * field errors. Thread: any. */
#include "base/err.h"
#include "schema/structural/structural_int.h"

#define PATH_MAX_BYTES (64u << 10)

static void note(struct cor_field_errors *errors, int r)
{
    if (r < 0 && errors->error == 0)
        errors->error = r;
}

static void check_default(const struct cor_structural *schema,
                          const struct cor_structural_node *node, const struct cor_field_path *path,
                          struct cor_work *work, struct cor_field_errors *errors)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pruned = {.max = COR_STRUCTURAL_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf prefix = {.max = PATH_MAX_BYTES};
    struct cor_str json = cor_structural_text(schema, node->default_json);
    struct cor_field_path at = cor_field_child(path, COR_STR("default"));
    bool is_resource =
        cor_structural_is(node, COR_STRUCTURAL_EMBEDDED) || node == cor_structural_root(schema);
    size_t before;
    int r = cor_structural_rewrite_value(schema, node, is_resource, json, COR_STRUCTURAL_PRUNE,
                                         &pruned, NULL);

    note(errors, r);
    if (r == 1)
        cor_field_errors_add(errors, COR_FIELD_INVALID, &at, cor_field_json(json),
                             "must not have unknown fields");
    note(errors, cor_field_path_print(&at, &prefix));
    before = errors->n;
    if (errors->error == 0)
        cor_structural_check_embedded_value(schema, node, is_resource, json, &at, errors);
    if (errors->error == 0 && errors->n == before)
        cor_structural_validate_value(schema, node, json, cor_str(NULL, 0), cor_buf_str(&prefix),
                                      true, work, errors);
}

static void check_defaults(const struct cor_structural *schema,
                           const struct cor_structural_node *node,
                           const struct cor_field_path *path, struct cor_work *work,
                           struct cor_field_errors *errors)
{
    struct cor_field_path list = cor_field_child(path, COR_STR("properties")), at;

    if (errors->error < 0 || cor_work_result(work) < 0)
        return;
    if (cor_structural_is(node, COR_STRUCTURAL_HAS_DEFAULT))
        check_default(schema, node, path, work, errors);
    if (!cor_structural_is(node, COR_STRUCTURAL_DEFAULTS_BELOW))
        return;
    if (node->items != COR_STRUCTURAL_NONE) {
        at = cor_field_child(path, COR_STR("items"));
        check_defaults(schema, &schema->nodes[node->items], &at, work, errors);
    }
    for (uint32_t i = 0; i < node->nproperties; i++) {
        const struct cor_structural_property *property =
            &schema->properties[node->first_property + i];

        at = cor_field_key(&list, cor_structural_text(schema, property->name));
        check_defaults(schema, &schema->nodes[property->node], &at, work, errors);
    }
}

void cor_structural_check_defaults(const struct cor_structural *schema,
                                   const struct cor_field_path *path,
                                   struct cor_field_errors *errors)
{
    struct cor_work work = cor_work_new(false);

    check_defaults(schema, cor_structural_root(schema), path, &work, errors);
}
