#include "server/instance.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "net/cert.h"
#include "net/tls.h"
#include "server/credentials.h"
#include "server/server.h"
#include "storage/compactor.h"
#include "storage/engine.h"

#define MAIL_MAX         65536
#define FOREVER_MS       (UINT64_C(1) << 40)
#define ENGINE_CHECK_MS  2000
#define QUIET_CHECK_MS   2
#define SYNC_MAX_MS      120000
#define TEXT_MAX         4096
#define UNIX_SOCKET_MODE 0666

/* One of the loops that serve requests, and its way to say that nothing is under way on it. */
struct worker {
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
    struct cor_credentials credentials;
    struct cor_tls *tls;
    struct cor_api *api;
    struct cor_server *server;
    struct cor_compactor *compactor;

    struct cor_mail mail; /* of what is waited for: bootstrap, then the HTTP server's end */
    struct cor_status bootstrap_status;
    int bootstrap_err;
    unsigned waiting; /* answers that have not come to the home loop yet */
    bool is_stopped;

    struct cor_timer engine_timer;
    struct cor_engine_status_req engine_req;
    bool engine_busy;
    atomic_bool engine_ok, draining;
    _Atomic uint64_t store_bytes, store_rev;
    struct cor_health_check checks[4];

    char url[TEXT_MAX], kubeconfig[TEXT_MAX];
    size_t nworkers;
    struct worker workers[];
};

static bool nothing_awaited(void *arg)
{
    return ((struct cor_instance *)arg)->waiting == 0;
}

static void wait_for_all(struct cor_instance *in)
{
    while (!cor_loop_run_until(in->home, nothing_awaited, in, FOREVER_MS))
        continue;
}

static void on_answer(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct cor_instance, mail)->waiting--;
}

/* From any loop: what the home loop waits for has happened. */
static void answer_home(struct cor_instance *in)
{
    in->mail.on_mail = on_answer;
    cor_list_init(&in->mail.link);
    cor_loop_reply(in->home, &in->mail);
}

static bool is_engine_ok(void *arg)
{
    return atomic_load(&((struct cor_instance *)arg)->engine_ok);
}

static bool is_log_ok(void *arg)
{
    return true;
}

static bool is_synced(void *arg)
{
    return cor_api_is_synced(((struct cor_instance *)arg)->api);
}

static bool is_not_draining(void *arg)
{
    return !atomic_load(&((struct cor_instance *)arg)->draining);
}

static void on_engine_status(struct cor_engine_req *req)
{
    struct cor_instance *in = COR_CONTAINER_OF(req, struct cor_instance, engine_req.req);

    atomic_store(&in->engine_ok, req->result == 0);
    atomic_store(&in->store_bytes, in->engine_req.ret_file_bytes);
    atomic_store(&in->store_rev, in->engine_req.ret_rev);
    cor_engine_req_deinit(req);
    in->engine_busy = false;
    /* Without memory for the timer the last verdict stands. */
    if (!atomic_load(&in->draining))
        (void)cor_timer_set(&in->engine_timer, ENGINE_CHECK_MS);
}

static void check_engine(struct cor_timer *timer)
{
    struct cor_instance *in = COR_CONTAINER_OF(timer, struct cor_instance, engine_timer);

    in->engine_req = (struct cor_engine_status_req){0};
    cor_engine_req_init(&in->engine_req.req, in->home, on_engine_status);
    in->engine_busy = true;
    cor_engine_status(in->engine, &in->engine_req);
}

static uint64_t read_store_bytes(void *arg)
{
    return atomic_load(&((struct cor_instance *)arg)->store_bytes);
}

static uint64_t read_store_rev(void *arg)
{
    return atomic_load(&((struct cor_instance *)arg)->store_rev);
}

static uint64_t read_cache_bytes(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).bytes;
}

static uint64_t read_cache_bytes_max(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).bytes_max;
}

static uint64_t read_cache_evicted(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).evicted;
}

static uint64_t read_cache_rev(void *arg)
{
    return cor_api_cache_stats(((struct cor_instance *)arg)->api).rev;
}

static int add_metrics(struct cor_instance *in)
{
    static const struct {
        struct cor_metric_desc desc;
        const char *labels;
        uint64_t (*read)(void *arg);
    } rows[] = {
        {{"apiserver_storage_size_bytes",
          "Size of the storage database file physically allocated in bytes.", COR_METRIC_GAUGE},
         "storage_cluster_id=\"etcd-0\"",
         read_store_bytes},
        {{"coracle_storage_revision",
          "The store's revision: every change of an object counts one. Read every 2 s.",
          COR_METRIC_COUNTER},
         "",
         read_store_rev},
        {{"coracle_watch_cache_revision", "The revision up to which all watch caches are complete.",
          COR_METRIC_COUNTER},
         "",
         read_cache_rev},
        {{"coracle_watch_cache_history_bytes",
          "What windows and kept roots of all watch caches hold.", COR_METRIC_GAUGE},
         "",
         read_cache_bytes},
        {{"coracle_watch_cache_history_limit_bytes", "What they may hold: --watch-cache-bytes.",
          COR_METRIC_GAUGE},
         "",
         read_cache_bytes_max},
        {{"coracle_watch_cache_evicted_segments_total",
          "Segments of events that left a window by the byte budget.", COR_METRIC_COUNTER},
         "",
         read_cache_evicted},
    };
    struct cor_metric *metric;
    int r = cor_metrics_new(in->nworkers, &in->metrics);

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(rows); i++) {
        r = cor_metrics_add(in->metrics, &rows[i].desc, &metric);
        if (r == 0)
            r = cor_metric_add_read(metric, rows[i].labels, rows[i].read, in);
    }
    return r;
}

static int open_loops(struct cor_instance *in)
{
    int r = cor_loop_new(MAIL_MAX, &in->home);

    for (size_t i = 0; r == 0 && i < in->nworkers; i++) {
        in->workers[i].instance = in;
        in->workers[i].index = i;
        r = cor_loop_new(MAIL_MAX, &in->workers[i].loop);
    }
    if (r == 0)
        cor_timer_init(&in->engine_timer, in->home, check_engine);
    return r;
}

static int open_engine(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_engine_config config = {.backend = in->opts.storage_backend,
                                             .data_dir = in->opts.data_dir};

    return cor_engine_open(&config, &in->engine, st);
}

static int open_credentials(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_instance_opts *o = &in->opts;
    const struct cor_credentials_opts opts = {.dir = o->data_dir,
                                              .address = o->bind_address,
                                              .tls_cert_file = o->tls_cert_file,
                                              .tls_key_file = o->tls_key_file,
                                              .now_s = cor_clock_wall_ms(cor_clock_real()) / 1000};
    int r = cor_credentials_open(&opts, &in->credentials, st);

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

static int open_tls(struct cor_instance *in, struct cor_status *st)
{
    static const char *const alpn[] = {"http/1.1"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf client_ca;
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER,
                                .cert_pem = cor_buf_str(&in->credentials.serving.cert_pem),
                                .key_pem = cor_buf_str(&in->credentials.serving.key_pem),
                                .alpn = alpn,
                                .nalpn = COR_ARRAY_LEN(alpn)};
    const char *path = in->opts.client_ca_file;
    int r = 0;

    cor_buf_init(&client_ca, COR_PEM_MAX);
    if (path)
        r = cor_pem_load(path, &client_ca);
    if (r < 0)
        return cor_status_set(st, r, "--client-ca-file %s: %s", path, cor_err_text(r));
    opts.ca_pem = cor_buf_str(&client_ca);
    r = cor_tls_new(&opts, &in->tls);
    if (r == -COR_EINVAL)
        return cor_status_set(st, r,
                              "TLS: certificate, key or client CA is not PEM, or certificate and "
                              "key do not belong together");
    return r;
}

static int open_api(struct cor_instance *in, struct cor_loop *const *loops, struct cor_status *st)
{
    const struct cor_instance_opts *o = &in->opts;
    struct cor_api_opts api_opts = {.engine = in->engine,
                                    .path_prefix = o->path_prefix,
                                    .loops = loops,
                                    .nloops = in->nworkers,
                                    .event_ttl_s = (int64_t)(o->event_ttl_ms / 1000),
                                    .min_request_timeout_s = (int64_t)o->min_request_timeout_s,
                                    .checks = in->checks,
                                    .nchecks = COR_ARRAY_LEN(in->checks)};
    struct cor_server_opts server_opts = {
        .metrics = in->metrics,
        .loops = loops,
        .nloops = in->nworkers,
        .authenticator = {.tokens = in->tokens, .server_uid = geteuid()},
        .authz_mode = o->authz_mode,
        .reading_max = o->reading_max,
        .mutating_max = o->mutating_max,
        .limits = {.request_timeout_ms = o->request_timeout_ms}};
    int r;

    in->checks[0] = (struct cor_health_check){"log", is_log_ok, in, true, true};
    in->checks[1] = (struct cor_health_check){"etcd", is_engine_ok, in, true, true};
    in->checks[2] = (struct cor_health_check){"informer-sync", is_synced, in, false, true};
    in->checks[3] = (struct cor_health_check){"shutdown", is_not_draining, in, false, true};
    r = cor_api_new(&api_opts, &in->api, st);
    if (r < 0)
        return r;
    server_opts.api = in->api;
    return cor_server_new(&server_opts, &in->server);
}

/* The address that a client on this machine uses. */
static const char *client_host(const char *address)
{
    if (strcmp(address, "0.0.0.0") == 0)
        return "127.0.0.1";
    return strcmp(address, "::") == 0 ? "::1" : address;
}

static int listen_all(struct cor_instance *in, struct cor_status *st)
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
    snprintf(in->url, sizeof(in->url), strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u",
             host, port);
    if (!o->unix_socket)
        return 0;
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
    return cor_credentials_write_kubeconfig(&in->credentials, in->kubeconfig, in->url, st);
}

static void on_bootstrap(void *arg, int err, const struct cor_status *status)
{
    struct cor_instance *in = arg;

    in->bootstrap_err = err;
    if (err < 0 && status)
        (void)cor_status_copy(&in->bootstrap_status, status);
    answer_home(in);
}

static bool never(void *arg)
{
    return false;
}

/* They fill themselves beside the bootstrap; nothing tells when the last one is done. */
static int wait_for_caches(struct cor_instance *in, struct cor_status *st)
{
    for (uint64_t ms = 0; ms < SYNC_MAX_MS; ms++) {
        if (cor_api_is_synced(in->api))
            return 0;
        (void)cor_loop_run_until(in->home, never, in, 1);
    }
    return cor_status_set(st, -COR_ETIMEOUT, "the watch caches could not be filled");
}

static int start_loops(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_compactor_opts opts = {
        .engine = in->engine, .loop = in->home, .interval_ms = in->opts.compaction_interval_ms};
    const struct cor_api_cache_opts cache_opts = {.bytes_max = in->opts.watch_cache_bytes,
                                                  .sizes = in->opts.watch_cache_sizes};
    char name[16];
    int r = cor_compactor_open(&opts, &in->compactor);

    if (r == 0 && in->opts.watch_cache)
        r = cor_api_open_caches(in->api, &cache_opts, st);
    if (r == 0)
        r = cor_api_bootstrap(cor_api_loop(in->api, 0), on_bootstrap, in, st);
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
    check_engine(&in->engine_timer);
    wait_for_all(in);
    if (in->bootstrap_err < 0)
        cor_status_move(st, &in->bootstrap_status);
    return in->bootstrap_err < 0 ? in->bootstrap_err : wait_for_caches(in, st);
}

static int check_opts(const struct cor_instance_opts *o, struct cor_status *st)
{
    struct in6_addr address;

    if (inet_pton(AF_INET, o->bind_address, &address) != 1 &&
        inet_pton(AF_INET6, o->bind_address, &address) != 1)
        return cor_status_set(st, -COR_EINVAL, "--bind-address \"%s\" is not a numeric address",
                              o->bind_address);
    if (!o->tls_cert_file != !o->tls_key_file)
        return cor_status_set(st, -COR_EINVAL,
                              "--tls-cert-file and --tls-private-key-file belong together");
    return 0;
}

static int open_all(struct cor_instance *in, struct cor_status *st)
{
    struct cor_loop *loops[COR_API_LOOPS_MAX];
    int r = check_opts(&in->opts, st);

    if (r == 0)
        r = open_loops(in);
    for (size_t i = 0; i < in->nworkers; i++)
        loops[i] = in->workers[i].loop;
    if (r == 0)
        r = open_engine(in, st);
    if (r == 0)
        r = open_credentials(in, st);
    if (r == 0)
        r = add_metrics(in);
    if (r == 0)
        r = open_tls(in, st);
    if (r == 0)
        r = open_api(in, loops, st);
    if (r == 0)
        r = listen_all(in, st);
    if (r == 0)
        r = write_kubeconfig(in, st);
    return r == 0 ? start_loops(in, st) : r;
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
    in->opts = *opts;
    in->nworkers = n;
    atomic_init(&in->engine_ok, true);
    cor_status_init(&in->bootstrap_status);
    r = open_all(in, reterr_status);
    if (r < 0) {
        cor_instance_close(in, 0);
        if (reterr_status && reterr_status->err == 0)
            (void)cor_status_set(reterr_status, r, "%s", cor_err_text(r));
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

static bool is_stopped(void *arg)
{
    return ((struct cor_instance *)arg)->is_stopped;
}

void cor_instance_run(struct cor_instance *instance)
{
    while (!cor_loop_run_until(instance->home, is_stopped, instance, FOREVER_MS))
        continue;
}

void cor_instance_stop(struct cor_instance *instance)
{
    instance->is_stopped = true;
}

static void on_http_closed(void *arg)
{
    answer_home(arg);
}

static void on_compactor_closed(void *arg)
{
    ((struct cor_instance *)arg)->waiting--;
}

static void on_quiet(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct worker, mail)->instance->waiting--;
}

/* On the worker's loop. Calls may outlive their responses while the store works for them. */
static void check_quiet(struct cor_timer *timer)
{
    struct worker *w = COR_CONTAINER_OF(timer, struct worker, timer);
    struct cor_api_loop *loop = cor_api_loop(w->instance->api, w->index);

    if (cor_api_loop_calls(loop) > 0 && cor_timer_set(timer, QUIET_CHECK_MS) == 0)
        return;
    cor_api_loop_release(loop);
    w->mail.on_mail = on_quiet;
    cor_loop_reply(w->instance->home, &w->mail);
}

static void on_ask_quiet(struct cor_mail *mail)
{
    struct worker *w = COR_CONTAINER_OF(mail, struct worker, mail);

    cor_timer_init(&w->timer, w->loop, check_quiet);
    check_quiet(&w->timer);
}

static void on_caches_closed(void *arg)
{
    answer_home(arg);
}

/* On the first worker's loop. */
static void on_ask_caches(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct worker, mail)->instance;

    if (!cor_api_close_caches(in->api, on_caches_closed, in))
        answer_home(in);
}

/* Waits for what the workers were asked. Loops that were never started turn here. */
static void wait_for_workers(struct cor_instance *in)
{
    while (in->waiting > 0) {
        for (size_t i = 0; i < in->nworkers; i++)
            if (!in->workers[i].is_started)
                (void)cor_loop_run_until(in->workers[i].loop, nothing_awaited, in, 1);
        (void)cor_loop_run_until(in->home, nothing_awaited, in,
                                 in->workers[0].is_started ? FOREVER_MS : 1);
    }
}

static void ask_worker(struct worker *w, void (*on_mail)(struct cor_mail *mail))
{
    w->mail.on_mail = on_mail;
    cor_list_init(&w->mail.link);
    w->instance->waiting++;
    cor_loop_reply(w->loop, &w->mail);
}

static void drain(struct cor_instance *in, uint64_t drain_ms)
{
    in->waiting++;
    cor_http_server_close(cor_server_http(in->server), drain_ms, on_http_closed, in);
    wait_for_workers(in);
    for (size_t i = 0; i < in->nworkers; i++)
        ask_worker(&in->workers[i], on_ask_quiet);
    wait_for_workers(in);
    ask_worker(&in->workers[0], on_ask_caches);
    wait_for_workers(in);
}

static bool engine_is_quiet(void *arg)
{
    return !((struct cor_instance *)arg)->engine_busy;
}

static void close_home(struct cor_instance *in)
{
    cor_timer_cancel(&in->engine_timer);
    if (in->compactor) {
        in->waiting++;
        cor_compactor_close(in->compactor, on_compactor_closed, in);
    }
    wait_for_all(in);
    while (!cor_loop_run_until(in->home, engine_is_quiet, in, FOREVER_MS))
        continue;
}

struct cor_instance *cor_instance_close(struct cor_instance *instance, uint64_t drain_ms)
{
    struct cor_instance *in = instance;

    if (!in)
        return NULL;
    atomic_store(&in->draining, true);
    if (in->server)
        drain(in, drain_ms);
    for (size_t i = 0; i < in->nworkers; i++)
        if (in->workers[i].is_started)
            cor_loop_stop(in->workers[i].loop);
    if (in->home)
        close_home(in);
    cor_server_free(in->server);
    cor_api_free(in->api);
    cor_engine_close(in->engine);
    for (size_t i = 0; i < in->nworkers; i++)
        cor_loop_free(in->workers[i].loop);
    cor_loop_free(in->home);
    cor_metrics_free(in->metrics);
    cor_token_table_free(in->tokens);
    cor_tls_unref(in->tls);
    cor_credentials_deinit(&in->credentials);
    cor_status_deinit(&in->bootstrap_status);
    return cor_free(in);
}
