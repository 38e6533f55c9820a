/* One GET that the server sends to an aggregated service on its own behalf, as the user
 * system:kube-aggregator in group system:masters: its discovery, its OpenAPI documents, whether it
 * answers. The answer is kept whole, up to a maximum. Redirections are answers, not followed.
 * Owner: itself, until on_done or cor_fetch_cancel().  Thread: the loop of the targets. */
#ifndef COR_SERVER_AGGREGATION_FETCH_H
#define COR_SERVER_AGGREGATION_FETCH_H

#include "server/aggregation/target.h"

struct cor_fetch;

struct cor_fetch_opts {
    struct cor_target_spec spec; /* is_insecure with an empty CA: verification is off (probes) */
    struct cor_str path;         /* path and query, escaped */
    struct cor_str accept, if_none_match; /* empty: no such header */
    size_t body_max;                      /* a longer answer is -COR_ETOOBIG */
    uint64_t timeout_ms;                  /* for all of it, from now; not 0 */
};

/* Borrowed while on_done runs. */
struct cor_fetch_answer {
    int status; /* of HTTP; 0: none came */
    struct cor_str etag, content_type, body;
    struct cor_str url; /* what was asked: https://host:port/path; empty: no address was found */
};

/* `r`: 0, an answer of any status. As cor_target_use_begin(); -COR_ETIMEOUT, -COR_ETOOBIG; or the
 * failure of the call (http/http_client.h). `text` is one line and describes a failure. The fetch
 * is gone when this returns. */
typedef void (*cor_fetch_cb)(void *arg, int r, const char *text,
                             const struct cor_fetch_answer *answer);

/* The options are copied. on_done never comes before this returns. 0, -COR_ENOMEM: it does not
 * follow. */
int cor_fetch_open(struct cor_targets *ts, const struct cor_fetch_opts *opts, cor_fetch_cb on_done,
                   void *arg, struct cor_fetch **ret_fetch);

/* on_done does not follow; the fetch is gone. */
void cor_fetch_cancel(struct cor_fetch *f);

#endif
