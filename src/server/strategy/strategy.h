/* The rules that an object goes through before it is validated and stored: what the server fills in
 * and what it keeps from the old state.
 * Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_STRATEGY_H
#define COR_SERVER_STRATEGY_H

#include "server/api/call.h"

/* Of a generated name; upstream's lengths. */
#define COR_GENERATED_SUFFIX 5
#define COR_GENERATED_MAX    63

/* Appends a name that is not taken yet, as far as chance allows: the prefix, cut so that the whole
 * fits, and a random suffix. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_strategy_generate_name(struct cor_call *call, struct cor_str prefix, struct cor_buf *out);

/* Makes a new object from what a client sent: system fields filled, the namespace set, a name
 * generated from generateName when there is no name, and what the kind's strategy says
 * (schema/strategy.h). `sender` is who sent it, as JSON; empty when the strategy needs none. 0, or
 * a failure in the call's status. `ret_object` is in stored form. */
int cor_strategy_create(struct cor_call *call, const struct cor_object *body, struct cor_str sender,
                        struct cor_object **ret_object);

/* The next state of `old` (served form) when a client sends `body`, to the object or to the call's
 * subresource. `sends_empty`: the client sent an empty list or map, which the generation counts.
 * Results as of cor_strategy_create(). */
int cor_strategy_update(struct cor_call *call, const struct cor_object *old,
                        const struct cor_object *body, bool sends_empty,
                        struct cor_object **ret_object);

/* Is the object to be removed instead of written: deletion has begun, the grace period is 0, and no
 * finalizers are left? */
bool cor_strategy_is_finished(const struct cor_call *call, const struct cor_object *object);

#endif
