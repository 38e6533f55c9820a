/* Compactions: etcd forgets the revisions before one, as the compactor of one of the servers asks
 * (storage/maintenance/compactor.h), which writes it to the key that all of them read.
 * Thread: the engine's loop. */
#include "base/err.h"
#include "storage/etcd/etcd_messages.h"
#include "storage/etcd/etcd_request_int.h"

void cor_etcd_saw_compaction(struct etcd_engine *e, cor_rev rev)
{
    if (rev > e->compact_rev)
        e->compact_rev = rev;
}

int cor_etcd_encode_compact_key(struct etcd_work *work, struct cor_buf *out)
{
    const struct cor_range_req probe = {.key = COR_COMPACT_KEY};

    return cor_etcd_encode_range(&probe, 1, out);
}

static struct cor_compact_req *compact_of(const struct etcd_work *work)
{
    return COR_CONTAINER_OF(work->req, struct cor_compact_req, req);
}

static int encode_compact(struct etcd_work *work, struct cor_buf *out)
{
    return cor_etcd_encode_compaction(compact_of(work)->rev, out);
}

/* Somebody else may have done it. */
static void on_compact(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_work *work = call->arg;
    int r = reply->err == -COR_EEXPIRED ? 0 : reply->err;

    if (r == 0)
        cor_etcd_saw_compaction(work->engine, compact_of(work)->rev);
    cor_etcd_work_finish(work, r, reply->text);
}

void cor_etcd_compact(struct etcd_work *work)
{
    cor_etcd_work_step(work, &cor_etcd_method_compact, encode_compact, on_compact);
}
