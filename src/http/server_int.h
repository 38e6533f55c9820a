/* The inside of the server, for this folder only. */
#ifndef COR_HTTP_SERVER_INT_H
#define COR_HTTP_SERVER_INT_H

#include <stdatomic.h>

#include "base/list.h"
#include "http/server.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "net/h1.h"
#include "net/stream.h"

/* After the last byte of a closing connection the peer gets this long to read it: closing a socket
 * that still receives makes the kernel throw away what it has sent. */
#define COR_HTTP_LINGER_MS 500
/* Input of a pipelining client that waits while a response is made; then reading stops. */
#define COR_HTTP_PENDING_MAX (64u * 1024)
/* Room in a stream's output beyond what responses may fill: heads and chunk frames. */
#define COR_HTTP_OUT_SLACK (66u * 1024)
/* cor_http_response_send() keeps at most this much. */
#define COR_HTTP_TAIL_MAX (64u << 20)

struct cor_conn;
struct cor_net;

/* One loop's part of a server. Thread: the loop's, but for the atomics. */
struct cor_http_worker {
    struct cor_http_server *server;
    unsigned index;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_list conns;
    size_t body_bytes;   /* of the requests that are under way */
    struct cor_buf head; /* scratch: a response's head, an error's body */
    char date[32];       /* of the last head */
    uint64_t date_s;     /* monotonic second that `date` was made in */
    bool is_draining;
    bool is_closing; /* the net is being closed */
    struct cor_timer drain;
    struct cor_mail drain_mail;
    size_t nlisteners; /* open or closing; worker 0 */
    _Atomic uint64_t nconns, accepted, refused, requests, errors;
};

struct cor_http_server {
    struct cor_http_server_opts opts; /* `loops` is not kept; limits are filled in */
    struct cor_h1_limits h1_limits;
    struct cor_list listeners; /* struct listener; worker 0 */
    uint64_t drain_ms;
    void (*on_closed)(void *arg);
    void *closed_arg;
    _Atomic size_t nworkers_open;
    size_t nworkers;
    struct cor_http_worker workers[];
};

/* What the handler has of a response.
 *   NONE ──► HELD (on_request) ──► STARTED ──► ENDED (the tail goes out) ──► NONE
 *                 │                   │
 *                 └── the deadline: 504 ──► NONE */
enum cor_http_response_state {
    COR_RESPONSE_NONE,
    COR_RESPONSE_HELD,
    COR_RESPONSE_STARTED,
    COR_RESPONSE_ENDED,
};

struct cor_http_response {
    enum cor_http_response_state state;
    bool is_short; /* on_writable is due */
    enum cor_h1_framing framing;
    uint64_t left;  /* of a body whose length was said */
    uint64_t bytes; /* body bytes taken */
    uint64_t deadline_ms;
    struct cor_http_request request;
    const struct cor_http_response_cbs *cbs;
    void *arg;
    struct cor_buf tail; /* what cor_http_response_send() could not write yet */
    size_t tail_done;
};

/*   READING ──► RESPONDING ──► READING (keep-alive)
 *                        └───► ENDING (output goes out) ──► LINGERING ──► CLOSING
 * and from everywhere to CLOSING. */
enum cor_conn_state {
    COR_CONN_READING,
    COR_CONN_RESPONDING,
    COR_CONN_ENDING,
    COR_CONN_LINGERING,
    COR_CONN_CLOSING,
};

struct cor_conn {
    struct cor_list link;
    struct cor_http_worker *worker;
    struct cor_stream *stream;
    struct cor_h1 *h1;
    enum cor_conn_state state;
    bool is_open;  /* the TLS handshake is done */
    bool has_head; /* READING: the head is complete, the body is not */
    bool keep_alive;
    bool peer_ended;
    bool wants_continue; /* 100 Continue is to be sent when the body is acceptable */
    uint64_t begun_ms;   /* accepted, or first byte of the head */
    struct cor_timer timer;
    struct cor_buf body;
    struct cor_buf pending;
    struct cor_http_response resp;
};

/* The descriptor is the connection's; a failure closes it. */
void cor_conn_open(struct cor_http_worker *w, int take_fd, struct cor_tls *tls);

/* Closes at once; the handler is not told. */
void cor_conn_cut(struct cor_conn *c);

/* The server drains: closes when nothing is under way, else tells the handler. */
void cor_conn_drain(struct cor_conn *c);

/* As cor_conn_cut(), but a handler that holds the response is told. */
void cor_conn_gone(struct cor_conn *c, int why);

/* The response is complete: the next request, or the end of the connection. */
void cor_conn_finish(struct cor_conn *c);

/* Sets the timer that the state asks for. */
void cor_conn_settle(struct cor_conn *c);

/* Answers in the handler's place. The request is over. */
void cor_conn_error(struct cor_conn *c, int status, const char *message);

/* Writes what is left of the tail; finishes after it. */
void cor_response_pump(struct cor_http_response *resp);
void cor_response_reset(struct cor_http_response *resp);

static inline struct cor_conn *cor_response_conn(const struct cor_http_response *resp)
{
    return COR_CONTAINER_OF((struct cor_http_response *)resp, struct cor_conn, resp);
}

/* Fills method, target, path and query. -COR_EINVAL when the target is none of a server's. */
int cor_request_set_target(struct cor_http_request *req, struct cor_str method,
                           struct cor_str target);

/* A connection of the worker is gone. */
void cor_worker_conn_closed(struct cor_http_worker *w);

#endif
