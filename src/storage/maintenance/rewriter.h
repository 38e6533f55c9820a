/* Writes every value below a prefix anew that its transformer calls stale, after a rotation of keys
 * or a change of providers, or that has another form (JSON, protobuf) than is wanted. Each write is
 * a compare-and-swap on the version that was read and keeps the version's lease, so that it may run
 * beside servers on the same store, be stopped at any time and be run again: what is up to date is
 * only read. Values are decoded only to change their form. Thread: the loop's.  Owner: itself,
 * until `on_done`. */
#ifndef COR_STORAGE_REWRITER_H
#define COR_STORAGE_REWRITER_H

#include <stdint.h>

#include "base/str.h"
#include "meta/status/status.h"
#include "storage/store/transformer.h"

struct cor_engine;
struct cor_loop;

struct cor_rewriter_counts {
    uint64_t total;     /* keys when it began */
    uint64_t seen;      /* of them, so far; keys that came later count too */
    uint64_t rewritten; /* stale ones that are up to date now */
    uint64_t failed;    /* told by `on_failure` */
};

struct cor_rewriter_opts {
    struct cor_engine *engine;
    struct cor_loop *loop;
    struct cor_str prefix; /* "/registry/"; copied */
    /* Brings a clear value into another form. 0: it has that form. 1: `ret_value` has it, in `out`,
     * which was empty. Negative, with a status: it cannot be decoded. NULL: every form stays. */
    int (*convert)(void *arg, struct cor_str value, struct cor_buf *out, struct cor_str *ret_value,
                   struct cor_status *reterr_status);
    /* NULL: the key is left alone. */
    const struct cor_transformer *(*transformer_of)(void *arg, struct cor_str key);
    /* A value that cannot be read or written; it goes on with the next. */
    void (*on_failure)(void *arg, struct cor_str key, const struct cor_status *why);
    void (*on_progress)(void *arg, const struct cor_rewriter_counts *counts);
    /* 0, or what the engine or the memory failed with. */
    void (*on_done)(void *arg, int err, struct cor_status *status,
                    const struct cor_rewriter_counts *counts);
    void *arg;
};

/* Starts; nothing is called before it returns. 0, or -COR_ENOMEM, -COR_EINVAL (prefix): then
 * `on_done` does not come. */
int cor_rewriter_start(const struct cor_rewriter_opts *opts, struct cor_status *reterr_status);

#endif
