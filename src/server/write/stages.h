/* The stages of a write, for the lists in write_lists.c. What each of them does is in the head of
 * its file. A pure stage returns 0, a failure in the call's status, or COR_WORK_YIELD. The
 * functions that return a bool say whether a write needs the stage that they stand before. Thread:
 * the thread that has the call; of stages that may finish later, its loop. */
#ifndef COR_SERVER_WRITE_STAGES_H
#define COR_SERVER_WRITE_STAGES_H

#include "server/write/write.h"

/* A stage in a list. One of `run` and `start` is set. */
struct cor_stage_row {
    enum cor_stage stage;
    int (*run)(struct cor_write *write);            /* a pure stage */
    void (*start)(struct cor_write *write);         /* may finish later: calls cor_write_resume() */
    bool (*applies)(const struct cor_write *write); /* NULL: always */
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

/* The stage that may finish later has ended with `r`. */
void cor_write_resume(struct cor_write *write, int r);

/* ---- what was sent ---- */

int cor_stage_decode(struct cor_write *write);        /* stage_decode.c */
int cor_stage_decode_custom(struct cor_write *write); /* stage_decode_custom.c */
int cor_stage_read_metadata(struct cor_write *write); /* stage_read_metadata.c */

bool cor_stage_prunes(const struct cor_write *write); /* stage_prune.c */
int cor_stage_prune_and_default(struct cor_write *write);
bool cor_stage_defaults_applied(const struct cor_write *write);
int cor_stage_default_applied(struct cor_write *write);

int cor_stage_check_fields(struct cor_write *write);  /* stage_check_fields.c */
int cor_stage_match_version(struct cor_write *write); /* stage_match_version.c */
int cor_stage_match_version_custom(struct cor_write *write);
int cor_stage_match_url(struct cor_write *write);     /* stage_match_url.c */
int cor_stage_match_kind(struct cor_write *write);    /* stage_match_kind.c */
int cor_stage_read_revision(struct cor_write *write); /* stage_match_url.c */

int cor_stage_normalize(struct cor_write *write); /* stage_normalize.c */
bool cor_stage_defaults(const struct cor_write *write);
int cor_stage_default(struct cor_write *write);

int cor_stage_to_hub(struct cor_write *write); /* stage_to_hub.c */

/* ---- who owns which field ---- */

int cor_stage_manage_fields(struct cor_write *write); /* stage_managed_fields.c */

/* ---- may it be written? ---- */

bool cor_stage_checks_namespace(const struct cor_write *write); /* stage_check_namespace.c */
void cor_stage_check_namespace(struct cor_write *write);

bool cor_stage_checks_definition(const struct cor_write *write); /* stage_check_definition.c */
int cor_stage_check_definition(struct cor_write *write);

/* ---- what will be stored ---- */

bool cor_stage_checks_revision(const struct cor_write *write); /* stage_check_revision.c */
int cor_stage_check_revision(struct cor_write *write);

bool cor_stage_allocates(const struct cor_write *write); /* stage_allocate.c */
void cor_stage_allocate(struct cor_write *write);

int cor_stage_prepare(struct cor_write *write); /* stage_prepare.c */

bool cor_stage_checks_uid(const struct cor_write *write); /* stage_check_uid.c */
int cor_stage_check_uid(struct cor_write *write);

int cor_stage_validate(struct cor_write *write);        /* stage_validate.c */
int cor_stage_validate_custom(struct cor_write *write); /* stage_validate_custom.c */

bool cor_stage_warns(const struct cor_write *write); /* stage_warn_custom.c */
int cor_stage_warn_custom(struct cor_write *write);

bool cor_stage_defaults_late(const struct cor_write *write); /* stage_default_late.c */
int cor_stage_default_copies(struct cor_write *write);
int cor_stage_default_late(struct cor_write *write);

int cor_stage_to_stored(struct cor_write *write); /* stage_to_stored.c */

bool cor_stage_has_managed(const struct cor_write *write); /* stage_put_managed_fields.c */
int cor_stage_put_managed_fields(struct cor_write *write);

/* ---- what stages share ---- */

/* stage_normalize.c. The end of a walk of the schema over `*object` that returned `r`
 * (schema/walk/rewrite.h): when it has changed something, the object of `json` replaces it. */
int cor_write_take_rewritten(struct cor_call *call, int r, const struct cor_buf *json,
                             struct cor_object **object);

/* stage_default_late.c. The type that is stored, if it has defaults that copy what the server adds;
 * or NULL. */
const struct cor_type *cor_write_late_type(const struct cor_write *write);

/* stage_validate.c. Refuses the object with what is wrong. Returns what is in the status. */
int cor_write_refuse_object(struct cor_write *write, const struct cor_field_errors *errs);

#endif
