/* clang-format off */
/* One job:
 *
 *   submit ──► waiting ──► offload thread: run ──► home loop: on_done, and the next job begins
 *                 │  ▲
 *                 │  └── the threads are full: an own job that ends, or the next tick
 *                 └── cancel
 *
 * Failures: none. A job keeps its place in the order until it has run.
 * Thread: see the header. */
/* clang-format on */
#include "storage/cacher/decoder.h"

#include <assert.h>

#include "storage/cacher/cacher_int.h"

void cor_decoder_init(struct cor_decoder *decoder, struct cor_cachers *cachers,
                      struct cor_offload *offload)
{
    *decoder = (struct cor_decoder){.cachers = cachers, .offload = offload};
    cor_dlist_init(&decoder->waiting);
}

static void decoder_run_job(struct cor_job *job)
{
    struct cor_decode_job *own = COR_CONTAINER_OF(job, struct cor_decode_job, job);

    own->run(own);
}

static void decoder_on_job_done(struct cor_job *job)
{
    struct cor_decode_job *own = COR_CONTAINER_OF(job, struct cor_decode_job, job);
    struct cor_decoder *decoder = own->decoder;

    assert(decoder->running > 0 && cor_loop_is_current(decoder->cachers->home));
    decoder->running--;
    cor_decoder_go_on(decoder);
    own->on_done(own);
}

void cor_decoder_go_on(struct cor_decoder *decoder)
{
    struct cor_dlist *link;

    assert(cor_loop_is_current(decoder->cachers->home));
    while (decoder->running < COR_DECODER_JOBS && (link = cor_dlist_pop(&decoder->waiting))) {
        struct cor_decode_job *job = COR_CONTAINER_OF(link, struct cor_decode_job, link);

        if (cor_offload_submit(decoder->offload, &job->job) < 0) {
            cor_dlist_push_front(&decoder->waiting, link);
            if (decoder->running == 0)
                cor_cachers_retry_soon(decoder->cachers);
            return;
        }
        decoder->running++;
    }
}

void cor_decoder_submit(struct cor_decoder *decoder, struct cor_decode_job *job, size_t bytes)
{
    assert(decoder->offload && job->run && job->on_done);
    job->decoder = decoder;
    job->job = (struct cor_job){.run = decoder_run_job,
                                .on_done = decoder_on_job_done,
                                .loop = decoder->cachers->home,
                                .bytes = bytes};
    cor_dlist_init(&job->link);
    cor_dlist_push(&decoder->waiting, &job->link);
    cor_decoder_go_on(decoder);
}

bool cor_decoder_cancel(struct cor_decode_job *job)
{
    assert(cor_loop_is_current(job->decoder->cachers->home));
    if (cor_dlist_empty(&job->link))
        return false;
    cor_dlist_remove(&job->link);
    return true;
}
