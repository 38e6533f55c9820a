/* How two versions of a kind differ, as api/all.conversions declares it: the one source of the
 * server's conversions (schema/convert/conversion.h) and of the conversions that coracle-gen writes
 * for structs. tools/compile_conversions.py makes the tables and compares them with the types.
 * Thread: any (const). */
#ifndef COR_SCHEMA_TYPES_CONVERSION_DATA_H
#define COR_SCHEMA_TYPES_CONVERSION_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The same member under two names, in structs at the same path: "spec", or "" for the object. */
struct cor_declared_rename {
    struct cor_str parent, a, b;
};

struct cor_declared_path {
    struct cor_str parent, name;
};

struct cor_conversion_data {
    struct cor_str a, b; /* "core_v1.Event": the version that is stored, and the other one */
    const struct cor_declared_rename *renamed;
    size_t nrenamed;
    /* What only one of them has, or has in another shape: a function converts it. */
    struct {
        const struct cor_declared_path *v;
        size_t n;
    } by_hand[2]; /* of a, of b */
    bool settles; /* b to a and back may add something, but only once */
};

extern const struct cor_conversion_data cor_declared_core_v1_event;
extern const struct cor_conversion_data cor_declared_autoscaling_v2_horizontal_pod_autoscaler;

/* All of them; the last is NULL. */
extern const struct cor_conversion_data *const cor_conversions_declared[];

#endif
