/* The cachers behind the API's reads: a watch cache for each stored resource, shared by all loops.
 * Those of built-in resources are open as long as the API; those of custom resources come and go.
 * Owner: the API.  Thread: open on the maker's, before the loops start; close on the first loop;
 * the rest from any. */
#ifndef COR_SERVER_API_CACHERS_H
#define COR_SERVER_API_CACHERS_H

#include <stdbool.h>

#include "server/api/api_loop.h"
#include "server/metrics/metrics.h"
#include "storage/cacher/cacher.h"

struct cor_api_cachers;

/* Opens a cache for every resource that is stored, except for those that the table or `opts->sizes`
 * leaves out. 0, -COR_EINVAL (sizes), -COR_ENOMEM, -COR_EBUSY. */
int cor_api_cachers_open(struct cor_api *api, const struct cor_api_cachers_opts *opts,
                         struct cor_api_cachers **ret_cachers, struct cor_status *reterr_status);

/* A watch cache of a resource that is defined while the server runs. Owner: the life of its row. */
struct cor_custom_cache;

/* Opens the cache of `row`, which is stored and was made at run time. `on_filled` follows each time
 * when it was filled, until it is released. On the first loop. 0, -COR_ENOMEM. */
int cor_api_cachers_add(struct cor_api_cachers *cachers, const struct cor_resource_row *row,
                        void (*on_filled)(void *arg), void *arg,
                        struct cor_custom_cache **ret_cache, struct cor_status *reterr_status);

/* Closes the cache, whose readers are all freed, in a later turn of the first loop. From any
 * thread, also while the cachers close. NULL is fine. */
void cor_custom_cache_release(struct cor_custom_cache *cache);

/* May it be read, or has the last attempt to fill it failed? From any thread. */
bool cor_custom_cache_is_settled(const struct cor_custom_cache *cache);

/* The cacher of a resource; NULL: the resource is read from the store. */
struct cor_cacher *cor_api_cachers_peek(const struct cor_api_cachers *cachers,
                                        const struct cor_resource_row *resource);

/* The cacher and the row at `i`, for `i` from 0 on until the row is NULL. NULL: the resource has no
 * cacher. */
struct cor_cacher *cor_api_cachers_at(const struct cor_api_cachers *cachers, size_t i,
                                      const struct cor_resource_row **ret_row);

bool cor_api_cachers_are_ready(const struct cor_api_cachers *cachers);

/* True: at least one cacher is not ready, and each such cacher has failed to become ready.
 * `reterr_why` gets the failure of one of them; otherwise it is undefined. */
bool cor_api_cachers_failed(const struct cor_api_cachers *cachers,
                            char reterr_why[COR_READY_MESSAGE_MAX]);

struct cor_cachers_stats cor_api_cachers_stats(const struct cor_api_cachers *cachers);

/* When all readers are freed. `on_closed` follows on the first loop; the caches are gone after it.
 */
void cor_api_cachers_close(struct cor_api_cachers *cachers, void (*on_closed)(void *arg),
                           void *arg);

#endif
