/* A set of IP addresses: 64 neighbours share a page of one word, and the pages are in a hash table.
 * A dense range costs a few bits per address, a sparse one about 50 bytes.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_SERVER_ADDR_SET_H
#define COR_SERVER_ADDR_SET_H

#include <stddef.h>

#include "server/alloc/addr.h"

struct cor_addr_page {
    uint64_t hi, number; /* of the addresses: the upper half, and the lower half without 6 bits */
    uint64_t bits;       /* 0: the page is free or empty */
};

struct cor_addr_set {
    struct cor_addr_page *pages; /* `cap` of them, a power of two */
    size_t n, cap;               /* pages in use, empty ones included */
    uint64_t seed;               /* of the hash; set by the owner before the first address */
};

/* 0, -COR_ENOMEM. Adding an address twice is harmless. */
int cor_addr_set_add(struct cor_addr_set *set, struct cor_addr ip);
void cor_addr_set_remove(struct cor_addr_set *set,
                         struct cor_addr ip); /* also of an absent address */
bool cor_addr_set_has(const struct cor_addr_set *set, struct cor_addr ip);

/* The 64 addresses around `ip`, whose own bit is the lowest 6 bits of its number. */
uint64_t cor_addr_set_page(const struct cor_addr_set *set, struct cor_addr ip);

/* Removes all addresses and frees the memory; safe on a zeroed struct. */
void cor_addr_set_clear(struct cor_addr_set *set);

#endif
