/* clang-format off */
/* The fields of objects that controllers work with: finalizers, owners, conditions, deletion and
 * generations: Kubernetes' controllerutil and its condition helpers. Reading functions take an
 * object; writing functions change a builder (coracle/builder.h), from which a new object is
 * made, because objects are immutable:
 *
 *   cor_builder_new(site, &b);
 *   cor_builder_add_finalizer(b, "example.com/cleanup");
 *   cor_builder_set_condition(b, &(struct cor_condition){COR_CONDITION, .type = "Ready",
 *                                                        .status = "True", .reason = "Up"});
 *   r = cor_builder_finish(b, &next, &why);
 *
 * Every writing function returns 1 when it has changed the builder's object, 0 when there was
 * nothing to change, or a negative code, which the builder remembers as its first failure and
 * cor_builder_finish() returns with its message. Labels and annotations are set by
 * cor_builder_set_label() and cor_builder_set_annotation(), and read by cor_object_label() and
 * cor_object_annotation().
 * Thread: any for objects; a builder is used by one thread at a time. */
/* clang-format on */
#ifndef CORACLE_METADATA_H
#define CORACLE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/builder.h"
#include "coracle/object.h"
#include "coracle/str.h"
#include "coracle/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Deletion and age. */

/* Has the object a metadata.deletionTimestamp? It then stays only until its finalizers are removed
 * and its grace period is over. */
COR_API bool cor_object_is_being_deleted(const struct cor_object *object);

/* metadata.deletionTimestamp (which includes the grace period), metadata.creationTimestamp, and
 * metadata.deletionGracePeriodSeconds. Times are Unix seconds. 0, -COR_ENOTFOUND (there is no such
 * field), -COR_EINVAL (the field is not a time or a number). */
COR_API int cor_object_deletion_time(const struct cor_object *object, int64_t *ret_unix_s);
COR_API int cor_object_creation_time(const struct cor_object *object, int64_t *ret_unix_s);
COR_API int cor_object_deletion_grace_s(const struct cor_object *object, int64_t *ret_s);

/* Generations. */

/* metadata.generation, which the server increments with each change of the spec, and
 * status.observedGeneration, the generation that a controller has seen last. 0: there is none. */
COR_API int64_t cor_object_generation(const struct cor_object *object);
COR_API int64_t cor_object_observed_generation(const struct cor_object *object);

/* Copies metadata.generation of the builder's object to its status.observedGeneration. */
COR_API int cor_builder_set_observed_generation(struct cor_builder *b);

/* Finalizers. */

COR_API bool cor_object_has_finalizer(const struct cor_object *object, const char *finalizer);
COR_API int cor_builder_add_finalizer(struct cor_builder *b, const char *finalizer);
/* Removes every entry that is equal to `finalizer`. */
COR_API int cor_builder_remove_finalizer(struct cor_builder *b, const char *finalizer);

/* Owner references. */

/* One entry of metadata.ownerReferences, borrowed from the object. An absent text is empty. */
struct cor_owner_ref {
    struct cor_str api_version, kind, name, uid;
    bool is_controller;
    bool blocks_deletion; /* blockOwnerDeletion */
};

/* The entry at index `i`; false when there are fewer entries:
 *
 *   for (size_t i = 0; cor_object_owner(object, i, &ref); i++) ... */
COR_API bool cor_object_owner(const struct cor_object *object, size_t i, struct cor_owner_ref *ret);

/* The first entry whose `controller` is true; false when there is none. */
COR_API bool cor_object_controller(const struct cor_object *object, struct cor_owner_ref *ret);

/* Has the controlling entry of `object` the uid of `owner`? (metav1.IsControlledBy) */
COR_API bool cor_object_is_controlled_by(const struct cor_object *object,
                                         const struct cor_object *owner);

/* Is there an entry with group, kind and name of `owner`? The version of the API group and the uid
 * are not compared. */
COR_API bool cor_object_has_owner(const struct cor_object *object, const struct cor_object *owner);

/* Makes `owner` the controlling owner of the builder's object, with controller and
 * blockOwnerDeletion true; or one owner among others, with neither. An entry with the group, kind
 * and name of `owner` is replaced where it is: its version and its uid become those of `owner`.
 * -COR_EINVAL: `owner` has no apiVersion, kind, name or uid; `owner` has a namespace and the object
 * has none, or another namespace, so that the object's metadata.namespace is set before this.
 * -COR_EPRECONDITION: another owner is the controller already. */
COR_API int cor_builder_set_controller(struct cor_builder *b, const struct cor_object *owner);
COR_API int cor_builder_set_owner(struct cor_builder *b, const struct cor_object *owner);

/* Removes the entry with group, kind and name of `owner`; the second only when that entry is the
 * controlling one. -COR_ENOTFOUND: there is no such entry. */
COR_API int cor_builder_remove_owner(struct cor_builder *b, const struct cor_object *owner);
COR_API int cor_builder_remove_controller(struct cor_builder *b, const struct cor_object *owner);

/* Conditions. */

/* A condition as it shall be; the texts are copied. */
struct cor_condition {
    size_t size; /* of this struct: COR_CONDITION sets it (coracle/api.h) */
    const char *type;
    const char *status; /* "True", "False" or "Unknown" */
    const char *reason, *message;
    int64_t observed_generation; /* 0: the condition has none */
    int64_t transition_s;        /* Unix time of the transition; 0: now */
    const char *path;            /* of the list of conditions; NULL: "status.conditions" */
};

#define COR_CONDITION .size = sizeof(struct cor_condition)

/* Adds the condition, or changes the one of this type; members that struct cor_condition does not
 * have stay as they are. lastTransitionTime is set when the condition is added and when its status
 * changes (meta.SetStatusCondition). Also -COR_EINVAL: there is no type or no status. */
COR_API int cor_builder_set_condition(struct cor_builder *b, const struct cor_condition *condition);

/* Removes the conditions of this type from status.conditions (meta.RemoveStatusCondition). */
COR_API int cor_builder_remove_condition(struct cor_builder *b, const char *type);

/* The first condition of this type in status.conditions, as a view; a view of nothing when there is
 * none (meta.FindStatusCondition). The second function tests its status: "True" for
 * meta.IsStatusConditionTrue. */
COR_API struct cor_view cor_object_condition(const struct cor_object *object, const char *type);
COR_API bool cor_object_condition_is(const struct cor_object *object, const char *type,
                                     const char *status);

#ifdef __cplusplus
}
#endif

#endif
