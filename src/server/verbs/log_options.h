/* What a request for a container's log asks for in its query.
 * Thread: the call's loop. */
#ifndef COR_SERVER_LOG_OPTIONS_H
#define COR_SERVER_LOG_OPTIONS_H

#include "meta/status/status.h"

/* Checks the options for the log of the pod `name` as kube-apiserver does. 0, -COR_EINVAL (400: a
 * number cannot be read), -COR_EINVALID (422), -COR_ENOMEM; failures are in `reterr_status`. */
int cor_log_options_check(struct cor_str query, struct cor_str name,
                          struct cor_status *reterr_status);

#endif
