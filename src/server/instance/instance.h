/* A whole server in this process: store, loops, REST API, HTTP, credentials.
 *
 * One thread, its home, opens it, runs its home loop and closes it; requests run on loops of their
 * own. Owner: its opener.  Thread: home, unless a function says otherwise. */
#ifndef COR_SERVER_INSTANCE_H
#define COR_SERVER_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "meta/status/status.h"
#include "server/access/authorizer.h"
#include "server/access/front_proxy.h"
#include "storage/engine/engine.h"

struct cor_instance;
struct cor_loop;

/* The flags of `coracle serve`, and what they mean there. Strings must stay; NULL: not given. */
struct cor_instance_opts {
    const char *data_dir;
    const char *storage_backend; /* NULL: see cor_engine_backend() */
    struct cor_etcd_config etcd;
    const char *path_prefix;         /* of all keys in the store; NULL: /registry */
    const char *storage_media_type;  /* what objects are written as; NULL: application/json */
    uint64_t compaction_interval_ms; /* 0: never */
    const char *bind_address;        /* numeric */
    uint16_t port;                   /* 0: a free one */
    const char *unix_socket;
    const char *token_file, *client_ca_file, *tls_cert_file, *tls_key_file;
    const char *requestheader_ca_file; /* who signs the certificates of front proxies */
    const char *requestheader_lists[COR_PROXY_LISTS]; /* names with commas; NULL: the default */
    const char *proxy_cert_file, *proxy_key_file; /* by which aggregated servers know this one */
    const char *aggregator_resolve; /* where services are reached: name.namespace=host:port,.. */
    bool rejects_redirects;         /* of aggregated servers */
    enum cor_authz_mode authz_mode;
    /* The servers that are asked to whom a token belongs and what a user may do (delegation.h). */
    const char *authentication_kubeconfig, *authorization_kubeconfig;
    bool authentication_skip_lookup, authentication_tolerate_lookup_failure;
    uint64_t token_ttl_ms, authorized_ttl_ms, unauthorized_ttl_ms;
    const char *always_allow_paths; /* with commas; only with `authorization_kubeconfig` */
    uint64_t event_ttl_ms, request_timeout_ms;
    bool allow_privileged; /* containers may be privileged */
    uint64_t min_request_timeout_s;
    uint64_t reading_max, mutating_max;
    uint64_t h2_streams_max;       /* of one HTTP/2 connection; 0: the default */
    bool watch_cache;              /* false: reads go to the store */
    const char *watch_cache_sizes; /* as in struct cor_api_cachers_opts */
    uint64_t watch_cache_bytes;
    uint64_t protobuf_cache_bytes;   /* 0: items of lists in protobuf are not kept */
    const char *encryption_config;   /* an EncryptionConfiguration file */
    bool encryption_reload;          /* look each minute whether it has changed */
    const char *service_cidrs;       /* the addresses of Services; NULL: the default */
    const char *node_ports;          /* the node ports of Services; NULL: the default */
    const char *advertise_address;   /* of this server in the endpoints of default/kubernetes; NULL:
                                      * --bind-address, if others can reach that */
    const char *endpoint_reconciler; /* "none": these endpoints are not written; NULL, "lease" */
    const char *controllers;         /* which run in this server; NULL: all */
    size_t nloops;                   /* 0: as many as there are cores */
};

/* Returns when the server answers requests. A failure is described in `reterr_status`; a process
 * that cannot start a thread for a loop is aborted. */
int cor_instance_open(const struct cor_instance_opts *opts, struct cor_instance **ret_instance,
                      struct cor_status *reterr_status);

struct cor_loop *cor_instance_home(struct cor_instance *instance);
const char *cor_instance_url(const struct cor_instance *instance);
const char *cor_instance_kubeconfig(const struct cor_instance *instance);
bool cor_instance_is_first_start(const struct cor_instance *instance);

/* Runs the home loop until cor_instance_stop(), which something on the home loop calls. */
void cor_instance_run(struct cor_instance *instance);
void cor_instance_stop(struct cor_instance *instance);

/* Reads the encryption file again, if there is one, and logs what came of it. On the home loop. */
void cor_instance_reload(struct cor_instance *instance);

/* Stops listening, ends watches, lets requests finish for `drain_ms`, closes the store. Returns
 * NULL; NULL is fine. */
struct cor_instance *cor_instance_close(struct cor_instance *instance, uint64_t drain_ms);

#endif
