/* clang-format off */
/* An exchange whose answer comes from an aggregated API server: after the filters it has no verb, and
 * the proxy (aggregation/service_proxy.h) takes over the response.
 *
 *   filters passed, the group version is a remote service's ──► a place in flight (none free: 429) ──►
 *   cor_proxied_start ──► on_over: counted and freed
 *
 * Which requests: the path is /apis/GROUP/VERSION or below it and that APIService has a service; the
 * version v1 of the core group takes all of /api (contract extension 4.4.1). A watch, and a subresource
 * that is a connection, is long-running: it has no deadline and no place in flight.
 * Thread: the connection's loop. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/uuid.h"
#include "server/aggregation/aggregator.h"
#include "server/aggregation/service_proxy.h"
#include "server/http/exchange_int.h"
#include "server/http/exchange_wait.h"

/* What a proxied request costs beside its exchange: the proxy, the call and its stream. */
#define PROXY_BYTES 8192u

/* The group version of a path; false: it is in none. */
static bool group_version_of(struct cor_str path, struct cor_str *ret_group,
                             struct cor_str *ret_version)
{
    struct cor_str root;

    if (!cor_str_starts(path, COR_STR("/api")))
        return false;
    path = cor_str_from(path, 1);
    root = cor_str_cut(&path, '/');
    if (cor_str_eqz(root, "api")) {
        *ret_group = COR_STR("");
        *ret_version = COR_STR("v1");
        return true;
    }
    *ret_group = cor_str_cut(&path, '/');
    *ret_version = cor_str_cut(&path, '/');
    return cor_str_eqz(root, "apis") && ret_version->n > 0;
}

/* Upstream's subresources that are connections. */
static bool is_connection(struct cor_str subresource)
{
    /* names a kind: the list of long-running requests, for resources of other servers */
    static const char *const names[] = {"attach", "exec", "proxy", "log", "portforward"};

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++)
        if (cor_str_eqz(subresource, names[i]))
            return true;
    return false;
}

void cor_exchange_set_remote(struct cor_exchange *ex, const struct cor_served *served)
{
    const struct cor_request_info *info = &ex->request.info;
    struct cor_str group, version;

    if (!ex->server->aggregator || !group_version_of(info->path, &group, &version))
        return;
    ex->remote = cor_served_service(served, group, version);
    if (!ex->remote)
        return;
    cor_api_service_ref(ex->remote);
    ex->is_connection = info->is_resource && is_connection(info->subresource);
}

static void proxy_on_over(void *arg, int code, uint64_t bytes)
{
    struct cor_exchange *ex = arg;

    ex->body_bytes = bytes;
    cor_exchange_end(ex, code);
}

void cor_exchange_proxy(struct cor_exchange *ex)
{
    struct cor_flight *flight = cor_exchange_flight(ex);
    struct cor_exchange_wait *wait;
    struct cor_targets *targets = cor_aggregator_targets(ex->server->aggregator, ex->shard);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uuid = {.max = 64};
    struct cor_proxied_opts opts = {
        .targets = targets,
        .service = ex->remote,
        .head = ex->http,
        .response = ex->response,
        .user = &ex->identity.user,
        .path = ex->request.info.path,
        .audit_id = ex->request.audit_id,
        .names = cor_aggregator_names(ex->server->aggregator),
        .is_long = cor_exchange_is_long(ex),
        .forwards_redirects = cor_aggregator_forwards_redirects(ex->server->aggregator),
        .held = cor_exchange_held(ex, 0) + PROXY_BYTES,
        .on_over = proxy_on_over,
        .arg = ex,
    };

    assert(ex->http && ex->remote);
    if (!targets) {
        (void)cor_status_no_memory(&ex->status);
        cor_exchange_reply_status(ex);
        return;
    }
    if ((flight && !cor_flight_enter(flight, &ex->identity.user, &ex->place)) ||
        cor_http_response_hold(ex->response, opts.held) < 0) {
        cor_exchange_reply_busy(ex);
        return;
    }
    if (opts.audit_id.n == 0) {
        (void)cor_uuid_add(&cor_api_loop(ex->server->api, ex->shard)->rand, &uuid);
        opts.audit_id = cor_buf_str(&uuid);
    }
    if (cor_exchange_is_long(ex)) {
        ex->is_watching = true;
        cor_request_metrics_long(&ex->server->request_metrics, ex->shard, &ex->request.info,
                                 ex->row, 1);
    }
    /* The exchange may be gone when this returns; its copy of the head, if it waited for a
     * delegate, is not needed afterwards. */
    ex->http = NULL;
    wait = COR_STEAL(ex->wait);
    cor_proxied_start(&opts);
    cor_exchange_wait_free(wait);
}
