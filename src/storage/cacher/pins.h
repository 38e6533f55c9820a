/* What snapshots alone keep in memory: versions of objects that are neither in the present tree nor
 * in the window any more. Each snapshot has a pin in the list of its watch cache, oldest first.
 *
 * A version is charged when the event that replaced it leaves the window, to the youngest snapshot
 * that shows it. So when the oldest snapshot is ended, its whole charge is freed. When a snapshot
 * is released before one of the same age or an older one, its charge moves to that one, which may
 * show less of it. No pin is charged more than all that its snapshot shows; the rest of a charge
 * goes to its neighbours, so that the sum is not too low (unless more than 64 of them have no
 * room). While no snapshot is older than the window, nothing is counted, and an eviction looks at
 * one pin.
 *
 * Thread: any, with the watch cache's lock held; `owner`, `is_leaving` and the totals are atomic.
 * Owner: of a pin its snapshot, of the list its watch cache, of the totals the cachers. */
#ifndef COR_STORAGE_CACHER_PINS_H
#define COR_STORAGE_CACHER_PINS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/dlist.h"
#include "storage/cacher/window.h"

/* Of all watch caches together. From any thread. */
struct cor_pin_totals {
    _Atomic size_t held;    /* by snapshots whose owner was not asked for them */
    _Atomic size_t leaving; /* by snapshots whose owner was asked to release them */
};

struct cor_pin {
    struct cor_dlist link;
    uint64_t next;          /* number of the first event that its root does not show */
    cor_rev rev;            /* the snapshot shows no later version */
    size_t max;             /* bytes of all that the snapshot shows, at most */
    size_t bytes;           /* its charge */
    uint64_t due_ms;        /* its owner may be asked from then on; 0: there was no need so far */
    void *_Atomic owner;    /* the reader that can be asked to release it; NULL: none */
    atomic_bool is_leaving; /* the owner was asked */
};

struct cor_pins {
    struct cor_dlist list;  /* oldest first: `next` never decreases */
    uint64_t charged_below; /* only pins whose `next` is below this can be charged */
    struct cor_pin_totals *totals;
};

void cor_pins_init(struct cor_pins *pins, struct cor_pin_totals *totals);

/* Initializes the pin, without a charge, and puts it into the list: right after `after`, which has
 * the same `next`, or (NULL) as the youngest. */
void cor_pins_add_locked(struct cor_pins *pins, struct cor_pin *pin, struct cor_pin *after,
                         uint64_t next, cor_rev rev, size_t max);
/* The snapshot is released; its charge moves to another that may show the same versions. */
void cor_pins_remove_locked(struct cor_pins *pins, struct cor_pin *pin);

/* The segment leaves the window: charges the versions that its events replaced. */
void cor_pins_charge_segment_locked(struct cor_pins *pins, const struct cor_window_segment *s);
/* The present tree, which weighs `bytes`, is replaced: charges all of it. */
void cor_pins_charge_tree_locked(struct cor_pins *pins, size_t bytes);

/* The oldest pin that is charged; the next younger one that is charged. NULL: there is none. */
struct cor_pin *cor_pins_oldest_locked(const struct cor_pins *pins);
struct cor_pin *cor_pins_younger_locked(const struct cor_pins *pins, const struct cor_pin *pin);

/* The owner is asked to release the snapshot; the owner keeps it for now. */
void cor_pins_leave_locked(struct cor_pins *pins, struct cor_pin *pin);
void cor_pins_stay_locked(struct cor_pins *pins, struct cor_pin *pin);

#endif
