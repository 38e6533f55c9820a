/* IP addresses and CIDR values as upstream reads and writes them. The parser is the lenient one
 * that old fields of the API keep: octets and prefix lengths may have zeros in front, and an IPv4
 * address may be written as an IPv4-mapped IPv6 one. What a strict parser would refuse is in the
 * result. Thread: any (pure).  No call allocates. */
#ifndef COR_SCHEMA_GO_IP_TEXT_H
#define COR_SCHEMA_GO_IP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Always 16 bytes: an IPv4 address is IPv4-mapped (::ffff:a.b.c.d). */
struct cor_ip {
    uint8_t bytes[16];
    bool is_written_as_v6;
    bool has_extra_zeros; /* an octet with zeros in front, or a group of more than four digits */
};

struct cor_cidr {
    struct cor_ip ip;     /* all its bits, also those behind the prefix */
    unsigned prefix;      /* of 32 bits, or of 128 when is_written_as_v6 */
    bool has_extra_zeros; /* in the address or in the prefix length */
};

/* False: the text is not an address. */
bool cor_ip_parse(struct cor_str text, struct cor_ip *ret_ip);
bool cor_cidr_parse(struct cor_str text, struct cor_cidr *ret_cidr);

/* Is it an IPv4 address, however it was written? */
bool cor_ip_is_v4(const struct cor_ip *ip);

/* Does the address have bits behind the prefix? */
bool cor_cidr_has_host_bits(const struct cor_cidr *cidr);

/* The canonical text: IPv6 by RFC 5952, IPv4 with dots; of a CIDR value the network, without the
 * bits behind its prefix. `out` has room for that many bytes, the NUL among them. */
#define COR_IP_TEXT_MAX   46
#define COR_CIDR_TEXT_MAX 50
struct cor_str cor_ip_print(const struct cor_ip *ip, char *out);
struct cor_str cor_cidr_print(const struct cor_cidr *cidr, char *out);

#endif
