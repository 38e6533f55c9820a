/* clang-format off */
/* One pass of the repair:
 *
 *   read the node ports ──► all Services: the ports that are used are collected; an address that the
 *   index does not know is reserved ──► all IPAddresses of the allocator: one whose Service the
 *   cache does not show with it is looked at closely (the Service is read from the store), and is a
 *   leak when the Service does not have it ──► ports: one operation for all that leak and all that
 *   are missing ──► leaks that were not seen any more are forgotten ──► all asks that wait are answered
 *
 * The ports are read before the Services, and the Services as of now: a port that is reserved and
 * that no Service has is a leak, or its Service is being written. Ports that this server holds for
 * such writes are known (ports.h). Ports are released only if their object has not changed since it
 * was read: a port may have been released and reserved again meanwhile. The next pass tries again.
 * Walks take WALK_MANY objects or WALK_BYTES in a turn of the loop, and wait for the operation of an object that
 * needs one.
 * Failures: a pass that cannot read the ports or a list ends, and is due again after RETRY_MS; an
 * object that could not be repaired is logged and seen again by the next pass.
 * Thread: the API's first loop, except repair_on_port_ask() and repair_due_in_ms(), which any thread may call. */
/* clang-format on */
#include "server/alloc/repair.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "server/alloc/addresses.h"
#include "server/alloc/leaks.h"
#include "storage/store/reader.h"

#define WALK_MANY  256
#define WALK_BYTES (256u * 1024)
#define RETRY_MS   10000

struct cor_repair {
    struct cor_alloc *alloc;
    struct cor_api *api;
    struct cor_api_loop *home;
    struct cor_repair_port port;
    atomic_uint_least64_t due_ms; /* of the API's monotonic clock; 0: no pass has ended yet */
    struct cor_dlist asks;        /* that wait for the end of a pass */
    struct cor_mail turn;         /* to itself: goes on in the next turn */
    struct cor_leaks leaks;
    struct cor_repair_counts counts;
    bool is_open;                         /* passes may begin */
    bool is_first;                        /* no pass has ended yet */
    void (*on_first)(void *arg, int err); /* of the first pass; NULL afterwards */
    void *arg;

    /* The pass under way. */
    bool is_running;
    int err;
    struct cor_port_map *reserved, *used; /* ports */
    struct cor_addr_set used_ips;         /* of the Services that were looked at */
    bool has_ports;                       /* there is an object of them */
    cor_rev ports_rev;                    /* of that object */
    struct cor_list_cursor *cursor;
    enum { WALK_SERVICES, WALK_ADDRESSES } walk;
    struct cor_object *object;  /* that an operation is under way for */
    struct cor_service service; /* of WALK_SERVICES, read from `object` */
    size_t at;                  /* the address of it that is looked at */
    struct cor_address_op address;
    struct cor_port_op port_op;
    uint32_t *releases, *repairs;

    bool is_stopping;
    void (*on_stopped)(void *arg);
    void *stop_arg;
};

static void repair_begin(struct cor_repair *repair);
static void repair_walk(struct cor_repair *repair);
static void repair_ports(struct cor_repair *repair);

static void repair_on_port_ask(struct cor_repair_port *port, struct cor_repair_ask *ask);
static uint64_t repair_due_in_ms(struct cor_repair_port *port);

int cor_repair_new(struct cor_alloc *alloc, struct cor_api *api, struct cor_repair **ret_repair)
{
    struct cor_repair *repair = cor_calloc(1, sizeof(*repair));

    if (!repair)
        return -COR_ENOMEM;
    repair->alloc = alloc;
    repair->api = api;
    repair->home = cor_api_home(api);
    repair->is_first = true;
    repair->port = (struct cor_repair_port){repair_on_port_ask, repair_due_in_ms};
    cor_dlist_init(&repair->asks);
    cor_leaks_init(&repair->leaks);
    cor_status_init(&repair->port_op.status);
    *ret_repair = repair;
    return 0;
}

struct cor_repair *cor_repair_free(struct cor_repair *repair)
{
    if (!repair)
        return NULL;
    assert(!repair->is_running && cor_dlist_empty(&repair->asks));
    cor_leaks_deinit(&repair->leaks);
    cor_status_deinit(&repair->port_op.status);
    return cor_free(repair);
}

struct cor_repair_port *cor_repair_port(struct cor_repair *repair)
{
    return &repair->port;
}

struct cor_repair_counts cor_repair_counts(const struct cor_repair *repair)
{
    return repair->counts;
}

/* ---- leaks ---- */

/* How long a leak must have been seen. A write of this process, which may be under way, sets the
 * mark that is read here before it reserves anything: who sees the reservation sees the mark. */
static uint64_t repair_grace_ms(const struct cor_repair *repair)
{
    bool is_all_left_over = repair->is_first &&
                            !cor_engine_shares_store(cor_api_settings(repair->api)->engine) &&
                            !cor_alloc_has_reserved(repair->alloc);

    return is_all_left_over ? 0 : COR_REPAIR_GRACE_MS;
}

/* Notes the leak. True: the leak is there for so long that it is to be released. */
static bool repair_is_leaked(struct cor_repair *repair, const unsigned char key[COR_LEAK_BYTES])
{
    return cor_leaks_note(&repair->leaks, key, repair->counts.passes,
                          cor_clock_mono_ms(cor_api_settings(repair->api)->clock),
                          repair_grace_ms(repair));
}

/* ---- the end of a pass ---- */

static void repair_on_answer(struct cor_mail *mail)
{
    struct cor_repair_ask *ask = COR_CONTAINER_OF(mail, struct cor_repair_ask, mail);

    ask->on_done(ask);
}

/* Sends the answer to the loop of the ask, which its maker has back from then on. */
static void repair_answer(struct cor_repair_ask *ask, int err, uint64_t next_ms)
{
    ask->err = err;
    ask->next_ms = next_ms;
    ask->mail.on_mail = repair_on_answer;
    cor_dlist_init(&ask->mail.link);
    cor_loop_post_always(ask->loop, &ask->mail);
}

static void repair_answer_all(struct cor_repair *repair, int err, uint64_t next_ms)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&repair->asks)))
        repair_answer(COR_CONTAINER_OF(link, struct cor_repair_ask, link), err, next_ms);
}

static void repair_end(struct cor_repair *repair)
{
    void (*on_first)(void *arg, int err);
    uint64_t next_ms = RETRY_MS;

    cor_list_cursor_free(COR_STEAL(repair->cursor));
    repair->reserved = cor_free(repair->reserved);
    repair->used = cor_free(repair->used);
    cor_addr_set_clear(&repair->used_ips);
    repair->releases = cor_free(repair->releases);
    repair->repairs = cor_free(repair->repairs);
    repair->object = cor_object_unref(repair->object);
    cor_service_deinit(&repair->service);
    repair->is_running = false;
    if (repair->is_stopping) {
        repair_answer_all(repair, -COR_ECANCELED, 0);
        repair->on_stopped(repair->stop_arg);
        return;
    }
    repair->is_first = false; /* whatever came of it, the server serves now */
    if (repair->err == 0)
        next_ms = cor_leaks_end_pass(&repair->leaks, repair->counts.passes) > 0
                      ? COR_REPAIR_GRACE_MS
                      : COR_REPAIR_INTERVAL_MS;
    cor_address_index_forget_picks(cor_alloc_index(repair->alloc));
    atomic_store(&repair->due_ms,
                 cor_clock_mono_ms(cor_api_settings(repair->api)->clock) + next_ms);
    repair_answer_all(repair, repair->err, next_ms);
    on_first = COR_STEAL(repair->on_first);
    if (on_first)
        on_first(repair->arg, repair->err);
}

static void repair_fail(struct cor_repair *repair, const char *what, int err)
{
    COR_LOG_WARN("the reservations of Services could not be checked", COR_F_STR("failed", what),
                 COR_F_ERR(err));
    repair->err = err;
    repair_end(repair);
}

/* ---- walks ---- */

static void repair_on_turn(struct cor_mail *mail)
{
    repair_walk(COR_CONTAINER_OF(mail, struct cor_repair, turn));
}

static void repair_next_turn(struct cor_repair *repair)
{
    repair->turn.on_mail = repair_on_turn;
    cor_dlist_init(&repair->turn.link);
    cor_loop_post_always(repair->home->loop, &repair->turn);
}

static void repair_on_listed(void *arg, int err, struct cor_status *status,
                             struct cor_list_cursor *take_cursor)
{
    struct cor_repair *repair = arg;

    repair->cursor = take_cursor;
    if (err < 0)
        repair_fail(repair, "list", err);
    else
        repair_walk(repair);
}

static void repair_list(struct cor_repair *repair, enum cor_api_role role)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const struct cor_store_list_opts opts = {.options = {.recursive = true}};
    struct cor_backing *backing;
    int r = cor_api_backing(repair->home, cor_api_of_role(role), &backing, &why);

    if (r == 0)
        r = cor_reader_list(backing->reader, cor_buf_str(&backing->prefix), &opts, repair_on_listed,
                            repair, &why);
    if (r < 0)
        repair_fail(repair, "list", r);
}

/* The walk goes on behind the object that an operation was made for. */
static void repair_go_on(struct cor_repair *repair)
{
    repair->object = cor_object_unref(repair->object);
    repair_next_turn(repair);
}

/* ---- Services ---- */

static bool is_port(int64_t port)
{
    return port > 0 && port <= 65535;
}

/* The Service has a port that a Service before has. */
static void repair_note_shared_port(struct cor_repair *repair, const struct cor_object *object,
                                    int64_t port)
{
    struct cor_str ns = cor_object_namespace(object), name = cor_object_name(object);
    char text[512];

    if (!is_port(port) || !cor_port_map_has(repair->used, (uint32_t)port))
        return;
    repair->counts.shared_ports++;
    snprintf(text, sizeof(text), "%.*s/%.*s", COR_STR_ARG(ns), COR_STR_ARG(name));
    COR_LOG_WARN("a node port belongs to two Services; one of them should be created again",
                 COR_F_U64("port", (uint64_t)port), COR_F_STR("service", text));
}

/* Ports of one Service may share a node port: all are looked at before one is noted. */
static void repair_note_ports(struct cor_repair *repair, const struct cor_object *object)
{
    const struct cor_service *service = &repair->service;

    for (size_t i = 0; i < service->nports; i++)
        repair_note_shared_port(repair, object, service->ports[i].node_port);
    repair_note_shared_port(repair, object, service->health_port);
    for (size_t i = 0; i < service->nports; i++)
        if (is_port(service->ports[i].node_port))
            cor_port_map_set(repair->used, (uint32_t)service->ports[i].node_port);
    if (is_port(service->health_port))
        cor_port_map_set(repair->used, (uint32_t)service->health_port);
}

/* Without memory for the set a shared address is found by a later pass. */
static void repair_note_ip(struct cor_repair *repair, struct cor_addr ip)
{
    struct cor_str ns = cor_object_namespace(repair->object);
    struct cor_str name = cor_object_name(repair->object);
    char text[512], address[COR_IP_TEXT_MAX];

    if (!cor_addr_set_has(&repair->used_ips, ip)) {
        (void)cor_addr_set_add(&repair->used_ips, ip);
        return;
    }
    repair->counts.shared_addresses++;
    snprintf(text, sizeof(text), "%.*s/%.*s", COR_STR_ARG(ns), COR_STR_ARG(name));
    cor_addr_print(ip, address);
    COR_LOG_WARN("an address belongs to two Services; one of them should be created again",
                 COR_F_STR("address", address), COR_F_STR("service", text));
}

static bool repair_visit_ips(struct cor_repair *repair);

static void repair_on_reserved(struct cor_address_op *op, int err, struct cor_status *status)
{
    struct cor_repair *repair = COR_CONTAINER_OF(op, struct cor_repair, address);
    char ip[COR_IP_TEXT_MAX];

    cor_addr_print(op->id.ip, ip);
    if (err == 0) {
        repair->counts.reserved_addresses++;
        COR_LOG_WARN("the address of a Service was not reserved; it is now",
                     COR_F_STR("address", ip));
    } else if (err != -COR_EEXIST) {
        COR_LOG_WARN("the address of a Service could not be reserved", COR_F_STR("address", ip),
                     COR_F_ERR(err));
    } else {
        /* The index is behind, or another Service has the address, which its own visit shows. */
        COR_LOG_DEBUG("the address of a Service is reserved already", COR_F_STR("address", ip));
    }
    if (!repair_visit_ips(repair))
        repair_go_on(repair);
}

/* Reserves the next unreserved address of the Service. False: there is none. */
static bool repair_visit_ips(struct cor_repair *repair)
{
    struct cor_address_index *index = cor_alloc_index(repair->alloc);

    while (repair->at < repair->service.cluster_ips.n && !repair->is_stopping) {
        COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
        struct cor_addr ip;

        if (cor_addr_parse(repair->service.cluster_ips.v[repair->at++], &ip) < 0)
            continue;
        repair_note_ip(repair, ip);
        if (cor_address_index_has(index, ip) || !cor_address_index_is_known(index, ip, false))
            continue;
        repair->address = (struct cor_address_op){.loop = repair->home,
                                                  .id.ip = ip,
                                                  .ns = cor_object_namespace(repair->object),
                                                  .name = cor_object_name(repair->object),
                                                  .on_done = repair_on_reserved};
        if (cor_address_reserve(&repair->address, &why) == 0)
            return true;
    }
    return false;
}

/* Looks at a Service. True: an operation is under way. */
static bool repair_visit_service(struct cor_repair *repair, struct cor_object *object)
{
    struct cor_service *service = &repair->service;
    int r;

    cor_service_deinit(service);
    r = cor_service_read(object, service);
    if (r < 0) {
        repair->err = r;
        return false;
    }
    repair_note_ports(repair, object);
    if (!cor_service_needs_ip(service) || cor_service_is_headless(service))
        return false;
    if (service->cluster_ips.n == 0 && service->cluster_ip.n > 0 &&
        cor_texts_add(&service->cluster_ips, service->cluster_ip) < 0)
        return false;
    repair->object = cor_object_ref(object);
    repair->at = 0;
    if (repair_visit_ips(repair))
        return true;
    repair->object = cor_object_unref(repair->object);
    return false;
}

/* ---- IPAddresses ---- */

static bool service_has_ip(const struct cor_object *object, struct cor_addr wanted)
{
    struct cor_service service;
    bool has = false;
    struct cor_addr ip;

    /* Without memory it is not known; the next pass looks again. */
    if (cor_service_read(object, &service) < 0)
        has = true;
    for (size_t i = 0; i < service.cluster_ips.n && !has; i++)
        has = cor_addr_parse(service.cluster_ips.v[i], &ip) == 0 && cor_addr_eq(ip, wanted);
    if (service.cluster_ips.n == 0)
        has |= cor_addr_parse(service.cluster_ip, &ip) == 0 && cor_addr_eq(ip, wanted);
    cor_service_deinit(&service);
    return has;
}

static void repair_on_released(struct cor_address_op *op, int err, struct cor_status *status)
{
    struct cor_repair *repair = COR_CONTAINER_OF(op, struct cor_repair, address);
    char ip[COR_IP_TEXT_MAX];

    cor_addr_print(op->id.ip, ip);
    if (err == 0) {
        repair->counts.released_addresses++;
        COR_LOG_WARN("an address was reserved for no Service; it is released",
                     COR_F_STR("address", ip));
    } else {
        COR_LOG_WARN("an address that is reserved for no Service could not be released",
                     COR_F_STR("address", ip), COR_F_ERR(err));
    }
    repair_go_on(repair);
}

/* The address in `object` belongs to no Service. */
static void repair_judge_address(struct cor_repair *repair)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const struct cor_address_facts facts = cor_address_facts(repair->object);
    unsigned char key[COR_LEAK_BYTES] = {0};

    memcpy(key, &facts.ip, sizeof(facts.ip));
    memcpy(key + sizeof(facts.ip), &repair->object->rev, sizeof(repair->object->rev));
    repair->address = (struct cor_address_op){.loop = repair->home,
                                              .id.ip = facts.ip,
                                              .ns = facts.ns,
                                              .name = facts.name,
                                              .rev = repair->object->rev,
                                              .on_done = repair_on_released};
    if (!repair_is_leaked(repair, key) || cor_address_release(&repair->address, &why) < 0)
        repair_go_on(repair);
}

static void repair_on_service(void *arg, const struct cor_store_reply *reply)
{
    struct cor_repair *repair = arg;
    const struct cor_address_facts facts = cor_address_facts(repair->object);

    if (reply->err < 0 || repair->is_stopping ||
        (reply->object && service_has_ip(reply->object, facts.ip)))
        repair_go_on(repair);
    else
        repair_judge_address(repair);
}

/* Looks at an IPAddress. True: an operation is under way. */
static bool repair_visit_address(struct cor_repair *repair, struct cor_object *object)
{
    static const struct cor_store_get_opts maybe = {.ignore_not_found = true};
    const struct cor_address_facts facts = cor_address_facts(object);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *service = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {0};
    struct cor_backing *backing;
    int r;

    if (!facts.is_managed || !facts.is_address)
        return false;
    cor_buf_init(&key, COR_KEY_BYTES_MAX);
    r = cor_api_backing(repair->home, cor_api_of_role(COR_ROLE_SERVICES), &backing, &why);
    if (r == 0 && facts.is_service)
        r = cor_key_of_object(cor_buf_str(&backing->prefix), true, facts.ns, facts.name, &key,
                              &why);
    if (r == -COR_ENOMEM)
        return false;
    if (r == 0 && facts.is_service) {
        service = cor_reader_suggest(backing->reader, cor_buf_str(&key));
        if (service && service_has_ip(service, facts.ip))
            return false;
    }
    repair->object = cor_object_ref(object);
    /* A reference that cannot be one to a Service refers to none. */
    if (r < 0 || !facts.is_service) {
        repair_judge_address(repair);
        return true;
    }
    if (cor_store_get(backing->store, cor_buf_str(&key), &maybe, repair_on_service, repair, &why) ==
        0)
        return true;
    repair->object = cor_object_unref(repair->object);
    return false;
}

static void repair_walk(struct cor_repair *repair)
{
    size_t bytes = 0;

    for (size_t i = 0; i < WALK_MANY && bytes < WALK_BYTES; i++) {
        struct cor_object *object;

        if (repair->is_stopping) {
            repair_end(repair);
            return;
        }
        object = cor_list_cursor_next(repair->cursor);
        if (!object) {
            cor_list_cursor_free(COR_STEAL(repair->cursor));
            if (repair->err < 0) {
                repair_fail(repair, "memory", repair->err);
            } else if (repair->walk == WALK_SERVICES) {
                repair->walk = WALK_ADDRESSES;
                repair_list(repair, COR_ROLE_ADDRESSES);
            } else {
                repair_ports(repair);
            }
            return;
        }
        bytes += cor_object_json(object).n;
        if (repair->walk == WALK_SERVICES ? repair_visit_service(repair, object)
                                          : repair_visit_address(repair, object))
            return;
    }
    repair_next_turn(repair);
}

/* ---- ports ---- */

static void repair_on_ports(struct cor_port_op *op)
{
    struct cor_repair *repair = COR_CONTAINER_OF(op, struct cor_repair, port_op);

    if (op->err < 0) {
        repair_fail(repair, "ports", op->err);
        return;
    }
    if (!op->has_released)
        op->nreleases = 0;
    repair->counts.released_ports += op->nreleases;
    repair->counts.reserved_ports += repair->has_ports ? op->nrepairs : 0;
    if (repair->has_ports && op->nreleases + op->nrepairs > 0)
        COR_LOG_WARN("the node ports were repaired", COR_F_U64("released", op->nreleases),
                     COR_F_U64("reserved", op->nrepairs));
    repair_end(repair);
}

/* Compares the ports that are reserved with those that Services have. */
static void repair_ports(struct cor_repair *repair)
{
    struct cor_ports *ports = cor_alloc_ports(repair->alloc);
    struct cor_port_range range = cor_ports_range(ports);
    size_t size = range.last - range.first + 1;
    struct cor_port_op *op = &repair->port_op;

    repair->releases = cor_calloc(size, sizeof(uint32_t));
    repair->repairs = cor_calloc(size, sizeof(uint32_t));
    if (!repair->releases || !repair->repairs) {
        repair_fail(repair, "memory", -COR_ENOMEM);
        return;
    }
    cor_status_deinit(&op->status);
    *op = (struct cor_port_op){.loop = repair->home->loop,
                               .on_done = repair_on_ports,
                               .releases = repair->releases,
                               .repairs = repair->repairs,
                               .at_rev = repair->ports_rev,
                               .may_create = !repair->has_ports};
    cor_status_init(&op->status);
    for (uint32_t port = range.first; port <= range.last; port++) {
        bool is_reserved = cor_port_map_has(repair->reserved, port);
        bool is_used = cor_port_map_has(repair->used, port);
        unsigned char key[COR_LEAK_BYTES] = "port";

        memcpy(key + 8, &port, sizeof(port));
        if (is_used && !is_reserved)
            repair->repairs[op->nrepairs++] = port;
        if (is_reserved && !is_used && !cor_ports_is_held(ports, port) &&
            repair_is_leaked(repair, key))
            repair->releases[op->nreleases++] = port;
    }
    if (op->nreleases + op->nrepairs > 0 || op->may_create)
        cor_ports_submit(ports, op);
    else
        repair_end(repair);
}

static void repair_on_ports_read(void *arg, int err, const struct cor_port_map *map, cor_rev rev)
{
    struct cor_repair *repair = arg;

    if (repair->is_stopping) {
        repair_end(repair);
        return;
    }
    if (err < 0 && err != -COR_ENOTFOUND) {
        repair_fail(repair, "ports", err);
        return;
    }
    repair->has_ports = err == 0;
    if (repair->has_ports)
        *repair->reserved = *map;
    repair->ports_rev = rev;
    repair->walk = WALK_SERVICES;
    repair_list(repair, COR_ROLE_SERVICES);
}

/* ---- life ---- */

static void repair_begin(struct cor_repair *repair)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r;

    assert(!repair->is_running && !repair->is_stopping);
    repair->is_running = true;
    repair->err = 0;
    repair->counts.passes++;
    repair->reserved = cor_calloc(1, sizeof(*repair->reserved));
    repair->used = cor_calloc(1, sizeof(*repair->used));
    r = repair->reserved && repair->used
            ? cor_ports_read(cor_alloc_ports(repair->alloc), repair_on_ports_read, repair, &why)
            : -COR_ENOMEM;
    if (r < 0)
        repair_fail(repair, "ports", r);
}

void cor_repair_open(struct cor_repair *repair, void (*on_first)(void *arg, int err), void *arg)
{
    assert(cor_loop_is_current(repair->home->loop) && !repair->is_open && !repair->is_stopping);
    repair->is_open = true;
    repair->on_first = on_first;
    repair->arg = arg;
    repair_begin(repair);
}

/* A pass that is under way serves the ask too: what the pass has looked at already was looked at
 * just now. */
static void repair_on_ask(struct cor_mail *mail)
{
    struct cor_repair_ask *ask = COR_CONTAINER_OF(mail, struct cor_repair_ask, mail);
    struct cor_repair *repair = COR_CONTAINER_OF(ask->port, struct cor_repair, port);

    if (repair->is_stopping) {
        repair_answer(ask, -COR_ECANCELED, 0);
        return;
    }
    cor_dlist_push(&repair->asks, &ask->link);
    if (repair->is_open && !repair->is_running)
        repair_begin(repair);
}

static void repair_on_port_ask(struct cor_repair_port *port, struct cor_repair_ask *ask)
{
    struct cor_repair *repair = COR_CONTAINER_OF(port, struct cor_repair, port);

    assert(ask->loop && ask->on_done);
    ask->port = port;
    ask->mail.on_mail = repair_on_ask;
    cor_dlist_init(&ask->mail.link);
    cor_loop_post_always(repair->home->loop, &ask->mail);
}

static uint64_t repair_due_in_ms(struct cor_repair_port *port)
{
    struct cor_repair *repair = COR_CONTAINER_OF(port, struct cor_repair, port);
    uint64_t due = atomic_load(&repair->due_ms),
             now = cor_clock_mono_ms(cor_api_settings(repair->api)->clock);

    return due > now ? due - now : 0;
}

void cor_repair_stop(struct cor_repair *repair, void (*on_stopped)(void *arg), void *arg)
{
    assert(cor_loop_is_current(repair->home->loop) && !repair->is_stopping);
    repair->is_stopping = true;
    repair->on_stopped = on_stopped;
    repair->stop_arg = arg;
    if (repair->is_running)
        return; /* repair_end() follows */
    repair_answer_all(repair, -COR_ECANCELED, 0);
    on_stopped(arg);
}
