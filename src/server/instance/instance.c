/* clang-format off */
/* The start of `coracle serve`: everything is opened in the order in which it is needed, on the
 * calling thread, which becomes the home loop's.
 *
 *   options checked ──► loops ──► engine ──► credentials and tokens ──► metrics ──► encryption ──►
 *   TLS ──► offload threads, API, HTTP server ──► listening ──► kubeconfig written ──► announced in
 *   the store ──► compactor, watch caches, allocators, default namespaces ──► the loops' threads
 *   start ──►
 *   first health check ──► default namespaces are there, caches are filled ──► the Service
 *   default/kubernetes is there, and what is served is registered ──► the upkeep of other objects and the controllers begin, and nothing waits for them ──► open
 *
 * When a step fails, cor_instance_close() closes what is open (instance_close.c), and the reason is
 * in the status. There are two exceptions. A cache that cannot be filled does not keep the server
 * from starting: the rest is served, and readiness says why. A loop without a thread ends the
 * process, because other loops run already.
 * Thread: home. */
/* clang-format on */
#include "base/limits.h"
#include "server/crd/crds.h"
#include "server/instance/instance_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/offload.h"
#include "loop/turns.h"
#include "net/host/host.h"
#include "net/stream/tls.h"
#include "server/alloc/alloc.h"
#include "server/controllers/host/controller_table.h"
#include "storage/maintenance/compactor.h"

/* The threads for requests over large bytes, and their queue. */
#define OFFLOAD_THREADS  2
#define SYNC_MAX_MS      120000
#define UNIX_SOCKET_MODE 0666

static int instance_open_loops(struct cor_instance *in)
{
    int r = cor_loop_new(COR_LOOP_MAIL_MAX, &in->home);

    if (r == 0) {
        cor_loop_measure_turns(in->home);
        cor_timer_init(&in->engine_timer, in->home, cor_instance_check_engine);
        cor_timer_init(&in->encryption_timer, in->home, cor_instance_check_encryption);
        cor_timer_init(&in->trust_timer, in->home, cor_instance_check_trust);
    }
    for (size_t i = 0; r == 0 && i < in->nworkers; i++) {
        in->workers[i].instance = in;
        in->workers[i].index = i;
        r = cor_loop_new(COR_LOOP_MAIL_MAX, &in->workers[i].loop);
        if (r == 0)
            cor_loop_measure_turns(in->workers[i].loop);
    }
    return r;
}

static void on_etcd_waiting(void *arg, const char *servers)
{
    COR_LOG_WARN("etcd does not answer yet; waiting", COR_F_STR("servers", servers));
}

static int instance_open_engine(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_engine_config config = {
        .backend = in->opts.storage_backend,
        .etcd = in->opts.etcd,
        .path_prefix = in->opts.path_prefix,
        .data_dir = in->opts.data_dir,
        .on_waiting = on_etcd_waiting,
    };

    return cor_engine_open(&config, &in->engine, st);
}

static int instance_open_credentials(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_instance_opts *o = &in->opts;
    const struct cor_server_credentials_opts opts = {.dir = o->data_dir,
                                                     .address = o->bind_address,
                                                     .tls_cert_file = o->tls_cert_file,
                                                     .tls_key_file = o->tls_key_file,
                                                     .proxy_cert_file = o->proxy_cert_file,
                                                     .proxy_key_file = o->proxy_key_file,
                                                     .now_s = cor_clock_wall_ms(cor_clock_real()) /
                                                              1000};
    int r = cor_server_credentials_open(&opts, &in->credentials, st);

    if (r < 0)
        return r;
    r = cor_token_table_new(&in->tokens);
    if (r == 0)
        r = cor_token_table_add(in->tokens, cor_buf_str(&in->credentials.token),
                                COR_STR(COR_ADMIN_USER), COR_STR(""), COR_STR(COR_GROUP_MASTERS));
    if (r == 0 && o->token_file)
        return cor_token_table_load(in->tokens, o->token_file, st);
    return r;
}

static int instance_open_tls(struct cor_instance *in, struct cor_status *st)
{
    static const char *const alpn[] = {"h2", "http/1.1"};
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER,
                                .cert_pem = cor_buf_str(&in->credentials.serving.cert_pem),
                                .key_pem = cor_buf_str(&in->credentials.serving.key_pem),
                                .alpn = alpn,
                                .nalpn = COR_ARRAY_LEN(alpn)};
    int r = cor_instance_open_trust(in, st);

    if (r < 0)
        return r;
    if (cor_instance_asks_certs(in))
        opts.client_cas = cor_client_trust_cas(in->trust);
    r = cor_tls_new(&opts, &in->tls);
    if (r == -COR_EINVAL)
        return cor_status_set(st, r,
                              "TLS: certificate or key is not PEM, or they do not belong together");
    return r;
}

static int instance_open_api(struct cor_instance *in, struct cor_loop *const *loops,
                             struct cor_status *st)
{
    const struct cor_instance_opts *o = &in->opts;
    struct cor_api_opts api_opts = {.engine = in->engine,
                                    .path_prefix = o->path_prefix,
                                    .loops = loops,
                                    .nloops = in->nworkers,
                                    .event_ttl_s = (int64_t)(o->event_ttl_ms / 1000),
                                    .allow_privileged = o->allow_privileged,
                                    .min_request_timeout_s = (int64_t)o->min_request_timeout_s,
                                    .tokens = in->tokens,
                                    .authorizer = o->authz_mode == COR_AUTHZ_DELEGATED
                                                      ? &in->delegated.authorizer
                                                      : cor_authorizer_of_mode(o->authz_mode),
                                    .checks = in->checks,
                                    .held_bytes_max = o->watch_cache_bytes,
                                    .protobuf_cache_bytes = o->protobuf_cache_bytes,
                                    .transformers = in->transformers};
    static const struct cor_offload_opts offload_opts = {.nthreads = OFFLOAD_THREADS,
                                                         .jobs_max = COR_HEAVY_JOBS_MAX,
                                                         .bytes_max = COR_HEAVY_QUEUE_MAX};
    struct cor_server_opts server_opts = {
        .metrics = in->metrics,
        .loops = loops,
        .nloops = in->nworkers,
        .authenticator = {.tokens = in->tokens,
                          .server_uid = geteuid(),
                          .trust = in->trust,
                          .asks_delegate = o->authentication_kubeconfig != NULL},
        .delegation = in->delegation,
        .reading_max = o->reading_max,
        .mutating_max = o->mutating_max,
        .limits = {.request_timeout_ms = o->request_timeout_ms,
                   .h2_streams_max = (uint32_t)o->h2_streams_max}};
    int r;

    r = cor_stored_form_parse(o->storage_media_type, &api_opts.stored_form, st);
    if (r < 0)
        return r;
    cor_instance_add_checks(in);
    api_opts.nchecks = in->nchecks;
    r = cor_offload_new(&offload_opts, &in->offload);
    if (r < 0)
        return cor_status_set(st, r, "threads for large requests: %s", cor_err_text(r));
    api_opts.offload = in->offload;
    r = cor_api_new(&api_opts, &in->api, st);
    if (r < 0)
        return r;
    r = cor_instance_open_aggregator(in, st);
    if (r < 0)
        return r;
    server_opts.api = in->api;
    server_opts.aggregator = in->aggregator;
    return cor_server_new(&server_opts, &in->server);
}

/* The address that a client on this machine uses. */
static const char *client_host(const char *address)
{
    if (strcmp(address, "0.0.0.0") == 0)
        return "127.0.0.1";
    return strcmp(address, "::") == 0 ? "::1" : address;
}

static int instance_listen(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_instance_opts *o = &in->opts;
    struct cor_http_server *http = cor_server_http(in->server);
    const char *host = client_host(o->bind_address);
    uint16_t port;
    int r = cor_http_server_listen(http, o->bind_address, o->port, in->tls, &port);

    if (r == -COR_EEXIST)
        return cor_status_set(st, r,
                              "%s port %u is in use; choose another with --port, or --port 0 for a "
                              "free one",
                              o->bind_address, o->port);
    if (r < 0)
        return cor_status_set(st, r, "cannot listen on %s port %u: %s", o->bind_address, o->port,
                              cor_err_text(r));
    in->port = port;
    snprintf(in->url, sizeof(in->url), strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u",
             host, port);
    r = cor_api_set_address(in->api, in->url + sizeof("https://") - 1);
    if (r < 0 || !o->unix_socket)
        return r;
    r = cor_http_server_listen_unix(http, o->unix_socket, UNIX_SOCKET_MODE);
    return r < 0 ? cor_status_set(st, r, "cannot listen on %s: %s", o->unix_socket, cor_err_text(r))
                 : 0;
}

static int write_kubeconfig(struct cor_instance *in, struct cor_status *st)
{
    int n =
        snprintf(in->kubeconfig, sizeof(in->kubeconfig), "%s/admin.kubeconfig", in->opts.data_dir);

    if (n >= (int)sizeof(in->kubeconfig))
        return cor_status_set(st, -COR_EINVAL, "--data: the path is too long");
    return cor_server_credentials_write_kubeconfig(&in->credentials, in->kubeconfig, in->url, st);
}

static void instance_on_bootstrap(void *arg, int err, const struct cor_status *status)
{
    struct cor_instance *in = arg;

    in->bootstrap_err = err;
    if (err < 0 && status)
        (void)cor_status_copy(&in->bootstrap_status, status);
    atomic_store(&in->is_bootstrapped, err == 0);
    cor_instance_answer_home(in);
}

static bool never(void *arg)
{
    return false;
}

/* On the first worker's loop. */
static void instance_on_start_crds(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_instance, mail);

    in->crds_err = cor_crds_start(in->crds, &in->bootstrap_status);
    cor_instance_answer_home(in);
}

/* Begins to follow the CustomResourceDefinitions, when the first worker runs. */
static int instance_start_crds(struct cor_instance *in, struct cor_status *st)
{
    in->waiting++;
    in->mail.on_mail = instance_on_start_crds;
    cor_dlist_init(&in->mail.link);
    cor_loop_post_always(in->workers[0].loop, &in->mail);
    cor_instance_wait(in);
    if (in->crds_err < 0) {
        cor_status_move(st, &in->bootstrap_status);
        return in->crds_err;
    }
    in->are_crds_started = true;
    return 0;
}

static bool instance_has_builtins(const struct cor_instance *in)
{
    return cor_api_is_synced(in->api) && cor_alloc_is_ready(in->alloc);
}

static bool instance_has_crds(const struct cor_instance *in)
{
    return cor_crds_is_synced(in->crds);
}

/* The caches fill themselves while the bootstrap runs. Nothing reports when the last one is filled:
 * the home loop looks each millisecond. An object that cannot be read (its encryption key is
 * missing) keeps its cache from being filled; the server starts all the same, and readiness says
 * why. Returns 1 when all are filled, and 0 when one cannot be. */
static int instance_wait_for_caches(struct cor_instance *in,
                                    bool (*are_filled)(const struct cor_instance *in),
                                    struct cor_status *st)
{
    char why[COR_READY_MESSAGE_MAX];

    for (uint64_t ms = 0; ms < SYNC_MAX_MS; ms++) {
        if (are_filled(in))
            return 1;
        if (cor_api_sync_failed(in->api, why)) {
            COR_LOG_ERROR("a watch cache cannot be filled, and is tried again each second",
                          COR_F_STR("error", why));
            return 0;
        }
        (void)cor_loop_run_until(in->home, never, in, 1);
    }
    return cor_status_set(st, -COR_ETIMEOUT, "the watch caches could not be filled");
}

static int instance_start_loops(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_compactor_opts opts = {
        .engine = in->engine, .loop = in->home, .interval_ms = in->opts.compaction_interval_ms};
    const struct cor_api_cachers_opts cache_opts = {.bytes_max = in->opts.watch_cache_bytes,
                                                    .sizes = in->opts.watch_cache_sizes};
    const struct cor_alloc_opts alloc_opts = {.cidrs = in->opts.service_cidrs,
                                              .ports = in->opts.node_ports};
    const struct cor_crds_opts crds_opts = {.api = in->api};
    char name[16];
    bool are_filled;
    int r = cor_compactor_open(&opts, &in->compactor);

    if (r == 0)
        r = cor_instance_prepare_checks(in);
    if (r == 0 && in->opts.watch_cache)
        r = cor_api_open_cachers(in->api, &cache_opts, st);
    if (r == 0)
        r = cor_api_add_cache_metrics(in->api, in->metrics);
    if (r == 0)
        r = cor_alloc_open(in->api, &alloc_opts, &in->alloc, st);
    if (r == 0)
        r = cor_instance_open_service(in, st);
    if (r == 0)
        r = cor_crds_new(&crds_opts, &in->crds, st);
    if (r == 0)
        r = cor_instance_open_services(in, st);
    if (r == 0)
        r = cor_instance_open_controllers(in, st);
    if (r == 0)
        r = cor_api_bootstrap(cor_api_loop(in->api, 0), instance_on_bootstrap, in, st);
    if (r < 0)
        return r;
    in->waiting = 1;
    for (size_t i = 0; i < in->nworkers; i++) {
        snprintf(name, sizeof(name), "loop-%u", (unsigned char)i);
        if (cor_loop_start(in->workers[i].loop, name) < 0) {
            COR_LOG_ERROR("no thread for a loop", COR_F_U64("loop", i));
            abort();
        }
        in->workers[i].is_started = true;
    }
    cor_instance_check_engine(&in->engine_timer);
    cor_instance_wait(in);
    if (in->bootstrap_err < 0) {
        cor_status_move(st, &in->bootstrap_status);
        return in->bootstrap_err;
    }
    r = cor_instance_start_lookup(in, st);
    if (r < 0)
        return r;
    /* A watch that asks a cache before it is filled comes again only after a pause, in which no new
     * definition would be served. */
    r = instance_wait_for_caches(in, instance_has_builtins, st);
    if (r < 0)
        return r;
    are_filled = r == 1;
    r = instance_start_crds(in, st);
    if (r == 0)
        r = instance_wait_for_caches(in, instance_has_crds, st);
    if (r < 0)
        return r;
    are_filled = are_filled && r == 1;
    r = cor_instance_start_services(in, st);
    if (r < 0)
        return r;
    cor_instance_start_service(in, are_filled);
    /* Discovery shows the APIServices from the first request on. */
    if (are_filled)
        r = instance_wait_for_caches(in, cor_instance_has_services, st);
    if (r < 0)
        return r;
    r = cor_instance_start_upkeep(in);
    if (r == 0)
        cor_instance_start_controllers(in);
    return r;
}

static int instance_check_opts(const struct cor_instance_opts *o, struct cor_status *st)
{
    const struct cor_alloc_opts alloc_opts = {.cidrs = o->service_cidrs, .ports = o->node_ports};

    if (!cor_host_is_numeric(o->bind_address))
        return cor_status_set(st, -COR_EINVAL, "--bind-address \"%s\" is not a numeric address",
                              o->bind_address);
    if (!o->tls_cert_file != !o->tls_key_file)
        return cor_status_set(st, -COR_EINVAL,
                              "--tls-cert-file and --tls-private-key-file belong together");
    if (!o->proxy_cert_file != !o->proxy_key_file)
        return cor_status_set(
            st, -COR_EINVAL,
            "--proxy-client-cert-file and --proxy-client-key-file belong together");
    if (cor_alloc_check(&alloc_opts, st) < 0 || cor_instance_check_advertised(o, st) < 0 ||
        cor_server_controllers_check(o->controllers, st) < 0)
        return -COR_EINVAL;
    if (o->authorization_kubeconfig && o->authz_mode != COR_AUTHZ_DELEGATED)
        return cor_status_set(st, -COR_EINVAL,
                              "--authorization-mode and --authorization-kubeconfig exclude one "
                              "another");
    if (o->encryption_reload && !o->encryption_config)
        return cor_status_set(st, -COR_EINVAL,
                              "--encryption-provider-config-automatic-reload must be set with "
                              "--encryption-provider-config");
    return 0;
}

static int instance_open_all(struct cor_instance *in, struct cor_status *st)
{
    struct cor_loop *loops[COR_API_LOOPS_MAX];
    int r = instance_check_opts(&in->opts, st);

    if (r == 0)
        r = instance_open_loops(in);
    for (size_t i = 0; i < in->nworkers; i++)
        loops[i] = in->workers[i].loop;
    if (r == 0)
        r = instance_open_engine(in, st);
    if (r == 0)
        r = instance_open_credentials(in, st);
    if (r == 0)
        r = cor_instance_add_metrics(in);
    if (r == 0)
        r = cor_instance_open_encryption(in, st);
    if (r == 0)
        r = instance_open_tls(in, st);
    if (r == 0)
        r = cor_instance_open_delegation(in, st);
    if (r == 0)
        r = instance_open_api(in, loops, st);
    if (r == 0)
        r = instance_listen(in, st);
    if (r == 0)
        r = write_kubeconfig(in, st);
    if (r < 0)
        return r;
    cor_instance_announce(in);
    return instance_start_loops(in, st);
}

static size_t count_loops(size_t wanted)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = wanted ? wanted : cores > 0 ? (size_t)cores : 1;

    return n < COR_API_LOOPS_MAX ? n : COR_API_LOOPS_MAX;
}

int cor_instance_open(const struct cor_instance_opts *opts, struct cor_instance **ret_instance,
                      struct cor_status *reterr_status)
{
    size_t n = count_loops(opts->nloops);
    struct cor_instance *in = cor_calloc(1, sizeof(*in) + n * sizeof(in->workers[0]));
    int r;

    if (!in)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    assert(opts->data_dir && opts->bind_address);
    in->opts = *opts;
    in->nworkers = n;
    atomic_init(&in->engine_ok, true);
    cor_lock_init(&in->engine_lock, COR_LOCK_INSTANCE_ENGINE);
    cor_status_init(&in->bootstrap_status);
    r = instance_open_all(in, reterr_status);
    if (r < 0) {
        cor_instance_close(in, 0);
        if (reterr_status && reterr_status->err == 0)
            (void)cor_status_set_err(reterr_status, r);
        return r;
    }
    *ret_instance = in;
    return 0;
}

struct cor_loop *cor_instance_home(struct cor_instance *instance)
{
    return instance->home;
}

const char *cor_instance_url(const struct cor_instance *instance)
{
    return instance->url;
}

const char *cor_instance_kubeconfig(const struct cor_instance *instance)
{
    return instance->kubeconfig;
}

bool cor_instance_is_first_start(const struct cor_instance *instance)
{
    return instance->credentials.is_first;
}

static bool instance_is_stopped(void *arg)
{
    return ((struct cor_instance *)arg)->is_stopped;
}

void cor_instance_run(struct cor_instance *instance)
{
    assert(cor_loop_is_current(instance->home));
    while (
        !cor_loop_run_until(instance->home, instance_is_stopped, instance, COR_INSTANCE_FOREVER_MS))
        continue;
}

void cor_instance_stop(struct cor_instance *instance)
{
    assert(cor_loop_is_current(instance->home));
    instance->is_stopped = true;
}
