/* The health endpoints: /healthz, /livez and /readyz, as a whole and check by check. The checks
 * themselves belong to the program (struct cor_api_opts).
 * Thread: the call's loop. */
#ifndef COR_SERVER_HEALTH_H
#define COR_SERVER_HEALTH_H

#include "server/api/call.h"

/* Answers the call and returns true, or returns false when the path is not a health endpoint. */
bool cor_health_reply(struct cor_call *call);

#endif
