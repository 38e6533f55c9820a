/* Internals of channels and calls, for this folder only. */
#ifndef COR_GRPC_GRPC_CHANNEL_INT_H
#define COR_GRPC_GRPC_CHANNEL_INT_H

#include "base/backoff.h"
#include "base/dlist.h"
#include "base/rand.h"
#include "grpc/grpc_call.h"
#include "grpc/grpc_channel.h"
#include "grpc/grpc_message_reader.h"
#include "http/client_conn.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "net/stream/net.h"

/* What a server may send on one stream before its messages are taken. */
#define COR_GRPC_WINDOW (1u << 20)

/* A connection of the channel's: the current one, or one that drains. */
struct cor_grpc_link {
    struct cor_grpc_channel *ch;
    struct cor_dlist link; /* ch->links */
    struct cor_client_conn *conn;
    const char *authority;
};

enum cor_grpc_channel_state {
    COR_GRPC_CHANNEL_CONNECTING,
    COR_GRPC_CHANNEL_READY,
    COR_GRPC_CHANNEL_FAILING,
    COR_GRPC_CHANNEL_CLOSING,
};

struct cor_grpc_target {
    struct cor_grpc_endpoint endpoint; /* with copies of the strings */
    char *authority;                   /* "host:port" */
};

struct cor_grpc_channel {
    struct cor_net *net;
    struct cor_grpc_channel_opts opts;
    char *server_name;
    struct cor_grpc_target targets[COR_GRPC_ENDPOINTS_MAX];
    size_t ntargets;
    size_t current; /* target in use, or tried last */
    size_t failed;  /* targets in a row that could not be reached */
    enum cor_grpc_channel_state state;
    struct cor_grpc_link *active; /* CONNECTING, READY */
    struct cor_dlist links;
    struct cor_dlist waiting; /* calls, until there is a connection */
    struct cor_dlist due;     /* calls whose on_done comes from the timer */
    struct cor_dlist calls;   /* the others */
    size_t ncalls;
    struct cor_timer retry; /* FAILING: the next round */
    struct cor_timer soon;  /* `due` */
    struct cor_backoff backoff;
    struct cor_rand rand;
    uint64_t ready_ms; /* since when READY */
    char why[160];     /* of the last failure */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/*   WAITING (for a connection) ──► RUNNING (a stream) ──► DONE (on_done is due or running) */
enum cor_grpc_call_state { COR_GRPC_CALL_WAITING, COR_GRPC_CALL_RUNNING, COR_GRPC_CALL_DONE };

struct cor_grpc_call {
    struct cor_grpc_channel *ch;
    struct cor_dlist link; /* ch->waiting, calls or due */
    enum cor_grpc_call_state state;
    struct cor_h2_stream *stream; /* RUNNING */
    const struct cor_grpc_call_cbs *cbs;
    cor_grpc_reply_cb on_reply; /* unary */
    void *arg;
    struct cor_timer deadline;
    uint64_t deadline_ms; /* on the loop's clock; 0: none */
    char *request;        /* WAITING: method and metadata, one after the other */
    struct cor_http_header *metadata;
    size_t nmetadata;
    struct cor_str method;
    struct cor_buf out; /* messages that wait, framed */
    size_t out_done;
    bool out_ends; /* cor_grpc_call_end() */
    bool is_short; /* on_writable is due */
    bool is_ended; /* END_STREAM was sent */
    bool is_busy;  /* its callbacks run: freeing waits */
    bool is_cancelled;
    bool peer_ended; /* on_end has come, messages may be left */
    struct cor_message_reader reader;
    size_t unconsumed;
    size_t nmessages;
    struct cor_str reply; /* unary, in reader.kept */
    int http_status;
    bool has_status;
    struct cor_grpc_status status;
    struct cor_buf message; /* status.message */
};

/* The channel has a connection, or has given up for now: a call that waits goes on or fails. */
void cor_grpc_call_start(struct cor_grpc_call *call);
void cor_grpc_call_fail(struct cor_grpc_call *call, enum cor_grpc_code code, const char *text,
                        bool is_untouched);

/* grpc_call_recv.c: what streams of calls are given. */
extern const struct cor_h2_stream_cbs cor_grpc_stream_cbs;

/* Sends what waits. */
void cor_grpc_call_pump(struct cor_grpc_call *call);

/* Shows the messages that have come, and the end when it has. */
void cor_grpc_call_deliver(struct cor_grpc_call *call);

/* on_done, now; the call is gone after it. */
void cor_grpc_call_finish(struct cor_grpc_call *call);
struct cor_grpc_call *cor_grpc_call_free(struct cor_grpc_call *call);

/* A call is gone. */
void cor_grpc_channel_call_gone(struct cor_grpc_channel *ch);
/* on_done of the call comes from a later turn. */
void cor_grpc_channel_set_due(struct cor_grpc_channel *ch, struct cor_grpc_call *call);

#endif
