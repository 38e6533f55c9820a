/* The indexes of a Job's pods as texts: "1,3-5,7", in increasing order.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_GO_INDEX_LIST_H
#define COR_SCHEMA_GO_INDEX_LIST_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Is the text a list of indexes below `completions`? 0: it is, and `ret_total` is how many there
 * are. 1: it is not, and `why` got upstream's words for the first mistake. -COR_ENOMEM,
 * -COR_ETOOBIG. The empty text is the empty list. */
int cor_index_list_check(struct cor_str text, int32_t completions, int32_t *ret_total,
                         struct cor_buf *why);

/* The first index that two lists share, as upstream looks for it: both are walked side by side, and
 * invalid intervals are skipped. -1: there is none. */
int32_t cor_index_lists_overlap(struct cor_str a, struct cor_str b, int32_t completions);

#endif
