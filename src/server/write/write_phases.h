/* clang-format off */
/* What the phases of a write leave behind, and what of it a stage sees.
 *
 *   asked, present   by the verb      ──► what the request wants, and the object that is there
 *   received         until TO_HUB     ──► what was sent, as an object of the hub's version
 *   managed          MANAGE_FIELDS    ──► who owns which field
 *   admitted         ADMIT_MUTATING   ──► what plugins allow, and have changed
 *   to_store         the rest         ──► the object that will be stored
 *
 * A stage gets one of the views below: it writes what its own phase leaves behind, and reads what the
 * phases before it have. A stage that writes an earlier phase does not compile
 * (tests/tools/test_stages.py), and write.h, which has the whole write, is closed to stages.
 * Owner: the write, for all of a struct; members say what they borrow.  Thread: the one that has the
 * call. */
/* clang-format on */
#ifndef COR_SERVER_WRITE_WRITE_PHASES_H
#define COR_SERVER_WRITE_WRITE_PHASES_H

#include "base/work.h"
#include "schema/walk/read.h"
#include "server/admission/admission.h"
#include "server/api/heavy.h"
#include "json/text/json.h"

/* Of what a body or a patch becomes: an object, a patch and the copies of a JSON patch can add up
 * to this. The result is refused for its size in the words of the store. */
#define COR_WRITE_JSON_MAX (8u << 20)

/* What a client reads whose resourceVersion is not the present one. */
#define COR_WRITE_MODIFIED                                                                         \
    "the object has been modified; please apply your changes to the latest version and try again"

struct cor_applying;

/* What the request wants. The verb sets it before the first stage. */
struct cor_write_asked {
    /* PATCH: sets `json`, `text` and `dups` from the present object. NULL: a body was sent. 0, or a
     * failure in the status. Pure. */
    int (*apply)(const struct cor_applying *write);
    size_t patch_bytes;         /* PATCH: what `apply` reads besides the present object */
    size_t patch_copies;        /* PATCH: operations of a JSON patch that may copy, at most */
    struct cor_str strategic;   /* a strategic merge patch as it was sent, borrowed from the verb;
                                 * p == NULL: another body */
    bool is_applied;            /* server-side apply: `apply` also sets `managed` */
    struct cor_json_dups *dups; /* PATCH: where `apply` notes fields that the patch repeats; the
                                 * verb's */
    const char *dups_prefix;    /* precedes each of `dups` in messages; NULL: nothing */
    struct cor_buf manager;     /* who writes, for managedFields: a quoted text */
    struct cor_buf sender;      /* who sent the request, as JSON; empty: the strategy needs none */
};

/* The object that is there. The verb sets it before each run of stages. */
struct cor_write_present {
    bool is_create;             /* there is none, also by PUT; else the next state is made */
    struct cor_object *current; /* served form, hub; NULL: a create */
};

/* What was sent. From DECODE on; that of a PATCH is made again for each present object. */
struct cor_write_received {
    struct cor_str json; /* until TO_HUB: what was sent or patched, as JSON; borrowed from `text`
                          * or from the request */
    struct cor_buf text; /* the bytes of `json` when it is not the request's body itself */
    struct cor_buf yaml_dups;       /* keys that a YAML body repeats, in the words of its decoder */
    struct cor_buf findings;        /* until CHECK_FIELDS, of custom resources: texts with NULs */
    struct cor_read_report *report; /* until CHECK_FIELDS: what is wrong; NULL: nothing */
    struct cor_str api_version;     /* until MATCH_KIND: of the body; "": the request's; borrowed
                                     * from `body` or `json` */
    struct cor_str rv;              /* until READ_REVISION: of the body; borrowed from `json` */
    struct cor_object *body;        /* in the hub's version from TO_HUB on */
    bool applies_nothing;           /* what an apply made is the present object */
    bool lacks_defaults;            /* of a custom resource, whose defaults would be too large */
    cor_rev rev;                    /* from READ_REVISION on: that of the body; 0: none */
    struct cor_buf normal;   /* from NORMALIZE to DEFAULT: the normal form; empty: it is `body` */
    struct cor_object *sent; /* from NORMALIZE on: the body as it was sent, when it has empty lists
                              * or maps, which messages show; else NULL */
    bool has_gated;          /* from NORMALIZE on: it has a field of a feature gate that is off */
    bool sends_empty; /* the same, of kinds whose generation counts exactly: an empty list or map */
};

/* Who owns which field. From MANAGE_FIELDS on; `next` of a server-side apply from APPLY_PATCH on.
 */
struct cor_write_managed {
    struct cor_str next; /* the next managedFields, in `text` or in the present object; p == NULL:
                          * none */
    struct cor_buf text;
    struct cor_object *old; /* the present object without managedFields, for the stages that have no
                             * use for them; NULL: a create */
};

/* What plugins allow and have changed, from ADMIT_MUTATING on, and that a definition allows a new
 * object, from CHECK_DEFINITION on; until the write ends. */
struct cor_write_admitted {
    struct cor_admission admission; /* what plugins leave; the run of the two stages */
    struct cor_object *body;        /* as plugins have left it; NULL: as it was received */
    bool has_gated;                 /* plugins have set a field of a feature gate that is off */
    struct cor_creation_gate *gate; /* of a new custom resource: it was entered; its definition's */
};

/* What will be stored. */
struct cor_write_to_store {
    struct cor_object *allocated;      /* from ALLOCATE on: the body with what was reserved for it;
                                        * NULL: nothing is, and the body itself counts */
    struct cor_allocation *allocation; /* what is reserved until the object is stored; or NULL */
    struct cor_object *object; /* from PREPARE on, in stored form; with managedFields at the end */
    bool removes; /* `object` has nothing left to wait for: it is removed, not stored */
};

/* ---- what a stage sees ---- */

/* APPLY_PATCH: a server-side apply says who owns which field before the other stages run. */
struct cor_applying {
    struct cor_call *call;
    struct cor_work *work;
    const struct cor_write_asked *asked;
    const struct cor_write_present *present;
    struct cor_write_received *received;
    struct cor_write_managed *managed;
};

/* From DECODE to TO_HUB. */
struct cor_receiving {
    struct cor_call *call;
    struct cor_work *work;
    const struct cor_write_asked *asked;
    const struct cor_write_present *present;
    struct cor_write_received *received;
};

struct cor_managing {
    struct cor_call *call;
    struct cor_work *work;
    const struct cor_write_asked *asked;
    const struct cor_write_present *present;
    const struct cor_write_received *received;
    struct cor_write_managed *managed;
};

struct cor_admitting {
    struct cor_call *call;
    const struct cor_write_present *present;
    const struct cor_write_received *received;
    const struct cor_write_managed *managed;
    struct cor_write_admitted *admitted;
    const struct cor_write_to_store *to_store; /* of a stage that validates */
};

struct cor_storing {
    struct cor_call *call;
    struct cor_work *work;
    const struct cor_write_asked *asked;
    const struct cor_write_present *present;
    const struct cor_write_received *received;
    const struct cor_write_managed *managed;
    const struct cor_write_admitted *admitted;
    struct cor_write_to_store *to_store;
};

/* For stages of any phase that only refuse, or warn. */
struct cor_judging {
    struct cor_call *call;
    struct cor_work *work;
    const struct cor_write_asked *asked;
    const struct cor_write_present *present;
    const struct cor_write_received *received;
    const struct cor_write_managed *managed;
    const struct cor_write_admitted *admitted;
    const struct cor_write_to_store *to_store;
};

/* The body that was admitted. */
static inline struct cor_object *cor_admitted_body(const struct cor_write_received *received,
                                                   const struct cor_write_admitted *admitted)
{
    return admitted->body ? admitted->body : received->body;
}

/* The body that the stored object is made of. */
static inline struct cor_object *cor_storing_source(const struct cor_storing *write)
{
    return write->to_store->allocated ? write->to_store->allocated
                                      : cor_admitted_body(write->received, write->admitted);
}

#endif
