/* The engine seam's common half: calls into the engine's table of functions, the life of the
 * request structs, and the way of an answer. An engine answers a request from its own thread; the
 * answer is a mail to the loop that the request names, which calls on_done there. Posting cannot
 * fail, since the mail is inside the request. Thread: any for requests; on_done on the request's
 * loop. */
#include "base/limits.h"
#include "storage/engine/engine_int.h"

#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "meta/names/key.h"

struct cor_engine *cor_engine_close(struct cor_engine *engine)
{
    if (engine)
        engine->ops->close(engine);
    return NULL;
}

bool cor_engine_shares_store(const struct cor_engine *engine)
{
    return engine->ops->shares_store;
}

int cor_engine_announce(struct cor_engine *engine, struct cor_str key, struct cor_str value)
{
    return engine->ops->announce ? engine->ops->announce(engine, key, value) : 0;
}

static void submit(struct cor_engine *engine, struct cor_engine_req *req, enum cor_engine_op op)
{
    req->op = op;
    req->engine = engine;
    engine->ops->submit(engine, req);
}

cor_rev cor_engine_old_rev(const struct cor_engine *engine)
{
    return engine->old_rev;
}

void cor_engine_get_turns(const struct cor_engine *engine, struct cor_loop_turns *ret_turns)
{
    assert(engine->turns);
    cor_turn_meter_get(engine->turns, ret_turns);
}

void cor_engine_range(struct cor_engine *engine, struct cor_range_req *req)
{
    req->req.op = COR_ENGINE_RANGE;
    engine->ops->range(engine, req);
}

void cor_engine_write(struct cor_engine *engine, struct cor_write_req *req)
{
    submit(engine, &req->req, COR_ENGINE_WRITE);
}

void cor_engine_lease(struct cor_engine *engine, struct cor_lease_req *req)
{
    submit(engine, &req->req, COR_ENGINE_LEASE);
}

void cor_engine_compact(struct cor_engine *engine, struct cor_compact_req *req)
{
    submit(engine, &req->req, COR_ENGINE_COMPACT);
}

void cor_engine_status(struct cor_engine *engine, struct cor_engine_status_req *req)
{
    submit(engine, &req->req, COR_ENGINE_STATUS);
}

int cor_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                  struct cor_feed **ret_feed)
{
    return engine->ops->feed_open(engine, opts, ret_feed);
}

uint64_t cor_engine_refused_writes(const struct cor_engine *engine)
{
    return atomic_load(&engine->refused_writes);
}

bool cor_engine_is_full(const struct cor_engine *engine)
{
    return atomic_load(&engine->is_full);
}

/* Notes whether the store has room, from the result of a write. The engine is alive: it has not
 * answered yet. */
static void note_room(struct cor_engine_req *req)
{
    struct cor_engine *engine = req->engine;

    if (req->op != COR_ENGINE_WRITE || !engine)
        return;
    if (req->result == -COR_ENOSPC) {
        atomic_fetch_add(&engine->refused_writes, 1);
        atomic_store(&engine->is_full, true);
    } else if (req->result == 0 && atomic_load_explicit(&engine->is_full, memory_order_relaxed) &&
               !COR_CONTAINER_OF(req, struct cor_write_req, req)->is_delete) {
        atomic_store(&engine->is_full, false);
    }
}

static void on_answer(struct cor_mail *mail)
{
    struct cor_engine_req *req = COR_CONTAINER_OF(mail, struct cor_engine_req, mail);

    req->on_done(req);
}

void cor_engine_req_done(struct cor_engine_req *req, int result)
{
    req->result = result;
    note_room(req);
    req->mail.on_mail = on_answer;
    cor_loop_post_always(req->loop, &req->mail);
}

void cor_engine_reqs_done(struct cor_dlist *requests)
{
    while (!cor_dlist_empty(requests)) {
        struct cor_loop *loop =
            COR_CONTAINER_OF(requests->next, struct cor_engine_req, mail.link)->loop;
        struct cor_dlist answers;
        size_t n = 0;

        cor_dlist_init(&answers);
        COR_DLIST_FOREACH_SAFE(link, requests) {
            struct cor_engine_req *req = COR_CONTAINER_OF(link, struct cor_engine_req, mail.link);

            if (req->loop != loop)
                continue;
            note_room(req);
            req->mail.on_mail = on_answer;
            cor_dlist_remove(link);
            cor_dlist_push(&answers, link);
            n++;
        }
        cor_loop_post_always_all(loop, &answers, n);
    }
}

void cor_engine_req_fail(struct cor_engine_req *req, int err, const char *message)
{
    cor_status_set(&req->status, err, "%s", message ? message : cor_err_text(err));
    cor_engine_req_done(req, err);
}

void cor_engine_req_init(struct cor_engine_req *req, struct cor_loop *loop,
                         void (*on_done)(struct cor_engine_req *req))
{
    memset(req, 0, sizeof(*req));
    cor_dlist_init(&req->mail.link);
    req->loop = loop;
    req->on_done = on_done;
    cor_status_init(&req->status);
}

void cor_engine_req_deinit(struct cor_engine_req *req)
{
    cor_status_deinit(&req->status);
}

void cor_range_req_init(struct cor_range_req *req, struct cor_loop *loop,
                        void (*on_done)(struct cor_engine_req *req))
{
    memset(req, 0, sizeof(*req));
    cor_engine_req_init(&req->req, loop, on_done);
}

void cor_range_req_deinit(struct cor_range_req *req)
{
    for (size_t i = 0; i < req->ret_nkvs; i++)
        cor_kv_unref(req->ret_kvs[i]);
    req->ret_kvs = cor_free(req->ret_kvs);
    req->ret_nkvs = 0;
    cor_engine_req_deinit(&req->req);
}

void cor_write_req_init(struct cor_write_req *req, struct cor_loop *loop,
                        void (*on_done)(struct cor_engine_req *req))
{
    memset(req, 0, sizeof(*req));
    cor_engine_req_init(&req->req, loop, on_done);
}

void cor_write_req_deinit(struct cor_write_req *req)
{
    req->ret_prev = cor_kv_unref(req->ret_prev);
    cor_engine_req_deinit(&req->req);
}

int cor_write_req_check(const struct cor_write_req *w, const char **reterr_message)
{
    if (w->key.n == 0) {
        *reterr_message = "key is not provided";
        return -COR_EINVAL;
    }
    if (w->key.n > COR_KEY_BYTES_MAX || w->value.n > COR_VALUE_BYTES_MAX) {
        *reterr_message = "request is too large";
        return -COR_ETOOBIG;
    }
    if (w->is_delete && w->expected == 0) {
        *reterr_message = "a deletion names the revision it deletes";
        return -COR_EINVAL;
    }
    return 0;
}
