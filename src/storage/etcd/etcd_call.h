/* One request and its answer: waits for the session, is sent again when that is safe, and ends
 * within its time.
 *
 * A read is sent again as long as there is time. A write is sent again only when etcd cannot have
 * seen it; when its answer was lost, it is not known whether it happened: -COR_ETIMEOUT.
 * Thread: the engine's loop.  Owner: itself, until on_done or a cancel. */
#ifndef COR_STORAGE_ETCD_ETCD_CALL_H
#define COR_STORAGE_ETCD_ETCD_CALL_H

#include "base/buf.h"
#include "storage/etcd/etcd_session.h"

struct etcd_method {
    const char *path;
    bool is_read; /* a read, or a write that is harmless when etcd performs it twice */
    uint32_t ms;  /* the call ends within this time */
};

extern const struct etcd_method cor_etcd_method_range, cor_etcd_method_txn, cor_etcd_method_compact,
    cor_etcd_method_grant, cor_etcd_method_revoke, cor_etcd_method_put, cor_etcd_method_status;
/* A range with the time that upstream gives a health check. */
extern const struct etcd_method cor_etcd_method_probe;

/* Borrowed while on_done runs. */
struct etcd_reply {
    int err; /* 0, or -COR_EUNREACHABLE (not done), -COR_ETIMEOUT, -COR_EEXPIRED, -COR_EFUTURE,
              * -COR_ENOTFOUND (no such lease), -COR_ETOOBIG, -COR_ENOSPC, -COR_EBUSY,
              * -COR_EFORBIDDEN, -COR_EINTERNAL, -COR_ENOMEM */
    const char *text;       /* of the failure */
    struct cor_str message; /* of success */
};

struct etcd_call {
    struct etcd_session *session;
    const struct etcd_method *method;
    struct cor_buf request;
    struct etcd_waiter waiter;
    struct cor_timer timer;
    uint64_t until_ms; /* when the call ends at the latest */
    struct etcd_stream *stream;
    unsigned logins;
    void (*on_done)(struct etcd_call *call, const struct etcd_reply *reply);
    void *arg;
};

/* `take_request` is empty afterwards. on_done is called once, never before this returns, and the
 * call is freed after it. 0, or -COR_ENOMEM: on_done is not called. */
int cor_etcd_call_start(struct etcd_session *session, const struct etcd_method *method,
                        struct cor_buf *take_request,
                        void (*on_done)(struct etcd_call *call, const struct etcd_reply *reply),
                        void *arg, struct etcd_call **ret_call);

/* Frees the call; on_done is not called. */
void cor_etcd_call_cancel(struct etcd_call *call);

#endif
