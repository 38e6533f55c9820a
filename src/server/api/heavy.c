/* One stage on a thread:
 *
 *   loop: copy the body, lend the call ──► thread: work ──► loop: take it back, done
 *
 * The call counts as one operation under way meanwhile, so that it is not freed before the end. A
 * reader that goes sets `went` alone, which only the loop looks at.
 * Failures: no memory for the copy, or no place in the queue: the stage has failed, nothing ran. */
#include "server/api/heavy.h"

#include "base/err.h"
#include "base/mem.h"
#include "loop/offload.h"
#include "server/access/authenticator.h"
#include "server/api/call_int.h"

#define RETRY_AFTER_S 1

struct cor_heavy {
    struct cor_job job;
    struct cor_call *call;
    cor_heavy_work work;
    cor_heavy_done done;
    int result;
    bool went;                            /* the reader, while a thread had the call */
    const struct cor_api_request *origin; /* the request; gone with its reader */
    struct cor_api_request request;       /* what a stage sees of it */
    struct cor_rand rand;
    struct cor_buf bytes; /* of the request that a stage sees */
};

static struct cor_heavy *heavy_free(struct cor_heavy *heavy)
{
    cor_buf_deinit(&heavy->bytes);
    return cor_free(heavy);
}

static void run(struct cor_job *job)
{
    struct cor_heavy *heavy = COR_CONTAINER_OF(job, struct cor_heavy, job);

    heavy->result = heavy->work(heavy->call);
}

static void on_done(struct cor_job *job)
{
    struct cor_heavy *heavy = COR_CONTAINER_OF(job, struct cor_heavy, job);
    struct cor_call *call = heavy->call;
    cor_heavy_done done = heavy->done;
    int r = heavy->result;

    call->heavy = NULL;
    call->req = heavy->origin;
    if (heavy->went)
        cor_call_gone(call);
    heavy_free(heavy);
    done(call, r);
    (void)cor_call_end_op(call);
}

/* The request without anything that goes with its reader, but for the names of `info`, which a
 * stage does not read. */
static int copy_request(struct cor_heavy *heavy, const struct cor_api_request *req)
{
    struct cor_str all;
    int r;

    heavy->origin = req;
    if (!req)
        return 0;
    heavy->request = (struct cor_api_request){.method = req->method};
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

/* Whose work it is; that of system:masters and of the server itself has no share of its own. */
static uint64_t owner_of(const struct cor_call *call)
{
    const struct cor_user *user = call->req ? call->req->user : NULL;
    uint64_t hash;

    if (!user || cor_user_is_in(user, COR_STR(COR_GROUP_MASTERS)))
        return 0;
    hash = cor_str_hash(user->name);
    return hash != 0 ? hash : 1;
}

static void seed(struct cor_heavy *heavy, struct cor_rand *rand)
{
    if (rand->seeded)
        cor_rand_init_seeded(&heavy->rand, cor_rand_u64(rand));
    else
        cor_rand_init(&heavy->rand);
}

int cor_heavy_start(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done)
{
    struct cor_heavy *heavy = cor_calloc(1, sizeof(*heavy));
    int r;

    assert(!call->heavy && cor_loop_is_current(call->loop->loop));
    if (!heavy)
        return cor_status_set(&call->status, -COR_ENOMEM, "%s", cor_err_text(-COR_ENOMEM));
    *heavy = (struct cor_heavy){.call = call, .work = work, .done = done};
    heavy->job = (struct cor_job){.run = run,
                                  .on_done = on_done,
                                  .loop = call->loop->loop,
                                  .bytes = bytes,
                                  .owner = owner_of(call)};
    cor_buf_init(&heavy->bytes, SIZE_MAX / 2);
    seed(heavy, &call->loop->rand);
    r = copy_request(heavy, call->req);
    if (r < 0) {
        heavy_free(heavy);
        return cor_status_set(&call->status, r, "%s", cor_err_text(r));
    }
    call->heavy = heavy;
    if (heavy->origin)
        call->req = &heavy->request;
    r = cor_offload_submit(call->loop->api->offload, &heavy->job);
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

void cor_heavy_run(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done)
{
    int r;

    assert(!call->heavy);
    if (bytes <= COR_HEAVY_BYTES || !cor_heavy_has_threads(call)) {
        done(call, work(call));
        return;
    }
    r = cor_heavy_start(call, bytes, work, done);
    if (r < 0)
        done(call, r);
}

struct cor_rand *cor_heavy_rand(struct cor_call *call)
{
    return call->heavy ? &call->heavy->rand : &call->loop->rand;
}

bool cor_heavy_note_gone(struct cor_call *call)
{
    if (!call->heavy)
        return false;
    call->heavy->went = true;
    return true;
}
