/* clang-format off */
/* One stage on a thread:
 *
 *   loop: copy the body, lend the call ──► thread: work ──► loop: take the call back, done or next
 *
 * The call counts as one operation under way meanwhile, so that it is not freed before the stage
 * has ended. When the reader goes, the loop sets `went`, which only the loop reads; the stage is
 * withdrawn if it still waits, or runs to its end, and then the call is told that its reader is
 * gone.
 *
 * Failures: without memory for the copy (-COR_ENOMEM) or without a place in the queue of the threads
 * (-COR_EBUSY, 429) nothing runs, and the stage counts as failed. What is owed needs no place there
 * (loop/offload.h). */
/* clang-format on */
#include "server/api/heavy.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "loop/offload.h"
#include "server/access/authenticator.h"
#include "server/api/call_int.h"

#define RETRY_AFTER_S 1

struct cor_heavy {
    struct cor_job job;
    struct cor_call *call;
    cor_heavy_work work;
    cor_heavy_done done; /* NULL: `next` */
    cor_heavy_next next;
    int result;
    bool went;                               /* the reader has gone while a thread had the call */
    const struct cor_server_request *origin; /* the request; freed with its reader */
    struct cor_server_request request;       /* what a stage sees of it */
    struct cor_rand rand;
    struct cor_buf bytes; /* the copied body and content type */
};

static struct cor_heavy *heavy_free(struct cor_heavy *heavy)
{
    cor_buf_deinit(&heavy->bytes);
    return cor_free(heavy);
}

/* The end of a stage whose caller gave `next`. */
static void heavy_go_on(struct cor_call *call, int r, cor_heavy_next next)
{
    if (call->is_over)
        return;
    if (r < 0)
        cor_call_fail(call);
    else
        next(call);
}

/* On a thread. */
static void heavy_run_job(struct cor_job *job)
{
    struct cor_heavy *heavy = COR_CONTAINER_OF(job, struct cor_heavy, job);

    heavy->result = heavy->work(heavy->call);
}

static void heavy_on_job_done(struct cor_job *job)
{
    struct cor_heavy *heavy = COR_CONTAINER_OF(job, struct cor_heavy, job);
    struct cor_call *call = heavy->call;
    cor_heavy_done done = heavy->done;
    cor_heavy_next next = heavy->next;
    int r = heavy->result;

    assert(call->heavy == heavy && call->pending > 0 && cor_loop_is_current(call->loop->loop));
    call->heavy = NULL;
    call->req = heavy->origin;
    if (heavy->went)
        cor_call_gone(call);
    heavy_free(heavy);
    if (next)
        heavy_go_on(call, r, next);
    else
        done(call, r);
    (void)cor_call_end_op(call);
}

/* Copies what a stage may read of the request: the method, the verb, the body and its type. */
static int heavy_copy_request(struct cor_heavy *heavy, const struct cor_server_request *req)
{
    struct cor_str all;
    int r;

    heavy->origin = req;
    if (!req)
        return 0;
    heavy->request = (struct cor_server_request){.method = req->method};
    heavy->request.info.verb = req->info.verb;
    r = cor_buf_reserve(&heavy->bytes, req->body.n + req->content_type.n);
    if (r == 0)
        r = cor_buf_adds(&heavy->bytes, req->body);
    if (r == 0)
        r = cor_buf_adds(&heavy->bytes, req->content_type);
    all = cor_buf_str(&heavy->bytes);
    heavy->request.body = cor_str(all.p, req->body.n);
    heavy->request.content_type = cor_str_from(all, req->body.n);
    return r;
}

uint64_t cor_heavy_owner(const struct cor_user *user)
{
    uint64_t hash;

    if (!user || cor_user_is_in(user, COR_STR(COR_GROUP_MASTERS)))
        return 0;
    hash = cor_str_hash(user->name);
    return hash != 0 ? hash : 1;
}

/* May the call have written something? */
static bool is_owed(const struct cor_call *call)
{
    return call->req && call->req->method != COR_HTTP_GET;
}

static int heavy_submit_job(struct cor_call *call, struct cor_heavy *heavy, bool owed)
{
    if (!owed)
        return cor_offload_submit(call->loop->settings->offload, &heavy->job);
    cor_offload_submit_owed(call->loop->settings->offload, &heavy->job);
    return 0;
}

/* `owed`: it is not refused. */
static int heavy_submit(struct cor_call *call, size_t bytes, bool owed, cor_heavy_work work,
                        cor_heavy_done done, cor_heavy_next next)
{
    struct cor_heavy *heavy = cor_calloc(1, sizeof(*heavy));
    struct cor_rand *rand = &call->loop->rand;
    int r;

    assert(!call->heavy && !call->is_over && cor_loop_is_current(call->loop->loop));
    assert(cor_heavy_has_threads(call) && (!done != !next));
    if (!heavy)
        return cor_status_no_memory(&call->status);
    *heavy = (struct cor_heavy){
        .call = call, .work = work, .done = done, .next = next, .result = -COR_ECANCELED};
    heavy->job = (struct cor_job){.run = heavy_run_job,
                                  .on_done = heavy_on_job_done,
                                  .loop = call->loop->loop,
                                  .bytes = bytes,
                                  .owner = cor_heavy_owner(call->req ? call->req->user : NULL)};
    cor_buf_init(&heavy->bytes, SIZE_MAX / 2);
    if (rand->seeded)
        cor_rand_init_seeded(&heavy->rand, cor_rand_u64(rand));
    else
        cor_rand_init(&heavy->rand);
    r = heavy_copy_request(heavy, call->req);
    if (r < 0) {
        heavy_free(heavy);
        return cor_status_set_err(&call->status, r);
    }
    call->heavy = heavy;
    if (heavy->origin)
        call->req = &heavy->request;
    r = heavy_submit_job(call, heavy, owed);
    if (r == 0) {
        cor_call_begin_op(call);
        return 0;
    }
    call->heavy = NULL;
    call->req = heavy->origin;
    heavy_free(heavy);
    return cor_status_too_many_requests(
        &call->status, "the server works on too many large requests, please try again later",
        RETRY_AFTER_S);
}

int cor_heavy_start(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done)
{
    return heavy_submit(call, bytes, is_owed(call), work, done, NULL);
}

static bool is_for_thread(const struct cor_call *call, size_t bytes)
{
    return bytes > COR_HEAVY_BYTES && cor_heavy_has_threads(call);
}

static void heavy_run(struct cor_call *call, size_t bytes, bool owed, cor_heavy_work work,
                      cor_heavy_done done)
{
    int r;

    assert(!call->heavy);
    if (!is_for_thread(call, bytes)) {
        done(call, work(call));
        return;
    }
    r = heavy_submit(call, bytes, owed, work, done, NULL);
    if (r < 0)
        done(call, r);
}

void cor_heavy_run(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done)
{
    heavy_run(call, bytes, false, work, done);
}

void cor_heavy_owe(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done)
{
    heavy_run(call, bytes, is_owed(call), work, done);
}

void cor_heavy_then(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_next next)
{
    int r;

    assert(!call->heavy && !call->is_over);
    if (!is_for_thread(call, bytes)) {
        heavy_go_on(call, work(call), next);
        return;
    }
    r = heavy_submit(call, bytes, false, work, NULL, next);
    if (r < 0)
        heavy_go_on(call, r, next);
}

struct cor_rand *cor_heavy_rand(struct cor_call *call)
{
    return call->heavy ? &call->heavy->rand : &call->loop->rand;
}

bool cor_heavy_note_gone(struct cor_call *call)
{
    assert(cor_loop_is_current(call->loop->loop));
    if (!call->heavy)
        return false;
    call->heavy->went = true;
    if (!call->stage_is_shared)
        (void)cor_offload_withdraw(call->loop->settings->offload, &call->heavy->job);
    return true;
}
