/* clang-format off */
/* The session: one gRPC channel, the login, and the queue of those who wait for both.
 *
 *   session_start ──► channel ──► GREETING: log in (with a user) ──► ask the version ──► UP
 *                                                                                        │
 *   UP: each turn starts waiters, as many as the channel has room for ◄──────────────────┘
 *
 * Work is done in turns: whatever may let a waiter begin (the session is up, a call has ended, the
 * timer has fired, the channel changed) posts one mail, on_turn(), so that nothing is called back
 * from inside a caller's function.
 *
 * Failures.
 *   the connection        the channel goes on to the next member by itself and reports it
 *                         (on_state()): UP becomes DOWN, and the next turn greets again
 *   the greeting          DOWN; the next greeting follows after GREETING_PAUSE_MS, or at once when
 *                         the channel has found another member
 *   the login has expired a waiter says so (ETCD_WAIT_LOGIN): DOWN, and the greeting logs in again
 *   a member has no leader cor_etcd_session_blame_member() opens a channel that begins with the next
 *                         member and closes this one
 *   one call              its waiter waits RETRY_MS and begins again
 * The text of the last failure is kept in `trouble`, for messages to users.
 *
 * End. The session is CLOSED at once; its memory is freed when the channels, the posted turn and the
 * net are gone, and then on_closed is called.
 *
 * Thread: the engine's loop. */
/* clang-format on */
#include "storage/etcd/etcd_session_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "storage/etcd/etcd_messages.h"

/* A member whose handshakes take longer is skipped. */
#define CONNECT_MS  3000
#define GREETING_MS 5000
/* etcd ends connections that ping more often than every 5 s. */
#define KEEPALIVE_MS         6000
#define KEEPALIVE_TIMEOUT_MS 3000
/* A call that failed is tried again after this pause. */
#define RETRY_MS 50
/* The pause before the next greeting, unless the channel connects before. */
#define GREETING_PAUSE_MS  500
#define IDLE_MS            3600000
#define UNREADABLE         "its answer cannot be read"
#define TOKEN_MAX          8192
#define GREETING_BYTES_MAX 8192
static void session_greet(struct etcd_session *s);
static void session_finish_close(struct etcd_session *s);

struct cor_loop *cor_etcd_session_loop(const struct etcd_session *s)
{
    return s->loop;
}

const char *cor_etcd_session_trouble(const struct etcd_session *s)
{
    return s->trouble[0] ? s->trouble : "no connection yet";
}

bool cor_etcd_session_has_progress(const struct etcd_session *s)
{
    return s->has_progress;
}

bool cor_etcd_session_keeps_deletions(const struct etcd_session *s)
{
    return s->keeps_deletions;
}

static void session_set_trouble(struct etcd_session *s, const char *text, size_t n)
{
    snprintf(s->trouble, sizeof(s->trouble), "%.*s", (int)n, text);
}

/* Waiters. */

void cor_etcd_waiter_init(struct etcd_waiter *waiter, void (*on_up)(struct etcd_waiter *waiter))
{
    cor_dlist_init(&waiter->link);
    waiter->on_up = on_up;
}

void cor_etcd_waiter_leave(struct etcd_waiter *waiter)
{
    cor_dlist_remove(&waiter->link);
}

void cor_etcd_session_post_turn(struct etcd_session *s)
{
    if (s->turn_posted)
        return;
    s->turn_posted = true;
    cor_loop_post_always(s->loop, &s->turn);
}

bool cor_etcd_session_can_start(const struct etcd_session *s)
{
    return s->state == ETCD_SESSION_UP && s->nstreams < ETCD_STREAMS_MAX &&
           !cor_dlist_empty(&s->waiting);
}

/* A closed session has no waiters: the last turn only lets the close go on. */
static void on_turn(struct cor_mail *mail)
{
    struct etcd_session *s = COR_CONTAINER_OF(mail, struct etcd_session, turn);

    assert(cor_loop_is_current(s->loop));
    s->turn_posted = false;
    if (s->state == ETCD_SESSION_DOWN && !s->greets_late)
        session_greet(s);
    while (cor_etcd_session_can_start(s)) {
        struct etcd_waiter *waiter =
            COR_CONTAINER_OF(cor_dlist_pop(&s->waiting), struct etcd_waiter, link);

        waiter->on_up(waiter);
    }
    session_finish_close(s);
}

/* The timer is always set (IDLE_MS when nothing is to be tried again), because moving a timer that
 * is set needs no memory and cannot fail. */
static void session_set_retry_timer(struct etcd_session *s, uint64_t ms)
{
    int r = cor_timer_set(&s->retry_timer, ms);

    assert(r == 0);
    (void)r;
}

static void session_retry_soon(struct etcd_session *s)
{
    if (s->retries_soon)
        return;
    s->retries_soon = true;
    session_set_retry_timer(s, RETRY_MS);
}

static void on_retry(struct cor_timer *timer)
{
    struct etcd_session *s = COR_CONTAINER_OF(timer, struct etcd_session, retry_timer);

    s->retries_soon = s->greets_late = false;
    session_set_retry_timer(s, IDLE_MS);
    cor_dlist_splice(&s->waiting, &s->retrying);
    cor_etcd_session_post_turn(s);
}

void cor_etcd_session_wait(struct etcd_session *s, struct etcd_waiter *waiter,
                           enum etcd_wait_when when)
{
    assert(cor_loop_is_current(s->loop) && s->state != ETCD_SESSION_CLOSED);
    assert(waiter->on_up && cor_dlist_empty(&waiter->link));
    if (when == ETCD_WAIT_LOGIN && s->state == ETCD_SESSION_UP)
        s->state = ETCD_SESSION_DOWN;
    if (when == ETCD_WAIT_RETRY) {
        cor_dlist_push(&s->retrying, &waiter->link);
        session_retry_soon(s);
    } else {
        cor_dlist_push(&s->waiting, &waiter->link);
        cor_etcd_session_post_turn(s);
    }
}

/* The greeting. */

/* `hasleader` makes etcd end a watch whose member has lost its leader; without it the watch would
 * be silent. */
size_t cor_etcd_session_metadata(const struct etcd_session *s, struct cor_http_header headers[2])
{
    size_t n = 0;

    headers[n++] = (struct cor_http_header){COR_STR("hasleader"), COR_STR("true")};
    if (s->token.n > 0)
        headers[n++] = (struct cor_http_header){COR_STR("token"), cor_buf_str(&s->token)};
    return n;
}

bool cor_etcd_session_wants_login(const struct etcd_session *s, const char *message)
{
    return s->secrets.user && (strstr(message, "invalid auth token") ||
                               strstr(message, "revision of auth store is old") ||
                               strstr(message, "user name is empty"));
}

bool cor_etcd_is_refusal(const char *message)
{
    return strstr(message, "permission denied") != NULL;
}

/* A greeting has failed. The retry timer greets again, and an earlier retry of a call does too. */
static void session_set_down(struct etcd_session *s, const char *text, size_t n)
{
    session_set_trouble(s, text, n);
    s->state = ETCD_SESSION_DOWN;
    s->greets_late = true;
    if (!s->retries_soon)
        session_set_retry_timer(s, GREETING_PAUSE_MS);
}

static void on_version(const struct cor_grpc_status *status, struct cor_str message, void *arg)
{
    struct etcd_session *s = arg;
    struct etcd_member_status member;

    s->greeting = NULL;
    if (status->code == COR_GRPC_PERMISSION_DENIED) {
        /* From etcd 3.6 on only root may ask; every 3.6 has both properties. */
        member.has_progress = member.keeps_deletions = true;
    } else if (status->code != COR_GRPC_OK) {
        session_set_down(s, status->message.p, status->message.n);
        return;
    } else if (cor_etcd_decode_status(message, &member) < 0) {
        session_set_down(s, UNREADABLE, sizeof(UNREADABLE) - 1);
        return;
    }
    s->has_progress = member.has_progress;
    s->keeps_deletions = member.keeps_deletions;
    s->state = ETCD_SESSION_UP;
    s->trouble[0] = '\0';
    cor_etcd_session_post_turn(s);
}

static void session_ask(struct etcd_session *s, const char *method, struct cor_str message,
                        cor_grpc_reply_cb on_reply)
{
    struct cor_http_header headers[2];
    const struct cor_grpc_call_opts opts = {.method = cor_strz(method),
                                            .metadata = headers,
                                            .nmetadata = cor_etcd_session_metadata(s, headers),
                                            .timeout_ms = GREETING_MS};
    int r = cor_grpc_unary(s->channel, &opts, &message, 1, on_reply, s, &s->greeting);

    if (r < 0)
        session_set_down(s, cor_err_text(r), strlen(cor_err_text(r)));
}

static void session_ask_version(struct etcd_session *s)
{
    session_ask(s, "/etcdserverpb.Maintenance/Status", cor_str("", 0), on_version);
}

static void on_token(const struct cor_grpc_status *status, struct cor_str message, void *arg)
{
    struct etcd_session *s = arg;

    s->greeting = NULL;
    if (status->code != COR_GRPC_OK)
        session_set_down(s, status->message.p, status->message.n);
    else if (cor_etcd_decode_authenticate(message, &s->token) < 0)
        session_set_down(s, UNREADABLE, sizeof(UNREADABLE) - 1);
    else
        session_ask_version(s);
}

static void session_log_in(struct etcd_session *s)
{
    struct cor_buf out;
    int r;

    cor_buf_reset(&s->token);
    cor_buf_init_secret(&out, GREETING_BYTES_MAX);
    r = cor_etcd_encode_authenticate(s->secrets.user, cor_buf_z(&s->secrets.password), &out);
    if (r == 0)
        session_ask(s, "/etcdserverpb.Auth/Authenticate", cor_buf_str(&out), on_token);
    else
        session_set_down(s, cor_err_text(r), strlen(cor_err_text(r)));
    cor_buf_deinit(&out);
}

static void session_greet(struct etcd_session *s)
{
    s->state = ETCD_SESSION_GREETING;
    if (s->secrets.user)
        session_log_in(s);
    else
        session_ask_version(s);
}

/* The channel. */

static void on_state(struct cor_grpc_channel *channel, int r, const char *why, void *arg)
{
    struct etcd_session *s = arg;

    if (channel != s->channel)
        return;
    if (r < 0)
        session_set_trouble(s, why, strlen(why));
    if (r < 0 && s->state == ETCD_SESSION_UP)
        s->state = ETCD_SESSION_DOWN;
    s->greets_late = false;
    cor_etcd_session_post_turn(s);
}

static int session_open_channel(struct etcd_session *s)
{
    struct cor_grpc_endpoint endpoints[ETCD_ENDPOINTS_MAX];
    const struct cor_grpc_channel_opts opts = {
        .endpoints = endpoints,
        .nendpoints = s->endpoints.n,
        .tls = s->endpoints.is_tls ? s->secrets.tls : NULL,
        .connect_timeout_ms = CONNECT_MS,
        .keepalive_ms = KEEPALIVE_MS,
        .keepalive_timeout_ms = KEEPALIVE_TIMEOUT_MS,
        .on_state = on_state,
        .arg = s,
    };

    for (size_t i = 0; i < s->endpoints.n; i++) {
        const struct etcd_endpoint *e = &s->endpoints.at[(s->first + i) % s->endpoints.n];

        endpoints[i] = (struct cor_grpc_endpoint){.host = e->host, .port = e->port};
    }
    return cor_grpc_channel_open(s->net, &opts, &s->channel);
}

static void on_channel_closed(void *arg)
{
    struct etcd_session *s = arg;

    s->closing--;
    session_finish_close(s);
}

static void session_close_channel(struct etcd_session *s)
{
    struct cor_grpc_channel *channel = COR_STEAL(s->channel);

    if (s->greeting)
        cor_grpc_call_cancel(COR_STEAL(s->greeting));
    if (!channel)
        return;
    s->closing++;
    cor_grpc_channel_close(channel, on_channel_closed, s);
}

/* The channel goes on to the next member only when the connection fails. A member without a leader
 * keeps its connections, so the session opens a channel that begins with the next member. When that
 * fails for want of memory the session stays as it is, and the next call that fails tries again. */
void cor_etcd_session_blame_member(struct etcd_session *s, const struct etcd_failure *why)
{
    struct cor_grpc_channel *old = s->channel;

    if (s->state != ETCD_SESSION_UP || s->endpoints.n < 2 ||
        !strstr(why->message, "etcdserver: no leader"))
        return;
    s->first = (s->first + 1) % s->endpoints.n;
    if (session_open_channel(s) < 0)
        return;
    session_set_trouble(s, why->message, strlen(why->message));
    s->state = ETCD_SESSION_DOWN;
    s->closing++;
    cor_grpc_channel_close(old, on_channel_closed, s);
    cor_etcd_session_post_turn(s);
}

/* Opening and closing. */

static void session_free(struct etcd_session *s)
{
    cor_etcd_endpoints_deinit(&s->endpoints);
    cor_etcd_secrets_deinit(&s->secrets);
    cor_buf_deinit(&s->token);
    cor_free(s);
}

static void on_net_closed(void *arg)
{
    struct etcd_session *s = arg;
    void (*on_closed)(void *arg) = s->on_closed;
    void *closed_arg = s->closed_arg;

    session_free(s);
    on_closed(closed_arg);
}

/* Goes on when the last channel is gone and no turn is posted, because both call the session. */
static void session_finish_close(struct etcd_session *s)
{
    if (s->state == ETCD_SESSION_CLOSED && s->closing == 0 && !s->turn_posted)
        cor_net_close(s->net, on_net_closed, s);
}

void cor_etcd_session_close(struct etcd_session *s, void (*on_closed)(void *arg), void *arg)
{
    assert(s->state != ETCD_SESSION_CLOSED);
    assert(cor_dlist_empty(&s->waiting) && cor_dlist_empty(&s->retrying) && s->nstreams == 0);
    s->state = ETCD_SESSION_CLOSED;
    s->on_closed = on_closed;
    s->closed_arg = arg;
    cor_timer_cancel(&s->retry_timer);
    session_close_channel(s);
    session_finish_close(s);
}

static int session_prepare(struct etcd_session *s, const struct cor_etcd_config *config,
                           struct cor_status *reterr_status)
{
    struct cor_rand rand;
    int r = cor_etcd_endpoints_parse(config->servers, &s->endpoints, reterr_status);

    if (r == 0)
        r = cor_etcd_secrets_init(&s->secrets, config, reterr_status);
    if (r == 0)
        r = cor_timer_set(&s->retry_timer, IDLE_MS);
    if (r == 0)
        r = cor_net_open(s->loop, &s->net);
    /* A random first member, so that servers that start together do not all take the same one. */
    cor_rand_init(&rand);
    if (r == 0)
        s->first = (size_t)cor_rand_below(&rand, s->endpoints.n);
    return r;
}

int cor_etcd_session_new(const struct cor_etcd_config *config, struct cor_loop *loop,
                         struct etcd_session **ret_session, struct cor_status *reterr_status)
{
    struct etcd_session *s = cor_calloc(1, sizeof(*s));
    int r;

    if (!s)
        return cor_status_no_memory(reterr_status);
    s->loop = loop;
    s->turn.on_mail = on_turn;
    cor_buf_init_secret(&s->token, TOKEN_MAX);
    cor_dlist_init(&s->waiting);
    cor_dlist_init(&s->retrying);
    cor_timer_init(&s->retry_timer, loop, on_retry);
    r = session_prepare(s, config, reterr_status);
    if (r < 0) {
        cor_timer_cancel(&s->retry_timer);
        session_free(s);
        return r;
    }
    *ret_session = s;
    return 0;
}

int cor_etcd_session_start(struct etcd_session *s)
{
    int r = session_open_channel(s);

    if (r == 0)
        session_greet(s);
    return r;
}
