/* The end of the way of a write: the object is stored, or in a dry run only compared with what is
 * there.
 * Thread: the call's loop. */
#ifndef COR_SERVER_WRITE_WRITE_STORE_H
#define COR_SERVER_WRITE_WRITE_STORE_H

#include "server/write/write.h"

/* Stores the object of the write under the call's key, if the key is free. `on_stored` follows:
 * -COR_EEXIST when the key is taken. The caller counts the operation (cor_call_begin_op()). 0, or a
 * failure in the call's status. */
int cor_write_store_new(struct cor_write *write, cor_store_cb on_stored, void *arg);

/* Starts a guaranteed update of the call's object, whose steps run the stages: as
 * cor_store_update(), and what was reserved is settled before on_done is called. `opts->arg` is the
 * write. */
int cor_write_store_update(struct cor_write *write, const struct cor_store_update_opts *opts);

/* Deletes an object of the call's resource: as cor_store_delete(), and what the object had reserved
 * is released before on_done is called. */
int cor_write_store_delete(struct cor_call *call, struct cor_str key,
                           const struct cor_store_delete_opts *opts);

/* Ends a step of a guaranteed update that was judged with `r`: stores the object of the write, or
 * stops the change (a failure, a dry run, an object that is removed instead). */
void cor_write_store_change(struct cor_write *write, int r, struct cor_store_change *change);

#endif
