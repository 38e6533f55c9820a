/* What the server serves, for a caller that waits: one resource that is looked up, or all of them.
 *
 * The caller's thread waits in cor_client_wait_for() with the struct on its stack. The loop asks
 * discovery (search_begin()), reads the catalog in the callback, and wakes the caller
 * (search_finish()). Every failure (no catalog, nothing of that name, several of that name, the
 * client was stopped) ends there too, with its status.
 * Thread: the loop, except for the public functions. */
#include <stdio.h>

#include "base/err.h"
#include "client/client_int.h"
#include "client/discovery/mapper_lookup.h"
#include "coracle/discovery.h"
#include "kit/discovery/discovery.h"

struct search {
    struct cor_client *client;
    struct cor_gvr partial;         /* what is looked up */
    struct cor_found_resource *ret; /* of the look-up; NULL: all resources are wanted */
    bool anew;                      /* of a walk over all: not from the cache */
    cor_api_resource_fn fn;
    void *arg;
    struct cor_status *reterr;
    struct cor_waiter done;
    int r;
};

static void search_finish(struct search *s)
{
    cor_client_leave(s->client);
    cor_waiter_set(&s->done);
}

/* Ends a search that discovery failed. */
static void search_fail(struct search *s, const struct cor_status *error)
{
    s->r = error->err;
    if (s->reterr)
        cor_status_copy(s->reterr, error);
    search_finish(s);
}

static void copy_cut(char *to, size_t cap, struct cor_str from)
{
    snprintf(to, cap, "%.*s", COR_STR_ARG(from));
}

static void search_on_mapping(void *arg, const struct cor_rest_mapping *m,
                              const struct cor_status *error)
{
    struct search *s = arg;
    struct cor_found_resource *f = s->ret;

    if (error) {
        search_fail(s, error);
        return;
    }
    copy_cut(f->group, sizeof(f->group), m->resource.group);
    copy_cut(f->version, sizeof(f->version), m->resource.version);
    copy_cut(f->plural, sizeof(f->plural), m->resource.resource);
    copy_cut(f->kind, sizeof(f->kind), m->kind.kind);
    f->is_namespaced = m->is_namespaced;
    search_finish(s);
}

static struct cor_api_resource resource_of(const struct cor_catalog_group *group,
                                           const struct cor_catalog_version *version,
                                           const struct cor_catalog_resource *r)
{
    bool is_own = r->kind.version.n == 0;

    return (struct cor_api_resource){
        .group = group->name,
        .version = version->version,
        .is_preferred = cor_str_eq(version->version, group->preferred),
        .is_chosen = r->is_chosen,
        .plural = r->name,
        .subresource = r->subresource,
        .singular = r->singular,
        .kind = r->kind.kind,
        .kind_group = is_own ? group->name : r->kind.group,
        .kind_version = is_own ? version->version : r->kind.version,
        .is_namespaced = r->is_namespaced,
        .verbs = cor_view(r->verbs),
        .short_names = cor_view(r->short_names),
        .categories = cor_view(r->categories),
    };
}

static int each_of_version(const struct search *s, const struct cor_catalog_group *group,
                           const struct cor_catalog_version *version)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < version->nresources; i++) {
        const struct cor_api_resource resource =
            resource_of(group, version, &version->resources[i]);

        r = s->fn(s->arg, &resource);
    }
    return r;
}

static void search_on_catalog(void *arg, const struct cor_catalog *catalog, bool was_cached,
                              const struct cor_status *error)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status missing = {0};
    struct search *s = arg;

    if (!catalog) {
        search_fail(s, error);
        return;
    }
    for (size_t i = 0; s->r == 0 && i < catalog->ngroups; i++) {
        const struct cor_catalog_group *group = &catalog->groups[i];

        for (size_t j = 0; s->r == 0 && j < group->nversions; j++)
            s->r = each_of_version(s, group, &group->versions[j]);
    }
    if (s->r == 0 && cor_catalog_failures(catalog, &missing)) {
        s->r = missing.err;
        if (s->reterr)
            cor_status_move(s->reterr, &missing);
    }
    search_finish(s);
}

static void search_begin(void *arg)
{
    struct search *s = arg;
    const struct cor_discovery_opts opts = {.client = s->client->rest};
    struct cor_discovery_waiter *waiter;

    s->r = s->client->discovery ? 0 : cor_discovery_new(&opts, &s->client->discovery);
    if (s->r == 0 && s->anew)
        cor_discovery_invalidate(s->client->discovery);
    if (s->r == 0 && s->ret) {
        const struct cor_mapper_lookup_opts lookup = {
            .discovery = s->client->discovery,
            .kind = {s->partial.group, s->partial.version, s->partial.resource},
            .resource = s->partial,
            .on_done = search_on_mapping,
            .arg = s,
        };

        s->r = cor_mapper_lookup_start(&lookup);
    } else if (s->r == 0) {
        s->r = cor_discovery_fetch(s->client->discovery, search_on_catalog, s, &waiter);
    }
    if (s->r < 0) {
        cor_status_set(s->reterr, s->r, "ask what the server serves");
        search_finish(s);
    }
}

static int search_wait(struct search *s)
{
    int r = cor_client_wait_for(s->client, search_begin, s, &s->done, s->reterr);

    return r < 0 ? r : s->r;
}

int cor_client_find(struct cor_client *client, const struct cor_resource *partial,
                    struct cor_found_resource *ret_found, struct cor_status *reterr)
{
    struct search s = {.client = client,
                       .partial = {cor_strz(partial->group), cor_strz(partial->version),
                                   cor_strz(partial->plural)},
                       .ret = ret_found,
                       .reterr = reterr};

    return search_wait(&s);
}

int cor_client_each_resource(struct cor_client *client, bool anew, cor_api_resource_fn fn,
                             void *arg, struct cor_status *reterr)
{
    struct search s = {.client = client, .anew = anew, .fn = fn, .arg = arg, .reterr = reterr};

    return search_wait(&s);
}

bool cor_api_resource_has(struct cor_view words, const char *word)
{
    return cor_catalog_has_word(words.json, cor_strz(word));
}
