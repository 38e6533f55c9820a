/* Parts of the schemas of a CustomResourceDefinition, for the files that check them:
 * check_crd_schema.c, check_crd_keywords.c and check_crd_values.c. A schema is the place of a
 * JSONSchemaProps. Thread: any. */
#ifndef COR_SCHEMA_HOOKS_CHECK_CRD_PARTS_H
#define COR_SCHEMA_HOOKS_CHECK_CRD_PARTS_H

#include "schema/check/check.h"

#define CRD_SCHEMA_TEXTS_MAX (32u << 20) /* bytes of the texts of a set */

#define X_PRESERVE    "x-kubernetes-preserve-unknown-fields"
#define X_EMBEDDED    "x-kubernetes-embedded-resource"
#define X_INT_OR_STR  "x-kubernetes-int-or-string"
#define X_LIST_TYPE   "x-kubernetes-list-type"
#define X_MAP_TYPE    "x-kubernetes-map-type"
#define X_MAP_KEYS    "x-kubernetes-list-map-keys"
#define X_VALIDATIONS "x-kubernetes-validations"

static const char *const crd_junctors[] = {"allOf", "anyOf", "oneOf"};

/* Adds the pattern of a schema that is not a regular expression; what is restricted below allOf,
 * anyOf, oneOf and not of the root and is not defined in the structure; and the defaults that the
 * schema itself refuses (check_crd_values.c). */
void cor_crd_check_pattern(struct cor_check *check, const struct cor_place *schema);
void cor_crd_check_complete(struct cor_check *check, const struct cor_place *root);
void cor_crd_check_defaults(struct cor_check *check, const struct cor_place *root);

/* Adds what is wrong with the keywords of a schema and of all schemas in it (check_crd_keywords.c).
 */
void cor_crd_check_keywords(struct cor_check *check, const struct cor_place *root);

static inline bool has_member(struct cor_check *check, const struct cor_place *schema,
                              const char *name)
{
    return cor_field_is_present(check, schema, name);
}

static inline char first_byte(const struct cor_check *check, const struct cor_place *place)
{
    return cor_json_node_first(&check->object.nodes, place->node);
}

/* The schema that `items` or `additionalProperties` is; false: the member is absent, a list or a
 * boolean. */
static inline bool schema_of(struct cor_check *check, const struct cor_place *schema,
                             const char *name, struct cor_place *ret_schema)
{
    if (!cor_place_field(check, schema, name, ret_schema) || first_byte(check, ret_schema) != '{')
        return false;
    ret_schema->type = schema->type;
    ret_schema->is_pointer = false;
    return true;
}

/* An array of schemas in place of one. */
static inline bool has_item_list(struct cor_check *check, const struct cor_place *schema)
{
    struct cor_place items;

    return cor_place_field(check, schema, "items", &items) && first_byte(check, &items) == '[' &&
           cor_json_node_has_nodes(&check->object.nodes, items.node);
}

static inline bool is_type(struct cor_check *check, const struct cor_place *schema,
                           const char *type)
{
    return cor_str_eqz(cor_field_text(check, schema, "type"), type);
}

static inline void forbid(struct cor_check *check, const struct cor_place *schema, const char *name,
                          const char *detail)
{
    struct cor_place member;

    cor_place_field(check, schema, name, &member);
    cor_check_forbidden(check, &member, detail);
}

static inline void require(struct cor_check *check, const struct cor_place *schema,
                           const char *name, const char *detail)
{
    struct cor_place member;

    cor_place_field(check, schema, name, &member);
    cor_check_required(check, &member, detail);
}

static inline void refuse_value(struct cor_check *check, const struct cor_place *schema,
                                const char *name, const char *detail)
{
    struct cor_place member;

    cor_place_field(check, schema, name, &member);
    cor_check_invalid(check, &member, detail);
}

/* The same for a text: upstream shows what a pointer to a text points to. */
static inline void refuse_text(struct cor_check *check, const struct cor_place *schema,
                               const char *name, const char *detail)
{
    struct cor_place member;

    cor_place_field(check, schema, name, &member);
    cor_check_add_value(check, COR_FIELD_INVALID, &member,
                        cor_field_string(cor_place_text(check, &member)), detail);
}

#endif
