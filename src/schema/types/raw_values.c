#include "schema/types/raw_values.h"

#include "meta/status/gvk.h"

/* The nodes on the way to the FieldsV1 of an object. */
static const char metadata_node[] = "metadata", entries_node[] = "managedFields",
                  entry_node[] = "managedFields[]";

static const void *node_of(const struct cor_type *type)
{
    enum cor_shape shape = cor_type_shape(type);

    /* A list of raw values is raw as a whole: what is minified is the same. */
    if (shape == COR_SHAPE_LIST)
        shape = cor_type_shape(cor_type_element(type));
    if (shape == COR_SHAPE_RAW || shape == COR_SHAPE_JSON)
        return cor_json_raw_node;
    return cor_type_is(type, COR_TYPE_RAW) ? type : NULL;
}

const void *cor_raw_values_of(const struct cor_type *type)
{
    return type ? node_of(type) : NULL;
}

static const void *raw_of_kind(struct cor_str kind, struct cor_str api_version)
{
    struct cor_gv gv;

    return cor_gv_parse(api_version, &gv, NULL) < 0 ? NULL
                                                    : cor_type_of_kind(gv.group, gv.version, kind);
}

static const void *raw_of_member(const void *node, struct cor_str key)
{
    const struct cor_type *type = node;
    struct cor_member member;

    if (node == metadata_node)
        return cor_str_eq(key, COR_STR("managedFields")) ? entries_node : NULL;
    if (node == entry_node)
        return cor_str_eq(key, COR_STR("fieldsV1")) ? cor_json_raw_node : NULL;
    if (node == entries_node)
        return NULL;
    if (cor_type_is(type, COR_TYPE_KIND) && cor_str_eq(key, COR_STR("metadata")))
        return metadata_node;
    switch (cor_type_shape(type)) {
    case COR_SHAPE_MAP:
        return node_of(cor_type_element(type));
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        type = cor_type_element(type);
        break;
    default:
        break;
    }
    return cor_type_find_member(type, key, &member) ? node_of(cor_type_field_type(member.field))
                                                    : NULL;
}

static const void *raw_of_element(const void *node)
{
    const struct cor_type *element;

    if (node == entries_node)
        return entry_node;
    if (node == metadata_node || node == entry_node)
        return NULL;
    element = cor_type_element(node);
    return element ? node_of(element) : NULL;
}

const struct cor_json_guide cor_raw_values = {raw_of_kind, raw_of_member, raw_of_element};
