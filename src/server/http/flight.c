/* Places for requests. A place is counted twice, among all and in its user's bucket; both counters
 * go up before they are compared, so that two loops cannot take the last place together, and go
 * down again on a refusal. */
#include "server/http/flight.h"

#include <assert.h>
#include <string.h>

#include "server/access/authenticator.h"

/* Hashes the first and the last eight bytes of the name only, because every request pays for this.
 * Users who fall into one bucket share one user's half. */
static unsigned bucket_of(const struct cor_user *user)
{
    struct cor_str name = user->name;
    size_t n = name.n < sizeof(uint64_t) ? name.n : sizeof(uint64_t);
    uint64_t head = 0, tail = 0;

    if (n > 0) {
        memcpy(&head, name.p, n);
        memcpy(&tail, name.p + name.n - n, n);
    }
    head = (head ^ name.n) * 0x9e3779b97f4a7c15u;
    tail = (tail ^ (head >> 32)) * 0x9e3779b97f4a7c15u;
    return (unsigned)((tail >> 32) % COR_FLIGHT_BUCKETS);
}

static uint64_t share_of_user(const struct cor_flight *flight)
{
    return (flight->max + 1) / 2;
}

static bool is_master(const struct cor_user *user)
{
    return cor_user_is_in(user, COR_STR(COR_GROUP_MASTERS));
}

void cor_flight_init(struct cor_flight *flight, uint64_t max)
{
    *flight = (struct cor_flight){.max = max};
}

bool cor_flight_has_place(const struct cor_flight *flight, const struct cor_user *user)
{
    uint64_t nplaces = atomic_load_explicit(&flight->nplaces, memory_order_relaxed);

    assert(user);
    /* While all users together have fewer places than one may have, no name has to be hashed. */
    if (flight->max == 0 || nplaces < share_of_user(flight))
        return true;
    if (nplaces < flight->max && atomic_load_explicit(&flight->users[bucket_of(user)],
                                                      memory_order_relaxed) < share_of_user(flight))
        return true;
    return is_master(user);
}

bool cor_flight_enter(struct cor_flight *flight, const struct cor_user *user,
                      struct cor_flight_place *ret_place)
{
    unsigned bucket;
    bool has_room, is_in_share;

    assert(user && ret_place);
    *ret_place = (struct cor_flight_place){0};
    if (flight->max == 0)
        return true;
    bucket = bucket_of(user);
    has_room = atomic_fetch_add(&flight->nplaces, 1) < flight->max;
    is_in_share = atomic_fetch_add(&flight->users[bucket], 1) < share_of_user(flight);
    if (has_room && (is_in_share || is_master(user))) {
        *ret_place = (struct cor_flight_place){flight, bucket};
        return true;
    }
    atomic_fetch_sub(&flight->users[bucket], 1);
    atomic_fetch_sub(&flight->nplaces, 1);
    return is_master(user);
}

void cor_flight_leave(struct cor_flight_place *place)
{
    if (!place->flight)
        return;
    assert(atomic_load_explicit(&place->flight->nplaces, memory_order_relaxed) > 0);
    atomic_fetch_sub(&place->flight->users[place->bucket], 1);
    atomic_fetch_sub(&place->flight->nplaces, 1);
    *place = (struct cor_flight_place){0};
}
