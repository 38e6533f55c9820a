/* What the files that write the paths of OpenAPI documents share: parameters and schemas. */
#ifndef COR_SERVER_OPENAPI_INT_H
#define COR_SERVER_OPENAPI_INT_H

#include "server/docs/openapi_paths.h"

/* In the order of their names, which is the order in which they are written. */
#define COR_OPENAPI_PARAMETERS(X)                                                                  \
    X(ALLOW_BOOKMARKS, "allowWatchBookmarks", "boolean",                                           \
      "A watch also gets events that only carry a resourceVersion.")                               \
    X(CONTINUE, "continue", "string", "The token of the chunk before: the list goes on there.")    \
    X(DRY_RUN, "dryRun", "string", "All: everything is checked and nothing is stored.")            \
    X(FIELD_MANAGER, "fieldManager", "string", "The name under which the change is recorded.")     \
    X(PATCH_MANAGER, "fieldManager", "string",                                                     \
      "The name under which the change is recorded; an apply patch needs one.")                    \
    X(FIELD_SELECTOR, "fieldSelector", "string", "Only objects whose fields match.")               \
    X(FIELD_VALIDATION, "fieldValidation", "string",                                               \
      "What happens to unknown and repeated fields: Ignore, Warn or Strict.")                      \
    X(FORCE, "force", "boolean", "An apply patch takes over fields of other managers.")            \
    X(GRACE, "gracePeriodSeconds", "integer", "How many seconds the object may take to end.")      \
    X(IGNORE_READ_ERROR, "ignoreStoreReadErrorWithClusterBreakingPotential", "boolean",            \
      "Deletes an object that cannot be decoded, without its finalizers.")                         \
    X(LABEL_SELECTOR, "labelSelector", "string", "Only objects whose labels match.")               \
    X(LIMIT, "limit", "integer", "At most so many objects in one answer.")                         \
    X(NAME, "name", "string", "The name of the object.")                                           \
    X(NAMESPACE, "namespace", "string", "The namespace of the object.")                            \
    X(ORPHAN, "orphanDependents", "boolean", "Deprecated: use propagationPolicy.")                 \
    X(PRETTY, "pretty", "string", "true: the answer is indented.")                                 \
    X(PROPAGATION, "propagationPolicy", "string",                                                  \
      "What happens to dependents: Orphan, Background or Foreground.")                             \
    X(RESOURCE_VERSION, "resourceVersion", "string",                                               \
      "The state that the answer shows, or after which a watch begins.")                           \
    X(RESOURCE_VERSION_MATCH, "resourceVersionMatch", "string",                                    \
      "How resourceVersion is meant: Exact or NotOlderThan.")                                      \
    X(SEND_INITIAL, "sendInitialEvents", "boolean", "A watch begins with the objects that exist.") \
    X(TIMEOUT, "timeoutSeconds", "integer", "How long a list may take, or a watch lasts.")         \
    X(WATCH, "watch", "boolean", "Changes are sent as they happen, in place of a list.")

enum cor_openapi_parameter {
#define COR_OPENAPI_PARAMETER_ENUM(id, name, type, words) COR_OPENAPI_PARAMETER_##id,
    COR_OPENAPI_PARAMETERS(COR_OPENAPI_PARAMETER_ENUM)
#undef COR_OPENAPI_PARAMETER_ENUM
        COR_OPENAPI_PARAMETER_COUNT,
};

/* Writes one parameter as an element of the open array. `type` is that of its values: "string",
 * "boolean", "integer". Without `words` it has no description. */
void cor_openapi_write_parameter(struct cor_openapi_doc *doc, struct cor_str name, bool in_path,
                                 const char *type, struct cor_str words);

/* Writes the parameters whose bits (1 << id) are set, as elements of the open array. */
void cor_openapi_write_bits(struct cor_openapi_doc *doc, uint32_t bits);

/* Each of these writes the member "schema" of the open object, a reference, and notes that the
 * document needs what it refers to. The first: to a type, or, when `type` is NULL, to the schema
 * that stands for `kind` of the row's group and version. */
void cor_openapi_write_schema_of(struct cor_openapi_doc *doc, const struct cor_type *type,
                                 const struct cor_resource_row *row, struct cor_str kind);
void cor_openapi_write_patch_schema(struct cor_openapi_doc *doc);
void cor_openapi_write_info_schema(struct cor_openapi_doc *doc);

/* What the name of an operation is made of, which is
 * VERB Group Version INFIX [Namespaced] Kind [Subresource] SUFFIX [ForAllNamespaces]. */
struct cor_openapi_id {
    const struct cor_resource_row *row;
    const struct cor_api_subresource *sub; /* NULL: none */
    const char *verb, *infix, *suffix;
    bool in_namespace; /* the path has a namespace */
    bool for_all;      /* the operation is about the objects of all namespaces */
};

/* Each of these writes a member of the open operation. The tag has the group alone when `version`
 * is empty. */
void cor_openapi_write_operation_id(struct cor_openapi_doc *doc, const struct cor_openapi_id *id);
void cor_openapi_write_tag(struct cor_openapi_doc *doc, struct cor_str group,
                           struct cor_str version);

/* Members of the open responses: the first leaves its object open, the second is the answer 401. */
void cor_openapi_begin_response(struct cor_openapi_doc *doc, const char *code, const char *words);
void cor_openapi_write_unauthorized(struct cor_openapi_doc *doc);

/* Writes the operations of a subresource that connects the client with a node, at `path`, and at
 * the paths below it when it takes them (openapi_connect.c). */
void cor_openapi_write_connect(struct cor_openapi_doc *doc, const struct cor_resource_row *row,
                               const struct cor_api_subresource *sub, const char *path);

#endif
