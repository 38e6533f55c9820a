/* What a list or a watch selects: labels and fields together, as upstream's SelectionPredicate.
 * Thread: any once filled (immutable).  Owner: whoever embeds it; it owns its selectors. */
#ifndef COR_META_SELECT_PREDICATE_H
#define COR_META_SELECT_PREDICATE_H

#include <stdbool.h>

#include "meta/object/object.h"
#include "meta/select/field_selector.h"
#include "meta/select/label_selector.h"

/* A zeroed one selects everything. A selector that selects everything is kept as NULL. */
struct cor_predicate {
    struct cor_label_selector *labels;
    struct cor_field_selector *fields;
};

/* From the texts of a request; labels are read first. `field_labels` as in
 * meta/select/field_selector.h. 0, -COR_EINVAL (in upstream's words), -COR_ENOMEM. */
int cor_predicate_parse(struct cor_str label_selector, struct cor_str field_selector,
                        const struct cor_field_labels *field_labels,
                        struct cor_predicate *ret_predicate, struct cor_status *reterr_status);

/* Safe on a zeroed struct; leaves it selecting everything. */
void cor_predicate_deinit(struct cor_predicate *predicate);

static inline bool cor_predicate_empty(const struct cor_predicate *predicate)
{
    return !predicate->labels && !predicate->fields;
}

/* The bits that the fingerprint of a matching object has; 0 when labels do not matter. */
static inline uint64_t cor_predicate_mask(const struct cor_predicate *predicate)
{
    return predicate->labels ? predicate->labels->mask : 0;
}

bool cor_predicate_matches(const struct cor_predicate *predicate, const struct cor_object *object);

/* The same of an object whose owner keeps notes of it. */
bool cor_predicate_matches_noted(const struct cor_predicate *predicate,
                                 const struct cor_object *object, struct cor_field_notes *notes,
                                 const struct cor_field_places *places);
/* False: the notes alone tell that it does not match, and the object was not touched. */
static inline bool cor_predicate_may_match(const struct cor_predicate *predicate,
                                           const struct cor_field_notes *notes,
                                           const struct cor_field_places *places)
{
    return !predicate->fields || cor_field_selector_may_match(predicate->fields, notes, places);
}

/* What matching the object may cost, in looks at an ordinary object with an ordinary selector (0.3
 * µs): a client chooses how many terms a selector has, and how large an object is. At least 1. */
size_t cor_predicate_cost(const struct cor_predicate *predicate, const struct cor_object *object);

/* The one value of `field` that a matching object can have: metadata.name for a list that is a get,
 * metadata.namespace, or an index's trigger field such as spec.nodeName. A list that continues
 * another must not become a get by it: its token already says where to go on. */
bool cor_predicate_requires(const struct cor_predicate *predicate, struct cor_str field,
                            struct cor_str *ret_value);

#endif
