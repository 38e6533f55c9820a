/* The deletion of one object, for DELETE, for each item of DELETECOLLECTION and for evictions. A
 * call may have several of them under way, if all of them stay on the loop: then each sets the
 * call's name and status only while one of its callbacks runs. Owner: whoever embeds it.  Thread:
 * the call's loop. */
#ifndef COR_SERVER_DELETE_H
#define COR_SERVER_DELETE_H

#include "server/admission/admission.h"
#include "server/verbs/deletion.h"

struct cor_delete_op {
    struct cor_call *call;
    const struct cor_delete_options *options;
    struct cor_buf key;
    struct cor_str name; /* borrowed by the run */
    bool stays_on_loop;  /* no stage leaves the loop, whatever the size of the object */
    bool is_admitted;    /* the request has passed admission as another one: an eviction */
    unsigned rounds;     /* how often it changed between removing and marking */
    int decided;         /* of the last decision; < 0: its failure is in `why` */
    struct cor_status why;
    struct cor_deletion last;        /* the last decision */
    struct cor_store_change *change; /* the store's, while a decision about it is made; else NULL */
    bool marks;                      /* the change stores a mark; false: it removes the object */
    struct cor_admission admission;  /* of the decision */
    struct cor_object *object;       /* as it was judged last, or as it is at the end */
    struct cor_object *marked;       /* as this operation stored it last in order to remove it next;
                                      * NULL: it did not */
    bool was_removed;                /* at the end; false: the object stays, marked */
    void (*on_done)(struct cor_delete_op *op, int err);
};

/* Deletes the object at op->key (a logical key); `name` must stay valid until on_done. on_done
 * follows, unless the call is over: with 0, or with a failure that is in the call's status as an
 * error of the API. */
void cor_delete_op_run(struct cor_delete_op *op, struct cor_str name);
void cor_delete_op_deinit(struct cor_delete_op *op); /* safe on a zeroed struct */

#endif
