/* The hooks of validation for PriorityClass, RuntimeClass and Lease (schema/check/check.h describes
 * what they work with). Thread: any. */
#include "schema/hooks/check_scheduling.h"

#include "schema/hooks/hooks.h"

#define HIGHEST_USER_PRIORITY 1000000000

/* What is wrong with a class whose name begins with "system-"; NULL: upstream has the same. */
static const char *system_mistake(struct cor_check *check, const struct cor_place *priority_class,
                                  struct cor_str name)
{
    static const struct {
        const char *name;
        int64_t value;
    } known[] = {{"system-node-critical", 2000001000}, {"system-cluster-critical", 2000000000}};

    for (size_t i = 0; i < COR_ARRAY_LEN(known); i++) {
        if (!cor_str_eq(name, cor_strz(known[i].name)))
            continue;
        if (cor_field_int(check, priority_class, "value") != known[i].value)
            return cor_check_printf(check, "value of %s PriorityClass must be %lld", known[i].name,
                                    (long long)known[i].value);
        if (cor_field_bool(check, priority_class, "globalDefault"))
            return cor_check_printf(check, "globalDefault of %s PriorityClass must be false",
                                    known[i].name);
        return NULL;
    }
    return cor_check_printf(check, "%.*s is not a known system priority class", COR_STR_ARG(name));
}

COR_HOOK(system_priority)
{
    struct cor_place metadata, name, value;
    struct cor_str text;
    const char *mistake;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, &metadata, "name", &name);
    cor_place_field(check, place, "value", &value);
    text = cor_place_text(check, &name);
    if (!cor_str_starts(text, COR_STR("system-"))) {
        if (cor_place_int(check, &value) > HIGHEST_USER_PRIORITY)
            cor_check_forbidden(check, &value,
                                "maximum allowed value of a user defined priority is 1000000000");
        return;
    }
    mistake = system_mistake(check, place, text);
    if (mistake)
        cor_check_forbidden(check, &name,
                            cor_check_printf(check,
                                             "priority class names with 'system-' prefix are "
                                             "reserved for system use only. error: %s",
                                             mistake));
}

/* Upstream names the list "limits", and leaves out the name that it has in the object. */
COR_HOOK(pod_fixed)
{
    struct cor_place list;

    cor_place_field(check, place, "podFixed", &list);
    list.path = place->path;
    cor_hook_resource_limits(check, &list, arg);
}

/* Upstream reports a mistake at a field of the same name below the strategy. */
COR_HOOK(lease_strategy)
{
    static const char *const known[] = {"OldestEmulationVersion"};
    struct cor_str text = cor_place_text(check, place);
    struct cor_place below = *place;

    if (!cor_place_is_present(place))
        return;
    below.path = cor_field_child(&place->path, COR_STR("strategy"));
    if (cor_str_find(text, '/') >= 0)
        cor_check_format(check, &below, COR_FORMAT_QUALIFIED_NAME);
    else if (!cor_str_eq(text, cor_strz(known[0])))
        cor_check_not_supported(check, &below, known, COR_ARRAY_LEN(known));
}
