/* The ranges and the taken addresses (address_index.h), and the search for a free one: from a
 * random address to the end of the band, then from its begin; 64 addresses are looked at at once.
 * Thread: any, under the index's lock. */
#include "server/alloc/address_index.h"

#include <assert.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

void cor_address_index_init(struct cor_address_index *index, uint64_t seed)
{
    *index = (struct cor_address_index){.seen.seed = seed, .mine.seed = seed};
    cor_lock_init(&index->lock, COR_LOCK_ADDRESS_INDEX);
}

/* Drops the ranges of the owner at the places from `from` to `to`, without `to`. */
static void index_drop_owner(struct cor_address_index *index, struct cor_str owner, size_t from,
                             size_t to)
{
    size_t n = from;

    for (size_t i = from; i < index->nranges; i++) {
        if (i < to && cor_str_eqz(owner, index->ranges[i].owner))
            cor_free(index->ranges[i].owner);
        else
            index->ranges[n++] = index->ranges[i];
    }
    index->nranges = n;
}

static void index_drop_ranges(struct cor_address_index *index)
{
    for (size_t i = 0; i < index->nranges; i++)
        cor_free(index->ranges[i].owner);
    index->nranges = 0;
}

void cor_address_index_deinit(struct cor_address_index *index)
{
    index_drop_ranges(index);
    cor_free(index->ranges);
    cor_addr_set_clear(&index->seen);
    cor_addr_set_clear(&index->mine);
    cor_lock_deinit(&index->lock);
}

void cor_address_index_restart(struct cor_address_index *index)
{
    cor_lock_acquire(&index->lock);
    cor_addr_set_clear(&index->seen);
    cor_addr_set_clear(&index->mine);
    cor_lock_release(&index->lock);
}

int cor_address_index_add(struct cor_address_index *index, struct cor_addr ip)
{
    int r;

    cor_lock_acquire(&index->lock);
    r = cor_addr_set_add(&index->seen, ip);
    if (r == 0)
        cor_addr_set_remove(&index->mine, ip);
    cor_lock_release(&index->lock);
    return r;
}

void cor_address_index_remove(struct cor_address_index *index, struct cor_addr ip)
{
    cor_lock_acquire(&index->lock);
    cor_addr_set_remove(&index->seen, ip);
    cor_lock_release(&index->lock);
}

bool cor_address_index_has(struct cor_address_index *index, struct cor_addr ip)
{
    bool has;

    cor_lock_acquire(&index->lock);
    has = cor_addr_set_has(&index->seen, ip);
    cor_lock_release(&index->lock);
    return has;
}

static int index_add_range(struct cor_address_index *index, struct cor_str owner,
                           const struct cor_addr_range *range, bool is_ready)
{
    int r = COR_ARRAY_RESERVE(&index->ranges, index->nranges, &index->ranges_cap,
                              COR_ADDRESS_RANGES_MAX);
    char *name = r == 0 ? cor_strndup(owner.p, owner.n) : NULL;

    if (!name)
        return r < 0 ? r : -COR_ENOMEM;
    index->ranges[index->nranges++] =
        (struct cor_address_range){.owner = name, .range = *range, .is_ready = is_ready};
    return 0;
}

int cor_address_index_set_ranges(struct cor_address_index *index, struct cor_str owner,
                                 const struct cor_addr_range *ranges, size_t n, bool is_ready)
{
    size_t before;
    int r = 0;

    cor_lock_acquire(&index->lock);
    before = index->nranges;
    for (size_t i = 0; i < n && r == 0; i++)
        r = index_add_range(index, owner, &ranges[i], is_ready);
    /* Without memory the owner keeps the ranges that it had. */
    index_drop_owner(index, owner, r < 0 ? before : 0, r < 0 ? index->nranges : before);
    cor_lock_release(&index->lock);
    return r;
}

void cor_address_index_restart_ranges(struct cor_address_index *index)
{
    cor_lock_acquire(&index->lock);
    for (size_t i = 0; i < index->nranges; i++)
        index->ranges[i].is_old = true;
    cor_lock_release(&index->lock);
}

void cor_address_index_end_restart(struct cor_address_index *index)
{
    size_t n = 0;

    cor_lock_acquire(&index->lock);
    for (size_t i = 0; i < index->nranges; i++) {
        if (index->ranges[i].is_old)
            cor_free(index->ranges[i].owner);
        else
            index->ranges[n++] = index->ranges[i];
    }
    index->nranges = n;
    cor_lock_release(&index->lock);
}

bool cor_address_index_is_known(struct cor_address_index *index, struct cor_addr ip, bool ready)
{
    bool is_known = false;

    cor_lock_acquire(&index->lock);
    for (size_t i = 0; i < index->nranges && !is_known; i++)
        is_known = (index->ranges[i].is_ready || !ready) &&
                   cor_addr_range_contains(&index->ranges[i].range, ip);
    cor_lock_release(&index->lock);
    return is_known;
}

int cor_address_index_range(struct cor_address_index *index, enum cor_addr_family family,
                            struct cor_addr_range *ret_range)
{
    int r = -COR_ENOTFOUND;

    cor_lock_acquire(&index->lock);
    for (size_t i = 0; i < index->nranges && r < 0; i++) {
        if (!index->ranges[i].is_ready || cor_addr_range_family(&index->ranges[i].range) != family)
            continue;
        *ret_range = index->ranges[i].range;
        r = 0;
    }
    cor_lock_release(&index->lock);
    return r;
}

/* The first address from `from` to `to` that is not taken. False: there is none. */
static bool index_scan(const struct cor_address_index *index, struct cor_addr from, uint64_t to,
                       struct cor_addr *ret_ip)
{
    for (;;) {
        uint64_t taken =
            cor_addr_set_page(&index->seen, from) | cor_addr_set_page(&index->mine, from);
        uint64_t free_bits = ~taken >> (from.lo & 63);

        if (free_bits != 0) {
            uint64_t lo = from.lo + (uint64_t)__builtin_ctzll(free_bits);

            *ret_ip = (struct cor_addr){from.hi, lo};
            return lo <= to && lo >= from.lo;
        }
        if (to >> 6 == from.lo >> 6)
            return false;
        from.lo = ((from.lo >> 6) + 1) << 6;
    }
}

/* Looks in the band of `first` to `last`, both in it, from a random address on. */
static bool index_search(const struct cor_address_index *index, uint64_t hi, uint64_t first,
                         uint64_t last, struct cor_rand *rand, struct cor_addr *ret_ip)
{
    uint64_t span = last - first, start;

    if (last < first)
        return false;
    start = first + (span == UINT64_MAX ? cor_rand_u64(rand) : cor_rand_below(rand, span + 1));
    return index_scan(index, (struct cor_addr){hi, start}, last, ret_ip) ||
           (start > first && index_scan(index, (struct cor_addr){hi, first}, start - 1, ret_ip));
}

static bool index_search_range(const struct cor_address_index *index,
                               const struct cor_addr_range *range, struct cor_rand *rand,
                               struct cor_addr *ret_ip)
{
    return !range->is_empty &&
           (index_search(index, range->net.hi, range->dynamic_lo, range->last_lo, rand, ret_ip) ||
            index_search(index, range->net.hi, range->first_lo, range->dynamic_lo - 1, rand,
                         ret_ip));
}

int cor_address_index_pick(struct cor_address_index *index, enum cor_addr_family family,
                           struct cor_rand *rand, struct cor_addr *ret_ip)
{
    int r = -COR_ENOSPC;

    cor_lock_acquire(&index->lock);
    for (size_t i = 0; i < index->nranges && r == -COR_ENOSPC; i++) {
        const struct cor_address_range *candidate = &index->ranges[i];

        if (candidate->is_ready && cor_addr_range_family(&candidate->range) == family &&
            index_search_range(index, &candidate->range, rand, ret_ip))
            r = cor_addr_set_add(&index->mine, *ret_ip);
    }
    cor_lock_release(&index->lock);
    return r;
}

void cor_address_index_give_back(struct cor_address_index *index, struct cor_addr ip)
{
    cor_lock_acquire(&index->lock);
    cor_addr_set_remove(&index->mine, ip);
    cor_lock_release(&index->lock);
}

void cor_address_index_forget_picks(struct cor_address_index *index)
{
    cor_lock_acquire(&index->lock);
    cor_addr_set_clear(&index->mine);
    cor_lock_release(&index->lock);
}
