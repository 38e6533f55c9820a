/* A resource that is looked up in what the server serves, waited for. */
#include <stdio.h>

#include "base/err.h"
#include "client/client_int.h"
#include "client/discovery.h"
#include "client/rest_mapper.h"

struct search {
    struct cor_client *client;
    struct cor_gvr partial;
    struct cor_found_resource *ret;
    struct cor_status *reterr;
    struct cor_waiter done;
    int r;
};

static void copy(char *to, size_t cap, struct cor_str from)
{
    snprintf(to, cap, "%.*s", COR_STR_ARG(from));
}

static void take_mapping(struct search *s, const struct cor_rest_mapping *m)
{
    struct cor_found_resource *f = s->ret;

    copy(f->group, sizeof(f->group), m->resource.group);
    copy(f->version, sizeof(f->version), m->resource.version);
    copy(f->plural, sizeof(f->plural), m->resource.resource);
    copy(f->kind, sizeof(f->kind), m->kind.kind);
    f->is_namespaced = m->is_namespaced;
}

/* Is there nothing of this name in what was known before? It may be new. */
static bool look_up(struct search *s, const struct cor_catalog *catalog)
{
    const struct cor_gk kind = {s->partial.group, s->partial.resource};
    const struct cor_gvr full = cor_rest_mapper_expand(catalog, &s->partial, NULL, NULL);
    struct cor_rest_mapping mapping;

    s->r = cor_rest_mapping_of_kind(catalog, &kind, s->partial.version, &mapping, NULL);
    if (s->r < 0)
        s->r = cor_rest_mapping_of_resource(catalog, &full, &mapping, s->reterr);
    if (s->r == 0)
        take_mapping(s, &mapping);
    return s->r != -COR_ENOTFOUND;
}

static void ask(void *arg);

static void on_catalog(void *arg, const struct cor_catalog *catalog, bool was_cached,
                       const struct cor_status *error)
{
    struct search *s = arg;

    if (!catalog) {
        s->r = error->err;
        if (s->reterr)
            cor_status_copy(s->reterr, error);
    } else if (!look_up(s, catalog) && was_cached) {
        cor_discovery_invalidate(s->client->discovery);
        ask(s);
        return;
    }
    cor_waiter_set(&s->done);
}

static void ask(void *arg)
{
    struct search *s = arg;
    const struct cor_discovery_opts opts = {.client = s->client->rest};
    struct cor_discovery_waiter *waiter;

    s->r = s->client->discovery ? 0 : cor_discovery_new(&opts, &s->client->discovery);
    if (s->r == 0)
        s->r = cor_discovery_get(s->client->discovery, on_catalog, s, &waiter);
    if (s->r < 0) {
        cor_status_set(s->reterr, s->r, "ask what the server serves");
        cor_waiter_set(&s->done);
    }
}

int cor_client_find(struct cor_client *client, const struct cor_resource *partial,
                    struct cor_found_resource *ret_found, struct cor_status *reterr)
{
    struct search s = {.client = client,
                       .partial = {cor_strz(partial->group), cor_strz(partial->version),
                                   cor_strz(partial->plural)},
                       .ret = ret_found,
                       .reterr = reterr};
    int r = cor_client_may_wait(client, reterr);

    if (r < 0)
        return r;
    cor_waiter_init(&s.done);
    cor_runtime_run(client->runtime, ask, &s);
    cor_runtime_wait(client->runtime, &s.done, COR_WAIT_FOREVER);
    cor_waiter_deinit(&s.done);
    return s.r;
}
