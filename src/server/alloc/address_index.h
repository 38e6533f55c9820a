/* Which addresses Services may get, and which of them are taken, in memory: the ranges of the
 * ServiceCIDRs, the IPAddress objects that were seen, and the addresses that this server is
 * reserving. It only proposes: whether an address is free is decided by the creation of its
 * IPAddress object in the store.
 *
 * Owner: the allocator.  Thread: any; one lock, a leaf. */
#ifndef COR_SERVER_ADDRESS_INDEX_H
#define COR_SERVER_ADDRESS_INDEX_H

#include "base/lock.h"
#include "base/rand.h"
#include "server/alloc/addr_set.h"

/* Of all ServiceCIDRs together. */
#define COR_ADDRESS_RANGES_MAX 4096

/* A range, and the ServiceCIDR that has it. */
struct cor_address_range {
    char *owner; /* the name */
    struct cor_addr_range range;
    bool is_ready; /* addresses may be allocated: it is Ready and is not being deleted */
    bool is_old;   /* known from before a restart of the watch, and not seen since */
};

struct cor_address_index {
    struct cor_lock lock; /* guards the rest */
    struct cor_address_range *ranges;
    size_t nranges, ranges_cap;
    struct cor_addr_set seen; /* addresses that have an object, as far as the watch has told */
    struct cor_addr_set mine; /* proposed by cor_address_index_pick(), and not seen yet */
};

void cor_address_index_init(struct cor_address_index *index, uint64_t seed);
void cor_address_index_deinit(struct cor_address_index *index);

/* What the watch of IPAddress objects has seen. `restart`: it begins again, and all that was known
 * comes once more; until then taken addresses may be proposed, which the store refuses. 0,
 * -COR_ENOMEM. */
void cor_address_index_restart(struct cor_address_index *index);
int cor_address_index_add(struct cor_address_index *index, struct cor_addr ip);
void cor_address_index_remove(struct cor_address_index *index, struct cor_addr ip);
bool cor_address_index_has(struct cor_address_index *index, struct cor_addr ip);

/* Replaces the ranges of the ServiceCIDR `owner`; n 0: it was deleted. 0, -COR_ENOMEM,
 * -COR_ETOOBIG: then its ranges stay as they were. */
int cor_address_index_set_ranges(struct cor_address_index *index, struct cor_str owner,
                                 const struct cor_addr_range *ranges, size_t n, bool is_ready);
/* The watch of ServiceCIDRs begins again, and all of them come once more: what is known stays in
 * use until all have come, and what did not come is dropped then. */
void cor_address_index_restart_ranges(struct cor_address_index *index);
void cor_address_index_end_restart(struct cor_address_index *index);

/* Is it an address of a range, of one that is ready? */
bool cor_address_index_is_known(struct cor_address_index *index, struct cor_addr ip, bool ready);

/* The first ready range of the family. 0, -COR_ENOTFOUND. */
int cor_address_index_range(struct cor_address_index *index, enum cor_addr_family family,
                            struct cor_addr_range *ret_range);

/* Proposes an address that seems to be free, from a random place on: of the dynamic band of a ready
 * range, and when it is full of the static band. It is not proposed again until it was seen and
 * removed, or given back. 0, -COR_ENOSPC (all are taken), -COR_ENOMEM. */
int cor_address_index_pick(struct cor_address_index *index, enum cor_addr_family family,
                           struct cor_rand *rand, struct cor_addr *ret_ip);
/* A proposal that was not used. */
void cor_address_index_give_back(struct cor_address_index *index, struct cor_addr ip);
/* Forgets all proposals: those whose reservation ended without an answer would stay. Harmless, as a
 * proposal that is made twice fails in the store. */
void cor_address_index_forget_picks(struct cor_address_index *index);

#endif
