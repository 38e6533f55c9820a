/* Open watches that count what they are sent. Thread: the client's.  Owner: whoever opened them. */
#ifndef COR_BENCH_WATCHERS_H
#define COR_BENCH_WATCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct requests;
struct target;
struct watchers;

/* `n` watches of the ConfigMaps in `ns`; returns when each has the head of its answer. */
struct watchers *watchers_open(struct client *client, const struct target *target, const char *ns,
                               size_t n);
/* The same with another collection, "/api/v1/pods", whose events come as lines of JSON or as frames
 * of protobuf. */
struct watchers *watchers_open_at(struct client *client, const struct target *target,
                                  const char *path, bool is_protobuf, size_t n);
void watchers_close(struct watchers *w);

struct fanout {
    double cpu_us;         /* the server's, per delivery; the writes are in it */
    double p50_ms, p99_ms; /* of fanout_step: from before the write until the last watcher has it */
    double event_bytes;
};

/* All writes of `writes` as fast as its connections can; until every watcher has every event. */
struct fanout fanout_burst(struct watchers *w, const struct requests *writes);

/* One write at a time: the next when the last was answered and every watcher has it. */
struct fanout fanout_step(struct watchers *w, const struct requests *writes);

#endif
