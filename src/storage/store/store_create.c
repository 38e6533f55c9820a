/* A create: one write that expects the key to be absent. With a time to live a lease is found
 * first; when the engine has let that lease expire, another is found and the write is repeated,
 * once. Thread: the loop's. */
#include "base/mem.h"
#include "storage/store/store_int.h"

struct create_op {
    struct cor_store *store;
    struct store_key key;
    struct cor_object *object; /* stored form */
    struct store_scratch scratch;
    struct cor_str value; /* in the object or in scratch */
    struct cor_status status;
    struct cor_lease_want lease;
    struct cor_write_req write;
    cor_store_cb on_done;
    void *arg;
};

static void create_op_free(struct create_op *op)
{
    op->store->busy--;
    cor_write_req_deinit(&op->write);
    cor_status_deinit(&op->status);
    store_scratch_deinit(&op->scratch);
    cor_object_unref(op->object);
    store_key_deinit(&op->key);
    cor_free(op);
}

static void create_finish(struct create_op *op, int err, struct cor_object *object)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = op->status;
    struct cor_store_reply reply = {
        .err = err, .status = err < 0 ? &status : NULL, .object = object};
    cor_store_cb on_done = op->on_done;
    void *arg = op->arg;

    cor_status_init(&op->status);
    create_op_free(op);
    on_done(arg, &reply);
}

static void create_on_written(struct cor_engine_req *req);

static void create_submit(struct create_op *op)
{
    cor_write_req_deinit(&op->write);
    cor_write_req_init(&op->write, op->store->loop, create_on_written);
    op->write.key = store_key_str(&op->key);
    op->write.value = op->value;
    op->write.object = op->object;
    op->write.lease = op->lease.id;
    cor_engine_write(op->store->engine, &op->write);
}

static void create_write(struct create_op *op)
{
    if (op->lease.ttl_s <= 0 || cor_lease_manager_acquire(&op->store->leases, &op->lease))
        create_submit(op);
}

static void create_on_written(struct cor_engine_req *req)
{
    struct create_op *op = COR_CONTAINER_OF(req, struct create_op, write.req);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *served = NULL;
    int r = req->result;

    if (cor_lease_manager_lost(&op->store->leases, &op->lease, &op->write)) {
        create_write(op);
        return;
    }
    if (r == -COR_ECONFLICT)
        r = cor_storage_error(&op->status, COR_STORAGE_EXISTS, store_key_str(&op->key), 0, NULL);
    else if (r < 0)
        r = cor_store_engine_failure(&op->key, req, &op->status);
    else if (cor_object_at(op->object, op->write.ret_rev, &served) < 0)
        r = cor_store_no_memory(&op->status);
    create_finish(op, r, served);
}

static void create_on_lease(struct cor_lease_want *want)
{
    struct create_op *op = COR_CONTAINER_OF(want, struct create_op, lease);

    if (want->result < 0)
        create_finish(op,
                      cor_store_engine_failure(&op->key, &op->store->leases.grant.req, &op->status),
                      NULL);
    else
        create_submit(op);
}

static int create_op_prepare(struct create_op *op, struct cor_str key, struct cor_object *object,
                             struct cor_status *reterr_status)
{
    int r = cor_store_key_init(&op->key, op->store, key, false, reterr_status);

    if (r < 0)
        return r;
    op->object = cor_object_ref(object);
    return cor_store_encode(op->store, &op->key, op->object, &op->scratch, &op->value,
                            reterr_status);
}

int cor_store_create(struct cor_store *store, struct cor_str key, struct cor_object *object,
                     int64_t ttl_s, cor_store_cb on_done, void *arg,
                     struct cor_status *reterr_status)
{
    struct create_op *op;
    int r;

    assert(cor_loop_is_current(store->loop));
    if (object->rev != 0)
        return cor_status_untyped(reterr_status, -COR_EINVAL,
                                  "resourceVersion should not be set on objects to be created");
    op = cor_calloc(1, sizeof(*op));
    if (!op)
        return cor_store_no_memory(reterr_status);
    *op = (struct create_op){.store = store, .on_done = on_done, .arg = arg};
    store->busy++;
    store_scratch_init(&op->scratch);
    cor_status_init(&op->status);
    cor_write_req_init(&op->write, store->loop, create_on_written);
    op->lease.ttl_s = ttl_s;
    op->lease.on_lease = create_on_lease;
    r = create_op_prepare(op, key, object, reterr_status);
    if (r < 0) {
        create_op_free(op);
        return r;
    }
    create_write(op);
    return 0;
}
