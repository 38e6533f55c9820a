/* The hooks of validation for Ingress, IngressClass, NetworkPolicy, IPAddress and ServiceCIDR
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_networking.h"

#include <string.h>

#include "base/err.h"
#include "schema/go/ip_text.h"
#include "schema/hooks/hooks.h"
#include "json/text/scan.h"

#define CLASS_ANNOTATION "kubernetes.io/ingress.class"

/* --- Ingress ---------------------------------------------------------------------------------- */

COR_HOOK(ingress_class_annotation)
{
    struct cor_field_path root = cor_field_root(COR_STR("annotations"));
    struct cor_field_path path = cor_field_child(&root, COR_STR(CLASS_ANNOTATION));
    struct cor_place metadata, annotations, entry, spec, name;
    struct cor_str text;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, &metadata, "annotations", &annotations);
    cor_place_field(check, place, "spec", &spec);
    if (!cor_place_entry(check, &annotations, COR_STR(CLASS_ANNOTATION), &entry) ||
        !cor_place_field(check, &spec, "ingressClassName", &name))
        return;
    text = cor_place_text(check, &entry);
    if (!cor_str_eq(text, cor_place_text(check, &name)))
        cor_check_add(check, COR_FIELD_INVALID, &path, cor_field_string(text),
                      "must match `ingressClassName` when both are specified");
}

COR_HOOK(tls_host)
{
    cor_check_format(check, place,
                     cor_str_find(cor_place_text(check, place), '*') >= 0
                         ? COR_FORMAT_WILDCARD_DNS
                         : COR_FORMAT_DNS_SUBDOMAIN);
}

COR_HOOK(rule_host)
{
    struct cor_str host = cor_place_text(check, place);
    struct cor_ip ip;

    if (host.n == 0)
        return;
    if (cor_ip_parse(host, &ip))
        cor_check_invalid(check, place, "must be a DNS name, not an IP address");
    cor_hook_tls_host(check, place, arg);
}

COR_HOOK(rule_path)
{
    static const char *const inside[] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char *const at_end[] = {"/..", "/."};
    struct cor_str path = cor_place_text(check, place);

    if (!cor_str_starts(path, COR_STR("/")))
        cor_check_invalid(check, place, "must be an absolute path");
    if (path.n == 0)
        return;
    for (size_t i = 0; i < COR_ARRAY_LEN(inside); i++) {
        if (memmem(path.p, path.n, inside[i], strlen(inside[i])))
            cor_check_invalid(check, place,
                              cor_check_printf(check, "must not contain '%s'", inside[i]));
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(at_end); i++) {
        if (cor_str_ends(path, cor_strz(at_end[i])))
            cor_check_invalid(check, place,
                              cor_check_printf(check, "cannot end with '%s'", at_end[i]));
    }
}

/* --- NetworkPolicy ---------------------------------------------------------------------------- */

COR_WHEN(is_number)
{
    return !cor_place_is_text(check, place);
}

COR_HOOK(end_port)
{
    struct cor_place port, end;

    cor_place_field(check, place, "port", &port);
    if (cor_place_field(check, place, "endPort", &end) &&
        cor_place_int(check, &end) < cor_place_int(check, &port))
        cor_check_add_value(check, COR_FIELD_INVALID, &end, cor_check_value(check, &port),
                            "must be greater than or equal to `port`");
}

/* Bits of the prefix among those of the 16 bytes. */
static unsigned prefix_bits(const struct cor_cidr *cidr)
{
    return cidr->ip.is_written_as_v6 ? cidr->prefix : 96 + cidr->prefix;
}

/* Is `part` a smaller range inside `block`? */
static bool is_inside(const struct cor_cidr *block, const struct cor_cidr *part)
{
    unsigned bits = prefix_bits(block);

    if (cor_ip_is_v4(&block->ip) != cor_ip_is_v4(&part->ip) || bits >= prefix_bits(part))
        return false;
    if (memcmp(block->ip.bytes, part->ip.bytes, bits / 8) != 0)
        return false;
    return bits % 8 == 0 ||
           (block->ip.bytes[bits / 8] ^ part->ip.bytes[bits / 8]) >> (8 - bits % 8) == 0;
}

COR_HOOK(ip_block)
{
    struct cor_place field, except, item;
    struct cor_cidr block, part;

    if (!cor_place_is_present(place))
        return;
    cor_place_field(check, place, "cidr", &field);
    if (cor_place_is_empty(check, &field)) {
        cor_check_required(check, &field, NULL);
        return;
    }
    cor_check_format(check, &field, COR_FORMAT_CIDR);
    if (!cor_cidr_parse(cor_place_text(check, &field), &block))
        return;
    cor_place_field(check, place, "except", &except);
    COR_EACH(check, &except, item) {
        cor_check_format(check, &item, COR_FORMAT_CIDR);
        if (cor_cidr_parse(cor_place_text(check, &item), &part) && !is_inside(&block, &part))
            cor_check_invalid(check, &item, "must be a strict subset of `cidr`");
    }
}

/* --- ServiceCIDR ------------------------------------------------------------------------------ */

COR_WHEN(has_one_family)
{
    struct cor_json_iter it = cor_json_iter(cor_place_json(check, place));
    struct cor_cidr cidrs[2];
    struct cor_str raw;
    size_t n = 0;

    while (n < 2 && cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) < 0 ||
            !cor_cidr_parse(raw, &cidrs[n++]))
            return false;
    }
    return n == 2 && cidrs[0].ip.is_written_as_v6 == cidrs[1].ip.is_written_as_v6;
}

COR_WHEN(is_new_cidr)
{
    struct cor_place old = cor_place_old(place);

    return !cor_place_is_present(&old);
}
