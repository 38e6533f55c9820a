/* The lenient parser of addresses, and their canonical texts. */
#include "schema/go/ip_text.h"

#include <stdio.h>
#include <string.h>

#define OCTETS     4
#define BYTES      16
#define MAPPED     12 /* bytes before those of an IPv4 address */
#define NUMBER_MAX 0xffffff

static const uint8_t mapped_prefix[MAPPED] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Takes the digits in front of `*rest`. False: there are none, or too many. */
static bool take_number(struct cor_str *rest, int base, unsigned max, unsigned *ret_number,
                        size_t *ret_digits)
{
    unsigned number = 0;
    size_t n = 0;

    for (; n < rest->n; n++) {
        int digit = digit_of(rest->p[n]);

        if (digit < 0 || digit >= base)
            break;
        number = number * (unsigned)base + (unsigned)digit;
        if (number >= NUMBER_MAX)
            return false;
    }
    if (n == 0)
        return false;
    *rest = cor_str_from(*rest, n);
    *ret_number = number;
    *ret_digits = n;
    return number <= max;
}

static bool parse_v4(struct cor_str text, uint8_t *octets, bool *ret_extra_zeros)
{
    for (int i = 0; i < OCTETS; i++) {
        unsigned number;
        size_t digits;
        char first;

        if (i > 0) {
            if (text.n == 0 || text.p[0] != '.')
                return false;
            text = cor_str_from(text, 1);
        }
        first = text.n > 0 ? text.p[0] : '\0';
        if (!take_number(&text, 10, UINT8_MAX, &number, &digits))
            return false;
        if (digits > 1 && first == '0')
            *ret_extra_zeros = true;
        octets[i] = (uint8_t)number;
    }
    return text.n == 0;
}

/* Moves what was read behind the `::` to the end. False: there is no `::` for the missing bytes, or
 * none is missing for it. */
static bool expand_ellipsis(uint8_t *bytes, int n, int ellipsis)
{
    int missing = BYTES - n;

    if (missing == 0 || ellipsis < 0)
        return missing == 0 && ellipsis < 0;
    memmove(bytes + ellipsis + missing, bytes + ellipsis, (size_t)(n - ellipsis));
    memset(bytes + ellipsis, 0, (size_t)missing);
    return true;
}

static bool parse_v6(struct cor_str text, struct cor_ip *ip)
{
    int ellipsis = -1, n = 0;

    if (cor_str_starts(text, COR_STR("::"))) {
        ellipsis = 0;
        text = cor_str_from(text, 2);
    }
    while (n < BYTES && (text.n > 0 || ellipsis != n)) {
        struct cor_str group = text;
        unsigned number;
        size_t digits;

        if (!take_number(&text, 16, UINT16_MAX, &number, &digits))
            return false;
        if (text.n > 0 && text.p[0] == '.') {
            if ((ellipsis < 0 && n != MAPPED) || n + OCTETS > BYTES ||
                !parse_v4(group, ip->bytes + n, &ip->has_extra_zeros))
                return false;
            n += OCTETS;
            text.n = 0;
            break;
        }
        if (digits > 4)
            ip->has_extra_zeros = true;
        ip->bytes[n++] = (uint8_t)(number >> 8);
        ip->bytes[n++] = (uint8_t)number;
        if (text.n == 0)
            break;
        if (text.p[0] != ':' || text.n == 1)
            return false;
        text = cor_str_from(text, 1);
        if (text.p[0] == ':') {
            if (ellipsis >= 0)
                return false;
            ellipsis = n;
            text = cor_str_from(text, 1);
        }
    }
    return text.n == 0 && expand_ellipsis(ip->bytes, n, ellipsis);
}

/* The first dot or colon decides which of both the text is. */
bool cor_ip_parse(struct cor_str text, struct cor_ip *ret_ip)
{
    struct cor_ip ip = {.is_written_as_v6 = false};

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '.') {
            memcpy(ip.bytes, mapped_prefix, MAPPED);
            *ret_ip = ip;
            return parse_v4(text, ret_ip->bytes + MAPPED, &ret_ip->has_extra_zeros);
        }
        if (text.p[i] == ':') {
            ip.is_written_as_v6 = true;
            *ret_ip = ip;
            return parse_v6(text, ret_ip);
        }
    }
    return false;
}

bool cor_cidr_parse(struct cor_str text, struct cor_cidr *ret_cidr)
{
    struct cor_str rest = text, address = cor_str_cut(&rest, '/');
    bool has_zero = rest.n > 0 && rest.p[0] == '0';
    size_t digits;

    if (!cor_ip_parse(address, &ret_cidr->ip) ||
        !take_number(&rest, 10, ret_cidr->ip.is_written_as_v6 ? 128 : 32, &ret_cidr->prefix,
                     &digits))
        return false;
    ret_cidr->has_extra_zeros = ret_cidr->ip.has_extra_zeros || (digits > 1 && has_zero);
    return rest.n == 0;
}

bool cor_ip_is_v4(const struct cor_ip *ip)
{
    return memcmp(ip->bytes, mapped_prefix, MAPPED) == 0;
}

/* The prefix among the 16 bytes. */
static unsigned prefix_of_16(const struct cor_cidr *cidr)
{
    return cidr->ip.is_written_as_v6 ? cidr->prefix : MAPPED * 8 + cidr->prefix;
}

static struct cor_ip network_of(const struct cor_cidr *cidr)
{
    unsigned prefix = prefix_of_16(cidr);
    struct cor_ip ip = cidr->ip;

    for (unsigned i = 0; i < BYTES; i++) {
        if (i * 8 >= prefix)
            ip.bytes[i] = 0;
        else if (prefix - i * 8 < 8)
            ip.bytes[i] &= (uint8_t)(0xff << (8 - (prefix - i * 8)));
    }
    return ip;
}

bool cor_cidr_has_host_bits(const struct cor_cidr *cidr)
{
    struct cor_ip network = network_of(cidr);

    return memcmp(network.bytes, cidr->ip.bytes, BYTES) != 0;
}

static unsigned group_of(const struct cor_ip *ip, int i)
{
    return (unsigned)ip->bytes[2 * i] << 8 | ip->bytes[2 * i + 1];
}

/* The first of the longest runs of at least two groups that are zero; *ret_n is 0 without one. */
static int longest_zeros(const struct cor_ip *ip, int *ret_n)
{
    int first = -1;

    *ret_n = 0;
    for (int i = 0; i < BYTES / 2; i++) {
        int n = 0;

        while (i + n < BYTES / 2 && group_of(ip, i + n) == 0)
            n++;
        if (n > 1 && n > *ret_n) {
            first = i;
            *ret_n = n;
        }
        i += n;
    }
    return first;
}

struct cor_str cor_ip_print(const struct cor_ip *ip, char *out)
{
    const uint8_t *v4 = ip->bytes + MAPPED;
    int nzeros, zeros, n = 0;

    if (cor_ip_is_v4(ip)) {
        n = snprintf(out, COR_IP_TEXT_MAX, "%u.%u.%u.%u", v4[0], v4[1], v4[2], v4[3]);
        return cor_str(out, (size_t)n);
    }
    zeros = longest_zeros(ip, &nzeros);
    for (int i = 0; i < BYTES / 2; i++) {
        if (i == zeros) {
            n += snprintf(out + n, (size_t)(COR_IP_TEXT_MAX - n), "::");
            i += nzeros - 1;
        } else {
            n += snprintf(out + n, (size_t)(COR_IP_TEXT_MAX - n), "%s%x",
                          i > 0 && i != zeros + nzeros ? ":" : "", group_of(ip, i));
        }
    }
    return cor_str(out, (size_t)n);
}

struct cor_str cor_cidr_print(const struct cor_cidr *cidr, char *out)
{
    struct cor_ip network = network_of(cidr);
    unsigned prefix = prefix_of_16(cidr);
    struct cor_str ip = cor_ip_print(&network, out);
    int n;

    if (cor_ip_is_v4(&network))
        prefix -= MAPPED * 8;
    n = snprintf(out + ip.n, COR_CIDR_TEXT_MAX - ip.n, "/%u", prefix);
    return cor_str(out, ip.n + (size_t)n);
}
