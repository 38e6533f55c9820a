/* What PUT and PATCH share: the next state of an object is made from what the client sent and from
 * the present state, checked, and written over exactly that state.
 * Owner: the call that embeds it.  Thread: its loop. */
#ifndef COR_SERVER_UPDATE_H
#define COR_SERVER_UPDATE_H

#include "server/write/write.h"

struct cor_update_call {
    struct cor_write write;          /* `apply` is set: PATCH */
    struct cor_store_change *change; /* the store's, while a step is under way; else NULL */
    cor_rev judged;                  /* the revision that the last step was made for */
    int decided; /* how the last step ended; < 0: its failure is in the status */
    unsigned rounds;
};

/* Starts the guaranteed update. The key, and for PUT the body, must be set. */
void cor_update_call_start(struct cor_update_call *update);
void cor_update_call_deinit(struct cor_call *call);

#endif
