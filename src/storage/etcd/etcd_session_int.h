/* Internals of a session, for etcd_session.c and etcd_stream.c only. */
#ifndef COR_STORAGE_ETCD_ETCD_SESSION_INT_H
#define COR_STORAGE_ETCD_ETCD_SESSION_INT_H

#include "base/buf.h"
#include "grpc/grpc_call.h"
#include "grpc/grpc_channel.h"
#include "storage/etcd/etcd_endpoint.h"
#include "storage/etcd/etcd_secrets.h"
#include "storage/etcd/etcd_session.h"

#define ETCD_TROUBLE_MAX 384
/* Calls that run at once. The channel takes a few more, which are left for greetings. */
#define ETCD_STREAMS_MAX (COR_GRPC_CALLS_MAX - 8)

enum etcd_session_state {
    ETCD_SESSION_DOWN,
    ETCD_SESSION_GREETING,
    ETCD_SESSION_UP,
    ETCD_SESSION_CLOSED,
};

struct etcd_session {
    struct cor_loop *loop;
    struct cor_net *net;
    struct etcd_endpoints endpoints;
    struct etcd_secrets secrets;
    struct cor_buf token; /* of the login; empty: none */

    enum etcd_session_state state;
    struct cor_grpc_channel *channel;
    size_t closing; /* channels whose close callback has not come yet */
    size_t first;   /* the endpoint that the channel tries first */
    size_t nstreams;
    bool has_progress, keeps_deletions;
    char trouble[ETCD_TROUBLE_MAX];

    struct cor_dlist waiting;  /* those who begin when the session is UP */
    struct cor_dlist retrying; /* those who wait for retry_timer before that */
    struct cor_timer retry_timer;
    struct cor_mail turn; /* starts those in `waiting`, greets when that is due */
    bool turn_posted;
    bool retries_soon;
    bool greets_late;               /* the next greeting comes after the pause, not at once */
    struct cor_grpc_call *greeting; /* the login, then the question for the version */

    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* A waiter may begin, or a greeting is due: posts a turn, unless one is posted already. */
void cor_etcd_session_post_turn(struct etcd_session *s);

/* Is the session up, with room for one more call, and does somebody wait for that? */
bool cor_etcd_session_can_start(const struct etcd_session *s);

/* The headers that every call sends. Returns their number. */
size_t cor_etcd_session_metadata(const struct etcd_session *s, struct cor_http_header headers[2]);

#endif
