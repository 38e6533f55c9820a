#include "net/host/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

bool cor_host_is_numeric(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

int cor_host_split(struct cor_str authority, uint16_t default_port, struct cor_str *ret_host,
                   uint16_t *ret_port)
{
    bool is_bracketed = cor_str_starts(authority, COR_STR("["));
    ptrdiff_t end = cor_str_find(authority, is_bracketed ? ']' : ':');
    uint64_t port = default_port;
    struct cor_str host, rest;

    if (end < 0 && is_bracketed)
        return -COR_EINVAL;
    if (end < 0)
        end = (ptrdiff_t)authority.n;
    host = cor_str(authority.p + is_bracketed, (size_t)end - is_bracketed);
    rest = cor_str_from(authority, (size_t)end + is_bracketed);
    if (host.n == 0 || (rest.n > 0 && rest.p[0] != ':'))
        return -COR_EINVAL;
    if (rest.n > 1 && (cor_str_to_u64(cor_str_from(rest, 1), &port) < 0 || port == 0))
        return -COR_EINVAL;
    if (port > UINT16_MAX)
        return -COR_EINVAL;
    *ret_host = host;
    *ret_port = (uint16_t)port;
    return 0;
}

/* A datagram socket that is connected has chosen its own address; no packet is sent for that. The
 * peers are documentation addresses, which only the default route leads to. */
int cor_host_outgoing(bool is_v6, char out[COR_HOST_SOURCE_MAX])
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {.sin6_family = AF_UNSPEC}};
    int family = is_v6 ? AF_INET6 : AF_INET;
    socklen_t n = is_v6 ? sizeof(address.v6) : sizeof(address.v4);
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_found = false;

    if (fd < 0)
        return -COR_ENOTFOUND;
    if (is_v6) {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(9);
        (void)inet_pton(AF_INET6, "2001:db8::1", &address.v6.sin6_addr);
    } else {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(9);
        (void)inet_pton(AF_INET, "198.51.100.1", &address.v4.sin_addr);
    }
    if (connect(fd, &address.any, n) == 0 && getsockname(fd, &address.any, &n) == 0)
        is_found =
            inet_ntop(family, is_v6 ? (void *)&address.v6.sin6_addr : (void *)&address.v4.sin_addr,
                      out, COR_HOST_SOURCE_MAX) != NULL;
    close(fd);
    return is_found ? 0 : -COR_ENOTFOUND;
}

struct cor_str cor_host_source(const char *address, char out[COR_HOST_SOURCE_MAX])
{
    struct cor_str host;
    struct in6_addr in6;
    uint16_t port;

    if (cor_host_split(cor_strz(address), 0, &host, &port) < 0)
        host = cor_strz(address);
    snprintf(out, COR_HOST_SOURCE_MAX, "%.*s", COR_STR_ARG(host));
    if (inet_pton(AF_INET6, out, &in6) != 1)
        return cor_strz(out);
    if (IN6_IS_ADDR_V4MAPPED(&in6)) {
        inet_ntop(AF_INET, in6.s6_addr + 12, out, COR_HOST_SOURCE_MAX);
        return cor_strz(out);
    }
    memset(in6.s6_addr + 8, 0, 8);
    inet_ntop(AF_INET6, &in6, out, COR_HOST_SOURCE_MAX);
    return cor_strz(out);
}
