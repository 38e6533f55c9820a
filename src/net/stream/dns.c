/* A look-up by c-ares on the loop.
 *
 * Flow: each look-up has a channel of its own, which reads the system's configuration, asks for
 * addresses of both families, and tells by a callback which of its sockets it waits for: they are
 * polled by libuv. Its time-outs are the timer's. When the answer is there, which may be before
 * ares_getaddrinfo() returns, the timer's next turn destroys the channel; when the last poll is
 * closed the opener is told.
 * Failures: no memory for a poll ends the look-up; what c-ares says becomes one of the codes of
 * resolver.h. Thread: the loop's; loading is done once, by any. */
#include "net/stream/dns.h"

#include <ares.h>
#include <assert.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/net_int.h"

#define LIBRARY "libcares.so.2"
/* The time-outs of c-ares are shorter; it is asked again after this at the latest. */
#define FAR_MS 60000u

/* The functions of c-ares: the library is not a dependency of those who need no look-up. */
static struct {
    __typeof__(ares_library_init) *library_init;
    __typeof__(ares_init_options) *init_options;
    __typeof__(ares_set_servers_ports_csv) *set_servers;
    __typeof__(ares_getaddrinfo) *getaddrinfo;
    __typeof__(ares_freeaddrinfo) *freeaddrinfo;
    __typeof__(ares_process_fd) *process_fd;
    __typeof__(ares_timeout) *timeout;
    __typeof__(ares_cancel) *cancel;
    __typeof__(ares_destroy) *destroy;
} ares;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static bool is_loaded;
static char load_why[256];

struct poll {
    uv_poll_t handle;
    struct cor_dns *dns;
    ares_socket_t socket;
    struct poll *next;
};

struct cor_dns {
    struct cor_net *net;
    ares_channel channel;   /* NULL: it is destroyed */
    struct cor_timer timer; /* always set, so that moving it cannot fail */
    struct poll *polls;     /* of open sockets */
    size_t nclosing;        /* polls */
    bool is_done, is_cancelled;
    int r;
    struct cor_addresses found;
    cor_resolver_cb on_done;
    void *arg;
};

static bool load_one(void *handle, const char *name, void *to)
{
    void *found = dlsym(handle, name);

    if (found)
        *(void **)to = found;
    else
        snprintf(load_why, sizeof(load_why), "%s has no %s", LIBRARY, name);
    return found;
}

static void load(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        snprintf(load_why, sizeof(load_why), "%s", dlerror());
        return;
    }
    is_loaded = load_one(handle, "ares_library_init", &ares.library_init) &&
                load_one(handle, "ares_init_options", &ares.init_options) &&
                load_one(handle, "ares_set_servers_ports_csv", &ares.set_servers) &&
                load_one(handle, "ares_getaddrinfo", &ares.getaddrinfo) &&
                load_one(handle, "ares_freeaddrinfo", &ares.freeaddrinfo) &&
                load_one(handle, "ares_process_fd", &ares.process_fd) &&
                load_one(handle, "ares_timeout", &ares.timeout) &&
                load_one(handle, "ares_cancel", &ares.cancel) &&
                load_one(handle, "ares_destroy", &ares.destroy) &&
                ares.library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
}

int cor_dns_load(const char **ret_why)
{
    pthread_once(&load_once, load);
    if (!is_loaded)
        *ret_why = load_why;
    return is_loaded ? 0 : -COR_ENOTSUP;
}

static void tell(struct cor_dns *dns)
{
    cor_resolver_cb on_done = dns->on_done;
    void *arg = dns->arg;
    struct cor_addresses found = dns->found;
    int r = dns->is_cancelled ? -COR_ECANCELED : dns->r;

    cor_timer_cancel(&dns->timer);
    dns->net->nhandles--;
    cor_free(dns);
    on_done(r, &found, arg);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct poll *poll = COR_CONTAINER_OF((uv_poll_t *)handle, struct poll, handle);
    struct cor_dns *dns = poll->dns;

    cor_free(poll);
    dns->nclosing--;
    if (!dns->channel && dns->nclosing == 0)
        tell(dns);
}

/* Destroys the channel, which closes its sockets. */
static void finish(struct cor_dns *dns)
{
    ares.destroy(COR_STEAL(dns->channel));
    assert(!dns->polls);
    cor_timer_set(&dns->timer, FAR_MS);
    if (dns->nclosing == 0)
        tell(dns);
}

/* The result is reported from the timer, because c-ares is still at work. */
static void set_result(struct cor_dns *dns, int r)
{
    if (dns->is_done)
        return;
    dns->is_done = true;
    dns->r = r;
    cor_timer_set(&dns->timer, 0);
}

static void set_timer(struct cor_dns *dns)
{
    struct timeval max = {.tv_sec = FAR_MS / 1000}, room;
    const struct timeval *left; /* one of the two: without a query `room` is not filled in */

    if (dns->is_done)
        return;
    left = ares.timeout(dns->channel, &max, &room);
    cor_timer_set(&dns->timer,
                  (uint64_t)left->tv_sec * 1000 + ((uint64_t)left->tv_usec + 999) / 1000);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_dns *dns = COR_CONTAINER_OF(timer, struct cor_dns, timer);

    cor_timer_set(timer, FAR_MS);
    if (dns->is_done && dns->channel) {
        finish(dns);
    } else if (dns->channel) {
        ares.process_fd(dns->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        set_timer(dns);
    }
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct poll *poll = COR_CONTAINER_OF(handle, struct poll, handle);
    struct cor_dns *dns = poll->dns;
    ares_socket_t socket = poll->socket;

    if (dns->is_done)
        return;
    ares.process_fd(dns->channel, status < 0 || events & UV_READABLE ? socket : ARES_SOCKET_BAD,
                    status < 0 || events & UV_WRITABLE ? socket : ARES_SOCKET_BAD);
    set_timer(dns);
}

static void close_poll(struct cor_dns *dns, struct poll **at)
{
    struct poll *poll = *at;

    *at = poll->next;
    dns->nclosing++;
    uv_close((uv_handle_t *)&poll->handle, on_poll_closed);
}

static int open_poll(struct cor_dns *dns, ares_socket_t socket, struct poll **at)
{
    struct poll *poll = cor_calloc(1, sizeof(*poll));

    if (!poll)
        return -COR_ENOMEM;
    if (uv_poll_init(cor_loop_uv(dns->net->loop), &poll->handle, socket) < 0) {
        cor_free(poll);
        return -COR_ENOMEM;
    }
    poll->dns = dns;
    poll->socket = socket;
    *at = poll;
    return 0;
}

/* c-ares tells what it waits for; nothing: it is about to close the socket. */
static void on_socket_state(void *arg, ares_socket_t socket, int is_read, int is_written)
{
    struct cor_dns *dns = arg;
    struct poll **at = &dns->polls;
    int events = (is_read ? UV_READABLE : 0) | (is_written ? UV_WRITABLE : 0);

    while (*at && (*at)->socket != socket)
        at = &(*at)->next;
    if (events == 0) {
        if (*at)
            close_poll(dns, at);
        return;
    }
    if (!*at && open_poll(dns, socket, at) < 0)
        set_result(dns, -COR_ENOMEM);
    else
        uv_poll_start(&(*at)->handle, events, on_poll);
}

static void add_address(struct cor_addresses *found, const struct sockaddr *addr)
{
    if (found->n < COR_RESOLVER_ADDRESSES_MAX &&
        uv_ip_name(addr, found->at[found->n], COR_RESOLVER_ADDRESS_BYTES) == 0)
        found->n++;
}

static int code_of(int status)
{
    switch (status) {
    case ARES_SUCCESS:
        return 0;
    case ARES_ENOMEM:
        return -COR_ENOMEM;
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED:
        return -COR_ETIMEOUT;
    default:
        return -COR_EUNREACHABLE;
    }
}

static void on_addresses(void *arg, int status, int timeouts, struct ares_addrinfo *list)
{
    struct cor_dns *dns = arg;
    int r = code_of(status);

    if (list) {
        for (struct ares_addrinfo_node *it = list->nodes; status == 0 && it; it = it->ai_next)
            add_address(&dns->found, it->ai_addr);
        ares.freeaddrinfo(list);
    }
    set_result(dns, r == 0 && dns->found.n == 0 ? -COR_EUNREACHABLE : r);
}

static int open_channel(struct cor_dns *dns)
{
    struct ares_options options = {.sock_state_cb = on_socket_state,
                                   .sock_state_cb_data = dns,
                                   .resolvconf_path = (char *)dns->net->dns_file};
    int mask = ARES_OPT_SOCK_STATE_CB | (options.resolvconf_path ? ARES_OPT_RESOLVCONF : 0);
    int status = ares.init_options(&dns->channel, &options, mask);

    if (status != ARES_SUCCESS)
        return -COR_ENOMEM;
    if (dns->net->dns_servers)
        status = ares.set_servers(dns->channel, dns->net->dns_servers);
    if (status == ARES_SUCCESS)
        return 0;
    ares.destroy(dns->channel);
    return -COR_ENOMEM;
}

int cor_dns_open(struct cor_net *net, const char *host, cor_resolver_cb on_done, void *arg,
                 struct cor_dns **ret_dns)
{
    const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct cor_dns *dns;
    const char *why;
    int r = cor_dns_load(&why);

    assert(cor_loop_is_current(net->loop));
    if (r < 0)
        return r;
    dns = cor_calloc(1, sizeof(*dns));
    if (!dns)
        return -COR_ENOMEM;
    dns->net = net;
    dns->on_done = on_done;
    dns->arg = arg;
    cor_timer_init(&dns->timer, net->loop, on_timer);
    r = cor_timer_set(&dns->timer, FAR_MS);
    if (r == 0)
        r = open_channel(dns);
    if (r < 0) {
        cor_timer_cancel(&dns->timer);
        cor_free(dns);
        return r;
    }
    net->nhandles++;
    ares.getaddrinfo(dns->channel, host, NULL, &hints, on_addresses, dns);
    set_timer(dns);
    *ret_dns = dns;
    return 0;
}

void cor_dns_cancel(struct cor_dns *dns)
{
    dns->is_cancelled = true;
    if (dns->channel && !dns->is_done)
        ares.cancel(dns->channel);
}
