/* The engine's requests as calls: ranges, writes and status; leases and compactions have files of
 * their own. Most are one call; a range at a revision that is in the future, or whose page is too
 * large, and a status take another step. */
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "storage/etcd/etcd_engine_int.h"
#include "storage/etcd/etcd_feed.h"
#include "storage/etcd/etcd_messages.h"
#include "storage/etcd/etcd_request_int.h"

#define MESSAGE_MAX (32u << 20)

static struct cor_range_req *range_of(const struct etcd_work *work)
{
    return COR_CONTAINER_OF(work->req, struct cor_range_req, req);
}

static struct cor_write_req *write_of(const struct etcd_work *work)
{
    return COR_CONTAINER_OF(work->req, struct cor_write_req, req);
}

static struct cor_engine_status_req *status_of(const struct etcd_work *work)
{
    return COR_CONTAINER_OF(work->req, struct cor_engine_status_req, req);
}

/* Upstream answers what the user of etcd may not do as any other failure of the store. */
void cor_etcd_work_finish(struct etcd_work *work, int err, const char *text)
{
    struct etcd_engine *e = work->engine;
    struct cor_engine_req *req = work->req;

    atomic_fetch_sub(&e->nrequests, 1);
    atomic_fetch_sub(&e->request_bytes, work->bytes);
    cor_free(work);
    if (err == -COR_EFORBIDDEN)
        err = -COR_EINTERNAL;
    if (err < 0 && err != -COR_ECONFLICT)
        cor_engine_req_fail(req, err, text);
    else
        cor_engine_req_done(req, err);
    cor_etcd_engine_check_quiet(e);
}

void cor_etcd_work_finish_decoded(struct etcd_work *work, int r)
{
    cor_etcd_work_finish(work, r, r == -COR_EINTERNAL ? "etcd's answer cannot be read" : NULL);
}

/* Ranges. */

static int encode_probe(struct etcd_work *work, struct cor_buf *out)
{
    const struct cor_range_req probe = {.key = cor_etcd_engine_probe_key(work->engine),
                                        .keys_only = true};

    return cor_etcd_encode_range(&probe, 0, out);
}

static int encode_range(struct etcd_work *work, struct cor_buf *out)
{
    const struct cor_range_req *req = range_of(work);

    if (req->key.n == 0 && req->keys_only)
        return encode_probe(work, out);
    return cor_etcd_encode_range(req, work->limit, out);
}

static void on_current(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_work *work = call->arg;
    struct cor_range_req now = {0};
    int r = reply->err;

    if (r == 0)
        r = cor_etcd_decode_range(reply->message, &now);
    range_of(work)->ret_rev = now.ret_rev;
    cor_range_req_deinit(&now);
    if (r < 0)
        cor_etcd_work_finish(work, r, reply->text);
    else
        cor_etcd_work_finish(work, -COR_EFUTURE, "required revision is a future revision");
}

static size_t page_bytes(const struct cor_range_req *req)
{
    size_t bytes = 0;

    for (size_t i = 0; i < req->ret_nkvs; i++)
        bytes += req->ret_kvs[i]->value_len;
    return bytes;
}

/* The next page is chosen by what this one weighed. */
static void learn_page(struct etcd_engine *e, const struct cor_range_req *req)
{
    size_t bytes = page_bytes(req);

    if (req->ret_more && bytes < COR_PAGE_BYTES_MAX / 2)
        e->page_keys *= 2;
    else if (bytes > COR_PAGE_BYTES_MAX * 2)
        e->page_keys /= 2;
    if (e->page_keys > COR_PAGE_KEYS_MAX)
        e->page_keys = COR_PAGE_KEYS_MAX;
    if (e->page_keys == 0)
        e->page_keys = 1;
}

static void on_range(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_work *work = call->arg;
    struct cor_range_req *req = range_of(work);

    if (reply->err == -COR_EFUTURE) {
        cor_etcd_work_step(work, &cor_etcd_method_range, encode_probe, on_current);
    } else if (reply->err == -COR_ETOOBIG && work->limit > 1) {
        work->limit /= 4;
        work->limit += work->limit == 0;
        work->engine->page_keys = work->limit;
        cor_etcd_work_step(work, &cor_etcd_method_range, encode_range, on_range);
    } else if (reply->err < 0) {
        cor_etcd_work_finish(work, reply->err, reply->text);
    } else {
        int r = cor_etcd_decode_range(reply->message, req);

        if (r == 0 && req->limit == 0 && !req->keys_only)
            learn_page(work->engine, req);
        if (r == 0)
            cor_etcd_feeds_saw(work->engine, req->ret_rev);
        cor_etcd_work_finish_decoded(work, r);
    }
}

static void start_range(struct etcd_work *work)
{
    const struct cor_range_req *req = range_of(work);

    work->limit = req->limit || req->keys_only ? req->limit : work->engine->page_keys;
    cor_etcd_work_step(work, &cor_etcd_method_range, encode_range, on_range);
}

/* Writes. */

static int encode_write(struct etcd_work *work, struct cor_buf *out)
{
    return cor_etcd_encode_write(write_of(work), out);
}

static void on_write(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_work *work = call->arg;

    if (reply->err < 0)
        cor_etcd_work_finish(work, reply->err, reply->text);
    else
        cor_etcd_work_finish_decoded(work, cor_etcd_decode_write(reply->message, write_of(work)));
}

/* Status: a linearizable read shows that etcd can take writes, and what servers have compacted;
 * then what the member says of its file. */

static int encode_nothing(struct etcd_work *work, struct cor_buf *out)
{
    (void)work, (void)out;
    return 0;
}

static void on_status(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_work *work = call->arg;
    struct cor_engine_status_req *req = status_of(work);
    struct etcd_member_status status;

    if (reply->err == 0 && cor_etcd_decode_status(reply->message, &status) == 0) {
        req->ret_file_bytes = status.db_bytes;
        req->ret_used_bytes = status.used_bytes;
    }
    cor_etcd_work_finish(work, 0, NULL);
}

static void on_probe(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_work *work = call->arg;
    struct cor_engine_status_req *req = status_of(work);
    struct cor_range_req answer = {0};
    int r = reply->err;
    cor_rev rev;

    if (r == 0)
        r = cor_etcd_decode_range(reply->message, &answer);
    if (answer.ret_nkvs > 0 && cor_str_to_u64(cor_kv_value(answer.ret_kvs[0]), &rev) == 0)
        cor_etcd_saw_compaction(work->engine, rev);
    req->ret_rev = answer.ret_rev;
    req->ret_compact_rev = work->engine->compact_rev;
    cor_range_req_deinit(&answer);
    if (r < 0)
        cor_etcd_work_finish(work, r, reply->text);
    else
        cor_etcd_work_step(work, &cor_etcd_method_status, encode_nothing, on_status);
}

/* A user who may not read the key of compactions can read those of the prefix. */
static void on_compact_key(struct etcd_call *call, const struct etcd_reply *reply)
{
    if (reply->err == -COR_EFORBIDDEN)
        cor_etcd_work_step(call->arg, &cor_etcd_method_probe, encode_probe, on_probe);
    else
        on_probe(call, reply);
}

void cor_etcd_work_step(struct etcd_work *work, const struct etcd_method *method,
                        int (*encode)(struct etcd_work *work, struct cor_buf *out),
                        void (*on_done)(struct etcd_call *call, const struct etcd_reply *reply))
{
    struct cor_buf out;
    int r;

    cor_buf_init(&out, MESSAGE_MAX);
    r = encode(work, &out);
    if (r == 0)
        r = cor_etcd_call_start(work->engine->session, method, &out, on_done, work, NULL);
    cor_buf_deinit(&out);
    if (r < 0)
        cor_etcd_work_finish(work, r, NULL);
}

static void on_mail(struct cor_mail *mail)
{
    struct etcd_work *work = COR_CONTAINER_OF(mail, struct etcd_work, mail);

    switch (work->req->op) {
    case COR_ENGINE_RANGE:
        start_range(work);
        break;
    case COR_ENGINE_WRITE:
        cor_etcd_work_step(work, &cor_etcd_method_txn, encode_write, on_write);
        break;
    case COR_ENGINE_LEASE:
        cor_etcd_lease(work);
        break;
    case COR_ENGINE_COMPACT:
        cor_etcd_compact(work);
        break;
    case COR_ENGINE_STATUS:
        cor_etcd_work_step(work, &cor_etcd_method_probe, cor_etcd_encode_compact_key,
                           on_compact_key);
        break;
    }
}

static size_t cost(const struct cor_engine_req *req)
{
    const struct cor_write_req *w = COR_CONTAINER_OF(req, const struct cor_write_req, req);

    return req->op == COR_ENGINE_WRITE ? w->key.n + w->value.n : 0;
}

void cor_etcd_request(struct etcd_engine *e, struct cor_engine_req *req)
{
    struct etcd_work *work = cor_calloc(1, sizeof(*work));
    size_t bytes = cost(req);

    if (!work) {
        cor_engine_req_fail(req, -COR_ENOMEM, NULL);
        return;
    }
    work->engine = e;
    work->req = req;
    work->bytes = bytes;
    work->mail.on_mail = on_mail;
    if (atomic_fetch_add(&e->nrequests, 1) >= COR_ENGINE_WRITES_MAX ||
        atomic_load(&e->request_bytes) + bytes > COR_ENGINE_WRITE_BYTES_MAX) {
        atomic_fetch_sub(&e->nrequests, 1);
        cor_free(work);
        cor_engine_req_fail(req, -COR_EBUSY, "too many requests wait for the store");
        return;
    }
    atomic_fetch_add(&e->request_bytes, bytes);
    cor_loop_post_always(e->loop, &work->mail);
}
