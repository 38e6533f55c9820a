/* What the files of the formats share: a run of one format over one value, and how a check reports
 * a finding. Thread: one at a time. */
#ifndef COR_SCHEMA_FORMAT_FORMAT_INT_H
#define COR_SCHEMA_FORMAT_FORMAT_INT_H

#include "meta/names/validation.h"
#include "schema/format/format.h"

struct cor_format_run {
    struct cor_str text; /* the value, unless is_int */
    int64_t number;
    bool is_int;
    bool is_named;    /* the text has a Go type of its own or is a pointer: printed as JSON */
    cor_format_fn fn; /* may be NULL */
    void *arg;
    int findings;
    int error; /* -COR_ENOMEM: a message could not be made */
};

/* Report that the value is invalid; `detail` is a literal or lives during the call. */
void cor_format_invalid(struct cor_format_run *run, const char *detail);
/* The same for a part of the text, which is printed in place of the text. */
void cor_format_invalid_part(struct cor_format_run *run, struct cor_str part, const char *detail);
/* The same with the detail in `detail`, to which everything was appended with the result `r`; the
 * buffer is freed. */
void cor_format_invalid_made(struct cor_format_run *run, struct cor_str part,
                             struct cor_buf *detail, int r);
/* Reports the complaints of a name rule about `part`, which is printed, each with `prefix` before
 * it. Returns whether there were any. */
bool cor_format_invalid_name(struct cor_format_run *run, enum cor_name_rule rule,
                             struct cor_str part, const char *prefix);
/* The same as one error, whose messages are joined by commas. */
bool cor_format_invalid_joined(struct cor_format_run *run, enum cor_name_rule rule,
                               struct cor_str part);
void cor_format_required(struct cor_format_run *run, const char *detail);
void cor_format_too_long(struct cor_format_run *run, size_t max_bytes);

/* The checks, one per format. */
#define X(symbol, name, input, fn) void cor_format_check_##fn(struct cor_format_run *run);
COR_FORMATS(X)
#undef X

#endif
