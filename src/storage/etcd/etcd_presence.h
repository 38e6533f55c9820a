/* clang-format off */
/* One key that lists this server: it is put with a lease that is kept alive, so etcd deletes the key
 * when the process has died.
 *
 *   OFF ──► GRANTING ──► PUTTING ──► OPENING ──► KEEPING
 *             ▲  ▲          │           ▲           │ the stream is lost
 *             │  └──PAUSED◄─┘ failed    └──PAUSED◄──┤
 *             └─────────────────────────────────────┘ etcd says that the lease is gone
 *
 * A user who may not write the key makes it OFF again, without an error. A lease outlives its
 * connection, so a lost stream alone writes nothing. cor_etcd_presence_stop() revokes the lease, which deletes the key.
 * Thread: the engine's loop, except for cor_etcd_presence_init().  Owner: the engine. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_ETCD_PRESENCE_H
#define COR_STORAGE_ETCD_ETCD_PRESENCE_H

#include "storage/etcd/etcd_call.h"

/* A server that died is still listed for this time. */
#define ETCD_PRESENCE_TTL_S 30
/* A stop waits at most this long for etcd. */
#define ETCD_PRESENCE_STOP_MS 2000
/* The maximum of the key and its value together. */
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
    bool is_unanswered;        /* the last message of the stream has no answer yet */
    bool wants_login;          /* the session is to log in before the next stream */
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

/* Makes it OFF within ETCD_PRESENCE_STOP_MS. True: it is OFF now. False: on_off is called later. */
bool cor_etcd_presence_stop(struct etcd_presence *p, void (*on_off)(void *arg), void *arg);

#endif
