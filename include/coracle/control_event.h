/* A change of an object, as a controller's predicates see it, and the predicates that decide
 * whether the change matters: controller-runtime's events and predicates. A predicate looks at
 * updates, at the object, or at both; all other kinds of change pass.
 *
 *   static const struct cor_control_predicate only_spec = {cor_control_generation_changed, NULL};
 *
 * Predicates are called on the runtime's I/O thread or inside the pump: they must not block.
 * Thread: any (pure).  Owner: values; objects and predicates are borrowed. */
#ifndef CORACLE_CONTROL_EVENT_H
#define CORACLE_CONTROL_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cor_control_event_kind {
    COR_CONTROL_CREATED, /* also for each object that exists when the program starts */
    COR_CONTROL_UPDATED, /* also a resync: `old` and `object` are the same version then */
    COR_CONTROL_DELETED,
    COR_CONTROL_GENERIC, /* something outside the cluster that concerns the object */
};

struct cor_control_event {
    enum cor_control_event_kind kind;
    const struct cor_object *object; /* as it is now; after a deletion, its last known state */
    const struct cor_object *old;    /* of an update: the state before it; NULL: it is not known */
    bool in_initial_list;            /* of a creation: the object is from the first list */
    bool final_state_unknown; /* of a deletion: the deletion itself was missed. When the last state
                                 is unknown as well, there is no event; the code that has the key
                                 adds it */
};

struct cor_control_predicate {
    bool (*passes)(const void *arg, const struct cor_control_event *event);
    const void *arg;
};

struct cor_control_predicates {
    const struct cor_control_predicate *list;
    size_t n;
};

/* Returns whether all predicates pass. They are called in order until one does not. */
COR_API bool cor_control_predicates_pass(const struct cor_control_predicates *predicates,
                                         const struct cor_control_event *event);

/* Functions for `passes`. The first four let an update pass when the named field differs between
 * `old` and `object`, or when `old` is not known; they have no argument, and every other kind of
 * event passes. Labels and annotations that are absent, null and empty are equal. */
COR_API bool cor_control_generation_changed(const void *arg, const struct cor_control_event *event);
COR_API bool cor_control_version_changed(const void *arg, const struct cor_control_event *event);
COR_API bool cor_control_labels_changed(const void *arg, const struct cor_control_event *event);
COR_API bool cor_control_annotations_changed(const void *arg,
                                             const struct cor_control_event *event);

/* `arg` is a struct cor_label_selector. It tests `object` alone: an update that makes an object
 * stop matching does not pass. */
COR_API bool cor_control_labels_match(const void *arg, const struct cor_control_event *event);

/* Combinations: `arg` is a struct cor_control_predicates, or for `not` one predicate. */
COR_API bool cor_control_all(const void *arg, const struct cor_control_event *event);
COR_API bool cor_control_any(const void *arg, const struct cor_control_event *event);
COR_API bool cor_control_not(const void *arg, const struct cor_control_event *event);

/* Receives the keys that a mapping function finds. */
struct cor_control_keys;

/* Adds a key; `ns` is empty for objects without a namespace. The caller of the mapping function
 * sees a failure. */
COR_API void cor_control_keys_add(struct cor_control_keys *keys, struct cor_str ns,
                                  struct cor_str name);

#ifdef __cplusplus
}
#endif

#endif
