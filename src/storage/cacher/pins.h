/* What snapshots alone keep in memory: versions of objects that are neither in the present tree nor
 * in the window any more. Each snapshot has a pin in its cache's list, oldest first.
 *
 * A version is charged when the event that replaced it leaves the window, to the youngest snapshot
 * that shows it: the oldest snapshot can then be ended, and its whole charge is free. When a
 * snapshot goes before one of the same age or an older one, its charge falls to that one, which may
 * show less of it: the sum is never too low, and no pin is charged more than all that its snapshot
 * shows. While no snapshot is older than the window, nothing is counted and an eviction looks at
 * one pin.
 *
 * Thread: any, with the watch cache's lock held, but for `owner`, `is_leaving` and the totals.
 * Owner: a pin its snapshot, the list its watch cache, the totals the caches. */
#ifndef COR_STORAGE_CACHER_PINS_H
#define COR_STORAGE_CACHER_PINS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/dlist.h"
#include "storage/cacher/window.h"

/* Of all caches together, to be read at any time. */
struct cor_pin_totals {
    _Atomic size_t held;    /* without what is leaving */
    _Atomic size_t leaving; /* of snapshots whose owner was asked to let them go */
};

struct cor_pin {
    struct cor_dlist link;
    uint64_t next;       /* number of the first event that its root does not show */
    cor_rev rev;         /* no later version is shown */
    size_t max;          /* all that is shown weighs no more */
    size_t bytes;        /* its charge */
    uint64_t due_ms;     /* when it may be asked for; 0: the budget has had room for it */
    void *_Atomic owner; /* who can be asked to let it go; NULL: nobody */
    atomic_bool is_leaving;
};

struct cor_pins {
    struct cor_dlist list;  /* oldest first: `next` never falls */
    uint64_t charged_below; /* no pin whose `next` is not below this is charged */
    struct cor_pin_totals *totals;
};

void cor_pins_init(struct cor_pins *pins, struct cor_pin_totals *totals);

/* The pin's other fields are set here; nothing is charged to it yet. It is the youngest, or, unless
 * `after` is NULL, comes right after that one, which has the same `next`. */
void cor_pins_add_locked(struct cor_pins *pins, struct cor_pin *pin, struct cor_pin *after,
                         uint64_t next, cor_rev rev, size_t max);
void cor_pins_remove_locked(struct cor_pins *pins, struct cor_pin *pin);

/* The segment leaves the window. */
void cor_pins_charge_segment_locked(struct cor_pins *pins, const struct cor_window_segment *s);
/* The present tree, which weighs `bytes`, is replaced by another. */
void cor_pins_charge_tree_locked(struct cor_pins *pins, size_t bytes);

/* The oldest pin that is charged; the charged one that is next younger; NULL: there is none. */
struct cor_pin *cor_pins_oldest_locked(const struct cor_pins *pins);
struct cor_pin *cor_pins_younger_locked(const struct cor_pins *pins, const struct cor_pin *pin);

/* Its owner is being asked to let it go; it is not asked any more. */
void cor_pins_leave_locked(struct cor_pins *pins, struct cor_pin *pin);
void cor_pins_stay_locked(struct cor_pins *pins, struct cor_pin *pin);

#endif
