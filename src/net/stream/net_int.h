/* Internals of streams and what they share, for this folder only. */
#ifndef COR_NET_STREAM_NET_INT_H
#define COR_NET_STREAM_NET_INT_H

#include <openssl/ssl.h>
#include <uv.h>

#include "base/dlist.h"
#include "base/ref.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "loop/turns.h"
#include "net/stream/client_cas.h"
#include "net/stream/handshakes.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/unread.h"

/* Output waits in blocks of one TLS record each. */
#define COR_BLOCK_BYTES 16384u
/* One send: as many records as a response may buffer. */
#define COR_SEND_BLOCKS 16
/* One read of a socket; with the rest of a record this is COR_STREAM_READ_MAX. */
#define COR_IN_BYTES (64u * 1024)
/* Blocks kept for the next turn (1 MB). A turn that has filled as many sends before its end, so
 * that an event for thousands of streams goes through memory that is still in the CPU's cache. */
#define COR_BLOCKS_KEPT_MAX 64
/* Room for the records of one send, and for a handshake flight, whichever is larger. */
#define COR_CIPHER_BYTES (COR_SEND_BLOCKS * (COR_BLOCK_BYTES + 256u) + 64u * 1024)

struct cor_block {
    struct cor_block *next;
    size_t n;
    char bytes[COR_BLOCK_BYTES];
};

struct cor_net {
    struct cor_loop *loop;
    uv_prepare_t before_poll; /* the end of a turn */
    uv_idle_t busy;           /* active while there is work for the next turn: no sleep */
    struct cor_dlist dirty;   /* streams with output to send */
    struct cor_dlist wakes;   /* streams with on_writable or on_end to call */
    char *in;                 /* COR_IN_BYTES: what the socket gave */
    char *plain;              /* COR_BLOCK_BYTES: decrypted */
    char *cipher;             /* COR_CIPHER_BYTES; one stream's output, empty between calls */
    size_t cipher_n;
    struct cor_block *free_blocks;
    size_t nfree, nused;
    struct cor_handshakes handshakes;
    struct cor_unread unread;
    uint64_t turn;                      /* of the loop */
    size_t nfresh;                      /* blocks taken since the last flush */
    struct cor_turn_share sends, calls; /* what sending and callbacks take of a turn's end */
    size_t nhandles;                    /* streams, listeners and look-ups that are open */
    bool has_dns;                       /* names are looked up on the loop (net/stream/dns.h) */
    const char *dns_servers;            /* NULL: the system's */
    const char *dns_file;               /* NULL: /etc/resolv.conf; tests have their own */
    int nclosing;
    void (*on_closed)(void *arg);
    void *arg;
};

struct cor_block *cor_net_block_get(struct cor_net *net);
void cor_net_block_put(struct cor_net *net, struct cor_block *block);

/* There is something for the end of the next turn: the loop does not sleep before it, and a program
 * that pumps the loop is told to run that turn. */
void cor_net_keep_awake(struct cor_net *net);

/* Sends the output of dirty streams, until the turn has no time left for that; the others are sent
 * at the end of the next one. Calls nobody back. */
void cor_net_flush(struct cor_net *net);

/* Sends so much of it that no more waits than did before the last COR_BLOCKS_KEPT_MAX blocks. */
void cor_net_flush_early(struct cor_net *net);

/* clang-format off */
/*   CONNECTING ──► HANDSHAKE (TLS only) ──► OPEN ──► ENDED ──► CLOSING
 * Each state may also be left for ENDED (on_end is due or has been called) and for CLOSING. */
/* clang-format on */
enum cor_stream_state {
    COR_STREAM_CONNECTING,
    COR_STREAM_HANDSHAKE,
    COR_STREAM_OPEN,
    COR_STREAM_ENDED,
    COR_STREAM_CLOSING,
};

struct cor_stream {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct cor_net *net;
    const struct cor_stream_cbs *cbs;
    void *arg;
    enum cor_stream_state state;
    bool is_reading;
    bool wants_writable;
    bool wants_turn; /* on_writable is due, however much waits */
    bool is_failed;  /* no output any more */
    bool says_end;   /* cor_stream_end() was called */
    bool has_said_end;
    bool open_is_due; /* on_open is to be called */
    bool end_is_due;  /* on_end(why) is to be called */
    bool is_drained;  /* after cor_stream_end(): nothing is left to send */
    bool drained_is_due;
    int why;
    int failure; /* of the output, after an end with why = 0; on_end(failure) is due. 0: none */
    const char *error; /* what the system or OpenSSL say of a failure; static text */
    struct cor_dlist dirty_link, wake_link;
    struct cor_dlist unread_link;     /* in net->unread, while its socket is not read */
    bool left_seen;                   /* there: the peer has ended its side */
    bool left_is_due;                 /* on_left is to be called */
    struct cor_dlist shake_link;      /* in net->handshakes, while it waits */
    bool shake_is_called;             /* it may read once */
    struct cor_block *out, *out_last; /* not encrypted yet */
    size_t out_n;                     /* their bytes */
    size_t in_flight;                 /* bytes that libuv has */
    size_t told_waiting;              /* of both, what on_waiting has said last */
    size_t out_max;
    uint64_t stall_ms;
    struct cor_timer stall;
    struct cor_tls *tls;
    SSL *ssl;
    SSL *outer;               /* TLS to a proxy, when `ssl` runs inside it */
    struct cor_str cipher_in; /* what the BIO hands to OpenSSL; points into net->in */
    struct cor_peer peer;
    struct cor_peer_cert *cert;
    bool cert_refused; /* some certificate of the chain did not verify */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* No more input: on_end(why) comes at the end of the turn, unless one is due or past. why < 0: no
 * more output either; after an end with why = 0 a second on_end tells it. */
void cor_stream_over(struct cor_stream *s, int why);

/* Reads the socket again after cor_handshakes_wait(), unless its user has stopped reading. */
void cor_stream_read_again(struct cor_stream *s);

/* Sends or queues `bytes`, in order. */
void cor_stream_send(struct cor_stream *s, struct cor_str bytes);

void cor_stream_mark_dirty(struct cor_stream *s);

/* Its callbacks are looked at at the end of the turn. */
void cor_stream_set_wake(struct cor_stream *s);
void cor_stream_set_drained(struct cor_stream *s);

struct cor_tls {
    struct cor_ref ref;
    SSL_CTX *ctx;
    bool is_server;
    unsigned char *alpn; /* as on the wire: length, name, … */
    unsigned alpn_n;
    struct cor_client_cas *client_cas; /* of a server; NULL: none */
};

/* The names of all authorities, for the handshake: a client may choose its certificate by them. The
 * caller frees them. NULL: no memory. */
struct stack_st_X509_NAME *cor_client_cas_names(struct cor_client_cas *cas);

/* The TLS part of a stream. open: with s->tls, inside the session that is there; 0, -COR_ENOMEM,
 * -COR_EINVAL (server name). */
int cor_tls_session_open(struct cor_stream *s, const char *server_name, bool is_h1_only);
void cor_tls_session_deinit(struct cor_stream *s);

/* Moves the handshake on; shows what came in. */
void cor_tls_session_start(struct cor_stream *s);
void cor_tls_session_input(struct cor_stream *s, struct cor_str bytes);

/* Encrypts into net->cipher. False: failed. */
bool cor_tls_session_encrypt(struct cor_stream *s, struct cor_str plain);
void cor_tls_session_say_end(struct cor_stream *s);

#endif
