/* clang-format off */
/* One gRPC call: unary, or a stream of messages in either direction or both. Messages are bytes;
 * what they mean is the caller's. Owner: its opener, from cor_grpc_call_open() until on_done has
 * returned or cor_grpc_call_cancel() is called.  Thread: the channel's loop. No function calls back
 * before it returns; from callbacks every function here may be called.
 *
 *   unary:   cor_grpc_unary() ──► on_reply
 *   stream:  cor_grpc_call_open() ──► _send() … _end() │ on_message … ──► on_done */
/* clang-format on */
#ifndef COR_GRPC_GRPC_CALL_H
#define COR_GRPC_GRPC_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "grpc/grpc_status.h"
#include "net/session/header.h"

struct cor_grpc_call;
struct cor_grpc_channel;

/* Messages of one call that wait for the server to read: -COR_EBUSY beyond it. One message of any
 * permitted size always fits an empty queue. */
#define COR_GRPC_SEND_QUEUE_BYTES (256u * 1024)
#define COR_GRPC_METADATA_MAX     16

struct cor_grpc_call_cbs {
    /* A whole message, in order; borrowed while it runs. */
    void (*on_message)(struct cor_grpc_call *call, struct cor_str message, void *arg);
    /* After a send that was refused with -COR_EBUSY: the queue is empty again. May be NULL. */
    void (*on_writable)(struct cor_grpc_call *call, void *arg);
    /* The call is over; comes once, last, and the call's memory is gone after it. A status that did
     * not come from the server: UNAVAILABLE (no connection, or it broke), DEADLINE_EXCEEDED,
     * CANCELLED (the channel is closed), RESOURCE_EXHAUSTED (a message above recv_max, or out of
     * memory), INTERNAL or UNKNOWN (it does not speak gRPC). */
    void (*on_done)(struct cor_grpc_call *call, const struct cor_grpc_status *status, void *arg);
};

struct cor_grpc_call_opts {
    struct cor_str method; /* "/etcdserverpb.KV/Range"; copied */
    /* At most COR_GRPC_METADATA_MAX, names in lower case ("token"); copied. */
    const struct cor_http_header *metadata;
    size_t nmetadata;
    uint64_t timeout_ms; /* also told to the server; 0: none */
};

/* 0, -COR_EBUSY (COR_GRPC_CALLS_MAX), -COR_ETOOBIG (metadata), -COR_ENOMEM. That there is no
 * connection comes as on_done. `cbs` must stay valid. */
int cor_grpc_call_open(struct cor_grpc_channel *ch, const struct cor_grpc_call_opts *opts,
                       const struct cor_grpc_call_cbs *cbs, void *arg,
                       struct cor_grpc_call **ret_call);

/* One message: all the spans, copied. 0, -COR_ETOOBIG (above COR_GRPC_SEND_MAX), -COR_EBUSY (the
 * queue is full: on_writable comes), -COR_ENOMEM, -COR_ECANCELED (on_done is due). Not after
 * cor_grpc_call_end(). */
int cor_grpc_call_send(struct cor_grpc_call *call, const struct cor_str *spans, size_t nspans);

/* No more messages from this side. */
void cor_grpc_call_end(struct cor_grpc_call *call);

/* Gives the call up; the server is told. No callback after this, and the memory is gone. */
void cor_grpc_call_cancel(struct cor_grpc_call *call);

/* `message` is the reply, empty unless status->code is OK; both are borrowed while it runs, and the
 * call is gone after it. */
typedef void (*cor_grpc_reply_cb)(const struct cor_grpc_status *status, struct cor_str message,
                                  void *arg);

/* Open, send one, end, and take one. Fails as cor_grpc_call_open() and _send(), and then on_reply
 * does not come. `ret_call` (may be NULL) is for cor_grpc_call_cancel() only, until on_reply. */
int cor_grpc_unary(struct cor_grpc_channel *ch, const struct cor_grpc_call_opts *opts,
                   const struct cor_str *spans, size_t nspans, cor_grpc_reply_cb on_reply,
                   void *arg, struct cor_grpc_call **ret_call);

#endif
