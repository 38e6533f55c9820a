/* The hooks of validation for FlowSchema and PriorityLevelConfiguration
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_flowcontrol.h"

#include <assert.h>
#include <math.h>

#include "base/err.h"
#include "schema/hooks/hooks.h"
#include "schema/kinds/bootstrap_objects.h"
#include "schema/walk/equal.h"

/* Bits of the hash that deals queues to a flow. */
#define HASH_BITS_MAX 60

COR_WHEN(is_mandatory)
{
    struct cor_str name = arg, kind = cor_str_cut(&name, ' ');
    const struct cor_bootstrap_object *object = cor_bootstrap_object_find(kind, name);
    bool is_equal = false;

    assert(object && object->rule == COR_BOOTSTRAP_MANDATORY); /* the rules name no other */
    cor_check_note(check,
                   cor_equal(place->type, cor_place_json(check, place), object->spec, &is_equal));
    return is_equal;
}

static bool has_star(struct cor_check *check, const struct cor_place *list)
{
    struct cor_place item;

    COR_EACH(check, list, item) {
        if (cor_str_eq(cor_place_text(check, &item), COR_STR("*")))
            return true;
    }
    return false;
}

COR_HOOK(flow_verbs)
{
    static const char *const known[] = {"create", "delete", "deletecollection", "get",  "list",
                                        "patch",  "proxy",  "update",           "watch"};
    struct cor_place item;

    if (cor_place_length(check, place) == 0) {
        cor_check_required(check, place, "verbs must contain at least one value");
        return;
    }
    if (has_star(check, place)) {
        cor_hook_lone_star(check, place, COR_STR("verbs"));
        return;
    }
    COR_EACH(check, place, item) {
        struct cor_str verb = cor_place_text(check, &item);
        bool is_known = false;

        for (size_t i = 0; i < COR_ARRAY_LEN(known); i++)
            is_known = is_known || cor_str_eq(verb, cor_strz(known[i]));
        /* The list is reported once, however many of its verbs are not known. */
        if (!is_known) {
            cor_check_not_supported(check, place, known, COR_ARRAY_LEN(known));
            return;
        }
    }
}

struct namespace_errors {
    struct cor_check *check;
    const struct cor_place *place;
};

static void add_namespace_error(void *arg, const struct cor_format_finding *finding)
{
    const struct namespace_errors *errors = arg;

    cor_check_invalid(errors->check, errors->place,
                      cor_check_printf(errors->check,
                                       "each member of this list must be '*' or a DNS-1123 "
                                       "label; %s",
                                       finding->detail ? finding->detail : ""));
}

COR_HOOK(flow_namespaces)
{
    struct cor_place item;

    if (has_star(check, place)) {
        cor_hook_lone_star(check, place, COR_STR("namespaces"));
        return;
    }
    COR_EACH(check, place, item) {
        struct namespace_errors errors = {check, &item};
        int r = cor_format_check_text(COR_FORMAT_DNS_LABEL, cor_place_text(check, &item),
                                      add_namespace_error, &errors);

        if (r < 0)
            cor_check_note(check, r);
    }
}

/* What is wrong with a path; NULL: nothing. */
static const char *path_mistake(struct cor_str path)
{
    size_t stars = 0;

    if (path.n == 0)
        return "must not be empty";
    if (cor_str_eq(path, COR_STR("/")))
        return NULL;
    if (path.p[0] != '/')
        return "must start with slash";
    if (cor_str_find(path, ' ') >= 0)
        return "must not contain white-space";
    for (size_t i = 1; i < path.n; i++) {
        if (path.p[i] == '/' && path.p[i - 1] == '/')
            return "must not contain double slash";
        stars += path.p[i] == '*';
    }
    if (stars > 1 || (stars == 1 && !cor_str_ends(path, COR_STR("/*"))))
        return "wildcard can only do suffix matching";
    return NULL;
}

COR_HOOK(flow_urls)
{
    struct cor_place item;

    if (has_star(check, place)) {
        cor_hook_lone_star(check, place, COR_STR("non-resource URLs"));
        return;
    }
    COR_EACH(check, place, item) {
        const char *mistake = path_mistake(cor_place_text(check, &item));

        if (mistake)
            cor_check_invalid(check, &item, mistake);
    }
}

/* The rules have made sure that 1 <= handSize <= queues. */
COR_HOOK(hand_size)
{
    int64_t hand = cor_place_int(check, place);
    int64_t queues = cor_field_int(check, place->parent, "queues");

    if (ceil(log2((double)queues) * (double)hand) > HASH_BITS_MAX)
        cor_check_invalid(check, place,
                          cor_check_printf(check,
                                           "required entropy bits of deckSize %lld and handSize "
                                           "%lld should not be greater than %d",
                                           (long long)queues, (long long)hand, HASH_BITS_MAX));
}
