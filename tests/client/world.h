/* A server in a process of its own, and a client of it on a runtime of either kind.
 * Owner: the test. */
#ifndef COR_TEST_CLIENT_WORLD_H
#define COR_TEST_CLIENT_WORLD_H

#include "coracle.h"
#include "server_process.h"
#include "test.h"

#define PATIENCE_MS 60000

struct world {
    char data[400]; /* the server's folder */
    struct server_process server;
    struct cor_client_config config;
    struct cor_runtime *rt;
    struct cor_client *client;
};

static const struct cor_resource configmaps = {"", "v1", "configmaps"};

void world_begin(struct world *w, enum cor_runtime_kind kind);

/* The same, with a server of the test's own. */
void world_begin_at(struct world *w, enum cor_runtime_kind kind, const char *url);
void world_end(struct world *w);

/* Lets the runtime run until `done` says so; fails after PATIENCE_MS. */
void world_run(struct world *w, bool (*done)(void *arg), void *arg);

/* Of the config maps of namespace "default". */
struct cor_request watch_from(const char *version, bool resumes);

/* Waits. A ConfigMap of namespace "default" with data.v; the answer's resourceVersion goes to `rv`.
 */
void world_create(struct world *w, const char *name, const char *labels, const char *v);
void world_update(struct world *w, const char *name, const char *v, char rv[32]);
void world_delete(struct world *w, const char *name);

#define FOR_EACH_KIND(kind)                                                                        \
    for (enum cor_runtime_kind kind = COR_RUNTIME_THREADS; kind <= COR_RUNTIME_PUMPED; kind++)

#endif
