/* The hooks of validation for Services (schema/check/check.h describes what they work with). The
 * values that an allocator gives are there already; what it refuses does not come here. Thread:
 * any. */
#include "schema/hooks/check_service.h"

#include "base/err.h"
#include "base/limits.h"
#include "schema/go/ip_text.h"
#include "schema/hooks/hooks.h"

#define SOURCE_RANGES "service.beta.kubernetes.io/load-balancer-source-ranges"

/* --- What a spec is --------------------------------------------------------------------------- */

/* The element of a list at an index; false: the list is shorter. */
static bool element_at(struct cor_check *check, const struct cor_place *list, size_t index,
                       struct cor_place *ret_item)
{
    struct cor_each each = cor_each(check, list);

    for (size_t i = 0; cor_each_next(check, &each, ret_item); i++) {
        if (i == index)
            return true;
    }
    return false;
}

static struct cor_str text_at(struct cor_check *check, const struct cor_place *list, size_t index)
{
    struct cor_place item;

    return element_at(check, list, index, &item) ? cor_place_text(check, &item) : COR_STR("");
}

static bool is_headless(struct cor_check *check, const struct cor_place *spec)
{
    struct cor_place ips;

    cor_place_field(check, spec, "clusterIPs", &ips);
    return cor_place_length(check, &ips) == 1 &&
           cor_str_eq(text_at(check, &ips, 0), COR_STR("None"));
}

COR_WHEN(is_headless)
{
    return is_headless(check, place);
}

COR_WHEN(is_external)
{
    struct cor_str type = cor_field_text(check, place, "type");
    struct cor_place ips;

    cor_place_field(check, place, "externalIPs", &ips);
    return cor_str_eq(type, COR_STR("LoadBalancer")) || cor_str_eq(type, COR_STR("NodePort")) ||
           (cor_str_eq(type, COR_STR("ClusterIP")) && cor_place_length(check, &ips) > 0);
}

COR_HOOK(external_name)
{
    struct cor_str name = cor_place_text(check, place);

    if (cor_str_ends(name, COR_STR(".")))
        name.n--;
    if (name.n == 0)
        cor_check_required(check, place, NULL);
    else
        cor_format_add_text(COR_FORMAT_DNS_SUBDOMAIN, name, &place->path, check->errors);
}

/* --- Ports ------------------------------------------------------------------------------------ */

COR_HOOK(port_name_once)
{
    if (!cor_check_see(check, COR_SEEN_PORTS, place->parent->parent, cor_place_text(check, place)))
        cor_check_duplicate(check, place);
}

/* Calls `add` for each port whose protocol and number (of that field) an earlier port has, too.
 * With `zero_is_none`, a number that is 0 counts as no number. */
static void each_repeated(struct cor_check *check, const struct cor_place *ports, const char *field,
                          bool zero_is_none,
                          void (*add)(struct cor_check *check, const struct cor_place *port,
                                      int64_t number))
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place port;

    if (cor_place_length(check, ports) < 2)
        return;
    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, ports, port) {
        int64_t number = cor_field_int(check, &port, field);
        struct cor_str both[] = {cor_field_text(check, &port, "protocol"),
                                 cor_str((const char *)&number, sizeof(number))};
        bool is_new = true;

        if (number != 0 || !zero_is_none)
            cor_check_note(
                check,
                cor_str_set_add(&seen, cor_check_key(check, both, COR_ARRAY_LEN(both)), &is_new));
        if (!is_new)
            add(check, &port, number);
    }
}

static void add_node_port(struct cor_check *check, const struct cor_place *port, int64_t number)
{
    struct cor_place field;

    (void)number;
    cor_place_field(check, port, "nodePort", &field);
    cor_check_duplicate(check, &field);
}

COR_HOOK(repeated_node_ports)
{
    each_repeated(check, place, "nodePort", true, add_node_port);
}

/* Upstream prints a port with nothing but its protocol and number. */
static void add_port(struct cor_check *check, const struct cor_place *port, int64_t number)
{
    struct cor_str parts[3] = {COR_STR("{\"Name\":\"\",\"Protocol\":"), COR_STR("\"\"")};
    struct cor_place field;

    if (cor_place_field(check, port, "protocol", &field))
        parts[1] = cor_place_json(check, &field);
    parts[2] = cor_strz(cor_check_printf(
        check, ",\"AppProtocol\":null,\"Port\":%lld,\"TargetPort\":0,\"NodePort\":0}",
        (long long)number));
    cor_check_add_value(check, COR_FIELD_DUPLICATE, port,
                        cor_field_json(cor_check_concat(check, parts, COR_ARRAY_LEN(parts))), NULL);
}

COR_HOOK(repeated_ports)
{
    each_repeated(check, place, "port", false, add_port);
}

/* --- Addresses -------------------------------------------------------------------------------- */

COR_HOOK(external_ip)
{
    struct cor_str text = cor_place_text(check, place);

    if (cor_format_ok(COR_FORMAT_IP, text))
        cor_check_format(check, place, COR_FORMAT_ENDPOINT_IP);
    else if (!cor_check_was_there(check, place->parent, NULL, text))
        cor_check_format(check, place, COR_FORMAT_IP);
}

static bool is_v6(struct cor_str text)
{
    struct cor_ip ip;

    return cor_ip_parse(text, &ip) && !cor_ip_is_v4(&ip);
}

/* clusterIP is the first of clusterIPs. */
static void check_first_ip(struct cor_check *check, const struct cor_place *spec,
                           const struct cor_place *ips)
{
    struct cor_str ip = cor_field_text(check, spec, "clusterIP");
    size_t n = cor_place_length(check, ips);

    if (ip.n > 0 && n == 0)
        cor_check_required(check, ips, NULL);
    else if (ip.n > 0 && !cor_str_eq(text_at(check, ips, 0), ip))
        cor_check_invalid(check, ips, "first value must match `clusterIP`");
    else if (ip.n == 0 && n > 0)
        cor_check_invalid(check, ips, "must be empty when `clusterIP` is not specified");
}

static void check_families(struct cor_check *check, const struct cor_place *spec,
                           const struct cor_place *families)
{
    static const char *const known[] = {"IPv4", "IPv6"};
    static const char *const policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack"};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place family, policy;
    struct cor_str text;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, families, family) {
        bool is_new = true;

        text = cor_place_text(check, &family);
        if (!cor_str_eq(text, cor_strz(known[0])) && !cor_str_eq(text, cor_strz(known[1])))
            cor_check_not_supported(check, &family, known, COR_ARRAY_LEN(known));
        cor_check_note(check, cor_str_set_add(&seen, text, &is_new));
        if (!is_new)
            cor_check_duplicate(check, &family);
    }
    if (!cor_place_field(check, spec, "ipFamilyPolicy", &policy))
        return;
    text = cor_place_text(check, &policy);
    if (!cor_str_eq(text, cor_strz(policies[0])) && !cor_str_eq(text, cor_strz(policies[1])) &&
        !cor_str_eq(text, cor_strz(policies[2])))
        cor_check_not_supported(check, &policy, policies, COR_ARRAY_LEN(policies));
}

/* Checks each address by itself. False: one is invalid, so the list is not checked any further. */
static bool check_each_ip(struct cor_check *check, const struct cor_place *ips)
{
    size_t n = cor_place_length(check, ips), i = 0;
    struct cor_each each = cor_each(check, ips);
    struct cor_place ip;
    bool is_fine = true;

    for (; cor_each_next(check, &each, &ip); i++) {
        struct cor_str text = cor_place_text(check, &ip);

        if (i == 0 && cor_str_eq(text, COR_STR("None"))) {
            if (n > 1) {
                is_fine = false;
                cor_check_invalid(check, ips, "'None' must be the first and only value");
            }
        } else if (!cor_format_ok(COR_FORMAT_IP, text) &&
                   !cor_check_was_there(check, ips, NULL, text)) {
            is_fine = false;
            cor_check_format(check, &ip, COR_FORMAT_IP);
        }
    }
    if (n > 2)
        cor_check_invalid(check, ips, "may only hold up to 2 values");
    return is_fine;
}

COR_HOOK(cluster_ips)
{
    struct cor_place ips, families, ip, family;
    size_t n, nfamilies, nv6 = 0, i = 0;
    struct cor_each each, inner;

    cor_place_field(check, place, "clusterIPs", &ips);
    cor_place_field(check, place, "ipFamilies", &families);
    check_first_ip(check, place, &ips);
    check_families(check, place, &families);
    n = cor_place_length(check, &ips);
    nfamilies = cor_place_length(check, &families);
    if (!check_each_ip(check, &ips))
        return;
    for (each = cor_each(check, &ips); cor_each_next(check, &each, &ip);)
        nv6 += is_v6(cor_place_text(check, &ip));
    if (n > 1 && (nv6 == 0 || nv6 == n))
        cor_check_invalid(check, &ips, "may specify no more than one IP for each IP family");
    if (is_headless(check, place))
        return;
    each = cor_each(check, &ips);
    inner = cor_each(check, &families);
    for (;
         i < nfamilies && cor_each_next(check, &each, &ip) && cor_each_next(check, &inner, &family);
         i++) {
        struct cor_str text = cor_place_text(check, &family);
        bool v6 = is_v6(cor_place_text(check, &ip));

        if ((cor_str_eq(text, COR_STR("IPv4")) && v6) || (cor_str_eq(text, COR_STR("IPv6")) && !v6))
            cor_check_invalid(check, &ip,
                              cor_check_printf(check,
                                               "expected an %s value as indicated by "
                                               "`ipFamilies[%zu]`",
                                               v6 ? "IPv4" : "IPv6", i));
    }
}

/* The old spec's list has texts that may be padded; so has the annotation. */
COR_HOOK(source_ranges)
{
    static const char words[] = "may only be used when `type` is 'LoadBalancer'";
    bool balances = cor_str_eq(cor_field_text(check, place, "type"), COR_STR("LoadBalancer"));
    struct cor_place ranges, metadata, annotations, entry, item;
    struct cor_str rest;

    cor_place_field(check, place, "loadBalancerSourceRanges", &ranges);
    ranges.path = cor_field_child(&place->path, COR_STR("LoadBalancerSourceRanges"));
    if (cor_place_length(check, &ranges) > 0) {
        if (!balances)
            cor_check_forbidden(check, &ranges, words);
        COR_EACH(check, &ranges, item) {
            struct cor_str text = cor_place_text(check, &item);

            if (!cor_check_was_there(check, &ranges, NULL, text))
                cor_format_add_text(COR_FORMAT_CIDR, cor_str_trim(text), &item.path, check->errors);
        }
        return;
    }
    cor_place_field(check, place->parent, "metadata", &metadata);
    cor_place_field(check, &metadata, "annotations", &annotations);
    if (!cor_place_entry(check, &annotations, COR_STR(SOURCE_RANGES), &entry))
        return;
    if (!balances)
        cor_check_forbidden(check, &entry, words);
    rest = cor_str_trim(cor_place_text(check, &entry));
    if (rest.n == 0 || (check->has_old && !cor_place_is_changed(check, &entry)))
        return;
    while (rest.p)
        cor_format_add_text(COR_FORMAT_CIDR, cor_str_trim(cor_str_cut(&rest, ',')), &entry.path,
                            check->errors);
}

/* --- What an update may change ---------------------------------------------------------------- */

/* The specs of both, unless one of them is an alias of a name. */
static bool both_specs(struct cor_check *check, const struct cor_place *service,
                       struct cor_place *ret_spec, struct cor_place *ret_old)
{
    cor_place_field(check, service, "spec", ret_spec);
    *ret_old = cor_place_old(ret_spec);
    return !cor_str_eq(cor_field_text(check, ret_spec, "type"), COR_STR("ExternalName")) &&
           !cor_str_eq(cor_field_text(check, ret_old, "type"), COR_STR("ExternalName"));
}

/* An error at an element of the new list, with another list as its value. */
static void add_at(struct cor_check *check, const struct cor_place *list, size_t index,
                   const struct cor_place *shown, const char *detail)
{
    struct cor_field_path path = cor_field_index(&list->path, index);

    cor_check_add(check, COR_FIELD_INVALID, &path, cor_check_value(check, shown), detail);
}

/* Releasing the second of two requires a policy that allows it. */
static void check_release(struct cor_check *check, const struct cor_place *spec, const char *what)
{
    struct cor_place policy;

    if (cor_place_field(check, spec, "ipFamilyPolicy", &policy) &&
        cor_str_eq(cor_place_text(check, &policy), COR_STR("SingleStack")))
        return;
    cor_check_invalid(
        check, &policy,
        cor_check_printf(check, "must be set to 'SingleStack' when releasing the secondary %s",
                         what));
}

COR_HOOK(cluster_ip_changes)
{
    struct cor_place spec, old_spec, ips, old_ips;
    size_t n, nold;

    if (!both_specs(check, place, &spec, &old_spec) ||
        (is_headless(check, &spec) && is_headless(check, &old_spec)))
        return;
    cor_place_field(check, &spec, "clusterIPs", &ips);
    cor_place_field(check, &old_spec, "clusterIPs", &old_ips);
    n = cor_place_length(check, &ips);
    nold = cor_place_length(check, &old_ips);
    if (n == nold) {
        for (size_t i = 0; i < n && i < 2; i++) {
            if (!cor_str_eq(text_at(check, &ips, i), text_at(check, &old_ips, i)))
                add_at(check, &ips, i, &ips, "may not change once set");
        }
        return;
    }
    if (n == 0)
        add_at(check, &ips, 0, &ips, "primary clusterIP can not be unset");
    if (n > 0 && nold > 0 && !cor_str_eq(text_at(check, &ips, 0), text_at(check, &old_ips, 0)))
        add_at(check, &ips, 0, &ips, "may not change once set");
    if (nold > n && n == 1)
        check_release(check, &spec, "clusterIP");
}

/* Upstream reports each of them at the first, and shows the addresses for some. */
COR_HOOK(ip_family_changes)
{
    struct cor_place spec, old_spec, families, old_families, ips;
    size_t n, nold;

    if (!both_specs(check, place, &spec, &old_spec) || is_headless(check, &spec) ||
        is_headless(check, &old_spec))
        return;
    cor_place_field(check, &spec, "ipFamilies", &families);
    cor_place_field(check, &old_spec, "ipFamilies", &old_families);
    cor_place_field(check, &spec, "clusterIPs", &ips);
    n = cor_place_length(check, &families);
    nold = cor_place_length(check, &old_families);
    if (n == nold) {
        for (size_t i = 0; i < n && i < 2; i++) {
            if (!cor_str_eq(text_at(check, &families, i), text_at(check, &old_families, i)))
                add_at(check, &families, 0, &families, "may not change once set");
        }
        return;
    }
    if (nold > n && cor_place_length(check, &ips) == 0)
        add_at(check, &families, 0, &families, "primary ipFamily can not be unset");
    if (n > 0 && nold > 0 &&
        !cor_str_eq(text_at(check, &families, 0), text_at(check, &old_families, 0)))
        add_at(check, &families, 0, &ips, "may not change once set");
    if (nold > n && n == 1)
        check_release(check, &spec, "ipFamily");
}

/* --- Status ----------------------------------------------------------------------------------- */

/* The place is the ip of an element of ingress; the old list may have it at another index. */
COR_HOOK(ingress_ip)
{
    struct cor_str text = cor_place_text(check, place);

    if (text.n > 0 && !cor_format_ok(COR_FORMAT_IP, text) &&
        !cor_check_was_there(check, place->parent->parent, "ip", text))
        cor_check_format(check, place, COR_FORMAT_IP);
}

COR_HOOK(ingress_host)
{
    struct cor_str text = cor_place_text(check, place);
    struct cor_ip ip;

    if (text.n == 0)
        return;
    cor_check_format(check, place, COR_FORMAT_DNS_SUBDOMAIN);
    if (cor_ip_parse(text, &ip))
        cor_check_invalid(check, place, "must be a DNS name, not an IP address");
}
