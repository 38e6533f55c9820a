/* Lets a handler hear what waits for it, at most `max` calls, in a time that does not pass. Returns
 * how many calls there were. */
#ifndef COR_TEST_DRAIN_H
#define COR_TEST_DRAIN_H

#include "cache/informers/shared_informer.h"

static inline size_t drain_listener(struct cor_processor_listener *listener, size_t max)
{
    struct cor_turn turn = {.max = max};

    cor_processor_listener_turn(listener, &turn);
    return turn.n;
}

static inline size_t drain_registration(struct cor_registration *registration, size_t max)
{
    struct cor_turn turn = {.max = max};

    cor_registration_turn(registration, &turn);
    return turn.n;
}

#endif
