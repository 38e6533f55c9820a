/* How long after a commit a watcher on another thread has the event. */
#ifndef COR_BENCH_SUBSCRIBER_H
#define COR_BENCH_SUBSCRIBER_H

#include <stddef.h>
#include <stdint.h>

struct subscriber_result {
    size_t events;
    uint64_t p50_ns, p99_ns;
};

/* `per_second` creates for `seconds`, one every so often, on a store of its own in `dir`. */
struct subscriber_result subscriber_measure(const char *dir, size_t per_second, size_t seconds);

#endif
