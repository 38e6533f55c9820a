/* How much a ConfigMap or a Secret may hold.
 * Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_DATA_SIZE_H
#define COR_SERVER_DATA_SIZE_H

#include "server/api/call.h"

/* Looks at the body of a write, which need not be valid JSON, nor within any limit. 0 also when it
 * is another kind or no JSON: others refuse that. -COR_EINVALID with the failure (422) in the
 * call's status, -COR_ENOMEM. */
int cor_data_size_check(struct cor_call *call, struct cor_str json);

#endif
