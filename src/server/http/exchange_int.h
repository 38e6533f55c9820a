/* Inside the server: one exchange, which its files share. exchange.c has its life, and what it
 * keeps of the head; exchange_filters.c decides about the request; exchange_reply.c has the answers
 * that need no verb; exchange_sink.c is what the verb writes into.
 *
 * Owner: the response, until cor_exchange_end().  Thread: the connection's loop. */
#ifndef COR_SERVER_EXCHANGE_INT_H
#define COR_SERVER_EXCHANGE_INT_H

#include "http/response.h"
#include "meta/status/status.h"
#include "server/api/api_loop.h"
#include "server/http/api_server_int.h"

struct cor_exchange_wait;
struct cor_gzip_answer;
struct cor_websocket_answer;

/* The query and five headers of most requests are no longer than this together. */
#define COR_EXCHANGE_FEW 192u

/* Where the filters begin: at the first, or again at one that has waited. */
enum cor_exchange_step {
    COR_EXCHANGE_FIRST,
    COR_EXCHANGE_AUTHENTICATE,
    COR_EXCHANGE_IMPERSONATE,
    COR_EXCHANGE_AUTHORIZE,
};

struct cor_exchange {
    struct cor_sink sink; /* the first member: the verb's way to write the answer */
    struct cor_http_response *response;
    const struct cor_sink_cbs *sink_cbs; /* the verb's; NULL: no verb has the sink yet */
    void *sink_arg;
    int code;            /* of the answer; 0: not begun */
    uint64_t body_bytes; /* of the answer's body that were taken so far */
    struct cor_server *server;
    const struct cor_http_request *http;     /* the head; NULL after the filters */
    struct cor_str accept_encoding, upgrade; /* of the head */
    struct cor_server_request request;
    const struct cor_resource_row *row; /* of the request's resource when the head came, a
                                         * reference, for the metrics; NULL: none */
    struct cor_api_service
        *remote;        /* the aggregated server that answers, a reference; NULL: we do */
    bool is_connection; /* the answer of `remote` has no end of its own */
    char *kept; /* the strings of `request`, except path and body, when they do not fit `few` */
    size_t query_bytes, kept_bytes;
    struct cor_identity identity;
    struct cor_status status;
    size_t shard;
    uint64_t received_us;
    uint64_t timeout_ms; /* of the verb; 0: it has none */
    struct cor_str method;
    char method_name[16];
    struct cor_flight_place place;
    bool takes_gzip;              /* a large answer is compressed (gzip_answer.h) */
    bool omits_vary;              /* and has no Vary then */
    struct cor_gzip_answer *gzip; /* between the sink and the response; NULL: nothing is */
    struct cor_websocket_answer *websocket; /* of a watch over WebSocket, before it begins */
    struct cor_exchange_wait *wait; /* for a delegate (exchange_wait.h); NULL: none was asked */
    enum cor_exchange_step step;    /* of the filters */
    bool is_answered; /* the verb has written everything, and has let go of the sink */
    bool is_watching; /* counted as a long-running request */
    bool is_dry_run;
    bool may_impersonate;       /* the name of a header looks like impersonation */
    bool is_plain;              /* the status' message is the whole answer, as text */
    char few[COR_EXCHANGE_FEW]; /* short copies of the strings; the last member: it is not zeroed */
};

/* A watch has no deadline, and does not count against the in-flight limits. */
static inline bool cor_exchange_is_long(const struct cor_exchange *ex)
{
    return ex->request.info.is_resource &&
           (ex->request.info.verb == COR_API_VERB_WATCH || ex->is_connection);
}

/* Counts the exchange under the code of its answer (0: its client went first) and frees it. */
void cor_exchange_end(struct cor_exchange *ex, int code);

/* What the exchange holds, with `kept` bytes of strings. A watch also has a call and its selectors,
 * which are made of the query. */
size_t cor_exchange_held(const struct cor_exchange *ex, size_t kept);

/* Frees the copies of the query and of the headers; the verb reads none of them any more. */
void cor_exchange_release_strings(struct cor_exchange *ex);

/* What a filter has waited for is known, in a later turn than its asking. */
void cor_exchange_resume(struct cor_exchange *ex);

/* --- exchange_filters.c ----------------------------------------------------------------------- */

/* A filter waits for a delegate. */
#define COR_EXCHANGE_WAITS 1

/* Runs the filters over the head, those that are not done yet. 0; COR_EXCHANGE_WAITS:
 * cor_exchange_resume() follows, and then this is called again; -COR_EBUSY: the answer is a 429;
 * another failure: the answer is in `status`. */
int cor_exchange_filter(struct cor_exchange *ex);

/* What the head says of the request beside its path: sets the strings of the request, which are
 * empty before. */
void cor_exchange_read_head(struct cor_exchange *ex);

/* The places that the request counts against; NULL: it needs none. Health checks need none, as in
 * upstream's flow schema "probes": they must be answered while the server is busy. */
struct cor_flight *cor_exchange_flight(const struct cor_exchange *ex);

/* --- exchange_proxy.c ------------------------------------------------------------------------- */

/* Sets `remote` of a request that no row of ours answers. */
void cor_exchange_set_remote(struct cor_exchange *ex, const struct cor_served *served);
/* After the filters, with the body held back: the aggregated server answers. */
void cor_exchange_proxy(struct cor_exchange *ex);

/* --- exchange_reply.c ------------------------------------------------------------------------- */

/* Each of these calls answers the request and ends the exchange; large metrics end it when they
 * have been sent. This one sends the Status of the
 * filter that refused the request. */
void cor_exchange_reply_status(struct cor_exchange *ex);
/* Sends a 429. */
void cor_exchange_reply_busy(struct cor_exchange *ex);
void cor_exchange_reply_metrics(struct cor_exchange *ex);
/* Refuses a handshake that cannot be accepted, in upstream's words. */
void cor_exchange_reply_no_websocket(struct cor_exchange *ex);

/* --- exchange_sink.c -------------------------------------------------------------------------- */

/* The sink of an exchange has these from the beginning; that of a compressed answer has others. */
extern const struct cor_sink_ops cor_exchange_sink_ops;

#endif
