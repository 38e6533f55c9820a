/* The generation of custom resources (contract crd 4.11.2).
 * Thread: the thread that has the call. */
#ifndef COR_SERVER_STRATEGY_CUSTOM_COUNTS_H
#define COR_SERVER_STRATEGY_CUSTOM_COUNTS_H

#include "server/api/call.h"
#include "json/write/edits.h"

/* Returns whether a member of a custom resource other than its metadata differs between `old` and
 * `body`. Members that are edited are kept from the old state. 1, 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_custom_counts(const struct cor_call *call, const struct cor_object *body,
                      const struct cor_object *old, const struct cor_edits *edits);

#endif
