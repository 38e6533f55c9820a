/* The objects that the server makes when it starts, and keeps as they are: api/all.objects as a
 * table, in the order in which they are made. server/instance/bootstrap_keeper.h makes them.
 * Thread: any (const). */
#ifndef COR_SCHEMA_KINDS_BOOTSTRAP_OBJECTS_H
#define COR_SCHEMA_KINDS_BOOTSTRAP_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "meta/status/gvk.h"

/* What happens to an object that exists already. The last two are those of API priority and
 * fairness: the annotation apf.kubernetes.io/autoupdate-spec of the object takes part. */
enum cor_bootstrap_rule {
    COR_BOOTSTRAP_ONCE,      /* the object is left alone */
    COR_BOOTSTRAP_SUGGESTED, /* its spec is replaced unless its annotation says otherwise */
    COR_BOOTSTRAP_MANDATORY, /* its spec is replaced when it differs */
};

struct cor_bootstrap_object {
    enum cor_bootstrap_rule rule;
    struct cor_str kind;
    struct cor_gvr gvr;
    struct cor_str name;
    struct cor_str body;     /* the whole object, as JSON */
    struct cor_str spec;     /* its spec as canonical JSON with all defaults; empty: it has none */
    bool is_spec_compared;   /* false: any spec that passes validation is fine */
    const char *undeletable; /* why a DELETE of the object is refused; NULL: it is not */
};

extern const struct cor_bootstrap_object cor_bootstrap_objects[];
extern const size_t cor_bootstrap_nobjects;

/* NULL: there is none of this kind and name. */
const struct cor_bootstrap_object *cor_bootstrap_object_find(struct cor_str kind,
                                                             struct cor_str name);

#endif
