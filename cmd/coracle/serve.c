/* clang-format off */
/* `coracle serve`: flags, the log, and the life of one server.
 *
 *   open the instance ──► say that it is ready ──► run until SIGINT or SIGTERM ──► close, with
 *   COR_DRAIN_MS for requests that are under way
 *
 * SIGHUP reads the encryption file again. A start that fails prints the reason and a hint, and ends
 * with status 1. */
/* clang-format on */
#include "serve.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "coracle/version.h"
#include "etcd_flags.h"
#include "interrupt.h"
#include "notify.h"
#include "server/instance/instance.h"
#include "start_pages.h"

#define VERBOSE_DEBUG 4
#define NO_FD         UINT64_MAX
#define FD_MAX        (1 << 20)

struct serve_opts {
    struct cor_instance_opts instance;
    uint64_t port, ready_fd, verbosity;
    const char *authorization_mode, *logging_format;
    bool die_with_parent;
};

#define AT(field)          offsetof(struct serve_opts, field)
#define AT_INSTANCE(field) offsetof(struct serve_opts, instance.field)
#define AT_LIST(list)      offsetof(struct serve_opts, instance.requestheader_lists[COR_PROXY_##list])

static const struct flag flags[] = {
    {"data", 0, FLAG_TEXT, AT_INSTANCE(data_dir), "DIR",
     "the folder of the store and the credentials (%)"},
    {"port", 0, FLAG_NUMBER, AT(port), "PORT", "where HTTPS is served (%); 0 takes a free port", 0,
     65535},
    {"bind-address", 0, FLAG_TEXT, AT_INSTANCE(bind_address), "ADDRESS",
     "the numeric address to listen on (%); 0.0.0.0 or :: for all"},
    {"advertise-address", 0, FLAG_TEXT, AT_INSTANCE(advertise_address), "ADDRESS",
     "the endpoint of the Service default/kubernetes (the bind address, unless it is loopback)"},
    {"endpoint-reconciler-type", 0, FLAG_CHOICE, AT_INSTANCE(endpoint_reconciler), "lease|none",
     "who writes the endpoints of the Service default/kubernetes: the servers, or somebody else (lease)"},
    {"controllers", 0, FLAG_TEXT, AT_INSTANCE(controllers), "LIST",
     "which controllers run in this server (*): \"*,-name\" for all but one, \"name,name\", \"-*\" for none"},
    {"unix-socket", 0, FLAG_TEXT, AT_INSTANCE(unix_socket), "PATH",
     "also serve plain HTTP there; root and the server's own user are system:masters"},
    {"token-auth-file", 0, FLAG_TEXT, AT_INSTANCE(token_file), "FILE",
     "bearer tokens, CSV: token,user,uid,\"group1,group2\""},
    {"client-ca-file", 0, FLAG_TEXT, AT_INSTANCE(client_ca_file), "FILE",
     "who may sign client certificates: CN is the user, O are the groups"},
    {"requestheader-client-ca-file", 0, FLAG_TEXT, AT_INSTANCE(requestheader_ca_file), "FILE",
     "who signs the client certificates of front proxies, whose headers name the users"},
    {"requestheader-allowed-names", 0, FLAG_TEXT, AT_LIST(ALLOWED), "NAME,..",
     "the common names that these certificates may have (any)"},
    {"requestheader-username-headers", 0, FLAG_TEXT, AT_LIST(USERNAMES), "HEADER,..",
     "front proxies say the user's name in these headers (x-remote-user)"},
    {"requestheader-uid-headers", 0, FLAG_TEXT, AT_LIST(UIDS), "HEADER,..",
     "and the user's uid in these (none); X-Remote-Uid must be one of them"},
    {"requestheader-group-headers", 0, FLAG_TEXT, AT_LIST(GROUPS), "HEADER,..",
     "and the user's groups in these (x-remote-group)"},
    {"requestheader-extra-headers-prefix", 0, FLAG_TEXT, AT_LIST(EXTRA_PREFIXES), "PREFIX,..",
     "and extra attributes in headers that begin so (x-remote-extra-)"},
    {"tls-cert-file", 0, FLAG_TEXT, AT_INSTANCE(tls_cert_file), "FILE",
     "the serving certificate, with its chain (made in DIR/pki)"},
    {"tls-private-key-file", 0, FLAG_TEXT, AT_INSTANCE(tls_key_file), "FILE",
     "the key of --tls-cert-file"},
    {"proxy-client-cert-file", 0, FLAG_TEXT, AT_INSTANCE(proxy_cert_file), "FILE",
     "the client certificate by which aggregated API servers know this server (made in DIR/pki)"},
    {"proxy-client-key-file", 0, FLAG_TEXT, AT_INSTANCE(proxy_key_file), "FILE",
     "the key of --proxy-client-cert-file"},
    {"aggregator-resolve", 0, FLAG_TEXT, AT_INSTANCE(aggregator_resolve),
     "NAME.NAMESPACE=HOST:PORT,..",
     "where the Services of aggregated API servers are reached, when not by their addresses"},
    {"aggregator-reject-forwarding-redirect", 0, FLAG_SWITCH, AT_INSTANCE(rejects_redirects), NULL,
     "answer 502 when an aggregated API server redirects a client (%)"},
    {"authorization-mode", 0, FLAG_CHOICE, AT(authorization_mode), "AlwaysAllow|AlwaysDeny",
     "what users outside of system:masters may do (nothing)"},
    {"authentication-kubeconfig", 0, FLAG_TEXT, AT_INSTANCE(authentication_kubeconfig), "FILE",
     "the server that is asked whose a bearer token is (TokenReview), and whom to believe"},
    {"authentication-skip-lookup", 0, FLAG_SWITCH, AT_INSTANCE(authentication_skip_lookup), NULL,
     "do not read client CAs from that server's ConfigMap extension-apiserver-authentication"},
    {"authentication-tolerate-lookup-failure", 0, FLAG_SWITCH,
     AT_INSTANCE(authentication_tolerate_lookup_failure), NULL,
     "start also when that ConfigMap cannot be read"},
    {"authentication-token-webhook-cache-ttl", 0, FLAG_DURATION, AT_INSTANCE(token_ttl_ms),
     "DURATION", "how long answers about tokens are kept (%)"},
    {"authorization-kubeconfig", 0, FLAG_TEXT, AT_INSTANCE(authorization_kubeconfig), "FILE",
     "the server that is asked what users may do (SubjectAccessReview)"},
    {"authorization-always-allow-paths", 0, FLAG_TEXT, AT_INSTANCE(always_allow_paths), "PATH,..",
     "what it need not be asked for (%); \"/x/*\" is all below /x/"},
    {"authorization-webhook-cache-authorized-ttl", 0, FLAG_DURATION, AT_INSTANCE(authorized_ttl_ms),
     "DURATION", "how long its permissions are kept (%)"},
    {"authorization-webhook-cache-unauthorized-ttl", 0, FLAG_DURATION,
     AT_INSTANCE(unauthorized_ttl_ms), "DURATION", "how long its refusals are kept (%)"},
    {"allow-privileged", 0, FLAG_SWITCH, AT_INSTANCE(allow_privileged), NULL,
     "let containers be privileged (%)"},
    {"event-ttl", 0, FLAG_DURATION, AT_INSTANCE(event_ttl_ms), "DURATION",
     "how long events are kept (%)"},
    {"max-requests-inflight", 0, FLAG_NUMBER, AT_INSTANCE(reading_max), "N",
     "reading requests at once (%); 0 for no limit"},
    {"max-mutating-requests-inflight", 0, FLAG_NUMBER, AT_INSTANCE(mutating_max), "N",
     "mutating requests at once (%); 0 for no limit"},
    {"http2-max-streams-per-connection", 0, FLAG_NUMBER, AT_INSTANCE(h2_streams_max), "N",
     "requests at once on one HTTP/2 connection (%); 0 for that", 0, COR_H2_STREAMS_FLAG_MAX},
    {"request-timeout", 0, FLAG_DURATION, AT_INSTANCE(request_timeout_ms), "DURATION",
     "how long a request may take (%)"},
    {"min-request-timeout", 0, FLAG_NUMBER, AT_INSTANCE(min_request_timeout_s), "SECONDS",
     "a watch lasts one to two times this unless it says otherwise (%)", 1,
     COR_MIN_REQUEST_FLAG_MAX_S},
    {"watch-cache", 0, FLAG_SWITCH, AT_INSTANCE(watch_cache), NULL, "serve reads from memory (%)"},
    {"watch-cache-sizes", 0, FLAG_TEXT, AT_INSTANCE(watch_cache_sizes), "RESOURCE#N,..",
     "pods#0 or deployments.apps#0 serves that resource from the store; other sizes change nothing"},
    {"watch-cache-bytes", 0, FLAG_NUMBER, AT_INSTANCE(watch_cache_bytes), "BYTES",
     "what watch caches may keep beside the present state (%)", COR_WATCH_CACHE_FLAG_MIN},
    {"protobuf-cache-bytes", 0, FLAG_NUMBER, AT_INSTANCE(protobuf_cache_bytes), "BYTES",
     "what may be kept to answer lists in protobuf again (%); 0 for nothing", 0,
     COR_PROTOBUF_FLAG_MAX},
    {"service-cluster-ip-range", 0, FLAG_TEXT, AT_INSTANCE(service_cidrs), "CIDR[,CIDR]",
     "the addresses of Services (10.0.0.0/24); of both families, the primary one first"},
    {"service-node-port-range", 0, FLAG_TEXT, AT_INSTANCE(node_ports), "FIRST-LAST",
     "the node ports of Services (30000-32767)"},
    {"storage-backend", 0, FLAG_TEXT, AT_INSTANCE(storage_backend), "sqlite|etcd3",
     "what keeps the data (etcd3 when --etcd-servers is given, else sqlite)"},
    ETCD_FLAGS(AT_INSTANCE(etcd)),
    {"etcd-prefix", 0, FLAG_TEXT, AT_INSTANCE(path_prefix), "PREFIX",
     "what all keys in the store begin with (/registry)"},
    {"storage-media-type", 0, FLAG_CHOICE, AT_INSTANCE(storage_media_type),
     "application/json|application/vnd.kubernetes.protobuf",
     "what objects of built-in kinds are written as (application/json); both are read"},
    {"etcd-compaction-interval", 0, FLAG_DURATION, AT_INSTANCE(compaction_interval_ms), "DURATION",
     "how often old revisions are dropped (%); 0 for never"},
    {"encryption-provider-config", 0, FLAG_TEXT, AT_INSTANCE(encryption_config), "FILE",
     "an EncryptionConfiguration: which resources are stored encrypted, and with which keys"},
    {"encryption-provider-config-automatic-reload", 0, FLAG_SWITCH, AT_INSTANCE(encryption_reload),
     NULL, "look each minute whether that file has changed, and use what it says then"},
    {"ready-fd", 0, FLAG_NUMBER, AT(ready_fd), "FD",
     "write the server's URL and a line end there when it is ready", 0, FD_MAX},
    {"die-with-parent", 0, FLAG_SWITCH, AT(die_with_parent), NULL,
     "stop when the process that started this one ends"},
    {"logging-format", 0, FLAG_CHOICE, AT(logging_format), "text|json", "how to log (%)"},
    {"v", 'v', FLAG_NUMBER, AT(verbosity), "N", "how much to log (%); from 4 on everything"},
};

static const struct serve_opts defaults = {
    .instance = {.data_dir = DATA_DIR_DEFAULT,
                 .compaction_interval_ms = COR_COMPACTION_INTERVAL_MS,
                 .bind_address = "127.0.0.1",
                 .token_ttl_ms = COR_TOKEN_TTL_MS,
                 .authorized_ttl_ms = COR_AUTHORIZED_TTL_MS,
                 .unauthorized_ttl_ms = COR_UNAUTHORIZED_TTL_MS,
                 .always_allow_paths = "/healthz,/readyz,/livez",
                 .event_ttl_ms = COR_EVENT_TTL_S * 1000,
                 .request_timeout_ms = COR_REQUEST_TIMEOUT_MS,
                 .min_request_timeout_s = COR_MIN_REQUEST_TIMEOUT_S,
                 .reading_max = COR_READING_MAX,
                 .mutating_max = COR_MUTATING_MAX,
                 .h2_streams_max = COR_H2_STREAMS_MAX,
                 .rejects_redirects = true,
                 .watch_cache = true,
                 .watch_cache_bytes = COR_WATCH_CACHE_BYTES,
                 .protobuf_cache_bytes = COR_PROTOBUF_CACHE_BYTES},
    .port = 6443,
    .ready_fd = NO_FD,
    .logging_format = "text",
};

static enum cor_authz_mode authz_mode(const char *word, const char *delegate)
{
    if (!word)
        return delegate ? COR_AUTHZ_DELEGATED : COR_AUTHZ_MASTERS;
    return strcmp(word, "AlwaysAllow") == 0 ? COR_AUTHZ_ALWAYS_ALLOW : COR_AUTHZ_ALWAYS_DENY;
}

static void install_log(const struct serve_opts *o)
{
    cor_log_install(&(struct cor_log_opts){
        .fd = STDERR_FILENO,
        .level = o->verbosity >= VERBOSE_DEBUG ? COR_LEVEL_DEBUG : COR_LEVEL_INFO,
        .format = strcmp(o->logging_format, "json") == 0 ? COR_LOG_JSON : COR_LOG_TEXT,
        .clock = cor_clock_real()});
}

static void say_ready(const struct serve_opts *o, const struct cor_instance *in, uint64_t took_us)
{
    printf("coracle %s is ready at %s after %llu.%llu ms%s\n"
           "  kubeconfig: %s\n"
           "  try:        kubectl --kubeconfig %s get namespaces\n",
           COR_VERSION, cor_instance_url(in), (unsigned long long)took_us / 1000,
           (unsigned long long)took_us / 100 % 10,
           cor_instance_is_first_start(in) ? " (first start: credentials were made)" : "",
           cor_instance_kubeconfig(in), cor_instance_kubeconfig(in));
    fflush(stdout);
    if (o->ready_fd != NO_FD && notify_fd((int)o->ready_fd, cor_instance_url(in)) < 0)
        COR_LOG_WARN("--ready-fd cannot be written to", COR_F_U64("fd", o->ready_fd));
    notify_manager("READY=1");
}

static void serve_on_interrupt(void *arg)
{
    cor_instance_stop(arg);
}

static void serve_on_hangup(void *arg)
{
    cor_instance_reload(arg);
}

static int serve_report(const struct cor_status *st)
{
    fprintf(stderr, "coracle serve: %s%s\n", cor_status_message(st), command_hint(st->err));
    return st->err == -COR_EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static int run_serve(const void *opts, const char *const *args, size_t nargs)
{
    const struct serve_opts *o = opts;
    struct cor_instance_opts instance_opts = o->instance;
    uint64_t began_us = cor_clock_mono_us(cor_clock_real());
    struct cor_instance *in;
    struct cor_status st;
    struct interrupt interrupt = {.on_hangup = serve_on_hangup};

    (void)args, (void)nargs;
    cor_status_init(&st);
    instance_opts.port = (uint16_t)o->port;
    instance_opts.authz_mode =
        authz_mode(o->authorization_mode, o->instance.authorization_kubeconfig);
    if (o->die_with_parent)
        notify_die_with_parent();
    install_log(o);
    interrupt_block(&interrupt);
    if (cor_instance_open(&instance_opts, &in, &st) < 0) {
        int status = serve_report(&st);

        cor_status_deinit(&st);
        return status;
    }
    if (interrupt_start(&interrupt, cor_instance_home(in), serve_on_interrupt, in) < 0) {
        (void)cor_status_set(&st, -COR_EIO, "there is no thread to wait for signals");
        cor_instance_close(in, 0);
        return serve_report(&st);
    }
    (void)start_pages_drop();
    say_ready(o, in, cor_clock_mono_us(cor_clock_real()) - began_us);
    cor_instance_run(in);
    /* From here on a second signal ends the process at once. */
    interrupt_stop(&interrupt);
    notify_manager("STOPPING=1");
    COR_LOG_INFO("stopping");
    cor_instance_close(in, COR_DRAIN_MS);
    COR_LOG_INFO("stopped");
    cor_log_install(NULL);
    cor_status_deinit(&st);
    return EXIT_OK;
}

const struct command serve = {
    .name = "serve",
    .args = "",
    .summary = "Run the API server",
    .details =
        "Serves the Kubernetes API over HTTPS, by default on the loopback only, with its data and\n"
        "credentials in one folder. The first start makes a CA, a serving certificate, an admin\n"
        "token, and DIR/admin.kubeconfig that names them. Flags that kube-apiserver also has mean\n"
        "the same. SIGTERM or SIGINT lets requests finish and stops. SIGHUP reads the file of\n"
        "--encryption-provider-config again.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_serve,
};
