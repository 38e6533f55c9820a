/* Asks an API server what it serves, and remembers the answer: client-go's discovery client behind
 * its memory cache. The aggregated form is asked for first, two requests for all; a server that
 * does not have it is asked version by version.
 * Owner: whoever made it.  Thread: the loop's of its REST client. No function calls back before it
 * returns. */
#ifndef COR_KIT_DISCOVERY_H
#define COR_KIT_DISCOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "kit/discovery/api_catalog.h"
#include "kit/rest/rest_client.h"

#define COR_DISCOVERY_TIMEOUT_MS 32000
#define COR_DISCOVERY_ATTEMPTS   2
#define COR_DISCOVERY_PARALLEL   16 /* versions asked for at a time */

struct cor_discovery;
struct cor_discovery_waiter;

struct cor_discovery_opts {
    struct cor_rest_client *client;
    bool is_legacy;      /* never ask for the aggregated form */
    uint64_t timeout_ms; /* of each request; 0: COR_DISCOVERY_TIMEOUT_MS */
};

/* 0 or -COR_ENOMEM. */
int cor_discovery_new(const struct cor_discovery_opts *opts, struct cor_discovery **ret_discovery);

/* Ends the requests under way. All who wait get -COR_ECANCELED before this returns; no callback
 * comes after it. Not inside a callback. Returns NULL. */
struct cor_discovery *cor_discovery_free(struct cor_discovery *d);
COR_DEFINE_CLEANUP(struct cor_discovery, cor_discovery_free)

/* The catalog, borrowed until the next call on `d` and for no longer than the callback; NULL with
 * the error when there is none. A catalog with failures (cor_catalog_failures()) was requested
 * twice, and is complete except for these. `was_cached`: it was there before the question. */
typedef void (*cor_discovery_cb)(void *arg, const struct cor_catalog *catalog, bool was_cached,
                                 const struct cor_status *error);

/* Calls on_done with the catalog, from a later turn. All callers that wait share one question to
 * the server. Versions that could not be read for a reason that may pass are asked for again by
 * each call. 0, -COR_EBUSY (too
 * many wait), -COR_ECANCELED (it is being freed), -COR_ENOMEM. */
int cor_discovery_fetch(struct cor_discovery *d, cor_discovery_cb on_done, void *arg,
                        struct cor_discovery_waiter **ret_waiter);
void cor_discovery_cancel(struct cor_discovery_waiter *waiter);

/* Forgets the catalog; the next fetch asks the server. */
void cor_discovery_invalidate(struct cor_discovery *d);

/* Is there a catalog? */
bool cor_discovery_is_fresh(const struct cor_discovery *d);

#endif
