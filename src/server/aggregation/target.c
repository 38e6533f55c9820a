/* clang-format off */
/* The targets of a loop. A target is found by what its spec says: service, port, CA and whether
 * verification is off, so a changed APIService gets another target and the old one becomes idle.
 *
 *   targets ──► target ──► clients: the current one, and retired ones that still have uses
 *                     └──► waiting uses, while the address is looked up
 *
 * What can fail, and what happens:
 *   - the service cannot be resolved: the waiting uses get the reason; nothing is counted;
 *   - its CA or our certificate cannot be read: -COR_EINVAL for each use, looked at again after
 *     COR_TARGET_FRESH_MS; a client that works goes on when only our files cannot be read;
 *   - a call fails: its use says so at its end; the address is avoided by the next look-up.
 * Thread: the loop. */
/* clang-format on */
#include "server/aggregation/target.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/http_client.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "net/stream/net.h"
#include "net/stream/tls.h"
#include "net/stream/tls_files.h"
#include "server/catalog/api_service.h"

#define SERVER_NAME_MAX 160
#define SWEEP_MS        30000

static const struct cor_circuit_opts circuit_opts = {.failures = COR_TARGET_FAILURES,
                                                     .open_ms = COR_TARGET_OPEN_MS,
                                                     .open_max_ms = COR_TARGET_OPEN_MAX_MS};

struct cor_target_client {
    struct cor_target *target;
    struct cor_dlist link; /* target->clients */
    struct cor_http_client *http;
    struct cor_service_address address;
    size_t nuses;
    bool is_current;
};

struct cor_target {
    struct cor_targets *set;
    struct cor_dlist link;       /* set->targets */
    struct cor_target_spec spec; /* its strings are in `strings` */
    char *strings;
    char server_name[SERVER_NAME_MAX];
    struct cor_resolve resolve;
    bool is_resolving;
    uint64_t resolved_ms;                     /* 0: look it up */
    struct cor_service_address kept, avoided; /* the address in use, and the one that failed last */
    struct cor_tls_files *files;              /* NULL: no certificate is shown */
    struct cor_tls *tls;
    struct cor_dlist clients, waiting;
    struct cor_target_client *current;
    size_t nuses; /* waiting ones included */
    size_t nclients;
    uint64_t used_ms;
    struct cor_circuit circuit;
    char why[COR_TARGET_TEXT_MAX]; /* of the last failure */
};

struct cor_targets {
    struct cor_loop *loop;
    struct cor_api_port *port;
    const struct cor_target_config *config;
    struct cor_net *net; /* opened by the first target */
    struct cor_dlist targets;
    size_t ntargets;
    struct cor_timer sweep;
    struct cor_mail closed; /* of a set that was never used */
    bool is_closing, is_net_closing;
    size_t nclosing; /* clients on their way */
    void (*on_closed)(void *arg);
    void *arg;
};

static uint64_t now_ms(const struct cor_targets *ts)
{
    return cor_loop_now_ms(ts->loop);
}

/* --- clients ---------------------------------------------------------------------------------- */

static void look_closed(struct cor_targets *ts);

static void on_client_closed(void *arg)
{
    struct cor_targets *ts = arg;

    ts->nclosing--;
    look_closed(ts);
}

static void client_close(struct cor_target_client *c)
{
    struct cor_target *t = c->target;

    assert(c->nuses == 0);
    cor_dlist_remove(&c->link);
    t->nclients--;
    if (t->current == c)
        t->current = NULL;
    t->set->nclosing++;
    cor_http_client_close(c->http, on_client_closed, t->set);
    cor_free(c);
}

/* New uses get another client. */
static void retire_current(struct cor_target *t)
{
    struct cor_target_client *c = t->current;

    t->current = NULL;
    if (!c)
        return;
    c->is_current = false;
    if (c->nuses == 0)
        client_close(c);
}

static int client_open(struct cor_target *t)
{
    struct cor_target_client *c = cor_calloc(1, sizeof(*c));
    struct cor_http_client_opts opts = {.port = t->kept.port,
                                        .tls = t->tls,
                                        .server_name = t->server_name,
                                        .calls_max = COR_TARGET_USES_MAX,
                                        .connections_max = COR_TARGET_CONNECTIONS_MAX,
                                        .window = COR_TARGET_WINDOW};
    int r;

    if (!c)
        return -COR_ENOMEM;
    c->target = t;
    c->address = t->kept;
    opts.host = c->address.host;
    r = cor_http_client_open(t->set->net, &opts, &c->http);
    if (r < 0) {
        cor_free(c);
        return r;
    }
    c->is_current = true;
    cor_dlist_push(&t->clients, &c->link);
    t->nclients++;
    t->current = c;
    return 0;
}

/* --- TLS -------------------------------------------------------------------------------------- */

static const char *const alpn[] = {"h2", "http/1.1"};

static struct cor_tls_opts tls_opts(const struct cor_target *t)
{
    return (struct cor_tls_opts){.role = COR_TLS_CLIENT,
                                 .ca_pem = t->spec.ca_pem,
                                 .is_insecure = t->spec.is_insecure,
                                 .alpn = alpn,
                                 .nalpn = COR_ARRAY_LEN(alpn)};
}

/* Says what cannot be used, in upstream's words for the CA. */
static int tls_failed(struct cor_target *t, int r)
{
    struct cor_tls_opts opts = tls_opts(t);
    struct cor_tls *tls = NULL;

    if (r == -COR_ENOMEM)
        return r;
    if (cor_tls_new(&opts, &tls) == -COR_EINVAL)
        snprintf(t->why, sizeof(t->why),
                 "unable to load root certificates: unable to parse bytes as PEM block");
    else
        snprintf(t->why, sizeof(t->why), "the client certificate of the proxy cannot be used: %s",
                 cor_err_text(r));
    cor_tls_unref(tls);
    return -COR_EINVAL;
}

static void take_tls(struct cor_target *t, struct cor_tls *tls)
{
    cor_tls_unref(t->tls);
    t->tls = cor_tls_ref(tls);
    retire_current(t);
}

/* Makes the TLS of the target, or looks whether the files of the certificate have changed. Files
 * that cannot be used leave it as it was. 0, -COR_EINVAL, -COR_ENOMEM. */
static int refresh_tls(struct cor_target *t)
{
    const struct cor_target_config *config = t->set->config;
    struct cor_tls_opts opts = tls_opts(t);
    int r;

    if (!config->cert_file) {
        r = t->tls ? 0 : cor_tls_new(&opts, &t->tls);
        return r < 0 ? tls_failed(t, r) : 0;
    }
    if (!t->files) {
        r = cor_tls_files_new(&opts, config->cert_file, config->key_file, &t->files);
        if (r < 0)
            return tls_failed(t, r);
        take_tls(t, cor_tls_files_peek(t->files));
        return 0;
    }
    if (cor_tls_files_look(t->files) == 1)
        take_tls(t, cor_tls_files_peek(t->files));
    return 0;
}

/* --- targets ---------------------------------------------------------------------------------- */

/* The one used last comes first. */
static struct cor_target *find(struct cor_targets *ts, const struct cor_target_spec *spec)
{
    COR_DLIST_FOREACH(it, &ts->targets) {
        struct cor_target *t = COR_CONTAINER_OF(it, struct cor_target, link);
        const struct cor_target_spec *own = &t->spec;

        if (own->service.port != spec->service.port || own->is_insecure != spec->is_insecure ||
            !cor_str_eq(own->service.name, spec->service.name) ||
            !cor_str_eq(own->service.ns, spec->service.ns) ||
            !cor_str_eq(own->ca_pem, spec->ca_pem))
            continue;
        cor_dlist_remove(&t->link);
        cor_dlist_push_front(&ts->targets, &t->link);
        return t;
    }
    return NULL;
}

static void target_free(struct cor_target *t)
{
    if (t->is_resolving)
        cor_resolve_cancel(&t->resolve);
    COR_DLIST_FOREACH_SAFE(it, &t->clients)
        client_close(COR_CONTAINER_OF(it, struct cor_target_client, link));
    cor_tls_unref(t->tls);
    cor_tls_files_free(t->files);
    cor_free(t->strings);
    cor_free(t);
}

static void target_close(struct cor_target *t)
{
    struct cor_targets *ts = t->set;

    assert(t->nuses == 0);
    cor_dlist_remove(&t->link);
    ts->ntargets--;
    target_free(t);
}

static void on_sweep(struct cor_timer *timer)
{
    struct cor_targets *ts = COR_CONTAINER_OF(timer, struct cor_targets, sweep);
    uint64_t now = now_ms(ts);

    COR_DLIST_FOREACH_SAFE(it, &ts->targets) {
        struct cor_target *t = COR_CONTAINER_OF(it, struct cor_target, link);

        if (t->nuses == 0 && now - t->used_ms >= COR_TARGET_IDLE_MS)
            target_close(t);
    }
    /* Without memory the next target that is made sets it. */
    if (ts->ntargets > 0)
        (void)cor_timer_set(timer, SWEEP_MS);
}

static void on_resolved(struct cor_resolve *rs, int r);

static int target_open(struct cor_targets *ts, const struct cor_target_spec *spec,
                       struct cor_target **ret)
{
    struct cor_target *t;
    int r = 0;

    if (ts->ntargets == COR_TARGETS_MAX)
        return -COR_EBUSY;
    if (!ts->net)
        r = cor_net_open(ts->loop, &ts->net);
    if (r == 0 && !cor_timer_is_set(&ts->sweep))
        r = cor_timer_set(&ts->sweep, SWEEP_MS);
    t = r == 0 ? cor_calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return -COR_ENOMEM;
    t->set = ts;
    t->spec = *spec;
    t->used_ms = now_ms(ts);
    cor_dlist_init(&t->clients);
    cor_dlist_init(&t->waiting);
    cor_circuit_init(&t->circuit, &circuit_opts);
    cor_resolve_init(&t->resolve, ts->port, &ts->config->overrides, on_resolved);
    {
        struct cor_str *const strings[] = {&t->spec.service.ns, &t->spec.service.name,
                                           &t->spec.ca_pem};

        r = cor_str_gather(strings, COR_ARRAY_LEN(strings), &t->strings);
    }
    if (r < 0) {
        cor_free(t);
        return r;
    }
    snprintf(t->server_name, sizeof(t->server_name), "%.*s.%.*s.svc", (int)t->spec.service.name.n,
             t->spec.service.name.p, (int)t->spec.service.ns.n, t->spec.service.ns.p);
    cor_dlist_push_front(&ts->targets, &t->link);
    ts->ntargets++;
    *ret = t;
    return 0;
}

/* --- what is known of a target ---------------------------------------------------------------- */

/* Does it say nothing about the service? */
static bool is_unknown(int r)
{
    return r == -COR_ECANCELED || r == -COR_ENOMEM || r == -COR_EBUSY || r == -COR_ETOOBIG;
}

/* Returns whether the target was reached. A connection that breaks while a request is under way may
 * be the fault of that request, and must not cost others theirs. */
static bool is_there(int r)
{
    return r == -COR_EBROKEN || r == -COR_EPROTOCOL;
}

static void target_learn(struct cor_target *t, struct cor_target_use *use, int r, const char *text)
{
    if (r == 0) {
        (void)cor_circuit_answered(&t->circuit, &use->pass);
        t->avoided.host[0] = '\0';
        return;
    }
    if (is_unknown(r)) {
        cor_circuit_left(&t->circuit, &use->pass);
        return;
    }
    snprintf(t->why, sizeof(t->why), "%s", text ? text : cor_err_text(r));
    if (use->client)
        t->avoided = use->client->address;
    t->resolved_ms = 0;
    if (is_there(r))
        (void)cor_circuit_answered(&t->circuit, &use->pass);
    else if (cor_circuit_failed(&t->circuit, &use->pass, now_ms(t->set)))
        COR_LOG_WARN("an aggregated service fails; its requests are refused for a while",
                     COR_F_STR("service", t->server_name), COR_F_STR("error", t->why));
}

/* --- uses ------------------------------------------------------------------------------------- */

static void use_attach(struct cor_target *t, struct cor_target_use *use)
{
    use->client = t->current;
    use->client->nuses++;
}

static void use_leave(struct cor_target_use *use)
{
    struct cor_target_client *c = COR_STEAL(use->client);
    struct cor_target *t = COR_STEAL(use->target);

    if (!c)
        cor_dlist_remove(&use->link);
    t->nuses--;
    t->used_ms = now_ms(t->set);
    if (c && --c->nuses == 0 && !c->is_current)
        client_close(c);
}

/* The address is known: the target gets a client for it. 0, or as of cor_target_use_begin(). */
static int take_address(struct cor_target *t)
{
    int r = refresh_tls(t);

    if (r < 0)
        return r;
    t->kept = t->resolve.found;
    if (t->current && !cor_service_address_eq(&t->current->address, &t->kept))
        retire_current(t);
    r = t->current ? 0 : client_open(t);
    if (r == 0)
        t->resolved_ms = now_ms(t->set);
    return r;
}

static const char *refusal_text(const struct cor_target *t, int r)
{
    return r == -COR_EINVAL ? t->why : cor_err_text(r);
}

static void on_resolved(struct cor_resolve *rs, int r)
{
    struct cor_target *t = COR_CONTAINER_OF(rs, struct cor_target, resolve);

    t->is_resolving = false;
    if (r == 0)
        r = take_address(t);
    while (!cor_dlist_empty(&t->waiting)) {
        struct cor_target_use *use = COR_CONTAINER_OF(t->waiting.next, struct cor_target_use, link);

        if (r == 0) {
            cor_dlist_remove(&use->link);
            use_attach(t, use);
        } else {
            target_learn(t, use, -COR_ECANCELED, NULL);
            use_leave(use);
        }
        /* The target stays: a set is not swept inside this. */
        use->on_ready(use, r, r == 0 ? "" : refusal_text(t, r));
    }
}

struct cor_target_spec cor_target_spec_of(const struct cor_api_service *service)
{
    assert(service->is_remote);
    return (struct cor_target_spec){
        .service = {service->service_ns, service->service_name, service->service_port},
        .ca_pem = service->ca_bundle,
        .is_insecure = service->insecure_skip_tls_verify};
}

int cor_target_use_begin(struct cor_targets *ts, const struct cor_target_spec *spec,
                         struct cor_target_use *use, const char **reterr_text)
{
    struct cor_target *t = find(ts, spec);
    int r = t ? 0 : target_open(ts, spec, &t);

    assert(use->on_ready && !use->target && !ts->is_closing);
    assert(cor_loop_is_current(ts->loop));
    if (r == 0 && t->nuses == COR_TARGET_USES_MAX)
        r = -COR_EBUSY;
    if (r < 0) {
        *reterr_text = cor_err_text(r);
        return r;
    }
    if (!cor_circuit_enter(&t->circuit, &use->pass, now_ms(ts))) {
        *reterr_text = t->why;
        return -COR_EUNREACHABLE;
    }
    use->target = t;
    t->nuses++;
    if (t->resolved_ms != 0 && t->current && now_ms(ts) - t->resolved_ms < COR_TARGET_FRESH_MS) {
        use_attach(t, use);
        return 0;
    }
    cor_dlist_push(&t->waiting, &use->link);
    if (!t->is_resolving)
        t->is_resolving =
            cor_resolve_start(&t->resolve, &t->spec.service, t->kept.host[0] ? &t->kept : NULL,
                              t->avoided.host[0] ? &t->avoided : NULL) == 1;
    if (t->is_resolving)
        return 1;
    r = take_address(t);
    if (r == 0) {
        cor_dlist_remove(&use->link);
        use_attach(t, use);
    } else {
        *reterr_text = refusal_text(t, r);
        cor_target_use_end(use, -COR_ECANCELED, NULL);
    }
    return r;
}

struct cor_http_client *cor_target_use_client(const struct cor_target_use *use)
{
    assert(use->client);
    return use->client->http;
}

const struct cor_service_address *cor_target_use_address(const struct cor_target_use *use)
{
    assert(use->client);
    return &use->client->address;
}

/* OpenSSL's words for what Go calls otherwise. */
static const char *explain_tls(const char *text)
{
    static const char *const words[][2] = {
        {"unable to get local issuer certificate", "certificate signed by unknown authority"},
        {"unable to get issuer certificate", "certificate signed by unknown authority"},
        {"self-signed certificate", "certificate signed by unknown authority"},
        {"certificate has expired", "certificate has expired or is not yet valid"},
        {"certificate is not yet valid", "certificate has expired or is not yet valid"},
        {"hostname mismatch", "certificate is not valid for the name of the service"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(words); i++)
        if (strcasestr(text, words[i][0]))
            return words[i][1];
    return NULL;
}

void cor_target_use_explain(const struct cor_target_use *use, int r, const char *text,
                            char ret[COR_TARGET_TEXT_MAX])
{
    const struct cor_service_address *at = cor_target_use_address(use);
    const char *form = strchr(at->host, ':') ? "dial tcp [%s]:%u: %s" : "dial tcp %s:%u: %s";
    char why[COR_TARGET_TEXT_MAX / 2];
    const char *tls = r == -COR_ETLS ? explain_tls(text) : NULL;

    if (r == -COR_EBROKEN) {
        snprintf(ret, COR_TARGET_TEXT_MAX, "EOF");
    } else if (tls) {
        snprintf(ret, COR_TARGET_TEXT_MAX, "tls: failed to verify certificate: x509: %s", tls);
    } else if (r == -COR_ETIMEOUT) {
        snprintf(ret, COR_TARGET_TEXT_MAX, form, at->host, at->port, "i/o timeout");
    } else if (r == -COR_EUNREACHABLE) {
        snprintf(why, sizeof(why), "connect: %s", text);
        snprintf(ret, COR_TARGET_TEXT_MAX, form, at->host, at->port, why);
    } else {
        snprintf(ret, COR_TARGET_TEXT_MAX, "%s", text);
    }
}

void cor_target_use_answered(struct cor_target_use *use)
{
    assert(use->client);
    target_learn(use->target, use, 0, NULL);
}

void cor_target_use_end(struct cor_target_use *use, int r, const char *text)
{
    if (!use->target)
        return;
    target_learn(use->target, use, r, text);
    use_leave(use);
}

/* --- the set ---------------------------------------------------------------------------------- */

int cor_targets_open(struct cor_loop *loop, struct cor_api_port *port,
                     const struct cor_target_config *config, struct cor_targets **ret_targets)
{
    struct cor_targets *ts = cor_calloc(1, sizeof(*ts));

    assert(!config->cert_file == !config->key_file);
    if (!ts)
        return -COR_ENOMEM;
    ts->loop = loop;
    ts->port = port;
    ts->config = config;
    cor_dlist_init(&ts->targets);
    cor_timer_init(&ts->sweep, loop, on_sweep);
    *ret_targets = ts;
    return 0;
}

struct cor_loop *cor_targets_loop(const struct cor_targets *ts)
{
    return ts->loop;
}

static void set_free(struct cor_targets *ts)
{
    void (*on_closed)(void *arg) = ts->on_closed;
    void *arg = ts->arg;

    cor_free(ts);
    if (on_closed)
        on_closed(arg);
}

static void on_net_closed(void *arg)
{
    set_free(arg);
}

static void on_set_closed(struct cor_mail *mail)
{
    set_free(COR_CONTAINER_OF(mail, struct cor_targets, closed));
}

static void look_closed(struct cor_targets *ts)
{
    if (!ts->is_closing || ts->is_net_closing || ts->nclosing > 0)
        return;
    ts->is_net_closing = true;
    if (ts->net) {
        cor_net_close(ts->net, on_net_closed, ts);
        return;
    }
    ts->closed.on_mail = on_set_closed;
    cor_dlist_init(&ts->closed.link);
    cor_loop_post_always(ts->loop, &ts->closed);
}

void cor_targets_close(struct cor_targets *ts, void (*on_closed)(void *arg), void *arg)
{
    assert(!ts->is_closing && cor_loop_is_current(ts->loop));
    ts->on_closed = on_closed;
    ts->arg = arg;
    cor_timer_cancel(&ts->sweep);
    COR_DLIST_FOREACH_SAFE(it, &ts->targets)
        target_close(COR_CONTAINER_OF(it, struct cor_target, link));
    ts->is_closing = true;
    look_closed(ts);
}
