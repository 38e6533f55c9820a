/* The hooks of validation for Endpoints and EndpointSlice
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_discovery.h"

#include "base/err.h"
#include "base/limits.h"
#include "schema/go/ip_text.h"
#include "schema/hooks/hooks.h"

/* Reports names that an element before has. With `format`, names that are not empty have the form
 * of a DNS label. */
static void check_names(struct cor_check *check, const struct cor_place *list, bool format)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place item, name;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, list, item) {
        struct cor_str text;
        bool is_new = true;

        cor_place_field(check, &item, "name", &name);
        text = cor_place_text(check, &name);
        if (format && text.n > 0)
            cor_check_format(check, &name, COR_FORMAT_DNS_LABEL);
        cor_check_note(check, cor_str_set_add(&seen, text, &is_new));
        if (!is_new)
            cor_check_add_value(check, COR_FIELD_DUPLICATE, &name, cor_field_string(text), NULL);
    }
}

COR_HOOK(slice_port_names)
{
    check_names(check, place, true);
}

COR_HOOK(unique_names)
{
    check_names(check, place, false);
}

/* An address of one family; one of the other is reported at the list. */
static void check_address(struct cor_check *check, const struct cor_place *address, bool is_v6)
{
    struct cor_str text = cor_place_text(check, address);
    struct cor_ip ip;

    if (cor_check_format(check, address, is_v6 ? COR_FORMAT_IP_CANONICAL : COR_FORMAT_IP) > 0)
        return;
    if (cor_ip_parse(text, &ip) && cor_ip_is_v4(&ip) == is_v6)
        cor_check_add(check, COR_FIELD_INVALID, &address->parent->path, cor_field_string(text),
                      is_v6 ? "must be an IPv6 address" : "must be an IPv4 address");
    cor_check_format(check, address, COR_FORMAT_ENDPOINT_IP);
}

COR_HOOK(slice_addresses)
{
    const struct cor_place *slice = cor_place_around(place, "EndpointSlice");
    struct cor_place address;
    struct cor_str type;

    if (!slice)
        return;
    type = cor_field_text(check, slice, "addressType");
    COR_EACH(check, place, address) {
        if (cor_str_eq(type, COR_STR("IPv4")) || cor_str_eq(type, COR_STR("IPv6")))
            check_address(check, &address, cor_str_eq(type, COR_STR("IPv6")));
        else if (cor_str_eq(type, COR_STR("FQDN")))
            cor_check_format(check, &address, COR_FORMAT_FQDN2);
    }
}
