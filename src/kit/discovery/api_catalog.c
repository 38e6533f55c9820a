/* The catalog of what a server serves, built from discovery documents in both forms: the aggregated
 * one (groups, versions and resources in one document) and the legacy ones (/api, /apis, and one
 * document per version).
 *
 * Each document is checked and copied once (keep_body), and all strings point into the copies. The
 * parts grow in arrays with maxima of their own. A document that cannot be read is -COR_EINVAL, one
 * beyond a maximum -COR_ETOOBIG; the catalog may then have a part of it.
 * Thread: any (values). */
#include "kit/discovery/api_catalog.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define BODIES_MAX     (COR_CATALOG_GROUPS_MAX * 4)
#define FAILURES_MAX   COR_STATUS_MESSAGE_MAX
#define DOCUMENT_DEPTH 32

void cor_catalog_deinit(struct cor_catalog *catalog)
{
    for (size_t i = 0; i < catalog->ngroups; i++) {
        struct cor_catalog_group *group = &catalog->groups[i];

        for (size_t k = 0; k < group->nversions; k++) {
            cor_free(group->versions[k].resources);
            cor_status_deinit(&group->versions[k].error);
        }
        cor_free(group->versions);
    }
    cor_free(catalog->groups);
    for (size_t i = 0; i < catalog->nbodies; i++)
        cor_free(catalog->bodies[i]);
    cor_free(catalog->bodies);
    *catalog = (struct cor_catalog){0};
}

/* Checks the document and keeps a copy, which the strings point into. */
static int keep_body(struct cor_catalog *catalog, struct cor_str body, struct cor_str *ret_kept)
{
    const struct cor_json_limits limits = {COR_CATALOG_BODY_MAX, DOCUMENT_DEPTH, true};
    struct cor_json_error why;
    bool is_canonical;
    char *copy;
    int r = cor_json_check(body, &limits, &is_canonical, &why);

    if (r == 0 && cor_json_type(cor_str_trim(body)) != COR_JSON_OBJECT)
        r = -COR_EINVAL;
    if (r == -COR_EINVAL)
        r = -COR_EPROTOCOL;
    if (r == 0)
        r = COR_ARRAY_RESERVE(&catalog->bodies, catalog->nbodies, &catalog->bodies_cap, BODIES_MAX);
    if (r < 0)
        return r;
    copy = cor_strndup(body.p, body.n);
    if (!copy)
        return -COR_ENOMEM;
    catalog->bodies[catalog->nbodies++] = copy;
    *ret_kept = cor_str_trim(cor_str(copy, body.n));
    return 0;
}

/* The value of a member as it is; empty when the member is absent. */
static struct cor_str value_at(struct cor_str object, const char *key)
{
    struct cor_str value;

    return cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0 ? value
                                                                                : COR_STR("");
}

/* The text of a string member, without unescaping: the names of discovery have no escapes. */
static struct cor_str text_at(struct cor_str object, const char *key)
{
    struct cor_str raw;

    return cor_json_to_raw(value_at(object, key), &raw) == 0 ? raw : COR_STR("");
}

static struct cor_str words_at(struct cor_str object, const char *key)
{
    struct cor_str value = value_at(object, key);

    return cor_json_type(value) == COR_JSON_ARRAY ? value : COR_STR("");
}

static struct cor_gvk kind_at(struct cor_str object, const char *key)
{
    struct cor_str kind = value_at(object, key);

    return (struct cor_gvk){text_at(kind, "group"), text_at(kind, "version"),
                            text_at(kind, "kind")};
}

static int add_group(struct cor_catalog *catalog, struct cor_str name,
                     struct cor_catalog_group **ret_group)
{
    int r = COR_ARRAY_RESERVE(&catalog->groups, catalog->ngroups, &catalog->cap,
                              COR_CATALOG_GROUPS_MAX);

    if (r < 0)
        return r;
    *ret_group = &catalog->groups[catalog->ngroups++];
    **ret_group = (struct cor_catalog_group){.name = name};
    return 0;
}

static int add_version(struct cor_catalog_group *group, struct cor_str version,
                       struct cor_catalog_version **ret_version)
{
    int r = COR_ARRAY_RESERVE(&group->versions, group->nversions, &group->cap,
                              COR_CATALOG_VERSIONS_MAX);

    if (r < 0)
        return r;
    *ret_version = &group->versions[group->nversions++];
    **ret_version = (struct cor_catalog_version){.version = version};
    return 0;
}

static int add_resource(struct cor_catalog_version *version,
                        const struct cor_catalog_resource *resource)
{
    int r = COR_ARRAY_RESERVE(&version->resources, version->nresources, &version->cap,
                              COR_CATALOG_RESOURCES_MAX);

    if (r == 0)
        version->resources[version->nresources++] = *resource;
    return r;
}

static bool is_empty_kind(const struct cor_gvk *kind)
{
    return kind->group.n == 0 && kind->version.n == 0 && kind->kind.n == 0;
}

static int add_subresources(struct cor_catalog_version *version,
                            const struct cor_catalog_resource *parent, struct cor_str json)
{
    struct cor_json_iter it = cor_json_iter(value_at(json, "subresources"));
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str sub = cor_json_iter_value(&it);
        struct cor_catalog_resource resource = {
            .name = parent->name,
            .subresource = text_at(sub, "subresource"),
            .singular = parent->singular,
            .kind = kind_at(sub, "responseKind"),
            .is_namespaced = parent->is_namespaced,
            .verbs = words_at(sub, "verbs"),
        };

        if (resource.subresource.n > 0 && !is_empty_kind(&resource.kind))
            r = add_resource(version, &resource);
    }
    return r;
}

static int read_aggregated_resource(struct cor_catalog_version *version, struct cor_str json)
{
    struct cor_catalog_resource resource = {
        .name = text_at(json, "resource"),
        .singular = text_at(json, "singularResource"),
        .kind = kind_at(json, "responseKind"),
        .is_namespaced = cor_str_eqz(text_at(json, "scope"), "Namespaced"),
        .verbs = words_at(json, "verbs"),
        .short_names = words_at(json, "shortNames"),
        .categories = words_at(json, "categories"),
    };
    int r = 0;

    if (!is_empty_kind(&resource.kind))
        r = add_resource(version, &resource);
    return r < 0 ? r : add_subresources(version, &resource, json);
}

/* A stale version is not a version of its group, as upstream has it; it stays as a failure. */
static int read_aggregated_version(struct cor_catalog_group *group, struct cor_str json)
{
    struct cor_json_iter it = cor_json_iter(value_at(json, "resources"));
    struct cor_catalog_version *version;
    int r = add_version(group, text_at(json, "version"), &version);

    if (r < 0)
        return r;
    if (cor_str_eqz(text_at(json, "freshness"), "Stale")) {
        cor_status_untyped(&version->error, -COR_ENOTFOUND,
                           "stale GroupVersion discovery: %.*s%s%.*s", COR_STR_ARG(group->name),
                           group->name.n > 0 ? "/" : "", COR_STR_ARG(version->version));
        return 0;
    }
    if (group->preferred.n == 0)
        group->preferred = version->version;
    while (r == 0 && cor_json_iter_elem(&it))
        r = read_aggregated_resource(version, cor_json_iter_value(&it));
    version->is_known = true;
    return r;
}

int cor_catalog_add_aggregated(struct cor_catalog *catalog, struct cor_str body)
{
    struct cor_str kept;
    struct cor_json_iter it;
    int r = keep_body(catalog, body, &kept);

    if (r < 0)
        return r;
    it = cor_json_iter(value_at(kept, "items"));
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str json = cor_json_iter_value(&it);
        struct cor_json_iter versions = cor_json_iter(value_at(json, "versions"));
        struct cor_catalog_group *group;

        r = add_group(catalog, text_at(value_at(json, "metadata"), "name"), &group);
        while (r == 0 && cor_json_iter_elem(&versions))
            r = read_aggregated_version(group, cor_json_iter_value(&versions));
    }
    return r;
}

int cor_catalog_add_api_versions(struct cor_catalog *catalog, struct cor_str body)
{
    struct cor_str kept, raw;
    struct cor_json_iter it;
    struct cor_catalog_group *group = NULL;
    struct cor_catalog_version *version;
    int r = keep_body(catalog, body, &kept);

    if (r == 0)
        r = add_group(catalog, COR_STR(""), &group);
    if (r < 0)
        return r;
    it = cor_json_iter(value_at(kept, "versions"));
    while (r == 0 && cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) < 0)
            continue;
        r = add_version(group, raw, &version);
        if (group->preferred.n == 0)
            group->preferred = raw;
    }
    return r;
}

static int read_group(struct cor_catalog *catalog, struct cor_str json)
{
    struct cor_json_iter it = cor_json_iter(value_at(json, "versions"));
    struct cor_catalog_group *group;
    struct cor_catalog_version *version;
    int r = add_group(catalog, text_at(json, "name"), &group);

    if (r == 0)
        group->preferred = text_at(value_at(json, "preferredVersion"), "version");
    while (r == 0 && cor_json_iter_elem(&it))
        r = add_version(group, text_at(cor_json_iter_value(&it), "version"), &version);
    return r;
}

int cor_catalog_add_api_groups(struct cor_catalog *catalog, struct cor_str body)
{
    struct cor_str kept;
    struct cor_json_iter it;
    int r = keep_body(catalog, body, &kept);

    if (r < 0)
        return r;
    it = cor_json_iter(value_at(kept, "groups"));
    while (r == 0 && cor_json_iter_elem(&it))
        r = read_group(catalog, cor_json_iter_value(&it));
    return r;
}

static int read_resource(struct cor_catalog_version *version, struct cor_str json)
{
    struct cor_str sub = text_at(json, "name");
    struct cor_str name = cor_str_cut(&sub, '/');
    struct cor_catalog_resource resource = {
        .name = name,
        .subresource = sub,
        .singular = text_at(json, "singularName"),
        .kind = {text_at(json, "group"), text_at(json, "version"), text_at(json, "kind")},
        .verbs = words_at(json, "verbs"),
        .short_names = words_at(json, "shortNames"),
        .categories = words_at(json, "categories"),
    };

    cor_json_to_bool(value_at(json, "namespaced"), &resource.is_namespaced);
    return add_resource(version, &resource);
}

int cor_catalog_set_resources(struct cor_catalog *catalog, struct cor_catalog_version *version,
                              struct cor_str body)
{
    struct cor_str kept;
    struct cor_json_iter it;
    int r = keep_body(catalog, body, &kept);

    if (r < 0)
        return r;
    cor_status_deinit(&version->error);
    version->nresources = 0;
    it = cor_json_iter(value_at(kept, "resources"));
    while (r == 0 && cor_json_iter_elem(&it))
        r = read_resource(version, cor_json_iter_value(&it));
    version->is_known = true;
    return r;
}

static int choose(struct cor_catalog_version *version, bool is_preferred, struct cor_map *chosen)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < version->nresources; i++) {
        struct cor_catalog_resource *resource = &version->resources[i];
        struct cor_catalog_resource *other = cor_map_peek(chosen, resource->name);

        resource->is_chosen = resource->subresource.n == 0 && (!other || is_preferred);
        if (!resource->is_chosen)
            continue;
        if (other)
            other->is_chosen = false;
        r = cor_map_put(chosen, resource->name, resource, NULL);
    }
    return r;
}

int cor_catalog_choose(struct cor_catalog *catalog)
{
    COR_CLEANUP(cor_map_deinit) struct cor_map chosen; /* of one group, by their plurals */
    int r = 0;

    cor_map_init(&chosen, (size_t)COR_CATALOG_VERSIONS_MAX * COR_CATALOG_RESOURCES_MAX);
    for (size_t i = 0; i < catalog->ngroups; i++) {
        struct cor_catalog_group *group = &catalog->groups[i];

        cor_map_clear(&chosen);
        for (size_t j = 0; r == 0 && j < group->nversions; j++)
            r = choose(&group->versions[j],
                       cor_str_eq(group->versions[j].version, group->preferred), &chosen);
    }
    return r;
}

struct failure {
    struct cor_gv gv;
    const struct cor_status *error;
};

static int by_name(const void *a, const void *b)
{
    const struct failure *x = a, *y = b;
    int c = cor_str_cmp(x->gv.group, y->gv.group);

    return c ? c : cor_str_cmp(x->gv.version, y->gv.version);
}

static size_t gather_failures(const struct cor_catalog *catalog, struct failure *to)
{
    size_t n = 0;

    for (size_t i = 0; i < catalog->ngroups; i++)
        for (size_t k = 0; k < catalog->groups[i].nversions; k++) {
            const struct cor_catalog_version *version = &catalog->groups[i].versions[k];

            if (version->error.err == 0)
                continue;
            if (to)
                to[n] =
                    (struct failure){{catalog->groups[i].name, version->version}, &version->error};
            n++;
        }
    return n;
}

static int print_failures(const struct failure *failures, size_t n, struct cor_buf *text)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (i > 0)
            r = cor_buf_addz(text, ", ");
        if (r == 0)
            r = cor_gv_print(&failures[i].gv, text);
        if (r == 0)
            r = cor_buf_addf(text, ": %s", cor_status_message(failures[i].error));
    }
    return r;
}

bool cor_catalog_failures(const struct cor_catalog *catalog, struct cor_status *ret_status)
{
    COR_CLEANUP(cor_freep) struct failure *failures = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    size_t n = gather_failures(catalog, NULL);

    cor_buf_init(&text, FAILURES_MAX);
    if (n == 0)
        return false;
    failures = cor_alloc(n * sizeof(failures[0]));
    if (failures) {
        gather_failures(catalog, failures);
        qsort(failures, n, sizeof(failures[0]), by_name);
        print_failures(failures, n, &text);
    }
    cor_status_untyped(ret_status, -COR_ENOTFOUND,
                       "unable to retrieve the complete list of server APIs: %s", cor_buf_z(&text));
    return true;
}

bool cor_catalog_has_word(struct cor_str words, struct cor_str word)
{
    struct cor_json_iter it = cor_json_iter(words);
    struct cor_str raw;

    while (cor_json_iter_elem(&it))
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 && cor_str_eq(raw, word))
            return true;
    return false;
}
