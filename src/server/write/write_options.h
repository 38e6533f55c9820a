/* The options that all writes have.
 * Thread: the call's loop. */
#ifndef COR_SERVER_WRITE_WRITE_OPTIONS_H
#define COR_SERVER_WRITE_WRITE_OPTIONS_H

#include "server/api/call.h"

struct cor_field_errors;

/* Every dryRun of a query has to be "All". */
void cor_dry_run_check(struct cor_str query, struct cor_field_errors *errs);

/* dryRun, fieldManager, fieldValidation, force. `kind` is "CreateOptions" … Also warns when objects
 * of this resource have no effect. 0, or -COR_EINVALID or -COR_ENOMEM in `status`. */
int cor_write_options_validate(struct cor_call *call, const char *kind);

static inline bool cor_call_is_dry_run(const struct cor_call *call)
{
    return call->opts.has_dry_run && call->opts.dry_run.n > 0;
}

/* Returns whether objects of the call's resource reserve addresses or ports (server/alloc/). */
static inline bool cor_call_reserves(const struct cor_call *call)
{
    return call->res->role == COR_ROLE_SERVICES && call->loop->shared->alloc;
}

#endif
