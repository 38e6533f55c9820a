/* A listening socket. What it accepts is a descriptor, which may be given to another loop.
 * Owner: its opener.  Thread: the loop's. */
#ifndef COR_NET_STREAM_LISTENER_H
#define COR_NET_STREAM_LISTENER_H

#include <stdint.h>

struct cor_listener;
struct cor_net;

/* The descriptor is the callee's. */
typedef void (*cor_accept_cb)(int take_fd, void *arg);

/* `host` is numeric; port 0 takes a free one. 0, -COR_EINVAL (not an address), -COR_EEXIST (in
 * use), -COR_EIO, -COR_ENOMEM. No connection is accepted before this returns. */
int cor_listener_open(struct cor_net *net, const char *host, uint16_t port, cor_accept_cb on_accept,
                      void *arg, struct cor_listener **ret_listener);

/* A socket file that nobody listens on any more is replaced; a live one is -COR_EEXIST, any other
 * kind of file too. The file is removed at close. */
int cor_listener_open_unix(struct cor_net *net, const char *path, unsigned mode,
                           cor_accept_cb on_accept, void *arg, struct cor_listener **ret_listener);

uint16_t cor_listener_port(const struct cor_listener *l);

/* Nothing is accepted after this; `on_closed` (may be NULL) comes from a later turn. */
void cor_listener_close(struct cor_listener *l, void (*on_closed)(void *arg), void *arg);

#endif
