/* A queue of keys that controllers process. A key that is added twice is queued once. No key is
 * given to two workers at the same time; a key that is added while a worker processes it is queued
 * again after cor_workqueue_done(). Keys can be added after a delay, or after the delay of a rate
 * limiter. The behaviour is that of client-go's util/workqueue.
 *
 * There is no thread inside. Workers either block in cor_workqueue_get(), or a program with a loop
 * of its own calls cor_workqueue_try_get() when on_ready says so and at the time it was told.
 * Thread: any.  Owner: the maker; free it when no thread is inside. */
#ifndef CORACLE_WORKQUEUE_H
#define CORACLE_WORKQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/clock.h"
#include "coracle/rate_limiter.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

struct cor_workqueue;

#define COR_WORKQUEUE_KEYS_MAX (1u << 20) /* waiting, queued or with a worker, unless set */
#define COR_WORKQUEUE_NEVER    UINT64_MAX

struct cor_workqueue_opts {
    size_t size; /* of this struct: COR_WORKQUEUE_OPTS sets it (coracle/api.h) */
    struct cor_rate_limiter *take_limiter; /* NULL: the controller's */
    size_t keys_max;                       /* 0: COR_WORKQUEUE_KEYS_MAX */
    /* A key may be ready earlier than the last try_get said: call try_get soon. Called without a
     * lock held, on the thread whose call caused it; may be NULL. */
    void (*on_ready)(void *arg);
    void *arg;
    /* NULL: the machine's. With another clock only cor_workqueue_try_get() sees that a delay is
     * over: cor_workqueue_get() cannot wait for a time that the program moves. Must stay valid. */
    const struct cor_clock *clock;
};

#define COR_WORKQUEUE_OPTS .size = sizeof(struct cor_workqueue_opts)

/* `opts` may be NULL. 0 or -COR_ENOMEM; the queue has taken the limiter in both cases. -COR_EINVAL,
 * -COR_ENOTSUP (coracle/api.h): nothing was taken. */
COR_API int cor_workqueue_new(const struct cor_workqueue_opts *opts, struct cor_workqueue **ret_q);

/* Frees the queue and the keys that are left in it. Returns NULL; NULL is allowed. */
COR_API struct cor_workqueue *cor_workqueue_free(struct cor_workqueue *q);

/* Adds a key. 0, also when the key is queued already. -COR_ENOMEM, -COR_EBUSY (the maximum),
 * -COR_ECANCELED (the queue is shut down: the key is not taken). The key is copied. */
COR_API int cor_workqueue_add(struct cor_workqueue *q, const char *key);

/* Adds a key after a delay. Of two delays of one key the earlier one is used; adding the key
 * meanwhile does not cancel the delay. Errors as above. */
COR_API int cor_workqueue_add_after(struct cor_workqueue *q, const char *key, uint64_t delay_ms);

/* Adds a key after the limiter's delay, and counts a failure of the key. Errors as above. */
COR_API int cor_workqueue_add_rate_limited(struct cor_workqueue *q, const char *key);

/* Forgets the key's failures; cor_workqueue_done() must still be called. */
COR_API void cor_workqueue_forget(struct cor_workqueue *q, const char *key);
COR_API uint32_t cor_workqueue_requeues(struct cor_workqueue *q, const char *key);

/* Waits for a key and gives it to the caller, who calls cor_workqueue_done() for it. 0, or
 * -COR_ECANCELED: the queue is shut down and empty. */
COR_API int cor_workqueue_get(struct cor_workqueue *q, const char **ret_key);

/* The same without waiting. -COR_EBUSY: none is ready; try again at `*reterr_at_ms`, milliseconds
 * of CLOCK_MONOTONIC, or of the options' clock (COR_WORKQUEUE_NEVER: only on_ready will tell). */
COR_API int cor_workqueue_try_get(struct cor_workqueue *q, const char **ret_key,
                                  uint64_t *reterr_at_ms);

/* The worker has processed the key. `key` is the pointer that get returned; it is not valid
 * afterwards. */
COR_API void cor_workqueue_done(struct cor_workqueue *q, const char *key);

/* The number of queued keys, without delayed keys and keys that a worker processes. */
COR_API size_t cor_workqueue_len(struct cor_workqueue *q);

/* Shuts the queue down: no key can be added, delayed keys are dropped, queued keys are still given
 * out. A drain that waits ends. */
COR_API void cor_workqueue_shutdown(struct cor_workqueue *q);

/* The same, and waits until no worker processes a key. It does not wait for keys that are still
 * queued; workers that continue to call get receive them. */
COR_API void cor_workqueue_shutdown_with_drain(struct cor_workqueue *q);
COR_API bool cor_workqueue_is_shutting_down(struct cor_workqueue *q);

/* For metrics; counts are since the queue was made. */
struct cor_workqueue_stats {
    size_t depth;      /* queued, or to be queued after done */
    size_t delayed;    /* waiting for their time */
    size_t processing; /* with a worker */
    uint64_t adds;     /* that were not duplicates */
    uint64_t retries;  /* calls of add_after and add_rate_limited */
    uint64_t gets;
    uint64_t queue_us;       /* from first add to get, sum over gets */
    uint64_t done;           /* calls of done */
    uint64_t work_us;        /* from get to done, sum over done */
    uint64_t unfinished_us;  /* ages of what is with a worker, sum */
    uint64_t longest_run_us; /* the oldest of them */
};

COR_API void cor_workqueue_stats(struct cor_workqueue *q, struct cor_workqueue_stats *ret);

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
