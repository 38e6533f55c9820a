/* The rules that every object's metadata must meet when it is created, checked on canonical JSON
 * without decoding it, in upstream's words and order.
 * Thread: any. */
#ifndef COR_META_METADATA_OBJECT_META_H
#define COR_META_METADATA_OBJECT_META_H

#include <stdbool.h>

#include "base/str.h"
#include "meta/names/field_error.h"
#include "meta/names/validation.h"

struct cor_object_meta_rules {
    enum cor_name_rule name; /* for name and generateName */
    bool is_namespaced;
    bool any_finalizer; /* finalizers need no domain */
    /* A check with other name rules has found nothing: what does not depend on the rules here is
     * not checked again. */
    bool is_checked;
    /* The same of a check of the update, which is_checked does not cover. */
    bool is_update_checked;
};

/* Adds what is wrong with `metadata` (a canonical JSON object): generateName, name, namespace,
 * generation, labels, annotations, ownerReferences, finalizers. A part of the wrong JSON type is
 * one error; null is absent. Names have been generated before. */
void cor_object_meta_check(struct cor_str metadata, const struct cor_object_meta_rules *rules,
                           struct cor_field_errors *errs);

/* Adds what is wrong with the metadata of an update, beside the rules of creation: finalizers of an
 * object that is being deleted, fields that may not change, and labels, annotations and
 * ownerReferences once more, as upstream has it; and the domains of finalizers where the rules want
 * them. Names are not looked at. Both are canonical JSON objects. */
void cor_object_meta_check_update(struct cor_str metadata, struct cor_str old,
                                  const struct cor_object_meta_rules *rules,
                                  struct cor_field_errors *errs);

/* Single parts, where an object has them elsewhere (a template's labels). */
void cor_object_meta_check_labels(struct cor_str labels, const struct cor_field_path *path,
                                  struct cor_field_errors *errs);
void cor_object_meta_check_annotations(struct cor_str annotations,
                                       const struct cor_field_path *path,
                                       struct cor_field_errors *errs);

#endif
