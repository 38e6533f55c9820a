#include "net/stream/resolver.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/dns.h"
#include "net/stream/net_int.h"

struct cor_resolver {
    uv_getaddrinfo_t req;
    struct cor_dns *dns; /* NULL: `req` is under way */
    struct cor_net *net;
    bool is_cancelled;
    cor_resolver_cb on_done;
    void *arg;
};

static void add_address(struct cor_addresses *found, const struct sockaddr *addr)
{
    if (found->n < COR_RESOLVER_ADDRESSES_MAX &&
        uv_ip_name(addr, found->at[found->n], COR_RESOLVER_ADDRESS_BYTES) == 0)
        found->n++;
}

static void on_addresses(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    struct cor_resolver *rs = COR_CONTAINER_OF(req, struct cor_resolver, req);
    cor_resolver_cb on_done = rs->on_done;
    void *arg = rs->arg;
    struct cor_addresses found = {.n = 0};
    bool is_cancelled = rs->is_cancelled;

    for (struct addrinfo *it = list; status == 0 && it; it = it->ai_next)
        add_address(&found, it->ai_addr);
    uv_freeaddrinfo(list);
    rs->net->nhandles--;
    cor_free(rs);
    if (is_cancelled)
        on_done(-COR_ECANCELED, &found, arg);
    else
        on_done(found.n > 0 ? 0 : -COR_EUNREACHABLE, &found, arg);
}

static void on_dns(int r, const struct cor_addresses *found, void *arg)
{
    struct cor_resolver *rs = arg;
    cor_resolver_cb on_done = rs->on_done;
    void *done_arg = rs->arg;

    cor_free(rs);
    on_done(r, found, done_arg);
}

static int ask_system(struct cor_resolver *rs, const char *host)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

    if (uv_getaddrinfo(cor_loop_uv(rs->net->loop), &rs->req, on_addresses, host, NULL, &hints) < 0)
        return -COR_ENOMEM;
    rs->net->nhandles++;
    return 0;
}

int cor_resolver_open(struct cor_net *net, const char *host, cor_resolver_cb on_done, void *arg,
                      struct cor_resolver **ret_resolver)
{
    struct cor_resolver *rs = cor_calloc(1, sizeof(*rs));
    int r;

    assert(cor_loop_is_current(net->loop));
    if (!rs)
        return -COR_ENOMEM;
    rs->net = net;
    rs->on_done = on_done;
    rs->arg = arg;
    r = net->has_dns ? cor_dns_open(net, host, on_dns, rs, &rs->dns) : ask_system(rs, host);
    if (r < 0) {
        cor_free(rs);
        return r;
    }
    *ret_resolver = rs;
    return 0;
}

void cor_resolver_cancel(struct cor_resolver *rs)
{
    if (rs->dns) {
        cor_dns_cancel(rs->dns);
        return;
    }
    rs->is_cancelled = true;
    uv_cancel((uv_req_t *)&rs->req);
}
