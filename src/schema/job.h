/* A new Job's spec. Thread: any (pure). */
#ifndef COR_SCHEMA_JOB_H
#define COR_SCHEMA_JOB_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the spec of a Job that is created, from the one that the client sent, an object in
 * canonical form: a cor_new_spec_fn of schema/resource_row.h. */
int cor_job_new_spec(struct cor_str spec, struct cor_str name, struct cor_str uid,
                     struct cor_buf *out);

#endif
