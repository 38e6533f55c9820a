/* clang-format off */
/* The queue of port operations, and the writes that serve it.
 *
 *   cor_ports_submit ──► (mail to the home loop) ──► `waiting` ──► a write begins when none is under
 *   way: all that wait become its `batch` ──► the step applies each operation of the batch, in
 *   order, to the ports of the present object ──► written by compare-and-swap, or stopped when
 *   nothing has changed ──► every operation is answered on its own loop ──► the next write
 *
 * The step runs again on a newer object when another server has written meanwhile: each operation
 * gets its result afresh. The object that was written last is the suggestion for the next write, so
 * that a server alone on the store does not read.
 * Failures: an operation whose port is taken changes nothing and lets the others pass; a failure of
 * the store is the answer to the whole batch. Nothing here allocates per operation.
 * Thread: the home loop, except cor_ports_submit() and the held ports, which have atomic bits. */
/* clang-format on */
#include "server/alloc/ports.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "server/stored/kind_codec.h"
#include "storage/encryption/dynamic_transformers.h"
#include "storage/store/store.h"

#define RANGES_PREFIX "/ranges"
#define PORTS_KEY     RANGES_PREFIX "/servicenodeports"
/* What upstream calls the resource, which has no API: only a wildcard of the encryption file means
 * it. */
#define PORTS_RESOURCE "servicenodeportallocations"
#define OBJECT_MAX     (64u * 1024)

struct cor_ports {
    struct cor_api *api;
    struct cor_loop *home;
    struct cor_store *store;
    struct cor_port_range range;
    struct cor_rand rand;
    struct cor_dlist waiting, batch; /* of operations */
    bool is_writing;
    struct cor_object *last; /* as it was written or read last; NULL: not known */
    struct cor_port_map map; /* scratch of the step */
    _Atomic uint64_t held[65536 / 64];

    cor_ports_on_read on_read; /* while one reads */
    void *read_arg;
};

static int ports_open_store(struct cor_ports *ports, struct cor_status *st)
{
    const struct cor_gr gr = {COR_STR(""), COR_STR(PORTS_RESOURCE)};
    struct cor_api *api = ports->api;
    struct cor_store_opts opts = {.engine = cor_api_settings(api)->engine,
                                  .loop = ports->home,
                                  .path_prefix = cor_api_settings(api)->path_prefix,
                                  .resource_prefix = RANGES_PREFIX,
                                  .clock = cor_api_settings(api)->clock};
    int r = 0;

    if (cor_api_settings(api)->transformers)
        r = cor_dynamic_transformers_peek(cor_api_settings(api)->transformers, &gr,
                                          &opts.transformer);
    if (r == 0)
        r = cor_kind_codec_new(&(struct cor_kind_codec_opts){0}, &opts.take_codec);
    return r < 0 ? cor_status_set_err(st, r) : cor_store_new(&opts, &ports->store, st);
}

int cor_ports_new(struct cor_api *api, struct cor_port_range range, struct cor_ports **ret_ports,
                  struct cor_status *reterr_status)
{
    struct cor_ports *ports = cor_calloc(1, sizeof(*ports));
    int r;

    assert(range.first > 0 && range.first <= range.last && range.last <= 65535);
    if (!ports)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    ports->api = api;
    ports->home = cor_api_home(api)->loop;
    ports->range = range;
    cor_rand_init_seeded(&ports->rand, cor_rand_u64(&cor_api_home(api)->rand));
    cor_dlist_init(&ports->waiting);
    cor_dlist_init(&ports->batch);
    r = ports_open_store(ports, reterr_status);
    if (r < 0) {
        cor_ports_free(ports);
        return r;
    }
    *ret_ports = ports;
    return 0;
}

struct cor_ports *cor_ports_free(struct cor_ports *ports)
{
    if (!ports)
        return NULL;
    assert(!ports->is_writing && !ports->on_read && cor_dlist_empty(&ports->waiting));
    cor_store_free(ports->store);
    cor_object_unref(ports->last);
    return cor_free(ports);
}

struct cor_port_range cor_ports_range(const struct cor_ports *ports)
{
    return ports->range;
}

static void ports_hold(struct cor_ports *ports, uint32_t port)
{
    atomic_fetch_or(&ports->held[port / 64], UINT64_C(1) << (port % 64));
}

void cor_ports_let_go(struct cor_ports *ports, uint32_t port)
{
    atomic_fetch_and(&ports->held[port / 64], ~(UINT64_C(1) << (port % 64)));
}

bool cor_ports_is_held(struct cor_ports *ports, uint32_t port)
{
    return atomic_load(&ports->held[port / 64]) >> (port % 64) & 1;
}

static void ports_keep_last(struct cor_ports *ports, struct cor_object *object)
{
    struct cor_object *old = ports->last;

    ports->last = object ? cor_object_ref(object) : NULL;
    cor_object_unref(old);
}

/* In a dry run a port that is given must not be taken, but may be outside the range; for arbitrary
 * ports upstream shows unused numbers. `shown` are the ports that the operation has so far, of
 * which none may be given twice; a number that is not a port at all is refused by validation. */
static enum cor_port_refusal ports_try_dry(const struct cor_ports *ports,
                                           struct cor_port_want *want, struct cor_port_map *shown,
                                           uint32_t *next)
{
    uint32_t wanted = want->number;

    if (wanted == 0) {
        want->number = wanted = (*next)++;
    } else if (wanted <= 65535 &&
               (cor_port_map_has(shown, wanted) || cor_port_map_has(&ports->map, wanted))) {
        return COR_PORT_TAKEN;
    } else if (wanted >= *next && wanted < UINT32_MAX) {
        *next = wanted + 1;
    }
    if (wanted <= 65535)
        cor_port_map_set(shown, wanted);
    return COR_PORT_OK;
}

/* Tries all wants of a dry run, and returns the place of the first one that is refused. */
static size_t ports_apply_dry(const struct cor_ports *ports, struct cor_port_op *op)
{
    struct cor_port_map shown = {{0}};
    uint32_t next = COR_PORT_DRY;
    size_t i;

    for (i = 0; i < op->nwants; i++) {
        op->refusal = ports_try_dry(ports, &op->wants[i], &shown, &next);
        if (op->refusal != COR_PORT_OK)
            break;
    }
    return i;
}

static enum cor_port_refusal ports_try(struct cor_ports *ports, struct cor_port_want *want)
{
    if (want->number == 0) {
        want->number = cor_port_map_next(&ports->map, ports->range, &ports->rand);
        if (want->number == 0)
            return COR_PORT_FULL;
    } else if (!cor_port_range_contains(ports->range, want->number)) {
        return COR_PORT_OUTSIDE;
    } else if (cor_port_map_has(&ports->map, want->number)) {
        return COR_PORT_TAKEN;
    }
    cor_port_map_set(&ports->map, want->number);
    return COR_PORT_OK;
}

/* Applies one operation to the map. Wants for any port are marked, so that a second step can find
 * them another one. */
static void ports_apply(struct cor_ports *ports, struct cor_port_op *op, cor_rev rev)
{
    bool may_release =
        op->until_ms == 0 || cor_clock_mono_ms(cor_api_settings(ports->api)->clock) <= op->until_ms;
    size_t i;

    may_release = may_release && (op->at_rev == 0 || op->at_rev == rev);
    op->has_released = may_release;
    op->refusal = COR_PORT_OK;
    for (i = 0; op->gives_back && may_release && i < op->nwants; i++)
        cor_port_map_clear(&ports->map, op->wants[i].number);
    for (i = 0; !op->gives_back && i < op->nwants; i++) {
        if (op->wants[i].is_any)
            op->wants[i].number = 0;
        op->wants[i].is_any = op->wants[i].number == 0;
    }
    if (op->is_dry)
        i = ports_apply_dry(ports, op);
    else
        for (i = 0; !op->gives_back && i < op->nwants; i++) {
            op->refusal = ports_try(ports, &op->wants[i]);
            if (op->refusal != COR_PORT_OK)
                break;
        }
    if (op->refusal != COR_PORT_OK) {
        op->refused = i;
        while (!op->is_dry && i-- > 0)
            cor_port_map_clear(&ports->map, op->wants[i].number);
        return;
    }
    for (i = 0; may_release && i < op->nreleases; i++)
        if (op->releases[i] <= 65535)
            cor_port_map_clear(&ports->map, op->releases[i]);
    for (i = 0; i < op->nrepairs; i++)
        if (cor_port_range_contains(ports->range, op->repairs[i]))
            cor_port_map_set(&ports->map, op->repairs[i]);
}

/* Ends the step: writes the map, unless the object has it already. */
static void ports_write(struct cor_ports *ports, struct cor_store_change *change,
                        const struct cor_object *current)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *object;
    int r;

    cor_buf_init(&json, OBJECT_MAX);
    r = cor_port_map_write(&ports->map, ports->range, &json);
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&json), &object);
    if (r < 0) {
        cor_status_set_err(&status, r);
        cor_store_change_refuse(change, r, &status);
    } else if (current && cor_object_same_stored(object, current)) {
        cor_object_unref(object);
        cor_store_change_stop(change);
    } else {
        cor_store_change_write(change, object, 0);
    }
}

static void ports_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct cor_ports *ports = arg;
    struct cor_port_range stored_range;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    bool may_create = false;
    int r = 0;

    ports_keep_last(ports, current);
    COR_DLIST_FOREACH(link, &ports->batch) {
        may_create |= COR_CONTAINER_OF(link, struct cor_port_op, link)->may_create;
    }
    if (current)
        r = cor_port_map_read(cor_object_json(current), &stored_range, &ports->map);
    else
        memset(&ports->map, 0, sizeof(ports->map));
    if (r < 0) {
        cor_status_set(&status, r, "the ports in " PORTS_KEY " cannot be read: %s",
                       cor_err_text(r));
        cor_store_change_refuse(change, r, &status);
        return;
    }
    COR_DLIST_FOREACH(link, &ports->batch) {
        struct cor_port_op *op = COR_CONTAINER_OF(link, struct cor_port_op, link);

        if (current || may_create)
            ports_apply(ports, op, current ? current->rev : 0);
        else
            op->refusal = COR_PORT_UNREADY;
    }
    if (current || may_create)
        ports_write(ports, change, current);
    else
        cor_store_change_stop(change);
}

static void port_op_on_answer(struct cor_mail *mail)
{
    struct cor_port_op *op = COR_CONTAINER_OF(mail, struct cor_port_op, mail);

    op->on_done(op);
}

static void ports_answer(struct cor_port_op *op)
{
    op->mail.on_mail = port_op_on_answer;
    cor_loop_post_always(op->loop, &op->mail);
}

static void ports_begin(struct cor_ports *ports);

static void ports_on_written(void *arg, const struct cor_store_reply *reply)
{
    struct cor_ports *ports = arg;
    bool failed = reply->err < 0 && !reply->was_stopped;

    assert(ports->is_writing);
    ports->is_writing = false;
    ports_keep_last(ports, reply->err == 0 ? reply->object : failed ? NULL : ports->last);
    while (!cor_dlist_empty(&ports->batch)) {
        struct cor_port_op *op = COR_CONTAINER_OF(ports->batch.next, struct cor_port_op, link);

        cor_dlist_remove(&op->link);
        if (failed) {
            op->err = reply->err;
            (void)cor_status_copy(&op->status, reply->status);
        }
        if (!failed && op->refusal == COR_PORT_OK && !op->is_dry && !op->gives_back)
            for (size_t i = 0; i < op->nwants; i++)
                ports_hold(ports, op->wants[i].number);
        ports_answer(op);
    }
    ports_begin(ports);
}

/* Begins the next write, unless one is under way or nothing waits. */
static void ports_begin(struct cor_ports *ports)
{
    struct cor_store_update_opts opts = {.ignore_not_found = true,
                                         .suggestion = ports->last,
                                         .step = ports_step,
                                         .on_done = ports_on_written,
                                         .arg = ports};
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    int r;

    if (ports->is_writing || cor_dlist_empty(&ports->waiting))
        return;
    cor_dlist_splice(&ports->batch, &ports->waiting);
    ports->is_writing = true;
    r = cor_store_update(ports->store, COR_STR(PORTS_KEY), &opts, &status);
    if (r < 0) {
        const struct cor_store_reply reply = {.err = r, .status = &status};

        ports_on_written(ports, &reply);
    }
}

static void ports_on_submitted(struct cor_mail *mail)
{
    struct cor_port_op *op = COR_CONTAINER_OF(mail, struct cor_port_op, mail);
    struct cor_ports *ports = op->ports;

    assert(cor_loop_is_current(ports->home));
    cor_dlist_push(&ports->waiting, &op->link);
    ports_begin(ports);
}

void cor_ports_submit(struct cor_ports *ports, struct cor_port_op *op)
{
    assert(op->loop && op->on_done);
    op->ports = ports;
    op->err = 0;
    for (size_t i = 0; i < op->nwants; i++)
        op->wants[i].is_any = false;
    op->mail.on_mail = ports_on_submitted;
    cor_loop_post_always(ports->home, &op->mail);
}

static void ports_on_got(void *arg, const struct cor_store_reply *reply)
{
    struct cor_ports *ports = arg;
    cor_ports_on_read on_read = COR_STEAL(ports->on_read);
    struct cor_port_range stored_range;
    int r = reply->err;

    if (r == 0) {
        ports_keep_last(ports, reply->object);
        r = cor_port_map_read(cor_object_json(reply->object), &stored_range, &ports->map);
    }
    on_read(ports->read_arg, r, &ports->map, r == 0 ? reply->object->rev : 0);
}

int cor_ports_read(struct cor_ports *ports, cor_ports_on_read on_read, void *arg,
                   struct cor_status *reterr_status)
{
    static const struct cor_store_get_opts any = {.ignore_not_found = false};
    int r =
        cor_store_get(ports->store, COR_STR(PORTS_KEY), &any, ports_on_got, ports, reterr_status);

    assert(cor_loop_is_current(ports->home) && !ports->on_read);
    if (r == 0) {
        ports->on_read = on_read;
        ports->read_arg = arg;
    }
    return r;
}
