/* Internals of the REST client, which its files share.
 * Owner: the opener of the client.  Thread: the loop. */
#ifndef COR_KIT_REST_INT_H
#define COR_KIT_REST_INT_H

#include "base/backoff.h"
#include "base/buf.h"
#include "base/dlist.h"
#include "codec/gzip.h"
#include "http/http_client.h"
#include "kit/config/credentials.h"
#include "kit/config/server_url.h"
#include "kit/rest/header_list.h"
#include "kit/rest/rest_client.h"
#include "kit/rest/rest_metrics.h"
#include "kit/rest/rest_throttle.h"
#include "kit/rest/warning.h"
#include "loop/timer.h"

#define COR_REST_NEVER UINT64_MAX
/* Headers of a call, with the authorization and Accept-Encoding; the HTTP client adds its own to
 * them. */
#define COR_REST_HEADERS_MAX 57
#define COR_REST_WAIT_MAX_S  (INT64_C(1) << 30) /* between attempts */

struct cor_rest_client {
    struct cor_loop *loop;
    struct cor_http_client *http;
    struct cor_tls_files *tls_files; /* NULL: the certificate is not in files */
    struct cor_server_url url;
    struct cor_header_list headers; /* of every request */
    struct cor_client_config config;
    struct cor_credentials credentials;
    bool is_h1_only;       /* DISABLE_HTTP2 is set */
    uint64_t cert_version; /* of the plugin's certificate that `http` uses */
    size_t nclosing;       /* of HTTP client and plugin, those that are not closed yet */
    struct cor_rest_throttle throttle, discovery_throttle;
    struct cor_warner warner;
    struct cor_rest_metrics metrics;
    void (*on_retry)(void *arg, struct cor_str method, struct cor_str target, const char *why,
                     uint64_t wait_ms);
    void *retry_arg;
    uint64_t timeout_ms;
    int retries_max;
    size_t body_max;
    struct cor_backoff_opts backoff; /* of requests that are tried again; initial_ms 0: none */
    struct cor_dlist requests;
    size_t nrequests;
    bool is_closing;
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* clang-format off */
/*             ┌────────────── DELAYED ◄─────────────┐ (an answer or a failure to try again after)
 *             ▼                                     │
 *   ──► THROTTLED ──► IDENTIFYING (a plugin) ──► CALLING ──► DONE        and from each to DONE */
/* clang-format on */
enum cor_rest_state {
    COR_REST_THROTTLED,
    COR_REST_DELAYED,
    COR_REST_IDENTIFYING,
    COR_REST_CALLING,
    COR_REST_DONE,
};

struct cor_rest_request {
    struct cor_rest_client *rc;
    struct cor_dlist link; /* rc->requests */
    enum cor_rest_state state;
    struct cor_rest_request_opts opts; /* method and body are in `text` */
    char *text;
    struct cor_buf target;
    struct cor_header_list headers;
    struct cor_timer timer; /* always set, so that moving it cannot fail */
    struct cor_rest_turn turn;
    struct cor_credentials_wait identity;
    uint64_t began_ms; /* of the loop's clock, as is: */
    uint64_t deadline_ms;
    uint64_t timeout_ms; /* shortens the deadline from the first attempt on; 0: none */

    /* The attempt under way. */
    int attempt; /* 1 is the first */
    struct cor_http_call *call;
    uint64_t generation; /* of the credentials that it has */
    int code;
    int64_t retry_after_s;        /* that the server asked for; below 0: it did not */
    bool is_text;                 /* the answer's type */
    bool takes_gzip;              /* it was asked for */
    bool is_encoded;              /* the answer is, in a way that nobody asked for */
    struct cor_gzip_reader *gzip; /* expands the answer; NULL: it is not compressed */
    bool has_gzip_bytes;          /* some of it has come */
    const char *gzip_error;       /* why it could not be expanded; NULL: it could */
    struct cor_buf body;

    struct cor_backoff backoff;
    char *previous; /* what broke an attempt before this one, or its answer */
    bool previous_is_answer;
    bool was_sent; /* an attempt was handed to the HTTP client */
    bool has_error;
    struct cor_status error;
};

/* The request of a link in `requests`. */
struct cor_rest_request *cor_rest_request_of(struct cor_dlist *link);

/* Starts the attempts. No callback is called before this returns. */
void cor_rest_request_start(struct cor_rest_request *req);
void cor_rest_request_on_timer(struct cor_timer *timer);
void cor_rest_request_on_turn(struct cor_rest_turn *turn);
void cor_rest_request_on_identity(struct cor_credentials_wait *w, const struct cor_status *error);

/* Ends the request with an error, in a later turn. */
void cor_rest_request_end_soon(struct cor_rest_request *req, int r, const char *text);

/* Calls on_done and frees the request. */
void cor_rest_request_deliver(struct cor_rest_request *req);

/* Stops waiting for a turn, for credentials or for an answer. */
void cor_rest_request_stop(struct cor_rest_request *req);

/* Gives `http` the certificate of the credentials. 0, or -COR_EINVAL (it is not a certificate, or
 * does not belong to the key; `http` is as it was), -COR_ENOMEM. */
int cor_rest_client_renew(struct cor_rest_client *rc, struct cor_status *reterr);

/* Closes the client if it is closing and this was the last request. */
void cor_rest_client_look_closed(struct cor_rest_client *rc);

#endif
