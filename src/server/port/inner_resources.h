/* What the server serves, as its own controllers enumerate it (kit/api_resources.h): the rows of a
 * snapshot of the catalog, and what aggregated servers have told of theirs.
 * Thread: any (the snapshot is immutable).  Owner: the caller. */
#ifndef COR_SERVER_INNER_RESOURCES_H
#define COR_SERVER_INNER_RESOURCES_H

#include <stdint.h>

#include "base/limits.h"
#include "kit/api_resources.h"

struct cor_served;

/* Which versions of aggregated servers can be enumerated, as a number: two that are equal stand for
 * the same enumeration of one snapshot, but for one case in 2^64. 0: the snapshot has no such
 * version. Their availability changes without another snapshot. */
uint64_t cor_inner_resources_mark(const struct cor_served *served);

/* A version of an aggregated server that is not available, that was not asked yet, whose last
 * answer could not be taken, or that has more than COR_REMOTE_RESOURCES_MAX is a failure: "stale
 * GroupVersion discovery: GROUP/VERSION" (contract extension 4.5.4). 0, -COR_ENOMEM. */
int cor_inner_resources_new(const struct cor_served *served,
                            struct cor_api_resources **ret_resources);

#endif
