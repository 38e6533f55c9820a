/* clang-format off */
/* The Service `default/kubernetes`, by which programs in a cluster find the API, and its endpoints:
 * an Endpoints object and an EndpointSlice of the same name with the addresses of the servers.
 * Each is created when it is missing and, unlike the Service itself, changed when it differs from
 * what it should be. Nothing is written while nothing differs.
 *
 * Life: cor_kubernetes_service_new ──► start, on the loop ──► a pass at once and one every ten
 * seconds ──► stop, on the loop ──► free.
 * Owner: the instance.  Thread: its loop, which is the API's first. */
/* clang-format on */
#ifndef COR_SERVER_KUBERNETES_SERVICE_H
#define COR_SERVER_KUBERNETES_SERVICE_H

#include "server/alloc/addr.h"
#include "server/api/api.h"

struct cor_kubernetes_service;

struct cor_kubernetes_service_opts {
    struct cor_api *api;
    struct cor_addr ip; /* of the Service */
    uint16_t port;      /* that the server listens on */
    bool has_endpoints; /* endpoints are looked after; false: somebody else does that */
    bool is_advertised; /* `advertised` is an address by which others reach this server; without one
                         * the endpoints have no address */
    struct cor_addr advertised;
    bool has_others; /* other servers share the store: the endpoints are those of all that are alive
                      * (server_leases.h); needs an advertised address */
};

/* 0, -COR_ENOMEM, or what the encryption file says. */
int cor_kubernetes_service_new(const struct cor_kubernetes_service_opts *opts,
                               struct cor_kubernetes_service **ret_service,
                               struct cor_status *reterr_status);

/* Begins the first pass. `on_first` (NULL: not wanted) follows when it has ended, well or not; a
 * pass that failed was logged, and the next one tries again. */
void cor_kubernetes_service_start(struct cor_kubernetes_service *service,
                                  void (*on_first)(void *arg), void *arg);

/* Makes a pass now. A pass must not be under way. */
void cor_kubernetes_service_check(struct cor_kubernetes_service *service,
                                  void (*on_done)(void *arg), void *arg);

/* No request is begun after this; `on_stopped` follows, now or later. Neither callback of a pass
 * follows. A server on a shared store takes itself off the list; the others put the endpoints
 * right. */
void cor_kubernetes_service_stop(struct cor_kubernetes_service *service,
                                 void (*on_stopped)(void *arg), void *arg);

/* Before the start, or after it has stopped. Returns NULL; NULL is fine. */
struct cor_kubernetes_service *cor_kubernetes_service_free(struct cor_kubernetes_service *service);

#endif
