/* A lookup asks discovery for the catalog and maps the kind or resource in it. When the catalog was
 * cached and has no match, it is asked for once more without the cache, since the type may be new.
 * Every failure goes to on_done.
 * Thread: the loop of the discovery. */
#include "client/discovery/mapper_lookup.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

struct lookup {
    struct cor_mapper_lookup_opts opts; /* the strings are in `text` */
    char *text;
};

static void lookup_free(struct lookup *lookup)
{
    cor_free(lookup->text);
    cor_free(lookup);
}

static int lookup_map(const struct lookup *lookup, const struct cor_catalog *catalog,
                      struct cor_rest_mapping *ret_mapping, struct cor_status *reterr)
{
    const struct cor_mapper_lookup_opts *o = &lookup->opts;
    struct cor_gk gk = cor_gvk_gk(&o->kind);
    struct cor_gvr whole;
    int r;

    if (gk.kind.n > 0) {
        bool is_last = o->resource.resource.n == 0;

        r = cor_rest_mapping_of_kind(catalog, &gk, o->kind.version, ret_mapping,
                                     is_last ? reterr : NULL);
        if (r == 0 || is_last)
            return r;
    }
    whole = cor_rest_mapper_expand(catalog, &o->resource, NULL, NULL);
    return cor_rest_mapping_of_resource(catalog, &whole, ret_mapping, reterr);
}

static void lookup_on_catalog(void *arg, const struct cor_catalog *catalog, bool was_cached,
                              const struct cor_status *error)
{
    struct lookup *lookup = arg;
    struct cor_discovery_waiter *waiter;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_rest_mapping mapping;
    int r;

    if (error) {
        lookup->opts.on_done(lookup->opts.arg, NULL, error);
        lookup_free(lookup);
        return;
    }
    r = lookup_map(lookup, catalog, &mapping, &why);
    if (r == -COR_ENOTFOUND && was_cached) {
        cor_discovery_invalidate(lookup->opts.discovery);
        r = cor_discovery_fetch(lookup->opts.discovery, lookup_on_catalog, lookup, &waiter);
        if (r == 0)
            return;
        cor_status_deinit(&why);
        cor_status_set(&why, r, "ask what the server serves");
    }
    if (r < 0 && why.err == 0)
        cor_status_untyped(&why, r, "%s", cor_err_text(r));
    lookup->opts.on_done(lookup->opts.arg, r < 0 ? NULL : &mapping, r < 0 ? &why : NULL);
    lookup_free(lookup);
}

int cor_mapper_lookup_start(const struct cor_mapper_lookup_opts *opts)
{
    struct lookup *lookup = cor_calloc(1, sizeof(*lookup));
    struct cor_discovery_waiter *waiter;
    int r;

    assert(opts->on_done);
    if (!lookup)
        return -COR_ENOMEM;
    lookup->opts = *opts;
    struct cor_str *strings[] = {
        &lookup->opts.kind.group,       &lookup->opts.kind.version,
        &lookup->opts.kind.kind,        &lookup->opts.resource.group,
        &lookup->opts.resource.version, &lookup->opts.resource.resource,
    };
    r = cor_str_gather(strings, COR_ARRAY_LEN(strings), &lookup->text);
    if (r == 0)
        r = cor_discovery_fetch(opts->discovery, lookup_on_catalog, lookup, &waiter);
    if (r < 0)
        lookup_free(lookup);
    return r;
}
