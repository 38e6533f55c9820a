/* What an engine implements. engine.c forwards each call of engine.h to these.
 * Thread and owner: as in engine.h. */
#ifndef COR_STORAGE_ENGINE_INT_H
#define COR_STORAGE_ENGINE_INT_H

#include <stdatomic.h>

#include "storage/engine/engine.h"

struct cor_engine_ops {
    void (*range)(struct cor_engine *engine, struct cor_range_req *req);
    /* Writes, leases, compactions and status: everything the engine thread answers in order. */
    void (*submit)(struct cor_engine *engine, struct cor_engine_req *req);
    int (*feed_open)(struct cor_engine *engine, const struct cor_feed_opts *opts,
                     struct cor_feed **ret_feed);
    /* NULL: nobody else is on the store. */
    int (*announce)(struct cor_engine *engine, struct cor_str key, struct cor_str value);
    void (*close)(struct cor_engine *engine);
    bool shares_store; /* see cor_engine_shares_store() */
};

/* One value; a key's bound is COR_KEY_BYTES_MAX. */
#define COR_VALUE_BYTES_MAX (16u << 20)

/* Is it a write that can run at all? -COR_EINVAL, -COR_ETOOBIG. */
int cor_write_req_check(const struct cor_write_req *w, const char **reterr_message);

/* Embedded first by an implementation. */
struct cor_engine {
    const struct cor_engine_ops *ops;
    cor_rev old_rev; /* see cor_engine_old_rev(); does not change after the open */
    const struct cor_turn_meter *turns; /* of its thread; does not change after the open */
    _Atomic uint64_t refused_writes;    /* of the two functions of that name and the next */
    atomic_bool is_full;
};

/* Answers `req`: on_done runs on its loop with `result`. The status is set before, if at all. */
void cor_engine_req_done(struct cor_engine_req *req, int result);

/* Answers all of `requests` (linked by their mails), each with the result that is in it; each loop
 * is woken at most once. */
void cor_engine_reqs_done(struct cor_dlist *requests);

/* Answers one with the table's text or `message` in its status. */
void cor_engine_req_fail(struct cor_engine_req *req, int err, const char *message);

#endif
