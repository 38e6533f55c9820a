/* The hooks of validation for the status of a pod (schema/check/check.h describes what they work
 * with). Thread: any. */
#include "base/err.h"
#include "base/limits.h"
#include "base/map.h"
#include "schema/go/ip_text.h"
#include "schema/hooks/hooks.h"

/* --- Containers that have ended --------------------------------------------------------------- */

/* Whether a status is of a container that has ended; `ret_code` is its exit code. */
static bool has_ended(struct cor_check *check, const struct cor_place *status, int64_t *ret_code)
{
    struct cor_place state, ended;

    cor_place_field(check, status, "state", &state);
    if (!cor_place_field(check, &state, "terminated", &ended))
        return false;
    *ret_code = cor_field_int(check, &ended, "exitCode");
    return true;
}

/* The names of init containers that are started again whenever they end. */
static void add_sidecars(struct cor_check *check, const struct cor_place *spec,
                         struct cor_str_set *names)
{
    struct cor_place list, container;
    bool is_new;

    cor_place_field(check, spec, "initContainers", &list);
    COR_EACH(check, &list, container) {
        if (cor_str_eq(cor_field_text(check, &container, "restartPolicy"), COR_STR("Always")))
            cor_check_note(
                check, cor_str_set_add(names, cor_field_text(check, &container, "name"), &is_new));
    }
}

/* How many statuses of each name are of containers that have not ended. */
static void count_unended(struct cor_check *check, const struct cor_place *statuses,
                          struct cor_map *counts)
{
    struct cor_place status;
    int64_t code;

    COR_EACH(check, statuses, status) {
        struct cor_str name = cor_field_text(check, &status, "name");
        uintptr_t n = (uintptr_t)cor_map_peek(counts, name);

        if (!has_ended(check, &status, &code))
            cor_check_note(check, cor_map_put(counts, name, (void *)(n + 1), NULL));
    }
}

/* Errors have the index of the old list. A container that the pod's policy starts again may leave
 * its end; an ephemeral container is never started again. */
COR_HOOK(ended_containers)
{
    COR_CLEANUP(cor_map_deinit) struct cor_map unended = {.n = 0};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set sidecars = {.nfew = 0};
    const struct cor_place *pod = cor_place_around(place, "Pod");
    bool is_ephemeral = cor_str_eq(arg, COR_STR("ephemeralContainers"));
    struct cor_place old = cor_place_old(place), spec, status, state;
    struct cor_str policy;
    int64_t code;

    if (!pod || cor_place_length(check, &old) == 0 || !cor_place_is_changed(check, place))
        return;
    cor_place_field(check, pod, "spec", &spec);
    policy = is_ephemeral ? COR_STR("Never") : cor_field_text(check, &spec, "restartPolicy");
    if (cor_str_eq(policy, COR_STR("Always")))
        return;
    cor_map_init(&unended, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_str_set_init(&sidecars, COR_OBJECT_BYTES_MAX_DEFAULT);
    count_unended(check, place, &unended);
    if (cor_str_eq(arg, COR_STR("initContainers")))
        add_sidecars(check, &spec, &sidecars);
    COR_EACH(check, &old, status) {
        struct cor_str name = cor_field_text(check, &status, "name");

        if (!has_ended(check, &status, &code) ||
            (code != 0 && cor_str_eq(policy, COR_STR("OnFailure"))) ||
            cor_str_set_has(&sidecars, name))
            continue;
        cor_place_field(check, &status, "state", &state);
        for (uintptr_t n = (uintptr_t)cor_map_peek(&unended, name);
             n > 0 && !cor_check_is_over(check); n--)
            cor_check_forbidden(check, &state, "may not be transitioned to non-terminated state");
    }
}

/* --- Claims ----------------------------------------------------------------------------------- */

/* Upstream reports a name that cannot be that of a claim at the name of the entry. */
COR_HOOK(claim_statuses)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set claims = {.nfew = 0}, seen = {.nfew = 0};
    const struct cor_place *pod = cor_place_around(place, "Pod");
    struct cor_place spec, list, item, name, made;
    bool is_new;

    if (!pod || cor_place_length(check, place) == 0)
        return;
    cor_str_set_init(&claims, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_place_field(check, pod, "spec", &spec);
    cor_place_field(check, &spec, "resourceClaims", &list);
    COR_EACH(check, &list, item)
        cor_check_note(check,
                       cor_str_set_add(&claims, cor_field_text(check, &item, "name"), &is_new));
    COR_EACH(check, place, item) {
        struct cor_str text;

        cor_place_field(check, &item, "name", &name);
        text = cor_place_text(check, &name);
        if (!cor_str_set_has(&claims, text))
            cor_check_invalid(check, &name,
                              "must match the name of an entry in `spec.resourceClaims`");
        is_new = true;
        cor_check_note(check, cor_str_set_add(&seen, text, &is_new));
        if (!is_new)
            cor_check_duplicate(check, &name);
        if (cor_place_field(check, &item, "resourceClaimName", &made)) {
            made.path = name.path;
            cor_check_format(check, &made, COR_FORMAT_DNS_SUBDOMAIN);
        }
    }
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* An address that was there before is not checked. Several addresses must be one of each family; a
 * text that is not an address cannot be compared, which upstream reports as an internal error. */
COR_HOOK(status_ips)
{
    size_t n = cor_place_length(check, place), nv6 = 0, i = 0;
    struct cor_each each = cor_each(check, place);
    struct cor_str bad = {NULL, 0}, text;
    struct cor_place item;
    size_t bad_at = 0;

    for (; cor_each_next(check, &each, &item); i++) {
        struct cor_ip ip;

        text = cor_field_text(check, &item, "ip");
        if (!cor_check_was_there(check, place, "ip", text))
            cor_format_add_text(COR_FORMAT_IP, text, &item.path, check->errors);
        if (cor_ip_parse(text, &ip)) {
            nv6 += !cor_ip_is_v4(&ip);
        } else if (!bad.p) {
            bad = text;
            bad_at = i;
        }
    }
    if (n < 2)
        return;
    if (bad.p)
        cor_check_add(check, COR_FIELD_INTERNAL, &place->path, cor_field_none(),
                      cor_check_printf(check,
                                       "failed to check for dual stack with error:invalid "
                                       "IP[%zu]: %.*s",
                                       bad_at, COR_STR_ARG(bad)));
    if (bad.p || nv6 == 0 || nv6 == n || n > 2)
        cor_check_invalid(check, place, "may specify no more than one IP for each IP family");
}
