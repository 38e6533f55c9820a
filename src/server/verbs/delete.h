/* The deletion of one object, for DELETE and for each item of DELETECOLLECTION.
 * Owner: whoever embeds it.  Thread: the call's loop. */
#ifndef COR_SERVER_DELETE_H
#define COR_SERVER_DELETE_H

#include "server/verbs/deletion.h"

struct cor_delete_op {
    struct cor_call *call;
    const struct cor_delete_options *options;
    struct cor_buf key;
    unsigned rounds;          /* how often the state changed under it */
    int decided;              /* of the last decision; < 0: its failure is in the call's status */
    struct cor_deletion last; /* the last decision */
    struct cor_store_change *change; /* that a decision under way is about; else NULL */
    struct cor_object *object;       /* as it was judged last, or as it is at the end */
    bool was_removed;                /* at the end: else it is pending */
    void (*on_done)(struct cor_delete_op *op, int err);
};

/* Deletes the object at op->key (logical). on_done follows, unless the call is over: 0, or a
 * failure, with the call's status, as the API's errors. */
void cor_delete_op_run(struct cor_delete_op *op, struct cor_str name);
void cor_delete_op_deinit(struct cor_delete_op *op); /* safe on a zeroed struct */

#endif
