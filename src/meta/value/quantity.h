/* Quantities ("500m", "1Gi", "1e3") as upstream's resource.Quantity reads and writes them: a number
 * of any length with a suffix, whose family (decimal, binary, exponent) is kept. The canonical text
 * has no fraction and the largest suffix that needs none. A text that is canonical by upstream's
 * quick test keeps its spelling ("+5", "1.500").
 * Thread: any (pure).  Work and memory are linear in the text. */
#ifndef COR_META_VALUE_QUANTITY_H
#define COR_META_VALUE_QUANTITY_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "coracle/quantity.h"

enum cor_quantity_flag {
    COR_QUANTITY_MILLI = 1 << 0, /* round up, away from zero, to thousandths */
};

/* What upstream says of `text`, which has no spaces around it, when it is not a quantity; NULL: it
 * is one. */
const char *cor_quantity_mistake(struct cor_str text);

/* Writes the canonical text of `text`, which has no spaces around it. 0: `text` is canonical and
 * nothing was appended. 1: the canonical text was appended to `out`. -COR_EINVAL: `text` is not a
 * quantity, and `reterr_why` (may be NULL) is set to upstream's words. -COR_ENOMEM, -COR_ETOOBIG.
 * `out` is as before unless 1 is returned. */
int cor_quantity_rewrite(struct cor_str text, unsigned flags, struct cor_buf *out,
                         const char **reterr_why);

/* Digits of the terms of a sum, written with the same exponent. */
#define COR_QUANTITY_SUM_DIGITS 80

/* Appends the canonical sum, in the family of the first that is not zero. It is exact, as is
 * cor_quantity_cmp(): a term or a sum of the binary family may be more than the int64 at which
 * cor_quantity_rewrite() caps one. 0, -COR_EINVAL (a text is not a quantity), -COR_ETOOBIG (too
 * many digits, or out's maximum), -COR_ENOMEM; `out` is as before on failure. */
int cor_quantity_add(struct cor_str a, struct cor_str b, struct cor_buf *out);

/* Less than, equal to or greater than 0; 0 for what is not a quantity. Of any length. */
int cor_quantity_sign(struct cor_str text);

#endif
