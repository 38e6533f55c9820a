/* The OpenAPI schemas of a custom resource's kind and of its list, written from the JSON schema of
 * its definition (contract crd 7.1-7.7). Version 3 has nearly everything that the schema says.
 * Version 2 leaves out what readers of version 2 (kubectl) would misunderstand.
 * Owner: nobody, nothing here allocates.  Thread: any (pure). */
#ifndef COR_SCHEMA_CUSTOM_CUSTOM_OPENAPI_H
#define COR_SCHEMA_CUSTOM_CUSTOM_OPENAPI_H

#include "schema/kinds/resource_row.h"
#include "schema/print/openapi.h"

/* The name of the schema of a kind that no table has, "org.example.shop.v1.Kettle", in `buf` of
 * `max` bytes. `kind` is that of the row or of its list. */
struct cor_str cor_custom_openapi_name(const struct cor_resource_row *row, struct cor_str kind,
                                       char *buf, size_t max);
/* Longer than any such name with its reference: a group has 253 bytes, the others have 63. */
#define COR_CUSTOM_OPENAPI_NAME_MAX 512

/* Adds the types that the two schemas refer to. */
void cor_custom_openapi_add(struct cor_openapi_set *set);

/* Each of these writes one schema as a value: of the kind, and of the list. A row without a
 * definition, or with one whose schema is not structural, has the schema of any object. */
void cor_custom_openapi_write_kind(struct cor_json_writer *w, enum cor_openapi_version version,
                                   const struct cor_resource_row *row);
void cor_custom_openapi_write_list(struct cor_json_writer *w, enum cor_openapi_version version,
                                   const struct cor_resource_row *row);

#endif
