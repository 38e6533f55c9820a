/* clang-format off */
/* Compares values by their meaning in Kubernetes: upstream's equality.Semantic for JSON. A
 * controller compares before it writes, so that it does not update an object forever because the
 * server stores "1" where the program says "1000m".
 *
 *   cor_view_equal(cor_view_at(current, spec), cor_view_at(wanted, spec), &is_equal)
 *
 * What is the same:
 *   the order of keys, spaces, escapes    | do not count; of repeated keys one counts
 *   an absent member, null, an empty list | are the same; so is an empty object under the name of a map, as labels
 *   numbers                               | by value: 1 and 1.0
 *   quantities: "1" and "1000m"           | by value, under the names that have them in the built-in types, as requests
 *   times: "…T10:00:00Z", "…T12:00:00+02:00" | by instant, under names as lastTransitionTime
 *
 * What differs: an absent member and {} under any other name ("emptyDir": {} has a meaning), the
 * order of a list, every text under labels, annotations, data and other maps of texts. Values have
 * no types here, so the name of a field decides: `value` and `default`, which are quantities in
 * some types and texts in others, are compared as texts.
 * Thread: any (pure). */
/* clang-format on */
#ifndef CORACLE_EQUALITY_H
#define CORACLE_EQUALITY_H

#include <stdbool.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A view of nothing is an absent member. The outermost values have no name. 0, -COR_EINVAL (bytes
 * that are not JSON), -COR_ETOOBIG (2 GiB), -COR_ENOMEM; `ret_is_equal` is set on success only. */
COR_API int cor_view_equal(struct cor_view a, struct cor_view b, bool *ret_is_equal);

/* The same for whole objects, including metadata and status. */
COR_API int cor_object_equal(const struct cor_object *a, const struct cor_object *b,
                             bool *ret_is_equal);

#ifdef __cplusplus
}
#endif

#endif
