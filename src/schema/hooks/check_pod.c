/* The hooks of validation for the spec of pods and pod templates (schema/check/check.h describes
 * what they work with). Annotations are in check_pod_annotations.c, containers in
 * check_container.c. Thread: any. */
#include "schema/hooks/check_pod.h"

#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "schema/hooks/check_old_mistakes.h"
#include "schema/hooks/hooks.h"

#define SEARCH_LIST_MAX    2048 /* characters, with a space between two */
#define WINDOWS_DOMAIN_MAX 256
#define WINDOWS_USER_MAX   104
#define SYSCTL_MAX         253

/* --- Lists ------------------------------------------------------------------------------------ */

COR_HOOK(forget_names)
{
    cor_check_forget_all(check);
}

COR_HOOK(claim_name)
{
    if (cor_check_see(check, COR_SEEN_CLAIMS, place->parent->parent, cor_place_text(check, place)))
        cor_check_format(check, place, COR_FORMAT_DNS_LABEL);
    else
        cor_check_duplicate(check, place);
}

COR_HOOK(gate_is_new)
{
    struct cor_str name = cor_field_text(check, place, "name");

    if (!cor_check_see(check, COR_SEEN_GATES, place->parent, name))
        cor_check_add_value(check, COR_FIELD_DUPLICATE, place, cor_field_string(name), NULL);
}

/* --- Where pods may run ----------------------------------------------------------------------- */

/* Upstream reports each constraint that a later one repeats, at a path that does not exist. */
COR_HOOK(spread_pairs)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set later = {.nfew = 0};
    struct cor_place list, item;
    struct cor_str *pairs;
    size_t n = 0, length;
    bool is_new;

    cor_place_field(check, place, "topologySpreadConstraints", &list);
    length = cor_place_length(check, &list);
    if (length < 2)
        return;
    pairs = cor_calloc(length, sizeof(*pairs));
    if (!pairs) {
        cor_check_note(check, -COR_ENOMEM);
        return;
    }
    cor_str_set_init(&later, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, &list, item) {
        struct cor_str parts[] = {COR_STR("{"), cor_field_text(check, &item, "topologyKey"),
                                  COR_STR(", "), cor_field_text(check, &item, "whenUnsatisfiable"),
                                  COR_STR("}")};

        pairs[n++] = cor_check_concat(check, parts, COR_ARRAY_LEN(parts));
    }
    /* From the last one back, a pair that no later one has is set to nothing. */
    for (size_t i = n; i > 0; i--) {
        is_new = true;
        cor_check_note(check, cor_str_set_add(&later, pairs[i - 1], &is_new));
        if (is_new)
            pairs[i - 1] = COR_STR("");
    }
    for (size_t i = 0; i < n; i++) {
        struct cor_field_path index = cor_field_index(&list.path, i);
        struct cor_field_path path =
            cor_field_child(&index, COR_STR("{topologyKey, whenUnsatisfiable}"));

        if (pairs[i].n > 0)
            cor_check_add(check, COR_FIELD_DUPLICATE, &path, cor_field_string(pairs[i]), NULL);
    }
    cor_free(pairs);
}

/* One of both lists of keys: qualified names, and only beside a selector. */
static void check_keys(struct cor_check *check, const struct cor_place *keys, bool has_selector)
{
    struct cor_place key;

    if (cor_place_length(check, keys) == 0)
        return;
    if (!has_selector) {
        cor_check_forbidden(check, keys, "must not be specified when labelSelector is not set");
        return;
    }
    COR_EACH(check, keys, key)
        cor_check_format(check, &key, COR_FORMAT_QUALIFIED_NAME);
}

/* The selector has got the requirements that matchLabelKeys stand for before (contract types
 * 4.3.4), so a key is in both when it is there twice. */
static void check_keys_in_selector(struct cor_check *check, const struct cor_place *place,
                                   const struct cor_place *keys, const struct cor_place *selector)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set names = {.nfew = 0}, selected = {.nfew = 0};
    struct cor_place labels, expressions, item;
    bool is_new;

    cor_str_set_init(&names, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_str_set_init(&selected, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, keys, item)
        cor_check_note(check, cor_str_set_add(&names, cor_place_text(check, &item), &is_new));
    cor_place_field(check, selector, "matchLabels", &labels);
    cor_place_field(check, selector, "matchExpressions", &expressions);
    COR_EACH(check, &labels, item)
        cor_check_note(check, cor_str_set_add(&selected, item.key, &is_new));
    COR_EACH(check, &expressions, item) {
        struct cor_str key = cor_field_text(check, &item, "key");
        struct cor_place other;
        size_t at = 0, i = 0;

        is_new = true;
        cor_check_note(check, cor_str_set_add(&selected, key, &is_new));
        if (is_new || !cor_str_set_has(&names, key) || check->errors->n >= COR_STATUS_CAUSES_MAX)
            continue;
        for (struct cor_each inner = cor_each(check, keys); cor_each_next(check, &inner, &other);
             i++) {
            if (cor_str_eq(cor_place_text(check, &other), key))
                at = i;
        }
        struct cor_field_path path = cor_field_index(&place->path, at);

        cor_check_add(check, COR_FIELD_INVALID, &path, cor_field_string(key),
                      "exists in both matchLabelKeys and labelSelector");
    }
}

COR_HOOK(label_keys)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set unwanted = {.nfew = 0};
    size_t member = cor_type_member_index(place->type, COR_STR("mismatchLabelKeys"));
    struct cor_place match, mismatch = {.node = COR_JSON_NO_NODE}, selector, key;
    bool has_selector, is_new;

    cor_place_field(check, place, "matchLabelKeys", &match);
    if (member != SIZE_MAX)
        cor_place_member(check, place, member, &mismatch);
    has_selector = cor_place_field(check, place, "labelSelector", &selector);
    check_keys(check, &match, has_selector);
    if (member != SIZE_MAX)
        check_keys(check, &mismatch, has_selector);
    if (has_selector && cor_place_length(check, &match) > 0)
        check_keys_in_selector(check, place, &match, &selector);
    if (member == SIZE_MAX || cor_place_length(check, &mismatch) == 0)
        return;
    cor_str_set_init(&unwanted, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, &mismatch, key)
        cor_check_note(check, cor_str_set_add(&unwanted, cor_place_text(check, &key), &is_new));
    COR_EACH(check, &match, key) {
        if (cor_str_set_has(&unwanted, cor_place_text(check, &key)))
            cor_check_invalid(check, &key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

COR_HOOK(toleration_value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 8192}; /* it has literals alone */
    struct cor_str value = cor_place_text(check, place);
    struct cor_place field;

    cor_check_note(check, cor_format_join(COR_FORMAT_LABEL_VALUE, value, ";", &text));
    if (text.n == 0)
        return;
    cor_place_field(check, place->parent, "operator", &field);
    cor_check_add_value(check, COR_FIELD_INVALID, &field, cor_field_string(value),
                        cor_check_printf(check, "%s", cor_buf_z(&text)));
}

/* --- Names of hosts --------------------------------------------------------------------------- */

COR_WHEN(is_of_stateful_set)
{
    return cor_place_around(place, "StatefulSetSpec") != NULL;
}

COR_HOOK(search_list)
{
    struct cor_each each = cor_each(check, place);
    struct cor_place search;
    size_t length = 0;

    while (cor_each_next(check, &each, &search))
        length += cor_place_text(check, &search).n + 1;
    if (length > SEARCH_LIST_MAX + 1)
        cor_check_invalid(
            check, place,
            "must not have more than 2048 characters (including spaces) in the search list");
    each = cor_each(check, place);
    while (cor_each_next(check, &each, &search)) {
        struct cor_str text = cor_place_text(check, &search);

        if (cor_str_eq(text, COR_STR(".")))
            continue;
        if (cor_str_ends(text, COR_STR(".")))
            text.n--;
        cor_format_add_text(COR_FORMAT_DNS_SUBDOMAIN_UNDERSCORE, text, &search.path, check->errors);
    }
}

/* --- Security --------------------------------------------------------------------------------- */

COR_HOOK(share_process_namespace)
{
    struct cor_field_path path = cor_field_child(&place->path, COR_STR("shareProcessNamespace"));

    if (cor_field_bool(check, place->parent, "shareProcessNamespace") &&
        cor_field_bool(check, place->parent, "hostPID"))
        cor_check_add(check, COR_FIELD_INVALID, &path, cor_field_json(COR_STR("true")),
                      "ShareProcessNamespace and HostPID cannot both be enabled");
}

/* Parts of lower case letters, digits, dashes and underscores, with a dot or slash between two; a
 * part begins and ends with a letter or digit. */
static bool is_sysctl(struct cor_str name)
{
    bool is_edge = true; /* a part begins here */

    if (name.n == 0 || name.n > SYSCTL_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool ends = i + 1 == name.n || name.p[i + 1] == '.' || name.p[i + 1] == '/';

        if (c == '.' || c == '/') {
            if (is_edge)
                return false;
            is_edge = true;
            continue;
        }
        if (!is_plain && ((c != '-' && c != '_') || is_edge || ends))
            return false;
        is_edge = false;
    }
    return !is_edge;
}

/* Which namespace of the kernel a sysctl belongs to: "net", "ipc" or another. */
static const char *sysctl_namespace(struct cor_str name)
{
    static const struct {
        const char *prefix, *space;
    } known[] = {{"net.", "net"},       {"net/", "net"},       {"kernel.sem", "ipc"},
                 {"kernel/sem", "ipc"}, {"kernel.shm", "ipc"}, {"kernel/shm", "ipc"},
                 {"kernel.msg", "ipc"}, {"kernel/msg", "ipc"}, {"fs.mqueue.", "ipc"},
                 {"fs/mqueue/", "ipc"}};

    for (size_t i = 0; i < COR_ARRAY_LEN(known); i++) {
        struct cor_str prefix = cor_strz(known[i].prefix);
        bool is_whole = cor_str_ends(prefix, COR_STR("sem"));

        if (is_whole ? cor_str_eq(name, prefix) : cor_str_starts(name, prefix))
            return known[i].space;
    }
    return "";
}

const char *cor_sysctl_mistake(struct cor_check *check, const struct cor_place *spec,
                               struct cor_str name)
{
    const char *space = sysctl_namespace(name);

    if (strcmp(space, "net") == 0 && cor_field_bool(check, spec, "hostNetwork"))
        return "may not be specified when 'hostNetwork' is true";
    if (strcmp(space, "ipc") == 0 && cor_field_bool(check, spec, "hostIPC"))
        return "may not be specified when 'hostIPC' is true";
    return NULL;
}

COR_HOOK(sysctls)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set names = {.nfew = 0};
    struct cor_place list, item, field;

    if (!cor_place_field(check, place, "sysctls", &list))
        return;
    cor_str_set_init(&names, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, &list, item) {
        struct cor_str name;
        const char *mistake;
        bool is_new = true;

        cor_place_field(check, &item, "name", &field);
        name = cor_place_text(check, &field);
        cor_check_note(check, cor_str_set_add(&names, name, &is_new));
        if (name.n == 0)
            cor_check_required(check, &field, NULL);
        else if (!is_sysctl(name))
            cor_check_invalid(check, &field,
                              "must have at most 253 characters and match regex "
                              "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*"
                              "[a-z0-9])?$");
        else if (!is_new)
            cor_check_duplicate(check, &field);
        mistake = cor_sysctl_mistake(check, place->parent, name);
        if (mistake && !cor_old_has(check, place, COR_OLD_SYSCTLS))
            cor_check_invalid(check, &field, mistake);
    }
}

COR_HOOK(trimmed_profile)
{
    struct cor_str text = cor_place_text(check, place);

    if (cor_str_trim(text).n != text.n)
        cor_check_invalid(check, place, "must not be padded with whitespace");
    else if (text.n == 0)
        cor_check_required(check, place, "must be set when AppArmor type is Localhost");
}

/* --- Windows ---------------------------------------------------------------------------------- */

static bool has_any(struct cor_str text, const char *characters)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] && strchr(characters, text.p[i]))
            return true;
    }
    return false;
}

static bool has_control(struct cor_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            return true;
    }
    return false;
}

/* A NetBIOS name, or labels of letters, digits and dashes with dots between them. */
static bool is_windows_domain(struct cor_str domain)
{
    struct cor_str rest = domain;

    if (domain.n > 0 && domain.n <= 15 && domain.p[0] != '.' && !has_any(domain, "\\/:*?\"<>|"))
        return true;
    while (rest.p) {
        struct cor_str label = cor_str_cut(&rest, '.');

        if (label.n == 0 || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-')
            return false;
        for (size_t i = 0; i < label.n; i++) {
            char c = label.p[i];

            if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-'))
                return false;
        }
    }
    return true;
}

/* DOMAIN\USER, where the domain may be absent. */
COR_HOOK(windows_user_name)
{
    struct cor_str whole = cor_place_text(check, place), user = whole, domain = COR_STR("");
    bool has_domain, is_blank = true;

    if (!cor_place_is_present(place))
        return;
    if (whole.n == 0) {
        cor_check_invalid(check, place, "runAsUserName cannot be an empty string");
        return;
    }
    if (has_control(whole)) {
        cor_check_invalid(check, place, "runAsUserName cannot contain control characters");
        return;
    }
    has_domain = cor_str_find(whole, '\\') >= 0;
    if (has_domain)
        domain = cor_str_cut(&user, '\\');
    if (cor_str_find(user, '\\') >= 0) {
        cor_check_invalid(check, place, "runAsUserName cannot contain more than one backslash");
        return;
    }
    if (domain.n >= WINDOWS_DOMAIN_MAX)
        cor_check_invalid(check, place,
                          "runAsUserName's Domain length must be under 256 characters");
    if (has_domain && !is_windows_domain(domain))
        cor_check_invalid(check, place,
                          "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    if (user.n == 0)
        cor_check_invalid(check, place, "runAsUserName's User cannot be empty");
    else if (user.n > WINDOWS_USER_MAX)
        cor_check_invalid(check, place,
                          "runAsUserName's User length must not be longer than 104 characters");
    for (size_t i = 0; i < user.n; i++)
        is_blank = is_blank && (user.p[i] == '.' || user.p[i] == ' ');
    if (user.n > 0 && is_blank)
        cor_check_invalid(check, place,
                          "runAsUserName's User cannot contain only periods or spaces");
    if (has_any(user, "\"/\\:;|=,+*?<>@[]"))
        cor_check_invalid(check, place,
                          "runAsUserName's User cannot contain the following characters: "
                          "\"/\\:;|=,+*?<>@[]");
}

/* hostProcess of a security context: 1, 0, or -1 when it is not set. */
static int host_process(struct cor_check *check, const struct cor_place *owner,
                        struct cor_place *ret_security, struct cor_place *ret_windows,
                        struct cor_place *ret_field)
{
    if (!cor_place_field(check, owner, "securityContext", ret_security) ||
        !cor_place_field(check, ret_security, "windowsOptions", ret_windows) ||
        !cor_place_field(check, ret_windows, "hostProcess", ret_field))
        return -1;
    return cor_place_bool(check, ret_field);
}

COR_HOOK(windows_host_process)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    struct cor_place list, container, security, windows, field, network;
    int of_pod = host_process(check, place, &security, &windows, &field), own;
    size_t ncontainers = 0, nprocesses = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        cor_place_field(check, place, lists[i], &list);
        COR_EACH(check, &list, container) {
            own = host_process(check, &container, &security, &windows, &field);
            ncontainers++;
            if (of_pod >= 0 && own >= 0 && of_pod != own)
                cor_check_invalid(
                    check, &field,
                    cor_check_printf(
                        check,
                        "pod hostProcess value must be identical if both are specified, was %s",
                        of_pod ? "true" : "false"));
            nprocesses += own > 0 || (own < 0 && of_pod > 0);
        }
    }
    if (nprocesses == 0)
        return;
    if (nprocesses != ncontainers)
        cor_check_add_value(check, COR_FIELD_INVALID, place, cor_field_string(COR_STR("")),
                            "If pod contains any hostProcess containers then all containers must "
                            "be HostProcess containers");
    cor_place_field(check, place, "hostNetwork", &network);
    if (!cor_place_bool(check, &network))
        cor_check_add_value(check, COR_FIELD_INVALID, &network, cor_field_json(COR_STR("false")),
                            "hostNetwork must be true if pod contains any hostProcess containers");
    if (!cor_check_allows_privileged(check))
        cor_check_forbidden(check, place,
                            "hostProcess containers are disallowed by cluster policy");
}
