/* clang-format off */
/* What guaranteed update and delete share: from a suggestion or a read, through preconditions and the
 * caller's step, to one compare-and-swap, and back to the step with the present state when the
 * compare is lost.
 *
 *            suggestion ──────────────┐
 *                                     ▼
 *   start ── read ──► judge: preconditions, step ──► write ──► done
 *              ▲            │ (no: suggestion)          │ lost: the answer has the present state
 *              └────────────┘                           └──► judge
 *
 * Thread: the loop's.  Owner: itself; it frees itself when it calls back. */
/* clang-format on */
#ifndef COR_STORAGE_STORE_CHANGE_H
#define COR_STORAGE_STORE_CHANGE_H

#include "storage/store/store_int.h"

struct cor_store_change {
    struct cor_store *store;
    struct store_key key;
    bool is_delete;
    bool ignore_not_found; /* update */
    bool unreadable;       /* delete */
    bool has_uid, has_rv;
    char *uid, *rv; /* preconditions */
    uint64_t deadline_ms;
    cor_store_step step;
    cor_store_cb on_done;
    void *arg;

    /* The state that is judged. */
    struct cor_object *object; /* NULL: absent, or unreadable */
    cor_rev rev;               /* 0: absent */
    bool rewrite;              /* its bytes are not those a write would make */
    bool current;              /* read from the engine, not suggested */

    struct cor_status refusal; /* of a suggestion; holds when the read finds the same revision */
    int refused;               /* its code; 0: none */
    bool was_stopped;          /* by the step that judged last */
    struct cor_object *next;   /* update: to be written, stored form */
    bool confirm;              /* `next` equals the suggestion; the read decides */
    struct store_scratch scratch;
    struct cor_str value; /* of `next`, transformed; in it or in scratch */
    struct cor_mail turn; /* begins on the loop's next turn */
    struct cor_lease_want lease;
    struct cor_range_req range;
    struct cor_write_req write;
};

/* Fills what both have. 0, -COR_EINVAL, -COR_ENOMEM. */
int cor_store_change_new(struct cor_store *store, struct cor_str key,
                         const struct cor_preconditions *preconditions,
                         struct cor_object *suggestion, struct cor_store_change **ret_change,
                         struct cor_status *reterr_status);
struct cor_store_change *cor_store_change_free(struct cor_store_change *change);

void cor_store_change_start(struct cor_store_change *change);
void cor_store_change_read(struct cor_store_change *change);
void cor_store_change_judge(struct cor_store_change *change);
void cor_store_change_submit(struct cor_store_change *change);
void cor_store_change_finish(struct cor_store_change *change, int err, struct cor_status *status,
                             struct cor_object *object);

/* Writes `next`, with a lease when it has a time to live. */
void cor_store_update_write(struct cor_store_change *change);

/* After the read that was to confirm that nothing changes. */
void cor_store_update_confirmed(struct cor_store_change *change);

#endif
