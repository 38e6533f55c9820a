/* clang-format off */
/* The resolution of a Service, as two requests of the server to itself:
 *
 *   override? ──► found, at once
 *   GET the Service ──► ExternalName: found
 *                   ──► the name of its port ──► LIST its EndpointSlices ──► a ready address: found
 *                                                                        ──► none: its ClusterIP
 *
 * Both are read at resourceVersion "0": from the watch caches. Of several ready addresses the one that
 * was used before is taken again; else one by chance, each with the same probability (the n-th
 * candidate replaces the choice with probability 1/n).
 *
 * What can fail: the Service is missing, has no such port, or has neither address nor ClusterIP:
 * -COR_ENOTFOUND. A request fails: its error.
 * Thread: the port's loop. */
/* clang-format on */
#include "server/aggregation/resolve.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "coracle/view.h"

#define REQUEST_MS 5000

static struct cor_view member(struct cor_view view, const char *key)
{
    return cor_view_member(view, cor_strz(key));
}

static struct cor_str text(struct cor_view view, const char *key)
{
    return cor_view_text_or(member(view, key), NULL, 0, "");
}

static int set_address(struct cor_service_address *to, struct cor_str host, uint64_t port)
{
    if (host.n == 0 || host.n >= sizeof(to->host) || port == 0 || port > UINT16_MAX)
        return -COR_EINVAL;
    memcpy(to->host, host.p, host.n);
    to->host[host.n] = '\0';
    to->port = (uint16_t)port;
    return 0;
}

/* --- overrides -------------------------------------------------------------------------------- */

static int parse_override(struct cor_str entry, struct cor_resolve_override *o)
{
    struct cor_str to = entry, service = cor_str_cut(&to, '='), host;
    uint64_t port;
    size_t colon;

    if (cor_str_find(service, '.') <= 0 || service.n >= sizeof(o->service) || to.n == 0)
        return -COR_EINVAL;
    for (colon = to.n; colon > 0 && to.p[colon - 1] != ':';)
        colon--;
    if (colon == 0 || cor_str_to_u64(cor_str_from(to, colon), &port) < 0)
        return -COR_EINVAL;
    host = cor_str(to.p, colon - 1);
    if (cor_str_starts(host, COR_STR("[")) && cor_str_ends(host, COR_STR("]")))
        host = cor_str(host.p + 1, host.n - 2);
    else if (cor_str_find(host, ':') >= 0)
        return -COR_EINVAL;
    memcpy(o->service, service.p, service.n);
    o->service[service.n] = '\0';
    return set_address(&o->to, host, port);
}

int cor_resolve_overrides_add(struct cor_resolve_overrides *ret, struct cor_str list,
                              struct cor_status *st)
{
    while (list.n > 0) {
        struct cor_str entry = cor_str_cut(&list, ',');
        struct cor_resolve_override o = {0}, *grown;

        if (parse_override(entry, &o) < 0)
            return cor_status_set(st, -COR_EINVAL,
                                  "--aggregator-resolve \"%.*s\" is not name.namespace=host:port",
                                  (int)entry.n, entry.p);
        if (ret->n == COR_RESOLVE_OVERRIDES_MAX)
            return cor_status_set(st, -COR_ETOOBIG, "--aggregator-resolve has more than %d entries",
                                  COR_RESOLVE_OVERRIDES_MAX);
        grown = cor_realloc(ret->entries, (ret->n + 1) * sizeof(*grown));
        if (!grown)
            return cor_status_no_memory(st);
        ret->entries = grown;
        grown[ret->n++] = o;
    }
    return 0;
}

void cor_resolve_overrides_deinit(struct cor_resolve_overrides *o)
{
    o->entries = cor_free(o->entries);
    o->n = 0;
}

static bool is_service(const char *entry, const struct cor_service_ref *ref)
{
    struct cor_str s = cor_strz(entry);

    return s.n == ref->name.n + 1 + ref->ns.n && cor_str_starts(s, ref->name) &&
           s.p[ref->name.n] == '.' && cor_str_ends(s, ref->ns);
}

static const struct cor_service_address *find_override(const struct cor_resolve_overrides *o,
                                                       const struct cor_service_ref *ref)
{
    for (size_t i = 0; o && i < o->n; i++)
        if (is_service(o->entries[i].service, ref))
            return &o->entries[i].to;
    return NULL;
}

/* --- EndpointSlices --------------------------------------------------------------------------- */

/* Takes the address, unless the one chosen so far is better. The one that failed last is taken when
 * there is no other. */
static void consider(struct cor_resolve *rs, const struct cor_service_address *a)
{
    if (rs->has_kept)
        return;
    if (rs->avoided && cor_service_address_eq(a, rs->avoided)) {
        rs->fallback = *a;
        return;
    }
    if (rs->kept && cor_service_address_eq(a, rs->kept))
        rs->has_kept = true;
    rs->ncandidates++;
    if (rs->has_kept || cor_rand_below(&rs->rand, rs->ncandidates) == 0)
        rs->found = *a;
}

static void consider_endpoints(struct cor_resolve *rs, struct cor_view slice, uint64_t port)
{
    /* names a kind: a field of an EndpointSlice has that name */
    struct cor_view_iter it = cor_view_iter(member(slice, "endpoints"));

    while (cor_view_next(&it)) {
        struct cor_view_iter addresses = cor_view_iter(member(it.value, "addresses"));
        struct cor_service_address a;

        /* A condition that is not set counts as ready. */
        if (!cor_view_bool_or(member(member(it.value, "conditions"), "ready"), true) ||
            !cor_view_next(&addresses))
            continue;
        if (set_address(&a, cor_view_text_or(addresses.value, NULL, 0, ""), port) == 0)
            consider(rs, &a);
    }
}

static int resolve_on_slice(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_resolve *rs = COR_CONTAINER_OF(req, struct cor_resolve, req);
    struct cor_view slice = cor_object_view(item);
    struct cor_view_iter it = cor_view_iter(member(slice, "ports"));

    while (cor_view_next(&it)) {
        int64_t port = cor_view_int_or(member(it.value, "port"), 0);

        if (port > 0 && cor_str_eqz(text(it.value, "name"), rs->port_name))
            consider_endpoints(rs, slice, (uint64_t)port);
    }
    return 0;
}

static void resolve_on_slices(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_resolve *rs = COR_CONTAINER_OF(req, struct cor_resolve, req);

    if (answer->error && !rs->fallback.host[0]) {
        rs->on_done(rs, answer->error->err);
        return;
    }
    if (rs->ncandidates == 0)
        rs->found = rs->fallback;
    rs->on_done(rs, rs->found.host[0] ? 0 : -COR_ENOTFOUND);
}

static void list_slices(struct cor_resolve *rs)
{
    static const struct cor_api_request_cbs cbs = {.on_item = resolve_on_slice,
                                                   .on_done = resolve_on_slices};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf selector;
    struct cor_list_query query = {0};
    int r;

    cor_buf_init(&selector, 1024);
    r = cor_buf_addf(&selector, "kubernetes.io/service-name=%.*s", (int)rs->ref.name.n,
                     rs->ref.name.p);
    /* names a kind: this is where the addresses of a Service are read */
    rs->req = (struct cor_api_request){
        .at = {.gvr = {COR_STR("discovery.k8s.io"), COR_STR("v1"), COR_STR("endpointslices")},
               .ns = rs->ref.ns},
        .timeout_ms = REQUEST_MS,
        .cbs = &cbs};
    if (r < 0) {
        (void)cor_status_set_err(&rs->req.refusal, r);
        cor_api_refuse(rs->port, &rs->req);
        return;
    }
    query.label_selector = cor_buf_str(&selector);
    query.list.resource_version = COR_STR("0");
    cor_api_list(rs->port, &rs->req, &query);
}

/* --- the Service ------------------------------------------------------------------------------ */

/* Finds the port of that number. 0, -COR_ENOTFOUND. */
static int take_port(struct cor_resolve *rs, struct cor_view spec)
{
    struct cor_view_iter it = cor_view_iter(member(spec, "ports"));

    while (cor_view_next(&it)) {
        struct cor_str name = text(it.value, "name");

        if (cor_view_int_or(member(it.value, "port"), 0) != rs->ref.port)
            continue;
        if (name.n >= sizeof(rs->port_name))
            return -COR_ENOTFOUND;
        snprintf(rs->port_name, sizeof(rs->port_name), "%.*s", (int)name.n, name.p);
        return 0;
    }
    return -COR_ENOTFOUND;
}

static void resolve_on_service(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_resolve *rs = COR_CONTAINER_OF(req, struct cor_resolve, req);
    struct cor_view spec;
    struct cor_str ip;
    int r;

    if (answer->error) {
        rs->on_done(rs, answer->error->code == 404 ? -COR_ENOTFOUND : answer->error->err);
        return;
    }
    spec = member(cor_object_view(answer->object), "spec");
    if (cor_str_eqz(text(spec, "type"), "ExternalName")) {
        r = set_address(&rs->found, text(spec, "externalName"), rs->ref.port);
        rs->on_done(rs, r < 0 ? -COR_ENOTFOUND : 0);
        return;
    }
    r = take_port(rs, spec);
    if (r < 0) {
        rs->on_done(rs, r);
        return;
    }
    ip = text(spec, "clusterIP");
    if (!cor_str_eqz(ip, "None"))
        (void)set_address(&rs->fallback, ip, rs->ref.port);
    list_slices(rs);
}

void cor_resolve_init(struct cor_resolve *rs, struct cor_api_port *port,
                      const struct cor_resolve_overrides *overrides,
                      void (*on_done)(struct cor_resolve *rs, int r))
{
    assert(on_done);
    memset(rs, 0, sizeof(*rs));
    rs->port = port;
    rs->overrides = overrides;
    rs->on_done = on_done;
    cor_rand_init(&rs->rand);
}

int cor_resolve_start(struct cor_resolve *rs, const struct cor_service_ref *ref,
                      const struct cor_service_address *kept,
                      const struct cor_service_address *avoided)
{
    static const struct cor_api_request_cbs cbs = {.on_done = resolve_on_service};
    const struct cor_service_address *to = find_override(rs->overrides, ref);

    assert(!cor_api_is_under_way(&rs->req) && ref->port > 0);
    rs->ref = *ref;
    rs->kept = kept;
    rs->avoided = avoided;
    rs->found = rs->fallback = (struct cor_service_address){0};
    rs->ncandidates = 0;
    rs->has_kept = false;
    if (to) {
        rs->found = *to;
        return 0;
    }
    /* names a kind: an APIService refers to a Service */
    rs->req =
        (struct cor_api_request){.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("services")},
                                        .ns = ref->ns,
                                        .name = ref->name},
                                 .timeout_ms = REQUEST_MS,
                                 .cbs = &cbs};
    cor_api_get(rs->port, &rs->req, COR_STR("0"));
    return 1;
}

void cor_resolve_cancel(struct cor_resolve *rs)
{
    cor_api_cancel(rs->port, &rs->req);
}
