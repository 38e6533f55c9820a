/* A request of the engine on its way: what etcd_request.c, etcd_lease.c and etcd_compaction.c
 * share. Owner: itself, until it is finished.  Thread: the engine's loop. */
#ifndef COR_STORAGE_ETCD_REQUEST_INT_H
#define COR_STORAGE_ETCD_REQUEST_INT_H

#include "storage/etcd/etcd_engine_int.h"

struct etcd_work {
    struct etcd_engine *engine;
    struct cor_engine_req *req;
    struct cor_mail mail;
    size_t bytes;
    size_t limit; /* of a range */
};

/* Sends what `encode` writes; `on_done` gets the answer, with the work as its argument. A failure
 * finishes the work. */
void cor_etcd_work_step(struct etcd_work *work, const struct etcd_method *method,
                        int (*encode)(struct etcd_work *work, struct cor_buf *out),
                        void (*on_done)(struct etcd_call *call, const struct etcd_reply *reply));

/* Answers the request and frees the work. `text` (may be NULL) says why it failed. */
void cor_etcd_work_finish(struct etcd_work *work, int err, const char *text);
/* The same after an answer was decoded. */
void cor_etcd_work_finish_decoded(struct etcd_work *work, int r);

void cor_etcd_lease(struct etcd_work *work);
void cor_etcd_compact(struct etcd_work *work);

/* The range of the key that says what servers have compacted. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_etcd_encode_compact_key(struct etcd_work *work, struct cor_buf *out);
/* What is before `rev` is gone. */
void cor_etcd_saw_compaction(struct etcd_engine *e, cor_rev rev);

#endif
