/* The scale subresource of a custom resource: which of its fields are the number of replicas that
 * is wanted, the number that there is, and the selector (contract crd 4.12). Paths are split at
 * their dots, after the first one; nothing else in them has a meaning. Owner: the row of the
 * version (schema/kinds/custom_row.h).  Thread: any (immutable). */
#ifndef COR_SCHEMA_CUSTOM_CUSTOM_SCALE_H
#define COR_SCHEMA_CUSTOM_CUSTOM_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "meta/names/field_error.h"
#include "schema/convert/conversion.h"
#include "json/write/writer.h"

/* Marks the subresource as one that shows a Scale. The scale needs the paths of its row, which no
 * function of a conversion has: server/api/scale_of_custom.c makes it. */
extern const struct cor_conversion cor_custom_scale_conversion;

/* What a patch sees in place of a number of replicas that the object does not have. */
#define COR_CUSTOM_SCALE_ABSENT INT32_MIN
/* A longer path is refused as the segments of it are: no object is as deep. */
#define COR_CUSTOM_SCALE_SEGMENTS_MAX 64

struct cor_custom_scale {
    struct cor_str spec, status; /* paths, with the dot before them */
    struct cor_str selector;     /* empty: it has none */
};

/* The scale of the `subresources` of a version as canonical JSON, whose p may be NULL; NULL: it has
 * none. 0, -COR_ENOMEM. */
int cor_custom_scale_new(struct cor_str subresources, struct cor_custom_scale **ret_scale);

/* NULL is fine; returns NULL. */
struct cor_custom_scale *cor_custom_scale_free(struct cor_custom_scale *scale);
COR_DEFINE_CLEANUP(struct cor_custom_scale, cor_custom_scale_free)

/* What an object has at the paths. */
struct cor_custom_scale_values {
    int64_t spec, status; /* 0 when it is absent */
    bool has_spec;
    struct cor_str selector; /* raw text, borrowed from the object */
};

/* Reads an object, canonical JSON. 0; -COR_EINVAL: a value has another type, which is appended to
 * `why`; -COR_ENOMEM. */
int cor_custom_scale_read(const struct cor_custom_scale *scale, struct cor_str object,
                          struct cor_custom_scale_values *ret_values, struct cor_buf *why);

/* Writes the members of the Scale except for kind and apiVersion into the object that is open.
 * Numbers are those of the lower 32 bits, as upstream's. */
void cor_custom_scale_write(const struct cor_custom_scale_values *values, struct cor_str object,
                            struct cor_json_writer *w);

/* Appends the value of the object's member that the path of the wanted replicas begins with, after
 * `replicas` is set in it; the key of the member is in `ret_key`. Objects on the way are made. 0;
 * -COR_EINVAL: something on the way is not an object, which is appended to `why`; -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_custom_scale_set(const struct cor_custom_scale *scale, struct cor_str object,
                         struct cor_str replicas, struct cor_str *ret_key, struct cor_buf *out,
                         struct cor_buf *why);

/* Adds what is wrong with the fields of an object that is written: those of the spec unless
 * `is_status`, and those of the status. Lack of memory is noted in `errors`. */
void cor_custom_scale_check(const struct cor_custom_scale *scale, struct cor_str object,
                            bool is_status, struct cor_field_errors *errors);

#endif
