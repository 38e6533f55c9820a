/* The stages of a write, for the lists in write_lists.c. What each of them does is in the head of
 * its file, what it sees in the view that it gets (write_phases.h). The functions that return a
 * bool say whether a write needs the stage that they precede.
 * Thread: the one that has the call; of stages that may finish later, the call's loop. */
#ifndef COR_SERVER_WRITE_STAGES_H
#define COR_SERVER_WRITE_STAGES_H

#include "server/write/write_phases.h"

struct cor_field_errors;

/* ---- what was sent ---- */

int cor_stage_decode(const struct cor_receiving *write);        /* stage_decode.c */
int cor_stage_decode_custom(const struct cor_receiving *write); /* stage_decode_custom.c */
int cor_stage_read_metadata(const struct cor_receiving *write); /* stage_read_metadata.c */

bool cor_stage_has_kind(const struct cor_judging *write); /* stage_read_metadata.c */
bool cor_stage_prunes(const struct cor_judging *write);   /* stage_prune.c */
int cor_stage_prune_and_default(const struct cor_receiving *write);
bool cor_stage_defaults_applied(const struct cor_judging *write);
int cor_stage_default_applied(const struct cor_receiving *write);

int cor_stage_check_fields(const struct cor_judging *write);  /* stage_check_fields.c */
int cor_stage_match_version(const struct cor_judging *write); /* stage_match_version.c */
int cor_stage_match_version_custom(const struct cor_judging *write);
int cor_stage_match_url(const struct cor_judging *write);       /* stage_match_url.c */
int cor_stage_match_kind(const struct cor_judging *write);      /* stage_match_kind.c */
int cor_stage_read_revision(const struct cor_receiving *write); /* stage_match_url.c */

int cor_stage_normalize(const struct cor_receiving *write); /* stage_normalize.c */
bool cor_stage_defaults(const struct cor_judging *write);
int cor_stage_default(const struct cor_receiving *write);

int cor_stage_to_hub(const struct cor_receiving *write); /* stage_to_hub.c */

/* ---- who owns which field ---- */

int cor_stage_manage_fields(const struct cor_managing *write); /* stage_managed_fields.c */

/* ---- may it be written? ---- */

bool cor_stage_admits_mutating(const struct cor_judging *write); /* stage_admit.c */
void cor_stage_admit_mutating(const struct cor_admitting *write);
bool cor_stage_admits_validating(const struct cor_judging *write);
void cor_stage_admit_validating(const struct cor_admitting *write);

bool cor_stage_checks_definition(const struct cor_judging *write); /* stage_check_definition.c */
int cor_stage_check_definition(const struct cor_admitting *write);

/* ---- what will be stored ---- */

bool cor_stage_checks_revision(const struct cor_judging *write); /* stage_check_revision.c */
int cor_stage_check_revision(const struct cor_judging *write);

bool cor_stage_allocates(const struct cor_judging *write); /* stage_allocate.c */
void cor_stage_allocate(const struct cor_storing *write);

int cor_stage_prepare(const struct cor_storing *write); /* stage_prepare.c */

bool cor_stage_checks_uid(const struct cor_judging *write); /* stage_check_uid.c */
int cor_stage_check_uid(const struct cor_judging *write);

int cor_stage_validate(const struct cor_judging *write);        /* stage_validate.c */
int cor_stage_validate_custom(const struct cor_judging *write); /* stage_validate_custom.c */

bool cor_stage_warns(const struct cor_judging *write); /* stage_warn_custom.c */
int cor_stage_warn_custom(const struct cor_judging *write);

bool cor_stage_defaults_late(const struct cor_judging *write); /* stage_default_late.c */
int cor_stage_default_copies(const struct cor_storing *write);
int cor_stage_default_late(const struct cor_storing *write);

int cor_stage_to_stored(const struct cor_storing *write); /* stage_to_stored.c */

bool cor_stage_has_managed(const struct cor_judging *write); /* stage_put_managed_fields.c */
int cor_stage_put_managed_fields(const struct cor_storing *write);

/* ---- what stages share ---- */

/* stage_normalize.c. The end of a walk of the schema over `*object` that returned `r`
 * (schema/walk/rewrite.h): when it has changed something, the object of `json` replaces it. */
int cor_write_take_rewritten(struct cor_call *call, int r, const struct cor_buf *json,
                             struct cor_object **object);

/* stage_default_late.c. The type that is stored, if it has defaults that copy what the server adds;
 * or NULL. */
const struct cor_type *cor_write_late_type(const struct cor_call *call);

/* stage_read_metadata.c. The type of the metadata of all objects. */
const struct cor_type *cor_write_metadata_type(void);

/* stage_validate.c. Refuses the object with what is wrong. Returns what is in the status. */
int cor_write_refuse_object(const struct cor_judging *write, const struct cor_field_errors *errs);

#endif
