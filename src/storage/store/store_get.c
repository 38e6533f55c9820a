/* A get: one read of one key at the latest revision. A minimum revision that the store has not
 * reached is 504 at once; nothing is waited for. Thread: the loop's. */
#include "base/mem.h"
#include "meta/status/resource_version.h"
#include "storage/store/store_int.h"

struct get_op {
    struct cor_store *store;
    struct store_key key;
    struct cor_range_req range;
    cor_rev min_rev;
    bool ignore_not_found;
    cor_store_cb on_done;
    void *arg;
};

static void get_op_free(struct get_op *op)
{
    op->store->busy--;
    cor_range_req_deinit(&op->range);
    store_key_deinit(&op->key);
    cor_free(op);
}

static int get_read_answer(struct get_op *op, struct cor_object **ret_object,
                           struct cor_status *reterr_status)
{
    if (op->range.req.result < 0)
        return cor_store_engine_failure(&op->key, &op->range.req, reterr_status);
    if (op->min_rev > op->range.ret_rev)
        return cor_status_too_large_rv(reterr_status, op->min_rev, op->range.ret_rev, 0);
    if (op->range.ret_nkvs > 0)
        return cor_store_decode(op->store, op->range.ret_kvs[0], 0, ret_object, NULL,
                                reterr_status);
    if (!op->ignore_not_found)
        return cor_storage_error(reterr_status, COR_STORAGE_NOT_FOUND, store_key_str(&op->key), 0,
                                 NULL);
    return 0;
}

static void get_on_read(struct cor_engine_req *req)
{
    struct get_op *op = COR_CONTAINER_OF(req, struct get_op, range.req);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    cor_store_cb on_done = op->on_done;
    void *arg = op->arg;
    struct cor_store_reply reply;
    int r;

    cor_status_init(&status);
    r = get_read_answer(op, &object, &status);
    get_op_free(op);
    reply = (struct cor_store_reply){.err = r, .status = r < 0 ? &status : NULL, .object = object};
    on_done(arg, &reply);
}

int cor_store_get(struct cor_store *store, struct cor_str key,
                  const struct cor_store_get_opts *opts, cor_store_cb on_done, void *arg,
                  struct cor_status *reterr_status)
{
    struct get_op *op;
    cor_rev min_rev;
    int r;

    assert(cor_loop_is_current(store->loop));
    r = cor_resource_version_parse_request(opts->resource_version, &min_rev, reterr_status);
    if (r < 0)
        return r;
    op = cor_calloc(1, sizeof(*op));
    if (!op)
        return cor_store_no_memory(reterr_status);
    *op = (struct get_op){
        .store = store,
        .min_rev = min_rev,
        .ignore_not_found = opts->ignore_not_found,
        .on_done = on_done,
        .arg = arg,
    };
    store->busy++;
    cor_range_req_init(&op->range, store->loop, get_on_read);
    r = cor_store_key_init(&op->key, store, key, false, reterr_status);
    if (r < 0) {
        get_op_free(op);
        return r;
    }
    op->range.key = store_key_str(&op->key);
    cor_engine_range(store->engine, &op->range);
    return 0;
}
