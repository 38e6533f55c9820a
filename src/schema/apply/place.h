/* What server-side apply knows of the value at a place of an object: which forms the value may
 * have (a scalar, a list, a map), whether it is owned as a whole or part by part, and what the
 * places below it are.
 *
 * A place of a built-in kind is read off the tables of schema/types/types.h; a place of a custom
 * resource off its compiled schema (schema/structural/structural.h); a place of which nothing is
 * known off a struct cor_apply_type. The walks of typed.h see no difference between the three.
 * Thread: any (values; the tables and types are immutable).  Owner: the caller. */
#ifndef COR_SCHEMA_APPLY_PLACE_H
#define COR_SCHEMA_APPLY_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "schema/types/types.h"

enum cor_apply_scalar {
    COR_APPLY_NO_SCALAR,
    COR_APPLY_NUMERIC,
    COR_APPLY_STRING,
    COR_APPLY_BOOLEAN,
    COR_APPLY_ANY_SCALAR,
};
enum cor_apply_list {
    COR_APPLY_NO_LIST,
    COR_APPLY_LIST_ATOMIC, /* owned as a whole */
    COR_APPLY_LIST_SET,    /* of scalars, each of which is owned */
    COR_APPLY_LIST_KEYED,  /* of objects that keys tell apart */
};
enum cor_apply_map {
    COR_APPLY_NO_MAP,
    COR_APPLY_MAP_ATOMIC,
    COR_APPLY_MAP_GRANULAR,
};

/* Keys of one list; the longest key of a built-in list has four. */
#define COR_APPLY_KEYS_MAX 16

/* A type that no table has. A type may refer to itself. */
struct cor_apply_type;
struct cor_apply_field {
    struct cor_str name; /* raw text of JSON */
    const struct cor_apply_type *type;
    struct cor_str default_json; /* counts only for keys of lists; empty: none */
};
struct cor_apply_type {
    enum cor_apply_scalar scalar;
    enum cor_apply_list list;
    enum cor_apply_map map;
    const struct cor_apply_field *fields; /* of a map: in byte order of their names */
    size_t nfields;
    const struct cor_apply_type *others; /* of all other keys; NULL: no other key is known */
    const struct cor_apply_type *item;   /* of a list */
    const struct cor_str *keys;          /* of a keyed list: in byte order, at most
                                            COR_APPLY_KEYS_MAX */
    size_t nkeys;
};

/* Any value; maps are merged key by key at any depth, every list is owned as a whole. */
extern const struct cor_apply_type cor_apply_deduced;
/* Any value, owned as a whole. */
extern const struct cor_apply_type cor_apply_any_atomic;

struct cor_structural;
struct cor_structural_node;

struct cor_apply_place {
    enum cor_apply_scalar scalar;
    enum cor_apply_list list;
    enum cor_apply_map map;
    const struct cor_apply_type *schema;     /* of a place without tables; else NULL */
    const struct cor_structural *structural; /* of a place of a custom resource; else NULL */
    const struct cor_structural_node *node;  /* of such a place */
    const struct cor_type *type;             /* of a built-in place */
    const struct cor_type_field *field; /* of the list, map or struct; NULL: it is an element */
};

/* The place of a whole object. */
struct cor_apply_place cor_apply_place_builtin(const struct cor_type *kind);
struct cor_apply_place cor_apply_place_schema(const struct cor_apply_type *type);
/* Of a custom resource (contract apply 12.1). The schema outlives the place. */
struct cor_apply_place cor_apply_place_structural(const struct cor_structural *schema);

/* How a map knows a key. */
enum cor_apply_known {
    COR_APPLY_UNKNOWN, /* the key is an error */
    COR_APPLY_OTHER,   /* a key of a map */
    COR_APPLY_NAMED,   /* a field that the schema names */
};

/* The place of a member of a map; `raw_key` is raw text. */
enum cor_apply_known cor_apply_place_member(const struct cor_apply_place *place,
                                            struct cor_str raw_key,
                                            struct cor_apply_place *ret_member);

/* The place of the items of a list. */
struct cor_apply_place cor_apply_place_item(const struct cor_apply_place *place);

/* The keys of a keyed list in byte order of their names; the default is empty when a key has none.
 * Returns how many there are. */
struct cor_apply_key {
    struct cor_str name, default_json;
};
size_t cor_apply_place_keys(const struct cor_apply_place *place,
                            struct cor_apply_key keys[COR_APPLY_KEYS_MAX]);

/* Is the map one of deduced values only, without named fields? */
bool cor_apply_place_is_deduced(const struct cor_apply_place *place);

#endif
