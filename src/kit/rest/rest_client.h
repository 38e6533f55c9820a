/* Talks to one API server: the requests of everything above it (dynamic client, discovery,
 * list-watch, leases, events) with one set of connections, credentials and limits. Behaviour:
 * client-go's rest package.
 * Owner: its opener.  Thread: the loop's of `net`. No function calls back before it returns. */
#ifndef COR_KIT_REST_CLIENT_H
#define COR_KIT_REST_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kit/config/client_config.h"
#include "meta/status/status.h"
#include "net/session/header.h"
#include "net/stream/resolver.h"

struct cor_loop;
struct cor_net;
struct cor_rest_client;
struct cor_rest_metrics;
struct cor_rest_request;

#define COR_REST_REQUESTS_MAX 1000        /* under way or waiting, of one client */
#define COR_REST_BODY_MAX     (64u << 20) /* of a whole answer, where nothing else is said */
#define COR_REST_TARGET_MAX   (64u * 1024)
/* What a compressed answer that is read in pieces may expand to; a watch has no maximum. */
#define COR_REST_EXPANDED_MAX    (UINT64_C(4) << 30)
#define COR_REST_RETRIES         10 /* after the first attempt */
#define COR_REST_DISCOVERY_BURST 300

struct cor_rest_client_opts {
    const struct cor_client_config *config; /* copied */
    const char *user_agent;                 /* NULL: cor_rest_user_agent() */
    uint64_t timeout_ms;                    /* of requests that set none; 0: none */
    /* At most so many requests a second, so many at once (0: 10); qps 0 or below: no limit.
     * Discovery, which asks for many documents at once, is counted by itself, and without a burst
     * of the caller's has COR_REST_DISCOVERY_BURST. */
    double qps;
    uint32_t burst;
    int retries_max; /* 0: COR_REST_RETRIES; below 0: none */
    size_t body_max; /* of requests that set none; 0: COR_REST_BODY_MAX */
    /* Called with each warning of a server; NULL: warnings are dropped. It must not call the
     * client. */
    void (*on_warning)(void *arg, struct cor_str text);
    bool warns_once; /* the same text is told once */
    /* An attempt is to be repeated; the texts are borrowed. May be NULL; may not call the client.
     */
    void (*on_retry)(void *arg, struct cor_str method, struct cor_str target, const char *why,
                     uint64_t wait_ms);
    void *arg;              /* of both */
    cor_resolve_fn resolve; /* NULL: the system's resolver, on a worker thread */
    void *resolve_arg;
};

/* Nothing is connected yet. 0, -COR_EINVAL (an unusable server, certificate or key; a CA beside the
 * insecure flag; a password beside a token), -COR_ENOMEM. */
int cor_rest_client_open(struct cor_net *net, const struct cor_rest_client_opts *opts,
                         struct cor_rest_client **ret_client, struct cor_status *reterr);

/* Requests end with -COR_ECANCELED, from a later turn; then `on_closed` (may be NULL), and the
 * memory is gone. */
void cor_rest_client_close(struct cor_rest_client *rc, void (*on_closed)(void *arg), void *arg);

struct cor_loop *cor_rest_client_loop(const struct cor_rest_client *rc);

/* "127.0.0.1:6443", as the server's URL has it. Borrowed. */
const char *cor_rest_client_host(const struct cor_rest_client *rc);

/* What the client has counted. Borrowed. */
const struct cor_rest_metrics *cor_rest_client_metrics(const struct cor_rest_client *rc);

/* The time that several requests have together: when it ends, on the loop's clock (0: never), and
 * what is left of it for the next one, as its timeout and deadline (0: no end). -COR_ETIMEOUT:
 * nothing is. */
uint64_t cor_rest_client_end_ms(const struct cor_rest_client *rc, uint64_t timeout_ms);
int cor_rest_client_left_ms(const struct cor_rest_client *rc, uint64_t end_ms,
                            uint64_t *ret_left_ms);

/* "coracle/0.9.0 (linux/amd64)". */
const char *cor_rest_user_agent(void);

/* How an answer is wanted. Errors are whole in all of them. */
enum cor_rest_kind {
    COR_REST_WHOLE,  /* gathered; on_done has it */
    COR_REST_STREAM, /* on_body has its pieces */
    /* The same, without end: its first attempt is not rate limited. When all attempts broke before
     * an answer, it ends without an error and without a head, as an empty watch. */
    COR_REST_WATCH,
};

struct cor_rest_head {
    int code; /* 200 to 206 */
    const struct cor_http_header *headers;
    size_t nheaders;
};

struct cor_rest_result {
    /* NULL: the answer is complete. Of an answer that reports a failure: its Status. Else `err`
     * says what happened: -COR_EUNREACHABLE (no connection, the server has seen nothing),
     * -COR_EBROKEN, -COR_ETIMEOUT, -COR_ETLS, -COR_EPROTOCOL (no HTTP; an answer that is compressed
     * unasked, or whose gzip is damaged), -COR_ETOOBIG, -COR_ECANCELED, -COR_EBUSY, -COR_ENOMEM, or
     * what a callback returned. Code and reason are those of `err` when nothing was sent (no
     * credentials, no turn in time), else 0 and none. */
    const struct cor_status *error;
    int code;            /* of the answer; 0: there was none */
    struct cor_str body; /* COR_REST_WHOLE, without an error */
};

/* on_head and on_body may be NULL; a negative return ends the request with that code. They may
 * cancel the request, and must return -COR_ECANCELED then. */
struct cor_rest_cbs {
    int (*on_head)(void *arg, const struct cor_rest_head *head); /* success only */
    int (*on_body)(void *arg, struct cor_str piece);
    /* Always the last; the request is gone after it. */
    void (*on_done)(void *arg, const struct cor_rest_result *result);
};

struct cor_rest_request_opts {
    enum cor_rest_kind kind;
    bool is_discovery;           /* waits in the line of discovery, see COR_REST_DISCOVERY_BURST */
    struct cor_str method;       /* empty: GET */
    struct cor_str target;       /* path and query, escaped: "/api/v1/pods?limit=500" */
    struct cor_str accept;       /* empty: application/json */
    struct cor_str content_type; /* of a body; empty: application/json */
    struct cor_str body;
    /* Beyond those and the client's own; one of the same name wins over the client's. */
    const struct cor_http_header *headers;
    size_t nheaders;
    /* Told to the server too, as `timeout`; 0: the client's. More than it can read (292 years)
     * counts as no timeout. */
    uint64_t timeout_ms;
    uint64_t deadline_ms; /* from now, waiting included; not told to the server; 0: none */
    size_t body_max;      /* COR_REST_WHOLE; 0: the client's */
    const struct cor_rest_cbs *cbs; /* must stay valid */
    void *arg;
};

/* The options are copied. 0, -COR_EBUSY (too many), -COR_ETOOBIG (target or headers), -COR_ENOMEM.
 */
int cor_rest_request_open(struct cor_rest_client *rc, const struct cor_rest_request_opts *opts,
                          struct cor_rest_request **ret_request);

/* Why the last attempt failed, while the request waits for another one; "" when none has failed.
 * Borrowed until the loop's next turn. */
const char *cor_rest_request_failure(const struct cor_rest_request *req);

/* No callback after this, and the request is gone. */
void cor_rest_request_cancel(struct cor_rest_request *req);

#endif
