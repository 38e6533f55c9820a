/* clang-format off */
/* The way of a write: one list of stages that every create, update and patch goes through.
 *
 *            PATCH begins here, once per present object
 *               │        POST and PUT begin here
 *               ▼        ▼
 *             apply ─► decode ─► strict ─► match ─► default ─► convert        in the request's version
 *                                                                 │
 *      after a lost compare a PUT begins again here ─► managed fields         in the hub's version
 *                                                                 │
 *                admission that mutates ─► allocate ─► prepare ─► validate ─► default late ─►
 *                                                times ─► admission that validates ─► store
 *
 * The list is the table in stages.c; docs/internals/write.md describes each stage.
 *
 * A stage is pure (`run`: any thread that has the call, nothing of the loop is used), or it may
 * finish later (`start`: the call's loop). Neighbouring pure stages run together as one piece of
 * work, on an offload thread when they go over more than 64 KB (server/api/heavy.h). A stage that
 * finds on the loop that it has too much to do returns COR_WORK_YIELD, and a thread runs it again
 * from its beginning: until then it has changed nothing but what it makes anew.
 *
 * A verb embeds struct cor_write as its first member and zeroes it. Thread: the call's loop, and
 * the thread that has the call while pure stages run.  Owner: the call. */
/* clang-format on */
#ifndef COR_SERVER_WRITE_H
#define COR_SERVER_WRITE_H

#include "base/work.h"
#include "schema/walk/read.h"
#include "server/api/heavy.h"
#include "json/text/json.h"

/* Of what a body or a patch becomes: an object, a patch and the copies of a JSON patch can add up
 * to this. The result is refused for its size in the words of the store. */
#define COR_WRITE_JSON_MAX (8u << 20)

/* In the order in which a write goes through them. */
enum cor_write_stage {
    COR_WRITE_APPLY,   /* a patch makes the JSON of the next state from the present object */
    COR_WRITE_DECODE,  /* bytes → object of the request's type and version */
    COR_WRITE_STRICT,  /* fieldValidation: unknown and repeated fields are refused or warned of */
    COR_WRITE_MATCH,   /* version, name, namespace and resourceVersion against the URL */
    COR_WRITE_DEFAULT, /* normalise and default, in the request's version */
    COR_WRITE_CONVERT, /* from the request's version to the hub: the version that is stored */
    COR_WRITE_MANAGED_FIELDS, /* who owns which field */
    COR_WRITE_MUTATE,         /* admission that mutates, and checks that come before the strategy */
    COR_WRITE_ALLOCATE,       /* addresses and node ports are reserved */
    COR_WRITE_PREPARE,        /* what the server fills in and keeps (strategy) */
    COR_WRITE_VALIDATE,       /* what the server refuses */
    COR_WRITE_DEFAULT_LATE,   /* defaults that copy what the strategy has added */
    COR_WRITE_TIMES,          /* managedFields are put into the object; what changes nothing but
                                 their times keeps the old times */
    COR_WRITE_ADMIT,          /* admission that validates */
    COR_WRITE_STORE, /* the end of the list: the verb stores `object` (server/write/stage_store.h)
                      */
};

struct cor_write;

/* The stages have ended with `r`. r < 0: the failure of a stage is in the call's status, or the
 * reader has gone meanwhile (-COR_ECANCELED): `call.is_over`, the request is no more, and nothing
 * may be answered. On the loop; the call may be ended in here. */
typedef void (*cor_write_done)(struct cor_write *write, int r);

struct cor_write {
    struct cor_call call;
    /* PATCH: sets `json`, `text` and `dups` from `current`. NULL: a body was sent. 0, or a failure
     * in the status. Pure. */
    int (*apply)(struct cor_write *write);
    size_t patch_bytes;       /* PATCH: what `apply` reads besides `current` */
    size_t patch_copies;      /* PATCH: operations of a JSON patch that may copy, at most */
    struct cor_str strategic; /* a strategic merge patch as it was sent; p == NULL: another body */
    bool is_applied;          /* server-side apply: `apply` also sets `managed` */
    bool applies_nothing;     /* what an apply made is the present object */
    bool is_create;           /* of a new object, also by PUT; else the next state of `current` */

    struct cor_str json;        /* decode to convert: what was sent or patched, as JSON */
    struct cor_buf text;        /* the bytes of `json` when it is not the request's body itself */
    struct cor_json_dups *dups; /* PATCH: fields that the patch repeats; the verb's */
    const char *dups_prefix;    /* stands before each of `dups` in messages; NULL: nothing */
    struct cor_buf yaml_dups;   /* the same for keys of a YAML body, in the words of its decoder */
    struct cor_buf
        findings; /* decode to strict, of custom resources: the same, as texts with NULs */
    struct cor_read_report *report; /* decode to strict: what is wrong; NULL: nothing */

    bool has_gated;   /* from default on: the body has a field of a feature gate that is off */
    bool sends_empty; /* of kinds whose generation counts exactly: an empty list or map was sent */
    struct cor_buf manager; /* who writes, for managedFields: a quoted text */
    struct cor_buf sender;  /* who sent the request, as JSON; empty: the strategy needs none */

    struct cor_str managed; /* from managed fields on: the next managedFields, in
                             * `managed_text` or in an object; p == NULL: none */
    struct cor_buf managed_text;
    struct cor_object *body;        /* from decode on; from convert on in the hub's version */
    struct cor_object *sent;        /* from default on: the body as it was sent, when it has empty
                                     * lists or maps, which messages show; else NULL */
    struct cor_str api_version;     /* decode to match: of the body; "": the request's */
    struct cor_str rv;              /* decode to match: resourceVersion of the body, in `json` */
    cor_rev rev;                    /* from match on: the same; 0: none */
    struct cor_object *ns_object;   /* from mutate on, of creations: the namespace; or NULL */
    _Atomic uint32_t *creation;     /* from mutate on, of creations: it is counted; or NULL */
    struct cor_creation_gate *gate; /* the same of custom resources: it was entered; or NULL */
    struct cor_object *current;     /* the present object (served form, hub); NULL: a create */
    struct cor_object *old; /* from managed fields on: `current` without managedFields, for the
                             * stages that have no use for them; NULL: a create */
    struct cor_object *allocated;      /* from allocate on: the body with what was reserved for it;
                                        * NULL: nothing is, and the body itself counts */
    struct cor_allocation *allocation; /* what is reserved until the object is stored; or NULL */
    struct cor_object *object;         /* from prepare on: what will be stored, in stored form;
                                        * managedFields are in it from times on */
    bool lacks_defaults; /* from decode on: of a custom resource, whose defaults are too large */
    bool removes;        /* `object` has nothing left to wait for: it is removed, not stored */

    enum cor_write_stage at, until; /* while the list runs */
    struct cor_work work;           /* what the stages have done, since the list began */
    bool yields;                    /* the stages from `at` on are too much for the loop */
    cor_write_done done;
    int failure; /* why the list ended, while reservations are undone */
    /* The end of an operation of the store that waits until reservations are settled. */
    struct cor_write_reply {
        cor_store_cb on_done;
        int err;
        struct cor_status status;
        struct cor_object *object;
        bool was_stopped;
    } reply;
};

/* What `prepare` makes the object of. */
static inline struct cor_object *cor_write_source(const struct cor_write *write)
{
    return write->allocated ? write->allocated : write->body;
}

void cor_write_init(struct cor_write *write);
void cor_write_deinit(struct cor_write *write); /* safe on a zeroed struct */

/* Runs the stages from `from` to the one before `until`, and then calls `done`: before this
 * returns, or later. */
void cor_write_run(struct cor_write *write, enum cor_write_stage from, enum cor_write_stage until,
                   cor_write_done done);

/* How every write with a body begins: checks the options, sets the key, and runs the stages from
 * decode on. `kind` is "CreateOptions" …; a failure of these two is answered, without `done`. */
void cor_write_begin(struct cor_write *write, const char *kind, enum cor_write_stage until,
                     cor_write_done done);

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
