/* Validation errors by field, in the words of Kubernetes' field package, and the Invalid Status
 * that is made of them.
 *
 * A path is a chain of values on the caller's stack:
 *
 *   struct cor_field_path meta = cor_field_root(COR_STR("metadata"));
 *   struct cor_field_path labels = cor_field_child(&meta, COR_STR("labels"));
 *   cor_field_errors_add(&errs, COR_FIELD_INVALID, &labels, cor_field_string(key), message);
 *
 * Thread: one at a time.  Owner: whoever embeds the list. */
#ifndef COR_META_NAMES_FIELD_ERROR_H
#define COR_META_NAMES_FIELD_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

enum cor_field_error_type {
    COR_FIELD_NOT_FOUND,
    COR_FIELD_REQUIRED, /* prints no value */
    COR_FIELD_DUPLICATE,
    COR_FIELD_INVALID,
    COR_FIELD_NOT_SUPPORTED,
    COR_FIELD_FORBIDDEN, /* prints no value */
    COR_FIELD_TOO_LONG,  /* prints no value */
    COR_FIELD_TOO_MANY,
    COR_FIELD_INTERNAL, /* prints no value */
    COR_FIELD_TYPE_INVALID,
};

/* One step of a path: a name, a map key or an index. */
struct cor_field_path {
    const struct cor_field_path *parent; /* NULL: the root; must outlive this step */
    struct cor_str name;                 /* or the map key */
    size_t index;
    enum { COR_FIELD_STEP_NAME, COR_FIELD_STEP_KEY, COR_FIELD_STEP_INDEX } step;
};

static inline struct cor_field_path cor_field_child(const struct cor_field_path *parent,
                                                    struct cor_str name)
{
    return (struct cor_field_path){.parent = parent, .name = name};
}

static inline struct cor_field_path cor_field_root(struct cor_str name)
{
    return cor_field_child(NULL, name);
}

static inline struct cor_field_path cor_field_key(const struct cor_field_path *parent,
                                                  struct cor_str key)
{
    return (struct cor_field_path){.parent = parent, .name = key, .step = COR_FIELD_STEP_KEY};
}

static inline struct cor_field_path cor_field_index(const struct cor_field_path *parent,
                                                    size_t index)
{
    return (struct cor_field_path){.parent = parent, .index = index, .step = COR_FIELD_STEP_INDEX};
}

/* Appends `metadata.ownerReferences[0].name`. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_field_path_print(const struct cor_field_path *path, struct cor_buf *out);

/* The offending value: a string is printed quoted, JSON (a number, a list) as it is. */
struct cor_field_value {
    enum { COR_FIELD_VALUE_NONE, COR_FIELD_VALUE_STRING, COR_FIELD_VALUE_JSON } kind;
    struct cor_str text;
};

static inline struct cor_field_value cor_field_none(void)
{
    return (struct cor_field_value){.kind = COR_FIELD_VALUE_NONE};
}

static inline struct cor_field_value cor_field_string(struct cor_str text)
{
    return (struct cor_field_value){COR_FIELD_VALUE_STRING, text};
}

static inline struct cor_field_value cor_field_json(struct cor_str text)
{
    return (struct cor_field_value){COR_FIELD_VALUE_JSON, text};
}

struct cor_field_error {
    enum cor_field_error_type type;
    char *field;
    char *body;    /* all but the field: `Invalid value: "x": why` */
    uint64_t hash; /* of both: long bodies that begin alike are not compared byte by byte */
};

struct cor_field_errors {
    struct cor_field_error *v; /* n used; grows up to COR_STATUS_CAUSES_MAX, more are dropped */
    size_t n, cap;
    int error; /* the first failure to add (-COR_ENOMEM), sticky */
};

void cor_field_errors_init(struct cor_field_errors *errs);
void cor_field_errors_deinit(struct cor_field_errors *errs); /* safe on a zeroed struct */

/* A failure shows in errs->error and in cor_status_invalid(). `detail` may be NULL. */
void cor_field_errors_add(struct cor_field_errors *errs, enum cor_field_error_type type,
                          const struct cor_field_path *path, struct cor_field_value value,
                          const char *detail);

/* The same, with the detail that belongs to the type. */
void cor_field_errors_add_not_supported(struct cor_field_errors *errs,
                                        const struct cor_field_path *path,
                                        struct cor_field_value value, const char *const *supported,
                                        size_t nsupported);
void cor_field_errors_add_too_long(struct cor_field_errors *errs, const struct cor_field_path *path,
                                   size_t max_bytes);
void cor_field_errors_add_too_many(struct cor_field_errors *errs, const struct cor_field_path *path,
                                   size_t actual, size_t max);

/* Moves the errors of `from` behind those of `to`, with `below` before their fields: for a part
 * that was checked as if it were an object of its own. `from` is empty afterwards, and its failure
 * is that of `to`. */
void cor_field_errors_move(struct cor_field_errors *to, struct cor_field_errors *from,
                           const struct cor_field_path *below);

/* Appends all errors as upstream's aggregate: one bare, several as `[a, b]`, repeated ones once. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_field_errors_print(const struct cor_field_errors *errs, struct cor_buf *out);

/* `<Kind.group> "<name>" is invalid: <aggregate>` with a cause per error. Returns -COR_EINVALID, or
 * errs->error when the list is not complete. */
int cor_status_invalid(struct cor_status *st, const struct cor_gk *gk, struct cor_str name,
                       const struct cor_field_errors *errs);

#endif
