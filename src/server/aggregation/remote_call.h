/* clang-format off */
/* One request of the server to itself that an aggregated API server answers: what the controllers
 * read and delete of the resources of other servers (namespaces that end, the garbage collector).
 * It goes the way of a client's request (service_proxy.h), as the user that the controller is, and its
 * answer comes back as a verb's: objects into a sink that takes them.
 *
 *   cor_api_call ── no row, a remote service ──► cor_remote_call_start ──► target ──► the service
 *   sink ◄── objects, or the bytes of another answer ◄── pieces, as far as the sink has room ◄──┘
 *
 * Owner: itself, until the sink has ended or is gone.  Thread: the loop of the targets. */
/* clang-format on */
#ifndef COR_SERVER_AGGREGATION_REMOTE_CALL_H
#define COR_SERVER_AGGREGATION_REMOTE_CALL_H

#include "base/dlist.h"
#include "base/limits.h"
#include "server/aggregation/remote_headers.h"
#include "server/aggregation/target.h"
#include "server/api/api.h"
#include "server/catalog/api_service.h"

/* All calls to one service hold COR_REMOTE_HELD_MAX of its bytes together: pieces that their sinks
 * have no room for, and objects that have not come whole. A call with no more than this is never
 * cut for it. */
#define COR_REMOTE_HELD_FREE (256u * 1024)

/* The calls of one loop. */
struct cor_remote_calls {
    struct cor_dlist list;
};

void cor_remote_calls_init(struct cor_remote_calls *calls);

struct cor_remote_call_opts {
    struct cor_targets *targets;              /* NULL: there was no memory for them */
    struct cor_api_service *service;          /* a reference is taken */
    const struct cor_server_request *request; /* stays until the sink has ended */
    struct cor_sink *sink;                    /* takes objects */
    const struct cor_remote_names *names;
};

/* Answers into the sink, now or later: with the service's answer; with 503 or 500 in the words of
 * the proxy when there is none; an answer that breaks off, or exceeds a maximum, is aborted. */
void cor_remote_call_start(struct cor_remote_calls *calls, const struct cor_remote_call_opts *opts);

#endif
