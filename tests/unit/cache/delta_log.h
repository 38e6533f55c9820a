/* Drives a delta FIFO and writes down what it gives: one word per pop, such as
 * "a:Added1,Updated2". Objects are named by a letter and carry a number as resourceVersion. */
#ifndef COR_TEST_DELTA_LOG_H
#define COR_TEST_DELTA_LOG_H

#include "cache/queues/delta_fifo.h"

struct delta_log {
    struct cor_delta_fifo *fifo;
    struct cor_indexer *known;
    char text[2048];
    size_t n;
};

/* `known`: space-separated names, or NULL for a queue without known objects. */
void delta_log_begin(struct delta_log *log, bool by_key, const char *known);
void delta_log_begin_with(struct delta_log *log, struct cor_delta_fifo_opts opts,
                          const char *known);
void delta_log_end(struct delta_log *log);

int delta_log_add(struct delta_log *log, const char *name, int rv);
int delta_log_update(struct delta_log *log, const char *name, int rv);
int delta_log_delete(struct delta_log *log, const char *name, int rv);

/* Objects as "a1 b2": the name and the resourceVersion. */
int delta_log_replace(struct delta_log *log, const char *objects);
int delta_log_resync(struct delta_log *log);

/* Pops all, and returns what was written down since the last call. Words of pops that belong to the
 * first list end in "!". */
const char *delta_log_pop_all(struct delta_log *log);

/* Pops one. */
const char *delta_log_pop(struct delta_log *log);

#endif
