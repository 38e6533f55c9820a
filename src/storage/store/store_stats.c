/* Revision, number of objects, and average size: one range request each, with no more than the
 * caller asked for. The average is of a sample. Thread: the loop's. */
#include "base/mem.h"
#include "storage/store/store_int.h"

/* The average size of more objects than this is taken from the first of them. */
#define SAMPLE_MAX 1000

struct stats_op {
    struct cor_store *store;
    struct store_key key;
    struct cor_range_req range;
    cor_store_stats_cb on_done;
    void *arg;
};

static void stats_op_free(struct stats_op *op)
{
    op->store->busy--;
    cor_range_req_deinit(&op->range);
    store_key_deinit(&op->key);
    cor_free(op);
}

static void stats_on_read(struct cor_engine_req *req)
{
    struct stats_op *op = COR_CONTAINER_OF(req, struct stats_op, range.req);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_store_stats stats = {.err = req->result};
    cor_store_stats_cb on_done = op->on_done;
    void *arg = op->arg;
    uint64_t bytes = 0;

    cor_status_init(&status);
    if (req->result < 0) {
        cor_store_engine_failure(&op->key, req, &status);
        stats.status = &status;
    } else {
        for (size_t i = 0; i < op->range.ret_nkvs; i++)
            bytes += op->range.ret_kvs[i]->value_len;
        stats.rev = op->range.ret_rev;
        stats.count = op->range.ret_count;
        stats.average_bytes = op->range.ret_nkvs > 0 ? bytes / op->range.ret_nkvs : 0;
    }
    stats_op_free(op);
    on_done(arg, &stats);
}

enum what { REVISION, COUNT, ALL };

static int stats_start(struct cor_store *store, struct cor_str key, enum what what,
                       cor_store_stats_cb on_done, void *arg, struct cor_status *reterr_status)
{
    struct stats_op *op;
    int r;

    assert(cor_loop_is_current(store->loop));
    op = cor_calloc(1, sizeof(*op));
    if (!op)
        return cor_store_no_memory(reterr_status);
    *op = (struct stats_op){.store = store, .on_done = on_done, .arg = arg};
    store->busy++;
    cor_range_req_init(&op->range, store->loop, stats_on_read);
    r = cor_store_key_init(&op->key, store, key, what != REVISION, reterr_status);
    if (r < 0) {
        stats_op_free(op);
        return r;
    }
    op->range.key = store_key_str(&op->key);
    if (what != REVISION)
        op->range.end = store_key_end(&op->key);
    op->range.count = what != REVISION;
    op->range.keys_only = what != ALL;
    op->range.limit = what == ALL ? SAMPLE_MAX : 0;
    cor_engine_range(store->engine, &op->range);
    return 0;
}

int cor_store_revision(struct cor_store *store, cor_store_stats_cb on_done, void *arg,
                       struct cor_status *reterr_status)
{
    return stats_start(store, cor_strz(store->resource_prefix), REVISION, on_done, arg,
                       reterr_status);
}

int cor_store_count(struct cor_store *store, struct cor_str key, cor_store_stats_cb on_done,
                    void *arg, struct cor_status *reterr_status)
{
    return stats_start(store, key, COUNT, on_done, arg, reterr_status);
}

int cor_store_stats(struct cor_store *store, cor_store_stats_cb on_done, void *arg,
                    struct cor_status *reterr_status)
{
    return stats_start(store, cor_strz(store->resource_prefix), ALL, on_done, arg, reterr_status);
}
