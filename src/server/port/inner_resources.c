/* clang-format off */
/* An enumeration of what the server serves, in the order of the catalog's versions:
 *
 *   a version of ours      ──► its rows
 *   an aggregated server's ──► the resources that its discovery named (catalog/remote_docs.h), or a
 *                              failure
 *   all of them            ──► the best version of each is marked ──► cor_api_resources
 *
 * What another server says is bounded: COR_REMOTE_RESOURCES_MAX of a version, and only names that
 * can stand in a path. The documents were checked when they were taken, so their form is trusted
 * here, not what they say.
 *
 * Failures: no memory; nothing is returned then.
 * Thread: any. */
/* clang-format on */
#include "server/port/inner_resources.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/names/validation.h"
#include "server/catalog/served.h"
#include "json/text/scan.h"

#define STALE_TEXT_MAX (8u << 20) /* a line for each APIService that there may be */
#define MIX            0x9e3779b97f4a7c15u

/* What is gathered. */
struct gathering {
    struct cor_port_resource *list;
    size_t n, cap;
    struct cor_api_resources_failure *failures;
    size_t nfailures, failures_cap;
    struct cor_buf text; /* the messages of the failures, one after the other */
};

static void gathering_deinit(struct gathering *g)
{
    cor_free(g->list);
    cor_free(g->failures);
    cor_buf_deinit(&g->text);
}

static int add(struct gathering *g, const struct cor_port_resource *resource)
{
    int r = COR_ARRAY_RESERVE(&g->list, g->n, &g->cap, COR_ARRAY_NO_MAX);

    if (r == 0)
        g->list[g->n++] = *resource;
    return r;
}

static int add_rows(struct gathering *g, const struct cor_resource_row *const *rows, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = add(g, &(struct cor_port_resource){
                       .gvr = {rows[i]->group, rows[i]->version, rows[i]->plural},
                       .kind = rows[i]->kind,
                       .is_namespaced = cor_api_is_namespaced(rows[i]),
                       .verbs = rows[i]->verbs,
                   });
    return r;
}

/* What the version has told of itself, or NULL: it cannot be enumerated. */
static const struct cor_remote_version *remote_of(const struct cor_served *served,
                                                  const struct cor_served_version *version)
{
    const struct cor_remote_version *remote =
        cor_served_remote(served, version->group, version->version);

    if (!cor_api_service_is_available(version->service) || !remote || !remote->is_current)
        return NULL;
    return remote;
}

/* The raw text of a member, which stands in a document as it is; empty: there is none. */
static struct cor_str text_of(struct cor_str object, const char *key)
{
    struct cor_str value, raw;

    if (cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    return raw;
}

static unsigned verbs_of(struct cor_str resource)
{
    struct cor_str list, raw;
    unsigned verbs = 0;

    if (cor_json_get(resource, COR_STR("verbs"), COR_JSON_ANY_ORDER, &list) < 0)
        return 0;
    for (struct cor_json_iter it = cor_json_iter(list); cor_json_iter_elem(&it);) {
        enum cor_api_verb verb = COR_API_VERB_NONE;

        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0)
            verb = cor_api_verb_find(raw);
        if (verb != COR_API_VERB_NONE)
            verbs |= 1u << verb;
    }
    return verbs;
}

/* Adds the resources of an array of APIResourceDiscovery. -COR_ETOOBIG: there are too many. */
static int add_remote(struct gathering *g, const struct cor_served_version *version,
                      struct cor_str array)
{
    size_t before = g->n;
    int r = 0;

    for (struct cor_json_iter it = cor_json_iter(array); r == 0 && cor_json_iter_elem(&it);) {
        struct cor_str resource = cor_json_iter_value(&it), kind;
        struct cor_port_resource one = {
            .gvr = {version->group, version->version, text_of(resource, "resource")},
            .is_namespaced = cor_str_eqz(text_of(resource, "scope"), "Namespaced"),
            .is_remote = true,
            .verbs = verbs_of(resource),
        };

        if (cor_json_get(resource, COR_STR("responseKind"), COR_JSON_ANY_ORDER, &kind) == 0)
            one.kind = text_of(kind, "kind");
        if (!cor_name_ok(COR_NAME_DNS1123_SUBDOMAIN, one.gvr.resource))
            continue;
        r = g->n - before < COR_REMOTE_RESOURCES_MAX ? add(g, &one) : -COR_ETOOBIG;
    }
    if (r < 0)
        g->n = before;
    return r;
}

/* The lengths of the messages first: the text may move. */
static int add_failure(struct gathering *g, const struct cor_served_version *version)
{
    size_t at = g->text.n;
    int r = COR_ARRAY_RESERVE(&g->failures, g->nfailures, &g->failures_cap, COR_ARRAY_NO_MAX);

    if (r == 0)
        r = cor_buf_addf(&g->text, "stale GroupVersion discovery: %.*s",
                         COR_STR_ARG(version->api_version));
    if (r == 0)
        g->failures[g->nfailures++] = (struct cor_api_resources_failure){
            .gv = {version->group, version->version}, .message = {.n = g->text.n - at}};
    return r;
}

static int gather(const struct cor_served *served, struct gathering *g)
{
    size_t nversions, nrows;
    const struct cor_served_version *versions = cor_served_versions(served, &nversions);
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);
    int r = 0;

    for (size_t i = 0; i < nversions && r == 0; i++) {
        const struct cor_served_version *version = &versions[i];
        const struct cor_remote_version *remote = NULL;

        if (!cor_served_version_is_remote(version)) {
            r = add_rows(g, &rows[version->first_row], version->nrows);
            continue;
        }
        remote = remote_of(served, version);
        if (remote)
            r = add_remote(g, version, cor_remote_text_str(remote->resources));
        if (!remote || r == -COR_ETOOBIG)
            r = add_failure(g, version);
    }
    for (size_t i = 0, at = 0; i < g->nfailures; at += g->failures[i++].message.n)
        g->failures[i].message.p = g->text.p + at;
    return r;
}

/* Resources by group and name; of one in several versions the order stays, which is that of
 * preference. */
static int order_resources(const void *a, const void *b)
{
    const struct cor_port_resource *x = *(struct cor_port_resource *const *)a;
    const struct cor_port_resource *y = *(struct cor_port_resource *const *)b;
    int order = cor_str_cmp(x->gvr.resource, y->gvr.resource);

    if (order == 0)
        order = cor_str_cmp(x->gvr.group, y->gvr.group);
    return order ? order : (x > y) - (x < y);
}

/* Marks the best version of each resource. 0, -COR_ENOMEM. */
static int prefer(struct cor_port_resource *list, size_t n)
{
    struct cor_port_resource **sorted = cor_calloc(n ? n : 1, sizeof(struct cor_port_resource *));

    if (!sorted)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &list[i];
    qsort(sorted, n, sizeof(sorted[0]), order_resources);
    for (size_t i = 0; i < n; i++)
        sorted[i]->is_preferred =
            i == 0 || !cor_str_eq(sorted[i]->gvr.resource, sorted[i - 1]->gvr.resource) ||
            !cor_str_eq(sorted[i]->gvr.group, sorted[i - 1]->gvr.group);
    cor_free(sorted);
    return 0;
}

uint64_t cor_inner_resources_mark(const struct cor_served *served)
{
    size_t n;
    const struct cor_served_version *versions = cor_served_versions(served, &n);
    uint64_t mark = 0;

    for (size_t i = 0; i < n; i++)
        if (cor_served_version_is_remote(&versions[i]))
            mark = (mark ^ (remote_of(served, &versions[i]) ? 2 : 1)) * MIX;
    return mark;
}

int cor_inner_resources_new(const struct cor_served *served,
                            struct cor_api_resources **ret_resources)
{
    struct gathering g = {0};
    int r;

    cor_buf_init(&g.text, STALE_TEXT_MAX);
    r = gather(served, &g);
    if (r == 0)
        r = prefer(g.list, g.n);
    if (r == 0)
        r = cor_api_resources_new(g.list, g.n, g.failures, g.nfailures, ret_resources);
    gathering_deinit(&g);
    return r;
}
