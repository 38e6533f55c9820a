/* clang-format off */
/* Keeps the objects of a table (schema/kinds/bootstrap_objects.h): each pass creates those that
 * are missing, repairs those that differ, removes flow control objects that an older version of the
 * server has left, and sets the condition Dangling of each FlowSchema.
 *
 * What upstream does with flow control objects that exist (contract access 7.4.4):
 *
 *   annotation apf.kubernetes.io/autoupdate-spec | spec                       | annotation
 *   mandatory object, whatever its annotation    | replaced when it differs   | becomes "true"
 *   suggested, "true"                            | replaced when it differs   | stays
 *   suggested, "false"                           | stays                      | stays
 *   suggested, absent or no boolean, generation 1| replaced when it differs   | becomes "true"
 *   suggested, absent or no boolean, changed     | stays                      | becomes "false"
 *   not an object of the table, "true"           | the object is deleted
 *
 * Owner: whoever embeds it; zeroed before cor_bootstrap_keeper_init().
 * Thread: that of the port. */
/* clang-format on */
#ifndef COR_SERVER_BOOTSTRAP_KEEPER_H
#define COR_SERVER_BOOTSTRAP_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/dlist.h"
#include "kit/api_port.h"

/* Requests of a pass for objects of one resource; the next pass makes those that are left. */
#define COR_BOOTSTRAP_JOBS_MAX 128

struct cor_bootstrap_object;

struct cor_bootstrap_keeper {
    struct cor_api_port *port;
    const struct cor_clock *clock;
    const struct cor_bootstrap_object *objects; /* the table */
    size_t nobjects;
    bool *present; /* for each row of the table: the list of its resource had the object */
    void (*on_done)(void *arg, int err);
    void *arg;
    struct cor_api_request list; /* of the resource of `step` */
    size_t step;
    struct cor_buf levels; /* names of the priority levels that exist, each before a newline */
    struct cor_dlist jobs; /* requests that change objects */
    size_t njobs;
    int err; /* the first failure of the pass */
};

/* All must stay valid: the port, the clock, and the table, which has an object of each resource
 * that the keeper looks at. 0, -COR_ENOMEM. */
int cor_bootstrap_keeper_init(struct cor_bootstrap_keeper *k, struct cor_api_port *port,
                              const struct cor_clock *clock,
                              const struct cor_bootstrap_object *objects, size_t nobjects);
/* No pass is under way. Also after an init that failed. */
void cor_bootstrap_keeper_deinit(struct cor_bootstrap_keeper *k);

/* Makes a pass; none is under way. `on_done` follows in a later turn: 0, or the error of the first
 * request that failed, which was logged at debug level. The other objects are as they should be in
 * any case. A conflict is not a failure: somebody else has just written, and the next pass looks
 * again. */
void cor_bootstrap_keeper_check(struct cor_bootstrap_keeper *k, void (*on_done)(void *arg, int err),
                                void *arg);

/* Ends the pass that is under way, if any, without on_done. */
void cor_bootstrap_keeper_cancel(struct cor_bootstrap_keeper *k);

#endif
