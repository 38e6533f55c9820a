/* The watch caches behind the API's reads: one per stored resource, shared by all loops.
 * Owner: the API.  Thread: open on the maker's, before the loops start; close on the first loop;
 * the rest from any. */
#ifndef COR_SERVER_API_CACHES_H
#define COR_SERVER_API_CACHES_H

#include <stdbool.h>

#include "server/api/api_int.h"
#include "server/metrics/metrics.h"
#include "storage/cacher/cacher.h"

struct cor_api_caches;

/* Opens a cache for every resource that is stored, but for those that the table or `opts->sizes`
 * leaves out. 0, -COR_EINVAL (sizes), -COR_ENOMEM, -COR_EBUSY. */
int cor_api_caches_open(struct cor_api *api, const struct cor_api_cache_opts *opts,
                        struct cor_api_caches **ret_caches, struct cor_status *reterr_status);

/* The cache of a resource; NULL: it is read from the store. */
struct cor_cacher *cor_api_caches_peek(const struct cor_api_caches *caches,
                                       const struct cor_resource_row *resource);

bool cor_api_caches_are_ready(const struct cor_api_caches *caches);

/* Has each one that is not ready failed to become so, and is there such a one? `reterr_why` has a
 * failure then, and is undefined otherwise. */
bool cor_api_caches_failed(const struct cor_api_caches *caches,
                           char reterr_why[COR_READY_MESSAGE_MAX]);

struct cor_caches_stats cor_api_caches_stats(const struct cor_api_caches *caches);

/* Adds the families about single caches, before the loops start. 0, -COR_ENOMEM. */
int cor_api_caches_add_metrics(struct cor_api_caches *caches, struct cor_metrics *metrics);

/* When all readers are freed. `on_closed` follows on the first loop; the caches are gone after it.
 */
void cor_api_caches_close(struct cor_api_caches *caches, void (*on_closed)(void *arg), void *arg);

#endif
