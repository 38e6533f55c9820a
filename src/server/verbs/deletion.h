/* What a deletion does to an object in a given state: the object is removed at once, it is marked
 * and stays for its finalizers or its grace period, or it stays as it is because it is being
 * deleted already. Thread: the thread that has the call. */
#ifndef COR_SERVER_DELETION_H
#define COR_SERVER_DELETION_H

#include "server/verbs/delete_options.h"

enum cor_deletion_step {
    COR_DELETION_NOW,     /* remove it */
    COR_DELETION_MARK,    /* store the marked object */
    COR_DELETION_PENDING, /* leave it as it is */
};

struct cor_deletion {
    enum cor_deletion_step step;
    struct cor_object *marked; /* MARK: in stored form; the receiver releases it */
    bool ends;                 /* MARK: nothing keeps the marked object, and it is removed next */
    bool
        is_under_way; /* PENDING: the options ask for nothing that the deletion does not do already,
                       * and no plugin is asked again; false: the mark would change nothing */
};

/* Checks that this is the object, in the state, that the options require. 0, -COR_ECONFLICT (409)
 * in the call's status. */
int cor_deletion_check_preconditions(struct cor_call *call,
                                     const struct cor_delete_options *options,
                                     const struct cor_object *object);

/* 0, or a failure in the call's status (preconditions: 409). */
int cor_deletion_decide(struct cor_call *call, const struct cor_delete_options *options,
                        const struct cor_object *object, struct cor_deletion *ret_deletion);

#endif
