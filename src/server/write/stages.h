/* The stages of a write, for the list in stages.c alone. What each of them does is in the head of
 * its file. A pure stage returns 0, a failure in the call's status, or COR_WORK_YIELD.
 * Thread: the thread that has the call; of stages that may finish later, its loop. */
#ifndef COR_SERVER_WRITE_STAGES_H
#define COR_SERVER_WRITE_STAGES_H

#include "server/write/write.h"

int cor_write_decode(struct cor_write *write);  /* stage_decode.c */
int cor_write_strict(struct cor_write *write);  /* stage_strict.c */
int cor_write_match(struct cor_write *write);   /* stage_match.c */
int cor_write_default(struct cor_write *write); /* stage_default.c */
int cor_write_convert(struct cor_write *write); /* stage_convert.c */

/* stage_default.c. The end of a walk of the schema over `*object` that returned `r`
 * (schema/walk/rewrite.h): when it has changed something, the object of `json` replaces it. */
int cor_write_take_rewritten(struct cor_call *call, int r, const struct cor_buf *json,
                             struct cor_object **object);

/* stage_default.c. The type that is stored, if it has defaults that copy what the server adds; or
 * NULL.
 */
const struct cor_type *cor_write_late_type(const struct cor_write *write);
/* stage_default.c. The stage, and whether the kind needs it. Running it again changes nothing. */
bool cor_write_defaults_late(const struct cor_write *write);
int cor_write_default_late(struct cor_write *write);

/* stage_managed_fields.c. The stages "managed fields" and "times". */
int cor_write_managed_fields(struct cor_write *write);
bool cor_write_has_managed(const struct cor_write *write);
int cor_write_times(struct cor_write *write);

/* namespace_check.c. Calls cor_write_resume(), now or later, in any case. */
bool cor_write_checks_namespace(const struct cor_write *write);
void cor_write_check_namespace(struct cor_write *write);

/* stage_allocate.c. Calls cor_write_resume(), now or later, in any case. */
bool cor_write_allocates(const struct cor_write *write);
void cor_write_allocate(struct cor_write *write);

/* stage_prepare.c. The check that an update begins with: has the client seen the present state? */
int cor_write_check_revision(struct cor_write *write);

int cor_write_prepare(struct cor_write *write);  /* stage_prepare.c */
int cor_write_validate(struct cor_write *write); /* stage_validate.c */

/* The stage that may finish later has ended with `r`. */
void cor_write_resume(struct cor_write *write, int r);

#endif
