/* clang-format off */
/* The allocators of Services, as all loops of the API share them: which addresses there are and
 * which are taken (address_index.h), the node ports (ports.h), and the watches that feed the index.
 *
 * Life: cor_alloc_open before the loops start ──► calls allocate on their loops ──► cor_alloc_stop
 * on the first loop ──► cor_alloc_free when the loops have stopped.
 * Owner: the API's owner.  Thread: open, stop and free as said; the rest from any loop. */
/* clang-format on */
#ifndef COR_SERVER_ALLOC_H
#define COR_SERVER_ALLOC_H

#include "meta/status/status.h"
#include "server/alloc/address_index.h"
#include "server/alloc/ports.h"
#include "server/alloc/service_plan.h"
#include "server/api/api_loop.h"

#define COR_ALLOC_CIDRS_DEFAULT "10.0.0.0/24"

struct cor_alloc;
struct cor_repair;

struct cor_alloc_opts {
    const char *cidrs; /* one range, or one of each family, the primary first; NULL: the default */
    const char *ports; /* the range of node ports; NULL: the default */
};

/* Writes of Services allocate from now on. It begins to read what there is on the first loop.
 * -COR_EINVAL (the options; the message names the flag), -COR_ENOMEM. When it fails nothing is
 * left. */
int cor_alloc_open(struct cor_api *api, const struct cor_alloc_opts *opts,
                   struct cor_alloc **ret_alloc, struct cor_status *reterr_status);

/* Are the options well-formed? 0, -COR_EINVAL. */
int cor_alloc_check(const struct cor_alloc_opts *opts, struct cor_status *reterr_status);

/* Returns whether everything was read, and the leftovers of a crash were repaired. From any thread.
 */
bool cor_alloc_is_ready(const struct cor_alloc *alloc);

/* On the first loop, once: ends the watches and the repairs; `on_stopped` follows there. Calls may
 * still allocate and release. */
void cor_alloc_stop(struct cor_alloc *alloc, void (*on_stopped)(void *arg), void *arg);

/* After it has stopped, and when no call is left. Returns NULL; NULL is fine. */
struct cor_alloc *cor_alloc_free(struct cor_alloc *alloc);

/* A request is about to reserve something: called before the store is asked. From any thread. */
void cor_alloc_note_reserving(struct cor_alloc *alloc);
/* Has a request of this process reserved anything? From any thread. */
bool cor_alloc_has_reserved(const struct cor_alloc *alloc);

/* The first address of the primary range of the options. */
struct cor_addr cor_alloc_first_address(const struct cor_alloc *alloc);
const struct cor_service_cluster *cor_alloc_cluster(const struct cor_alloc *alloc);
struct cor_address_index *cor_alloc_index(struct cor_alloc *alloc);
struct cor_ports *cor_alloc_ports(struct cor_alloc *alloc);
struct cor_repair *cor_alloc_repair(struct cor_alloc *alloc);

#endif
