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

/* The stages by name, in the order in which a write goes through them. A list has those that its
 * objects need (write_lists.c). */
enum cor_stage {
    COR_STAGE_APPLY_PATCH,   /* a patch makes the JSON of the next state from the present object */
    COR_STAGE_DECODE,        /* bytes → object of the request's type and version */
    COR_STAGE_READ_METADATA, /* the metadata becomes that of Kubernetes */
    COR_STAGE_PRUNE_AND_DEFAULT, /* what the schema does not know goes, defaults come */
    COR_STAGE_CHECK_FIELDS,    /* fieldValidation: unknown and repeated fields are refused or warned
                                  of */
    COR_STAGE_MATCH_VERSION,   /* the version is that of the URL */
    COR_STAGE_MATCH_URL,       /* so are namespace and name */
    COR_STAGE_MATCH_KIND,      /* the kind is that of the resource */
    COR_STAGE_READ_REVISION,   /* the resourceVersion that the client sent */
    COR_STAGE_NORMALIZE,       /* what Go's types would keep, in the version of the request */
    COR_STAGE_DEFAULT,         /* defaults, in the version of the request */
    COR_STAGE_TO_HUB,          /* from the request's version to the one that is stored */
    COR_STAGE_MANAGE_FIELDS,   /* who owns which field */
    COR_STAGE_CHECK_NAMESPACE, /* of a new object: it is there, and not being deleted */
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
    COR_STAGE_STORE, /* the end of a list: the verb stores `object` (server/write/stage_store.h) */
};

struct cor_stage_list;
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

    const struct cor_stage_list *list; /* that its objects go through */
    struct cor_str json;               /* decode to hub: what was sent or patched, as JSON */
    struct cor_buf text;        /* the bytes of `json` when it is not the request's body itself */
    struct cor_json_dups *dups; /* PATCH: fields that the patch repeats; the verb's */
    const char *dups_prefix;    /* stands before each of `dups` in messages; NULL: nothing */
    struct cor_buf yaml_dups;   /* the same for keys of a YAML body, in the words of its decoder */
    struct cor_buf
        findings; /* decode to check fields, of custom resources: the same, as texts with NULs */
    struct cor_read_report *report; /* decode to check fields: what is wrong; NULL: nothing */

    struct cor_buf normal; /* from normalize to default: the normal form; empty: it is the body */
    bool has_gated;   /* from normalize on: the body has a field of a feature gate that is off */
    bool sends_empty; /* of kinds whose generation counts exactly: an empty list or map was sent */
    struct cor_buf manager; /* who writes, for managedFields: a quoted text */
    struct cor_buf sender;  /* who sent the request, as JSON; empty: the strategy needs none */

    struct cor_str managed; /* from managed fields on: the next managedFields, in
                             * `managed_text` or in an object; p == NULL: none */
    struct cor_buf managed_text;
    struct cor_object *body;    /* from decode on; from hub on in the hub's version */
    struct cor_object *sent;    /* from normalize on: the body as it was sent, when it has empty
                                 * lists or maps, which messages show; else NULL */
    struct cor_str api_version; /* decode to match kind: of the body; "": the request's */
    struct cor_str rv; /* decode to read revision: resourceVersion of the body, in `json` */
    cor_rev rev;       /* from read revision on: the same; 0: none */
    struct cor_object *ns_object; /* from check namespace on, of creations: it; or NULL */
    _Atomic uint32_t *creation;   /* the same: the creation is counted; or NULL */
    struct cor_creation_gate
        *gate; /* from check definition on, of creations: it was entered; or NULL */
    struct cor_object *current; /* the present object (served form, hub); NULL: a create */
    struct cor_object *old;     /* from managed fields on: `current` without managedFields, for the
                                 * stages that have no use for them; NULL: a create */
    struct cor_object *allocated;      /* from allocate on: the body with what was reserved for it;
                                        * NULL: nothing is, and the body itself counts */
    struct cor_allocation *allocation; /* what is reserved until the object is stored; or NULL */
    struct cor_object *object;         /* from prepare on: what will be stored, in stored form;
                                        * managedFields are in it at the end */
    bool lacks_defaults; /* from decode on: of a custom resource, whose defaults are too large */
    bool removes;        /* `object` has nothing left to wait for: it is removed, not stored */

    const struct cor_stage_list *running; /* the list that runs */
    size_t at, end;                       /* rows of it: the next one, and the one to stop before */
    struct cor_work work;                 /* what the stages have done, since the list began */
    bool yields;                          /* the stages from `at` on are too much for the loop */
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
