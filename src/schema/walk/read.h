/* The read walk: what Go's decoder finds in received JSON of a built-in type. The walk finds the
 * first value that the type cannot hold, and the fields that the type does not have or that the
 * object has twice. It changes nothing; the tables of schema/types/types.h are all it knows.
 *
 * Every entry expects one valid JSON value (cor_json_check() accepted it) and takes time that is
 * linear in its bytes. The walk goes as deep as the type does, which for a recursive type is as
 * deep as COR_JSON_DEPTH_MAX lets the value be. Owner: the caller owns the bytes; a report has
 * copies.  Thread: any (no state). */
#ifndef COR_SCHEMA_WALK_READ_H
#define COR_SCHEMA_WALK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Upstream's strict decoder keeps this many findings and drops the rest. */
#define COR_READ_FINDINGS_MAX 100
/* Bytes of an error, and of all findings together. A finding for which there is no room is left
 * out; upstream has no such limit. */
#define COR_READ_ERROR_MAX (64u * 1024)
#define COR_READ_TEXTS_MAX (256u * 1024)

/* What a walk found. */
struct cor_read_report {
    struct cor_buf error; /* why the type cannot hold the value, in Go's words; empty: it can */
    struct cor_buf texts; /* the findings, one after the other */
    size_t n;             /* of the findings */
    size_t ends[COR_READ_FINDINGS_MAX];
    uint64_t ids[COR_READ_FINDINGS_MAX]; /* hashes of the texts: each finding is kept once */
};

/* An empty report; NULL without memory. */
struct cor_read_report *cor_read_report_new(void);
struct cor_read_report *cor_read_report_free(struct cor_read_report *report); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_read_report, cor_read_report_free)

/* The i-th finding: `unknown field "spec.foo"`, `duplicate field "metadata.labels.a"`. Borrowed
 * from the report. */
struct cor_str cor_read_finding(const struct cor_read_report *report, size_t i);

/* True when a report on these bytes would be empty. False may also mean that this could not be
 * determined without memory; cor_read() then gives the answer. Only for objects without repeated
 * keys: such keys are not looked for. Allocates nothing. */
bool cor_read_is_clean(struct cor_str json, const struct cor_type *type);

/* Fills `report`, which is empty, with what the walk over the bytes as they were received
 * finds; findings come in the order of the bytes. 0 (the type can hold the value, and there may be
 * findings), -COR_EINVAL (it cannot: report->error has the reason, and there is no finding),
 * -COR_ENOMEM. */
int cor_read(struct cor_str json, const struct cor_type *type, struct cor_read_report *report);

#endif
