#include "net/host.h"

#include <arpa/inet.h>

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
