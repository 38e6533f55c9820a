/* Charges flow in one direction: a segment that leaves the window charges the youngest pin that
 * shows each version, and a pin that goes hands its charge to the next older one. Nothing here
 * allocates, so nothing fails. */
#include "storage/cacher/pins.h"

#include <assert.h>

/* Pins that are looked at for the rest of a charge. */
#define NEIGHBOURS_MAX 64

static struct cor_pin *pin_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_pin, link);
}

static struct cor_pin *older(const struct cor_pins *pins, const struct cor_pin *pin)
{
    return pin->link.prev == &pins->list ? NULL : pin_of(pin->link.prev);
}

static struct cor_pin *younger(const struct cor_pins *pins, const struct cor_pin *pin)
{
    return pin->link.next == &pins->list ? NULL : pin_of(pin->link.next);
}

static struct cor_pin *youngest(const struct cor_pins *pins)
{
    return cor_dlist_empty(&pins->list) ? NULL : pin_of(pins->list.prev);
}

static _Atomic size_t *total_of(const struct cor_pins *pins, const struct cor_pin *pin)
{
    return atomic_load(&pin->is_leaving) ? &pins->totals->leaving : &pins->totals->held;
}

/* No pin is charged more than all that its snapshot shows. Returns what is left of the charge. */
static size_t charge_one(struct cor_pins *pins, struct cor_pin *pin, size_t bytes)
{
    size_t taken = bytes < pin->max - pin->bytes ? bytes : pin->max - pin->bytes;

    pin->bytes += taken;
    atomic_fetch_add(total_of(pins, pin), taken);
    if (taken > 0 && pins->charged_below <= pin->next)
        pins->charged_below = pin->next + 1;
    return bytes - taken;
}

/* Charges the pin, and with what it has no room for its neighbours: those of the same age, then
 * older ones. Exact reads share the age of their root and show different versions, so one of them
 * alone may be too small for the charge. */
static void charge(struct cor_pins *pins, struct cor_pin *pin, size_t bytes)
{
    size_t left = charge_one(pins, pin, bytes), visits = 0;
    struct cor_pin *other;

    for (other = younger(pins, pin);
         left > 0 && other && other->next == pin->next && visits < NEIGHBOURS_MAX;
         other = younger(pins, other), visits++)
        left = charge_one(pins, other, left);
    for (other = older(pins, pin); left > 0 && other && visits < NEIGHBOURS_MAX;
         other = older(pins, other), visits++)
        left = charge_one(pins, other, left);
}

void cor_pins_init(struct cor_pins *pins, struct cor_pin_totals *totals)
{
    cor_dlist_init(&pins->list);
    pins->charged_below = 0;
    pins->totals = totals;
}

void cor_pins_add_locked(struct cor_pins *pins, struct cor_pin *pin, struct cor_pin *after,
                         uint64_t next, cor_rev rev, size_t max)
{
    struct cor_dlist *place = after ? &after->link : pins->list.prev;

    assert(place == &pins->list || pin_of(place)->next <= next);
    pin->next = next;
    pin->rev = rev;
    pin->max = max;
    pin->bytes = 0;
    pin->due_ms = 0;
    atomic_init(&pin->owner, NULL);
    atomic_init(&pin->is_leaving, false);
    cor_dlist_push_front(place, &pin->link);
}

/* The pin that takes over the charge: one of the same age, or else the next older one that shows
 * anything. NULL: no snapshot shows these versions any more. */
static struct cor_pin *heir_of(const struct cor_pins *pins, const struct cor_pin *pin)
{
    struct cor_pin *heir = younger(pins, pin);

    if (heir && heir->next == pin->next && heir->max > 0)
        return heir;
    heir = older(pins, pin);
    while (heir && heir->max == 0)
        heir = older(pins, heir);
    return heir;
}

void cor_pins_remove_locked(struct cor_pins *pins, struct cor_pin *pin)
{
    struct cor_pin *heir = pin->bytes > 0 ? heir_of(pins, pin) : NULL;

    assert(pin->bytes <= pin->max && !cor_dlist_empty(&pins->list));
    cor_dlist_remove(&pin->link);
    if (pin->bytes == 0)
        return;
    atomic_fetch_sub(total_of(pins, pin), pin->bytes);
    if (heir)
        charge(pins, heir, pin->bytes);
    pin->bytes = 0;
}

/* The version that an event replaced is shown by the youngest pin before the event, unless the
 * version is later than that pin's revision. Then only an exact read can show it, whose pin is
 * listed where its root is: the version is charged to the pin that shows the latest versions. One
 * walk over the list serves all events of the segment, because both are in order of their numbers.
 */
void cor_pins_charge_segment_locked(struct cor_pins *pins, const struct cor_window_segment *s)
{
    struct cor_dlist *link = pins->list.next;
    struct cor_pin *last = NULL, *latest = NULL;

    if (link == &pins->list || pin_of(link)->next >= s->number + s->end)
        return;
    for (unsigned i = s->begin; i < s->end; i++) {
        const struct cor_cache_entry *was = s->events[i].old;

        for (; link != &pins->list && pin_of(link)->next <= s->number + i; link = link->next) {
            last = pin_of(link);
            latest = latest && latest->rev > last->rev ? latest : last;
        }
        if (!was || !last || was->object->rev > latest->rev)
            continue;
        charge(pins, was->object->rev <= last->rev ? last : latest, cor_cache_entry_bytes(was));
    }
}

void cor_pins_charge_tree_locked(struct cor_pins *pins, size_t bytes)
{
    struct cor_pin *pin = youngest(pins);

    if (pin)
        charge(pins, pin, bytes);
}

static struct cor_pin *charged_from(const struct cor_pins *pins, struct cor_dlist *link)
{
    for (; link != &pins->list && pin_of(link)->next < pins->charged_below; link = link->next)
        if (pin_of(link)->bytes > 0)
            return pin_of(link);
    return NULL;
}

struct cor_pin *cor_pins_oldest_locked(const struct cor_pins *pins)
{
    return charged_from(pins, pins->list.next);
}

struct cor_pin *cor_pins_younger_locked(const struct cor_pins *pins, const struct cor_pin *pin)
{
    return charged_from(pins, pin->link.next);
}

void cor_pins_leave_locked(struct cor_pins *pins, struct cor_pin *pin)
{
    assert(!atomic_load(&pin->is_leaving));
    atomic_fetch_sub(&pins->totals->held, pin->bytes);
    atomic_fetch_add(&pins->totals->leaving, pin->bytes);
    atomic_store(&pin->is_leaving, true);
}

void cor_pins_stay_locked(struct cor_pins *pins, struct cor_pin *pin)
{
    if (!atomic_load(&pin->is_leaving))
        return;
    atomic_fetch_sub(&pins->totals->leaving, pin->bytes);
    atomic_fetch_add(&pins->totals->held, pin->bytes);
    atomic_store(&pin->is_leaving, false);
    pin->due_ms = 0;
}
