/* Growing arrays: a pointer to the elements, how many there are, and for how many there is room.
 * The three are members of whoever owns the array (or locals), under names of their own; these
 * helpers grow them together. Elements are moved by memcpy when the array grows. Owner: whoever has
 * the pointer; cor_free() frees it.  Thread: one at a time. */
#ifndef COR_BASE_ARRAY_H
#define COR_BASE_ARRAY_H

#include <stddef.h>

/* The maximum of an array that something else bounds, such as the size of a request's body. */
#define COR_ARRAY_NO_MAX ((size_t)-1)

/* Room for one more element behind the first `n` of *pv, whose room is *pcap; at most `max`
 * elements. *pv is NULL while *pcap is 0. The element's size is that of **pv. 0, -COR_ENOMEM,
 * -COR_ETOOBIG; on failure nothing has changed.
 *
 *     r = COR_ARRAY_RESERVE(&list->items, list->n, &list->cap, ITEMS_MAX);
 *     if (r < 0)
 *         return r;
 *     list->items[list->n++] = item;
 */
#define COR_ARRAY_RESERVE(pv, n, pcap, max) COR_ARRAY_RESERVE_MORE(pv, n, 1, pcap, max)

/* The same for `more` elements at once. `n` and `more` are evaluated twice. */
#define COR_ARRAY_RESERVE_MORE(pv, n, more, pcap, max)                                             \
    ((more) <= *(pcap) - (n) ? 0 : cor_array_grow((pv), sizeof(**(pv)), (n), (more), (pcap), (max)))

/* What the macros call when there is no room. The room doubles until it is enough. */
int cor_array_grow(void *pv, size_t element_bytes, size_t n, size_t more, size_t *pcap, size_t max);

#endif
