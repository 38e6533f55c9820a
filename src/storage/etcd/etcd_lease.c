/* Leases of keys that expire: the engine asks etcd for one, and writes name it. etcd deletes the
 * keys when it ends. The lease of this server's own key is etcd_presence.c's. Thread: the engine's
 * loop. */
#include "storage/etcd/etcd_messages.h"
#include "storage/etcd/etcd_request_int.h"

static struct cor_lease_req *lease_of(const struct etcd_work *work)
{
    return COR_CONTAINER_OF(work->req, struct cor_lease_req, req);
}

static int encode_grant(struct etcd_work *work, struct cor_buf *out)
{
    return cor_etcd_encode_grant(lease_of(work)->ttl_s, out);
}

static void on_grant(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_work *work = call->arg;

    if (reply->err < 0)
        cor_etcd_work_finish(work, reply->err, reply->text);
    else
        cor_etcd_work_finish_decoded(
            work, cor_etcd_decode_grant(reply->message, &lease_of(work)->ret_id));
}

void cor_etcd_lease(struct etcd_work *work)
{
    cor_etcd_work_step(work, &cor_etcd_method_grant, encode_grant, on_grant);
}
