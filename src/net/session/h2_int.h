/* Internals of an HTTP/2 session, for this folder's h2_*.c only. */
#ifndef COR_NET_SESSION_H2_INT_H
#define COR_NET_SESSION_H2_INT_H

#include <nghttp2/nghttp2.h>

#include "base/buf.h"
#include "base/dlist.h"
#include "base/token_bucket.h"
#include "net/session/h2.h"

#define COR_H2_FRAME_HEAD 9u
#define COR_H2_FRAME_MAX  16384u

/* The spans of the write that is running. */
struct cor_h2_source {
    const struct cor_str *spans; /* the current one; its first `skip` bytes are gone */
    size_t skip;
    size_t left;
};

/*   OPEN ──► ENDED (is_last was said) ──► nghttp2 sends END_STREAM, or the trailers */
enum cor_h2_out { COR_H2_OUT_NONE, COR_H2_OUT_OPEN, COR_H2_OUT_ENDED };

struct cor_h2_stream {
    struct cor_h2 *h;
    struct cor_dlist link;      /* h->streams */
    struct cor_dlist end_link;  /* h->ended: on_end is due */
    struct cor_dlist wait_link; /* h->waiting: on_writable is due when there is room */
    struct cor_dlist gone_link; /* h->gone: on_closed is due */
    const struct cor_h2_stream_cbs *cbs;
    void *arg;
    int32_t id;
    bool is_held;   /* the user may touch it */
    bool is_busy;   /* a call of the user's is running on it: it is freed after that */
    bool is_gone;   /* nghttp2 has closed it */
    bool has_head;  /* client: the final head has come */
    bool is_reset;  /* by us */
    bool is_broken; /* reset for the peer\'s fault; the user is told when nghttp2 has closed it */
    bool lacks_memory; /* reset for want of it; the user is told likewise */
    unsigned ninterim; /* client: 1xx heads that have come */
    uint32_t code;
    enum cor_h2_out out;
    size_t unconsumed;
    size_t wanted; /* what the last short write did not take */
    struct cor_h2_source source;
    struct cor_buf pending; /* written from inside a callback, not sent yet */
    size_t pending_done;    /* of it, what has been sent since */
};

/* The header block that is coming in; there is only one at a time. While it is read, `p` of names
 * and values counts from bytes.p. */
struct cor_h2_block {
    struct cor_buf bytes;
    struct cor_http_header *headers;
    size_t n, cap;
    size_t size; /* as SETTINGS_MAX_HEADER_LIST_SIZE counts */
    bool is_too_big;
};

struct cor_h2 {
    nghttp2_session *ng;
    enum cor_h2_role role;
    const struct cor_h2_limits *limits;
    const struct cor_h2_cbs *cbs;
    void *arg;
    struct cor_dlist streams, ended, waiting, gone;
    size_t nstreams;
    size_t nwaiting;
    size_t pending_n; /* of all streams */
    size_t share_max; /* what one stream may write while others wait */
    bool in_recv;     /* nghttp2 is reading: nothing may be sent */
    bool is_blocked;  /* `send` had no room for a control frame */
    size_t npongs;    /* client: answers to pings that wait for other frames to go with */
    bool is_greeted;  /* the peer's SETTINGS have come */
    bool is_shutting; /* cor_h2_shutdown() */
    bool has_said_goaway;
    bool is_calling; /* cor_h2_feed() or cor_h2_turn() is running and looks after all lists */
    int r;           /* the code of a failure; 0: none */
    uint64_t now_ms;
    int32_t last_id;      /* server: of the newest request */
    bool has_skipped;     /* server: ids were left out */
    bool has_reset;       /* we have reset streams: frames for them may still be on their way */
    uint32_t goaway_code; /* to say at a failure; 0: by the kind of failure */
    size_t continuations;
    size_t block_wire; /* bytes of the present header block as they came */
    struct cor_token_bucket control, resets, expanded;
    uint64_t credit; /* bytes sent that control frames have not been held against */
    struct cor_h2_block block;
    char error[128];
};

/* h2_recv.c and h2_send.c: set the callbacks for what comes in, and for what goes out. */
void cor_h2_set_recv_callbacks(nghttp2_session_callbacks *cbs);
void cor_h2_set_send_callbacks(nghttp2_session_callbacks *cbs);

/* Sends what nghttp2 has, unless it is reading. A failure is kept in h->r. */
void cor_h2_flush(struct cor_h2 *h);

/* The same from inside a call of the stream's user, and what such a call ends with. */
void cor_h2_flush_busy(struct cor_h2_stream *s);
void cor_h2_after_call(struct cor_h2_stream *s);

/* The first failure stays. */
void cor_h2_fail(struct cor_h2 *h, int r, const char *text);
void cor_h2_fail_by(struct cor_h2 *h, int ng_error);

/* A PING of ours was answered. */
void cor_h2_take_pong(struct cor_h2 *h, const uint8_t payload[8]);

/* NULL: out of memory. */
struct cor_h2_stream *cor_h2_stream_new(struct cor_h2 *h, int32_t id);
struct cor_h2_stream *cor_h2_stream_free(struct cor_h2_stream *s);

/* nghttp2 has closed it. */
void cor_h2_stream_closed(struct cor_h2_stream *s, uint32_t code);

/* h2_flow.c: the connection's window, at the beginning and after each piece of a body. 0, or
 * nghttp2's code. */
int cor_h2_open_window(struct cor_h2 *h);
int cor_h2_reopen_window(nghttp2_session *ng, size_t n);
/* Each stream that waits is asked once, with its share of the room, and joins the end again when
 * its write is short. */
void cor_h2_tell_writable(struct cor_h2 *h);
/* Room for body bytes now; is it the output, rather than a window, that ends it? */
size_t cor_h2_stream_room(const struct cor_h2_stream *s, bool *ret_by_output);

/* A stream was reset by the peer, or because of it. 0, or nghttp2's code: the session has failed.
 */
int cor_h2_count_reset(struct cor_h2 *h);

void cor_h2_block_reset(struct cor_h2_block *b);
void cor_h2_block_deinit(struct cor_h2_block *b);
/* Frees it when it is larger than what most heads take. */
void cor_h2_block_trim(struct cor_h2_block *b);

#endif
