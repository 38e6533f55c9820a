/* IP addresses and the ranges that Services get their addresses from.
 *
 * An address is a number of 128 bits; IPv4 addresses are those of ::ffff:0:0/96. The hosts of a
 * range differ in the lower 64 bits only: an IPv6 range has a prefix of at least 64 bits, as
 * upstream demands.
 * Thread: any (values). */
#ifndef COR_SERVER_ADDR_H
#define COR_SERVER_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "schema/go/ip_text.h"

struct cor_addr {
    uint64_t hi, lo;
};

enum cor_addr_family { COR_IPV4, COR_IPV6, COR_ADDR_FAMILIES };

static inline enum cor_addr_family cor_addr_family(struct cor_addr ip)
{
    return ip.hi == 0 && ip.lo >> 32 == 0xffff ? COR_IPV4 : COR_IPV6;
}

/* "IPv4", "IPv6": as objects and labels have it. */
struct cor_str cor_addr_family_name(enum cor_addr_family family);
/* False: the name is neither of these. */
bool cor_addr_family_parse(struct cor_str name, enum cor_addr_family *ret_family);

static inline bool cor_addr_eq(struct cor_addr a, struct cor_addr b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* Reads an address leniently (schema/go/ip_text.h). 0, -COR_EINVAL. */
int cor_addr_parse(struct cor_str text, struct cor_addr *ret_ip);

/* The canonical text. */
struct cor_str cor_addr_print(struct cor_addr ip, char out[COR_IP_TEXT_MAX]);

/* The addresses that Services can get are first_lo to last_lo. Dynamic allocation begins at
 * dynamic_lo; what is before it, the static band, is used when the rest is full. */
struct cor_addr_range {
    struct cor_addr net;
    unsigned prefix; /* in bits of the family */
    uint64_t first_lo, dynamic_lo, last_lo;
    bool is_empty; /* no address can be allocated: a range of one or two addresses */
};

/* Reads "10.0.0.0/24"; bits behind the prefix are dropped. 0, -COR_EINVAL (no CIDR, or an IPv6
 * prefix of less than 64 bits). */
int cor_addr_range_parse(struct cor_str cidr, struct cor_addr_range *ret_range);

#define COR_ADDR_RANGE_TEXT_MAX (COR_IP_TEXT_MAX + 5)
struct cor_str cor_addr_range_print(const struct cor_addr_range *range,
                                    char out[COR_ADDR_RANGE_TEXT_MAX]);

static inline enum cor_addr_family cor_addr_range_family(const struct cor_addr_range *range)
{
    return cor_addr_family(range->net);
}

/* Is it an address of the range? The first address, and the last one of IPv4, are not. */
bool cor_addr_range_contains(const struct cor_addr_range *range, struct cor_addr ip);

#endif
