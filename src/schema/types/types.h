/* The built-in types as data: what the files of api/ say, compiled into const tables
 * (docs/internals/types.md).
 *
 * A type has a shape. A struct has fields in the order of their declaration, as protobuf sees them,
 * and members, as JSON sees them: the members of an inlined struct stand among its own, and all are
 * sorted by their names. Lists and maps have an element. A string type may be an enum, whose values
 * are known.
 *
 * Owner: nobody, the tables are constants. Thread: any. No call allocates or fails, except for what
 * it does not find. */
#ifndef COR_SCHEMA_TYPES_TYPES_H
#define COR_SCHEMA_TYPES_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum cor_shape {
    COR_SHAPE_STRUCT,
    COR_SHAPE_LIST,
    COR_SHAPE_MAP, /* of texts to elements */
    COR_SHAPE_STRING,
    COR_SHAPE_BOOL,
    COR_SHAPE_INT32,
    COR_SHAPE_INT64,
    COR_SHAPE_FLOAT64,
    COR_SHAPE_BYTES, /* base64 in JSON */
    COR_SHAPE_TIME,
    COR_SHAPE_MICRO_TIME,
    COR_SHAPE_DURATION,
    COR_SHAPE_QUANTITY,
    COR_SHAPE_INT_OR_STRING,
    COR_SHAPE_RAW, /* any JSON, which keeps its bytes */
    COR_SHAPE_FIELDS_V1,
    COR_SHAPE_JSON,
    COR_SHAPE_SCHEMA_OR_BOOL, /* these three hold JSONSchemaProps, their element */
    COR_SHAPE_SCHEMA_OR_ARRAY,
    COR_SHAPE_SCHEMA_OR_STRINGS,
    COR_SHAPES
};

enum cor_type_flag {
    COR_TYPE_KIND = 1 << 0,     /* a struct with apiVersion and kind */
    COR_TYPE_ENUM = 1 << 1,     /* a string with known values */
    COR_TYPE_ATOMIC = 1 << 2,   /* owned as a whole in server-side apply */
    COR_TYPE_GRANULAR = 1 << 3, /* owned field by field, whatever its other users say */
    COR_TYPE_WRAPPED = 1 << 4,  /* a named list that is a message of its own in protobuf */
    COR_TYPE_DEFAULTS = 1 << 5, /* it has a default (schema/types/rules.h), or what it holds has */
    COR_TYPE_LATE = 1 << 6,     /* a kind that has defaults for when it has been prepared */
    COR_TYPE_RAW = 1 << 7,      /* it holds raw values (schema/types/raw_values.h) */
};

enum cor_field_flag {
    COR_FIELD_POINTER = 1 << 0,   /* absent and zero are two things */
    COR_FIELD_OMITEMPTY = 1 << 1, /* Go leaves out an empty value */
    COR_FIELD_OMITZERO = 1 << 2,
    COR_FIELD_OPTIONAL = 1 << 3, /* OpenAPI does not require it */
    COR_FIELD_INLINE =
        1 << 4, /* has no name in JSON: its members stand among those of its struct */
    COR_FIELD_WRITTEN = 1 << 5, /* Go writes it although it was never set: as null, zero or {} */
    COR_FIELD_GATED = 1 << 6,   /* a feature gate that is off has it (schema/walk/gates.h) */
};

enum cor_list_kind {
    COR_LIST_KIND_NONE,
    COR_LIST_KIND_ATOMIC,
    COR_LIST_KIND_SET,
    COR_LIST_KIND_MAP
};
enum cor_map_kind { COR_MAP_KIND_NONE, COR_MAP_KIND_ATOMIC, COR_MAP_KIND_GRANULAR };
enum cor_patch_flag {
    COR_PATCH_FLAG_MERGE = 1 << 0,
    COR_PATCH_FLAG_RETAIN_KEYS = 1 << 1,
    COR_PATCH_FLAG_REPLACE = 1 << 2
};

struct cor_type;
struct cor_type_field;

/* A field as JSON has it: through the inlined fields `via`, outermost first, as far as they are not
 * NULL. */
#define COR_TYPE_INLINE_MAX 2
/* Members of a struct; tools/compile_types.py refuses more. */
#define COR_TYPE_MEMBERS_MAX 64
struct cor_member {
    const struct cor_type_field *field;
    const struct cor_type_field *via[COR_TYPE_INLINE_MAX];
};

/* The struct of a kind; the core group is empty. NULL: there is none. */
const struct cor_type *cor_type_of_kind(struct cor_str group, struct cor_str version,
                                        struct cor_str kind);

/* A declared type by the name that api/ gives it: "core_v1.PodSpec". NULL: there is none. */
const struct cor_type *cor_type_named(struct cor_str name);

/* All types, for walks over the tables. `i` is below cor_types_count(). */
size_t cor_types_count(void);
const struct cor_type *cor_type_at(size_t i);

/* Of any type. */
enum cor_shape cor_type_shape(const struct cor_type *type);
bool cor_type_is(const struct cor_type *type, enum cor_type_flag flag);
/* The declared name ("PodSpec"); empty for a list, a map or a plain scalar. */
struct cor_str cor_type_name(const struct cor_type *type);
/* As messages print it: "v1.PodSpec", "[]v1.Container", "int32". */
struct cor_str cor_type_go_name(const struct cor_type *type);
/* The package of a declared type, "core_v1"; empty for others. */
struct cor_str cor_type_package(const struct cor_type *type);
/* The group and the version of that package; both empty where it has none. */
struct cor_str cor_type_group(const struct cor_type *type);
struct cor_str cor_type_version(const struct cor_type *type);
/* What the type is, in a sentence (api/x.words); empty: it has no description. */
struct cor_str cor_type_words(const struct cor_type *type);
/* Of a list, a map, or a shape that holds schemas; NULL for others. */
const struct cor_type *cor_type_element(const struct cor_type *type);

/* Of a struct: fields in the order of declaration, members by name. */
size_t cor_type_nfields(const struct cor_type *type);
const struct cor_type_field *cor_type_field(const struct cor_type *type, size_t i);
size_t cor_type_nmembers(const struct cor_type *type);
void cor_type_member(const struct cor_type *type, size_t i, struct cor_member *ret_member);
/* By the name in JSON, which counts upper and lower case. False: there is none. */
bool cor_type_find_member(const struct cor_type *type, struct cor_str name,
                          struct cor_member *ret_member);
/* The place of a member among the sorted ones; SIZE_MAX: there is none. */
size_t cor_type_member_index(const struct cor_type *type, struct cor_str name);
/* By the number in protobuf. NULL: there is none. */
const struct cor_type_field *cor_type_find_number(const struct cor_type *type, uint32_t number);

/* Of an enum, in the order of declaration. */
size_t cor_type_nvalues(const struct cor_type *type);
struct cor_str cor_type_value(const struct cor_type *type, size_t i);

/* Of a field. */
struct cor_str
cor_type_field_name(const struct cor_type_field *field); /* in JSON; empty: inlined */
struct cor_str cor_type_field_go_name(const struct cor_type_field *field);
const struct cor_type *cor_type_field_type(const struct cor_type_field *field);
uint32_t cor_type_field_number(const struct cor_type_field *field); /* 0: not in protobuf */
bool cor_type_field_is(const struct cor_type_field *field, enum cor_field_flag flag);
enum cor_list_kind cor_type_field_list_kind(const struct cor_type_field *field);
enum cor_map_kind cor_type_field_map_kind(
    const struct cor_type_field *field); /* at this reference; else its type's */
/* The keys of a list of the kind map, in order. */
size_t cor_type_field_nkeys(const struct cor_type_field *field);
struct cor_str cor_type_field_key(const struct cor_type_field *field, size_t i);
/* Strategic merge: enum cor_patch_flag, and the key of merged elements; empty: none. */
unsigned cor_type_field_patch(const struct cor_type_field *field);
struct cor_str cor_type_field_patch_key(const struct cor_type_field *field);
/* The default that the declaration itself has, as JSON; empty: none. */
struct cor_str cor_type_field_default(const struct cor_type_field *field);
/* What the field is for, in a sentence; empty: it has no description. */
struct cor_str cor_type_field_words(const struct cor_type_field *field);
/* The feature gates that bring the field, separated by commas; empty: none. */
struct cor_str cor_type_field_gate(const struct cor_type_field *field);

#endif
