/* clang-format off */
/* Which servers share a store: each has a key /masterleases/ADDRESS with a short time to live, as
 * kube-apiserver has, so that servers of both kinds see one another. A server that is killed leaves
 * the list when its key expires.
 *
 * Life: new ──► renew, again and again ──► leave ──► free.
 * Owner: kubernetes_service.c.  Thread: the API's first loop. */
/* clang-format on */
#ifndef COR_SERVER_SERVER_LEASES_H
#define COR_SERVER_SERVER_LEASES_H

#include "base/buf.h"
#include "meta/status/status.h"
#include "server/alloc/addr.h"
#include "server/api/api.h"

/* Upstream's; the key is renewed every ten seconds. */
#define COR_SERVER_LEASE_S 15

struct cor_server_leases;

/* `own` is the address of this server. 0, -COR_ENOMEM, or what the encryption file says. */
int cor_server_leases_new(struct cor_api *api, struct cor_addr own,
                          struct cor_server_leases **ret_leases, struct cor_status *reterr_status);

/* Renews the key of this server, then reads all of them into `ret_addresses`: a JSON list of texts,
 * ordered and each once. `on_done` follows, never before this returns: 0, or the failure of either.
 * One at a time; the buffer stays until then. */
void cor_server_leases_renew(struct cor_server_leases *leases, struct cor_buf *ret_addresses,
                             void (*on_done)(void *arg, int err), void *arg);

/* Removes the key of this server, after a renewal that is under way, whose on_done does not follow.
 * A failure is ignored: the key expires. `on_left` follows, perhaps before this returns. */
void cor_server_leases_leave(struct cor_server_leases *leases, void (*on_left)(void *arg),
                             void *arg);

/* After it has left, or before the first renewal. Returns NULL; NULL is fine. */
struct cor_server_leases *cor_server_leases_free(struct cor_server_leases *leases);

#endif
