/* Finds a lease for an object with a time to live. One lease serves many objects: it is granted for
 * a little longer than was asked for, and used again for an object that it is neither too short nor
 * too long for. Thread: the loop's.  Owner: the store that embeds it. */
#ifndef COR_STORAGE_LEASE_MANAGER_H
#define COR_STORAGE_LEASE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dlist.h"
#include "storage/engine/engine.h"

struct cor_clock;
struct cor_loop;

#define COR_LEASE_REUSE_S_DEFAULT     60
#define COR_LEASE_OBJECTS_MAX_DEFAULT 1000

/* 0: the default. */
struct cor_lease_limits {
    int64_t reuse_s;     /* a lease is used again for at most this long */
    int64_t objects_max; /* and for at most so many objects */
};

struct cor_lease_manager {
    struct cor_engine *engine;
    const struct cor_clock *clock;
    struct cor_lease_limits limits;
    struct cor_lease_req grant;
    bool granting;            /* a grant is under way, for the first of `waiting` */
    struct cor_dlist waiting; /* of cor_lease_want */
    int64_t id;               /* the lease in use; 0: none yet */
    uint64_t expires_ms;      /* of it, monotonic */
    uint64_t granting_ms;     /* when the grant was asked for */
    int64_t objects;          /* attempts to attach to it */
};

/* One object that wants a lease, embedded in its operation. */
struct cor_lease_want {
    struct cor_dlist link;
    int64_t ttl_s;
    int64_t id; /* the lease, when result is 0 */
    int result; /* 0 or the engine's error; the manager's grant.req.status has the message */
    void (*on_lease)(struct cor_lease_want *want);
    bool lost; /* the manager's: cor_lease_manager_lost() was true once */
};

void cor_lease_manager_init(struct cor_lease_manager *lm, struct cor_engine *engine,
                            struct cor_loop *loop, const struct cor_clock *clock,
                            const struct cor_lease_limits *limits);

/* No want may be waiting. */
void cor_lease_manager_deinit(struct cor_lease_manager *lm);

/* Finds or makes a lease for a write. `ttl_s` and `on_lease` must be set. True: `id` is set, and
 * on_lease is not called. False: on_lease is called later. */
bool cor_lease_manager_acquire(struct cor_lease_manager *lm, struct cor_lease_want *want);

/* Called after the write with the lease was answered. True: the engine has let the lease expire,
 * because wall time jumped. The lease is not used again, and the caller gets another and writes
 * again. True at most once for a want. */
bool cor_lease_manager_lost(struct cor_lease_manager *lm, struct cor_lease_want *want,
                            const struct cor_write_req *write);

/* For how many seconds a lease for `ttl_s` is used again: 5 %, at most limits.reuse_s. */
int64_t cor_lease_manager_window(const struct cor_lease_manager *lm, int64_t ttl_s);

#endif
