/* clang-format off */
/* One key that says that this process is there: put with a lease that is kept alive, and gone when
 * the process is.
 *
 *   OFF ──► GRANTING ──► PUTTING ──► OPENING ──► KEEPING
 *             ▲  ▲          │           ▲           │ the stream is lost
 *             │  └──PAUSED◄─┘ failed    └──PAUSED◄──┤
 *             └─────────────────────────────────────┘ etcd says that the lease is gone
 *
 * Who may not write the key is OFF again, silently. A lease outlives its connection, so a lost
 * stream alone writes nothing. cor_etcd_presence_stop() revokes the lease, which deletes the key.
 * Thread: the engine's loop, but for cor_etcd_presence_init().  Owner: the engine. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_PRESENCE_H
#define COR_STORAGE_ETCD_PRESENCE_H

#include "storage/etcd/call.h"

/* A server that died is listed for so long. */
#define ETCD_PRESENCE_TTL_S 30
/* How long a stop may wait for etcd. */
#define ETCD_PRESENCE_STOP_MS 2000
/* Of the key and its value. */
#define ETCD_PRESENCE_BYTES_MAX 4096

enum etcd_presence_state {
    ETCD_PRESENCE_OFF,
    ETCD_PRESENCE_GRANTING,
    ETCD_PRESENCE_PUTTING,
    ETCD_PRESENCE_OPENING, /* waits for the session, to open the stream */
    ETCD_PRESENCE_KEEPING,
    ETCD_PRESENCE_PAUSED,
    ETCD_PRESENCE_REVOKING,
};

struct etcd_presence {
    struct etcd_session *session;
    enum etcd_presence_state state;
    struct cor_buf key, value;
    uint64_t ttl_ms;
    int64_t lease; /* 0: none */
    struct etcd_call *call;
    struct etcd_waiter waiter;
    struct etcd_stream *stream;
    bool is_unanswered;        /* the last message of the stream */
    bool wants_login;          /* before the next stream */
    struct cor_timer timer;    /* set as long as it is not OFF */
    void (*on_off)(void *arg); /* after cor_etcd_presence_stop() */
    void *arg;
};

/* Before the session is there; any thread. */
void cor_etcd_presence_init(struct etcd_presence *p);
void cor_etcd_presence_deinit(struct etcd_presence *p);

/* What will be put; any thread, before cor_etcd_presence_start(). 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_etcd_presence_set(struct etcd_presence *p, struct cor_str key, struct cor_str value);

/* Once. Without memory for a timer it stays OFF. */
void cor_etcd_presence_start(struct etcd_presence *p, struct etcd_session *session, uint64_t ttl_s);

/* OFF within ETCD_PRESENCE_STOP_MS. True: it was OFF, or is at once. False: on_off follows. */
bool cor_etcd_presence_stop(struct etcd_presence *p, void (*on_off)(void *arg), void *arg);

#endif
