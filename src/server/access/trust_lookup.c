/* clang-format off */
/* Follows the ConfigMap of a delegate:
 *
 *   GET ──► applied ──► watch from its version ──► each event applied
 *    ▲   └► failed                            └──► ended
 *    └──────────────── a pause ◄─────────────────────┘
 *
 * The pause is a second after a watch that ended, and grows to half a minute while nothing works.
 * A ConfigMap that was deleted leaves what is in force, as upstream's controllers do. */
/* clang-format on */
#include "server/access/trust_lookup.h"

#include <assert.h>
#include <stdio.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "loop/loop.h"
#include "json/text/scan.h"

#define READ_MS     10000
#define WATCH_S     300
#define VALUE_MAX   (4u << 20)
#define VERSION_MAX 64

/* names a kind: the ConfigMap that upstream's servers publish themselves by */
static const struct cor_resource_path maps = {
    .gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("configmaps")},
    .ns = COR_STR_INIT("kube-system")};

struct cor_trust_lookup {
    struct cor_trust_lookup_opts opts;
    struct cor_api_port *port;
    struct cor_delegate_call read;
    struct cor_api_request watch;
    char version[VERSION_MAX];
    struct cor_timer timer;
    struct cor_backoff backoff;
    struct cor_rand rand;
    bool has_told;
};

/* --- what the ConfigMap says ------------------------------------------------------------------ */

static struct cor_str get_member(struct cor_str object, const char *key)
{
    struct cor_str value;

    return object.p && cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0
               ? value
               : (struct cor_str){0};
}

/* Appends the text of a value of `data`; nothing when it is absent. 0, -COR_EINVAL, -COR_ENOMEM. */
static int add_value(struct cor_str data, const char *key, struct cor_buf *out)
{
    struct cor_str value = get_member(data, key), raw, text;

    if (!value.p)
        return 0;
    if (cor_json_to_raw(value, &raw) < 0)
        return -COR_EINVAL;
    if (cor_buf_reserve(out, raw.n) < 0)
        return -COR_ENOMEM;
    if (cor_json_unescape(raw, out->p, raw.n, &text) < 0)
        return -COR_EINVAL;
    if (text.p != out->p)
        memcpy(out->p, text.p, text.n);
    out->n = text.n;
    return 0;
}

static int apply_ca(struct cor_str data, const char *key, enum cor_ca which,
                    struct cor_client_trust *trust)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pem = {0};
    int r;

    cor_buf_init(&pem, VALUE_MAX);
    r = add_value(data, key, &pem);
    if (r == 0 && pem.n == 0)
        return 0;
    if (r == 0)
        r = cor_client_cas_set(cor_client_trust_cas(trust), which, cor_buf_str(&pem));
    if (r < 0)
        COR_LOG_ERROR("a CA of the delegate's ConfigMap cannot be used; the one before stays",
                      COR_F_STR("key", key), COR_F_STR("error", cor_err_text(r)));
    return r;
}

static int apply_proxy(struct cor_str data, struct cor_client_trust *trust)
{
    COR_CLEANUP(cor_front_proxy_unrefp) struct cor_front_proxy *proxy = NULL;
    const char *key = "";
    int r = cor_front_proxy_new(&proxy);

    for (unsigned i = 0; r == 0 && i < COR_PROXY_LISTS; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};

        key = cor_front_proxy_list_name(i);
        cor_buf_init(&text, VALUE_MAX);
        r = add_value(data, key, &text);
        if (r == 0)
            r = cor_front_proxy_add_json(proxy, i, cor_buf_str(&text));
    }
    if (r < 0) {
        COR_LOG_ERROR("the settings of front proxies in the delegate's ConfigMap cannot be used",
                      COR_F_STR("key", key), COR_F_STR("error", cor_err_text(r)));
        return r;
    }
    /* Before the CA: no certificate of a new CA is judged by old settings. */
    cor_client_trust_set_proxy(trust, COR_STEAL(proxy));
    return apply_ca(data, "requestheader-client-ca-file", COR_CA_PROXY, trust);
}

int cor_trust_lookup_apply(struct cor_str config_map, struct cor_client_trust *trust,
                           bool wants_client_ca, bool wants_proxy)
{
    struct cor_str data = get_member(config_map, "data");
    int r = 0, proxy_r = 0;

    if (wants_client_ca)
        r = apply_ca(data, "client-ca-file", COR_CA_CLIENT, trust);
    if (wants_proxy)
        proxy_r = apply_proxy(data, trust);
    return r < 0 ? r : proxy_r;
}

/* --- following it ----------------------------------------------------------------------------- */

static int lookup_take(struct cor_trust_lookup *tl, const struct cor_object *map)
{
    struct cor_str version = cor_object_resource_version(map);

    if (version.n < sizeof(tl->version))
        snprintf(tl->version, sizeof(tl->version), "%.*s", COR_STR_ARG(version));
    return cor_trust_lookup_apply(cor_object_json(map), tl->opts.trust, tl->opts.wants_client_ca,
                                  tl->opts.wants_proxy);
}

static void lookup_tell(struct cor_trust_lookup *tl, int r, const char *text)
{
    if (tl->has_told)
        return;
    tl->has_told = true;
    tl->opts.on_first(tl->opts.arg, r, text);
}

static void lookup_pause(struct cor_trust_lookup *tl)
{
    uint64_t now_ms = cor_loop_now_ms(tl->port->loop);

    if (cor_timer_set(&tl->timer, cor_backoff_next(&tl->backoff, now_ms, &tl->rand)) < 0)
        COR_LOG_ERROR("no memory for the timer: the delegate's ConfigMap is not followed any more");
}

static int watch_on_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    struct cor_trust_lookup *tl = COR_CONTAINER_OF(req, struct cor_trust_lookup, watch);

    cor_backoff_reset(&tl->backoff);
    if (event->type == COR_WATCH_ERROR)
        return -COR_EEXPIRED;
    if ((event->type == COR_WATCH_ADDED || event->type == COR_WATCH_MODIFIED) &&
        lookup_take(tl, event->object) == 0)
        COR_LOG_INFO("Loaded new client trust from the delegate");
    return 0;
}

static void watch_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    (void)answer;
    lookup_pause(COR_CONTAINER_OF(req, struct cor_trust_lookup, watch));
}

static void lookup_watch(struct cor_trust_lookup *tl)
{
    static const struct cor_api_request_cbs cbs = {.on_event = watch_on_event,
                                                   .on_done = watch_on_done};
    const struct cor_list_query query = {.field_selector =
                                             COR_STR("metadata.name=" COR_TRUST_LOOKUP_MAP),
                                         .list.resource_version = cor_strz(tl->version),
                                         .timeout_s = WATCH_S};

    tl->watch.at = maps;
    tl->watch.deadline_ms = (WATCH_S + 30) * 1000;
    tl->watch.cbs = &cbs;
    cor_api_watch(tl->port, &tl->watch, &query);
}

static void lookup_on_read(struct cor_delegate_call *call, int r, struct cor_object *map,
                           const char *text)
{
    struct cor_trust_lookup *tl = COR_CONTAINER_OF(call, struct cor_trust_lookup, read);

    if (r == 0) {
        r = lookup_take(tl, map);
        text = r < 0 ? "a value of the ConfigMap cannot be used" : "";
    }
    if (r < 0)
        lookup_pause(tl);
    else
        lookup_watch(tl);
    lookup_tell(tl, r, text);
}

static int lookup_begin(struct cor_trust_lookup *tl)
{
    tl->read.on_done = lookup_on_read;
    tl->read.req.at = maps;
    tl->read.req.at.name = COR_STR(COR_TRUST_LOOKUP_MAP);
    return cor_delegate_send(tl->opts.delegate, &tl->read, (struct cor_str){0}, READ_MS);
}

static void lookup_on_timer(struct cor_timer *timer)
{
    struct cor_trust_lookup *tl = COR_CONTAINER_OF(timer, struct cor_trust_lookup, timer);

    if (lookup_begin(tl) < 0)
        lookup_pause(tl);
}

int cor_trust_lookup_open(const struct cor_trust_lookup_opts *opts,
                          struct cor_trust_lookup **ret_lookup)
{
    static const struct cor_backoff_opts backoff = {.initial_ms = 1000,
                                                    .max_ms = 30000,
                                                    .factor = 2,
                                                    .jitter = 0.2,
                                                    .steps = COR_BACKOFF_STEPS_MAX};
    struct cor_trust_lookup *tl = cor_calloc(1, sizeof(*tl));
    int r;

    assert(opts->delegate && opts->trust && opts->on_first);
    if (!tl)
        return -COR_ENOMEM;
    tl->opts = *opts;
    tl->port = cor_delegate_port(opts->delegate);
    cor_rand_init(&tl->rand);
    cor_timer_init(&tl->timer, tl->port->loop, lookup_on_timer);
    cor_backoff_init(&tl->backoff, &backoff, cor_loop_now_ms(tl->port->loop));
    r = lookup_begin(tl);
    if (r < 0) {
        cor_free(tl);
        return r;
    }
    *ret_lookup = tl;
    return 0;
}

struct cor_trust_lookup *cor_trust_lookup_close(struct cor_trust_lookup *tl)
{
    if (!tl)
        return NULL;
    cor_delegate_call_cancel(&tl->read);
    cor_api_cancel(tl->port, &tl->watch);
    cor_timer_cancel(&tl->timer);
    return cor_free(tl);
}
