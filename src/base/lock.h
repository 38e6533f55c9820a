/* A mutex that knows its rank in the order of the tree's locks, and the condition variable that
 * waits with it. `COR_LOCK_RANKS` below is the one list of locks; docs/internals/locks.md describes
 * each lock of the list.
 *
 * A build with debug information (meson's `debug` option: every build but a release) checks on each
 * thread that
 *   - the rank of a lock is higher than the rank of every lock that the thread holds already;
 *   - a thread releases only locks that it holds;
 *   - a thread that waits for a condition holds no lock except the condition's own;
 *   - no lock is held where cor_lock_assert_none() is called, before a callback.
 * A breach writes the names of the locks to stderr and aborts. A release build has none of this:
 * there a lock is a pthread_mutex_t and each function is one call of pthread.
 *
 * Thread: any. */
#ifndef COR_BASE_LOCK_H
#define COR_BASE_LOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* From the first to be taken to the last. A thread that holds a lock may take only locks below it
 * in this list, and never two of one row. */
/* clang-format off */
#define COR_LOCK_RANKS(ROW)                                                                        \
    ROW(DELTA_FIFO,       "cache/queues/delta_fifo")                                               \
    ROW(FIFO,             "cache/queues/fifo")                                                     \
    ROW(INFORMER_FACTORY, "cache/informers/informer_factory")                                      \
    ROW(SHARED_INFORMER,  "cache/informers/shared_informer")                                       \
    ROW(SYNC_WAIT,        "cache/informers/shared_informer_wait")                                  \
    ROW(LIST_WATCH_SCRIPT, "client/informers/list_watch_script")                                   \
    ROW(INDEXER,          "cache/store/indexer")                                                   \
    ROW(LISTENER,         "cache/informers/processor_listener")                                    \
    ROW(HANDLER_POOL,     "client/runtime/handler_pool")                                           \
    ROW(CLIENT_INFORMERS, "client/informers/informers")                                            \
    ROW(LIST_WATCH,       "client/informers/list_watch")                                           \
    ROW(ELECTION,         "client/election")                                                       \
    ROW(WAITER,           "client/runtime/waiter")                                                 \
    ROW(CANCEL,           "client/cancel")                                                         \
    ROW(TESTING,          "testing/testing")                                                       \
    ROW(CONTROLLER_HOST,  "server/controllers/host/controllers")                                        \
    ROW(EVENT_RECORDER,   "kit/events/event_recorder")                                             \
    ROW(WORKQUEUE,        "queue/workqueue")                                                       \
    ROW(METRIC_SHARD,     "server/metrics/metrics")                                                \
    ROW(FEED_SHARES,      "storage/store/feed_shares")                                               \
    ROW(PROTOBUF_CACHE,   "server/shared/protobuf_cache")                                             \
    ROW(KEPT_DOCS,        "server/docs/kept_docs")                                                 \
    ROW(ADDRESS_INDEX,    "server/alloc/address_index")                                            \
    ROW(INSTANCE_ENGINE,  "server/instance/instance")                                              \
    ROW(CACHERS_FEED,     "storage/cacher/cachers, the feed")                                      \
    ROW(WATCH_CACHE,      "storage/cacher/watch_cache")                                            \
    ROW(CACHERS_LOOP,     "storage/cacher/cachers, one loop")                                      \
    ROW(TRANSFORMERS,     "storage/encryption/dynamic_transformers")                               \
    ROW(SQLITE_ENGINE,    "storage/sqlite/sqlite_engine")                                                 \
    ROW(SQLITE_READERS,   "storage/sqlite/sqlite_readers")                                                \
    ROW(CHECKPOINTER,     "storage/sqlite/sqlite_checkpointer")                                           \
    ROW(ETCD_ENGINE,      "storage/etcd/etcd_engine")                                                   \
    ROW(CLIENT_TRUST,     "server/access/client_trust")                                            \
    ROW(CLIENT_CAS,       "net/stream/client_cas")                                                        \
    ROW(HTTP_BUDGET,      "http/budget")                                                           \
    ROW(OFFLOAD,          "loop/offload")                                                          \
    ROW(MAILBOX,          "loop/mailbox")                                                          \
    ROW(BTREE,            "base/btree")                                                            \
    ROW(CUSTOM_SCHEMA,    "schema/kinds/custom_schema")
/* clang-format on */

enum cor_lock_rank {
#define COR_LOCK_ENUM(name, text) COR_LOCK_##name,
    COR_LOCK_RANKS(COR_LOCK_ENUM)
#undef COR_LOCK_ENUM
};

struct cor_lock {
    pthread_mutex_t mutex;
#ifdef COR_CHECK_LOCKS
    enum cor_lock_rank rank;
#endif
};

/* For a lock of static storage, as PTHREAD_MUTEX_INITIALIZER is: such a lock needs no end. */
#ifdef COR_CHECK_LOCKS
#define COR_LOCK_INITIALIZER(lock_rank)                                                            \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, lock_rank                                                       \
    }
#else
#define COR_LOCK_INITIALIZER(lock_rank)                                                            \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }
#endif

/* Its waits are measured by CLOCK_MONOTONIC, as cor_deadline_in_ms() is. */
struct cor_cond {
    pthread_cond_t cond;
};

#ifdef COR_CHECK_LOCKS
/* What a checked build remembers per thread; lock.c. Each aborts when the order is broken. */
void cor_lock_check_acquire(const struct cor_lock *lock);
void cor_lock_check_release(const struct cor_lock *lock);
void cor_lock_check_wait(const struct cor_lock *lock);
void cor_lock_assert_none(void);
#else
static inline void cor_lock_check_acquire(const struct cor_lock *lock)
{
    (void)lock;
}

static inline void cor_lock_check_release(const struct cor_lock *lock)
{
    (void)lock;
}

static inline void cor_lock_check_wait(const struct cor_lock *lock)
{
    (void)lock;
}

/* Is called before each call of a function that belongs to somebody else (a handler, a feed's sink,
 * a mail): such a function may take any lock, so the thread must hold none. */
static inline void cor_lock_assert_none(void)
{
}
#endif

static inline void cor_lock_init(struct cor_lock *lock, enum cor_lock_rank rank)
{
    pthread_mutex_init(&lock->mutex, NULL);
#ifdef COR_CHECK_LOCKS
    lock->rank = rank;
#else
    (void)rank;
#endif
}

/* Nobody holds the lock, and nobody waits for it. */
static inline void cor_lock_deinit(struct cor_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static inline void cor_lock_acquire(struct cor_lock *lock)
{
    cor_lock_check_acquire(lock);
    pthread_mutex_lock(&lock->mutex);
}

static inline void cor_lock_release(struct cor_lock *lock)
{
    cor_lock_check_release(lock);
    pthread_mutex_unlock(&lock->mutex);
}

/* The value of an expression that is evaluated while the lock is held:
 *
 *     return COR_LOCKED(&queue->lock, queue->n);
 */
#define COR_LOCKED(lock, expression)                                                               \
    __extension__({                                                                                \
        struct cor_lock *cor_locked_ = (lock);                                                     \
        cor_lock_acquire(cor_locked_);                                                             \
        __typeof__(expression) cor_value_ = (expression);                                          \
        cor_lock_release(cor_locked_);                                                             \
        cor_value_;                                                                                \
    })

void cor_cond_init(struct cor_cond *cond);

/* Nobody waits for it. */
static inline void cor_cond_deinit(struct cor_cond *cond)
{
    pthread_cond_destroy(&cond->cond);
}

/* Wakes at least one thread that waits. */
static inline void cor_cond_signal(struct cor_cond *cond)
{
    pthread_cond_signal(&cond->cond);
}

/* Wakes all threads that wait. */
static inline void cor_cond_broadcast(struct cor_cond *cond)
{
    pthread_cond_broadcast(&cond->cond);
}

/* Releases `lock` while it waits and holds it again when it returns. Wakeups may be spurious: the
 * caller checks its condition in a loop. */
static inline void cor_cond_wait(struct cor_cond *cond, struct cor_lock *lock)
{
    cor_lock_check_wait(lock);
    pthread_cond_wait(&cond->cond, &lock->mutex);
}

/* The same until a time of CLOCK_MONOTONIC (cor_deadline_in_ms()); false when that time is past. */
static inline bool cor_cond_wait_until(struct cor_cond *cond, struct cor_lock *lock,
                                       const struct timespec *until)
{
    cor_lock_check_wait(lock);
    return pthread_cond_timedwait(&cond->cond, &lock->mutex, until) != ETIMEDOUT;
}

#endif
