/* A set of byte strings, for lists that a client fills. It borrows the bytes, which stay unchanged
 * while they are in the set. A few strings need no memory; more of them are in a cor_map, so that n
 * additions cost O(n) whatever the strings are.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_BASE_STR_SET_H
#define COR_BASE_STR_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/str.h"

#define COR_STR_SET_FEW 8

struct cor_str_set {
    struct cor_str few[COR_STR_SET_FEW];
    size_t nfew;
    struct cor_map many; /* all strings, once there are more than a few */
};

/* Cannot fail; nothing is allocated for the first few strings. `max` is at most 2^31. */
void cor_str_set_init(struct cor_str_set *set, size_t max);

/* Safe on a zeroed struct. */
void cor_str_set_deinit(struct cor_str_set *set);

/* `ret_is_new` is false when an equal string was there already; the set keeps that one. 0,
 * -COR_ENOMEM, -COR_ETOOBIG (the maximum would be passed); the set is unchanged on failure. */
int cor_str_set_add(struct cor_str_set *set, struct cor_str s, bool *ret_is_new);

bool cor_str_set_has(const struct cor_str_set *set, struct cor_str s);

#endif
