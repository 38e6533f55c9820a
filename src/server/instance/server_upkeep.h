/* clang-format off */
/* What a server does for the cluster beside serving requests: it keeps the objects that it makes at
 * its start (bootstrap_keeper.h) and the ConfigMap by which aggregated servers know it (trust_keeper.h), renews its identity Lease and removes those of dead servers
 * (identity_lease.h). Nothing waits for it: the server is ready before the first of these requests.
 *
 * Life: cor_server_upkeep_new ──► start ──► every ten seconds a renewal, every minute a pass over the
 * objects and the ConfigMap, every hour a collection, each of them also at the start ──► stop, on the loop ──► free.
 * Owner: the instance.  Thread: the API's first loop, unless a function says otherwise. */
/* clang-format on */
#ifndef COR_SERVER_SERVER_UPKEEP_H
#define COR_SERVER_SERVER_UPKEEP_H

#include "server/api/api.h"

struct cor_cluster_trust;
struct cor_server_upkeep;

/* `host` is the name of the machine; copied. `trust` must stay valid. 0, -COR_ENOMEM. */
int cor_server_upkeep_new(struct cor_api *api, struct cor_str host,
                          const struct cor_cluster_trust *trust,
                          struct cor_server_upkeep **ret_upkeep);

/* From any thread, once: begins in a later turn of the loop. */
void cor_server_upkeep_start(struct cor_server_upkeep *upkeep);

/* After the start: no request is begun from now on; `on_stopped` follows, now or later. */
void cor_server_upkeep_stop(struct cor_server_upkeep *upkeep, void (*on_stopped)(void *arg),
                            void *arg);

/* Before the start, or after it has stopped. Returns NULL; NULL is allowed. */
struct cor_server_upkeep *cor_server_upkeep_free(struct cor_server_upkeep *upkeep);

#endif
