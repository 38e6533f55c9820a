/* The documents of discovery, made from the table of resources when the API is made: groups,
 * versions, and both as one aggregated document with an ETag. They do not change while the server
 * runs, except that the address of the server is set before the loops start. The documents of
 * single groups and versions are written when they are asked for.
 * Thread: made on one thread; read by any afterwards. */
#include "server/docs/discovery.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "json/writer.h"

#define DOC_MAX (4u << 20)

static bool same_group(const struct cor_resource_row *a, const struct cor_resource_row *b)
{
    return cor_str_eq(a->group, b->group);
}

static bool same_version(const struct cor_resource_row *a, const struct cor_resource_row *b)
{
    return same_group(a, b) && cor_str_eq(a->version, b->version);
}

static void write_verbs(struct cor_json_writer *w, unsigned verbs)
{
    cor_json_key(w, COR_STR("verbs"));
    cor_json_begin_array(w);
    for (int v = 0; v < COR_VERB_COUNT; v++) {
        if (verbs & (1u << v))
            cor_json_string(w, cor_strz(cor_api_verb_name((enum cor_api_verb)v)));
    }
    cor_json_end_array(w);
}

static void write_names(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    if (r->short_names[0]) {
        cor_json_key(w, COR_STR("shortNames"));
        cor_json_begin_array(w);
        for (size_t i = 0; i < COR_ARRAY_LEN(r->short_names) && r->short_names[i]; i++)
            cor_json_string(w, cor_strz(r->short_names[i]));
        cor_json_end_array(w);
    }
    if (r->category) {
        cor_json_key(w, COR_STR("categories"));
        cor_json_begin_array(w);
        cor_json_string(w, cor_strz(r->category));
        cor_json_end_array(w);
    }
}

static void write_group_version(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("groupVersion"), r->api_version);
    cor_json_member(w, COR_STR("version"), r->version);
    cor_json_end_object(w);
}

/* The members of an APIGroup, from the first resource of the group on. */
static void write_group(struct cor_json_writer *w, const struct cor_discovery_docs *d, size_t first)
{
    const struct cor_resource_row *r = &d->resources[first];

    cor_json_member(w, COR_STR("name"), r->group);
    cor_json_key(w, COR_STR("versions"));
    cor_json_begin_array(w);
    for (size_t i = first, last = d->nresources; i < d->nresources; i++) {
        if (!same_group(r, &d->resources[i]))
            continue;
        if (last == d->nresources || !same_version(&d->resources[last], &d->resources[i]))
            write_group_version(w, &d->resources[i]);
        last = i;
    }
    cor_json_end_array(w);
    cor_json_key(w, COR_STR("preferredVersion"));
    write_group_version(w, r);
}

/* Calls for the first resource of each group, the core group or all others. */
typedef void (*group_fn)(struct cor_json_writer *w, const struct cor_discovery_docs *d,
                         size_t first);

static void each_group(struct cor_json_writer *w, const struct cor_discovery_docs *d, bool core,
                       group_fn fn)
{
    for (size_t i = 0, prev = d->nresources; i < d->nresources; prev = i, i++) {
        bool first = prev == d->nresources || !same_group(&d->resources[prev], &d->resources[i]);

        if (first && (d->resources[i].group.n == 0) == core)
            fn(w, d, i);
    }
}

static void write_group_item(struct cor_json_writer *w, const struct cor_discovery_docs *d,
                             size_t first)
{
    cor_json_begin_object(w);
    write_group(w, d, first);
    cor_json_end_object(w);
}

static int build_groups(struct cor_discovery_docs *d)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, &d->groups.json);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("APIGroupList"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
    cor_json_key(&w, COR_STR("groups"));
    cor_json_begin_array(&w);
    each_group(&w, d, false, write_group_item);
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static int build_versions(struct cor_discovery_docs *d, const char *server_address)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, &d->versions.json);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("APIVersions"));
    cor_json_key(&w, COR_STR("versions"));
    cor_json_begin_array(&w);
    cor_json_string(&w, COR_STR("v1"));
    cor_json_end_array(&w);
    cor_json_key(&w, COR_STR("serverAddressByClientCIDRs"));
    cor_json_begin_array(&w);
    if (server_address) {
        cor_json_begin_object(&w);
        cor_json_member(&w, COR_STR("clientCIDR"), COR_STR("0.0.0.0/0"));
        cor_json_member(&w, COR_STR("serverAddress"), cor_strz(server_address));
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void write_response_kind(struct cor_json_writer *w, const char *group, const char *version,
                                struct cor_str kind)
{
    cor_json_key(w, COR_STR("responseKind"));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("group"), cor_strz(group));
    cor_json_member(w, COR_STR("version"), cor_strz(version));
    cor_json_member(w, COR_STR("kind"), kind);
    cor_json_end_object(w);
}

static bool has_served_subresource(const struct cor_resource_row *r)
{
    for (size_t i = 0; i < r->nsubresources; i++) {
        if (r->subresources[i].is_served)
            return true;
    }
    return false;
}

static void write_aggregated_subresources(struct cor_json_writer *w,
                                          const struct cor_resource_row *r)
{
    if (!has_served_subresource(r))
        return;
    cor_json_key(w, COR_STR("subresources"));
    cor_json_begin_array(w);
    for (size_t i = 0; i < r->nsubresources; i++) {
        const struct cor_api_subresource *s = &r->subresources[i];

        if (!s->is_served)
            continue;
        cor_json_begin_object(w);
        cor_json_member(w, COR_STR("subresource"), cor_strz(s->name));
        write_response_kind(w, s->group, s->version, s->kind ? cor_strz(s->kind) : r->kind);
        write_verbs(w, s->verbs);
        cor_json_end_object(w);
    }
    cor_json_end_array(w);
}

static void write_aggregated_resource(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("resource"), r->plural);
    write_response_kind(w, "", "", r->kind);
    cor_json_member(w, COR_STR("scope"),
                    cor_api_is_namespaced(r) ? COR_STR("Namespaced") : COR_STR("Cluster"));
    cor_json_member(w, COR_STR("singularResource"), r->singular);
    write_verbs(w, r->verbs);
    write_names(w, r);
    write_aggregated_subresources(w, r);
    cor_json_end_object(w);
}

static size_t write_aggregated_version(struct cor_json_writer *w,
                                       const struct cor_discovery_docs *d, size_t first)
{
    size_t i;

    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("version"), d->resources[first].version);
    cor_json_key(w, COR_STR("resources"));
    cor_json_begin_array(w);
    for (i = first; i < d->nresources && same_version(&d->resources[first], &d->resources[i]); i++)
        write_aggregated_resource(w, &d->resources[i]);
    cor_json_end_array(w);
    cor_json_member(w, COR_STR("freshness"), COR_STR("Current"));
    cor_json_end_object(w);
    return i;
}

static void write_aggregated_group(struct cor_json_writer *w, const struct cor_discovery_docs *d,
                                   size_t first)
{
    size_t i = first;

    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("metadata"));
    cor_json_begin_object(w);
    if (d->resources[first].group.n > 0)
        cor_json_member(w, COR_STR("name"), d->resources[first].group);
    cor_json_end_object(w);
    cor_json_key(w, COR_STR("versions"));
    cor_json_begin_array(w);
    while (i < d->nresources && same_group(&d->resources[first], &d->resources[i]))
        i = write_aggregated_version(w, d, i);
    cor_json_end_array(w);
    cor_json_end_object(w);
}

static int build_aggregated(const struct cor_discovery_docs *d, bool core,
                            struct cor_discovery_doc *doc)
{
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, &doc->json);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("APIGroupDiscoveryList"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("apidiscovery.k8s.io/v2"));
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_end_object(&w);
    cor_json_key(&w, COR_STR("items"));
    cor_json_begin_array(&w);
    each_group(&w, d, core, write_aggregated_group);
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    snprintf(doc->etag, sizeof(doc->etag), "\"%016llX\"",
             (unsigned long long)cor_str_hash(cor_buf_str(&doc->json)));
    return r;
}

int cor_discovery_init(struct cor_discovery_docs *discovery,
                       const struct cor_resource_row *resources, size_t nresources)
{
    int r;

    assert(resources && nresources > 0);
    *discovery = (struct cor_discovery_docs){.resources = resources, .nresources = nresources};
    cor_buf_init(&discovery->versions.json, DOC_MAX);
    cor_buf_init(&discovery->groups.json, DOC_MAX);
    cor_buf_init(&discovery->core_all.json, DOC_MAX);
    cor_buf_init(&discovery->groups_all.json, DOC_MAX);
    r = build_versions(discovery, NULL);
    if (r == 0)
        r = build_groups(discovery);
    if (r == 0)
        r = build_aggregated(discovery, true, &discovery->core_all);
    if (r == 0)
        r = build_aggregated(discovery, false, &discovery->groups_all);
    return r;
}

int cor_discovery_set_address(struct cor_discovery_docs *discovery, const char *server_address)
{
    cor_buf_reset(&discovery->versions.json);
    return build_versions(discovery, server_address);
}

void cor_discovery_deinit(struct cor_discovery_docs *discovery)
{
    cor_buf_deinit(&discovery->versions.json);
    cor_buf_deinit(&discovery->groups.json);
    cor_buf_deinit(&discovery->core_all.json);
    cor_buf_deinit(&discovery->groups_all.json);
}

int cor_discovery_group(const struct cor_discovery_docs *discovery, struct cor_str group,
                        struct cor_buf *out)
{
    size_t i = 0;
    struct cor_json_writer w;

    assert(discovery->resources && out);
    while (i < discovery->nresources && !cor_str_eq(discovery->resources[i].group, group))
        i++;
    if (i == discovery->nresources || group.n == 0)
        return -COR_ENOTFOUND;
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("APIGroup"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
    write_group(&w, discovery, i);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void write_resource(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("name"), r->plural);
    cor_json_member(w, COR_STR("singularName"), r->singular);
    cor_json_key(w, COR_STR("namespaced"));
    cor_json_bool(w, cor_api_is_namespaced(r));
    cor_json_member(w, COR_STR("kind"), r->kind);
    write_verbs(w, r->verbs);
    write_names(w, r);
    if (r->hash)
        cor_json_member(w, COR_STR("storageVersionHash"), cor_strz(r->hash));
    cor_json_end_object(w);
}

static void write_subresource(struct cor_json_writer *w, const struct cor_resource_row *r,
                              const struct cor_api_subresource *s)
{
    char name[128];

    snprintf(name, sizeof(name), "%.*s/%s", COR_STR_ARG(r->plural), s->name);
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("name"), cor_strz(name));
    cor_json_member(w, COR_STR("singularName"), COR_STR(""));
    cor_json_key(w, COR_STR("namespaced"));
    cor_json_bool(w, cor_api_is_namespaced(r));
    if (s->group)
        cor_json_member(w, COR_STR("group"), cor_strz(s->group));
    if (s->version)
        cor_json_member(w, COR_STR("version"), cor_strz(s->version));
    cor_json_member(w, COR_STR("kind"), s->kind ? cor_strz(s->kind) : r->kind);
    write_verbs(w, s->verbs);
    cor_json_end_object(w);
}

int cor_discovery_version(const struct cor_discovery_docs *discovery, struct cor_str group,
                          struct cor_str version, struct cor_buf *out)
{
    const struct cor_resource_row *first = NULL;
    struct cor_json_writer w;

    assert(discovery->resources && out);
    cor_json_writer_init(&w, out);
    for (size_t i = 0; i < discovery->nresources; i++) {
        const struct cor_resource_row *r = &discovery->resources[i];

        if (!cor_str_eq(r->group, group) || !cor_str_eq(r->version, version))
            continue;
        if (!first) {
            first = r;
            cor_json_begin_object(&w);
            cor_json_member(&w, COR_STR("kind"), COR_STR("APIResourceList"));
            if (group.n > 0)
                cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
            cor_json_member(&w, COR_STR("groupVersion"), r->api_version);
            cor_json_key(&w, COR_STR("resources"));
            cor_json_begin_array(&w);
        }
        write_resource(&w, r);
        for (size_t s = 0; s < r->nsubresources; s++) {
            if (r->subresources[s].is_served)
                write_subresource(&w, r, &r->subresources[s]);
        }
    }
    if (!first)
        return -COR_ENOTFOUND;
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}
