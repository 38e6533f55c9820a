/* Finds a mapping with discovery: client-go's deferred mapper. When a cached catalog has no match,
 * it is asked for once more, so that a type that was added later is found. Owner: the discovery
 * owns its lookups.  Thread: the loop of the discovery. No function calls back before it returns.
 */
#ifndef COR_CLIENT_MAPPER_LOOKUP_H
#define COR_CLIENT_MAPPER_LOOKUP_H

#include "client/discovery/discovery.h"
#include "client/discovery/rest_mapper.h"

struct cor_mapper_lookup;

struct cor_mapper_lookup_opts {
    struct cor_discovery *discovery;
    struct cor_gvk kind;     /* look for a kind, with or without version; or, without a kind: */
    struct cor_gvr resource; /* for a resource, which may be a short name */
    void (*on_warning)(void *arg, const char *text); /* of short names; may be NULL */
    /* Borrowed for the call; NULL on failure. */
    void (*on_done)(void *arg, const struct cor_rest_mapping *mapping,
                    const struct cor_status *error);
    void *arg;
};

/* The strings are copied. 0, -COR_EBUSY, -COR_ENOMEM; after 0, on_done is called once, unless the
 * lookup is cancelled. */
int cor_mapper_lookup_open(const struct cor_mapper_lookup_opts *opts,
                           struct cor_mapper_lookup **ret_lookup);

/* Ends the lookup without a callback. Not inside its callbacks. */
void cor_mapper_lookup_cancel(struct cor_mapper_lookup *lookup);

#endif
