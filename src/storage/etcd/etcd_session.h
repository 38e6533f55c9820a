/* clang-format off */
/* The session with etcd: a gRPC channel to its members, the login, and the queue of those who wait
 * for both.
 *
 *   DOWN ──► GREETING ──► UP
 *     ▲          │         │
 *     └──────────┴─────────┘ the connection is lost; the channel finds the next member
 *
 * GREETING: the session logs in when there is a user, and asks the member for its version.
 * Thread: the engine's loop.  Owner: the engine. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_ETCD_SESSION_H
#define COR_STORAGE_ETCD_ETCD_SESSION_H

#include <stdbool.h>

#include "base/dlist.h"
#include "base/str.h"
#include "grpc/grpc_status.h"
#include "loop/timer.h"
#include "meta/status/status.h"
#include "storage/engine/engine.h"

struct etcd_session;
struct etcd_stream;

/* Reads files and addresses, connects to nothing yet. -COR_EINVAL, -COR_EIO (a file), -COR_ENOMEM.
 */
int cor_etcd_session_new(const struct cor_etcd_config *config, struct cor_loop *loop,
                         struct etcd_session **ret_session, struct cor_status *reterr_status);

/* On the loop's own thread: begins to connect. 0, or -COR_EINVAL, -COR_ENOMEM: it can be tried
 * again. */
int cor_etcd_session_start(struct etcd_session *s);

/* Ends the connection. `on_closed` is called on the loop when the session was freed. The caller has
 * closed all streams, and nobody waits. */
void cor_etcd_session_close(struct etcd_session *s, void (*on_closed)(void *arg), void *arg);

struct cor_loop *cor_etcd_session_loop(const struct etcd_session *s);

/* The text of the last failure since the session was last up, or "no connection yet". */
const char *cor_etcd_session_trouble(const struct etcd_session *s);

/* Properties of the member that is connected, or was last: see etcd_member_status. */
bool cor_etcd_session_has_progress(const struct etcd_session *s);
bool cor_etcd_session_keeps_deletions(const struct etcd_session *s);

enum etcd_wait_when {
    ETCD_WAIT_CONNECTION, /* called as soon as the session is up */
    ETCD_WAIT_RETRY,      /* something just failed: called after a short pause, when it is up */
    ETCD_WAIT_LOGIN,      /* the login has expired: called when it is up with a new one */
};

/* Somebody who needs the session to be up; embedded in the struct that waits. */
struct etcd_waiter {
    struct cor_dlist link;
    void (*on_up)(struct etcd_waiter *waiter);
};

void cor_etcd_waiter_init(struct etcd_waiter *waiter, void (*on_up)(struct etcd_waiter *waiter));
/* Registers the waiter. on_up is called once, never before this returns. */
void cor_etcd_session_wait(struct etcd_session *s, struct etcd_waiter *waiter,
                           enum etcd_wait_when when);
/* on_up is not called any more. Allowed when the waiter does not wait. */
void cor_etcd_waiter_leave(struct etcd_waiter *waiter);

/* Why a call ended. */
struct etcd_failure {
    enum cor_grpc_code code;
    const char *message; /* etcd's, or what happened to the connection */
    bool is_untouched;   /* etcd did not begin with the call: it can be sent again */
};

struct etcd_stream_cbs {
    void (*on_message)(void *arg,
                       struct cor_str message); /* the stream may be closed from inside */
    /* The stream was freed. COR_GRPC_OK: etcd ended the stream without an error. */
    void (*on_closed)(void *arg, const struct etcd_failure *why);
};

/* The answer of a call of one message: `why` is NULL, or there is no message. The stream is freed
 * after it. */
typedef void (*etcd_reply_cb)(void *arg, const struct etcd_failure *why, struct cor_str message);

/* From on_up. Nothing is called back before it returns. 0, or -COR_EBUSY, -COR_ECANCELED (not up),
 * -COR_ETOOBIG, -COR_ENOMEM. `ret_stream` is for cor_etcd_stream_cancel() only. */
int cor_etcd_session_unary(struct etcd_session *s, const char *method, struct cor_str message,
                           uint64_t timeout_ms, etcd_reply_cb on_reply, void *arg,
                           struct etcd_stream **ret_stream);
int cor_etcd_session_open_stream(struct etcd_session *s, const char *method,
                                 const struct etcd_stream_cbs *cbs, void *arg,
                                 struct etcd_stream **ret_stream);
/* One message, copied. 0, -COR_ENOMEM, -COR_EBUSY (too much waits), -COR_ECANCELED. */
int cor_etcd_stream_send(struct etcd_stream *stream, struct cor_str message);
/* Ends the call and frees the stream at once; none of its callbacks is called afterwards. */
void cor_etcd_stream_cancel(struct etcd_stream *stream);

/* Does the text (of a stream's end, or the reason of a canceled watch) mean that the login has
 * expired, and is there a user to log in again? */
bool cor_etcd_session_wants_login(const struct etcd_session *s, const char *message);
/* Does the text mean that etcd refuses the user? A retry would fail the same way. */
bool cor_etcd_is_refusal(const char *message);
/* Reports why a call or a stream ended. A member without a leader cannot serve, but another member
 * may, so the session moves on to the next one. Other reasons are ignored. */
void cor_etcd_session_blame_member(struct etcd_session *s, const struct etcd_failure *why);

#endif
