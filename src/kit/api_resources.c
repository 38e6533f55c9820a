/* The enumeration of an API server's resources: one copy of all strings, the list in the server's
 * order, and an index by kind for binary search. It is made once and shared by reference, because
 * a controller needs it for longer than the callback that brings it.
 * Thread: any (immutable). */
#include "kit/api_resources.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define RESOURCE_STRINGS 4
#define FAILURE_STRINGS  3

static int compare_kinds(const struct cor_gvk *a, const struct cor_gvk *b)
{
    int c = cor_str_cmp(a->kind, b->kind);

    if (c == 0)
        c = cor_str_cmp(a->group, b->group);
    return c ? c : cor_str_cmp(a->version, b->version);
}

static struct cor_gvk kind_of(const struct cor_port_resource *resource)
{
    return (struct cor_gvk){resource->gvr.group, resource->gvr.version, resource->kind};
}

/* Of two resources of one kind the first of the list comes first. */
static int by_kind(const void *a, const void *b)
{
    const struct cor_port_resource *const *x = a, *const *y = b;
    const struct cor_gvk kx = kind_of(*x), ky = kind_of(*y);
    int c = compare_kinds(&kx, &ky);

    return c ? c : (*x > *y) - (*x < *y);
}

static int by_version(const void *a, const void *b)
{
    const struct cor_api_resources_failure *x = a, *y = b;
    int c = cor_str_cmp(x->gv.group, y->gv.group);

    return c ? c : cor_str_cmp(x->gv.version, y->gv.version);
}

/* Replaces the borrowed strings of both lists by copies in one block. */
static int resources_own_strings(struct cor_api_resources *resources)
{
    size_t most = resources->n * RESOURCE_STRINGS + resources->nfailures * FAILURE_STRINGS;
    COR_CLEANUP(cor_freep) struct cor_str **strings = NULL;
    size_t n = 0;

    if (most == 0)
        return 0;
    strings = cor_alloc(most * sizeof(strings[0]));
    if (!strings)
        return -COR_ENOMEM;
    for (size_t i = 0; i < resources->n; i++) {
        struct cor_port_resource *resource = &resources->own[i];

        strings[n++] = &resource->gvr.group;
        strings[n++] = &resource->gvr.version;
        strings[n++] = &resource->gvr.resource;
        strings[n++] = &resource->kind;
    }
    for (size_t i = 0; i < resources->nfailures; i++) {
        struct cor_api_resources_failure *failure = &resources->own_failures[i];

        strings[n++] = &failure->gv.group;
        strings[n++] = &failure->gv.version;
        strings[n++] = &failure->message;
    }
    assert(n == most);
    return cor_str_gather(strings, n, &resources->strings);
}

int cor_api_resources_new(const struct cor_port_resource *list, size_t n,
                          const struct cor_api_resources_failure *failures, size_t nfailures,
                          struct cor_api_resources **ret_resources)
{
    COR_CLEANUP(cor_api_resources_unrefp)
    struct cor_api_resources *resources = cor_calloc(1, sizeof(*resources));
    int r;

    assert((list || n == 0) && (failures || nfailures == 0));
    if (!resources)
        return -COR_ENOMEM;
    cor_ref_init(&resources->refs);
    resources->own = cor_calloc(n ? n : 1, sizeof(resources->own[0]));
    resources->own_failures = cor_calloc(nfailures ? nfailures : 1, sizeof(failures[0]));
    resources->by_kind = cor_calloc(n ? n : 1, sizeof(resources->by_kind[0]));
    if (!resources->own || !resources->own_failures || !resources->by_kind)
        return -COR_ENOMEM;
    if (n > 0)
        memcpy(resources->own, list, n * sizeof(list[0]));
    if (nfailures > 0)
        memcpy(resources->own_failures, failures, nfailures * sizeof(failures[0]));
    resources->n = n;
    resources->nfailures = nfailures;
    r = resources_own_strings(resources);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        resources->by_kind[i] = &resources->own[i];
    qsort(resources->by_kind, n, sizeof(resources->by_kind[0]), by_kind);
    qsort(resources->own_failures, nfailures, sizeof(failures[0]), by_version);
    resources->list = resources->own;
    resources->failures = resources->own_failures;
    *ret_resources = COR_STEAL(resources);
    return 0;
}

struct cor_api_resources *cor_api_resources_ref(struct cor_api_resources *resources)
{
    cor_ref_get(&resources->refs);
    return resources;
}

struct cor_api_resources *cor_api_resources_unref(struct cor_api_resources *resources)
{
    if (!resources || !cor_ref_put(&resources->refs))
        return NULL;
    cor_free(resources->own);
    cor_free(resources->own_failures);
    cor_free(resources->by_kind);
    cor_free(resources->strings);
    return cor_free(resources);
}

const struct cor_port_resource *cor_api_resources_of_kind(const struct cor_api_resources *resources,
                                                          const struct cor_gvk *gvk)
{
    size_t low = 0, high = resources->n;
    struct cor_gvk found;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        found = kind_of(resources->by_kind[middle]);
        if (compare_kinds(&found, gvk) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == resources->n)
        return NULL;
    found = kind_of(resources->by_kind[low]);
    return compare_kinds(&found, gvk) == 0 ? resources->by_kind[low] : NULL;
}

const struct cor_port_resource *cor_api_resources_find(const struct cor_api_resources *resources,
                                                       const struct cor_gvr *gvr)
{
    for (size_t i = 0; i < resources->n; i++) {
        const struct cor_gvr *at = &resources->list[i].gvr;

        if (cor_str_eq(at->resource, gvr->resource) && cor_str_eq(at->group, gvr->group) &&
            cor_str_eq(at->version, gvr->version))
            return &resources->list[i];
    }
    return NULL;
}

bool cor_api_resources_has_failed(const struct cor_api_resources *resources,
                                  const struct cor_gvr *gvr)
{
    for (size_t i = 0; i < resources->nfailures; i++) {
        const struct cor_gv *gv = &resources->failures[i].gv;

        if (cor_str_eq(gv->group, gvr->group) && cor_str_eq(gv->version, gvr->version))
            return true;
    }
    return false;
}

int cor_api_resources_print_failures(const struct cor_api_resources *resources, struct cor_buf *out)
{
    int r = 0;

    if (resources->nfailures > 0)
        r = cor_buf_addz(out, "unable to retrieve the complete list of server APIs: ");
    for (size_t i = 0; r == 0 && i < resources->nfailures; i++) {
        const struct cor_api_resources_failure *failure = &resources->failures[i];

        if (i > 0)
            r = cor_buf_addz(out, ", ");
        if (r == 0)
            r = cor_gv_print(&failure->gv, out);
        if (r == 0)
            r = cor_buf_addf(out, ": %.*s", COR_STR_ARG(failure->message));
    }
    return r;
}
