/* clang-format off */
/* Admission: plugins that change what a request writes, or refuse it, after it was authorized and
 * before anything is stored. Whatever creates, updates, deletes or connects passes two points:
 *
 *   MUTATES: plugins may replace the object ──► … ──► VALIDATES: they may only refuse it
 *
 *   cor_admission_run ──► the rows of the list in their order: does it apply?
 *     ──► pure: neighbours run together, on a thread when the objects are large (api/heavy.h)
 *     ──► it may finish later: `start` ──► cor_admission_resume ──► the next rows … ──► done
 *
 * Plugins look at the attributes that the authorizer judges too, here with the objects:
 *
 *   - of a built-in kind in the version that is stored, of a custom resource in that of the request;
 *     of the subresource scale, the Scales of the object before and after;
 *   - at MUTATES without managedFields, which are not the plugins' to change; at VALIDATES and of a
 *     deletion with them;
 *   - of a connection, its options (with empty metadata).
 *
 * A point may be passed again over the same request: when a patch or a deletion is applied to a newer
 * object, because a compare was lost, when a generated name was taken, and when a plugin that is
 * somebody else's program has changed the object. A plugin that finds its work done changes nothing.
 * Owner: the call.  Thread: the call's loop; the thread that has the call while pure rows run. */
/* clang-format on */
#ifndef COR_SERVER_ADMISSION_H
#define COR_SERVER_ADMISSION_H

#include "server/access/attributes.h"
#include "server/api/call.h"

enum cor_admission_op {
    COR_ADMISSION_CREATE = 1,
    COR_ADMISSION_UPDATE = 2,
    COR_ADMISSION_DELETE = 4,
    COR_ADMISSION_CONNECT = 8,
};

enum cor_admission_point { COR_ADMISSION_MUTATES, COR_ADMISSION_VALIDATES };

struct cor_admission;

/* What a plugin does at one of the points. */
struct cor_admission_row {
    const char *plugin; /* upstream's name */
    enum cor_admission_point point;
    unsigned ops; /* of enum cor_admission_op */
    /* Its changes come from another program: the object is settled (below), and when all rows have
     * run, they run once more, so that earlier rows see the changes. */
    bool is_foreign;
    /* Returns whether it applies to such a request, by its row, names and options, which costs
     * nothing. On any thread. NULL: always. */
    bool (*applies)(const struct cor_call *call);
    /* Exactly one of these. Both leave a refusal in the call's status. */
    int (*run)(struct cor_admission *ad);    /* pure; does not look at the user: it may be gone */
    void (*start)(struct cor_admission *ad); /* may finish later: calls cor_admission_resume() once,
                                              * also when the reader has gone meanwhile */
};

struct cor_admission_list {
    const struct cor_admission_row *rows;
    size_t n;
};

/* The server's plugins, in upstream's order (plugins.c). */
extern const struct cor_admission_list cor_admission_plugins;

/* The plugins have ended with `r`: 0, the failure in the call's status, or -COR_ECANCELED when the
 * reader has gone meanwhile. On the loop; the call may be ended in here. */
typedef void (*cor_admission_done)(struct cor_admission *ad, int r);

/* Embedded by whoever admits; zeroed at first. */
struct cor_admission {
    /* Set before each run. */
    struct cor_call *call;
    enum cor_admission_op op;
    /* References; NULL: there is none. `old`, and at VALIDATES both, as the store has them: the run
     * makes of them what the head says. */
    struct cor_object *object, *old;
    const struct cor_delete_options *deletion; /* of a deletion; borrowed */
    bool is_dry_run;
    /* Gives an object that a foreign row has made the form that all objects have: what its type
     * does not know goes, defaults come. Pure. 0, a failure in the status, COR_WORK_YIELD. NULL: no
     * row can make one. */
    int (*settle)(struct cor_admission *ad);
    bool is_owed; /* the request has written already: its pure rows are not refused a thread */
    bool stays_on_loop; /* its pure rows never take a thread, whatever the size of the objects: a
                         * call that has several admissions under way can lend itself once only */

    /* Of the run, for plugins. */
    struct cor_attributes attributes;
    bool is_again; /* the rows run once more, as a foreign one has changed the object */

    /* What plugins leave for the rest of the request. */
    struct cor_object *ns_object; /* of a creation in a namespace: that; else NULL */
    _Atomic uint32_t *creation;   /* the same: the creation is counted; else NULL */

    enum cor_admission_point point;
    size_t at;         /* the row */
    bool is_unsettled; /* a foreign row has made the object */
    bool goes_again;   /* and this was the first time that the rows run */
    cor_admission_done done;
};

/* Is there a row that applies? On any thread that has the call. */
bool cor_admission_has_work(const struct cor_call *call, enum cor_admission_point point,
                            enum cor_admission_op op);

/* Runs the rows of one point, and then calls `done`: before this returns, or later. On the loop, by
 * a call that is not over. */
void cor_admission_run(struct cor_admission *ad, enum cor_admission_point point,
                       cor_admission_done done);

/* A row that may finish later has ended with `r`. On the loop. */
void cor_admission_resume(struct cor_admission *ad, int r);

/* A plugin that mutates has made this object of the present one. The same bytes change nothing. */
void cor_admission_replace(struct cor_admission *ad, struct cor_object *take_object);

void cor_admission_deinit(struct cor_admission *ad); /* safe on a zeroed struct */

#endif
