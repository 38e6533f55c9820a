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
 * Plugins look at the attributes that the authorizer judges too, here with the objects. A point may be
 * passed again over the same request: when a patch is applied to a newer object, when a compare was
 * lost, or when something that was called has changed the object. A plugin that finds its work done
 * changes nothing.
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
    /* Has it anything to look at in such a request? By its row, names and options, which costs
     * nothing; on any thread. NULL: always. */
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
    const struct cor_admission_list *list;
    enum cor_admission_op op;
    struct cor_object *object; /* a reference; in the version that is stored; NULL: there is none */
    struct cor_object *old;    /* the same; borrowed */

    /* Of the run, for plugins. */
    struct cor_attributes attributes;

    /* What plugins leave for the rest of the request. */
    struct cor_object *ns_object; /* of a creation in a namespace: that; else NULL */
    _Atomic uint32_t *creation;   /* the same: the creation is counted; else NULL */

    enum cor_admission_point point;
    size_t at; /* the row */
    cor_admission_done done;
};

/* Is there a row that applies? On any thread that has the call. */
bool cor_admission_has_work(const struct cor_admission_list *list, const struct cor_call *call,
                            enum cor_admission_point point, enum cor_admission_op op);

/* Runs the rows of one point, and then calls `done`: before this returns, or later. On the loop, by
 * a call that is not over. */
void cor_admission_run(struct cor_admission *ad, enum cor_admission_point point,
                       cor_admission_done done);

/* A row that may finish later has ended with `r`. On the loop. */
void cor_admission_resume(struct cor_admission *ad, int r);

/* A plugin that mutates has made this object of the present one. */
void cor_admission_replace(struct cor_admission *ad, struct cor_object *take_object);

void cor_admission_deinit(struct cor_admission *ad); /* safe on a zeroed struct */

#endif
