/* Accepted streams whose sockets are not read for now: whose users take no more input. The peer's
 * end would be noticed only when reading goes on, which may be never, so the system is asked about
 * them twice a second. Owner: struct cor_net.  Thread: its loop.  Maximum: the streams of the loop;
 * COR_UNREAD_STEP of them are looked at in a turn. */
#ifndef COR_NET_STREAM_UNREAD_H
#define COR_NET_STREAM_UNREAD_H

#include <stddef.h>

#include "base/dlist.h"
#include "loop/timer.h"

#define COR_UNREAD_STEP     256u
#define COR_UNREAD_EACH_MS  500u
#define COR_UNREAD_PAUSE_MS 10u /* between the steps of one look */

struct cor_loop;
struct cor_stream;

struct cor_unread {
    struct cor_dlist
        streams; /* struct cor_stream: unread_link; streams that were checked go to the end */
    size_t n;
    size_t nleft; /* of them, that the present look has not come to */
    struct cor_timer timer;
};

void cor_unread_init(struct cor_unread *unread, struct cor_loop *loop);
void cor_unread_deinit(struct cor_unread *unread);

/* The stream is not read from now on. Without memory for the timer it is looked at together with
 * the next one that is not read. */
void cor_unread_enter(struct cor_stream *s);

/* It is read again, ends or closes; safe on one that is not here. */
void cor_unread_leave(struct cor_stream *s);

#endif
