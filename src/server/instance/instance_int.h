/* Inside an instance: what opening, watching over itself and closing share.
 * Thread: home, unless a function says otherwise. */
#ifndef COR_SERVER_INSTANCE_INT_H
#define COR_SERVER_INSTANCE_INT_H

#include <stdatomic.h>

#include "base/lock.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "server/access/client_trust.h"
#include "server/access/delegated_authorizer.h"
#include "server/access/delegation.h"
#include "server/access/trust_lookup.h"
#include "server/aggregation/aggregator.h"
#include "server/aggregation/api_services.h"
#include "server/http/api_server.h"
#include "server/instance/instance.h"
#include "server/instance/server_credentials.h"
#include "server/instance/trust_keeper.h"
#include "storage/encryption/dynamic_transformers.h"
#include "storage/engine/engine.h"

#define COR_INSTANCE_FOREVER_MS (UINT64_C(1) << 40)
#define COR_INSTANCE_TEXT_MAX   4096

/* One of the loops that serve requests, and what it needs to report that nothing is under way on
 * it. */
struct cor_worker {
    struct cor_instance *instance;
    struct cor_loop *loop;
    size_t index;
    bool is_started;
    struct cor_mail mail; /* to the loop and back */
    struct cor_timer timer;
};

struct cor_instance {
    struct cor_instance_opts opts;
    struct cor_loop *home;
    struct cor_engine *engine;
    struct cor_metrics *metrics;
    struct cor_token_table *tokens;
    struct cor_server_credentials credentials;
    struct cor_client_trust *trust;
    struct cor_buf ca_files[COR_CA_COUNT]; /* what the files had when they were read last */
    bool is_ca_file_bad[COR_CA_COUNT];
    struct cor_timer trust_timer;
    struct cor_delegation *delegation;         /* NULL: nothing is delegated */
    struct cor_delegated_authorizer delegated; /* of a server that delegates authorization */
    struct cor_trust_lookup *lookup;           /* of the first worker's loop; NULL: there is none */
    int lookup_err;                            /* of its first reading */
    char lookup_why[COR_INSTANCE_TEXT_MAX];
    struct cor_tls *tls;
    struct cor_target_config target_config; /* how aggregated servers are reached */
    struct cor_aggregator *aggregator;
    struct cor_offload *offload;
    struct cor_api *api;
    struct cor_alloc *alloc;
    struct cor_kubernetes_service *service;
    bool is_service_started;
    struct cor_cluster_trust cluster_trust;
    struct cor_server_upkeep *upkeep;
    bool is_upkeep_started;
    struct cor_crds *crds;
    bool are_crds_started;
    int crds_err;                      /* of their start */
    struct cor_api_services *services; /* APIServices */
    bool are_services_started;
    int services_err; /* of their start */
    struct cor_controller_host *controllers;
    struct cor_mail controllers_mail; /* starts them, on their loop */
    bool are_controllers_started;
    atomic_bool is_bootstrapped;    /* the first namespaces exist */
    atomic_bool is_service_checked; /* the first pass over `default/kubernetes` has ended */
    uint16_t port;                  /* that HTTPS is served on */
    struct cor_server *server;
    struct cor_compactor *compactor;

    struct cor_mail
        mail; /* to home, from what it waits for: bootstrap, then the HTTP server's end */
    struct cor_status bootstrap_status;
    int bootstrap_err;
    unsigned waiting; /* answers that have not come to the home loop yet */
    bool is_stopped;

    struct cor_timer engine_timer;
    struct cor_engine_status_req engine_req;
    bool engine_busy;
    atomic_bool engine_ok, draining;
    struct cor_lock engine_lock; /* of the next; a leaf */
    char engine_why[COR_READY_MESSAGE_MAX];
    _Atomic uint64_t store_bytes, store_rev;
    atomic_bool is_store_full; /* writes are refused, or were a moment ago */
    uint64_t refused_seen;     /* home: of cor_engine_refused_writes() */
    unsigned nroomy;           /* home: checks since then that found room */
    struct cor_health_check checks[15];
    size_t nchecks;

    struct cor_dynamic_transformers *transformers; /* NULL: nothing is encrypted */
    struct cor_timer encryption_timer;
    _Atomic uint64_t reloads, reloads_failed;     /* of the encryption file */
    _Atomic uint64_t reloaded_s, reload_failed_s; /* when last; wall clock */

    char url[COR_INSTANCE_TEXT_MAX], kubeconfig[COR_INSTANCE_TEXT_MAX];
    size_t nworkers;
    struct cor_worker workers[];
};

/* Announces this server in the store, once it has its address; the engine removes the announcement
 * at its end. */
void cor_instance_announce(struct cor_instance *instance);

/* From any thread: one of the answers that the home loop waits for has come. */
void cor_instance_answer_home(struct cor_instance *instance);
/* Turns the home loop until no answer is awaited. */
void cor_instance_wait(struct cor_instance *instance);

/* Makes what passes requests on to aggregated servers, when the API is open. 0, or the reason. */
int cor_instance_open_aggregator(struct cor_instance *instance, struct cor_status *reterr_status);
/* Frees what has been closed on its loops. */
void cor_instance_free_aggregator(struct cor_instance *instance);

/* Is --advertise-address, if it is given, an address that endpoints can have? 0, -COR_EINVAL. */
int cor_instance_check_advertised(const struct cor_instance_opts *opts,
                                  struct cor_status *reterr_status);
/* Makes what looks after the Service default/kubernetes, when the port is known and the allocators
 * are open. 0, or as of cor_kubernetes_service_new(). */
int cor_instance_open_service(struct cor_instance *instance, struct cor_status *reterr_status);
/* Starts it, when the first worker runs; `waits`: returns when its first pass has ended. */
void cor_instance_start_service(struct cor_instance *instance, bool waits);
/* Makes and starts the upkeep of the server (server_upkeep.h), without waiting for any of it. 0,
 * -COR_ENOMEM. */
int cor_instance_start_upkeep(struct cor_instance *instance);

/* Makes what looks after the APIServices, when it is known how services are reached. 0,
 * -COR_ENOMEM. */
int cor_instance_open_services(struct cor_instance *instance, struct cor_status *reterr_status);
/* Starts it, when custom resources are served. 0, -COR_ENOMEM. */
int cor_instance_start_services(struct cor_instance *instance, struct cor_status *reterr_status);
/* Are the APIServices published? */
bool cor_instance_has_services(const struct cor_instance *instance);

/* The worker on whose loop the controllers run: not the first, which has other duties, if there are
 * more. */
struct cor_worker *cor_instance_controllers_worker(struct cor_instance *instance);
/* Makes the host of the controllers. 0, -COR_ENOMEM. */
int cor_instance_open_controllers(struct cor_instance *instance, struct cor_status *reterr_status);
/* Starts them, and does not wait for them. */
void cor_instance_start_controllers(struct cor_instance *instance);

/* Reads the CA files of client certificates, if there are any, and starts to look at them. 0,
 * -COR_ENOTFOUND, -COR_EIO, -COR_EINVAL, -COR_ETOOBIG, -COR_ENOMEM. */
int cor_instance_open_trust(struct cor_instance *instance, struct cor_status *reterr_status);
void cor_instance_check_trust(struct cor_timer *trust_timer);
/* After the last request. */
void cor_instance_close_trust(struct cor_instance *instance);

/* Are clients asked for a certificate? */
bool cor_instance_asks_certs(const struct cor_instance *instance);
/* Opens the clients of delegates on the workers' loops, if there are any. 0, or as of
 * cor_delegation_new(). */
int cor_instance_open_delegation(struct cor_instance *instance, struct cor_status *reterr_status);
/* When the workers run: reads from the delegate whom to trust, and follows it. 0, or the failure of
 * the first reading, unless that is tolerated. */
int cor_instance_start_lookup(struct cor_instance *instance, struct cor_status *reterr_status);
/* A mail of a worker to its loop: closes its delegation, and answers by cor_worker's mail. */
void cor_instance_worker_close_delegation(struct cor_mail *mail);
/* A worker's mail that the home loop waits for has come. */
void cor_instance_on_worker_answer(struct cor_mail *mail);

/* Sets the timer of the checks for the first time, which needs memory. 0, -COR_ENOMEM. */
int cor_instance_prepare_checks(struct cor_instance *instance);
/* Asks the engine for its status, and again two seconds after its answer. */
void cor_instance_check_engine(struct cor_timer *engine_timer);
void cor_instance_add_checks(struct cor_instance *instance);
/* Reads the encryption file, if there is one, and starts to look at it once a minute if that is
 * wanted. Needs the home loop and the metrics. Results as of cor_dynamic_transformers_new(). */
int cor_instance_open_encryption(struct cor_instance *instance, struct cor_status *reterr_status);
void cor_instance_check_encryption(struct cor_timer *encryption_timer);
/* In encryption_metrics.c. 0, -COR_ENOMEM. */
int cor_instance_add_encryption_metrics(struct cor_instance *instance);
/* 0, -COR_ENOMEM. */
int cor_instance_add_metrics(struct cor_instance *instance);

#endif
