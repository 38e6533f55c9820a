/* A number of requests from a number of connections, each of which sends its next one when the last
 * was answered. Thread: the client's. */
#ifndef COR_BENCH_REQUESTS_H
#define COR_BENCH_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct client;
struct target;

struct requests {
    const struct target *target;
    size_t conns, n;
    /* Appends the text of request number `i`. */
    void (*write)(struct cor_buf *out, size_t i, void *arg);
    void *arg;
    struct cor_buf *save; /* not NULL: where the bodies of the answers go */
};

struct requests_result {
    double per_second, cpu_us; /* the server's, per request */
    double p50_ms, p99_ms;
    uint64_t body_bytes;
};

/* Connections are open before anything is measured. An answer other than 2xx ends the program. */
struct requests_result requests_run(struct client *client, const struct requests *r);

/* Texts: GET of a path; POST and PUT of a 1 KB ConfigMap called `prefix`-`i` in `ns`. */
struct request_path {
    const char *path;
};
void request_write_get(struct cor_buf *out, size_t i, void *arg);

struct request_object {
    const char *ns, *prefix;
    size_t first;   /* added to `i` */
    size_t payload; /* bytes of data; 0: 1 KB */
};
void request_write_create(struct cor_buf *out, size_t i, void *arg);
void request_write_update(struct cor_buf *out, size_t i, void *arg);
void request_write_namespace(struct cor_buf *out, size_t i, void *arg);

#endif
