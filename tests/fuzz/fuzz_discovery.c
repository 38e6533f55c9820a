/* Promises of the discovery documents' reader: in each of its four forms a document is taken or
 * refused, and whatever was taken can be asked for every kind, resource, short name and category
 * that it has. */
#include "base/err.h"
#include "client/discovery/rest_mapper.h"
#include "fuzz.h"

static void check(int r)
{
    FUZZ_CHECK(r == 0 || r == -COR_EPROTOCOL || r == -COR_EINVAL || r == -COR_ETOOBIG ||
               r == -COR_ENOTFOUND || r == -COR_ECONFLICT);
}

static void ask(const struct cor_catalog *catalog, const struct cor_catalog_group *group,
                const struct cor_catalog_version *version,
                const struct cor_catalog_resource *resource)
{
    struct cor_gk gk = {group->name, resource->kind.kind};
    struct cor_gvr gvr = {group->name, version->version, resource->name};
    struct cor_rest_mapping mapping;
    struct cor_gr found[4];
    struct cor_status why = {0};

    check(cor_rest_mapping_of_kind(catalog, &gk, version->version, &mapping, &why));
    check(cor_rest_mapping_of_resource(catalog, &gvr, &mapping, &why));
    gvr =
        cor_rest_mapper_expand(catalog, &(struct cor_gvr){.resource = resource->name}, NULL, NULL);
    check(cor_rest_mapping_of_resource(catalog, &gvr, &mapping, &why));
    cor_rest_mapper_category(catalog, COR_STR("all"), found, 4);
    cor_status_deinit(&why);
}

static void ask_all(const struct cor_catalog *catalog)
{
    struct cor_status why = {0};
    size_t asked = 0;

    for (size_t i = 0; i < catalog->ngroups; i++)
        for (size_t k = 0; k < catalog->groups[i].nversions; k++) {
            const struct cor_catalog_version *version = &catalog->groups[i].versions[k];

            for (size_t m = 0; m < version->nresources && asked < 64; m++, asked++)
                ask(catalog, &catalog->groups[i], version, &version->resources[m]);
        }
    cor_catalog_failures(catalog, &why);
    cor_status_deinit(&why);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str text = cor_str((const char *)data, size);
    struct cor_catalog c = {0};

    check(cor_catalog_add_aggregated(&c, text));
    ask_all(&c);
    cor_catalog_deinit(&c);
    check(cor_catalog_add_api_versions(&c, text));
    check(cor_catalog_add_api_groups(&c, text));
    for (size_t i = 0; i < c.ngroups; i++)
        for (size_t k = 0; k < c.groups[i].nversions && k < 4; k++)
            check(cor_catalog_set_resources(&c, &c.groups[i].versions[k], text));
    ask_all(&c);
    cor_catalog_deinit(&c);
    return 0;
}
