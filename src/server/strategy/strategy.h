/* The rules that an object goes through before it is stored: what the server fills in, what it
 * keeps from the old state, what it refuses.
 * Thread: the call's loop. */
#ifndef COR_SERVER_STRATEGY_H
#define COR_SERVER_STRATEGY_H

#include "server/api/call.h"

/* Of a generated name; upstream's lengths. */
#define COR_GENERATED_SUFFIX 5
#define COR_GENERATED_MAX    63

/* A new object of what a client sent: system fields wiped and filled, status reset, the namespace
 * set, a name generated when there is none but a generateName. Checked. 0, or a failure in the
 * call's status. `ret_object` is in stored form. */
int cor_strategy_create(struct cor_call *call, const struct cor_object *body,
                        struct cor_object **ret_object);

/* The next state of `old` (served form) when a client sends `body`, to the object or to the call's
 * subresource. The same results. */
int cor_strategy_update(struct cor_call *call, const struct cor_object *old,
                        const struct cor_object *body, struct cor_object **ret_object);

/* Does this object go once it is written: deletion has begun, and nothing waits any more? */
bool cor_strategy_is_finished(const struct cor_call *call, const struct cor_object *object);

#endif
