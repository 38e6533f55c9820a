/* The options of a connection: what its query asks for, as an object of the kind that the
 * subresource names (PodExecOptions for exec). Plugins of admission look at them.
 * Thread: the call's loop. */
#ifndef COR_SERVER_CONNECT_OPTIONS_H
#define COR_SERVER_CONNECT_OPTIONS_H

#include "server/api/call.h"

/* Makes the object, with empty metadata. 0, or a failure in the call's status: 400 for ports that
 * are not numbers, in upstream's words; no memory. */
int cor_connect_options_make(struct cor_call *call, struct cor_object **ret_options);

#endif
