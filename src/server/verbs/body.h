/* From a request's body to an object of the resource, and what all writes check first.
 * Thread: the thread that has the call (server/api/heavy.h); cor_write_begin() on its loop. */
#ifndef COR_SERVER_BODY_H
#define COR_SERVER_BODY_H

#include "server/api/heavy.h"

/* An object as a client sent it. */
struct cor_body {
    struct cor_object *object; /* stored form, in the version that is stored */
    cor_rev rev;               /* its resourceVersion; 0: none */
};

void cor_body_deinit(struct cor_body *body); /* safe on a zeroed struct */

/* The request's body as JSON: the body itself, or what YAML or protobuf become in `scratch`. Keys
 * that a YAML mapping has twice are reported as the request wants. 0, or a failure in the call's
 * status. */
int cor_body_json(struct cor_call *call, const struct cor_gvk *expected, struct cor_buf *scratch,
                  struct cor_str *ret_json);

/* What the reading of the body weighs for server/api/heavy.h: protobuf grows on its way to JSON. */
size_t cor_body_weight(const struct cor_call *call);

/* Checks content type, type and field validation, name and namespace against the URL's (a name only
 * where the URL has one, and not when a subresource is created). Repeated fields become warnings,
 * or an error when the request is strict. 0, or a failure in the call's status. */
int cor_body_read(struct cor_call *call, struct cor_body *ret_body);

/* The same for bytes that a patch made of an object. */
int cor_body_from_json(struct cor_call *call, struct cor_str json, struct cor_body *ret_body);

/* Reports repeated fields as the request wants: ignored, warnings, or a refusal. 0, or -COR_EINVAL
 * and -COR_EINVALID in the call's status. `prefix` stands before each text; `patched` is what a
 * patch made, NULL for a body. */
struct cor_json_dups;
int cor_body_report_dups(struct cor_call *call, const struct cor_json_dups *dups,
                         const char *prefix, const struct cor_str *patched);

/* 422 for what a patch made. */
int cor_body_refuse_patched(struct cor_call *call, struct cor_str json, const char *why);

/* Every dryRun of a query has to be "All". */
struct cor_field_errors;
void cor_dry_run_check(struct cor_str query, struct cor_field_errors *errs);

/* dryRun, fieldManager, fieldValidation, force. `kind` is "CreateOptions" … Also warns when objects
 * of this resource have no effect. 0, or -COR_EINVALID or -COR_ENOMEM in `status`. */
int cor_write_options_validate(struct cor_call *call, const char *kind);

/* How every write with a body begins: checks the options (`kind` as above), sets the key, runs
 * `read`, which goes over the body, as a stage, and then calls `next` (cor_heavy_then()). */
void cor_write_begin(struct cor_call *call, const char *kind, cor_heavy_work read,
                     cor_heavy_next next);

static inline bool cor_call_is_dry_run(const struct cor_call *call)
{
    return call->opts.has_dry_run && call->opts.dry_run.n > 0;
}

#endif
