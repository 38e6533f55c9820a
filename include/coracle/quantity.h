/* Quantities as API objects have them: "500m", "1Gi", "1e3" (resource.Quantity). A quantity is a
 * text; it is compared and added by value, exactly, and two texts may have one value: "1000m" and
 * "1". Every function returns 0, or -COR_EINVAL (a text is not a quantity), -COR_ETOOBIG (too many
 * digits, or the result has no room), -COR_ENOMEM.
 * Thread: any (pure). */
#ifndef CORACLE_QUANTITY_H
#define CORACLE_QUANTITY_H

#include <stdint.h>

#include "coracle/api.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COR_QUANTITY_TEXT_MAX 128 /* of a result, with its NUL */

/* Sets `ret_order` to less than, equal to or greater than 0: the order of `a` and `b`. */
COR_API int cor_quantity_cmp(struct cor_str a, struct cor_str b, int *ret_order);

/* Writes the canonical text, as the server stores it: without a fraction, with the largest suffix
 * that needs none. */
COR_API int cor_quantity_canonical(struct cor_str text, char to[COR_QUANTITY_TEXT_MAX]);

/* Write a + b and a - b in canonical form, with the family of suffixes of the first that is not
 * zero. */
COR_API int cor_quantity_plus(struct cor_str a, struct cor_str b, char to[COR_QUANTITY_TEXT_MAX]);
COR_API int cor_quantity_minus(struct cor_str a, struct cor_str b, char to[COR_QUANTITY_TEXT_MAX]);

/* The quantity as a number of 10^scale, rounded away from zero: scale 0 for wholes, -3 for
 * thousandths. -COR_ETOOBIG when no int64_t holds it. */
COR_API int cor_quantity_scaled(struct cor_str text, int scale, int64_t *ret);

#ifdef __cplusplus
}
#endif

#endif
