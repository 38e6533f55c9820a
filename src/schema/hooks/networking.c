/* The hooks of validation for Ingress, NetworkPolicy, IPAddress and ServiceCIDR
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/networking.h"

#include "schema/hooks/hooks.h"
#include "schema/ip_text.h"
#include "json/scan.h"

bool cor_test_has_many_cidrs(struct cor_check *check, const struct cor_place *place,
                             struct cor_str arg)
{
    (void)arg;
    return cor_place_length(check, place) > 2;
}

bool cor_test_has_one_family(struct cor_check *check, const struct cor_place *place,
                             struct cor_str arg)
{
    struct cor_json_iter it = cor_json_iter(cor_place_json(check, place));
    struct cor_cidr cidrs[2];
    struct cor_str raw;
    size_t n = 0;

    (void)arg;
    while (n < 2 && cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) < 0 ||
            !cor_cidr_parse(raw, &cidrs[n++]))
            return false;
    }
    return n == 2 && cidrs[0].ip.is_written_as_v6 == cidrs[1].ip.is_written_as_v6;
}

static size_t old_length(struct cor_check *check, const struct cor_place *place)
{
    struct cor_place old = cor_place_old(place);

    return cor_place_length(check, &old);
}

bool cor_test_has_as_many_cidrs(struct cor_check *check, const struct cor_place *place,
                                struct cor_str arg)
{
    (void)arg;
    return cor_place_length(check, place) == old_length(check, place);
}

bool cor_test_is_second_cidr(struct cor_check *check, const struct cor_place *place,
                             struct cor_str arg)
{
    (void)arg;
    return cor_place_length(check, place) == 2 && old_length(check, place) == 1;
}

bool cor_test_is_new_cidr(struct cor_check *check, const struct cor_place *place,
                          struct cor_str arg)
{
    struct cor_place old = cor_place_old(place);

    (void)arg;
    return !cor_place_is_present(&old);
}
