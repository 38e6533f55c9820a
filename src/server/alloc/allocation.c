/* clang-format off */
/* One write's reservations.
 *
 *   plan (service_plan.c) ──► each wanted address: the object of a given one is created; of any one
 *   the index proposes addresses until one can be created ──► node ports, all in one operation of
 *   the queue ──► on_done ──► finish: the numbers go into the Service, which becomes an object
 *
 *   settle: addresses one after the other ──► node ports ──► the endpoints of a Service that is gone
 *   ──► on_settled
 *
 * Order on the way in: addresses, then ports, as upstream does; the first failure ends it. In a dry
 * run nothing is reserved: upstream shows the first address of a range for any address, and numbers
 * that nobody has for any port.
 * Failures while settling are logged, and the next step follows: the repair releases the rest.
 * Thread: the loop of the write; the ports' queue answers there. Plan and finish are pure. */
/* clang-format on */
#include "server/alloc/allocation.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "meta/status/storage_error.h"
#include "server/alloc/addresses.h"
#include "storage/store/store.h"
#include "json/write/writer.h"

#define JSON_MAX (8u << 20)
/* Half of what a repair waits before it takes a reservation back (repair.h). */
#define STALE_MS 30000

struct cor_allocation {
    struct cor_alloc *alloc;
    struct cor_api_loop *loop;
    struct cor_object *body, *current; /* what the texts of the Services are borrowed from */
    struct cor_buf names;              /* "namespace/name" */
    struct cor_str ns, name;
    bool is_create, is_dry_run, is_removal;

    struct cor_service service, old;
    struct cor_service_plan plan;
    char ip_texts[2][COR_IP_TEXT_MAX];
    struct cor_address_id taken[2]; /* the objects that were created, or may have been */
    size_t ntaken;
    bool has_ports; /* the ports of the plan's wants are reserved */
    uint64_t since_ms;

    size_t at; /* the address that is being reserved or released */
    struct cor_address_op address;
    struct cor_port_op port_op;
    struct cor_status *status;
    cor_allocation_done on_done;
    void *arg;

    enum cor_allocation_end end;
    void (*on_settled)(void *arg);
};

int cor_allocation_new(const struct cor_allocation_opts *opts, struct cor_allocation **ret)
{
    struct cor_allocation *a = cor_calloc(1, sizeof(*a));
    int r;

    assert(opts->alloc && opts->loop && opts->body);
    if (!a)
        return -COR_ENOMEM;
    a->alloc = opts->alloc;
    a->loop = opts->loop;
    a->body = cor_object_ref(opts->body);
    a->current = opts->current ? cor_object_ref(opts->current) : NULL;
    a->is_create = !opts->current;
    a->is_dry_run = opts->is_dry_run;
    a->plan.duplicate = SIZE_MAX;
    cor_status_init(&a->port_op.status);
    cor_buf_init(&a->names, COR_KEY_BYTES_MAX);
    r = cor_buf_addf(&a->names, "%.*s/%.*s", COR_STR_ARG(opts->ns), COR_STR_ARG(opts->name));
    if (r < 0) {
        cor_allocation_abandon(a);
        return -COR_ENOMEM;
    }
    a->ns = cor_str(cor_buf_z(&a->names), opts->ns.n);
    a->name = cor_str_from(cor_buf_str(&a->names), opts->ns.n + 1);
    *ret = a;
    return 0;
}

/* The ports of the wants are not this write's any more. */
static void allocation_let_go(struct cor_allocation *a)
{
    for (size_t i = 0; a->has_ports && i < a->plan.nwants; i++)
        cor_ports_let_go(cor_alloc_ports(a->alloc), a->plan.wants[i].number);
    a->has_ports = false;
}

void cor_allocation_abandon(struct cor_allocation *a)
{
    if (!a)
        return;
    allocation_let_go(a);
    cor_service_plan_deinit(&a->plan);
    cor_service_deinit(&a->service);
    cor_service_deinit(&a->old);
    cor_status_deinit(&a->port_op.status);
    cor_buf_deinit(&a->names);
    cor_object_unref(a->body);
    cor_object_unref(a->current);
    cor_free(a);
}

bool cor_allocation_is_stale(const struct cor_allocation *a)
{
    return (a->ntaken > 0 || a->has_ports) &&
           cor_clock_mono_ms(a->loop->settings->clock) - a->since_ms > STALE_MS;
}

/* ---- reserving ---- */

static void allocation_end_run(struct cor_allocation *a, int r)
{
    a->on_done(a->arg, r);
}

/* The error of a failed operation of the store, as the API's. */
static int allocation_store_error(struct cor_allocation *a, struct cor_status *why,
                                  enum cor_api_role role)
{
    const struct cor_gr gr = cor_api_gr(cor_api_of_role(role));

    if (why)
        cor_status_move(a->status, why);
    return cor_storage_error_to_api(a->status, COR_STORAGE_OP_CREATE, &gr, a->name);
}

/* The server starts, and has not read its ranges and ports yet: the client may try again. */
static int allocation_not_ready(struct cor_allocation *a)
{
    return cor_status_too_many_requests(
        a->status, "the addresses and node ports of Services are being read, please try again", 1);
}

static int allocation_refuse(struct cor_allocation *a, const struct cor_field_errors *errs)
{
    const struct cor_gk gk = cor_api_gk(cor_api_of_role(COR_ROLE_SERVICES));

    return cor_status_invalid(a->status, &gk, a->name, errs);
}

/* Writes the Service with its new fields into an object. */
static int allocation_write(const struct cor_allocation *a, struct cor_object **ret_object)
{
    const struct cor_resource_row *row = cor_api_of_role(COR_ROLE_SERVICES);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf spec = {0}, metadata = {0}, name = {0}, json = {0};
    struct cor_edits top = {.n = 0}, meta = {.n = 0};
    struct cor_json_writer w;
    int r;

    cor_buf_init(&spec, JSON_MAX);
    cor_buf_init(&metadata, JSON_MAX);
    cor_buf_init(&name, COR_KEY_BYTES_MAX);
    cor_buf_init(&json, JSON_MAX);
    r = cor_service_write_spec(&a->service, &spec);
    if (r == 0)
        r = cor_json_quote(&name, a->name);
    /* A name that was generated for the reservation is the Service's. */
    if (r == 0 && a->name.n > 0)
        cor_edits_set(&meta, COR_STR("name"), cor_buf_str(&name));
    if (r == 0)
        r = cor_edits_apply(&meta, cor_object_metadata(a->body), &metadata);
    if (r == 0) {
        cor_edits_set(&top, COR_STR("spec"), cor_buf_str(&spec));
        cor_edits_set(&top, COR_STR("metadata"), cor_buf_str(&metadata));
        cor_json_writer_init(&w, &json);
        cor_json_begin_object(&w);
        cor_json_member(&w, COR_STR("kind"), row->kind);
        cor_json_member(&w, COR_STR("apiVersion"), row->api_version);
        cor_edits_write(&top, cor_object_json(a->body), true, &w);
        cor_json_end_object(&w);
        r = cor_json_writer_finish(&w);
    }
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&json), ret_object);
    return r;
}

int cor_allocation_finish(struct cor_allocation *a, struct cor_status *status,
                          struct cor_object **ret_object)
{
    int r = cor_service_plan_set_ports(&a->plan, a->is_create, &a->service);

    assert(a->on_done && !a->is_removal);
    if (r == 0 && !a->is_create)
        r = cor_service_drop_stale(&a->service, &a->old);
    if (r == 0)
        r = allocation_write(a, ret_object);
    return r < 0 ? cor_status_set_err(status, r) : 0;
}

static const char *port_reason(const struct cor_allocation *a, char out[128])
{
    char range[COR_PORT_RANGE_TEXT_MAX];

    switch (a->port_op.refusal) {
    case COR_PORT_TAKEN:
        return "provided port is already allocated";
    case COR_PORT_OUTSIDE:
        cor_port_range_print(cor_ports_range(cor_alloc_ports(a->alloc)), range);
        snprintf(out, 128,
                 "provided port is not in the valid range. The range of valid ports is %s", range);
        return out;
    case COR_PORT_FULL:
        return "range is full";
    default:
        return "cannot allocate resources of type servicenodeportallocations at this time";
    }
}

static int allocation_refuse_port(struct cor_allocation *a)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    size_t of = a->plan.want_of[a->port_op.refused];
    const struct cor_port_want *want = &a->plan.wants[a->port_op.refused];
    struct cor_field_path spec = cor_field_root(COR_STR("spec"));
    struct cor_field_path ports = cor_field_child(&spec, COR_STR("ports"));
    struct cor_field_path port = cor_field_index(&ports, of);
    struct cor_field_path field = cor_field_child(&port, COR_STR("nodePort"));
    char text[128], number[24];
    const char *why = port_reason(a, text);
    bool is_any = want->is_any || want->number == 0;
    int n;

    if (of == COR_PLAN_HEALTH && is_any)
        return cor_status_internal(a->status, "failed to allocate a HealthCheck NodePort 0: %s",
                                   why);
    if (of == COR_PLAN_HEALTH)
        return cor_status_internal(a->status,
                                   "failed to allocate requested HealthCheck NodePort %lld: %s",
                                   (long long)a->service.health_port, why);
    if (is_any)
        return cor_status_internal(a->status, "failed to allocate a nodePort: %s", why);
    n = snprintf(number, sizeof(number), "%lld", (long long)a->service.ports[of].node_port);
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &field,
                         cor_field_json(cor_str(number, (size_t)n)), why);
    return allocation_refuse(a, &errs);
}

static void allocation_on_ports(struct cor_port_op *op)
{
    struct cor_allocation *a = COR_CONTAINER_OF(op, struct cor_allocation, port_op);
    const struct cor_service_port *twice;
    int r = op->err;

    if (r < 0) {
        allocation_end_run(a, allocation_store_error(a, &op->status, COR_ROLE_SERVICES));
        return;
    }
    if (op->refusal != COR_PORT_OK) {
        allocation_end_run(a, op->refusal == COR_PORT_UNREADY && !cor_alloc_is_ready(a->alloc)
                                  ? allocation_not_ready(a)
                                  : allocation_refuse_port(a));
        return;
    }
    a->has_ports = !a->is_dry_run;
    if (a->plan.duplicate != SIZE_MAX) {
        twice = &a->service.ports[a->plan.duplicate];
        allocation_end_run(
            a, cor_status_untyped(a->status, -COR_EINTERNAL, "duplicate nodePort: {%.*s %lld}",
                                  COR_STR_ARG(twice->protocol), (long long)twice->node_port));
        return;
    }
    allocation_end_run(a, 0);
}

static void allocation_reserve_ports(struct cor_allocation *a)
{
    a->port_op.loop = a->loop->loop;
    a->port_op.on_done = allocation_on_ports;
    a->port_op.wants = a->plan.wants;
    a->port_op.nwants = a->plan.nwants;
    a->port_op.is_dry = a->is_dry_run;
    if (a->plan.nwants > 0)
        cor_ports_submit(cor_alloc_ports(a->alloc), &a->port_op);
    else
        allocation_on_ports(&a->port_op);
}

static void allocation_next_ip(struct cor_allocation *a);

/* The address at `at` is reserved: the Service shows it. */
static void allocation_take_ip(struct cor_allocation *a, struct cor_addr ip)
{
    if (a->service.cluster_ips.v[a->at].n == 0)
        a->service.cluster_ips.v[a->at] = cor_addr_print(ip, a->ip_texts[a->at]);
    if (a->at == 0)
        a->service.cluster_ip = a->service.cluster_ips.v[0];
    a->at++;
    allocation_next_ip(a);
}

static int allocation_refuse_ip(struct cor_allocation *a, const char *why)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {0}, detail = {0};
    struct cor_field_path spec = cor_field_root(COR_STR("spec"));
    struct cor_field_path field = cor_field_child(&spec, COR_STR("clusterIPs"));
    int r;

    cor_buf_init(&list, JSON_MAX);
    cor_buf_init(&detail, JSON_MAX);
    r = cor_texts_write(&a->service.cluster_ips, &list);
    if (r == 0)
        r = cor_buf_addf(&detail, "failed to allocate IP %.*s: %s",
                         COR_STR_ARG(a->service.cluster_ips.v[a->at]), why);
    if (r < 0)
        return cor_status_set_err(a->status, r);
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &field, cor_field_json(cor_buf_str(&list)),
                         cor_buf_z(&detail));
    return allocation_refuse(a, &errs);
}

static void allocation_try_ip(struct cor_allocation *a, struct cor_addr ip);

/* Reserves any address of the family at `at`. */
static void allocation_pick_ip(struct cor_allocation *a)
{
    enum cor_addr_family family;
    struct cor_addr ip;
    int r;

    (void)cor_addr_family_parse(a->service.families.v[a->at], &family);
    r = cor_address_index_pick(cor_alloc_index(a->alloc), family, &a->loop->rand, &ip);
    if (r == -COR_ENOSPC && !cor_alloc_is_ready(a->alloc))
        r = allocation_not_ready(a);
    else if (r == -COR_ENOSPC)
        r = cor_status_internal(a->status, "failed to allocate a serviceIP: range is full");
    else if (r < 0)
        cor_status_set_err(a->status, r);
    if (r < 0)
        allocation_end_run(a, r);
    else
        allocation_try_ip(a, ip);
}

static void allocation_on_ip(struct cor_address_op *op, int err, struct cor_status *status)
{
    struct cor_allocation *a = COR_CONTAINER_OF(op, struct cor_allocation, address);
    bool is_any = a->service.cluster_ips.v[a->at].n == 0;

    if (err == 0) {
        a->taken[a->ntaken++] = op->id;
        allocation_take_ip(a, op->id.ip);
    } else if (err == -COR_EEXIST && is_any) {
        allocation_pick_ip(a); /* the index was behind; it does not propose this address again */
    } else if (err == -COR_EEXIST) {
        allocation_end_run(a, allocation_refuse_ip(a, "provided IP is already allocated"));
    } else {
        /* The object may have been created all the same: it is released with the others. */
        cor_address_index_give_back(cor_alloc_index(a->alloc), op->id.ip);
        a->taken[a->ntaken++] = op->id;
        allocation_end_run(a, allocation_store_error(a, status, COR_ROLE_ADDRESSES));
    }
}

static void allocation_try_ip(struct cor_allocation *a, struct cor_addr ip)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r;

    a->address = (struct cor_address_op){
        .loop = a->loop, .id.ip = ip, .ns = a->ns, .name = a->name, .on_done = allocation_on_ip};
    r = cor_address_reserve(&a->address, &why);
    if (r < 0) {
        cor_address_index_give_back(cor_alloc_index(a->alloc), ip);
        allocation_end_run(a, allocation_store_error(a, &why, COR_ROLE_ADDRESSES));
    }
}

/* Of a dry run: the first address of the range stands for any; a given one must be in the range. */
static void allocation_show_ip(struct cor_allocation *a)
{
    struct cor_str given = a->service.cluster_ips.v[a->at];
    enum cor_addr_family family;
    struct cor_addr_range range;
    char cidr[COR_ADDR_RANGE_TEXT_MAX], text[256];
    struct cor_addr ip;

    (void)cor_addr_family_parse(a->service.families.v[a->at], &family);
    if (cor_address_index_range(cor_alloc_index(a->alloc), family, &range) < 0) {
        allocation_end_run(
            a, !cor_alloc_is_ready(a->alloc) ? allocation_not_ready(a)
               : given.n > 0
                   ? allocation_refuse_ip(a, "allocator not ready")
                   : cor_status_internal(a->status,
                                         "failed to allocate a serviceIP: allocator not ready"));
        return;
    }
    ip = range.net;
    if (given.n > 0 && (cor_addr_parse(given, &ip) < 0 || !cor_addr_range_contains(&range, ip))) {
        cor_addr_range_print(&range, cidr);
        snprintf(text, sizeof(text),
                 "the provided IP (%.*s) is not in the valid range. The range of valid IPs is %s",
                 COR_STR_ARG(given), cidr);
        allocation_end_run(a, allocation_refuse_ip(a, text));
        return;
    }
    allocation_take_ip(a, ip);
}

/* Reserves the next address that is wanted, from `at` on. */
static void allocation_next_ip(struct cor_allocation *a)
{
    struct cor_addr ip;

    while (a->at < 2 && !a->plan.wants_ip[a->at])
        a->at++;
    if (a->at == 2) {
        allocation_reserve_ports(a);
    } else if (a->is_dry_run) {
        allocation_show_ip(a);
    } else if (a->service.cluster_ips.v[a->at].n == 0) {
        allocation_pick_ip(a);
    } else if (cor_addr_parse(a->service.cluster_ips.v[a->at], &ip) < 0) {
        allocation_end_run(a, cor_status_internal(a->status, "failed to parse service IP \"%.*s\"",
                                                  COR_STR_ARG(a->service.cluster_ips.v[a->at])));
    } else if (!cor_address_index_is_known(cor_alloc_index(a->alloc), ip, true)) {
        allocation_end_run(a, cor_alloc_is_ready(a->alloc)
                                  ? allocation_refuse_ip(a, "the provided network does not match "
                                                            "the current range")
                                  : allocation_not_ready(a));
    } else {
        allocation_try_ip(a, ip);
    }
}

int cor_allocation_plan(struct cor_allocation *a, struct cor_status *status)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    int r;

    assert(!a->service.spec.p && !a->on_done && !a->is_removal);
    a->status = status;
    r = cor_service_read(a->body, &a->service);
    if (r == 0 && a->current)
        r = cor_service_read(a->current, &a->old);
    if (r == 0)
        r = cor_service_plan(&a->service, a->current ? &a->old : NULL, cor_alloc_cluster(a->alloc),
                             &errs, &a->plan);
    if (r == -COR_EINVALID)
        return allocation_refuse(a, &errs);
    return r < 0 ? cor_status_set_err(status, r) : 0;
}

void cor_allocation_run(struct cor_allocation *a, struct cor_status *status,
                        cor_allocation_done on_done, void *arg)
{
    assert(cor_loop_is_current(a->loop->loop) && a->service.spec.p && !a->on_done);
    a->status = status;
    a->on_done = on_done;
    a->arg = arg;
    a->since_ms = cor_clock_mono_ms(a->loop->settings->clock);
    if (!a->is_dry_run)
        cor_alloc_note_reserving(a->alloc);
    allocation_next_ip(a);
}

/* ---- settling ---- */

static void allocation_log(struct cor_allocation *a, const char *what, int err)
{
    COR_LOG_WARN(what, COR_F_STR("service", cor_buf_z(&a->names)), COR_F_ERR(err));
}

static void allocation_end(struct cor_allocation *a)
{
    void (*on_settled)(void *arg) = a->on_settled;
    void *arg = a->arg;

    a->loop->ncalls--;
    cor_allocation_abandon(a);
    on_settled(arg);
}

static void allocation_on_endpoints(void *arg, const struct cor_store_reply *reply)
{
    struct cor_allocation *a = arg;

    if (reply->err < 0 && reply->err != -COR_ENOTFOUND)
        allocation_log(a, "the endpoints of a Service that is gone could not be deleted",
                       reply->err);
    allocation_end(a);
}

static void allocation_delete_endpoints(struct cor_allocation *a)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {0};
    struct cor_store_delete_opts opts = {.on_done = allocation_on_endpoints, .arg = a};
    struct cor_backing *backing;
    int r = cor_api_backing(a->loop, cor_api_of_role(COR_ROLE_ENDPOINTS), &backing, &why);

    cor_buf_init(&key, COR_KEY_BYTES_MAX);
    if (r == 0)
        r = cor_key_of_object(cor_buf_str(&backing->prefix), true, a->ns, a->name, &key, &why);
    if (r == 0)
        r = cor_store_delete(backing->store, cor_buf_str(&key), &opts, &why);
    if (r < 0) {
        const struct cor_store_reply reply = {.err = r};

        allocation_on_endpoints(a, &reply);
    }
}

static void allocation_on_ports_released(struct cor_port_op *op)
{
    struct cor_allocation *a = COR_CONTAINER_OF(op, struct cor_allocation, port_op);

    if (op->err < 0)
        allocation_log(a, "node ports could not be released, and are left to the repair", op->err);
    if (a->is_removal)
        allocation_delete_endpoints(a);
    else
        allocation_end(a);
}

static void allocation_release_ports(struct cor_allocation *a)
{
    struct cor_port_op *op = &a->port_op;

    op->refusal = COR_PORT_OK;
    op->err = 0;
    op->nwants = op->nreleases = 0;
    if (a->end == COR_ALLOCATION_KEEP) {
        op->releases = a->plan.release_ports;
        op->nreleases = a->plan.nrelease_ports;
        op->until_ms = cor_clock_mono_ms(a->loop->settings->clock) + STALE_MS;
    } else if (a->end == COR_ALLOCATION_UNDO && a->has_ports) {
        op->gives_back = true;
        op->nwants = a->plan.nwants;
        op->until_ms = a->since_ms + STALE_MS;
    }
    /* As soon as the ports are released, another write may get and hold them. */
    if (a->end == COR_ALLOCATION_UNDO)
        allocation_let_go(a);
    op->loop = a->loop->loop;
    op->on_done = allocation_on_ports_released;
    if (op->nreleases > 0 || op->nwants > 0)
        cor_ports_submit(cor_alloc_ports(a->alloc), op);
    else
        allocation_on_ports_released(op);
}

static void allocation_release_next(struct cor_allocation *a);

static void allocation_on_released(struct cor_address_op *op, int err, struct cor_status *status)
{
    struct cor_allocation *a = COR_CONTAINER_OF(op, struct cor_allocation, address);

    if (err < 0)
        allocation_log(a, "an address could not be released, and is left to the repair", err);
    allocation_release_next(a);
}

/* The next address that is to be released. False: there is none. */
static bool allocation_next_release(struct cor_allocation *a, struct cor_address_id *ret_id)
{
    *ret_id = (struct cor_address_id){.uid = ""};
    if (a->end == COR_ALLOCATION_UNDO && a->at < a->ntaken) {
        *ret_id = a->taken[a->at++];
        return true;
    }
    while (a->end == COR_ALLOCATION_KEEP && a->at < a->plan.release_ips.n)
        if (cor_addr_parse(a->plan.release_ips.v[a->at++], &ret_id->ip) == 0)
            return true;
    return false;
}

static void allocation_release_next(struct cor_allocation *a)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_address_id id;
    int r;

    if (!allocation_next_release(a, &id)) {
        allocation_release_ports(a);
        return;
    }
    a->address = (struct cor_address_op){
        .loop = a->loop, .id = id, .ns = a->ns, .name = a->name, .on_done = allocation_on_released};
    r = cor_address_release(&a->address, &why);
    if (r < 0)
        allocation_on_released(&a->address, r, &why);
}

void cor_allocation_settle(struct cor_allocation *a, enum cor_allocation_end end,
                           void (*on_settled)(void *arg), void *arg)
{
    assert(cor_loop_is_current(a->loop->loop) && on_settled);
    a->end = end;
    a->at = 0;
    a->on_settled = on_settled;
    a->arg = arg;
    /* The loop is not released while this is under way. */
    a->loop->ncalls++;
    allocation_release_next(a);
}

int cor_allocation_of_removed(struct cor_alloc *alloc, struct cor_api_loop *loop,
                              struct cor_object *object, struct cor_allocation **ret)
{
    const struct cor_allocation_opts opts = {.alloc = alloc,
                                             .loop = loop,
                                             .body = object,
                                             .ns = cor_object_namespace(object),
                                             .name = cor_object_name(object)};
    struct cor_allocation *a;
    int r = cor_allocation_new(&opts, &a);

    if (r < 0)
        return r;
    a->is_removal = true;
    r = cor_service_read(a->body, &a->service);
    if (r == 0)
        r = cor_service_plan_removal(&a->service, &a->plan);
    if (r < 0) {
        cor_allocation_abandon(a);
        return r;
    }
    *ret = a;
    return 0;
}
