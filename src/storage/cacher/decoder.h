/* Where cachers decode values that take too long for the home loop: values that were written before
 * the schema was followed, or in protobuf, are brought into the form of the schema (decision 15 of
 * the design), at about 40 us each.
 *
 * Jobs are submitted to the offload threads, at most COR_DECODER_JOBS at a time for all cachers, so
 * that a server which fills all its caches leaves the threads to requests in between; the others
 * wait here, first come, first served. When the threads are full of other work, jobs wait until one
 * of the decoder's own jobs ends, or for the next tick of the cachers' timer.
 * Thread: the home loop; `run` on an offload thread.  Owner: the cachers. */
#ifndef COR_STORAGE_CACHER_DECODER_H
#define COR_STORAGE_CACHER_DECODER_H

#include "base/dlist.h"
#include "loop/offload.h"

#define COR_DECODER_JOBS 2

struct cor_cachers;

struct cor_decoder {
    struct cor_cachers *cachers;
    struct cor_offload *offload; /* NULL: there are no threads, and no job may be submitted */
    struct cor_dlist waiting;    /* jobs that have no place among the threads yet */
    size_t running;              /* jobs that have one */
};

/* Embedded in what it works for, which stays until on_done. */
struct cor_decode_job {
    struct cor_job job;
    struct cor_decoder *decoder;
    struct cor_dlist link;
    void (*run)(struct cor_decode_job *job);     /* on a thread */
    void (*on_done)(struct cor_decode_job *job); /* on the home loop, in a later turn */
};

void cor_decoder_init(struct cor_decoder *decoder, struct cor_cachers *cachers,
                      struct cor_offload *offload);

/* `run` and `on_done` are set. Cannot fail: on_done follows, unless the job is cancelled. */
void cor_decoder_submit(struct cor_decoder *decoder, struct cor_decode_job *job, size_t bytes);

/* True: the job had not begun and is free again. False: on_done follows. */
bool cor_decoder_cancel(struct cor_decode_job *job);

/* Tries again what the threads had no place for. */
void cor_decoder_go_on(struct cor_decoder *decoder);

#endif
