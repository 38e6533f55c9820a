/* The types that coracle-gen writes code for, whatever they were read from: the built-in tables
 * (from_tables.c), a CustomResourceDefinition (from_crd.c) or an OpenAPI v3 document
 * (from_openapi.c). Each of the three fills a model; the writers of code (views.c) read nothing
 * else.
 *
 * A model has packages, a group and version each. A package has types in the order in which they
 * were added; a type that belongs to no package is a list, a map or a plain scalar. Everything a
 * model holds is freed with it. Memory failures stick to the arena: cor_gen_model_error() returns
 * them, and the calls that follow a failure may return NULL.
 * Owner: the program that fills it.  Thread: one at a time. */
#ifndef COR_GEN_MODEL_H
#define COR_GEN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "meta/names/api_verb.h"
#include "schema/types/types.h"

struct cor_gen_type;

struct cor_gen_field {
    struct cor_str name; /* in JSON */
    const struct cor_gen_type *type;
    bool is_pointer; /* absent and zero are two things */
    /* Go leaves out an empty value, or a zero one. Of inputs with numbers. */
    bool is_omitempty, is_omitzero;
    bool
        is_wrapped; /* a list of texts that is a message of its own in protobuf, or a map of them */
    uint32_t number; /* in protobuf; 0: it has none */
    /* Of a member of an inlined struct: the numbers of the messages around it, outermost first, as
     * far as they are not 0. */
    uint32_t via[COR_TYPE_INLINE_MAX];
    /* The key of a list whose elements are told apart by one text; empty: it is no such list. */
    struct cor_str key;
    struct cor_str words; /* what the field is for; may be empty */
    struct cor_gen_field *next;
};

/* A part of a resource with verbs of its own: pods/status, deployments/scale, pods/binding. */
struct cor_gen_subresource {
    struct cor_str name;
    const struct cor_gen_type *type; /* of its bodies and answers: a kind */
    unsigned verbs;                  /* COR_API_VERB_BIT() */
    struct cor_gen_subresource *next;
};

#define COR_GEN_PATH_MAX 8
#define COR_GEN_WHEN_MAX 2

/* Fields by their names, the first of them of the type that has the path. */
struct cor_gen_path {
    struct cor_str names[COR_GEN_PATH_MAX];
    size_t n;
};

enum cor_gen_test { COR_GEN_IS, COR_GEN_IS_SET, COR_GEN_IS_UNSET };

struct cor_gen_condition {
    struct cor_gen_path path;
    enum cor_gen_test test;
    struct cor_str values; /* of COR_GEN_IS: texts with | between them */
};

/* A field gets a value when it has none and all conditions hold. */
struct cor_gen_default {
    struct cor_gen_path path, from; /* `from` is empty, or the field whose value it gets */
    struct cor_str value;           /* JSON, when there is no `from` */
    struct cor_gen_condition when[COR_GEN_WHEN_MAX];
    size_t nwhen;
    struct cor_gen_default *next;
};

struct cor_gen_type {
    struct cor_gen_package *package; /* NULL: a list, a map or a plain scalar */
    struct cor_str name;             /* as it was declared: "PodSpec" */
    struct cor_str c_name;           /* of its struct: "cor_core_v1_pod_spec" (cor_gen_name()) */
    enum cor_shape shape;
    bool is_kind;
    bool is_wrapped;       /* a list that is a message of its own in protobuf */
    struct cor_str plural; /* of the resource, of a kind that has one; empty: none */
    bool is_namespaced;    /* the resource; the next two are the resource's, too */
    unsigned verbs;        /* COR_API_VERB_BIT() */
    struct cor_gen_subresource *subresources; /* sorted by their names */
    const struct cor_gen_type *element;       /* of a list and a map */
    struct cor_gen_field *fields;     /* of a struct, in the order in which they were added */
    struct cor_gen_default *defaults; /* of a struct, in the order in which they apply */
    const struct cor_str *values;     /* of an enum */
    size_t nvalues;
    struct cor_str words;
    bool is_element, is_map_value; /* of a list or a map of the model */
    bool is_owned;                 /* it gets a struct of its own (gen/structs.h) */
    bool is_open, is_written;      /* while structs are written */
    unsigned seen;                 /* by the last question of this number (cor_gen_model.asked) */
    struct cor_gen_type *next;     /* in its package */
};

struct cor_gen_package {
    struct cor_str stem;    /* names its files: "apps_v1" */
    struct cor_str group;   /* "" for core */
    struct cor_str version; /* "" for a package of plain types */
    struct cor_str prefix;  /* of its symbols: "cor_apps_v1_" */
    struct cor_str header;  /* how other files include its header: "coracle/types/apps_v1.h" */
    bool is_external;       /* exists elsewhere: only referred to */
    bool is_wanted;         /* its files are written (cor_gen_want()) */
    bool is_wire;           /* its types have protobuf numbers */
    bool is_structural;     /* values are what JSON says: a time is a text */
    struct cor_gen_type *types;
    struct cor_gen_package *next;
};

struct cor_gen_model {
    struct cor_arena arena;
    struct cor_gen_package *packages; /* in the order in which they were added */
    struct cor_map by_name;           /* "stem.Name" to struct cor_gen_type */
    unsigned asked;                   /* questions that were asked of all that a type holds */
    struct cor_map schemas; /* names of OpenAPI schemas, of all documents, to struct cor_gen_type */
};

/* Why an input could not be read: the file, the path in it, and what was expected there. */
struct cor_gen_error {
    char message[1024];
};

void cor_gen_model_init(struct cor_gen_model *model);
void cor_gen_model_deinit(struct cor_gen_model *model);

/* 0, or the failure of the first call that failed: -COR_ENOMEM, -COR_ETOOBIG. */
int cor_gen_model_error(const struct cor_gen_model *model);

/* Text that lives as long as the model. */
struct cor_str cor_gen_printf(struct cor_gen_model *model, const char *fmt, ...) COR_PRINTF(2, 3);

/* The package with this stem, added if it is not there. `prefix` and `folder` ("coracle/types/")
 * make its members of these names. */
struct cor_gen_package *cor_gen_package(struct cor_gen_model *model, struct cor_str stem,
                                        struct cor_str prefix, struct cor_str folder);
struct cor_gen_package *cor_gen_find_package(const struct cor_gen_model *model,
                                             struct cor_str stem);

/* Wants the files of a package, and those of the packages whose structs its own hold, or whose
 * kinds its subresources speak, unless they exist elsewhere. */
void cor_gen_want(struct cor_gen_package *package);

/* Does it have more than strings? */
bool cor_gen_has_types(const struct cor_gen_package *package);

/* A declared type. NULL: it has not been added. */
struct cor_gen_type *cor_gen_find_type(const struct cor_gen_model *model,
                                       const struct cor_gen_package *package, struct cor_str name);
/* Adds a type to its package. The name is new there. */
struct cor_gen_type *cor_gen_add_type(struct cor_gen_model *model, struct cor_gen_package *package,
                                      struct cor_str name, enum cor_shape shape);
/* A list or a map of `element`, or a scalar (element NULL). */
const struct cor_gen_type *cor_gen_plain_type(struct cor_gen_model *model, enum cor_shape shape,
                                              struct cor_gen_type *element);
struct cor_gen_field *cor_gen_add_field(struct cor_gen_model *model, struct cor_gen_type *type,
                                        struct cor_str name, const struct cor_gen_type *of);

/* The subresource of this name, added if it is not there; the first call's `type` is kept. */
struct cor_gen_subresource *cor_gen_subresource(struct cor_gen_model *model,
                                                struct cor_gen_type *resource, struct cor_str name,
                                                const struct cor_gen_type *type);

/* Adds a default without conditions that the caller fills in. */
struct cor_gen_default *cor_gen_add_default(struct cor_gen_model *model, struct cor_gen_type *type);

/* The kind `nameList` with metadata and items, as the API server has one for each resource. */
void cor_gen_add_list_kind(struct cor_gen_model *model, struct cor_gen_type *kind,
                           struct cor_str name, const struct cor_gen_type *list_meta);

#endif
