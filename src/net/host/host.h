/* Hosts as text: numeric addresses, and the "host:port" of a URL. Thread: any. */
#ifndef COR_NET_HOST_HOST_H
#define COR_NET_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Is it an IPv4 or IPv6 address, without brackets, that needs no look-up? */
bool cor_host_is_numeric(const char *host);

/* "host", "host:port", "[v6]" or "[v6]:port". The host is borrowed, without its brackets, and not
 * looked at further; no port, or an empty one, is `default_port`. 0, or -COR_EINVAL. */
int cor_host_split(struct cor_str authority, uint16_t default_port, struct cor_str *ret_host,
                   uint16_t *ret_port);

/* The address of this machine from which packets to other networks are sent: of the interface of
 * the default route. Nothing is sent. 0, or -COR_ENOTFOUND: there is no such route. */
#define COR_HOST_SOURCE_MAX 64
int cor_host_outgoing(bool is_v6, char out[COR_HOST_SOURCE_MAX]);

/* Where connections from `address` ("127.0.0.1:40000", "[2001:db8::1]:40000") come from, in the
 * form in which connections are counted: without the port, and of IPv6 the first 64 bits, since a
 * single host has all the addresses below them. What is not an address stays as it is. */
struct cor_str cor_host_source(const char *address, char out[COR_HOST_SOURCE_MAX]);

#endif
