/* What PUT and PATCH share: the next state of an object is made from what the client sent and from
 * the present state, checked, and written over exactly that state.
 * Owner: the call that embeds it.  Thread: its loop. */
#ifndef COR_SERVER_UPDATE_H
#define COR_SERVER_UPDATE_H

#include "server/verbs/body.h"

struct cor_update_call {
    struct cor_call call;
    struct cor_body body; /* PUT: what was sent; PATCH: the result of the last step */
    /* PATCH: makes `body` of the present object. NULL: PUT. 0, or a failure in the status. May run
     * on another thread (server/api/heavy.h). */
    int (*apply)(struct cor_update_call *update, struct cor_object *current);
    size_t patch_bytes; /* PATCH: what `apply` reads besides the present object */
    /* Of the step under way: the store's change, and the present object; else NULL. */
    struct cor_store_change *change;
    struct cor_object *current;
    struct cor_object *next; /* of the last step, stored form */
    cor_rev judged;          /* the revision it was made for */
    int decided;             /* how the last step ended; < 0: its failure is in the status */
    bool removes; /* `next` has nothing left to wait for: the object is removed instead */
    unsigned rounds;
};

/* Starts the guaranteed update. The key, and for PUT the body, must be set. */
void cor_update_call_start(struct cor_update_call *update);
void cor_update_call_deinit(struct cor_call *call);

#endif
