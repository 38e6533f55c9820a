/* The rules that an object goes through before it is validated and stored: what the server fills in
 * and what it keeps from the old state.
 * Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_STRATEGY_STRATEGY_RUN_H
#define COR_SERVER_STRATEGY_STRATEGY_RUN_H

#include "schema/types/strategy.h"
#include "server/api/call.h"

/* Of a generated name; upstream's lengths. */
#define COR_GENERATED_SUFFIX 5
#define COR_GENERATED_MAX    63

/* Appends a name that is not taken yet, as far as chance allows: the prefix, cut so that the whole
 * fits, and a random suffix. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_strategy_generate_name(struct cor_call *call, struct cor_str prefix, struct cor_buf *out);

/* What a strategy works on. */
struct cor_strategy_input {
    const struct cor_object *body; /* what the client sent */
    const struct cor_object *old;  /* the present object, served form; NULL: a create */
    struct cor_str sender;         /* who sent it, as JSON; empty when the strategy needs none */
    bool has_gated;                /* it may have a field of a feature gate that is off */
    bool sends_empty; /* it has an empty list or map that the kind's generation counts */
};

/* The endpoint that an update goes to; a scale is an update of the object that it scales. */
/* Appends the list of owner references without those that are repeated, whose uids `uids` gets as a
 * text; what `uids` has no room for is left out. 1; 0: none is repeated; -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_strategy_unique_owners(struct cor_str owners, struct cor_buf *out, struct cor_buf *uids);

enum cor_strategy_on cor_strategy_endpoint(const struct cor_call *call);

/* Makes a new object from what a client sent: system fields filled, the namespace set, a name
 * generated from generateName when there is no name, and what the kind's strategy says
 * (schema/types/strategy.h). 0, or a failure in the call's status. `ret_object` is in stored form.
 */
int cor_strategy_create(struct cor_call *call, const struct cor_strategy_input *input,
                        struct cor_object **ret_object);

/* The next state of the present object, when a client writes to it or to the call's subresource.
 * Results as of cor_strategy_create(). */
int cor_strategy_update(struct cor_call *call, const struct cor_strategy_input *input,
                        struct cor_object **ret_object);

/* Is the object to be removed instead of written: deletion has begun, the grace period is 0, and no
 * finalizers are left? */
bool cor_strategy_is_finished(const struct cor_call *call, const struct cor_object *object);

#endif
