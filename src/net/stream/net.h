/* What the streams of one loop share: scratch memory for input and output, and the list of those
 * with output to send, which happens once per turn.
 * Owner: its opener.  Thread: the loop's. */
#ifndef COR_NET_STREAM_NET_H
#define COR_NET_STREAM_NET_H

#include <stdint.h>

struct cor_loop;
struct cor_net;

/* 0, or -COR_ENOMEM. */
int cor_net_open(struct cor_loop *loop, struct cor_net **ret_net);

/* All its streams and listeners are closed. `on_closed` (may be NULL) comes from a later turn; the
 * memory is gone after it. */
void cor_net_close(struct cor_net *net, void (*on_closed)(void *arg), void *arg);

/* From now on host names are looked up on the loop, by c-ares, and not by the system's resolver on
 * a worker thread. `servers`: "address:port", with commas between them, borrowed; NULL: those of
 * /etc/resolv.conf. */
void cor_net_use_dns(struct cor_net *net, const char *servers);

struct cor_loop *cor_net_loop(const struct cor_net *net);

/* The number of the loop's present turn: what is read from sockets and the callbacks that follow
 * from it before the next sleep. For those who do a bounded part of their work in each turn. */
uint64_t cor_net_turn(const struct cor_net *net);

#endif
