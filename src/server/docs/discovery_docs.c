/* The documents of discovery, made from a snapshot of what is served: groups, versions, and both as
 * one aggregated document with an ETag. The snapshot keeps these (server/catalog/served.h); the
 * documents of single groups and versions are written when they are asked for.
 * Thread: any. */
#include "server/docs/discovery_docs.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "schema/kinds/custom_row.h"
#include "json/write/print.h"

/* The group versions of a snapshot that are listed, and its rows. */
struct listed {
    const struct cor_served_version *v;
    size_t n;
    const struct cor_resource_row *const *rows;
    const struct cor_served *served;
};

static struct listed listed_of(const struct cor_served *served)
{
    struct listed listed = {.served = served};
    size_t n;

    listed.rows = cor_served_rows(served, &n);
    listed.v = cor_served_versions(served, &listed.n);
    while (listed.n > 0 && !listed.v[listed.n - 1].is_listed)
        listed.n--;
    return listed;
}

static bool same_group(const struct cor_served_version *a, const struct cor_served_version *b)
{
    return cor_str_eq(a->group, b->group);
}

/* The verbs of a custom resource have another order upstream, and while its definition is being
 * deleted only these four and watch are shown (contract crd 2.6.3). */
static void write_custom_verbs(struct cor_json_writer *w, const struct cor_resource_row *row)
{
    static const char *const verbs[] = {"delete", "deletecollection", "get",    "list",
                                        "patch",  "create",           "update", "watch"};

    cor_json_key(w, COR_STR("verbs"));
    cor_json_begin_array(w);
    for (size_t i = 0; i < COR_ARRAY_LEN(verbs); i++) {
        if (!cor_row_is_terminating(row) || i < 4 || i == 7)
            cor_json_string(w, cor_strz(verbs[i]));
    }
    cor_json_end_array(w);
}

static void write_verbs(struct cor_json_writer *w, unsigned verbs)
{
    cor_json_key(w, COR_STR("verbs"));
    cor_json_begin_array(w);
    for (int v = 0; v < COR_API_VERB_COUNT; v++) {
        if (verbs & (1u << v))
            cor_json_string(w, cor_strz(cor_api_verb_name((enum cor_api_verb)v)));
    }
    cor_json_end_array(w);
}

static void write_strings(struct cor_json_writer *w, const char *key, const struct cor_str *v,
                          size_t n)
{
    if (n == 0)
        return;
    cor_json_key(w, cor_strz(key));
    cor_json_begin_array(w);
    for (size_t i = 0; i < n; i++)
        cor_json_string(w, v[i]);
    cor_json_end_array(w);
}

static void write_row_verbs(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    if (r->custom)
        write_custom_verbs(w, r);
    else
        write_verbs(w, r->verbs);
}

static void write_names(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    if (r->custom) {
        write_strings(w, "shortNames", r->custom->short_names, r->custom->nshort_names);
        write_strings(w, "categories", r->custom->categories, r->custom->ncategories);
        return;
    }
    if (r->short_names[0]) {
        cor_json_key(w, COR_STR("shortNames"));
        cor_json_begin_array(w);
        for (size_t i = 0; i < COR_ARRAY_LEN(r->short_names) && r->short_names[i]; i++)
            cor_json_string(w, cor_strz(r->short_names[i]));
        cor_json_end_array(w);
    }
    if (r->category) {
        cor_json_print(w, "categories:[%s]", r->category);
    }
}

static void write_group_version(struct cor_json_writer *w, const struct cor_served_version *v)
{
    cor_json_print(w, "{groupVersion:%s,version:%s}", v->api_version, v->version);
}

/* The members of an APIGroup, from its first version on. */
static void write_group(struct cor_json_writer *w, const struct cor_served_version *v, size_t n)
{
    cor_json_print(w, "name:%s,versions:[", v->group);
    for (size_t i = 0; i < n && same_group(v, &v[i]); i++)
        write_group_version(w, &v[i]);
    cor_json_end_array(w);
    cor_json_key(w, COR_STR("preferredVersion"));
    write_group_version(w, v);
}

/* Calls for the first version of each group, the core group or all others. */
typedef void (*group_fn)(struct cor_json_writer *w, const struct listed *d, size_t first);

static void each_group(struct cor_json_writer *w, const struct listed *d, bool core, group_fn fn)
{
    for (size_t i = 0; i < d->n; i++) {
        bool is_first = i == 0 || !same_group(&d->v[i - 1], &d->v[i]);

        if (is_first && (d->v[i].group.n == 0) == core)
            fn(w, d, i);
    }
}

static void write_group_item(struct cor_json_writer *w, const struct listed *d, size_t first)
{
    cor_json_begin_object(w);
    write_group(w, &d->v[first], d->n - first);
    cor_json_end_object(w);
}

static int write_groups(const struct cor_served *served, const void *arg, struct cor_buf *out)
{
    const struct listed listed = listed_of(served);
    struct cor_json_writer w;

    (void)arg;
    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{kind:'APIGroupList',apiVersion:'v1',groups:[");
    each_group(&w, &listed, false, write_group_item);
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static int write_versions(const struct cor_served *served, const void *arg, struct cor_buf *out)
{
    const char *server_address = arg;
    struct cor_json_writer w;

    (void)served;
    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{kind:'APIVersions',versions:['v1'],serverAddressByClientCIDRs:[");
    if (server_address) {
        cor_json_print(&w, "{clientCIDR:'0.0.0.0/0',serverAddress:%s}", server_address);
    }
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void write_response_kind(struct cor_json_writer *w, struct cor_str group,
                                struct cor_str version, struct cor_str kind)
{
    cor_json_print(w, "responseKind:{group:%s,version:%s,kind:%s}", group, version, kind);
}

/* Upstream names group and version for custom resources only. */
static void write_row_kind(struct cor_json_writer *w, const struct cor_resource_row *r,
                           struct cor_str kind)
{
    write_response_kind(w, r->custom ? r->group : COR_STR(""), r->custom ? r->version : COR_STR(""),
                        kind);
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
        if (s->group)
            write_response_kind(w, cor_strz(s->group), cor_strz(s->version), cor_strz(s->kind));
        else
            write_row_kind(w, r, s->kind ? cor_strz(s->kind) : r->kind);
        write_verbs(w, s->verbs);
        cor_json_end_object(w);
    }
    cor_json_end_array(w);
}

static void write_aggregated_resource(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("resource"), r->plural);
    write_row_kind(w, r, r->kind);
    cor_json_member(w, COR_STR("scope"),
                    cor_api_is_namespaced(r) ? COR_STR("Namespaced") : COR_STR("Cluster"));
    cor_json_member(w, COR_STR("singularResource"), r->singular);
    write_row_verbs(w, r);
    write_names(w, r);
    write_aggregated_subresources(w, r);
    cor_json_end_object(w);
}

/* A version that another server answers for, as that has told it (Contract extension 4.5.2, 4.5.3).
 */
static void write_remote_version(struct cor_json_writer *w, const struct cor_remote_version *remote)
{
    struct cor_str resources = cor_remote_text_str(remote->resources);

    cor_json_print(w, "{version:%s,resources?:%j,freshness:%s}", remote->version,
                   remote->is_current && resources.n > 2 ? resources : COR_STR(""),
                   remote->is_current ? "Current" : "Stale");
}

/* Is the version in the aggregated document? One of another server is not before that was asked. */
static bool is_told(const struct listed *d, const struct cor_served_version *v)
{
    return !cor_served_version_is_remote(v) || cor_served_remote(d->served, v->group, v->version);
}

static void write_aggregated_version(struct cor_json_writer *w, const struct listed *d, size_t at)
{
    const struct cor_served_version *version = &d->v[at];

    if (cor_served_version_is_remote(version)) {
        write_remote_version(w, cor_served_remote(d->served, version->group, version->version));
        return;
    }
    cor_json_print(w, "{version:%s,resources:[", version->version);
    for (size_t i = 0; i < version->nrows; i++)
        write_aggregated_resource(w, d->rows[version->first_row + i]);
    cor_json_print(w, "],freshness:'Current'}");
}

static void write_aggregated_group(struct cor_json_writer *w, const struct listed *d, size_t first)
{
    bool is_any_told = false;

    for (size_t i = first; i < d->n && same_group(&d->v[first], &d->v[i]); i++)
        is_any_told = is_any_told || is_told(d, &d->v[i]);
    if (!is_any_told)
        return;
    cor_json_print(w, "{metadata:{name?:%s},versions:[", d->v[first].group);
    for (size_t i = first; i < d->n && same_group(&d->v[first], &d->v[i]); i++) {
        if (is_told(d, &d->v[i]))
            write_aggregated_version(w, d, i);
    }
    cor_json_end_array(w);
    cor_json_end_object(w);
}

/* `arg`: a bool, the core group or all others. */
static int write_aggregated(const struct cor_served *served, const void *arg, struct cor_buf *out)
{
    const struct listed listed = listed_of(served);
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{kind:'APIGroupDiscoveryList',apiVersion:'apidiscovery.k8s.io/v2',"
                       "metadata:{},items:[");
    each_group(&w, &listed, *(const bool *)arg, write_aggregated_group);
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_discovery_doc(struct cor_served *served, enum cor_served_doc_id id,
                      const char *server_address, const struct cor_served_doc **ret_doc)
{
    bool is_core = id == COR_DOC_CORE_ALL;

    switch (id) {
    case COR_DOC_VERSIONS:
        return cor_served_doc(served, id, write_versions, server_address, ret_doc);
    case COR_DOC_GROUPS:
        return cor_served_doc(served, id, write_groups, NULL, ret_doc);
    case COR_DOC_CORE_ALL:
    case COR_DOC_GROUPS_ALL:
        return cor_served_doc(served, id, write_aggregated, &is_core, ret_doc);
    case COR_DOC_COUNT:
        break;
    }
    assert(0);
    return -COR_EINVAL;
}

/* A group of which nothing is listed is shown by what is served of it. */
int cor_discovery_group(const struct cor_served *served, struct cor_str group, struct cor_buf *out)
{
    const struct cor_served_version *v;
    struct cor_json_writer w;
    size_t n, i = 0;

    assert(out);
    v = cor_served_versions(served, &n);
    while (i < n && !cor_str_eq(v[i].group, group))
        i++;
    if (i == n || group.n == 0)
        return -COR_ENOTFOUND;
    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{kind:'APIGroup',apiVersion:'v1'");
    write_group(&w, &v[i], n - i);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void write_resource(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    cor_json_print(w, "{name:%s,singularName:%s,namespaced:%b,kind:%s", r->plural, r->singular,
                   cor_api_is_namespaced(r), r->kind);
    write_row_verbs(w, r);
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
    cor_json_print(w, "{name:%s,singularName:'',namespaced:%b", name, cor_api_is_namespaced(r));
    if (s->group)
        cor_json_member(w, COR_STR("group"), cor_strz(s->group));
    if (s->version)
        cor_json_member(w, COR_STR("version"), cor_strz(s->version));
    cor_json_member(w, COR_STR("kind"), s->kind ? cor_strz(s->kind) : r->kind);
    write_verbs(w, s->verbs);
    cor_json_end_object(w);
}

int cor_discovery_version(const struct cor_served *served, struct cor_str group,
                          struct cor_str version, struct cor_buf *out)
{
    const struct cor_resource_row *const *rows;
    const struct cor_served_version *v;
    struct cor_json_writer w;
    size_t n, nrows, at = 0;

    assert(out);
    rows = cor_served_rows(served, &nrows);
    v = cor_served_versions(served, &n);
    while (at < n && !(cor_str_eq(v[at].group, group) && cor_str_eq(v[at].version, version)))
        at++;
    if (at == n || v[at].nrows == 0)
        return -COR_ENOTFOUND;
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("APIResourceList"));
    if (group.n > 0)
        cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
    cor_json_print(&w, "groupVersion:%s,resources:[", v[at].api_version);
    for (size_t i = 0; i < v[at].nrows; i++) {
        const struct cor_resource_row *r = rows[v[at].first_row + i];

        write_resource(&w, r);
        for (size_t s = 0; s < r->nsubresources; s++) {
            if (r->subresources[s].is_served)
                write_subresource(&w, r, &r->subresources[s]);
        }
    }
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}
