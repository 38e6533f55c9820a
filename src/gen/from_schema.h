/* Types of a model from JSON schemas, as OpenAPI and CustomResourceDefinitions have them. A struct
 * inside another one, which has no name in the schema, is named after the path to it: the objects
 * in spec.ports of a Website are WebsiteSpecPorts.
 * Owner: the reader of a file, for the time of a call.  Thread: one at a time. */
#ifndef COR_GEN_FROM_SCHEMA_H
#define COR_GEN_FROM_SCHEMA_H

#include "base/buf.h"
#include "coracle/view.h"
#include "gen/model.h"

/* Nesting of schemas, references included. */
#define COR_GEN_SCHEMA_DEPTH_MAX 200

struct cor_gen_schemas {
    struct cor_gen_model *model;
    const char *file;    /* for messages */
    struct cor_buf path; /* of the value that is being read, for messages */
    unsigned depth;
    struct cor_str reserved; /* the name of a kind that is added later; may be empty */
    /* The type that `$ref` means; NULL in place of the function: there are no references. NULL as
     * its result: it has failed. */
    const struct cor_gen_type *(*refer)(struct cor_gen_schemas *s, struct cor_str ref);
    void *arg;
    struct cor_gen_error *reterr;
    int error; /* 0, -COR_EINVAL (with a message), -COR_ENOMEM, -COR_ETOOBIG */
};

void cor_gen_schemas_init(struct cor_gen_schemas *s, struct cor_gen_model *model, const char *file,
                          struct cor_gen_error *reterr);
void cor_gen_schemas_deinit(struct cor_gen_schemas *s);

/* Enters the member or the element at the end of the path, and leaves it: `mark` is what entering
 * returned. */
size_t cor_gen_path_enter(struct cor_gen_schemas *s, struct cor_str key);
size_t cor_gen_path_enter_index(struct cor_gen_schemas *s, size_t i);
void cor_gen_path_leave(struct cor_gen_schemas *s, size_t mark);

/* The first failure of an input: writes "FILE: PATH: what was expected". Returns -COR_EINVAL. */
int cor_gen_wrong(struct cor_gen_schemas *s, const char *fmt, ...) COR_PRINTF(2, 3);

/* A member that must be there and have this type; a view of nothing after a failure. */
struct cor_view cor_gen_need(struct cor_gen_schemas *s, struct cor_view object, const char *key,
                             enum cor_json_type type);
/* A text of a member that must be there and not be empty; it lives as long as the model. */
struct cor_str cor_gen_need_text(struct cor_gen_schemas *s, struct cor_view object,
                                 const char *key);

/* Groups, versions, kinds and plurals are copied into the generated files, and the input may be
 * untrusted: none may end a text or a comment there. An empty one is allowed. */
#define COR_GEN_NAME_EXPECTED "a name of letters, digits, -, . and _ was expected"
bool cor_gen_is_name(struct cor_str text);
/* cor_gen_need_text() of such a name. */
struct cor_str cor_gen_need_name(struct cor_gen_schemas *s, struct cor_view object,
                                 const char *key);

/* The package of a group and version, added if it is not there; its symbols begin with `prefix` and
 * both (struct cor_gen_input). NULL: it has failed, also when they would begin with a digit. */
struct cor_gen_package *cor_gen_package_of(struct cor_gen_schemas *s, const char *prefix,
                                           struct cor_str folder, struct cor_str group,
                                           struct cor_str version);

/* The type of a schema. `name` is for a struct; `package` gets it. NULL: it has failed. */
const struct cor_gen_type *cor_gen_schema(struct cor_gen_schemas *s, struct cor_view schema,
                                          struct cor_gen_package *package, struct cor_str name);

/* Is it a schema of an object with properties? */
bool cor_gen_schema_is_struct(struct cor_view schema);

/* Adds the properties to a struct, except for those that it has. */
void cor_gen_schema_fields(struct cor_gen_schemas *s, struct cor_view schema,
                           struct cor_gen_type *type);

/* The text of a view without its escapes; it lives as long as the model. */
struct cor_str cor_gen_text(struct cor_gen_schemas *s, struct cor_view view);

#endif
