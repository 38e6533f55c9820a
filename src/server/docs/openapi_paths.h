/* The paths of an OpenAPI document: what can be asked of each resource, with the parameters, bodies
 * and answers of every operation, under the names that upstream's documents have. Generated clients
 * are called by these names (operationId), and kubectl asks here what a PATCH accepts.
 * Thread: any (what is served is immutable). */
#ifndef COR_SERVER_OPENAPI_PATHS_H
#define COR_SERVER_OPENAPI_PATHS_H

#include "schema/print/openapi.h"
#include "server/catalog/served.h"

/* A document while it is written. */
struct cor_openapi_doc {
    struct cor_json_writer w;
    enum cor_openapi_version version;
    struct cor_openapi_set set; /* the types that the operations mention */
    bool has_patch;             /* they mention the schema of patches */
    bool has_info;              /* and that of /version */
};

/* The documents about discovery have one path and one operation each. */
enum cor_openapi_root {
    COR_OPENAPI_ROOT_API,    /* /api/ */
    COR_OPENAPI_ROOT_APIS,   /* /apis/ */
    COR_OPENAPI_ROOT_GROUP,  /* /apis/GROUP/ */
    COR_OPENAPI_ROOT_VERSION /* /version/ */
};

/* Writes the path of a discovery document as a member of the open object. `group` is that of
 * COR_OPENAPI_ROOT_GROUP. */
void cor_openapi_write_root(struct cor_openapi_doc *doc, enum cor_openapi_root root,
                            struct cor_str group);

/* Writes the path of the list of a version's resources. */
void cor_openapi_write_resource_list(struct cor_openapi_doc *doc,
                                     const struct cor_resource_row *row);

/* Writes all paths of a resource and of its subresources that are served. */
void cor_openapi_write_resource(struct cor_openapi_doc *doc, const struct cor_resource_row *row);

/* Version 2 has the parameters in one place. Writes them as members of the open object. */
void cor_openapi_write_parameters(struct cor_openapi_doc *doc);

/* Writes the schemas of all types that were mentioned, and those of the rows without a type, as
 * members of the open object. `rows` are those of the document. */
void cor_openapi_write_components(struct cor_openapi_doc *doc,
                                  const struct cor_resource_row *const *rows, size_t nrows);

#endif
