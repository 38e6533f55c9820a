/* The API over an engine in memory, without a network: each call is a request's method, path and
 * body, and returns when its answer is there. */
#ifndef COR_TEST_API_FIXTURE_H
#define COR_TEST_API_FIXTURE_H

#include "base/clock.h"
#include "loop/loop.h"
#include "loop/offload.h"
#include "meta/status/status.h"
#include "server/api/api.h"
#include "sinks.h"
#include "storage/engine/engine.h"
#include "test.h"

#define FX_TIMEOUT_MS 60000
/* 2025-01-01T00:00:00Z */
#define FX_NOW_S 1735689600
/* What the spec of a Deployment, a ReplicaSet … needs to be valid, as text inside of JSON. */
/* What a pod needs at least. */
#define FX_CONTAINERS "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"
#define FX_JOB        "\"template\":{\"spec\":{\"restartPolicy\":\"Never\"," FX_CONTAINERS "}}"
#define FX_PORTS      "\"ports\":[{\"port\":80}]"
#define FX_WORKLOAD                                                                                \
    "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":"  \
    "\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

struct fx {
    struct cor_engine *engine;
    struct cor_loop *loop;
    struct cor_api *api;
    struct cor_clock_manual clock;
    struct cor_engine_config config; /* set before: where the store is; backend NULL: in memory */
    struct cor_api_opts opts;        /* set before fx_open(): checks, offload */
    struct cor_offload *offload;
    bool has_no_offload; /* set before: large requests are worked on by the loop */
};

void fx_open(struct fx *fx);
void fx_close(struct fx *fx);

/* One request and its answer. */
struct fx_call {
    struct fx *fx;
    struct cor_server_request request;
    struct cor_buffer_sink sink;
    bool is_bare; /* out of memory before it began */
};

struct fx_headers {
    const char *accept, *content_type, *user_agent, *if_none_match;
    bool takes_gzip_docs;
    const struct cor_user *user; /* NULL: the server itself */
    uint64_t deadline_ms;        /* on cor_loop_now_ms()'s clock; 0: none */
};

/* Begins; `target` may have a query. */
void fx_start(struct fx *fx, struct fx_call *call, const char *method, const char *target,
              const char *body, const struct fx_headers *headers);
/* The same with a body that may have any byte in it. */
void fx_start_with_body(struct fx *fx, struct fx_call *call, const char *method, const char *target,
                        struct cor_str body, const struct fx_headers *headers);
void fx_wait(struct fx_call *call);
void fx_call_deinit(struct fx_call *call);
#define FX_CALL COR_CLEANUP(fx_call_deinit) struct fx_call

/* Begins and waits; the body of the answer without its last newline. The text stays until the next
 * 32 calls. Fails the test when the status is not `status` (0: any). */
const char *fx_do(struct fx *fx, int status, const char *method, const char *target,
                  const char *body);
const char *fx_do_with(struct fx *fx, int status, const char *method, const char *target,
                       const char *body, const struct fx_headers *headers);

/* The same for an answer in protobuf: as the JSON that it stands for. */
const char *fx_do_protobuf(struct fx *fx, int status, const char *method, const char *target,
                           const char *body, const char *accept);

/* Repeats a request that changes nothing with each of its allocations failed in turn. An answer
 * that says success must be, identities aside, the one that the request gets with memory; every
 * other one must be a Status of 500 (or, when there is no memory for one, its text), or must be
 * broken off. */
void fx_fail_each_alloc(struct fx *fx, const char *method, const char *target, const char *body,
                        const struct fx_headers *headers);

/* The value at a path (json/path/path.h) in JSON, without quotes; "" when there is none. Stays as
 * above.
 */
const char *fx_at(const char *json, const char *path);

/* Puts a value into the store under a new key, as another program could have left it there. */
void fx_put_raw(struct fx *fx, const char *key, const char *json);

/* Creates the default namespaces. */
void fx_bootstrap(struct fx *fx);

#define assert_at(json, path, expected) assert_string_equal(fx_at((json), (path)), (expected))

#endif
