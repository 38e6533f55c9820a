/* Internals of the client, for client*.c only. */
#ifndef COR_HTTP_HTTP_CLIENT_INT_H
#define COR_HTTP_HTTP_CLIENT_INT_H

#include "base/buf.h"
#include "base/dlist.h"
#include "http/client_conn.h"
#include "http/dial.h"
#include "http/http_client.h"
#include "http/http_proxy.h"
#include "loop/timer.h"
#include "net/session/h1.h"

/* Timers that must be there, so that moving them cannot fail. */
#define COR_HTTP_CLIENT_FAR_MS (UINT64_C(1) << 40)

/* clang-format off */
/*   WAITING (for a connection) ◄──► RUNNING ──► DUE (on_done comes from the timer)
 *                                      └──► KEPT (HTTP/2: the answer is whole, the rest of it waits
 *                                                 for cor_http_call_resume()) ──► DUE */
/* clang-format on */
enum cor_http_call_state {
    COR_HTTP_CALL_WAITING,
    COR_HTTP_CALL_RUNNING,
    COR_HTTP_CALL_KEPT,
    COR_HTTP_CALL_DUE,
};

struct cor_http_call {
    struct cor_http_client *client;
    struct cor_dlist link;       /* client->waiting, kept or due, or at->calls */
    struct cor_dlist woken_link; /* client->woken: resumed, or on_writable is due */
    enum cor_http_call_state state;
    struct cor_http_link *at;     /* RUNNING */
    struct cor_h2_stream *stream; /* RUNNING over HTTP/2, until it is closed */
    const struct cor_http_call_cbs *cbs;
    void *arg;

    /* The request, until it is answered: it may be sent again. One block of memory. */
    char *request;
    size_t request_n;
    struct cor_http_header *headers;
    size_t nheaders;
    struct cor_str method, target, body;
    size_t written; /* HTTP/2: bytes of the body */

    /* Streamed bodies and tunnels: client_body.c. */
    uint64_t body_left;  /* of a streamed body; or COR_HTTP_LENGTH_UNKNOWN */
    struct cor_buf kept; /* what came while it was paused; HTTP/1.1: as it came */
    bool streams_body;
    bool body_begun;     /* a byte of it was taken */
    bool body_ended;     /* cor_http_call_end_body() */
    bool wants_writable; /* the last write was short */
    bool is_started;     /* woken: it has a connection, and may write */
    bool is_paused;
    bool is_resumed; /* woken: what was kept is to be shown */
    bool is_tunnel;  /* a 101 has come */
    bool keeps_redirects, wants_upgrade;

    bool is_idempotent;
    bool has_head;    /* of the answer, or of a redirection */
    bool is_ended;    /* HTTP/2: the answer is whole */
    bool needs_fresh; /* no connection that has been used before */
    char *redirect;   /* the next target; what comes until the end is passed over */
    bool becomes_get; /* there, without a body */
    char *moved;      /* the target, after a redirection */
    unsigned nredirects, nresent;
    struct cor_timer timer; /* the deadline, or 0 when DUE */
    int r;
    char text[120];
};

/*   DIALLING ──► GREETING (HTTP/2) ──► OPEN ──► CLOSING         and from each to CLOSING */
enum cor_http_link_state {
    COR_HTTP_LINK_DIALLING,
    COR_HTTP_LINK_GREETING,
    COR_HTTP_LINK_OPEN,
    COR_HTTP_LINK_CLOSING,
};

/* A connection. */
struct cor_http_link {
    struct cor_http_client *client;
    struct cor_dlist link;       /* client->links */
    struct cor_dlist ready_link; /* client->ready: may take a call */
    enum cor_http_link_state state;
    struct cor_dlist calls; /* RUNNING on it; HTTP/1.1: one at most */
    size_t nserved;         /* calls that it was given */
    struct cor_dial *dial;
    struct cor_stream *stream; /* HTTP/1.1 */
    struct cor_h1 *h1;
    struct cor_client_conn *conn; /* HTTP/2 */
    bool is_stale;                /* made with TLS that the client has no more */
    bool keep_alive;              /* HTTP/1.1: of the answer under way */
    bool is_own;                  /* of a call that wants an upgrade, from its opening on */
    bool peer_ended;              /* HTTP/1.1: while its call was paused */
    size_t out_max;               /* HTTP/1.1: the stream's */
    struct cor_timer timer;       /* its end when it is idle; always set */
    size_t nclosing;              /* of dial, stream and conn, what is being closed */
};

struct cor_http_client {
    struct cor_net *net;
    struct cor_http_client_opts opts;
    char *host, *unix_path, *server_name;
    struct cor_buf authority;
    struct cor_proxy proxy;
    struct cor_dlist links, ready;
    struct cor_dlist waiting, kept, due;
    struct cor_dlist woken;
    struct cor_http_call *current; /* whose callback runs; NULL when it was cancelled by that */
    struct cor_h2_limits h2_limits;
    size_t nwaiting, ndialling, nidle, ncalls;
    size_t nlinks; /* that are not closing */
    bool is_h1;    /* what the last connection spoke: each call needs its own */
    bool is_closing;
    struct cor_timer cert; /* the next look at the files of its certificate */
    uint64_t cert_looked_ms;
    struct cor_timer soon; /* due when calls are woken, or to look whether all is gone */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* Gives waiting calls to connections, and dials or gives up as many as they need. */
void cor_http_client_pump(struct cor_http_client *c);
/* After something is gone: the end of closing. The client may be gone after it. */
void cor_http_client_look_closed(struct cor_http_client *c);
/* No connection could be made: the calls that waited for it are told. */
void cor_http_client_dial_failed(struct cor_http_client *c, int r, const char *text);

/* on_done comes from a later turn. Leaves its connection, which ends with an answer unread. */
void cor_http_call_end(struct cor_http_call *call, int r, const char *text);
/* Its connection failed: the call is sent again where that is safe, else it ends. `is_unseen`: the
 * server has certainly done nothing. */
void cor_http_call_lost(struct cor_http_call *call, int r, const char *text, bool is_unseen);
/* The head of an answer is shown to a call. Negative: it has ended, or is gone. */
int cor_http_call_head(struct cor_http_call *call, int status,
                       const struct cor_http_header *headers, size_t nheaders);
/* Its answer is whole, and its connection has been told. */
void cor_http_call_whole(struct cor_http_call *call);

/* client_body.c: what is shown to a call, on its connection or after it. Negative: it has ended, or
 * is gone. */
int cor_http_call_show(struct cor_http_call *call, struct cor_str piece);
/* There is room for a streamed body. The call may be gone. */
void cor_http_call_writable(struct cor_http_call *call);
/* Keeps what came while it is paused. 0, -COR_ENOMEM, -COR_ETOOBIG, or what on_kept returned. */
int cor_http_call_keep(struct cor_http_call *call, struct cor_str bytes);
/* Has the loop look at the call in a later turn. */
void cor_http_call_wake(struct cor_http_call *call);
/* A write was refused before it had a connection, or a tunnel: now it may write. */
void cor_http_call_set_started(struct cor_http_call *call);
/* Calls that were resumed, or may write. */
void cor_http_client_run_woken(struct cor_http_client *c);
/* Does its request still want bytes of the caller? */
static inline bool cor_http_call_is_writing(const struct cor_http_call *call)
{
    return ((call->streams_body && call->body_left > 0) || call->is_tunnel) && !call->body_ended;
}

/* For waiting calls; or (cor_http_link_open_own()) for this call alone, which runs on it from now
 * on. 0, -COR_ENOMEM, -COR_EINVAL. */
int cor_http_link_open(struct cor_http_client *c);
int cor_http_link_open_own(struct cor_http_client *c, struct cor_http_call *call);
/* Its calls must have left. */
void cor_http_link_close(struct cor_http_link *l);
/* Ends it; its calls are lost. */
void cor_http_link_fail(struct cor_http_link *l, int r, const char *text);
/* It speaks: calls may be given to it. */
void cor_http_link_set_open(struct cor_http_link *l);
/* It takes no more calls. */
void cor_http_link_retire(struct cor_http_link *l);
/* The same, and it ends from a later turn, with its calls. */
void cor_http_link_set_stale(struct cor_http_link *l);
/* One of its parts has been closed. */
void cor_http_link_part_closed(void *arg);

/* The protocols. speak: the dialled stream, which is the link's on success only. 0, -COR_ENOMEM. */
int cor_http_h1_speak(struct cor_http_link *l, struct cor_stream *stream);
int cor_http_h2_speak(struct cor_http_link *l, struct cor_stream *stream);
/* The call runs on the link from now on. 0; or it does not: -COR_ECANCELED (the link takes no more
 * calls), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_http_h1_start(struct cor_http_link *l, struct cor_http_call *call);
int cor_http_h2_start(struct cor_http_link *l, struct cor_http_call *call);
/* Of a streamed body: how much was taken; a short write brings cor_http_call_writable(). */
size_t cor_http_h1_write(struct cor_http_call *call, struct cor_str bytes);
size_t cor_http_h2_write(struct cor_http_call *call, struct cor_str bytes);
void cor_http_h1_end_body(struct cor_http_call *call);
void cor_http_h2_end_body(struct cor_http_call *call);
void cor_http_h1_pause(struct cor_http_call *call);
/* Shows what was kept; the call may be gone. */
void cor_http_h1_resume(struct cor_http_call *call);
void cor_http_h2_resume(struct cor_http_call *call);

#endif
