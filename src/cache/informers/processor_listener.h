/* The queue of one handler's notifications: client-go's processorListener without its threads. One
 * thread at a time drains it, by cor_processor_listener_turn(), which calls the handler.
 *
 * The bytes that wait are bounded. Beyond the bound nothing is lost: an update of a key that has an
 * add or an update waiting is folded into it, so that the handler sees the newest state. The
 * snapshot that a late handler begins with is the cache's own, and does not count.
 * Thread: any; the handler runs on the thread that drains.  Owner: the processor. */
#ifndef COR_CACHE_PROCESSOR_LISTENER_H
#define COR_CACHE_PROCESSOR_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/dlist.h"
#include "base/str.h"
#include "cache/informers/handler_fns.h"
#include "cache/store/indexer.h"
#include "meta/object/object.h"

#define COR_LISTENER_BYTES_MAX (64u << 20) /* what informers use unless told otherwise */

struct cor_processor_listener;

/* `handler` is copied. `bytes_max` 0: no bound, nothing is ever folded. on_ready is called on the
 * pusher's thread when there is something to drain after there was nothing; it may be NULL. 0 or
 * -COR_ENOMEM. */
int cor_processor_listener_new(const struct cor_handler_fns *handler, size_t bytes_max,
                               void (*on_ready)(void *arg), void *arg,
                               struct cor_processor_listener **ret_listener);

/* No drain may be under way. What waits is dropped. Returns NULL. */
struct cor_processor_listener *cor_processor_listener_free(struct cor_processor_listener *l);

/* Called before anything is pushed: the handler gets an add of the initial list for each object of
 * the iterator, which the listener takes, and then what is pushed. Nothing is allocated. */
void cor_processor_listener_begin_with(struct cor_processor_listener *l,
                                       const struct cor_object_iter *take_snapshot);

/* One change for one handler. It is made before the cache changes, because making it can fail and
 * pushing it cannot. */
struct cor_notification {
    struct cor_dlist link;
    struct cor_processor_listener *to;
    enum cor_change_kind kind;
    bool flag; /* as cor_change's */
    struct cor_object *old, *object;
    uint32_t key_len;
    char key[];
};

/* Takes references and a copy of the key. NULL when out of memory. */
struct cor_notification *cor_notification_new(struct cor_processor_listener *to,
                                              const struct cor_change *change);
struct cor_notification *cor_notification_free(struct cor_notification *n);

/* Queues the notification for the listener that it was made for. When that listener is closed, the
 * notification is freed. */
void cor_notification_push(struct cor_notification *take);

#define COR_TURN_MS         5   /* no call begins when the turn has lasted this long */
#define COR_SLOW_HANDLER_MS 100 /* a call that takes longer is reported */

/* One turn of a handler. A turn ends after `max` calls, or with the first call that ends
 * COR_TURN_MS or more after the turn began: a handler that is slow has one call in a turn. */
struct cor_turn {
    size_t max;                    /* at least 1 */
    const struct cor_clock *clock; /* NULL: time does not end the turn */
    uint64_t began_ms;             /* cor_clock_coarse_ms(clock), just now */
    /* Results. */
    size_t n;            /* calls */
    bool has_more;       /* the turn was ended early, and notifications may be left */
    uint64_t longest_ms; /* of a call; 0 without a clock */
    uint64_t at_ms;      /* when the last call ended, or began_ms */
};

/* Runs the handler without a lock held. The caller sets the first three, and zeros the rest. */
void cor_processor_listener_turn(struct cor_processor_listener *l, struct cor_turn *turn);

/* Drops the notifications that wait, and those that are pushed later; a call of the handler that is
 * under way continues. */
void cor_processor_listener_close(struct cor_processor_listener *l);

/* Has the handler returned from every add of the initial list? False forever when one of them was
 * dropped. */
bool cor_processor_listener_saw_initial(struct cor_processor_listener *l);

struct cor_processor_listener_stats {
    size_t pending;       /* notifications, and what is left of the snapshot */
    size_t pending_bytes; /* of the notifications, with the objects that they hold */
    uint64_t folded;      /* updates, since it was made */
};
void cor_processor_listener_stats(struct cor_processor_listener *l,
                                  struct cor_processor_listener_stats *ret);

#endif
