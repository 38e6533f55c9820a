/* Finds the mapping of a kind or resource with discovery: client-go's deferred mapper. When a
 * cached catalog has no match, it is asked for once more, so that a type that was added later is
 * found. Owner: the discovery owns its lookups, and ends them when it is freed.  Thread: the loop
 * of the discovery. */
#ifndef COR_CLIENT_MAPPER_LOOKUP_H
#define COR_CLIENT_MAPPER_LOOKUP_H

#include "client/discovery/rest_mapper.h"
#include "kit/discovery/discovery.h"

struct cor_mapper_lookup_opts {
    struct cor_discovery *discovery;
    /* What is looked for: a kind, with or without version; a resource, which may be a short name;
     * or both, and then the kind is tried first. */
    struct cor_gvk kind;
    struct cor_gvr resource;
    /* `mapping` is borrowed for the call; NULL on failure. */
    void (*on_done)(void *arg, const struct cor_rest_mapping *mapping,
                    const struct cor_status *error);
    void *arg;
};

/* The strings are copied. 0: on_done is called once, after this returns; also with what
 * cor_discovery_free() ends a fetch with. Or -COR_EBUSY, -COR_ECANCELED, -COR_ENOMEM, as
 * cor_discovery_fetch(). */
int cor_mapper_lookup_start(const struct cor_mapper_lookup_opts *opts);

#endif
