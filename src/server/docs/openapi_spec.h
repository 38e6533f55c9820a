/* An OpenAPI document of version 2 as bytes with an index: its paths, definitions and parameters by
 * name, and the references in them. It is for documents that other API servers wrote, and for our
 * own when others are merged into it (openapi_merge.h).
 * Thread: one at a time.  Owner: the caller; the bytes are borrowed. */
#ifndef COR_SERVER_OPENAPI_SPEC_H
#define COR_SERVER_OPENAPI_SPEC_H

#include "base/map.h"
#include "json/text/nodes.h"

/* Deepest nesting of a document that is read; upstream's own have 20 levels. */
#define COR_OPENAPI_DEPTH_MAX 64
/* Members of one part. */
#define COR_OPENAPI_MEMBERS_MAX (1u << 20)

#define COR_OPENAPI_DEFINITION_PREFIX "#/definitions/"
#define COR_OPENAPI_PARAMETER_PREFIX  "#/parameters/"

struct cor_openapi_member {
    struct cor_str name; /* raw text */
    uint32_t key, value; /* nodes */
    unsigned marks;      /* the caller's; zeroed */
};

/* One of the objects paths, definitions and parameters. */
struct cor_openapi_part {
    struct cor_openapi_member *v; /* in the order of the document */
    size_t n;
    struct cor_map by_name; /* raw text to member */
    uint32_t node;          /* COR_JSON_NO_NODE: the document has no such part */
};

struct cor_openapi_spec {
    struct cor_json_nodes nodes;
    struct cor_openapi_part paths, definitions, parameters;
};

/* `json` is valid JSON without repeated keys, nested at most COR_OPENAPI_DEPTH_MAX deep. 0,
 * -COR_EINVAL (the document, or a part or member that must be an object, is not one), -COR_ENOMEM,
 * -COR_ETOOBIG. To be deinitialised in either case. */
int cor_openapi_spec_init(struct cor_openapi_spec *spec, struct cor_str json);
void cor_openapi_spec_deinit(struct cor_openapi_spec *spec);

/* Calls `fn` with each reference below the value `node`: the node is the string behind "$ref".
 * Values that are data (defaults, enums, examples, vendor extensions) have none. Ends with the
 * first failure of `fn` and returns it, else 0. */
typedef int (*cor_openapi_ref_fn)(void *arg, struct cor_openapi_spec *spec, uint32_t node);
int cor_openapi_each_ref(struct cor_openapi_spec *spec, uint32_t node, cor_openapi_ref_fn fn,
                         void *arg);

/* What a reference refers to; NULL: nothing that the document has. */
struct cor_openapi_member *cor_openapi_referred(const struct cor_openapi_spec *spec, uint32_t node);

/* 0, or -COR_ENOTFOUND: a reference below `node` is to a definition or parameter that is not there.
 */
int cor_openapi_check_refs(struct cor_openapi_spec *spec, uint32_t node);

/* Sets `mark` on all definitions and parameters that the references of paths which begin with
 * `prefix` reach, also through other definitions. 0, -COR_ENOTFOUND (a reference to a definition or
 * parameter that is not there), -COR_ENOMEM. */
int cor_openapi_mark(struct cor_openapi_spec *spec, struct cor_str prefix, unsigned mark);

#endif
