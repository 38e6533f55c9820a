/* clang-format off */
/* The key by which this server is listed; etcd_presence.h has the states.
 *
 *   grant a lease ──► put the key with it ──► open a keep-alive stream ──► one message each third of
 *   the TTL; an answer is expected before the next message
 *
 * Failures. What fails is tried again after a pause of a thirtieth of the TTL: with the same lease
 * when only the stream was lost, from a new lease when the grant or the put failed or etcd has no such
 * lease any more. A user who may not write the key ends it for good, and the lease is revoked. Memory
 * that is missing is a failure like any other.
 *
 * The end revokes the lease, which deletes the key; when etcd does not answer within
 * ETCD_PRESENCE_STOP_MS the lease is left to expire.
 * Thread: the engine's loop, except presence_init and presence_set. */
/* clang-format on */
#include "storage/etcd/etcd_presence.h"

#include <assert.h>

#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "storage/etcd/etcd_messages.h"

#define KEEPALIVE   "/etcdserverpb.Lease/LeaseKeepAlive"
#define REQUEST_MAX (ETCD_PRESENCE_BYTES_MAX + 64)
/* Parts of the TTL: the time between two messages, and the pause before a retry. */
#define KEEP_PART  3
#define PAUSE_PART 30
#define FAR_MS     3600000

static void presence_grant(struct etcd_presence *p);
static void presence_open_stream(struct etcd_presence *p);

/* The timer is always set (FAR_MS when nothing is to be done), so that setting it cannot fail. */
static void presence_set_timer(struct etcd_presence *p, uint64_t ms)
{
    int r = cor_timer_set(&p->timer, ms);

    assert(r == 0);
    (void)r;
}

static void presence_enter(struct etcd_presence *p, enum etcd_presence_state state, uint64_t ms)
{
    p->state = state;
    presence_set_timer(p, ms);
}

static void presence_pause(struct etcd_presence *p)
{
    presence_enter(p, ETCD_PRESENCE_PAUSED, p->ttl_ms / PAUSE_PART);
}

static void presence_restart(struct etcd_presence *p)
{
    p->lease = 0;
    presence_pause(p);
}

static void presence_set_off(struct etcd_presence *p)
{
    p->state = ETCD_PRESENCE_OFF;
    p->lease = 0;
    cor_timer_cancel(&p->timer);
    if (p->on_off)
        p->on_off(p->arg);
}

static int presence_call(struct etcd_presence *p, const struct etcd_method *method, int encoded,
                         struct cor_buf *take_request,
                         void (*on_done)(struct etcd_call *call, const struct etcd_reply *reply))
{
    int r = encoded;

    if (r == 0)
        r = cor_etcd_call_start(p->session, method, take_request, on_done, p, &p->call);
    cor_buf_deinit(take_request);
    return r;
}

/* The end of the lease. */

static void on_revoked(struct etcd_call *done, const struct etcd_reply *reply)
{
    struct etcd_presence *p = done->arg;

    (void)reply;
    p->call = NULL;
    presence_set_off(p);
}

static int presence_revoke(struct etcd_presence *p)
{
    struct cor_buf out;

    cor_buf_init(&out, REQUEST_MAX);
    presence_enter(p, ETCD_PRESENCE_REVOKING, ETCD_PRESENCE_STOP_MS);
    return presence_call(p, &cor_etcd_method_revoke, cor_etcd_encode_revoke(p->lease, &out), &out,
                         on_revoked);
}

/* A lease and the key. */

static void on_put(struct etcd_call *done, const struct etcd_reply *reply)
{
    struct etcd_presence *p = done->arg;

    p->call = NULL;
    if (reply->err == 0) {
        presence_open_stream(p);
    } else if (reply->err == -COR_EFORBIDDEN) {
        COR_LOG_DEBUG("etcd's user may not list this server", COR_F_STR("key", cor_buf_z(&p->key)));
        if (presence_revoke(p) < 0)
            presence_set_off(p);
    } else {
        presence_restart(p);
    }
}

static void presence_put(struct etcd_presence *p)
{
    struct cor_buf out;
    int r;

    cor_buf_init(&out, REQUEST_MAX);
    presence_enter(p, ETCD_PRESENCE_PUTTING, FAR_MS);
    r = cor_etcd_encode_put(cor_buf_str(&p->key), cor_buf_str(&p->value), p->lease, &out);
    if (presence_call(p, &cor_etcd_method_put, r, &out, on_put) < 0)
        presence_restart(p);
}

static void on_granted(struct etcd_call *done, const struct etcd_reply *reply)
{
    struct etcd_presence *p = done->arg;

    p->call = NULL;
    if (reply->err == 0 && cor_etcd_decode_grant(reply->message, &p->lease) == 0)
        presence_put(p);
    else
        presence_restart(p);
}

static void presence_grant(struct etcd_presence *p)
{
    struct cor_buf out;

    cor_buf_init(&out, REQUEST_MAX);
    presence_enter(p, ETCD_PRESENCE_GRANTING, FAR_MS);
    if (presence_call(p, &cor_etcd_method_grant,
                      cor_etcd_encode_grant((int64_t)(p->ttl_ms / 1000), &out), &out,
                      on_granted) < 0)
        presence_restart(p);
}

/* The stream. */

static void presence_lose_stream(struct etcd_presence *p)
{
    if (p->stream)
        cor_etcd_stream_cancel(COR_STEAL(p->stream));
    presence_pause(p);
}

static void on_message(void *arg, struct cor_str message)
{
    struct etcd_presence *p = arg;
    int64_t ttl_s;

    if (cor_etcd_decode_keep_alive(message, &ttl_s) < 0) {
        presence_lose_stream(p);
        return;
    }
    p->is_unanswered = false;
    if (ttl_s > 0)
        return;
    presence_lose_stream(p);
    presence_restart(p);
}

static void on_closed(void *arg, const struct etcd_failure *why)
{
    struct etcd_presence *p = arg;

    p->stream = NULL;
    p->wants_login = cor_etcd_session_wants_login(p->session, why->message);
    presence_lose_stream(p);
}

static void presence_keep(struct etcd_presence *p)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, REQUEST_MAX);
    r = p->is_unanswered ? -COR_ETIMEOUT : cor_etcd_encode_keep_alive(p->lease, &out);
    if (r == 0)
        r = cor_etcd_stream_send(p->stream, cor_buf_str(&out));
    if (r < 0) {
        presence_lose_stream(p);
        return;
    }
    p->is_unanswered = true;
    presence_enter(p, ETCD_PRESENCE_KEEPING, p->ttl_ms / KEEP_PART);
}

static void on_up(struct etcd_waiter *waiter)
{
    static const struct etcd_stream_cbs cbs = {.on_message = on_message, .on_closed = on_closed};
    struct etcd_presence *p = COR_CONTAINER_OF(waiter, struct etcd_presence, waiter);

    p->is_unanswered = false;
    if (cor_etcd_session_open_stream(p->session, KEEPALIVE, &cbs, p, &p->stream) < 0)
        presence_pause(p);
    else
        presence_keep(p);
}

static void presence_open_stream(struct etcd_presence *p)
{
    bool wants_login = p->wants_login;

    p->wants_login = false;
    presence_enter(p, ETCD_PRESENCE_OPENING, FAR_MS);
    cor_etcd_session_wait(p->session, &p->waiter,
                          wants_login ? ETCD_WAIT_LOGIN : ETCD_WAIT_CONNECTION);
}

static void presence_drop_all(struct etcd_presence *p)
{
    if (p->call)
        cor_etcd_call_cancel(COR_STEAL(p->call));
    if (p->stream)
        cor_etcd_stream_cancel(COR_STEAL(p->stream));
    cor_etcd_waiter_leave(&p->waiter);
}

static void on_timer(struct cor_timer *timer)
{
    struct etcd_presence *p = COR_CONTAINER_OF(timer, struct etcd_presence, timer);

    switch (p->state) {
    case ETCD_PRESENCE_PAUSED:
        if (p->lease)
            presence_open_stream(p);
        else
            presence_grant(p);
        break;
    case ETCD_PRESENCE_KEEPING:
        presence_keep(p);
        break;
    case ETCD_PRESENCE_REVOKING:
        presence_drop_all(p);
        presence_set_off(p);
        break;
    default:
        presence_set_timer(p, FAR_MS);
    }
}

void cor_etcd_presence_init(struct etcd_presence *p)
{
    *p = (struct etcd_presence){.state = ETCD_PRESENCE_OFF};
    cor_buf_init(&p->key, ETCD_PRESENCE_BYTES_MAX);
    cor_buf_init(&p->value, ETCD_PRESENCE_BYTES_MAX);
    cor_etcd_waiter_init(&p->waiter, on_up);
}

void cor_etcd_presence_deinit(struct etcd_presence *p)
{
    assert(p->state == ETCD_PRESENCE_OFF);
    cor_buf_deinit(&p->key);
    cor_buf_deinit(&p->value);
}

int cor_etcd_presence_set(struct etcd_presence *p, struct cor_str key, struct cor_str value)
{
    int r = key.n + value.n > ETCD_PRESENCE_BYTES_MAX ? -COR_ETOOBIG : cor_buf_adds(&p->key, key);

    return r < 0 ? r : cor_buf_adds(&p->value, value);
}

void cor_etcd_presence_start(struct etcd_presence *p, struct etcd_session *session, uint64_t ttl_s)
{
    p->session = session;
    p->ttl_ms = ttl_s * 1000;
    cor_timer_init(&p->timer, cor_etcd_session_loop(session), on_timer);
    if (cor_timer_set(&p->timer, FAR_MS) == 0)
        presence_grant(p);
}

bool cor_etcd_presence_stop(struct etcd_presence *p, void (*on_off)(void *arg), void *arg)
{
    if (p->state == ETCD_PRESENCE_OFF)
        return true;
    if (p->state != ETCD_PRESENCE_REVOKING) {
        presence_drop_all(p);
        if (!p->lease || presence_revoke(p) < 0) {
            presence_set_off(p);
            return true;
        }
    }
    p->on_off = on_off;
    p->arg = arg;
    return false;
}
