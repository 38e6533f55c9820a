/* A store under load, and the rows it is loaded with.
 * Thread: the one that opened it runs its loop.  Owner: whoever embeds it. */
#ifndef COR_BENCH_LOAD_H
#define COR_BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "storage/engine/engine.h"
#include "storage/store/store.h"

#define LOAD_PREFIX    "/configmaps"
#define LOAD_JSON_SIZE 1024

/* One 1 KB ConfigMap and its logical key. */
struct load_row {
    char key[64];
    char json[LOAD_JSON_SIZE + 1];
};
void load_row_fill(struct load_row *row, size_t number);

struct load {
    struct cor_engine *engine;
    struct cor_loop *loop;
    struct cor_store *store;
};

/* Ends the program with a message when something fails, as all functions here do. */
void load_open(struct load *load, const char *dir);
void load_close(struct load *load);
void load_store_new(struct cor_engine *engine, struct cor_loop *loop, struct cor_store **ret_store);
_Noreturn void load_die(const char *what, const struct cor_status *status);

/* One round of creates. */
struct load_result {
    size_t writes;
    double per_second, cpu_us; /* the CPU of the whole process, per write */
    double p50_ms, p99_ms;
    double batch; /* writes per sync of the log */
};

/* Rows from number `first` on: `writers` requests are under way at any time until `max` rows are
 * written or `ms` have passed. */
struct load_result load_create(struct load *load, size_t writers, size_t first, size_t max,
                               uint64_t ms);

/* The same by hand, in transactions of `batch`. */
struct raw;
struct load_result load_create_raw(struct raw *raw, size_t batch, size_t first, size_t max,
                                   uint64_t ms);

/* A list of everything. The caller owns items and array. */
struct cor_object **load_list(struct load *load, size_t *ret_n);
void load_list_free(struct cor_object **items, size_t n);

#endif
