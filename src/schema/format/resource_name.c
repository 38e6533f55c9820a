/* The names of resources: a table of the known ones with what each is known to, and the rules for
 * the others (contract validation 3.2.6 to 3.2.10). */
#include "schema/format/resource_name.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "meta/value/quantity.h"
#include "schema/format/format_int.h"

#define REQUESTS         COR_STR("requests.")
#define PREFIX_BYTES_MAX 253

enum known_to {
    KNOWN_TO_SYSTEM = 1 << 0,
    KNOWN_TO_QUOTAS = 1 << 1,
    KNOWN_TO_CONTAINERS = 1 << 2,
    KNOWN_AS_COUNT = 1 << 3, /* counted in whole numbers */

    COMPUTE = KNOWN_TO_SYSTEM | KNOWN_TO_QUOTAS | KNOWN_TO_CONTAINERS,
    PART = KNOWN_TO_SYSTEM | KNOWN_TO_QUOTAS,
    COUNT = KNOWN_TO_SYSTEM | KNOWN_TO_QUOTAS | KNOWN_AS_COUNT,
};

static const struct {
    struct cor_str name;
    unsigned known_to;
} resources[] = {
    {COR_STR_INIT("cpu"), COMPUTE},
    {COR_STR_INIT("memory"), COMPUTE},
    {COR_STR_INIT("ephemeral-storage"), COMPUTE},
    {COR_STR_INIT("storage"), KNOWN_TO_SYSTEM},
    {COR_STR_INIT("requests.cpu"), PART},
    {COR_STR_INIT("requests.memory"), PART},
    {COR_STR_INIT("requests.ephemeral-storage"), PART},
    {COR_STR_INIT("requests.storage"), PART},
    {COR_STR_INIT("limits.cpu"), PART},
    {COR_STR_INIT("limits.memory"), PART},
    {COR_STR_INIT("limits.ephemeral-storage"), PART},
    {COR_STR_INIT("pods"), COUNT},
    {COR_STR_INIT("resourcequotas"), COUNT},
    {COR_STR_INIT("services"), COUNT},
    {COR_STR_INIT("replicationcontrollers"), COUNT},
    {COR_STR_INIT("secrets"), COUNT},
    {COR_STR_INIT("configmaps"), COUNT},
    {COR_STR_INIT("persistentvolumeclaims"), COUNT},
    {COR_STR_INIT("services.nodeports"), COUNT},
    {COR_STR_INIT("services.loadbalancers"), COUNT},
};

static bool is_known_to(struct cor_str name, unsigned known_to)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(resources); i++) {
        if (cor_str_eq(resources[i].name, name))
            return (resources[i].known_to & known_to) != 0;
    }
    return false;
}

bool cor_resource_is_hugepages(struct cor_str name)
{
    return cor_str_starts(name, COR_STR("hugepages-"));
}

static bool is_quota_hugepages(struct cor_str name)
{
    return cor_resource_is_hugepages(name) || cor_str_starts(name, COR_STR("requests.hugepages-"));
}

bool cor_resource_is_standard(struct cor_str name)
{
    return is_known_to(name, KNOWN_TO_SYSTEM) || is_quota_hugepages(name);
}

bool cor_resource_is_for_quota(struct cor_str name)
{
    return is_known_to(name, KNOWN_TO_QUOTAS) || is_quota_hugepages(name);
}

bool cor_resource_is_for_containers(struct cor_str name)
{
    return is_known_to(name, KNOWN_TO_CONTAINERS) || cor_resource_is_hugepages(name);
}

static bool is_qualified(struct cor_str name)
{
    return cor_str_find(name, '/') >= 0;
}

bool cor_resource_is_native(struct cor_str name)
{
    struct cor_str native = COR_STR("kubernetes.io/");

    if (!is_qualified(name))
        return true;
    for (; name.n >= native.n; name = cor_str_from(name, 1)) {
        if (cor_str_starts(name, native))
            return true;
    }
    return false;
}

/* With `requests.` before it, a name has the same parts except for a longer prefix: such a name is
 * qualified if the name itself is and its prefix leaves room. What is not native has a slash. */
bool cor_resource_is_extended(struct cor_str name)
{
    ptrdiff_t slash = cor_str_find(name, '/');

    if (cor_resource_is_native(name) || cor_str_starts(name, REQUESTS))
        return false;
    return (size_t)slash + REQUESTS.n <= PREFIX_BYTES_MAX && cor_name_ok(COR_NAME_QUALIFIED, name);
}

bool cor_resource_is_integer(struct cor_str name)
{
    return is_known_to(name, KNOWN_AS_COUNT) || cor_resource_is_extended(name);
}

bool cor_resource_may_overcommit(struct cor_str name)
{
    return cor_resource_is_native(name) && !cor_resource_is_hugepages(name);
}

/* Upstream's number for a quantity that no int64 holds is 0. */
static int64_t scaled_or_zero(struct cor_str quantity, int scale)
{
    int64_t value;

    return cor_quantity_scaled(quantity, scale, &value) == 0 ? value : 0;
}

bool cor_resource_fills_pages(struct cor_str name, struct cor_str quantity)
{
    struct cor_str size;

    if (!cor_resource_is_hugepages(name))
        return false;
    size = cor_str_from(name, sizeof("hugepages-") - 1);
    if (cor_quantity_mistake(size) || scaled_or_zero(size, -3) % 1000 != 0)
        return false;
    return scaled_or_zero(size, 0) > 0 &&
           scaled_or_zero(quantity, 0) % scaled_or_zero(size, 0) == 0;
}

void cor_resource_add_quantity(struct cor_str name, struct cor_str quantity,
                               const struct cor_field_path *path, struct cor_field_errors *errs)
{
    cor_format_add_text(COR_FORMAT_QUANTITY, quantity, path, errs);
    if (cor_resource_is_integer(name) && scaled_or_zero(quantity, -3) % 1000 != 0)
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_string(quantity),
                             "must be an integer");
}

void cor_format_check_quantity(struct cor_format_run *run)
{
    if (cor_quantity_sign(run->text) < 0)
        cor_format_invalid(run, "must be greater than or equal to 0");
}

void cor_format_check_resource_name(struct cor_format_run *run)
{
    run->is_named = true; /* a ResourceName */
    if (cor_format_invalid_name(run, COR_NAME_QUALIFIED, run->text, ""))
        return;
    if (!is_qualified(run->text) && !cor_resource_is_standard(run->text))
        cor_format_invalid(run, "must be a standard resource type or fully qualified");
}

void cor_format_check_container_resource_name(struct cor_format_run *run)
{
    cor_format_check_resource_name(run);
    if (!is_qualified(run->text)) {
        if (!cor_resource_is_for_containers(run->text))
            cor_format_invalid(run, "must be a standard resource for containers");
    } else if (!cor_resource_is_native(run->text) && !cor_resource_is_extended(run->text)) {
        cor_format_invalid(run, "doesn't follow extended resource name standard");
    }
}

void cor_format_check_quota_resource_name(struct cor_format_run *run)
{
    cor_format_check_resource_name(run);
    if (!is_qualified(run->text) && !cor_resource_is_for_quota(run->text))
        cor_format_invalid(run, "must be a standard resource for quota");
}
