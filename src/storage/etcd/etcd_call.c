/* clang-format off */
/* One request and its answer.
 *
 *   start ──► wait for the session (CONNECT_MS at a time) ──► send ──► answer ──► on_done
 *                  ▲                                            │
 *                  └── a failure after which sending again is safe ┘
 *
 * A failure is one of four things, in this order:
 *   the login has expired            log in again and send again, LOGINS_MAX times
 *   it passes, and the call is a read, or etcd has not begun with it
 *                                    send again after a pause, while there is time
 *   it passes, and it is a write     -COR_ETIMEOUT: nobody knows whether etcd has done it
 *   anything else                    the error of its text or code (failure_err())
 * No connection within CONNECT_MS is -COR_EUNREACHABLE; no answer within the method's time is
 * -COR_ETIMEOUT. The timer is always set, so that a call ends whatever else happens.
 *
 * Thread: the engine's loop. */
/* clang-format on */
#include "storage/etcd/etcd_call.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"

/* etcd itself gives up a proposal after 7 s. */
#define CALL_MS  15000
#define PROBE_MS 2000
/* A call waits this long for a connection. */
#define CONNECT_MS 2000
#define LOGINS_MAX 2
/* The channel ends a call at its deadline. The timer is this much later, in case it does not. */
#define GRACE_MS     1000
#define TROUBLE_TEXT 512

#define KV "/etcdserverpb.KV/"
const struct etcd_method cor_etcd_method_range = {KV "Range", true, CALL_MS};
const struct etcd_method cor_etcd_method_probe = {KV "Range", true, PROBE_MS};
const struct etcd_method cor_etcd_method_txn = {KV "Txn", false, CALL_MS};
/* Safe to send twice: the second time etcd answers that the revision is compacted. */
const struct etcd_method cor_etcd_method_compact = {KV "Compact", true, CALL_MS};
/* Safe to send twice: a lease whose answer was lost has no keys and expires. */
const struct etcd_method cor_etcd_method_grant = {"/etcdserverpb.Lease/LeaseGrant", true, CALL_MS};
/* Safe to send twice: the second time there is no such lease. */
const struct etcd_method cor_etcd_method_revoke = {"/etcdserverpb.Lease/LeaseRevoke", true,
                                                   CALL_MS};
/* Safe to send twice: it is used for a key that nobody else writes. */
const struct etcd_method cor_etcd_method_put = {KV "Put", true, CALL_MS};
const struct etcd_method cor_etcd_method_status = {"/etcdserverpb.Maintenance/Status", true,
                                                   PROBE_MS};

static void call_leave_session(struct etcd_call *call)
{
    if (call->stream)
        cor_etcd_stream_cancel(COR_STEAL(call->stream));
    cor_etcd_waiter_leave(&call->waiter);
    cor_timer_cancel(&call->timer);
}

static void call_free(struct etcd_call *call)
{
    call_leave_session(call);
    cor_buf_deinit(&call->request);
    cor_free(call);
}

static void call_finish(struct etcd_call *call, int err, const char *text, struct cor_str message)
{
    const struct etcd_reply reply = {.err = err, .text = text, .message = message};

    /* on_done may close the session, so the call leaves it before. */
    call_leave_session(call);
    call->on_done(call, &reply);
    call_free(call);
}

static void call_fail(struct etcd_call *call, int err, const char *text)
{
    call_finish(call, err, text, cor_str("", 0));
}

static void call_fail_unreachable(struct etcd_call *call)
{
    char text[TROUBLE_TEXT];

    snprintf(text, sizeof(text), "etcd cannot be reached: %s",
             cor_etcd_session_trouble(call->session));
    call_fail(call, -COR_EUNREACHABLE, text);
}

static uint64_t call_left_ms(const struct etcd_call *call)
{
    uint64_t now = cor_loop_now_ms(call->timer.loop);

    return now < call->until_ms ? call->until_ms - now : 0;
}

static void call_wait_for(struct etcd_call *call, enum etcd_wait_when when)
{
    uint64_t left = call_left_ms(call);

    (void)cor_timer_set(&call->timer, left < CONNECT_MS ? left : CONNECT_MS);
    cor_etcd_session_wait(call->session, &call->waiter, when);
}

static void on_timer(struct cor_timer *timer)
{
    struct etcd_call *call = COR_CONTAINER_OF(timer, struct etcd_call, timer);

    if (!call->stream)
        call_fail_unreachable(call);
    else
        call_fail(call, -COR_ETIMEOUT, "request timed out: etcd did not answer");
}

struct row {
    const char *text;
    int err;
};

/* etcd's texts, without the "etcdserver: " in front. */
static int failure_err(const struct etcd_failure *why)
{
    static const struct row rows[] = {
        {"mvcc: required revision has been compacted", -COR_EEXPIRED},
        {"mvcc: required revision is a future revision", -COR_EFUTURE},
        {"requested lease not found", -COR_ENOTFOUND},
        {"request is too large", -COR_ETOOBIG},
        {"mvcc: database space exceeded", -COR_ENOSPC},
        {"too many requests", -COR_EBUSY},
        {"permission denied", -COR_EFORBIDDEN},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        if (strstr(why->message, rows[i].text))
            return rows[i].err;
    switch (why->code) {
    case COR_GRPC_RESOURCE_EXHAUSTED:
        return -COR_ETOOBIG;
    case COR_GRPC_UNAVAILABLE:
    case COR_GRPC_CANCELLED:
    case COR_GRPC_DEADLINE_EXCEEDED:
        return -COR_ETIMEOUT;
    default:
        return -COR_EINTERNAL;
    }
}

/* A retry may succeed: the connection was lost, or etcd has no quorum at present. */
static bool failure_is_passing(const struct etcd_failure *why)
{
    return why->code == COR_GRPC_UNAVAILABLE || why->code == COR_GRPC_CANCELLED;
}

/* etcd has not begun with the request: the stream was refused, or the member had no leader. */
static bool failure_is_undone(const struct etcd_failure *why)
{
    return why->is_untouched || strstr(why->message, "etcdserver: no leader");
}

/* Says of a connection that ended what it means for the request; what etcd itself says stays. */
static void call_fail_passing(struct etcd_call *call, const struct etcd_failure *why)
{
    char text[TROUBLE_TEXT];

    if (cor_str_starts(cor_strz(why->message), COR_STR("etcdserver: "))) {
        call_fail(call, failure_err(why), why->message);
        return;
    }
    snprintf(text, sizeof(text), "the answer of etcd was lost (%s)%s", why->message,
             call->method->is_read ? "" : ", and the write may have been made");
    call_fail(call, failure_err(why), text);
}

static void call_take_failure(struct etcd_call *call, const struct etcd_failure *why)
{
    if (cor_etcd_session_wants_login(call->session, why->message) && call->logins++ < LOGINS_MAX) {
        call_wait_for(call, ETCD_WAIT_LOGIN);
        return;
    }
    cor_etcd_session_blame_member(call->session, why);
    if (failure_is_passing(why) && (call->method->is_read || failure_is_undone(why)) &&
        call_left_ms(call) > 0)
        call_wait_for(call, ETCD_WAIT_RETRY);
    else if (failure_is_passing(why))
        call_fail_passing(call, why);
    else
        call_fail(call, failure_err(why), why->message);
}

static void on_reply(void *arg, const struct etcd_failure *why, struct cor_str message)
{
    struct etcd_call *call = arg;

    call->stream = NULL;
    if (why)
        call_take_failure(call, why);
    else
        call_finish(call, 0, NULL, message);
}

static void on_up(struct etcd_waiter *waiter)
{
    struct etcd_call *call = COR_CONTAINER_OF(waiter, struct etcd_call, waiter);
    uint64_t left = call_left_ms(call);
    int r = cor_etcd_session_unary(call->session, call->method->path, cor_buf_str(&call->request),
                                   left ? left : 1, on_reply, call, &call->stream);

    if (r == -COR_EBUSY || r == -COR_ECANCELED)
        call_wait_for(call, ETCD_WAIT_RETRY);
    else if (r < 0)
        call_fail(call, r, cor_err_text(r));
    else
        (void)cor_timer_set(&call->timer, left + GRACE_MS);
}

int cor_etcd_call_start(struct etcd_session *session, const struct etcd_method *method,
                        struct cor_buf *take_request,
                        void (*on_done)(struct etcd_call *call, const struct etcd_reply *reply),
                        void *arg, struct etcd_call **ret_call)
{
    struct etcd_call *call = cor_calloc(1, sizeof(*call));
    struct cor_loop *loop = cor_etcd_session_loop(session);

    assert(cor_loop_is_current(loop) && on_done);
    if (!call)
        return -COR_ENOMEM;
    call->session = session;
    call->method = method;
    call->on_done = on_done;
    call->arg = arg;
    cor_etcd_waiter_init(&call->waiter, on_up);
    cor_timer_init(&call->timer, loop, on_timer);
    call->until_ms = cor_loop_now_ms(loop) + method->ms;
    if (cor_timer_set(&call->timer, CONNECT_MS) < 0) {
        cor_free(call);
        return -COR_ENOMEM;
    }
    call->request = *take_request;
    *take_request = (struct cor_buf){.max = take_request->max};
    cor_etcd_session_wait(session, &call->waiter, ETCD_WAIT_CONNECTION);
    if (ret_call)
        *ret_call = call;
    return 0;
}

void cor_etcd_call_cancel(struct etcd_call *call)
{
    call_free(call);
}
