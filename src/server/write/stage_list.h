/* Lists of stages: their names, their rows, and what runs them.
 * Thread: any (constants); running a list, the call's loop. */
#ifndef COR_SERVER_WRITE_STAGE_LIST_H
#define COR_SERVER_WRITE_STAGE_LIST_H

#include "server/write/write_phases.h"

/* The stages by name, in the order in which a write goes through them. A list has those that its
 * objects need (write_lists.c). */
enum cor_stage {
    COR_STAGE_APPLY_PATCH,   /* a patch makes the JSON of the next state from the present object */
    COR_STAGE_DECODE,        /* bytes → object of the request's type and version */
    COR_STAGE_READ_METADATA, /* the metadata becomes that of Kubernetes */
    COR_STAGE_PRUNE_AND_DEFAULT, /* what the schema does not know goes, defaults come */
    COR_STAGE_CHECK_FIELDS,   /* fieldValidation: unknown and repeated fields are refused or warned
                                 of */
    COR_STAGE_MATCH_VERSION,  /* the version is that of the URL */
    COR_STAGE_MATCH_URL,      /* so are namespace and name */
    COR_STAGE_MATCH_KIND,     /* the kind is that of the resource */
    COR_STAGE_READ_REVISION,  /* the resourceVersion that the client sent */
    COR_STAGE_NORMALIZE,      /* what Go's types would keep, in the version of the request */
    COR_STAGE_DEFAULT,        /* defaults, in the version of the request */
    COR_STAGE_TO_HUB,         /* from the request's version to the one that is stored */
    COR_STAGE_MANAGE_FIELDS,  /* who owns which field */
    COR_STAGE_ADMIT_MUTATING, /* plugins may change the body, or refuse it */
    COR_STAGE_CHECK_DEFINITION,   /* of a new object: its definition is not being deleted */
    COR_STAGE_CHECK_REVISION,     /* the client has seen the present object */
    COR_STAGE_ALLOCATE,           /* addresses and node ports are reserved */
    COR_STAGE_PREPARE,            /* what the server fills in and keeps (strategy) */
    COR_STAGE_DEFAULT_COPIES,     /* defaults that copy what the client has sent */
    COR_STAGE_CHECK_UID,          /* a Scale has the uid of its object */
    COR_STAGE_VALIDATE,           /* what the server refuses */
    COR_STAGE_WARN,               /* what it warns of */
    COR_STAGE_DEFAULT_LATE,       /* defaults that copy what the strategy has added */
    COR_STAGE_TO_STORED,          /* what is left of the object when it is read from the store */
    COR_STAGE_PUT_MANAGED_FIELDS, /* managedFields go into the object; what changes nothing but
                                     their times keeps the old times */
    COR_STAGE_ADMIT_VALIDATING,   /* plugins may refuse the object */
    COR_STAGE_STORE, /* the end of a list: the verb stores `object` (server/write/write_store.h) */
};

struct cor_write;

/* The stages have ended with `r`. r < 0: the failure of a stage is in the call's status, or the
 * reader has gone meanwhile (-COR_ECANCELED): `call.is_over`, the request is no more, and nothing
 * may be answered. On the loop; the call may be ended in here. */
typedef void (*cor_write_done)(struct cor_write *write, int r);

/* A stage in a list. One of its functions is set: what it is called says what the stage sees. The
 * pure ones return 0, a failure in the call's status, or COR_WORK_YIELD; the others may finish
 * later, and call cor_write_resume() (server/write/stage_later.h). */
struct cor_stage_row {
    enum cor_stage stage;
    int (*apply)(const struct cor_applying *write);
    int (*receive)(const struct cor_receiving *write);
    int (*manage)(const struct cor_managing *write);
    int (*admit)(const struct cor_admitting *write);
    int (*store)(const struct cor_storing *write);
    int (*judge)(const struct cor_judging *write);
    void (*start_admit)(const struct cor_admitting *write);
    void (*start_store)(const struct cor_storing *write);
    bool (*applies)(const struct cor_judging *write); /* NULL: always */
};

/* The rows are sorted by their stages. */
struct cor_stage_list {
    const struct cor_stage_row *rows;
    size_t n;
};

/* write_lists.c. The list for the objects of the call. */
const struct cor_stage_list *cor_stage_list_of(const struct cor_call *call);

/* write_run.c. Runs the rows from the first one at or behind `from` to the last one before `until`,
 * and then calls `done`: before this returns, or later. */
void cor_stage_list_run(struct cor_write *write, const struct cor_stage_list *list,
                        enum cor_stage from, enum cor_stage until, cor_write_done done);

#endif
