/* What a GET costs the server by the protocol it comes in: HTTP/1.1, HTTP/2 with one request at a
 * time on each connection, and HTTP/2 with as many streams on one. Thread: one. */
#ifndef COR_BENCH_PROTOCOLS_H
#define COR_BENCH_PROTOCOLS_H

#include <stddef.h>

struct target;

/* The server's CPU per GET, in us. */
struct protocols {
    double h1, h2, h2_streams;
};

/* `n` requests of `path` in each round of each protocol, `lanes` at a time. The protocols take
 * turns; the median of the rounds is what is returned. */
struct protocols protocols_measure(const struct target *t, const char *path, size_t n,
                                   size_t lanes);

#endif
