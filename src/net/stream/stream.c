#include "net/stream/stream.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/net_int.h"
#include "net/stream/tls.h"

/* A peer that vanished without a word is noticed after this and the kernel's probes: as long as
 * kube-apiserver waits, and as client-go's connections do. */
#define KEEPALIVE_S        180
#define CLIENT_KEEPALIVE_S 30

static void drop_output(struct cor_stream *s)
{
    struct cor_block *block;

    while ((block = s->out)) {
        s->out = block->next;
        cor_net_block_put(s->net, block);
    }
    s->out_last = NULL;
    s->out_n = 0;
    cor_dlist_remove(&s->dirty_link);
}

void cor_stream_over(struct cor_stream *s, int why)
{
    if (why < 0 && !s->is_failed && s->state == COR_STREAM_ENDED) {
        s->failure = why;
        cor_stream_set_wake(s);
    }
    if (why < 0) {
        s->is_failed = true;
        drop_output(s);
        if (s->says_end)
            cor_stream_set_drained(s);
    }
    if (s->state >= COR_STREAM_ENDED)
        return;
    s->state = COR_STREAM_ENDED;
    cor_stream_read_stop(s);
    cor_unread_leave(s);
    cor_handshakes_leave(s);
    s->why = why;
    s->end_is_due = true;
    cor_stream_set_wake(s);
}

void cor_stream_fail(struct cor_stream *s, int why)
{
    assert(why < 0 && s->state != COR_STREAM_CLOSING);
    cor_stream_over(s, why);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct cor_stream *s = handle->data;
    bool must_wait =
        s->state == COR_STREAM_HANDSHAKE && s->tls->is_server && !cor_handshakes_may_read(s);

    *buf = uv_buf_init(s->net->in, must_wait ? 0 : COR_IN_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct cor_stream *s = stream->data;

    if (n == UV_ENOBUFS)
        cor_handshakes_wait(s);
    else if (n < 0)
        cor_stream_over(s, n == UV_EOF && !s->ssl ? 0 : -COR_EIO);
    else if (n > 0 && s->ssl)
        cor_tls_session_input(s, cor_str(buf->base, (size_t)n));
    else if (n > 0)
        s->cbs->on_data(s, cor_str(buf->base, (size_t)n), s->arg);
}

void cor_stream_read_stop(struct cor_stream *s)
{
    if (s->is_reading)
        uv_read_stop(&s->uv.stream);
    s->is_reading = false;
    cor_unread_enter(s);
}

void cor_stream_read_again(struct cor_stream *s)
{
    if (s->is_reading && uv_read_start(&s->uv.stream, on_alloc, on_read) < 0)
        cor_stream_over(s, -COR_EIO);
}

void cor_stream_read_start(struct cor_stream *s)
{
    if (s->is_reading || s->state == COR_STREAM_CONNECTING || s->state >= COR_STREAM_ENDED)
        return;
    s->is_reading = true;
    cor_unread_leave(s);
    cor_stream_read_again(s);
}

static void on_stall(struct cor_timer *timer)
{
    cor_stream_over(COR_CONTAINER_OF(timer, struct cor_stream, stall), -COR_ETIMEOUT);
}

static struct cor_stream *new_stream(struct cor_net *net, const struct cor_stream_opts *opts)
{
    struct cor_stream *s = cor_calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->net = net;
    s->cbs = opts->cbs;
    s->arg = opts->arg;
    s->out_max = opts->out_max;
    s->stall_ms = opts->stall_ms;
    cor_dlist_init(&s->dirty_link);
    cor_dlist_init(&s->wake_link);
    cor_dlist_init(&s->unread_link);
    cor_dlist_init(&s->shake_link);
    cor_timer_init(&s->stall, net->loop, on_stall);
    if (opts->tls) {
        s->tls = cor_tls_ref(opts->tls);
        s->peer.is_tls = true;
        if (cor_tls_session_open(s, opts->server_name, opts->is_h1_only) < 0) {
            cor_tls_unref(s->tls);
            return cor_free(s);
        }
    }
    return s;
}

static void free_stream(struct cor_stream *s)
{
    cor_tls_session_deinit(s);
    cor_tls_unref(s->tls);
    cor_free(s->cert);
    cor_free(s);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct cor_stream *s = handle->data;
    void (*on_closed)(void *arg) = s->on_closed;
    void *arg = s->closed_arg;

    s->net->nhandles--;
    free_stream(s);
    if (on_closed)
        on_closed(arg);
}

static void init_handle(struct cor_stream *s, bool is_unix)
{
    uv_loop_t *uv = cor_loop_uv(s->net->loop);

    if (is_unix)
        uv_pipe_init(uv, &s->uv.pipe, 0);
    else
        uv_tcp_init(uv, &s->uv.tcp);
    s->uv.handle.data = s;
    s->peer.is_unix = is_unix;
    s->net->nhandles++;
}

static void learn_peer(struct cor_stream *s, int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage storage;
    } addr = {.any.sa_family = AF_UNSPEC};
    socklen_t n = sizeof(addr);
    struct ucred cred;
    socklen_t cred_n = sizeof(cred);
    char host[INET6_ADDRSTRLEN] = "";

    if (s->peer.is_unix) {
        snprintf(s->peer.address, sizeof(s->peer.address), "@");
        s->peer.uid = (uid_t)-1;
        s->peer.gid = (gid_t)-1;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_n) == 0) {
            s->peer.uid = cred.uid;
            s->peer.gid = cred.gid;
            s->peer.pid = cred.pid;
        }
    } else if (getpeername(fd, &addr.any, &n) == 0 && addr.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &addr.in6.sin6_addr, host, sizeof(host));
        snprintf(s->peer.address, sizeof(s->peer.address), "[%s]:%u", host,
                 ntohs(addr.in6.sin6_port));
    } else if (addr.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &addr.in.sin_addr, host, sizeof(host));
        snprintf(s->peer.address, sizeof(s->peer.address), "%s:%u", host, ntohs(addr.in.sin_port));
    }
}

/* The socket is connected. */
static void start(struct cor_stream *s, unsigned keepalive_s)
{
    uv_os_fd_t fd;

    if (uv_fileno(&s->uv.handle, &fd) == 0)
        learn_peer(s, fd);
    if (!s->peer.is_unix) {
        uv_tcp_nodelay(&s->uv.tcp, 1);
        uv_tcp_keepalive(&s->uv.tcp, 1, keepalive_s);
    }
    s->state = s->ssl ? COR_STREAM_HANDSHAKE : COR_STREAM_OPEN;
    cor_stream_read_start(s);
    if (s->out_n > 0 || s->says_end)
        cor_stream_mark_dirty(s);
}

static bool is_unix_socket(int fd)
{
    int domain = 0;
    socklen_t n = sizeof(domain);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX;
}

int cor_stream_open(struct cor_net *net, int take_fd, const struct cor_stream_opts *opts,
                    struct cor_stream **ret_stream)
{
    struct cor_stream *s = new_stream(net, opts);
    bool is_unix = is_unix_socket(take_fd);
    int r;

    assert(cor_loop_is_current(net->loop));
    if (!s) {
        close(take_fd);
        return -COR_ENOMEM;
    }
    init_handle(s, is_unix);
    r = is_unix ? uv_pipe_open(&s->uv.pipe, take_fd) : uv_tcp_open(&s->uv.tcp, take_fd);
    if (r < 0) {
        close(take_fd);
        cor_stream_close(s, NULL, NULL);
        return -COR_EIO;
    }
    start(s, KEEPALIVE_S);
    /* A server's handshake begins with what the client sends. */
    if (!s->ssl || !s->tls->is_server) {
        s->open_is_due = true;
        cor_stream_set_wake(s);
    }
    *ret_stream = s;
    return 0;
}

static void on_connect(uv_connect_t *req, int status)
{
    struct cor_stream *s = req->data;

    cor_free(req);
    if (s->state != COR_STREAM_CONNECTING)
        return;
    if (status < 0) {
        s->error = uv_strerror(status);
        cor_stream_over(s, -COR_EUNREACHABLE);
        return;
    }
    start(s, CLIENT_KEEPALIVE_S);
    if (s->ssl)
        cor_tls_session_start(s);
    else
        s->cbs->on_open(s, s->arg);
}

static int begin_connect(struct cor_net *net, const struct cor_stream_opts *opts, bool is_unix,
                         struct cor_stream **ret_stream, uv_connect_t **ret_req)
{
    uv_connect_t *req = cor_alloc(sizeof(*req));
    struct cor_stream *s = req ? new_stream(net, opts) : NULL;

    assert(cor_loop_is_current(net->loop));
    if (!s) {
        cor_free(req);
        return -COR_ENOMEM;
    }
    init_handle(s, is_unix);
    req->data = s;
    *ret_stream = s;
    *ret_req = req;
    return 0;
}

int cor_stream_connect(struct cor_net *net, const char *host, uint16_t port,
                       const struct cor_stream_opts *opts, struct cor_stream **ret_stream)
{
    struct sockaddr_storage addr = {0};
    struct cor_stream *s;
    uv_connect_t *req;
    int r, e;

    if (uv_ip4_addr(host, port, (struct sockaddr_in *)&addr) != 0 &&
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)&addr) != 0)
        return -COR_EINVAL;
    r = begin_connect(net, opts, false, &s, &req);
    if (r < 0)
        return r;
    e = uv_tcp_connect(req, &s->uv.tcp, (struct sockaddr *)&addr, on_connect);
    if (e < 0) {
        cor_free(req);
        s->error = uv_strerror(e);
        cor_stream_over(s, -COR_EUNREACHABLE);
    }
    *ret_stream = s;
    return 0;
}

int cor_stream_connect_unix(struct cor_net *net, const char *path,
                            const struct cor_stream_opts *opts, struct cor_stream **ret_stream)
{
    struct cor_stream *s;
    uv_connect_t *req;
    int r;

    if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return -COR_EINVAL;
    r = begin_connect(net, opts, true, &s, &req);
    if (r < 0)
        return r;
    uv_pipe_connect(req, &s->uv.pipe, path, on_connect);
    *ret_stream = s;
    return 0;
}

bool cor_stream_is_quiet(const struct cor_stream *s)
{
    uv_os_fd_t fd;
    char byte;

    return s->state == COR_STREAM_OPEN && uv_fileno(&s->uv.handle, &fd) == 0 &&
           recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int cor_stream_start_tls(struct cor_stream *s, struct cor_tls *tls, const char *server_name,
                         bool is_h1_only)
{
    struct cor_tls *old = s->tls;
    int r;

    assert(s->state == COR_STREAM_OPEN && s->out_n == 0 && !s->outer);
    s->tls = cor_tls_ref(tls);
    r = cor_tls_session_open(s, server_name, is_h1_only);
    if (r < 0) {
        cor_tls_unref(tls);
        s->tls = old;
        return r;
    }
    cor_tls_unref(old);
    s->peer.is_tls = true;
    s->state = COR_STREAM_HANDSHAKE;
    s->open_is_due = true;
    cor_stream_set_wake(s);
    return 0;
}

void cor_stream_end(struct cor_stream *s)
{
    if (s->says_end)
        return;
    s->says_end = true;
    if (s->is_failed)
        cor_stream_set_drained(s);
    else
        cor_stream_mark_dirty(s);
}

void cor_stream_close(struct cor_stream *s, void (*on_closed)(void *arg), void *arg)
{
    assert(cor_loop_is_current(s->net->loop) && s->state != COR_STREAM_CLOSING);
    s->state = COR_STREAM_CLOSING;
    s->is_failed = true;
    drop_output(s);
    cor_dlist_remove(&s->wake_link);
    cor_unread_leave(s);
    cor_handshakes_leave(s);
    cor_timer_cancel(&s->stall);
    s->on_closed = on_closed;
    s->closed_arg = arg;
    uv_close(&s->uv.handle, on_handle_closed);
}

void cor_stream_hand_over(struct cor_stream *s, const struct cor_stream_cbs *cbs, void *arg,
                          size_t out_max)
{
    s->cbs = cbs;
    s->arg = arg;
    s->out_max = out_max;
}

const char *cor_stream_error(const struct cor_stream *s)
{
    return s->error;
}

const struct cor_peer *cor_stream_peer(const struct cor_stream *s)
{
    return &s->peer;
}
