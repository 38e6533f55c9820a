/* clang-format off */
/* A client's life: it is made on the loop, entered and left by each call, stopped, and closed.
 *
 *   cor_client_new()  ──► the REST client and the API port are opened on the loop
 *   cor_client_stop() ──► `is_stopped`: no call is taken; a mail: hooks, then client_cancel_all()
 *   cor_client_free() ──► the same by a mail of its own, then the REST client closes; this waits
 *
 * A call that was counted (cor_client_enter) before the flag was set may have its mail behind the
 * one that cancels: both mails therefore post themselves again until no call is counted. Failures:
 * what is wrong with the options is returned by cor_client_new(), with a message; stopping and
 * closing cannot fail, because their mails are part of the client or of the caller's stack.
 * Thread: any; what touches the REST client runs on the loop. */
/* clang-format on */
#include "coracle/client.h"

#include <assert.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "client/client_work.h"
#include "http/http_proxy.h"
#include "kit/config/server_url.h"
#include "kit/discovery/discovery.h"
#include "net/host/host.h"
#include "net/stream/dns.h"

static void client_on_warning(void *arg, struct cor_str text)
{
    const struct cor_client *client = arg;

    cor_runtime_log(client->runtime, COR_SEVERITY_WARNING, "the server warns: %.*s",
                    COR_STR_ARG(text));
    if (client->on_warning)
        client->on_warning(client->warning_arg, text);
}

static void client_on_retry(void *arg, struct cor_str method, struct cor_str target,
                            const char *why, uint64_t wait_ms)
{
    const struct cor_client *client = arg;

    cor_runtime_log(client->runtime, COR_SEVERITY_DEBUG, "%.*s %.*s: %s; again in %llu ms",
                    COR_STR_ARG(method), COR_STR_ARG(target), why, (unsigned long long)wait_ms);
}

struct opening {
    struct cor_client *client;
    const struct cor_client_opts *opts;
};

static int client_open_rest(void *arg, struct cor_status *reterr)
{
    struct opening *o = arg;
    const struct cor_rest_client_opts opts = {.config = o->opts->config,
                                              .user_agent = o->opts->user_agent,
                                              .qps = o->opts->qps,
                                              .burst = o->opts->burst,
                                              .on_warning = client_on_warning,
                                              .on_retry = client_on_retry,
                                              .arg = o->client,
                                              .warns_once = true,
                                              .resolve = o->client->runtime->resolve,
                                              .resolve_arg = o->client->runtime->resolve_arg};
    int r = cor_rest_client_open(o->client->runtime->net, &opts, &o->client->rest, reterr);

    if (r == 0)
        cor_http_port_init(&o->client->port, o->client->rest);
    return r;
}

/* A runtime without threads looks names up by c-ares, unless the program has a resolver. Where that
 * is not installed the server, or the proxy in front of it, must be a numeric address. The name of
 * a server behind a proxy is looked up by the proxy. A proxy's URL that cannot be read is reported
 * when the REST client is opened. */
static int client_check_names(const struct cor_runtime *rt, const struct cor_client_config *config,
                              struct cor_status *reterr)
{
    COR_CLEANUP(cor_server_url_deinit) struct cor_server_url url = {0};
    COR_CLEANUP(cor_proxy_deinit) struct cor_proxy proxy = {0};
    const char *proxy_url, *host, *what, *why;
    int r;

    if (!rt->pump || rt->resolve)
        return 0;
    r = cor_server_url_parse(config, &url, reterr);
    if (r < 0)
        return r;
    proxy_url = cor_server_url_proxy(&url, config);
    if (proxy_url && cor_proxy_init(&proxy, proxy_url, NULL) < 0)
        return 0;
    host = proxy_url ? proxy.host : url.host;
    what = proxy_url ? "proxy" : "server";
    if (!host || cor_host_is_numeric(host) || cor_dns_load(&why) == 0)
        return 0;
    return cor_status_set(reterr, -COR_ENOTSUP,
                          "the %s is %s: a runtime without threads looks up names by c-ares (%s); "
                          "install it, give the runtime a resolver, or the %s as a numeric address",
                          what, host, why, what);
}

static void on_stop_mail(struct cor_mail *mail);

int cor_client_new(struct cor_runtime *runtime, const struct cor_client_opts *opts,
                   struct cor_client **ret_client, struct cor_status *reterr)
{
    struct cor_client_opts o;
    struct cor_client *client;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "make a client: %s", cor_sized_text(r));
    if (!o.config)
        return cor_status_set(reterr, -COR_EINVAL, "make a client: config is not set");
    client = cor_calloc(1, sizeof(*client));
    if (!client)
        return cor_status_set(reterr, -COR_ENOMEM, "make a client");
    r = client_check_names(runtime, o.config, reterr);
    if (r < 0) {
        cor_free(client);
        return r;
    }
    client->runtime = runtime;
    client->timeout_ms = o.timeout_ms;
    client->on_warning = o.on_warning;
    client->warning_arg = o.arg;
    client->end_ms = o.end_ms > 0 ? o.end_ms : COR_CLIENT_END_MS;
    client->stop.on_mail = on_stop_mail;
    cor_dlist_init(&client->hooks);
    cor_dlist_init(&client->under_way);
    atomic_init(&client->ncalls, 0);
    atomic_init(&client->is_stopped, false);
    atomic_init(&client->stop_is_posted, false);
    atomic_init(&client->nusers, 0);
    r = cor_runtime_try(runtime, client_open_rest, &(struct opening){client, &o}, reterr);
    if (r < 0) {
        cor_free(client);
        return r;
    }
    cor_runtime_enter(runtime);
    *ret_client = client;
    return 0;
}

_Thread_local uint64_t cor_client_thread_deadline_ms = UINT64_MAX;

uint64_t cor_client_wait_ms(const struct cor_client *client, uint64_t timeout_ms)
{
    uint64_t now, left, at = cor_client_thread_deadline_ms;

    if (at == UINT64_MAX)
        return timeout_ms;
    now = cor_clock_mono_ms(client->runtime->clock);
    left = at > now ? at - now : 1;
    return timeout_ms == 0 || left < timeout_ms ? left : timeout_ms;
}

uint64_t cor_client_timeout_ms(const struct cor_client *client, uint64_t timeout_ms)
{
    return cor_client_wait_ms(client, timeout_ms > 0 ? timeout_ms : client->timeout_ms);
}

int cor_client_enter(struct cor_client *client)
{
    int r = 0;

    if (cor_runtime_is_forked(client->runtime))
        return -COR_EINVAL;
    /* The count is raised before the flag is read, and a stop sets the flag before it reads the
     * count: so either this call sees the stop, or the stop sees this call. */
    if (atomic_fetch_add(&client->ncalls, 1) >= COR_CLIENT_CALLS_MAX)
        r = -COR_EBUSY;
    else if (atomic_load(&client->is_stopped))
        r = -COR_ECANCELED;
    if (r < 0)
        cor_client_leave(client);
    return r;
}

void cor_client_leave(struct cor_client *client)
{
    atomic_fetch_sub(&client->ncalls, 1);
}

/* Ends every call that has reached the loop. False: others have been counted and are on their way
 * by a mail of their own; they are cancelled when this is called again. */
static bool client_cancel_all(struct cor_client *client)
{
    cor_client_work_stop(client);
    client->discovery = cor_discovery_free(client->discovery);
    return atomic_load(&client->ncalls) == 0;
}

static void on_stop_mail(struct cor_mail *mail)
{
    struct cor_client *client = COR_CONTAINER_OF(mail, struct cor_client, stop);

    if (client->end_at_ms == 0) {
        uint64_t now_ms = cor_loop_now_ms(client->runtime->loop);

        client->end_at_ms =
            client->end_ms < UINT64_MAX - now_ms ? now_ms + client->end_ms : UINT64_MAX;
        COR_DLIST_FOREACH_SAFE(it, &client->hooks) {
            struct cor_client_hook *hook = COR_CONTAINER_OF(it, struct cor_client_hook, link);

            hook->on_stop(hook);
        }
    }
    if (client_cancel_all(client))
        atomic_store(&client->stop_is_posted, false);
    else
        cor_loop_post_always(client->runtime->loop, mail);
}

void cor_client_stop(struct cor_client *client)
{
    if (cor_runtime_is_forked(client->runtime) || atomic_exchange(&client->is_stopped, true))
        return;
    atomic_store(&client->stop_is_posted, true);
    cor_loop_post_always(client->runtime->loop, &client->stop);
}

int cor_client_hook_add(struct cor_client *client, struct cor_client_hook *hook)
{
    assert(cor_loop_is_current(client->runtime->loop));
    if (atomic_load(&client->is_stopped))
        return -COR_ECANCELED;
    cor_dlist_push(&client->hooks, &hook->link);
    return 0;
}

void cor_client_hook_remove(struct cor_client_hook *hook)
{
    if (hook->link.next)
        cor_dlist_remove(&hook->link);
}

uint64_t cor_client_end_left_ms(const struct cor_client *client)
{
    uint64_t now_ms = cor_loop_now_ms(client->runtime->loop);

    if (client->end_at_ms == 0)
        return client->end_ms;
    return client->end_at_ms > now_ms ? client->end_at_ms - now_ms : 1;
}

struct closing {
    struct cor_mail mail; /* delivered after the mails of calls that were sent before */
    struct cor_client *client;
    struct cor_waiter done;
};

static void on_rest_closed(void *arg)
{
    cor_waiter_set(&((struct closing *)arg)->done);
}

static void on_closing(struct cor_mail *mail)
{
    struct closing *c = COR_CONTAINER_OF(mail, struct closing, mail);

    if (!client_cancel_all(c->client) || atomic_load(&c->client->stop_is_posted)) {
        cor_loop_post_always(c->client->runtime->loop, mail);
        return;
    }
    cor_http_port_deinit(&c->client->port);
    cor_rest_client_close(c->client->rest, on_rest_closed, c);
}

struct cor_client *cor_client_free(struct cor_client *client)
{
    struct closing closing = {.mail.on_mail = on_closing, .client = client};
    int r;

    if (!client || cor_runtime_is_forked(client->runtime))
        return NULL;
    assert(!cor_runtime_is_inside(client->runtime) &&
           "cor_client_free() was called inside a callback");
    assert(atomic_load(&client->nusers) == 0 && "what was made on the client was not freed");
    cor_waiter_init(&closing.done);
    atomic_store(&client->is_stopped, true);
    cor_loop_post_always(client->runtime->loop, &closing.mail);
    r = cor_runtime_wait(client->runtime, &closing.done, COR_WAIT_FOREVER);
    assert(r == 0);
    (void)r;
    cor_waiter_deinit(&closing.done);
    cor_runtime_leave(client->runtime);
    return cor_free(client);
}
