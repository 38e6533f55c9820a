/* From a kind or a partial resource to the resource that serves it, over a catalog: client-go's
 * priority mapper.
 *
 * All resources that match are gathered (the visit_ functions), then matches_choose() narrows them
 * until one is left: core v1 first; then, group by group in the order of discovery, the version
 * that the server prefers and the others; then the group alone. No match is -COR_ENOTFOUND; several
 * that none of this decides between are -COR_ECONFLICT; both in upstream's words. Thread: any
 * (values; the catalog is borrowed). */
#include "client/discovery/rest_mapper.h"

#include <ctype.h>

#include "base/buf.h"
#include "base/err.h"
#include "meta/status/quote.h"

#define MATCHES_MAX 256
#define TEXT_MAX    COR_STATUS_MESSAGE_MAX

struct matches {
    struct cor_rest_mapping at[MATCHES_MAX];
    size_t n;
};

static bool eq_nocase(struct cor_str a, struct cor_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (tolower((unsigned char)a.p[i]) != tolower((unsigned char)b.p[i]))
            return false;
    return true;
}

/* A resource without a singular name has the kind in lower case, as upstream assumes. */
static bool is_singular(const struct cor_catalog_resource *resource, struct cor_str name)
{
    return eq_nocase(resource->singular.n > 0 ? resource->singular : resource->kind.kind, name);
}

static void matches_add(struct matches *found, const struct cor_gv *gv,
                        const struct cor_catalog_resource *resource)
{
    if (found->n < MATCHES_MAX)
        found->at[found->n++] = (struct cor_rest_mapping){
            .resource = {gv->group, gv->version, resource->name},
            .kind = {gv->group, gv->version, resource->kind.kind},
            .is_namespaced = resource->is_namespaced,
        };
}

/* Calls back for each resource that is not a subresource, in the order of discovery. */
static void each_resource(const struct cor_catalog *catalog,
                          void (*visit)(void *arg, const struct cor_gv *gv,
                                        const struct cor_catalog_resource *resource),
                          void *arg)
{
    for (size_t i = 0; i < catalog->ngroups; i++) {
        const struct cor_catalog_group *group = &catalog->groups[i];

        for (size_t k = 0; k < group->nversions; k++) {
            const struct cor_catalog_version *version = &group->versions[k];
            struct cor_gv gv = {group->name, version->version};

            for (size_t m = 0; m < version->nresources; m++)
                if (version->resources[m].subresource.n == 0)
                    visit(arg, &gv, &version->resources[m]);
        }
    }
}

struct resource_search {
    const struct cor_gvr *partial;
    struct matches *found;
};

static void visit_resource(void *arg, const struct cor_gv *gv,
                           const struct cor_catalog_resource *resource)
{
    struct resource_search *s = arg;
    const struct cor_gvr *p = s->partial;
    bool is_whole = p->group.n > 0 && p->version.n > 0;

    if (!eq_nocase(resource->name, p->resource) && !is_singular(resource, p->resource))
        return;
    if (p->version.n > 0 && !cor_str_eq(p->version, gv->version))
        return;
    if (is_whole ? cor_str_eq(gv->group, p->group) : cor_str_starts(gv->group, p->group))
        matches_add(s->found, gv, resource);
}

struct kind_search {
    const struct cor_gk *gk;
    struct cor_str version;
    struct matches *found;
};

/* A kind is found by its name, and by its name in lower case. */
static bool is_kind(struct cor_str kind, struct cor_str asked)
{
    if (cor_str_eq(kind, asked))
        return true;
    for (size_t i = 0; i < asked.n; i++)
        if (isupper((unsigned char)asked.p[i]))
            return false;
    return eq_nocase(kind, asked);
}

static void visit_kind(void *arg, const struct cor_gv *gv,
                       const struct cor_catalog_resource *resource)
{
    struct kind_search *s = arg;

    if (cor_str_eq(gv->group, s->gk->group) && is_kind(resource->kind.kind, s->gk->kind) &&
        (s->version.n == 0 || cor_str_eq(gv->version, s->version)))
        matches_add(s->found, gv, resource);
}

/* Keeps the matches of a group and version (empty: any version), unless there are none. True: one
 * is left. */
static bool matches_narrow(struct matches *m, struct cor_str group, struct cor_str version)
{
    size_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        size_t kept = 0;

        for (size_t i = 0; i < m->n; i++) {
            const struct cor_gvr *r = &m->at[i].resource;

            if (!cor_str_eq(r->group, group) || (version.n > 0 && !cor_str_eq(r->version, version)))
                continue;
            if (pass == 1)
                m->at[kept] = m->at[i];
            kept++;
        }
        n = kept;
        if (n == 0)
            return false;
    }
    m->n = n;
    return n == 1;
}

static bool matches_narrow_group(struct matches *m, const struct cor_catalog_group *group)
{
    if (group->preferred.n > 0 && matches_narrow(m, group->name, group->preferred))
        return true;
    for (size_t i = 0; i < group->nversions; i++)
        if (!cor_str_eq(group->versions[i].version, group->preferred) &&
            matches_narrow(m, group->name, group->versions[i].version))
            return true;
    return false;
}

static bool matches_choose(const struct cor_catalog *catalog, struct matches *m)
{
    if (m->n == 1 || matches_narrow(m, COR_STR(""), COR_STR("v1")))
        return true;
    for (size_t i = 0; i < catalog->ngroups; i++)
        if (matches_narrow_group(m, &catalog->groups[i]))
            return true;
    for (size_t i = 0; i < catalog->ngroups; i++)
        if (matches_narrow(m, catalog->groups[i].name, COR_STR("")))
            return true;
    return false;
}

static int no_memory(int r, struct cor_status *reterr)
{
    return cor_status_set(reterr, r, "%s", cor_err_text(r));
}

/* "<partial> matches multiple resources [a b]". */
static int refuse_ambiguous(const struct cor_gvr *partial, const struct matches *m,
                            struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = cor_gvr_print(partial, &text);
    if (r == 0)
        r = cor_buf_addz(&text, " matches multiple resources [");
    for (size_t i = 0; r == 0 && i < m->n; i++) {
        if (i > 0)
            r = cor_buf_addc(&text, ' ');
        if (r == 0)
            r = cor_gvr_print(&m->at[i].resource, &text);
    }
    if (r == 0)
        r = cor_buf_addc(&text, ']');
    return r < 0 ? no_memory(r, reterr)
                 : cor_status_set(reterr, -COR_ECONFLICT, "%s", cor_buf_z(&text));
}

static int refuse_resource(const struct cor_gvr *partial, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = cor_gvr_print(partial, &text);
    return r < 0 ? no_memory(r, reterr)
                 : cor_status_set(reterr, -COR_ENOTFOUND, "no matches for %s", cor_buf_z(&text));
}

/* `no matches for kind "X" in group "g"`, or `in version "g/v"`. */
static int refuse_kind(const struct cor_gk *gk, struct cor_str version, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, gv;
    struct cor_gv asked = {gk->group, version};
    int r;

    cor_buf_init(&text, TEXT_MAX);
    cor_buf_init(&gv, TEXT_MAX);
    r = version.n > 0 ? cor_gv_print(&asked, &gv) : cor_buf_adds(&gv, gk->group);
    if (r == 0)
        r = cor_quote(gk->kind, &text);
    if (r == 0)
        r = cor_buf_addz(&text, version.n > 0 ? " in version " : " in group ");
    if (r == 0)
        r = cor_quote(cor_buf_str(&gv), &text);
    return r < 0
               ? no_memory(r, reterr)
               : cor_status_set(reterr, -COR_ENOTFOUND, "no matches for kind %s", cor_buf_z(&text));
}

int cor_rest_mapping_of_kind(const struct cor_catalog *catalog, const struct cor_gk *gk,
                             struct cor_str version, struct cor_rest_mapping *ret_mapping,
                             struct cor_status *reterr)
{
    struct matches found = {.n = 0};
    struct kind_search search = {gk, version, &found};
    struct cor_gvr partial = {gk->group, version, gk->kind};

    each_resource(catalog, visit_kind, &search);
    if (found.n == 0)
        return refuse_kind(gk, version, reterr);
    if (!matches_choose(catalog, &found))
        return refuse_ambiguous(&partial, &found, reterr);
    *ret_mapping = found.at[0];
    return 0;
}

int cor_rest_mapping_of_resource(const struct cor_catalog *catalog, const struct cor_gvr *partial,
                                 struct cor_rest_mapping *ret_mapping, struct cor_status *reterr)
{
    struct matches found = {.n = 0};
    struct resource_search search = {partial, &found};

    if (partial->resource.n == 0)
        return cor_status_set(reterr, -COR_EINVAL, "a resource must be present");
    each_resource(catalog, visit_resource, &search);
    if (found.n == 0)
        return refuse_resource(partial, reterr);
    if (!matches_choose(catalog, &found))
        return refuse_ambiguous(partial, &found, reterr);
    *ret_mapping = found.at[0];
    return 0;
}

struct shortcut_search {
    const struct cor_gvr *partial;
    bool is_own_name; /* of a resource */
    struct cor_gr found, by_prefix;
    void (*on_warning)(void *arg, const char *text);
    void *arg;
    struct cor_gr warned; /* the last one; the versions of a resource come one after the other */
};

static void visit_name(void *arg, const struct cor_gv *gv,
                       const struct cor_catalog_resource *resource)
{
    struct shortcut_search *s = arg;

    if ((s->partial->group.n == 0 || cor_str_eq(s->partial->group, gv->group)) &&
        (cor_str_eq(s->partial->resource, resource->name) ||
         cor_str_eq(s->partial->resource, resource->singular)))
        s->is_own_name = true;
}

static void shortcut_warn(struct shortcut_search *s, const struct cor_gr *other)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    int r;

    if (!s->on_warning || cor_gr_eq(&s->warned, other))
        return;
    s->warned = *other;
    r = cor_buf_addz(&text, "short name ");
    if (r == 0)
        r = cor_quote(s->partial->resource, &text);
    if (r == 0)
        r = cor_buf_addz(&text, " could also match lower priority resource ");
    if (r == 0)
        r = cor_gr_print(other, &text);
    if (r == 0)
        s->on_warning(s->arg, cor_buf_z(&text));
}

static void visit_shortcut(void *arg, const struct cor_gv *gv,
                           const struct cor_catalog_resource *resource)
{
    struct shortcut_search *s = arg;
    struct cor_gr gr = {gv->group, resource->name};

    if (!cor_catalog_has_word(resource->short_names, s->partial->resource))
        return;
    if (s->by_prefix.resource.n == 0 && cor_str_starts(gv->group, s->partial->group))
        s->by_prefix = gr;
    if (s->partial->group.n > 0 && !cor_str_eq(s->partial->group, gv->group))
        return;
    if (s->found.resource.n == 0)
        s->found = gr;
    else if (!cor_gr_eq(&s->found, &gr))
        shortcut_warn(s, &gr);
}

struct cor_gvr cor_rest_mapper_expand(const struct cor_catalog *catalog,
                                      const struct cor_gvr *partial,
                                      void (*on_warning)(void *arg, const char *text), void *arg)
{
    struct shortcut_search s = {.partial = partial, .on_warning = on_warning, .arg = arg};

    each_resource(catalog, visit_name, &s);
    if (s.is_own_name)
        return *partial;
    each_resource(catalog, visit_shortcut, &s);
    if (s.found.resource.n > 0)
        return (struct cor_gvr){s.found.group, COR_STR(""), s.found.resource};
    if (partial->group.n > 0 && s.by_prefix.resource.n > 0)
        return (struct cor_gvr){s.by_prefix.group, partial->version, s.by_prefix.resource};
    return *partial;
}

struct category_search {
    struct cor_str category;
    struct cor_gr *to;
    size_t n, max;
};

static void visit_category(void *arg, const struct cor_gv *gv,
                           const struct cor_catalog_resource *resource)
{
    struct category_search *s = arg;
    struct cor_gr gr = {gv->group, resource->name};

    if (!cor_catalog_has_word(resource->categories, s->category))
        return;
    for (size_t i = 0; i < s->n && i < s->max; i++)
        if (cor_gr_eq(&s->to[i], &gr))
            return;
    if (s->n < s->max)
        s->to[s->n] = gr;
    s->n++;
}

size_t cor_rest_mapper_category(const struct cor_catalog *catalog, struct cor_str category,
                                struct cor_gr *ret_resources, size_t max)
{
    struct category_search s = {category, ret_resources, 0, max};

    each_resource(catalog, visit_category, &s);
    return s.n;
}
