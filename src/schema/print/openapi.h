/* OpenAPI schemas of the built-in types, written from the tables of schema/types/types.h:
 * properties, required fields, defaults of declarations, enums, and the x-kubernetes-* extensions
 * that clients merge and validate by. Version 3 has the schemas of `components`, version 2 those of
 * `definitions`, which have no defaults.
 *
 * A document contains the schemas of all types that its operations mention, and of all types that
 * these refer to. The caller collects them in a set.
 * Owner: nobody, nothing here allocates.  Thread: any. */
#ifndef COR_SCHEMA_PRINT_OPENAPI_H
#define COR_SCHEMA_PRINT_OPENAPI_H

#include "schema/types/types.h"
#include "json/write/writer.h"

enum cor_openapi_version { COR_OPENAPI_2, COR_OPENAPI_3 };

/* A maximum of the types of api/. */
#define COR_OPENAPI_TYPES_MAX 4096
/* The longest name of a schema, with its reference and its terminating zero. */
#define COR_OPENAPI_NAME_MAX 192

struct cor_openapi_set {
    uint64_t bits[COR_OPENAPI_TYPES_MAX / 64];
};

/* Adds a type and all that it refers to. Lists, maps and plain scalars have no schema of their own;
 * what they hold is added. */
void cor_openapi_add(struct cor_openapi_set *set, const struct cor_type *type);

/* The name of a type's schema, "io.k8s.api.core.v1.Pod", in `buf` of COR_OPENAPI_NAME_MAX bytes.
 * Empty: the type has no schema of its own. */
struct cor_str cor_openapi_name(const struct cor_type *type, char *buf);

/* Writes {"$ref": …} to a type's schema. */
void cor_openapi_write_ref(struct cor_json_writer *w, enum cor_openapi_version version,
                           const struct cor_type *type);

/* The type that OpenAPI gives to the values of a plain scalar: "string", "boolean", "integer",
 * "number". NULL: the type is a struct, a list, a map, or a scalar with a schema of its own. */
const char *cor_openapi_scalar(const struct cor_type *type);

/* Does upstream's scheme know the kind under this apiVersion? Only for the kinds that every group
 * has, such as meta_v1.DeleteOptions. */
bool cor_openapi_is_known_in(const struct cor_type *type, struct cor_str api_version);

/* The default that a property has in version 3, as JSON: that of its declaration, or the zero that
 * Go writes when the field is not a pointer and is never left out. Empty: none. */
struct cor_str cor_openapi_default(const struct cor_type_field *field);

/* Writes the three names of a kind as an object. */
void cor_openapi_write_kind(struct cor_json_writer *w, struct cor_str group, struct cor_str kind,
                            struct cor_str version);

/* Writes the schemas of a set as members of the object that is open. */
void cor_openapi_write_schemas(struct cor_json_writer *w, enum cor_openapi_version version,
                               const struct cor_openapi_set *set);

#endif
