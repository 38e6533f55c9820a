/* Three sources answer the same questions about a place: what it may hold, the place of a member,
 * the place of an item, and the keys of a list. A built-in place reads the tables of types and
 * fields, a place of a custom resource the tables of its compiled schema, any other place a struct
 * cor_apply_type. Each public function asks first which of them it has. The list type of a built-in
 * field comes from its data, else from its strategy of patches.
 * Failures: none; a member that is not known is an answer of its own.
 * Thread: any (pure). */
#include "schema/apply/place.h"

#include <assert.h>

#include "base/cleanup.h"
#include "schema/print/openapi.h"
#include "schema/structural/structural_int.h"
#include "json/text/scan.h"

const struct cor_apply_type cor_apply_deduced = {
    .scalar = COR_APPLY_ANY_SCALAR,
    .list = COR_APPLY_LIST_ATOMIC,
    .map = COR_APPLY_MAP_GRANULAR,
    .others = &cor_apply_deduced,
    .item = &cor_apply_any_atomic,
};

const struct cor_apply_type cor_apply_any_atomic = {
    .scalar = COR_APPLY_ANY_SCALAR,
    .list = COR_APPLY_LIST_ATOMIC,
    .map = COR_APPLY_MAP_ATOMIC,
    .others = &cor_apply_any_atomic,
    .item = &cor_apply_any_atomic,
};

struct cor_apply_place cor_apply_place_schema(const struct cor_apply_type *type)
{
    return (struct cor_apply_place){
        .scalar = type->scalar, .list = type->list, .map = type->map, .schema = type};
}

/* The list of a field: by its list type, else by its strategy of patches. A list that is not a
 * field's own, such as the list in a map, is owned as a whole. */
static enum cor_apply_list builtin_list(const struct cor_type_field *field)
{
    if (!field)
        return COR_APPLY_LIST_ATOMIC;
    switch (cor_type_field_list_kind(field)) {
    case COR_LIST_KIND_ATOMIC:
        return COR_APPLY_LIST_ATOMIC;
    case COR_LIST_KIND_SET:
        return COR_APPLY_LIST_SET;
    case COR_LIST_KIND_MAP:
        return COR_APPLY_LIST_KEYED;
    case COR_LIST_KIND_NONE:
        break;
    }
    if (!(cor_type_field_patch(field) & COR_PATCH_FLAG_MERGE))
        return COR_APPLY_LIST_ATOMIC;
    return cor_type_field_patch_key(field).n > 0 ? COR_APPLY_LIST_KEYED : COR_APPLY_LIST_SET;
}

static enum cor_apply_map builtin_map(const struct cor_type *type,
                                      const struct cor_type_field *field)
{
    enum cor_map_kind kind = field ? cor_type_field_map_kind(field) : COR_MAP_KIND_NONE;

    if (kind != COR_MAP_KIND_NONE)
        return kind == COR_MAP_KIND_ATOMIC ? COR_APPLY_MAP_ATOMIC : COR_APPLY_MAP_GRANULAR;
    return cor_type_is(type, COR_TYPE_ATOMIC) ? COR_APPLY_MAP_ATOMIC : COR_APPLY_MAP_GRANULAR;
}

/* The place of a value of a built-in type that `field` holds; NULL: a list or map holds it. */
static struct cor_apply_place builtin_place(const struct cor_type *type,
                                            const struct cor_type_field *field)
{
    struct cor_apply_place place = {.type = type, .field = field};

    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
    case COR_SHAPE_MAP:
        place.map = builtin_map(type, field);
        break;
    case COR_SHAPE_LIST:
        place.list = builtin_list(field);
        break;
    case COR_SHAPE_STRING:
    case COR_SHAPE_BYTES:
    case COR_SHAPE_DURATION:
        place.scalar = COR_APPLY_STRING;
        break;
    case COR_SHAPE_BOOL:
        place.scalar = COR_APPLY_BOOLEAN;
        break;
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_FLOAT64:
        place.scalar = COR_APPLY_NUMERIC;
        break;
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
    case COR_SHAPE_QUANTITY:
    case COR_SHAPE_INT_OR_STRING:
        place.scalar = COR_APPLY_ANY_SCALAR;
        break;
    case COR_SHAPE_RAW:
        return cor_apply_place_schema(&cor_apply_any_atomic);
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
    case COR_SHAPES:
        return cor_apply_place_schema(&cor_apply_deduced);
    }
    return place;
}

struct cor_apply_place cor_apply_place_builtin(const struct cor_type *kind)
{
    assert(cor_type_shape(kind) == COR_SHAPE_STRUCT);
    return builtin_place(kind, NULL);
}

/* --- Custom resources --------------------------------------------------------------------------
 */

static const struct cor_apply_type text_type = {.scalar = COR_APPLY_STRING};

static enum cor_apply_list structural_list(const struct cor_structural_node *node)
{
    if (node->list == COR_STRUCTURAL_LIST_SET)
        return COR_APPLY_LIST_SET;
    return node->list == COR_STRUCTURAL_LIST_MAP && node->nkeys > 0 &&
                   node->nkeys <= COR_APPLY_KEYS_MAX
               ? COR_APPLY_LIST_KEYED
               : COR_APPLY_LIST_ATOMIC;
}

static struct cor_apply_place structural_place(const struct cor_structural *schema,
                                               const struct cor_structural_node *node)
{
    struct cor_apply_place place = {.structural = schema, .node = node};
    enum cor_apply_map map = cor_structural_is(node, COR_STRUCTURAL_ATOMIC_MAP)
                                 ? COR_APPLY_MAP_ATOMIC
                                 : COR_APPLY_MAP_GRANULAR;

    switch ((enum cor_structural_type)node->type) {
    case COR_STRUCTURAL_ANY:
        place.scalar = COR_APPLY_ANY_SCALAR;
        place.list = structural_list(node);
        place.map = map;
        break;
    case COR_STRUCTURAL_ARRAY:
        place.list = structural_list(node);
        break;
    case COR_STRUCTURAL_OBJECT:
        place.map = map;
        break;
    case COR_STRUCTURAL_BOOLEAN:
        place.scalar = COR_APPLY_BOOLEAN;
        break;
    case COR_STRUCTURAL_INTEGER:
    case COR_STRUCTURAL_NUMBER:
        place.scalar = COR_APPLY_NUMERIC;
        break;
    case COR_STRUCTURAL_STRING:
    case COR_STRUCTURAL_TYPES:
        place.scalar = cor_structural_is(node, COR_STRUCTURAL_FORMATTED) ? COR_APPLY_ANY_SCALAR
                                                                         : COR_APPLY_STRING;
        break;
    }
    return place;
}

struct cor_apply_place cor_apply_place_structural(const struct cor_structural *schema)
{
    return structural_place(schema, cor_structural_root(schema));
}

/* Has the object apiVersion, kind and metadata, whatever its schema says? */
static bool is_resource(const struct cor_apply_place *place)
{
    return place->node == cor_structural_root(place->structural) ||
           cor_structural_is(place->node, COR_STRUCTURAL_EMBEDDED);
}

/* Are keys allowed that the schema says nothing of? */
static bool has_deduced_members(const struct cor_apply_place *place)
{
    const struct cor_structural_node *node = place->node;

    if (cor_structural_is(node, COR_STRUCTURAL_ADDITIONAL))
        return !cor_structural_is(node, COR_STRUCTURAL_NO_ADDITIONAL);
    return cor_structural_is(node, COR_STRUCTURAL_DEDUCED) ||
           (node->nproperties == 0 && !is_resource(place));
}

static enum cor_apply_known structural_member(const struct cor_apply_place *place,
                                              struct cor_str raw_key,
                                              struct cor_apply_place *ret_member)
{
    const struct cor_structural *schema = place->structural;
    const struct cor_structural_node *node;

    if (is_resource(place) && cor_structural_is_meta(raw_key)) {
        *ret_member = cor_str_eqz(raw_key, "metadata")
                          ? builtin_place(cor_type_named(COR_STR("meta_v1.ObjectMeta")), NULL)
                          : cor_apply_place_schema(&text_type);
        return COR_APPLY_NAMED;
    }
    node = cor_structural_find(schema, place->node, raw_key);
    if (node) {
        *ret_member = structural_place(schema, node);
        return COR_APPLY_NAMED;
    }
    node = cor_structural_node(schema, place->node->additional);
    if (!node && !has_deduced_members(place))
        return COR_APPLY_UNKNOWN;
    *ret_member =
        node ? structural_place(schema, node) : cor_apply_place_schema(&cor_apply_deduced);
    return COR_APPLY_OTHER;
}

static struct cor_apply_place structural_item(const struct cor_apply_place *place)
{
    const struct cor_structural_node *items =
        cor_structural_node(place->structural, place->node->items);

    return items ? structural_place(place->structural, items)
                 : cor_apply_place_schema(&cor_apply_any_atomic);
}

static size_t structural_keys(const struct cor_apply_place *place, struct cor_apply_key *keys)
{
    const struct cor_structural *schema = place->structural;
    const struct cor_structural_node *items = cor_structural_node(schema, place->node->items);

    for (uint32_t i = 0; i < place->node->nkeys; i++) {
        const struct cor_structural_node *key;

        keys[i].name = cor_structural_text(schema, schema->texts[place->node->first_key + i]);
        key = items ? cor_structural_find(schema, items, keys[i].name) : NULL;
        keys[i].default_json = key && cor_structural_is(key, COR_STRUCTURAL_HAS_DEFAULT)
                                   ? cor_structural_text(schema, key->default_json)
                                   : COR_STR("");
    }
    return place->node->nkeys;
}

/* --- Places without tables, and the questions --------------------------------------------------
 */

static const struct cor_apply_field *find_field(const struct cor_apply_type *type,
                                                struct cor_str raw_key)
{
    size_t low = 0, high = type->nfields;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = cor_json_raw_cmp(type->fields[middle].name, raw_key);

        if (c == 0)
            return &type->fields[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

enum cor_apply_known cor_apply_place_member(const struct cor_apply_place *place,
                                            struct cor_str raw_key,
                                            struct cor_apply_place *ret_member)
{
    struct cor_member member;

    assert(place->map != COR_APPLY_NO_MAP);
    if (place->structural)
        return structural_member(place, raw_key, ret_member);
    if (place->schema) {
        const struct cor_apply_field *field = find_field(place->schema, raw_key);
        const struct cor_apply_type *type = field ? field->type : place->schema->others;

        if (!type)
            return COR_APPLY_UNKNOWN;
        *ret_member = cor_apply_place_schema(type);
        return field ? COR_APPLY_NAMED : COR_APPLY_OTHER;
    }
    if (cor_type_shape(place->type) == COR_SHAPE_MAP) {
        *ret_member = builtin_place(cor_type_element(place->type), NULL);
        return COR_APPLY_OTHER;
    }
    if (!cor_type_find_member(place->type, raw_key, &member)) /* no field's name has escapes */
        return COR_APPLY_UNKNOWN;
    *ret_member = builtin_place(cor_type_field_type(member.field), member.field);
    return COR_APPLY_NAMED;
}

struct cor_apply_place cor_apply_place_item(const struct cor_apply_place *place)
{
    assert(place->list != COR_APPLY_NO_LIST);
    if (place->structural)
        return structural_item(place);
    return place->schema ? cor_apply_place_schema(place->schema->item)
                         : builtin_place(cor_type_element(place->type), NULL);
}

static void sort_keys(struct cor_apply_key *keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t j = i; j > 0 && cor_str_cmp(keys[j].name, keys[j - 1].name) < 0; j--) {
            struct cor_apply_key key = keys[j];

            keys[j] = keys[j - 1];
            keys[j - 1] = key;
        }
    }
}

static size_t builtin_keys(const struct cor_apply_place *place, struct cor_apply_key *keys)
{
    const struct cor_type *item = cor_type_element(place->type);
    bool is_by_patch = cor_type_field_list_kind(place->field) == COR_LIST_KIND_NONE;
    size_t n = is_by_patch ? 1 : cor_type_field_nkeys(place->field);
    struct cor_member member;

    assert(n <= COR_APPLY_KEYS_MAX);
    for (size_t i = 0; i < n; i++) {
        keys[i].name = is_by_patch ? cor_type_field_patch_key(place->field)
                                   : cor_type_field_key(place->field, i);
        keys[i].default_json = cor_type_find_member(item, keys[i].name, &member)
                                   ? cor_openapi_default(member.field)
                                   : COR_STR("");
    }
    sort_keys(keys, n);
    return n;
}

size_t cor_apply_place_keys(const struct cor_apply_place *place,
                            struct cor_apply_key keys[COR_APPLY_KEYS_MAX])
{
    assert(place->list == COR_APPLY_LIST_KEYED);
    if (place->structural)
        return structural_keys(place, keys);
    if (!place->schema)
        return builtin_keys(place, keys);
    assert(place->schema->nkeys <= COR_APPLY_KEYS_MAX);
    for (size_t i = 0; i < place->schema->nkeys; i++) {
        struct cor_str name = place->schema->keys[i];
        const struct cor_apply_field *field = find_field(place->schema->item, name);

        keys[i] = (struct cor_apply_key){name, field ? field->default_json : COR_STR("")};
    }
    return place->schema->nkeys;
}

/* Has the schema no type of its own? Upstream calls an int-or-string so, too. */
static bool is_untyped(const struct cor_structural_node *node)
{
    return cor_structural_is(node, COR_STRUCTURAL_INT_OR_STRING) ||
           (node->type == COR_STRUCTURAL_ANY && cor_structural_is(node, COR_STRUCTURAL_PRESERVE));
}

bool cor_apply_place_is_deduced(const struct cor_apply_place *place)
{
    if (place->structural) {
        const struct cor_structural_node *others =
            cor_structural_node(place->structural, place->node->additional);

        return place->node->nproperties == 0 && !is_resource(place) &&
               (others ? is_untyped(others) : has_deduced_members(place));
    }
    return place->schema && place->schema->nfields == 0 &&
           place->schema->others == &cor_apply_deduced;
}
