/* How the internal types of kube-apiserver differ from those that clients see: error messages print
 * values in their internal form (schema/go/go_value.h).
 * Owner: nobody, the tables are constants.  Thread: any (pure). */
#ifndef COR_SCHEMA_GO_INTERNAL_TYPES_H
#define COR_SCHEMA_GO_INTERNAL_TYPES_H

#include <stddef.h>

#include "base/str.h"
#include "schema/types/types.h"

enum cor_internal_mark {
    COR_INTERNAL_SAME,
    COR_INTERNAL_PLAIN,    /* `!`: no pointer, though it is one for clients */
    COR_INTERNAL_NESTED,   /* `+`: a field of its own, though its members stand inline */
    COR_INTERNAL_CONSTANT, /* `=JSON`: not known to clients, always this value */
    COR_INTERNAL_AROUND, /* `^JSON`: the field of that name of the struct around it, or else this */
};

struct cor_internal_field {
    struct cor_str name; /* in Go */
    enum cor_internal_mark mark;
    struct cor_str json; /* of COR_INTERNAL_CONSTANT and _AROUND */
};

/* The fields of the internal form of a struct, in their order. False: they are those of the type.
 * Each call of next takes one from the front; false: there is no more. */
bool cor_internal_fields(const struct cor_type *type, struct cor_str *ret_fields);
bool cor_internal_fields_next(struct cor_str *fields, struct cor_internal_field *ret_field);

/* All types that differ, for walks over the table: "core_v1.PodSpec". NULL: there is no more. */
const char *cor_internal_type_at(size_t i);

#endif
