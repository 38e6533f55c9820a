/* What the server reads in CustomResourceDefinitions, and how it changes their status: conditions,
 * and the names that are accepted (contract crd 2.1.5, 2.2).
 * Thread: any (pure). */
#ifndef COR_SCHEMA_KINDS_CRD_OBJECT_H
#define COR_SCHEMA_KINDS_CRD_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "coracle/view.h"
#include "meta/object/object.h"

#define COR_CRD_FINALIZER  "customresourcecleanup.apiextensions.k8s.io"
#define COR_CRD_STATUS_MAX (1u << 20)

/* A definition whose long texts are found once. Schemas make `spec` long, and a search for a member
 * after it walks over all of them. The views lie in the bytes of `object`, which is borrowed. */
struct cor_crd {
    const struct cor_object *object;
    struct cor_view spec, status;
};
struct cor_crd cor_crd_of(const struct cor_object *object);

struct cor_view cor_crd_spec(const struct cor_crd *crd, const char *member);
struct cor_view cor_crd_status(const struct cor_crd *crd, const char *member);
struct cor_str cor_crd_group(const struct cor_crd *crd);

/* The condition of this type; a view of nothing: it has none. */
struct cor_view cor_crd_condition(const struct cor_crd *crd, const char *type);
/* Has it the condition with status True? */
bool cor_crd_is_true(const struct cor_crd *crd, const char *type);
bool cor_crd_is_deleted(const struct cor_object *crd); /* it has a deletionTimestamp */
bool cor_crd_has_finalizer(const struct cor_object *crd);

struct cor_crd_condition {
    const char *type, *reason;
    struct cor_str message;
    bool is_true;
};

/* Is the condition there, with the same status, reason and message? */
bool cor_crd_has_condition(const struct cor_crd *crd, const struct cor_crd_condition *condition);

/* Appends the conditions of `crd` with those of `change` set at the time `now`. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
struct cor_crd_change;
int cor_crd_write_conditions(const struct cor_crd *crd, const struct cor_crd_change *change,
                             struct cor_str now, struct cor_buf *out);

/* What to write to the status of `crd`: a copy without its spec, with these conditions set, at
 * `now_ms`, and, if they are given, other accepted names (JSON) or without its finalizer. A
 * condition that is there keeps its place, and its time unless its status changes. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
struct cor_crd_change {
    struct cor_crd_condition conditions[2];
    size_t nconditions;
    struct cor_str accepted_names; /* p == NULL: as they are */
    bool drops_finalizer;
};
int cor_crd_change(const struct cor_crd *crd, const struct cor_crd_change *change, int64_t now_ms,
                   struct cor_object **ret_object);

#endif
