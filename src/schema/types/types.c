/* Lookups in the tables of the built-in types. A type is found by a walk over the two dozen
 * packages and by halving among the sorted types of one, a member of a struct by halving among its
 * sorted members. Nothing here can fail but by not finding. */
#include "schema/types/types.h"

#include <assert.h>
#include <string.h>

#include "schema/types/types_int.h"

static struct cor_str pool_text(uint32_t offset)
{
    return cor_strz(cor_type_pool + offset);
}

/* Byte order of a name and a text of the pool, in one pass: the texts are short, and their lengths
 * are not known. */
static int pool_cmp(struct cor_str name, uint32_t offset)
{
    const unsigned char *text = (const unsigned char *)cor_type_pool + offset;

    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];

        if (c != text[i] || c == '\0')
            return text[i] == '\0' || c > text[i] ? 1 : -1;
    }
    return text[name.n] == '\0' ? 0 : -1;
}

/* The types of a package are sorted by their names. */
static const struct cor_type *type_in_package(const struct cor_type_package *package,
                                              struct cor_str name)
{
    size_t low = package->first, high = low + package->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = pool_cmp(name, cor_types[middle].name);

        if (order == 0)
            return &cor_types[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct cor_type *cor_type_of_kind(struct cor_str group, struct cor_str version,
                                        struct cor_str kind)
{
    for (size_t i = 0; i < cor_type_packages_n; i++) {
        const struct cor_type_package *package = &cor_type_packages[i];
        const struct cor_type *type;

        if (pool_cmp(group, package->group) != 0 || pool_cmp(version, package->version) != 0)
            continue;
        type = type_in_package(package, kind);
        return type && cor_type_is(type, COR_TYPE_KIND) ? type : NULL;
    }
    return NULL;
}

const struct cor_type *cor_type_named(struct cor_str name)
{
    struct cor_str rest = name, stem = cor_str_cut(&rest, '.');

    for (size_t i = 0; rest.p && i < cor_type_packages_n; i++) {
        if (cor_str_eq(pool_text(cor_type_packages[i].stem), stem))
            return type_in_package(&cor_type_packages[i], rest);
    }
    return NULL;
}

size_t cor_types_count(void)
{
    return cor_types_n;
}

const struct cor_type *cor_type_at(size_t i)
{
    assert(i < cor_types_n);
    return &cor_types[i];
}

enum cor_shape cor_type_shape(const struct cor_type *type)
{
    return (enum cor_shape)type->shape;
}

bool cor_type_is(const struct cor_type *type, enum cor_type_flag flag)
{
    return type->flags & flag;
}

struct cor_str cor_type_name(const struct cor_type *type)
{
    return pool_text(type->name);
}

struct cor_str cor_type_go_name(const struct cor_type *type)
{
    return pool_text(type->go_name);
}

struct cor_str cor_type_package(const struct cor_type *type)
{
    return pool_text(cor_type_packages[type->package].stem);
}

struct cor_str cor_type_group(const struct cor_type *type)
{
    return pool_text(cor_type_packages[type->package].group);
}

struct cor_str cor_type_version(const struct cor_type *type)
{
    return pool_text(cor_type_packages[type->package].version);
}

const struct cor_type *cor_type_element(const struct cor_type *type)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        return &cor_types[type->element];
    default:
        return NULL;
    }
}

size_t cor_type_nfields(const struct cor_type *type)
{
    return type->shape == COR_SHAPE_STRUCT ? type->count : 0;
}

const struct cor_type_field *cor_type_field(const struct cor_type *type, size_t i)
{
    assert(i < cor_type_nfields(type));
    return &cor_type_fields[type->first + i];
}

size_t cor_type_nmembers(const struct cor_type *type)
{
    return type->nmembers;
}

void cor_type_member(const struct cor_type *type, size_t i, struct cor_member *ret_member)
{
    const struct cor_type_member *row = &cor_type_members[type->first_member + i];

    assert(i < type->nmembers);
    ret_member->field = &cor_type_fields[row->field];
    for (size_t v = 0; v < COR_TYPE_INLINE_MAX; v++)
        ret_member->via[v] = row->via[v] > 0 ? &cor_type_fields[row->via[v] - 1] : NULL;
}

size_t cor_type_member_index(const struct cor_type *type, struct cor_str name)
{
    size_t low = 0, high = type->nmembers;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct cor_type_member *row = &cor_type_members[type->first_member + middle];
        int order = pool_cmp(name, cor_type_fields[row->field].name);

        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return SIZE_MAX;
}

bool cor_type_find_member(const struct cor_type *type, struct cor_str name,
                          struct cor_member *ret_member)
{
    size_t i = cor_type_member_index(type, name);

    if (i == SIZE_MAX)
        return false;
    cor_type_member(type, i, ret_member);
    return true;
}

const struct cor_type_field *cor_type_find_number(const struct cor_type *type, uint32_t number)
{
    size_t n = cor_type_nfields(type), i = number < n ? number : n;

    /* The fields are ordered by their numbers, and those without one are at the end: a field is
     * never after the index of its number, and is at that index unless lower numbers are missing.
     */
    while (number > 0 && i-- > 0) {
        const struct cor_type_field *field = &cor_type_fields[cor_type_numbers[type->first + i]];

        if (field->number == number)
            return field;
        if (field->number > 0 && field->number < number)
            return NULL;
    }
    return NULL;
}

size_t cor_type_nvalues(const struct cor_type *type)
{
    return type->shape == COR_SHAPE_STRING ? type->count : 0;
}

struct cor_str cor_type_value(const struct cor_type *type, size_t i)
{
    assert(i < cor_type_nvalues(type));
    return pool_text(cor_type_values[type->first + i]);
}

struct cor_str cor_type_field_name(const struct cor_type_field *field)
{
    return pool_text(field->name);
}

struct cor_str cor_type_field_go_name(const struct cor_type_field *field)
{
    return pool_text(field->go_name);
}

const struct cor_type *cor_type_field_type(const struct cor_type_field *field)
{
    return &cor_types[field->type];
}

uint32_t cor_type_field_number(const struct cor_type_field *field)
{
    return field->number;
}

bool cor_type_field_is(const struct cor_type_field *field, enum cor_field_flag flag)
{
    return field->flags & flag;
}

enum cor_list_kind cor_type_field_list_kind(const struct cor_type_field *field)
{
    return (enum cor_list_kind)field->list_kind;
}

enum cor_map_kind cor_type_field_map_kind(const struct cor_type_field *field)
{
    return (enum cor_map_kind)field->map_kind;
}

size_t cor_type_field_nkeys(const struct cor_type_field *field)
{
    return field->nkeys;
}

struct cor_str cor_type_field_key(const struct cor_type_field *field, size_t i)
{
    assert(i < field->nkeys);
    return pool_text(cor_type_keys[field->first_key + i]);
}

unsigned cor_type_field_patch(const struct cor_type_field *field)
{
    return field->patch;
}

struct cor_str cor_type_field_patch_key(const struct cor_type_field *field)
{
    return pool_text(field->patch_key);
}

struct cor_str cor_type_field_default(const struct cor_type_field *field)
{
    return pool_text(field->default_json);
}

struct cor_str cor_type_words(const struct cor_type *type)
{
    return cor_strz(cor_words_pool + cor_type_words_of[type - cor_types]);
}

struct cor_str cor_type_field_words(const struct cor_type_field *field)
{
    return cor_strz(cor_words_pool + cor_field_words_of[field - cor_type_fields]);
}

struct cor_str cor_type_field_gate(const struct cor_type_field *field)
{
    return pool_text(field->gate);
}
