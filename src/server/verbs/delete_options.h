/* The options of a deletion, from the body of a request, or from the query when there is no body.
 * Owner: whoever embeds them.  Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_DELETE_OPTIONS_H
#define COR_SERVER_DELETE_OPTIONS_H

#include "server/api/call.h"

enum cor_propagation {
    COR_PROPAGATE_DEFAULT,
    COR_PROPAGATE_BACKGROUND,
    COR_PROPAGATE_FOREGROUND,
    COR_PROPAGATE_ORPHAN,
};

struct cor_delete_options {
    bool has_grace;
    int64_t grace_s;
    enum cor_propagation propagation;
    enum cor_tristate orphan_dependents;
    bool is_dry_run;
    char *uid, *resource_version; /* preconditions; NULL: not asked for */
};

/* 0, or a failure (400, 415, 422) in the call's status. */
int cor_delete_options_read(struct cor_call *call, struct cor_delete_options *ret_options);
/* The same from the member `deleteOptions` of an Eviction, which is canonical JSON. */
int cor_delete_options_from(struct cor_call *call, struct cor_str json,
                            struct cor_delete_options *ret_options);
void cor_delete_options_deinit(struct cor_delete_options *options); /* safe on a zeroed struct */

#endif
