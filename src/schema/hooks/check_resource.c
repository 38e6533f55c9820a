/* The hooks of validation for dynamic resource allocation (schema/check/check.h describes what they
 * work with).
 *
 * A claim names its requests, and a request may have subrequests; other parts of the claim refer to
 * them as "request" or "request/subrequest". cor_hook_claim_requests() notes all these texts before
 * the rules ask for them with cor_hook_request_reference(). The devices that were allocated to a
 * claim are noted in the same way for the status of each device.
 *
 * Thread: any. */
#include "schema/hooks/check_resource.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "schema/go/ip_text.h"
#include "schema/hooks/hooks.h"
#include "json/text/scan.h"

#define PARAMETERS_MAX (10 * 1024)
#define POOL_NAME_MAX  253
#define IDENTIFIER_MAX 32
#define KEY_SHOWN_MAX  96 /* of the name of an attribute: 63 of the domain, a slash, 32 */
#define ATTRIBUTES_MAX 32 /* of a device, with its capacities */
#define VALUE_MAX      64 /* bytes of the value of an attribute */

/* --- Access ------------------------------------------------------------------------------------
 */

/* Upstream has the path of a claim also for the claim in a template. */
COR_HOOK(admin_access)
{
    struct cor_place devices, requests, request, exactly;
    struct cor_field_path spec = cor_field_root(COR_STR("spec")), path[4];
    struct cor_str label;
    struct cor_each each;

    cor_place_field(check, place, "devices", &devices);
    cor_place_field(check, &devices, "requests", &requests);
    each = cor_each(check, &requests);
    while (cor_each_next(check, &each, &request)) {
        if (!cor_place_field(check, &request, "exactly", &exactly) ||
            !cor_field_bool(check, &exactly, "adminAccess"))
            continue;
        if (check->ns_object &&
            cor_json_get(cor_object_meta_member(check->ns_object, COR_STR("labels")),
                         COR_STR("resource.kubernetes.io/admin-access"), COR_JSON_SORTED,
                         &label) == 0 &&
            cor_str_eq(label, COR_STR("\"true\"")))
            return;
        path[0] = cor_field_child(&spec, COR_STR("devices"));
        path[1] = cor_field_child(&path[0], COR_STR("requests"));
        path[2] = cor_field_index(&path[1], each.index - 1);
        path[3] = cor_field_child(&path[2], COR_STR("adminAccess"));
        cor_check_add(check, COR_FIELD_FORBIDDEN, &path[3], cor_field_none(),
                      "admin access to devices requires the `resource.kubernetes.io/admin-access: "
                      "true` label on the containing namespace");
        return;
    }
}

/* --- Requests ----------------------------------------------------------------------------------
 */

COR_HOOK(claim_requests)
{
    struct cor_place requests, request, list, sub;
    struct cor_each each, subs;

    cor_check_forget(check, COR_SEEN_REQUESTS);
    cor_place_field(check, place, "requests", &requests);
    each = cor_each(check, &requests);
    while (cor_each_next(check, &each, &request)) {
        struct cor_str name = cor_field_text(check, &request, "name");

        /* A reference is cut at its slash, so it never meets a name that has one. */
        if (cor_str_find(name, '/') >= 0)
            continue;
        (void)cor_check_see(check, COR_SEEN_REQUESTS, &requests, name);
        cor_place_field(check, &request, "firstAvailable", &list);
        subs = cor_each(check, &list);
        while (cor_each_next(check, &subs, &sub)) {
            struct cor_str parts[] = {name, COR_STR("/"), cor_field_text(check, &sub, "name")};

            (void)cor_check_see(check, COR_SEEN_REQUESTS, &requests,
                                cor_check_concat(check, parts, COR_ARRAY_LEN(parts)));
        }
    }
}

COR_HOOK(request_reference)
{
    static const char detail[] = "must be the name of a request in the claim or the name of a "
                                 "request and a subrequest separated by '/'";
    struct cor_str text = cor_place_text(check, place);
    ptrdiff_t slash = cor_str_find(text, '/');

    if (slash >= 0 && cor_str_find(cor_str_from(text, (size_t)slash + 1), '/') >= 0) {
        cor_check_invalid(check, place, detail);
        return;
    }
    cor_format_add_text(COR_FORMAT_DNS_LABEL, slash < 0 ? text : cor_str(text.p, (size_t)slash),
                        &place->path, check->errors);
    if (slash >= 0)
        cor_format_add_text(COR_FORMAT_DNS_LABEL, cor_str_from(text, (size_t)slash + 1),
                            &place->path, check->errors);
    if (!cor_check_has_seen(check, COR_SEEN_REQUESTS, text))
        cor_check_invalid(check, place, detail);
}

/* --- Names, parameters -------------------------------------------------------------------------
 */

static void check_identifier(struct cor_check *check, struct cor_str name,
                             const struct cor_field_path *path)
{
    if (name.n > IDENTIFIER_MAX)
        cor_field_errors_add_too_long(check->errors, path, IDENTIFIER_MAX);
    cor_format_add_text(COR_FORMAT_C_IDENTIFIER, name, path, check->errors);
}

/* The name of an attribute or a capacity: an identifier, with a domain and a slash before it if
 * there is one. Upstream lets a name with several slashes pass. */
static void check_qualified_name(struct cor_check *check, struct cor_str name,
                                 const struct cor_field_path *path)
{
    ptrdiff_t slash = cor_str_find(name, '/');
    struct cor_str domain, rest;

    if (name.n == 0) {
        cor_check_add(check, COR_FIELD_REQUIRED, path, cor_field_none(), "name required");
        return;
    }
    if (slash < 0) {
        check_identifier(check, name, path);
        return;
    }
    domain = cor_str(name.p, (size_t)slash);
    rest = cor_str_from(name, (size_t)slash + 1);
    if (cor_str_find(rest, '/') >= 0)
        return;
    if (domain.n == 0)
        cor_check_add(check, COR_FIELD_REQUIRED, path, cor_field_none(),
                      "the domain must not be empty");
    else
        cor_format_add_text(COR_FORMAT_CSI_DRIVER_NAME, domain, path, check->errors);
    if (rest.n == 0)
        cor_check_add(check, COR_FIELD_REQUIRED, path, cor_field_none(),
                      "the name must not be empty");
    else
        check_identifier(check, rest, path);
}

COR_HOOK(attribute_name)
{
    struct cor_str name = cor_place_text(check, place);

    check_qualified_name(check, name, &place->path);
    if (name.n > 0 && cor_str_find(name, '/') < 0)
        cor_check_invalid(check, place, "must include a domain");
}

COR_HOOK(pool_name)
{
    struct cor_str name = cor_place_text(check, place);

    if (name.n == 0) {
        cor_check_required(check, place, NULL);
        return;
    }
    if (name.n > POOL_NAME_MAX)
        cor_check_too_long(check, place, POOL_NAME_MAX);
    for (ptrdiff_t slash = 0; slash >= 0 && !cor_check_is_over(check);) {
        slash = cor_str_find(name, '/');
        cor_format_add_text(COR_FORMAT_DNS_SUBDOMAIN,
                            slash < 0 ? name : cor_str(name.p, (size_t)slash), &place->path,
                            check->errors);
        name = cor_str_from(name, (size_t)(slash + 1));
    }
}

COR_HOOK(device_parameters)
{
    struct cor_str json = cor_place_json(check, place);

    if (json.n == 0)
        cor_check_required(check, place, NULL);
    else if (json.n > PARAMETERS_MAX)
        cor_check_too_long(check, place, PARAMETERS_MAX);
    else if (json.p[0] == 'n')
        cor_check_required(check, place, NULL);
    else if (json.p[0] != '{')
        cor_check_add_value(check, COR_FIELD_INVALID, place,
                            cor_field_string(COR_STR("<value omitted>")),
                            "must be a valid JSON object");
}

/* --- The status of a claim ---------------------------------------------------------------------
 */

/* The value that upstream prints for a device: its fields are handles, which JSON shows as {}. */
static struct cor_field_value device_id_value(void)
{
    return cor_field_json(COR_STR("{\"Driver\":{},\"Pool\":{},\"Device\":{},\"ShareID\":{}}"));
}

/* What makes one device of a pool of a driver, as the text of a set. */
static struct cor_str device_key(struct cor_check *check, const struct cor_place *device)
{
    struct cor_str parts[] = {cor_field_text(check, device, "driver"),
                              cor_field_text(check, device, "pool"),
                              cor_field_text(check, device, "device")};

    return cor_check_key(check, parts, COR_ARRAY_LEN(parts));
}

COR_HOOK(allocated_results)
{
    struct cor_place allocation, devices, results, result;

    cor_check_forget(check, COR_SEEN_DEVICES);
    cor_place_field(check, place, "allocation", &allocation);
    cor_place_field(check, &allocation, "devices", &devices);
    cor_place_field(check, &devices, "results", &results);
    COR_EACH(check, &results, result)
        (void)cor_check_see(check, COR_SEEN_DEVICES, &results, device_key(check, &result));
}

COR_HOOK(is_allocated_device)
{
    if (!cor_check_has_seen(check, COR_SEEN_DEVICES, device_key(check, place)))
        cor_check_add_value(check, COR_FIELD_INVALID, place, device_id_value(),
                            "must be an allocated device in the claim");
}

COR_HOOK(device_status_once)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place device;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, place, device) {
        struct cor_field_path path = cor_field_child(&device.path, COR_STR("deviceID"));
        bool is_new = true;

        cor_check_note(check, cor_str_set_add(&seen, device_key(check, &device), &is_new));
        if (!is_new)
            cor_check_add(check, COR_FIELD_DUPLICATE, &path, device_id_value(), NULL);
    }
}

static struct cor_str consumer_key(struct cor_check *check, const struct cor_place *consumer)
{
    struct cor_str parts[] = {
        cor_field_text(check, consumer, "apiGroup"), cor_field_text(check, consumer, "resource"),
        cor_field_text(check, consumer, "name"), cor_field_text(check, consumer, "uid")};

    return cor_check_key(check, parts, COR_ARRAY_LEN(parts));
}

COR_WHEN(has_new_consumer)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set before = {.nfew = 0};
    struct cor_place old = cor_place_old(place), consumer;
    struct cor_each each = cor_each(check, &old);
    bool is_new = false;

    cor_str_set_init(&before, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_each_next(check, &each, &consumer))
        cor_check_note(check, cor_str_set_add(&before, consumer_key(check, &consumer), &is_new));
    each = cor_each(check, place);
    while (cor_each_next(check, &each, &consumer)) {
        if (!cor_str_set_has(&before, consumer_key(check, &consumer)))
            return true;
    }
    return false;
}

/* An address with its prefix length. An IPv4-mapped IPv6 address is written as an IPv4 one, with
 * the prefix length that remains. */
COR_HOOK(interface_address)
{
    struct cor_str text = cor_place_text(check, place);
    char address[COR_IP_TEXT_MAX], canonical[COR_IP_TEXT_MAX + 8];
    struct cor_str ip;
    struct cor_cidr cidr;
    unsigned prefix;

    if (!cor_cidr_parse(text, &cidr)) {
        cor_check_invalid(check, place,
                          "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or "
                          "2001:db8::1/64)");
        return;
    }
    prefix = cidr.prefix;
    if (cor_ip_is_v4(&cidr.ip) && prefix > 32)
        prefix -= 96;
    ip = cor_ip_print(&cidr.ip, address);
    snprintf(canonical, sizeof(canonical), "%.*s/%u", COR_STR_ARG(ip), prefix);
    if (!cor_str_eq(text, cor_strz(canonical)))
        cor_check_invalid(check, place,
                          cor_check_printf(check, "must be in canonical form (\"%s\")", canonical));
}

/* --- Slices ------------------------------------------------------------------------------------
 */

COR_HOOK(slice_nodes)
{
    static const char *const names[] = {"nodeName", "nodeSelector", "allNodes"};
    struct cor_place field;
    char chosen[64];
    size_t n = 0, at = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        cor_place_field(check, place, names[i], &field);
        /* An empty selector is chosen; an empty name and false are not. */
        if (i == 1 ? cor_place_is_set(check, &field) : !cor_place_is_empty(check, &field))
            at += (size_t)snprintf(chosen + at, sizeof(chosen) - at, "%s`%s`", n++ ? ", " : "",
                                   names[i]);
    }
    if (n == 0)
        cor_check_required(check, place,
                           "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                           "`perDeviceNodeSelection` is required");
    else if (n > 1)
        cor_check_add_value(
            check, COR_FIELD_INVALID, place,
            cor_field_string(cor_strz(cor_check_printf(check, "{%s}", chosen))),
            "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
            "required, but multiple fields are set");
}

/* Takes one identifier of a version from the front: letters, digits and dashes. With `is_number`
 * digits alone; a number, or with `no_zeros` also an identifier that happens to be one, has no
 * zeros in front. */
static bool take_identifier(struct cor_str *text, bool is_number, bool no_zeros)
{
    bool has_letters = false;
    size_t n = 0;

    for (; n < text->n; n++) {
        char c = text->p[n];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';

        if (!cor_is_digit(c) && (is_number || !is_letter))
            break;
        has_letters |= is_letter;
    }
    if (n == 0 || (!has_letters && no_zeros && n > 1 && text->p[0] == '0'))
        return false;
    *text = cor_str_from(*text, n);
    return true;
}

static bool take_char(struct cor_str *text, char c)
{
    if (text->n == 0 || text->p[0] != c)
        return false;
    *text = cor_str_from(*text, 1);
    return true;
}

/* Identifiers with dots between them. */
static bool take_identifiers(struct cor_str *text, bool no_zeros)
{
    do {
        if (!take_identifier(text, false, no_zeros))
            return false;
    } while (take_char(text, '.'));
    return true;
}

/* Is the text a version by semver.org 2.0.0? */
static bool is_semantic_version(struct cor_str text)
{
    for (int i = 0; i < 3; i++) {
        if ((i > 0 && !take_char(&text, '.')) || !take_identifier(&text, true, true))
            return false;
    }
    if (take_char(&text, '-') && !take_identifiers(&text, true))
        return false;
    if (take_char(&text, '+') && !take_identifiers(&text, false))
        return false;
    return text.n == 0;
}

/* An attribute has one value. */
static void check_attribute(struct cor_check *check, const struct cor_place *attribute)
{
    static const char *const names[] = {"bool", "int", "string", "version"};
    struct cor_place field;
    size_t n = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (!cor_place_field(check, attribute, names[i], &field))
            continue;
        n++;
        if (i == 3 && !is_semantic_version(cor_place_text(check, &field)))
            cor_check_invalid(check, &field,
                              "must be a string compatible with semver.org spec 2.0.0");
        if (i >= 2 && cor_place_length(check, &field) > VALUE_MAX)
            cor_check_too_long(check, &field, VALUE_MAX);
    }
    if (n == 0)
        cor_check_required(check, attribute, "exactly one value must be specified");
    else if (n > 1)
        cor_check_invalid(check, attribute, "exactly one value must be specified");
}

/* The key as paths show it: of a long one the beginning and the end. */
static struct cor_str shown_key(struct cor_check *check, struct cor_str key)
{
    size_t kept = KEY_SHOWN_MAX - 3;
    struct cor_str parts[3];

    if (key.n <= KEY_SHOWN_MAX)
        return key;
    parts[0] = cor_str(key.p, (kept + 1) / 2);
    parts[1] = COR_STR("...");
    parts[2] = cor_str_from(key, key.n - kept / 2);
    return cor_check_concat(check, parts, COR_ARRAY_LEN(parts));
}

COR_HOOK(device_names)
{
    static const char *const names[] = {"attributes", "capacity"};
    struct cor_place maps[2], item;
    size_t n = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        cor_place_field(check, place, names[i], &maps[i]);
        n += cor_place_length(check, &maps[i]);
    }
    if (n > ATTRIBUTES_MAX) {
        const char *value = cor_check_printf(check, "%zu", n);

        cor_check_add_value(check, COR_FIELD_INVALID, place, cor_field_json(cor_strz(value)),
                            "the total number of attributes and capacities must not exceed 32");
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        struct cor_each each = cor_each(check, &maps[i]);

        while (cor_each_next(check, &each, &item)) {
            item.path = cor_field_key(&maps[i].path, shown_key(check, item.key));
            check_qualified_name(check, item.key, &item.path);
            if (i == 0)
                check_attribute(check, &item);
        }
    }
}
