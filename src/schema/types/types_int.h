/* The rows of the tables that tools/compile_types.py writes. Strings are offsets into one pool,
 * types and fields are numbers, so that the tables have no relocations and processes share their
 * pages. */
#ifndef COR_SCHEMA_TYPES_TYPES_INT_H
#define COR_SCHEMA_TYPES_TYPES_INT_H

#include "schema/types/rules.h"
#include "schema/types/types.h"

struct cor_type {
    uint32_t name, go_name; /* in the pool */
    uint32_t element, key;  /* of lists and maps */
    uint32_t first;         /* of a struct's fields, or of an enum's values */
    uint32_t first_member, first_rule, first_wire;
    uint16_t count, nmembers, nwires;
    uint8_t nrules, package, shape, flags;
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

/* What protobuf writes of a struct, in the order of the wire. An inlined struct is a message of its
 * own: its row is followed by `nested` rows that are in it. */
#define COR_WIRE_INLINED 255
struct cor_type_wire {
    uint32_t field;
    uint8_t member; /* place among the members of the outermost struct; or COR_WIRE_INLINED */
    uint8_t nested;
};

struct cor_type_package {
    uint32_t stem, group, version;
    uint32_t openapi;      /* what the names of its schemas begin with */
    uint32_t first, count; /* of its structs and strings, sorted by name */
};

/* Of an overlay; paths are runs of steps, and values are canonical JSON in the pool. */
struct cor_rule {
    uint32_t path, source;    /* first step; the source is that of a copy */
    uint32_t value, text;     /* in the pool */
    uint32_t first_condition; /* all of them must hold */
    uint8_t depth, source_depth, nconditions;
    uint8_t op, hook;
    bool is_late;
};

struct cor_rule_condition {
    uint32_t path, first_value;
    uint8_t depth, nvalues, test;
};

/* What OpenAPI documents say of a type or a field beyond its declaration (api/openapi.facts). */
enum cor_fact_of { COR_FACT_OF_TYPE, COR_FACT_OF_FIELD };
enum cor_fact { COR_FACT_REQUIRED, COR_FACT_PLAIN, COR_FACT_KINDS, COR_FACT_EXTENSION };
struct cor_openapi_fact {
    uint32_t index;       /* of the type or field */
    uint32_t name, value; /* in the pool of words */
    uint8_t of, fact;
};

extern const char cor_type_pool[];
extern const struct cor_type cor_types[];
extern const struct cor_type_field cor_type_fields[];
extern const struct cor_type_member cor_type_members[];
extern const struct cor_type_wire cor_type_wires[];
extern const struct cor_type_package
    cor_type_packages[]; /* and one without a name, of what no package declares */
extern const uint32_t
    cor_type_numbers[]; /* of fields: each struct's own, in the order of the wire */
extern const uint32_t cor_type_values[], cor_type_keys[];
extern const struct cor_rule cor_rules[];
extern const struct cor_rule_condition cor_rule_conditions[];
extern const uint8_t cor_rule_steps[]; /* members of the type before */
extern const uint32_t cor_rule_values[];
/* Descriptions: in a pool of their own, which only the writers of OpenAPI documents read. */
extern const char cor_words_pool[];
extern const uint32_t cor_type_words_of[], cor_field_words_of[]; /* by type and by field; 0: none */
extern const struct cor_openapi_fact cor_openapi_facts[];
extern const size_t cor_openapi_facts_n;
extern const size_t cor_types_n, cor_type_packages_n;

#endif
