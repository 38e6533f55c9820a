/* IP addresses as text and as numbers, and the bands of a range (addr.h). */
#include "server/alloc/addr.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* The static band of a range: a sixteenth of it, within these bounds. */
#define BAND_MIN  16
#define BAND_MAX  256
#define BAND_STEP 16

struct cor_str cor_addr_family_name(enum cor_addr_family family)
{
    assert(family < COR_ADDR_FAMILIES);
    return family == COR_IPV4 ? COR_STR("IPv4") : COR_STR("IPv6");
}

bool cor_addr_family_parse(struct cor_str name, enum cor_addr_family *ret_family)
{
    *ret_family = cor_str_eq(name, COR_STR("IPv6")) ? COR_IPV6 : COR_IPV4;
    return cor_str_eq(name, cor_addr_family_name(*ret_family));
}

static struct cor_addr addr_of_bytes(const struct cor_ip *ip)
{
    struct cor_addr addr = {0, 0};

    for (int i = 0; i < 8; i++) {
        addr.hi = addr.hi << 8 | ip->bytes[i];
        addr.lo = addr.lo << 8 | ip->bytes[8 + i];
    }
    return addr;
}

int cor_addr_parse(struct cor_str text, struct cor_addr *ret_ip)
{
    struct cor_ip ip;

    if (!cor_ip_parse(text, &ip))
        return -COR_EINVAL;
    *ret_ip = addr_of_bytes(&ip);
    return 0;
}

struct cor_str cor_addr_print(struct cor_addr addr, char out[COR_IP_TEXT_MAX])
{
    struct cor_ip ip = {.is_written_as_v6 = cor_addr_family(addr) == COR_IPV6};

    for (int i = 0; i < 8; i++) {
        ip.bytes[i] = (uint8_t)(addr.hi >> (56 - 8 * i));
        ip.bytes[8 + i] = (uint8_t)(addr.lo >> (56 - 8 * i));
    }
    return cor_ip_print(&ip, out);
}

int cor_addr_range_parse(struct cor_str cidr, struct cor_addr_range *ret_range)
{
    struct cor_addr_range range = {.is_empty = false};
    struct cor_cidr parsed;
    uint64_t mask, band = 0;
    unsigned hosts;
    bool is_v4;

    if (!cor_cidr_parse(cidr, &parsed))
        return -COR_EINVAL;
    is_v4 = !parsed.ip.is_written_as_v6;
    range.net = addr_of_bytes(&parsed.ip);
    hosts = (is_v4 ? 32 : 128) - parsed.prefix;
    /* A mapped IPv4 address with a prefix of IPv6 is not a range. */
    if (hosts > 64 || (cor_addr_family(range.net) == COR_IPV4) != is_v4)
        return -COR_EINVAL;
    mask = hosts == 64 ? UINT64_MAX : (UINT64_C(1) << hosts) - 1;
    range.prefix = parsed.prefix;
    range.net.lo &= ~mask;
    range.is_empty = mask < (is_v4 ? 3u : 1u);
    range.first_lo = range.net.lo + 1;
    range.last_lo = (range.net.lo | mask) - (is_v4 ? 1 : 0);
    /* `mask` is the number of addresses less one. */
    if (mask >= BAND_MIN)
        band = mask / BAND_STEP + (mask % BAND_STEP == BAND_STEP - 1);
    if (band > 0)
        band = band < BAND_MIN ? BAND_MIN : band > BAND_MAX ? BAND_MAX : band;
    range.dynamic_lo = range.first_lo + band;
    *ret_range = range;
    return 0;
}

struct cor_str cor_addr_range_print(const struct cor_addr_range *range,
                                    char out[COR_ADDR_RANGE_TEXT_MAX])
{
    size_t n = cor_addr_print(range->net, out).n;

    n += (size_t)snprintf(out + n, COR_ADDR_RANGE_TEXT_MAX - n, "/%u", range->prefix);
    return cor_str(out, n);
}

bool cor_addr_range_contains(const struct cor_addr_range *range, struct cor_addr ip)
{
    return !range->is_empty && ip.hi == range->net.hi &&
           cor_addr_family(ip) == cor_addr_family(range->net) && ip.lo >= range->first_lo &&
           ip.lo <= range->last_lo;
}
