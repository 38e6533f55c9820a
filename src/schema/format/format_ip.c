/* The formats of IP addresses and CIDR values (contract validation 3.3.1 to 3.3.5). */
#include "schema/format/format_ip.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "meta/status/quote.h"
#include "schema/format/format_int.h"
#include "schema/go/ip_text.h"

#define DETAIL_MAX (1u << 20)

#define NO_IP   "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
#define NO_CIDR "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

static bool is_mapped(const struct cor_ip *ip)
{
    return ip->is_written_as_v6 && cor_ip_is_v4(ip);
}

static void check_canonical(struct cor_format_run *run, struct cor_str canonical)
{
    struct cor_buf detail = {.max = DETAIL_MAX};
    int r;

    if (cor_str_eq(run->text, canonical))
        return;
    r = cor_buf_addf(&detail, "must be in canonical form (\"%.*s\")", COR_STR_ARG(canonical));
    cor_format_invalid_made(run, run->text, &detail, r);
}

void cor_format_check_ip(struct cor_format_run *run)
{
    struct cor_ip ip;

    if (!cor_ip_parse(run->text, &ip))
        cor_format_invalid(run, NO_IP);
}

/* A strict parser refuses extra zeros before it could see a mapped address. */
void cor_format_check_ip_canonical(struct cor_format_run *run)
{
    char text[COR_IP_TEXT_MAX];
    struct cor_ip ip;

    if (!cor_ip_parse(run->text, &ip))
        cor_format_invalid(run, NO_IP);
    else if (ip.has_extra_zeros)
        cor_format_invalid(run, "must not have leading 0s");
    else if (is_mapped(&ip))
        cor_format_invalid(run, "must not be an IPv4-mapped IPv6 address");
    else
        check_canonical(run, cor_ip_print(&ip, text));
}

void cor_format_check_cidr(struct cor_format_run *run)
{
    struct cor_cidr cidr;

    if (!cor_cidr_parse(run->text, &cidr))
        cor_format_invalid(run, NO_CIDR);
}

void cor_format_check_cidr_canonical(struct cor_format_run *run)
{
    char text[COR_CIDR_TEXT_MAX];
    struct cor_cidr cidr;

    if (!cor_cidr_parse(run->text, &cidr))
        cor_format_invalid(run, NO_CIDR);
    else if (cidr.has_extra_zeros)
        cor_format_invalid(run, "must not have leading 0s in IP or prefix length");
    else if (is_mapped(&cidr.ip))
        cor_format_invalid(run, "must not have an IPv4-mapped IPv6 address");
    else if (cor_cidr_has_host_bits(&cidr))
        cor_format_invalid(run, "must not have bits set beyond the prefix length");
    else
        check_canonical(run, cor_cidr_print(&cidr, text));
}

void cor_format_check_endpoint_ip(struct cor_format_run *run)
{
    static const uint8_t unspecified[16], loopback[16] = {[15] = 1};
    struct cor_buf detail = {.max = DETAIL_MAX};
    struct cor_ip ip;
    const uint8_t *b = ip.bytes, *v4 = ip.bytes + 12;
    bool is_v4;
    int r;

    if (!cor_ip_parse(run->text, &ip)) {
        cor_format_invalid(run, "must be a valid IP address");
        return;
    }
    is_v4 = cor_ip_is_v4(&ip);
    if (is_v4 ? memcmp(v4, unspecified, 4) == 0 : memcmp(b, unspecified, 16) == 0) {
        r = cor_buf_addf(&detail, "may not be unspecified (%.*s)", COR_STR_ARG(run->text));
        cor_format_invalid_made(run, run->text, &detail, r);
    }
    if (is_v4 ? v4[0] == 127 : memcmp(b, loopback, 16) == 0)
        cor_format_invalid(run, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (is_v4 ? v4[0] == 169 && v4[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
        cor_format_invalid(run, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (is_v4 ? v4[0] == 224 && v4[1] == 0 && v4[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 2)
        cor_format_invalid(run, "may not be in the link-local multicast range (224.0.0.0/24, "
                                "ff02::/10)");
}

/* `<what> "<text>" <says> "<better>"`, and `after`. */
static int append_warning(struct cor_buf *out, const char *what, struct cor_str text,
                          const char *says, struct cor_str better, const char *after)
{
    int r = cor_buf_addz(out, what);

    if (r == 0)
        r = cor_quote(text, out);
    if (r == 0)
        r = cor_buf_addf(out, "%s\"%.*s\"%s", says, COR_STR_ARG(better), after);
    return r < 0 ? r : 1;
}

int cor_ip_warning(struct cor_str text, struct cor_buf *out)
{
    char room[COR_IP_TEXT_MAX];
    struct cor_str canonical;
    struct cor_ip ip;

    if (!cor_ip_parse(text, &ip))
        return 0;
    canonical = cor_ip_print(&ip, room);
    if (ip.has_extra_zeros || is_mapped(&ip))
        return append_warning(out, "non-standard IP address ", text,
                              " will be considered invalid in a future Kubernetes release: use ",
                              canonical, "");
    if (ip.is_written_as_v6 && !cor_str_eq(text, canonical))
        return append_warning(out, "IPv6 address ", text,
                              " should be in RFC 5952 canonical format (", canonical, ")");
    return 0;
}

static int warn_ambiguous_cidr(struct cor_str text, const struct cor_cidr *cidr,
                               struct cor_str network, struct cor_buf *out)
{
    char room[COR_IP_TEXT_MAX];
    struct cor_str host = cor_ip_print(&cidr->ip, room);
    int r = append_warning(out, "CIDR value ", text, " is ambiguous in this context (should be ",
                           network, " or ");

    if (r > 0)
        r = cor_buf_addf(out, "\"%.*s/%d\"?)", COR_STR_ARG(host),
                         cidr->ip.is_written_as_v6 ? 128 : 32);
    return r < 0 ? r : 1;
}

int cor_cidr_warning(struct cor_str text, size_t i, struct cor_buf *out)
{
    char room[COR_CIDR_TEXT_MAX];
    struct cor_str network;
    struct cor_cidr cidr;

    assert(i < COR_CIDR_WARNINGS);
    if (!cor_cidr_parse(text, &cidr))
        return 0;
    network = cor_cidr_print(&cidr, room);
    if (i == 0)
        return cor_cidr_has_host_bits(&cidr) ? warn_ambiguous_cidr(text, &cidr, network, out) : 0;
    if (cidr.has_extra_zeros || is_mapped(&cidr.ip))
        return append_warning(out, "non-standard CIDR value ", text,
                              " will be considered invalid in a future Kubernetes release: use ",
                              network, "");
    if (!cor_cidr_has_host_bits(&cidr) && cidr.ip.is_written_as_v6 && !cor_str_eq(text, network))
        return append_warning(out, "IPv6 CIDR value ", text,
                              " should be in RFC 5952 canonical format (", network, ")");
    return 0;
}
