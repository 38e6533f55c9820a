/* The rows of the tables that tools/compile_types.py writes. Strings are offsets into one pool,
 * types and fields are numbers, so that the tables have no relocations and processes share their
 * pages. */
#ifndef COR_SCHEMA_TYPES_INT_H
#define COR_SCHEMA_TYPES_INT_H

#include "schema/types.h"

struct cor_type {
    uint32_t name, go_name; /* in the pool */
    uint32_t element, key;  /* of lists and maps */
    uint32_t first;         /* of a struct's fields, or of an enum's values */
    uint32_t first_member;
    uint16_t count, nmembers;
    uint8_t package, shape, flags;
};

struct cor_type_field {
    uint32_t name, go_name, type;
    uint32_t default_json, gate, patch_key;
    uint32_t first_key;
    uint16_t number;
    uint8_t nkeys, list_kind, map_kind, patch, flags;
};

struct cor_type_member {
    uint32_t field;
    uint32_t via[COR_TYPE_INLINE_MAX]; /* number of the field plus 1; 0: no more */
};

struct cor_type_package {
    uint32_t stem, group, version;
    uint32_t first, count; /* of its structs and strings, sorted by name */
};

extern const char cor_type_pool[];
extern const struct cor_type cor_types[];
extern const struct cor_type_field cor_type_fields[];
extern const struct cor_type_member cor_type_members[];
extern const struct cor_type_package
    cor_type_packages[]; /* and one without a name, of what no package declares */
extern const uint32_t
    cor_type_numbers[]; /* of fields: each struct's own, in the order of the wire */
extern const uint32_t cor_type_values[], cor_type_keys[];
extern const size_t cor_types_n, cor_type_packages_n;

#endif
