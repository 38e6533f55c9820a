/* A label selector in the making: one block of memory for it, its requirements, their values and
 * the text that these borrow from. For its two readers, text and JSON.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_META_SELECT_LABEL_DRAFT_H
#define COR_META_SELECT_LABEL_DRAFT_H

#include "meta/select/label_selector.h"

struct cor_label_draft {
    struct cor_label_selector *selector;
    size_t requirements_max;
    struct cor_str *values; /* of all requirements, one after the other */
    size_t nvalues, values_max;
    char *text; /* for the caller to fill; keys and values borrow from it, keys in its order */
};

/* Room for this many of each, no more than the selector's maxima allow. 0 or -COR_ENOMEM. */
int cor_label_draft_init(struct cor_label_draft *draft, size_t requirements, size_t values,
                         size_t text_bytes);

/* Frees what was not stolen; safe on a zeroed struct. */
void cor_label_draft_deinit(struct cor_label_draft *draft);

/* Adds a requirement without values; NULL: there is no room. Borrowed until the draft is stolen. */
struct cor_label_requirement *cor_label_draft_add(struct cor_label_draft *draft, struct cor_str key,
                                                  enum cor_label_op op);

/* Adds a value to the last requirement; false: there is no room. */
bool cor_label_draft_add_value(struct cor_label_draft *draft, struct cor_str value);

/* Sorts the values of the last requirement and keeps each once. */
void cor_label_draft_sort_values(struct cor_label_draft *draft);

/* The selector, its requirements sorted, its mask made. */
struct cor_label_selector *cor_label_draft_steal(struct cor_label_draft *draft);

#endif
