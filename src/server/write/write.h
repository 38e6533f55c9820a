/* clang-format off */
/* The way of a write: a list of stages that every create, update and patch goes through.
 *
 *     POST, PUT ─► what was sent: decoded, checked, in the form of the hub ──┐
 *     PATCH, once per present object: applied, then the same ────────────────┤
 *                                                                            ▼
 *     after a lost compare a PUT begins again here ─► who owns which field ─► admission that mutates
 *         ─► the object that will be stored, made and judged ─► admission that validates ─► store
 *
 * write_lists.c has the lists, one for built-in kinds and one for custom resources, write_run.c runs
 * one; docs/internals/write.md describes each stage.
 *
 * A stage is pure (any thread that has the call, nothing of the loop is used), or it may finish later
 * (`start_…` in its row: the call's loop). Neighbouring pure stages run together as one piece of
 * work, on an offload thread when they go over more than 64 KB (server/api/heavy.h). A stage that
 * finds on the loop that it has too much to do returns COR_WORK_YIELD, and a thread runs it again
 * from its beginning: until then it has changed nothing but what it makes anew.
 *
 * A verb embeds struct cor_write as its first member and zeroes it. It has a struct for each phase,
 * and a stage sees of them what write_phases.h says.
 * Thread: the call's loop, and
 * the thread that has the call while pure stages run.  Owner: the call. */
/* clang-format on */
#ifndef COR_SERVER_WRITE_H
#define COR_SERVER_WRITE_H

#include "server/write/stage_list.h"

/* A list while it runs. */
struct cor_stage_run {
    const struct cor_stage_list *list;
    size_t at;            /* the row that is next */
    enum cor_stage until; /* the stage to stop before */
    struct cor_work work; /* what the stages have done, since the list began */
    bool yields;          /* the stages from `at` on are too much for the loop */
    cor_write_done done;
    int failure; /* why the list ended, while reservations are undone */
};

struct cor_write {
    struct cor_call call;
    const struct cor_stage_list *list; /* that its objects go through */
    struct cor_write_asked asked;
    struct cor_write_present present;
    struct cor_write_received received;
    struct cor_write_managed managed;
    struct cor_write_admitted admitted;
    struct cor_write_to_store to_store;
    struct cor_stage_run run;
    /* The end of an operation of the store that waits until reservations are settled. */
    struct cor_write_reply {
        cor_store_cb on_done;
        int err;
        struct cor_status status;
        struct cor_object *object;
        bool was_stopped;
    } reply;
};

/* The write that a call is the first member of. */
static inline struct cor_write *cor_write_of(struct cor_call *call)
{
    struct cor_write *write = COR_CONTAINER_OF(call, struct cor_write, call);

    assert(call->verb->size >= sizeof(*write) && write->list);
    return write;
}

/* Chooses the list of the call. */
void cor_write_init(struct cor_write *write);
void cor_write_deinit(struct cor_write *write); /* safe on a zeroed struct */

/* Runs the stages from `from` to the one before `until`, and then calls `done`: before this
 * returns, or later. */
void cor_write_run(struct cor_write *write, enum cor_stage from, enum cor_stage until,
                   cor_write_done done);

/* How every write with a body begins: checks the options, sets the key, and runs the stages from
 * DECODE on. `kind` is "CreateOptions" …; a failure of these two is answered, without `done`. */
void cor_write_begin(struct cor_write *write, const char *kind, enum cor_stage until,
                     cor_write_done done);

/* Passes a point of admission as a creation with a body that is not stored: of a Binding, an
 * Eviction, a review. */
void cor_write_admit(struct cor_write *write, enum cor_admission_point point, cor_write_done done);

/* The body as it was received, and from the point that mutates on as plugins have left it. */
static inline struct cor_object *cor_write_body(const struct cor_write *write)
{
    return cor_admitted_body(&write->received, &write->admitted);
}

/* Notes who sends the request: for managedFields, and for the kinds whose strategy keeps the user.
 * While the request is there. 0, or a failure in the status. */
int cor_write_note_client(struct cor_write *write);

/* Notes under which name managedFields know the client: its fieldManager, or what its user agent
 * calls itself. While the request is there. 0, or a failure in the status. */
int cor_write_note_manager(struct cor_write *write);

/* Answers with the failure in the status, unless the reader has gone. For the `done` of verbs that
 * have nothing to release first: true when the write goes on. */
bool cor_write_goes_on(struct cor_write *write, int r);

#endif
