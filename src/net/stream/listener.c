#include "net/stream/listener.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/net_int.h"

#define BACKLOG 4096
/* Connections taken in one go before the loop does other work. */
#define ACCEPT_BATCH 64
/* How long to wait when descriptors or memory have run out; trying at once would spin. */
#define ACCEPT_PAUSE_MS 100

struct cor_listener {
    uv_poll_t poll;
    struct cor_timer pause;
    struct cor_net *net;
    int fd;
    uint16_t port;
    char *path; /* of a Unix socket */
    cor_accept_cb on_accept;
    void *arg;
    void (*on_closed)(void *arg);
    void *closed_arg;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct cor_listener *l = poll->data;

    for (int i = 0; i < ACCEPT_BATCH && !uv_is_closing((uv_handle_t *)poll); i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            l->on_accept(fd, l->arg);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN && cor_timer_set(&l->pause, ACCEPT_PAUSE_MS) == 0)
            uv_poll_stop(poll);
        return;
    }
}

static void on_pause_over(struct cor_timer *timer)
{
    struct cor_listener *l = COR_CONTAINER_OF(timer, struct cor_listener, pause);

    uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

static int open_on(struct cor_net *net, int fd, cor_accept_cb on_accept, void *arg,
                   struct cor_listener **ret_listener)
{
    struct cor_listener *l = cor_calloc(1, sizeof(*l));

    assert(cor_loop_is_current(net->loop));
    if (!l)
        return -COR_ENOMEM;
    if (listen(fd, BACKLOG) != 0 || uv_poll_init(cor_loop_uv(net->loop), &l->poll, fd) < 0) {
        cor_free(l);
        return errno == EADDRINUSE ? -COR_EEXIST : -COR_EIO;
    }
    l->poll.data = l;
    l->net = net;
    l->fd = fd;
    l->on_accept = on_accept;
    l->arg = arg;
    cor_timer_init(&l->pause, net->loop, on_pause_over);
    net->nhandles++;
    uv_poll_start(&l->poll, UV_READABLE, on_readable);
    *ret_listener = l;
    return 0;
}

static uint16_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } addr = {0};
    socklen_t n = sizeof(addr);

    if (getsockname(fd, &addr.any, &n) != 0)
        return 0;
    return ntohs(addr.any.sa_family == AF_INET6 ? addr.in6.sin6_port : addr.in.sin_port);
}

int cor_listener_open(struct cor_net *net, const char *host, uint16_t port, cor_accept_cb on_accept,
                      void *arg, struct cor_listener **ret_listener)
{
    struct sockaddr_storage addr = {0};
    socklen_t n = sizeof(struct sockaddr_in6);
    int fd, r, on = 1;

    if (uv_ip4_addr(host, port, (struct sockaddr_in *)&addr) == 0)
        n = sizeof(struct sockaddr_in);
    else if (uv_ip6_addr(host, port, (struct sockaddr_in6 *)&addr) != 0)
        return -COR_EINVAL;
    fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -COR_EIO;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&addr, n) != 0)
        r = errno == EADDRINUSE ? -COR_EEXIST : -COR_EIO;
    else
        r = open_on(net, fd, on_accept, arg, ret_listener);
    if (r < 0) {
        close(fd);
        return r;
    }
    (*ret_listener)->port = port_of(fd);
    return 0;
}

/* A socket file whose server is gone refuses connections. */
static int remove_stale(const char *path, const struct sockaddr_un *addr)
{
    struct stat st;
    int fd, r = 0;

    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : -COR_EIO;
    if (!S_ISSOCK(st.st_mode))
        return -COR_EEXIST;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -COR_EIO;
    if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno != ECONNREFUSED)
        r = -COR_EEXIST;
    else if (unlink(path) != 0)
        r = -COR_EIO;
    close(fd);
    return r;
}

static int bind_unix(int fd, const char *path, const struct sockaddr_un *addr, unsigned mode)
{
    int r = remove_stale(path, addr);

    if (r < 0)
        return r;
    /* Nobody may connect between bind and chmod; the socket does not listen yet. */
    if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) != 0)
        return errno == EADDRINUSE ? -COR_EEXIST : -COR_EIO;
    if (chmod(path, mode) != 0) {
        unlink(path);
        return -COR_EIO;
    }
    return 0;
}

int cor_listener_open_unix(struct cor_net *net, const char *path, unsigned mode,
                           cor_accept_cb on_accept, void *arg, struct cor_listener **ret_listener)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    COR_CLEANUP(cor_freep) char *copy = cor_strdup(path);
    int fd, r;

    if (!copy)
        return -COR_ENOMEM;
    if (strlen(path) >= sizeof(addr.sun_path))
        return -COR_EINVAL;
    memcpy(addr.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -COR_EIO;
    r = bind_unix(fd, path, &addr, mode);
    if (r == 0) {
        r = open_on(net, fd, on_accept, arg, ret_listener);
        if (r < 0)
            unlink(path);
    }
    if (r < 0) {
        close(fd);
        return r;
    }
    (*ret_listener)->path = COR_STEAL(copy);
    return 0;
}

uint16_t cor_listener_port(const struct cor_listener *l)
{
    return l->port;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct cor_listener *l = handle->data;
    void (*on_closed)(void *arg) = l->on_closed;
    void *arg = l->closed_arg;

    l->net->nhandles--;
    cor_free(l->path);
    cor_free(l);
    if (on_closed)
        on_closed(arg);
}

void cor_listener_close(struct cor_listener *l, void (*on_closed)(void *arg), void *arg)
{
    assert(cor_loop_is_current(l->net->loop));
    l->on_closed = on_closed;
    l->closed_arg = arg;
    cor_timer_cancel(&l->pause);
    uv_poll_stop(&l->poll);
    if (l->path)
        unlink(l->path);
    close(l->fd);
    uv_close((uv_handle_t *)&l->poll, on_handle_closed);
}
