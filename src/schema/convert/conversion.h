/* Between the form that objects are stored in and another one that is served: another version of
 * the resource, or what a subresource shows of it. Both are canonical JSON. A conversion lets
 * members pass that it does not know; the types decide which of them are kept.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_CONVERT_CONVERSION_H
#define COR_SCHEMA_CONVERT_CONVERSION_H

#include "base/str.h"
#include "meta/object/object.h"
#include "json/write/writer.h"

/* Writes the members of the result, all but kind and apiVersion, into the object that `w` has open.
 * `json` is canonical. 0, -COR_ENOMEM, -COR_ETOOBIG. */
typedef int (*cor_convert_fn)(struct cor_str json, struct cor_json_writer *w);

struct cor_conversion {
    cor_convert_fn from_stored;
    cor_convert_fn to_stored; /* NULL: a part of the object, which alone makes none */
};

/* core/v1 stored, events.k8s.io/v1 served. */
extern const struct cor_conversion cor_event_conversion;
/* autoscaling/v2 stored, v1 served. */
extern const struct cor_conversion cor_hpa_conversion;
/* What the scale subresource of a workload shows. */
extern const struct cor_conversion cor_scale_conversion;
/* Writes the member metadata of a Scale of this object. */
void cor_scale_write_metadata(struct cor_str json, struct cor_json_writer *w);

/* apiextensions.k8s.io/v1 of v1beta1, in which kube-apiserver keeps CustomResourceDefinitions. */
int cor_crd_from_v1beta1(struct cor_str json, struct cor_json_writer *w);
/* Two versions with the same fields. */
int cor_convert_version_alone(struct cor_str json, struct cor_json_writer *w);

/* A Secret as it is kept, of one that a client wrote: the texts of stringData are in data. */
int cor_secret_fold(struct cor_str json, struct cor_json_writer *w);

/* The same object at the same revision as `kind` of `api_version`, normalised if that kind has a
 * type (schema/walk/normalize.h). 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_convert_object(cor_convert_fn convert, struct cor_str kind, struct cor_str api_version,
                       const struct cor_object *object, struct cor_object **ret_object);

/* The member of a canonical object; empty (p == NULL) when absent or null, or when `object` is not
 * an object. */
struct cor_str cor_convert_member(struct cor_str object, const char *key);

/* Is it this string? Without escapes. */
bool cor_convert_is_text(struct cor_str value, const char *text);

#endif
