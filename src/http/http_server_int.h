/* Internals of the server, for this folder only. */
#ifndef COR_HTTP_HTTP_SERVER_INT_H
#define COR_HTTP_HTTP_SERVER_INT_H

#include <stdatomic.h>

#include "base/dlist.h"
#include "base/limits.h"
#include "http/budget.h"
#include "http/http_server.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "loop/turns.h"
#include "net/session/h1.h"
#include "net/session/h2.h"
#include "net/stream/stream.h"

/* After the last byte of a closing connection the peer gets this long to read it: closing a socket
 * that still receives makes the kernel throw away what it has sent. */
#define COR_HTTP_LINGER_MS 500
/* Input of a pipelining client that waits while a response is made; then reading stops. */
#define COR_HTTP_PENDING_MAX (64u * 1024)
/* Room in a stream's output beyond what responses may fill: heads and chunk frames. */
#define COR_HTTP_OUT_SLACK (66u * 1024)
/* cor_http_response_send() keeps at most this much. */
#define COR_HTTP_TAIL_MAX (64u << 20)

/* Below this much room for control frames an HTTP/2 connection is not read. */
#define COR_HTTP_CONTROL_ROOM (32u * 1024)
/* What an HTTP/2 stream costs beside its exchange: the session's part and nghttp2's. */
#define COR_HTTP_STREAM_BYTES 640u
/* An ordinary head, or the buffer for one. */
#define COR_HTTP_INPUT_FREE 8192u
/* So many streams of a connection that has not authenticated are refused for want of room; then the
 * connection ends. */
#define COR_HTTP_REFUSALS_MAX 100u
/* How long an HTTP/2 peer may take to answer the announced end of an idle connection. */
#define COR_HTTP_GOAWAY_MS 1000

struct cor_conn;
struct cor_net;

/* One loop's part of a server. Thread: the loop's, except for the atomics. */
struct cor_http_worker {
    struct cor_http_server *server;
    unsigned index;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_dlist conns;
    struct cor_dlist unknown; /* of them those that have not authenticated, the oldest first */
    struct cor_buf head;      /* scratch: a response's head, an error's body */
    char date[32];            /* of the last head */
    uint64_t date_s;          /* monotonic second that `date` was made in */
    struct cor_turn_share turn_share; /* what requests take of each turn */
    bool is_draining;
    bool is_closing; /* the net is being closed */
    struct cor_timer drain;
    struct cor_mail drain_mail;
    size_t nlisteners; /* open or closing; worker 0 */
    _Atomic uint64_t nconns, accepted, refused, requests, errors;
    _Atomic uint64_t nunknown, replaced;
};

struct cor_http_server {
    struct cor_http_server_opts opts; /* `loops` is not kept; limits are filled in */
    struct cor_h1_limits h1_limits;
    struct cor_h2_limits h2_limits;
    struct cor_budget budget;
    struct cor_dlist listeners; /* struct listener; worker 0 */
    uint64_t drain_ms;
    void (*on_closed)(void *arg);
    void *closed_arg;
    _Atomic size_t nworkers_open;
    size_t nworkers;
    struct cor_http_worker workers[];
};

/* What the handler has of a response. From every state it may come to NONE. In ACCEPTED and HELD
 * that is after a 4xx, or a 504 at the deadline. In ENDED the tail goes out.
 */
/* clang-format off */
/*   NONE ──► ACCEPTED ──► HELD ──► STARTED ──► ENDED ──► NONE
 *            on_head      on_request
 */
/* clang-format on */
enum cor_http_response_state {
    COR_RESPONSE_NONE,
    COR_RESPONSE_ACCEPTED,
    COR_RESPONSE_HELD,
    COR_RESPONSE_STARTED,
    COR_RESPONSE_ENDED,
};

/* What becomes of the body of a request; intake.c. */
/* clang-format off */
/*   COLLECT ──► HOLD ──► COLLECT (on_request follows)
 *      │          └────► STREAM (shown in pieces)
 *      └───────────────► STREAM
 */
/* clang-format on */
enum cor_http_intake {
    COR_INTAKE_COLLECT,
    COR_INTAKE_HOLD,
    COR_INTAKE_STREAM,
};

/* What a body that is held back or streamed may have waiting: a stream's window twice, because what
 * was taken of it is moved out only when it is half. */
#define COR_HTTP_KEPT_MAX (2 * COR_H2_WINDOW + COR_STREAM_READ_MAX)

/* What differs between HTTP/1.1 (conn_h1.c) and HTTP/2 (conn_h2.c). Out of memory fails the
 * connection's stream, which reaches the handler as on_gone. */
struct cor_response_ops {
    void (*start)(struct cor_http_response *resp, int status, const struct cor_http_header *headers,
                  size_t nheaders, uint64_t length);
    size_t (*room)(const struct cor_http_response *resp);
    /* Of `n` bytes after the first `skip`; a short write brings cor_response_writable(). */
    size_t (*write)(struct cor_http_response *resp, const struct cor_str *spans, size_t nspans,
                    size_t skip, size_t n);
    /* The body is complete, or breaks off here. The response is over. */
    void (*end)(struct cor_http_response *resp);
    void (*cut)(struct cor_http_response *resp);
    /* The deadline has moved. */
    void (*settle)(struct cor_http_response *resp);
    /* Another protocol from here on; NULL: there is none. */
    void (*upgrade)(struct cor_http_response *resp, const struct cor_http_header *headers,
                    size_t nheaders, struct cor_http_upgrade *take_upgrade);
    /* The same for bytes that nobody looks into; NULL: likewise. */
    void (*tunnel)(struct cor_http_response *resp, const struct cor_http_header *headers,
                   size_t nheaders);
    /* The handler has decided about the body, or takes more of it: looked at in a later turn. */
    void (*wake)(struct cor_http_response *resp);
};

struct cor_http_response {
    const struct cor_response_ops *ops;
    struct cor_conn *conn;
    enum cor_http_response_state state;
    bool is_short;      /* on_writable is due */
    bool is_bodiless;   /* what is written goes nowhere */
    bool has_request;   /* the head could be parsed */
    bool lacks_head;    /* it has been freed */
    bool in_head;       /* the handler's on_head runs */
    bool is_woken;      /* HTTP/1.1: ops->wake() was called */
    bool intake_is_due; /* the handler has decided, and nothing was done about it yet */
    bool is_blocked;    /* STREAM: the handler did not take all of the last piece */
    bool body_ended;    /* HOLD and STREAM: all of it has come */
    bool body_end_told;
    enum cor_http_intake intake;
    uint64_t left; /* of a body whose length was said; else COR_HTTP_LENGTH_UNKNOWN */
    uint64_t deadline_ms;
    const char *timeout_text; /* of the 504 at the deadline */
    struct cor_http_request request;
    const struct cor_http_response_cbs *cbs;
    void *arg;
    struct cor_buf body;  /* of the request; HOLD and STREAM: what waits of it */
    size_t body_done;     /* STREAM: bytes of it that the handler has taken */
    uint64_t body_length; /* as the head says; COR_HTTP_LENGTH_UNKNOWN */
    const struct cor_http_body_cbs *body_cbs; /* STREAM */
    void *body_arg;
    struct cor_buf tail; /* what cor_http_response_send() could not write yet */
    size_t tail_done;
    size_t body_charged, tail_charged; /* to the connection's share, as long as they are held */
    size_t handler_charged;            /* what the handler says that it holds */
};

/* clang-format off */
/*   READING ──► RESPONDING (HTTP/1.1) ──► READING (keep-alive)
 *      │                         └──────► ENDING (output goes out) ──► LINGERING ──► CLOSING
 *      └── HTTP/2: no stream is left ───► ENDING
 * and from everywhere to CLOSING. */
/* clang-format on */
enum cor_conn_state {
    COR_CONN_READING,
    COR_CONN_RESPONDING,
    COR_CONN_ENDING,
    COR_CONN_LINGERING,
    COR_CONN_CLOSING,
};

struct cor_conn {
    struct cor_dlist link;
    struct cor_http_worker *worker;
    struct cor_stream *stream;
    enum cor_conn_state state;
    bool is_open; /* the TLS handshake is done */
    bool peer_ended;
    uint64_t begun_ms; /* accepted, or first byte of the head; 0: between requests */
    struct cor_timer timer;
    struct cor_buf pending; /* input that waits; before: what may become a preface */

    /* What it holds is charged to its share; here what belongs to no response. */
    struct cor_budget_share share;
    struct cor_dlist unknown_link; /* worker->unknown, while it has not authenticated */
    size_t pending_charged;
    size_t out_charged;  /* of output that the socket did not take at once */
    size_t head_charged; /* of a head that is being read, or of an HTTP/1.1 head that stays */

    /* One of them once the protocol is known; cf. conn_h1.c, conn_h2.c. */
    struct cor_h1 *h1;
    struct cor_h2 *h2;

    /* HTTP/1.1 */
    bool keep_alive;
    bool wants_continue; /* 100 Continue is to be sent when the request is accepted */
    bool is_skipping;    /* what comes is the body of a request that has been answered */
    bool drops_input; /* what a pipelining client sends cannot be kept: it is not read as a request
                       */
    bool is_tunnel;   /* 101 was answered, and what comes is not HTTP */
    enum cor_h1_framing framing;
    struct cor_str piece;             /* of a streamed body, that the parser has just found */
    struct cor_http_upgrade *upgrade; /* the protocol in place of HTTP/1.1; NULL: none */
    size_t message_left;              /* bytes of its message that are not written yet */
    struct cor_http_response resp;

    /* HTTP/2 */
    struct cor_dlist exchanges;
    struct cor_dlist ready; /* those whose requests are whole and wait for a later turn */
    struct cor_dlist woken; /* those whose bodies are to be looked at in a later turn */
    size_t nexchanges;
    uint64_t turn;         /* of the loop, in which the next three are counted */
    size_t nbegun;         /* heads that were shown */
    size_t nrun;           /* requests that the handler was given */
    uint64_t ran_since_us; /* when the second of them began */
    size_t nrefused;       /* streams, while it has not authenticated */
    bool is_leaving;       /* GOAWAY has been said */
};

/* conn.c. The descriptor is the connection's; a failure closes it. When there are too many
 * connections (`is_one_too_many`: of the server; or of its address) it takes the place of the
 * oldest one of this loop that has neither authenticated nor a request under way, else of the
 * oldest one that has not authenticated and lets the server wait for it; or it is refused. */
void cor_conn_open(struct cor_http_worker *w, int take_fd, struct cor_tls *tls,
                   bool is_one_too_many);

/* What part `charged` of the connection's memory is `bytes` now. 0; -COR_EBUSY: that is too much,
 * and the part is charged as before. Becoming less cannot fail. */
int cor_conn_charge(struct cor_conn *c, size_t *charged, size_t bytes);
/* The same for input that a connection has only one of: up to COR_HTTP_INPUT_FREE cannot fail, so
 * that a client whose answers wait may go on reading them and say so. */
int cor_conn_charge_input(struct cor_conn *c, size_t *charged, size_t bytes);

/* Its sender is known: from now on the connection is charged to it. As cor_budget_move(). */
int cor_conn_set_sender(struct cor_conn *c, enum cor_http_rank rank, struct cor_str name);

/* Closes at once; no handler is told. */
void cor_conn_cut(struct cor_conn *c);

/* The server drains: closes when nothing is under way, else tells the handlers. */
void cor_conn_drain(struct cor_conn *c);

/* As cor_conn_cut(), but handlers that hold a response are told. */
void cor_conn_gone(struct cor_conn *c, int why);

/* Ends this side after the output that waits. */
void cor_conn_end(struct cor_conn *c);

/* Sets the timer to `due_ms`, or to none with COR_HTTP_NO_DEADLINE. */
void cor_conn_set_timer(struct cor_conn *c, struct cor_timer *timer, uint64_t due_ms);

static inline const struct cor_http_limits *cor_conn_limits(const struct cor_conn *c)
{
    return &c->worker->server->opts.limits;
}

static inline uint64_t cor_conn_now_ms(const struct cor_conn *c)
{
    return cor_loop_now_ms(c->worker->loop);
}

/* conn_h1.c. open: 0, -COR_ENOMEM. */
int cor_conn_h1_open(struct cor_conn *c);
void cor_conn_h1_deinit(struct cor_conn *c);
void cor_conn_h1_data(struct cor_conn *c, struct cor_str bytes);
void cor_conn_h1_writable(struct cor_conn *c);
void cor_conn_h1_timer(struct cor_conn *c);
void cor_conn_h1_drain(struct cor_conn *c);
/* The peer of a tunnel has ended its side. */
void cor_conn_h1_peer_ended(struct cor_conn *c);

/* conn_h2.c. */
int cor_conn_h2_open(struct cor_conn *c);
void cor_conn_h2_deinit(struct cor_conn *c);
void cor_conn_h2_data(struct cor_conn *c, struct cor_str bytes);
void cor_conn_h2_writable(struct cor_conn *c);
void cor_conn_h2_timer(struct cor_conn *c);
void cor_conn_h2_drain(struct cor_conn *c);
/* The session is not used any more: every exchange is over, and handlers that hold one are told. */
void cor_conn_h2_gone(struct cor_conn *c, int why);
/* Does every stream wait for its client, as cor_response_waits_for_peer() says? */
bool cor_conn_h2_waits_for_peer(const struct cor_conn *c);

/* response.c, response_handling.c, intake.c */
void cor_response_init(struct cor_http_response *resp, struct cor_conn *c,
                       const struct cor_response_ops *ops);
/* As after cor_response_init(); frees the bodies. */
void cor_response_reset(struct cor_http_response *resp);
bool cor_response_is_held(const struct cor_http_response *resp);
/* Returns whether progress depends on the client alone: it has to send the rest of its request, or
 * to read, and no handler is at work. */
bool cor_response_waits_for_peer(const struct cor_http_response *resp);

/* The head has been read: deadline, and the connection's part of the request. 0, -COR_EINVAL (the
 * target is not valid for a server). */
int cor_response_begin(struct cor_http_response *resp, struct cor_str method,
                       struct cor_str target);

/* Shows the head to the handler, who may answer, and frees it. When the request is accepted the
 * response is in ACCEPTED; a body of `length` bytes (or of COR_HTTP_LENGTH_UNKNOWN) has room, or
 * has been refused. The response may be over when this returns. */
void cor_response_show_head(struct cor_http_response *resp, uint64_t length);

/* The request is accepted, as cor_response_show_head() says. */
void cor_response_accept(struct cor_http_response *resp);

/* Is the body one that is not, or not yet, collected? */
bool cor_response_defers_body(const struct cor_http_response *resp);
/* Is a handler shown the body in pieces now? */
bool cor_response_is_streaming(const struct cor_http_response *resp);
/* More of a body that is held back or streamed; what the handler does not take is kept. `ret_taken`
 * says how much it took (always set). The response may be over when this returns. 0, -COR_EBUSY,
 * -COR_ENOMEM, -COR_ETOOBIG (the peer sent more than it may). */
int cor_response_pass_body(struct cor_http_response *resp, struct cor_str piece, size_t *ret_taken);
/* Shows what was kept, and returns how much of it was taken. The response may be over. */
size_t cor_response_show_kept(struct cor_http_response *resp);
/* Tells the end of a streamed body, when all of it was taken. The response may be over. */
void cor_response_show_end(struct cor_http_response *resp);

/* More of the request's body. 0, -COR_EBUSY (too many bodies at once), -COR_ETOOBIG, -COR_ENOMEM.
 */
int cor_response_take_body(struct cor_http_response *resp, struct cor_str piece);

/* The request is whole: the handler's turn. The response may be over when this returns. */
void cor_response_dispatch(struct cor_http_response *resp);

/* Writes what is left of the tail; the response is over after it. */
void cor_response_pump(struct cor_http_response *resp);

/* There is room after a short write. */
void cor_response_writable(struct cor_http_response *resp);

/* A handler that holds it is told, and holds it no more. */
void cor_response_tell_gone(struct cor_http_response *resp, int why);
void cor_response_tell_drain(struct cor_http_response *resp);

/* Answers in place of the handler, which does not hold the response. */
void cor_response_error(struct cor_http_response *resp, int status, const char *message);
/* The deadline has passed, and the response has not started. */
void cor_response_time_out(struct cor_http_response *resp);
/* The same for a code of cor_response_begin() or cor_response_take_body(). */
void cor_response_refuse(struct cor_http_response *resp, int r);

/* The Date header, written once per second and loop. */
struct cor_str cor_worker_date(struct cor_http_worker *w);

/* May a request begin in this turn of the loop? `has_waited`: since an earlier turn. */
bool cor_worker_has_time(struct cor_http_worker *w, bool has_waited);

/* Fills method, target, path and query. -COR_EINVAL when the target is not valid for a server. */
int cor_request_set_target(struct cor_http_request *req, struct cor_str method,
                           struct cor_str target);

/* A connection of the worker is gone. */
void cor_worker_conn_closed(struct cor_http_worker *w);

#endif
