/* What the benchmarks share that hold a Coracle with built-in or custom types against
 * kube-apiserver: their arguments, requests by 16 writers, the peer's start, and the rows they
 * print. Failures end the program with words (process.h). Thread: one. */
#ifndef COR_BENCH_VERSUS_H
#define COR_BENCH_VERSUS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "target.h"

#define VERSUS_WRITERS    16
#define VERSUS_ROUNDS_MAX 9
#define VERSUS_DIR_MAX    1024

struct versus {
    const char *program, *dir; /* Coracle's, and where servers keep their data */
    bool is_short;             /* a little of everything, and nothing is judged */
    bool is_strict;            /* a missed bar is the exit status */
    bool missed;
};

/* Reads CORACLE DATA_DIR [--short] [--strict]; other arguments end the program with 2. */
struct versus versus_read(int argc, char **argv);

/* The exit status, when all rows are printed. */
int versus_status(const struct versus *v);

void versus_say(const char *what);

typedef void (*versus_write_cb)(struct cor_buf *out, size_t i, void *arg);

/* Sends `n` requests from so many connections; server CPU of one of them in us. */
double versus_run(const struct target *t, size_t conns, size_t n, versus_write_cb write, void *arg);

/* The same by VERSUS_WRITERS connections, or `n` if that is less. */
double versus_write(const struct target *t, size_t n, versus_write_cb write, void *arg);

void versus_make_namespace(const struct target *t, const char *ns);

/* Sends one request, and appends the body of its answer. */
void versus_save(const struct target *t, versus_write_cb write, void *arg, struct cor_buf *body);

/* Returns the median of `n` values, which are at most VERSUS_ROUNDS_MAX. */
double versus_median(const double *v, size_t n);

/* Starts Coracle without controllers in its folder of the benchmark's. */
void versus_start_coracle(const struct versus *v, struct target *ret);

/* Starts kube-apiserver and etcd. False: the environment does not name them, which is said. */
bool versus_start_kube(const struct versus *v, struct target *ret);

void versus_print_head(const char *what);

/* `peer` is what `value` is held against; `bar` is the largest ratio, NAN: none. A `value` of NAN
 * is not there yet, a `peer` of NAN was not measured. */
void versus_print(struct versus *v, const char *what, double value, double peer,
                  const char *peer_name, double bar);

#endif
